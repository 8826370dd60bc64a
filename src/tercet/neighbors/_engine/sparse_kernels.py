"""Kernels of the linear scan of sparse rows: a block of queries is a dense table with a column for each."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.rows import row_square
from tercet.core.sparse_products import combine
from tercet.neighbors._engine.heap import replace_farthest

DIGITS = 1e-12  # relative error of a squared distance that needs no better one


@kernel
def row_squares(rows):
    """Squared lengths of sparse rows."""
    squares = np.empty(rows.indptr.size - 1)
    for i in range(squares.size):
        squares[i] = row_square(rows, i)
    return squares


@kernel
def fill_columns(queries, table):
    """Write the queries into the columns of a table of zeros."""
    for q in range(queries.indptr.size - 1):
        for s in range(queries.indptr[q], queries.indptr[q + 1]):
            table[queries.indices[s], q] = queries.data[s]


@kernel
def nearest_sparse(queries, rows, table, tile, seen, half, base, error, start, best, at):
    """Add some rows to the heaps of the k nearest of each query.

    tile: memory for the products q·x. half, base: |x|²/2 and |q|². |q - x|²/2 - |q|²/2 is |x|²/2 - q·x, and `error`
    bounds its rounding: a row above the heap's farthest by more than that is not among the k nearest; the distance
    of any other is measured. seen: for each column the last row that had it, as `measured` wants it.
    """
    limit = np.full(table.shape[1], -np.inf)
    for q in range(base.size):
        limit[q] = (best[q, 0] - base[q]) / 2 + error[q]
    for i in range(half.size):
        combine(rows, i, table, tile, i)
        if count_near(tile[i], half[i], limit) == 0:
            continue
        mark_columns(rows, i, start + i, seen)
        for q in range(base.size):
            if half[i] - tile[i, q] > limit[q]:
                continue
            heap, ids = best[q], at[q]
            distance = measured(queries, q, rows, i, start + i, table, seen)
            if distance < heap[0] or (distance == heap[0] and start + i < ids[0]):
                replace_farthest(heap, ids, distance, start + i, heap.size)
                limit[q] = (heap[0] - base[q]) / 2 + error[q]


@kernel
def within_sparse(queries, rows, table, tile, seen, half, base, error, start, radius):
    """The pairs of a query and a row (see `nearest_sparse`) within the radius: queries, rows, distances.

    A distance that the product gives to 12 digits at least, and that is not at the rim, is not measured.
    """
    limit, blur = np.full(table.shape[1], -np.inf), np.empty(base.size)
    for q in range(base.size):
        square = radius[q] * radius[q]
        blur[q] = 2 * error[q] + 1e-14 * square
        limit[q] = (square - base[q] + blur[q]) / 2
    room = 0
    for i in range(half.size):
        combine(rows, i, table, tile, i)
        room += count_near(tile[i], half[i], limit)
    who, found, far = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    n = 0
    for i in range(half.size if room else 0):
        if count_near(tile[i], half[i], limit) == 0:
            continue
        mark_columns(rows, i, start + i, seen)
        for q in range(base.size):
            if half[i] - tile[i, q] > limit[q]:
                continue
            square = base[q] + 2 * (half[i] - tile[i, q])
            if not (DIGITS * square > 2 * error[q] and radius[q] * radius[q] - square > blur[q]):
                square = measured(queries, q, rows, i, start + i, table, seen)
            distance = np.sqrt(square)
            if distance <= radius[q]:
                who[n], found[n], far[n] = q, start + i, distance
                n += 1
    return who[:n], found[:n], far[:n]


@inner
def count_near(products, half, limit):
    """Of how many queries a row may be near."""
    near = np.int32(0)
    for q in range(products.size):
        near += np.int32(not half - products[q] > limit[q])
    return near


@inner
def mark_columns(rows, i, number, seen):
    """Note that row i, of this number among all, has its columns."""
    for s in range(rows.indptr[i], rows.indptr[i + 1]):
        seen[np.uint64(rows.indices[s])] = number


@inner
def measured(queries, q, rows, i, number, table, seen):
    """Squared distance of query q from row i: over the columns of the row, then over those of the query alone."""
    first, last = rows.indptr[i], rows.indptr[i + 1]
    x, at, total = rows.data[first:last], rows.indices[first:last], 0.0
    for s in range(x.size):
        step = x[s] - table[np.uint64(at[s]), np.uint64(q)]
        total += step * step
    first, last = queries.indptr[q], queries.indptr[q + 1]
    x, at = queries.data[first:last], queries.indices[first:last]
    for s in range(x.size):
        z = x[s] if seen[np.uint64(at[s])] != number else 0.0
        total += z * z
    return total
