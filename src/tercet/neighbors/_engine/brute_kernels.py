"""Kernels of the linear scan: approximate distances filter the rows, exact ones fill heaps of the k nearest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.neighbors._engine.heap import replace_farthest, sort_heap

RUN = 64  # distances that are compared before a branch: this vectorises


@inner
def squared_distance(queries, i, rows, j):
    """Squared distance of row i of one table from row j of another, in double precision."""
    x, z = queries[i], rows[j]
    total = 0.0
    for c in range(x.size):
        step = np.float64(x[c]) - np.float64(z[c])
        total += step * step
    return total


@kernel
def add_by_products(tile, half, slack, fine, reach, queries, rows, start, base, best, at):
    """Add the rows of a tile of products q·x to the heaps of the k nearest; returns how many were measured in vain.

    tile (queries, rows) holds q·x, half |x|²/2, base |q|². |q - x|²/2 - |q|²/2 is |x|²/2 - q·x; `slack` bounds its
    rounding error, `fine` that of |q|² in double precision. A row above the heap's farthest by more than these is
    not among the k nearest; the exact distance of any other is computed.
    """
    alarms = 0
    for r in range(tile.shape[0]):
        heap, ids, square = best[r], at[r], base[r]
        error = slack * reach * (np.sqrt(square) + reach) + fine * square
        limit = half.dtype.type((heap[0] - square) / 2 + error)
        for s in range(0, tile.shape[1], RUN):
            products, halves = tile[r, s : s + RUN], half[s : s + RUN]
            near = np.int32(0)
            for c in range(products.size):
                near += np.int32(not halves[c] - products[c] > limit)  # NaN, too, is measured
            if near == 0:
                continue
            for c in range(products.size):
                if not halves[c] - products[c] > limit:
                    distance = squared_distance(queries, r, rows, start + s + c)
                    if distance < heap[0] or (distance == heap[0] and start + s + c < ids[0]):
                        replace_farthest(heap, ids, distance, start + s + c, heap.size)
                        limit = half.dtype.type((heap[0] - square) / 2 + error)
                    else:
                        alarms += 1
    return alarms


@kernel
def add_by_distances(tile, start, best, at):
    """Add the rows of a tile of distances (queries, rows) to the heaps of the k nearest."""
    for r in range(tile.shape[0]):
        heap, ids = best[r], at[r]
        for s in range(0, tile.shape[1], RUN):
            distances = tile[r, s : s + RUN]
            limit, near = heap[0], np.int32(0)
            for c in range(distances.size):
                near += np.int32(distances[c] <= limit)
            if near == 0:
                continue
            for c in range(distances.size):
                distance, i = distances[c], start + s + c
                if distance < heap[0] or (distance == heap[0] and i < ids[0]):
                    replace_farthest(heap, ids, distance, i, heap.size)


@kernel
def sort_heaps(best, at):
    """Every heap in order: the nearest first, of equals the smaller index."""
    for r in range(best.shape[0]):
        sort_heap(best[r], at[r])


@kernel
def within_radius(tile, half, slack, fine, reach, queries, rows, start, base, radius):
    """The pairs of a query and a row of a tile of products (see `add_by_products`) within the radius.

    Returns the queries, the rows and their distances, query after query.
    """
    limit = np.empty(base.size, dtype=half.dtype)
    room: Any = 0
    for r in range(base.size):
        square = base[r]
        error = slack * reach * (np.sqrt(square) + reach) + fine * (square + radius[r] * radius[r])
        limit[r] = (radius[r] * radius[r] - square) / 2 + error
        products, most, near = tile[r], limit[r], np.int32(0)
        for c in range(products.size):
            near += np.int32(not half[c] - products[c] > most)
        room += near
    who, found, far = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    n = 0
    for r in range(base.size if room else 0):
        most = limit[r]
        for s in range(0, tile.shape[1], RUN):
            products, halves = tile[r, s : s + RUN], half[s : s + RUN]
            near = np.int32(0)
            for c in range(products.size):
                near += np.int32(not halves[c] - products[c] > most)
            if near == 0:
                continue
            for c in range(products.size):
                if not halves[c] - products[c] > most:
                    distance = np.sqrt(squared_distance(queries, r, rows, start + s + c))
                    if distance <= radius[r]:
                        who[n], found[n], far[n] = r, start + s + c, distance
                        n += 1
    return who[:n], found[:n], far[:n]


@kernel
def gapped_distances(queries, points, out):
    """Euclidean distances over the features that both rows have, as if the others were as far apart as these are in
    the mean; infinite where there are none. By differences: a row is at distance 0 from itself."""
    d = points.shape[1]
    for i in range(len(queries)):
        for j in range(len(points)):
            total, common = 0.0, 0
            for k in range(d):
                gap = queries[i, k] - points[j, k]
                if not math.isnan(gap):
                    total += gap * gap
                    common += 1
            out[i, j] = math.sqrt(total * d / common) if common else math.inf
