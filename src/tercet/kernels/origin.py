"""Rows far from zero (a year, a time stamp), seen from nearby.

Inner products of such rows are large numbers that differ in their last digits, if at all. Where a b without a
penalty makes the coefficients of f(x) = Σ_j coef_j x_j·x + b sum to 0, a machine is the same for rows x - o,
whatever the point o: so is w = Σ_j coef_j x_j, and b of the rows themselves is less by w·o.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from tercet.kernels.base import Kernel
from tercet.kernels.linear import Linear

FAR = 100.0  # the square of the mean beside the variance, of all features together


def origin(
    kernel: Kernel, X: Any, rows: np.ndarray | None = None, weight: np.ndarray | None = None
) -> np.ndarray | None:
    """The mean of (some of) the rows X, where it is far from 0 and the kernel is linear; else None."""
    if not isinstance(kernel, Linear) or not isinstance(X, np.ndarray):
        return None
    X = X if rows is None else X[rows]
    if X.shape[0] == 0:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = None if weight is None else weight / weight.sum()
        middle = X.mean(axis=0, dtype=np.float64) if share is None else share @ X.astype(np.float64)
        squares = np.einsum("ij,ij->i", X - middle, X - middle)
        spread = float(squares.mean() if share is None else share @ squares)
        return middle if FAR * spread < middle @ middle < np.inf else None


def seen_from(point: np.ndarray | None, X: Any) -> Any:
    """The rows X - point, in the precision of X."""
    return X if point is None else (X - point).astype(X.dtype, copy=False)


def weights(coef: Any, points: Any) -> Any:
    """w = Σ_j coef_j x_j for coefficients that sum to 0."""
    near = origin(Linear(), points)
    return safe_sparse_dot(coef, points if near is None else points - near)


def height(coef: np.ndarray, X: Any, rows: np.ndarray, point: np.ndarray | None) -> float:
    """w·point, by which b is higher for rows seen from a point; w from coefficients of some rows of X."""
    if point is None:
        return 0.0
    here = np.flatnonzero(coef)
    return float(coef[here] @ (X[rows[here]] - point) @ point)
