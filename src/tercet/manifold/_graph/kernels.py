"""Shortest paths over a CSR graph, and the nearest pairs of rows of different components."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel

LANES = 8  # sources of one frontier: a cache line of lengths


@kernel
def dijkstra(indptr: Any, indices: Any, lengths: Any, sources: Any, out: Any) -> None:
    """Lengths of the shortest paths from some nodes to all, into out (n_sources, n); inf where there is none.

    A heap of four children per node holds the frontier; place[v] is where v is in it, -1 before, -2 after.
    """
    n = indptr.size - 1
    keys, nodes = np.empty(n), np.empty(n, np.int32)
    place = np.empty(n, np.int32)
    for s in range(sources.size):
        far = out[s]
        for v in range(n):
            far[v] = np.inf
            place[v] = -1
        far[sources[s]] = 0.0
        keys[0], nodes[0] = 0.0, sources[s]
        place[sources[s]] = 0
        size = 1
        while size > 0:
            u = nodes[0]
            here = keys[0]
            place[u] = -2
            size -= 1
            if size > 0:
                sift_down(keys, nodes, place, size, keys[size], nodes[size])
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                new = here + lengths[e]
                if new < far[v]:
                    far[v] = new
                    at = place[v]
                    if at == -1:
                        at = size
                        size += 1
                    sift_up(keys, nodes, place, at, new, v)


@kernel
def dijkstra_lanes(indptr: Any, indices: Any, lengths: Any, sources: Any, out: Any) -> None:
    """`dijkstra` from LANES nodes at a time, which should be near each other: one frontier for all of them.

    A node's key is the shortest length that is new to it in any lane since it was last taken from the heap. In each
    lane lengths up to the key at hand are final, as in Dijkstra's algorithm, so that a node is taken at most LANES
    times; of sources near each other, hardly more than once. The lengths of edges are looked up once for all lanes.
    """
    n = indptr.size - 1
    far = np.empty((n, LANES))
    keys, nodes = np.empty(n), np.empty(n, np.int32)
    place = np.empty(n, np.int32)
    here = np.empty(LANES)
    for s in range(0, sources.size, LANES):
        for v in range(n):
            for k in range(LANES):
                far[v, k] = np.inf
            place[v] = -1
        size = 0
        for k in range(LANES):
            source = sources[min(s + k, sources.size - 1)]
            far[source, k] = 0.0
            if place[source] == -1:
                sift_up(keys, nodes, place, size, 0.0, source)
                size += 1
        while size > 0:
            u = nodes[0]
            place[u] = -1
            size -= 1
            if size > 0:
                sift_down(keys, nodes, place, size, keys[size], nodes[size])
            for k in range(LANES):
                here[k] = far[u, k]
            for e in range(indptr[u], indptr[u + 1]):
                v, length = indices[e], lengths[e]
                row = far[v]
                key = np.inf
                for k in range(LANES):
                    new, old = here[k] + length, row[k]
                    fresh = new if new < old else np.inf
                    key = fresh if fresh < key else key
                    row[k] = new if new < old else old
                if key < np.inf:
                    at = place[v]
                    if at == -1:
                        at = size
                        size += 1
                        sift_up(keys, nodes, place, at, key, v)
                    elif key < keys[at]:
                        sift_up(keys, nodes, place, at, key, v)
        for k in range(min(LANES, sources.size - s)):
            row = out[s + k]
            for v in range(n):
                row[v] = far[v, k]


@kernel
def near_in_order(indptr: Any, indices: Any) -> Any:
    """The nodes in an order in which every LANES of them are near each other, as a rule."""
    n = indptr.size - 1
    order, queue = np.empty(n, np.int64), np.empty(n, np.int64)
    taken, seen = np.zeros(n, np.uint8), np.full(n, -1, np.int64)
    count = 0
    for v in range(n):
        if taken[v]:
            continue
        queue[0], seen[v] = v, v
        head, tail, got = 0, 1, 0
        while head < tail and got < LANES and head < 8 * LANES:
            u = queue[head]
            head += 1
            if not taken[u]:
                taken[u] = 1
                order[count] = u
                count += 1
                got += 1
            for e in range(indptr[u], indptr[u + 1]):
                other = indices[e]
                if seen[other] != v:
                    seen[other] = v
                    queue[tail] = other
                    tail += 1
    return order


@inner
def sift_up(keys: Any, nodes: Any, place: Any, at: Any, key: Any, node: Any) -> None:
    """Put a node into the heap at a place, or above it."""
    while at > 0:
        parent = (at - 1) >> 2
        if keys[parent] <= key:
            break
        keys[at], nodes[at] = keys[parent], nodes[parent]
        place[nodes[at]] = at
        at = parent
    keys[at], nodes[at] = key, node
    place[node] = at


@inner
def sift_down(keys: Any, nodes: Any, place: Any, size: Any, key: Any, node: Any) -> None:
    """Put a node into the heap at the root, or below it."""
    at = 0
    while True:
        child = 4 * at + 1
        if child >= size:
            break
        least = child
        for c in range(child + 1, min(child + 4, size)):
            if keys[c] < keys[least]:
                least = c
        if keys[least] >= key:
            break
        keys[at], nodes[at] = keys[least], nodes[least]
        place[nodes[at]] = at
        at = least
    keys[at], nodes[at] = key, node
    place[node] = at


@kernel
def floyd_warshall(D: Any) -> None:
    """Lengths of all shortest paths in place of the lengths of edges, D (n, n), inf where there is none."""
    n = D.shape[0]
    for k in range(n):
        through = D[k]
        for i in range(n):
            first = D[i, k]
            if first < np.inf:
                row = D[i]
                for j in range(n):
                    other = first + through[j]
                    row[j] = other if other < row[j] else row[j]


@kernel
def nearest_between(D: Any, mine: Any, first: Any, labels: Any, best: Any, at: Any) -> None:
    """Of each pair of components (a, b) the nearest rows: best (c, c), at (c, c, 2).

    D (m, n) are distances of the rows from `first` on, of the components `mine`, from all rows, of `labels`.
    """
    for i in range(D.shape[0]):
        a = mine[i]
        row = D[i]
        for j in range(row.size):
            b = labels[j]
            if b != a and row[j] < best[a, b]:
                best[a, b] = row[j]
                at[a, b, 0], at[a, b, 1] = first + i, j


@kernel
def paths_through_neighbours(indptr: Any, found: Any, far: Any, geodesics: Any, out: Any) -> None:
    """out[i, j] = min over the neighbours u of query i of far(i, u) + geodesics[u, j]; inf without neighbours.

    geodesics (n, m) may be of all fitted rows or of landmarks.
    """
    for i in range(out.shape[0]):
        row = out[i]
        for j in range(row.size):
            row[j] = np.inf
        for e in range(indptr[i], indptr[i + 1]):
            first, then = far[e], geodesics[found[e]]
            for j in range(row.size):
                other = first + then[j]
                row[j] = other if other < row[j] else row[j]
