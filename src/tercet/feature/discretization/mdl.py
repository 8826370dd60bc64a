"""Entropy-based discretisation with the minimum description length principle (Fayyad and Irani 1993).

A sorted column is cut where the class entropy of the two parts is least, and each part again, as long as a cut
shortens the description of the labels:

    gain > [log2(N - 1) + log2(3^k - 2) - (k E - k1 E1 - k2 E2)] / N

with the entropies E of the rows and of the two parts, and the numbers k of the classes that are in them.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.rows import read_only


class Cut(NamedTuple):
    """The best cut of a run of sorted rows; rows `start` to `place - 1` are on its left side.

    Attributes
    ----------
    gain : float
        The decrease of the entropy in bits, times the weight of the rows.
    accepted : bool
        Whether it shortens the description.
    start, place, end : int
    """

    gain: float
    accepted: bool
    start: int
    place: int
    end: int


def mdl_cuts(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    n_classes: int,
    max_bins: float = np.inf,
    *,
    once: bool = False,
) -> np.ndarray:
    """The cut points of a column in order; at most `max_bins` - 1, those of the largest gain first.

    Parameters
    ----------
    x : array of shape (n_samples,)
        A column in rising order.
    y : array of shape (n_samples,)
        Classes as indices.
    weight : array of shape (n_samples,)
        Positive weights of the rows.
    n_classes : int
    max_bins : int, default=inf
    once : bool, default=False
        Whether the best cut of the whole column is made even where it does not shorten the description.

    Returns
    -------
    cuts : array

    Examples
    --------
    >>> x, y = np.arange(20.0), np.repeat([0, 1], 10)
    >>> mdl_cuts(x, y, np.ones(20), 2)
    array([9.5])
    """
    data = (
        read_only(np.ascontiguousarray(y, dtype=np.int64)),
        read_only(np.ascontiguousarray(weight, dtype=np.float64)),
        read_only(np.append(x[1:] > x[:-1], False)),
        n_classes,
    )
    first = Cut(*best_cut(*data, 0, x.size))
    waiting = [(-first.gain, first)] if first.accepted or (once and first.place > 0) else []
    places: list[int] = []
    while waiting and len(places) + 1 < max_bins:
        _, cut = heapq.heappop(waiting)
        places.append(cut.place)
        for start, end in ((cut.start, cut.place), (cut.place, cut.end)):
            part = Cut(*best_cut(*data, start, end))
            if part.accepted:
                heapq.heappush(waiting, (-part.gain, part))
    return midpoints(x, np.sort(np.array(places, dtype=np.int64)))


def midpoints(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Cut points between the rows before and at some places; a value at a cut point belongs to the upper part."""
    low, high = x[places - 1].astype(np.float64), x[places].astype(np.float64)
    middle = low / 2 + high / 2
    return np.where(middle > low, middle, high)


@kernel
def best_cut(y: Any, weight: Any, ends: Any, n_classes: Any, start: Any, end: Any) -> Any:
    """The cut of rows start to end - 1 with the least entropy; `ends` marks the last row of each value."""
    left, right = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(start, end):
        right[y[i]] += weight[i]
    whole = right.copy()
    total = 0.0
    sum_right = 0.0  # of n log n over the classes, which rows change one class at a time
    of_left, of_right = np.zeros(n_classes), np.zeros(n_classes)
    for c in range(n_classes):
        total += right[c]
        of_right[c] = n_log_n(right[c])
        sum_right += of_right[c]
    sum_left, mass, best, place = 0.0, 0.0, -np.inf, -1
    for i in range(start, end - 1):
        c, w = y[i], weight[i]
        left[c] += w
        right[c] = max(right[c] - w, 0.0)
        sum_left, sum_right = sum_left - of_left[c], sum_right - of_right[c]
        of_left[c], of_right[c] = n_log_n(left[c]), n_log_n(right[c])
        sum_left, sum_right = sum_left + of_left[c], sum_right + of_right[c]
        mass += w
        if ends[i]:
            score = sum_left - n_log_n(mass) + sum_right - n_log_n(total - mass)
            if score > best + 1e-9 * total:
                best, place = score, i + 1
    if place < 0:
        return 0.0, False, start, start, end
    left[:] = 0.0
    for i in range(start, place):
        left[y[i]] += weight[i]
    for c in range(n_classes):
        right[c] = max(whole[c] - left[c], 0.0) if whole[c] > left[c] * (1 + 1e-12) else 0.0
    n, k, e = class_entropy(whole)
    n1, k1, e1 = class_entropy(left)
    n2, k2, e2 = class_entropy(right)
    gain = e - (n1 * e1 + n2 * e2) / n
    # 3^k is no number for 650 classes and more; beyond 30 its 2 does not matter
    delta = (np.log2(3.0**k - 2.0) if k <= 30 else k * np.log2(3.0)) - (k * e - k1 * e1 - k2 * e2)
    accepted = gain * n > np.log2(n - 1.0) + delta if n > 1.0 else False
    return gain * n, accepted, start, place, end


@inner
def n_log_n(n: Any) -> Any:
    return n * np.log2(n) if n > 0.0 else 0.0


@inner
def class_entropy(counts: Any) -> Any:
    """Sum of the counts, number of classes, and entropy in bits."""
    total, present = 0.0, 0
    for c in range(counts.size):
        total += counts[c]
        if counts[c] > 0.0:
            present += 1
    entropy = 0.0
    for c in range(counts.size):
        if counts[c] > 0.0:
            entropy -= counts[c] / total * np.log2(counts[c] / total)
    return total, present, entropy
