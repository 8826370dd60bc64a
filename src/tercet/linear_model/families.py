"""The two parts of a generalised linear model: how y scatters about its mean, and how the mean meets w·x + b."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, xlogy

from tercet.core.functions import sigmoid_derivative

Array = np.ndarray
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Link:
    """A monotone, differentiable g with g(mean) = w·x + b (联系函数; 002 eq. 1.13; 004 eq. 3.15).

    Parameters
    ----------
    function : callable
        g.
    inverse : callable
        Its inverse.
    slope : callable, optional
        Derivative of the inverse; by default by central differences.

    Examples
    --------
    >>> cube = Link(np.cbrt, lambda z: z**3)
    >>> cube.inverse(np.array([2.0])), cube.derivative(np.array([2.0])).round(6)
    (array([8.]), array([12.]))
    """

    function: Function
    inverse: Function
    slope: Function | None = None

    def derivative(self, z: Array) -> Array:
        """Derivative of the inverse at z."""
        if self.slope is not None:
            return self.slope(z)
        h = 6e-6 * np.maximum(1.0, np.abs(z))
        return (self.inverse(z + h) - self.inverse(z - h)) / (2 * h)


def _density(z: Array) -> Array:
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


LINKS: dict[str, Link] = {
    "identity": Link(lambda m: m, lambda z: z, np.ones_like),
    "log": Link(np.log, np.exp, np.exp),
    "logit": Link(logit, expit, sigmoid_derivative),
    "probit": Link(ndtri, ndtr, _density),
    "cloglog": Link(
        lambda m: np.log(-np.log1p(-m)), lambda z: -np.expm1(-np.exp(z)), lambda z: np.exp(z - np.exp(z))
    ),
    "reciprocal": Link(lambda m: 1 / m, lambda z: 1 / z, lambda z: -1 / z**2),
    "inverse-squared": Link(lambda m: m**-2.0, lambda z: z**-0.5, lambda z: -0.5 * z**-1.5),
    "sqrt": Link(np.sqrt, np.square, lambda z: 2 * z),
}


@dataclass(frozen=True)
class Family:
    """A family of distributions with variance proportional to V(mean).

    Attributes
    ----------
    canonical : name of the link that makes w·x + b the natural parameter (up to a factor).
    factor : (dmean/dz) / V(mean) under that link, a constant.
    """

    canonical: str = "identity"
    factor: float = 1.0
    rule = "be finite"

    def allowed(self, y: Array) -> Array:
        """Which targets can occur."""
        return np.isfinite(y)

    def inside(self, mean: Array) -> bool:
        """Whether all of these can be means."""
        return bool(np.all(np.isfinite(mean)))

    def variance(self, mean: Array) -> Array:
        """V(mean)."""
        raise NotImplementedError

    def deviance(self, y: Array, mean: Array) -> Array:
        """Twice the log-likelihood ratio of the perfect fit and this one, for each sample (unit dispersion)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Tweedie(Family):
    """V(mean) = mean^power: 0 Gaussian, 1 Poisson, 2 gamma (and exponential), 3 inverse Gaussian.

    Examples
    --------
    >>> Tweedie(power=1).deviance(np.array([0.0, 2.0]), np.array([1.0, 2.0]))
    array([2., 0.])
    """

    power: float = 0.0

    @property
    def rule(self) -> str:  # type: ignore[override]
        return "be above 0" if self.power >= 2 else "be at least 0" if self.power >= 1 else "be finite"

    def allowed(self, y: Array) -> Array:
        least = y > 0 if self.power >= 2 else y >= 0 if self.power >= 1 else np.full(y.shape, True)
        return least & np.isfinite(y)

    def inside(self, mean: Array) -> bool:
        return super().inside(mean) and (self.power == 0 or bool(np.all(mean > 0)))

    def variance(self, mean: Array) -> Array:
        return mean**self.power

    def deviance(self, y: Array, mean: Array) -> Array:
        p = self.power
        if p == 0:
            return (y - mean) ** 2
        if p == 1:
            return 2 * (xlogy(y, y / mean) - y + mean)
        if p == 2:
            return 2 * (np.log(mean / y) + y / mean - 1)
        known = np.maximum(y, 0.0) ** (2 - p) / ((1 - p) * (2 - p))
        return 2 * (known - y * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p))


@dataclass(frozen=True)
class Bernoulli(Family):
    """Zeros and ones, or shares of ones: V(mean) = mean (1 - mean).

    Examples
    --------
    >>> Bernoulli().deviance(np.array([1.0]), np.array([0.5])).round(6)
    array([1.386294])
    """

    canonical: str = "logit"
    rule = "lie in [0, 1]"

    def allowed(self, y: Array) -> Array:
        return (y >= 0) & (y <= 1)

    def inside(self, mean: Array) -> bool:
        return bool(np.all((mean >= 0) & (mean <= 1)))

    def variance(self, mean: Array) -> Array:
        return np.maximum(mean * (1 - mean), 1e-300)

    def deviance(self, y: Array, mean: Array) -> Array:
        low, high = np.maximum(mean, 1e-300), np.maximum(1 - mean, 1e-16)
        return 2 * (xlogy(y, y) - xlogy(y, low) + xlogy(1 - y, 1 - y) - xlogy(1 - y, high))


FAMILIES: dict[str, Family] = {
    "gaussian": Tweedie("identity"),
    "bernoulli": Bernoulli(),
    "poisson": Tweedie("log", power=1),
    "gamma": Tweedie("reciprocal", -1.0, power=2),
    "exponential": Tweedie("reciprocal", -1.0, power=2),  # gamma of shape 1: the mean is fitted alike
    "inverse-gaussian": Tweedie("inverse-squared", -0.5, power=3),
}
