"""The search for best matching units: for every row the nearest and the second nearest of many points.

Half-distances |w|²/2 - x·w to all units are one matrix product for a block of rows, in single precision. Where the
smallest ones differ by less than rounding could, the distances of the row are computed again in double precision:
the answer is exact, whatever the block, and of equally near units the first one counts. A missing value (NaN) takes
no part: with k_j = 1 where x_j is known, the half-distance is Σ_j (k_j w_j²/2 - x_j w_j), a product of rows [x, k]
with points [w, -w²/2].
"""

from __future__ import annotations

import numpy as np

from tercet.core import chunks
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import Chunks, each
from tercet.core.rows import kernel_form, read_only

BLOCK = 256  # rows of one matrix product: its results stay in a core's own cache
SINGLE_RANGE = 1e-15, 1e15  # lengths whose squares neither overflow nor vanish in single precision


class Units:
    """The points of one search, in the forms that the kernels read.

    Parameters
    ----------
    points : array of shape (k, d)
    missing : bool
        Whether rows may have NaN.
    """

    def __init__(self, points: np.ndarray, missing: bool = False) -> None:
        self.points, self.missing = kernel_form(points), missing
        centre = np.zeros(points.shape[1]) if missing else self.points.mean(axis=0)
        centred = self.points - centre
        squares = np.einsum("ij,ij->i", centred, centred)
        self.radius = float(np.sqrt(squares.max()))
        dtype = np.float32 if SINGLE_RANGE[0] < self.radius < SINGLE_RANGE[1] else np.float64
        table = np.hstack([centred, -(centred**2) / 2]) if missing else centred
        half = np.zeros(len(points)) if missing else squares / 2
        self.centre = kernel_form(centre)
        self.table = read_only(np.ascontiguousarray(table, dtype=dtype))
        self.half = read_only(half.astype(dtype))
        self.slack = float((table.shape[1] + 8) * np.finfo(dtype).eps)

    def search(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The nearest unit of each row, the second nearest (the same where there is one unit), and the distances
        from the nearest."""
        n = len(X)
        first, second, gaps = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), np.empty(n)
        X = read_only(np.ascontiguousarray(X))
        with np.errstate(over="ignore", invalid="ignore"):  # rows that overflow are searched exactly
            best_two(
                X,
                self.points,
                self.centre,
                self.table,
                self.half,
                self.slack,
                self.radius,
                first,
                second,
                gaps,
            )
        return first, second, gaps


def nearest_two(X: np.ndarray, units: Units, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`Units.search` of all rows, on several threads."""
    found = each(search_chunk, Chunks(X, rows=rows_per_chunk(X, len(units.points))), units, n_jobs=n_jobs)
    first, second, gaps = (np.concatenate(parts) for parts in zip(*found))
    return first, second, gaps


def search_chunk(chunk: tuple, units: Units) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return units.search(chunk[0])


def rows_per_chunk(X: np.ndarray, k: int) -> int:
    """Rows of a chunk: enough of them that adding up k sums per chunk costs little."""
    fill = int(chunks.CHUNK_BYTES * X.shape[0] / max(X.nbytes, 1))
    return max(fill, 8 * k, chunks.GRAIN) // chunks.GRAIN * chunks.GRAIN


@kernel
def best_two(X, points, centre, table, half, slack, radius, first, second, gaps):
    """The two nearest units of each row, and the distance from the nearest.

    table : (k, d) centred points, or (k, 2 d) where values may be missing; half : (k,) what is added to the
    products.
    """
    k, d = points.shape
    missing = table.shape[1] > d
    tile = np.zeros((table.shape[1], BLOCK), table.dtype)
    scores, norms = np.zeros((k, BLOCK), table.dtype), np.zeros(BLOCK)
    # the three smallest: the second one must be certain, too
    low = np.zeros((3, BLOCK), table.dtype)
    at = np.zeros((2, BLOCK), np.int32)
    for start in range(0, first.size, BLOCK):
        stop = min(start + BLOCK, first.size)
        fill_tile(X, start, stop, centre, missing, tile, norms)
        np.dot(table, tile, scores)
        three_smallest(scores, half, low, at)
        for i in range(start, stop):
            r = i - start
            error = 2 * slack * radius * (np.sqrt(norms[r]) + radius)
            if low[1, r] - low[0, r] > error and low[2, r] - low[1, r] > error:
                first[i], second[i] = at[0, r], at[1, r]
                gaps[i] = np.sqrt(squared_gap(X[i], points[at[0, r]], missing))
            else:
                first[i], second[i], gaps[i] = exact_two(X[i], points, missing)


@inner
def fill_tile(X, start, stop, centre, missing, tile, norms):
    """Rows as columns of a tile, centred, with a 1 for each known value below them where values may be missing."""
    d = centre.size
    norms[:] = 0.0
    for begin in range(start, stop, 16):  # a few rows at a time fit into the first-level cache
        end = min(begin + 16, stop)
        for j in range(d):
            for i in range(begin, end):
                v = X[i, j] - centre[j]
                if missing:
                    known = v == v
                    v = v if known else 0.0
                    tile[d + j, i - start] = 1.0 if known else 0.0
                tile[j, i - start] = v
                norms[i - start] += v * v


@inner
def three_smallest(scores, half, low, at):
    """The three smallest values of half - scores in every column, and where the first two are.

    Columns are side by side in memory, and the choices are selections rather than jumps: this vectorises.
    """
    low[:] = np.inf
    at[:] = 0
    for j in range(half.size):
        row, h, here = scores[j], half[j], np.int32(j)
        one, two, three, a, b = low[0], low[1], low[2], at[0], at[1]
        for r in range(row.size):
            score = h - row[r]
            best, next_best, last = one[r], two[r], three[r]
            is_best, is_next = score < best, score < next_best
            last = score if score < last else last
            three[r] = next_best if is_next else last
            b[r] = a[r] if is_best else (here if is_next else b[r])
            two[r] = best if is_best else (score if is_next else next_best)
            a[r] = here if is_best else a[r]
            one[r] = score if is_best else best


@inner
def squared_gap(x, w, missing):
    """Squared distance over the known values of x."""
    total = 0.0
    if missing:
        for j in range(w.size):
            gap = x[j] - w[j]
            total += gap * gap if gap == gap else 0.0
    else:
        for j in range(w.size):
            gap = x[j] - w[j]
            total += gap * gap
    return total


@inner
def exact_two(x, points, missing):
    """The two nearest points and the distance from the nearest, in double precision; ties go to the first."""
    best = next_best = np.inf
    first = second = 0
    for u in range(points.shape[0]):
        gap = squared_gap(x, points[u], missing)
        if gap < best:
            second, next_best, first, best = first, best, u, gap
        elif gap < next_best:
            second, next_best = u, gap
    return first, second, np.sqrt(best)
