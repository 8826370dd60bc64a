"""The nearest rows of each kind of a row, and what its columns differ by from them.

Columns come as rows of `Z` (n_columns, n_samples), scaled so that values differ by at most 1; the first `n_numbers`
are numbers, the others categories, which differ by 0 or 1. A distance is the sum of differences (power 1), or of
their squares (power 2), over the columns. The loop over columns is outside: what is inside it goes through rows
that lie side by side, and is vectorised without a change in the order of any sum.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

TILE = 1024  # rows whose distances stay in the first cache


@inner
def _distances(Z, n_numbers, i, power, out):
    """Distances of row i to all rows."""
    d, n = Z.shape
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        tile = out[start:stop]
        tile[:] = 0.0
        for f in range(d):
            x, values = Z[f, i], Z[f, start:stop]
            if f >= n_numbers:
                for j in range(tile.size):
                    tile[j] += 1.0 if values[j] != x else 0.0
            elif power == 1:
                for j in range(tile.size):
                    tile[j] += abs(values[j] - x)
            else:
                for j in range(tile.size):
                    tile[j] += (values[j] - x) * (values[j] - x)


@inner
def _insert(distance, row, distances, rows, size, k):
    """Put a row among the k nearest, which are in order; returns how many there are. The first of equals wins."""
    if size == k and distance >= distances[k - 1]:
        return size
    place = size if size < k else k - 1
    while place > 0 and distances[place - 1] > distance:
        distances[place], rows[place] = distances[place - 1], rows[place - 1]
        place -= 1
    distances[place], rows[place] = distance, row
    return size + 1 if size < k else size


@inner
def _difference(Z, n_numbers, f, i, j, power):
    if f >= n_numbers:
        return 1.0 if Z[f, i] != Z[f, j] else 0.0
    gap = abs(Z[f, i] - Z[f, j])
    return gap if power == 1 else gap * gap


@kernel
def class_differences(Z, n_numbers, kind, n_kinds, rows, k, power, weight):
    """Sum over `rows` of weight[kind of the row, l] times the mean difference to the k nearest of each kind l.

    weight (n_kinds, n_kinds) is negative for the row's own kind. The row itself is no neighbour. Kinds without
    other rows are passed over.
    """
    d, n = Z.shape
    total, distance = np.zeros(d), np.empty(n)
    nearest, gaps = np.empty((n_kinds, k), np.int64), np.empty((n_kinds, k))
    for at in range(rows.size):
        i = rows[at]
        size = np.zeros(n_kinds, np.int64)
        _distances(Z, n_numbers, i, power, distance)
        for j in range(n):
            if j != i:
                c = kind[j]
                size[c] = _insert(distance[j], j, gaps[c], nearest[c], size[c], k)
        for c in range(n_kinds):
            share = weight[kind[i], c] / max(size[c], 1)
            for s in range(size[c]):
                for f in range(d):
                    total[f] += share * _difference(Z, n_numbers, f, i, nearest[c, s], power)
    return total


@kernel
def target_differences(Z, n_numbers, y, rows, rank_weight, power):
    """Weighted sums over `rows` and their k nearest rows: of target differences, of each column's, of both.

    y is scaled so that targets differ by at most 1; rank_weight (k,) has the weights of the neighbours by rank.
    """
    d, n = Z.shape
    k = rank_weight.size
    by_target, by_column, by_both = 0.0, np.zeros(d), np.zeros(d)
    distance, nearest, gaps = np.empty(n), np.empty(k, np.int64), np.empty(k)
    for at in range(rows.size):
        i = rows[at]
        size = 0
        _distances(Z, n_numbers, i, power, distance)
        for j in range(n):
            if j != i:
                size = _insert(distance[j], j, gaps, nearest, size, k)
        for s in range(size):
            apart = abs(y[i] - y[nearest[s]]) * rank_weight[s]
            by_target += apart
            for f in range(d):
                gap = _difference(Z, n_numbers, f, i, nearest[s], power)
                by_column[f] += gap * rank_weight[s]
                by_both[f] += gap * apart
    return by_target, by_column, by_both
