"""The kernels of learning one sequence at a time.

`X` are CSR rows; the state features of attribute a are those from first[a] to first[a + 1], with their labels; the
place of a transition's weight is in `edge_at`, -1 where it has none. `room` has four tables of (longest, n_labels).
"""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.sequence._chain.log_space import log_smooth, viterbi
from tercet.sequence._chain.scaled import backward, forward, kept, last, log_weight
from tercet.sequence._chain.scaled import first as first_row

MISTAKEN = ("ap", "pa", "arow")


@inner
def read(X, begin, end, first, label, w, scale, scores):
    """The scores of all labels for the tokens of a sequence."""
    for t in range(begin, end):
        row = scores[t - begin]
        for j in range(row.size):
            row[j] = 0.0
        for s in range(X.indptr[t], X.indptr[t + 1]):
            x, a = scale * X.data[s], X.indices[s]
            for p in range(first[a], first[a + 1]):
                row[label[p]] += x * w[p]


@inner
def read_steps(edge_at, w, scale, steps):
    """The scores of all steps."""
    for i in range(steps.shape[0]):
        for j in range(steps.shape[1]):
            p = edge_at[i, j]
            steps[i, j] = scale * w[p] if p >= 0 else 0.0


@inner
def soften(scores, like):
    """exp of the scores, each row less its largest; the sum of what was taken off."""
    taken = 0.0
    for k in range(scores.shape[0]):
        row, top = scores[k], scores[k, 0]
        for j in range(row.size):
            top = max(top, row[j])
        for j in range(row.size):
            like[k, j] = math.exp(row[j] - top)
        taken += top
    return taken


@inner
def take_off(X, begin, end, first, label, rate, excess, v):
    """Move the weights of the tokens' attributes against what is expected in excess of each label."""
    for t in range(begin, end):
        row = excess[t - begin]
        for s in range(X.indptr[t], X.indptr[t + 1]):
            x, a = rate * X.data[s], X.indices[s]
            for p in range(first[a], first[a + 1]):
                v[p] -= x * row[label[p]]


@kernel
def gradient_pass(
    order, X, borders, y, weight, first, label, edge_at, v, room, scale, eta, decay, t
):  # fmt: skip
    """Sequences in an order: each moves the weights up the gradient of its log-likelihood.

    The weights are v times `scale`, so that the penalty's part of a step is one product. Returns the sum of
    -log P(y|x) and the new scale.
    """
    N = edge_at.shape[0]
    steps, trans, turned, counts = np.empty((N, N)), np.empty((N, N)), np.empty((N, N)), np.empty((N, N))
    ones, zeros, sizes = np.ones(N), np.zeros(N), np.empty(room.shape[1])
    loss = 0.0
    for s in order:
        begin, end = borders[s], borders[s + 1]
        T = end - begin
        scores, like, alpha, beta = room[0, :T], room[1, :T], room[2, :T], room[3, :T]
        read(X, begin, end, first, label, v, scale, scores)
        read_steps(edge_at, v, scale, steps)
        ceiling = steps[0, 0]
        for i in range(N):
            for j in range(N):
                ceiling = max(ceiling, steps[i, j])
        for i in range(N):
            for j in range(N):
                trans[i, j] = math.exp(steps[i, j] - ceiling)
                turned[j, i] = trans[i, j]
                counts[i, j] = 0.0
        shift = ceiling * (T - 1) + soften(scores, like)
        first_row(ones, like, alpha, sizes, 0)
        forward(turned, like, alpha, sizes, 1, T)
        log_z = log_weight(alpha, sizes, 0, T)
        last(like, alpha, sizes, beta, T)
        backward(trans, like, alpha, sizes, beta, 1, T)
        if log_z > -np.inf and kept(sizes, 1, T):
            log_z += shift
            for k in range(1, T):
                for i in range(N):
                    for j in range(N):
                        counts[i, j] += alpha[k - 1, i] * trans[i, j] * like[k, j]
        else:
            log_z = log_smooth(zeros, steps, scores, alpha, beta, counts)
        loss += weight[s] * log_z
        for k in range(T):
            here = y[begin + k]
            loss -= weight[s] * scores[k, here]
            beta[k, here] -= 1.0
            if k > 0:
                before = y[begin + k - 1]
                loss -= weight[s] * steps[before, here]
                counts[before, here] -= 1.0
        step = eta / (1.0 + decay * eta * t)
        scale *= 1.0 - step * decay
        if scale < 1e-9:
            for p in range(v.size):
                v[p] *= scale
            scale = 1.0
        rate = step * weight[s] / scale
        take_off(X, begin, end, first, label, rate, beta, v)
        for i in range(N):
            for j in range(N):
                if edge_at[i, j] >= 0:
                    v[edge_at[i, j]] -= rate * counts[i, j]
        t += 1.0
    return loss, scale


@kernel
def mistaken_pass(
    order, X, borders, y, weight, first, label, edge_at, w, room, rule, sums, seen, variance, change, touched
):  # fmt: skip
    """Sequences in an order: where the best path is wrong, weights move from its features to those of the labels.

    How far is what the rules differ in. `sums` holds each move times the number of sequences seen before it, from
    which the mean of the weights follows. Returns the sum of the shares of wrong labels
    and the number of sequences that have some.
    """
    N = edge_at.shape[0]
    steps, zeros, path = np.empty((N, N)), np.zeros(N), np.empty(room.shape[1], np.int64)
    places = np.empty(change.size, np.int64)
    wrong, mistaken = 0.0, 0
    read_steps(edge_at, w, 1.0, steps)
    for s in order:
        begin, end = borders[s], borders[s + 1]
        T = end - begin
        scores = room[0, :T]
        read(X, begin, end, first, label, w, 1.0, scores)
        best = viterbi(zeros, steps, scores, room[1, :T], path[:T])
        errors, own, n = 0, 0.0, 0
        for k in range(T):
            here, said = y[begin + k], path[k]
            own += scores[k, here]
            if k > 0:
                own += steps[y[begin + k - 1], here]
            if here != said:
                errors += 1
                n = compare(X, begin + k, first, label, 0, here, said, change, touched, places, n)
            if k > 0 and (here != said or y[begin + k - 1] != path[k - 1]):
                n = note(edge_at[y[begin + k - 1], here], 1.0, change, touched, places, n)
                n = note(edge_at[path[k - 1], said], -1.0, change, touched, places, n)
        wrong += errors / T
        if errors > 0:
            mistaken += 1
            move(rule, best - own, errors, weight[s], places[:n], w, sums, seen, variance, change, touched)
            for i in range(N):
                for j in range(N):
                    if edge_at[i, j] >= 0:
                        steps[i, j] = w[edge_at[i, j]]
        seen[0] += 1.0
    return wrong, mistaken


@inner
def compare(X, t, first, label, base, right, said, change, touched, places, n):
    """Note the attributes of token t: more for the right label, less for what was said."""
    for e in range(X.indptr[t], X.indptr[t + 1]):
        a = X.indices[e]
        for p in range(first[a], first[a + 1]):
            if label[p] == right:
                n = note(base + p, X.data[e], change, touched, places, n)
            elif label[p] == said:
                n = note(base + p, -X.data[e], change, touched, places, n)
    return n


@inner
def move(rule, gap, errors, weight, places, w, sums, seen, variance, change, touched):
    """Change the weights by as much as the rule says; `gap` is how much the best path's score is ahead."""
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
        way = step * change[p]
        if method == 2:
            way *= variance[p]
            variance[p] = 1.0 / (1.0 / variance[p] + weight * change[p] * change[p] / gamma)
        w[p] += way
        sums[p] += seen[0] * way
        change[p] = 0.0
        touched[p] = False


@inner
def note(p, amount, change, touched, places, n):
    """Add to the change of weight p (if it is one), and remember where."""
    if p >= 0:
        if not touched[p]:
            touched[p] = True
            places[n] = p
            n += 1
        change[p] += amount
    return n
