"""Steps that differ from token to token, where attributes have weights for pairs of neighbouring labels.

An attribute of token t that acts on transitions adds its weights to the step from token t - 1 to t. To it a pair of
labels is what a single label is to other attributes: with N² labels the two products of `crf_products` serve here
too. Tokens with the same such attributes have the same steps, so that few tables serve many tokens.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.kernel import inner, kernel, shared
from tercet.core.sums import sum_of
from tercet.sequence._chain.log_space import best_ways, first_largest, log_backward, log_sum
from tercet.sequence._chain.scaled import backward, first, inverse, kept, last, log_weight
from tercet.sequence.crf._engine.products import Features, token_scores


class StepsAt(NamedTuple):
    """The scores of steps by token.

    Attributes
    ----------
    tables : array of shape (n_kinds, n_labels, n_labels)
        The scores of the steps of each kind.
    kind : array of int of shape (n_tokens,)
        Of which kind the step to each token is. (That of a sequence's first token is not used.)
    """

    tables: np.ndarray
    kind: np.ndarray

    def of(self, rows: np.ndarray) -> StepsAt:
        """Those of some of the tokens."""
        return StepsAt(self.tables, self.kind[rows])


class Bigrams(NamedTuple):
    """The weights of bigrams: the columns of their attributes, and a table (columns, pairs of labels)."""

    columns: np.ndarray
    table: Any

    def steps(self, X: Any, shared: np.ndarray) -> StepsAt:
        """The steps to the tokens of X: what all share, and what the attributes add."""
        X = on_columns(X, self.columns)
        first_of, kind = kinds(X)
        return StepsAt(step_tables(X[first_of], 0, first_of.size, self.table, shared), kind)


def by_column(bigrams: Features) -> tuple[np.ndarray, Features]:
    """The columns that have bigrams, and the same features with only these for attributes."""
    columns, attribute = np.unique(bigrams.attribute, return_inverse=True)
    return columns, bigrams._replace(attribute=attribute, n_attributes=columns.size)


def on_columns(X: Any, columns: np.ndarray) -> sparse.csr_array:
    """Some columns as CSR rows."""
    return sparse.csr_array(X[:, columns])


def step_tables(X: Any, begin: int, end: int, table: Any, shared: np.ndarray) -> np.ndarray:
    """A table of steps for some of the rows."""
    N = len(shared)
    return token_scores(X, begin, end, table, N * N).reshape(-1, N, N) + shared


def kinds(X: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of row, and the kind of every row.

    Examples
    --------
    >>> kinds(sparse.csr_array([[0, 1], [2, 0], [0, 1]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    found: dict[tuple[bytes, bytes], int] = {}
    kind = [
        found.setdefault((X.indices[a:b].tobytes(), X.data[a:b].tobytes()), len(found))
        for a, b in itertools.pairwise(X.indptr.tolist())
    ]
    return np.unique(kind, return_index=True)[1], np.array(kind, dtype=np.int64)


@inner
def sweep_at(kind, trans, like, alpha, posterior, unit, a, b):
    """Forward and backward along the chain with the rows from a to b, as `chain_scaled` has them for steps that are
    all alike; its log weight, or -inf where scaling fails. `like` becomes `onward`."""
    first(np.ones(like.shape[1]), like, alpha, unit, a)
    for t in range(a + 1, b):
        table, before, row = trans[kind[t]], alpha[t - 1], alpha[t]
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
        backward(trans[kind[t]], like, alpha, unit, posterior, t, t + 1)
    return value if kept(unit, a + 1, b) else -np.inf


@kernel
def smooth_at(borders, kind, trans, like, weight, alpha, posterior, unit, logs, edge):
    """Posteriors of the labels of many chains, and log weights, -inf where scaling fails; edge * trans are the
    expected steps of each kind in the others, times the weights of the chains."""
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        logs[s] = sweep_at(kind, trans, like, alpha, posterior, unit, a, b)
        if logs[s] > -np.inf:
            for t in range(a + 1, b):
                table, onward = edge[kind[t]], like[t]
                for i in range(onward.size):
                    line, x = table[i], weight[s] * alpha[t - 1, i]
                    for j in range(onward.size):
                        line[j] += x * onward[j]


@shared
def log_smooth_at(kind, steps, scores, weight, alpha, beta, edge):
    """One chain by logarithms: its log weight; posteriors in place of `beta`, its expected steps times its weight
    onto those of each kind."""
    T, N = scores.shape
    ways = np.empty(N)
    for j in range(N):
        alpha[0, j] = scores[0, j]
        beta[T - 1, j] = 0.0
    for t in range(1, T):
        table = steps[kind[t]]
        for j in range(N):
            for i in range(N):
                ways[i] = alpha[t - 1, i] + table[i, j]
            alpha[t, j] = log_sum(ways) + scores[t, j]
    whole = log_sum(alpha[T - 1])
    if whole == -np.inf:
        return whole
    for t in range(T - 2, -1, -1):
        log_backward(steps[kind[t + 1]], scores[t : t + 2], beta[t : t + 2])
    for t in range(1, T):
        table, counts = steps[kind[t]], edge[kind[t]]
        for i in range(N):
            for j in range(N):
                value = alpha[t - 1, i] + table[i, j] + scores[t, j] + beta[t, j] - whole
                counts[i, j] += weight * math.exp(value)
    for t in range(T):
        for i in range(N):
            beta[t, i] = math.exp(alpha[t, i] + beta[t, i] - whole)
    return whole


@inner
def viterbi_at(kind, steps, scores, delta, path):
    """The heaviest path and its log weight, as `chain.viterbi` finds them for steps that are all alike."""
    T, N = scores.shape
    for j in range(N):
        delta[0, j] = scores[0, j]
    for t in range(1, T):
        row = delta[t]
        best_ways(steps[kind[t]], delta[t - 1], row)
        for j in range(N):
            row[j] += scores[t, j]
    state = first_largest(delta[T - 1])
    best = delta[T - 1, state]
    path[T - 1] = state
    for t in range(T - 1, 0, -1):
        table, to, state, top = steps[kind[t]], path[t], 0, -np.inf
        for i in range(N):
            value = delta[t - 1, i] + table[i, to]
            if value > top:
                state, top = i, value
        path[t - 1] = state
    return best


@kernel
def decode_at(borders, kind, steps, scores, delta, path, logs):
    """The heaviest path of each of many chains, and its log weight."""
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        logs[s] = viterbi_at(kind[a:b], steps, scores[a:b], delta[: b - a], path[a:b])


__all__ = ["Bigrams", "StepsAt", "by_column", "kinds", "on_columns", "step_tables"]
