"""Statistics of columns as features: mean, deviation, extremes, quantiles and counts of each group of rows."""

from __future__ import annotations

import numbers
from typing import Any, Literal

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.catalog import method
from tercet.core.columns import Columns
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Floats, Indices
from tercet.core.validation import finite_predictions
from tercet.feature.cleaning.table_columns import column_indices
from tercet.feature.column_statistics import Groups, moments, quantiles
from tercet.feature.grouped_columns import GroupedColumns

NAMES = ("mean", "std", "min", "max", "median", "count", "sum")
BETWEEN = {"difference": "minus", "ratio": "over"}


@method(
    zh="统计特征, 分组统计特征",
    task="feature extraction",
    model="statistics of the row's group: max, min, mean, std, quantiles, count",
    strategy="statistics of the training rows of each group, and of all rows for groups that were not seen",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
    peers=["pandas.DataFrame.groupby", "featuretools.dfs"],
)
class GroupStatistics(TransformerMixin, GroupedColumns):
    """Statistics of columns, over all rows or over the rows of the same group, as features of each row.

    All is learned from the training rows: nothing of the rows that are transformed enters a statistic. Missing
    values are left out. The result holds the statistics alone, without the columns of X.

    Parameters
    ----------
    by : str, int or list, optional
        Columns whose values make the groups, by name or place: numbers, strings or categories; missing ones are a
        group of their own. By default all rows are one group.
    columns : list, optional
        Columns of numbers whose statistics are taken, by name or place; by default all columns of numbers that make
        no groups.
    statistics : tuple, default=("mean", "std", "min", "max")
        Some of "mean", "std", "min", "max", "median", "count" (of known values), "sum", and numbers from 0 to 1,
        which are quantiles.
    relative : {"difference", "ratio"} or None, default=None
        Give what lies between a row's value and the statistic: their difference, or the value divided by the
        statistic. "count" stays what it is.
    handle_unknown : {"global", "missing", "error"}, default="global"
        What a group gets that was not seen in training: the statistics of all rows, NaN, or an error. A group
        without known values has the statistics of all rows.

    Attributes
    ----------
    columns_ : array of int
        The columns whose statistics are taken.
    by_columns_ : array of int
        The columns that make the groups.
    group_keys_ : array of shape (n_groups,)
        The groups of the training rows, as whole numbers.
    statistics_ : array of shape (n_groups + 1, n_features_out)
        The statistics of each group, and at last those of all rows.

    Examples
    --------
    >>> X = [["a", 1.0], ["a", 3.0], ["b", 10.0]]
    >>> model = GroupStatistics(by=0, statistics=("mean", "max")).fit(X)
    >>> model.transform([["a", 0.0], ["c", 0.0]])  # "c" was not seen
    array([[ 2.        ,  3.        ],
           [ 4.66666667, 10.        ]])
    >>> model.get_feature_names_out().tolist()
    ['x1_mean_by_x0', 'x1_max_by_x0']
    """

    def __init__(
        self,
        by: str | int | list | tuple | None = None,
        *,
        columns: Any = None,
        statistics: tuple | list = ("mean", "std", "min", "max"),
        relative: Literal["difference", "ratio"] | None = None,
        handle_unknown: Literal["global", "missing", "error"] = "global",
    ) -> None:
        self.by = by
        self.columns = columns
        self.statistics = statistics
        self.relative = relative
        self.handle_unknown = handle_unknown

    fitted_shapes = {
        "columns_": Indices("columns*", below="features"),
        "statistics_": Floats("rows statistics*"),
    }
    columns_: np.ndarray
    statistics_: np.ndarray

    def _categorical(self, columns: Columns) -> list[bool]:
        self.columns_ = self._chosen_columns(columns)
        return super()._categorical(columns)

    def _chosen_columns(self, columns: Columns) -> np.ndarray:
        """The columns whose statistics are taken, which must be numbers."""
        name = type(self).__name__
        by = [] if self.by is None else column_indices(self.by, columns.names, name, "by")
        if self.columns is None:
            places = [j for j, kind in enumerate(columns.kinds) if kind != "category" and j not in by]
            if not places:
                raise ValueError(f"{name}: there is no column of numbers besides those of by={self.by!r}.")
            return np.array(places, dtype=np.intp)
        places = column_indices(self.columns, columns.names, name, "columns")
        for j in places:
            if columns.kinds[j] == "category":
                raise ValueError(f"{name}: column {columns.names[j]!r} must hold numbers, not categories.")
        return np.array(places, dtype=np.intp)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self._check_statistics()
        if sample_weight is not None:
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        values = X[:, self.columns_]
        self._warn_of_empty_columns(values, self.columns_, "their statistics are NaN")
        alone = self._table(values, sample_weight, None)
        groups = self._learn_groups(X)
        each = self._table(values, sample_weight, groups) if self.by_columns_.size else alone
        each = np.where(np.isnan(each), alone, each)  # counts and sums are 0 instead
        self.statistics_ = np.vstack([each, alone]).astype(X.dtype)
        if np.isinf(self.statistics_).any():
            raise ValueError(f"{type(self).__name__}: X holds numbers whose sums are too large.")

    def _table(self, X: np.ndarray, weight: np.ndarray | None, groups: Groups | None) -> np.ndarray:
        """Statistics of shape (n_groups, n_columns * n_statistics), those of a column side by side."""
        sums = moments(X, weight, groups)
        at = [0.5 if one == "median" else one for one in self.statistics if one == "median" or is_number(one)]
        ordered = iter(quantiles(X, at, weight, groups) if at else ())
        parts = []
        for one in self.statistics:
            if one == "median" or is_number(one):
                parts.append(next(ordered))
            elif one == "sum":
                parts.append(np.where(sums.counts > 0, sums.mean * sums.counts, 0.0))
            else:
                parts.append(sums.counts if one == "count" else getattr(sums, one))
        return np.stack(parts, axis=2).reshape(len(sums.counts), -1)

    def _check_statistics(self) -> None:
        for one in self.statistics:
            if not (0 <= one <= 1 if is_number(one) else one in NAMES):
                raise ValueError(
                    f"{type(self).__name__}: parameter 'statistics' must hold some of {', '.join(NAMES)} and "
                    f"numbers from 0 to 1; got {one!r}."
                )
        if not len(self.statistics) or len(set(self.statistics)) < len(self.statistics):
            raise ValueError(
                f"{type(self).__name__}: parameter 'statistics' must name some statistics, each once; "
                f"got {self.statistics!r}."
            )

    def _counts(self) -> list[int]:
        """Places of the statistics that are counts."""
        return [k for k, one in enumerate(self.statistics) if one == "count"]

    def transform(self, X: Any) -> np.ndarray:
        """The statistics of the group of each row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        features : array of shape (n_samples, n_columns * n_statistics)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        group = self._groups(X)
        unseen = group == len(self.group_keys_)
        if unseen.any() and self.handle_unknown == "error":
            raise ValueError(
                f"{type(self).__name__}: row {int(np.argmax(unseen))} of X is of a group that was not seen in "
                "training; handle_unknown='global' gives it the statistics of all rows."
            )
        found = self.statistics_[group]
        if self.handle_unknown == "missing":
            found[unseen] = np.nan
        return found if self.relative is None else self._compared(X[:, self.columns_], found)

    def _compared(self, values: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Differences or ratios of the values and their statistics; counts as they are."""
        shaped = found.reshape(len(values), values.shape[1], len(self.statistics))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if self.relative == "difference":
                result = values[:, :, None] - shaped
            else:
                result = values[:, :, None] / np.where(shaped == 0, np.nan, shaped)
        result[:, :, self._counts()] = shaped[:, :, self._counts()]
        finite_predictions(np.nan_to_num(result, nan=0.0, posinf=np.inf, neginf=-np.inf), type(self).__name__)
        return result.reshape(found.shape)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: "income_mean_by_city", "income_minus_mean_by_city", "income_q0.25" ...

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
        ending = (
            "".join(f"_{word}" for word in ("by", *names[self.by_columns_])) if self.by_columns_.size else ""
        )
        found = []
        for j in self.columns_:
            for one in self.statistics:
                word = f"q{one}" if is_number(one) else one
                if self.relative is not None and one != "count":
                    word = f"{BETWEEN[self.relative]}_{word}"
                found.append(f"{names[j]}_{word}{ending}")
        return np.array(found, dtype=object)


def is_number(statistic: Any) -> bool:
    """Whether a statistic is a quantile, which is given by a number."""
    return isinstance(statistic, numbers.Real) and not isinstance(statistic, bool)
