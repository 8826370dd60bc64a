"""Trees of one test, grown again and again from the same rows with other weights.

Boosting does that: the columns are sorted once for all rounds, and a round is one scan of them.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.tree._engine.criteria import GINI, better, impurity, midpoint
from tercet.tree._engine.traversal import LEAF, THRESHOLD
from tercet.tree._engine.tree_arrays import TreeArrays

TASK_ENTRIES = 200_000  # entries that one task scans, at least


class PresortedStumps:
    """Columns in sorted order, from which stumps of classes are grown for given weights (Gini index).

    Parameters
    ----------
    X : float array of shape (n, d), without missing values
        The rows.
    y : array of shape (n,)
        Their classes, from 0 to n_classes - 1.
    n_classes : int
    n_jobs : int, optional
        Threads; the same bits come out for any number of them.

    Examples
    --------
    >>> stumps = PresortedStumps(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1]), 2)
    >>> stumps.grow(np.ones(4)).nodes["threshold"][0].item()
    1.5
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, n_classes: int, n_jobs: int | None = None) -> None:
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        self.order = np.empty(columns.shape, np.uint32)
        self.values = np.empty_like(columns)

        def sort(j: int) -> None:
            order = np.argsort(columns[j], kind="stable")
            self.order[j], self.values[j] = order, columns[j][order]

        each(sort, range(len(columns)), n_jobs=n_jobs)
        self.y, self.n_classes, self.n_jobs = y.astype(np.uint32), n_classes, n_jobs

    def grow(self, weight: np.ndarray) -> TreeArrays:
        """The best stump for these weights; a single leaf where no split has any gain."""
        d, n = self.values.shape
        totals = np.bincount(self.y, weight, self.n_classes)
        found = np.empty((d, 2))
        wide = max(1, TASK_ENTRIES // n)

        def scan(first: int) -> None:
            scan_columns(self.order, self.values, self.y, weight, totals, first, min(d, first + wide), found)

        each(scan, range(0, d, wide), n_jobs=self.n_jobs)
        spread = float(totals.sum() * gini(totals))
        best, gain = -1, -1.0
        for j in range(d):
            if found[j, 0] > 0.0 and better(found[j, 0], gain, spread):
                best, gain = j, found[j, 0]
        if best < 0 or not (totals > 0).sum() > 1:
            return self._arrays(np.array([LEAF]), totals[None], np.array([n]), -2, -2.0)
        at = int(found[best, 1])
        rows = self.order[best, : at + 1]
        left = np.bincount(self.y[rows], weight[rows], self.n_classes)
        right = np.maximum(totals - left, 0.0)
        threshold = midpoint(self.values[best, at], self.values[best, at + 1])
        sizes = np.array([n, at + 1, n - at - 1])
        return self._arrays(
            np.array([THRESHOLD, LEAF, LEAF]), np.array([totals, left, right]), sizes, best, threshold
        )

    def _arrays(
        self, kind: np.ndarray, counts: np.ndarray, sizes: np.ndarray, feature: int, threshold: float
    ) -> TreeArrays:
        inner = kind != LEAF
        mass = counts.sum(axis=1)
        arrays = {
            "kind": kind,
            "feature": np.where(inner, feature, -2),
            "threshold": np.where(inner, threshold, -2.0),
            "child": np.where(inner, 1, -1),
            "n_children": np.where(inner, 2, 0),
            "missing": np.where(inner, int(sizes[-1] > sizes[min(1, len(sizes) - 1)]), 0),
            "impurity": np.array([gini(row) for row in counts]),
            "n_node_samples": sizes,
            "weighted_n_node_samples": mass,
        }
        value = (counts / np.where(mass > 0, mass, 1.0)[:, None])[:, None]
        return TreeArrays(len(self.order), value, (self.n_classes,), (), None, arrays)


def gini(counts: np.ndarray) -> float:
    """The Gini index of the classes that have these weights."""
    return float(node_impurity(counts, GINI))


@kernel
def node_impurity(counts, code):
    """The impurity of one node."""
    return impurity(counts, code)


@kernel
def scan_columns(order, values, y, weight, totals, start, stop, found):
    """For each column the largest gain sum_k (a_k W - w A_k)² / (W w (W - w)), and the row after which the cut is.

    A_k and W are the weights of class k and of all rows, a_k and w those on the left.
    """
    n, n_classes = order.shape[1], totals.size
    whole = 0.0
    for k in range(n_classes):
        whole += totals[k]
    spread = whole * impurity(totals, GINI)
    left = np.empty(n_classes)
    for j in range(start, stop):
        rows, sorted_values = order[j], values[j]
        for k in range(n_classes):
            left[k] = 0.0
        mass, best, at = 0.0, -1.0, -1
        for i in range(n - 1):
            r = np.uint64(rows[i])
            left[np.uint64(y[r])] += weight[r]
            mass += weight[r]
            if sorted_values[i] < sorted_values[i + 1] and 0.0 < mass < whole:
                total = 0.0
                for k in range(n_classes):
                    apart = left[k] * whole - mass * totals[k]
                    total += apart * apart
                gain = total / (whole * mass * (whole - mass))
                if better(gain, best, spread):
                    best, at = gain, i
        found[j, 0], found[j, 1] = best, at
