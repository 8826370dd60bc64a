"""Centre rows to avoid cancellation in the linear kernel.

Inner products of rows with a large mean (a year, a time stamp) are large numbers that differ in their last digits.
Where an unpenalised intercept b makes the coefficients of f(x) = Σ_j coef_j x_j·x + b sum to 0, a machine learned
from the rows x - o has the same coefficients and the same w = Σ_j coef_j x_j for any offset o, and its b is larger
by w·o.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from tercet.kernels._engine.prepared_rows import squared_norms
from tercet.kernels.base import Kernel
from tercet.kernels.linear import Linear

FAR = 100.0  # the square of the mean beside the variance, of all features together


def centring_offset(
    kernel: Kernel, X: Any, rows: np.ndarray | None = None, weight: np.ndarray | None = None
) -> np.ndarray | None:
    """The mean of (some of) the rows X where centring pays: the kernel is linear and the mean far from 0.

    None elsewhere. Of sparse rows only columns without a zero are centred: zeros stay zeros.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n, d), or what else the kernel takes
    rows : array of row numbers, optional
    weight : array of shape (n,), or one for each of `rows`, optional

    Returns
    -------
    array of shape (d,) or None

    Examples
    --------
    >>> centring_offset(Linear(), np.array([[2019.0], [2021.0]]))
    array([2020.])
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
        mean = np.where(full, means, 0.0)
        variance = (share * squared_norms(subtract_offset(mean, X))).sum()
        return mean if FAR * variance < mean @ mean < np.inf else None


def subtract_offset(offset: np.ndarray | None, X: Any) -> Any:
    """The rows X - offset, in the precision of X; X itself without an offset.

    Examples
    --------
    >>> subtract_offset(np.array([2020.0]), np.array([[2019.0], [2021.0]]))
    array([[-1.],
           [ 1.]])
    """
    if offset is None:
        return X
    if not sparse.issparse(X):
        return (X - offset).astype(X.dtype, copy=False)
    centred = X.copy()
    centred.data = (X.data - offset[X.indices]).astype(X.dtype, copy=False)
    return centred


def primal_weights(coef: Any, points: Any) -> Any:
    """w = Σ_j coef_j x_j for coefficients that sum to 0, without cancellation.

    Examples
    --------
    >>> primal_weights(np.array([-1.0, 1.0]), np.array([[2019.0], [2021.0]]))
    array([2.])
    """
    offset = centring_offset(Linear(), points)
    return safe_sparse_dot(
        coef, points if offset is None else subtract_offset(offset, points.astype(np.float64, copy=False))
    )


def intercept_shift(coef: np.ndarray, X: Any, rows: np.ndarray, offset: np.ndarray | None) -> float:
    """w·offset, by which the intercept is larger for centred rows; w from coefficients of some rows of X.

    Examples
    --------
    >>> intercept_shift(
    ...     np.array([-1.0, 1.0]), np.array([[2019.0], [2021.0]]), np.arange(2), np.array([2020.0])
    ... )
    4040.0
    """
    if offset is None:
        return 0.0
    here = np.flatnonzero(coef)
    return float(coef[here] @ subtract_offset(offset, X[rows[here]].astype(np.float64)) @ offset)
