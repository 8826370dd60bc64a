"""Means, variances and the scatter matrix of rows, in one pass of chunk statistics.

Sums of squares are taken around a point near the mean, as otherwise a large mean would take the digits of a small
variance; what the point is away from the mean is corrected at the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, total
from tercet.core.row_sums import gathered_rows, mass_of
from tercet.core.rows import transposed_times
from tercet.core.streams import is_streamed
from tercet.decomposition._engine.centred_rows import Scratch

SAMPLED_ROWS = 512  # for the point near the mean
DENSE_ENOUGH = 0.05  # the share of entries from which dense products are faster
SCATTER_VALUES = 1 << 20  # values in a chunk, and no fewer rows than twice the columns


class Moments(NamedTuple):
    """Sum of weights, means and sums of squared deviations; `scatter` has those of all pairs of columns."""

    mass: float
    mean: np.ndarray
    squares: np.ndarray
    scatter: np.ndarray | None = None

    def in_range(self, dtype: Any) -> bool:
        """Whether sums of squares of numbers of this type neither overflowed nor vanished; False for NaN, too."""
        low, high = (1e-25, 1e35) if dtype == np.float32 else (1e-200, 1e250)
        finite = self.scatter is None or bool(np.isfinite(self.scatter).all())
        return finite and low < float(self.squares.max()) < high  # NaN is not


def moments(
    X: Any, weight: np.ndarray | None = None, *, scatter: bool = False, n_jobs: int | None = None
) -> Moments:
    """The moments of the rows of X, an array or a CSR matrix, in float64.

    Examples
    --------
    >>> moments(np.array([[1.0, 0.0], [3.0, 4.0]]), scatter=True)
    Moments(mass=2.0, mean=array([2., 2.]), squares=array([2., 8.]), scatter=array([[2., 4.],
           [4., 8.]]))
    """
    n, d = X.shape
    mass = mass_of(X, weight)
    if is_streamed(X) and X.is_sparse:
        raise TypeError("PCA learns from dense sources only. Draw a sample of sparse rows.")
    if sparse.issparse(X):
        return _sparse_moments(X, weight, mass, scatter, n_jobs)
    sample = gathered_rows(np.arange(0, n, max(1, n // SAMPLED_ROWS)), X)[0].astype(np.float64)
    point = sample.mean(axis=0)
    # A mean that is small beside the spread takes few digits: then the rows need not be moved.
    near = X.dtype == np.float64 and bool((point**2 <= 100 * sample.var(axis=0)).all())
    point = np.zeros(d, X.dtype) if near and scatter else point.astype(X.dtype)
    rows = max(64, 2 * d, SCATTER_VALUES // d) // 64 * 64
    chunks = Chunks(X, weight, rows=rows)
    scratch = Scratch((rows, d), X.dtype)
    sums, squares = total(_scatter if scatter else _squares, chunks, point, scratch, n_jobs=n_jobs)
    away = sums / mass
    if scatter:
        matrix = squares - mass * np.outer(away, away)
        return Moments(mass, point + away, np.maximum(np.diag(matrix), 0.0), matrix)
    return Moments(mass, point + away, np.maximum(squares - mass * away**2, 0.0))


def total_variance(X: Any, n_jobs: int | None = None) -> float:
    """The sum of the variances of all columns, with the divisor n."""
    n = X.shape[0]
    if sparse.issparse(X):
        mean = transposed_times(X, np.full(n, 1 / n))
        squares = float(np.dot(X.data.astype(np.float64, copy=False), X.data)) / n
        found = squares - float(mean @ mean)
        if found > 1e-6 * squares:  # else next to all of it cancels
            return found
    return float(moments(X, n_jobs=n_jobs).squares.sum()) / n


def _scatter(chunk: tuple[Any, Any], point: np.ndarray, scratch: Scratch) -> tuple[np.ndarray, np.ndarray]:
    """Sums of x - c and of (x - c)(x - c)', of a chunk's rows."""
    X, weight = chunk
    centred = scratch.minus(X, point) if point.any() or weight is not None else X
    if weight is None:
        sums = centred.sum(axis=0, dtype=np.float64)
    else:
        sums = np.dot(weight.astype(np.float64), centred)
        centred *= np.sqrt(weight).astype(centred.dtype)[:, None]
    # a matrix by its own transpose: half of the products
    return sums, (centred.T @ centred).astype(np.float64, copy=False)


def _squares(chunk: tuple[Any, Any], point: np.ndarray, scratch: Scratch) -> tuple[np.ndarray, np.ndarray]:
    """Sums of x - c and of (x - c)², of a chunk's rows."""
    X, weight = chunk
    centred = scratch.minus(X, point).astype(np.float64, copy=False)
    if weight is None:
        return centred.sum(axis=0), np.einsum("ij,ij->j", centred, centred)
    wide = weight.astype(np.float64)
    return wide @ centred, wide @ centred**2


def _dense_scatter(
    chunk: tuple[Any, Any], point: np.ndarray, scratch: Scratch
) -> tuple[np.ndarray, np.ndarray]:
    """The same of sparse rows, of which a chunk at a time becomes dense."""
    X, weight = chunk
    return _scatter((X.toarray(), weight), point, scratch)


def _sparse_moments(
    X: Any, weight: np.ndarray | None, mass: float, scatter: bool, n_jobs: int | None
) -> Moments:
    n = X.shape[0]
    weight = np.ones(n) if weight is None else weight.astype(np.float64)
    X = X.astype(np.float64, copy=False)
    mean = transposed_times(X, weight) / mass
    if scatter and X.nnz > DENSE_ENOUGH * n * X.shape[1]:
        chunks = Chunks(X, weight, rows=max(64, SCATTER_VALUES // X.shape[1]))
        sums, matrix = total(
            _dense_scatter, chunks, mean, Scratch(X.shape, np.dtype(np.float64)), n_jobs=n_jobs
        )
        away = sums / mass
        matrix -= mass * np.outer(away, away)
        return Moments(mass, mean + away, np.maximum(np.diag(matrix), 0.0), matrix)
    if scatter:
        scaled = X if (weight == 1).all() else sparse.diags_array(np.sqrt(weight)) @ X
        matrix = np.asarray((scaled.T @ scaled).toarray()) - mass * np.outer(mean, mean)
        return Moments(mass, mean, np.maximum(np.diag(matrix), 0.0), matrix)
    # around the mean: the entries that are there, and the zeros that are not
    value = X.data - mean[X.indices]
    of_entry = np.repeat(weight, np.diff(X.indptr))
    d = X.shape[1]
    present = np.bincount(X.indices, weights=of_entry, minlength=d)
    squares = np.bincount(X.indices, weights=of_entry * value**2, minlength=d)
    return Moments(mass, mean, squares + np.maximum(mass - present, 0.0) * mean**2)
