"""Least squares seen through sums over rows: what sparse solvers ask of the data.

    sum_i s_i (y_i - x_i.w - b)^2 / 2    with sum_i s_i = 1, and b the best for w (or 0)

The data is read in two ways only: correlations of a residual with every column, and the Gram matrix of a few
columns, the working set. Centring is part of the sums, so the data is neither copied nor changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each, total
from tercet.core.rows import transposed_times

__all__ = ["LeastSquares"]


class LeastSquares:
    """A least squares problem, reusable for any number of penalties.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,)
        The targets.
    weight : array of shape (n_samples,), optional
        How much each row counts; only the proportions matter.
    fit_intercept : bool, default=True
        Whether b is free, or 0.
    n_jobs : int, optional
        Threads for the sums over rows.

    Attributes
    ----------
    size : float
        sum_i s_i y_i^2, centred: twice the value at w = 0.
    first : array of shape (n_features,)
        Correlations of the columns with y.
    index, gram : arrays
        The columns in the working set and their Gram matrix.

    Examples
    --------
    >>> problem = LeastSquares(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]))
    >>> problem.add(np.array([0]))
    >>> slope, square = problem.look(np.array([1.5]))
    >>> slope.round(4), round(square, 4), problem.intercept(np.array([2.0]))
    (array([0.3333]), 0.1667, 1.0)
    """

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        *,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.X, self.fit_intercept, self.n_jobs = X, fit_intercept, n_jobs
        n, self.n_features = X.shape
        weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
        self.share = weight / weight.sum()
        self.centre = float(self.share @ y) if fit_intercept else 0.0
        self.target = y - self.centre
        self.size = float(self.share @ self.target**2)
        # Float32 columns are summed in short pieces; in long ones they would lose digits.
        self._tall = not sparse.issparse(X) and X.flags.f_contiguous and X.dtype == np.float64
        self.first = self.correlations(self.target)
        self.index = np.zeros(0, dtype=np.intp)
        self.gram, self.mean = np.zeros((0, 0)), np.zeros(self.n_features)
        self.inside = np.zeros(self.n_features, dtype=bool)
        self._seen = (np.zeros(self.n_features), self.first, self.size)

    @property
    def complete(self) -> bool:
        """Whether every column is in the working set, so that the data is no longer needed."""
        return self.index.size == self.n_features

    def correlations(self, residual: np.ndarray) -> np.ndarray:
        """sum_i s_i x_ij r_i for every column j; with an intercept the residual must have mean zero."""
        r = (self.share * residual).astype(self.X.dtype, copy=False)
        if self._tall:
            some_columns = Chunks(self.X.T, rows=max(64, (1 << 22) // r.size))
            return np.concatenate(each(_dot, some_columns, r, n_jobs=self.n_jobs))
        return total(_correlate, Chunks(self.X, r, rows=self._rows), n_jobs=self.n_jobs)

    def look(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Correlations of the residual of w with every column, and its mean square.

        Columns with non-zero coordinates must be in the working set.
        """
        if not np.array_equal(w, self._seen[0]):
            if self.complete:
                slope = np.empty_like(w)
                slope[self.index] = self.first[self.index] - self.gram @ w[self.index]
                square = max(float(self.size - w @ (self.first + slope)), 0.0)
            else:
                fitted = np.concatenate(
                    each(_predict, Chunks(self.X, rows=self._rows), w, n_jobs=self.n_jobs)
                )
                residual = self.target - (fitted - self.mean @ w)
                slope, square = self.correlations(residual), float(self.share @ residual**2)
            self._seen = (w.copy(), slope, square)
        return self._seen[1:]

    def add(self, new: np.ndarray) -> None:
        """Take columns into the working set: their means, and their products with one another."""
        if new.size == 0:
            return
        self.find_means(new)
        old = self.index.size
        index = np.concatenate([self.index, new])
        implicit = sparse.issparse(self.X) or not self.fit_intercept
        shift = None if implicit else self.mean[index]
        chunks = Chunks(self.X, self.share, rows=min(self._rows, 4096))
        part = total(_products, chunks, index, new.size, shift, n_jobs=self.n_jobs)
        if implicit:
            part -= np.outer(self.mean[index], self.mean[new])
        gram = np.empty((index.size, index.size))
        gram[:old, :old] = self.gram
        gram[:, old:] = part
        gram[old:, :old] = part[:old].T
        self.index, self.gram = index, gram
        self.inside[new] = True

    def keep(self, w: np.ndarray) -> None:
        """Drop the columns whose coordinate is zero from the working set."""
        used = np.flatnonzero(w[self.index])
        self.index, self.gram = self.index[used], self.gram[np.ix_(used, used)].copy()
        self.inside[:] = False
        self.inside[self.index] = True

    def adopt(self, gram: np.ndarray) -> None:
        """Take over the Gram matrix of all columns, sum_i s_i x_i x_i' of the centred data."""
        ends = np.unique([0, self.n_features - 1])
        self.add(ends)
        wrong = np.abs(gram[np.ix_(ends, ends)] - self.gram)
        if wrong.max() > 1e-5 * (1.0 + np.abs(self.gram).max()):
            raise ValueError(
                f"The Gram matrix is not that of the data: an element is off by {wrong.max():.3g}. "
                "With an intercept the features must be centred first."
            )
        self.index, self.gram = np.arange(self.n_features), np.ascontiguousarray(gram)
        self.find_means(self.index)
        self.inside[:] = True

    def find_means(self, new: np.ndarray) -> None:
        """The weighted means of some columns."""
        if self.fit_intercept:
            chunks = Chunks(self.X, self.share, rows=self._rows)
            self.mean[new] = total(_means, chunks, new, n_jobs=self.n_jobs)

    def intercept(self, w: np.ndarray) -> float:
        """The best b for w (columns with non-zero coordinates must be in the working set)."""
        return self.centre - float(self.mean @ w)

    @property
    def _rows(self) -> int:
        # A chunk's answer is as long as a row: rows enough to make adding it up cheap.
        return max(1024, -(-self.X.shape[0] // 64))


def _dot(chunk: tuple, r: np.ndarray) -> np.ndarray:
    return chunk[0] @ r


def _correlate(chunk: tuple) -> np.ndarray:
    X, r = chunk
    return transposed_times(X, r).astype(np.float64, copy=False)


def _predict(chunk: tuple, w: np.ndarray) -> np.ndarray:
    X = chunk[0]
    if sparse.issparse(X):
        return X @ w
    alive = np.flatnonzero(w)
    return w[alive] @ _take(X, alive)


def _take(X: Any, index: np.ndarray) -> Any:
    """Columns of a chunk, as rows, in float64."""
    if sparse.issparse(X):
        return X[:, index].T.tocsr().astype(np.float64, copy=False)
    rows = X.T[index] if X.strides[0] < X.strides[1] else X[:, index].T
    return rows.astype(np.float64, copy=False)


def _means(chunk: tuple, index: np.ndarray) -> np.ndarray:
    X, share = chunk
    return _take(X, index) @ share


def _products(chunk: tuple, index: np.ndarray, new: int, mean: np.ndarray | None) -> np.ndarray:
    """Weighted products of all rows with the last ones."""
    X, share = chunk
    Z = _take(X, index)
    if sparse.issparse(X):
        return (Z @ Z[-new:].multiply(share).T.tocsc()).toarray()
    if mean is not None:
        Z = Z - mean[:, None]
    return Z @ (Z[-new:] * share).T
