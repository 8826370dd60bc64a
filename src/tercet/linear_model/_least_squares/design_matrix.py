"""The design matrix of a least squares problem, centred chunk by chunk, and the sums over its rows.

With an intercept, rows are centred on their weighted means one chunk at a time, so that no second copy of X is
made. All sums are accumulated in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import qr
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, reduce, total
from tercet.core.row_sums import as_columns, largest_of, mass_of
from tercet.core.rows import row_dot, row_square
from tercet.core.streams import holds_sparse, is_streamed

Array = np.ndarray
SMALL = 1 << 12  # numbers in an array that are summed at once: BLAS takes one thread for them in any case
DENSE = 1 << 16  # numbers up to which sparse rows are as well made dense


class DesignMatrix:
    """Design matrix X, targets Y and weights s of min sum_i s_i (y_i - x_i·w - b)^2.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,) or (n, k)
    weight : array of shape (n,), optional
    intercept : bool, default=True
        Whether there is an intercept b; then rows are centred.
    n_jobs : int, optional
        Threads; the results do not depend on it.

    Attributes
    ----------
    x_mean, y_mean : weighted means, of shapes (d,) and (k,); zero without an intercept.
    mass : sum of the weights.

    Examples
    --------
    >>> design = DesignMatrix(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 4.0]))
    >>> design.cross_products()
    (array([[2.]]), array([[3.]]))
    """

    def __init__(
        self, X: Any, y: Array, weight: Array | None = None, intercept: bool = True, n_jobs: int | None = None
    ) -> None:
        if sparse.issparse(X) and X.shape[0] * X.shape[1] < DENSE:
            X = X.toarray()
        self.X, self.y, self.weight = X, as_columns(y), weight
        self.intercept, self.n_jobs = intercept, n_jobs
        self.chunks = self._chunks(
            least=512
        )  # adding up the products of fewer rows costs more than making them
        self.mass = mass_of(X, weight)
        self.x_mean, self.y_mean = np.zeros(X.shape[1]), np.zeros(self.y.shape[1])
        if intercept:
            x_sum, y_sum = self._total(_weighted_sums)
            self.x_mean, self.y_mean = x_sum / self.mass, y_sum / self.mass

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def _total(self, statistics: Any, *parameters: Any) -> Any:
        """The sum of the statistics of all chunks; of small data, which no thread need share, at once."""
        if self.X.shape[0] * self.X.shape[1] < SMALL:
            return statistics((self.X, self.y, self.weight), *parameters)
        return total(statistics, self.chunks, *parameters, n_jobs=self.n_jobs)

    def _chunks(self, least: int) -> Chunks:
        chunks = Chunks(self.X, self.y, self.weight)
        if len(chunks) > 1 and chunks.borders[1] < least:
            chunks = Chunks(self.X, self.y, self.weight, rows=least)
        return chunks

    def cross_products(self) -> tuple[Array, Array]:
        """X'SX and X'SY of the centred data, the two sides of the normal equations."""
        gram, cross = self._total(_products, self.x_mean, self.y_mean)
        if holds_sparse(self.X):
            gram -= self.mass * np.outer(self.x_mean, self.x_mean)
        return gram, cross

    def sums_of_squares(self) -> tuple[Array, Array]:
        """Sums of squares of the columns of the centred X, and of the targets."""
        columns, targets = self._total(_squares, self.x_mean, self.y_mean)
        if holds_sparse(self.X):
            columns = np.maximum(columns - self.mass * self.x_mean**2, 0.0)
        return columns, targets

    def qr_factor(self) -> tuple[Array, Array]:
        """R and Q'Y of a QR factorisation of the centred, weighted X: an equivalent problem with few rows."""
        d = self.shape[1]
        if self.X.shape[0] * d < SMALL:
            R = _qr_factor((self.X, self.y, self.weight), self.x_mean, self.y_mean)
            return R[:, :d], R[:, d:]
        chunks = self._chunks(least=4 * (d + self.y.shape[1]))
        R = reduce(_qr_factor, chunks, _r_of_both, self.x_mean, self.y_mean, n_jobs=self.n_jobs)
        return R[:, :d], R[:, d:]

    def residuals(self, coef: Array) -> tuple[Array, Array]:
        """X'S(Y - XW) of the centred data, of shape (d, k), and the sum of squared residuals of each target."""
        gradient, mean, squares = self._total(_residuals, coef.T, self.x_mean, self.y_mean)
        return gradient - np.outer(self.x_mean, mean), squares

    def centred(self) -> tuple[Array, Array]:
        """The centred X and Y with the square roots of the weights in their rows."""
        return _centred(self.X, self.y, self.weight, self.x_mean, self.y_mean)

    def operator(self) -> LinearOperator:
        """The X of `centred` as a linear operator, for iterative solvers."""
        X, mean = self.X, self.x_mean
        root = np.ones(X.shape[0]) if self.weight is None else np.sqrt(self.weight, dtype=np.float64)

        def times(v: Array) -> Array:
            return root * (X @ v.ravel() - mean @ v.ravel())

        def transposed(u: Array) -> Array:
            u = root * u.ravel()
            return X.T @ u - mean * u.sum()

        return LinearOperator(X.shape, matvec=times, rmatvec=transposed, dtype=np.float64)

    def intercepts(self, coef: Array) -> Array:
        """The optimal intercepts for coefficients of shape (k, d)."""
        return self.y_mean - coef @ self.x_mean


def match_target_shape(
    coef: Array, intercept: Any, y: Array, dtype: Any, fitted: bool = True, flat: bool = False
) -> tuple[Array, Any]:
    """Coefficients (k, d) and k intercepts in the shapes of `coef_` and `intercept_` for y of 1 or 2 axes.

    With `flat` the coefficients of one target are a vector though y is a column, as scikit-learn's ridge has them.
    """
    with np.errstate(over="ignore"):
        coef, intercept = coef.astype(dtype), np.asarray(intercept).astype(dtype) if fitted else 0.0
    if not np.isfinite(intercept).all():  # NaN, where terms of both signs overflow
        wider = "" if dtype == np.float64 else ", or give X in double precision"
        raise ValueError(f"intercept_ is beyond {np.dtype(dtype)} numbers: scale the targets{wider}.")
    if y.ndim == 1:
        return coef[0], intercept[0] if fitted else 0.0
    return coef[0] if flat and len(coef) == 1 else coef, intercept


def in_units(X: Any, alphas: Array) -> tuple[Any, Array, float]:
    """X and the penalties of ridge regression in units of X in which its squares are numbers, and the unit.

    The unit is 1, or a power of two where values are very large or very small; coefficients are to be divided by
    it. Small values stay as they are where the penalties alone decide.
    """
    size = largest_of(X)
    if size == 0.0 or 1e-140 < size < 1e140:
        return X, alphas, 1.0
    if is_streamed(X):
        raise ValueError(
            f"X holds numbers up to {size:.3g}, whose squares overflow or vanish. Scale the features."
        )
    unit = float(np.ldexp(1.0, int(np.frexp(size)[1]) - 1))
    with np.errstate(over="ignore"):
        scaled = np.asarray(alphas) / unit / unit
    return (X / unit, scaled, unit) if np.max(scaled) < 1e250 else (X, alphas, 1.0)


def append_ones(X: Any) -> Any:
    """X with a last column of ones."""
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])


# Statistics of one chunk.


def _weighted_sums(chunk):
    X, y, weight = chunk
    s = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
    return X.T @ s, y.T @ s


def _centred(X, y, weight, x_mean, y_mean):
    Z = X.toarray() - x_mean if sparse.issparse(X) else X - x_mean
    V = y - y_mean
    if weight is not None:
        root = np.sqrt(weight, dtype=np.float64)[:, None]
        Z *= root
        V = V * root
    return Z, V


def _products(chunk, x_mean, y_mean):
    X, y, weight = chunk
    if not sparse.issparse(X):
        Z, V = _centred(X, y, weight, x_mean, y_mean)
        return Z.T @ Z, Z.T @ V
    V = y - y_mean
    X = X.astype(np.float64)
    scaled = X if weight is None else sparse.diags_array(weight.astype(np.float64)) @ X
    # centring the targets alone is enough: sum s (x - mean)(y - mean) = sum s x (y - mean)
    return (scaled.T @ X).toarray(), scaled.T @ V


def _squares(chunk, x_mean, y_mean):
    X, y, weight = chunk
    s = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
    squares = X.multiply(X) if sparse.issparse(X) else (X - x_mean) ** 2
    return squares.T @ s, ((y - y_mean) ** 2).T @ s


def _qr_factor(chunk, x_mean, y_mean):
    X, y, weight = chunk
    return _r_factor(np.hstack(_centred(X, y, weight, x_mean, y_mean)))


def _r_factor(A: Array) -> Array:
    """R of a QR factorisation."""
    return np.asarray(qr(A, mode="r"))


def _r_of_both(upper: Array, lower: Array, owned: bool) -> Array:
    """R of two blocks of rows, from that of each."""
    return _r_factor(np.vstack([upper, lower]))


def _residuals(chunk, W, x_mean, y_mean):
    X, y, weight = chunk
    R = (y - y_mean) - (X @ W - x_mean @ W)
    S = R if weight is None else R * weight[:, None]
    return X.T @ S, S.sum(axis=0), np.einsum("ik,ik->k", R, S)


@kernel
def largest_row_norm(rows, weight, mean, extra):
    """The largest of weight * (squared distance of the row from the mean + extra), a bound of the curvature."""
    square = 0.0
    for j in range(mean.size):
        square += mean[j] * mean[j]
    largest = 0.0
    for i in range(weight.size):
        square_distance = row_square(rows, i) - 2.0 * row_dot(rows, i, mean) + square
        largest = max(largest, weight[i] * (square_distance + extra))
    return largest
