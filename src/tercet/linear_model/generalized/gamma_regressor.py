"""Gamma regression (伽马回归): positive numbers, with a log link."""

from __future__ import annotations

from typing import Literal

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Positive
from tercet.linear_model.generalized.base import GeneralizedLinearModel
from tercet.linear_model.generalized.exponential_family import FAMILIES, ExponentialFamily
from tercet.linear_model.generalized.link import LINKS, Link


@method(
    zh="伽马回归",
    task="regression",
    model="E[y | x] = exp(w·x + b), y gamma",
    strategy="mean deviance / 2 + alpha/2 |w|^2",
    algorithms={"lbfgs": "quasi-Newton", "newton-cholesky": "Newton's method with the expected Hessian"},
    texts=["Machine Learning in Depth ch. 6, 6.3"],
    peers=["sklearn.linear_model.GammaRegressor", "glum.GeneralizedLinearRegressor"],
)
class GammaRegressor(GeneralizedLinearModel):
    """Regression of positive numbers whose spread grows with their mean, with a log link.

    Parameters
    ----------
    alpha, fit_intercept, solver, max_iter, tol, warm_start, verbose, n_jobs
        As in `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,), and float
        w and b.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> model = GammaRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [19, 26, 33, 30])
    >>> model.coef_.round(2)
    array([0.07, 0.07])
    """

    def __init__(
        self,
        *,
        alpha: NonNegative = 1.0,
        fit_intercept: bool = True,
        solver: Literal["lbfgs", "newton-cholesky"] = "lbfgs",
        max_iter: Count = 100,
        tol: Positive = 1e-4,
        warm_start: bool = False,
        verbose: CountOrZero | bool = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _family_and_link(self) -> tuple[ExponentialFamily, Link, bool]:
        return FAMILIES["gamma"], LINKS["log"], False
