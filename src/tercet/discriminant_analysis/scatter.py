"""Class means and scatter matrices.

Sums over rows are added up over chunks in double precision, so that a covariance of float32 data is as good as one
of float64 data, and the same for any number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.parallel import Chunks, total
from tercet.core.row_sums import mass_of
from tercet.core.streams import is_streamed
from tercet.core.validation import check_array

EPS = np.finfo(np.float64).eps
SMALL = 1 << 12  # numbers in an array that are summed at once: BLAS takes one thread for them in any case


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
    texts=[
        "watermelon notes ch. 1, eq. 1.23, 1.24, 1.27",
        "Pattern Recognition ch. 5, sec. 5.6, eq. 5-71, 5-72",
    ],
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
    n_classes = n_classes or (1 if is_streamed(y) else int(y.max()) + 1)
    mass, sums = _total(_class_sums, X, y, weight, n_classes, n_jobs=n_jobs)
    if not mass.all():
        raise ValueError(
            f"class number {mass.argmin()} has no sample of positive weight; every class needs one."
        )
    return mass, sums / mass[:, None]


def _total(statistics: Any, X: Any, y: Any, weight: Any, parameter: Any, *, n_jobs: int | None) -> Any:
    if X.size < SMALL:  # one chunk, which no thread need share
        return statistics((X, y, weight), parameter)
    return total(statistics, Chunks(X, y, weight), parameter, n_jobs=n_jobs)


def _class_sums(chunk: Any, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and weighted sums of the rows of each class in a chunk."""
    X, y, weight = chunk
    w = None if weight is None else weight.astype(np.float64)
    mass = np.bincount(y, w, n_classes).astype(np.float64, copy=False)
    if X.size < SMALL:
        member = (y[:, None] == np.arange(n_classes)).astype(np.float64)
        return mass, (member if w is None else member * w[:, None]).T @ X
    w = np.ones(y.size) if w is None else w
    member = sparse.csc_array((w, y, np.arange(y.size + 1)), shape=(n_classes, y.size))
    return mass, member @ np.asarray(X, dtype=np.float64)


def between_scatter(mass: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Σ_k m_k (μ_k-μ)(μ_k-μ)ᵀ."""
    apart = np.sqrt(mass)[:, None] * (means - mass @ means / mass.sum())
    return apart.T @ apart


def pooled_scatter(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, means: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Σ_i w_i (x_i-μ)(x_i-μ)ᵀ, with μ the mean of the row's class."""
    S = _total(_scatter, X, y, weight, means, n_jobs=n_jobs)
    return without_rounding(S, X, mass_of(X, weight), means)


def without_rounding(S: np.ndarray, X: Any, mass: float, means: np.ndarray) -> np.ndarray:
    """The scatter with zeros for constant features."""
    # What a constant feature has left is the rounding of its mean; taken for a spread it would be scaled up.
    noise = mass * (X.shape[0] * EPS * np.abs(means).max(axis=0)) ** 2
    constant = S.diagonal() <= noise
    S[constant] = S[:, constant] = 0
    return S


def class_scatters(
    X: Any, y: Any, weight: Any, mass: np.ndarray, means: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """The scatter of each class about its mean, in one pass, of shape (n_classes, n_features, n_features)."""
    chunks = Chunks(X, y, weight)
    if (rows := 4 * means.size) > chunks.borders[
        1
    ]:  # or adding up the matrices would cost more than making them
        chunks = Chunks(X, y, weight, rows=rows)
    found = total(_class_scatters, chunks, means, n_jobs=n_jobs)
    return np.array([without_rounding(S, X, m, mean[None]) for S, m, mean in zip(found, mass, means)])


def _class_scatters(chunk: Any, means: np.ndarray) -> np.ndarray:
    X, y, weight = chunk
    found = np.zeros((len(means), X.shape[1], X.shape[1]))
    for k in range(len(means)):
        mine = np.flatnonzero(y == k)
        if mine.size:
            Z = deviations(X[mine], y[mine], None if weight is None else weight[mine], means)
            found[k] = Z.T @ Z
    return found


def one_class(X: Any) -> Any:
    """The labels of rows that are all of one class."""
    if is_streamed(X):
        return X.stream.array("row").map(np.zeros_like)
    return np.zeros(X.shape[0], dtype=np.intp)


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
