"""Merge trees: which two clusters are merged, in what order and at what distance.

All linkages merge the two clusters that are nearest to each other (of equals, the pair that comes first), as
Algorithm 14.1 does (`agglomerate` is the plain form); every cluster remembers its nearest neighbour among those
after it, so that a merge costs O(n) as a rule. Single linkage of points takes its merges from the minimum
spanning tree instead.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.parallel import each

BLOCK = 512


class MergeTree(NamedTuple):
    """The merges in order: the pair that was merged (a new cluster is n, n + 1, ...), and its distance."""

    children: np.ndarray
    heights: np.ndarray

    @classmethod
    def of(cls, first: np.ndarray, second: np.ndarray, heights: np.ndarray) -> MergeTree:
        """From merges given by one row of each of the two clusters."""
        children = np.empty((heights.size, 2), dtype=np.int64)
        number_clusters(first, second, children)
        return cls(children, heights)

    def cut(self, k: int, n: int | None = None) -> np.ndarray:
        """The cluster of each row when there are k of them: the last merges undone.

        n is the number of rows; without it the tree is full.
        """
        n = len(self.heights) + 1 if n is None else n
        nodes = n + len(self.heights)
        roots = np.setdiff1d(np.arange(nodes), self.children)
        heads = np.negative(roots[::-1]).tolist()  # a heap with the latest merge on top
        for _ in range(k - len(roots)):
            one, other = self.children[-heads[0] - n].tolist()
            heapq.heappush(heads, -one)
            heapq.heappushpop(heads, -other)
        label = np.empty(nodes, dtype=np.int64)
        # Clusters are numbered by the heap's final order; where merging had stopped there, by their own.
        label[np.negative(heads) if len(roots) == 1 else np.sort(np.negative(heads))] = np.arange(k)
        for node in range(2 * n - 1 - k, n - 1, -1):  # from the top: a cluster has its label before its parts
            label[self.children[node - n]] = label[node]
        return label[:n]


def single_linkage_tree(X: np.ndarray) -> MergeTree:
    """Single linkage of points by their Euclidean distances, without a matrix."""
    n = len(X)
    first, second, squares = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    minimum_spanning_tree(np.ascontiguousarray(X.T), first, second, squares)
    order = np.argsort(squares, kind="stable")
    return MergeTree.of(first[order], second[order], np.sqrt(squares[order]))


def merge_by_centres(X: np.ndarray, linkage: str, n_jobs: Any = None) -> MergeTree:
    """Ward's linkage (distance times the root of 2 ab / (a + b), for a and b rows) or that of the centres.

    "median" takes the middle of two centres as the centre of their union, as if both had one row.
    """
    n, ward = len(X), linkage == "ward"
    points, sizes = np.array(X.T, order="C"), np.ones(n)  # a copy, whatever the order of X: it is worked on
    neighbour, gap = np.full(n, -1, np.int64), np.full(n, np.inf)
    spans = [(k, min(k + 256, n)) for k in range(0, n, 256)]
    each(
        lambda span: nearest_after_all(points, sizes, ward, span[0], span[1], neighbour, gap),
        spans,
        n_jobs=n_jobs,
    )
    first, second, squares = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    merge_centres(points, sizes, ward, linkage != "median", neighbour, gap, first, second, squares)
    return MergeTree.of(first, second, np.sqrt(squares))


def euclidean_pdist(X: np.ndarray, n_jobs: Any = None) -> np.ndarray:
    """Distances of all pairs, in condensed form."""
    n = len(X)
    points = np.ascontiguousarray(X.T)
    found = np.empty(n * (n - 1) // 2)
    spans = [(k, min(k + 64, n)) for k in range(0, n, 64)]
    each(lambda span: euclidean_rows(points, span[0], span[1], found), spans, n_jobs=n_jobs)
    return found


# Kernels ------------------------------------------------------------------------------------------------------


@inner
def squares_from(points, i, start, stop, out):
    """Squared distances of point i from the points from start to stop (the columns are points)."""
    out[: stop - start] = 0.0
    for k in range(points.shape[0]):
        x, row, some = points[k, i], points[k, start:stop], out[: stop - start]
        for j in range(some.size):
            some[j] += (row[j] - x) * (row[j] - x)


@kernel
def euclidean_rows(points, begin, end, found):
    """Distances of some points from all later ones, in condensed form."""
    n = points.shape[1]
    for i in range(begin, end):
        start = i * n - i * (i + 1) // 2
        out = found[start : start + n - 1 - i]
        squares_from(points, i, i + 1, n, out)
        for j in range(out.size):
            out[j] = np.sqrt(out[j])


@kernel
def minimum_spanning_tree(points, first, second, squares):
    """The minimum spanning tree, grown from row 0 by the nearest row outside."""
    n = points.shape[1]
    points = points.copy()
    who, to, gap = np.arange(n), np.zeros(n, np.int64), np.full(n, np.inf)
    out = np.empty(n)
    new, left = 0, n
    for step in range(n - 1):
        # Rows of the tree go to the end, so that those outside stay contiguous.
        left -= 1
        for k in range(points.shape[0]):
            points[k, new], points[k, left] = points[k, left], points[k, new]
        who[new], who[left] = who[left], who[new]
        to[new], to[left] = to[left], to[new]
        gap[new], gap[left] = gap[left], gap[new]
        squares_from(points, left, 0, left, out)
        least, new = np.inf, -1
        here = who[left]
        for j in range(left):
            if out[j] < gap[j]:
                gap[j], to[j] = out[j], here
        for j in range(left):
            if gap[j] < least or (gap[j] == least and who[j] < who[new]):
                least, new = gap[j], j
        first[step], second[step], squares[step] = to[new], who[new], least


@inner
def argmin_lanes(values):
    """Where the smallest value is (of equals, the first), and the value.

    Sixteen running minima without branches vectorise; a second scan finds the place.
    """
    lanes = np.full(16, np.inf)
    whole = values.size // 16 * 16
    for start in range(0, whole, 16):
        some = values[start : start + 16]
        for r in range(16):
            lanes[r] = some[r] if some[r] < lanes[r] else lanes[r]
    low = np.inf
    for r in range(16):
        low = min(low, lanes[r])
    for j in range(whole, values.size):
        low = min(low, values[j])
    for j in range(values.size):
        if values[j] == low:
            return j, low
    return -1, np.inf


@inner
def nearest_after(points, sizes, ward, i, stop, out):
    """The nearest cluster after cluster i, and its squared distance."""
    at, best = -1, np.inf
    for start in range(i + 1, stop, BLOCK):
        end = min(start + BLOCK, stop)
        squares_from(points, i, start, end, out)
        if ward:
            ward_scale(sizes, i, start, end, out)
        j, low = argmin_lanes(out[: end - start])
        if low < best:
            at, best = start + j, low
    return at, best


@inner
def ward_scale(sizes, i, start, end, out):
    """Squared distances of centres times 2ab / (a + b), for clusters of a and b rows (Ward)."""
    some, others, own = out[: end - start], sizes[start:end], sizes[i]
    for j in range(some.size):
        some[j] *= 2 * own * others[j] / (own + others[j])


@kernel
def nearest_after_all(points, sizes, ward, begin, end, neighbour, gap):
    """The nearest cluster after each of some clusters."""
    out = np.empty(BLOCK)
    for i in range(begin, end):
        neighbour[i], gap[i] = nearest_after(points, sizes, ward, i, points.shape[1], out)


@kernel
def merge_centres(points, sizes, ward, weighted, neighbour, gap, first, second, squares):
    """Merge the two nearest clusters, n - 1 times; the later of the two becomes the new one.

    weighted : whether centres are means of rows; else a union counts as one row.
    """
    d, n = points.shape
    name, m = np.arange(n), n  # a row of each cluster; clusters are among the first m columns
    out, moved = np.empty(BLOCK), np.empty(n)
    stale = np.zeros(n, np.bool_)  # the neighbour was merged, and gap is a lower bound
    for step in range(n - 1):
        a, height = argmin_lanes(gap[:m])
        while stale[a]:
            neighbour[a], gap[a] = nearest_after(points, sizes, ward, a, m, out)
            stale[a] = False
            a, height = argmin_lanes(gap[:m])
        b = neighbour[a]
        first[step], second[step], squares[step] = name[a], name[b], height
        whole = sizes[a] + sizes[b]
        for k in range(d):
            points[k, b] = (sizes[a] * points[k, a] + sizes[b] * points[k, b]) / whole
            points[k, a] = np.inf  # far from everything
        sizes[a], sizes[b] = 1.0, whole if weighted else 1.0
        gap[a], neighbour[a] = np.inf, -1
        # Clusters after a did not look back at it, but it may have brought b nearer; centres may come nearer to
        # anyone than either was before.
        begin = a + 1 if ward else 0
        squares_from(points, b, begin, b, moved[begin:])
        if ward:
            ward_scale(sizes, b, begin, b, moved[begin:])
        for c in range(b):
            if c >= begin and (
                moved[c] < gap[c] or (moved[c] == gap[c] and not stale[c] and b < neighbour[c])
            ):
                neighbour[c], gap[c], stale[c] = b, moved[c], False
            elif neighbour[c] == a or neighbour[c] == b:
                stale[c] = True
        neighbour[b], gap[b] = nearest_after(points, sizes, ward, b, m, out)
        stale[b] = False
        if 2 * (n - 1 - step) < m:
            m = compact(points, sizes, neighbour, gap, stale, name, m)


@inner
def compact(points, sizes, neighbour, gap, stale, name, m):
    """Drop the columns of clusters that were merged; returns how many are left."""
    place, left = np.full(m, -1), 0
    for j in range(m):
        if points[0, j] < np.inf:
            place[j] = left
            for k in range(points.shape[0]):
                points[k, left] = points[k, j]
            sizes[left], neighbour[left], gap[left], name[left] = sizes[j], neighbour[j], gap[j], name[j]
            stale[left] = stale[j]
            left += 1
    for j in range(left):
        neighbour[j] = place[neighbour[j]] if neighbour[j] >= 0 else -1
    return left


@kernel
def number_clusters(first, second, children):
    """Numbers of the clusters that are merged, the smaller first, from a row of each (union-find)."""
    n = first.size + 1
    parent = np.arange(2 * n - 1)
    for step in range(n - 1):
        i, j = first[step], second[step]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        parent[i] = parent[j] = n + step
        children[step, 0], children[step, 1] = min(i, j), max(i, j)
