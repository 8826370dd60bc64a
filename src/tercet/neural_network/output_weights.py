"""Least-squares weights of a linear output layer, from the QR factors of chunks of rows.

    minimise  sum_i s_i |y_i - W phi(x_i) - b|^2 + alpha |W|^2

The rows [1, phi(x_i), y_i], each times the square root of its weight, have the triangular factor R. Chunks give
factors of their own, and two factors below each other have the factor of both: no array grows with the number of
rows, and the condition number is not squared as it is in the normal equations. Where rows are many and the normal
equations are well-conditioned, their Cholesky factor costs less: its solution is corrected once by the residuals of
the rows, after which it is as accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.parallel import reduce, total

EPS = float(np.finfo(np.float64).eps)
MANY_CHUNKS = 4  # from so many chunks on, the normal equations are tried first
WELL_CONDITIONED = 1e-11  # reciprocal condition number of normal equations that one correction suffices for
CHUNK_NUMBERS = 1 << 18  # in the design matrix of a chunk, unless it has few rows for its columns
CHUNK_HEIGHT = (
    4  # rows of a chunk for each of its columns, at least: the factor is to be smaller than the chunk
)


def chunk_rows(n_columns: int) -> int:
    """The number of rows in a chunk whose design matrix has so many columns.

    Examples
    --------
    >>> chunk_rows(10), chunk_rows(1000)
    (26214, 4000)
    """
    return max(64, CHUNK_HEIGHT * n_columns, CHUNK_NUMBERS // n_columns)


def output_weights(
    activations: Callable[..., np.ndarray],
    chunks: Sequence[Any],
    *parameters: Any,
    n_outputs: int,
    alpha: float = 0.0,
    fit_intercept: bool = True,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The weights W and the biases b of the least squared error.

    Parameters
    ----------
    activations : callable (rows, *parameters) -> array of shape (n_rows, n_units)
        The values that the output layer gets from a chunk of rows.
    chunks : sequence of (rows, targets, weights or None)
        The data; targets have the shape (n_rows, n_outputs).
    n_outputs : int
        The number of outputs.
    alpha : float, default=0.0
        Strength of the penalty on W.
    fit_intercept : bool, default=True
        Whether there is a bias; else it is 0.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Returns
    -------
    W : array of shape (n_outputs, n_units)
    b : array of shape (n_outputs,)

    Examples
    --------
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]])
    >>> W, b = output_weights(lambda rows: rows, [(x, y, None)], n_outputs=1)
    >>> W.round(6), b.round(6)
    (array([[2.]]), array([1.]))
    """
    bias = int(fit_intercept)
    if len(chunks) >= MANY_CHUNKS:
        found = _corrected_normal_equations(
            chunks, n_outputs, alpha, n_jobs, (activations, fit_intercept, *parameters)
        )
        if found is not None:
            b = found[0].copy() if fit_intercept else np.zeros(n_outputs)
            return np.ascontiguousarray(found[bias:].T), b
    factor = reduce(
        _triangle, chunks, _stacked_triangle, activations, fit_intercept, *parameters, n_jobs=n_jobs
    )
    m = factor.shape[1] - n_outputs
    if alpha:
        penalty = np.zeros((m - bias, factor.shape[1]))
        penalty[:, bias:m] = np.sqrt(alpha) * np.eye(m - bias)
        factor = _stacked_triangle(factor, penalty, False)
    found = solve_factor(factor[:m, :m], factor[:m, m:]).T
    b = found[:, 0].copy() if fit_intercept else np.zeros(n_outputs)
    return np.ascontiguousarray(found[:, bias:]), b


def _corrected_normal_equations(
    chunks: Any, n_outputs: int, alpha: float, n_jobs: int | None, parameters: tuple[Any, ...]
) -> np.ndarray | None:
    """The solution of shape (1 + n_units, n_outputs) by Cholesky's factor and one correction; None where the
    equations are too ill-conditioned for it."""
    products = total(_products, chunks, *parameters, n_jobs=n_jobs)
    m = len(products) - n_outputs
    gram, right = products[:m, :m], products[:m, m:]
    penalty = np.full(m, float(alpha))
    penalty[: int(parameters[1])] = 0.0  # not of the bias
    gram[np.diag_indices(m)] += penalty
    scale = np.sqrt(gram.diagonal())
    if not (np.isfinite(products).all() and (scale > 0).all()):
        return None
    scaled = gram / np.outer(scale, scale)
    factor, failed = linalg.lapack.dpotrf(scaled)
    if failed or linalg.lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max())[0] < WELL_CONDITIONED:
        return None

    def solve(Z: np.ndarray) -> np.ndarray:
        return linalg.cho_solve((factor, False), Z / scale[:, None]) / scale[:, None]

    found = solve(right)
    residual = total(_residual_products, chunks, found, *parameters, n_jobs=n_jobs)
    return found + solve(residual - penalty[:, None] * found)


def _products(chunk: Any, *parameters: Any) -> np.ndarray:
    """Inner products of the columns [1, phi(x), y]."""
    table = _table(chunk, *parameters)
    return table.T @ table


def _residual_products(chunk: Any, found: np.ndarray, *parameters: Any) -> np.ndarray:
    """Inner products of the columns [1, phi(x)] with the residuals of a solution."""
    table = _table(chunk, *parameters)
    design, Y = table[:, : len(found)], table[:, len(found) :]
    return design.T @ (Y - design @ found)


def _triangle(chunk: Any, *parameters: Any) -> np.ndarray:
    """The triangular factor of the rows [1, phi(x), y] of a chunk."""
    return _triangular_factor(_table(chunk, *parameters))


def _table(
    chunk: Any, activations: Callable[..., np.ndarray], fit_intercept: bool, *parameters: Any
) -> np.ndarray:
    """The rows [1, phi(x), y] of a chunk, times the square roots of their weights."""
    X, Y, weight = chunk
    values = activations(X, *parameters)
    parts = [np.ones((len(Y), int(fit_intercept))), values, Y]
    table = np.concatenate(parts, axis=1, dtype=np.float64)
    if weight is not None:
        table *= np.sqrt(weight, dtype=np.float64)[:, None]
    return table


def _stacked_triangle(upper: np.ndarray, lower: np.ndarray, owned: bool) -> np.ndarray:
    return _triangular_factor(np.concatenate([upper, lower]))


def _triangular_factor(table: np.ndarray) -> np.ndarray:
    R: Any = np.linalg.qr(table, mode="r")
    return R


def solve_factor(R: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The solution of R W = Z for a triangular R; the one of least norm where R is singular up to rounding.

    Examples
    --------
    >>> solve_factor(np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([[4.0], [8.0]]))
    array([[1.],
           [2.]])
    """
    m = R.shape[1]
    if not m:
        return np.zeros((0, Z.shape[1]))
    if R.shape[0] == m:
        reciprocal_condition, _ = linalg.lapack.dtrcon(R)
        if reciprocal_condition > 4 * m * EPS:
            return linalg.solve_triangular(R, Z)
    return linalg.lstsq(R, Z, cond=m * EPS)[0]
