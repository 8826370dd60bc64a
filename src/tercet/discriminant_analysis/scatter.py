"""Sums over rows that discriminants are made of: class means, scatter matrices, covariances.

Everything here is added up over chunks of rows in double precision, so that a covariance of float32 data is
as good as one of float64 data, and the same for any number of threads.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.base import clone
from sklearn.utils.validation import check_array, check_consistent_length, has_fit_parameter

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.parallel import Chunks, total

EPS, TINY = np.finfo(np.float64).eps, np.finfo(np.float64).tiny


class Scatter(NamedTuple):
    """The three scatter matrices of labelled data; the last is the sum of the first two.

    Examples
    --------
    >>> within, between, total = scatter_matrices([[0.0], [2.0], [5.0], [7.0]], [0, 0, 1, 1])
    >>> within, between, total
    (array([[4.]]), array([[25.]]), array([[29.]]))
    """

    within: np.ndarray
    between: np.ndarray
    total: np.ndarray


@method(
    zh="散度矩阵",
    task="dimensionality reduction",
    model="S_w = Σ_k Σ_{x in k} (x-μ_k)(x-μ_k)ᵀ, S_b = Σ_k m_k (μ_k-μ)(μ_k-μ)ᵀ, S_t = S_w + S_b",
    texts=["002 ch. 1, eq. 1.23, 1.24, 1.27", "003 ch. 5, sec. 5.6, eq. 5-71, 5-72"],
)
def scatter_matrices(X: Any, y: Any, sample_weight: Any = None, *, n_jobs: int | None = None) -> Scatter:
    """Within-class, between-class and total scatter.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,)
        The classes.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    Scatter
        With the fields `within`, `between` and `total`.

    Examples
    --------
    >>> S = scatter_matrices([[1.0, 2], [2, 3], [3, 3], [6, 5], [7, 8], [8, 7]], [0, 0, 0, 1, 1, 1])
    >>> S.within.round(3)
    array([[4.   , 3.   ],
           [3.   , 5.333]])
    """
    X = check_array(X, dtype=(np.float64, np.float32))
    check_consistent_length(X, y)
    weight = check_weight(sample_weight, X)
    _, index = np.unique(y, return_inverse=True)
    mass, means = class_means(X, index, weight, n_jobs=n_jobs)
    within = pooled_scatter(X, index, weight, means, n_jobs=n_jobs)
    between = between_scatter(mass, means)
    return Scatter(within, between, within + between)


def class_means(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, n_classes: int = 0, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The total weight and the mean of each class."""
    n_classes = n_classes or int(y.max()) + 1
    mass, sums = total(_sums, Chunks(X, y, weight), n_classes, n_jobs=n_jobs)
    if not mass.all():
        raise ValueError(
            f"class number {mass.argmin()} has no sample of positive weight; every class needs one."
        )
    return mass, sums / mass[:, None]


def _sums(chunk: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, weight = chunk
    w = np.ones(y.size) if weight is None else weight.astype(np.float64)
    member = sparse.csc_array((w, y, np.arange(y.size + 1)), shape=(n_classes, y.size))
    return np.bincount(y, w, n_classes), member @ np.asarray(X, dtype=np.float64)


def between_scatter(mass: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Σ_k m_k (μ_k-μ)(μ_k-μ)ᵀ."""
    apart = np.sqrt(mass)[:, None] * (means - mass @ means / mass.sum())
    return apart.T @ apart


def pooled_scatter(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, means: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Σ_i w_i (x_i-μ)(x_i-μ)ᵀ, with μ the mean of the row's class."""
    S = total(_scatter, Chunks(X, y, weight), means, n_jobs=n_jobs)
    # What a constant feature has left is the rounding of its mean; taken for a spread it would be scaled up.
    mass = X.shape[0] if weight is None else weight.sum(dtype=np.float64)
    noise = mass * (X.shape[0] * EPS * np.abs(means).max(axis=0)) ** 2
    constant = S.diagonal() <= noise
    S[constant] = S[:, constant] = 0
    return S


def _scatter(chunk: Any, means: np.ndarray) -> np.ndarray:
    X, y, weight = chunk
    Z = deviations(X, y, weight, means)
    return Z.T @ Z


def deviations(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, means: np.ndarray) -> np.ndarray:
    """Rows minus the means of their classes, times the root of their weights."""
    Z = X - means[y]
    if weight is not None:
        Z *= np.sqrt(weight, dtype=np.float64)[:, None]
    return Z


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
        fitted = clone(estimator).fit(X, **options)
        if not hasattr(fitted, "covariance_"):
            raise ValueError(f"covariance_estimator: {type(fitted).__name__} has no covariance_ after fit.")
        return np.atleast_2d(fitted.covariance_)
    one = np.zeros(X.shape[0], dtype=np.intp)
    mass, mean = class_means(X, one, weight, n_jobs=n_jobs)
    C = pooled_scatter(X, one, weight, mean, n_jobs=n_jobs) / mass[0]
    if shrinkage is None:
        return C
    if shrinkage != "auto":
        return shrunk(C, shrinkage)
    std = spread(C)
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
    X, y, weight = chunk
    length = (((X - mean[y]) / std) ** 2).sum(axis=1)
    return (length**2).sum() if weight is None else weight @ length**2


def spread(C: np.ndarray) -> np.ndarray:
    """Standard deviations, with 1 for features that do not vary."""
    std = np.sqrt(C.diagonal())
    return np.where(std > 0, std, 1.0)


def whitening(C: np.ndarray, tol: float = 0.0) -> np.ndarray:
    """T of shape (d, rank) with Tᵀ C T = I; directions in which C is singular are left out.

    The rank is taken in units of the features' own spread: eigenvalues up to tol² do not count.
    """
    std = spread(C)
    values, vectors = linalg.eigh(C / np.outer(std, std))
    values, vectors = values[::-1], vectors[:, ::-1]
    keep = values > max(tol**2, C.shape[0] * EPS * values[0])
    return vectors[:, keep] / std[:, None] / np.sqrt(values[keep])


def principal_axes(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances (falling) and axes (columns) of a covariance, good to the last digits in any units.

    Taking the root of the correlation matrix first and its singular values after keeps a feature of small
    spread from drowning in the rounding of one of large spread.
    """
    std = spread(C)
    values, vectors = linalg.eigh(C / np.outer(std, std))
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * std
    _, s, axes = linalg.svd(root)
    return s**2, axes.T


def same_signs(W: np.ndarray) -> np.ndarray:
    """Columns turned so that the entry of largest size is positive."""
    if not W.size:
        return W
    largest = W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])]
    return W * np.where(largest < 0, -1.0, 1.0)


def check_priors(priors: Any, mass: np.ndarray | None, n_classes: int, name: str) -> np.ndarray:
    """Prior probabilities as given, or as the share of each class."""
    if priors is None:
        return np.full(n_classes, 1 / n_classes) if mass is None else mass / mass.sum()
    chosen = np.asarray(priors, dtype=np.float64)
    if chosen.shape != (n_classes,):
        raise ValueError(
            f"{name}: priors must have one number for each of {n_classes} classes; got {priors!r}."
        )
    if (chosen < 0).any():
        raise ValueError(f"{name}: priors must be non-negative; got {priors!r}.")
    if abs(chosen.sum() - 1) > 1e-5:
        warnings.warn(f"{name}: the priors do not sum to 1 and are normalised.", UserWarning, stacklevel=2)
    return chosen / chosen.sum()
