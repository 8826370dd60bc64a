"""Distances to the k-th nearest value, and how many values are nearer than some distance.

Values on a line are sorted once: the k nearest of a value are k + 1 in a row, and a count is two binary searches.
In the plane, with the larger of both coordinates' differences as the distance, rows are cut into strips of equally
many rows by their first coordinate, and each strip is sorted by the second. The search from a row goes outwards in
its own strip until that coordinate alone is too far, and then through the strips beside it.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel


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
def cut_into_strips(x, y, by_x, by_y, height, strip_x, strip_y, row):
    """Rows of each strip of `height` rows sorted by y, into `strip_x` and `strip_y`; which rows, into `row`.

    by_x and by_y have the rows sorted by x and by y. Rows that come in the order of y fill their strips in order.
    """
    n = x.size
    strip = np.empty(n, np.int64)
    for p in range(n):
        strip[by_x[p]] = p // height
    place = height * np.arange((n + height - 1) // height)
    for q in range(n):
        i = by_y[q]
        at = place[strip[i]]
        strip_x[at], strip_y[at], row[at] = x[i], y[i], i
        place[strip[i]] += 1


@inner
def _search_strip(strip_x, strip_y, first, last, below, above, x, y, k, nearest):
    """Put distances to rows of a strip among the k `nearest`: rows below and above of y, as far as may matter."""
    while True:
        down = y - strip_y[below] if below >= first else np.inf
        up = strip_y[above] - y if above < last else np.inf
        gap = min(down, up)
        if gap >= nearest[k - 1]:
            break
        if down <= up:
            distance = max(gap, abs(strip_x[below] - x))
            below -= 1
        else:
            distance = max(gap, abs(strip_x[above] - x))
            above += 1
        if distance < nearest[k - 1]:
            place = k - 1
            while place > 0 and nearest[place - 1] > distance:
                nearest[place] = nearest[place - 1]
                place -= 1
            nearest[place] = distance


@inner
def _first_not_below(values, low, high, y):
    """Position of the first of the sorted values from `low` to `high` that is at least y."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < y:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def radius_in_plane(strip_x, strip_y, row, edges, height, k, start, stop, radius):
    """Chebyshev distances of the rows at `start` to `stop` of the strips to their k-th nearest, by row.

    edges (n_strips, 2) has the least and the greatest x of each strip.
    """
    n, nearest = strip_x.size, np.empty(k)
    for p in range(start, stop):
        x, y, own = strip_x[p], strip_y[p], p // height
        nearest[:] = np.inf
        last = min((own + 1) * height, n)
        _search_strip(strip_x, strip_y, own * height, last, p - 1, p + 1, x, y, k, nearest)
        for way in (-1, 1):
            s = own + way
            while 0 <= s < len(edges) and way * (edges[s, (1 - way) // 2] - x) < nearest[k - 1]:
                first, last = s * height, min((s + 1) * height, n)
                at = _first_not_below(strip_y, first, last, y)
                _search_strip(strip_x, strip_y, first, last, at - 1, at, x, y, k, nearest)
                s += way
        radius[row[p]] = nearest[k - 1]


@kernel
def counts_around(values, order, radius, counts):
    """How many values are within radius[i] of values[i]; `order` sorts the values. From each value outwards."""
    n = values.size
    ordered = values[order]
    for p in range(n):
        i = order[p]
        x, r, step = ordered[p], radius[i], 1
        while p - step >= 0 and x - ordered[p - step] <= r:
            step *= 2
        low, high = max(p - step, -1), p - step // 2  # the first is too far, the last is not
        while high - low > 1:
            middle = (low + high) // 2
            if x - ordered[middle] <= r:
                high = middle
            else:
                low = middle
        first, step = high, 1
        while p + step < n and ordered[p + step] - x <= r:
            step *= 2
        low, high = p + step // 2, min(p + step, n)
        while high - low > 1:
            middle = (low + high) // 2
            if ordered[middle] - x <= r:
                low = middle
            else:
                high = middle
        counts[i] = high - first
