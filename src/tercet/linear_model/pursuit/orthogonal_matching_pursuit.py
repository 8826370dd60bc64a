"""Linear regression by orthogonal matching pursuit (正交匹配追踪回归)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.core.scaling import LARGE
from tercet.linear_model.base import LinearRegressor
from tercet.linear_model.pursuit.orthogonal_mp import allowed_atoms, column_pursuits, warn_if_premature
from tercet.optimize.matching_pursuit import matching_pursuit


@method(
    zh="正交匹配追踪回归",
    task="regression",
    model="f(x) = w·x + b with few w that are not zero",
    strategy="least squares with at most k non-zeros, or the fewest non-zeros with a residual of at most tol",
    algorithms="greedy: the column of the largest correlation with the residual, then least squares on all chosen",
    texts=["watermelon notes ch. 10, eq. 10.15, 10.21"],
    peers=["sklearn.linear_model.OrthogonalMatchingPursuit"],
)
class OrthogonalMatchingPursuit(LinearRegressor):
    """Linear regression with few coefficients, chosen greedily; see `orthogonal_mp`.

    Parameters
    ----------
    n_nonzero_coefs : int, optional
        The most coefficients that are not zero, for each target; by default a tenth of the features.
    tol : float, optional
        Stop at a squared residual of so much instead.
    fit_intercept : bool, default=True
        Whether to learn b. The data is never centred in place.
    precompute : bool or "auto", default="auto"
        Whether to work on the Gram matrix; "auto" does where there are more samples than features.
    n_jobs : int, optional
        Threads for several targets; the result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        w.
    intercept_ : float or array of shape (n_targets,)
        b.
    n_iter_ : int or list
        Features chosen for each target.
    n_nonzero_coefs_ : int or None
        The most coefficients that were asked for; None with `tol`.

    Examples
    --------
    >>> X = [[1, 0, 2], [0, 1, 1], [1, 1, 0], [2, 0, 1], [1, 3, 2]]
    >>> model = OrthogonalMatchingPursuit(n_nonzero_coefs=1).fit(X, [1.0, 3.5, 3.5, 1.0, 8.5])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([0. , 2.5, 0. ]), 1.0)
    """

    sparse_input: ClassVar[bool] = False
    multi_output: ClassVar[bool] = True
    largest_value: ClassVar[float] = LARGE
    largest_target: ClassVar[float] = LARGE

    def __init__(
        self,
        *,
        n_nonzero_coefs: Count | None = None,
        tol: NonNegative | None = None,
        fit_intercept: bool = True,
        precompute: bool | Literal["auto"] = "auto",
        n_jobs: Jobs = None,
    ) -> None:
        self.n_nonzero_coefs = n_nonzero_coefs
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.n_jobs = n_jobs

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        n, d = X.shape
        most = allowed_atoms(self.n_nonzero_coefs, self.tol, d, n)
        self.n_nonzero_coefs_ = None if self.tol is not None else most
        Z, Y = X.astype(np.float64, copy=False), y.reshape(n, -1)
        x_mean, y_mean = np.zeros(d), np.zeros(Y.shape[1])
        if self.fit_intercept:
            x_mean = np.average(Z, axis=0, weights=sample_weight)
            y_mean = np.average(Y, axis=0, weights=sample_weight)
        Z, Y = Z - x_mean, Y - y_mean
        if sample_weight is not None:
            root = np.sqrt(sample_weight)[:, None]
            Z, Y = Z * root, Y * root
        if n > d if isinstance(self.precompute, str) else self.precompute:
            found = matching_pursuit(
                Z.T @ Z, Y.T @ Z, (Y**2).sum(axis=0), most=most, tol=self.tol, n_jobs=self.n_jobs
            )
        else:
            found = column_pursuits(Z, Y, most, self.tol)
        warn_if_premature(found)
        self.n_iter_ = found.counts.tolist() if Y.shape[1] > 1 else int(found.counts[0])
        coef = found.codes
        intercept = y_mean - coef @ x_mean
        self.coef_ = (coef if Y.shape[1] > 1 else coef[0]).astype(X.dtype)
        self.intercept_: Any = 0.0
        if self.fit_intercept:
            self.intercept_ = (intercept if y.ndim > 1 else intercept[0]).astype(X.dtype)
