"""Columns that are sorted once, for many trees that are grown from rows of one table.

A forest grows each tree from some of the rows, boosting from other targets; sorting again for every tree would take
longer than growing it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only
from tercet.tree._engine.criteria import SQUARED
from tercet.tree._engine.dispatch import binary_exponent, scaled_limits, unscaled
from tercet.tree._engine.limits import NO_LIMITS, Limits
from tercet.tree._engine.presorted import argsort_column, entry_dtype, grow_sorted, scan_target_of
from tercet.tree._engine.presorted_scan import SortedSample
from tercet.tree._engine.ranked import RankedColumns
from tercet.tree._engine.tree_arrays import TreeArrays

ABSENT = np.uint32(0xFFFFFFFF)  # the place of a row that a tree does not use


class PresortedColumns:
    """A table with each column of numbers sorted.

    Parameters
    ----------
    X : array of shape (n, d)
        Floats; NaN where a value is missing; in a column of categories their codes.
    n_categories : array of shape (d,), optional
        0 for a column of numbers, else the number of its categories.
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> columns = PresortedColumns(np.array([[3.0], [1.0], [2.0], [4.0]]))
    >>> tree = columns.grow(np.array([1, 0, 0, 1]), n_classes=[2], criterion="gini")
    >>> tree.nodes["threshold"][0].item()
    2.5
    """

    def __init__(
        self, X: np.ndarray, n_categories: np.ndarray | None = None, n_jobs: int | None = None
    ) -> None:
        self.X = read_only(np.ascontiguousarray(X, dtype=np.float64))
        n, d = self.X.shape
        kinds = np.zeros(d, np.int64) if n_categories is None else np.array(n_categories, dtype=np.int64)
        self.n_categories, self.numeric = kinds, np.flatnonzero(kinds == 0)
        self.orders = np.empty((max(len(self.numeric), 1), n), np.uint32)
        if not len(self.numeric):
            self.orders[0] = np.arange(n)

        def sort(k: int) -> None:
            self.orders[k] = argsort_column(np.ascontiguousarray(self.X[:, self.numeric[k]]))

        each(sort, range(len(self.numeric)), n_jobs=n_jobs)
        self.plain = len(self.numeric) == d and not np.isnan(self.X[self.orders[:, -1], np.arange(d)]).any()
        self.lock, self.n_jobs = threading.Lock(), n_jobs
        self.ranked: RankedColumns | None = None

    def _ranked(self) -> RankedColumns:
        """The ranks of the rows, which are found once."""
        with self.lock:
            if self.ranked is None:
                self.ranked = RankedColumns(self.X, self.orders, self.n_jobs)
            return self.ranked

    def grow(
        self,
        target: np.ndarray,
        weight: np.ndarray | None = None,
        *,
        n_classes: Sequence[int],
        criterion: str,
        limits: Limits = NO_LIMITS,
        seed: int = 0,
        n_jobs: int | None = None,
        penalties: tuple[float, float, float] | None = None,
    ) -> TreeArrays:
        """Grow a tree from the rows that have a weight (see `tercet.tree._engine.grow`).

        Parameters
        ----------
        target : array of shape (n,)
            Indices of classes (integers), or numbers (float64).
        weight : array of shape (n,), optional
            A row of weight 2 counts as two rows, one of weight 0 is left out.
        n_classes : sequence of int
            The number of classes; [1] for numbers.
        criterion : {"gini", "entropy", "log_loss", "squared_error"}
        limits : Limits
            When to stop.
        seed : int
            Decides which columns a node tries.
        n_jobs : int, optional
            Threads; the same bits come out for any number of them.
        penalties : tuple of floats, optional
            lambda, alpha and gamma. The targets are -G / H then, and the weights H: a split must gain
            G_L² / (H_L + lambda) + G_R² / (H_R + lambda) - G² / (H + lambda) > gamma, where alpha is taken from the
            size of all G, and the values are those without penalties.
        """
        ids = np.arange(len(target), dtype=np.uint32)
        if weight is not None:
            ids = np.flatnonzero(weight > 0).astype(np.uint32)
            target, weight = target[ids], np.ascontiguousarray(weight[ids], dtype=np.float64)
            if (weight == 1.0).all():
                weight = None
        if self.plain and RankedColumns.can_grow(
            len(ids), self.X.shape[1], weight, n_classes, criterion, limits
        ):
            return self._ranked().grow(ids, target, weight, limits, seed)
        power = binary_exponent(target) if criterion == "squared_error" else 0
        target = np.ldexp(target, -power) if power else target
        newton = None
        if penalties is not None:
            newton = np.ldexp(penalties, [0, -power, -2 * power])
        code, scan = scan_target_of(target, weight, n_classes, criterion, newton)
        sample = self._sample(ids, None if code == SQUARED else target, scan.shift)
        grown = grow_sorted(
            sample, scan, n_classes, scaled_limits(limits, criterion, power), False, seed, n_jobs
        )
        return unscaled(grown, criterion, power) if power else grown

    def _sample(self, ids: np.ndarray, target: np.ndarray | None, shift: int) -> SortedSample:
        """The rows `ids`, renumbered from 0, in the order of every column of numbers."""
        n, d, m = len(self.X), self.X.shape[1], len(ids)
        place = np.full(n, ABSENT, np.uint32)
        place[ids] = np.arange(m, dtype=np.uint32)
        label = np.zeros(m, np.int64) if target is None else target.astype(np.int64)
        entries = np.empty((len(self.orders), m), dtype=entry_dtype(m, shift))
        lane, holes = np.full(d, -1, np.int64), np.zeros(d, np.bool_)
        lane[self.numeric] = np.arange(len(self.numeric))
        for k, order in enumerate(self.orders):
            last = pack_rows(order, place, label, shift, entries[k])
            if len(self.numeric):
                holes[self.numeric[k]] = np.isnan(self.X[last, self.numeric[k]])
        return SortedSample(self.X, ids, entries.ravel(), m, shift, lane, holes, self.n_categories)


@kernel
def pack_rows(order, place, label, shift, out):
    """Write the entries of the rows that are used, in sorted order; returns the last of them."""
    m, last = 0, np.int64(0)
    for i in range(order.size):
        row = np.uint64(order[i])
        at = place[row]
        if at != ABSENT:
            out[m] = np.uint64(at) << np.uint64(shift) | np.uint64(label[np.uint64(at)])
            m += 1
            last = np.int64(row)
    return last
