"""Averages of predictions, and weights that are learned from errors (平均法)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from tercet.core.catalog import method
from tercet.core.functions import as_float


@method(
    zh="简单平均法",
    task="regression",
    model="H(x) = 1/T Σ_i h_i(x)",
    texts=["watermelon notes ch. 6, eq. 6.17"],
    peers=["numpy.mean"],
)
def simple_average(predictions: Any) -> np.ndarray:
    """Simple average of the members' predictions.

    Parameters
    ----------
    predictions : array of shape (n_members,) or (n_samples, n_members)
        What each member predicts for one row, or for each row.

    Returns
    -------
    average : array of shape (n_samples,), or one number

    Examples
    --------
    >>> simple_average([[2.0, 3.5, 5.0], [1.0, 1.0, 4.0]])
    array([3.5, 2. ])
    """
    return check_predictions(predictions).mean(axis=-1)


@method(
    zh="加权平均法",
    task="regression",
    model="H(x) = Σ_i w_i h_i(x), w_i >= 0, Σ w_i = 1",
    texts=["watermelon notes ch. 6, eq. 6.18"],
    peers=["numpy.average"],
)
def weighted_average(predictions: Any, weights: Any) -> np.ndarray:
    """Weighted average of the members' predictions.

    Parameters
    ----------
    predictions : array of shape (n_members,) or (n_samples, n_members)
        What each member predicts for one row, or for each row.
    weights : array of shape (n_members,)
        At least 0; they are divided by their sum.

    Returns
    -------
    average : array of shape (n_samples,), or one number

    Examples
    --------
    >>> weighted_average([2.0, 3.5, 5.0], [0.2, 0.5, 0.3])
    np.float64(3.65)
    """
    h = check_predictions(predictions)
    return h @ check_weights(weights, h.shape[-1]).astype(h.dtype)


@method(
    zh="按误差倒数取权重",
    task="regression",
    model="w_i = (1/e_i) / Σ_k (1/e_k)",
    texts=["watermelon notes ch. 6, 6.4.1"],
)
def combination_weights(errors: Any) -> np.ndarray:
    """Weights of members that are inversely proportional to their errors.

    Members without any error share the whole weight.

    Parameters
    ----------
    errors : array of shape (n_members,)
        Error of each member on rows that it has not learned from: mean squared errors, error rates.

    Returns
    -------
    weights : array of shape (n_members,)
        At least 0, with the sum 1.

    Examples
    --------
    >>> combination_weights([0.1, 0.2, 0.2])
    array([0.5 , 0.25, 0.25])
    """
    e = as_float(errors)
    if e.ndim != 1 or not e.size or not np.isfinite(e).all() or e.min() < 0:
        raise ValueError(f"errors must be finite numbers of at least 0, one for each member; got {errors!r}.")
    perfect = e == 0
    inverse = perfect.astype(float) if perfect.any() else e.min() / e  # no overflow
    return inverse / inverse.sum()


@method(
    zh="最小二乘法学习组合权重",
    task="regression",
    model="min Σ_n (y_n - Σ_i w_i h_i(x_n))² with w_i >= 0, Σ w_i = 1",
    texts=["watermelon notes ch. 6, 6.4.1"],
)
def least_squares_weights(predictions: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
    """Weights of the weighted average with the least squared error: at least 0, with the sum 1.

    Where the weights add up to 1, the error of the average is the average of the errors, E w with the matrix
    E = h - y. Scaling w by s makes ‖E w‖² + (Σ w - 1)² at its best s equal to q/(1 + q) for q = ‖E w‖², which
    grows with q: non-negative least squares of the two terms together, divided by its sum, is the solution.

    Parameters
    ----------
    predictions : array of shape (n_samples, n_members)
        What each member predicts for rows that it has not learned from.
    y : array of shape (n_samples,)
        The targets.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    weights : array of shape (n_members,)

    Examples
    --------
    >>> least_squares_weights([[0.0, 2.0], [1.0, 5.0], [2.0, 2.0]], [0.5, 2.0, 2.0]).round(3)
    array([0.75, 0.25])
    """
    h, target = check_predictions(predictions), as_float(y)
    if h.ndim != 2 or target.shape != h.shape[:1]:
        raise ValueError(
            "predictions must have the shape (n_samples, n_members) and y (n_samples,); "
            f"got {h.shape} and {target.shape}."
        )
    errors = (h - target[:, None]).astype(float)
    if sample_weight is not None:
        errors = errors * np.sqrt(np.asarray(sample_weight, dtype=float))[:, None]
    scale = np.sqrt((errors**2).sum(axis=0)).max()
    if scale == 0:
        return np.full(h.shape[1], 1 / h.shape[1])
    # the triangle of a QR decomposition has the same sums of squares as the rows
    triangle = np.linalg.qr(errors / scale, mode="r")
    table = np.vstack([triangle, np.ones(h.shape[1])])
    found = nnls(table, np.r_[np.zeros(len(triangle)), 1.0])[0]
    return found / found.sum()


def check_predictions(predictions: Any) -> np.ndarray:
    """Predictions as finite numbers, members along the last axis."""
    h = as_float(predictions)
    if h.ndim not in (1, 2) or not h.size:
        raise ValueError(
            "predictions must have the shape (n_members,) or (n_samples, n_members), with at least one; "
            f"got {h.shape}."
        )
    if not np.isfinite(h).all():
        raise ValueError(f"predictions must be finite; got {h[~np.isfinite(h)][0]}.")
    return h


def check_weights(weights: Any, n_members: int) -> np.ndarray:
    """Weights that are at least 0, divided by their sum; equal ones where none are given."""
    if weights is None:
        return np.full(n_members, 1 / n_members)
    w = np.asarray(weights, dtype=float)
    if w.shape != (n_members,) or not np.isfinite(w).all() or w.min() < 0 or not w.any():
        raise ValueError(
            f"weights must be {n_members} finite numbers, one for each member, at least 0 and not all 0; "
            f"got {weights!r}."
        )
    return w / w.sum()
