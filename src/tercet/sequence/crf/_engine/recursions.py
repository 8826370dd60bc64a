"""Forward-backward and Viterbi recursions along chains whose transition scores differ from token to token.

`tables` has shape (n_tables, n_labels, n_labels); the transition to token t has the scores tables[index[t]] (that
of a chain's first token is not used). Chains whose tokens all share one table use the kernels of `sequence._chain`.
"""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.core.rows import sum_of
from tercet.sequence._chain.log_space import best_ways, first_largest, log_backward, log_sum
from tercet.sequence._chain.scaled import backward, first, forward, inverse, kept, last, log_weight


@inner
def scaled_sweep(trans, transposed, like, alpha, posterior, unit, T):
    """Scaled forward-backward along one chain of T tokens that share the potentials `trans`; log Z, or -inf where
    scaling fails. `like` becomes `onward`: alpha[:-1].T @ like[1:] * trans are the expected transitions."""
    first(np.ones(like.shape[1]), like, alpha, unit, 0)
    forward(transposed, like, alpha, unit, 1, T)
    value = log_weight(alpha, unit, 0, T)
    last(like, alpha, unit, posterior, T)
    backward(trans, like, alpha, unit, posterior, 1, T)
    return value if kept(unit, 1, T) else -np.inf


@inner
def scaled_sweep_at(index, trans, like, alpha, posterior, unit, a, b):
    """`scaled_sweep` along the rows from a to b, where the transition to t has the potentials trans[index[t]]."""
    first(np.ones(like.shape[1]), like, alpha, unit, a)
    for t in range(a + 1, b):
        table, before, row = trans[index[t]], alpha[t - 1], alpha[t]
        unit[t] = inverse(sum_of(before))
        for j in range(row.size):
            row[j] = 0.0
        for i in range(row.size):
            line, x = table[i], before[i] * unit[t]
            for j in range(row.size):
                row[j] += x * line[j]
        for j in range(row.size):
            row[j] *= like[t, j]
    value = log_weight(alpha, unit, a, b)
    last(like, alpha, unit, posterior, b)
    for t in range(b - 1, a, -1):
        backward(trans[index[t]], like, alpha, unit, posterior, t, t + 1)
    return value if kept(unit, a + 1, b) else -np.inf


@kernel
def smooth_at(borders, index, trans, like, weight, alpha, posterior, unit, logs, expected):
    """Posteriors of the labels of many chains, and log Z, -inf where scaling fails; in the other chains,
    expected * trans are the expected transitions by table, times the weights of the chains."""
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        logs[s] = scaled_sweep_at(index, trans, like, alpha, posterior, unit, a, b)
        if logs[s] > -np.inf:
            for t in range(a + 1, b):
                table, onward = expected[index[t]], like[t]
                for i in range(onward.size):
                    line, x = table[i], weight[s] * alpha[t - 1, i]
                    for j in range(onward.size):
                        line[j] += x * onward[j]


@shared
def log_smooth_at(index, tables, scores, weight, alpha, beta, expected):
    """Forward-backward of one chain in log space: log Z; posteriors in place of `beta`; expected transitions times
    the chain's weight are added to those of each table."""
    T, N = scores.shape
    terms = np.empty(N)
    for j in range(N):
        alpha[0, j] = scores[0, j]
        beta[T - 1, j] = 0.0
    for t in range(1, T):
        table = tables[index[t]]
        for j in range(N):
            for i in range(N):
                terms[i] = alpha[t - 1, i] + table[i, j]
            alpha[t, j] = log_sum(terms) + scores[t, j]
    log_z = log_sum(alpha[T - 1])
    if log_z == -np.inf:
        return log_z
    for t in range(T - 2, -1, -1):
        log_backward(tables[index[t + 1]], scores[t : t + 2], beta[t : t + 2])
    for t in range(1, T):
        table, counts = tables[index[t]], expected[index[t]]
        for i in range(N):
            for j in range(N):
                value = alpha[t - 1, i] + table[i, j] + scores[t, j] + beta[t, j] - log_z
                counts[i, j] += weight * math.exp(value)
    for t in range(T):
        for i in range(N):
            beta[t, i] = math.exp(alpha[t, i] + beta[t, i] - log_z)
    return log_z


@inner
def viterbi_at(index, tables, scores, delta, path):
    """The best path of one chain, and its score; ties go to the smallest labels from the end."""
    T, N = scores.shape
    for j in range(N):
        delta[0, j] = scores[0, j]
    for t in range(1, T):
        row = delta[t]
        best_ways(tables[index[t]], delta[t - 1], row)
        for j in range(N):
            row[j] += scores[t, j]
    state = first_largest(delta[T - 1])
    best = delta[T - 1, state]
    path[T - 1] = state
    for t in range(T - 1, 0, -1):
        table, to, state, top = tables[index[t]], path[t], 0, -np.inf
        for i in range(N):
            value = delta[t - 1, i] + table[i, to]
            if value > top:
                state, top = i, value
        path[t - 1] = state
    return best


@kernel
def decode_at(borders, index, tables, scores, delta, path, logs):
    """The best path of each of many chains, and its score."""
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        logs[s] = viterbi_at(index[a:b], tables, scores[a:b], delta[: b - a], path[a:b])
