"""Rows far from zero (a year, a time stamp), seen from nearby.

Inner products of such rows are large numbers that differ in their last digits, if at all. Where a b without a
penalty makes the coefficients of f(x) = Σ_j coef_j x_j·x + b sum to 0, a machine is the same for rows x - o,
whatever the point o: so is w = Σ_j coef_j x_j, and b of the rows themselves is less by w·o.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from tercet.kernels.base import Kernel
from tercet.kernels.linear import Linear
from tercet.kernels.rows import squares

FAR = 100.0  # the square of the mean beside the variance, of all features together


def origin(
    kernel: Kernel, X: Any, rows: np.ndarray | None = None, weight: np.ndarray | None = None
) -> np.ndarray | None:
    """The mean of (some of) the rows X, where it is far from 0 and the kernel is linear; else None.

    Of sparse rows only columns that are stored throughout are moved: zeros stay zeros.
    """
    if not isinstance(kernel, Linear) or not (isinstance(X, np.ndarray) or sparse.issparse(X)):
        return None
    X = X if rows is None else X[rows]
    n, d = X.shape
    if sparse.issparse(X):
        full = np.bincount(X.indices, minlength=d) == n if X.has_canonical_format else np.zeros(d, dtype=bool)
    else:
        full = np.ones(d, dtype=bool)
    if n == 0 or not full.any():
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        # Sums that are not BLAS's: its bits depend on its threads.
        means = share @ X if sparse.issparse(X) else np.einsum("i,ij->j", share, X)
        middle = np.where(full, means, 0.0)
        spread = (share * squares(seen_from(middle, X))).sum()
        return middle if FAR * spread < middle @ middle < np.inf else None


def seen_from(point: np.ndarray | None, X: Any) -> Any:
    """The rows X - point, in the precision of X."""
    if point is None:
        return X
    if not sparse.issparse(X):
        return (X - point).astype(X.dtype, copy=False)
    moved = X.copy()
    moved.data = (X.data - point[X.indices]).astype(X.dtype, copy=False)
    return moved


def weights(coef: Any, points: Any) -> Any:
    """w = Σ_j coef_j x_j for coefficients that sum to 0."""
    near = origin(Linear(), points)
    return safe_sparse_dot(
        coef, points if near is None else seen_from(near, points.astype(np.float64, copy=False))
    )


def height(coef: np.ndarray, X: Any, rows: np.ndarray, point: np.ndarray | None) -> float:
    """w·point, by which b is higher for rows seen from a point; w from coefficients of some rows of X."""
    if point is None:
        return 0.0
    here = np.flatnonzero(coef)
    return float(coef[here] @ seen_from(point, X[rows[here]].astype(np.float64)) @ point)
