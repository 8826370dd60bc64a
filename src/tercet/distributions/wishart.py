"""Wishart distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import multigammaln, polygamma, psi

from tercet.core.catalog import method
from tercet.core.functions import monotone_root
from tercet.distributions.base import ExponentialFamily, Size, check_positive


@method(
    zh="威沙特分布",
    task="distribution",
    model="p(X) ∝ |X|^((n-p-1)/2) exp(-tr(V⁻¹X)/2); T = (log|X|, X)",
    strategy="maximum likelihood",
    texts=["Machine Learning in Depth ch. 6, 6.2"],
    peers=["scipy.stats.wishart"],
)
@dataclass(frozen=True, eq=False)
class Wishart(ExponentialFamily):
    """Wishart distribution of p x p covariance matrices.

    T = (log det X, X) and eta = ((df - p - 1) / 2, -scale^-1 / 2), the matrices written out row by row.

    Examples
    --------
    >>> Wishart(df=5, scale=[[2.0, 1.0], [1.0, 3.0]]).mean
    array([[10.,  5.],
           [ 5., 15.]])
    """

    df: float
    scale: ArrayLike
    _axes = 2
    _undefined = {
        name: f"matrices have no order. Entry (k, k) of X is Gamma(df / 2, 2 scale[k, k]): use its {name}."
        for name in ("cdf", "quantile")
    }

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=float)
        if scale.ndim != 2 or scale.shape[0] != scale.shape[1] or not np.allclose(scale, scale.T):
            raise ValueError(f"scale must be a symmetric square matrix, got {self.scale!r}")
        if not np.linalg.eigvalsh(scale)[0] > 0:
            raise ValueError(f"scale must be positive definite, got {self.scale!r}")
        check_positive("df - p + 1", self.df - scale.shape[0] + 1.0)
        object.__setattr__(self, "scale", scale)

    @property
    def _v(self) -> np.ndarray:
        return np.asarray(self.scale)

    @property
    def natural(self) -> np.ndarray:
        p = self._v.shape[0]
        return np.append(0.5 * (self.df - p - 1.0), -0.5 * np.linalg.inv(self._v).ravel())

    @property
    def log_partition(self) -> float:
        p = self._v.shape[0]
        log_det = np.linalg.slogdet(self._v)[1]
        return float(0.5 * self.df * (p * np.log(2.0) + log_det) + multigammaln(0.5 * self.df, p))

    @property
    def mean(self) -> np.ndarray:
        return self.df * self._v

    @property
    def var(self) -> np.ndarray:
        d = np.diag(self._v)
        return self.df * (self._v**2 + np.outer(d, d))

    def _gamma_arguments(self) -> np.ndarray:
        """Arguments of the gamma functions whose product is the multivariate gamma function."""
        return 0.5 * (self.df - np.arange(self._v.shape[0]))

    @property
    def mean_statistics(self) -> np.ndarray:
        log_det = (
            psi(self._gamma_arguments()).sum()
            + self._v.shape[0] * np.log(2.0)
            + np.linalg.slogdet(self._v)[1]
        )
        return np.append(log_det, self.mean.ravel())

    @property
    def covariance_statistics(self) -> np.ndarray:
        p, v = self._v.shape[0], self._v
        full = np.empty((1 + p * p, 1 + p * p))
        full[0, 0] = polygamma(1, self._gamma_arguments()).sum()
        full[0, 1:] = full[1:, 0] = 2.0 * v.ravel()
        pairs = np.einsum("ik,jl->ijkl", v, v) + np.einsum("il,jk->ijkl", v, v)
        full[1:, 1:] = self.df * pairs.reshape(p * p, p * p)
        return full

    @classmethod
    def from_natural(cls, eta: ArrayLike) -> Self:
        eta = np.asarray(eta, dtype=float)
        p = int(np.sqrt(eta.size - 1))
        return cls(float(2.0 * eta[0] + p + 1.0), -0.5 * np.linalg.inv(eta[1:].reshape(p, p)))

    @classmethod
    def from_mean(cls, mean_statistics: ArrayLike) -> Self:
        """scale = mean / df; df from log det of the mean less the mean of the log dets, which falls with df."""
        target = np.asarray(mean_statistics, dtype=float)
        p = int(np.sqrt(target.size - 1))
        mean = target[1:].reshape(p, p)
        name = "log det of the mean less the mean of the log dets"
        gap = check_positive(name, float(np.linalg.slogdet(mean)[1] - target[0]))

        def excess(free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            df = free + p - 1.0
            halves = 0.5 * (df - np.arange(p))
            slope = 0.5 * polygamma(1, halves).sum(keepdims=True) - p / df
            return psi(halves).sum(keepdims=True) - p * np.log(0.5 * df) + gap, slope

        # log x - 1/x < psi(x) < log x - 1/(2x) puts df - p + 1 between these two
        free = monotone_root(excess, np.array([1.0 / gap]), np.array([0.5 * p * (p + 3.0) / gap]))
        df = float(free[0]) + p - 1.0
        return cls(df, mean / df)

    @classmethod
    def _statistics_of(cls, x: np.ndarray, **known: Any) -> np.ndarray:
        member = cls(x.shape[1], np.eye(x.shape[1]))
        return np.where(np.isfinite(member.log_base(x))[:, None], member.statistics(x), -np.inf)

    def statistics(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        log_det = np.linalg.slogdet(x)[1]
        return np.concatenate([log_det[..., None], x.reshape(*x.shape[:-2], x.shape[-1] ** 2)], axis=-1)

    def log_base(self, x: ArrayLike) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        if x.shape[-2:] != self._v.shape:
            raise ValueError(f"x must be matrices of shape {self._v.shape}, got an array of shape {x.shape}")
        symmetric = np.all(np.isclose(x, np.swapaxes(x, -1, -2)), axis=(-2, -1))
        safe = np.where(
            (symmetric & np.isfinite(x).all(axis=(-2, -1)))[..., None, None], x, -np.eye(len(self._v))
        )
        return np.where(np.linalg.eigvalsh(safe)[..., 0] > 0, 0.0, -np.inf)

    def _sample(self, rng: np.random.Generator, size: Size) -> Any:
        # Bartlett: L A A' L' with chi on the diagonal of A and normals below it
        p, shape = self._v.shape[0], () if size is None else np.atleast_1d(size)
        a = np.tril(rng.normal(size=(*shape, p, p)), -1)
        a[..., np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(self.df - np.arange(p), size=(*shape, p)))
        root = np.linalg.cholesky(self._v) @ a
        return root @ np.swapaxes(root, -1, -2)
