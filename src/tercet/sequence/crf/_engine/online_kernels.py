"""Kernels of online learning: stochastic gradient steps, and updates at mistakes, one sequence at a time.

Transition scores are a table (from, to) that all tokens share, or with transition attributes one for each token of
a sequence, of shape (longest, from, to): the number of dimensions tells which, when a kernel is compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.rows import Rows
from tercet.sequence._chain.log_space import log_smooth, viterbi
from tercet.sequence.crf._engine.recursions import log_smooth_at, scaled_sweep, scaled_sweep_at, viterbi_at

MISTAKE_DRIVEN = ("ap", "pa", "arow")


class LabelledRows(NamedTuple):
    """Labelled sequences, the features of their tokens, and tables to compute in.

    Attributes
    ----------
    X : CSR rows of all tokens
    borders, y, weight : where each sequence begins, the label of each token, the weight of each sequence
    starts, label : the state features of attribute a are those from starts[a] to starts[a + 1], with these labels
    transition : array of shape (n_labels, n_labels)
        The index of the weight of each transition; -1 where it has none.
    B, bigram_starts, pair : rows, features and pairs of labels (from * n_labels + to) of transition attributes
        Their weights are the last ones. Without such attributes, B has no columns.
    tokens : array of shape (4, longest, n_labels)
        Tables for the tokens of a sequence.
    scores, expected : arrays of shape (n_labels, n_labels) or (longest, n_labels, n_labels)
        Tables for transition scores and expected transitions.
    """

    X: Rows
    borders: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    starts: np.ndarray
    label: np.ndarray
    transition: np.ndarray
    B: Rows
    bigram_starts: np.ndarray
    pair: np.ndarray
    tokens: np.ndarray
    scores: np.ndarray
    expected: np.ndarray


@kernel
def gradient_pass(order, data, v, scale, eta, decay, t):
    """One stochastic gradient step for each sequence, in this order.

    The weights are v times `scale`, so that the penalty's part of a step is one product. Returns the sum of
    -log P(y|x), each before its step, and the new scale.
    """
    # local names: an access through the tuple inside the loops would count references
    X, borders, y, weight = data.X, data.borders, data.y, data.weight
    starts, label, transition = data.starts, data.label, data.transition
    B, bigram_starts, pair = data.B, data.bigram_starts, data.pair
    tokens, transitions, expected = data.tokens, data.scores, data.expected
    unit = np.empty(tokens.shape[1])
    loss = 0.0
    for s in order:
        begin, end = borders[s], borders[s + 1]
        T = end - begin
        scores, like, alpha, node = tokens[0, :T], tokens[1, :T], tokens[2, :T], tokens[3, :T]
        read_scores(X, begin, end, starts, label, v, scale, scores)
        read_transitions(transition, B, begin, end, bigram_starts, pair, v, scale, transitions)
        log_z = forward_backward(transitions, expected, scores, like, alpha, node, unit)
        loss += weight[s] * log_z
        for k in range(T):  # expected less observed counts
            here = y[begin + k]
            loss -= weight[s] * scores[k, here]
            node[k, here] -= 1.0
            if k > 0:
                before = y[begin + k - 1]
                loss -= weight[s] * transition_score(transitions, k, before, here)
                subtract_transition(expected, k, before, here)
        step = eta / (1.0 + decay * eta * t)
        scale *= 1.0 - step * decay
        if scale < 1e-9:
            for p in range(v.size):
                v[p] *= scale
            scale = 1.0
        rate = step * weight[s] / scale
        descend_states(X, begin, end, starts, label, rate, node, v)
        descend_transitions(transition, B, begin, end, bigram_starts, pair, rate, expected, v)
        t += 1.0
    return loss, scale


@kernel
def mistake_pass(order, data, w, rule, sums, seen, variance, change, touched):
    """One pass over sequences in this order: where the best path is wrong, the weights move from its features to
    those of the labels.

    The rules differ in how far. `sums` holds each move times the number of sequences seen before it, from which the
    mean of the weights follows. Returns the sum of the shares of wrong labels and the number of mistaken sequences.
    """
    # local names: an access through the tuple inside the loops would count references
    X, borders, y, weight = data.X, data.borders, data.y, data.weight
    starts, label, transition = data.starts, data.label, data.transition
    B, bigram_starts, pair = data.B, data.bigram_starts, data.pair
    tokens, transitions = data.tokens, data.scores
    N, base = transition.shape[0], w.size - pair.size
    path, places = np.empty(tokens.shape[1], np.int64), np.empty(change.size, np.int64)
    wrong, mistaken, moved = 0.0, 0, True
    for s in order:
        begin, end = borders[s], borders[s + 1]
        T = end - begin
        scores = tokens[0, :T]
        read_scores(X, begin, end, starts, label, w, 1.0, scores)
        if moved or transitions.ndim == 3:
            read_transitions(transition, B, begin, end, bigram_starts, pair, w, 1.0, transitions)
        best = best_path(transitions, scores, tokens[1, :T], path[:T])
        errors, own, n = 0, 0.0, 0
        for k in range(T):
            t, here, said = begin + k, y[begin + k], path[k]
            own += scores[k, here]
            if here != said:
                errors += 1
                n = add_difference(X, t, starts, label, 0, here, said, change, touched, places, n)
            if k > 0:
                before, guess = y[t - 1], path[k - 1]
                own += transition_score(transitions, k, before, here)
                if here != said or before != guess:
                    n = add_change(transition[before, here], 1.0, change, touched, places, n)
                    n = add_change(transition[guess, said], -1.0, change, touched, places, n)
                    if pair.size > 0:
                        right, other = before * N + here, guess * N + said
                        n = add_difference(
                            B, t, bigram_starts, pair, base, right, other, change, touched, places, n
                        )
        wrong += errors / T
        moved = errors > 0
        if moved:
            mistaken += 1
            move(rule, best - own, errors, weight[s], places[:n], w, sums, seen, variance, change, touched)
        seen[0] += 1.0
    return wrong, mistaken


@inner
def read_scores(X, begin, end, starts, label, w, scale, scores):
    """The observation scores of the tokens of a sequence."""
    for t in range(begin, end):
        row = scores[t - begin]
        for j in range(row.size):
            row[j] = 0.0
        for s in range(X.indptr[t], X.indptr[t + 1]):
            x, a = scale * X.data[s], X.indices[s]
            for p in range(starts[a], starts[a + 1]):
                row[label[p]] += x * w[p]


@inner
def read_transitions(transition, B, begin, end, starts, pair, w, scale, scores):
    """The transition scores: of all tokens, or of each after the first."""
    N = transition.shape[0]
    if scores.ndim == 2:
        for i in range(N):
            for j in range(N):
                p = transition[i, j]
                scores[i, j] = scale * w[p] if p >= 0 else 0.0
    else:
        T = end - begin
        by_pair = scores[1:T].reshape(-1, N * N)
        read_scores(B, begin + 1, end, starts, pair, w[w.size - pair.size :], scale, by_pair)
        for k in range(1, T):
            for i in range(N):
                for j in range(N):
                    if transition[i, j] >= 0:
                        scores[k, i, j] += scale * w[transition[i, j]]


@inner
def forward_backward(transitions, expected, scores, like, alpha, node, unit):
    """log Z; marginals of labels to `node`, of transitions (summed, or of each token) to `expected`. In log space
    where scaling underflows."""
    T, N = scores.shape
    if transitions.ndim == 2:
        trans, transposed, ceiling = np.empty((N, N)), np.empty((N, N)), transitions[0, 0]
        for i in range(N):
            for j in range(N):
                ceiling = max(ceiling, transitions[i, j])
        for i in range(N):
            for j in range(N):
                trans[i, j] = math.exp(transitions[i, j] - ceiling)
                transposed[j, i] = trans[i, j]
                expected[i, j] = 0.0
        shift = ceiling * (T - 1) + exponentials(scores, like)
        log_z = scaled_sweep(trans, transposed, like, alpha, node, unit, T)
        if log_z == -np.inf:
            return log_smooth(np.zeros(N), transitions, scores, alpha, node, expected)
        for k in range(1, T):
            for i in range(N):
                for j in range(N):
                    expected[i, j] += alpha[k - 1, i] * trans[i, j] * like[k, j]
        return log_z + shift
    else:
        index, edge = np.arange(T), expected[1:T].reshape(-1, N * N)
        shift = exponentials(scores, like) + exponentials(transitions[1:T].reshape(-1, N * N), edge)
        log_z = scaled_sweep_at(index, expected, like, alpha, node, unit, 0, T)
        if log_z == -np.inf:
            for k in range(1, T):
                for i in range(N):
                    for j in range(N):
                        expected[k, i, j] = 0.0
            return log_smooth_at(index, transitions, scores, 1.0, alpha, node, expected)
        for k in range(1, T):
            for i in range(N):
                for j in range(N):
                    expected[k, i, j] *= alpha[k - 1, i] * like[k, j]
        return log_z + shift


@inner
def best_path(transitions, scores, delta, path):
    """The Viterbi path of a sequence, and its score."""
    if transitions.ndim == 2:
        return viterbi(np.zeros(scores.shape[1]), transitions, scores, delta, path)
    else:
        return viterbi_at(np.arange(len(scores)), transitions, scores, delta, path)


@inner
def transition_score(scores, k, i, j):
    if scores.ndim == 2:
        return scores[i, j]
    else:
        return scores[k, i, j]


@inner
def subtract_transition(expected, k, i, j):
    if expected.ndim == 2:
        expected[i, j] -= 1.0
    else:
        expected[k, i, j] -= 1.0


@inner
def exponentials(scores, out):
    """exp of the scores, each row less its maximum; the sum of the maxima."""
    total = 0.0
    for k in range(scores.shape[0]):
        row, top = scores[k], scores[k, 0]
        for j in range(row.size):
            top = max(top, row[j])
        for j in range(row.size):
            out[k, j] = math.exp(row[j] - top)
        total += top
    return total


@inner
def descend_states(X, begin, end, starts, label, rate, gradient, v):
    """Move the weights of the tokens' attributes down the gradient with respect to the scores."""
    for t in range(begin, end):
        row = gradient[t - begin]
        for s in range(X.indptr[t], X.indptr[t + 1]):
            x, a = rate * X.data[s], X.indices[s]
            for p in range(starts[a], starts[a + 1]):
                v[p] -= x * row[label[p]]


@inner
def descend_transitions(transition, B, begin, end, starts, pair, rate, gradient, v):
    """Move the weights of transitions and transition attributes down the gradient."""
    N = transition.shape[0]
    if gradient.ndim == 2:
        for i in range(N):
            for j in range(N):
                if transition[i, j] >= 0:
                    v[transition[i, j]] -= rate * gradient[i, j]
    else:
        T = end - begin
        by_pair = gradient[1:T].reshape(-1, N * N)
        descend_states(B, begin + 1, end, starts, pair, rate, by_pair, v[v.size - pair.size :])
        for k in range(1, T):
            for i in range(N):
                for j in range(N):
                    if transition[i, j] >= 0:
                        v[transition[i, j]] -= rate * gradient[k, i, j]


@inner
def add_difference(X, t, starts, label, base, right, said, change, touched, places, n):
    """Add the attributes of token t to the change: plus for the right label, minus for the predicted one."""
    for e in range(X.indptr[t], X.indptr[t + 1]):
        a = X.indices[e]
        for p in range(starts[a], starts[a + 1]):
            if label[p] == right:
                n = add_change(base + p, X.data[e], change, touched, places, n)
            elif label[p] == said:
                n = add_change(base + p, -X.data[e], change, touched, places, n)
    return n


@inner
def add_change(p, amount, change, touched, places, n):
    """Add to the change of weight p (if it is one), and list it among those to move."""
    if p >= 0:
        if not touched[p]:
            touched[p] = True
            places[n] = p
            n += 1
        change[p] += amount
    return n


@inner
def move(rule, gap, errors, weight, places, w, sums, seen, variance, change, touched):
    """Change the weights by the step length of the rule; `gap` is the best path's score less that of the labels."""
    method, kind, c, sensitive, gamma = int(rule[0]), int(rule[1]), rule[2], rule[3], rule[4]
    size = 0.0
    for i in range(places.size):
        p = places[i]
        size += change[p] * change[p] * (variance[p] if method == 2 else 1.0)
    step = 1.0
    if method > 0:
        cost = gap + (errors if method == 2 else math.sqrt(errors) if sensitive > 0 else 1.0)
        if method == 2:
            step = cost / (size + gamma)
        elif kind == 2:
            step = cost / (size + 0.5 / c)
        else:
            step = cost / size if size > 0 else 0.0
            if kind == 1:
                step = min(step, c)
    step *= weight
    for i in range(places.size):
        p = places[i]
        difference = step * change[p]
        if method == 2:
            difference *= variance[p]
            variance[p] = 1.0 / (1.0 / variance[p] + weight * change[p] * change[p] / gamma)
        w[p] += difference
        sums[p] += seen[0] * difference
        change[p] = 0.0
        touched[p] = False
