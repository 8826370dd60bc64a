"""Covariance matrices: shrinkage, whitening, principal axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from tercet.core.parallel import Chunks, each, total
from tercet.core.rows import read_only
from tercet.discriminant_analysis._engine.mahalanobis import squared_mahalanobis
from tercet.discriminant_analysis.scatter import EPS, SMALL, class_means, one_class, pooled_scatter

ALIKE = 16.0  # spreads that differ by no more are of one size


def covariance(
    X: np.ndarray,
    weight: np.ndarray | None,
    *,
    shrinkage: Any = None,
    estimator: Any = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """The covariance (divided by N) of one group of rows, shrunk or estimated as asked."""
    if estimator is not None:
        options = {}
        if weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                name = type(estimator).__name__
                raise ValueError(f"covariance_estimator: {name}.fit takes no sample_weight.")
            options = {"sample_weight": weight}
        fitted = clone(estimator, safe=False)
        fitted.fit(X, **options)  # which may return nothing
        if not hasattr(fitted, "covariance_"):
            raise ValueError(f"covariance_estimator: {type(fitted).__name__} has no covariance_ after fit.")
        return np.atleast_2d(fitted.covariance_)
    one = one_class(X)
    mass, mean = class_means(X, one, weight, n_jobs=n_jobs)
    C = pooled_scatter(X, one, weight, mean, n_jobs=n_jobs) / mass[0]
    if shrinkage is None:
        return C
    if shrinkage != "auto":
        return shrunk(C, shrinkage)
    std = standard_deviations(C)
    unit = C / np.outer(std, std)
    fourth = total(_fourth_moment, Chunks(X, one, weight), mean, std, n_jobs=n_jobs) / mass[0]
    return np.outer(std, std) * shrunk(unit, ledoit_wolf(unit, fourth, mass[0]))


def shrunk(C: np.ndarray, amount: float) -> np.ndarray:
    """C moved towards a multiple of the identity: (1-a) C + a tr(C)/d I."""
    d = C.shape[0]
    return (1 - amount) * C + amount * np.trace(C) / d * np.eye(d)


def ledoit_wolf(C: np.ndarray, fourth: float, n: float) -> float:
    """How far to shrink: the error of C as an estimate over its distance from the target.

    The formula of Ledoit and Wolf (2004); `fourth` is the mean of ‖x-μ‖⁴ over the n rows that made C.
    """
    d = C.shape[0]
    square = (C**2).sum()
    distance = (square - np.trace(C) ** 2 / d) / d
    error = (fourth - square) / (n * d)
    return float(min(error, distance) / distance) if d > 1 and error > 0 and distance > 0 else 0.0


def _fourth_moment(chunk: Any, mean: np.ndarray, std: np.ndarray) -> float:
    """Σ_i w_i |(x_i - μ) / std|⁴ of a chunk of rows."""
    X, y, weight = chunk
    length = (((X - mean[y]) / std) ** 2).sum(axis=1)
    return (length**2).sum() if weight is None else weight @ length**2


def standard_deviations(C: np.ndarray) -> np.ndarray:
    """Standard deviations, with 1 for features that do not vary."""
    std = np.sqrt(C.diagonal())
    return np.where(std > 0, std, 1.0)


def whitening(C: np.ndarray, tol: float = 0.0) -> np.ndarray:
    """T of shape (d, rank) with Tᵀ C T = I; directions in which C is singular are left out.

    The rank is taken in units of the features' own spread: eigenvalues up to tol² do not count.
    """
    std = standard_deviations(C)
    values, vectors = linalg.eigh(C / np.outer(std, std))
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > max(tol**2, C.shape[0] * EPS * values[0])
    return vectors[:, keep] / std[:, None] / np.sqrt(values[keep])


def principal_axes(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances (falling) and axes (columns) of a covariance, good to the last digits in any units.

    Where spreads differ, taking the root of the correlation matrix first and its singular values after keeps a
    feature of small spread from drowning in the rounding of one of large spread.
    """
    std = standard_deviations(C)
    if std.max() <= ALIKE * std.min():
        values, vectors = np.linalg.eigh(C)
        return np.maximum(values[::-1], 0.0), np.ascontiguousarray(vectors[:, ::-1])
    values, vectors = linalg.eigh(C / np.outer(std, std))
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * std
    _, s, axes = linalg.svd(root)
    return s**2, axes.T


def flip_signs(W: np.ndarray) -> np.ndarray:
    """Columns with the sign that makes their entry of largest size positive."""
    if not W.size:
        return W
    largest = W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])]
    return W * np.where(largest < 0, -1.0, 1.0)


def squared_distances(
    X: np.ndarray, means: np.ndarray, roots: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Squared Mahalanobis distances |root_kᵀ(x - μ_k)|² of rows, of shape (n, K); root_k root_kᵀ = Σ_k⁻¹."""
    dtype = np.result_type(X, roots)
    distances = np.empty((X.shape[0], len(roots)), dtype=dtype)
    whole = (np.ascontiguousarray(X, dtype=dtype), distances)
    parts = [whole] if X.size < SMALL else Chunks(*whole)
    each(_squared_mahalanobis, parts, means.astype(dtype), roots.astype(dtype), n_jobs=n_jobs)
    return distances


def _squared_mahalanobis(chunk: Any, means: np.ndarray, roots: np.ndarray) -> None:
    squared_mahalanobis(read_only(np.ascontiguousarray(chunk[0])), means, roots, chunk[1])
