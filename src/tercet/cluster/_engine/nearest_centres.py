"""The nearest centre of every row: the assignment step of k-means.

Distances to all centres are one matrix product for a block of rows, in single precision. A row is ambiguous when
its two smallest distances differ by less than the rounding error could be; the distances of those rows, a few in a
million as a rule, are computed again in double precision. So the answer is the exact one, ties go to the lowest
index, and the product costs half.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.cluster._engine.nearest_kernels import (
    BLOCK,
    MARGIN,
    add_cluster_sums,
    elkan,
    fill_tiles,
    hamerly,
    move_cluster_sums,
    own_squared_distances,
    search_by_products,
    search_exactly,
    search_tiles,
)
from tercet.core import chunks
from tercet.core.cache_lines import lines
from tercet.core.parallel import Chunks, each, total
from tercet.core.row_sums import mass_of
from tercet.core.rows import Rows, Sparse, read_only, rows
from tercet.core.scaling import common_exponent, times_power

AMBIGUOUS = 0.05  # a share of ambiguous rows from which on single precision does not pay
FEW_MOVES, MOVING = 0.2, 16  # share of rows below which sums are moved along, and for how many passes
VERY_FEW_MOVES, WORTH_BOUNDS = 0.01, 256  # share of rows below which, and k times d from which, bounds pay
FEW = 1 << 16  # multiplications up to which distances are simply computed
TILE_BYTES = 1 << 28  # the largest copy of the rows that is made for speed
PIECE = 4096  # rows of a piece of work that are worth a thread
NO_BOUNDS = np.empty(0), np.empty((0, 0))


class CentreSet:
    """The centres of one pass, with their norms and moves.

    Attributes
    ----------
    points : array of shape (k, d), the centres; `squares` are their squared norms.
    centred, half : the centres minus the mean of the data, to avoid cancellation, and half their squared norms.
    radius : the largest norm of a centred centre.
    shift : array of shape (k,), how far each has moved since the last pass.
    """

    def __init__(self, points: np.ndarray, mean: np.ndarray | None, before: CentreSet | None = None) -> None:
        self.points = points
        self.squares = np.einsum("ij,ij->i", points, points)
        self.mean = np.zeros(points.shape[1]) if mean is None else mean
        self.centred = points - self.mean
        self.half = np.einsum("ij,ij->i", self.centred, self.centred) / 2
        self.radius = float(np.sqrt(2 * self.half.max()))
        self.shift = np.zeros(len(points))
        if before is not None:
            self.shift = np.sqrt(((points - before.points) ** 2).sum(axis=1)) * MARGIN

    def half_gaps(self) -> tuple[np.ndarray, np.ndarray]:
        """Half the distances between the centres, of shape (k, k), and to the nearest other one, of shape (k,).

        A row that is nearer to its centre than the latter cannot be nearer to another.
        """
        squares = 2 * (self.half[:, None] + self.half - self.centred @ self.centred.T)
        rounding = (self.centred.shape[1] + 8) * 1e-15 * self.radius**2
        gaps = np.sqrt(np.maximum(squares - rounding, 0.0)) / 2  # never more than the true one
        return gaps, (gaps + np.diag(np.full(len(gaps), np.inf))).min(axis=1)


@dataclass
class ClusterSums:
    """Weighted sums, weights and counts of the rows of each cluster, and how many rows changed cluster."""

    sums: np.ndarray
    mass: np.ndarray
    count: np.ndarray
    moved: int

    def means(self, otherwise: np.ndarray) -> np.ndarray:
        """The means of the clusters; an empty one stays where it was."""
        means = otherwise.copy()
        np.divide(self.sums, self.mass[:, None], out=means, where=(self.count > 0)[:, None])
        return means


class Assignment:
    """The cluster of every row, kept from pass to pass with bounds of the distances.

    Parameters
    ----------
    X, weight : the rows, an array or CSR matrix, and their weights.
    k : number of centres.
    bounds : lower bounds kept for each row: 0 (every pass computes all distances), 1 for all other centres
        together (Hamerly), or k, one for each centre (Elkan).
    adaptive : whether to go over from no bounds to Hamerly's when few rows move.
    """

    def __init__(
        self,
        X: Any,
        weight: np.ndarray | None,
        k: int,
        bounds: int = 0,
        n_jobs: Any = None,
        adaptive: bool = False,
    ) -> None:
        n = X.shape[0]
        self.X, self.k, self.n_jobs, self.adaptive = X, k, n_jobs, adaptive
        self.weight = None if weight is None else weight.astype(np.float64, copy=False)
        self.mass = mass_of(X, self.weight)
        self.labels = np.full(n, -1, dtype=np.int32)
        self._keep_bounds(bounds)
        self.mean: np.ndarray | None = None
        if not sparse.issparse(X):
            self.mean = total(weighted_sum_chunk, self.chunks, n_jobs=n_jobs) / self.mass
        self.single = self.mean is not None
        self._sums: ClusterSums | None = None
        self._moving = 0  # passes since the sums were computed from all rows

    def _keep_bounds(self, bounds: int) -> None:
        """Keep so many lower bounds for each row, none of them known yet."""
        n = len(self.labels)
        self.bounds, self._bounds_known = bounds, False
        self.upper, self.lower = np.full(n if bounds else 0, np.inf), np.zeros((n, bounds))
        self.chunks = weighted_chunks(
            self.X, self.weight, self.labels, self.upper, self.lower, rows=rows_per_chunk(self.X, self.k)
        )

    @functools.cached_property
    def overall_mean(self) -> np.ndarray:
        """The mean of all rows."""
        if self.mean is not None:
            return self.mean
        weight = np.ones(len(self.labels)) if self.weight is None else self.weight
        return np.asarray(self.X.T @ weight).ravel() / self.mass

    @functools.cached_property
    def scatter(self) -> float:
        """Total scatter, Σ_i w_i |x_i - mean|²: W plus the scatter between clusters."""
        return float(total(scatter_chunk, self.chunks, self.overall_mean, n_jobs=self.n_jobs))

    def assign(self, centres: CentreSet) -> ClusterSums:
        """Assign every row to its nearest centre; the sums of the clusters then."""
        first = self._sums is None
        if not first and self.adaptive and not self.bounds and self._bounds_pay():
            self._keep_bounds(1)
        if first and self.single and not self.bounds and in_single_range(centres) and self._tiles_fit():
            self.chunks = each(tiled_chunk, self.chunks, self.mean, n_jobs=self.n_jobs)
        moving = self.bounds > 0 or (not first and self._few_moves())
        self._moving = self._moving + 1 if moving else 0
        unknown = not self._bounds_known
        gaps = (np.empty((0, 0)), np.empty(0)) if unknown else centres.half_gaps()
        sums, mass, count, moved, ambiguous = total(
            assign_chunk, self.chunks, centres, gaps, unknown, self.single, moving, n_jobs=self.n_jobs
        )
        self._bounds_known = self.bounds > 0
        if self.single and ambiguous > AMBIGUOUS * len(self.labels):
            self.single = False
        if self._sums is not None and moving:  # only what has changed was added up
            sums, mass, count = self._sums.sums + sums, self._sums.mass + mass, self._sums.count + count
        sums[count == 0], mass[count == 0] = 0.0, 0.0
        self._sums = ClusterSums(sums, mass, count, int(moved))
        return self._sums

    def _few_moves(self) -> bool:
        """Whether few rows changed cluster in the last pass, and the sums are not yet due to be computed anew."""
        assert self._sums is not None
        return self._sums.moved < FEW_MOVES * len(self.labels) and self._moving < MOVING

    def _tiles_fit(self) -> bool:
        """Whether a copy of the rows for speed is small enough."""
        return 4 * self.X.shape[0] * self.X.shape[1] <= TILE_BYTES

    def _bounds_pay(self) -> bool:
        """Whether so few rows changed cluster in the last pass that bounds spare more than they cost."""
        assert self._sums is not None
        n, d = self.X.shape
        size = self.X.data.nbytes if sparse.issparse(self.X) else self.X.nbytes
        small = 16 * n <= 0.1 * size or 16 * n <= TILE_BYTES
        return small and self.k * d >= WORTH_BOUNDS and self._sums.moved < VERY_FEW_MOVES * n

    def recompute_sums(self) -> ClusterSums:
        """The sums anew from all rows: incremental sums gather rounding."""
        sums, mass, count = total(cluster_sums_chunk, self.chunks, self.k, n_jobs=self.n_jobs)
        return ClusterSums(sums, mass, count, 0)

    def refill_empty(self, centres: CentreSet, sums: ClusterSums) -> None:
        """Give each empty cluster the row that is farthest from its own centre."""
        empty = np.flatnonzero(sums.count == 0)
        gaps = np.concatenate(each(own_squared_distances_chunk, self.chunks, centres, n_jobs=self.n_jobs))
        if self.weight is not None:
            gaps[self.weight == 0] = 0.0
        order = iter(np.argsort(-gaps, kind="stable"))
        for cluster in empty:
            for i in order:
                home = self.labels[i]
                if gaps[i] <= 0:
                    return  # fewer different rows than clusters
                if sums.count[home] > 1:
                    break
            else:
                return
            x, w = self.X[[i]], 1.0 if self.weight is None else self.weight[i]
            x = w * (x.toarray() if sparse.issparse(x) else x)[0].astype(np.float64)
            for c, sign in ((home, -1), (cluster, 1)):
                sums.sums[c] += sign * x
                sums.mass[c] += sign * w
                sums.count[c] += sign
            sums.moved += 1
            self.labels[i] = cluster
            if self.bounds:
                self.upper[i], self.lower[i] = np.inf, 0.0

    def inertia(self, centres: CentreSet) -> float:
        """Sum of squared distances to the rows' own centres."""
        return float(total(inertia_chunk, self.chunks, centres, n_jobs=self.n_jobs))


def rows_per_chunk(X: Any, k: int) -> int:
    """As many rows as fill a chunk, and enough of them to be worth k sums."""
    n = X.shape[0]
    size = X.data.nbytes * 1.5 if sparse.issparse(X) else X.nbytes
    fill = int(chunks.CHUNK_BYTES * n / max(size, 1))
    return max(fill, 8 * k, chunks.GRAIN) // chunks.GRAIN * chunks.GRAIN


def weighted_chunks(X: Any, weight: np.ndarray | None, *others: Any, rows: int) -> list[Any]:
    """Chunks of rows with their weights; ones, the same few for all chunks, where there are none."""
    chunks: list[Any] = Chunks(X, weight, *others, rows=rows)
    if weight is not None:
        return chunks
    ones = np.ones(min(rows, X.shape[0]))
    return [(chunk[0], ones[: chunk[0].shape[0]], *chunk[2:]) for chunk in chunks]


def tiled_chunk(chunk: tuple, mean: np.ndarray) -> tuple:
    """A chunk with its rows in tiles of single precision, and their squared lengths."""
    n, d = chunk[0].shape
    tiles, norms = np.zeros((-(-n // BLOCK), d, BLOCK), dtype=np.float32), np.zeros(n, dtype=np.float32)
    fill_tiles(rows(chunk[0]), mean, tiles, norms)
    return (*chunk, tiles, norms)


def in_single_range(centres: CentreSet) -> bool:
    """Whether squares neither overflow nor underflow in single precision."""
    return 1e-15 < centres.radius < 1e15


def assign_chunk(
    chunk: tuple, centres: CentreSet, gaps: tuple, unknown: bool, single: bool, moving: bool
) -> tuple:
    """Assign one chunk of rows; sums (or changes of sums), rows that moved, ambiguous rows.

    With `unknown`, no bounds are known, and all distances are computed.
    """
    X, weight, labels, upper, lower, *tiled = chunk
    view, k = rows(X), len(centres.points)
    old = labels.copy()
    ambiguous = 0
    everyone = unknown or not lower.shape[1]
    if lower.shape[1] > 1 and not unknown:
        half_gaps, half_gap = gaps
        elkan(view, centres.points, centres.squares, centres.shift, half_gaps, half_gap, labels, upper, lower)
    elif tiled and single and in_single_range(centres):
        ambiguous = assign_tiles(view, tiled[0], tiled[1], centres, labels)
    else:
        open_ = np.arange(len(labels)) if everyone else np.empty(len(labels), dtype=np.int64)
        if not everyone:
            most = np.sort(centres.shift)[-2:]
            moves = centres.shift, most, gaps[1]
            n = hamerly(view, centres.points, centres.squares, *moves, labels, upper, lower, open_)
            open_ = open_[:n]
        ambiguous = assign_rows(view, open_, centres, labels, upper, lower, single)
    sums, mass, count = np.zeros(centres.points.shape), np.zeros(k), np.zeros(k, dtype=np.int64)
    moved = np.flatnonzero(labels != old)
    if moving:
        move_cluster_sums(view, weight, moved, old, labels, sums, mass, count)
    else:
        add_cluster_sums(view, weight, labels, sums, mass, count)
    return sums, mass, count, moved.size, ambiguous


def assign_tiles(
    view: Rows, tiles: np.ndarray, norms: np.ndarray, centres: CentreSet, labels: np.ndarray
) -> int:
    """The nearest centres of all rows; returns how many were ambiguous."""
    points, half = centres.centred.astype(np.float32), centres.half.astype(np.float32)
    slack = (points.shape[1] + 8) * np.finfo(np.float32).eps
    ambiguous = np.empty(len(labels), dtype=np.int64)
    n = search_tiles(tiles, norms, points, half, slack, centres.radius, labels, ambiguous)
    search_exactly(view, ambiguous[:n], centres.points, centres.squares, labels, *NO_BOUNDS)
    return n


def assign_rows(
    view: Rows, ids: np.ndarray, centres: CentreSet, labels: Any, upper: Any, lower: Any, single: bool = True
) -> int:
    """The nearest centres of the rows `ids`; returns how many were ambiguous."""
    (k, d), table = centres.centred.shape, view
    if isinstance(view, Sparse):
        dtype: Any = np.float64
        table = view._replace(data=read_only(view.data.astype(dtype, copy=False)))
        points = lines(d, k, dtype)
        points[:, :k] = centres.centred.T
        tile = np.empty((BLOCK, points.shape[1]), dtype)
    else:
        dtype = np.float32 if single and in_single_range(centres) else np.float64
        points = np.ascontiguousarray(centres.centred if k >= d else centres.centred.T, dtype=dtype)
        tile = np.zeros((d, BLOCK) if k >= d else (BLOCK, d), dtype)
    half, slack = centres.half.astype(dtype), (d + 8) * np.finfo(dtype).eps
    ambiguous = np.empty(ids.size, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):  # rows that overflow are ambiguous
        found = labels, upper, lower, ambiguous
        n = search_by_products(table, ids, centres.mean, points, half, slack, centres.radius, *found, tile)
    search_exactly(view, ambiguous[:n], centres.points, centres.squares, labels, upper, lower)
    return n


def nearest_centre(X: Any, centres: np.ndarray, n_jobs: Any = None) -> np.ndarray:
    """The index of the nearest centre for every row of X."""
    few = X.shape[0] * centres.size <= FEW
    if not few and not common_exponent(centres):
        parts = _nearest_centre_parts(X, centres, True, n_jobs)
        if all(part is not None for part in parts):
            return np.concatenate(parts)
    exponent = common_exponent(X, centres)
    X, centres = times_power(X, -exponent), times_power(centres, -exponent)
    if few:
        points, labels = centres.astype(np.float64), np.empty(X.shape[0], dtype=np.int32)
        squares = np.einsum("ij,ij->i", points, points)
        search_exactly(rows(X), np.arange(X.shape[0]), points, squares, labels, *NO_BOUNDS)
        return labels
    return np.concatenate(_nearest_centre_parts(X, centres, False, n_jobs))


def _nearest_centre_parts(X: Any, centres: np.ndarray, check: bool, n_jobs: Any) -> list[Any]:
    """The nearest centres of each chunk; with `check`, None for one whose squares overflow or vanish."""
    mean = None if sparse.issparse(X) else centres.mean(axis=0, dtype=np.float64)
    found = CentreSet(centres.astype(np.float64), mean)
    # labels are exact, however rows are cut: small pieces keep all threads at work
    most = max(PIECE, X.shape[0] // 16 // PIECE * PIECE)
    chunks = Chunks(X, rows=min(rows_per_chunk(X, len(centres)), most))
    return each(nearest_centre_chunk, chunks, found, check, n_jobs=n_jobs)


def nearest_centre_chunk(chunk: tuple, centres: CentreSet, check: bool) -> np.ndarray | None:
    (X,) = chunk
    labels = np.empty(X.shape[0], dtype=np.int32)
    ids = np.arange(X.shape[0])
    ambiguous = assign_rows(rows(X), ids, centres, labels, *NO_BOUNDS, not sparse.issparse(X))
    # rows whose squares overflow are ambiguous: without any there is no need to look
    return None if check and ambiguous and common_exponent(X, centres.points) else labels


def weighted_sum_chunk(chunk: tuple) -> np.ndarray:
    return np.dot(chunk[1], chunk[0])


def scatter_chunk(chunk: tuple, mean: np.ndarray) -> float:
    """Σ_i w_i |x_i - mean|² of a chunk."""
    view = rows(chunk[0])
    labels = np.zeros(len(chunk[1]), dtype=np.int32)
    return float(np.dot(chunk[1], own_squared_distances(view, labels, mean[None], np.array([mean @ mean]))))


def own_squared_distances_chunk(chunk: tuple, centres: CentreSet) -> np.ndarray:
    return own_squared_distances(rows(chunk[0]), chunk[2], centres.points, centres.squares)


def inertia_chunk(chunk: tuple, centres: CentreSet) -> float:
    """Σ_i w_i |x_i - m_C(i)|² of a chunk."""
    return float(np.dot(chunk[1], own_squared_distances_chunk(chunk, centres)))


def cluster_sums_chunk(chunk: tuple, k: int) -> tuple:
    """Sums, weights and counts of the clusters of a chunk."""
    X, weight, labels = chunk[:3]
    sums, mass, count = np.zeros((k, X.shape[1])), np.zeros(k), np.zeros(k, dtype=np.int64)
    add_cluster_sums(rows(X), weight, labels, sums, mass, count)
    return sums, mass, count
