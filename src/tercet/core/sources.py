"""Rows that are read when they are needed, and can be read again: the base of `tercet.datasets.Source`.

A source is an ordered sequence of parts (row groups of files, arrays), each of which is read in pieces. Where the
borders of parts and pieces are says nothing about a result: `core.streams` cuts rows anew, into the chunks that an
array of the same rows would have.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tercet.core.row_slices import join_rows, row_slice

PIECE_BYTES = 8 << 20  # of rows that are read at once
MOST_ROWS = 1 << 16
Column = Any  # the name of a column, or its number where columns have no names


class SourceError(ValueError):
    """What is wrong with a source: which file, row group, column and row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tercet.datasets import Source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "rows.parquet")
    ...     _ = file.write_text("words")
    ...     try:
    ...         Source(file)
    ...     except SourceError as error:
    ...         print("rows.parquet cannot be read as Parquet" in str(error))
    True
    """


@dataclass(frozen=True)
class Part:
    """A stretch of rows that can be read by itself; `n_rows` is None before they are counted."""

    label: str
    n_rows: int | None
    key: Any = None


class Place(NamedTuple):
    """Where a piece comes from: its part, its first row in that part and in the whole source."""

    label: str
    row: int
    start: int


class Piece(NamedTuple):
    """Rows of a source: features (None where none are wanted), and the other columns that were asked for."""

    place: Place
    X: Any
    others: tuple[np.ndarray, ...]

    @property
    def n_rows(self) -> int:
        return self.X.shape[0] if self.X is not None else len(self.others[0])


class Words(NamedTuple):
    """A column of words among the features: rows hold codes, places in `labels`; one more for any other word."""

    place: int
    refusal: str  # what to say where only numbers are features
    gaps: bool = False  # whether a word without letters is a missing value, as in text files
    labels: np.ndarray | None = None


class Features(NamedTuple):
    """The columns of a source that a model learns from."""

    columns: tuple[Column, ...] | None  # None where they are all there is, as in a sparse matrix
    names: tuple[str, ...] | None
    width: int
    dtype: np.dtype[Any]
    words: tuple[Words, ...] = ()


@dataclass(frozen=True)
class CodedRows:
    """Rows of a source that has columns of words, in memory: codes stand for the labels of a column."""

    codes: np.ndarray
    features: Features


class RowSource:
    """Ordered rows that are read piece by piece, as often as needed.

    A kind of source writes `_find_parts`, `_choose` and `_read`.
    """

    portable: ClassVar[bool] = True  # another process can read the same rows from a pickle of this object
    sparse: ClassVar[bool] = False
    _parts: tuple[Part, ...] | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, in order."""
        if self._parts is None:
            self._parts = tuple(self._find_parts())
            if not self._parts:
                raise SourceError(f"{self!r} has no rows.")
        return self._parts

    @property
    def n_rows(self) -> int:
        """The number of rows; a kind that does not store it is read once to count them."""
        if any(part.n_rows is None for part in self.parts):
            self._parts = tuple(
                part if part.n_rows is not None else replace(part, n_rows=self._count(part))
                for part in self.parts
            )
        return sum(part.n_rows or 0 for part in self.parts)

    @property
    def n_entries(self) -> int:
        """The number of stored entries of a sparse source."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self.n_rows

    def features(
        self,
        exclude: Sequence[Column] = (),
        names: Sequence[str] | None = None,
        words: bool | Mapping[int, np.ndarray] = False,
    ) -> Features:
        """The columns to learn from: those of the given names, or all but some.

        Columns of words are refused, or become codes: of the words that are there, in their order, which takes a
        pass over these columns; or of the given words of each column.
        """
        found = self._choose(tuple(exclude), None if names is None else tuple(names))
        if not found.words or words is False:
            labels: Mapping[int, np.ndarray] = {}
        else:
            labels = self._distinct_words(found) if words is True else words
        for column in found.words:
            if column.place not in labels:
                raise SourceError(column.refusal)
        return found._replace(
            words=tuple(column._replace(labels=labels[column.place]) for column in found.words)
        )

    def _distinct_words(self, features: Features) -> dict[int, np.ndarray]:
        """The words of each column that has some, in their order."""
        assert features.columns is not None
        names = [features.columns[column.place] for column in features.words]
        found: list[list[np.ndarray]] = [[] for _ in names]
        for piece in self.read(None, names):
            for parts, values in zip(found, piece.others):
                there = values if values.dtype != object else values[[word is not None for word in values]]
                parts.append(np.unique(there.astype(str)))
                if len(parts) > 64:
                    parts[:] = [np.unique(np.concatenate(parts))]
        every = [np.unique(np.concatenate(parts)) for parts in found]
        return {
            column.place: words[words != ""] if column.gaps else words
            for column, words in zip(features.words, every)
        }

    def read(
        self,
        features: Features | None,
        others: Sequence[Column] = (),
        start: int = 0,
        stop: int | None = None,
    ) -> Iterator[Piece]:
        """The rows from start to stop, in pieces."""
        at = 0
        for part in self.parts:
            if stop is not None and at >= stop:
                return
            if part.n_rows is not None and at + part.n_rows <= start:
                at += part.n_rows
                continue
            row = max(start - at, 0)
            for X, values in self._read(part, features, tuple(others), row):
                n = X.shape[0] if X is not None else len(values[0])
                most = n if stop is None else min(n, stop - at - row)
                if most <= 0:
                    break
                if n:
                    cut = tuple(row_slice(value, 0, most) for value in (X, *values))
                    yield Piece(Place(part.label, row, at + row), cut[0], cut[1:])
                row += n
            if part.n_rows is not None and row < part.n_rows and (stop is None or at + row < stop):
                raise SourceError(
                    f"{part.label} has {row} rows where there were {part.n_rows}: it was changed while it was read."
                )
            at += row if part.n_rows is None else part.n_rows

    def __iter__(self) -> Iterator[Any]:
        """The rows, piece by piece, as arrays."""
        for piece in self.read(self.features()):
            yield piece.X

    def to_arrays(self, y: Any = None, sample_weight: Any = None) -> tuple[Any, ...]:
        """X, or X and y, or X, y and the weights, in memory.

        Parameters
        ----------
        y, sample_weight : name of a column, optional
            Columns that are no features.

        Returns
        -------
        tuple of arrays
            As many as were asked for; X first.
        """
        others = [column for column in (y, sample_weight) if column is not None]
        pieces = list(self.read(self.features(exclude=others), others))
        X = join_rows([piece.X for piece in pieces])
        return X, *(join_rows([piece.others[k] for piece in pieces]) for k in range(len(others)))

    def sample(
        self, n: int, y: Any = None, sample_weight: Any = None, random_state: Any = 0
    ) -> tuple[Any, ...]:
        """Rows drawn at random without replacement, in their order, in memory: for what cannot learn from a source.

        Parameters
        ----------
        n : int
            How many; all where there are fewer.
        y, sample_weight : name of a column, optional
        random_state : int, default=0

        Returns
        -------
        tuple of arrays
            As `to_arrays` gives them.
        """
        others = [column for column in (y, sample_weight) if column is not None]
        total = self.n_rows
        wanted = np.sort(np.random.default_rng(random_state).choice(total, min(n, total), replace=False))
        found = []
        for piece in self.read(self.features(exclude=others), others):
            first = piece.place.start
            low, high = np.searchsorted(wanted, [first, first + piece.n_rows])
            if high > low:
                here = wanted[low:high] - first
                found.append([piece.X[here], *(value[here] for value in piece.others)])
        return tuple(join_rows(values) for values in zip(*found))

    def _find_parts(self) -> Sequence[Part]:
        raise NotImplementedError

    def _choose(self, exclude: tuple[Column, ...], names: tuple[str, ...] | None) -> Features:
        raise NotImplementedError

    def _read(
        self, part: Part, features: Features | None, others: tuple[Column, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Pieces of a part from row `skip` on: the features, and the other columns."""
        raise NotImplementedError

    def _count(self, part: Part) -> int:
        every = self.features()
        return sum(X.shape[0] for X, _ in self._read(part, every, (), 0))


def piece_rows(row_bytes: float) -> int:
    """How many rows of so many bytes are read at once.

    Examples
    --------
    >>> piece_rows(160), piece_rows(1e6)
    (52416, 64)
    """
    return max(64, min(MOST_ROWS, int(PIECE_BYTES / max(row_bytes, 1.0)) // 64 * 64))


def in_chunks(pieces: Iterator[tuple[Any, ...]], borders: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """Tuples of arrays (or None) that come in pieces of any length, cut anew at the borders (rows of the whole).

    Examples
    --------
    >>> pieces = iter([(np.array([1, 2, 3]),), (np.array([4, 5]),)])
    >>> [chunk[0].tolist() for chunk in in_chunks(pieces, [0, 2, 4, 5])]
    [[1, 2], [3, 4], [5]]
    """
    held: list[tuple[Any, ...]] = []
    have = 0
    for start, stop in itertools.pairwise(borders):
        wanted = stop - start
        while have < wanted:
            piece = next(pieces, None)
            if piece is None:
                raise SourceError(
                    f"The rows ended before row {stop}: the source was changed while it was read."
                )
            held.append(piece)
            have += _length(piece)
        parts: list[tuple[Any, ...]] = []
        while wanted:
            piece = held.pop(0)
            n = _length(piece)
            if n > wanted:
                held.insert(0, tuple(row_slice(array, wanted, n) for array in piece))
                piece = tuple(row_slice(array, 0, wanted) for array in piece)
            parts.append(piece)
            wanted -= min(n, wanted)
        have -= stop - start
        yield tuple(join_rows(arrays) for arrays in zip(*parts))


def _length(piece: tuple[Any, ...]) -> int:
    return next(int(array.shape[0]) for array in piece if array is not None)
