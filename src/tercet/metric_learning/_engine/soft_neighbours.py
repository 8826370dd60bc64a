"""Sum of the leave-one-out probabilities of NCA and its gradient: over all pairs by blocks, or over near ones.

Both give Σ_i w_i p_i and the derivative by M, -Σ_ij W_ij (x_i - x_j)(x_i - x_j)' with W_ij = w_i p_ij (1[y_i =
y_j] - p_i). Rows of W sum to 0, so that the derivative is X'WX + X'W'X - X' diag(c) X, where c are the sums of the
columns: one product of W with X, of which only a block of rows exists at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import total
from tercet.core.rows import kernel_form, read_only

BLOCK_ENTRIES = 1 << 18  # of a block of p_ij, which stays in a core's cache for all it goes through
MOST_ROWS = 256
PART = 512  # rows of a task where each has a few neighbours


class AllPairs:
    """Sums over all pairs, for rows in the order of their classes.

    Parameters
    ----------
    X : array of shape (n, d)
        Centred rows.
    y : array of shape (n,)
        Codes of the classes, not falling.
    weight : array of shape (n,)
        Positive weights.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, n_jobs: int | None) -> None:
        self.X, self.weight, self.n_jobs = X, kernel_form(weight), n_jobs
        self.first = read_only(np.searchsorted(y, y, side="left").astype(np.int64))
        self.last = read_only(np.searchsorted(y, y, side="right").astype(np.int64))
        n = len(X)
        rows = max(8, min(MOST_ROWS, BLOCK_ENTRIES // n))
        self.blocks = [(a, min(a + rows, n)) for a in range(0, n, rows)]
        self._buffers: list[np.ndarray] = []  # reused by tasks: fresh memory costs page faults

    def __call__(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ_i w_i p_i for the transformation L, and its derivative by M = L'L."""
        Z = self.X @ L.T
        square = (Z**2).sum(axis=1)
        left = np.column_stack([2 * Z, np.ones(len(Z))])
        right = np.column_stack([Z, -square])  # left right' = |z_i|² - |z_i - z_j|²
        value, sums, S = total(self._statistics, self.blocks, left, right, n_jobs=self.n_jobs)
        return float(value), S + S.T - (self.X.T * sums) @ self.X

    def _statistics(
        self, block: tuple[int, int], left: np.ndarray, right: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        (start, stop), n = block, len(right)
        flat = self._buffer()
        E = flat[: (stop - start) * n].reshape(stop - start, n)
        np.dot(left[start:stop], right.T, out=E)
        E[np.arange(stop - start), np.arange(start, stop)] = -np.inf  # l ≠ i (8.27)
        E -= E.max(axis=1, keepdims=True)
        np.exp(E, out=E)
        sums = np.zeros(n)
        value = pair_weights(E, self.first, self.last, self.weight, start, sums)
        S = self.X[start:stop].T @ (E @ self.X)
        self._buffers.append(flat)
        return value, sums, S

    def _buffer(self) -> np.ndarray:
        try:
            return self._buffers.pop()
        except IndexError:
            start, stop = self.blocks[0]
            return np.empty((stop - start) * len(self.X))


class NearPairs:
    """Sums over the neighbours of each row alone: the working sets of one round.

    Parameters
    ----------
    X, y, weight
        As for `AllPairs`; the order is free.
    neighbours : array of shape (n, k)
        The rows that count for each row, itself not among them.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        neighbours: np.ndarray,
        n_jobs: int | None,
    ) -> None:
        self.X, self.weight, self.n_jobs = kernel_form(X), kernel_form(weight), n_jobs
        self.y = read_only(np.ascontiguousarray(y, dtype=np.int64))
        self.neighbours = read_only(np.ascontiguousarray(neighbours, dtype=np.int64))
        n = len(X)
        self.parts = [(a, min(a + PART, n)) for a in range(0, n, PART)]

    def __call__(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ_i w_i p_i over the working sets for the transformation L, and its derivative by M = L'L."""
        Z = kernel_form(self.X @ L.T)
        value, sums, S = total(self._statistics, self.parts, Z, n_jobs=self.n_jobs)
        return float(value), S + S.T - (self.X.T * sums) @ self.X

    def _statistics(self, part: tuple[int, int], Z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        start, stop = part
        sums, V = np.zeros(len(Z)), np.zeros((stop - start, self.X.shape[1]))
        W = np.empty((stop - start, self.neighbours.shape[1]))
        value = near_weights(Z, self.y, self.weight, self.neighbours, start, W)
        add_neighbours(self.X, self.neighbours, W, start, V, sums)
        return value, sums, self.X[start:stop].T @ V


@kernel
def pair_weights(E: Any, first: Any, last: Any, weight: Any, start: int, sums: Any) -> float:
    """W in place of exp(-|z_i - z_j|²) in E, a block of rows from `start`; adds up its columns. Gives Σ w_i p_i."""
    value = 0.0
    for r in range(E.shape[0]):
        i, row = start + r, E[r]
        before, own, after = row[: first[i]], row[first[i] : last[i]], row[last[i] :]
        whole, same = 0.0, 0.0
        for j in range(row.size):
            row[j] *= weight[j]
            whole += row[j]
        for j in range(own.size):
            same += own[j]
        scale, p = weight[i] / whole, same / whole
        value += weight[i] * p
        for j in range(before.size):
            before[j] *= -p * scale
        for j in range(own.size):
            own[j] *= (1.0 - p) * scale
        for j in range(after.size):
            after[j] *= -p * scale
        for j in range(row.size):
            sums[j] += row[j]
    return value


@kernel
def near_weights(Z: Any, y: Any, weight: Any, neighbours: Any, start: int, W: Any) -> float:
    """W of each row with its neighbours, for rows from `start`; gives Σ w_i p_i."""
    value = 0.0
    for r in range(W.shape[0]):
        i, row = start + r, W[r]
        z, least = Z[i], np.inf
        for s in range(row.size):
            other, square = Z[neighbours[i, s]], 0.0
            for k in range(z.size):
                square += (z[k] - other[k]) ** 2
            row[s] = square
            least = min(least, square)
        whole, same = 0.0, 0.0
        for s in range(row.size):
            j = neighbours[i, s]
            row[s] = np.exp(least - row[s]) * weight[j]
            whole += row[s]
            if y[j] == y[i]:
                same += row[s]
        p = same / whole
        value += weight[i] * p
        for s in range(row.size):
            row[s] *= weight[i] / whole * ((1.0 if y[neighbours[i, s]] == y[i] else 0.0) - p)
    return value


@kernel
def add_neighbours(X: Any, neighbours: Any, W: Any, start: int, V: Any, sums: Any) -> None:
    """V[r] = Σ_s W[r, s] x_j for the neighbours j of row start + r; adds up the columns of W."""
    for r in range(W.shape[0]):
        v = V[r]
        for s in range(W.shape[1]):
            j = neighbours[start + r, s]
            x, w = X[j], W[r, s]
            sums[j] += w
            for k in range(v.size):
                v[k] += w * x[k]
