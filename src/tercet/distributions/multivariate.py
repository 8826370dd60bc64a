"""Exponential families of several variables: categories, counts, probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, gammaln, polygamma, psi, rel_entr, xlog1py, xlogy

from tercet.core.catalog import method
from tercet.core.functions import softmax
from tercet.core.input_errors import Explaining
from tercet.distributions.base import (
    ExponentialFamily,
    Size,
    check_counts,
    check_simplex,
    check_weights,
    table_cdf,
    table_quantile,
    vector_observations,
)
from tercet.distributions.two_parameter import Beta

NO_ORDER = "vectors have no order, so that P(X <= x) = p at many x; {instead}."


@method(
    zh="多项分布",
    task="distribution",
    model="P(x) = n!/Πx_k! Π p_k^x_k; η_k = log(p_k / p_K), A = n log(1 + Σ exp(η_k))",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, eq. 6.6-6.9"],
    peers=["scipy.stats.multinomial"],
)
@dataclass(frozen=True, eq=False)
class Multinomial(ExponentialFamily):
    """Counts of K outcomes in n trials.

    The last outcome is the reference: T holds the first K - 1 counts, eta_k = log(p_k / p_K) and
    A = n log(1 + sum e^eta).

    Examples
    --------
    >>> Multinomial([0.5, 0.3, 0.2], trials=4).mean
    array([2. , 1.2, 0.8])
    """

    p: ArrayLike
    trials: int = 1
    _axes = 1
    _undefined = {"quantile": NO_ORDER.format(instead="the count of outcome k is binomial, with p[k]")}

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", check_simplex("p", self.p))
        if self.trials < 1 or self.trials != int(self.trials):
            raise ValueError(f"trials must be a whole number, at least 1, got {self.trials!r}")

    @property
    def _p(self) -> np.ndarray:
        return np.asarray(self.p)

    @property
    def natural(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self._p[:-1]) - np.log(self._p[-1])

    @property
    def log_partition(self) -> float:
        with np.errstate(divide="ignore"):
            return float(-self.trials * np.log(self._p[-1]))

    @property
    def mean(self) -> np.ndarray:
        return self.trials * self._p

    @property
    def var(self) -> np.ndarray:
        return self.trials * self._p * (1.0 - self._p)

    @property
    def mean_statistics(self) -> np.ndarray:
        return self.mean[:-1]

    @property
    def covariance_statistics(self) -> np.ndarray:
        p = self._p[:-1]
        return self.trials * (np.diag(p) - np.outer(p, p))

    @classmethod
    def from_natural(cls, eta: ArrayLike, **known: Any) -> Self:
        return cls(softmax(np.append(np.asarray(eta, dtype=float), 0.0)), **known)

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike, trials: int = 1) -> Self:
        p = np.asarray(mean_statistics, dtype=float) / trials
        return cls(np.append(p, max(1.0 - p.sum(), 0.0)), trials)

    @classmethod
    def fit(cls, x: ArrayLike, sample_weight: ArrayLike | None = None, **known: Any) -> Self:
        """Shares of the outcomes in rows of counts; ``trials`` are the sum of each row, unless given."""
        x = cls._observations(x)
        if "trials" not in known:
            totals = np.unique(x.sum(axis=-1))
            if totals.size != 1 or totals[0] < 1:
                raise ValueError(
                    f"x must be rows of counts that all have the same sum, at least 1; got the sums "
                    f"{totals.tolist()[:5]}"
                )
            known = {**known, "trials": int(totals[0])}
        return super().fit(x, sample_weight, **known)

    @classmethod
    def _observations(cls, x: ArrayLike) -> np.ndarray:
        with Explaining(x=x):
            given = np.asarray(x)
        x = super()._observations(given[None] if given.ndim == 1 else x)  # a single row of counts is enough
        if x.shape[1] < 2:
            raise ValueError(
                f"{cls.__name__}.fit: x must be rows of at least two counts, got shape {x.shape}"
            )
        return x

    @classmethod
    def _statistics_of(cls, x: np.ndarray, **known: Any) -> np.ndarray:
        return x[..., :-1]

    def statistics(self, x: ArrayLike) -> np.ndarray:
        return vector_observations(x, self._p.size)[..., :-1]

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = vector_observations(x, self._p.size)
        counts = np.all((x >= 0) & (np.floor(x) == x), axis=-1) & (x.sum(axis=-1) == self.trials)
        safe = np.where(counts[..., None], x, 0.0)
        return np.where(counts, gammaln(self.trials + 1.0) - gammaln(safe + 1.0).sum(axis=-1), -np.inf)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        # eta is infinite where a probability is 0, and the mass is still a number
        base = self.log_base(x)
        safe = np.where(np.isfinite(base)[..., None], x, 0.0)
        with np.errstate(divide="ignore"):
            return base + xlogy(safe, self._p).sum(axis=-1)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        # the counts are those of independent Poisson variables, given their sum
        rate, count = self.trials * self._p[:, None], np.arange(self.trials + 1.0)
        return counts_cdf(np.exp(xlogy(count, rate) - gammaln(count + 1.0) - rate), x)

    @property
    def entropy(self) -> float:
        # from the binomial distributions of the counts: eta is infinite where a probability is 0
        n, x = self.trials, np.arange(self.trials + 1.0)[:, None]
        coefficients = gammaln(n + 1.0) - gammaln(x + 1.0) - gammaln(n - x + 1.0)
        with np.errstate(divide="ignore"):
            mass = np.exp(coefficients + xlogy(x, self._p) + xlog1py(n - x, -self._p))
        return float(n * entr(self._p).sum() - gammaln(n + 1.0) + (mass * gammaln(x + 1.0)).sum())

    def _same_base(self, other: ExponentialFamily) -> bool:
        return isinstance(other, type(self)) and self.trials == other.trials and self._p.size == other._p.size

    def kl(self, other: Self) -> float:
        if not self._same_base(other):
            raise ValueError(f"other must have the same trials and outcomes as {self}, got {other}")
        return float(self.trials * rel_entr(self._p, other._p).sum())

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.multinomial(self.trials, self._p, size)


@method(
    zh="类别分布",
    task="distribution",
    model="P(k) = p_k; η_k = log(p_k / p_K)",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, eq. 6.6-6.9"],
    peers=["numpy.random.Generator.choice"],
)
@dataclass(frozen=True, eq=False)
class Categorical(Multinomial):
    """One outcome k in {0 .. K-1} with probability p_k: a multinomial of one trial.

    ``mean`` and ``var`` are those of the outcome written as a 0/1 vector, ``cdf`` and ``quantile`` those of its
    number k.

    Examples
    --------
    >>> Categorical([0.5, 0.3, 0.2]).pdf([0, 2])
    array([0.5, 0.2])
    """

    _axes = 0
    _undefined = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trials != 1:
            raise ValueError(f"trials of Categorical must be 1, got {self.trials!r}")

    @property
    def mean(self) -> np.ndarray:
        """Probabilities, the mean of the outcome written as a 0/1 vector."""
        return self._p

    @classmethod
    def fit(cls, x: ArrayLike, sample_weight: ArrayLike | None = None, **known: Any) -> Self:
        """Shares of the outcomes in the data; ``n_outcomes`` where the last ones may not occur."""
        with Explaining(x=x):
            codes = np.asarray(x)
        if codes.dtype.kind not in "iu" or codes.ndim != 1 or codes.size == 0 or codes.min() < 0:
            raise ValueError(f"x must be integers, at least 0, in one column that is not empty, got {x!r}")
        outcomes = max(known.get("n_outcomes", 2), 2)
        weight = None if sample_weight is None else check_weights(sample_weight, codes.shape)
        counts = np.bincount(codes, weights=weight, minlength=outcomes)
        return cls(counts / counts.sum())

    def statistics(self, x: ArrayLike) -> np.ndarray:
        return (np.asarray(x)[..., None] == np.arange(self._p.size - 1)).astype(float)

    def log_base(self, x: ArrayLike) -> np.ndarray:
        return np.where(np.isin(x, np.arange(self._p.size)), 0.0, -np.inf)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        known = np.isfinite(self.log_base(x))
        with np.errstate(divide="ignore"):
            logs = np.log(self._p)
        return np.where(known, logs[np.where(known, x, 0).astype(np.intp)], -np.inf)

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        return table_cdf(self._p, x)

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        return table_quantile(self._p, p)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.choice(self._p.size, size, p=self._p)


@method(
    zh="狄利克雷分布",
    task="distribution",
    model="p(θ) ∝ Π θ_k^(α_k - 1); η = α - 1, T = log θ",
    strategy="maximum likelihood",
    texts=[
        "Li app. E, eq. E.6, E.7",
        "Li ch. 20",
        "Machine Learning in Depth ch. 5, eq. 5.12-5.16",
        "Machine Learning in Depth ch. 6, 6.2",
    ],
    peers=["scipy.stats.dirichlet"],
)
@dataclass(frozen=True, eq=False)
class Dirichlet(ExponentialFamily):
    """Dirichlet distribution of probabilities.

    eta = alpha - 1, T = log theta and A = sum log Gamma(alpha_k) - log Gamma(sum alpha). The mean of T is
    E[log theta_k] = psi(alpha_k) - psi(sum alpha) (E.7), on which variational LDA stands. The conjugate prior of
    the categorical and the multinomial distribution: alpha acts as counts that were seen before.

    Examples
    --------
    >>> Dirichlet([1, 2, 3]).mean_statistics.round(6)
    array([-2.283333, -1.283333, -0.783333])
    >>> Dirichlet([1, 1, 1]).posterior([2, 0, 5]).mean
    array([0.3, 0.1, 0.6])
    """

    alpha: ArrayLike
    _axes = 1
    _undefined = {
        "cdf": "the joint one has no closed form; marginal(k).cdf(x) is that of one probability.",
        "quantile": NO_ORDER.format(instead="marginal(k).quantile(p) is that of one probability"),
    }

    def __post_init__(self) -> None:
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.ndim != 1 or alpha.size < 2 or not np.all((alpha > 0) & np.isfinite(alpha)):
            raise ValueError(f"alpha must be at least two finite numbers above 0, got {self.alpha!r}")
        object.__setattr__(self, "alpha", alpha)

    @property
    def _alpha(self) -> np.ndarray:
        return np.asarray(self.alpha)

    @property
    def natural(self) -> np.ndarray:
        return self._alpha - 1.0

    @property
    def log_partition(self) -> float:
        return float(gammaln(self._alpha).sum() - gammaln(self._alpha.sum()))

    @property
    def mean(self) -> np.ndarray:
        return self._alpha / self._alpha.sum()

    @property
    def var(self) -> np.ndarray:
        return self.mean * (1.0 - self.mean) / (self._alpha.sum() + 1.0)

    @property
    def covariance(self) -> np.ndarray:
        """Covariances of the probabilities."""
        return (np.diag(self.mean) - np.outer(self.mean, self.mean)) / (self._alpha.sum() + 1.0)

    @property
    def mode(self) -> np.ndarray:
        """Where the density is highest; an error where that is not one point inside."""
        if not np.all(self._alpha > 1):
            raise ValueError(f"the mode of Dirichlet needs every alpha above 1, got {self._alpha.tolist()}")
        return (self._alpha - 1.0) / (self._alpha.sum() - self._alpha.size)

    def marginal(self, k: int) -> Beta:
        """The distribution of one probability: Beta(alpha_k, sum of the other alpha)."""
        if k not in range(self._alpha.size):
            raise ValueError(f"k must be an outcome from 0 to {self._alpha.size - 1}, got {k!r}")
        return Beta(float(self._alpha[k]), float(np.delete(self._alpha, k).sum()))

    @property
    def mean_statistics(self) -> np.ndarray:
        return expected_log_dirichlet(self._alpha)

    @property
    def covariance_statistics(self) -> np.ndarray:
        return np.diag(polygamma(1, self._alpha)) - polygamma(1, self._alpha.sum())

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        return cls(np.asarray(eta, dtype=float) + 1.0)

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        target = np.asarray(mean_statistics, dtype=float)
        return cls._match_moments(target, np.zeros(target.size))

    @classmethod
    def _statistics_of(cls, x: np.ndarray, **known: Any) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(x)

    def posterior(self, counts: ArrayLike) -> Self:
        """The prior after ``counts`` of the K outcomes were seen: alpha + counts."""
        return type(self)(self._alpha + check_counts("counts", counts, self._alpha.size))

    def log_evidence(self, counts: ArrayLike) -> np.ndarray:
        """log P of a sequence of outcomes with such counts, theta integrated out: B(alpha + n) / B(alpha).

        For each row of counts. The counts alone have a multinomial coefficient more: `DirichletMultinomial`.

        Examples
        --------
        >>> np.exp(Dirichlet([1, 1]).log_evidence([[1, 1], [2, 0]])).round(6)
        array([0.166667, 0.333333])
        """
        after = self._alpha + check_counts("counts", counts, self._alpha.size)
        return (gammaln(after).sum(axis=-1) - gammaln(after.sum(axis=-1)) - self.log_partition)[()]

    def statistics(self, x: ArrayLike) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(vector_observations(x, self._alpha.size))

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = vector_observations(x, self._alpha.size)
        inside = np.all(x > 0, axis=-1) & (np.abs(x.sum(axis=-1) - 1.0) <= 1e-8)
        return np.where(inside, 0.0, -np.inf)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        x = vector_observations(x, self._alpha.size)
        inside = np.all(x >= 0, axis=-1) & (np.abs(x.sum(axis=-1) - 1.0) <= 1e-8)
        safe = np.where(inside[..., None], x, 1.0)
        # a probability of 0 leaves a density of 0, a number or infinity, by its alpha; 0 comes before infinity
        terms = xlogy(self.natural, safe)
        terms = np.where((terms == -np.inf).any(axis=-1, keepdims=True), -np.inf, terms)
        value = terms.sum(axis=-1) - self.log_partition
        return np.where(inside, value, -np.inf)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        return rng.dirichlet(self._alpha, size)


@method(
    zh="狄利克雷分布的对数期望",
    task="distribution",
    model="E[log θ_k] = ψ(α_k) - ψ(Σ α_l)",
    texts=["Li app. E, eq. E.7"],
)
def expected_log_dirichlet(alpha: ArrayLike) -> np.ndarray:
    """E[log theta] under Dirichlet(alpha), for each row of ``alpha``.

    Examples
    --------
    >>> expected_log_dirichlet([[1.0, 1.0], [1.0, 2.0]])
    array([[-1. , -1. ],
           [-1.5, -0.5]])
    """
    alpha = np.asarray(alpha, dtype=float)
    return psi(alpha) - psi(alpha.sum(axis=-1, keepdims=True))


def counts_cdf(mass: np.ndarray, x: np.ndarray) -> np.ndarray:
    """P(no count is above that of x | their sum is n) of independent counts, for each vector x.

    ``mass`` has a row for each count, with the masses of 0 .. n.
    """
    n = mass.shape[1] - 1
    most = np.floor(np.clip(np.nan_to_num(vector_observations(x, len(mass))), -1.0, n)).astype(np.intp)

    def of_sum(most: np.ndarray) -> float:
        """P(no count is above its limit, and their sum is n)."""
        total = np.array([1.0])
        for row, limit in zip(mass, most):
            total = np.convolve(total, row[: limit + 1])[: n + 1] if limit >= 0 else np.zeros(1)
        return float(total[n]) if total.size > n else 0.0

    found = np.array([of_sum(row) for row in most.reshape(-1, len(mass))])
    return found.reshape(most.shape[:-1]) / of_sum(np.full(len(mass), n))
