"""Sparse rows in files: SVMlight, whose labels are the column "target", and npz files of SciPy."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from tercet.core.row_slices import row_slice
from tercet.core.sources import PIECE_BYTES, Features, Part, SourceError, piece_rows
from tercet.core.validation import check_structure
from tercet.datasets.sources.files import found_files
from tercet.datasets.sources.source import SUFFIXES, Source

TARGET = "target"


class _Extent(NamedTuple):
    """What one pass over a file finds."""

    rows: int
    entries: int
    width: int
    zero_based: bool


class SparseFiles(Source):
    """CSR blocks; indices of SVMlight files count from 1, or from 0 where a 0 is in one of them."""

    sparse: ClassVar[bool] = True

    def _open(self) -> None:
        self.paths = found_files(
            self.data, [end for end, kind in SUFFIXES.items() if kind in ("npz", "svmlight")]
        )
        if self.columns is not None:
            raise ValueError("columns= is for tables; of sparse rows all features are used.")
        found = {path: _extent(path) for path in self.paths}
        widths = {path: extent.width for path, extent in found.items()}
        self.text = any(not _is_npz(path) for path in self.paths)
        self.base = 0 if any(extent.zero_based for extent in found.values()) else 1
        if not self.text and len(set(widths.values())) > 1:
            raise SourceError(f"npz files must have as many columns: {sorted(set(widths.values()))}.")
        widest = max(widths.values()) - (self.base if self.text else 0)
        if self.n_features is not None and self.n_features < widest:
            raise SourceError(f"n_features={self.n_features}, but there is a feature {widest} in {self!r}.")
        self.width = self.n_features or widest
        self._entries = sum(extent.entries for extent in found.values())
        self._parts = tuple(Part(str(path), found[path].rows, path) for path in self.paths)

    @property
    def n_entries(self) -> int:
        return self._entries

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        for name in exclude:
            if name != TARGET or not self.text:
                raise SourceError(f"{self!r} has no column {name!r}: give its values as an array.")
        dtype: np.dtype[Any] = np.dtype(np.float64)
        if not self.text and all(_npz_dtype(path) == np.float32 for path in self.paths):
            dtype = np.dtype(np.float32)
        return Features(None, None, self.width, dtype)

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        for X, y in _svmlight(part.key) if not _is_npz(part.key) else _npz(part.key):
            if skip >= X.shape[0]:
                skip -= X.shape[0]
                continue
            rows = row_slice(X, skip, X.shape[0])
            if self.text:
                rows = rows[:, self.base :]
                rows = sparse.csr_array((rows.data, rows.indices, rows.indptr), (rows.shape[0], self.width))
            yield None if features is None else rows, tuple(y[skip:] for _ in others)
            skip = 0


def _is_npz(path: Path) -> bool:
    return path.suffix.lower() == ".npz"


def _extent(path: Path) -> _Extent:
    rows = entries = width = 0
    zero = False
    for X, _ in _npz(path) if _is_npz(path) else _svmlight(path):
        rows, entries, width = rows + X.shape[0], entries + X.nnz, max(width, X.shape[1])
        zero = zero or (not _is_npz(path) and bool((X.indices == 0).any()))
    return _Extent(rows, entries, width, zero)


def _npz(path: Path) -> Iterator[tuple[Any, Any]]:
    """The matrix of a file, in pieces."""
    try:
        X = check_structure(sparse.csr_array(sparse.load_npz(path)))
    except (OSError, ValueError, KeyError) as error:
        raise SourceError(f"{path} cannot be read as a sparse matrix: {error}") from error
    if not X.has_canonical_format:
        X.sum_duplicates()
    step = piece_rows(16 * X.nnz / max(X.shape[0], 1))
    for start in range(0, X.shape[0], step):
        yield row_slice(X, start, min(start + step, X.shape[0])), None


def _npz_dtype(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as archive:
        return archive["data"].dtype


def _svmlight(path: Path) -> Iterator[tuple[Any, np.ndarray]]:
    """Rows and labels, a block of whole lines at a time; indices as they stand there."""
    with path.open("rb") as file:
        line, rest = 1, b""
        while block := file.read(PIECE_BYTES):
            text, _, rest = (rest + block).rpartition(b"\n")
            yield from _parsed(path, text, line)
            line += text.count(b"\n") + 1
        yield from _parsed(path, rest, line)


def _parsed(path: Path, text: bytes, line: int) -> Iterator[tuple[Any, np.ndarray]]:
    if not text.strip():
        return
    try:
        X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
    except (ValueError, OverflowError, TypeError) as error:
        raise SourceError(f"{path}, line {line} or below: {error}") from error
    if len(y):
        yield sparse.csr_array(X), y.astype(np.int64) if bool(np.all(y == np.round(y))) else y
