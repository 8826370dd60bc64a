"""The data of a least squares problem, and the sums over its rows that solvers ask for.

Rows are centred on their weighted means where there is an intercept, chunk by chunk, so that no second copy
of X is made; everything is added up in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import qr
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from tercet.core.parallel import Chunks, each, total

Array = np.ndarray


class Design:
    """X, Y and weights of min sum_i s_i (y_i - x_i·w - b)^2.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    y : array of shape (n,) or (n, k)
    weight : array of shape (n,), optional
    intercept : bool, default=True
        Whether there is a b, so that rows are centred.
    n_jobs : int, optional
        Threads; the results do not depend on it.

    Attributes
    ----------
    x_mean, y_mean : weighted means, of shapes (d,) and (k,); zero without an intercept.
    mass : sum of the weights.

    Examples
    --------
    >>> design = Design(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 4.0]))
    >>> design.cross_products()
    (array([[2.]]), array([[3.]]))
    """

    def __init__(
        self, X: Any, y: Array, weight: Array | None = None, intercept: bool = True, n_jobs: int | None = None
    ) -> None:
        self.X, self.y, self.weight = X, y.reshape(X.shape[0], -1), weight
        self.intercept, self.n_jobs = intercept, n_jobs
        self.chunks = self._cut(least=512)  # a product of fewer rows would cost less than adding it up
        self.mass = float(X.shape[0] if weight is None else weight.sum(dtype=np.float64))
        self.x_mean, self.y_mean = np.zeros(X.shape[1]), np.zeros(self.y.shape[1])
        if intercept:
            x_sum, y_sum = total(_sums, self.chunks, n_jobs=n_jobs)
            self.x_mean, self.y_mean = x_sum / self.mass, y_sum / self.mass

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def _cut(self, least: int) -> Chunks:
        chunks = Chunks(self.X, self.y, self.weight)
        if len(chunks) > 1 and chunks.borders[1] < least:
            chunks = Chunks(self.X, self.y, self.weight, rows=least)
        return chunks

    def cross_products(self) -> tuple[Array, Array]:
        """X'SX and X'SY of the centred data, the two sides of the normal equations."""
        gram, cross = total(_products, self.chunks, self.x_mean, self.y_mean, n_jobs=self.n_jobs)
        if sparse.issparse(self.X):
            gram -= self.mass * np.outer(self.x_mean, self.x_mean)
        return gram, cross

    def spreads(self) -> tuple[Array, Array]:
        """Sums of squares of the columns of the centred X, and of the targets."""
        columns, targets = total(_squares, self.chunks, self.x_mean, self.y_mean, n_jobs=self.n_jobs)
        if sparse.issparse(self.X):
            columns = np.maximum(columns - self.mass * self.x_mean**2, 0.0)
        return columns, targets

    def triangle(self) -> tuple[Array, Array]:
        """R and Q'Y of a QR factorisation of the centred, weighted X: the same problem in few rows."""
        d = self.shape[1]
        chunks = self._cut(least=4 * (d + self.y.shape[1]))
        parts = each(_triangle, chunks, self.x_mean, self.y_mean, n_jobs=self.n_jobs)
        R = parts[0] if len(parts) == 1 else _upper(np.vstack(parts))
        return R[:, :d], R[:, d:]

    def residuals(self, coef: Array) -> tuple[Array, Array]:
        """X'S(Y - XW) of the centred data, of shape (d, k), and the sum of squared residuals of each target."""
        gradient, mean, squares = total(
            _residuals, self.chunks, coef.T, self.x_mean, self.y_mean, n_jobs=self.n_jobs
        )
        return gradient - np.outer(self.x_mean, mean), squares

    def dense(self) -> tuple[Array, Array]:
        """The centred X and Y with the square roots of the weights in their rows."""
        return _centred(self.X, self.y, self.weight, self.x_mean, self.y_mean)

    def operator(self) -> LinearOperator:
        """The X of `dense` as an operator, for solvers that only multiply."""
        X, mean = self.X, self.x_mean
        root = np.ones(X.shape[0]) if self.weight is None else np.sqrt(self.weight, dtype=np.float64)

        def times(v: Array) -> Array:
            return root * (X @ v.ravel() - mean @ v.ravel())

        def transposed(u: Array) -> Array:
            u = root * u.ravel()
            return X.T @ u - mean * u.sum()

        return LinearOperator(X.shape, matvec=times, rmatvec=transposed, dtype=np.float64)

    def offset(self, coef: Array) -> Array:
        """The intercepts that go with coefficients of shape (k, d)."""
        return self.y_mean - coef @ self.x_mean


def spread(coef: Array, intercept: Any, y: Array, dtype: Any, fitted: bool = True) -> tuple[Array, Any]:
    """Coefficients of shape (k, d) and k intercepts in the form that `coef_` and `intercept_` have for y."""
    coef, intercept = coef.astype(dtype), np.asarray(intercept).astype(dtype) if fitted else 0.0
    return (coef[0], intercept[0] if fitted else 0.0) if y.ndim == 1 else (coef, intercept)


def with_ones(X: Any) -> Any:
    """X with a last column of ones."""
    ones = np.ones((X.shape[0], 1), dtype=X.dtype)
    return sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.hstack([X, ones])


# Statistics of one chunk.


def _sums(chunk):
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


def _triangle(chunk, x_mean, y_mean):
    X, y, weight = chunk
    return _upper(np.hstack(_centred(X, y, weight, x_mean, y_mean)))


def _upper(A: Array) -> Array:
    """The triangular factor alone."""
    return np.asarray(qr(A, mode="r"))


def _residuals(chunk, W, x_mean, y_mean):
    X, y, weight = chunk
    R = (y - y_mean) - (X @ W - x_mean @ W)
    S = R if weight is None else R * weight[:, None]
    return X.T @ S, S.sum(axis=0), np.einsum("ik,ik->k", R, S)
