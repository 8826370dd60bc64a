"""Groups of rows by the values of some columns."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np

from tercet.core.columns import Columns, MixedColumns
from tercet.core.estimator import NO_TARGET
from tercet.core.fitted_checks import Indices, Labels, Sizes
from tercet.core.validation import target_for_callbacks
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the statistics of each group.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.
        y : ignored
            There for pipelines; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, len(X)))

    def _check_fitted(self, sizes: Sizes) -> None:
        super()._check_fitted(sizes)
        if "group_keys_" not in vars(self):
            return
        if not len(self.group_keys_) or any(self.categories_[j] is None for j in self.by_columns_):
            raise ValueError(
                f"{type(self).__name__}: group_keys_ must have at least one group, and the columns of by_columns_ "
                "categories."
            )

    def _categorical(self, columns: Columns) -> list[bool]:
        found = [kind == "category" for kind in columns.kinds]
        places = [] if self.by is None else column_indices(self.by, columns.names, type(self).__name__, "by")
        self.by_columns_ = np.array(places, dtype=np.intp)
        self.category_columns_ = np.flatnonzero(found)
        for j in places:
            found[j] = True
        return found

    def _warn_of_empty_columns(self, X: np.ndarray, places: np.ndarray, then: str) -> None:
        """Warn of columns without values; `places` are those of the columns of X."""
        empty = places[np.isnan(X).all(axis=0)]
        if empty.size:
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))[empty].tolist()
            warnings.warn(f"{type(self).__name__}: the columns {names} have no values; {then}.", stacklevel=2)

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
