"""The loop of all generalised linear models."""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import Any

import numpy as np

from tercet.core.estimator import check_is_fitted, check_weight
from tercet.core.parallel import Chunks, each, one_blas_thread
from tercet.core.row_sums import mean_of
from tercet.core.scaling import LARGE
from tercet.core.steps import ConvergenceWarning
from tercet.core.streams import is_streamed
from tercet.core.validation import check_target, finite_predictions
from tercet.linear_model.base import LinearRegressor
from tercet.linear_model.generalized.deviance_objective import DevianceObjective, newton_step
from tercet.linear_model.generalized.exponential_family import ExponentialFamily
from tercet.linear_model.generalized.link import Link
from tercet.optimize import minimize

Array = np.ndarray


class GeneralizedLinearModel(LinearRegressor):
    """E[y | x] = g^-1(w·x + b); a subclass names its exponential family and its link g."""

    alpha: float
    fit_intercept: bool
    solver: str
    max_iter: int
    tol: float
    warm_start: bool
    verbose: int
    n_jobs: int | None

    largest_target = LARGE
    relative_weights = True
    streaming = True

    def _family_and_link(self) -> tuple[ExponentialFamily, Link, bool]:
        """The exponential family, the link, and whether the link is the canonical one."""
        raise NotImplementedError

    def _encode(self, y: Any) -> Array:
        y, family = super()._encode(y), self._family_and_link()[0]
        self._refuse_unsupported(family, _unsupported((y,), family))
        return y

    def _refuse_unsupported(self, family: ExponentialFamily, bad: list[float]) -> None:
        if bad:
            raise ValueError(
                f"{type(self).__name__}: Some value(s) of y are out of the valid range of the loss: y must "
                f"{family.requirement}; got {bad[0]}."
            )

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        family, link, canonical = self._family_and_link()
        if is_streamed(y):
            found = each(_unsupported, Chunks(y), family, n_jobs=self.n_jobs)
            self._refuse_unsupported(family, [value for values in found for value in values])
        objective = DevianceObjective(
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

        null = objective.null_model()
        if self.fit_intercept and not np.isfinite(null[-1]):
            self._fit_boundary(X, objective)
            return
        theta = self._initial(objective, null)
        steps = functools.partial(self.steps, unpack=fitted, watch=self._print)
        if self.solver == "lbfgs":
            # a trial step may leave the domain; the line search comes back
            with np.errstate(all="ignore"), one_blas_thread():
                theta = minimize(objective, theta, tol=self.tol, max_iter=self.max_iter, steps=steps).x
        else:
            with one_blas_thread():
                theta = self._fisher_scoring(objective, theta, steps)
        self.__dict__.update(fitted(theta))

    def _fit_boundary(self, X: Any, objective: DevianceObjective) -> None:
        """The fit where all of y is at an end of the range of means, which no finite intercept gives."""
        mean = mean_of(objective.y, objective.weight)
        end = "lower" if mean == 0 else "upper"
        warnings.warn(
            f"{type(self).__name__}: every y is {mean:g}: the mean is at its {end} bound, which no finite weights "
            f"reach. The intercept is {objective.null_model()[-1]:g}, and {mean:g} is predicted everywhere.",
            ConvergenceWarning,
            stacklevel=4,
        )
        self.coef_ = np.zeros(X.shape[1], X.dtype)
        self.intercept_ = X.dtype.type(objective.null_model()[-1])
        self.n_iter_ = 0

    def _fisher_scoring(self, objective: DevianceObjective, theta: Array, steps: Any) -> Array:
        """Newton's method with the expected Hessian (IRLS): each pass is a weighted least squares problem."""
        value, gradient, information = objective.with_information(theta)
        hint = "Raise max_iter or alpha; a fit that is perfect has no finite maximum of the likelihood."
        for step in steps(self.max_iter, hint=hint):
            direction = newton_step(information, gradient)
            decrease, length = -gradient @ direction, 1.0
            # a predicted decrease below the rounding level of the value cannot be verified by a line search
            at_rounding_level = decrease <= 4 * np.finfo(float).eps * max(abs(value), 1.0)
            for _ in range(60):
                trial = objective.with_information(theta + length * direction)
                if at_rounding_level or trial[0] <= value - 1e-4 * length * decrease:
                    break
                length /= 2
            before, after = np.abs(gradient).max(), np.abs(trial[1]).max()
            # there the gradient decides, which has more digits left: the expected Hessian converges linearly
            stuck = at_rounding_level and not after < before
            if np.isfinite(trial[0]) and not stuck:
                theta = theta + length * direction
                value, gradient, information = trial
            size = np.abs(gradient).max()
            step.report(theta, loss=value, grad_norm=size)
            if step.converged(stuck or size <= self.tol):
                break
        return theta

    def _initial(self, objective: DevianceObjective, theta: Array) -> Array:
        """The weights of the last fit, or those of the intercept-only model."""
        if self.warm_start and hasattr(self, "coef_"):
            return objective.join(self.coef_.astype(np.float64), float(self.intercept_))
        if not self.fit_intercept and not np.isfinite(objective.value(theta)):
            raise ValueError(
                f"{type(self).__name__}: without an intercept the link has no start where w·x = 0; "
                "set fit_intercept=True or choose another link."
            )
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
        with np.errstate(all="ignore"):
            mean = self._family_and_link()[1].inverse(super().predict(X))
        return finite_predictions(mean, type(self).__name__)

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
        residual, null = self._deviances(X, y, sample_weight)
        if null == 0:  # all of y is the same
            return float(residual == 0)
        return 1.0 - residual / null

    def _deviances(self, X: Any, y: Any, sample_weight: Any) -> tuple[float, float]:
        """Deviances of the model and of the null model."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        y = self._encode(check_target(self, y, X.shape[0], multi_output=False, numeric=True))
        weight = check_weight(sample_weight, X)
        weight = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        family = self._family_and_link()[0]
        mean = np.full(len(y), np.average(y, weights=weight))
        predicted = self.predict(X).astype(np.float64)
        return float(weight @ _deviance(family, y, predicted)), float(weight @ _deviance(family, y, mean))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        with contextlib.suppress(KeyError, ValueError, TypeError):  # parameters that fit() will refuse
            tags.target_tags.positive_only = not self._family_and_link()[0].in_support(np.array([-1.0]))[0]
        return tags


def _unsupported(chunk: Any, family: ExponentialFamily) -> list[float]:
    """The first target of a chunk that is outside the support of the family, if there is one."""
    (y,) = chunk
    bad = ~family.in_support(y)
    return y[bad][:1].tolist() if bad.any() else []


def _deviance(family: ExponentialFamily, y: Array, mean: Array) -> Array:
    """Deviance of each row; 0 where y and mean are both 0, and 0 is the end of the range of means."""
    if family.valid_means(np.zeros(1)) or mean.all():
        return family.deviance(y, mean)
    found = family.deviance(y, np.where(mean == 0, 1.0, mean))
    return np.where(mean == 0, np.where(y == 0, 0.0, np.inf), found)
