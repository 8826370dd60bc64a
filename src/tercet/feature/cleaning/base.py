"""What cleaning steps share: rows that are dropped, and columns with limits."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.column_parsing import from_lists, is_frame
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.input_errors import refuse_containers
from tercet.core.parameters import check_parameters
from tercet.core.validation import indexable, target_for_callbacks, validate_data
from tercet.feature.cleaning.table_columns import column_numbers
from tercet.feature.resampling.base import take


class RowFilter(BaseEstimator):
    """Base of steps that drop training rows; a subclass implements `_dropped(X, y)`.

    Like a sampler it has `fit_resample` and no `fit`: rows that are to be predicted are never dropped.
    """

    def fit_resample(self, X: Any, y: Any = None) -> tuple[Any, Any]:
        """The rows that are kept.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), optional
            Their targets.

        Returns
        -------
        X, y : as they were given
            The rows that are kept, in their order.
        """
        name = type(self).__name__
        check_parameters(self)
        refuse_containers(X=X)
        given = from_lists(X) if isinstance(X, list | tuple) else X
        given, y = indexable(given, y)
        if len(np.shape(given)) != 2:
            raise ValueError(f"{name}: X must be a table of rows; its shape is {np.shape(given)}.")
        if given.shape[0] == 0:
            raise ValueError(f"{name}: X has no rows.")
        if y is not None:
            refuse_containers(y=y)
            check_consistent_length(given, y)
        kept = np.flatnonzero(~self._dropped(given, y))
        if not kept.size:
            raise ValueError(f"{name} would drop all {given.shape[0]} rows; {self._advice()}.")
        self.sample_indices_ = kept
        return take(X, kept), None if y is None else take(y, kept)

    def _dropped(self, X: Any, y: Any) -> np.ndarray:
        """Mask of the rows to drop."""
        raise NotImplementedError(f"{type(self).__name__} has no _dropped(X, y).")

    def _advice(self) -> str:
        """What to change where no row would be left."""
        raise NotImplementedError(f"{type(self).__name__} has no _advice().")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


class LimitCleaner(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Base of transformers that treat values outside of limits; a subclass implements `_limits(X, sample_weight)`.

    Missing values stay missing. Infinite values are outside of any limits.
    """

    sparse_input = False
    missing_input = True
    action: Literal["clip", "missing", "flag"]
    flag_name: str  # what the names of flags begin with
    lower_: np.ndarray
    upper_: np.ndarray
    fitted_shapes = {"lower_": Floats("features"), "upper_": Floats("features")}

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        lower, upper = self._limits(X, sample_weight)
        self.lower_, self.upper_ = lower.astype(X.dtype), upper.astype(X.dtype)
        self.n_outside_ = self._outside(X).sum(axis=0)

    def _limits(self, X: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limit of each column; infinite where there is none."""
        raise NotImplementedError(f"{type(self).__name__} has no _limits(X, sample_weight).")

    def transform(self, X: Any) -> np.ndarray:
        """Rows in which values outside of the limits are clipped, missing or flagged.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X : array of shape (n_samples, n_features), or twice as many columns with flags
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if self.action == "clip":
            finite = np.finfo(X.dtype).max
            lower, upper = (np.clip(limit, -finite, finite) for limit in (self.lower_, self.upper_))
            return np.clip(X, lower.astype(X.dtype), upper.astype(X.dtype))
        outside = self._outside(X)
        if self.action == "missing":
            return np.where(outside, X.dtype.type(np.nan), X)
        return np.hstack([X, outside.astype(X.dtype)])

    def _outside(self, X: np.ndarray) -> np.ndarray:
        return outside_limits(X, self.lower_, self.upper_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the output columns: those of X, then those of the flags.

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
        if self.action != "flag":
            return names
        return np.array([*names, *(f"{self.flag_name}_{name}" for name in names)], dtype=object)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        table = numeric_table(self, X, reset=reset, infinite=True)
        return table if y is NO_TARGET else (table, target_for_callbacks(y, len(table)))


def outside_limits(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Mask of the values outside of the limits of their columns, or infinite; NaN is missing, not outside."""
    return (values < lower) | (values > upper) | np.isinf(values)


def numeric_table(estimator: Any, X: Any, *, reset: bool, infinite: bool = False) -> np.ndarray:
    """X as floats with NaN for what is missing; where a frame holds something else, the error names its column."""
    finite: Any = False if infinite else "allow-nan"
    try:
        return validate_data(
            estimator, X, dtype=(np.float64, np.float32), ensure_all_finite=finite, reset=reset
        )
    except (ValueError, TypeError):
        if is_frame(X) and not sparse.issparse(X):
            for j in range(X.shape[1]):
                column_numbers(
                    X, j, f"{type(estimator).__name__} takes numbers (a ColumnTransformer chooses them)"
                )
        raise
