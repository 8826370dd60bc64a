"""Exponential families of one variable and one parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, gammaln, ndtr, ndtri, pdtr, pdtrik, rel_entr, xlog1py, xlogy

from tercet.core.catalog import method
from tercet.core.functions import logit, sigmoid
from tercet.distributions.base import (
    ExponentialFamily,
    Size,
    check_finite,
    check_positive,
    table_cdf,
    table_quantile,
)


@dataclass(frozen=True, eq=False)
class _ScalarFamily(ExponentialFamily):
    """Base of the families with the single statistic T(x) = x."""

    def statistics(self, x: ArrayLike) -> np.ndarray:
        return np.asarray(x, dtype=float)[..., None]

    @classmethod
    def _statistics_of(cls, x: np.ndarray, **known: Any) -> np.ndarray:
        return x[:, None]

    @property
    def mean(self) -> float:
        raise NotImplementedError

    @property
    def var(self) -> float:
        raise NotImplementedError

    @property
    def mean_statistics(self) -> np.ndarray:
        return np.array([float(self.mean)])

    @property
    def covariance_statistics(self) -> np.ndarray:
        return np.array([[float(self.var)]])


@method(
    zh="伯努利分布",
    task="distribution",
    model="P(x) = pˣ(1 - p)¹⁻ˣ; η = log(p / (1 - p)), A = log(1 + exp(η))",
    strategy="maximum likelihood",
    texts=["Li ch. 1, exercise 1.1", "Machine Learning in Depth ch. 6, eq. 6.3"],
    peers=["scipy.stats.bernoulli"],
)
@dataclass(frozen=True, eq=False)
class Bernoulli(_ScalarFamily):
    """Bernoulli distribution of x in {0, 1}: eta = log(p / (1 - p)), A = log(1 + e^eta).

    Examples
    --------
    >>> Bernoulli(0.3).natural.round(6), round(Bernoulli(0.3).log_partition, 6)
    (array([-0.847298]), 0.356675)
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.p <= 1:
            raise ValueError(f"p must lie in [0, 1], got {self.p!r}")

    @property
    def natural(self) -> np.ndarray:
        return np.array([logit(self.p)])

    @property
    def log_partition(self) -> float:
        return float(-np.log1p(-self.p)) if self.p < 1 else np.inf

    @property
    def mean(self) -> float:
        return float(self.p)

    @property
    def var(self) -> float:
        return float(self.p * (1.0 - self.p))

    @property
    def entropy(self) -> float:
        return float(entr(self.p) + entr(1.0 - self.p))  # eta is infinite at p = 0 and 1

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        return cls(float(sigmoid(np.ravel(eta)[0])))

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        return cls(float(np.ravel(mean_statistics)[0]))

    def log_base(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.isin(x, (0, 1)), 0.0, -np.inf)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        # eta is infinite at p = 0 and 1, where the mass is still a number
        inside = np.isin(x, (0, 1))
        safe = np.where(inside, x, 0.0)
        with np.errstate(divide="ignore"):
            return np.where(inside, xlogy(safe, self.p) + xlog1py(1.0 - safe, -self.p), -np.inf)

    @property
    def _mass(self) -> np.ndarray:
        return np.array([1.0 - self.p, self.p])

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return table_cdf(self._mass, x)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return table_quantile(self._mass, p)

    def kl(self, other: Self) -> float:
        return float(rel_entr(self.p, other.p) + rel_entr(1.0 - self.p, 1.0 - other.p))

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.binomial(1, self.p, size)


@method(
    zh="高斯分布（方差已知）",
    task="distribution",
    model="p(x) = N(x; μ, σ²); η = μ/σ², A = σ²η²/2",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, eq. 6.4"],
    peers=["scipy.stats.norm"],
)
@dataclass(frozen=True, eq=False)
class GaussianKnownVariance(_ScalarFamily):
    """Gaussian with known variance: eta = mean / variance, A = variance eta^2 / 2.

    Examples
    --------
    >>> GaussianKnownVariance(2.0).natural, GaussianKnownVariance(2.0).log_partition
    (array([2.]), 2.0)
    """

    mean: float = 0.0
    variance: float = 1.0
    _of_rows = "MultivariateNormal"

    def __post_init__(self) -> None:
        check_finite("mean", self.mean)
        check_positive("variance", self.variance)

    @property
    def natural(self) -> np.ndarray:
        return np.array([self.mean / self.variance])

    @property
    def log_partition(self) -> float:
        return 0.5 * self.mean**2 / self.variance

    @classmethod
    def from_natural(cls, eta: ArrayLike, variance: float = 1.0) -> Self:
        return cls(float(np.ravel(eta)[0]) * variance, variance)

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike, variance: float = 1.0) -> Self:
        return cls(float(np.ravel(mean_statistics)[0]), variance)

    @property
    def _mean_log_base(self) -> float:
        return -0.5 * (self.mean**2 / self.variance + 1.0 + float(np.log(2 * np.pi * self.variance)))

    def _same_base(self, other: ExponentialFamily) -> bool:
        return isinstance(other, type(self)) and self.variance == other.variance

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        return -0.5 * (x**2 / self.variance + np.log(2 * np.pi * self.variance))

    @property
    def var(self) -> float:
        return float(self.variance)

    def _outside(self, x: np.ndarray) -> np.ndarray:
        return np.zeros(x.shape, dtype=bool)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        # the exponential form in exact arithmetic, without its cancellation
        return -0.5 * ((x - self.mean) ** 2 / self.variance + np.log(2 * np.pi * self.variance))

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return ndtr((x - self.mean) / np.sqrt(self.variance))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return self.mean + np.sqrt(self.variance) * ndtri(p)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.normal(self.mean, np.sqrt(self.variance), size)


@method(
    zh="泊松分布",
    task="distribution",
    model="P(x) = λˣ exp(-λ) / x!; η = log λ, A = exp(η)",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, 6.2"],
    peers=["scipy.stats.poisson"],
)
@dataclass(frozen=True, eq=False)
class Poisson(_ScalarFamily):
    """Poisson distribution of counts: eta = log rate, A = e^eta, h = 1 / x!.

    Examples
    --------
    >>> float(Poisson(2.0).pdf(3).round(6))
    0.180447
    """

    rate: float = 1.0

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)

    @property
    def natural(self) -> np.ndarray:
        return np.array([np.log(self.rate)])

    @property
    def log_partition(self) -> float:
        return float(self.rate)

    @property
    def mean(self) -> float:
        return float(self.rate)

    @property
    def var(self) -> float:
        return float(self.rate)

    @property
    def entropy(self) -> float:
        if self.rate > 1e5:  # nearly Gaussian; the sum would be long, and its terms cancel
            return float(0.5 * (1 + np.log(2 * np.pi * self.rate)) - 1 / (12 * self.rate))
        reach = 12.0 * np.sqrt(self.rate) + 40.0  # beyond twelve deviations there is nothing
        x = np.arange(max(np.floor(self.rate - reach), 0.0), self.rate + reach)
        return float(entr(self.pdf(x)).sum())

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        return cls(float(np.exp(np.ravel(eta)[0])))

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        return cls(float(np.ravel(mean_statistics)[0]))

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        count = (x >= 0) & (np.floor(x) == x)
        return np.where(count, -gammaln(np.where(count, x, 0.0) + 1.0), -np.inf)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return np.where(x < 0, 0.0, pdtr(np.maximum(np.floor(x), 0.0), self.rate))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        # pdtrik inverts the cdf between the counts; rounding may put it just above the right one
        inner = np.clip(p, np.finfo(float).tiny, 1 - 2**-53)
        above = np.ceil(np.maximum(pdtrik(inner, self.rate), 0.0))
        before = np.maximum(above - 1.0, 0.0)
        count = np.where(pdtr(before, self.rate) >= p, before, above)
        count = np.where(pdtr(count, self.rate) < p, count + 1.0, count)
        return np.where(p == 0, 0.0, np.where(p == 1, np.inf, count))

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.poisson(self.rate, size)


@method(
    zh="指数分布",
    task="distribution",
    model="p(x) = λ exp(-λx); η = -λ, A = -log(-η)",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, 6.2"],
    peers=["scipy.stats.expon"],
)
@dataclass(frozen=True, eq=False)
class Exponential(_ScalarFamily):
    """Exponential distribution of x >= 0: eta = -rate, A = -log(-eta).

    Examples
    --------
    >>> Exponential.fit([1.0, 3.0])
    Exponential(rate=0.5)
    """

    rate: float = 1.0

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)

    @property
    def natural(self) -> np.ndarray:
        return np.array([-float(self.rate)])

    @property
    def log_partition(self) -> float:
        return float(-np.log(self.rate))

    @property
    def mean(self) -> float:
        return 1.0 / self.rate

    @property
    def var(self) -> float:
        return 1.0 / self.rate**2

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        return cls(-float(np.ravel(eta)[0]))

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        return cls(1.0 / check_positive("mean_statistics", float(np.ravel(mean_statistics)[0])))

    def log_base(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(x) >= 0, 0.0, -np.inf)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return -np.expm1(-self.rate * np.maximum(x, 0.0))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return -np.log1p(-p) / self.rate

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.exponential(1.0 / self.rate, size)
