"""Forward-backward recursions in NumPy, vectorised over chains of similar lengths; potentials may be complex.

A chain of n positions and N labels is given by its observation scores, an array of shape (n, N), and its transition
scores, of shape (N, N) when all positions share them or (n, N, N), where the table of a position is that of the
transition to it (that of the first position is not used).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.functions import log_sum_exp
from tercet.sequence.crf._engine.marginals import Marginals

PIECE = 1 << 20  # entries of transition tables at a time: bounds memory, and Ctrl-C does not wait long
UNDERFLOW = 1e-145  # a sum that shrinks to this at one position may lose digits that count in the end
SHORT = 8  # chains no longer than this go together; longer ones with those of at least half their length


class ChainGroup(NamedTuple):
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


def by_length(lengths: np.ndarray, labels: int) -> list[ChainGroup]:
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
        groups.append(ChainGroup(chains, rows, inside, inside.sum(axis=0).tolist()))
        first += chains.size
    return groups


def grouped_marginals(node: np.ndarray, edge: np.ndarray, groups: list[ChainGroup]) -> Marginals:
    """log Z and marginals of all chains, in the groups of `by_length`; `edge` is that of each position, or where
    transitions are shared, summed over each chain.

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


def grouped_best_scores(node: np.ndarray, edge: np.ndarray, groups: list[ChainGroup]) -> np.ndarray:
    """The score of each chain's best path."""
    best = np.empty(sum(group.chains.size for group in groups))
    for chains, rows, _, active in groups:
        delta = node[rows[:, 0]]
        for i, k in enumerate(active[1:], 1):
            table = edge if edge.ndim == 2 else edge[rows[:k, i]]
            delta[:k] = (delta[:k, :, None] + table).max(axis=1) + node[rows[:k, i]]
        best[chains] = delta.max(axis=1)
    return best


def _sweep(
    node: np.ndarray, edge: np.ndarray, group: ChainGroup
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log Z, node marginals (0 past the end of a chain), and edge marginals in the shape of `edge_marginals`."""
    like, trans, offset = potentials(node, edge, group)
    scale = np.ones(group.rows.shape)
    alpha, beta = scaled_passes(like, trans, scale, group.active)
    if not (scale.min() > UNDERFLOW and beta.max() < 1 / UNDERFLOW):
        return _log_sweep(node, edge, group)
    log_z = np.log(scale).sum(axis=1) + offset
    return log_z, alpha * beta, edge_marginals(alpha, beta, like, trans, scale, group)


def potentials(
    node: np.ndarray, edge: np.ndarray, group: ChainGroup
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """exp of the scores less the maximum of each position, and the sum of these maxima for each chain."""
    node, edge = node[group.rows], edge if edge.ndim == 2 else edge[group.rows]
    top, edge_top = node.max(axis=-1, keepdims=True), edge.max(axis=(-2, -1), keepdims=True)
    subtracted = (top[:, :, 0] * group.inside).sum(axis=1)
    subtracted += (edge_top[..., 0, 0] * group.inside)[:, 1:].sum(axis=1)
    return np.exp(node - top), np.exp(edge - edge_top), subtracted


def scaled_passes(
    like: np.ndarray, trans: np.ndarray, scale: np.ndarray, active: list[int], *, given: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """α and β, each position divided by its `scale`: the sum of α, or with `given` what it holds already.

    With a given scale, like and trans may be complex. The passes end early where a sum is below UNDERFLOW.
    """
    alpha, beta = np.zeros_like(like), np.ones_like(like)
    for i, k in enumerate(active):
        table = trans if trans.ndim == 2 else trans[:k, i]
        now = like[:, 0] if i == 0 else (alpha[:k, i - 1, None, :] @ table)[:, 0] * like[:k, i]
        if not given:
            scale[:k, i] = now.sum(axis=1)
            if not scale[:k, i].min() > UNDERFLOW:
                return alpha, beta
        alpha[:k, i] = now / scale[:k, i, None]
    for i, k in reversed(list(enumerate(active))[1:]):
        table = trans if trans.ndim == 2 else trans[:k, i]
        ahead = like[:k, i] * beta[:k, i] / scale[:k, i, None]
        beta[:k, i - 1] = (table @ ahead[:, :, None])[:, :, 0]
    return alpha, beta


def edge_marginals(
    alpha: np.ndarray,
    beta: np.ndarray,
    like: np.ndarray,
    trans: np.ndarray,
    scale: np.ndarray,
    group: ChainGroup,
) -> np.ndarray:
    """α_{i-1}(a) M_i(a, b) β_i(b), of shape (m, n, N, N) with zeros at the first position; where transitions are
    shared, summed over each chain: (m, N, N)."""
    ahead = like[:, 1:] * beta[:, 1:] * (group.inside / scale)[:, 1:, None]
    if trans.ndim == 2:
        return trans * (alpha[:, :-1].swapaxes(1, 2) @ ahead)
    edge = np.zeros(trans.shape, dtype=alpha.dtype)
    np.multiply(alpha[:, :-1, :, None] * trans[:, 1:], ahead[:, :, None, :], out=edge[:, 1:])
    return edge


def _log_sweep(
    node: np.ndarray, edge: np.ndarray, group: ChainGroup
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`_sweep` in log space, chain by chain: slow, but it never underflows."""
    m, n = group.rows.shape
    N = node.shape[1]
    log_z, nodes, edges = np.empty(m), np.zeros((m, n, N)), np.zeros((m, n, N, N))
    for j, rows in enumerate(row[inside] for row, inside in zip(group.rows, group.inside)):
        alpha, beta = node[rows], np.zeros((rows.size, N))
        pairs = np.broadcast_to(edge, (rows.size, N, N)) if edge.ndim == 2 else edge[rows]
        for i in range(1, rows.size):
            alpha[i] += log_sum_exp(alpha[i - 1, :, None] + pairs[i], axis=0)
        for i in range(rows.size - 1, 0, -1):
            beta[i - 1] = log_sum_exp(pairs[i] + node[rows[i]] + beta[i], axis=1)
        log_z[j] = log_sum_exp(alpha[-1])
        nodes[j, : rows.size] = np.exp(alpha + beta - log_z[j])
        ahead = node[rows[1:]] + beta[1:] - log_z[j]
        edges[j, 1 : rows.size] = np.exp(alpha[:-1, :, None] + pairs[1:] + ahead[:, None, :])
    return log_z, nodes, edges.sum(axis=1) if edge.ndim == 2 else edges
