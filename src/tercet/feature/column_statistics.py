"""Statistics of columns with missing values and weights: moments and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

QUIET: Any = {"over": "ignore", "invalid": "ignore", "divide": "ignore"}


def moments(X: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column, without what is missing; NaN for a column without values.

    The sums of squares are divided by the weight of the rows, not by one less. Columns are brought to the same size
    first, so that squares of large and of small numbers are numbers.

    Examples
    --------
    >>> moments(np.array([[1.0, 1e200], [3.0, np.nan]]))
    (array([2.e+000, 1.e+200]), array([1., 0.]))
    """
    known = ~np.isnan(X)
    size = np.frexp(np.fmax.reduce(np.abs(X), axis=0, initial=0.0))[1]
    scaled = np.ldexp(np.where(known, X, 0.0).astype(np.float64), -size)
    mass = known.astype(np.float64) if weight is None else known * weight[:, None]
    with np.errstate(**QUIET):
        total = mass.sum(axis=0)
        mean = (mass * scaled).sum(axis=0) / total
        mean += (mass * (scaled - mean)).sum(axis=0) / total  # what rounding has left
        std = np.sqrt((mass * (scaled - mean) ** 2).sum(axis=0) / total)
        # a constant column has the deviation 0, not that of its rounded mean
        low, high = extremes(X if weight is None else X[weight > 0])
        flat = low == high
        return np.where(flat, low, np.ldexp(mean, size)), np.where(flat, 0.0, np.ldexp(std, size))


def extremes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest value of each column; NaN for a column without values.

    Examples
    --------
    >>> extremes(np.array([[1.0, np.nan], [3.0, np.nan]]))
    (array([ 1., nan]), array([ 3., nan]))
    """
    if not len(X):
        return np.full(X.shape[1], np.nan), np.full(X.shape[1], np.nan)
    return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)


def quantiles(X: np.ndarray, at: Any, weight: np.ndarray | None = None) -> np.ndarray:
    """Quantiles of each column, without what is missing; of shape (n_quantiles, n_columns).

    Between two values they are interpolated, as `numpy.quantile` does; a row of weight 2 is as good as two rows.

    Examples
    --------
    >>> quantiles(np.array([[1.0], [2.0], [4.0], [np.nan]]), [0.25, 0.5])
    array([[1.5],
           [2. ]])
    >>> quantiles(np.array([[1.0], [2.0]]), [0.5], np.array([1.0, 2.0]))
    array([[2.]])
    """
    at = np.asarray(at, dtype=np.float64)
    if weight is not None:
        return np.column_stack([weighted_quantiles(column, at, weight) for column in X.T])
    n, d = X.shape
    count = n - np.isnan(X).sum(axis=0)
    inner = np.sort(X, axis=0)  # NaN comes last
    place = at[:, None] * np.maximum(count - 1, 0)
    low = np.minimum(place.astype(np.intp), max(n - 1, 0))
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    columns = np.arange(d)
    return _between(inner[low, columns], inner[high, columns], place - low)


def weighted_quantiles(values: np.ndarray, at: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Quantiles of one column whose rows have weights: those of the rows repeated so many times."""
    here = ~np.isnan(values) & (weight > 0)
    order = np.argsort(values[here], kind="stable")
    values, mass = values[here][order], np.cumsum(weight[here][order], dtype=np.float64)
    if not len(values):
        return np.full(len(at), np.nan)
    place = at * max(mass[-1] - 1, 0.0)
    low = np.floor(place)
    first = np.minimum(np.searchsorted(mass, low, side="right"), len(values) - 1)
    after = np.minimum(np.searchsorted(mass, low + 1, side="right"), len(values) - 1)
    return _between(values[first], values[after], place - low)


def _between(low: np.ndarray, high: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Linear interpolation that does not overflow, and is exact between equal numbers."""
    return np.where(low == high, low, (1 - share) * low + share * high)
