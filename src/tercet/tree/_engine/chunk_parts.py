"""Which rows of the chunks of a source trees learn from, and which are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np


class HeldOut(Protocol):
    """Rows that decide when to stop, by their numbers among the rows with weight."""

    n_held: int

    def mask_of(self, start: int, count: int) -> np.ndarray:
        """Whether rows are held out."""

    def counts_before(self, places: np.ndarray) -> np.ndarray:
        """How many rows are held out before each of some places, in ascending order."""


class Part(NamedTuple):
    """Features, targets and weights of some rows of a chunk; weight may be None."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    def some(self, at: Any) -> Part:
        """Those rows that an index or a mask chooses."""
        return Part(self.X[at], self.y[at], None if self.weight is None else self.weight[at])


@dataclass
class ChunkParts:
    """How the rows of chunks are parted into those learned from and those held out.

    Parameters
    ----------
    borders : array of shape (chunks + 1,)
        The numbers of the first rows of chunks.
    weighted : array of shape (chunks + 1,)
        The numbers of rows with weight before each.
    every_row : bool
        Whether a row without weight is learned from, too: it has a place in the pages.
    categories : list of arrays or None
        Those of the columns, whose codes the rows hold.
    """

    borders: np.ndarray
    weighted: np.ndarray
    every_row: bool
    categories: list[Any]
    held: HeldOut | None = None

    def __post_init__(self) -> None:
        self.held_before = np.zeros_like(self.weighted)

    def hold_out(self, held: HeldOut) -> None:
        """Choose the rows held out."""
        self.held, self.held_before = held, held.counts_before(self.weighted)

    @property
    def sampled(self) -> np.ndarray:
        """Rows with weight that are learned from, before each chunk."""
        return self.weighted - self.held_before

    @property
    def learned(self) -> np.ndarray:
        """Rows that are learned from, before each chunk."""
        return self.borders if self.every_row else self.sampled

    def split(self, chunk: tuple[Any, ...]) -> tuple[int, Part, Part]:
        """The number of a chunk, the rows learned from, and those held out."""
        X, y, weight, row = chunk
        number = int(np.searchsorted(self.borders, row[0], side="right")) - 1
        w = None if weight is None else weight.astype(np.float64)
        part = Part(self._coded(X), y.astype(np.float64), w)
        if w is not None and not self.every_row and not w.all():
            part = part.some(w > 0)
        none = part.some(slice(0))
        if self.held is None:
            return number, part, none
        out = self.held.mask_of(int(self.weighted[number]), len(part.y))
        return (number, part.some(~out), part.some(out)) if out.any() else (number, part, none)

    def _coded(self, X: np.ndarray) -> np.ndarray:
        """Codes of categories; those of none (of negative numbers) are missing values."""
        if all(known is None for known in self.categories):
            return X
        X = X.copy()
        for j, known in enumerate(self.categories):
            if known is not None:
                X[X[:, j] >= len(known), j] = np.nan
        return X


def count_weighted(chunk: tuple[np.ndarray]) -> int:
    """The number of rows that have weight."""
    return int(np.count_nonzero(chunk[0] > 0))


def with_weight(chunk: tuple[np.ndarray, np.ndarray | None]) -> np.ndarray:
    """The targets of rows that have weight."""
    y, weight = chunk
    return y if weight is None else y[weight > 0]


def sampled_values(
    parts: ChunkParts, columns: list[int], chosen: np.ndarray | None, chunk: tuple[Any, ...]
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The values of some columns in those rows of a chunk that are in a sample, their weights, and the least and
    the largest weight of the chunk."""
    number, rows, _ = parts.split(chunk)
    least, most = np.inf, 0.0
    if rows.weight is not None:
        rows = rows.some(rows.weight > 0)
        assert rows.weight is not None
        least, most = float(rows.weight.min(initial=np.inf)), float(rows.weight.max(initial=0.0))
    if chosen is not None:
        start = int(parts.sampled[number])
        low, high = np.searchsorted(chosen, [start, start + len(rows.y)])
        rows = rows.some(chosen[low:high] - start)
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    return rows.X[:, columns], weight, least, most
