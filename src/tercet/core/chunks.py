"""Chunks of rows: arrays cut by their size alone, whether they are in memory or read from a source."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from tercet.core.row_slices import row_slice
from tercet.core.streams import StreamedChunks, is_streamed

CHUNK_BYTES = 1 << 21  # a chunk's rows stay in a core's own cache for a second look
GRAIN = 64  # borders at multiples of this many rows keep vectorised loops in step


class Chunks(list[Any]):
    """Row slices of arrays of equal length, cut by the size of the first one.

    Of streamed arrays, the rows of a source that are not in memory, a `StreamedChunks` with the same borders.

    Parameters
    ----------
    *arrays : arrays, sparse matrices, streamed arrays or None
        What belongs together row by row; None stays None in every chunk.
    rows : int, optional
        Rows per chunk; by default as many as make about two megabytes of the first array.
    """

    borders: list[int]

    def __new__(cls, *arrays: Any, rows: int | None = None) -> Any:
        if is_streamed(*arrays):
            return StreamedChunks(arrays, borders_of(arrays[0], rows))
        return super().__new__(cls)

    def __init__(self, *arrays: Any, rows: int | None = None) -> None:
        self.borders = borders_of(arrays[0], rows)
        spans = zip(self.borders[:-1], self.borders[1:])
        super().__init__(tuple(row_slice(array, *span) for array in arrays) for span in spans)


def is_one_chunk(X: Any) -> bool:
    """Whether an array is so small that it is a single chunk of the usual size."""
    return bool((X.data.nbytes * 1.5 if sparse.issparse(X) else X.nbytes) <= CHUNK_BYTES)


def borders_of(first: Any, rows: int | None) -> list[int]:
    """Where an array is cut: from its size alone."""
    n = first.shape[0]
    if rows is None:
        size = first.data.nbytes * 1.5 if sparse.issparse(first) else first.nbytes
        rows = max(GRAIN, int(CHUNK_BYTES * n / max(size, 1)) // GRAIN * GRAIN)
    return [*range(0, max(n, 1), rows), n]
