"""The nearest of a few centroids, and moments of classes, for dense rows and rows in CSR form."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.array_copies import copy_array
from tercet.core.kernel import inner, kernel


@kernel
def nearest_point(X: Any, points: Any, nearest: Any) -> bool:
    """The nearest of some points for each row, of equals the first; False where squares overflow or vanish."""
    safe = True
    for i in range(X.shape[0]):
        x, best, at = X[i], np.inf, 0
        for k in range(points.shape[0]):
            point, square = points[k], 0.0
            for j in range(x.size):
                step = x[j] - point[j]
                square += step * step
            if square < best:
                best, at = square, k
        nearest[i] = at
        if not 1e-240 < best < 1e300:
            for j in range(x.size):
                safe &= x[j] == points[at, j]
    return safe


@kernel
def nearest_point_sparse(X: Any, points: Any, nearest: Any) -> bool:
    """As `nearest_point`, for rows in CSR form: ||c||² - 2 x·c, or distances where that is too close to tell."""
    n_points, n_features = points.shape
    across = np.ascontiguousarray(points.T)  # the points' values of one feature lie side by side
    norm, score, row = np.zeros(n_points), np.empty(n_points), np.empty(n_features)
    for k in range(n_points):
        for j in range(n_features):
            norm[k] += points[k, j] * points[k, j]
    largest = norm.max()
    if not largest < 1e300:
        return False
    for i in range(nearest.size):
        copy_array(norm, score)
        length = 0.0
        for at in range(X.indptr[i], X.indptr[i + 1]):
            x = np.float64(X.data[at])
            length += x * x
            for k in range(n_points):
                score[k] -= 2.0 * x * across[X.indices[at], k]
        if not length < 1e300:
            return False
        first, second, best = np.inf, np.inf, 0
        for k in range(n_points):
            if score[k] < first:
                first, second, best = score[k], first, k
            elif score[k] < second:
                second = score[k]
        # rounding: each of the terms loses at most a few units of the last place of the largest
        if second - first <= 1e-15 * (n_features + 4) * (largest + length):
            row[:] = 0.0
            for at in range(X.indptr[i], X.indptr[i + 1]):
                row[X.indices[at]] += X.data[at]
            least = np.inf
            for k in range(n_points):
                square = 0.0
                for j in range(n_features):
                    step = row[j] - points[k, j]
                    square += step * step
                if square < least:
                    least, best = square, k
            if not least > 1e-240:
                for j in range(n_features):
                    if row[j] != points[best, j]:
                        return False
        nearest[i] = best
    return True


@inner
def divide_rows(table: Any, by: Any) -> None:
    """Divide each row by a number of its own."""
    for c in range(by.size):
        for j in range(table.shape[1]):
            table[c, j] /= by[c]


@kernel
def sparse_means(X: Any, y: Any, weight: Any, mass: Any, means: Any) -> None:
    """The weighted means of the classes' rows, (n_classes, n_features), from zeros."""
    for i in range(y.size):
        mean = means[y[i]]
        for at in range(X.indptr[i], X.indptr[i + 1]):
            mean[X.indices[at]] += weight[i] * X.data[at]
    divide_rows(means, mass)


@kernel
def sparse_scatter(X: Any, y: Any, weight: Any, means: Any, scatter: Any, width: Any) -> None:
    """Weighted squares about the classes' means, and the ranges of the columns, of rows in CSR form.

    The zeros that are not stored are counted: those of class c and column j add m_cj² times their weight.
    """
    k, p = means.shape
    stored, stored_weight = np.zeros((k, p), np.int64), np.zeros((k, p))
    count, total = np.zeros(k, np.int64), np.zeros(k)
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    for i in range(y.size):
        if weight[i] <= 0.0:
            continue
        c = y[i]
        count[c] += 1
        total[c] += weight[i]
        for at in range(X.indptr[i], X.indptr[i + 1]):
            j, x = X.indices[at], np.float64(X.data[at])
            step = x - means[c, j]
            scatter[j] += weight[i] * step * step
            stored[c, j] += 1
            stored_weight[c, j] += weight[i]
            low[j], high[j] = min(low[j], x), max(high[j], x)
    for c in range(k):
        for j in range(p):
            if stored[c, j] < count[c]:
                left = max(total[c] - stored_weight[c, j], 0.0)
                scatter[j] += left * means[c, j] * means[c, j]
                low[j], high[j] = min(low[j], 0.0), max(high[j], 0.0)
    for j in range(p):
        width[j] = high[j] - low[j]


@kernel
def dense_means(X: Any, y: Any, weight: Any, mass: Any, means: Any) -> None:
    """As `sparse_means`, for the rows of an array."""
    for i in range(y.size):
        x, mean, w = X[i], means[y[i]], weight[i]
        for j in range(x.size):
            mean[j] += w * x[j]
    divide_rows(means, mass)


@kernel
def dense_scatter(X: Any, y: Any, weight: Any, means: Any, scatter: Any, width: Any) -> None:
    """As `sparse_scatter`, for the rows of an array."""
    low, high = np.full(width.size, np.inf), np.full(width.size, -np.inf)
    for i in range(y.size):
        x, mean, w = X[i], means[y[i]], weight[i]
        if w > 0.0:
            for j in range(x.size):
                value = np.float64(x[j])
                step = value - mean[j]
                scatter[j] += w * step * step
                low[j], high[j] = min(low[j], value), max(high[j], value)
    for j in range(width.size):
        width[j] = high[j] - low[j]
