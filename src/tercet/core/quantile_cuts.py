"""Cuts of a numeric column into intervals of equal weight."""

from __future__ import annotations

import numpy as np


def quantile_cuts(x: np.ndarray, weight: np.ndarray, n_bins: int) -> np.ndarray:
    """Cuts between the distinct numbers where there are few; else at the quantiles of the weighted numbers."""
    numbers, place = np.unique(x, return_inverse=True)
    if numbers.size <= n_bins:
        chosen = np.arange(numbers.size - 1)
    else:
        reached = np.cumsum(np.bincount(place, weight))
        goals = reached[-1] * np.arange(1, n_bins) / n_bins
        chosen = np.unique(np.searchsorted(reached, goals * (1 - 1e-12)))
        chosen = chosen[chosen < numbers.size - 1]
    low, high = numbers[chosen], numbers[chosen + 1]
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)
