"""The nodes of rows that lie in pages: splits that were made since the last pass, and the rows that they move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tercet.core.row_pages import Page
from tercet.tree._engine.histogram_statistics import BINS
from tercet.tree._engine.paged_kernels import move_rows


@dataclass
class RowMoves:
    """Where rows go in a pass: from nodes that were split since the last one to their children.

    Attributes
    ----------
    column : int64 array of shape (nodes,)
        The column that a node is split by, -1 for none; nodes have numbers of their own in pages.
    child : int64 array of shape (nodes,)
        Its first child.
    sides : int8 array of shape (nodes, 256)
        The child of each code, 0 or 1.
    begin : bool
        Whether all rows are put at node 0 first.
    """

    column: np.ndarray
    child: np.ndarray
    sides: np.ndarray
    begin: bool

    def nodes_of(self, page: Page) -> np.ndarray:
        """The nodes of the rows of a page, before they move."""
        nodes = page.get("node")
        if self.begin:
            nodes[:] = 0
        return nodes

    def done(self) -> RowMoves:
        """The moves of a pass after this one: none."""
        return RowMoves(np.full_like(self.column, -1), self.child, self.sides, False)

    def move(self, page: Page) -> np.ndarray:
        """Move the rows of a page; returns their nodes."""
        nodes = self.nodes_of(page)
        move_rows(page.get("words"), nodes, self.column, self.child, self.sides)
        return nodes


class SplitNodes:
    """Nodes in pages, and those of them that were split since the last pass.

    Parameters
    ----------
    count : int
        The nodes that there are at first.
    begin : bool
        Whether the first pass puts all rows at node 0.

    Examples
    --------
    >>> nodes = SplitNodes(1)
    >>> nodes.split(0, column=3, sides=np.ones(BINS, np.int8)), nodes.count
    (1, 3)
    >>> nodes.take().column.tolist(), nodes.take().column.tolist()
    ([3, -1, -1], [-1, -1, -1])
    """

    def __init__(self, count: int, begin: bool = False) -> None:
        self.count, self.begin = count, begin
        self.column, self.child = np.full(64, -1, np.int64), np.zeros(64, np.int64)
        self.sides = np.zeros((64, BINS), np.int8)

    def split(self, node: int, column: int, sides: np.ndarray) -> int:
        """Split a node; returns the number of its first child, after which the second one comes."""
        first = self.count
        self.count += 2
        if self.count > self.column.size:
            more = self.column.size
            self.column = np.append(self.column, np.full(more, -1, np.int64))
            self.child = np.append(self.child, np.zeros(more, np.int64))
            self.sides = np.concatenate([self.sides, np.zeros((more, BINS), np.int8)])
        self.column[node], self.child[node], self.sides[node] = column, first, sides
        return first

    def take(self) -> RowMoves:
        """The moves that rows have to make, in the next pass."""
        n = self.count
        moves = RowMoves(self.column[:n].copy(), self.child[:n].copy(), self.sides[:n].copy(), self.begin)
        self.column[:], self.begin = -1, False
        return moves


__all__ = ["RowMoves", "SplitNodes"]
