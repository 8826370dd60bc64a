"""The large-margin loss over target neighbours and a working set of impostors, and its derivative by M."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import kernel
from tercet.core.parallel import each, total
from tercet.core.rows import kernel_form, read_only

BLOCK_ENTRIES = 1 << 18  # of a block of distances
MOST_ROWS = 256
MOST_NEW = 100  # impostors that one search adds to the working set of a row
PART = 512  # rows of a task


class LargeMargin:
    """Sums over target neighbours and impostors, for rows in the order of their classes.

    Parameters
    ----------
    X : array of shape (n, d)
        Centred rows.
    y : array of shape (n,)
        Codes of the classes, not falling.
    weight : array of shape (n,)
        Positive weights.
    targets : CSR matrix of shape (n, n)
        The target neighbours of each row.
    push : float
        The share μ of the impostors in the loss.
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, targets: Any, push: float, n_jobs: int | None
    ) -> None:
        self.X, self.weight, self.push, self.n_jobs = kernel_form(X), kernel_form(weight), push, n_jobs
        self.targets = as_lists(targets)
        n = len(X)
        self.first, self.last = np.searchsorted(y, y, side="left"), np.searchsorted(y, y, side="right")
        self.set = sparse.csr_array((n, n), dtype=bool)
        self.impostors = as_lists(self.set)
        self.parts = [(a, min(a + PART, n)) for a in range(0, n, PART)]
        rows = max(8, min(MOST_ROWS, BLOCK_ENTRIES // n))
        self.blocks = [(a, min(a + rows, n)) for a in range(0, n, rows)]

    def __call__(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss over the working set for the transformation L, and its derivative by M = L'L."""
        Z = kernel_form(self.X @ L.T)
        value, sums, S = total(self._statistics, self.parts, Z, n_jobs=self.n_jobs)
        return float(value), (self.X.T * sums) @ self.X - S - S.T

    def _statistics(self, part: tuple[int, int], Z: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        start, stop = part
        sums, V = np.zeros(len(Z)), np.zeros((stop - start, self.X.shape[1]))
        value = margin_sums(Z, self.X, self.weight, *self.targets, *self.impostors, self.push, start, V, sums)
        return value, sums, self.X[start:stop].T @ V

    def add_impostors(self, L: np.ndarray) -> int:
        """Add the nearest rows of other classes that violate the margin by L; how many there are."""
        Z = kernel_form(self.X @ L.T)
        square = (Z**2).sum(axis=1)
        reach = np.empty(len(Z))
        target_reach(Z, *self.targets, reach)
        found = each(self._violations, self.blocks, Z, square, reach, n_jobs=self.n_jobs)
        rows = np.concatenate([part[0] for part in found])
        if rows.size:
            columns, shape = np.concatenate([part[1] for part in found]), self.set.shape
            new = sparse.csr_array((np.ones(rows.size, dtype=bool), (rows, columns)), shape=shape)
            self.set = sparse.csr_array(self.set + new)
            self.set.sort_indices()
            self.impostors = as_lists(self.set)
        return int(rows.size)

    def _violations(
        self, block: tuple[int, int], Z: np.ndarray, square: np.ndarray, reach: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pairs (i, l) with |z_i - z_l|² < 1 + the largest of i's target neighbours, not yet in the working set."""
        start, stop = block
        apart = square[start:stop, None] + square - 2.0 * (Z[start:stop] @ Z.T)
        indptr, indices = self.impostors
        rows, columns = [], []
        for i in range(start, stop):
            row = apart[i - start]
            row[self.first[i] : self.last[i]] = np.inf
            row[indices[indptr[i] : indptr[i + 1]]] = np.inf
            near = np.flatnonzero(row < reach[i])
            if near.size > MOST_NEW:
                near = near[np.argpartition(row[near], MOST_NEW)[:MOST_NEW]]
            rows.append(np.full(near.size, i))
            columns.append(near)
        return np.concatenate(rows), np.concatenate(columns)


def as_lists(pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Borders and columns of the rows of a CSR matrix, for kernels."""
    return tuple(
        read_only(np.ascontiguousarray(part, dtype=np.int64)) for part in (pairs.indptr, pairs.indices)
    )  # type: ignore[return-value]


@kernel
def target_reach(Z: Any, borders: Any, targets: Any, reach: Any) -> None:
    """1 + the largest squared distance of a row from its target neighbours; -1 for a row without any."""
    for i in range(Z.shape[0]):
        z, most = Z[i], -2.0
        for s in range(borders[i], borders[i + 1]):
            other, square = Z[targets[s]], 0.0
            for k in range(z.size):
                square += (z[k] - other[k]) ** 2
            most = max(most, square)
        reach[i] = 1.0 + most


@kernel
def margin_sums(
    Z: Any,
    X: Any,
    weight: Any,
    target_borders: Any,
    targets: Any,
    impostor_borders: Any,
    impostors: Any,
    push: float,
    start: int,
    V: Any,
    sums: Any,
) -> float:
    """The loss of rows from `start`; V[r] = Σ_b C_ib x_b with the derivatives C_ib of the loss by squared
    distances, whose sums over rows and columns are added up in `sums`.
    """
    value = 0.0
    for r in range(V.shape[0]):
        i, v = start + r, V[r]
        z, a, b = Z[i], target_borders[i], target_borders[i + 1]
        square, slope = np.empty(b - a), np.full(b - a, (1.0 - push) * weight[i])
        for s in range(b - a):
            other, square[s] = Z[targets[a + s]], 0.0
            for k in range(z.size):
                square[s] += (z[k] - other[k]) ** 2
            value += (1.0 - push) * weight[i] * square[s]
        for s in range(impostor_borders[i], impostor_borders[i + 1]):
            l, far = impostors[s], 0.0
            other, unit = Z[l], push * weight[i] * weight[l]
            for k in range(z.size):
                far += (z[k] - other[k]) ** 2
            active = 0
            for t in range(b - a):
                hinge = 1.0 + square[t] - far
                if hinge > 0.0:
                    value += unit * hinge
                    slope[t] += unit
                    active += 1
            if active > 0:
                x, c = X[l], -unit * active
                sums[i] += c
                sums[l] += c
                for k in range(v.size):
                    v[k] += c * x[k]
        for s in range(b - a):
            j = targets[a + s]
            x, c = X[j], slope[s]
            sums[i] += c
            sums[j] += c
            for k in range(v.size):
                v[k] += c * x[k]
    return value
