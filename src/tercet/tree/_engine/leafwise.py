"""Leaf-wise growth of boosting trees: one kernel call for each tree, memory that all of them share.

The trees are those of `HistogramTree`, but for rounding: the gradient and the hessian of a row are halves of a word
(`histogram_statistics`), of about 31 - log2(n) binary digits each. Leaf values are exact. A row that counts k times
is rounded as k rows are: a row of weight 2 and a row twice give the same tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each, one_blas_thread
from tercet.core.task_board import assisted
from tercet.penalties import soft_threshold
from tercet.tree._engine.binning import BinnedColumns
from tercet.tree._engine.criteria import hashed
from tercet.tree._engine.histogram_growth import arrays_of_nodes
from tercet.tree._engine.histogram_kernels import IS_SPLIT, STOP
from tercet.tree._engine.histogram_statistics import (
    BINS,
    EVERY_CUT,
    NEWTON,
    PACKED,
    CategoryRule,
    HistogramStatistics,
    RowStatistics,
    unit_for,
)
from tercet.tree._engine.leafwise_kernels import STRIP_ROWS, grow_leafwise
from tercet.tree._engine.leafwise_scan import FOUND, CutRule
from tercet.tree._engine.leafwise_search import (
    BATCH,
    KEY,
    NODE_FIELDS,
    SLOT,
    VALUE,
    LeafwiseLimits,
    LeafwiseTree,
    new_search_workspace,
)
from tercet.tree._engine.limits import ColumnDraws, Limits
from tercet.tree._engine.tree_arrays import TreeArrays

HISTOGRAM_BYTES = 1 << 29  # of all histograms of leaves
TERM_ROWS = 1 << 16  # rows of one task of `add_terms` and `pack_terms`
MOST_ROWS = 1 << 22  # with more, halves of a word leave too few digits to a row
MOST_LEAVES = 1 << 12  # the next leaf is looked for among all of them
FINEST = 2.0**61  # units of the exact sums of leaves, in all
MOST_MASS = 2**62  # units of hessians that no node has


class TermTotals(NamedTuple):
    """What rounding must know of gradients and hessians: sums of |g| and h, the least and the largest h.

    Examples
    --------
    >>> gradients, hessians = np.array([-1.0, 2.0]), np.array([1.0, 1.0])
    >>> totals = TermTotals(np.abs(gradients).sum(), hessians.sum(), hessians.min(), hessians.max())
    >>> float(totals.gradients), float(totals.hessians)
    (3.0, 2.0)
    """

    gradients: float
    hessians: float
    least: float
    largest: float


class LeafwiseGrower:
    """Growth of boosting trees from binned columns, always at the leaf of the largest gain.

    Parameters
    ----------
    bins : BinnedColumns
        The rows, `MOST_ROWS` of them at most.
    limits : Limits
        When to stop; `max_leaf_nodes` must be given, `min_weight_leaf` is the least sum of hessians in a leaf.
    penalty : float
        lambda, the L2 penalty of the leaf values.
    min_gain : float
        gamma, what a split must gain.
    n_jobs : int, optional
        Threads; the same bits come out for any number of them.
    categories : CategoryRule
        How splits of categories are regularised; by default not at all.
    copies : float64 array of shape (n,), optional
        How often each row counts, whole numbers; its gradient and hessian are those of all copies together.
    l1 : float
        alpha, the L1 penalty of the leaf values.

    Examples
    --------
    >>> X, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
    >>> grower, scores = LeafwiseGrower(BinnedColumns.of(X), Limits(max_leaf_nodes=2)), np.full(6, 0.5)
    >>> stump = grower.grow(scores - y, np.ones(6), scores)
    >>> stump.nodes["threshold"][0].item(), scores.round(3).tolist()
    (3.5, [0.95, 0.95, 0.95, 2.925, 2.925, 2.925])
    """

    def __init__(
        self,
        bins: BinnedColumns,
        limits: Limits,
        penalty: float = 1.0,
        min_gain: float = 0.0,
        n_jobs: int | None = None,
        categories: CategoryRule = EVERY_CUT,
        copies: np.ndarray | None = None,
        l1: float = 0.0,
    ) -> None:
        n, d = bins.shape
        self.categories, self.l1 = categories, l1
        self.copies = np.empty(0) if copies is None else copies
        self.count = n if copies is None else int(copies.sum())  # of rows, each as often as it counts
        self.bins, self.limits, self.penalty, self.min_gain, self.n_jobs = (
            bins,
            limits,
            penalty,
            min_gain,
            n_jobs,
        )
        self.leaves = max(1, min(int(limits.max_leaf_nodes or n), n // max(1, limits.min_samples_leaf)))
        nodes, shape = 2 * self.leaves + 1, (len(bins.words), 1, 8, BINS)
        slots = max(1, min(self.leaves, HISTOGRAM_BYTES // (8 * int(np.prod(shape)))))
        self.words, self.rows = np.empty(n, np.int64), np.empty(n, np.uint32)
        self.memory: dict[str, Any] = {
            "spare": np.empty((2, n), np.uint32),
            "nodes": np.zeros((nodes, NODE_FIELDS), np.int64),
            "sides": np.zeros((nodes, BINS), np.int8),
            "hists": np.empty((slots + 1, *shape), np.int64),
            "free": np.zeros(slots + 1, np.int64),
            "found": np.zeros((2, d, FOUND)),
            "batch": np.zeros(BATCH, np.int64),
            "strips": np.zeros((n // STRIP_ROWS + 1, 2), np.int64),
            "reals": np.zeros((nodes, 4)),
        }

    @staticmethod
    def copies_of(weight: np.ndarray) -> np.ndarray | None:
        """Weights as numbers of copies, where they are whole numbers, not all the same, and few enough in all."""
        whole = weight.size and (weight == np.floor(weight)).all() and weight.sum() <= MOST_ROWS
        return weight if whole and (weight != weight[0]).any() else None

    @staticmethod
    def most_rows() -> int:
        """The most rows, with their copies, of which a gradient and a hessian are halves of a word."""
        return MOST_ROWS

    @staticmethod
    def can_grow(n: int, limits: Limits) -> bool:
        """Whether trees of so many rows are grown here."""
        return n <= MOST_ROWS and limits.max_leaf_nodes is not None and limits.max_leaf_nodes <= MOST_LEAVES

    def grow(
        self,
        gradients: np.ndarray,
        hessians: np.ndarray,
        scores: np.ndarray | None = None,
        rate: float = 1.0,
        *,
        seed: int = 0,
        totals: TermTotals | None = None,
    ) -> TreeArrays:
        """Grow a tree whose values are `rate` times -G / (H + penalty); they are added to the scores of the rows.

        Parameters
        ----------
        gradients, hessians : float64 arrays of shape (n,)
            Those of the rows.
        scores : float64 array of shape (n,), optional
            The scores of the rows, which are changed.
        rate : float
            Shrinks the values.
        seed : int
            Decides which columns the tree, its levels and its nodes try (`Limits`).
        totals : TermTotals, optional
            Those of the gradients and hessians, where they are known.
        """
        n, d = self.bins.shape
        totals = self.totals(gradients, hessians) if totals is None else totals
        statistics, cuts = self._pack(gradients, hessians, totals)
        limits = self.limits
        least = limits.min_samples_leaf, limits.min_weight_leaf
        memory, slots = self.memory, len(self.memory["free"]) - 1
        self.rows[:] = np.arange(n)
        memory["free"][:] = np.append(np.arange(slots)[::-1], slots)
        memory["nodes"][0], memory["nodes"][0, STOP] = 0, n
        memory["nodes"][0, KEY], memory["nodes"][0, SLOT] = int(hashed(seed & 0xFFFFFFFF, 0)), -1
        noise = 1e-13 * totals.gradients**2 / max(totals.hessians + self.penalty, np.finfo(float).tiny)
        rule = statistics.rule(NEWTON, 1.0, self.penalty, *least, self.categories, self.l1)
        tree = LeafwiseTree(
            binned=self.bins.binned,
            words=self.words,
            rule=rule if self.bins.binned.categorical.any() else None,
            cuts=cuts,
            rows=self.rows,
            gradients=gradients,
            hessians=hessians,
            scores=np.empty(0) if scores is None else scores,
            rate=float(rate),
            per_gradient=1.0 / unit_for(totals.gradients, FINEST),
            per_hessian=1.0 / unit_for(totals.hessians, FINEST),
            penalty=float(self.penalty),
            l1=float(self.l1),
            counts=np.empty((0, BINS), np.int64),
            **memory,
        )
        stop = LeafwiseLimits(
            self.leaves,
            int(limits.max_depth),
            max(int(limits.min_samples_split), 2 * int(limits.min_samples_leaf), 2),
            float(noise + self.min_gain),
            ColumnDraws.of(limits, d, seed),
        )

        def take_part(board: np.ndarray, helper: bool) -> int:
            return grow_leafwise(board, tree, stop, helper, *new_search_workspace(tree))

        with one_blas_thread(), assisted(take_part, (True,), self.n_jobs) as board:
            count = take_part(board, False)
        nodes, sums = self.memory["nodes"][:count], self.memory["reals"][:count]
        return newton_arrays(self.bins, nodes, self.memory["sides"], sums, self.penalty, rate, self.l1)

    def totals(self, gradients: np.ndarray, hessians: np.ndarray) -> TermTotals:
        """The totals of gradients and hessians, strip by strip."""
        strips = range(0, len(gradients), TERM_ROWS)
        parts = each(lambda i: add_terms(gradients, hessians, i, min(len(gradients), i + TERM_ROWS)), strips)
        return TermTotals(
            sum(part[0] for part in parts),
            sum(part[1] for part in parts),
            min(part[2] for part in parts),
            max(part[3] for part in parts),
        )

    def _pack(
        self, gradients: np.ndarray, hessians: np.ndarray, totals: TermTotals
    ) -> tuple[HistogramStatistics, CutRule]:
        """Pack the words of the rows; returns how they are read, and what cuts must keep to."""
        n, copies = len(gradients), self.copies
        unit, mass_unit = packed_units(totals, self.count, bool(copies.size))

        def pack(i: int) -> None:
            stop = min(n, i + TERM_ROWS)
            pack_terms(gradients, hessians, copies, 1.0 / unit, 1.0 / mass_unit, i, stop, self.words)

        each(pack, range(0, n, TERM_ROWS), n_jobs=self.n_jobs)
        rows = RowStatistics(self.words[None], np.empty(0, np.uint32), np.empty(0))
        statistics = HistogramStatistics(rows, PACKED, 1, 1, False, unit, mass_unit)
        most_copies = int(copies.max(initial=0.0))
        return statistics, cut_rule(self.limits, self.penalty, self.l1, totals, unit, mass_unit, most_copies)


def packed_units(totals: TermTotals, count: int, copies: bool) -> tuple[float, float]:
    """What a unit of the gradients and one of the hessians stand for, where both are halves of a word."""
    unit = unit_for(totals.gradients, 2.0**31 - 1 - count)
    if has_counts(totals, copies):
        return unit, totals.largest
    return unit, unit_for(totals.hessians, 2.0**32 - 1 - 2 * count)


def has_counts(totals: TermTotals, copies: bool) -> bool:
    """Whether all hessians are the same, so that weights are counts."""
    return totals.least == totals.largest > 0 and not copies


def cut_rule(
    limits: Limits,
    penalty: float,
    l1: float,
    totals: TermTotals,
    unit: float,
    mass_unit: float,
    most_copies: int = 0,
) -> CutRule:
    """What cuts must keep to, in these units; no row counts more often than `most_copies` times."""
    few, heaviest = int(limits.min_samples_leaf), max(1, int(np.ceil(totals.largest / mass_unit)))
    heaviest += most_copies  # each copy is rounded
    least = max(1, int(min(np.ceil(limits.min_weight_leaf * (1.0 - 1e-12) / mass_unit), MOST_MASS)))
    if has_counts(totals, most_copies > 0):
        least = max(least, few)
    # What weighs something has a row.
    certain = least if few <= 1 else min(max(least, few * heaviest), MOST_MASS)
    shares = float(penalty / mass_unit), float(l1 / unit), float(unit * unit / mass_unit)
    return CutRule(least, certain, few, *shares)


def newton_arrays(
    bins: BinnedColumns,
    nodes: np.ndarray,
    sides: Any,
    sums: np.ndarray,
    penalty: float,
    rate: float,
    l1: float,
) -> TreeArrays:
    """The arrays of a tree from the records of its nodes, and their sums of g and h and values (`VALUE`)."""
    G, H = soft_threshold(sums[:, 0], l1), np.maximum(sums[:, 1], np.finfo(float).tiny)
    value = -G / (H + penalty) if len(nodes) > 1 else np.zeros(1)
    # The leaves' are those that were added to the scores, to the bit.
    scaled = np.where(nodes[:, IS_SPLIT] == 0, sums[:, VALUE], rate * value)
    # The score of a node, for each unit of H: importances then add up the gains.
    shape = scaled[:, None, None], G * value / H, sums[:, 1].copy(), (1,)
    return arrays_of_nodes(bins, nodes, sides, *shape)


@kernel
def add_terms(gradients, hessians, start, stop):
    """Sums of |g| and h over some rows, the least and the largest h."""
    g, h, least, largest = 0.0, 0.0, np.inf, -np.inf
    for i in range(start, stop):
        g += abs(gradients[i])
        h += hessians[i]
        least, largest = min(least, hessians[i]), max(largest, hessians[i])
    return g, h, least, largest


@kernel
def pack_terms(gradients, hessians, copies, per_gradient, per_hessian, start, stop, words):
    """Round the gradients and hessians of some rows to units and pack them; no hessian becomes 0."""
    own_g, own_h, out = gradients[start:stop], hessians[start:stop], words[start:stop]
    if copies.size:  # round one copy, and take it so often
        for i in range(out.size):
            often = np.int64(copies[start + i])
            g = np.int64(np.floor(own_g[i] / often * per_gradient + 0.5))
            h = np.int64(own_h[i] / often * per_hessian + 0.5)
            out[i] = ((g << 32) + (h if h > 1 else 1)) * often
        return
    for i in range(out.size):
        g = np.int64(np.floor(own_g[i] * per_gradient + 0.5))
        h = np.int64(own_h[i] * per_hessian + 0.5)
        out[i] = (g << 32) + (h if h > 1 else 1)
