"""Distances to the k-th nearest value, and how many values are nearer than some distance.

Values on a line are sorted once: the k nearest of a value are k + 1 in a row, and a count is two binary searches.
In the plane, with the larger of both coordinates' differences as the distance, rows are sorted by their first
coordinate, and the search from a row goes outwards until that coordinate alone is too far.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel


@kernel
def radius_on_line(values, k, radius):
    """Distance of each of the sorted `values` to its k-th nearest other one, into `radius`."""
    n = values.size
    for p in range(n):
        best = np.inf
        for first in range(max(p - k, 0), min(p, n - 1 - k) + 1):
            best = min(best, max(values[p] - values[first], values[first + k] - values[p]))
        radius[p] = best


@kernel
def radius_in_plane(x, y, k, start, stop, radius):
    """Chebyshev distance of the rows from `start` to `stop` to their k-th nearest; rows are sorted by x."""
    n = x.size
    nearest = np.empty(k)
    for i in range(start, stop):
        nearest[:] = np.inf
        left, right = i - 1, i + 1
        while True:
            before = x[i] - x[left] if left >= 0 else np.inf
            after = x[right] - x[i] if right < n else np.inf
            j = left if before <= after else right
            gap = min(before, after)
            if gap >= nearest[k - 1]:
                break
            if before <= after:
                left -= 1
            else:
                right += 1
            distance = max(gap, abs(y[j] - y[i]))
            place = k - 1
            if distance < nearest[place]:
                while place > 0 and nearest[place - 1] > distance:
                    nearest[place] = nearest[place - 1]
                    place -= 1
                nearest[place] = distance
        radius[i] = nearest[k - 1]


@kernel
def counts_within(values, at, radius, counts):
    """How many of the sorted `values` are within radius[i] of at[i], which are sorted too."""
    n, low, high = values.size, 0, 0
    for i in range(at.size):
        low, high = 0, n
        while low < high:
            middle = (low + high) // 2
            if at[i] - values[middle] > radius[i]:
                low = middle + 1
            else:
                high = middle
        first, high = low, n
        while low < high:
            middle = (low + high) // 2
            if values[middle] - at[i] > radius[i]:
                high = middle
            else:
                low = middle + 1
        counts[i] = low - first
