"""Statistics across the columns of each row as features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Each, OneOf
from tercet.core.scaling import LARGE
from tercet.core.validation import refuse_large, target_for_callbacks
from tercet.feature.cleaning.base import numeric_table
from tercet.feature.column_statistics import moments, quantiles

NAMES = ("mean", "std", "min", "max", "median", "sum", "count", "missing")
CHUNK = 1 << 20  # numbers at a time


@method(
    zh="行统计特征, 统计值",
    task="feature extraction",
    model="max, min, mean, std … of the values of a row",
    strategy="numbers that are alike (measurements of one thing) replaced by their statistics",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
    peers=["pandas.DataFrame.agg", "tsfresh.extract_features"],
)
class RowStatistics(TransformerMixin, Estimator):
    """Statistics of the values of each row, for columns that are measurements of the same thing.

    Missing values are left out; a row without values has NaN, and a count of 0.

    Parameters
    ----------
    statistics : tuple, default=("mean", "std", "min", "max")
        Some of "mean", "std", "min", "max", "median", "sum", "count" (of known values) and "missing" (the number of
        missing values).
    prefix : str, default="row"
        What the names of the features begin with.

    Attributes
    ----------
    statistics_ : list of str
        The statistics, in the order of the features.

    Examples
    --------
    >>> RowStatistics(("mean", "max")).fit_transform([[1.0, 3.0], [2.0, np.nan]])
    array([[2., 3.],
           [2., 2.]])
    """

    def __init__(
        self, statistics: tuple | list = ("mean", "std", "min", "max"), *, prefix: str = "row"
    ) -> None:
        self.statistics = statistics
        self.prefix = prefix

    fitted_shapes = {"statistics_": Each(OneOf(NAMES), "statistics*")}
    statistics_: list[str]
    sparse_input = False
    missing_input = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember the columns of X; there is nothing else to learn.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        table = numeric_table(self, X, reset=reset)
        refuse_large(np.where(np.isnan(table), 0, table), LARGE, type(self).__name__)
        return table if y is NO_TARGET else (table, target_for_callbacks(y, len(table)))

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> None:
        wrong = [one for one in self.statistics if one not in NAMES]
        if wrong or not len(self.statistics) or len(set(self.statistics)) < len(self.statistics):
            raise ValueError(
                f"{type(self).__name__}: parameter 'statistics' must hold some of {', '.join(NAMES)}, each once; "
                f"got {self.statistics!r}."
            )
        self.statistics_ = list(self.statistics)

    def transform(self, X: Any) -> np.ndarray:
        """The statistics of each row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        features : array of shape (n_samples, n_statistics)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        found = np.empty((len(X), len(self.statistics_)), dtype=X.dtype)
        step = max(CHUNK // X.shape[1], 1)
        for start in range(0, len(X), step):
            found[start : start + step] = self._statistics_of(X[start : start + step].T)
        return found

    def _statistics_of(self, columns: np.ndarray) -> np.ndarray:
        """Statistics of the columns of a transposed table."""
        missing = np.isnan(columns).sum(axis=0)
        sums = moments(columns)
        known: dict[str, Any] = {
            "mean": lambda: sums.mean[0],
            "std": lambda: sums.std[0],
            "min": lambda: sums.min[0],
            "max": lambda: sums.max[0],
            "median": lambda: quantiles(columns, [0.5])[0, 0],
            "sum": lambda: np.nansum(columns, axis=0, dtype=np.float64),
            "count": lambda: len(columns) - missing,
            "missing": lambda: missing,
        }
        return np.column_stack([known[one]() for one in self.statistics_])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: "row_mean", "row_std" ...

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X, which must be those that were seen.

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array([f"{self.prefix}_{one}" for one in self.statistics_], dtype=object)
