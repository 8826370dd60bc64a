"""Ranked growth: forests of two classes, from the ranks of the values in each column.

Presorted growth keeps every column of a node in order, though a node of a forest looks at few of them; here a node
is a list of rows, and the columns that it tries are sorted, as far as that is needed (`ranked_kernels`). The trees
are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tercet.core.parallel import each
from tercet.tree._engine.criteria import hashed
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.ranked_kernels import (
    CHILD,
    FEATURE,
    FIELD,
    HIGH,
    LOW,
    LOW_BITS,
    MOST_WEIGHT,
    NODE_FIELDS,
    ONES,
    SAMPLES,
    WEIGHT,
    grow_ranked,
)
from tercet.tree._engine.traversal import LEAF, THRESHOLD
from tercet.tree._engine.tree_arrays import TreeArrays


class RankedColumns:
    """The rank of every row in every column, and the distinct values; there are no missing ones.

    Parameters
    ----------
    X : float array of shape (n, d)
        The rows.
    orders : array of shape (d, n)
        The rows in the order of each column.
    n_jobs : int, optional
        Threads.
    """

    def __init__(self, X: np.ndarray, orders: np.ndarray, n_jobs: int | None = None) -> None:
        n, d = X.shape
        ranks = np.empty((d, n), np.uint32)
        self.distinct: list[np.ndarray] = [np.empty(0)] * d

        def rank(j: int) -> None:
            values = X[orders[j], j]
            new = np.append(np.zeros(1, bool), values[1:] != values[:-1])
            ranks[j, orders[j]] = np.cumsum(new)
            new[0] = True
            self.distinct[j] = values[new]

        each(rank, range(d), n_jobs=n_jobs)
        small = max(map(len, self.distinct)) <= 1 << 16
        self.ranks = ranks.astype(np.uint16) if small else ranks

    @staticmethod
    def can_grow(
        n: int, d: int, weight: np.ndarray | None, n_classes: Sequence[int], criterion: str, limits: Limits
    ) -> bool:
        """Whether trees are grown here, and faster than by `presorted`; the columns hold numbers, none missing."""
        usual = criterion == "gini" and tuple(n_classes) == (2,) and limits.min_weight_leaf == 0.0
        few = limits.max_features is not None and 2 * limits.max_features <= d
        if not usual or not few or limits.min_impurity_decrease > 0.0 or n >= 1 << 24:
            return False
        total = n if weight is None else weight.sum()
        whole = weight is None or ((weight == np.floor(weight)).all() and weight.max() <= MOST_WEIGHT)
        return bool(total < 1 << FIELD and whole)

    def grow(
        self, ids: np.ndarray, target: np.ndarray, weight: np.ndarray | None, limits: Limits, seed: int
    ) -> TreeArrays:
        """Grow a tree from the rows `ids`, of these classes and weights (None: each is 1)."""
        own = np.ones(len(ids), np.uint32) if weight is None else weight.astype(np.uint32)
        entries = ids.astype(np.uint32) << LOW_BITS | own << 1 | target.astype(np.uint32)
        nodes = np.empty((2 * len(ids), NODE_FIELDS), np.int64)
        key = int(hashed(seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF))
        stop = (
            int(limits.max_features or 1),
            int(limits.max_depth),
            int(limits.min_samples_split),
            int(limits.min_samples_leaf),
        )
        count = grow_ranked(self.ranks, entries.astype(np.uint32), stop, key, nodes)
        return self._arrays(nodes[:count])

    def _arrays(self, nodes: np.ndarray) -> TreeArrays:
        inner = nodes[:, FEATURE] >= 0
        threshold, share, missing = np.full(len(nodes), -2.0), np.ones(len(nodes)), np.zeros(len(nodes), int)
        for j in np.unique(nodes[inner, FEATURE]).tolist():
            at = np.flatnonzero(nodes[:, FEATURE] == j)
            low, high = self.distinct[j][nodes[at, LOW]], self.distinct[j][nodes[at, HIGH]]
            middle = low / 2.0 + high / 2.0
            threshold[at] = np.where((low <= middle) & (middle < high), middle, low)
        weight, samples, first = nodes[:, WEIGHT].astype(np.float64), nodes[:, SAMPLES], nodes[inner, CHILD]
        for k in range(2):
            share[first + k] = weight[first + k] / weight[inner]
        missing[inner] = 2 * samples[first] <= samples[inner]
        second = nodes[:, ONES] / weight
        value = np.column_stack([1.0 - second, second])
        value[nodes[:, ONES] == nodes[:, WEIGHT]] = 0.0, 1.0
        arrays = {
            "kind": np.where(inner, THRESHOLD, LEAF),
            "feature": np.where(inner, nodes[:, FEATURE], -2),
            "threshold": threshold,
            "child": nodes[:, CHILD],
            "n_children": 2 * inner,
            "missing": missing,
            "share": share,
            "impurity": 2.0 * second * (1.0 - second),
            "n_node_samples": samples,
            "weighted_n_node_samples": weight,
        }
        return TreeArrays(len(self.distinct), value[:, None, :], [2], (), None, arrays)
