"""Exponential families: the distribution of y around its mean in a generalised linear model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

Array = np.ndarray


@dataclass(frozen=True)
class ExponentialFamily:
    """A family of distributions whose variance is proportional to V(mean).

    Attributes
    ----------
    canonical : name of the canonical link, which makes w·x + b the natural parameter (up to a factor).
    factor : (dmean/dz) / V(mean) under that link, a constant.
    """

    canonical: str = "identity"
    factor: float = 1.0
    requirement = "be finite"

    def in_support(self, y: Array) -> Array:
        """Which targets lie in the support."""
        return np.isfinite(y)

    def valid_means(self, mean: Array) -> bool:
        """Whether all of these are valid means."""
        return bool(np.all(np.isfinite(mean)))

    def variance(self, mean: Array) -> Array:
        """V(mean)."""
        raise NotImplementedError

    def deviance(self, y: Array, mean: Array) -> Array:
        """Unit deviance of each sample: twice the log-likelihood ratio to the saturated model."""
        raise NotImplementedError


@dataclass(frozen=True)
class Tweedie(ExponentialFamily):
    """V(mean) = mean^power: 0 Gaussian, 1 Poisson, 2 gamma (and exponential), 3 inverse Gaussian.

    Examples
    --------
    >>> Tweedie(power=1).deviance(np.array([0.0, 2.0]), np.array([1.0, 2.0]))
    array([2., 0.])
    """

    power: float = 0.0

    @property
    def requirement(self) -> str:  # type: ignore[override]
        return "be above 0" if self.power >= 2 else "be at least 0" if self.power > 0 else "be finite"

    def in_support(self, y: Array) -> Array:
        least = y > 0 if self.power >= 2 else y >= 0 if self.power > 0 else np.full(y.shape, True)
        return least & np.isfinite(y)

    def valid_means(self, mean: Array) -> bool:
        return super().valid_means(mean) and (self.power == 0 or bool(np.all(mean > 0)))

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
class Bernoulli(ExponentialFamily):
    """Zeros and ones, or proportions: V(mean) = mean (1 - mean).

    Examples
    --------
    >>> Bernoulli().deviance(np.array([1.0]), np.array([0.5])).round(6)
    array([1.386294])
    """

    canonical: str = "logit"
    requirement = "lie in [0, 1]"

    def in_support(self, y: Array) -> Array:
        return (y >= 0) & (y <= 1)

    def valid_means(self, mean: Array) -> bool:
        return bool(np.all((mean >= 0) & (mean <= 1)))

    def variance(self, mean: Array) -> Array:
        return np.maximum(mean * (1 - mean), 1e-300)

    def deviance(self, y: Array, mean: Array) -> Array:
        low, high = np.maximum(mean, 1e-300), np.maximum(1 - mean, 1e-16)
        return 2 * (xlogy(y, y) - xlogy(y, low) + xlogy(1 - y, 1 - y) - xlogy(1 - y, high))


FAMILIES: dict[str, ExponentialFamily] = {
    "gaussian": Tweedie("identity"),
    "bernoulli": Bernoulli(),
    "poisson": Tweedie("log", power=1),
    "gamma": Tweedie("reciprocal", -1.0, power=2),
    "exponential": Tweedie("reciprocal", -1.0, power=2),  # gamma of shape 1: the mean is fitted alike
    "inverse-gaussian": Tweedie("inverse-squared", -0.5, power=3),
}
