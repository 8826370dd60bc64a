"""Sums over the rows of leaves whose rows lie in pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tercet.core.row_pages import Page, Pages
from tercet.tree._engine.binned_pages import RowWeights
from tercet.tree._engine.row_moves import RowMoves


@dataclass
class LeafRows:
    """The rows of some leaves: rows move to their last children first.

    Attributes
    ----------
    moves : RowMoves
    leaf_of : array of shape (nodes,)
        The leaf that a node is, -1 for none.
    n : int
        The number of leaves.
    weights : RowWeights or None
    """

    moves: RowMoves
    leaf_of: np.ndarray
    n: int
    weights: RowWeights | None

    def of_page(self, page: Page) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The leaves of rows of a page, their targets and weights."""
        at = self.leaf_of[self.moves.move(page)]
        here, weight = at >= 0, None if self.weights is None else self.weights(page)
        return at[here], page.get("y")[here], np.ones(here.sum()) if weight is None else weight[here]


@dataclass
class ClassSums(LeafRows):
    """The weight of each class in leaves."""

    n_classes: int

    def __call__(self, page: Page) -> np.ndarray:
        at, y, weight = self.of_page(page)
        cells = self.n * self.n_classes
        return np.bincount(at * self.n_classes + y.astype(np.int64), weight, cells).reshape(self.n, -1)

    def total(self, pages: Pages, n_jobs: int) -> np.ndarray:
        """The sums over all pages, of shape (n, n_classes)."""
        return _total(self, pages, n_jobs) if self.n else np.empty((0, self.n_classes))


@dataclass
class Moments(LeafRows):
    """The weight of leaves, and their sums of distances from some means, to a power."""

    means: np.ndarray
    power: int = 1

    def __call__(self, page: Page) -> np.ndarray:
        at, y, weight = self.of_page(page)
        away = weight * (y - self.means[at]) ** self.power
        return np.array([np.bincount(at, weight, self.n), np.bincount(at, away, self.n)])

    def total(self, pages: Pages, n_jobs: int) -> np.ndarray:
        """Weight, mean and sum of squared distances from it, of shape (n, 3); means are taken from those given."""
        if not self.n:
            return np.empty((0, 3))
        mass, away = _total(self, pages, n_jobs)
        means = self.means + away / mass
        squared = replace(self, moves=self.moves.done(), means=means, power=2)
        return np.column_stack([mass, means, _total(squared, pages, n_jobs)[1]])


def _total(function: Callable[[Page], np.ndarray], pages: Pages, n_jobs: int) -> np.ndarray:
    return np.sum(pages.each(function, n_jobs, changes=True), axis=0)


def joined_moments(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Weight, mean and squared distances of two nodes together.

    Examples
    --------
    >>> joined_moments(np.array([1.0, 2.0, 0.0]), np.array([1.0, 4.0, 0.0]))
    array([2., 3., 2.])
    """
    total, apart = left[0] + right[0], right[1] - left[1]
    spread = left[2] + right[2] + apart * apart * left[0] * right[0] / total
    return np.array([total, left[1] + apart * right[0] / total, spread])


__all__ = ["ClassSums", "Moments", "joined_moments"]
