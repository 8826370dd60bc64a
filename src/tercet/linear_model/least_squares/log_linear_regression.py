"""Log-linear regression (对数线性回归)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Jobs, NonNegative
from tercet.core.validation import finite_predictions
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, match_target_shape
from tercet.linear_model._least_squares.direct_solvers import solve_least_squares
from tercet.linear_model.base import LinearRegressor


@method(
    zh="对数线性回归",
    task="regression",
    model="f(x) = exp(w·x + b)",
    strategy="sum of (ln y - w·x - b)^2",
    algorithms="least squares on the logarithms",
    texts=["watermelon notes ch. 1, eq. 1.12", "Studies ML ch. 3, eq. 3.14"],
    peers=["sklearn.compose.TransformedTargetRegressor"],
)
class LogLinearRegression(LinearRegressor):
    """Least squares on the logarithm of a positive target.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether there is a b.
    tol : float, default=1e-6
        As in `LinearRegression`.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float

    Examples
    --------
    >>> model = LogLinearRegression().fit([[0], [1], [2], [3]], np.exp([1.0, 1.5, 2.0, 2.5]))
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([0.5]), 1.0)
    """

    relative_weights = True

    def __init__(self, *, fit_intercept: bool = True, tol: NonNegative = 1e-6, n_jobs: Jobs = None) -> None:
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.n_jobs = n_jobs

    def _encode(self, y: Any) -> np.ndarray:
        y = super()._encode(y)
        if not np.all(y > 0):
            raise ValueError(f"LogLinearRegression: y must be above 0; its smallest value is {y.min()}.")
        return y

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        design = DesignMatrix(X, np.log(y), sample_weight, self.fit_intercept, self.n_jobs)
        coef, _ = solve_least_squares(design, self.tol)
        self.coef_, self.intercept_ = match_target_shape(
            coef, design.intercepts(coef), y, X.dtype, self.fit_intercept
        )

    def predict(self, X: Any) -> np.ndarray:
        """Predictions exp(w·x + b).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : array of shape (n_samples,)
        """
        with np.errstate(over="ignore"):
            return finite_predictions(np.exp(super().predict(X)), type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
