"""The nearest centre of every row: the half step of k-means that takes its time.

Distances to all centres are one matrix product for a block of rows, in single precision. It leaves a row in doubt
when its two nearest centres are closer to each other than the rounding could be; those rows, a few in a million as
a rule, are measured again one by one in double precision. So the answer is the exact one, ties go to the lowest
index, and the product costs half.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.cluster._engine.nearest_kernels import (
    MARGIN,
    change,
    decide,
    elkan,
    gaps,
    gather_sums,
    hamerly,
    search,
)
from tercet.core import parallel
from tercet.core.parallel import Chunks, each, total
from tercet.core.rows import Dense, Rows, rows

DOUBTS = 0.05  # a share of rows in doubt from which on single precision does not pay


class Centres:
    """Centres at one moment, and what passes want to know of them.

    `shift` is how far each has come since the last pass; `apart` the half distances between them, and `room` the
    half distance to the nearest other one: a row that is nearer to its centre than that has found its place.
    """

    def __init__(self, points: np.ndarray, mean: np.ndarray | None, before: Centres | None = None) -> None:
        self.points = points
        self.squares = np.einsum("ij,ij->i", points, points)
        # Seen from the middle of the data the products are small, and little is lost when they are subtracted.
        self.mean = np.zeros(points.shape[1]) if mean is None else mean
        self.moved = points - self.mean
        self.half = np.einsum("ij,ij->i", self.moved, self.moved) / 2
        self.reach = float(np.sqrt(2 * self.half.max()))
        self.shift = np.zeros(len(points))
        if before is not None:
            self.shift = np.sqrt(((points - before.points) ** 2).sum(axis=1)) * MARGIN

    def spread(self) -> tuple[np.ndarray, np.ndarray]:
        """`apart` and `room`."""
        squares = 2 * (self.half[:, None] + self.half - self.moved @ self.moved.T)
        rounding = (self.moved.shape[1] + 8) * 1e-15 * self.reach**2
        apart = np.sqrt(np.maximum(squares - rounding, 0.0)) / 2  # never more than the truth
        room = apart + np.diag(np.full(len(apart), np.inf))
        return apart, room.min(axis=1)


@dataclass
class Tally:
    """What the rows of each cluster add up to."""

    sums: np.ndarray
    mass: np.ndarray
    count: np.ndarray
    moved: int

    def means(self, otherwise: np.ndarray) -> np.ndarray:
        """The means of the clusters; an empty one stays where it was."""
        means = otherwise.copy()
        np.divide(self.sums, self.mass[:, None], out=means, where=(self.count > 0)[:, None])
        return means


class Places:
    """The cluster of every row, kept from pass to pass with what is known of the distances.

    Parameters
    ----------
    X, weight : the rows, an array or CSR matrix, and their weights.
    k : number of centres.
    bounds : 0, 1 or k: lower bounds kept for each row: none (every pass looks at everything), one for all other
        centres (Hamerly), or one for each centre (Elkan).
    """

    def __init__(
        self, X: Any, weight: np.ndarray | None, k: int, bounds: int = 0, n_jobs: Any = None
    ) -> None:
        n = X.shape[0]
        self.X, self.k, self.bounds, self.n_jobs = X, k, bounds, n_jobs
        self.weight = np.ones(n) if weight is None else weight.astype(np.float64, copy=False)
        self.labels = np.full(n, -1, dtype=np.int32)
        self.upper = np.full(n, np.inf)
        self.lower = np.zeros((n, bounds))
        self.chunks = Chunks(X, self.weight, self.labels, self.upper, self.lower, rows=rows_per_chunk(X, k))
        self.mean: np.ndarray | None = None
        if not sparse.issparse(X):
            self.mean = total(weighted_sum, self.chunks, n_jobs=n_jobs) / self.weight.sum()
        self.single = self.mean is not None
        self._sums: Tally | None = None

    @functools.cached_property
    def middle(self) -> np.ndarray:
        """The mean of all rows."""
        if self.mean is not None:
            return self.mean
        return np.asarray(self.X.T @ self.weight).ravel() / self.weight.sum()

    @functools.cached_property
    def scatter(self) -> float:
        """The sum of squared distances from the mean: what W and the scatter between clusters add up to."""
        return float(total(squares_around, self.chunks, self.middle, n_jobs=self.n_jobs))

    def look(self, at: Centres) -> Tally:
        """Put every row to its nearest centre; what the clusters add up to then."""
        first = self._sums is None
        spread = at.spread() if self.bounds and not first else (np.empty((0, 0)), np.empty(0))
        sums, mass, count, moved, doubts = total(
            place, self.chunks, at, spread, first, self.single, n_jobs=self.n_jobs
        )
        if self.single and doubts > DOUBTS * len(self.labels):
            self.single = False
        if self._sums is not None and self.bounds:  # only what has changed was added up
            sums, mass, count = self._sums.sums + sums, self._sums.mass + mass, self._sums.count + count
        sums[count == 0], mass[count == 0] = 0.0, 0.0
        self._sums = Tally(sums, mass, count, int(moved))
        return self._sums

    def tally(self) -> Tally:
        """The sums anew from all rows: sums that were only changed gather rounding."""
        sums, mass, count = total(add_up, self.chunks, self.k, n_jobs=self.n_jobs)
        return Tally(sums, mass, count, 0)

    def fill(self, at: Centres, tally: Tally) -> None:
        """Give each empty cluster the row that is farthest from its own centre."""
        empty = np.flatnonzero(tally.count == 0)
        gaps = np.concatenate(each(own_gaps, self.chunks, at, n_jobs=self.n_jobs))
        gaps[self.weight == 0] = 0.0
        order = iter(np.argsort(-gaps, kind="stable"))
        for cluster in empty:
            for i in order:
                home = self.labels[i]
                if gaps[i] <= 0:
                    return  # fewer different rows than clusters
                if tally.count[home] > 1:
                    break
            else:
                return
            x, w = self.X[[i]], self.weight[i]
            x = w * (x.toarray() if sparse.issparse(x) else x)[0].astype(np.float64)
            for c, sign in ((home, -1), (cluster, 1)):
                tally.sums[c] += sign * x
                tally.mass[c] += sign * w
                tally.count[c] += sign
            tally.moved += 1
            self.labels[i] = cluster
            self.upper[i], self.lower[i] = np.inf, 0.0

    def inertia(self, at: Centres) -> float:
        """Sum of squared distances to the rows' own centres."""
        return float(total(energy, self.chunks, at, n_jobs=self.n_jobs))


def rows_per_chunk(X: Any, k: int) -> int:
    """As many rows as fill a chunk, and enough of them to be worth k sums."""
    n = X.shape[0]
    size = X.data.nbytes * 1.5 if sparse.issparse(X) else X.nbytes
    fill = int(parallel.CHUNK_BYTES * n / max(size, 1))
    return max(fill, 8 * k, parallel.GRAIN) // parallel.GRAIN * parallel.GRAIN


def place(chunk: tuple, at: Centres, spread: tuple, first: bool, single: bool) -> tuple:
    """One chunk of rows to the nearest centres."""
    X, weight, labels, upper, lower = chunk
    view, k = rows(X), len(at.points)
    old = labels.copy()
    doubts = 0
    everyone = first or not lower.shape[1]
    if lower.shape[1] > 1 and not first:
        apart, room = spread
        elkan(view, at.points, at.squares, at.shift, apart, room, labels, upper, lower)
    else:
        open_ = np.arange(len(labels)) if everyone else np.empty(len(labels), dtype=np.int64)
        if not everyone:
            most = np.sort(at.shift)[-2:]
            n = hamerly(view, at.points, at.squares, at.shift, most, spread[1], labels, upper, lower, open_)
            open_ = open_[:n]
        doubts = measure(view, open_, at, labels, upper, lower, single)
    sums, mass, count = np.zeros(at.points.shape), np.zeros(k), np.zeros(k, dtype=np.int64)
    moved = np.flatnonzero(labels != old)
    if lower.shape[1]:
        change(view, weight, moved, old, labels, sums, mass, count)
    else:
        gather_sums(view, weight, labels, sums, mass, count)
    return sums, mass, count, moved.size, doubts


def measure(
    view: Rows, ids: np.ndarray, at: Centres, labels: Any, upper: Any, lower: Any, single: bool = True
) -> int:
    """The nearest centres of the rows `ids`; returns how many were in doubt."""
    dtype = (
        np.float32 if single and 1e-15 < at.reach < 1e15 else np.float64
    )  # squares must have their place, too
    k, d = at.moved.shape
    points = at.moved if isinstance(view, Dense) and k >= d else at.moved.T
    points, half = np.ascontiguousarray(points, dtype=dtype), at.half.astype(dtype)
    slack = (d + 8) * np.finfo(dtype).eps
    doubt = np.empty(ids.size, dtype=np.int64)
    n = search(view, ids, at.mean, points, half, slack, at.reach, labels, upper, lower, doubt)
    decide(view, doubt[:n], at.points, at.squares, labels, upper, lower)
    return n


def nearest(X: Any, centres: np.ndarray, n_jobs: Any = None) -> np.ndarray:
    """The index of the nearest centre for every row of X."""
    mean = None if sparse.issparse(X) else centres.mean(axis=0, dtype=np.float64)
    at = Centres(centres.astype(np.float64), mean)
    parts = each(nearest_in, Chunks(X, rows=rows_per_chunk(X, len(centres))), at, n_jobs=n_jobs)
    return np.concatenate(parts)


def nearest_in(chunk: tuple, at: Centres) -> np.ndarray:
    (X,) = chunk
    labels = np.full(X.shape[0], -1, dtype=np.int32)
    nothing = np.empty(0), np.empty((0, 0))
    measure(rows(X), np.arange(X.shape[0]), at, labels, *nothing, not sparse.issparse(X))
    return labels


def weighted_sum(chunk: tuple) -> np.ndarray:
    return np.dot(chunk[1], chunk[0])


def squares_around(chunk: tuple, middle: np.ndarray) -> float:
    view = rows(chunk[0])
    labels = np.zeros(len(chunk[1]), dtype=np.int32)
    return float(np.dot(chunk[1], gaps(view, labels, middle[None], np.array([middle @ middle]))))


def own_gaps(chunk: tuple, at: Centres) -> np.ndarray:
    return gaps(rows(chunk[0]), chunk[2], at.points, at.squares)


def energy(chunk: tuple, at: Centres) -> float:
    return float(np.dot(chunk[1], own_gaps(chunk, at)))


def add_up(chunk: tuple, k: int) -> tuple:
    X, weight, labels = chunk[:3]
    sums, mass, count = np.zeros((k, X.shape[1])), np.zeros(k), np.zeros(k, dtype=np.int64)
    gather_sums(rows(X), weight, labels, sums, mass, count)
    return sums, mass, count
