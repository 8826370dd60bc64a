"""Reconstruction weights of rows from their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each

ROWS = 256  # in a piece of work


def local_weights(
    X: np.ndarray, Y: np.ndarray, near: np.ndarray, reg: float, n_jobs: int | None
) -> np.ndarray:
    """Weights (n, k) that sum to 1 and rebuild X[i] from Y[near[i]]; an error where a local system is singular."""
    X, Y = (np.require(part, np.float64, ["C", "W"]) for part in (X, Y))
    near = np.ascontiguousarray(near, dtype=np.int64)
    out = np.empty(near.shape)

    def piece(start: int) -> int:
        rows = slice(start, start + ROWS)
        failed = weigh_neighbours(X[rows], Y, near[rows], reg, out[rows])
        return start + failed if failed >= 0 else -1

    wrong = [row for row in each(piece, range(0, len(X), ROWS), n_jobs=n_jobs) if row >= 0]
    if wrong:
        raise ValueError(
            f"reg={reg:g} is too small: the neighbours of row {wrong[0]} do not determine their weights (they are "
            "more than there are features, or in one line or plane). Raise reg."
        )
    return out


@kernel
def weigh_neighbours(X: Any, Y: Any, near: Any, reg: Any, out: Any) -> Any:
    """Solve C w = 1 for each row, C_jk = (x - y_j)·(x - y_k) + reg tr(C) on the diagonal; w / Σw into out (m, k).

    By Cholesky's factorisation; returns the first row for which it fails, or -1.
    """
    m, k = near.shape
    d = X.shape[1]
    apart, C, w = np.empty((k, d)), np.empty((k, k)), np.empty(k)
    for i in range(m):
        trace = 0.0
        for a in range(k):
            y = Y[near[i, a]]
            for j in range(d):
                apart[a, j] = y[j] - X[i, j]
        for a in range(k):
            for b in range(a + 1):
                total = 0.0
                for j in range(d):
                    total += apart[a, j] * apart[b, j]
                C[a, b] = total
            trace += C[a, a]
        more = reg * trace if trace > 0 else reg
        least = 1e-13 * (trace + more)
        for a in range(k):
            C[a, a] += more
            for b in range(a + 1):
                total = C[a, b]
                for c in range(b):
                    total -= C[a, c] * C[b, c]
                if a == b:
                    if total <= least:
                        return i
                    C[a, a] = np.sqrt(total)
                else:
                    C[a, b] = total / C[b, b]
        for a in range(k):
            total = 1.0
            for c in range(a):
                total -= C[a, c] * w[c]
            w[a] = total / C[a, a]
        whole = 0.0
        for back in range(k):
            a = k - 1 - back
            total = w[a]
            for c in range(a + 1, k):
                total -= C[c, a] * w[c]
            w[a] = total / C[a, a]
            whole += w[a]
        for a in range(k):
            out[i, a] = w[a] / whole
    return -1


@kernel
def weighted_points(weights: Any, near: Any, Z: Any, out: Any) -> None:
    """out[i] = Σ_a weights[i, a] Z[near[i, a]], each row by itself."""
    for i in range(out.shape[0]):
        row = out[i]
        for c in range(row.size):
            row[c] = 0.0
        for a in range(near.shape[1]):
            w, z = weights[i, a], Z[near[i, a]]
            for c in range(row.size):
                row[c] += w * z[c]
