"""Histogram growth: trees from histograms of binned columns.

`grow_binned` grows a tree of classes or of numbers. `HistogramTree` grows one from gradients and hessians: the leaf
values are -G / (H + lambda), and a split must gain

    G_L² / (H_L + lambda) + G_R² / (H_R + lambda) - G² / (H + lambda) > gamma.

The parts: `binning` (columns in bins), `histogram_statistics` (rows as integers), `histogram_scan` (the best split
of a column), `histogram_kernels` (the kernels of growth), `histogram_growth` (depth first or best first).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.penalties import soft_threshold
from tercet.tree._engine.binning import BinnedColumns
from tercet.tree._engine.criteria import CODES, GINI, SQUARED, impurity
from tercet.tree._engine.histogram_constraints import ConstrainedGrower
from tercet.tree._engine.histogram_growth import HistogramGrower
from tercet.tree._engine.histogram_kernels import CHILD, IS_SPLIT, START, STOP
from tercet.tree._engine.histogram_statistics import (
    ENTROPY,
    EVERY_CUT,
    NEWTON,
    RATIO,
    CategoryRule,
    HistogramStatistics,
)
from tercet.tree._engine.limits import NO_LIMITS, Limits
from tercet.tree._engine.tree_arrays import TreeArrays


def grow_binned(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: Sequence[int],
    criterion: str,
    limits: Limits = NO_LIMITS,
    n_categories: Any = None,
    seed: int = 0,
    max_bins: int = 255,
    n_jobs: int | None = None,
) -> TreeArrays:
    """Grow a tree of classes or numbers from at most `max_bins` bins of each column (see `engine.grow`).

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [np.nan]])
    >>> tree = grow_binned(X, np.array([0, 0, 1, 1]), n_classes=[2], criterion="gini")
    >>> tree.nodes["threshold"][0].item(), tree.nodes["missing"][0].item(), len(tree.value)
    (2.5, 1, 3)
    """
    bins = BinnedColumns.of(X, max_bins, n_categories, weight, seed, n_jobs)
    count = limits.min_samples_leaf > 1
    total = float(len(target) if weight is None else weight.sum())
    least = (limits.min_samples_leaf, limits.min_weight_leaf)
    code = CODES[criterion]
    if code != SQUARED:
        statistics = HistogramStatistics.of_classes(target, weight, n_classes[0], count)
        two = 2.0 if statistics.n_sums == 1 else 1.0
        rule = statistics.rule(RATIO if code == GINI else ENTROPY, two, 0.0, *least)
    else:
        statistics = HistogramStatistics.of_numbers(target, weight, count)
        rule = statistics.rule(RATIO, 1.0, 0.0, *least)
    asked = limits.min_impurity_decrease
    floor = total * (asked - np.finfo(float).eps) if asked > 0 else -np.inf
    growth = HistogramGrower(bins, statistics, rule, limits, floor, seed, n_jobs)
    growth.grow()
    mass = np.ones(len(target)) if weight is None else weight
    if code != SQUARED:
        counts = class_sums(growth.nodes, growth.rows, target.astype(np.int64), mass, n_classes[0])
        impurity_ = impurities(counts, code)
        weights = counts.sum(axis=1)
        return growth.arrays((counts / weights[:, None])[:, None], impurity_, weights, n_classes)
    sums = moment_sums(growth.nodes, growth.rows, target.astype(np.float64), mass)
    return growth.arrays(sums[:, 1, None, None], sums[:, 2] / sums[:, 0], sums[:, 0], n_classes)


@dataclass(frozen=True)
class HistogramTree:
    """Growth of one tree from gradients and hessians, as gradient boosting needs it.

    Parameters
    ----------
    limits : Limits
        When to stop; `min_weight_leaf` is the least sum of hessians in a leaf.
    penalty, l1 : float
        lambda and alpha, the L2 and the L1 penalty of the leaf values; the latter moves G towards 0 by alpha.
    min_gain : float
        gamma, what a split must gain.
    packed : bool
        Round the gradients and hessians of n rows to about 31 - log2(n) binary digits, which halves the time. Leaf
        values are not rounded.
    seed : int
        Decides which columns the tree, its levels and its nodes try (`Limits`).
    n_jobs : int, optional
        Threads; the same bits come out for any number of them.
    monotonic : array of -1, 0 and 1 of shape (d,), optional
        1 or -1 where the prediction must not fall or rise with the column.
    groups : list of sets of columns, optional
        The columns that may be tested on one path.
    categories : CategoryRule
        How splits of categories are regularised; by default not at all.

    Examples
    --------
    >>> X, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
    >>> stump = HistogramTree(Limits(max_depth=1)).grow(BinnedColumns.of(X), gradients=0.5 - y)
    >>> stump.nodes["threshold"][0].item(), stump.value.ravel().round(3).tolist()
    (3.5, [1.643, 0.45, 2.425])
    """

    limits: Limits = NO_LIMITS
    penalty: float = 1.0
    l1: float = 0.0
    min_gain: float = 0.0
    packed: bool = False
    seed: int = 0
    n_jobs: int | None = None
    monotonic: Any = None
    groups: Any = None
    categories: CategoryRule = EVERY_CUT

    def grow(
        self, bins: BinnedColumns, gradients: np.ndarray, hessians: np.ndarray | None = None, rows: Any = None
    ) -> TreeArrays:
        """The tree for these gradients and hessians (None: each is 1), from all rows or some of them."""
        return self._grown_tree(bins, gradients, hessians, rows)[0]

    def grow_with_leaves(
        self, bins: BinnedColumns, gradients: np.ndarray, hessians: np.ndarray | None = None, rows: Any = None
    ) -> tuple[TreeArrays, np.ndarray]:
        """The tree, and the leaf that each row came to (-1 for one that was not used)."""
        tree, growth = self._grown_tree(bins, gradients, hessians, rows)
        return tree, growth.leaves()

    def _grown_tree(
        self, bins: BinnedColumns, gradients: np.ndarray, hessians: Any, rows: Any
    ) -> tuple[TreeArrays, HistogramGrower]:
        limits = self.limits
        g = np.ascontiguousarray(gradients, dtype=np.float64)
        h = np.ones(len(g)) if hessians is None else np.ascontiguousarray(hessians, dtype=np.float64)
        count = limits.min_samples_leaf > 1 or (self.categories.most > 0 and bool(bins.n_categories.any()))
        statistics = HistogramStatistics.of_gradients(g, None if hessians is None else h, count, self.packed)
        least = limits.min_samples_leaf, limits.min_weight_leaf
        rule = statistics.rule(NEWTON, 1.0, self.penalty, *least, self.categories, self.l1)
        noise = 1e-13 * np.abs(g).sum() ** 2 / max(h.sum() + self.penalty, np.finfo(float).tiny)
        asked = limits.min_impurity_decrease
        floor = noise + (max(self.min_gain, asked * len(g)) if asked > 0 else self.min_gain)
        growth: HistogramGrower
        given = (bins, statistics, rule, limits, floor, self.seed, self.n_jobs, rows)
        if self.monotonic is None and self.groups is None:
            growth = HistogramGrower(*given)
        else:
            growth = ConstrainedGrower(*given, monotonic=self.monotonic, groups=self.groups)
        growth.grow()
        sums = gradient_sums(growth.nodes, growth.rows, g, h)
        G, H = soft_threshold(sums[:, 0], self.l1), np.maximum(sums[:, 1], np.finfo(float).tiny)
        value = -G / (H + self.penalty)
        if isinstance(growth, ConstrainedGrower):
            value = growth.clipped(value)
        # The score of a node, for each unit of H: importances then add up the gains.
        return growth.arrays(value[:, None, None], G * value / H, sums[:, 1], (1,)), growth


@kernel
def class_sums(nodes, rows, y, weight, n_classes):
    """The weight of each class in each node; a parent has what its children have."""
    sums = np.zeros((len(nodes), n_classes))
    for t in range(len(nodes) - 1, -1, -1):
        if nodes[t, IS_SPLIT]:
            for k in range(n_classes):
                sums[t, k] = sums[nodes[t, CHILD], k] + sums[nodes[t, CHILD] + 1, k]
        else:
            for i in range(nodes[t, START], nodes[t, STOP]):
                sums[t, y[rows[i]]] += weight[rows[i]]
    return sums


@kernel
def impurities(counts, code):
    """The impurity of each node."""
    found = np.empty(len(counts))
    for t in range(len(counts)):
        found[t] = impurity(counts[t], code)
    return found


@kernel
def moment_sums(nodes, rows, y, weight):
    """Weight, mean, and sum of squared distances from it, in each node."""
    sums = np.zeros((len(nodes), 3))
    for t in range(len(nodes) - 1, -1, -1):
        if nodes[t, IS_SPLIT]:
            left, right = sums[nodes[t, CHILD]], sums[nodes[t, CHILD] + 1]
            total, apart = left[0] + right[0], right[1] - left[1]
            sums[t, 0] = total
            sums[t, 1] = left[1] + apart * right[0] / total
            sums[t, 2] = left[2] + right[2] + apart * apart * left[0] * right[0] / total
            continue
        first, away = y[rows[nodes[t, START]]], 0.0
        for i in range(nodes[t, START], nodes[t, STOP]):
            sums[t, 0] += weight[rows[i]]
            away += weight[rows[i]] * (y[rows[i]] - first)
        sums[t, 1] = first + away / sums[t, 0]
        for i in range(nodes[t, START], nodes[t, STOP]):
            sums[t, 2] += weight[rows[i]] * (y[rows[i]] - sums[t, 1]) ** 2
    return sums


@kernel
def gradient_sums(nodes, rows, gradients, hessians):
    """The sums of gradients and hessians in each node."""
    sums = np.zeros((len(nodes), 2))
    for t in range(len(nodes) - 1, -1, -1):
        if nodes[t, IS_SPLIT]:
            for k in range(2):
                sums[t, k] = sums[nodes[t, CHILD], k] + sums[nodes[t, CHILD] + 1, k]
        else:
            for i in range(nodes[t, START], nodes[t, STOP]):
                sums[t, 0] += gradients[rows[i]]
                sums[t, 1] += hessians[rows[i]]
    return sums
