"""The linear scan (线性扫描): the distance of a query from every row.

The Euclidean distances of a block of queries from a block of rows are one matrix product, |q|² - 2 q·x + |x|², in
single precision. It rules out almost all rows; the distances of those that rounding leaves in doubt are computed in
double precision. So the answer is exact, equals in the order of their indices, at the price of the product. Any
other distance is computed block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.cache_lines import lines
from tercet.core.parallel import each
from tercet.core.rows import read_only, rows
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.stopping import check_stop
from tercet.neighbors._engine.brute_kernels import (
    add_by_distances,
    add_by_products,
    sort_heaps,
    within_radius,
)
from tercet.neighbors._engine.sparse_kernels import (
    fill_columns,
    nearest_sparse,
    row_squares,
    within_sparse,
)

QUERIES, ROWS = 1024, 256  # at most; a tile of so many products stays in a core's own cache
TILE = 1 << 16  # products at once of few queries: a larger tile leaves the cache
BLOCKS = 16  # of queries, at least: work for all threads
SMALL = 32  # queries of a block, at least
WORK = 5e9  # multiplications of one block of queries
LANES = 32  # queries of a block of sparse ones: their table stays in a core's own cache
SPARSE_ROWS = 2048  # sparse rows in one call of a kernel
MAX_COLUMNS = 1 << 15  # of a table of sparse queries; above that, only those that are not empty
MAX_IN_VAIN = 0.05  # share of rows measured in vain, above which single precision does not pay


SparseBlock = tuple[Any, Any, Any, Any, Any, Any, Any, Any, int]  # arguments of the kernels of sparse rows
NOTHING = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)


class Scan:
    """Exact neighbours under any distance, by a linear scan.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows to search.
    measure : callable
        `measure(Q, X)` gives the distances of all rows of one block from all of another, as an array.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [2.0], [5.0]])
    >>> Scan(X, lambda Q, X: np.abs(Q - X.T)).query(np.array([[1.0]]), 2)
    (array([[1., 1.]]), array([[0, 1]]))
    """

    def __init__(self, X: Any, measure: Callable[[Any, Any], Any]) -> None:
        self.X, self.measure = X, measure

    def query(self, Q: Any, k: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices of the k nearest rows, in order; of equals, the smaller index first."""
        if not 1 <= k <= self.X.shape[0]:
            raise ValueError(f"k={k} neighbours of n={self.X.shape[0]} rows: k must be from 1 to n.")
        blocks = [(part,) for _, part in self._parts(Q)]
        best, at = zip(*each(self._nearest, blocks, k, n_jobs=n_jobs))
        return np.concatenate(best), np.concatenate(at)

    def radius(self, Q: Any, r: Any, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that are no farther than r, a number or one for each query, as (indptr, indices, distances).

        Those of query i are indices[indptr[i] : indptr[i + 1]], in the order of the rows.
        """
        limits = np.broadcast_to(np.asarray(r, dtype=np.float64), Q.shape[0]).copy()
        blocks = [(part, limits[span]) for span, part in self._parts(Q)]
        counts, found, far = (
            np.concatenate(part) for part in zip(*each(self._within, blocks, n_jobs=n_jobs))
        )
        return np.concatenate([[0], np.cumsum(counts)]), found, far

    def _parts(self, Q: Any) -> list[tuple[slice, Any]]:
        """Blocks of queries, and where they begin and end: no more than take about a second."""
        n, d = self.X.shape
        size = int(np.clip(min(WORK / max(n * d, 1), Q.shape[0] / BLOCKS), SMALL, QUERIES))
        if Q.shape[0] * n <= QUERIES * ROWS and Q.shape[0] <= QUERIES:
            size = QUERIES  # not worth a second block
        spans = [slice(i, i + size) for i in range(0, max(Q.shape[0], 1), size)]
        return [(span, Q[span]) for span in spans]

    def _block_starts(self, step: int | None = None) -> Iterator[int]:
        """Where the blocks of rows begin."""
        for start in range(0, self.X.shape[0], step or ROWS):
            check_stop()
            yield start

    def _nearest(self, block: tuple, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest rows of a block of queries."""
        (Q,) = block
        best, at = np.full((Q.shape[0], k), np.inf), np.full((Q.shape[0], k), self.X.shape[0])
        for start in self._block_starts():
            add_by_distances(self._tile(Q, slice(start, start + ROWS)), start, best, at)
        sort_heaps(best, at)
        return best, at

    def _within(self, block: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How many rows are near each query of a block, which, and how far."""
        Q, limits = block
        parts = []
        for start in self._block_starts():
            tile = self._tile(Q, slice(start, start + ROWS))
            who, which = np.nonzero(tile <= limits[:, None])
            parts.append((who, which + start, tile[who, which]))
        return sorted_by_query(parts, Q.shape[0])

    def _tile(self, Q: Any, part: slice) -> np.ndarray:
        """The distances of some queries from a part of the rows."""
        tile = np.ascontiguousarray(self.measure(Q, self.X[part]), dtype=np.float64)
        if np.isnan(tile).any():  # NaN cannot be compared: some query would be left without a neighbour
            j = np.isnan(tile).any(axis=0).argmax()
            raise ValueError(f"The metric gives NaN for the distance of a query from row {part.start + j}.")
        return tile


class EuclideanScan:
    """Exact neighbours under the Euclidean distance.

    Nothing is computed before the first query. Rows whose squares would overflow or vanish are scaled by a power of
    two, and the distances scaled back.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows to search.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> EuclideanScan(X).query(np.array([[0.0, 0.0]]), 2)
    (array([[0., 1.]]), array([[0, 2]]))
    """

    def __init__(self, X: Any) -> None:
        self.X = X
        self.most: float | None = None
        self.scans: dict[int, Scan] = {}

    def query(self, Q: Any, k: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices of the k nearest rows, in order; of equals, the smaller index first."""
        exponent = self._exponent(Q)
        far, found = self._scan(exponent).query(times_power(Q, -exponent), k, n_jobs)
        return times_power(far, exponent), found

    def radius(self, Q: Any, r: Any, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that are no farther than r, a number or one for each query, as (indptr, indices, distances)."""
        exponent = self._exponent(Q)
        r = times_power(np.asarray(r, dtype=np.float64), -exponent)
        indptr, found, far = self._scan(exponent).radius(times_power(Q, -exponent), r, n_jobs)
        return indptr, found, times_power(far, exponent)

    def _exponent(self, Q: Any) -> int:
        """The power of two to divide by; 0 as a rule."""
        if self.most is None:
            self.most = largest(self.X)
        return scale_exponent(max(self.most, largest(Q)))

    def _scan(self, exponent: int) -> Scan:
        if exponent not in self.scans:
            kind = SparseScan if sparse.issparse(self.X) else ProductScan
            self.scans = {exponent: kind(times_power(self.X, -exponent))}
        return self.scans[exponent]


class ProductScan(Scan):
    """Exact neighbours under the Euclidean distance, by products of blocks; squares must not overflow.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows to search.
    """

    def __init__(self, X: np.ndarray) -> None:
        self.X = np.ascontiguousarray(X)
        self.view = read_only(self.X)
        n, d = X.shape
        self.mean = np.zeros(d)
        mean = X.mean(axis=0, dtype=np.float64)
        squares = self._squared_distances(mean)
        # Centre the rows to avoid cancellation, unless the mean is no farther from zero than the rows are from the
        # mean: then it is not worth a copy.
        if mean @ mean > squares.mean():
            self.mean = mean
        else:
            squares = self._squared_distances(self.mean)
        self.squares = squares
        self.reach = np.sqrt(np.maximum.reduceat(self.squares, np.arange(0, n, ROWS)))
        # In single precision the squares must have their place, too.
        self.single = bool(1e-15 < self.reach.max() < 1e15)
        self.centred: dict[Any, tuple[np.ndarray, np.ndarray]] = {}
        self._centred_rows(np.dtype(np.float32 if self.single else np.float64))

    def _nearest(self, block: tuple, k: int) -> tuple[np.ndarray, np.ndarray]:
        Q, n = self._queries(block[0]), self.X.shape[0]
        view = read_only(Q)
        best, at = np.full((Q.shape[0], k), np.inf), np.full((Q.shape[0], k), n)
        vain = 0
        for tile, half, slack, fine, reach, start, base in self._tiles(Q):
            vain += add_by_products(tile, half, slack, fine, reach, view, self.view, start, base, best, at)
        if vain > MAX_IN_VAIN * Q.shape[0] * n:
            self.single = False  # for the blocks to come; the answers are the same
        sort_heaps(best, at)
        return np.sqrt(best), at

    def _within(self, block: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        Q, limits = self._queries(block[0]), block[1]
        view = read_only(Q)
        parts = [
            within_radius(tile, half, slack, fine, reach, view, self.view, start, base, limits)
            for tile, half, slack, fine, reach, start, base in self._tiles(Q)
        ]
        return sorted_by_query(parts, Q.shape[0])

    def _squared_distances(self, point: np.ndarray) -> np.ndarray:
        """Squared distances of the rows from a point."""
        blocks = (self.X[i : i + ROWS] - point for i in range(0, len(self.X), ROWS))
        return np.concatenate([np.einsum("ij,ij->i", Z, Z) for Z in blocks])

    def _queries(self, Q: Any) -> np.ndarray:
        """Queries in the one form that the kernels are compiled for."""
        return np.ascontiguousarray(Q.toarray() if sparse.issparse(Q) else Q, dtype=np.float64)

    def _tiles(self, Q: np.ndarray) -> Any:
        """For each block of rows: products with the queries, |x|²/2, bounds of their rounding error, |q|²."""
        d = self.X.shape[1]
        Q = Q - self.mean
        base = np.einsum("ij,ij->i", Q, Q)
        single = self.single and base.max(initial=0.0) < 1e30
        dtype: Any = np.dtype(np.float32 if single else np.float64)
        Q = Q.astype(dtype, copy=False)
        Z, half = self._centred_rows(dtype)
        slack, fine = ((d + 8) * float(np.finfo(kind).eps) for kind in (dtype, np.float64))
        # Of few queries, several blocks of rows at once.
        blocks = max(1, min(TILE // max(Q.shape[0] * ROWS, 1), len(self.reach)))
        step = blocks * ROWS
        buffer = np.empty(Q.shape[0] * step, dtype=dtype)
        for start in self._block_starts(step):
            part, reach = Z[start : start + step], self.reach[start // ROWS : start // ROWS + blocks]
            tile = buffer[: Q.shape[0] * part.shape[0]].reshape(Q.shape[0], part.shape[0])
            np.dot(Q, part.T, out=tile)
            yield tile, half[start : start + step], slack, fine, float(reach.max()), start, base

    def _centred_rows(self, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """The centred rows in the given precision, and half their squared norms."""
        if dtype not in self.centred:
            if self.X.dtype == dtype and not self.mean.any():
                Z = self.X
            else:
                Z = np.empty(self.X.shape, dtype=dtype)
                for i in range(0, len(Z), ROWS):
                    Z[i : i + ROWS] = self.X[i : i + ROWS] - self.mean
            self.centred[dtype] = Z, (self.squares / 2).astype(dtype)
        return self.centred[dtype]


class SparseScan(Scan):
    """Exact neighbours of CSR rows under the Euclidean distance; squares must not overflow.

    The queries of a block are the columns of a dense table, and each row's products with them are a sum of rows of
    that table. What these leave in doubt is measured entry by entry.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
        The rows to search.
    """

    def __init__(self, X: Any) -> None:
        self.X = merged(X)
        self.view: Any = rows(self.X)
        self.squares = row_squares(self.view)
        self.half = self.squares / 2
        self.reach = float(np.sqrt(self.squares.max(initial=0.0)))
        entries = int(np.diff(self.X.indptr).max(initial=0))
        self.slack = (entries + 8) * float(np.finfo(np.float64).eps)

    def _parts(self, Q: Any) -> list[tuple[slice, Any]]:
        view: Any = rows(merged(Q))
        spans = [slice(i, min(i + LANES, Q.shape[0])) for i in range(0, max(Q.shape[0], 1), LANES)]
        return [(span, view._replace(indptr=view.indptr[span.start : span.stop + 1])) for span in spans]

    def _nearest(self, block: tuple, k: int) -> tuple[np.ndarray, np.ndarray]:
        m, n = block[0].shape[0], self.X.shape[0]
        best, at = np.full((m, k), np.inf), np.full((m, k), n)
        for products in self._products(block[0]):
            nearest_sparse(*products, best, at)
        sort_heaps(best, at)
        return np.sqrt(best), at

    def _within(self, block: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        parts = [within_sparse(*products, block[1]) for products in self._products(block[0])]
        return sorted_by_query(parts, block[0].shape[0])

    def _products(self, Q: Any) -> Iterator[SparseBlock]:
        """What the kernels need of the queries and of each block of rows."""
        view, d = self.view, self.X.shape[1]
        used = Q.indices[Q.indptr[0] : Q.indptr[-1]]
        if d > MAX_COLUMNS:  # a table of the columns that the queries have; the first stands for all others
            columns = np.unique(used)
            place = np.zeros(d, dtype=used.dtype)
            place[columns] = np.arange(1, columns.size + 1)
            Q, view = (
                one._replace(indices=read_only(place[one.indices]), n_columns=columns.size + 1)
                for one in (Q, view)
            )
        table = lines(view.n_columns, Q.shape[0], np.float64)
        seen = np.full(view.n_columns, -1, dtype=np.int64)
        base = row_squares(Q)
        fill_columns(Q, table)
        tile = np.empty((min(SPARSE_ROWS, self.X.shape[0]), table.shape[1]))
        error = self.slack * (self.reach * (np.sqrt(base) + self.reach) + base)
        for start in self._block_starts(SPARSE_ROWS):
            stop = min(start + SPARSE_ROWS, self.X.shape[0])
            part = view._replace(indptr=view.indptr[start : stop + 1])
            yield Q, part, table, tile, seen, self.half[start:stop], base, error, start


def merged(X: Any) -> Any:
    """CSR rows of double precision, without two entries in one place."""
    X = sparse.csr_array(X, dtype=np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def sorted_by_query(parts: list[tuple], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triples (query, row, distance) of several blocks of rows, query after query."""
    who, which, far = (np.concatenate([empty, *part]) for empty, *part in zip(NOTHING, *parts))
    order = np.argsort(who, kind="stable")
    return np.bincount(who, minlength=n), which[order], far[order]
