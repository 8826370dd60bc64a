"""ChiMerge: neighbouring intervals whose class distributions do not differ are merged (Kerber 1992).

Every distinct value begins as an interval of its own. The two neighbours with the smallest statistic

    chi2 = sum over both intervals and all classes of (A - E)^2 / E,  E = n_interval n_class / n

become one, until all neighbours differ significantly. As in the paper an expected count E counts as at least 1/2.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from scipy.stats import chi2

from tercet.core.kernel import inner, kernel
from tercet.core.rows import read_only
from tercet.feature.discretization.mdl import midpoints


def chi_merge_cuts(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    significance: float = 0.05,
    min_bins: int = 1,
    max_bins: float = np.inf,
) -> np.ndarray:
    """The cut points of a column in order.

    Parameters
    ----------
    x : array of shape (n_samples,)
        A column in rising order.
    y : array of shape (n_samples,)
        Classes as indices.
    weight : array of shape (n_samples,)
        Positive weights of the rows.
    n_classes : int
    significance : float, default=0.05
        Neighbours are merged where a test at this level does not tell them apart; the threshold is the quantile
        of the chi-square distribution with n_classes - 1 degrees of freedom.
    min_bins, max_bins : int
        Merging stops at so few intervals, and goes on while there are more than so many.

    Returns
    -------
    cuts : array

    Examples
    --------
    >>> x, y = np.arange(20.0), np.repeat([0, 1], 10)
    >>> chi_merge_cuts(x, y, np.ones(20), 2)
    array([9.5])
    """
    places, counts = initial_intervals(x, y, weight, n_classes)
    threshold = float(chi2.isf(significance, n_classes - 1))
    most = float(min(max_bins, places.size))
    alive = merge_intervals(read_only(counts), threshold, min_bins, most)
    return midpoints(x, places[alive][1:])


def initial_intervals(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each interval, and its class counts.

    Neighbouring values with rows of one and the same class have chi2 = 0, and are one interval already.
    """
    begins = np.flatnonzero(np.append(True, x[1:] > x[:-1]))
    least, most = (end.reduceat(y, begins) for end in (np.minimum, np.maximum))
    pure = least == most
    same = np.append(False, pure[1:] & pure[:-1] & (least[1:] == least[:-1]))
    places = begins[~same]
    owner = np.cumsum(np.bincount(places, minlength=x.size)) - 1
    counts = np.bincount(owner * n_classes + y, weight, minlength=places.size * n_classes)
    return places, counts.reshape(places.size, n_classes)


@kernel
def merge_intervals(given: Any, threshold: Any, min_bins: Any, max_bins: Any) -> Any:
    """Which intervals are left as the first of those merged; given are their counts of shape (intervals, classes).

    A heap holds the statistics of all neighbours. One that is out of date, because a neighbour has changed since,
    is dropped when it comes up.
    """
    m = given.shape[0]
    counts = given.copy()
    alive, version = np.ones(m, np.bool_), np.zeros(m, np.int64)
    after, before = np.arange(1, m + 1), np.arange(-1, m - 1)
    heap = [(pair_statistic(counts, i, i + 1), i, version[i]) for i in range(m - 1)]
    heapq.heapify(heap)
    left = m
    while len(heap) > 0 and left > min_bins:
        value, i, made = heapq.heappop(heap)
        if not alive[i] or made != version[i]:
            continue
        if value >= threshold and left <= max_bins:
            break
        j = after[i]
        for c in range(counts.shape[1]):
            counts[i, c] += counts[j, c]
        alive[j] = False
        left -= 1
        after[i] = after[j]
        version[i] += 1
        if after[j] < m:
            before[after[j]] = i
            heapq.heappush(heap, (pair_statistic(counts, i, after[i]), i, version[i]))
        if before[i] >= 0:
            k = before[i]
            version[k] += 1
            heapq.heappush(heap, (pair_statistic(counts, k, i), k, version[k]))
    return alive


@inner
def pair_statistic(counts: Any, i: Any, j: Any) -> Any:
    """chi2 of two intervals."""
    n_i, n_j = 0.0, 0.0
    for c in range(counts.shape[1]):
        n_i += counts[i, c]
        n_j += counts[j, c]
    found = 0.0
    for c in range(counts.shape[1]):
        share = (counts[i, c] + counts[j, c]) / (n_i + n_j)
        for row, n in ((i, n_i), (j, n_j)):
            expected = n * share
            found += (counts[row, c] - expected) ** 2 / max(expected, 0.5)
    return found
