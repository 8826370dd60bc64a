"""Chains whose steps are normalised one by one: what a maximum-entropy Markov model minimises, its recursions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.sequence._chain.log_space import log_sum
from tercet.sequence.crf._engine.objective import Block, ChainObjective
from tercet.sequence.crf._engine.products import token_scores


class LocalObjective(ChainObjective):
    """The sum over tokens of -log P(y_t | y_t-1, x_t), plus l2 |w|²."""

    def _piece(
        self, span: tuple[int, int], block: Block, node: np.ndarray, states: Any, steps: np.ndarray
    ) -> tuple[float, np.ndarray]:
        borders = block.borders[span[0] : span[1] + 1]
        rows, borders = slice(borders[0], borders[-1]), borders - borders[0]
        scores = token_scores(block.X, rows.start, rows.stop, states, self.features.n_labels)
        start = self.X.borders[block.first] + rows.start
        before = labels_before(self.y[start : start + len(scores)], borders)
        weight = np.repeat(self.weight[block.first + span[0] : block.first + span[1]], np.diff(borders))
        edge = np.zeros(steps.shape)
        log_z = local_steps(scores, steps, before, weight, edge)
        node[rows] = scores
        return log_z, edge


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
def local_steps(scores, steps, before, weight, edge):
    """P(y_t | y_t-1, x_t) of all labels times the token's weight, in place of the scores; summed by the label
    before onto `edge`. Returns the weighted sum of log Z."""
    n, N = scores.shape
    total = 0.0
    for t in range(n):
        row, i = scores[t], before[t]
        if i >= 0:
            for j in range(N):
                row[j] += steps[i, j]
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
                edge[i, j] += row[j]
    return total


@inner
def log_unit(row, more):
    """log Σ_j exp(row_j + more_j)."""
    top = row[0] + more[0]
    for j in range(row.size):
        top = max(top, row[j] + more[j])
    s = 0.0
    for j in range(row.size):
        s += np.exp(row[j] + more[j] - top)
    return np.log(s) + top


@kernel
def local_decode(borders, scores, steps, begin, go, end, greedy, back, path, values):
    """The best path of each chain (or the greedy one), and its log-probability; ties go to the first label."""
    N = scores.shape[1]
    before, here, nothing = np.empty(N), np.empty(N), np.zeros(N)
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        for t in range(a, b):
            row = scores[t]
            if t == a:
                unit = log_unit(row, nothing)
                for j in range(N):
                    here[j] = row[j] - unit + begin[j]
            else:
                for j in range(N):
                    here[j] = -np.inf
                    back[t - a, j] = 0
                for i in range(N):
                    if before[i] > -np.inf:
                        lead = before[i] - log_unit(row, steps[i])
                        for j in range(N):
                            value = lead + steps[i, j] + go[i, j] + row[j]
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
def local_marginals(borders, scores, steps, begin, go, end, alpha, node, values):
    """P(y_t | x) of all labels, of the paths that the walls leave; `values`: log-probability of all of these. What
    the walls leave may be improbable beyond what a number holds, so `alpha` is in logarithms."""
    N = scores.shape[1]
    nothing, share, ways = np.zeros(N), np.empty(N), np.empty(N)
    for s in range(borders.size - 1):
        a, b = borders[s], borders[s + 1]
        for t in range(a, b):
            row, here = scores[t], alpha[t - a]
            if t == a:
                unit = log_unit(row, nothing)
                for j in range(N):
                    here[j] = row[j] - unit + begin[j]
            else:
                shares(row, steps, alpha[t - a - 1], share)
                for j in range(N):
                    here[j] = row[j] + ways_to(j, share, steps, go, ways)
        for j in range(N):
            alpha[b - 1 - a, j] += end[j]
        values[s] = log_sum(alpha[b - 1 - a])
        if values[s] == -np.inf:
            continue
        for j in range(N):
            node[b - 1, j] = np.exp(alpha[b - 1 - a, j] - values[s])
        # The posterior of each label is shared out among those that it may have come from.
        for t in range(b - 1, a, -1):
            shares(scores[t], steps, alpha[t - a - 1], share)
            for i in range(N):
                node[t - 1, i] = 0.0
            for j in range(N):
                if node[t, j] > 0.0:
                    whole = ways_to(j, share, steps, go, ways)
                    for i in range(N):
                        node[t - 1, i] += node[t, j] * np.exp(ways[i] - whole)


@inner
def shares(row, steps, before, share):
    """What each label before brings to a step, less what the step is divided by."""
    for i in range(share.size):
        share[i] = before[i] - log_unit(row, steps[i]) if before[i] > -np.inf else -np.inf


@inner
def ways_to(j, share, steps, go, ways):
    """The log weight of the way to label j from each label before, and of all of them."""
    for i in range(share.size):
        ways[i] = share[i] + steps[i, j] + go[i, j]
    return log_sum(ways)
