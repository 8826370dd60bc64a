"""Generalised linear models (广义线性模型) with a choice of family and link."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Positive
from tercet.linear_model._least_squares.design_matrix import DesignMatrix
from tercet.linear_model._least_squares.direct_solvers import solve_least_squares
from tercet.linear_model._least_squares.ridge_solvers import solve_svd
from tercet.linear_model.generalized.base import GeneralizedLinearModel
from tercet.linear_model.generalized.exponential_family import FAMILIES, ExponentialFamily
from tercet.linear_model.generalized.link import LINKS, Link

Array = np.ndarray
FamilyName = Literal["gaussian", "bernoulli", "poisson", "gamma", "exponential", "inverse-gaussian"]
LinkName = Literal[
    "canonical", "identity", "log", "logit", "probit", "cloglog", "reciprocal", "inverse-squared", "sqrt"
]


@method(
    zh="广义线性模型",
    task="regression",
    model="E[y | x] = g^-1(w·x + b), y from an exponential family",
    strategy="mean deviance / 2 + alpha/2 |w|^2, or least squares on g(y)",
    algorithms={"irls": "Newton's method with the expected Hessian", "lbfgs": "quasi-Newton"},
    texts=[
        "Machine Learning in Depth ch. 6, 6.3",
        "watermelon notes ch. 1, eq. 1.13",
        "Studies ML ch. 3, eq. 3.15",
    ],
    peers=["statsmodels GLM", "glum.GeneralizedLinearRegressor"],
)
class GeneralizedLinearRegressor(GeneralizedLinearModel):
    """Linear predictor with a link function and a response from an exponential family.

    Parameters
    ----------
    family : {"gaussian", "bernoulli", "poisson", "gamma", "exponential", "inverse-gaussian"}, \
default="gaussian"
        How y scatters about its mean.
    link : str or Link, default="canonical"
        g: "identity", "log", "logit", "probit", "cloglog", "reciprocal", "inverse-squared", "sqrt", the one
        that belongs to the family, or any `Link`.
    alpha : float, default=0
        Strength of the L2 penalty.
    strategy : {"likelihood", "least_squares"}, default="likelihood"
        Maximum likelihood, or least squares on g(y), which needs every g(y) to be finite.
    fit_intercept : bool, default=True
        Whether there is a b.
    solver : {"irls", "lbfgs"}, default="irls"
        How the likelihood is maximised.
    max_iter : int, default=100
    tol : float, default=1e-8
        The fit ends when no derivative of the objective is larger.
    warm_start : bool, default=False
        Begin where the last fit ended.
    verbose : int, default=0
        Whether to print each pass.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3]], [1, 2, 5, 9]
    >>> model = GeneralizedLinearRegressor(family="poisson").fit(X, y)
    >>> model.coef_.round(4), round(float(model.score(X, y)), 4)
    (array([0.7255]), 0.9912)
    """

    def __init__(
        self,
        *,
        family: FamilyName = "gaussian",
        link: LinkName | Link = "canonical",
        alpha: NonNegative = 0.0,
        strategy: Literal["likelihood", "least_squares"] = "likelihood",
        fit_intercept: bool = True,
        solver: Literal["irls", "lbfgs"] = "irls",
        max_iter: Count = 100,
        tol: Positive = 1e-8,
        warm_start: bool = False,
        verbose: CountOrZero | bool = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.strategy = strategy
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _family_and_link(self) -> tuple[ExponentialFamily, Link, bool]:
        family = FAMILIES[self.family]
        if isinstance(self.link, Link):
            return family, self.link, False
        name = family.canonical if self.link == "canonical" else self.link
        return family, LINKS[name], name == family.canonical

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        if self.strategy == "likelihood":
            return super()._fit(X, y, sample_weight)
        with np.errstate(all="ignore"):
            z = self._family_and_link()[1].function(y)
        if not np.all(np.isfinite(z)):
            raise ValueError(
                f"{type(self).__name__}: strategy='least_squares' needs a finite g(y); "
                f"y={y[~np.isfinite(z)][0]} has none under link={self.link!r}."
            )
        design = DesignMatrix(X, z, sample_weight, self.fit_intercept, self.n_jobs)
        if self.alpha > 0:
            coef = solve_svd(design, np.array([self.alpha * design.mass]))
        else:
            coef = solve_least_squares(design, tol=1e-6)[0]
        self.coef_, self.n_iter_ = coef[0].astype(X.dtype), 1
        self.intercept_ = X.dtype.type(design.intercepts(coef)[0]) if self.fit_intercept else 0.0
