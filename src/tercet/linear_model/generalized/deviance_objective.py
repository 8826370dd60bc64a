"""The penalised mean deviance of a generalised linear model, as sums over chunks of rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, lstsq
from scipy.special import xlogy

from tercet.core.parallel import Chunks, total
from tercet.core.row_sums import mass_of, mean_of
from tercet.core.rows import transposed_times
from tercet.core.streams import is_streamed
from tercet.linear_model._logistic.solvers import cholesky_factor
from tercet.linear_model.generalized.exponential_family import ExponentialFamily, Tweedie
from tercet.linear_model.generalized.link import LINKS, Link

Array = np.ndarray


class DevianceObjective:
    """F(w, b) = sum_i s_i deviance(y_i, g^-1(x_i·w + b)) / (2 sum_i s_i) + alpha/2 |w|^2, b last.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,)
    weight : array of shape (n,), optional
    family, link : ExponentialFamily, Link
    canonical : bool
        Whether the link is the family's canonical one; the formulas are then exact where the general ones divide
        0 by 0.
    alpha : float
    fit_intercept : bool
    n_jobs : int, optional

    Examples
    --------
    >>> from tercet.linear_model.generalized.exponential_family import FAMILIES
    >>> from tercet.linear_model.generalized.link import LINKS
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, 3.0])
    >>> F = DevianceObjective(X, y, None, FAMILIES["poisson"], LINKS["log"], canonical=True)
    >>> F.null_model().round(6), F.gradient(np.log([3.0, 1.0])).round(6) + 0.0
    (array([0.      , 0.693147]), array([0., 0.]))
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any,
        family: ExponentialFamily,
        link: Link,
        *,
        canonical: bool = False,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features, self.y, self.weight = X.shape[1], y, weight
        self.family, self.link = family, link
        self.factor = family.factor if canonical else None
        self.alpha, self.fit_intercept, self.n_jobs = alpha, fit_intercept, n_jobs
        self.strong_convexity = float(alpha)  # in w, where the gradient of the null model lies
        self.mass = mass_of(X, weight)
        self.power = family.power if isinstance(family, Tweedie) and link is LINKS["log"] else None
        known = None
        if self.power is not None:
            formula = partial(saturated, power=self.power)
            known = y.map(formula, dtype=np.float64) if is_streamed(y) else formula(y)
        self.chunks = Chunks(X, y, weight, known)

    def split(self, theta: Array) -> tuple[Array, float]:
        """w and b."""
        return theta[: self.n_features], float(theta[-1]) if self.fit_intercept else 0.0

    def join(self, w: Array, b: float) -> Array:
        """The opposite of `split`."""
        theta = np.empty(self.n_features + self.fit_intercept)
        theta[: self.n_features] = w
        if self.fit_intercept:
            theta[-1] = b
        return theta

    def null_model(self) -> Array:
        """The parameters of the intercept-only model (all zeros without an intercept)."""
        mean = mean_of(self.y, self.weight)
        with np.errstate(all="ignore"):  # a mean at an end of its range has no finite score
            b = float(self.link.function(np.array([mean]))[0])
        return self.join(np.zeros(self.n_features), b)

    def value(self, theta: Array) -> float:
        return self.value_and_gradient(theta)[0]

    def gradient(self, theta: Array) -> Array:
        return self.value_and_gradient(theta)[1]

    def value_and_gradient(self, theta: Array) -> tuple[float, Array]:
        value, slopes, errors = self._totals(gradient_sums, theta)
        return self._penalised(theta, value, slopes, errors)

    def with_information(self, theta: Array) -> tuple[float, Array, Array]:
        """Value, gradient and Fisher information (the expected Hessian)."""
        value, slopes, errors, H, edge, corner = self._totals(information_sums, theta)
        H.flat[:: len(H) + 1] += self.alpha * self.mass
        if self.fit_intercept:
            H = np.block([[H, edge[:, None]], [edge[None], np.full((1, 1), corner)]])
        return *self._penalised(theta, value, slopes, errors), H / self.mass

    def hessian(self, theta: Array) -> Array:
        return self.with_information(theta)[2]

    def _penalised(self, theta: Array, value: float, slopes: Array, errors: float) -> tuple[float, Array]:
        w, _ = self.split(theta)
        gradient = self.join(slopes / self.mass + self.alpha * w, errors / self.mass)
        return float(value / (2 * self.mass) + 0.5 * self.alpha * w @ w), gradient

    def _totals(self, statistics: Any, theta: Array) -> Any:
        parameters = *self.split(theta), self.family, self.link, self.factor, self.power
        if len(self.chunks) == 1:
            return statistics(self.chunks[0], *parameters)
        return total(statistics, self.chunks, *parameters, n_jobs=self.n_jobs)


def newton_step(information: Array, gradient: Array) -> Array:
    """The Fisher scoring step -I^-1 g, of least norm where the information I is singular.

    I is scaled to a unit diagonal: what counts as singular must not depend on the units of the columns. A Cholesky
    factorisation that rounding alone let through would add to the step what it should leave out.
    """
    diagonal = np.diag(information)
    width = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = information / width / width[:, None]
    L = cholesky_factor(scaled, np.float64)
    if L is not None:
        return -cho_solve((L, True), gradient / width) / width
    return -lstsq(scaled, gradient / width, cond=1e-13)[0] / width


def saturated(y: Array, power: float) -> Array:
    """The part of half the deviance of a Tweedie family with a log link that depends on y alone."""
    if power == 1:
        return xlogy(y, y) - y
    if power == 2:
        return -np.log(y) - 1
    if power == 0:
        return 0.5 * y * y
    return np.maximum(y, 0.0) ** (2 - power) / ((1 - power) * (2 - power))


def _log_link_quantities(y, z, weight, known, power):
    """`_working_quantities` of a Tweedie family with a log link, as functions of the score z = log(mean)."""
    if power == 1:
        information = np.exp(z)
        losses, errors = information - y * z, information - y
    elif power == 2:
        ratio, information = y * np.exp(-z), np.ones_like(z)
        losses, errors = z + ratio, 1 - ratio
    else:
        mean = np.exp(z)
        scaled = mean ** (1 - power)
        information = scaled * mean
        losses = information / (2 - power) - y * scaled / (1 - power)
        errors = information - y * scaled
    losses += known
    if weight is not None:
        losses, errors, information = losses * weight, errors * weight, information * weight
    value = 2 * float(losses.sum())
    return value if np.isfinite(value) else np.inf, errors, information


def _working_quantities(chunk, w, b, family, link, factor, power):
    """Deviance of a chunk, half its derivative in each score z, and the IRLS weight (dmean/dz)^2 / V(mean)."""
    X, y, weight, known = chunk
    z = X @ w + b
    if power is not None:
        return _log_link_quantities(y, z, weight, known, power)
    mean = link.inverse(z)
    slope = link.derivative(z)
    ratio = factor if factor is not None else slope / family.variance(mean)
    if weight is not None:
        ratio = ratio * weight
    value = np.inf
    if family.valid_means(mean):
        losses = family.deviance(y, mean)
        value = float(losses.sum() if weight is None else weight @ losses)
    return value, (mean - y) * ratio, slope * ratio


def gradient_sums(chunk, *parameters):
    """Deviance of a chunk, and half its gradient in w and b."""
    with np.errstate(all="ignore"):  # outside the domain of the mean the value is infinite
        value, errors, _ = _working_quantities(chunk, *parameters)
        return value, transposed_times(chunk[0], errors), errors.sum()


def information_sums(chunk, *parameters):
    """The same, and half the expected Hessian: X'DX with D the IRLS weights."""
    X = chunk[0]
    with np.errstate(all="ignore"):
        value, errors, weights = _working_quantities(chunk, *parameters)
        if sparse.issparse(X):
            H = (X.T @ sparse.diags_array(weights) @ X).toarray()
        else:
            H = X.T @ (weights[:, None] * X)
        return (
            value,
            transposed_times(X, errors),
            errors.sum(),
            H.astype(np.float64),
            transposed_times(X, weights),
            weights.sum(),
        )
