"""Weighted least squares on a growing working set of columns, for sparse solvers.

    sum_i s_i (y_i - x_i.w - b)^2 / 2    with sum_i s_i = 1, and b the best for w (or 0)

The data are read in two ways only: correlations of a residual with every column, and the Gram matrix of the
working set. Centring is implicit in the sums, so that the data are neither copied nor changed. Both are sums over
chunks of rows, of arrays in memory or of streamed ones.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each, total
from tercet.core.row_sums import largest_of
from tercet.core.rows import transposed_times
from tercet.core.streams import holds_sparse, is_streamed

__all__ = ["LeastSquares"]

LARGEST_CHUNK = 1 << 22  # numbers in a chunk of many rows
FEW_COLUMNS = 64  # with no more of them than that, the working set holds all from the start
SMALL = 1 << 12  # numbers in an array that are summed at once: BLAS takes one thread for them in any case
DENSE = 1 << 16  # numbers up to which sparse rows are as well made dense
TINIEST, LARGEST = 1e-280, 1e140  # a square that is below has lost digits; the square of this is a number


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
    x_unit, y_unit : float
        What X and y were divided by: 1, or powers of two where squares of the data would not be numbers. All
        sums here are in these units.

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
        n, self.n_features = X.shape
        if sparse.issparse(X) and n * self.n_features < DENSE:
            X = X.toarray()
        self.X, self.fit_intercept, self.n_jobs = X, fit_intercept, n_jobs
        self.x_unit = self.y_unit = 1.0
        self._weighted = weight is not None
        self.normalised_weight = self._normalised(y, weight)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._set_data(X, y)
            if not self._in_range():
                self._set_data(*self._rescaled(X, y))

    def _normalised(self, y: Any, weight: Any) -> Any:
        """Weights that sum to 1."""
        n = self.X.shape[0]
        if weight is None:
            constant = functools.partial(_equal_weights, each=1.0 / n)
            return y.map(constant, dtype=np.float64) if is_streamed(y) else constant(y)
        with np.errstate(over="ignore"):
            mass = float(self._sum(_total_of, weight))
        if is_streamed(weight):
            return weight.map(functools.partial(_divided, mass=mass), dtype=np.float64)
        weight = _divided(weight, mass)
        return weight if np.isfinite(mass) else self._normalised(y, weight / weight.max())

    def _set_data(self, X: Any, y: Any) -> None:
        """Sums over the rows that every solution needs; of all columns, when they are few."""
        self.X = X
        self.target_mean = self._mean(y) if self.fit_intercept else 0.0
        centred = functools.partial(_less, mean=self.target_mean)
        self.target = y.map(centred, dtype=np.float64) if is_streamed(y) else centred(y)
        self.target_square = self._mean(self.target, squared=True)
        # Float32 columns are summed over short chunks of rows, for precision.
        dense = not is_streamed(X) and not sparse.issparse(X)
        self._by_columns = dense and X.flags.f_contiguous and X.dtype == np.float64
        self.index = np.zeros(0, dtype=np.intp)
        self.gram, self.mean = np.zeros((0, 0)), np.zeros(self.n_features)
        self.in_working_set = np.zeros(self.n_features, dtype=bool)
        if holds_sparse(X) or self.n_features > FEW_COLUMNS:
            self.target_correlations = self.correlations(self.target)
        else:
            self._add_all_columns()
        self._cached = (np.zeros(self.n_features), self.target_correlations, self.target_square)

    def _add_all_columns(self) -> None:
        """Means, Gram matrix and correlations with the target of all columns of an array."""
        weight = self.normalised_weight if self._weighted else None
        if self.fit_intercept:
            self.mean = self._sum(_all_means, self.X, weight)
            if weight is None:
                self.mean /= self.X.shape[0]
        products = self._sum(_all_products, self.X, self.target, weight, parameters=(self.mean,))
        self.gram, self.target_correlations = products
        if weight is None:
            self.gram, self.target_correlations = (part / self.X.shape[0] for part in products)
        self.index = np.arange(self.n_features)
        self.in_working_set[:] = True

    def _mean(self, values: Any, squared: bool = False) -> float:
        """Weighted mean of a number for each row, or of its square."""
        weight = self.normalised_weight if self._weighted else None
        found = self._sum(_sum_of, values, weight, parameters=(squared,))
        return float(found if self._weighted else found / self.X.shape[0])

    def _sum(self, statistics: Any, *arrays: Any, parameters: tuple[Any, ...] = ()) -> Any:
        if self.X.size < SMALL:  # one chunk, which no thread need share
            return statistics(arrays, *parameters)
        return total(statistics, Chunks(*arrays), *parameters, n_jobs=self.n_jobs)

    def _in_range(self) -> bool:
        """Whether squares of the data neither overflow nor vanish."""
        if not np.isfinite(self.target_square) or (
            self.target_square < TINIEST and largest_of(self.target) > 0
        ):
            return False
        if self.complete:
            squares = self.gram.diagonal()
            if not np.isfinite(squares).all():
                return False
            return squares.max(initial=1.0) >= TINIEST or largest_of(self.X) == 0
        return largest_of(self.X) < LARGEST

    def _rescaled(self, X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
        """The data in units, powers of two, in which squares are numbers: X / x_unit and y / y_unit."""
        if is_streamed(X):
            raise ValueError(
                f"X holds numbers up to {largest_of(X):.3g} and y up to {largest_of(y):.3g}, whose squares "
                "overflow or vanish. Scale them."
            )
        self.x_unit, self.y_unit = _power_of_two(largest_of(X)), _power_of_two(np.abs(y).max())
        X = X.astype(np.float64) / self.x_unit
        sizes = abs(X).max(axis=0)
        sizes = sizes.toarray().ravel() if sparse.issparse(X) else sizes
        if (lost := np.flatnonzero((sizes > 0) & (sizes < 1.0 / LARGEST))).size:
            raise ValueError(
                f"X: the features are too different in scale for floating point numbers: column "
                f"{sizes.argmax()} has values of size {self.x_unit * sizes.max():.3g}, column {lost[0]} of "
                f"{self.x_unit * sizes[lost[0]]:.3g} at most. Scale the features."
            )
        return X, y / self.y_unit

    @property
    def complete(self) -> bool:
        """Whether every column is in the working set, so that the data are no longer needed."""
        return self.index.size == self.n_features

    def correlations(self, residual: np.ndarray) -> np.ndarray:
        """sum_i s_i x_ij r_i for every column j; with an intercept the residual must have mean zero."""
        if self._by_columns:
            r = (self.normalised_weight * residual).astype(self.X.dtype, copy=False)
            column_chunks = Chunks(self.X.T, rows=max(64, (1 << 22) // r.size))
            return np.concatenate(each(_dot, column_chunks, r, n_jobs=self.n_jobs))
        chunks = Chunks(self.X, residual, self.normalised_weight, rows=self._rows)
        return total(_correlate, chunks, n_jobs=self.n_jobs)

    def residual_correlations(self, w: np.ndarray, from_data: bool = False) -> tuple[np.ndarray, float]:
        """Correlations of the residual of w with every column, and its mean square.

        Columns with non-zero coordinates must be in the working set. `from_data` computes the residual of every
        row even where the Gram matrix would do, which loses the last digits of a small mean square.
        """
        if not np.array_equal(w, self._cached[0]):
            if self.complete and not from_data:
                correlations = np.empty_like(w)
                correlations[self.index] = self.target_correlations[self.index] - self.gram @ w[self.index]
                square = max(float(self.target_square - w @ (self.target_correlations + correlations)), 0.0)
            elif self._by_columns:
                fitted = np.concatenate(
                    each(_predict, Chunks(self.X, rows=self._rows), w, n_jobs=self.n_jobs)
                )
                residual = self.target - (fitted - self.mean @ w)
                correlations, square = self.correlations(residual), self._mean(residual, squared=True)
            else:
                chunks = Chunks(self.X, self.target, self.normalised_weight, rows=self._rows)
                sums = total(_residual_sums, chunks, w, float(self.mean @ w), n_jobs=self.n_jobs)
                correlations, square = sums[0], float(sums[1])
            self._cached = (w.copy(), correlations, square)
        return self._cached[1:]

    def add_columns(self, new: np.ndarray) -> None:
        """Add columns to the working set: their means and their part of the Gram matrix."""
        if new.size == 0:
            return
        if new.size == self.n_features and not holds_sparse(self.X):
            self._add_all_columns()
            return
        self.compute_means(new)
        if new.size == self.n_features:
            self._add_sparse_columns()
            return
        old = self.index.size
        index = np.concatenate([self.index, new])
        implicit = holds_sparse(self.X) or not self.fit_intercept
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

    def _add_sparse_columns(self) -> None:
        """The Gram matrix of all columns of a sparse matrix."""
        chunks = Chunks(self.X, self.normalised_weight if self._weighted else None, rows=self._rows)
        gram = total(_sparse_products, chunks, n_jobs=self.n_jobs)
        gram = gram if self._weighted else gram / self.X.shape[0]
        self.gram = gram - np.outer(self.mean, self.mean)
        self.index = np.arange(self.n_features)
        self.in_working_set[:] = True

    def drop_zero_columns(self, w: np.ndarray) -> None:
        """Drop the columns whose coordinate is zero from the working set."""
        used = np.flatnonzero(w[self.index])
        self.index, self.gram = self.index[used], self.gram[np.ix_(used, used)].copy()
        self.in_working_set[:] = False
        self.in_working_set[self.index] = True

    def set_gram(self, gram: np.ndarray) -> float | None:
        """Set the Gram matrix of all columns, sum_i s_i x_i x_i' of the centred data.

        Two columns are checked: a matrix that is not of these data is not taken, and its error is returned.
        """
        gram = gram / self.x_unit / self.x_unit
        if self.complete:
            ends, known = self.index, self.gram
        else:
            ends = np.unique([0, self.n_features - 1])
            self.add_columns(ends)
            known = self.gram
        error = float(np.abs(gram[np.ix_(ends, ends)] - known).max(initial=0.0))
        if not error <= 1e-5 * (1.0 + np.abs(known).max(initial=0.0)):
            return error
        everything = np.arange(self.n_features)
        self.compute_means(everything)
        self.index, self.gram = everything, np.ascontiguousarray(gram)
        self.in_working_set[:] = True
        return None

    def compute_means(self, new: np.ndarray) -> None:
        """Compute the weighted means of columns."""
        if self.fit_intercept and not self.in_working_set.all():
            chunks = Chunks(self.X, self.normalised_weight, rows=self._rows)
            self.mean[new] = total(_means, chunks, new, n_jobs=self.n_jobs)

    def intercept(self, w: np.ndarray) -> float:
        """The best b for w (columns with non-zero coordinates must be in the working set)."""
        return self.target_mean - float(self.mean @ w)

    @property
    def _rows(self) -> int:
        # A chunk's result is as long as a row: chunks are large enough that summing results is cheap.
        most = LARGEST_CHUNK // max(self.n_features, 1)
        return max(1024, min(-(-self.X.shape[0] // 64), most))


def _equal_weights(y: np.ndarray, each: float) -> np.ndarray:
    return np.full(len(y), each)


def _divided(weight: np.ndarray, mass: float) -> np.ndarray:
    """Weights over their sum; as they are, where that is no number."""
    weight = np.asarray(weight, dtype=np.float64)
    return weight / mass if np.isfinite(mass) else weight


def _less(y: np.ndarray, mean: float) -> np.ndarray:
    return y - mean


def _power_of_two(size: float) -> float:
    """The largest power of two up to a size; 1 for 0."""
    return float(np.ldexp(1.0, int(np.frexp(size)[1]) - 1)) if size > 0 else 1.0


def _all_means(chunk: tuple[Any, ...]) -> np.ndarray:
    X, weight = chunk
    return X.sum(axis=0, dtype=np.float64) if weight is None else np.dot(weight, X)


def _all_products(chunk: tuple[Any, ...], mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Products of the centred columns with each other and with the target."""
    X, target, weight = chunk
    with np.errstate(over="ignore", invalid="ignore"):
        Z = X - mean
        if weight is None:
            return Z.T @ Z, Z.T @ target
        S = Z * weight[:, None]
        return Z.T @ S, S.T @ target


def _sparse_products(chunk: tuple[Any, ...]) -> np.ndarray:
    X, weight = chunk
    X = X.astype(np.float64, copy=False)
    S = X if weight is None else sparse.diags_array(weight) @ X
    return (X.T @ S).toarray()


def _dot(chunk: tuple[Any, ...], r: np.ndarray) -> np.ndarray:
    return chunk[0] @ r


def _total_of(chunk: tuple[Any, ...]) -> float:
    return chunk[0].sum(dtype=np.float64)


def _sum_of(chunk: tuple[Any, ...], squared: bool) -> float:
    """Weighted sum of numbers or of their squares (not by BLAS, whose threads cost more than they save)."""
    values, weight = chunk
    if squared:
        values = values**2
    return values.sum() if weight is None else (values * weight).sum()


def _correlate(chunk: tuple[Any, ...]) -> np.ndarray:
    X, residual, weight = chunk
    r = (weight * residual).astype(X.dtype, copy=False)
    return transposed_times(X, r).astype(np.float64, copy=False)


def _residual_sums(chunk: tuple[Any, ...], w: np.ndarray, offset: float) -> tuple[np.ndarray, float]:
    """Correlations of the residual with every column, and its mean square."""
    X, target, weight = chunk
    residual = target - (_predict((X,), w) - offset)
    return _correlate((X, residual, weight)), (residual**2 * weight).sum()


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
