"""Rows of a source as trees grow from them: binned once, into pages in memory or in temporary files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tercet.core.memory import available
from tercet.core.parallel import Chunks
from tercet.core.read_ahead import feed
from tercet.core.row_pages import Field, RowPages
from tercet.core.stopping import check_stop
from tercet.core.strip_sums import STRIP_ROWS
from tercet.tree._engine.binning import WORD_COLUMNS, BinEdges, BinnedColumns, sampled_rows

PAGE_BYTES = 1 << 22
MOST_PAGE_ROWS = 1 << 16


class BinnedPages:
    """Codes, targets, weights and nodes of the rows of a source, page by page.

    The source is read twice, or more often where the sample of the bin edges is large beside the memory.

    Parameters
    ----------
    X, y, weight : StreamedArrays
        weight may be None. A row without weight is in the pages, but in no tree.
    n_categories : array of shape (d,)
        0 for a column of numbers, else the number of its categories, `max_bins` at most.
    max_bins : int
    seed : int
        Above 200 000 rows the bin edges come from a sample; this decides which.
    n_jobs : int, optional

    Attributes
    ----------
    bins : BinnedColumns
        The bins of the columns, without words of rows.
    n_weighted : int
        The rows that have weight.

    Examples
    --------
    >>> from tercet.core.streams import MemoryStream
    >>> stream = MemoryStream("rows", X=np.array([[1.0], [2.0], [2.0], [7.0]]), y=np.arange(4.0))
    >>> with BinnedPages(stream.array("X"), stream.array("y"), None, np.zeros(1, int), 255, 0, 1) as data:
    ...     print(data.bins.n_bins, data.n_weighted)
    [3] 4
    """

    bins: BinnedColumns

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: Any,
        n_categories: np.ndarray,
        max_bins: int,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        n, d = X.shape
        self.X, self.y, self.weight = X, y, weight
        self.n_weighted = n if weight is None else sum(int((w > 0).sum()) for w in self._weights())
        self.edges = self._learn_edges(BinEdges(n_categories, max_bins, n_jobs), seed)
        self.bins = self.edges.columns()
        fields = {"node": Field((), np.uint32), "y": Field((), np.float64)}
        fields |= {} if weight is None else {"weight": Field((), np.float64)}
        fields["words"] = Field((-(-d // WORD_COLUMNS),), np.uint64)
        rows = PAGE_BYTES // sum(field.row_bytes for field in fields.values())
        rows = max(STRIP_ROWS, min(MOST_PAGE_ROWS, rows // STRIP_ROWS * STRIP_ROWS))
        self.pages = RowPages(n, rows, fields, available() // 3)
        try:
            self._fill()
        except BaseException:
            self.pages.close()
            raise

    def __enter__(self) -> BinnedPages:
        return self

    def __exit__(self, *error: Any) -> None:
        self.pages.close()

    def _weights(self) -> Iterator[np.ndarray]:
        for (weight,) in Chunks(self.weight, rows=1 << 18):
            check_stop()
            yield weight

    def _walk(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        with feed(Chunks(self.X, self.y, self.weight)) as chunks:
            for X, y, weight in chunks:
                check_stop()
                yield X, y, weight

    def _learn_edges(self, edges: BinEdges, seed: int) -> BinEdges:
        """Bin edges from a sample of the rows that have weight, as many columns at a time as memory allows."""
        chosen = sampled_rows(self.n_weighted, seed)
        size = self.n_weighted if chosen is None else len(chosen)
        width = max(1, available() // 8 // max(1, size * self.X.dtype.itemsize))
        for start in range(0, len(edges.numbers), width):
            columns = edges.numbers[start : start + width]
            edges.learn(columns, *self._sample(columns, chosen, size), exact=chosen is None)
        return edges

    def _sample(
        self, columns: list[int], chosen: np.ndarray | None, size: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The values of some columns in the sample, and their weights; None where all rows have the same."""
        values, mass = np.empty((size, len(columns)), self.X.dtype), np.ones(size)
        done, least, most = 0, np.inf, 0.0
        for X, _, weight in self._walk():
            if weight is not None:
                least = min(least, float(weight[weight > 0].min(initial=np.inf)))
                most = max(most, float(weight.max()))
                X, weight = X[weight > 0], weight[weight > 0]
            stop = done + len(X)
            low, high = (done, stop) if chosen is None else np.searchsorted(chosen, [done, stop])
            at = slice(None) if chosen is None else chosen[low:high] - done
            values[low:high] = X[at][:, columns]
            if weight is not None:
                mass[low:high] = weight[at]
            done = stop
        return values, None if self.weight is None or least == most else mass

    def _fill(self) -> None:
        start = 0
        for X, y, weight in self._walk():
            arrays = {"words": self.edges.encode(X), "y": y.astype(np.float64)}
            if weight is not None:
                arrays["weight"] = weight.astype(np.float64)
            self.pages.write(start, **arrays)
            start += len(y)

    def row_weights(self, page: int) -> np.ndarray | None:
        """The weights of the rows of a page."""
        return None if self.weight is None else self.pages.get(page, "weight")


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


RowWeights = Callable[[int], np.ndarray | None]  # of the rows of a page

__all__ = ["BinnedPages", "RowWeights", "row_batches"]
