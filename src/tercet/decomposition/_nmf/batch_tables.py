"""Batches of the rows of a table for mini-batch factorisation, with their W: in memory, or read from a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.decomposition._nmf.half import Half, halves
from tercet.decomposition._nmf.streamed_table import StreamedTable


class BatchTable:
    """Batches of rows in memory, and their W."""

    def __init__(self, X: Any, W: np.ndarray, size: int, n_jobs: int) -> None:
        n = X.shape[0]
        self.spans, self.weights = [slice(a, min(a + size, n)) for a in range(0, n, size)], W
        self.halves = [halves(X[span], n_jobs) for span in self.spans]

    def batches(self) -> Iterator[tuple[int, tuple[Half, Half]]]:
        """The number of a batch, and its rows and columns."""
        return enumerate(self.halves)

    def W(self, number: int) -> np.ndarray:
        """The rows of W of a batch."""
        return self.weights[self.spans[number]]

    def set_W(self, number: int, W: np.ndarray) -> None:
        """Change the rows of W of a batch."""
        self.weights[self.spans[number]] = W

    def has_weights(self) -> bool:
        """Whether some entry of W is not 0."""
        return bool(self.weights.any())


class StreamedBatches:
    """The same of rows that are read from a source in every pass."""

    def __init__(self, table: StreamedTable, n_jobs: int) -> None:
        self.table, self.n_jobs = table, n_jobs
        self.states: Any = table.states  # in pages

    def batches(self) -> Iterator[tuple[int, tuple[Half, Half]]]:
        """The number of a batch, and its rows and columns."""
        for number, X in self.table.walk():
            yield number, halves(X, self.n_jobs)

    def W(self, number: int) -> np.ndarray:
        """The rows of W of a batch."""
        return self.states.get(number)["W"]

    def set_W(self, number: int, W: np.ndarray) -> None:
        """Change the rows of W of a batch."""
        self.states.set(number, {"W": W})

    def has_weights(self) -> bool:
        """Whether some entry of W is not 0."""
        return any(state["W"].any() for state in self.states.gathered())


__all__ = ["BatchTable", "StreamedBatches"]
