"""The nearest rows of each kind of a row, and what its columns differ by from them.

`Z` (n_samples, n_columns) has columns scaled to [0, 1]; the first `n_numbers` are numbers, the others categories,
which differ by 0 or 1. Its rows are sorted by kind: those of kind c are starts[c] to starts[c + 1]. A distance is
the sum of differences (power 1), or of their squares (power 2), over the columns. Nearly all time goes into
distances, so that they are first computed in single precision, for several rows at once, from `columns`, the same
table with a column's values side by side. Rounding errors of such a distance are bounded (`_limit`): only rows that
may be among the k nearest are measured again in double precision, and the neighbours are those of exact distances.
The first of equally near rows wins.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

TILE = 512  # rows whose distances stay in the first cache
TOGETHER = 8  # rows whose distances are computed at once
SCANNED = 16  # distances that are compared with a limit at once
UNROLLED = 4  # columns added to a distance at once: `columns` has multiples of so many of each kind


@inner
def _approximate_distances(columns, n_numbers, rows, power, out):
    """Distances of some rows to all rows in single precision, into `out` (n_some, n_samples)."""
    d, n = columns.shape
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        out[: rows.size, start:stop] = 0.0
        for f in range(0, d, UNROLLED):
            v0, v1 = columns[f, start:stop], columns[f + 1, start:stop]
            v2, v3 = columns[f + 2, start:stop], columns[f + 3, start:stop]
            for r in range(rows.size):
                i, tile = rows[r], out[r, start:stop]
                x0, x1, x2, x3 = columns[f, i], columns[f + 1, i], columns[f + 2, i], columns[f + 3, i]
                if f >= n_numbers:
                    for j in range(tile.size):
                        tile[j] += np.float32(
                            np.int32(v0[j] != x0)
                            + np.int32(v1[j] != x1)
                            + np.int32(v2[j] != x2)
                            + np.int32(v3[j] != x3)
                        )
                elif power == 1:
                    for j in range(tile.size):
                        tile[j] += abs(v0[j] - x0) + abs(v1[j] - x1) + abs(v2[j] - x2) + abs(v3[j] - x3)
                else:
                    for j in range(tile.size):
                        a, b, c, e = v0[j] - x0, v1[j] - x1, v2[j] - x2, v3[j] - x3
                        tile[j] += a * a + b * b + c * c + e * e


@inner
def _limit(distance, d, n_numbers):
    """Greatest approximate distance of a row that may be as near as one at an approximate `distance`.

    Single precision rounds to 2^-24 of a value: a difference in [0, 1] is off by less than 2^-23, its square by
    less than 2^-21, and a sum of d terms by less than d 2^-24 of itself. Twice that for two distances, and a third
    time for the rounding here.
    """
    return distance * (1 + 3 * (d + 8) * 2.0**-24) + 3 * n_numbers * 2.0**-21


@inner
def _exact_distance(Z, n_numbers, i, j, power):
    a, b, total = Z[i], Z[j], 0.0
    if power == 1:
        for f in range(n_numbers):
            total += abs(a[f] - b[f])
    else:
        for f in range(n_numbers):
            total += (a[f] - b[f]) * (a[f] - b[f])
    for f in range(n_numbers, a.size):
        total += 1.0 if a[f] != b[f] else 0.0
    return total


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
def _nearest(Z, n_numbers, first, last, i, power, approximate, k, nearest, gaps, candidates):
    """The k nearest of the rows from `first` to `last` to row i, into `nearest` (k,) in order; returns how many."""
    d = Z.shape[1]
    limit, size, count = np.float32(np.inf), 0, 0
    for start in range(first, last, SCANNED):
        stop, near = min(start + SCANNED, last), 0
        for j in range(start, stop):
            near += 1 if approximate[j] <= limit else 0
        if near == 0:
            continue
        for j in range(start, stop):
            if approximate[j] <= limit and j != i:
                candidates[count] = j
                count += 1
                size = _insert(np.float64(approximate[j]), j, gaps, nearest, size, k)
                if size == k:
                    limit = np.float32(_limit(gaps[k - 1], d, n_numbers))
    size = 0
    for s in range(count):
        j = candidates[s]
        if approximate[j] <= limit:
            size = _insert(_exact_distance(Z, n_numbers, i, j, power), j, gaps, nearest, size, k)
    return size


@inner
def _add_differences(Z, n_numbers, i, j, power, weight, total):
    """Add weight times the difference of two rows in each column to `total`."""
    a, b = Z[i], Z[j]
    if power == 1:
        for f in range(n_numbers):
            total[f] += weight * abs(a[f] - b[f])
    else:
        for f in range(n_numbers):
            total[f] += weight * ((a[f] - b[f]) * (a[f] - b[f]))
    for f in range(n_numbers, total.size):
        total[f] += weight if a[f] != b[f] else 0.0


@kernel
def class_differences(Z, columns, n_numbers, starts, kind, rows, k, power, weight):
    """Sum over `rows` of weight[kind of the row, l] times the mean difference to the k nearest of each kind l.

    weight (n_kinds, n_kinds) is negative for the row's own kind. The row itself is no neighbour. Kinds without
    other rows are passed over.
    """
    n, d = Z.shape
    total, approximate = np.zeros(d), np.empty((TOGETHER, n), np.float32)
    nearest, gaps, candidates = np.empty(k, np.int64), np.empty(k), np.empty(n, np.int64)
    for first in range(0, rows.size, TOGETHER):
        some = rows[first : first + TOGETHER]
        _approximate_distances(columns, n_numbers, some, power, approximate)
        for r in range(some.size):
            i, near = some[r], approximate[r]
            for c in range(starts.size - 1):
                size = _nearest(
                    Z, n_numbers, starts[c], starts[c + 1], i, power, near, k, nearest, gaps, candidates
                )
                share = weight[kind[i], c] / max(size, 1)
                for s in range(size):
                    _add_differences(Z, n_numbers, i, nearest[s], power, share, total)
    return total


@kernel
def hit_and_miss_differences(Z, columns, n_numbers, starts, kind, rows, power):
    """Sum over `rows` of the difference to the nearest row of another kind, less that to the nearest of its own.

    Of equally near rows of two other kinds the first kind's counts.
    """
    n, d = Z.shape
    total, approximate = np.zeros(d), np.empty((TOGETHER, n), np.float32)
    nearest, gap, candidates = np.empty(1, np.int64), np.empty(1), np.empty(n, np.int64)
    for first in range(0, rows.size, TOGETHER):
        some = rows[first : first + TOGETHER]
        _approximate_distances(columns, n_numbers, some, power, approximate)
        for r in range(some.size):
            i, near, miss, apart = some[r], approximate[r], -1, np.inf
            for c in range(starts.size - 1):
                size = _nearest(
                    Z, n_numbers, starts[c], starts[c + 1], i, power, near, 1, nearest, gap, candidates
                )
                if size and c == kind[i]:
                    _add_differences(Z, n_numbers, i, nearest[0], power, -1.0, total)
                elif size and gap[0] < apart:
                    miss, apart = nearest[0], gap[0]
            if miss >= 0:
                _add_differences(Z, n_numbers, i, miss, power, 1.0, total)
    return total


@kernel
def target_differences(Z, columns, n_numbers, y, rows, rank_weight, power):
    """Weighted sums over `rows` and their k nearest rows: of target differences, of each column's, of both.

    y is scaled so that targets differ by at most 1; rank_weight (k,) has the weights of the neighbours by rank.
    """
    n, d = Z.shape
    k = rank_weight.size
    by_target, by_column, by_both = 0.0, np.zeros(d), np.zeros(d)
    approximate, candidates = np.empty((TOGETHER, n), np.float32), np.empty(n, np.int64)
    nearest, gaps = np.empty(k, np.int64), np.empty(k)
    for first in range(0, rows.size, TOGETHER):
        some = rows[first : first + TOGETHER]
        _approximate_distances(columns, n_numbers, some, power, approximate)
        for r in range(some.size):
            i = some[r]
            size = _nearest(Z, n_numbers, 0, n, i, power, approximate[r], k, nearest, gaps, candidates)
            for s in range(size):
                j = nearest[s]
                apart = abs(y[i] - y[j]) * rank_weight[s]
                by_target += apart
                _add_differences(Z, n_numbers, i, j, power, rank_weight[s], by_column)
                _add_differences(Z, n_numbers, i, j, power, apart, by_both)
    return by_target, by_column, by_both
