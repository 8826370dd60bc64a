"""The assignment step of k-means over rows that are not in memory.

Nothing is kept for single rows from pass to pass: the clusters of the pass before are found again from its centres,
since nearest centres are exact. Sums are added up as `Assignment` adds them up, so that the bits are the same.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tercet.cluster._engine.nearest_centres import (
    FEW_MOVES,
    MOVING,
    NO_BOUNDS,
    TILE_BYTES,
    VERY_FEW_MOVES,
    WORTH_BOUNDS,
    CentreSet,
    ClusterSums,
    assign_rows,
    rows_per_chunk,
    scatter_chunk,
    weighted_sum_chunk,
)
from tercet.cluster._engine.nearest_kernels import add_cluster_sums, move_cluster_sums, own_squared_distances
from tercet.core.parallel import Chunks, each, total
from tercet.core.row_sums import mass_of
from tercet.core.rows import rows

CANDIDATES = 64  # rows of a chunk that may refill empty clusters


class StreamedAssignment:
    """The interface of `Assignment` for streamed rows; see there."""

    def __init__(
        self, X: Any, weight: Any, k: int, bounds: int = 0, n_jobs: Any = None, adaptive: bool = False
    ) -> None:
        if X.is_sparse:
            raise TypeError(
                "KMeans learns from dense sources only. Reduce sparse rows first, or draw a sample."
            )
        self.X, self.k, self.n_jobs, self.adaptive, self.bounded = X, k, n_jobs, adaptive, bounds > 0
        self.mass = mass_of(X, weight)
        chunks: Any = Chunks(X, weight, X.stream.array("row"), rows=rows_per_chunk(X, k))
        self.chunks = chunks.prepared(with_weights)
        self.mean = total(weighted_sum_chunk, self.chunks, n_jobs=n_jobs) / self.mass
        self.overall_mean = self.mean
        self._sums: ClusterSums | None = None
        self._moving = 0
        self._before: CentreSet | None = None  # the centres of the last pass
        self._refilled: dict[int, int] = {}  # rows that were then moved to empty clusters

    @functools.cached_property
    def scatter(self) -> float:
        """Total scatter, Σ_i w_i |x_i - mean|²."""
        return float(total(scatter_chunk, self.chunks, self.mean, n_jobs=self.n_jobs))

    def assign(self, centres: CentreSet) -> ClusterSums:
        """Assign every row to its nearest centre; the sums of the clusters then."""
        if self._sums is not None and self.adaptive and not self.bounded and self._bounds_pay(self._sums):
            self.bounded = True
        moving = self.bounded or (self._sums is not None and self._few_moves(self._sums))
        self._moving = self._moving + 1 if moving else 0
        refilled = np.array(sorted(self._refilled.items()), dtype=np.int64).reshape(-1, 2)
        sums, mass, count, moved = total(
            assign_streamed_chunk, self.chunks, centres, self._before, refilled, moving, n_jobs=self.n_jobs
        )
        if self._sums is not None and moving:  # only what has changed was added up
            sums, mass, count = self._sums.sums + sums, self._sums.mass + mass, self._sums.count + count
        sums[count == 0], mass[count == 0] = 0.0, 0.0
        self._sums, self._before, self._refilled = ClusterSums(sums, mass, count, int(moved)), centres, {}
        return self._sums

    def _few_moves(self, sums: ClusterSums) -> bool:
        return sums.moved < FEW_MOVES * self.X.shape[0] and self._moving < MOVING

    def _bounds_pay(self, sums: ClusterSums) -> bool:
        n, d = self.X.shape
        small = 16 * n <= 0.1 * self.X.nbytes or 16 * n <= TILE_BYTES
        return small and self.k * d >= WORTH_BOUNDS and sums.moved < VERY_FEW_MOVES * n

    def recompute_sums(self) -> ClusterSums:
        """The sums anew from all rows: incremental sums gather rounding."""
        sums, mass, count = total(streamed_sums_chunk, self.chunks, self._before, self.k, n_jobs=self.n_jobs)
        return ClusterSums(sums, mass, count, 0)

    def refill_empty(self, centres: CentreSet, sums: ClusterSums) -> None:
        """Give each empty cluster the row that is farthest from its own centre."""
        empty = np.flatnonzero(sums.count == 0)
        most = max(CANDIDATES, 4 * empty.size)
        found = [
            one for part in each(far_rows, self.chunks, centres, most, n_jobs=self.n_jobs) for one in part
        ]
        order = iter(sorted(found, key=lambda one: (-one[0], one[1])))
        for cluster in empty:
            far = next((one for one in order if one[0] <= 0 or sums.count[one[2]] > 1), None)
            if far is None or far[0] <= 0:
                return  # fewer different rows than clusters
            _, i, home, w, x = far
            for c, sign in ((home, -1), (cluster, 1)):
                sums.sums[c] += sign * (w * x)
                sums.mass[c] += sign * w
                sums.count[c] += sign
            sums.moved += 1
            self._refilled[i] = int(cluster)

    def inertia_around(self, centres: np.ndarray, settled: bool) -> tuple[float, np.ndarray]:
        """Sum of squared distances to the rows' own centres, and how many rows each has.

        The rows' own are the nearest of these centres; when no row moved, of those of the last pass.
        """
        found = CentreSet(centres.astype(np.float64), self.mean)
        nearest = self._before if settled and centres.dtype == np.float64 else None
        inertia, count = total(
            streamed_inertia_chunk, self.chunks, found, nearest or found, n_jobs=self.n_jobs
        )
        return float(inertia), count


def with_weights(chunk: tuple) -> tuple:
    """A chunk with weights of double precision; ones where there are none."""
    X, weight, row = chunk
    return X, np.ones(len(row)) if weight is None else weight.astype(np.float64, copy=False), row


def nearest_labels(X: np.ndarray, centres: CentreSet) -> np.ndarray:
    """The nearest centre of each row of a chunk."""
    labels = np.empty(X.shape[0], dtype=np.int32)
    assign_rows(rows(X), np.arange(X.shape[0]), centres, labels, *NO_BOUNDS)
    return labels


def assign_streamed_chunk(
    chunk: tuple, centres: CentreSet, before: CentreSet | None, refilled: np.ndarray, moving: bool
) -> tuple:
    """Assign one chunk of rows; sums (or changes of sums), and rows that moved."""
    X, weight, row = chunk
    view, k, labels = rows(X), len(centres.points), nearest_labels(X, centres)
    if before is None:
        old = np.full(len(labels), -1, dtype=np.int32)
    else:
        old = nearest_labels(X, before)
        for i, cluster in refilled:
            if row[0] <= i <= row[-1]:
                old[i - row[0]] = cluster
    sums, mass, count = np.zeros(centres.points.shape), np.zeros(k), np.zeros(k, dtype=np.int64)
    moved = np.flatnonzero(labels != old)
    if moving:
        move_cluster_sums(view, weight, moved, old, labels, sums, mass, count)
    else:
        add_cluster_sums(view, weight, labels, sums, mass, count)
    return sums, mass, count, moved.size


def streamed_sums_chunk(chunk: tuple, centres: CentreSet, k: int) -> tuple:
    """Sums, weights and counts of the clusters of a chunk."""
    X, weight, _ = chunk
    sums, mass, count = np.zeros((k, X.shape[1])), np.zeros(k), np.zeros(k, dtype=np.int64)
    add_cluster_sums(rows(X), weight, nearest_labels(X, centres), sums, mass, count)
    return sums, mass, count


def far_rows(chunk: tuple, centres: CentreSet, most: int) -> list[tuple]:
    """The rows of a chunk that are farthest from their centres: distance, number, cluster, weight and values."""
    X, weight, row = chunk
    labels = nearest_labels(X, centres)
    gaps = own_squared_distances(rows(X), labels, centres.points, centres.squares)
    gaps[weight == 0] = 0.0
    return [
        (float(gaps[i]), int(row[i]), int(labels[i]), float(weight[i]), X[i].astype(np.float64))
        for i in np.argsort(-gaps, kind="stable")[:most]
    ]


def streamed_inertia_chunk(chunk: tuple, centres: CentreSet, nearest: CentreSet) -> tuple:
    """Σ_i w_i |x_i - m_C(i)|² of a chunk, and the rows of each cluster."""
    X, weight, _ = chunk
    labels = nearest_labels(X, nearest)
    gaps = own_squared_distances(rows(X), labels, centres.points, centres.squares)
    return float(np.dot(weight, gaps)), np.bincount(labels, minlength=len(centres.points))
