"""Merge trees in which only neighbours of a graph may be merged.

Clusters are neighbours when any of their rows are. Ward's distance is that of the clusters; the others are taken
over the edges between two clusters. Every cluster keeps a list of its edges; those to clusters that are no more are
passed over. The nearest pair is on top of a heap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.cluster._engine.linkage import MergeTree
from tercet.core.kernel import inner, kernel

METHODS = {"single": 0, "complete": 1, "average": 2, "ward": 3}


class Edges(NamedTuple):
    """Linked lists of edges, one for each cluster: the other end, the distance, the next of the list (-1: none)."""

    other: np.ndarray
    value: np.ndarray
    after: np.ndarray


class Pairs(NamedTuple):
    """A heap of pairs of clusters, the nearest on top; of equals, the one with the smaller numbers."""

    value: np.ndarray
    high: np.ndarray
    low: np.ndarray


def merge_neighbours(
    X: np.ndarray, first: np.ndarray, second: np.ndarray, distances: np.ndarray, linkage: str, n_clusters: int
) -> MergeTree:
    """Merge the nearest neighbours until `n_clusters` are left.

    first > second : the ends of the edges; distances : of the edges. X is used by Ward's linkage only.
    """
    n = len(X)
    merges = n - n_clusters
    sums, sizes = np.zeros((n + merges if linkage == "ward" else 1, X.shape[1])), np.ones(n + merges)
    if linkage == "ward":
        sums[:n] = X
    children, heights = np.empty((merges, 2), dtype=np.int64), np.empty(merges)
    done = merge_edges(
        n,
        first.astype(np.int64),
        second.astype(np.int64),
        distances.astype(np.float64),
        METHODS[linkage],
        sums,
        sizes,
        children,
        heights,
    )
    if done < merges:
        raise ValueError(f"The graph falls apart: only {done} of {merges} merges are possible.")
    return MergeTree(children, heights)


@kernel
def merge_edges(n, first, second, distances, method, sums, sizes, children, heights):
    """Merge the two nearest neighbours again and again; returns how often it was possible."""
    m, merges = first.size, heights.size
    edges = Edges(np.empty(2 * m, np.int64), np.empty(2 * m), np.empty(2 * m, np.int64))
    head, alive = np.full(n + merges, -1), np.ones(n + merges, np.bool_)
    pairs, size = Pairs(np.empty(m), np.empty(m, np.int64), np.empty(m, np.int64)), 0
    for e in range(m):
        put(edges, head, 2 * e, first[e], second[e], distances[e])
        put(edges, head, 2 * e + 1, second[e], first[e], distances[e])
        size = push_pair(pairs, size, distances[e], first[e], second[e])
    used, seen, found = 2 * m, np.full(n + merges, -1), np.empty(n + merges, np.int64)
    merged = np.empty(n + merges)
    for step in range(merges):
        a = b = np.int64(-1)
        height = 0.0
        while size > 0:
            height, a, b = pairs.value[0], pairs.high[0], pairs.low[0]
            size = pop_pair(pairs, size)
            if alive[a] and alive[b]:
                break
            a = b = np.int64(-1)
        if a < 0:
            return step
        k = n + step
        children[step, 0], children[step, 1], heights[step] = b, a, height
        alive[a] = alive[b] = False
        sizes[k] = sizes[a] + sizes[b]
        if method == 3:
            sums[k] = sums[a] + sums[b]
        count = neighbours_of_both(edges, head, alive, sizes, a, b, method, seen, found, merged, step)
        edges = room_for_edges(edges, used + 2 * count)
        pairs = room_for_pairs(pairs, size + count)
        for r in range(count):
            c = found[r]
            value = ward(sums, sizes, k, c) if method == 3 else merged[c]
            put(edges, head, used, k, c, value)
            put(edges, head, used + 1, c, k, value)
            used += 2
            size = push_pair(pairs, size, value, k, c)
    return merges


@inner
def put(edges, head, e, cluster, other, value):
    """Put edge e on top of a cluster's list."""
    edges.other[e], edges.value[e], edges.after[e] = other, value, head[cluster]
    head[cluster] = e


@inner
def ward(sums, sizes, a, b):
    """Ward's distance: that of the centres times the root of 2 ab / (a + b)."""
    total, p, q = 0.0, sizes[a], sizes[b]
    for j in range(sums.shape[1]):
        gap = sums[a, j] / p - sums[b, j] / q
        total += gap * gap
    return np.sqrt(2.0 * p * q / (p + q) * total)


@inner
def neighbours_of_both(edges, head, alive, sizes, a, b, method, seen, found, merged, step):
    """The neighbours of two clusters, and their distances from the union; returns how many there are."""
    count = 0
    for side in range(2):
        cluster = b if side else a
        e = head[cluster]
        while e >= 0:
            c, value = edges.other[e], edges.value[e]
            if alive[c]:
                if seen[c] != step:
                    seen[c], found[count], merged[c] = step, c, value
                    count += 1
                elif method == 0:
                    merged[c] = min(merged[c], value)
                elif method == 1:
                    merged[c] = max(merged[c], value)
                elif method == 2:
                    merged[c] = (sizes[a] * merged[c] + sizes[b] * value) / (sizes[a] + sizes[b])
            e = edges.after[e]
    return count


@inner
def room_for_edges(edges, size):
    """Lists with room for so many edges."""
    if size <= edges.other.size:
        return edges
    more = Edges(np.empty(2 * size, np.int64), np.empty(2 * size), np.empty(2 * size, np.int64))
    for e in range(edges.other.size):
        more.other[e], more.value[e], more.after[e] = edges.other[e], edges.value[e], edges.after[e]
    return more


@inner
def room_for_pairs(pairs, size):
    """A heap with room for so many pairs."""
    if size <= pairs.value.size:
        return pairs
    more = Pairs(np.empty(2 * size), np.empty(2 * size, np.int64), np.empty(2 * size, np.int64))
    for e in range(pairs.value.size):
        more.value[e], more.high[e], more.low[e] = pairs.value[e], pairs.high[e], pairs.low[e]
    return more


@inner
def before(pairs, i, value, high, low):
    """Whether pair i of the heap comes before a pair."""
    if pairs.value[i] != value:
        return pairs.value[i] < value
    return pairs.high[i] < high or (pairs.high[i] == high and pairs.low[i] < low)


@inner
def push_pair(pairs, size, value, high, low):
    """Push a pair on a heap; returns the new size."""
    place = size
    while place > 0 and not before(pairs, (place - 1) // 2, value, high, low):
        up = (place - 1) // 2
        pairs.value[place], pairs.high[place], pairs.low[place] = (
            pairs.value[up],
            pairs.high[up],
            pairs.low[up],
        )
        place = up
    pairs.value[place], pairs.high[place], pairs.low[place] = value, high, low
    return size + 1


@inner
def pop_pair(pairs, size):
    """Drop the top of a heap; returns the new size."""
    size -= 1
    value, high, low = pairs.value[size], pairs.high[size], pairs.low[size]
    place = 0
    while 2 * place + 1 < size:
        down = 2 * place + 1
        if down + 1 < size and before(pairs, down + 1, pairs.value[down], pairs.high[down], pairs.low[down]):
            down += 1
        if not before(pairs, down, value, high, low):
            break
        pairs.value[place], pairs.high[place] = pairs.value[down], pairs.high[down]
        pairs.low[place] = pairs.low[down]
        place = down
    pairs.value[place], pairs.high[place], pairs.low[place] = value, high, low
    return size
