"""The best split of a node from its histogram alone, by the search of leaf-wise growth."""

from __future__ import annotations

import numpy as np

from tercet.tree._engine.binning import WORD_COLUMNS, BinnedColumns
from tercet.tree._engine.histogram_kernels import FEATURE, FIRST, LAST
from tercet.tree._engine.histogram_statistics import (
    BINS,
    NEWTON,
    PACKED,
    CategoryRule,
    HistogramStatistics,
    RowStatistics,
)
from tercet.tree._engine.leafwise import TermTotals, cut_rule
from tercet.tree._engine.leafwise_scan import FOUND
from tercet.tree._engine.leafwise_search import (
    BEST,
    DEPTH,
    KEY,
    NODE_FIELDS,
    LeafwiseLimits,
    LeafwiseTree,
    new_search_workspace,
)
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.paged_kernels import search_histogram

HALF, HALF_MASS = 2.0**31 - 1 - BINS, 2.0**32 - 1 - 2 * BINS  # most units of a node's gradients and hessians
Found = tuple[float, tuple[int, int, int], np.ndarray]


class NodeSearch:
    """The search for the best split of a node.

    Parameters
    ----------
    bins, limits, penalty, l1, categories, most_copies
        As those of `PagedGrower`.
    packed : bool
        Whether a histogram has words of gradients and hessians together; else they are rounded to such words here,
        as fine as the sums of the node allow.
    """

    def __init__(
        self,
        bins: BinnedColumns,
        limits: Limits,
        penalty: float,
        l1: float,
        categories: CategoryRule,
        most_copies: int,
        packed: bool,
    ) -> None:
        self.bins, self.limits, self.categories = bins, limits, categories
        self.penalty, self.l1 = float(penalty), float(l1)
        self.most_copies, self.packed, self.d = most_copies, packed, bins.n_bins.size

    def best_split(
        self,
        hist: np.ndarray,
        depth: int,
        key: int,
        units: tuple[float, float],
        totals: TermTotals,
        stop: LeafwiseLimits,
    ) -> Found | None:
        """The gain, the split (column, last bin on the left, first on the right) and the sides of its bins.

        Parameters
        ----------
        hist : int64 array of shape (d, 256, channels)
            Words, then the number of rows.
        depth, key : int
            Those of the node; they decide which columns are tried.
        units : what a unit of gradients and one of hessians stand for.
        totals, stop : those of the tree.
        """
        words, unit, mass_unit = self._packed_words(hist, *units)
        rows = RowStatistics(np.empty((1, 0), np.int64), np.empty(0, np.uint32), np.empty(0))
        statistics = HistogramStatistics(rows, PACKED, 1, 1, False, unit, mass_unit)
        least = self.limits.min_samples_leaf, self.limits.min_weight_leaf
        records, sides, reals = (
            np.zeros((1, NODE_FIELDS), np.int64),
            np.zeros((1, BINS), np.int8),
            np.zeros((1, 4)),
        )
        records[0, DEPTH], records[0, KEY], none = depth, key, np.empty(0)
        rule = statistics.rule(NEWTON, 1.0, self.penalty, *least, self.categories, self.l1)
        tree = LeafwiseTree(
            binned=self.bins.binned,
            words=rows.words[0],
            rule=rule if self.bins.binned.categorical.any() else None,
            cuts=cut_rule(self.limits, self.penalty, self.l1, totals, unit, mass_unit, self.most_copies),
            rows=rows.classes,
            spare=np.empty((2, 0), np.uint32),
            nodes=records,
            sides=sides,
            hists=words[None],
            free=np.zeros(1, np.int64),
            found=np.zeros((2, self.d, FOUND)),
            batch=np.zeros(1, np.int64),
            strips=np.zeros((1, 2), np.int64),
            reals=reals,
            gradients=none,
            hessians=none,
            scores=none,
            rate=1.0,
            per_gradient=1.0,
            per_hessian=1.0,
            penalty=self.penalty,
            l1=self.l1,
            counts=np.ascontiguousarray(hist[:, :, -1]),
        )
        if not search_histogram(tree, stop, *new_search_workspace(tree)):
            return None
        split = int(records[0, FEATURE]), int(records[0, LAST]), int(records[0, FIRST])
        return float(reals[0, BEST]), split, sides[0]

    def _packed_words(
        self, hist: np.ndarray, unit: float, mass_unit: float
    ) -> tuple[np.ndarray, float, float]:
        """Gradients and hessians of the bins as halves of words, and what their units stand for."""
        words = np.zeros((-(-self.d // WORD_COLUMNS) * WORD_COLUMNS, BINS), np.int64)
        if self.packed:
            words[: self.d] = hist[:, :, 0]
        else:
            g, h, rows = hist[:, :, 0], hist[:, :, 1], hist[:, :, -1]
            most = float(np.abs(g.astype(np.float64)).sum(axis=1).max(initial=0.0))
            step = 2.0 ** max(0.0, np.ceil(np.log2(max(most, 1.0) / HALF)))
            mass = float(h[0].astype(np.float64).sum())
            mass_step = 2.0 ** max(0.0, np.ceil(np.log2(max(mass, 1.0) / HALF_MASS)))
            upper = np.floor(g / step + 0.5).astype(np.int64)
            lower = np.maximum(np.floor(h / mass_step + 0.5).astype(np.int64), rows > 0)
            words[: self.d] = (upper << 32) + lower
            unit, mass_unit = unit * step, mass_unit * mass_step
        return words.reshape(-1, 1, WORD_COLUMNS, BINS), unit, mass_unit
