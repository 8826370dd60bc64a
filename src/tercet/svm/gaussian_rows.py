"""Rows of a Gaussian Gram matrix, as many and as fast as a block method wants them.

With points seen from their mean and scaled, K(x, z) = 2^(x.z - |x|²/2 - |z|²/2): a matrix product, a short
polynomial and a shift of bits. All of it is done in float32, tile by tile while a tile is in a core's own cache;
rows that will be wanted again are kept as 16-bit integers. What that costs in digits is counted (`noise`), and
made good where it matters (`settle`).
"""

from __future__ import annotations

import functools

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.parallel import Chunks, each
from tercet.kernels import Gaussian
from tercet.svm.row_cache import RowCache

TILE = 512  # columns of a tile
CHUNK = 2048  # columns of a task
MOST = 512  # rows of a tile
UNIT = 65535.0
FLOAT = 1e-8  # the same of float32, where exponents are near 0
ROUGH = 1.0 / (UNIT * np.sqrt(12.0))  # standard deviation of what 16 bits leave out


def reach(X: np.ndarray, rate: float) -> float:
    """gamma times the largest squared distance of a point from the mean."""
    middle = X.mean(axis=0, dtype=np.float64)
    return float(rate * max(((part - middle) ** 2).sum(axis=1).max() for (part,) in Chunks(X)))


class GaussianRows:
    """Blocks and rows of K for dense rows X."""

    def __init__(self, kernel: Gaussian, X: np.ndarray, cache_bytes: float, n_jobs: int | None) -> None:
        root = np.sqrt(2.0 * kernel.rate / np.log(2.0))
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.points = np.ascontiguousarray((X - X.mean(axis=0, dtype=np.float64)) * root, dtype=np.float32)
        square = np.einsum("ij,ij->i", self.points, self.points, dtype=np.float64)
        self.half = (0.5 * square).astype(np.float32)
        self.blur = FLOAT * (2.0 + float(self.half.max()))
        n = X.shape[0]
        self.diag = np.ones(n)
        self.cache = RowCache(n, int(cache_bytes // (2 * n)), np.uint16)
        self.chunks = [(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]
        self.owed = np.zeros(n)  # coefficients that were used with rounded rows
        self.used = np.zeros(n)  # and with rows in float32
        self._buffers: list[np.ndarray] = []  # fresh memory is dear: tasks hand it on
        self._square_room = np.empty(0)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """K of some rows with each other; the next call writes over it."""
        q = rows.size
        if self._square_room.size < q * q:
            self._square_room = np.empty(q * q)
        out = self._square_room[: q * q].reshape(q, q)
        points, half = self.points[rows], self.half[rows]
        step = max(1, min(128, MOST * TILE // q))
        cuts = [slice(a, min(a + step, q)) for a in range(0, q, step)]
        each(functools.partial(self._square, points, half, out), cuts, n_jobs=self.n_jobs)
        return out

    def _square(self, points, half, out, part):
        flat = self._buffer()
        tile = self._product(flat, points[part], points)
        square(tile, half[part], half, out[part])
        self._buffers.append(flat)

    def add(
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: np.ndarray, held: np.ndarray
    ) -> None:
        """F += sum of coef_j K_j; rows to `keep` go to the cache, in the place of any but those in `held`."""
        slots = self.cache.find(rows)
        known = slots >= 0
        self.owed[rows[known]] += coef[known]
        self.used[rows] += coef
        fresh = rows[~known]
        places = np.full(fresh.size, -1, dtype=np.int64)
        wanted = keep[~known]
        places[wanted] = self.cache.place(fresh[wanted], held)
        self._sweep(F, fresh, coef[~known], places, slots[known], coef[known], False)

    def noise(self) -> float:
        """The standard deviation of what rounding has done to F."""
        return float(ROUGH * np.linalg.norm(self.owed) + self.blur * np.linalg.norm(self.used))

    def settle(self, F: np.ndarray, beta: np.ndarray, rest: float) -> None:
        """Make good what rounding has done to F, until no more than a noise of `rest` is left."""
        if 4.0 * self.blur * np.linalg.norm(self.used) >= rest:  # a rest of 0 asks for an exact F
            rows = np.flatnonzero(beta)
            F[:] = self.kernel.times(self.X, self.X[rows], beta[rows], n_jobs=self.n_jobs)
            self.owed[:] = self.used[:] = 0.0
            return
        order = np.argsort(-np.abs(self.owed), kind="stable")
        left = np.sqrt(np.cumsum(self.owed[order[::-1]] ** 2)[::-1])  # of each and all after it
        rows = order[: int(np.sum(ROUGH * left > rest))]
        none = np.zeros(0)
        places = np.full(rows.size, -1, dtype=np.int64)
        self._sweep(F, rows, self.owed[rows], places, none.astype(np.int64), none, True)
        self.owed[rows] = 0.0

    def _sweep(self, F, fresh, coef, places, slots, slot_coef, residual):
        coef, slot_coef = coef.astype(np.float32), (slot_coef / UNIT).astype(np.float32)
        parts = [slice(a, min(a + MOST, fresh.size)) for a in range(0, fresh.size, MOST)]
        ready = [(self.points[fresh[p]], self.half[fresh[p]], coef[p], places[p]) for p in parts]
        task = functools.partial(self._columns, F, ready, slots, slot_coef, residual)
        each(task, self.chunks, n_jobs=self.n_jobs)

    def _columns(self, F, ready, slots, slot_coef, residual, chunk):
        start, stop = chunk
        store = self.cache.rows
        if slots.size:
            add_kept(store, slots, slot_coef, F, start, stop)
        flat = self._buffer()
        for a in range(start, stop, TILE):
            b = min(a + TILE, stop)
            for points, half, coef, places in ready:
                tile = self._product(flat, points, self.points[a:b])
                add_fresh(tile, half, self.half[a:b], coef, places, store, F, a, residual)
        self._buffers.append(flat)

    def _buffer(self) -> np.ndarray:
        try:
            return self._buffers.pop()
        except IndexError:
            return np.empty(MOST * TILE, dtype=np.float32)

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
    """The kernel's values from products, as float64."""
    bits = tile.view(np.int32)
    shift = np.empty(tile.shape[1], np.int32)
    for i in range(tile.shape[0]):
        exp2_row(tile[i], bits[i], shift, half[i], halves)
        row, values = out[i], tile[i]
        for k in range(row.size):
            row[k] = values[k]


@kernel
def add_fresh(tile, half, halves, coef, places, store, F, start, residual):
    """Values from products; F takes its share of every row, and the cache those that have a place there."""
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
        eight(
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
def add_kept(store, slots, coef, F, start, stop):
    """F takes its share of rows in the cache."""
    target = F[start:stop]
    i, rows = 0, slots.size
    while i + 8 <= rows:
        eight(
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
def eight(r0, r1, r2, r3, r4, r5, r6, r7, coef, target):
    """Eight rows at a time: their sum in float32, then one float64 addition."""
    c0, c1, c2, c3 = coef[0], coef[1], coef[2], coef[3]
    c4, c5, c6, c7 = coef[4], coef[5], coef[6], coef[7]
    for k in range(target.size):
        s = np.float32(c0 * np.float32(r0[k])) + np.float32(c1 * np.float32(r1[k]))
        s += np.float32(c2 * np.float32(r2[k])) + np.float32(c3 * np.float32(r3[k]))
        s += np.float32(c4 * np.float32(r4[k])) + np.float32(c5 * np.float32(r5[k]))
        s += np.float32(c6 * np.float32(r6[k])) + np.float32(c7 * np.float32(r7[k]))
        target[k] += s
