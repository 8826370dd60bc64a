"""Normal distribution of several variables (多元高斯分布)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, solve_triangular

from tercet.core.catalog import method
from tercet.distributions.base import (
    ExponentialFamily,
    Size,
    average,
    check_weights,
    vector_observations,
)
from tercet.distributions.multivariate import NO_ORDER


@method(
    zh="多元高斯分布",
    task="distribution",
    model="p(x) ∝ |Σ|^(-1/2) exp(-(x - μ)ᵀΣ⁻¹(x - μ)/2); η = (Σ⁻¹μ, -Σ⁻¹/2), T = (x, xxᵀ)",
    strategy="maximum likelihood: mean and scatter / m; or the unbiased scatter / (m - 1)",
    texts=["watermelon notes ch. 5, eq. 5.4, 5.5", "Pattern Recognition ch. 5"],
    peers=["scipy.stats.multivariate_normal"],
)
@dataclass(frozen=True, eq=False)
class MultivariateNormal(ExponentialFamily):
    """Normal distribution of vectors of d numbers.

    T = (x, xxᵀ) and eta = (Σ⁻¹μ, -Σ⁻¹/2), the matrices written out row by row.

    Examples
    --------
    >>> X = MultivariateNormal.fit([[0, 0], [2, 2], [4, 1]], unbiased=True)
    >>> X.mean, X.covariance
    (array([2., 1.]), array([[4., 1.],
           [1., 1.]]))
    """

    mean: ArrayLike
    covariance: ArrayLike
    _axes = 1
    _undefined = {
        "quantile": NO_ORDER.format(
            instead="entry k has the distribution Gaussian(mean[k], covariance[k, k])"
        )
    }

    def __post_init__(self) -> None:
        mean, covariance = np.asarray(self.mean, dtype=float), np.asarray(self.covariance, dtype=float)
        if mean.ndim != 1 or not mean.size or not np.isfinite(mean).all():
            raise ValueError(f"mean must be a vector of finite numbers, got {self.mean!r}")
        if covariance.shape != (mean.size, mean.size) or not np.allclose(covariance, covariance.T):
            raise ValueError(
                f"covariance must be a symmetric matrix of shape {(mean.size, mean.size)}, got {self.covariance!r}"
            )
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            raise ValueError(f"covariance must be positive definite, got {self.covariance!r}") from None
        for name, value in (("mean", mean), ("covariance", covariance), ("_factor", factor)):
            object.__setattr__(self, name, value)

    _factor = None  # Cholesky factor of the covariance

    @property
    def _mu(self) -> np.ndarray:
        return np.asarray(self.mean)

    @property
    def _sigma(self) -> np.ndarray:
        return np.asarray(self.covariance)

    @property
    def var(self) -> np.ndarray:
        return np.diag(self._sigma).copy()

    @property
    def natural(self) -> np.ndarray:
        precision = cho_solve((self._factor, True), np.eye(self._mu.size))
        return np.append(precision @ self._mu, -0.5 * precision.ravel())

    @property
    def log_partition(self) -> float:
        z = solve_triangular(self._factor, self._mu, lower=True)
        return float(0.5 * z @ z + np.log(np.diag(np.asarray(self._factor))).sum())

    @property
    def mean_statistics(self) -> np.ndarray:
        return np.append(self._mu, (self._sigma + np.outer(self._mu, self._mu)).ravel())

    @property
    def covariance_statistics(self) -> np.ndarray:
        mu, sigma, d = self._mu, self._sigma, self._mu.size
        full = np.empty((d + d * d, d + d * d))
        full[:d, :d] = sigma
        cross = np.einsum("ij,k->ijk", sigma, mu) + np.einsum("ik,j->ijk", sigma, mu)
        full[:d, d:] = cross.reshape(d, d * d)
        full[d:, :d] = full[:d, d:].T
        second = sigma + np.outer(mu, mu)
        pairs = np.einsum("ik,jl->ijkl", second, second) + np.einsum("il,jk->ijkl", second, second)
        pairs -= 2 * np.einsum("i,j,k,l->ijkl", mu, mu, mu, mu)
        full[d:, d:] = pairs.reshape(d * d, d * d)
        return full

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        eta = np.asarray(eta, dtype=float)
        d = round((np.sqrt(1 + 4 * eta.size) - 1) / 2)
        covariance = np.linalg.inv(-2.0 * eta[d:].reshape(d, d))
        return cls(covariance @ eta[:d], (covariance + covariance.T) / 2)

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        target = np.asarray(mean_statistics, dtype=float)
        d = round((np.sqrt(1 + 4 * target.size) - 1) / 2)
        mean = target[:d]
        return cls(mean, target[d:].reshape(d, d) - np.outer(mean, mean))

    @classmethod
    def fit(
        cls, x: ArrayLike, sample_weight: ArrayLike | None = None, *, unbiased: bool = False, **known: Any
    ) -> Self:
        """Mean and covariance of rows: of maximum likelihood, or unbiased.

        Parameters
        ----------
        x : array of shape (m, d)
            The observations.
        sample_weight : array of shape (m,), optional
            Their weights; a weight of 2 is equivalent to repeating the row.
        unbiased : bool, default=False
            Whether the scatter matrix is divided by the weight less 1, not by the weight.
        """
        x = cls._observations(x)
        weight = np.ones(len(x)) if sample_weight is None else check_weights(sample_weight, x.shape[:1])
        mean = average(x, weight)
        away = x - mean  # first, so that nothing cancels where the mean is large
        total = float(weight.sum()) - unbiased
        if not total > 0:
            raise ValueError(f"an unbiased covariance needs a weight above 1, got {weight.sum()}")
        scatter = (away * weight[:, None]).T @ away
        try:
            return cls(mean, scatter / total)
        except ValueError:
            raise ValueError(
                f"the covariance of {len(x)} rows of {x.shape[1]} numbers is singular: one is constant, or a sum "
                "of others, or there are too few rows"
            ) from None

    def statistics(self, x: ArrayLike) -> np.ndarray:
        x = vector_observations(x, self._mu.size)
        squares = x[..., :, None] * x[..., None, :]
        return np.concatenate([x, squares.reshape(*x.shape[:-1], x.shape[-1] ** 2)], axis=-1)

    @property
    def _mean_log_base(self) -> float:
        return -0.5 * self._mu.size * float(np.log(2 * np.pi))

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = vector_observations(x, self._mu.size)
        return np.full(x.shape[:-1], -0.5 * self._mu.size * np.log(2 * np.pi))

    def _logpdf(self, x: np.ndarray) -> np.ndarray:
        # the exponential form in exact arithmetic, without its cancellation
        away = vector_observations(x, self._mu.size) - self._mu
        rows = away.reshape(-1, self._mu.size).T
        z = solve_triangular(self._factor, rows, lower=True, check_finite=False)
        scale = np.log(np.diag(np.asarray(self._factor))).sum()
        return self.log_base(x) - scale - 0.5 * (z**2).sum(axis=0).reshape(away.shape[:-1])

    def _cdf(self, x: np.ndarray) -> np.ndarray:
        from scipy.stats import multivariate_normal  # takes a second to import

        x = vector_observations(x, self._mu.size)
        rows = np.nan_to_num(x.reshape(-1, self._mu.size), posinf=np.inf, neginf=-np.inf)
        # the integral is estimated, with the same points each time
        with np.errstate(invalid="ignore"):
            found = [multivariate_normal(self._mu, self._sigma, seed=0).cdf(row) for row in rows]
        return np.reshape(found, x.shape[:-1])

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        shape = () if size is None else np.atleast_1d(size)
        return rng.normal(size=(*shape, self._mu.size)) @ np.asarray(self._factor).T + self._mu
