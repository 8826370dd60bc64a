"""Rows of a source for histogram boosting: which are learned from and which held out, binned into pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tercet.core.memory import available
from tercet.core.parallel import Chunks
from tercet.core.read_ahead import feed
from tercet.core.row_pages import Field, RowPages
from tercet.core.row_slices import join_rows
from tercet.core.stopping import check_stop
from tercet.core.strip_sums import STRIP_ROWS
from tercet.ensemble.boosting.held_out_rows import SPLIT_ROWS, held_out_mask, is_held_out
from tercet.tree import BinEdges, growth_fields, sampled_rows

PAGE_BYTES = 1 << 22
MOST_PAGE_ROWS = 1 << 16


class Part(NamedTuple):
    """Rows of a chunk that are learned from, or those held out."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray


class StreamedRows:
    """The rows of a fit, read from a source in passes.

    Parameters
    ----------
    X, y, weight : StreamedArrays
        weight may be None. Rows without weight are not there.
    categories : list of arrays or None
        Of the columns.
    fraction : float, int or None
        The rows to hold out; None for none.
    seed : int
        Decides which.
    stratify : bool
        Whether to keep the shares of the classes y.
    """

    def __init__(self, X: Any, y: Any, weight: Any, categories: list[Any]) -> None:
        self.X, self.y, self.weight, self.categories = X, y, weight, categories
        self.mask: np.ndarray | None = None
        self.fraction: Any = None
        self.seed = 0
        self.n = X.shape[0] if weight is None else sum(int((w > 0).sum()) for _, w in self._columns())
        self.n_held = 0

    def hold_out(self, fraction: Any, seed: int, stratify: bool) -> None:
        """Choose the rows held out."""
        self.fraction, self.seed, n = fraction, seed, self.n
        if n <= SPLIT_ROWS:
            strata = join_rows([y[w > 0] for y, w in self._columns()]) if stratify else None
            self.mask = held_out_mask(n, fraction, seed, strata)
            self.n_held = int(self.mask.sum())
        else:
            starts = range(0, n, SPLIT_ROWS)
            spans = (np.arange(start, min(n, start + SPLIT_ROWS)) for start in starts)
            self.n_held = sum(int(is_held_out(rows, n, fraction, seed).sum()) for rows in spans)

    @property
    def n_train(self) -> int:
        return self.n - self.n_held

    def _columns(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Targets and weights, without the features."""
        rows = max(1, (1 << 18))
        for y, weight in Chunks(self.y, self.weight, rows=rows):
            check_stop()
            yield y, np.ones(len(y)) if weight is None else weight

    def _is_held(self, start: int, count: int) -> np.ndarray | None:
        if self.mask is not None:
            return self.mask[start : start + count]
        if self.fraction is None:
            return None
        return is_held_out(np.arange(start, start + count), self.n, self.fraction, self.seed)

    def walk(self) -> Iterator[tuple[Part, Part]]:
        """The rows learned from and those held out, chunk by chunk."""
        done = 0
        with feed(Chunks(self.X, self.y, self.weight)) as chunks:
            for X, y, weight in chunks:
                check_stop()
                w = np.ones(len(y)) if weight is None else weight.astype(np.float64)
                part = Part(self._coded(X), y.astype(np.float64), w)
                if not w.all():
                    part = Part(*(array[w > 0] for array in part))
                held = self._is_held(done, len(part.y))
                done += len(part.y)
                if held is None or not held.any():
                    yield part, Part(*(array[:0] for array in part))
                else:
                    yield Part(*(array[~held] for array in part)), Part(*(array[held] for array in part))

    def _coded(self, X: np.ndarray) -> np.ndarray:
        """Codes of categories; those of none (of negative numbers) are missing values."""
        if all(known is None for known in self.categories):
            return X
        X = X.copy()
        for j, known in enumerate(self.categories):
            if known is not None:
                X[X[:, j] >= len(known), j] = np.nan
        return X

    def edges(self, max_bins: int, n_categories: np.ndarray, seed: int, n_jobs: int | None) -> BinEdges:
        """Bin edges from a sample of the rows learned from, as many columns at a time as memory allows."""
        edges = BinEdges(n_categories, max_bins, n_jobs)
        chosen = sampled_rows(self.n_train, seed)
        size = self.n_train if chosen is None else len(chosen)
        width = max(1, available() // 8 // max(1, size * self.X.dtype.itemsize))
        numbers = edges.numbers
        for start in range(0, len(numbers), width):
            columns = numbers[start : start + width]
            values, mass = self._sample(columns, chosen, size)
            edges.learn(columns, values, mass, exact=chosen is None)
        return edges

    def _sample(self, columns: list[int], chosen: Any, size: int) -> tuple[np.ndarray, np.ndarray | None]:
        values, mass = np.empty((size, len(columns)), self.X.dtype), np.empty(size)
        done, found, constant, first = 0, 0, True, None
        for train, _ in self.walk():
            low, high = (
                (done, done + len(train.y))
                if chosen is None
                else np.searchsorted(chosen, [done, done + len(train.y)])
            )
            at = slice(None) if chosen is None else chosen[low:high] - done
            values[low:high], mass[low:high] = train.X[:, columns][at], train.weight[at]
            first = train.weight[0] if first is None and len(train.y) else first
            constant = constant and bool((train.weight == first).all())
            done, found = done + len(train.y), high
        assert found == size
        return values, None if constant else mass

    def pages(self, n_scores: int) -> RowPages:
        """Empty pages for the rows learned from."""
        d = self.X.shape[1]
        fields = growth_fields(d, n_scores)
        words = fields.pop("words")
        fields |= {"F": Field((n_scores,), np.float64), "y": Field((), np.float64)}
        fields |= {} if self.weight is None else {"weight": Field((), np.float64)}
        fields["words"] = words
        return RowPages(self.n_train, page_rows(fields), fields, available() // 3)

    def held_pages(self, n_scores: int, memory: int) -> RowPages:
        """Empty pages for the rows held out, with their features."""
        return held_pages(self.n_held, self.X.shape[1], self.X.dtype, n_scores, memory)


def held_pages(n: int, d: int, dtype: Any, n_scores: int, memory: int) -> RowPages:
    """Empty pages for so many rows that decide when to stop, with their features."""
    fields = {
        "F": Field((n_scores,), np.float64),
        "y": Field((), np.float64),
        "weight": Field((), np.float64),
        "X": Field((d,), dtype),
    }
    return RowPages(n, page_rows(fields), fields, memory)


def page_rows(fields: dict[str, Field]) -> int:
    """Rows of a page: whole strips, in about four megabytes."""
    rows = PAGE_BYTES // max(1, sum(field.row_bytes for field in fields.values()))
    return max(STRIP_ROWS, min(MOST_PAGE_ROWS, rows // STRIP_ROWS * STRIP_ROWS))
