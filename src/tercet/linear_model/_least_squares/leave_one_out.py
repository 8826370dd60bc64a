"""Leave-one-out errors of ridge regression, for many penalties from one decomposition.

Leaving out sample i changes its error to (y_i - f(x_i)) / (1 - h_ii), with h_ii the diagonal of the hat matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh, svd
from scipy.sparse import issparse

from tercet.core.parallel import each, one_blas_thread
from tercet.linear_model._least_squares.design_matrix import DesignMatrix

Array = np.ndarray
DENSE_COLUMNS = 5000  # up to here the d x d matrix of sparse data is cheap


def leave_one_out(design: DesignMatrix, alphas: Array, careful: bool) -> tuple[Array, Array]:
    """Errors (n_alphas, n, k), with the square root of the weight in each row, and coefficients (n_alphas, k, d).

    `careful` decomposes X itself, not its products.
    """
    n, d = design.shape
    seen = n if design.weight is None else int(np.count_nonzero(design.weight))
    if seen < 2:
        raise ValueError(f"Leaving out one row takes at least 2 rows with a weight; got n_samples={seen}.")
    with one_blas_thread():
        if n > d and not (issparse(design.X) and d > DENSE_COLUMNS):
            return leave_one_out_primal(design, alphas, careful)
        return leave_one_out_dual(design, alphas)


def leave_one_out_primal(design: DesignMatrix, alphas: Array, careful: bool) -> tuple[Array, Array]:
    """Errors (n_alphas, n, k) and coefficients (n_alphas, k, d) by the right singular vectors of X."""
    if careful:
        R, V = design.qr_factor()
        U, s, Vt = svd(R, full_matrices=False, check_finite=False)
        squares, vectors, right = s**2, Vt.T, s[:, None] * (U.T @ V)
    else:
        gram, cross = design.cross_products()
        squares, vectors = eigh(gram, check_finite=False)
        squares, right = np.maximum(squares, 0.0), vectors.T @ cross
    shrink = 1.0 / (squares[:, None] + alphas)  # (d, n_alphas)
    along = shrink[:, :, None] * right[:, None, :]  # coefficients in the singular directions
    parts = each(_leave_one_out_errors, design.chunks, vectors, shrink, along, design, n_jobs=design.n_jobs)
    coefs = np.einsum("ij,jak->aki", vectors, along)
    return np.concatenate(parts, axis=1), coefs


def _leave_one_out_errors(chunk, vectors, shrink, along, design):
    X, y, weight = chunk
    root = np.ones(X.shape[0]) if weight is None else np.sqrt(weight, dtype=np.float64)
    T = root[:, None] * (X @ vectors - design.x_mean @ vectors)
    V = root[:, None] * (y - design.y_mean)
    n_alphas, k = along.shape[1:]
    residuals = V[:, None, :] - (T @ along.reshape(len(along), -1)).reshape(-1, n_alphas, k)
    leverage = (T * T) @ shrink
    if design.intercept:
        leverage += (root**2 / design.mass)[:, None]
    return np.moveaxis(residuals / (1.0 - leverage)[:, :, None], 1, 0)


def leave_one_out_dual(design: DesignMatrix, alphas: Array) -> tuple[Array, Array]:
    """The same by the left singular vectors, from the n x n matrix XX'."""
    n = design.shape[0]
    root = np.ones(n) if design.weight is None else np.sqrt(design.weight, dtype=np.float64)
    V = root[:, None] * (design.y - design.y_mean)
    gram, transposed_product = _outer_products(design, root)
    if design.intercept:
        # The direction of the intercept is fitted exactly: made the last eigenvector, it can be left out.
        one = root / np.sqrt(design.mass)
        gram += (np.trace(gram) + 1.0) * np.outer(one, one)
    values, U = eigh(gram, check_finite=False)
    values = np.maximum(values, 0.0)
    if design.intercept:
        values, U = values[:-1], U[:, :-1]
    right = U.T @ V
    errors, coefs = [], []
    for alpha in alphas:
        dual = U @ (right / (values + alpha)[:, None])
        diagonal = (U * U) @ (1.0 / (values + alpha))
        with np.errstate(invalid="ignore", divide="ignore"):
            errors.append(np.where(root[:, None] > 0, dual / diagonal[:, None], 0.0))
        coefs.append(transposed_product(dual).T)
    return np.array(errors), np.array(coefs)


def _outer_products(design: DesignMatrix, root: Array) -> tuple[Array, Any]:
    """XX' of the centred, weighted X, and the map u -> X'u."""
    if not issparse(design.X):
        Z, _ = design.centred()
        return Z @ Z.T, lambda u: Z.T @ u
    X, mean = design.X.astype(np.float64), design.x_mean
    across = X @ mean
    gram = (X @ X.T).toarray() - across[:, None] - across + mean @ mean
    gram *= root[:, None] * root

    def transposed_product(u: Array) -> Array:
        u = root[:, None] * u
        return X.T @ u - np.outer(mean, u.sum(axis=0))

    return gram, transposed_product
