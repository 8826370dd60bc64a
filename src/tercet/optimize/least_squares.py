"""Weighted least squares on a growing working set of columns, for sparse solvers.

    sum_i s_i (y_i - x_i.w - b)^2 / 2    with sum_i s_i = 1, and b the best for w (or 0)

The data are read in two ways only: correlations of a residual with every column, and the Gram matrix of the
working set. Centring is implicit in the sums, so that the data are neither copied nor changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each, total
from tercet.core.rows import transposed_times

__all__ = ["LeastSquares"]


class LeastSquares:
    """Least squares problem that solvers with any penalty share.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,)
        The targets.
    weight : array of shape (n_samples,), optional
        Sample weights; normalised to sum to 1.
    fit_intercept : bool, default=True
        Whether to fit b; else b = 0.
    n_jobs : int, optional
        Number of threads for the sums over rows.

    Attributes
    ----------
    target_square : float
        sum_i s_i y_i^2, centred: twice the value at w = 0.
    target_correlations : array of shape (n_features,)
        Correlations of the columns with y.
    index, gram : arrays
        The columns in the working set and their Gram matrix.

    Examples
    --------
    >>> problem = LeastSquares(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]))
    >>> problem.add_columns(np.array([0]))
    >>> correlations, square = problem.residual_correlations(np.array([1.5]))
    >>> correlations.round(4), round(square, 4), problem.intercept(np.array([2.0]))
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
        self.normalised_weight = weight / weight.sum()
        self.target_mean = float(self.normalised_weight @ y) if fit_intercept else 0.0
        self.target = y - self.target_mean
        self.target_square = float(self.normalised_weight @ self.target**2)
        # Float32 columns are summed over short chunks of rows, for precision.
        self._by_columns = not sparse.issparse(X) and X.flags.f_contiguous and X.dtype == np.float64
        self.target_correlations = self.correlations(self.target)
        self.index = np.zeros(0, dtype=np.intp)
        self.gram, self.mean = np.zeros((0, 0)), np.zeros(self.n_features)
        self.in_working_set = np.zeros(self.n_features, dtype=bool)
        self._cached = (np.zeros(self.n_features), self.target_correlations, self.target_square)

    @property
    def complete(self) -> bool:
        """Whether every column is in the working set, so that the data are no longer needed."""
        return self.index.size == self.n_features

    def correlations(self, residual: np.ndarray) -> np.ndarray:
        """sum_i s_i x_ij r_i for every column j; with an intercept the residual must have mean zero."""
        r = (self.normalised_weight * residual).astype(self.X.dtype, copy=False)
        if self._by_columns:
            column_chunks = Chunks(self.X.T, rows=max(64, (1 << 22) // r.size))
            return np.concatenate(each(_dot, column_chunks, r, n_jobs=self.n_jobs))
        return total(_correlate, Chunks(self.X, r, rows=self._rows), n_jobs=self.n_jobs)

    def residual_correlations(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Correlations of the residual of w with every column, and its mean square.

        Columns with non-zero coordinates must be in the working set.
        """
        if not np.array_equal(w, self._cached[0]):
            if self.complete:
                correlations = np.empty_like(w)
                correlations[self.index] = self.target_correlations[self.index] - self.gram @ w[self.index]
                square = max(float(self.target_square - w @ (self.target_correlations + correlations)), 0.0)
            else:
                fitted = np.concatenate(
                    each(_predict, Chunks(self.X, rows=self._rows), w, n_jobs=self.n_jobs)
                )
                residual = self.target - (fitted - self.mean @ w)
                correlations, square = (
                    self.correlations(residual),
                    float(self.normalised_weight @ residual**2),
                )
            self._cached = (w.copy(), correlations, square)
        return self._cached[1:]

    def add_columns(self, new: np.ndarray) -> None:
        """Add columns to the working set: their means and their part of the Gram matrix."""
        if new.size == 0:
            return
        self.compute_means(new)
        old = self.index.size
        index = np.concatenate([self.index, new])
        implicit = sparse.issparse(self.X) or not self.fit_intercept
        shift = None if implicit else self.mean[index]
        chunks = Chunks(self.X, self.normalised_weight, rows=min(self._rows, 4096))
        part = total(_products, chunks, index, new.size, shift, n_jobs=self.n_jobs)
        if implicit:
            part -= np.outer(self.mean[index], self.mean[new])
        gram = np.empty((index.size, index.size))
        gram[:old, :old] = self.gram
        gram[:, old:] = part
        gram[old:, :old] = part[:old].T
        self.index, self.gram = index, gram
        self.in_working_set[new] = True

    def drop_zero_columns(self, w: np.ndarray) -> None:
        """Drop the columns whose coordinate is zero from the working set."""
        used = np.flatnonzero(w[self.index])
        self.index, self.gram = self.index[used], self.gram[np.ix_(used, used)].copy()
        self.in_working_set[:] = False
        self.in_working_set[self.index] = True

    def set_gram(self, gram: np.ndarray) -> None:
        """Set the Gram matrix of all columns, sum_i s_i x_i x_i' of the centred data; two columns are checked."""
        ends = np.unique([0, self.n_features - 1])
        self.add_columns(ends)
        error = np.abs(gram[np.ix_(ends, ends)] - self.gram)
        if error.max() > 1e-5 * (1.0 + np.abs(self.gram).max()):
            raise ValueError(
                f"The Gram matrix is not that of the data: an element is off by {error.max():.3g}. "
                "With an intercept the features must be centred first."
            )
        self.index, self.gram = np.arange(self.n_features), np.ascontiguousarray(gram)
        self.compute_means(self.index)
        self.in_working_set[:] = True

    def compute_means(self, new: np.ndarray) -> None:
        """Compute the weighted means of columns."""
        if self.fit_intercept:
            chunks = Chunks(self.X, self.normalised_weight, rows=self._rows)
            self.mean[new] = total(_means, chunks, new, n_jobs=self.n_jobs)

    def intercept(self, w: np.ndarray) -> float:
        """The best b for w (columns with non-zero coordinates must be in the working set)."""
        return self.target_mean - float(self.mean @ w)

    @property
    def _rows(self) -> int:
        # A chunk's result is as long as a row: chunks are large enough that summing results is cheap.
        return max(1024, -(-self.X.shape[0] // 64))


def _dot(chunk: tuple[Any, ...], r: np.ndarray) -> np.ndarray:
    return chunk[0] @ r


def _correlate(chunk: tuple[Any, ...]) -> np.ndarray:
    X, r = chunk
    return transposed_times(X, r).astype(np.float64, copy=False)


def _predict(chunk: tuple[Any, ...], w: np.ndarray) -> np.ndarray:
    X = chunk[0]
    if sparse.issparse(X):
        return X @ w
    nonzero = np.flatnonzero(w)
    return w[nonzero] @ _columns_as_rows(X, nonzero)


def _columns_as_rows(X: Any, index: np.ndarray) -> Any:
    """Columns of a chunk, transposed, in float64."""
    if sparse.issparse(X):
        return X[:, index].T.tocsr().astype(np.float64, copy=False)
    rows = X.T[index] if X.strides[0] < X.strides[1] else X[:, index].T
    return rows.astype(np.float64, copy=False)


def _means(chunk: tuple[Any, ...], index: np.ndarray) -> np.ndarray:
    X, weight = chunk
    return _columns_as_rows(X, index) @ weight


def _products(chunk: tuple[Any, ...], index: np.ndarray, new: int, mean: np.ndarray | None) -> np.ndarray:
    """Weighted products of the columns `index` with the last `new` of them."""
    X, weight = chunk
    Z = _columns_as_rows(X, index)
    if sparse.issparse(X):
        return (Z @ Z[-new:].multiply(weight).T.tocsc()).toarray()
    if mean is not None:
        Z = Z - mean[:, None]
    return Z @ (Z[-new:] * weight).T
