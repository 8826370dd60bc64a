"""The training rows of each leaf of a forest, and quantiles of their targets (Meinshausen's quantile forests)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

ENTRIES = 1_000_000  # of leaves that are looked through at once
CLOSE = 1e-10  # weights that differ by no more are equal: a quantile must not depend on rounding


def rows_of_leaves(
    trees: Sequence[Any], X: np.ndarray, weights: Sequence[np.ndarray | None]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The rows of each leaf, one after the other over all nodes of all trees, and what they weigh in the forest.

    Parameters
    ----------
    trees : sequence of Tree
        The trees.
    X : array of shape (n, d)
        The training rows.
    weights : sequence of arrays or None
        How much each row counts in each tree; None where all count 1.

    Returns
    -------
    starts : array of shape (all nodes + 1,)
        Where the rows of a node begin; those of a test are none.
    rows, shares : arrays
        The rows, and their shares of the weight of the leaf, divided by the number of trees.
    """
    counts, rows, shares = [], [], []
    for tree, weight in zip(trees, weights):
        own = np.ones(len(X)) if weight is None else weight
        used = np.flatnonzero(own > 0)
        leaf = tree.apply(X[used])
        order = np.argsort(leaf, kind="stable")
        mass = np.bincount(leaf, own[used], tree.node_count)
        counts.append(np.bincount(leaf, minlength=tree.node_count))
        rows.append(used[order])
        shares.append(own[used[order]] / mass[leaf[order]] / len(trees))
    starts = np.append(0, np.cumsum(np.concatenate(counts)))
    return starts, np.concatenate(rows), np.concatenate(shares)


def leaf_quantiles(
    leaves: np.ndarray, starts: np.ndarray, ranks: np.ndarray, shares: np.ndarray, quantiles: np.ndarray
) -> np.ndarray:
    """Ranks of the targets at quantiles of the rows that share leaves.

    Parameters
    ----------
    leaves : array of shape (m, n_trees)
        The leaves of m rows, by their numbers among all nodes of all trees.
    starts, ranks, shares : arrays
        Of each node, where its rows begin; the ranks of the targets of all rows, and their weights.
    quantiles : array of shape (k,)
        From 0 to 1.

    Returns
    -------
    array of ints of shape (m, k)
    """
    counts = starts[leaves + 1] - starts[leaves]
    wide = int(counts.sum(axis=1).max(initial=1))
    block = int(np.clip(ENTRIES // wide, 1, 512))
    parts = [
        _block_quantiles(starts[leaves[i : i + block]], counts[i : i + block], ranks, shares, quantiles)
        for i in range(0, len(leaves), block)
    ]
    return np.concatenate(parts) if parts else np.zeros((0, len(quantiles)), dtype=np.int64)


def _block_quantiles(
    first: np.ndarray, counts: np.ndarray, ranks: np.ndarray, shares: np.ndarray, quantiles: np.ndarray
) -> np.ndarray:
    """`leaf_quantiles` of a few rows: their entries side by side, sorted by row and rank."""
    size = counts.sum(axis=1)
    flat, ends = counts.ravel(), np.cumsum(counts.ravel())
    entry = np.repeat(first.ravel() - (ends - flat), flat) + np.arange(ends[-1])
    row = np.repeat(np.arange(len(counts)), size)
    order = np.lexsort((ranks[entry], row))
    rank, total = ranks[entry][order], np.cumsum(shares[entry][order])
    last = np.cumsum(size) - 1
    below = np.append(0.0, total[last[:-1]])
    # Row i's cumulative weights run from i to i + 1: one search finds the quantiles of all rows.
    places = row + (total - below[row]) / (total[last] - below)[row]
    asked = np.arange(len(counts))[:, None] + np.maximum(quantiles - CLOSE, CLOSE)
    return rank[np.minimum(np.searchsorted(places, asked), last[:, None])]
