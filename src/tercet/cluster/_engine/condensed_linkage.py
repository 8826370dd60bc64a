"""Merge trees by the Lance-Williams update of distances in condensed form.

The nearest pair is merged, of equals the first. Every cluster remembers its nearest neighbour among those after it;
a row is looked through again only when its old distance is the smallest of all, and the matrix is packed when half
of the clusters are gone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.cluster._engine.linkage import MergeTree, argmin_lanes
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each

METHODS = {"single": 0, "complete": 1, "average": 2, "weighted": 3, "centroid": 4, "median": 5}


def merge_by_distances(distances: np.ndarray, n: int, linkage: str, n_jobs: Any = None) -> MergeTree:
    """Linkage by the Lance-Williams update of distances in condensed form, which are overwritten.

    "centroid" and "median" take squared distances, and give squared heights.
    """
    first, second, heights = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    neighbour, gap = np.empty(n, np.int64), np.empty(n)
    spans = [(k, min(k + 64, n)) for k in range(0, n, 64)]
    each(lambda span: nearest_in_rows(distances, n, span[0], span[1], neighbour, gap), spans, n_jobs=n_jobs)
    merge_condensed(distances, n, METHODS[linkage], neighbour, gap, first, second, heights)
    return MergeTree.of(first, second, heights)


# Kernels ------------------------------------------------------------------------------------------------------


@kernel
def nearest_in_rows(distances, n, begin, end, neighbour, gap):
    """The nearest of the later rows for each of some rows."""
    for i in range(begin, end):
        neighbour[i], gap[i] = nearest_after_row(distances, i * n - i * (i + 1) // 2 - i - 1, i, n)


@kernel
def merge_condensed(distances, n, method, neighbour, gap, first, second, heights):
    """Merge the two nearest clusters, n - 1 times; the later of the two becomes the new one.

    neighbour, gap : the nearest cluster after each, and its distance; where that one was merged, gap is a lower
    bound, and the row is looked through when it is the smallest of all.
    """
    base, sizes, name, moved = np.empty(n, np.int64), np.ones(n), np.arange(n), np.empty(n)
    stale, live, left, width = (
        np.zeros(n, np.bool_),
        np.arange(n),
        n,
        n,
    )  # live[:left] : what is there, in order
    row_bases(base, n)
    for step in range(n - 1):
        a, height = argmin_lanes(gap[:width])
        while stale[a]:
            neighbour[a], gap[a] = nearest_after_row(distances, base[a], a, width)
            stale[a] = False
            a, height = argmin_lanes(gap[:width])
        b = neighbour[a]
        first[step], second[step], heights[step] = name[a], name[b], height
        part, rest, less = sizes[a] / (sizes[a] + sizes[b]), sizes[b] / (sizes[a] + sizes[b]), 0.0
        if method == 3 or method == 5:
            part = rest = 0.5
        if method >= 4:  # squared distances of centres
            less = part * rest * height
        sizes[b] += sizes[a]
        at = np.searchsorted(live[:left], a)
        left -= 1
        for t in range(at, left):
            live[t] = live[t + 1]
        to = np.searchsorted(live[:left], b)
        gap[a], neighbour[a] = np.inf, -1
        merge_columns(distances, base, live[:at], a, b, method, part, rest, less, moved)
        merge_row_and_column(distances, base, live[at:to], a, b, method, part, rest, less, moved[at:])
        neighbour[b], gap[b] = merge_rows(
            distances, base, live[to + 1 : left], a, b, method, part, rest, less
        )
        stale[b] = False
        for t in range(to):
            c = live[t]
            z = moved[t]
            if z < gap[c] or (z == gap[c] and not stale[c] and b < neighbour[c]):
                neighbour[c], gap[c], stale[c] = b, z, False
            elif neighbour[c] == a or (neighbour[c] == b and z > gap[c]):
                stale[c] = True
        if 2 * left < width:
            repack(distances, base, live[:left], neighbour, gap, stale, sizes, name, width)
            width = left


@inner
def row_bases(base, width):
    """distances[base[i] + j] is that of (i, j), i < j, among so many clusters."""
    for i in range(width):
        base[i] = i * width - i * (i + 1) // 2 - i - 1


@inner
def united(x, y, method, part, rest, less):
    """The distance of a cluster from the union of two, from which it has the distances x and y."""
    return min(x, y) if method == 0 else (max(x, y) if method == 1 else part * x + rest * y - less)


@inner
def merge_columns(distances, base, some, a, b, method, part, rest, less, moved):
    """Distances of clusters before a < b from their union; both are in columns.

    The loop does nothing else, so that many loads are under way at the same time.
    """
    for t in range(some.size):
        row = base[some[t]]
        z = united(distances[row + a], distances[row + b], method, part, rest, less)
        distances[row + a], distances[row + b], moved[t] = np.inf, z, z


@inner
def merge_row_and_column(distances, base, some, a, b, method, part, rest, less, moved):
    """The same for clusters between a and b."""
    row = base[a]
    for t in range(some.size):
        here = base[some[t]] + b
        z = united(distances[row + some[t]], distances[here], method, part, rest, less)
        distances[here], moved[t] = z, z


@inner
def merge_rows(distances, base, some, a, b, method, part, rest, less):
    """The same for clusters after b; returns the nearest of them, and its distance."""
    at, low = -1, np.inf
    for t in range(some.size):
        c = some[t]
        z = united(distances[base[a] + c], distances[base[b] + c], method, part, rest, less)
        distances[base[b] + c] = z
        if z < low:
            at, low = c, z
    return at, low


@inner
def repack(distances, base, live, neighbour, gap, stale, sizes, name, width):
    """Drop what is no more, so that the rest lies close together; the clusters get the numbers 0, 1, ..."""
    place = np.full(width, -1)
    to = 0
    for t in range(live.size):
        row = base[live[t]]
        place[live[t]] = t
        for u in range(t + 1, live.size):
            distances[to] = distances[row + live[u]]
            to += 1
    for t in range(live.size):
        c = live[t]
        neighbour[t] = place[neighbour[c]] if neighbour[c] >= 0 else -1
        gap[t], stale[t], sizes[t], name[t] = gap[c], stale[c], sizes[c], name[c]
        live[t] = t
    row_bases(base, live.size)


@inner
def nearest_after_row(distances, base, i, n):
    """The nearest cluster after cluster i, and its distance; distances[base + j] is that of (i, j)."""
    j, low = argmin_lanes(distances[base + i + 1 : base + n])
    return (i + 1 + j if j >= 0 else -1), low
