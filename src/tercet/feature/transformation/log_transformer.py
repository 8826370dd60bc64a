"""Logarithms of columns."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.parameters import Real
from tercet.core.validation import finite_predictions, target_for_callbacks
from tercet.feature.cleaning.base import numeric_table

# logarithm, its inverse, and the natural logarithm of the base
LOGS: Any = {
    "e": (np.log, np.exp, 1.0),
    "2": (np.log2, np.exp2, np.log(2.0)),
    "10": (np.log10, lambda x: np.power(x.dtype.type(10), x), np.log(10.0)),
}


@method(
    zh="log 变换, 对数变换",
    task="preprocessing",
    model="log(x + c)",
    strategy="c is given (1 is log1p), or such that the least training value of a column becomes 1",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
    peers=[
        "sklearn.preprocessing.FunctionTransformer",
        "feature_engine.transformation.LogTransformer",
        "feature_engine.transformation.LogCpTransformer",
    ],
)
class LogTransformer(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Logarithms of columns, for numbers whose ratios matter more than their differences.

    A value that has no logarithm is an error that names its column, not NaN. Missing values stay missing.

    Parameters
    ----------
    base : {"e", "2", "10"}, default="e"
        Base of the logarithm.
    offset : float or "auto", default=1.0
        Added before the logarithm is taken: 1 makes 0 of 0 (log1p), 0 is the plain logarithm. "auto" adds 1 less
        the least value of the training rows to columns that have values below 1.

    Attributes
    ----------
    offset_ : array of shape (n_features,)
        The number added to each column.

    Examples
    --------
    >>> model = LogTransformer("10", offset=0.0).fit([[1.0], [1000.0]])
    >>> model.transform([[10.0], [100.0]])
    array([[1.],
           [2.]])
    >>> model.inverse_transform([[3.0]])
    array([[1000.]])
    """

    def __init__(self, base: Literal["e", "2", "10"] = "e", *, offset: Real | Literal["auto"] = 1.0) -> None:
        self.base = base
        self.offset = offset

    sparse_input = False
    missing_input = True
    fitted_shapes = {"offset_": Floats("features", finite=True)}
    offset_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the number that is added to each column.

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
        return table if y is NO_TARGET else (table, target_for_callbacks(y, len(table)))

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> None:
        self.offset_ = np.zeros(X.shape[1], dtype=X.dtype)
        if self.offset == "auto":
            least = np.fmin.reduce(X, axis=0)
            small = least < 1
            self.offset_[small] = 1 - least[small]
        else:
            self.offset_[:] = self.offset
        self._refuse_without_logarithm(X)

    def transform(self, X: Any) -> np.ndarray:
        """Logarithms of the rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        self._refuse_without_logarithm(X)
        log, _, unit = LOGS[self.base]
        near, offset = self.offset_ == 1, self.offset_.astype(X.dtype)
        found = np.empty_like(X)
        with np.errstate(over="ignore"):
            found[:, near] = np.log1p(X[:, near]) / X.dtype.type(unit)  # keeps the digits of x near 0
            found[:, ~near] = log(X[:, ~near] + offset[~near])
        finite_predictions(np.where(np.isnan(X), 0, found), type(self).__name__)
        return found

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The numbers whose logarithms are given.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Logarithms.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = numeric_table(self, X, reset=False)
        _, power, unit = LOGS[self.base]
        near, offset = self.offset_ == 1, self.offset_.astype(X.dtype)
        found = np.empty_like(X)
        with np.errstate(over="ignore"):
            found[:, near] = np.expm1(X[:, near] * X.dtype.type(unit))
            found[:, ~near] = power(X[:, ~near]) - offset[~near]
        finite_predictions(np.where(np.isnan(X), 0, found), type(self).__name__)
        return found

    def _refuse_without_logarithm(self, X: np.ndarray) -> None:
        wrong = -self.offset_.astype(X.dtype) >= X
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            name = getattr(self, "feature_names_in_", range(X.shape[1]))[j]
            kind = "Negative values" if X[i, j] < 0 else "Zeros"
            raise ValueError(
                f"{kind} in data passed to {type(self).__name__}: column {name!r} holds {X[i, j]:g} in row {i}, "
                f"but log(x + {self.offset_[j]:g}) needs numbers above {-self.offset_[j]:g}. A larger offset or "
                "offset='auto' may help."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.offset != "auto"
        return tags
