"""Forward, backward and Viterbi recursions in log space, for hidden Markov models and random fields.

A chain of T steps and N states is given by logarithms of weights: `log_start` (N,) of the first state, `log_trans`
(N, N) of the transition from state i to state j, `log_like` (T, N) of the state at each step. Nothing underflows
here; sums over paths are faster in `scaled`. All tables belong to the caller; all arrays are C-contiguous.

Kernels may add three numbers in any order, and of numbers near -1e80 the roundings are larger than any exponent.
So a logarithm less the largest of its kind is held below 0, and a sum that has the largest is held above 1.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from tercet.core.functions import log_sum_exp, softmax
from tercet.core.kernel import inner, kernel, shared
from tercet.core.stopping import check_stop
from tercet.sequence._chain.scaled import WORK, Array, is_short, pieces

LOG_WORK = 1 << 24  # transitions in one call of a kernel, as `WORK`: log space is slower


@inner
def log_forward(log_start, log_trans, log_like, alpha):
    """Forward table log α (T, N); returns the log of the total weight of all paths."""
    T, N = log_like.shape
    for j in range(N):
        alpha[0, j] = log_start[j] + log_like[0, j]
    for t in range(1, T):
        for j in range(N):
            top = -np.inf
            for i in range(N):
                top = max(top, alpha[t - 1, i] + log_trans[i, j])
            if top == -np.inf:
                alpha[t, j] = -np.inf
                continue
            s = 0.0
            for i in range(N):
                s += math.exp(min(alpha[t - 1, i] + log_trans[i, j] - top, 0.0))
            alpha[t, j] = math.log(max(s, 1.0)) + top + log_like[t, j]
    return log_sum(alpha[T - 1])


@inner
def log_backward(log_trans, log_like, beta):
    """Backward table log β (T, N), from its last row, which is given (zeros, where the chain ends)."""
    T, N = log_like.shape
    for t in range(T - 2, -1, -1):
        for i in range(N):
            top = -np.inf
            for j in range(N):
                top = max(top, log_trans[i, j] + log_like[t + 1, j] + beta[t + 1, j])
            if top == -np.inf:
                beta[t, i] = -np.inf
                continue
            s = 0.0
            for j in range(N):
                s += math.exp(min(log_trans[i, j] + log_like[t + 1, j] + beta[t + 1, j] - top, 0.0))
            beta[t, i] = math.log(max(s, 1.0)) + top


@inner
def log_sum(values):
    """log Σ exp(values)."""
    top = -np.inf
    for k in range(values.size):
        top = max(top, values[k])
    if top == -np.inf:
        return top
    s = 0.0
    for k in range(values.size):
        s += math.exp(values[k] - top)
    return math.log(max(s, 1.0)) + top


@inner
def viterbi(log_start, log_trans, log_like, delta, path):
    """Viterbi: the best path (T,) (of equals, smallest states from the end); returns its log weight, -inf when
    there is none."""
    viterbi_table(log_start, log_trans, log_like, delta)
    return trace_back(log_trans, delta, path)


@inner
def viterbi_table(log_start, log_trans, log_like, delta):
    """Viterbi table δ (T, N): δ_t(j) = max_i (δ_{t-1}(i) + log_trans[i, j]) + log_like_t(j)."""
    T, N = log_like.shape
    for j in range(N):
        delta[0, j] = log_start[j] + log_like[0, j]
    for t in range(1, T):
        row, here = delta[t], log_like[t]
        best_ways(log_trans, delta[t - 1], row)
        for j in range(N):
            row[j] += here[j]


@inner
def best_ways(log_trans, before, row):
    """row[j] = max_i (before[i] + log_trans[i, j]), four i at a time, so that the loop over j
    vectorises."""
    N = row.size
    for j in range(N):
        row[j] = -np.inf
    whole = N - N % 4
    for i in range(0, whole, 4):
        a, b, c, d = before[i], before[i + 1], before[i + 2], before[i + 3]
        one, two, three, four = log_trans[i], log_trans[i + 1], log_trans[i + 2], log_trans[i + 3]
        for j in range(N):
            u, v, x, y, best = a + one[j], b + two[j], c + three[j], d + four[j], row[j]
            u = u if u > v else v
            x = x if x > y else y
            u = u if u > x else x
            row[j] = u if u > best else best
    for i in range(whole, N):
        a, one = before[i], log_trans[i]
        for j in range(N):
            u, best = a + one[j], row[j]
            row[j] = u if u > best else best


@inner
def trace_back(log_trans, delta, path):
    """Viterbi path from δ, back from the best last state. Back pointers are recomputed for the states of the path
    instead of being stored for all."""
    T, N = delta.shape
    state = first_largest(delta[T - 1])
    best = delta[T - 1, state]
    path[T - 1] = state
    for t in range(T - 1, 0, -1):
        to, state, top = path[t], 0, -np.inf
        for i in range(N):
            value = delta[t - 1, i] + log_trans[i, to]
            if value > top:
                state, top = i, value
        path[t - 1] = state
    return best


@inner
def first_largest(values):
    """Index of the largest value; of equals, the first."""
    k = 0
    for j in range(1, values.size):
        if values[j] > values[k]:
            k = j
    return k


@kernel
def log_likelihood(log_start, log_trans, log_like, alpha):
    """Log weight of one chain; alpha (T, N) gets the forward table."""
    return log_forward(log_start, log_trans, log_like, alpha)


@shared
def log_smooth(log_start, log_trans, log_like, alpha, beta, counts):
    """Forward-backward of one chain: returns its log weight; `beta` (T, N) gets the posteriors of the states, and
    the expected transitions are added to `counts` (N, N)."""
    T, N = log_like.shape
    total = log_forward(log_start, log_trans, log_like, alpha)
    if total == -np.inf:
        return total
    for i in range(N):
        beta[T - 1, i] = 0.0
    log_backward(log_trans, log_like, beta)
    for t in range(1, T):
        for i in range(N):
            for j in range(N):
                value = alpha[t - 1, i] + log_trans[i, j] + log_like[t, j] + beta[t, j] - total
                counts[i, j] += math.exp(min(value, 0.0))
    for t in range(T):
        normalise_row(alpha[t], beta[t])
    return total


@inner
def normalise_row(alpha, beta):
    """Posteriors of the states of a row, in place of beta: they add up to 1 even where the log weight of the chain
    is -1e18, beside which nothing is left of the differences of states."""
    best, s = 0, 0.0
    for i in range(alpha.size):
        beta[i] += alpha[i]
        if beta[i] > beta[best]:
            best = i
    top = beta[best]
    for i in range(alpha.size):
        beta[i] = math.exp(beta[i] - top)
        s += beta[i]
    for i in range(alpha.size):
        beta[i] /= s


@kernel
def decode(borders, log_start, log_trans, log_like, delta, path, logs):
    """Viterbi paths of many chains, whose rows lie one after another in log_like, and their log weights."""
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        logs[s] = viterbi(log_start, log_trans, log_like[a:b], delta[: b - a], path[a:b])


# Chains so long that they are cut into pieces, as in `scaled`.


@kernel
def log_backward_piece(log_trans, log_like, beta):
    """`log_backward`."""
    log_backward(log_trans, log_like, beta)


@kernel
def viterbi_table_piece(log_start, log_trans, log_like, delta):
    """`viterbi_table`."""
    viterbi_table(log_start, log_trans, log_like, delta)


@kernel
def trace_back_path(log_trans, delta, path):
    """`trace_back`."""
    return trace_back(log_trans, delta, path)


def decode_in_pieces(
    borders: Array, log_start: Array, log_trans: Array, log_like: Array, logs: Array
) -> Array:
    """Viterbi paths (T,) of many chains; `logs` (S,) gets their log weights."""
    delta, path = np.empty_like(log_like), np.empty(len(log_like), dtype=np.int64)
    if is_short(log_like):
        decode(borders, log_start, log_trans, log_like, delta, path, logs)
        return path
    for s, (a, b) in enumerate(pairwise(borders)):
        first = log_start
        for here in pieces(log_like[a:b].shape, WORK, a):
            check_stop()
            if here.start > a:
                first = (delta[here.start - 1][:, None] + log_trans).max(axis=0)
            viterbi_table_piece(first, log_trans, log_like[here], delta[here])
        logs[s] = trace_back_path(log_trans, delta[a:b], path[a:b])
    return path


def log_likelihood_in_pieces(log_start: Array, log_trans: Array, log_like: Array, alpha: Array) -> float:
    """Log weight of one chain in log space; alpha (T, N) gets its forward table."""
    total = -np.inf
    for here in pieces(log_like.shape, LOG_WORK):
        check_stop()
        if here.start > 0:
            log_start = log_sum_exp(alpha[here.start - 1][:, None] + log_trans, axis=0)
        total = log_likelihood(log_start, log_trans, log_like[here], alpha[here])
    return float(total)


def log_smooth_in_pieces(
    log_start: Array, log_trans: Array, log_like: Array, alpha: Array, beta: Array, counts: Array
) -> float:
    """`log_smooth` of one chain."""
    (rows, n), parts = log_like.shape, pieces(log_like.shape, LOG_WORK)
    if len(parts) == 1:
        return log_smooth(log_start, log_trans, log_like, alpha, beta, counts)
    total = log_likelihood_in_pieces(log_start, log_trans, log_like, alpha)
    if total == -np.inf:
        return total
    beta[-1] = 0.0
    for here in reversed(parts):
        check_stop()
        if here.stop < rows:
            beta[here.stop - 1] = log_sum_exp(log_trans + log_like[here.stop] + beta[here.stop], axis=1)
        log_backward_piece(log_trans, log_like[here], beta[here])
    for here in pieces((rows - 1, n), 1 << 18):
        after = slice(here.start + 1, here.stop + 1)
        onward = (log_like[after] + beta[after] - total)[:, None, :]
        counts += np.exp(np.minimum(alpha[here][:, :, None] + log_trans + onward, 0.0)).sum(axis=0)
    for here in parts:
        beta[here] = softmax(alpha[here] + beta[here])
    return total
