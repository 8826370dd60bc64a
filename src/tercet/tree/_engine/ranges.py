"""Ranges of an array, one after the other."""

from __future__ import annotations

import numpy as np


def concatenated_ranges(values: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
    """values[start[i] : start[i] + size[i]] for all i, concatenated."""
    if not len(start):
        return values[:0]
    ends = np.cumsum(size)
    return values[np.repeat(start - (ends - size), size) + np.arange(ends[-1])]
