"""Exponential families of one variable and two parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import (
    beta,
    betainc,
    betaincinv,
    betaln,
    gamma,
    gammainc,
    gammaincinv,
    gammaln,
    polygamma,
    psi,
    xlog1py,
    xlogy,
)

from tercet.core.catalog import method
from tercet.distributions.base import (
    ExponentialFamily,
    Size,
    average,
    check_counts,
    check_finite,
    check_positive,
)
from tercet.distributions.one_parameter import GaussianKnownVariance


@method(
    zh="高斯分布",
    task="distribution",
    model="p(x) = N(x; μ, σ²); η = (μ/σ², -1/(2σ²)), T = (x, x²)",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, 6.2"],
    peers=["scipy.stats.norm"],
)
@dataclass(frozen=True, eq=False)
class Gaussian(ExponentialFamily):
    """Gaussian with unknown mean and variance: T = (x, x^2), eta = (mean / variance, -1 / (2 variance)).

    Examples
    --------
    >>> round(Gaussian(0, 1).kl(Gaussian(1, 4)), 6)
    0.443147
    """

    mean: float = 0.0
    variance: float = 1.0
    _of_rows = "MultivariateNormal"
    # the same distribution, of which the other family knows the variance
    var = GaussianKnownVariance.var
    _logpdf, _outside = GaussianKnownVariance._logpdf, GaussianKnownVariance._outside
    _cdf, _quantile = GaussianKnownVariance._cdf, GaussianKnownVariance._quantile
    _sample = GaussianKnownVariance._sample

    def __post_init__(self) -> None:
        check_finite("mean", self.mean)
        check_positive("variance", self.variance)

    @property
    def natural(self) -> np.ndarray:
        return np.array([self.mean / self.variance, -0.5 / self.variance])

    @property
    def log_partition(self) -> float:
        return float(0.5 * (self.mean**2 / self.variance + np.log(2 * np.pi * self.variance)))

    @property
    def mean_statistics(self) -> np.ndarray:
        return np.array([self.mean, self.mean**2 + self.variance])

    @property
    def covariance_statistics(self) -> np.ndarray:
        m, v = self.mean, self.variance
        return np.array([[v, 2 * m * v], [2 * m * v, 4 * m * m * v + 2 * v * v]])

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        first, second = np.asarray(eta, dtype=float)
        variance = -0.5 / second
        return cls(float(first * variance), float(variance))

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        mean, square = np.asarray(mean_statistics, dtype=float)
        return cls(float(mean), float(square - mean**2))

    @classmethod
    def fit(cls, x: ArrayLike, sample_weight: ArrayLike | None = None, **known: Any) -> Self:
        # E[x^2] - E[x]^2 cancels where the mean is large: take the mean out first
        x = cls._observations(x)
        with np.errstate(over="ignore"):
            mean = float(average(x, sample_weight))
            variance = float(average((x - mean) ** 2, sample_weight))
        if not 0 < variance < np.inf:
            raise ValueError(
                f"Gaussian.fit: the variance of x must be finite and above 0; of these {x.size} it is {variance}"
            )
        return cls(mean, variance)

    def statistics(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        return np.stack([x, x * x], axis=-1)

    def log_base(self, x: ArrayLike) -> np.ndarray:
        return np.zeros(np.shape(x))


@method(
    zh="伽马分布",
    task="distribution",
    model="p(x) ∝ x^(k-1) exp(-x/θ); η = (k - 1, -1/θ), T = (log x, x)",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, 6.2"],
    peers=["scipy.stats.gamma"],
)
@dataclass(frozen=True, eq=False)
class Gamma(ExponentialFamily):
    """Gamma distribution of x > 0: T = (log x, x), eta = (shape - 1, -1 / scale).

    Examples
    --------
    >>> Gamma(shape=2.0, scale=3.0).mean
    6.0
    """

    shape: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_positive("shape", self.shape)
        check_positive("scale", self.scale)

    @property
    def natural(self) -> np.ndarray:
        return np.array([self.shape - 1.0, -1.0 / self.scale])

    @property
    def log_partition(self) -> float:
        return float(gammaln(self.shape) + self.shape * np.log(self.scale))

    @property
    def mean(self) -> float:
        return float(self.shape * self.scale)

    @property
    def var(self) -> float:
        return float(self.shape * self.scale**2)

    @property
    def mean_statistics(self) -> np.ndarray:
        return np.array([psi(self.shape) + np.log(self.scale), self.mean])

    @property
    def covariance_statistics(self) -> np.ndarray:
        return np.array([[polygamma(1, self.shape), self.scale], [self.scale, self.var]])

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        first, second = np.asarray(eta, dtype=float)
        return cls(float(first + 1.0), float(-1.0 / second))

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        target = np.asarray(mean_statistics, dtype=float)
        gap = check_positive(
            "log of the mean less the mean of the logs", float(np.log(target[1]) - target[0])
        )
        shape = (3.0 - gap + np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
        return cls._match_moments(target, cls(shape, target[1] / shape).natural)

    @classmethod
    def _statistics_of(cls, x: np.ndarray, **known: Any) -> np.ndarray:
        return cls().statistics(x)

    def statistics(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([np.log(x), x], axis=-1)

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        return np.where((x > 0) & (x < np.inf), 0.0, -np.inf)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        inside = (x >= 0) & (x < np.inf)  # at 0 the density is infinite, 1 / scale or 0
        safe = np.where(inside, x, 1.0)
        return np.where(
            inside, xlogy(self.shape - 1.0, safe) - safe / self.scale - self.log_partition, -np.inf
        )

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return gammainc(self.shape, np.maximum(x, 0.0) / self.scale)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return self.scale * gammaincinv(self.shape, p)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.gamma(self.shape, self.scale, size)


@method(
    zh="贝塔分布",
    task="distribution",
    model="p(x) ∝ x^(a-1) (1 - x)^(b-1); η = (a, b), T = (log x, log(1 - x))",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 5, 5.3.3", "Machine Learning in Depth ch. 6, 6.2"],
    peers=["scipy.stats.beta"],
)
@dataclass(frozen=True, eq=False)
class Beta(ExponentialFamily):
    """Beta distribution of 0 < x < 1: T = (log x, log(1 - x)), eta = (a, b), A = log B(a, b).

    The conjugate prior of the Bernoulli and the binomial distribution (Machine Learning in Depth ch. 5): a
    and b act as counts that were seen before. Beta(1, 1) is the uniform distribution.

    Examples
    --------
    >>> Beta(2, 3).mean, round(Beta(2, 3).mode, 6)
    (0.4, 0.333333)
    >>> Beta(5, 5).posterior(1, 4)
    Beta(a=6.0, b=9.0)
    """

    a: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        check_positive("a", self.a)
        check_positive("b", self.b)

    @property
    def natural(self) -> np.ndarray:
        return np.array([float(self.a), float(self.b)])

    @property
    def log_partition(self) -> float:
        return float(betaln(self.a, self.b))

    @property
    def mean(self) -> float:
        return float(self.a / (self.a + self.b))

    @property
    def var(self) -> float:
        return self.mean * (1.0 - self.mean) / (self.a + self.b + 1.0)

    @property
    def mode(self) -> float:
        """Where the density is highest; an error where that is not one point."""
        if self.a <= 1 and self.b <= 1:
            raise ValueError(f"the mode of Beta needs a or b above 1, got a={self.a!r}, b={self.b!r}")
        if self.a <= 1 or self.b <= 1:
            return 0.0 if self.a <= 1 else 1.0
        return float((self.a - 1.0) / (self.a + self.b - 2.0))

    @property
    def mean_statistics(self) -> np.ndarray:
        return psi(self.natural) - psi(self.a + self.b)

    @property
    def _mean_log_base(self) -> float:
        return -float(self.mean_statistics.sum())

    @classmethod
    def order_statistic(cls, k: int, n: int) -> Self:
        """The distribution of the k-th smallest of n uniform numbers: Beta(k, n - k + 1).

        Machine Learning in Depth eq. 5.9.

        Examples
        --------
        >>> Beta.order_statistic(7, 10)
        Beta(a=7.0, b=4.0)
        """
        if not (1 <= k <= n and k == int(k) and n == int(n)):
            raise ValueError(f"k must be a whole number from 1 to n = {n!r}, got {k!r}")
        return cls(float(k), float(n - k + 1))

    def posterior(self, ones: float, zeros: float) -> Self:
        """The prior after ``ones`` successes and ``zeros`` failures were seen: Beta(a + ones, b + zeros)."""
        ones, zeros = check_counts("ones, zeros", [ones, zeros], 2)
        return type(self)(float(self.a + ones), float(self.b + zeros))

    def log_evidence(self, ones: float, zeros: float) -> float:
        """log P of a sequence with so many ones and zeros, its parameter integrated out: B(a', b') / B(a, b)."""
        return self.posterior(ones, zeros).log_partition - self.log_partition

    @property
    def covariance_statistics(self) -> np.ndarray:
        return np.diag(polygamma(1, self.natural)) - polygamma(1, self.a + self.b)

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        a, b = np.asarray(eta, dtype=float)
        return cls(float(a), float(b))

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        target = np.asarray(mean_statistics, dtype=float)
        return cls._match_moments(target, np.ones(2))

    @classmethod
    def _statistics_of(cls, x: np.ndarray, **known: Any) -> np.ndarray:
        return cls().statistics(x)

    def statistics(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.stack([np.log(x), np.log1p(-x)], axis=-1)

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        inside = (x > 0) & (x < 1)
        safe = np.where(inside, x, 0.5)
        return np.where(inside, -np.log(safe) - np.log1p(-safe), -np.inf)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        inside = (x >= 0) & (x <= 1)  # the ends are in the support: Beta(1, 1) is the uniform distribution
        safe = np.where(inside, x, 0.5)
        value = xlogy(self.a - 1.0, safe) + xlog1py(self.b - 1.0, -safe) - self.log_partition
        return np.where(inside, value, -np.inf)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return betainc(self.a, self.b, np.clip(x, 0.0, 1.0))

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return betaincinv(self.a, self.b, p)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.beta(self.a, self.b, size)


@method(
    zh="伽马函数",
    task="distribution",
    model="Γ(x) = ∫₀^∞ t^(x-1) exp(-t) dt; Γ(x + 1) = xΓ(x), Γ(n) = (n - 1)!",
    texts=["Machine Learning in Depth ch. 5, 5.3.3.2"],
    peers=["scipy.special.gamma", "scipy.special.gammaln"],
)
def gamma_function(x: ArrayLike, log: bool = False) -> np.ndarray:
    """Gamma function, the factorial of real numbers: Γ(x + 1) = x Γ(x), and Γ(n) = (n - 1)!.

    Parameters
    ----------
    x : array-like
        Numbers; not 0 and not negative integers, where the function has poles.
    log : bool, default=False
        Return log Γ(x) for x > 0. Γ itself is infinity in double precision above 171.62.

    Examples
    --------
    >>> gamma_function([1, 2, 3, 4, 0.5]).round(6)
    array([1.      , 1.      , 2.      , 6.      , 1.772454])
    >>> gamma_function(1000.0, log=True).round(6)
    np.float64(5905.220423)
    """
    x = np.asarray(x, dtype=float)
    pole = (x <= 0) & (log | (np.floor(x) == x))
    if pole.any():
        allowed = (
            "above 0 with log=True" if log else "no 0 and no negative integer, the poles of the function"
        )
        raise ValueError(f"gamma_function: x must be {allowed}; got {x[pole][0]}")
    return gammaln(x) if log else gamma(x)


@method(
    zh="贝塔函数",
    task="distribution",
    model="B(a, b) = ∫₀¹ t^(a-1) (1 - t)^(b-1) dt = Γ(a)Γ(b)/Γ(a + b)",
    texts=["Machine Learning in Depth ch. 5, 5.3.3.3"],
    peers=["scipy.special.beta", "scipy.special.betaln"],
)
def beta_function(a: ArrayLike, b: ArrayLike, log: bool = False) -> np.ndarray:
    """Beta function B(a, b) = Γ(a) Γ(b) / Γ(a + b), the normaliser of the Beta distribution.

    Parameters
    ----------
    a, b : array-like
        Numbers above 0.
    log : bool, default=False
        Return log B(a, b), which does not underflow.

    Examples
    --------
    >>> beta_function(7, 4)  # 6! 3! / 10!
    np.float64(0.0011904761904761904)
    >>> beta_function(1e4, 1e4, log=True).round(6)
    np.float64(-13866.283257)
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    for name, value in (("a", a), ("b", b)):
        if not np.all(value > 0):
            raise ValueError(f"beta_function: {name} must be above 0; got {value[~(value > 0)][0]}")
    return betaln(a, b) if log else beta(a, b)
