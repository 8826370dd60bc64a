"""Missing values filled in by statistics of the row's group."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.catalog import method
from tercet.core.column_parsing import from_lists, is_frame
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Floats, Indices
from tercet.feature.cleaning.table_columns import column_numbers, raw_column
from tercet.feature.column_statistics import Groups, modes, moments, quantiles
from tercet.feature.grouped_columns import GroupedColumns


@method(
    zh="分组缺失值填补",
    task="preprocessing",
    model="one value for each column and group of rows",
    strategy="mean, median or mode of the group's training rows; of all rows for a group without values",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["sklearn.impute.SimpleImputer", "pandas.DataFrame.groupby"],
)
class GroupImputer(OneToOneFeatureMixin, TransformerMixin, GroupedColumns):
    """Missing values replaced by the mean, median or most frequent value of the row's group.

    As scikit-learn's `SimpleImputer`, with groups, weights, and categories beside numbers. The columns of X stay,
    in their order; those that make the groups are left as they are. A frame that holds strings or categories
    gives a frame of the same kind, an array of objects an array of objects, and numbers give floats.

    Parameters
    ----------
    by : str, int or list, optional
        Columns whose values make the groups, by name or place; missing ones are a group of their own. By default
        all rows are one group. A group that was not seen in training gets the values of all rows.
    strategy : {"mean", "median", "most_frequent", "constant"}, default="mean"
        What columns of numbers are filled with. Columns of categories are filled with the most frequent one, unless
        the strategy is "constant".
    fill_value : number or str, optional
        The constant; by default 0, and "missing_value" for categories. With other strategies it fills columns that
        have no value at all.
    add_indicator : bool, default=False
        Append a column that holds 1 where a value was missing, for each column with missing training values.

    Attributes
    ----------
    by_columns_ : array of int
        The columns that make the groups.
    group_keys_ : array of shape (n_groups,)
        The groups of the training rows, as whole numbers.
    statistics_ : array of shape (n_groups + 1, n_features)
        The values for each group, and at last those of all rows; of categories their places in `categories_`.
    categories_ : list of arrays
        The categories of each column, None for one of numbers that makes no groups.
    category_columns_ : array of int
        The columns that hold no numbers.
    indicator_columns_ : array of int
        The columns that had missing values in training.

    Examples
    --------
    >>> X = [["f", 160.0], ["f", np.nan], ["m", 178.0], ["m", 182.0], ["m", np.nan]]
    >>> GroupImputer(by=0).fit_transform(X)[:, 1]
    array([160.0, 160.0, 178.0, 182.0, 180.0], dtype=object)
    """

    def __init__(
        self,
        by: str | int | list | tuple | None = None,
        *,
        strategy: Literal["mean", "median", "most_frequent", "constant"] = "mean",
        fill_value: float | str | None = None,
        add_indicator: bool = False,
    ) -> None:
        self.by = by
        self.strategy = strategy
        self.fill_value = fill_value
        self.add_indicator = add_indicator

    fitted_shapes = {
        "statistics_": Floats("rows features"),
        "indicator_columns_": Indices("marked*", below="features"),
    }
    statistics_: np.ndarray
    indicator_columns_: np.ndarray

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        if sample_weight is not None:
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        self.indicator_columns_ = np.setdiff1d(np.flatnonzero(np.isnan(X).any(axis=0)), self.by_columns_)
        number = self._constant()
        if self.strategy == "constant":
            self._learn_groups(X)
            self.statistics_ = np.full((len(self.group_keys_) + 1, X.shape[1]), number, dtype=X.dtype)
            return
        filled = np.setdiff1d(np.arange(X.shape[1]), self.by_columns_)
        self._warn_of_empty_columns(X[:, filled], filled, f"they are filled with {number:g}")
        alone = self._values(X, sample_weight, None)
        groups = self._learn_groups(X)
        each = self._values(X, sample_weight, groups) if self.by_columns_.size else alone
        alone = np.where(np.isnan(alone), number, alone)
        self.statistics_ = np.vstack([np.where(np.isnan(each), alone, each), alone]).astype(X.dtype)

    def _constant(self) -> float:
        """The number that fills columns where nothing is learned."""
        if isinstance(self.fill_value, str):
            others = {*self.by_columns_.tolist(), *self.category_columns_.tolist()}
            if len(others) < self.n_features_in_:
                raise ValueError(
                    f"{type(self).__name__}: fill_value={self.fill_value!r} cannot fill columns of numbers."
                )
            return 0.0
        return 0.0 if self.fill_value is None else float(self.fill_value)

    def _values(self, X: np.ndarray, weight: np.ndarray | None, groups: Groups | None) -> np.ndarray:
        """What fills each column in each group, NaN where a group has no values."""
        if self.strategy == "most_frequent":
            return modes(X, weight, groups)
        mean = self.strategy == "mean"
        found = moments(X, weight, groups).mean if mean else quantiles(X, [0.5], weight, groups)[0]
        words = self.category_columns_
        if words.size:
            found[:, words] = modes(X[:, words], weight, groups)
        return found

    def transform(self, X: Any) -> Any:
        """Rows without missing values, but for those of the columns that make the groups.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X : array or frame of shape (n_samples, n_features), with columns added by `add_indicator`
        """
        check_is_fitted(self)
        table = self._check(X, reset=False)
        gone = np.isnan(table)
        gone[:, self.by_columns_] = False
        marks = np.isnan(table[:, self.indicator_columns_]) if self.add_indicator else gone[:, :0]
        group = self._groups(table)
        X = from_lists(X) if isinstance(X, list | tuple) else X if is_frame(X) else np.asarray(X)
        # numbers that make groups are codes in the table
        for j in np.setdiff1d(self.by_columns_, self.category_columns_):
            table[:, j] = column_numbers(X, j, type(self).__name__)
        if self.category_columns_.size:
            filled = [self._filled(X, table, j, gone[:, j], group) for j in range(table.shape[1])]
            return self._assembled(X, filled, gone, marks)
        table = np.where(gone, self.statistics_[group], table)
        return np.hstack([table, marks]) if marks.size else table

    def _filled(self, X: Any, table: np.ndarray, j: int, gone: np.ndarray, group: np.ndarray) -> np.ndarray:
        """Column j as it came, with what was missing filled in."""
        known = self.categories_[j]
        if known is None or j not in self.category_columns_:
            return np.where(gone, self.statistics_[group, j], table[:, j])
        values = raw_column(X, j)
        if not gone.any():
            return values
        values = values.astype(object)
        if self.strategy == "constant":
            values[gone] = "missing_value" if self.fill_value is None else str(self.fill_value)
        else:
            values[gone] = known[self.statistics_[group[gone], j].astype(np.intp)]
        return values

    def _assembled(self, X: Any, filled: list[np.ndarray], gone: np.ndarray, marks: np.ndarray) -> Any:
        """Columns as a frame of the kind that was given, or as an array of objects."""
        marked = [mark.astype(np.float64) for mark in marks.T]
        if not is_frame(X):
            return np.column_stack([column.astype(object) for column in (*filled, *marked)])
        names = [str(name) for name in self.get_feature_names_out()]
        columns = {}
        for j, (name, values) in enumerate(zip(names, [*filled, *marked])):
            given = (X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j)) if j < len(filled) else None
            same = given is not None and not gone[:, j].any()
            columns[name] = given if same else _like(given, values)
        return type(X)(columns, index=X.index) if hasattr(X, "iloc") else type(X)(columns)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the output columns: those of X, then those of the indicators.

        Parameters
        ----------
        input_features : array of str, optional
            Names for the columns of an array, which has none.

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        marked = names[self.indicator_columns_] if self.add_indicator else []
        return np.array([*names, *(f"missingindicator_{name}" for name in marked)], dtype=object)


def _like(given: Any, values: np.ndarray) -> Any:
    """Values as a column of the type that was given, where they fit it."""
    if given is None or values.dtype.kind == "f":
        return values
    name = str(given.dtype)
    if hasattr(given, "iloc"):
        known = set(given.cat.categories) if name == "category" else None
        fits = set(values.tolist()) <= known if known is not None else name in ("object", "str", "string")
        return type(given)(values, index=given.index, dtype=given.dtype if fits else object)
    fits = name in ("String", "Categorical") or (
        name.startswith("Enum") and set(values.tolist()) <= set(given.dtype.categories)
    )
    return type(given)(values.tolist(), dtype=given.dtype if fits else None, strict=False)
