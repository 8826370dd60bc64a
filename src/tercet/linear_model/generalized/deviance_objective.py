"""The penalised mean deviance of a generalised linear model, as sums over chunks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from tercet.core.parallel import Chunks, total
from tercet.core.rows import transposed_times
from tercet.linear_model.generalized.exponential_family import ExponentialFamily
from tercet.linear_model.generalized.link import Link

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
        y: Array,
        weight: Array | None,
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
        self.mass = float(len(y) if weight is None else weight.sum(dtype=np.float64))
        self.chunks = Chunks(X, y, weight)

    def split(self, theta: Array) -> tuple[Array, float]:
        """w and b."""
        return theta[: self.n_features], float(theta[-1]) if self.fit_intercept else 0.0

    def join(self, w: Array, b: float) -> Array:
        """The opposite of `split`."""
        return np.append(w, b) if self.fit_intercept else w.copy()

    def null_model(self) -> Array:
        """The parameters of the intercept-only model (all zeros without an intercept)."""
        mean = np.average(self.y, weights=self.weight)
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
        with np.errstate(all="ignore"):  # outside the domain of the mean the value is infinite
            return total(
                statistics,
                self.chunks,
                *self.split(theta),
                self.family,
                self.link,
                self.factor,
                n_jobs=self.n_jobs,
            )


def newton_step(information: Array, gradient: Array) -> Array:
    """The Fisher scoring step -I^-1 g, of least norm where the information I is singular."""
    try:
        return -cho_solve(cho_factor(information), gradient)
    except (LinAlgError, ValueError):
        return -lstsq(information, gradient)[0]


def _working_quantities(chunk, w, b, family, link, factor):
    """Deviance of a chunk, half its derivative in each score z, and the IRLS weight (dmean/dz)^2 / V(mean)."""
    X, y, weight = chunk
    z = X @ w + b
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


def gradient_sums(chunk, w, b, family, link, factor):
    """Deviance of a chunk, and half its gradient in w and b."""
    with np.errstate(all="ignore"):
        value, errors, _ = _working_quantities(chunk, w, b, family, link, factor)
        return value, transposed_times(chunk[0], errors), errors.sum()


def information_sums(chunk, w, b, family, link, factor):
    """The same, and half the expected Hessian: X'DX with D the IRLS weights."""
    X = chunk[0]
    with np.errstate(all="ignore"):
        value, errors, weights = _working_quantities(chunk, w, b, family, link, factor)
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
