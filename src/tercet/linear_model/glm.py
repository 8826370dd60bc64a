"""Generalised linear models (广义线性模型)."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, check_weight
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Positive
from tercet.linear_model.base import LinearRegressor
from tercet.linear_model.design import Design
from tercet.linear_model.deviance import Deviance, newton_step
from tercet.linear_model.families import FAMILIES, LINKS, Family, Link
from tercet.linear_model.least_squares import LinearRegression
from tercet.linear_model.ridge_solvers import by_svd
from tercet.optimize import minimize

Array = np.ndarray
FamilyName = Literal["gaussian", "bernoulli", "poisson", "gamma", "exponential", "inverse-gaussian"]
LinkName = Literal[
    "canonical", "identity", "log", "logit", "probit", "cloglog", "reciprocal", "inverse-squared", "sqrt"
]


class GeneralizedModel(LinearRegressor):
    """What all generalised linear models share; a subclass says which family and link it has."""

    alpha: float
    fit_intercept: bool
    solver: str
    max_iter: int
    tol: float
    warm_start: bool
    verbose: int
    n_jobs: int | None

    def _parts(self) -> tuple[Family, Link, bool]:
        """The family, the link, and whether the link is the canonical one."""
        raise NotImplementedError

    def _encode(self, y: Any) -> Array:
        y, family = super()._encode(y), self._parts()[0]
        bad = ~family.allowed(y)
        if bad.any():
            raise ValueError(f"{type(self).__name__}: y must {family.rule}; got {y[bad][0]}.")
        return y

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        family, link, canonical = self._parts()
        objective = Deviance(
            X,
            y,
            sample_weight,
            family,
            link,
            canonical=canonical,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            n_jobs=self.n_jobs,
        )

        def fitted(theta: Array) -> dict[str, Any]:
            w, b = objective.split(theta)
            return {"coef_": w.astype(X.dtype), "intercept_": X.dtype.type(b) if self.fit_intercept else 0.0}

        theta = self._start(objective)
        if self.solver == "lbfgs":
            steps = functools.partial(self.steps, unpack=fitted, watch=self._print)
            with np.errstate(all="ignore"):  # a step too far may leave the domain; the line search comes back
                theta = minimize(objective, theta, tol=self.tol, max_iter=self.max_iter, steps=steps).x
        else:
            theta = self._reweight(objective, theta, fitted)
        self.__dict__.update(fitted(theta))

    def _start(self, objective: Deviance) -> Array:
        if self.warm_start and hasattr(self, "coef_"):
            return objective.join(self.coef_.astype(np.float64), float(self.intercept_))
        theta = objective.constant()
        if not np.isfinite(objective.value(theta)):
            raise ValueError(
                f"{type(self).__name__}: without an intercept the link has no start where w·x = 0; "
                "set fit_intercept=True or choose another link."
            )
        return theta

    def _reweight(self, objective: Deviance, theta: Array, fitted: Any) -> Array:
        """Newton's method with the expected Hessian (IRLS): each pass is a weighted least squares problem."""
        value, gradient, information = objective.all_of(theta)
        hint = "Raise max_iter or alpha; a fit that is perfect has no finite maximum of the likelihood."
        for step in self.steps(self.max_iter, unpack=fitted, watch=self._print, hint=hint):
            direction = newton_step(information, gradient)
            decrease, length = -gradient @ direction, 1.0
            # the value cannot show a decrease below its last digits
            flat = decrease <= 4 * np.finfo(float).eps * max(abs(value), 1.0)
            for _ in range(60):
                found = objective.all_of(theta + length * direction)
                if flat or found[0] <= value - 1e-4 * length * decrease:
                    break
                length /= 2
            if np.isfinite(found[0]):
                theta = theta + length * direction
                value, gradient, information = found
            size = np.abs(gradient).max()
            step.report(theta, loss=value, grad_norm=size)
            if step.converged(flat or size <= self.tol):
                break
        return theta

    def _print(self, step: Any) -> None:
        if self.verbose:
            print(f"{type(self).__name__} pass {step.count}: {step.measures}")

    def predict(self, X: Any) -> Array:
        """The mean of y at each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : array of shape (n_samples,)
        """
        return self._parts()[1].inverse(super().predict(X))

    def deviance(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Deviance of the model on data: twice the log-likelihood ratio to a perfect fit, at dispersion 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        return self._deviances(X, y, sample_weight)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D^2, the share of the deviance that the model explains; R^2 for the Gaussian family.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
        """
        left, null = self._deviances(X, y, sample_weight)
        return 1.0 - left / null

    def _deviances(self, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
        """Of the model, and of the mean alone."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        y = self._encode(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
        check_consistent_length(X, y)
        weight = check_weight(sample_weight, X)
        weight = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        family = self._parts()[0]
        mean = np.full(len(y), np.average(y, weights=weight))
        predicted = self.predict(X).astype(np.float64)
        return float(weight @ family.deviance(y, predicted)), float(weight @ family.deviance(y, mean))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(KeyError, ValueError, TypeError):  # parameters that fit() will refuse
            tags.target_tags.positive_only = not self._parts()[0].allowed(np.array([-1.0]))[0]
        return tags


@method(
    zh="广义线性模型",
    task="regression",
    model="E[y | x] = g^-1(w·x + b), y from an exponential family",
    strategy="mean deviance / 2 + alpha/2 |w|^2, or least squares on g(y)",
    algorithms={"irls": "Newton's method on expected curvature", "lbfgs": "quasi-Newton"},
    texts=["001 ch. 6, 6.3", "002 ch. 1, eq. 1.13", "004 ch. 3, eq. 3.15"],
    peers=["statsmodels GLM", "glum.GeneralizedLinearRegressor"],
)
class GeneralizedLinearRegressor(GeneralizedModel):
    """A linear model seen through a link, with noise from an exponential family.

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

    def _parts(self) -> tuple[Family, Link, bool]:
        family = FAMILIES[self.family]
        if isinstance(self.link, Link):
            return family, self.link, False
        name = family.canonical if self.link == "canonical" else self.link
        return family, LINKS[name], name == family.canonical

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        if self.strategy == "likelihood":
            return super()._fit(X, y, sample_weight)
        with np.errstate(all="ignore"):
            z = self._parts()[1].function(y)
        if not np.all(np.isfinite(z)):
            raise ValueError(
                f"{type(self).__name__}: strategy='least_squares' needs a finite g(y); "
                f"y={y[~np.isfinite(z)][0]} has none under link={self.link!r}."
            )
        design = Design(X, z, sample_weight, self.fit_intercept, self.n_jobs)
        if self.alpha > 0:
            coef = by_svd(design, np.array([self.alpha * design.mass]))
        else:
            coef = LinearRegression()._solve(design)[0]
        self.coef_, self.n_iter_ = coef[0].astype(X.dtype), 1
        self.intercept_ = X.dtype.type(design.offset(coef)[0]) if self.fit_intercept else 0.0
