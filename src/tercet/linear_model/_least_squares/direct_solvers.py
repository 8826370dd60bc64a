"""Direct solvers of least squares problems: SVD, normal equations, LSQR for wide sparse data."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from scipy.linalg import eigh, lstsq
from scipy.sparse.linalg import lsqr

from tercet.core.parallel import one_blas_thread
from tercet.core.streams import holds_sparse, is_streamed
from tercet.linear_model._least_squares.design_matrix import DesignMatrix

Array = np.ndarray
DENSE_COLUMNS = 1000  # up to here the d x d matrix of sparse data is cheap
GRAM_WORK = 1e8  # from n d^2 on, cross products are worth their check of the condition


def solve_least_squares(design: DesignMatrix, tol: float, solver: str = "lstsq") -> tuple[Array, Any]:
    """Minimum-norm coefficients of shape (k, d), and (rank, singular values) where they are known."""
    d = design.shape[1]
    if holds_sparse(design.X) and d > DENSE_COLUMNS:
        if is_streamed(design.X):
            raise TypeError(
                f"LinearRegression learns from sparse sources of at most {DENSE_COLUMNS} columns; here are {d}. "
                "Use Ridge(solver='sag') on rows in memory."
            )
        return sparse_least_squares(design, tol), None
    with one_blas_thread() if 64 < d <= DENSE_COLUMNS else contextlib.nullcontext():
        return _dense_least_squares(design, tol, solver)


def _dense_least_squares(design: DesignMatrix, tol: float, solver: str) -> tuple[Array, Any]:
    n, d = design.shape
    if solver == "normal":
        return normal_equations(design, tol)
    if n * d * d > GRAM_WORK and n > d:
        # The condition number of X'X is the square of that of X; a step of refinement recovers the digits as
        # long as it is moderate.
        solution = normal_equations(design, max(tol, 1e-5))
        if solution[1][0] == d:
            return solution
    return least_norm(*design.qr_factor(), tol)


def least_norm(R: Array, V: Array, tol: float) -> tuple[Array, tuple[int, Array]]:
    """Minimum-norm least squares by SVD: W', then the rank and the singular values."""
    with np.errstate(over="ignore"):  # squares of residuals, which are not used
        W, _, rank, singular = lstsq(R, V, cond=tol, check_finite=False)
    return W.T, (int(rank), singular)


def normal_equations(design: DesignMatrix, tol: float) -> tuple[Array, tuple[int, Array]]:
    """Solve X'X W = X'Y by the eigenvectors of X'X, with one step of iterative refinement."""
    gram, cross = design.cross_products()
    values, vectors = eigh(gram, check_finite=False)
    singular = np.sqrt(np.maximum(values, 0.0))[::-1]
    keep = values > max(tol**2, 4e-16 * len(values)) * values[-1] if values[-1] > 0 else values > 0

    def solve(right: Array) -> Array:
        return vectors[:, keep] @ ((vectors[:, keep].T @ right) / values[keep, None])

    W = solve(cross)
    W += solve(design.residuals(W.T)[0])
    return W.T, (int(keep.sum()), singular[: min(design.shape)])


def sparse_least_squares(
    design: DesignMatrix, tol: float, damp: Any = 0.0, max_iter: int | None = None
) -> Array:
    """Least squares by LSQR, for sparse X with many columns."""
    A = design.operator()
    root = 1.0 if design.weight is None else np.sqrt(design.weight, dtype=np.float64)
    damps = np.broadcast_to(damp, design.y.shape[1])
    return np.array(
        [
            lsqr(A, root * (y - mean), damp=alpha, atol=tol, btol=tol, iter_lim=max_iter)[0]
            for y, mean, alpha in zip(design.y.T, design.y_mean, damps)
        ]
    )
