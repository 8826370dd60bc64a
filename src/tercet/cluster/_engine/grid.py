"""DBSCAN on a grid: Euclidean distances of rows with at most three columns.

A cell's side is eps / sqrt(d), a little less, so that all rows of a cell are neighbours of each other. Cells
that hold enough rows need no further look, core rows of one cell are always in one cluster, and clusters are
joined cell by cell. Rows are sorted by cell; a row's neighbours are in a few runs of consecutive cells.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tercet.cluster._engine.grid_kernels import (
    border_labels,
    cell_keys,
    cell_starts,
    column_ranges,
    first_rows,
    join_cells,
    mark_cells,
    mark_core,
    radix_sort,
)
from tercet.core.parallel import each
from tercet.core.rows import kernel_form, read_only

COLUMNS = 3  # at most
REACH = 2  # cells to each side that a neighbour may be in
SHRINK = 1 - 1e-5  # of a cell's side: rounding of a row's place is smaller (see `Grid.fits`)
PLACES = 2.0**31  # cells along a column, at most
CHUNKS = 64  # ranges of cells that threads work on
IN_PLACE = 1 << 22  # rows from which on they are not copied in the order of the cells


class Grid:
    """The rows of a table in the cells of a grid.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows, d at most 3.
    eps : float
        How far neighbours may be.
    n_jobs : int, optional
        Threads; the result does not depend on it.

    Examples
    --------
    >>> grid = Grid(np.array([[0.0], [0.4], [0.8], [5.0]]), 0.5)
    >>> core = grid.core_rows(2)
    >>> core, grid.labels(core)
    (array([ True,  True,  True, False]), array([ 0,  0,  0, -1]))
    """

    def __init__(self, X: np.ndarray, eps: float, n_jobs: int | None = None) -> None:
        X = kernel_form(X)
        n, d = X.shape
        self.n, self.n_jobs, self.limit = n, n_jobs, largest_square(eps)
        low, high = column_ranges(X)
        side = cell_side(eps, d)
        sizes = ((high - low) / side).astype(np.int64) + 1 + 2 * REACH
        strides = np.append(np.cumprod(sizes[:0:-1])[::-1], 1).astype(np.int64)
        keys = np.empty(n, dtype=np.int64)
        cell_keys(X, low, 1 / side, strides, REACH, keys)
        self.order = radix_sort(keys, int(keys.max()).bit_length())
        self.start, self.keys = cell_starts(keys)
        del keys
        # Far larger data is not copied: its rows are read through their order.
        direct = n < IN_PLACE
        self.points = read_only(X[self.order] if direct else X)
        self.at = np.arange(n, dtype=np.int32) if direct else self.order
        near = sorted(
            itertools.product(range(-REACH, REACH + 1), repeat=d - 1), key=lambda c: (sum(map(abs, c)), c)
        )
        self.runs = np.array([int(np.dot(cell, strides[:-1])) for cell in near], dtype=np.int64)
        edges = np.searchsorted(self.start, np.linspace(0, n, CHUNKS + 1).astype(np.int64)[1:-1])
        self.chunks = list(itertools.pairwise(np.unique([0, *edges, len(self.keys)]).tolist()))

    @staticmethod
    def fits(X: Any, eps: float) -> bool:
        """Whether a grid is of use: few columns, and numbers whose cells can be told apart."""
        n, d = X.shape
        if d > COLUMNS or n >= 2**31 or not 1e-120 < eps < 1e120:
            return False
        low, high = column_ranges(kernel_form(X))
        widths = (high - low) / cell_side(eps, d)
        return bool((widths < PLACES).all() and np.prod(widths + 1 + 2 * REACH) < 2.0**62)

    def core_rows(self, min_samples: float, weight: np.ndarray | None = None) -> np.ndarray:
        """Which rows have neighbours, themselves among them, of so much weight; each weighs 1 by default."""
        mass = np.empty(0) if weight is None else weight[self.order]
        self.core = np.zeros(self.n, dtype=np.uint8)  # in the order of the cells
        each(
            lambda span: mark_core(
                *self._cells(), span[0], span[1], self.limit, float(min_samples), mass, self.core
            ),
            self.chunks,
            n_jobs=self.n_jobs,
        )
        core = np.empty(self.n, dtype=bool)
        core[self.order] = self.core
        return core

    def labels(self, core: np.ndarray) -> np.ndarray:
        """The clusters of core rows that are connected, numbered by their first row, and of the rows around
        them."""
        cluster = self._numbered(self._joined())
        found = np.empty(self.n, dtype=np.intp)
        each(
            lambda span: border_labels(
                *self._cells(), span[0], span[1], self.limit, self.core, cluster, self.order, found
            ),
            self.chunks,
            n_jobs=self.n_jobs,
        )
        return found

    def _joined(self) -> np.ndarray:
        """Trees of the cells whose core rows are connected: the parent of each cell."""
        occupied = np.zeros(len(self.keys), dtype=np.uint8)
        mark_cells(self.start, self.core, occupied)
        parent = np.arange(len(self.keys), dtype=np.int32)
        ahead = self.runs[self.runs >= 0]
        cells = (self.points, self.at, self.start, self.keys, ahead)
        state = (self.limit, self.core, occupied, parent)
        each(
            lambda span: join_cells(*cells, span[0], span[1], span[1], *state),
            self.chunks,
            n_jobs=self.n_jobs,
        )
        for first, last in self.chunks[:-1]:  # across the borders of the chunks
            reached = self.keys[last] - ahead.max() - REACH
            near = max(first, int(np.searchsorted(self.keys, reached)))
            join_cells(*cells, near, last, len(self.keys), *state)
        return parent

    def _cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.points, self.at, self.start, self.keys, self.runs

    def _numbered(self, parent: np.ndarray) -> np.ndarray:
        """The cluster of each cell, numbered by its first core row; -1 for cells without one."""
        first = np.full(len(parent), self.n, dtype=np.int32)
        root = np.empty(len(parent), dtype=np.int32)
        first_rows(self.start, self.order, self.core, parent, root, first)
        roots = np.flatnonzero(first < self.n).astype(np.int32)
        roots = roots[np.argsort(first[roots])]
        number = first  # in the same memory
        number[:] = -1
        number[roots] = np.arange(len(roots), dtype=np.int32)
        return number[root]


def cell_side(eps: float, d: int) -> float:
    """The side of the cells: their diagonals are a little shorter than eps."""
    return float(eps / np.sqrt(d) * SHRINK)


def largest_square(eps: float) -> float:
    """The largest number whose square root is at most eps: to compare squared distances with, as exactly as roots.

    Examples
    --------
    >>> bool(np.sqrt(largest_square(0.1)) <= 0.1 < np.sqrt(np.nextafter(largest_square(0.1), 1)))
    True
    """
    square = eps * eps
    while np.sqrt(square) > eps:
        square = np.nextafter(square, 0.0)
    while np.sqrt(np.nextafter(square, np.inf)) <= eps:
        square = np.nextafter(square, np.inf)
    return float(square)
