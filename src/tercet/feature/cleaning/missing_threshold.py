"""Columns with too many missing values, dropped."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.column_parsing import is_frame
from tercet.core.columns import MixedColumns
from tercet.core.estimator import NO_TARGET, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.parameters import Fraction
from tercet.core.validation import check_array, target_for_callbacks, validate_data
from tercet.feature.cleaning.table_columns import missing_mask
from tercet.feature.selection.base import ColumnSelector


@method(
    zh="丢弃缺失过多的特征",
    task="feature selection",
    model="the columns with at most such a share of missing values",
    strategy="the share of missing values in a column of the training rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["feature_engine.selection.DropFeatures", "pandas.DataFrame.dropna"],
)
class MissingThreshold(ColumnSelector, MixedColumns):
    """Drops the columns that have too many missing values.

    Columns may hold anything: numbers, strings, dates.

    Parameters
    ----------
    threshold : float, default=0.5
        The largest share of missing values that a column may have.

    Attributes
    ----------
    missing_share_ : array of shape (n_features,)
        The share of missing values in each column.

    Examples
    --------
    >>> X = [[1.0, np.nan], [2.0, np.nan], [3.0, 4.0]]
    >>> MissingThreshold().fit_transform(X)
    array([[1.],
           [2.],
           [3.]])
    """

    def __init__(self, threshold: Fraction = 0.5) -> None:
        self.threshold = threshold

    categorical_features = "from_dtype"
    fitted_shapes = {
        "missing_share_": Floats("features", finite=True),
        "categories_": None,
        "_declared": None,
    }
    missing_share_: np.ndarray

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the missing values of each column.

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
        """Mask of the missing values."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            check_array(np.zeros(X.shape), estimator=self)
            gone = missing_mask(X)
        else:
            gone = np.column_stack([np.isnan(column) for column in self._columns(X, reset=reset).values])
        return gone if y is NO_TARGET else (gone, target_for_callbacks(y, len(gone)))

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self.missing_share_ = np.average(X, axis=0, weights=sample_weight)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.missing_share_ <= self.threshold

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
