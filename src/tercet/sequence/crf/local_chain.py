"""Chains normalised at each token: objective, recursions and decoding of the maximum-entropy Markov model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.functions import log_softmax
from tercet.core.kernel import inner, kernel
from tercet.sequence._chain.log_space import log_sum
from tercet.sequence.base import Sequences
from tercet.sequence.crf._engine.features import observation_scores
from tercet.sequence.crf._engine.objective import ChainObjective
from tercet.sequence.crf._engine.sequence_blocks import BlockChunk, SequenceBlock, Span
from tercet.sequence.crf.linear_chain import LinearChain
from tercet.sequence.k_best import k_best


class LocalObjective(ChainObjective):
    """The sum over tokens of -log P(y_t | y_t-1, x_t), plus l2 |w|²."""

    def _chunk(
        self, chunk: BlockChunk, block: SequenceBlock, node: np.ndarray, states: Any, transitions: Any
    ) -> tuple[float, np.ndarray]:
        _, rows, borders, weight, _ = chunk
        scores = observation_scores(block.X, rows.start, rows.stop, states, self.features.n_labels)
        start = self.X.borders[block.first] + rows.start
        before = labels_before(self.y[start : start + len(scores)], borders)
        weight = np.repeat(weight, np.diff(borders))
        edge = np.zeros(transitions.shape)
        log_z = local_probabilities(scores, transitions, before, weight, edge)
        node[rows] = scores
        return log_z, edge


@dataclass(frozen=True)
class LocalChain(LinearChain):
    """A fitted chain that is normalised at each token; constraints have no part in the normalisers.

    Parameters
    ----------
    greedy : bool, default=False
        Whether the best path is that of the best label at each token, given the one before.
    """

    greedy: bool = False

    def best_paths(self, span: Span, X: Sequences) -> tuple[np.ndarray, np.ndarray]:
        scores, borders = self.observation_scores(span, X, constrained=False)
        path, values = np.empty(len(scores), dtype=np.int64), np.empty(borders.size - 1)
        back = np.empty((int(np.diff(borders).max()), scores.shape[1]), dtype=np.int32)
        local_decode(borders, scores, self.transitions, *self.constraints, self.greedy, back, path, values)
        return path, values

    def marginals(self, span: Span, X: Sequences) -> tuple[np.ndarray, np.ndarray]:
        scores, borders = self.observation_scores(span, X, constrained=False)
        node, values = np.empty(scores.shape), np.empty(borders.size - 1)
        alpha = np.empty((int(np.diff(borders).max()), scores.shape[1]))
        local_marginals(borders, scores, self.transitions, *self.constraints, alpha, node, values)
        return node, values

    def log_likelihood(self, span: Span, X: Sequences, y: np.ndarray) -> np.ndarray:
        y = y[X.borders[span[0]] : X.borders[span[1]]]
        if (y < 0).any():
            raise ValueError("MEMM: log_likelihood needs the labels of all tokens.")
        scores, borders = self.observation_scores(span, X, constrained=False)
        before = labels_before(y, borders)
        scores[before >= 0] += self.transitions[before[before >= 0]]
        log_p = log_softmax(scores)[np.arange(y.size), y]
        return np.add.reduceat(log_p, borders[:-1])

    def k_best(self, s: int, X: Sequences, k: int) -> tuple[np.ndarray, np.ndarray]:
        scores, _ = self.observation_scores((s, s + 1), X, constrained=False)
        allowed, _ = self.observation_scores((s, s + 1), X)
        edges = scores[1:, None, :] + self.transitions
        edges = log_softmax(edges)
        return k_best(log_softmax(scores[0]), edges + self.constraints[1], allowed - scores, k)


def labels_before(y: np.ndarray, borders: np.ndarray) -> np.ndarray:
    """The label before each token; -1 at the beginning of a sequence.

    Examples
    --------
    >>> labels_before(np.array([3, 1, 2]), np.array([0, 2, 3]))
    array([-1,  3, -1])
    """
    before = np.concatenate([[-1], y[:-1]])
    before[borders[:-1]] = -1
    return before


@kernel
def local_probabilities(scores, transitions, before, weight, expected):
    """P(y_t | y_t-1, x_t) of all labels times the token's weight, in place of the scores; added up by the label
    before in `expected`. Returns the weighted sum of log Z."""
    n, N = scores.shape
    total = 0.0
    for t in range(n):
        row, i = scores[t], before[t]
        if i >= 0:
            for j in range(N):
                row[j] += transitions[i, j]
        top = row[0]
        for j in range(N):
            top = max(top, row[j])
        s = 0.0
        for j in range(N):
            row[j] = np.exp(row[j] - top)
            s += row[j]
        total += weight[t] * (np.log(s) + top)
        scale = weight[t] / s
        for j in range(N):
            row[j] *= scale
        if i >= 0:
            for j in range(N):
                expected[i, j] += row[j]
    return total


@inner
def log_normaliser(row, more):
    """log Σ_j exp(row_j + more_j)."""
    top = row[0] + more[0]
    for j in range(row.size):
        top = max(top, row[j] + more[j])
    s = 0.0
    for j in range(row.size):
        s += np.exp(row[j] + more[j] - top)
    return np.log(s) + top


@kernel
def local_decode(borders, scores, transitions, begin, go, end, greedy, back, path, values):
    """The best path of each chain (or the greedy one), and its log-probability; ties go to the first label.
    `begin`, `go` and `end` are 0, or -inf where constraints forbid a first label, a transition, a last label."""
    N = scores.shape[1]
    before, here, nothing = np.empty(N), np.empty(N), np.zeros(N)
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        for t in range(a, b):
            row = scores[t]
            if t == a:
                unit = log_normaliser(row, nothing)
                for j in range(N):
                    here[j] = row[j] - unit + begin[j]
            else:
                for j in range(N):
                    here[j] = -np.inf
                    back[t - a, j] = 0
                for i in range(N):
                    if before[i] > -np.inf:
                        lead = before[i] - log_normaliser(row, transitions[i])
                        for j in range(N):
                            value = lead + transitions[i, j] + go[i, j] + row[j]
                            if value > here[j]:
                                here[j] = value
                                back[t - a, j] = i
            if t == b - 1:
                for j in range(N):
                    here[j] += end[j]
            state = 0
            for j in range(1, N):
                if here[j] > here[state]:
                    state = j
            for j in range(N):
                before[j] = -np.inf if greedy and j != state else here[j]
        values[s] = before[state]
        for t in range(b - 1, a - 1, -1):
            path[t] = state
            if t > a:
                state = back[t - a, state]


@kernel
def local_marginals(borders, scores, transitions, begin, go, end, alpha, node, values):
    """P(y_t | x) of all labels, given that the path is allowed; `values` are the log-probabilities of that. Allowed
    paths may be too improbable for a double, so `alpha` is in log space."""
    N = scores.shape[1]
    nothing, arrival, terms = np.zeros(N), np.empty(N), np.empty(N)
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        for t in range(a, b):
            row, here = scores[t], alpha[t - a]
            if t == a:
                unit = log_normaliser(row, nothing)
                for j in range(N):
                    here[j] = row[j] - unit + begin[j]
            else:
                arrival_scores(row, transitions, alpha[t - a - 1], arrival)
                for j in range(N):
                    here[j] = row[j] + log_arrivals(j, arrival, transitions, go, terms)
        for j in range(N):
            alpha[b - 1 - a, j] += end[j]
        values[s] = log_sum(alpha[b - 1 - a])
        if values[s] == -np.inf:
            continue
        for j in range(N):
            node[b - 1, j] = np.exp(alpha[b - 1 - a, j] - values[s])
        # P(y_t-1 = i | x) = Σ_j P(y_t = j | x) P(y_t-1 = i | y_t = j, x)
        for t in range(b - 1, a, -1):
            arrival_scores(scores[t], transitions, alpha[t - a - 1], arrival)
            for i in range(N):
                node[t - 1, i] = 0.0
            for j in range(N):
                if node[t, j] > 0.0:
                    total = log_arrivals(j, arrival, transitions, go, terms)
                    for i in range(N):
                        node[t - 1, i] += node[t, j] * np.exp(terms[i] - total)


@inner
def arrival_scores(row, transitions, before, arrival):
    """log α_t-1(i) - log Z(x_t, i): what each label before contributes, before the score of the transition."""
    for i in range(arrival.size):
        arrival[i] = before[i] - log_normaliser(row, transitions[i]) if before[i] > -np.inf else -np.inf


@inner
def log_arrivals(j, arrival, transitions, go, terms):
    """The log of each term of α_t(j) / exp(score of j), by the label before, and of their sum."""
    for i in range(arrival.size):
        terms[i] = arrival[i] + transitions[i, j] + go[i, j]
    return log_sum(terms)
