"""Rows as ranks: each column of numbers sorted once, each value replaced by its place among the distinct ones."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

EQUAL, AT_MOST, AT_LEAST = 0, 1, 2  # what a condition compares by
GOLDEN, MIX_1, MIX_2 = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


@dataclass(frozen=True)
class RankedTable:
    """Columns of ranks or of category codes, and the order of the rows in each column of numbers.

    Ranks make everything that is learned independent of monotone transformations of a column, and of its dtype.

    Attributes
    ----------
    ranks : int32 array of shape (n_features, n_samples); -1 where the value is missing.
    values : for each column its distinct values in order; for a categorical one the codes.
    categorical : bool array of shape (n_features,).
    numeric : the indices of the columns of numbers.
    order : int32 array of shape (n_numeric, n_samples): rows by rank; those without a value are left out.
    filled : how many rows of each of these there are.
    """

    ranks: np.ndarray
    values: list[np.ndarray]
    categorical: np.ndarray
    numeric: np.ndarray
    order: np.ndarray
    filled: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, categories: Sequence[np.ndarray | None]) -> RankedTable:
        """The ranks of an encoded table; columns with categories hold codes already."""
        n, d = X.shape
        ranks = np.full((d, n), -1, dtype=np.int32)
        categorical = np.array([known is not None for known in categories])
        numeric = np.flatnonzero(~categorical)
        order = np.zeros((len(numeric), n), dtype=np.int32)
        filled = np.zeros(len(numeric), dtype=np.int64)
        values: list[np.ndarray] = [np.empty(0)] * d
        for j, known in enumerate(categories):
            if known is not None:
                here = ~np.isnan(X[:, j])
                ranks[j, here] = X[here, j].astype(np.int32)
                values[j] = np.arange(len(known), dtype=np.float64)
        for c, j in enumerate(numeric.tolist()):
            column = X[:, j].astype(np.float64)
            by_value = np.argsort(column, kind="stable")  # NaN comes last
            m = n - int(np.count_nonzero(np.isnan(column)))
            by_value = by_value[:m]
            ordered = column[by_value]
            new = np.append(True, ordered[1:] > ordered[:-1])[:m]
            values[j] = ordered[new] + 0.0  # no negative zero
            ranks[j, by_value] = np.cumsum(new) - 1
            order[c, :m], filled[c] = by_value, m
        return cls(ranks, values, categorical, numeric, order, filled)

    @functools.cached_property
    def slots(self) -> tuple[np.ndarray, np.ndarray]:
        """Column and comparison of all kinds of conditions: = of a category, <= and >= of a column of numbers."""
        features, comparisons = list[int](), list[int]()
        for j, (values, words) in enumerate(zip(self.values, self.categorical)):
            kinds = [EQUAL] * len(values) if words else [AT_MOST, AT_LEAST]
            features += [j] * len(kinds)
            comparisons += kinds
        return np.array(features, dtype=np.int64), np.array(comparisons, dtype=np.int64)

    @property
    def n_rows(self) -> int:
        return self.ranks.shape[1]

    @functools.cached_property
    def n_conditions(self) -> int:
        """How many conditions there are to choose from: one for each category, two for each number."""
        return int(sum(len(v) * (1 if c else 2) for v, c in zip(self.values, self.categorical)))

    def threshold(self, feature: int, comparison: int, below: int, above: int) -> tuple[float, int]:
        """The number half-way between two ranks, and the rank that stands for a test against it.

        Rows outside of those that the ranks were chosen by may lie between the two.
        """
        known = self.values[feature]
        low, high = float(known[below]), float(known[above])
        middle = 0.5 * low + 0.5 * high
        if comparison == AT_MOST:
            value = middle if low <= middle < high else low
            return value, int(np.searchsorted(known, value, side="right")) - 1
        value = middle if low < middle <= high else high
        return value, int(np.searchsorted(known, value, side="left"))


def mixed(bits: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64: each bit depends on all bits of the input."""
    bits = (bits ^ (bits >> np.uint64(30))) * MIX_1
    bits = (bits ^ (bits >> np.uint64(27))) * MIX_2
    return bits ^ (bits >> np.uint64(31))


def row_hashes(table: RankedTable, y: np.ndarray) -> np.ndarray:
    """A hash of each row and its class: equal rows have equal ones, wherever they stand."""
    bits = mixed(y.astype(np.uint64) + GOLDEN)
    for column in table.ranks:
        bits = mixed(bits + column.astype(np.int64).view(np.uint64) + GOLDEN)
    return bits


def held_out_weights(
    hashes: np.ndarray, y: np.ndarray, weight: np.ndarray, share: float, rng: np.random.Generator
) -> np.ndarray:
    """The part of each row's weight to be held out: all or nothing where rows are distinct and of weight 1.

    Rows come in an order that a seeded hash of their values decides, class after class, and every so many units of
    weight are held out (systematic sampling). So a row of weight 2 is as good as having it twice, the order of the
    rows does not matter, and classes are divided in proportion.
    """
    draw = rng.integers(0, 2**63, dtype=np.uint64)
    phase = float(rng.random())
    bits = np.uint64(max(int(y.max(initial=0)).bit_length(), 1))
    keys = (y.astype(np.uint64) << (np.uint64(64) - bits)) | (mixed(hashes ^ draw) >> bits)
    rows = np.flatnonzero(weight > 0)
    rows = rows[np.argsort(keys[rows], kind="stable")]
    if not rows.size:
        return np.zeros_like(weight)
    groups = 1 + int(np.count_nonzero(keys[rows][1:] != keys[rows][:-1]))
    end = np.cumsum(weight[rows])
    unit = min(1.0, float(end[-1]) / groups)
    ends = _held_out_until(end / unit, share, phase)
    out = np.zeros_like(weight)
    out[rows] = np.minimum(np.diff(ends, prepend=0.0) * unit, weight[rows])
    return out


def _held_out_until(position: np.ndarray, share: float, phase: float) -> np.ndarray:
    """How many of the first so many units are held out; unit k is if floor(share k + phase) grows in it."""
    whole = np.floor(position)
    before = np.floor(share * whole + phase)
    return before + (position - whole) * (np.floor(share * (whole + 1) + phase) - before) - np.floor(phase)
