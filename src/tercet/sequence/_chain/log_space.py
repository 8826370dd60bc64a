"""Recursions on logarithms along chains of T steps and N states, shared by hidden Markov models and random fields.

A chain is given by the logs of what each state weighs at the first step (`log_start`), what each step from state i
to state j weighs (`log_trans`), and what each state weighs in the light of each observation (`log_like`, a row for
each step). Nothing underflows here; sums over paths are faster in `chain_scaled`. All tables belong to the caller;
all arrays are contiguous.
"""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner, kernel, shared


@inner
def log_forward(log_start, log_trans, log_like, alpha):
    """Forward table in logarithms; the log of the total weight."""
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
                s += math.exp(alpha[t - 1, i] + log_trans[i, j] - top)
            alpha[t, j] = math.log(s) + top + log_like[t, j]
    return log_sum(alpha[T - 1])


@inner
def log_backward(log_trans, log_like, beta):
    """Backward table in logarithms; its last row is given (zeros, where the chain ends)."""
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
                s += math.exp(log_trans[i, j] + log_like[t + 1, j] + beta[t + 1, j] - top)
            beta[t, i] = math.log(s) + top


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
    return math.log(s) + top


@inner
def viterbi(log_start, log_trans, log_like, delta, path):
    """The heaviest path (of equals, smallest states from the end), and its log weight; -inf when there is none."""
    fill(log_start, log_trans, log_like, delta)
    return trace_back(log_trans, delta, path)


@inner
def fill(log_start, log_trans, log_like, delta):
    """delta_t(j) = max_i (delta_{t-1}(i) + log_trans[i, j]) + log_like_t(j), the weight of the best way there."""
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
    """row[j] = max_i (before[i] + log_trans[i, j]), four i at a time: maxima side by side are what vectorises."""
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
    """The way back from the best last state. Where a maximum came from is asked again here, for the states of the
    path alone, instead of being kept for all."""
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
    """Log weight of one chain by logarithms."""
    return log_forward(log_start, log_trans, log_like, alpha)


@shared
def log_smooth(log_start, log_trans, log_like, alpha, beta, counts):
    """One chain by logarithms: its log weight; posteriors in place of `beta`, expected transitions onto
    `counts`."""
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
                counts[i, j] += math.exp(value)
    for t in range(T):
        for i in range(N):
            beta[t, i] = math.exp(alpha[t, i] + beta[t, i] - total)
    return total


@kernel
def decode(borders, log_start, log_trans, log_like, delta, path, logs):
    """The heaviest path of each of many chains, and its log weight."""
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        logs[s] = viterbi(log_start, log_trans, log_like[a:b], delta[: b - a], path[a:b])


# The same recursions one by one, for chains so long that they are taken in pieces (`hmm_sweeps`).


@kernel
def log_behind(log_trans, log_like, beta):
    """`log_backward`."""
    log_backward(log_trans, log_like, beta)


@kernel
def trellis(log_start, log_trans, log_like, delta):
    """`fill`."""
    fill(log_start, log_trans, log_like, delta)


@kernel
def trace(log_trans, delta, path):
    """`trace_back`."""
    return trace_back(log_trans, delta, path)
