"""Statistics of columns with missing values and weights, over all rows or over groups of rows.

Missing values (NaN) are left out, and so are rows of weight 0; what has no values is NaN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import kernel_form, read_only

QUIET: Any = {"over": "ignore", "invalid": "ignore", "divide": "ignore"}
FARTHEST = 1000  # exponent of two by which numbers are scaled at most


class Moments(NamedTuple):
    """Statistics of shape (n_groups, n_columns): weight of the values, mean, standard deviation, extremes."""

    counts: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    min: np.ndarray
    max: np.ndarray


class Groups(NamedTuple):
    """Groups of rows: the group of each row, from 0 to n_groups - 1, and how many there are."""

    of: np.ndarray
    n_groups: int

    @classmethod
    def single(cls, n: int) -> Groups:
        """All of n rows as one group."""
        return cls(np.zeros(n, dtype=np.intp), 1)


def moments(X: np.ndarray, weight: np.ndarray | None = None, groups: Groups | None = None) -> Moments:
    """Count, mean, standard deviation and extremes of each column in each group.

    The sums of squares are divided by the weight of the rows, not by one less. Columns are brought to the same size
    first, so that squares of large and of small numbers are numbers.

    Examples
    --------
    >>> found = moments(np.array([[1.0, 1e200], [3.0, np.nan]]))
    >>> found.mean, found.std, found.counts
    (array([[2.e+000, 1.e+200]]), array([[1., 0.]]), array([[2., 1.]]))
    """
    of, n_groups = Groups.single(len(X)) if groups is None else groups
    exponent = np.frexp(np.fmax.reduce(np.abs(X), axis=0, initial=0.0).astype(np.float64))[1]
    exponent = np.clip(exponent, -FARTHEST, FARTHEST)
    mass = kernel_form(np.ones(len(X)) if weight is None else weight)
    rows, scale, of = kernel_form(X), kernel_form(np.ldexp(1.0, -exponent)), read_only(of)
    shape = n_groups, X.shape[1]
    count, total, low, high = np.zeros(shape), np.zeros(shape), np.full(shape, np.nan), np.full(shape, np.nan)
    add_moments(rows, of, mass, scale, count, total, low, high)
    left, squares = np.zeros(shape), np.zeros(shape)
    with np.errstate(**QUIET):
        mean = total / count
        add_deviations(rows, of, mass, scale, kernel_form(mean), left, squares)
        mean += left / count  # what rounding has left
        std = np.sqrt(np.maximum(squares / count - (left / count) ** 2, 0.0))
        flat = low == high  # a constant has the deviation 0, not that of its rounded mean
        mean, std = (
            np.where(flat, low, np.ldexp(mean, exponent)),
            np.where(flat, 0.0, np.ldexp(std, exponent)),
        )
    return Moments(count, mean, std, low, high)


def quantiles(
    X: np.ndarray, at: Any, weight: np.ndarray | None = None, groups: Groups | None = None
) -> np.ndarray:
    """Quantiles of each column in each group, of shape (n_quantiles, n_groups, n_columns).

    Between two values they are interpolated, as `numpy.quantile` does; a row of weight 2 is as good as two rows.

    Examples
    --------
    >>> quantiles(np.array([[1.0], [2.0], [4.0], [np.nan]]), [0.25, 0.5]).ravel()
    array([1.5, 2. ])
    >>> quantiles(np.array([[1.0], [2.0]]), [0.5], np.array([1.0, 2.0])).ravel()
    array([2.])
    """
    at = np.asarray(at, dtype=np.float64)
    if weight is None and groups is None:
        return np.stack([_plain_quantiles(column, at) for column in X.T], axis=1)[:, None]
    return _ordered(X, at, weight, groups)[0]


def modes(X: np.ndarray, weight: np.ndarray | None = None, groups: Groups | None = None) -> np.ndarray:
    """Most frequent value of each column in each group, the least of several; of shape (n_groups, n_columns).

    Examples
    --------
    >>> modes(np.array([[2.0], [1.0], [2.0], [np.nan]]))
    array([[2.]])
    """
    return _ordered(X, np.zeros(0), weight, groups)[1]


def _plain_quantiles(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    values = values[~np.isnan(values)]
    if not values.size:
        return np.full(len(at), np.nan)
    place = at * (values.size - 1)
    low = place.astype(np.intp)
    high = np.minimum(low + 1, values.size - 1)
    values = np.partition(values, np.unique([low, high]))
    a, b, share = values[low].astype(np.float64), values[high].astype(np.float64), place - low
    return np.where(a == b, a, (1 - share) * a + share * b)


def _ordered(
    X: np.ndarray, at: np.ndarray, weight: np.ndarray | None, groups: Groups | None
) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles and modes: what needs the values in order."""
    of, n_groups = Groups.single(len(X)) if groups is None else groups
    order = np.argsort(of, kind="stable")
    ends = read_only(np.append(0, np.cumsum(np.bincount(of, minlength=n_groups))))
    mass = kernel_form((np.ones(len(X)) if weight is None else weight)[order])
    found = np.full((X.shape[1], n_groups, len(at)), np.nan)
    mode = np.full((X.shape[1], n_groups), np.nan)
    for j in range(X.shape[1]):
        order_statistics(
            kernel_form(X[order, j]), mass, weight is not None, ends, read_only(at), found[j], mode[j]
        )
    return np.transpose(found, (2, 1, 0)), mode.T


@kernel
def add_moments(
    X: Any, group: Any, weight: Any, scale: Any, count: Any, total: Any, low: Any, high: Any
) -> None:
    """Add the weights and the scaled values of all rows to those of their groups, and keep the extremes."""
    for i in range(X.shape[0]):
        g, w = group[i], weight[i]
        if w == 0:
            continue
        for j in range(X.shape[1]):
            x = X[i, j]
            if x == x:
                count[g, j] += w
                total[g, j] += w * (x * scale[j])
                if not low[g, j] <= x:
                    low[g, j] = x
                if not high[g, j] >= x:
                    high[g, j] = x


@kernel
def add_deviations(X: Any, group: Any, weight: Any, scale: Any, mean: Any, left: Any, squares: Any) -> None:
    """Add the deviations from the means of the groups, and their squares."""
    for i in range(X.shape[0]):
        g, w = group[i], weight[i]
        if w == 0:
            continue
        for j in range(X.shape[1]):
            x = X[i, j]
            if x == x:
                away = x * scale[j] - mean[g, j]
                left[g, j] += w * away
                squares[g, j] += w * away * away


@kernel
def order_statistics(
    values: Any, weight: Any, weighted: bool, ends: Any, at: Any, found: Any, mode: Any
) -> None:
    """Quantiles found[g, k] and modes mode[g] of the values of each group; group g is ends[g] to ends[g + 1]."""
    for g in range(ends.size - 1):
        here = np.empty(ends[g + 1] - ends[g], dtype=np.int64)
        n = 0
        for i in range(ends[g], ends[g + 1]):
            if values[i] == values[i] and weight[i] > 0:
                here[n] = i
                n += 1
        if n == 0:
            continue
        part, mass = values[here[:n]], np.ones(n)
        if weighted:
            order = np.argsort(part)
            part, mass = part[order], weight[here[order]]
        else:
            part = np.sort(part)
        total, run, most = 0.0, 0.0, 0.0
        for k in range(n):
            w = mass[k]
            total += w
            mass[k] = total
            run = run + w if k > 0 and part[k] == part[k - 1] else w
            if run > most:
                most = run
                mode[g] = part[k]
        for k in range(at.size):
            place = at[k] * max(total - 1, 0.0)
            low = np.floor(place)
            a = part[min(np.searchsorted(mass, low, side="right"), n - 1)]
            b = part[min(np.searchsorted(mass, low + 1, side="right"), n - 1)]
            found[g, k] = a if a == b else (1 - (place - low)) * a + (place - low) * b
