"""Rows of a Gaussian Gram matrix in float32, with a cache of 16-bit rows.

With centred and scaled points, K(x, z) = 2^(x.z - |x|²/2 - |z|²/2): a matrix product, a short polynomial and a
shift of bits. All of it is done in float32, tile by tile while a tile is in a core's own cache; rows that will be
needed again are cached as 16-bit integers. The rounding error of K beta is tracked (`rounding_error`), and
corrected where it matters (`correct`).
"""

from __future__ import annotations

import functools

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.parallel import Chunks, each
from tercet.core.stopping import check_stop
from tercet.kernels import Gaussian
from tercet.svm._dual.row_cache import RowCache

TILE = 512  # columns of a tile
CHUNK = 2048  # columns of a task
TILE_ROWS = 512
UNIT = 65535.0  # the integer that stands for K = 1
UINT16_ERROR = 1.0 / (UNIT * np.sqrt(12.0))  # standard deviation of rounding to 16 bits
FLOAT32_ERROR = 1e-8  # the same for float32, where exponents are near 0


def largest_exponent(X: np.ndarray, rate: float) -> float:
    """gamma times the largest squared distance of a point from the mean."""
    mean = X.mean(axis=0, dtype=np.float64)
    return float(rate * max(((part - mean) ** 2).sum(axis=1).max() for (part,) in Chunks(X)))


class GaussianRows:
    """Blocks of K and sums of its rows, for dense rows X (see `gram_rows`)."""

    def __init__(self, kernel: Gaussian, X: np.ndarray, cache_bytes: float, n_jobs: int | None) -> None:
        root = np.sqrt(2.0 * kernel.rate / np.log(2.0))
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.points = np.ascontiguousarray((X - X.mean(axis=0, dtype=np.float64)) * root, dtype=np.float32)
        square = np.einsum("ij,ij->i", self.points, self.points, dtype=np.float64)
        self.half = (0.5 * square).astype(np.float32)
        self.float32_error = FLOAT32_ERROR * (2.0 + float(self.half.max()))
        n = X.shape[0]
        self.diag = np.ones(n)
        self.cache = RowCache(n, int(cache_bytes // (2 * n)), np.uint16)
        self.chunks = [(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
        self.uint16_coef = np.zeros(n)  # coefficients that were used with 16-bit rows
        self.float32_coef = np.zeros(n)  # and with rows in float32
        self._buffers: list[np.ndarray] = []  # reused by tasks: fresh memory costs page faults
        self._block_buffer = np.empty(0)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K of some rows with each other; the next call writes over it."""
        q = rows.size
        if self._block_buffer.size < q * q:
            self._block_buffer = np.empty(q * q)
        out = self._block_buffer[: q * q].reshape(q, q)
        points, half = self.points[rows], self.half[rows]
        step = max(1, min(128, TILE_ROWS * TILE // q))
        cuts = [slice(a, min(a + step, q)) for a in range(0, q, step)]
        each(functools.partial(self._fill_block, points, half, out), cuts, n_jobs=self.n_jobs)
        return out

    def _fill_block(self, points, half, out, part):
        flat = self._buffer()
        tile = self._product(flat, points[part], points)
        square(tile, half[part], half, out[part])
        self._buffers.append(flat)

    def add(
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: np.ndarray, pinned: np.ndarray
    ) -> None:
        """F += sum of coef_j K_j; rows to `keep` go to the cache, in the place of any but those in `pinned`."""
        slots = self.cache.find(rows)
        known = slots >= 0
        self.uint16_coef[rows[known]] += coef[known]
        self.float32_coef[rows] += coef
        fresh = rows[~known]
        places = np.full(fresh.size, -1, dtype=np.int64)
        wanted = keep[~known]
        places[wanted] = self.cache.allocate(fresh[wanted], pinned)
        self._add_rows(F, fresh, coef[~known], places, slots[known], coef[known], False)

    def rounding_error(self) -> float:
        """The standard deviation of the rounding error of F."""
        return float(
            UINT16_ERROR * np.linalg.norm(self.uint16_coef)
            + self.float32_error * np.linalg.norm(self.float32_coef)
        )

    def correct(self, F: np.ndarray, beta: np.ndarray, error: float) -> None:
        """Correct F = K beta, until its rounding error is at most `error`."""
        if 4.0 * self.float32_error * np.linalg.norm(self.float32_coef) >= error:  # 0 asks for an exact F
            rows = np.flatnonzero(beta)
            F[:] = self.kernel.times(self.X, self.X[rows], beta[rows], n_jobs=self.n_jobs)
            self.uint16_coef[:] = self.float32_coef[:] = 0.0
            return
        order = np.argsort(-np.abs(self.uint16_coef), kind="stable")
        tail = np.sqrt(np.cumsum(self.uint16_coef[order[::-1]] ** 2)[::-1])  # norm of each and all after it
        rows = order[: int(np.sum(UINT16_ERROR * tail > error))]
        none = np.zeros(0)
        places = np.full(rows.size, -1, dtype=np.int64)
        self._add_rows(F, rows, self.uint16_coef[rows], places, none.astype(np.int64), none, True)
        self.uint16_coef[rows] = 0.0

    def _add_rows(self, F, fresh, coef, places, slots, slot_coef, residual):
        coef, slot_coef = coef.astype(np.float32), (slot_coef / UNIT).astype(np.float32)
        cuts = [slice(a, min(a + TILE_ROWS, fresh.size)) for a in range(0, fresh.size, TILE_ROWS)]
        parts = [(self.points[fresh[p]], self.half[fresh[p]], coef[p], places[p]) for p in cuts]
        task = functools.partial(self._add_to_columns, F, parts, slots, slot_coef, residual)
        each(task, self.chunks, n_jobs=self.n_jobs)

    def _add_to_columns(self, F, parts, slots, slot_coef, residual, chunk):
        start, stop = chunk
        store = self.cache.rows
        if slots.size:
            add_cached(store, slots, slot_coef, F, start, stop)
        flat = self._buffer()
        for a in range(start, stop, TILE):
            check_stop()
            b = min(a + TILE, stop)
            for points, half, coef, places in parts:
                tile = self._product(flat, points, self.points[a:b])
                add_fresh(tile, half, self.half[a:b], coef, places, store, F, a, residual)
        self._buffers.append(flat)

    def _buffer(self) -> np.ndarray:
        try:
            return self._buffers.pop()
        except IndexError:
            return np.empty(TILE_ROWS * TILE, dtype=np.float32)

    @staticmethod
    def _product(flat, left, right):
        tile = flat[: left.shape[0] * right.shape[0]].reshape(left.shape[0], right.shape[0])
        return np.dot(left, right.T, out=tile)


@inner
def exp2_row(row, row_bits, shift, own, other):
    """2^(row - own - other) in place, never above 1; relative error 2e-7 at most."""
    for k in range(row.size):
        z = np.float32(np.float32(row[k] - own) - other[k])
        z = z if z < np.float32(0.0) else np.float32(0.0)
        z = z if z > np.float32(-126.0) else np.float32(-126.0)
        whole = np.int32(z - np.float32(0.5))  # towards zero: the nearest, of numbers that are not positive
        f = np.float32(z - np.float32(whole))
        shift[k] = np.int32(whole << 23)
        p = np.float32(0.00015403530)
        p = np.float32(p * f + np.float32(0.0013333558))
        p = np.float32(p * f + np.float32(0.0096181291))
        p = np.float32(p * f + np.float32(0.055504109))
        p = np.float32(p * f + np.float32(0.24022651))
        p = np.float32(p * f + np.float32(0.69314718))
        row[k] = np.float32(p * f + np.float32(1.0))
    for k in range(row.size):
        row_bits[k] = np.int32(row_bits[k] + shift[k])


@kernel
def square(tile, half, halves, out):
    """Values of K (float64) from inner products: tile (a, b), half (a,), halves (b,), out (a, b)."""
    bits = tile.view(np.int32)
    shift = np.empty(tile.shape[1], np.int32)
    for i in range(tile.shape[0]):
        exp2_row(tile[i], bits[i], shift, half[i], halves)
        row, values = out[i], tile[i]
        for k in range(row.size):
            row[k] = values[k]


@kernel
def add_fresh(tile, half, halves, coef, places, store, F, start, residual):
    """Values of K from inner products; their rows times coef are added to F, those with a place are cached.

    With `residual` the row is what rounding to 16 bits leaves out. Shapes: tile (a, b), store (slots, n), F (n,).
    """
    width = tile.shape[1]
    bits = tile.view(np.int32)
    shift = np.empty(width, np.int32)
    target = F[start : start + width]
    rows = tile.shape[0]
    for i in range(rows):
        row = tile[i]
        exp2_row(row, bits[i], shift, half[i], halves)
        if places[i] >= 0:
            kept = store[places[i], start : start + width]
            for k in range(width):
                kept[k] = np.uint16(np.int32(np.float32(row[k] * np.float32(65535.0) + np.float32(0.5))))
        if residual:
            for k in range(width):
                unit = np.int32(np.float32(row[k] * np.float32(65535.0) + np.float32(0.5)))
                row[k] = np.float32(row[k] - np.float32(unit) * np.float32(1.0 / 65535.0))
    i = 0
    while i + 8 <= rows:
        add_eight_rows(
            tile[i],
            tile[i + 1],
            tile[i + 2],
            tile[i + 3],
            tile[i + 4],
            tile[i + 5],
            tile[i + 6],
            tile[i + 7],
            coef[i : i + 8],
            target,
        )
        i += 8
    while i < rows:
        row, c = tile[i], coef[i]
        for k in range(width):
            target[k] += np.float32(c * row[k])
        i += 1


@kernel
def add_cached(store, slots, coef, F, start, stop):
    """F += sum of coef_j times cached rows, on the columns start:stop."""
    target = F[start:stop]
    i, rows = 0, slots.size
    while i + 8 <= rows:
        add_eight_rows(
            store[slots[i], start:stop],
            store[slots[i + 1], start:stop],
            store[slots[i + 2], start:stop],
            store[slots[i + 3], start:stop],
            store[slots[i + 4], start:stop],
            store[slots[i + 5], start:stop],
            store[slots[i + 6], start:stop],
            store[slots[i + 7], start:stop],
            coef[i : i + 8],
            target,
        )
        i += 8
    while i < rows:
        row, c = store[slots[i], start:stop], coef[i]
        for k in range(target.size):
            target[k] += np.float32(c * np.float32(row[k]))
        i += 1


@inner
def add_eight_rows(r0, r1, r2, r3, r4, r5, r6, r7, coef, target):
    """target += eight rows times their coefficients: a sum in float32, then one float64 addition."""
    c0, c1, c2, c3 = coef[0], coef[1], coef[2], coef[3]
    c4, c5, c6, c7 = coef[4], coef[5], coef[6], coef[7]
    for k in range(target.size):
        s = np.float32(c0 * np.float32(r0[k])) + np.float32(c1 * np.float32(r1[k]))
        s += np.float32(c2 * np.float32(r2[k])) + np.float32(c3 * np.float32(r3[k]))
        s += np.float32(c4 * np.float32(r4[k])) + np.float32(c5 * np.float32(r5[k]))
        s += np.float32(c6 * np.float32(r6[k])) + np.float32(c7 * np.float32(r7[k]))
        target[k] += s
