"""Rows with too many missing values, dropped from the training data."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import CountOrZero, Fraction
from tercet.feature.cleaning.base import RowFilter
from tercet.feature.cleaning.table_columns import column_indices, column_names, missing_mask


@method(
    zh="丢弃缺失过多的样本",
    task="preprocessing",
    model="the rows with at most so many missing values",
    strategy="the share of missing values in a row",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["feature_engine.imputation.DropMissingData", "pandas.DataFrame.dropna"],
)
class MissingFilter(RowFilter):
    """Drops the training rows with too many missing values; a sampler, for use in `Resampled`.

    Parameters
    ----------
    max_missing : float or int, default=0.5
        The most missing values that a row may have: a share of the columns, or (an int) a number of them.
    columns : list, optional
        Columns that count, by name or place; by default all.

    Attributes
    ----------
    n_missing_ : array of shape (n_samples,)
        Missing values of each row.
    sample_indices_ : array of int
        The rows that were kept.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan, np.nan], [2.0, np.nan, 3.0], [3.0, 4.0, 5.0]])
    >>> MissingFilter(0.5).fit_resample(X, np.array([0, 1, 0]))[1]
    array([1, 0])
    """

    def __init__(self, max_missing: Fraction | CountOrZero = 0.5, *, columns: Any = None) -> None:
        self.max_missing = max_missing
        self.columns = columns

    def _dropped(self, X: Any, y: Any) -> np.ndarray:
        gone = missing_mask(X)
        if self.columns is not None:
            gone = gone[:, column_indices(self.columns, column_names(X), type(self).__name__, "columns")]
        self.n_missing_ = gone.sum(axis=1)
        if isinstance(self.max_missing, numbers.Integral):
            return self.n_missing_ > self.max_missing
        return self.n_missing_ > self.max_missing * gone.shape[1] * (1 + 1e-12)  # 0.3 of 10 columns are 3

    def _advice(self) -> str:
        return f"raise max_missing, which is {self.max_missing!r}"
