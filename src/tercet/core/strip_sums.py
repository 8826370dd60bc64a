"""Sums over rows, strip by strip: the same bits for arrays in memory and for pages of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

STRIP_ROWS = 1 << 14


def strip_parts(function: Callable[..., Any], *arrays: Any) -> list[np.ndarray]:
    """`function` of each strip of arrays: a vector of sums over its rows."""
    n = len(arrays[0])
    return [
        np.asarray(function(*(array[i : i + STRIP_ROWS] for array in arrays)))
        for i in range(0, max(n, 1), STRIP_ROWS)
    ]


def total_of(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The sums of vectors, rounded once; infinite or NaN where the parts are.

    Examples
    --------
    >>> total_of([np.array([1e20, 1.0]), np.array([1.0, 2.0]), np.array([-1e20, 3.0])])
    array([1., 6.])
    """
    if len(parts) == 1:
        return parts[0]
    table = np.asarray(parts)
    return np.array([math.fsum(column) if np.isfinite(column).all() else column.sum() for column in table.T])


def strip_total(function: Callable[..., Any], *arrays: Any) -> np.ndarray:
    """The sums over all rows of what `function` gives for strips of them.

    Examples
    --------
    >>> strip_total(lambda x: [x.sum(), x.size], np.arange(4.0))
    array([6., 4.])
    """
    return total_of(strip_parts(function, *arrays))
