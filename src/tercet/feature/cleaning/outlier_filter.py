"""Rows with outliers, dropped from the training data."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Positive
from tercet.feature.cleaning.base import RowFilter, outside_limits
from tercet.feature.cleaning.outlier_cleaner import Rule, Tail, outlier_limits
from tercet.feature.cleaning.table_columns import column_indices, column_names, column_numbers, raw_column


@method(
    zh="剔除异常样本",
    task="preprocessing",
    model="the rows whose values all are within the limits of their columns",
    strategy="limits of each column, as in `OutlierCleaner`",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["feature_engine.outliers.OutlierTrimmer"],
)
class OutlierFilter(RowFilter):
    """Drops the training rows that have an outlier; a sampler, for use in `Resampled`.

    Parameters
    ----------
    rule, threshold, tail : as in `OutlierCleaner`
        How outliers are found.
    columns : list, optional
        Columns that are looked at, by name or place; by default all columns of numbers.

    Attributes
    ----------
    lower_, upper_ : arrays of shape (n_columns,)
        The limits of the columns that are looked at; infinite where there is none.
    outlier_rows_ : array of int
        The rows that were dropped.
    sample_indices_ : array of int
        The rows that were kept.

    Examples
    --------
    >>> X, y = [[1.0], [2.0], [3.0], [4.0], [50.0]], [0, 0, 1, 1, 1]
    >>> OutlierFilter().fit_resample(X, y)
    ([[1.0], [2.0], [3.0], [4.0]], array([0, 0, 1, 1]))
    """

    def __init__(
        self,
        rule: Rule = "iqr",
        *,
        threshold: Positive | None = None,
        tail: Tail = "both",
        columns: Any = None,
    ) -> None:
        self.rule = rule
        self.threshold = threshold
        self.tail = tail
        self.columns = columns

    def _dropped(self, X: Any, y: Any) -> np.ndarray:
        names = column_names(X)
        if self.columns is None:
            places = [j for j in range(X.shape[1]) if is_numeric(raw_column(X, j))]
        else:
            places = column_indices(self.columns, names, type(self).__name__, "columns")
        table = np.empty((X.shape[0], len(places)))
        for k, j in enumerate(places):
            table[:, k] = column_numbers(X, j, type(self).__name__)
        self.lower_, self.upper_ = outlier_limits(table, self.rule, self.threshold, self.tail)
        outside = np.asarray(outside_limits(table, self.lower_, self.upper_).any(axis=1))
        self.outlier_rows_ = np.flatnonzero(outside)
        return outside

    def _advice(self) -> str:
        return "raise threshold, or name fewer columns"


def is_numeric(values: np.ndarray) -> bool:
    """Whether a column holds numbers; True and False are categories."""
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf"
    here = [value for value in values.tolist() if value is not None and value == value]
    return bool(here) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in here
    )
