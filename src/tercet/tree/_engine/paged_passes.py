"""Passes over pages of rows from which boosting trees grow: histograms of nodes, sums and values of leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tercet.core.row_pages import Page, PageSums
from tercet.tree._engine.leafwise import pack_terms
from tercet.tree._engine.paged_kernels import add_page, move_rows, pair_terms, sum_leaves
from tercet.tree._engine.row_moves import RowMoves


@dataclass
class NodeHistograms(PageSums):
    """Histograms of some nodes, of shape (slots, columns, 256, channels); rows move to children before."""

    moves: RowMoves
    slot: np.ndarray  # of each node, -1 for none
    shape: tuple[int, ...]
    k: int  # the score whose gradients and hessians are added up
    units: tuple[float, float]
    packed: bool
    copies: bool  # whether weights are numbers of copies
    changes = True

    def begin(self) -> np.ndarray:
        return np.zeros(self.shape, np.int64)

    def workspace(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        return np.empty(rows, np.uint32), np.empty((2, rows), np.int64)

    def add(self, page: Page, sums: np.ndarray, workspace: tuple[np.ndarray, np.ndarray]) -> None:
        order, spare = workspace
        moves, marks = self.moves, self.moves.nodes_of(page)
        values = self._values(page, spare)
        places = moves.column, moves.child, moves.sides, self.slot
        add_page(page.get("words"), marks, *places, *values, order, sums)

    def replay(self, page: Page) -> None:
        self.moves.move(page)

    def _values(self, page: Page, spare: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The words that the rows of a page add to histograms; the second is empty where one holds both."""
        g, h = page.get("gradients")[self.k], page.get("hessians")[self.k]
        per_gradient, per_hessian = 1.0 / self.units[0], 1.0 / self.units[1]
        if not self.packed:
            pair_terms(g, h, per_gradient, per_hessian, spare)
            return spare[0, : g.size], spare[1, : g.size]
        copies = page.get("weight") if self.copies else np.empty(0)
        pack_terms(g, h, copies, per_gradient, per_hessian, 0, g.size, spare[0])
        return spare[0, : g.size], spare[1, :0]


@dataclass
class LeafSums(PageSums):
    """Sums of gradients and hessians of leaves, in whole units; rows move to children before."""

    moves: RowMoves
    leaf_of: np.ndarray  # of each node
    n_nodes: int
    k: int
    units: tuple[float, float]
    changes = True

    def begin(self) -> np.ndarray:
        return np.zeros((self.n_nodes, 2), np.int64)

    def add(self, page: Page, sums: np.ndarray, workspace: None) -> None:
        g, h = page.get("gradients")[self.k], page.get("hessians")[self.k]
        marks = self.moves.move(page)
        sum_leaves(marks, self.leaf_of, g, h, 1.0 / self.units[0], 1.0 / self.units[1], sums)

    def replay(self, page: Page) -> None:
        self.moves.move(page)


@dataclass
class LeafValues:
    """The values of the leaves of a tree, by the nodes in which it left the rows of pages."""

    k: int
    values: np.ndarray
    leaf_of: np.ndarray

    def __call__(self, page: Page) -> None:
        """Add them to the scores of the rows of a page."""
        page.get("F")[self.k] += self.values[self.leaf_of[page.get("node")]]


@dataclass
class BinnedTree:
    """A tree as its tests on codes of columns, and the values of its leaves: it is applied to pages again."""

    k: int
    column: np.ndarray
    child: np.ndarray
    sides: np.ndarray  # a bit for each code
    values: np.ndarray
    depth: int

    def __call__(self, page: Page) -> None:
        """Add its values to the scores of the rows of a page."""
        nodes, sides = np.zeros(page.rows, np.uint16), np.unpackbits(self.sides, axis=1).astype(np.int8)
        for _ in range(self.depth):
            move_rows(page.get("words"), nodes, self.column, self.child, sides)
        page.get("F")[self.k] += self.values[nodes]
