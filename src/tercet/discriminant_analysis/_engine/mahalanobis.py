"""Squared Mahalanobis distances, a cache line of rows at a time.

Rows stand side by side in a vector register, so that the sums of a product stay in registers, and each row has the
same arithmetic whatever the batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.cache_lines import LINE, get_line, no_line, plus_line, set_line
from tercet.core.kernel import implement, kernel, verb


@kernel
def squared_mahalanobis(X: Any, means: Any, roots: Any, distances: Any) -> None:
    """Squared distances |root_kᵀ(x - μ_k)|² of rows; shapes (n, d), (K, d), (K, d, d), (n, K)."""
    n, d = X.shape
    lanes = LINE // X.itemsize
    tile, away, along = (
        np.zeros((d, lanes), X.dtype),
        np.zeros((d, lanes), X.dtype),
        np.zeros((d, lanes), X.dtype),
    )
    squares = np.zeros(lanes, X.dtype)
    for start in range(0, n, lanes):
        some = min(lanes, n - start)
        for r in range(some):
            row = X[start + r]
            for j in range(d):
                tile[j, r] = row[j]
        for k in range(means.shape[0]):
            for j in range(d):
                mean, values, out = means[k, j], tile[j], away[j]
                for r in range(lanes):
                    out[r] = values[r] - mean
            times_tile(roots[k], away, along)
            squares[:] = 0
            for c in range(d):
                values = along[c]
                for r in range(lanes):
                    squares[r] += values[r] * values[r]
            for r in range(some):
                distances[start + r, k] = squares[r]


@verb
def times_tile(W: np.ndarray, tile: np.ndarray, out: np.ndarray) -> None:
    """out = W'tile, for a tile whose rows are cache lines."""
    out[:] = W.T @ tile


@implement(times_tile)
def _times_tile(W: Any, tile: Any, out: Any) -> Any:
    def by_lines(W: Any, tile: Any, out: Any) -> None:
        # Four sums at a time: one would wait for itself at every step. The last four may do some again.
        depth, width, step = np.uint64(W.shape[0]), np.uint64(W.shape[1]), np.uint64(tile.shape[1])
        last, one, four = width - np.uint64(1), np.uint64(1), np.uint64(4)
        for c in range(np.uint64(0), width, four):
            c1: Any = min(c + one, last)
            c2: Any = min(c1 + one, last)
            c3: Any = min(c2 + one, last)
            a0, a1, a2, a3 = no_line(tile), no_line(tile), no_line(tile), no_line(tile)
            for j in range(depth):
                line = get_line(tile, j * step)
                a0 = plus_line(a0, W[j, c], line)
                a1 = plus_line(a1, W[j, c1], line)
                a2 = plus_line(a2, W[j, c2], line)
                a3 = plus_line(a3, W[j, c3], line)
            set_line(out, c * step, a0)
            set_line(out, c1 * step, a1)
            set_line(out, c2 * step, a2)
            set_line(out, c3 * step, a3)

    return by_lines
