"""Base classes of the distributions and of the exponential families."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.input_errors import Explaining
from tercet.core.public_names import PublicPickle

Seed = int | np.random.Generator | None
Size = int | tuple[int, ...] | None


class Distribution(PublicPickle):
    """Base of the distributions: density, distribution function, quantiles, moments, draws.

    Every distribution has ``logpdf``, ``pdf``, ``cdf``, ``quantile``, ``mean``, ``var`` and ``sample``. They take
    single observations and arrays of them (of vectors along the last axis, of matrices along the last two), and NaN
    gives NaN. A discrete distribution has masses where another one has densities, under the same names.

    Examples
    --------
    >>> from tercet.distributions import Gaussian, Poisson
    >>> Gaussian(1.0, 4.0).cdf([1.0, 3.0]).round(4), Gaussian(1.0, 4.0).quantile(0.975).round(4)
    (array([0.5   , 0.8413]), np.float64(4.9199))
    >>> Poisson(2.0).pdf([0, 1]).round(4), Poisson(2.0).quantile([0.1, 0.9]), Poisson(2.0).var
    (array([0.1353, 0.2707]), array([0., 4.]), 2.0)
    """

    _axes: ClassVar[int] = 0  # of one observation: 0 for numbers, 1 for vectors, 2 for matrices
    _undefined: ClassVar[dict[str, str]] = {}  # methods that the distribution cannot have, and why
    _of_rows: ClassVar[str] = ""  # the distribution of several columns, if there is one

    def logpdf(self, x: ArrayLike) -> np.ndarray:
        """log of the density at ``x``, or of the mass where x is discrete; -inf outside of the support."""
        x = np.asarray(x, dtype=float)
        values = self._logpdf(x)
        return np.where(self._missing(x), np.nan, values)[()]

    def pdf(self, x: ArrayLike) -> np.ndarray:
        """Density at ``x``, or the mass where x is discrete."""
        return np.exp(self.logpdf(x))

    def cdf(self, x: ArrayLike) -> np.ndarray:
        """P(X <= x); of a vector, the probability that no entry is above that of ``x``."""
        self._check_defined("cdf")
        x = np.asarray(x, dtype=float)
        values = self._cdf(x)
        return np.where(self._missing(x), np.nan, values)[()]

    def quantile(self, p: ArrayLike) -> np.ndarray:
        """The smallest value x of the support with P(X <= x) >= p."""
        self._check_defined("quantile")
        p = np.asarray(p, dtype=float)
        if np.any(~((p >= 0) & (p <= 1))):
            raise ValueError(f"p must lie in [0, 1], got {p!r}")
        with np.errstate(divide="ignore"):  # infinity is right at 0 and 1
            return np.asarray(self._quantile(p))[()]

    def sample(self, size: Size = None, random_state: Seed = None) -> Any:
        """Draw ``size`` observations (a number, or a shape), or a single one."""
        return self._sample(np.random.default_rng(random_state), size)

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _quantile(self, p: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        raise NotImplementedError

    def _missing(self, x: np.ndarray) -> np.ndarray:
        """Which observations have a NaN."""
        return np.isnan(x).any(axis=tuple(range(-self._axes, 0)))

    def _check_defined(self, name: str) -> None:
        if reason := self._undefined.get(name):
            raise NotImplementedError(f"{type(self).__name__}.{name} is not defined: {reason}")


@method(
    zh="指数分布族",
    task="distribution",
    model="p(x | η) = h(x) exp(ηᵀT(x) - A(η))",
    strategy="maximum likelihood: E[T(X)] is the mean of T in the data",
    texts=["Li app. E, eq. E.4, E.5", "Machine Learning in Depth ch. 6, eq. 6.2"],
)
@dataclass(frozen=True, eq=False)
class ExponentialFamily(Distribution):
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
    mean, var : float or ndarray
        Mean and variance of X itself.
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

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        base = self.log_base(x)
        inside = np.isfinite(base)
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.where(inside, self.statistics(x) @ self.natural, 0.0)
        return np.where(inside, base + inner - self.log_partition, -np.inf)

    def log_likelihood(self, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Sum of the log densities of the observations."""
        logs = np.atleast_1d(self.logpdf(x))
        if sample_weight is None:
            return float(logs.sum())
        weight = check_weights(sample_weight, logs.shape)
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
        x = cls._observations(x)
        with np.errstate(over="ignore"):
            rows = cls._statistics_of(x, **known)
        cls._refuse_outside(x, ~np.isfinite(rows).all(axis=-1) | (cls._axes == 0 and cls()._outside(x)))
        try:
            member = cls.from_mean(average(rows, sample_weight), **known)
        except ValueError as error:
            raise ValueError(
                f"{cls.__name__}.fit: x has no estimate of maximum likelihood: {error}"
            ) from None
        cls._refuse_outside(x, member._outside(x))
        return member

    def _outside(self, x: np.ndarray) -> np.ndarray:
        """Which observations are outside of the support."""
        return ~np.isfinite(self.log_base(x))

    @classmethod
    def _refuse_outside(cls, x: np.ndarray, outside: np.ndarray) -> None:
        if outside.any():
            raise ValueError(f"x must lie inside the support of {cls.__name__}, got {x[outside][0]}")

    @classmethod
    def _observations(cls, x: ArrayLike) -> np.ndarray:
        """The data of `fit`, checked: finite numbers, one observation at least."""
        return check_observations(cls, x)

    @classmethod
    def _statistics_of(cls, x: np.ndarray, **known: Any) -> np.ndarray:
        """T of the data, before the member is known."""
        raise NotImplementedError

    @classmethod
    def _match_moments(cls, target: np.ndarray, eta: np.ndarray) -> Self:
        """Newton's method on the concave eta . target - A(eta), from ``eta``."""
        member, last = cls.from_natural(eta), np.inf
        for _ in range(200):
            residual = target - member.mean_statistics
            try:
                direction = np.linalg.solve(member.covariance_statistics, residual)
            except np.linalg.LinAlgError:
                raise ValueError("the observations hardly differ, and the likelihood has no bound") from None
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
    weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[:1])
    return np.average(rows, axis=0, weights=weights)


def check_weights(sample_weight: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Weights of observations as floats; raises unless there is one for each, at least 0, and not all are 0."""
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != shape:
        raise ValueError(
            f"sample_weight must hold one weight for each observation, shape {shape}; got shape {weight.shape}"
        )
    if not (np.all(weight >= 0) and 0 < weight.sum() < np.inf):
        raise ValueError(f"sample_weight must be finite, at least 0 and not all 0, got {sample_weight!r}")
    return weight


def check_observations(kind: type[Distribution], x: ArrayLike) -> np.ndarray:
    """The data that `kind.fit` got as floats; raises unless they are finite observations, at least one."""
    with Explaining(x=x):
        if (given := np.asarray(x)).dtype.kind in "cmM":
            raise TypeError(f"{kind.__name__}.fit: x must hold real numbers, got dtype {given.dtype}")
        x = given.astype(float)
    if kind._axes == 0 and x.ndim == 2 and x.shape[1] == 1:  # the one column of a frame
        x = x[:, 0]
    what = ("one column of numbers", "rows of numbers", "a stack of square matrices")[kind._axes]
    if x.ndim != kind._axes + 1 or (kind._axes == 2 and x.shape[1] != x.shape[2]):
        hint = f"; {kind._of_rows}.fit takes several columns" if x.ndim == 2 and kind._of_rows else ""
        raise ValueError(f"{kind.__name__}.fit: x must be {what}, got shape {x.shape}{hint}")
    if not x.size:
        raise ValueError(f"{kind.__name__}.fit: x must hold at least one observation, got shape {x.shape}")
    bad = ~np.isfinite(x)
    if bad.any():
        at = np.argwhere(bad)[0].tolist()
        raise ValueError(
            f"{kind.__name__}.fit: x must be finite; x[{', '.join(map(str, at))}] is {x[bad][0]}"
        )
    return x


def vector_observations(x: ArrayLike, columns: int) -> np.ndarray:
    """``x`` as floats with ``columns`` entries along the last axis; raises otherwise."""
    x = np.asarray(x, dtype=float)
    if x.ndim == 0 or x.shape[-1] != columns:
        raise ValueError(f"x must have {columns} entries along its last axis, got shape {x.shape}")
    return x


def table_cdf(mass: np.ndarray, x: np.ndarray) -> np.ndarray:
    """P(X <= x) of the outcomes 0, 1, ... with these masses."""
    cumulative = np.append(0.0, np.cumsum(mass))
    at = np.clip(np.floor(np.nan_to_num(x)) + 1.0, 0, mass.size).astype(np.intp)
    return cumulative[at] / cumulative[-1]


def table_quantile(mass: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The first outcome of 0, 1, ... with P(X <= x) >= p; never one without mass."""
    cumulative = np.cumsum(mass)
    return np.maximum(np.searchsorted(cumulative / cumulative[-1], p), np.flatnonzero(mass)[0])


def check_finite(name: str, value: float) -> float:
    """The value as a float; raises unless it is finite."""
    if not -np.inf < value < np.inf:
        raise ValueError(f"{name} must be finite, got {value!r}")
    return float(value)


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
