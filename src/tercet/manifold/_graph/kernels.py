"""Shortest paths over a CSR graph, and the nearest pairs of rows of different components."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel


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
def paths_through_neighbours(
    indptr: Any, found: Any, far: Any, geodesics: Any, out: Any
) -> None:
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
