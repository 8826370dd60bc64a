"""Location-scale families: the logistic, the Laplace and the uniform distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.functions import logit, sigmoid
from tercet.distributions.base import Distribution, Size, check_finite, check_positive


@method(
    zh="逻辑斯谛分布",
    task="distribution",
    model="F(x) = 1 / (1 + exp(-(x - μ)/γ))",
    texts=["Li ch. 6, Def 6.1, eq. 6.1, 6.2"],
    peers=["scipy.stats.logistic"],
)
@dataclass(frozen=True)
class LogisticDistribution(Distribution):
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
        check_finite("location", self.location)
        check_positive("scale", self.scale)

    def _standard(self, x: np.ndarray) -> np.ndarray:
        return (x - self.location) / self.scale

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        size = np.abs(self._standard(x))  # the density (eq. 6.2) is symmetric, and overflows on one side only
        return -size - 2.0 * np.log1p(np.exp(-size)) - np.log(self.scale)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return sigmoid(self._standard(x))  # eq. 6.1

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return self.location + self.scale * logit(p)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.logistic(self.location, self.scale, size)

    @property
    def mean(self) -> float:
        return float(self.location)

    @property
    def var(self) -> float:
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
class Laplace(Distribution):
    """Laplace distribution with density exp(-abs(x - location) / scale) / (2 scale).

    As a prior of a coefficient it is the L1 penalty with strength 1 / scale.

    Examples
    --------
    >>> float(Laplace(scale=0.5).pdf(0.0))
    1.0
    """

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_finite("location", self.location)
        check_positive("scale", self.scale)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        return -np.abs(x - self.location) / self.scale - np.log(2.0 * self.scale)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        z = (x - self.location) / self.scale
        tail = 0.5 * np.exp(-np.abs(z))
        return np.where(z < 0, tail, 1.0 - tail)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return self.location + self.scale * np.sign(p - 0.5) * -np.log(2.0 * np.minimum(p, 1.0 - p))

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.laplace(self.location, self.scale, size)

    @property
    def mean(self) -> float:
        return float(self.location)

    @property
    def var(self) -> float:
        return 2.0 * float(self.scale) ** 2


@method(
    zh="均匀分布",
    task="distribution",
    model="p(x) = 1 / (b - a) for a <= x <= b",
    texts=["Li ch. 19, Alg 19.1", "Machine Learning in Depth ch. 5, 5.3.3"],
    peers=["scipy.stats.uniform"],
)
@dataclass(frozen=True)
class Uniform(Distribution):
    """Uniform distribution of numbers between two bounds.

    Examples
    --------
    >>> Uniform(1, 3).pdf([0.0, 2.0]), Uniform(1, 3).mean
    (array([0. , 0.5]), 2.0)
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"low must be below high, both finite, got low={self.low!r}, high={self.high!r}")

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        inside = (x >= self.low) & (x <= self.high)
        return np.where(inside, -np.log(self.high - self.low), -np.inf)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) * p

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.uniform(self.low, self.high, size)

    @property
    def mean(self) -> float:
        return 0.5 * (self.low + self.high)

    @property
    def var(self) -> float:
        return float((self.high - self.low) ** 2 / 12.0)

    @property
    def entropy(self) -> float:
        """log(high - low)."""
        return float(np.log(self.high - self.low))
