"""Tweedie regression (Tweedie 回归): the variance is a power of the mean."""

from __future__ import annotations

from typing import Literal

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Positive, Real
from tercet.linear_model.generalized.base import GeneralizedLinearModel
from tercet.linear_model.generalized.exponential_family import ExponentialFamily, Tweedie
from tercet.linear_model.generalized.link import LINKS, Link


@method(
    zh="Tweedie 回归",
    task="regression",
    model="E[y | x] = g^-1(w·x + b), variance of y proportional to a power of its mean",
    strategy="mean deviance / 2 + alpha/2 |w|^2",
    algorithms={"lbfgs": "quasi-Newton", "newton-cholesky": "Newton's method with the expected Hessian"},
    texts=["Machine Learning in Depth ch. 6, 6.3"],
    peers=["sklearn.linear_model.TweedieRegressor", "glum.GeneralizedLinearRegressor"],
)
class TweedieRegressor(GeneralizedLinearModel):
    """Regression with a variance that is a power of the mean.

    Parameters
    ----------
    power : float, default=0
        0 Gaussian, 1 Poisson, 2 gamma, 3 inverse Gaussian; between 1 and 2 sums of a random number of gammas.
        No distribution has a power between 0 and 1; the deviance is defined there, too, and smallest at the mean.
    alpha, fit_intercept, solver, max_iter, tol, warm_start, verbose, n_jobs
        As in `PoissonRegressor`.
    link : {"auto", "identity", "log"}, default="auto"
        "auto" is the identity for powers up to 0, else the logarithm.

    Attributes
    ----------
    coef_, intercept_ : array of shape (n_features,), and float
        w and b.
    n_iter_ : int
        Passes made.

    Examples
    --------
    >>> model = TweedieRegressor().fit([[1, 2], [2, 3], [3, 4], [4, 3]], [2, 3.5, 5, 5.5])
    >>> model.coef_.round(2)
    array([0.6, 0.3])
    """

    def __init__(
        self,
        *,
        power: Real = 0.0,
        alpha: NonNegative = 1.0,
        fit_intercept: bool = True,
        link: Literal["auto", "identity", "log"] = "auto",
        solver: Literal["lbfgs", "newton-cholesky"] = "lbfgs",
        max_iter: Count = 100,
        tol: Positive = 1e-4,
        warm_start: bool = False,
        verbose: CountOrZero | bool = 0,
        n_jobs: Jobs = None,
    ) -> None:
        self.power = power
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.link = link
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _family_and_link(self) -> tuple[ExponentialFamily, Link, bool]:
        name = ("identity" if self.power <= 0 else "log") if self.link == "auto" else self.link
        canonical = (self.power, name) in [(0, "identity"), (1, "log")]
        return Tweedie(name, power=self.power), LINKS[name], canonical
