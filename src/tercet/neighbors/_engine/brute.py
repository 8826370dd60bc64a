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

from tercet.core.parallel import each
from tercet.core.rows import rows
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.stopping import check_stop
from tercet.neighbors._engine.brute_kernels import (
    add_by_distances,
    add_by_products,
    sort_heaps,
    within_radius,
)

QUERIES, ROWS = 1024, 256  # at most; a tile of so many products stays in a core's own cache
TILE = 1 << 16  # products at once of few queries: a larger tile leaves the cache
BLOCKS = 16  # of queries, at least: work for all threads
SMALL = 32  # queries of a block, at least
WORK = 5e9  # multiplications of one block of queries
MAX_IN_VAIN = 0.05  # share of rows measured in vain, above which single precision does not pay


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
        blocks = [(Q[span],) for span in self._spans(Q)]
        best, at = zip(*each(self._nearest, blocks, k, n_jobs=n_jobs))
        return np.concatenate(best), np.concatenate(at)

    def radius(self, Q: Any, r: Any, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that are no farther than r, a number or one for each query, as (indptr, indices, distances).

        Those of query i are indices[indptr[i] : indptr[i + 1]], in the order of the rows.
        """
        limits = np.broadcast_to(np.asarray(r, dtype=np.float64), Q.shape[0]).copy()
        blocks = [(Q[span], limits[span]) for span in self._spans(Q)]
        counts, found, far = (
            np.concatenate(part) for part in zip(*each(self._within, blocks, n_jobs=n_jobs))
        )
        return np.concatenate([[0], np.cumsum(counts)]), found, far

    def _spans(self, Q: Any) -> list[slice]:
        """Blocks of queries: no more than take about a second where distances are products."""
        n, d = self.X.shape
        size = int(np.clip(min(WORK / max(n * d, 1), Q.shape[0] / BLOCKS), SMALL, QUERIES))
        if Q.shape[0] * n <= QUERIES * ROWS and Q.shape[0] <= QUERIES:
            size = QUERIES  # not worth a second block
        return [slice(i, i + size) for i in range(0, max(Q.shape[0], 1), size)]

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
        self.scans: dict[int, ProductScan] = {}

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

    def _scan(self, exponent: int) -> ProductScan:
        if exponent not in self.scans:
            self.scans = {exponent: ProductScan(times_power(self.X, -exponent))}
        return self.scans[exponent]


class ProductScan(Scan):
    """Exact neighbours under the Euclidean distance, by products of blocks; squares must not overflow.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows to search.
    """

    def __init__(self, X: Any) -> None:
        self.sparse = sparse.issparse(X)
        self.X = X.astype(np.float64) if self.sparse else np.ascontiguousarray(X)
        self.view = rows(self.X)
        n, d = X.shape
        self.mean = np.zeros(d)
        if self.sparse:
            self.squares = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        else:
            mean = X.mean(axis=0, dtype=np.float64)
            squares = self._squared_distances(mean)
            # Centre the rows to avoid cancellation, unless the mean is no farther from zero than the rows are
            # from the mean: then it is not worth a copy.
            if mean @ mean > squares.mean():
                self.mean = mean
            else:
                squares = self._squared_distances(self.mean)
            self.squares = squares
        self.reach = np.sqrt(np.maximum.reduceat(self.squares, np.arange(0, n, ROWS)))
        # In single precision the squares must have their place, too.
        self.single = not self.sparse and 1e-15 < self.reach.max() < 1e15
        self.centred: dict[Any, tuple[Any, np.ndarray]] = {}
        self._centred_rows(np.dtype(np.float32 if self.single else np.float64))

    def _nearest(self, block: tuple, k: int) -> tuple[np.ndarray, np.ndarray]:
        Q, n = rows(self._queries(block[0])), self.X.shape[0]
        best, at = np.full((Q.shape[0], k), np.inf), np.full((Q.shape[0], k), n)
        vain = 0
        for tile, half, slack, fine, reach, start, base in self._tiles(block[0]):
            vain += add_by_products(tile, half, slack, fine, reach, Q, self.view, start, base, best, at)
        if vain > MAX_IN_VAIN * Q.shape[0] * n:
            self.single = False  # for the blocks to come; the answers are the same
        sort_heaps(best, at)
        return np.sqrt(best), at

    def _within(self, block: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        Q, limits = rows(self._queries(block[0])), block[1]
        parts, size = [], 1024
        for tile, half, slack, fine, reach, start, base in self._tiles(block[0]):
            while True:
                who, which, far = (
                    np.empty(size, dtype=np.int64),
                    np.empty(size, dtype=np.int64),
                    np.empty(size),
                )
                n = within_radius(
                    tile, half, slack, fine, reach, Q, self.view, start, base, limits, who, which, far
                )
                if n <= size:
                    break
                size = 2 * n
            parts.append((who[:n], which[:n], far[:n]))
        return sorted_by_query(parts, Q.shape[0])

    def _squared_distances(self, point: np.ndarray) -> np.ndarray:
        """Squared distances of the rows from a point."""
        blocks = (self.X[i : i + ROWS] - point for i in range(0, len(self.X), ROWS))
        return np.concatenate([np.einsum("ij,ij->i", Z, Z) for Z in blocks])

    def _queries(self, Q: Any) -> Any:
        """Queries in the one form that the kernels are compiled for."""
        if self.sparse:
            return sparse.csr_array(Q, dtype=np.float64)
        Q = Q.toarray() if sparse.issparse(Q) else Q
        return np.array(Q, dtype=np.float64, order="C")

    def _tiles(self, Q: Any) -> Any:
        """For each block of rows: products with the queries, |x|²/2, bounds of their rounding error, |q|²."""
        d = self.X.shape[1]
        Q = self._queries(Q)
        dtype: Any = np.dtype(np.float64)
        if self.sparse:
            base = np.asarray(Q.multiply(Q).sum(axis=1)).ravel()
            turned = Q.T.tocsr()
        else:
            Q -= self.mean
            base = np.einsum("ij,ij->i", Q, Q)
            if self.single and base.max(initial=0.0) < 1e30:
                dtype = np.dtype(np.float32)
            Q = Q.astype(dtype)
        Z, half = self._centred_rows(dtype)
        slack, fine = ((d + 8) * float(np.finfo(kind).eps) for kind in (dtype, np.float64))
        # Of few queries, several blocks of rows at once.
        blocks = max(1, min(TILE // max(Q.shape[0] * ROWS, 1), len(self.reach)))
        step = blocks * ROWS
        buffer = np.empty(Q.shape[0] * step, dtype=dtype)
        for start in self._block_starts(step):
            part, reach = Z[start : start + step], self.reach[start // ROWS : start // ROWS + blocks]
            if self.sparse:
                tile = np.ascontiguousarray((part @ turned).toarray().T)
            else:
                tile = buffer[: Q.shape[0] * part.shape[0]].reshape(Q.shape[0], part.shape[0])
                np.dot(Q, part.T, out=tile)
            yield tile, half[start : start + step], slack, fine, float(reach.max()), start, base

    def _centred_rows(self, dtype: Any) -> tuple[Any, np.ndarray]:
        """The centred rows in the given precision, and half their squared norms."""
        if dtype not in self.centred:
            if self.sparse or (self.X.dtype == dtype and not self.mean.any()):
                Z = self.X
            else:
                Z = np.empty(self.X.shape, dtype=dtype)
                for i in range(0, len(Z), ROWS):
                    Z[i : i + ROWS] = self.X[i : i + ROWS] - self.mean
            self.centred[dtype] = Z, (self.squares / 2).astype(dtype)
        return self.centred[dtype]


def sorted_by_query(parts: list[tuple], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triples (query, row, distance) of several blocks of rows, query after query."""
    who, which, far = (np.concatenate([empty, *part]) for empty, *part in zip(NOTHING, *parts))
    order = np.argsort(who, kind="stable")
    return np.bincount(who, minlength=n), which[order], far[order]
