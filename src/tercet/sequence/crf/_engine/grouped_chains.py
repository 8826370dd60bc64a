"""Many chains at once: the probabilities of labels and of neighbouring labels, by NumPy alone.

A chain of n positions and N labels is given by the scores of its labels, an array of shape (n, N), and the scores
of its steps, of shape (N, N) when they are the same everywhere or (n, N, N), where the matrix of a position leads
to it from the one before (that of the first position is not used). Chains of similar lengths go through the
recursions together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.functions import log_sum_exp
from tercet.sequence.crf._engine.marginals import Marginals

PIECE = 1 << 20  # steps of chains at a time: Ctrl-C does not wait long, nor is memory filled
LEAST = 1e-145  # a sum that shrinks to this in one step may lose digits that count in the end (see `chain_scaled`)
SHORT = 8  # chains no longer than this go together; longer ones with those of at least half their length


class Group(NamedTuple):
    """Chains of similar lengths, the longest first, so that those still under way at a position are the first ones.

    Attributes
    ----------
    chains : array of shape (m,)
        Which chains they are.
    rows : array of shape (m, n)
        The rows of their positions; beyond its end a chain repeats its last one.
    inside : array of bool of shape (m, n)
        Whether a position belongs to the chain.
    active : list of n integers
        How many chains reach each position.
    """

    chains: np.ndarray
    rows: np.ndarray
    inside: np.ndarray
    active: list[int]


def by_length(lengths: np.ndarray, labels: int) -> list[Group]:
    """All chains in groups of similar lengths, none too large."""
    starts, order = np.cumsum(lengths) - lengths, np.argsort(-lengths, kind="stable")
    falling, groups, first = -lengths[order], [], 0
    while first < order.size:
        longest = int(-falling[first])
        similar = np.searchsorted(falling, -(longest // 2 if longest > SHORT else 1), side="right")
        chains = order[first : min(similar, first + max(PIECE // (longest * labels**2), 1))]
        at, length = np.arange(longest), lengths[chains][:, None]
        inside = at < length
        rows = starts[chains][:, None] + np.minimum(at, length - 1)
        groups.append(Group(chains, rows, inside, inside.sum(axis=0).tolist()))
        first += chains.size
    return groups


def grouped_marginals(node: np.ndarray, edge: np.ndarray, groups: list[Group]) -> Marginals:
    """log Z and the probabilities of all chains, which `by_length` has grouped.

    Examples
    --------
    >>> groups = by_length(np.array([1, 2]), labels=2)
    >>> grouped_marginals(np.zeros((3, 2)), np.log([[1.0, 2.0], [3.0, 4.0]]), groups).edge[1]
    array([[0.1, 0.2],
           [0.3, 0.4]])
    """
    shared = edge.ndim == 2
    n = sum(group.chains.size for group in groups)
    log_z, nodes = np.empty(n), np.empty(node.shape)
    edges = np.zeros((n, *edge.shape) if shared else edge.shape)
    for group in groups:
        rows = group.rows[group.inside]
        log_z[group.chains], node_here, edge_here = _sweep(node, edge, group)
        nodes[rows] = node_here[group.inside]
        if shared:
            edges[group.chains] = edge_here
        else:
            edges[rows] = edge_here[group.inside]
    return Marginals(log_z, nodes, edges)


def grouped_best_scores(node: np.ndarray, edge: np.ndarray, groups: list[Group]) -> np.ndarray:
    """The score of each chain's best path."""
    best = np.empty(sum(group.chains.size for group in groups))
    for chains, rows, _, active in groups:
        delta = node[rows[:, 0]]
        for i, k in enumerate(active[1:], 1):
            step = edge if edge.ndim == 2 else edge[rows[:k, i]]
            delta[:k] = (delta[:k, :, None] + step).max(axis=1) + node[rows[:k, i]]
        best[chains] = delta.max(axis=1)
    return best


def _sweep(node: np.ndarray, edge: np.ndarray, group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z, the probabilities of labels, 0 where no chain is, and those of steps as `steps_of` gives them."""
    like, trans, offset = potentials(node, edge, group)
    scale = np.ones(group.rows.shape)
    alpha, beta = pass_over(like, trans, scale, group.active)
    if not (scale.min() > LEAST and beta.max() < 1 / LEAST):
        return _log_sweep(node, edge, group)
    log_z = np.log(scale).sum(axis=1) + offset
    return log_z, alpha * beta, steps_of(alpha, beta, like, trans, scale, group)


def potentials(node: np.ndarray, edge: np.ndarray, group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """exp of the scores less the largest of each position, and the sum of what was taken off each chain."""
    node, edge = node[group.rows], edge if edge.ndim == 2 else edge[group.rows]
    top, step_top = node.max(axis=-1, keepdims=True), edge.max(axis=(-2, -1), keepdims=True)
    taken = (top[:, :, 0] * group.inside).sum(axis=1)
    taken += (step_top[..., 0, 0] * group.inside)[:, 1:].sum(axis=1)
    return np.exp(node - top), np.exp(edge - step_top), taken


def pass_over(
    like: np.ndarray, trans: np.ndarray, scale: np.ndarray, active: list[int], *, given: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """α and β, each position divided by its `scale`: the sum of α, or with `given` what it holds already.

    With the scale of other chains, like and trans may be complex. The passes end early where a sum is below LEAST.
    """
    alpha, beta = np.zeros_like(like), np.ones_like(like)
    for i, k in enumerate(active):
        step = trans if trans.ndim == 2 else trans[:k, i]
        now = like[:, 0] if i == 0 else (alpha[:k, i - 1, None, :] @ step)[:, 0] * like[:k, i]
        if not given:
            scale[:k, i] = now.sum(axis=1)
            if not scale[:k, i].min() > LEAST:
                return alpha, beta
        alpha[:k, i] = now / scale[:k, i, None]
    for i, k in reversed(list(enumerate(active))[1:]):
        step = trans if trans.ndim == 2 else trans[:k, i]
        ahead = like[:k, i] * beta[:k, i] / scale[:k, i, None]
        beta[:k, i - 1] = (step @ ahead[:, :, None])[:, :, 0]
    return alpha, beta


def steps_of(
    alpha: np.ndarray, beta: np.ndarray, like: np.ndarray, trans: np.ndarray, scale: np.ndarray, group: Group
) -> np.ndarray:
    """α_{i-1}(a) M_i(a, b) β_i(b), of shape (m, n, N, N) with zeros at the first position, or where all steps are
    the same, summed over each chain: (m, N, N)."""
    ahead = like[:, 1:] * beta[:, 1:] * (group.inside / scale)[:, 1:, None]
    if trans.ndim == 2:
        return trans * (alpha[:, :-1].swapaxes(1, 2) @ ahead)
    edge = np.zeros(trans.shape, dtype=alpha.dtype)
    np.multiply(alpha[:, :-1, :, None] * trans[:, 1:], ahead[:, :, None, :], out=edge[:, 1:])
    return edge


def _log_sweep(node: np.ndarray, edge: np.ndarray, group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by logarithms, chain by chain: slow, and right where products are too small for a number."""
    m, n = group.rows.shape
    N = node.shape[1]
    log_z, nodes, edges = np.empty(m), np.zeros((m, n, N)), np.zeros((m, n, N, N))
    for j, rows in enumerate(row[inside] for row, inside in zip(group.rows, group.inside)):
        alpha, beta = node[rows], np.zeros((rows.size, N))
        steps = np.broadcast_to(edge, (rows.size, N, N)) if edge.ndim == 2 else edge[rows]
        for i in range(1, rows.size):
            alpha[i] += log_sum_exp(alpha[i - 1, :, None] + steps[i], axis=0)
        for i in range(rows.size - 1, 0, -1):
            beta[i - 1] = log_sum_exp(steps[i] + node[rows[i]] + beta[i], axis=1)
        log_z[j] = log_sum_exp(alpha[-1])
        nodes[j, : rows.size] = np.exp(alpha + beta - log_z[j])
        ahead = node[rows[1:]] + beta[1:] - log_z[j]
        edges[j, 1 : rows.size] = np.exp(alpha[:-1, :, None] + steps[1:] + ahead[:, None, :])
    return log_z, nodes, edges.sum(axis=1) if edge.ndim == 2 else edges
