"""Values of gamma: a number, or "scale" and "auto" resolved from data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def resolve_gamma(gamma: Any, X: Any, sample_weight: np.ndarray | None = None) -> float:
    """gamma as a number; "scale" is 1 / (columns * variance of X), "auto" is 1 / columns.

    Examples
    --------
    >>> resolve_gamma("auto", np.ones((3, 4)))
    0.25
    """
    if gamma == "scale":
        return gamma_scale(X, sample_weight)
    return 1.0 / X.shape[1] if gamma == "auto" else float(gamma)


def numeric_gamma(gamma: Any) -> float:
    """A gamma that must be a number already, as `Kernel.resolve` leaves it."""
    if gamma is None or isinstance(gamma, str):
        raise ValueError(f"gamma={gamma!r} is yet to be found from data: kernel.resolve(X).")
    return float(gamma)


def gamma_scale(X: Any, sample_weight: np.ndarray | None = None) -> float:
    """gamma="scale": 1 / (number of columns * variance of all entries), 1 when nothing varies."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = _variance(X, sample_weight)
    if not np.isfinite(X.shape[1] * variance):
        raise ValueError(
            "gamma='scale' is 1 / (columns * variance of X), and the variance is too large a number: scale the "
            "features (StandardScaler, MinMaxScaler), or give gamma as a number."
        )
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _variance(X: Any, sample_weight: np.ndarray | None) -> float:
    """Weighted variance of all entries."""
    if sample_weight is None and not sparse.issparse(X):
        return float(X.var(dtype=np.float64))
    weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    weight = weight / (weight.sum() * X.shape[1])
    sums = np.asarray(X.sum(axis=1, dtype=np.float64)).reshape(-1)
    mean = float(weight @ sums)
    if sparse.issparse(X):
        squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1)).reshape(-1)
        squares = squares - 2 * mean * sums + X.shape[1] * mean * mean
    else:
        squares = ((X - mean) ** 2).sum(axis=1, dtype=np.float64)
    return float(weight @ squares)
