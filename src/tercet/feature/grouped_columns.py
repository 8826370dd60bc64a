"""Groups of rows by the values of some columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tercet.core.columns import Columns, MixedColumns
from tercet.core.fitted_checks import Indices, Labels
from tercet.feature.cleaning.table_columns import column_indices
from tercet.feature.column_statistics import Groups

LARGEST_KEY = 2**62


class GroupedColumns(MixedColumns):
    """Base of transformers that learn something for each group of rows.

    A subclass has the parameter `by`: the columns, by name or place, whose values make the groups; None for a
    single group. A missing value is a value like any other.
    """

    by: Any
    categorical_features = "from_dtype"
    by_columns_: np.ndarray
    category_columns_: np.ndarray  # those that hold no numbers
    group_keys_: np.ndarray
    fitted_shapes = {
        "by_columns_": Indices("by*", below="features"),
        "category_columns_": Indices("words*", below="features"),
        "group_keys_": Labels("groups*"),
    }

    def _categorical(self, columns: Columns) -> list[bool]:
        found = [kind == "category" for kind in columns.kinds]
        places = [] if self.by is None else column_indices(self.by, columns.names, type(self).__name__, "by")
        self.by_columns_ = np.array(places, dtype=np.intp)
        self.category_columns_ = np.flatnonzero(found)
        for j in places:
            found[j] = True
        return found

    def _learn_groups(self, X: np.ndarray) -> Groups:
        """The groups of the training rows: places in `group_keys_`."""
        self.group_keys_, group = np.unique(self._keys(X), return_inverse=True)
        return Groups(group.reshape(-1), len(self.group_keys_))

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
