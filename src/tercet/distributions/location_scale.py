"""Location-scale families: the logistic, the Laplace and the uniform distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.functions import logit, sigmoid, sigmoid_derivative
from tercet.distributions.base import Seed, check_positive


@method(
    zh="逻辑斯谛分布",
    task="distribution",
    model="F(x) = 1 / (1 + exp(-(x - μ)/γ))",
    texts=["Li ch. 6, Def 6.1, eq. 6.1, 6.2"],
    peers=["scipy.stats.logistic"],
)
@dataclass(frozen=True)
class LogisticDistribution:
    """Logistic distribution, whose distribution function is the sigmoid.

    F(x) = 1 / (1 + exp(-(x - location) / scale)), symmetric about its location. With both parameters free it
    is no exponential family.

    Examples
    --------
    >>> float(LogisticDistribution(location=1.0, scale=2.0).cdf(3.0).round(6))
    0.731059
    """

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def _standard(self, x: ArrayLike) -> np.ndarray:
        return (np.asarray(x, dtype=float) - self.location) / self.scale

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """P(X <= x) (eq. 6.1)."""
        return sigmoid(self._standard(x))

    def density(self, x: ArrayLike) -> np.ndarray:
        """Derivative of the cdf (eq. 6.2)."""
        return sigmoid_derivative(self._standard(x)) / self.scale

    def log_density(self, x: ArrayLike) -> np.ndarray:
        """log of the density, exact far out in the tails."""
        size = np.abs(self._standard(x))
        return -size - 2.0 * np.log1p(np.exp(-size)) - np.log(self.scale)

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """The x with P(X <= x) = p."""
        return self.location + self.scale * logit(p)

    def sample(self, size: int | None = None, random_state: Seed = None) -> Any:
        """Draw ``size`` observations, or a single one."""
        return np.random.default_rng(random_state).logistic(self.location, self.scale, size)

    @property
    def mean(self) -> float:
        return float(self.location)

    @property
    def variance(self) -> float:
        return float((np.pi * self.scale) ** 2 / 3.0)


@method(
    zh="拉普拉斯分布",
    task="distribution",
    model="p(x) = exp(-|x - μ|/b) / (2b)",
    strategy="as a prior of coefficients: the L1 penalty",
    texts=["Machine Learning in Depth ch. 2, 2.1.4"],
    peers=["scipy.stats.laplace"],
)
@dataclass(frozen=True)
class Laplace:
    """Laplace distribution with density exp(-abs(x - location) / scale) / (2 scale).

    As a prior of a coefficient it is the L1 penalty with strength 1 / scale.

    Examples
    --------
    >>> float(Laplace(scale=0.5).density(0.0))
    1.0
    """

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)

    def log_density(self, x: ArrayLike) -> np.ndarray:
        """log of the density."""
        distance = np.abs(np.asarray(x, dtype=float) - self.location)
        return -distance / self.scale - np.log(2.0 * self.scale)

    def density(self, x: ArrayLike) -> np.ndarray:
        """exp(-abs(x - location) / scale) / (2 scale)."""
        return np.exp(self.log_density(x))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """P(X <= x)."""
        z = (np.asarray(x, dtype=float) - self.location) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1.0 - tail)[()]

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """The x with P(X <= x) = p."""
        p = np.asarray(p, dtype=float)
        if np.any(~((p >= 0) & (p <= 1))):
            raise ValueError(f"p must lie in [0, 1], got {p!r}")
        with np.errstate(divide="ignore"):
            return self.location + self.scale * np.sign(p - 0.5) * -np.log(2.0 * np.minimum(p, 1.0 - p))

    def sample(self, size: int | None = None, random_state: Seed = None) -> Any:
        """Draw ``size`` observations, or a single one."""
        return np.random.default_rng(random_state).laplace(self.location, self.scale, size)

    @property
    def mean(self) -> float:
        return float(self.location)

    @property
    def variance(self) -> float:
        return 2.0 * float(self.scale) ** 2


@method(
    zh="均匀分布",
    task="distribution",
    model="p(x) = 1 / (b - a) for a <= x <= b",
    texts=["Li ch. 19, Alg 19.1", "Machine Learning in Depth ch. 5, 5.3.3"],
    peers=["scipy.stats.uniform"],
)
@dataclass(frozen=True)
class Uniform:
    """Uniform distribution of numbers between two bounds.

    Examples
    --------
    >>> Uniform(1, 3).density([0.0, 2.0]), Uniform(1, 3).mean
    (array([0. , 0.5]), 2.0)
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"low must be below high, both finite, got low={self.low!r}, high={self.high!r}")

    def density(self, x: ArrayLike) -> np.ndarray:
        """1 / (high - low) inside, 0 outside."""
        return np.exp(self.log_density(x))

    def log_density(self, x: ArrayLike) -> np.ndarray:
        """log of the density."""
        x = np.asarray(x, dtype=float)
        inside = (x >= self.low) & (x <= self.high)
        return np.where(inside, -np.log(self.high - self.low), -np.inf)[()]

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """P(X <= x)."""
        return np.clip((np.asarray(x, dtype=float) - self.low) / (self.high - self.low), 0.0, 1.0)

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """The x with P(X <= x) = p."""
        p = np.asarray(p, dtype=float)
        if np.any(~((p >= 0) & (p <= 1))):
            raise ValueError(f"p must lie in [0, 1], got {p!r}")
        return self.low + (self.high - self.low) * p

    def sample(self, size: int | None = None, random_state: Seed = None) -> Any:
        """Draw ``size`` observations, or a single one."""
        return np.random.default_rng(random_state).uniform(self.low, self.high, size)

    @property
    def mean(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def variance(self) -> float:
        return float((self.high - self.low) ** 2 / 12.0)

    @property
    def entropy(self) -> float:
        """log(high - low)."""
        return float(np.log(self.high - self.low))
