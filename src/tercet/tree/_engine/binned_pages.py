"""Rows of a source as trees grow from them: binned once, into pages in memory, in temporary files or on workers.

Boosting and histogram trees read their rows here. Which rows are learned from and which are held out depends on
their numbers and weights alone, so that pages have the same rows wherever they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tercet.core.memory import available
from tercet.core.parallel import Chunks
from tercet.core.prepared_chunks import each_where_read
from tercet.core.read_ahead import feed
from tercet.core.row_pages import Field, Page, Pages, RowPages, pages_elsewhere
from tercet.core.row_slices import join_rows
from tercet.core.stopping import check_stop
from tercet.core.streams import StreamedChunks
from tercet.core.strip_sums import STRIP_ROWS
from tercet.tree._engine.binning import WORD_COLUMNS, BinEdges, BinnedColumns, sampled_rows
from tercet.tree._engine.chunk_parts import (
    ChunkParts,
    HeldOut,
    Part,
    count_weighted,
    sampled_values,
    with_weight,
)

PAGE_BYTES = 1 << 22
MOST_PAGE_ROWS = 1 << 16
READ_ONCE = ("words", "X", "y", "weight")  # fields that no pass over pages changes
Scores = Callable[[np.ndarray], np.ndarray]  # of the features of rows, of shape (rows, n_scores)


class BinnedPages:
    """Codes, targets and weights of the rows of a source, and what a fit keeps for each of them, page by page.

    The source is read twice, by `learn_edges` and `fill`, or more often where the sample of the bin edges is large
    beside the memory; weights are looked at before.

    Parameters
    ----------
    X, y, weight : StreamedArrays
        weight may be None.
    every_row : bool
        Whether rows without weight are in the pages; they are never in the sample of the bin edges.
    categories : list of arrays or None
        As those of `ChunkParts`; none by default: columns of categories hold codes.

    Attributes
    ----------
    n, n_weighted : int
        The rows that are learned from or held out, and those of them that have weight.
    bins : BinnedColumns
        The bins of the columns, without words of rows.
    pages, held_pages : Pages
        Of the rows learned from, and of those held out, if there are any.

    Examples
    --------
    >>> from tercet.core.streams import MemoryStream
    >>> stream = MemoryStream("rows", X=np.array([[1.0], [2.0], [2.0], [7.0]]), y=np.arange(4.0))
    >>> data = BinnedPages(stream.array("X"), stream.array("y"), None)
    >>> data.learn_edges(np.zeros(1, int), max_bins=255, seed=0)
    >>> with data.fill({"node": Field((), np.uint32)}):
    ...     print(data.bins.n_bins, data.n_weighted, data.pages.n_rows)
    [3] 4 4
    """

    bins: BinnedColumns
    pages: Pages
    held_pages: Any = None

    def __init__(
        self, X: Any, y: Any, weight: Any, *, every_row: bool = True, categories: list[Any] | None = None
    ) -> None:
        self.X, self.y, self.weight = X, y, weight
        self.chunks = Chunks(X, y, weight, X.stream.array("row"))
        borders = np.array(self.chunks.borders)
        weighted = borders
        if weight is not None:
            weighted = np.append(0, np.cumsum(self._columns(count_weighted, weight)))
        self.n_weighted = int(weighted[-1])
        self.n = X.shape[0] if every_row else self.n_weighted
        self.parts = ChunkParts(borders, weighted, every_row, categories or [])

    def _columns(self, function: Callable[[Any], Any], *arrays: Any) -> list[Any]:
        """`function` of the chunks of some arrays, without the features."""
        return each_where_read(function, StreamedChunks(arrays, self.chunks.borders))

    @property
    def row_weights(self) -> RowWeights | None:
        """The weights of the rows of a page; None where all rows count once."""
        return None if self.weight is None else weights_of_page

    def hold_out(self, held: HeldOut) -> None:
        """Choose the rows that decide when to stop."""
        self.parts.hold_out(held)

    def weighted_targets(self) -> np.ndarray:
        """The targets of the rows that have weight."""
        return join_rows(self._columns(with_weight, self.y, self.weight))

    def learn_edges(
        self, n_categories: np.ndarray, max_bins: int, seed: int, n_jobs: int | None = None
    ) -> None:
        """Learn bin edges from a sample of the rows that have weight, as many columns at a time as memory allows.

        Parameters
        ----------
        n_categories : array of shape (d,)
            0 for a column of numbers, else the number of its categories, `max_bins` at most.
        max_bins : int
        seed : int
            Above 200 000 rows the bin edges come from a sample; this decides which.
        n_jobs : int, optional
        """
        self.edges = BinEdges(n_categories, max_bins, n_jobs)
        n = int(self.parts.sampled[-1])
        chosen = sampled_rows(n, seed)
        size = n if chosen is None else len(chosen)
        width = max(1, available() // 8 // max(1, size * self.X.dtype.itemsize))
        for start in range(0, len(self.edges.numbers), width):
            columns = self.edges.numbers[start : start + width]
            self.edges.learn(columns, *self._sample(columns, chosen), exact=chosen is None)
        self.bins = self.edges.columns()

    def _sample(self, columns: list[int], chosen: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """The values of some columns in the sample, and their weights; None where all rows have the same."""
        take = functools.partial(sampled_values, self.parts, columns, chosen)
        values, mass, least, most = zip(*each_where_read(take, self.chunks))
        same = self.weight is None or min(least) == max(most)
        return np.concatenate(values), None if same else np.concatenate(mass)

    def fill(
        self,
        fields: dict[str, Field],
        held_fields: dict[str, Field] | None = None,
        scores: Scores | None = None,
    ) -> Self:
        """Read the rows into pages; leave the `with` block of what is returned to give them back.

        Parameters
        ----------
        fields : dict of Field
            What is kept of the rows learned from, beside their targets, weights (where there are any) and codes; in
            memory as long as there is some, the first ones first.
        held_fields : dict of Field, optional
            What is kept of the rows held out, beside their targets, weights and features; not read without it.
        scores : callable, optional
            Gives the field "F" at first; without it scores are 0.
        """
        d = self.X.shape[1]
        y = {"y": Field((), np.float64)}
        weight = {"weight": Field((), np.float64)}
        words = {"words": Field((-(-d // WORD_COLUMNS),), np.uint64)}
        own = {**fields, **y, **({} if self.weight is None else weight), **words}
        n = int(self.parts.learned[-1])
        given = self.chunks, self.parts, self.edges, scores
        learned = SourcePart(*given, n, page_rows(own), own)
        parts = [learned]
        if held_fields is not None and self.parts.held is not None and self.parts.held.n_held:
            all_held = {**held_fields, **y, **weight, "X": Field((d,), self.X.dtype)}
            n_held = self.parts.held.n_held
            parts.append(SourcePart(*given, n_held, page_rows(all_held), all_held, held=True))
        opened: list[Any] = []
        memory = available() // 3
        try:
            for part in parts:
                there = pages_elsewhere(part)
                if there is None:
                    there = RowPages(part.n_rows, part.page_rows, part.fields, memory)
                    memory = max(0, memory - part.row_bytes * part.n_rows)
                opened.append(there)
            if isinstance(opened[0], RowPages):
                self._read(parts, opened)
        except BaseException:
            for pages in opened:
                pages.close()
            raise
        self.pages, self.held_pages, self.memory = opened[0], opened[1] if len(opened) > 1 else None, memory
        return self

    def fill_held(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        fields: dict[str, Field],
        scores: Scores | None = None,
    ) -> None:
        """Keep rows that are in memory as those held out; as `fill` does for rows of the source."""
        one = Field((), np.float64)
        fields = {**fields, "y": one, "weight": one, "X": Field((X.shape[1],), X.dtype)}
        self.held_pages = RowPages(len(y), page_rows(fields), fields, self.memory)
        first = {} if scores is None else {"F": scores(X).T}
        self.held_pages.write(0, X=X.T, y=y, weight=weight, **first)

    def _read(self, parts: list[SourcePart], opened: list[RowPages]) -> None:
        """Write the rows of all parts, in one pass over the source."""
        done = [0] * len(parts)
        with feed(self.chunks) as chunks:
            for chunk in chunks:
                check_stop()
                both = self.parts.split(chunk)[1:]
                for k, (part, rows) in enumerate(zip(parts, both)):
                    if len(rows.y):
                        opened[k].write(done[k], **part.arrays(rows))
                        done[k] += len(rows.y)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        for pages in (self.pages, self.held_pages):
            if pages is not None:
                pages.close()


@dataclass
class SourcePart:
    """The rows of a source that are learned from, or those held out, as they are read into pages."""

    chunks: Any
    parts: ChunkParts
    edges: BinEdges
    scores: Scores | None
    n_rows: int
    page_rows: int
    fields: dict[str, Field]
    held: bool = False

    @property
    def portable(self) -> bool:
        return bool(self.chunks.portable)

    @property
    def changed(self) -> tuple[str, ...]:
        """The fields that passes over pages change."""
        return tuple(name for name in self.fields if name not in READ_ONCE)

    @property
    def row_bytes(self) -> int:
        return sum(field.row_bytes for field in self.fields.values())

    def arrays(self, rows: Part) -> dict[str, np.ndarray]:
        """What is read of some rows; arrays have the rows last."""
        found = {"X": rows.X.T} if self.held else {"words": self.edges.encode(rows.X)}
        found["y"] = rows.y
        if "weight" in self.fields:
            found["weight"] = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        if self.scores is not None:
            found["F"] = self.scores(rows.X).T
        return found

    def read(self, start: int, stop: int) -> RowPages:
        """Pages in memory of the rows from start to stop."""
        before = self.parts.held_before if self.held else self.parts.learned
        first = int(np.searchsorted(before, start, side="right")) - 1
        last = int(np.searchsorted(before, stop, side="left"))
        names = [*READ_ONCE, *(["F"] if self.scores is not None else [])]
        fields = {name: self.fields[name] for name in names if name in self.fields}
        size = sum(field.row_bytes for field in fields.values()) * (stop - start)
        pages = RowPages(stop - start, self.page_rows, fields, size)
        done = int(before[first])
        for chunk in self.chunks.walk(first, last):
            _, learned, held = self.parts.split(chunk)
            rows = held if self.held else learned
            inside = rows.some(slice(max(start - done, 0), max(stop - done, 0)))
            if len(inside.y):
                pages.write(max(done, start) - start, **self.arrays(inside))
            done += len(rows.y)
        return pages


def page_rows(fields: dict[str, Field]) -> int:
    """Rows of a page: whole strips, in about four megabytes."""
    rows = PAGE_BYTES // max(1, sum(field.row_bytes for field in fields.values()))
    return max(STRIP_ROWS, min(MOST_PAGE_ROWS, rows // STRIP_ROWS * STRIP_ROWS))


def row_batches(nodes: list[Any], most: int) -> Iterator[list[Any]]:
    """Consecutive nodes of at most so many rows together, where one does not have more alone."""
    batch: list[Any] = []
    size = 0
    for node in nodes:
        if batch and size + node.rows > most:
            yield batch
            batch, size = [], 0
        batch.append(node)
        size += node.rows
    if batch:
        yield batch


def weights_of_page(page: Page) -> np.ndarray:
    """The weights of the rows of a page."""
    return page.get("weight")


RowWeights = Callable[[Page], np.ndarray]  # of the rows of a page

__all__ = ["BinnedPages", "RowWeights", "row_batches"]
