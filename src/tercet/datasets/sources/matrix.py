"""Arrays: in memory, mapped into it, or in npy files. Columns are numbered, or of one-dimensional files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from tercet.core.row_slices import row_slice
from tercet.core.sources import Features, Part, SourceError, piece_rows
from tercet.datasets.sources.files import found_files
from tercet.datasets.sources.source import Source


class MatrixSource(Source):
    """An array, a memory map or a CSR matrix. A target in it is named by its column's number."""

    portable: ClassVar[bool] = False

    def _open(self) -> None:
        if sparse.issparse(self.data):
            self.data, self.sparse = self.data.tocsr(), True  # type: ignore[misc]
        _check(self.data, repr(self))

    @property
    def n_entries(self) -> int:
        return int(self.data.nnz)

    def _find_parts(self) -> list[Part]:
        return [Part(repr(self), self.data.shape[0], None)]

    def _array(self, part: Part) -> Any:
        return self.data

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        return choose_numbered(self._array(self.parts[0]), self.columns, exclude, repr(self))

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        array = self._array(part)
        n, d = array.shape
        step = piece_rows(16 * array.nnz / max(n, 1) if sparse.issparse(array) else d * array.itemsize)
        for start in range(skip, n, step):
            rows = row_slice(array, start, min(start + step, n))
            yield cut_columns(rows, features), tuple(rows[:, column] for column in others)


class NpyFiles(MatrixSource):
    """Files of `numpy.save`, mapped into memory."""

    portable: ClassVar[bool] = True

    def _open(self) -> None:
        self.paths = found_files(self.data, [".npy"])

    def _find_parts(self) -> list[Part]:
        parts: list[Part] = []
        for path in self.paths:
            try:
                array = np.load(path, mmap_mode="r", allow_pickle=False)
            except (OSError, ValueError, EOFError) as error:
                raise SourceError(f"{path} cannot be read as an npy file: {error}") from error
            _check(array, str(path))
            if parts and array.shape[1] != (width := self._array(parts[0]).shape[1]):
                raise SourceError(f"{path} has {array.shape[1]} columns, but {self.paths[0]} has {width}.")
            parts.append(Part(str(path), array.shape[0], path))
        return parts

    def _array(self, part: Part) -> Any:
        return np.load(part.key, mmap_mode="r", allow_pickle=False)


def _check(array: Any, place: str) -> None:
    if array.ndim != 2 or 0 in array.shape:
        raise SourceError(f"{place} must have rows and columns; its shape is {array.shape}.")
    if array.dtype.kind not in "fiub":
        raise SourceError(f"{place} must hold numbers; its dtype is {array.dtype}.")


def choose_numbered(
    array: Any, only: tuple[Any, ...] | None, exclude: tuple[Any, ...], place: str
) -> Features:
    """The columns of an array to learn from, by their numbers."""
    d = array.shape[1]
    for column in (*exclude, *(only or ())):
        if not isinstance(column, int | np.integer) or not -d <= column < d:
            raise SourceError(f"{place} has columns 0 to {d - 1}, without names; got {column!r}.")
    dtype = array.dtype if array.dtype == np.float32 else np.dtype(np.float64)
    if not exclude and only is None:
        return Features(None, None, d, dtype)
    left_out = {int(column) % d for column in exclude}
    chosen = tuple(int(c) % d for c in (range(d) if only is None else only) if int(c) % d not in left_out)
    if not chosen:
        raise SourceError(f"{place}: no column is left to learn from.")
    return Features(chosen, None, len(chosen), dtype)


def cut_columns(rows: Any, features: Features | None) -> Any:
    """The features among the columns of an array, in rows that are contiguous."""
    if features is None:
        return None
    X = rows if features.columns is None else rows[:, list(features.columns)]
    if sparse.issparse(X):
        return X.astype(features.dtype, copy=False)
    return np.array(X, dtype=features.dtype, order="C")
