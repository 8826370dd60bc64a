"""Base class of the exponential families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.public_names import PublicPickle

Seed = int | np.random.Generator | None


@method(
    zh="指数分布族",
    task="distribution",
    model="p(x | η) = h(x) exp(ηᵀT(x) - A(η))",
    strategy="maximum likelihood: E[T(X)] is the mean of T in the data",
    texts=["Li app. E, eq. E.4, E.5", "Machine Learning in Depth ch. 6, eq. 6.2"],
)
@dataclass(frozen=True, eq=False)
class ExponentialFamily(PublicPickle):
    """Distributions p(x | eta) = h(x) exp(eta . T(x) - A(eta)).

    An object is one member, made from the usual parameters or by :meth:`from_natural`. The gradient
    of the log-partition A is the mean of T (E.5), its Hessian the covariance of T, and its Bregman divergence
    the KL divergence.

    Attributes
    ----------
    natural : ndarray of shape (k,)
        eta.
    log_partition : float
        A(eta).
    mean_statistics : ndarray of shape (k,)
        E[T(X)].
    covariance_statistics : ndarray of shape (k, k)
        Cov[T(X)].
    mean, variance : float or ndarray
        Those of X itself.
    entropy : float
        -E[log p(X)], in nats.

    Examples
    --------
    >>> from tercet.distributions import Poisson
    >>> X = Poisson(2.0)
    >>> X.natural.round(6), X.log_partition, X.mean_statistics
    (array([0.693147]), 2.0, array([2.]))
    """

    @property
    def natural(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def log_partition(self) -> float:
        raise NotImplementedError

    @property
    def mean_statistics(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def covariance_statistics(self) -> np.ndarray:
        raise NotImplementedError

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        """The member with natural parameter ``eta``."""
        raise NotImplementedError

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        """The member whose E[T(X)] is the given one."""
        raise NotImplementedError

    def statistics(self, x: ArrayLike) -> np.ndarray:
        """Sufficient statistics T(x), one row of k per observation."""
        raise NotImplementedError

    def log_base(self, x: ArrayLike) -> np.ndarray:
        """log h(x); minus infinity outside of the support."""
        raise NotImplementedError

    def sample(self, size: int | None = None, random_state: Seed = None) -> Any:
        """Draw ``size`` observations, or a single one."""
        raise NotImplementedError

    def log_density(self, x: ArrayLike) -> np.ndarray:
        """log p(x), or the log of the mass where x is discrete."""
        base = self.log_base(x)
        inside = np.isfinite(base)
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.where(inside, self.statistics(x) @ self.natural, 0.0)
        return np.where(inside, base + inner - self.log_partition, -np.inf)[()]

    def density(self, x: ArrayLike) -> np.ndarray:
        """p(x)."""
        return np.exp(self.log_density(x))

    def log_likelihood(self, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Sum of the log densities of the observations."""
        logs = np.atleast_1d(self.log_density(x))
        if sample_weight is None:
            return float(logs.sum())
        weight = np.asarray(sample_weight, dtype=float)
        return float(np.sum(weight[weight > 0] * logs[weight > 0]))

    def kl(self, other: Self) -> float:
        """KL divergence D(self || other), the Bregman divergence of A."""
        if not self._same_base(other):
            raise ValueError(f"other must be of the same family and base measure as {self}, got {other}")
        gap = (other.natural - self.natural) @ self.mean_statistics
        return float(max(other.log_partition - self.log_partition - gap, 0.0))

    @property
    def entropy(self) -> float:
        """-E[log p(X)] = A - eta . E[T(X)] - E[log h(X)], in nats; of a density it may be negative."""
        return float(self.log_partition - self.natural @ self.mean_statistics - self._mean_log_base)

    @property
    def _mean_log_base(self) -> float:
        """E[log h(X)]."""
        return 0.0

    def _same_base(self, other: ExponentialFamily) -> bool:
        return isinstance(other, type(self))

    @classmethod
    def fit(cls, x: ArrayLike, sample_weight: ArrayLike | None = None, **known: Any) -> Self:
        """Maximum likelihood: the member whose E[T(X)] is the (weighted) mean of T in the data.

        ``known`` are the parameters that are not estimated, such as a known variance.
        """
        rows = cls._statistics_of(x, **known)
        mean = average(rows, sample_weight)
        if not np.all(np.isfinite(mean)):
            raise ValueError(f"x must lie inside the support of {cls.__name__}, got mean statistics {mean}")
        member = cls.from_mean(mean, **known)
        outside = ~np.isfinite(member.log_base(x))
        if np.any(outside):
            raise ValueError(
                f"x must lie inside the support of {cls.__name__}, got {np.asarray(x)[outside][0]}"
            )
        return member

    @classmethod
    def _statistics_of(cls, x: ArrayLike, **known: Any) -> np.ndarray:
        """T of the data, before the member is known."""
        raise NotImplementedError

    @classmethod
    def _match_moments(cls, target: np.ndarray, eta: np.ndarray) -> Self:
        """Newton's method on the concave eta . target - A(eta), from ``eta``."""
        member, last = cls.from_natural(eta), np.inf
        for _ in range(200):
            residual = target - member.mean_statistics
            direction = np.linalg.solve(member.covariance_statistics, residual)
            gain = float(residual @ direction)
            # stop once the predicted gain is tiny and no longer decreases: the rest is rounding
            if gain < 1e-12 and gain >= last:
                break
            last = gain
            member = member._backtrack(target, direction, gain)
        return member

    def _backtrack(self, target: np.ndarray, direction: np.ndarray, gain: float) -> Self:
        """Halve the Newton step until it is in the domain and, unless the gain is small, improves the objective."""
        objective = self.natural @ target - self.log_partition
        for step in 0.5 ** np.arange(60):
            try:
                candidate = self.from_natural(self.natural + step * direction)
            except ValueError:
                continue
            if gain < 0.01 or candidate.natural @ target - candidate.log_partition >= objective:
                return candidate
        return self


def average(rows: np.ndarray, sample_weight: ArrayLike | None) -> np.ndarray:
    """Mean of the rows, weighted if weights are given."""
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    return np.average(rows, axis=0, weights=weights)


def vector_observations(x: ArrayLike, columns: int) -> np.ndarray:
    """``x`` as floats with ``columns`` entries along the last axis; raises otherwise."""
    x = np.asarray(x, dtype=float)
    if x.ndim == 0 or x.shape[-1] != columns:
        raise ValueError(f"x must have {columns} entries along its last axis, got shape {x.shape}")
    return x


def check_positive(name: str, value: float) -> float:
    """The value as a float; raises unless it is finite and above 0."""
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be finite and above 0, got {value!r}")
    return float(value)


def check_counts(name: str, value: ArrayLike, columns: int) -> np.ndarray:
    """The value as counts of ``columns`` outcomes; raises unless they are finite and at least 0."""
    counts = vector_observations(value, columns)
    if not np.all((counts >= 0) & np.isfinite(counts)):
        raise ValueError(f"{name} must be finite and at least 0, got {value!r}")
    return counts


def check_simplex(name: str, value: ArrayLike) -> np.ndarray:
    """The value as an array of probabilities; raises unless they sum to 1."""
    p = np.asarray(value, dtype=float)
    if p.ndim != 1 or p.size < 2 or not np.all(p >= 0) or abs(p.sum() - 1.0) > 1e-8:
        raise ValueError(f"{name} must be at least two probabilities that sum to 1, got {value!r}")
    return p
