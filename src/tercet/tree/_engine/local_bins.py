"""Growth of boosting trees whose nodes bin their own rows: XGBoost's approximate algorithm with local candidates.

The bins of a node hold about equal sums of hessians of its rows, so that the thresholds that are tried become finer
from level to level, where bins that are made once for all rows stay as coarse as they are. Each node is a stump of
`HistogramTree` on its own bins.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tercet.core.stopping import check_stop
from tercet.tree._engine.binning import BinnedColumns
from tercet.tree._engine.criteria import hashed
from tercet.tree._engine.histogram import HistogramTree
from tercet.tree._engine.limits import ColumnDraws, draw_level
from tercet.tree._engine.tree_arrays import NodeTable, TreeArrays

TINY = float(np.finfo(np.float64).tiny)
SLACK = 1e-6  # of a bin


def binned_by_hessians(
    X: np.ndarray,
    max_bins: int,
    n_categories: np.ndarray,
    gradients: np.ndarray,
    hessians: np.ndarray,
    n_jobs: int | None,
) -> BinnedColumns:
    """Bins of about equal sums of hessians; rare categories of similar -g / h share one.

    Examples
    --------
    >>> X, h = np.arange(6.0)[:, None], np.array([3.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    >>> binned_by_hessians(X, 2, np.zeros(1, int), -h, h, None).column(0).tolist()
    [0, 0, 1, 1, 1, 1]
    """
    mass = np.maximum(hessians, TINY)  # where the loss is a straight line, too, a row is there
    target = -gradients / mass if n_categories.any() else None
    return BinnedColumns.of(X, max_bins, n_categories, mass, 0, n_jobs, target, SLACK)


class LocalStump(NamedTuple):
    """The best split of a node by its own bins: statistics of the node and its children, and the rows of those."""

    columns: np.ndarray  # of which those of the tree number theirs
    arrays: TreeArrays
    rows: list[np.ndarray]

    @property
    def gain(self) -> float:
        """The decrease of twice the penalised second-order loss; -1 without a split."""
        score = -self.arrays.nodes["impurity"] * self.arrays.nodes["weighted_n_node_samples"]
        return float(score[1] + score[2] - score[0]) if len(score) == 3 else -1.0


@dataclass(frozen=True)
class LocalTree:
    """Growth of one tree from gradients and hessians, best leaf first, each node on bins of its own.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows; in a column of categories their codes.
    n_categories : array of shape (d,)
        0 for a column of numbers.
    max_bins : int
        The most bins of a column in a node.
    growth : HistogramTree
        What a split must keep to, and the seed.

    Examples
    --------
    >>> from tercet.tree import Limits
    >>> X, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
    >>> growth = LocalTree(X, np.zeros(1, int), 3, HistogramTree(Limits(max_depth=2, max_leaf_nodes=3)))
    >>> tree, leaf = growth.grow_with_leaves(0.5 - y, np.ones(6), None)
    >>> tree.nodes["threshold"].tolist(), leaf.tolist()
    ([2.5, -2.0, 3.5, -2.0, -2.0], [1, 1, 3, 4, 4, 4])
    """

    X: np.ndarray
    n_categories: np.ndarray
    max_bins: int
    growth: HistogramTree

    def grow_with_leaves(
        self, gradients: np.ndarray, hessians: np.ndarray, rows: np.ndarray | None
    ) -> tuple[TreeArrays, np.ndarray]:
        """The tree from all rows or some of them, and the leaf that each row came to (-1 for one not used)."""
        n, d = self.X.shape
        limits, table, leaf = self.growth.limits, NodeTable(d), np.full(n, -1, np.int64)
        draws, key = (
            ColumnDraws.of(limits, d, self.growth.seed),
            int(hashed(self.growth.seed & 0xFFFFFFFF, 0)),
        )
        table.add_root()
        start = np.arange(n) if rows is None else rows
        leaf[start] = 0
        frontier: list[tuple[float, int, int, int, LocalStump]] = []

        def open_node(t: int, own: np.ndarray, depth: int, key: int) -> None:
            """Find the split of a node; without one it stays a leaf."""
            if t > 0 and (depth >= limits.max_depth or own.size < max(limits.min_samples_split, 2)):
                return
            stump = self._stump(gradients, hessians, own, draws, depth, key)
            if t == 0:
                set_node(table, 0, stump.arrays, 0)
            if stump.gain > 0.0 and depth < limits.max_depth:
                gain = float(f"{stump.gain:.9g}")  # rounding must not decide between equal gains
                heapq.heappush(frontier, (-gain, t, depth, key, stump))

        open_node(0, start, 0, key)
        leaves = 1
        while frontier and (limits.max_leaf_nodes is None or leaves < limits.max_leaf_nodes):
            check_stop()
            _, t, depth, key, stump = heapq.heappop(frontier)
            for side, child in enumerate(split_node(table, t, stump)):
                set_node(table, child, stump.arrays, 1 + side)
                leaf[stump.rows[side]] = child
                open_node(child, stump.rows[side], depth + 1, int(hashed(key, side)))
            leaves += 1
        return table.arrays(), leaf

    def _stump(
        self,
        gradients: np.ndarray,
        hessians: np.ndarray,
        rows: np.ndarray,
        draws: ColumnDraws,
        depth: int,
        key: int,
    ) -> LocalStump:
        """The best split of some rows by the columns that are drawn for their depth."""
        order = np.arange(self.X.shape[1])
        columns = np.sort(order[: draw_level(draws, depth, order)])
        g, h, kinds = gradients[rows], hessians[rows], self.n_categories[columns]
        own = np.ascontiguousarray(self.X[np.ix_(rows, columns)])
        bins = binned_by_hessians(own, self.max_bins, kinds, g, h, self.growth.n_jobs)
        limits = replace(
            self.growth.limits, max_depth=1, max_leaf_nodes=None, tree_features=None, level_features=None
        )
        stump = replace(self.growth, limits=limits, seed=key)
        arrays, leaf = stump.grow_with_leaves(bins, g, h)
        return LocalStump(columns, arrays, [rows[leaf == side] for side in (1, 2)])


def set_node(table: NodeTable, t: int, arrays: TreeArrays, at: int) -> None:
    """Set the statistics of a node of the tree: those of node `at` of a stump."""
    names = ("impurity", "n_node_samples", "weighted_n_node_samples")
    impurity, samples, weight = (arrays.nodes[name][at] for name in names)
    table.set(t, value=arrays.value[at], impurity=impurity, samples=samples, weight=weight)


def split_node(table: NodeTable, t: int, stump: LocalStump) -> range:
    """Give a node of the tree the test of a stump; returns the numbers of its children."""
    nodes, feature = stump.arrays.nodes, int(stump.arrays.nodes["feature"][0])
    count = int(nodes["slot_count"][0])
    return table.split(
        t,
        feature=int(stump.columns[feature]),
        threshold=float(nodes["threshold"][0]),
        missing=int(nodes["missing"][0]),
        slots=np.asarray(stump.arrays.slots)[:count] if count else None,
    )
