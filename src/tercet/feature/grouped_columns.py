"""Groups of rows by the values of some columns, and statistics of the other columns in each group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tercet.core.columns import Columns, MixedColumns
from tercet.core.fitted_checks import Indices, Labels
from tercet.feature.cleaning.table_columns import column_indices
from tercet.feature.column_statistics import QUIET

LARGEST_KEY = 2**62


class GroupedColumns(MixedColumns):
    """Base of transformers that learn something for each group of rows.

    A subclass has the parameter `by`: the columns, by name or place, whose values make the groups; None for a
    single group. A missing value is a value like any other.
    """

    by: Any
    categorical_features = "from_dtype"
    by_columns_: np.ndarray
    group_keys_: np.ndarray
    fitted_shapes = {"by_columns_": Indices("by*", below="features"), "group_keys_": Labels("groups*")}

    def _categorical(self, columns: Columns) -> list[bool]:
        found = [kind == "category" for kind in columns.kinds]
        places = [] if self.by is None else column_indices(self.by, columns.names, type(self).__name__, "by")
        self.by_columns_ = np.array(places, dtype=np.intp)
        self._kinds = found.copy()
        for j in places:
            found[j] = True
        return found

    def _learn_groups(self, X: np.ndarray) -> np.ndarray:
        """The group of each training row: its place in `group_keys_`."""
        self.group_keys_, group = np.unique(self._keys(X), return_inverse=True)
        return group.reshape(-1)

    def _groups(self, X: np.ndarray) -> np.ndarray:
        """The group of each row; the number of groups for one that was not seen in training."""
        keys, known = self._keys(X), self.group_keys_
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[place] == keys, place, len(known))

    def _keys(self, X: np.ndarray) -> np.ndarray:
        """One whole number for each combination of values of the columns that make the groups."""
        # of each column: its categories, one that was not seen, and what is missing
        sizes = [len(self.categories_[j]) + 2 for j in self.by_columns_]
        if math.prod(sizes) > LARGEST_KEY:
            raise ValueError(
                f"{type(self).__name__}: the columns of by={self.by!r} have too many combinations."
            )
        keys = np.zeros(len(X), dtype=np.int64)
        for j, size in zip(self.by_columns_, sizes):
            codes = X[:, j]
            keys = keys * size + np.where(np.isnan(codes), size - 1, codes).astype(np.int64)
        return keys


class GroupedValues:
    """The rows of a table sorted by group, for statistics of each column in each group.

    Parameters
    ----------
    X : array of shape (n, d)
        Numbers; NaN where one is missing.
    group : array of shape (n,)
        The group of each row, from 0 to n_groups - 1; every group has a row.
    weight : array of shape (n,), optional
        How much each row counts.
    """

    def __init__(self, X: np.ndarray, group: np.ndarray, weight: np.ndarray | None = None) -> None:
        if weight is None:
            weight = np.ones(len(X))
        order = np.argsort(group, kind="stable")
        self.X, self.group, self.weight = X[order].astype(np.float64), group[order], weight[order]
        self.starts = np.flatnonzero(np.diff(self.group, prepend=-1))

    def count(self) -> np.ndarray:
        """Weight of the known values."""
        return self._sum(~np.isnan(self.X) * self.weight[:, None])

    def min(self) -> np.ndarray:
        return np.fmin.reduceat(self.X, self.starts, axis=0)

    def max(self) -> np.ndarray:
        return np.fmax.reduceat(self.X, self.starts, axis=0)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation, as `column_statistics.moments` has them for a single group."""
        known, low = ~np.isnan(self.X), self.min()
        size = np.frexp(np.fmax.reduce(np.abs(self.X), axis=0, initial=0.0))[1]
        scaled = np.ldexp(np.where(known, self.X, 0.0), -size)
        mass = known * self.weight[:, None]
        with np.errstate(**QUIET):
            total = self._sum(mass)
            mean = self._sum(mass * scaled) / total
            mean += self._sum(mass * (scaled - mean[self.group])) / total  # what rounding has left
            std = np.sqrt(self._sum(mass * (scaled - mean[self.group]) ** 2) / total)
            flat = low == self.max()
            return np.where(flat, low, np.ldexp(mean, size)), np.where(flat, 0.0, np.ldexp(std, size))

    def quantile(self, at: float) -> np.ndarray:
        """Quantile of each column in each group, as `column_statistics.quantiles` has it for a single group."""
        return np.column_stack([self._column_quantile(column, at) for column in self.X.T])

    def mode(self) -> np.ndarray:
        """Most frequent value of each column in each group, the least of several; NaN where there is none."""
        return np.column_stack([self._column_mode(column) for column in self.X.T])

    def _sum(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, self.starts, axis=0)

    def _sorted(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Known values, their groups and weights, sorted by group and value."""
        here = np.flatnonzero(~np.isnan(column))
        here = here[np.lexsort((column[here], self.group[here]))]
        return column[here], self.group[here], self.weight[here]

    def _column_quantile(self, column: np.ndarray, at: float) -> np.ndarray:
        values, group, weight = self._sorted(column)
        found = np.full(len(self.starts), np.nan)
        if not values.size:
            return found
        first = np.flatnonzero(np.diff(group, prepend=-1))
        last = np.append(first[1:], len(values)) - 1
        mass = np.cumsum(weight, dtype=np.float64)
        before = mass[first] - weight[first]
        place = at * np.maximum(mass[last] - before - 1, 0.0)
        low = np.floor(place)
        a = np.clip(np.searchsorted(mass, before + low, side="right"), first, last)
        b = np.clip(np.searchsorted(mass, before + low + 1, side="right"), first, last)
        share = place - low
        found[group[first]] = np.where(
            values[a] == values[b], values[a], (1 - share) * values[a] + share * values[b]
        )
        return found

    def _column_mode(self, column: np.ndarray) -> np.ndarray:
        values, group, weight = self._sorted(column)
        found = np.full(len(self.starts), np.nan)
        if values.size:
            runs = np.flatnonzero((np.diff(group, prepend=-1) != 0) | (np.diff(values, prepend=np.nan) != 0))
            mass, kind, owner = np.add.reduceat(weight, runs), values[runs], group[runs]
            best = np.lexsort((kind, -mass, owner))
            best = best[np.flatnonzero(np.diff(owner[best], prepend=-1))]
            found[owner[best]] = kind[best]
        return found
