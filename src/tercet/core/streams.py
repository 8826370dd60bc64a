"""A source as a fit sees it: X, y and weights that `Chunks` cuts without holding them in memory.

`Stream` reads, checks and encodes; a `StreamedArray` stands for X, y or the weights in `_fit`, with a shape and a
dtype but no values; `Chunks(X, y, weight)` of streamed arrays is a `StreamedChunks`, whose chunks are read when
someone walks through them. Their borders are those of arrays in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from tercet.core.row_slices import row_slice
from tercet.core.sources import Features, Piece, RowSource, in_chunks


class Checks(Protocol):
    """What an estimator asks of its rows, targets and weights (`core.source_checks`)."""

    name: str
    classes: np.ndarray | None
    given: dict[str, np.ndarray]  # y or weights that are in memory, not in the source

    def rows(self, piece: Piece, features: Features) -> Any: ...

    def target(self, piece: Piece, y: np.ndarray) -> np.ndarray: ...

    def weights(self, weight: np.ndarray, dtype: Any) -> np.ndarray: ...


class Stream:
    """The rows of a source with their targets and weights, checked and encoded piece by piece."""

    def __init__(
        self, source: RowSource, features: Features, target: tuple[Any, ...], weight: Any, checks: Checks
    ) -> None:
        self.source, self.features, self.checks = source, features, checks
        self.target, self.weight, self.name = target, weight, checks.name
        self.n_rows = source.n_rows

    @property
    def portable(self) -> bool:
        """Whether another process can read the same rows."""
        return self.source.portable and not self.checks.given

    @property
    def is_sparse(self) -> bool:
        return self.source.sparse

    @property
    def n_entries(self) -> int:
        """Entries of a sparse X."""
        return self.source.n_entries

    def read(self, wanted: Sequence[str], start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        """Pieces of the wanted of "X", "y", "weight" and "row" (numbers of rows), in their order."""
        given = self.checks.given
        if wanted == ["row"]:
            yield (np.arange(start, stop),)
            return
        columns: list[Any] = []
        if "y" in wanted and "y" not in given:
            columns += self.target
        if "weight" in wanted and "weight" not in given:
            columns.append(self.weight)
        reads = "X" in wanted or not columns
        for piece in self.source.read(self.features if reads else None, columns, start, stop):
            found, others = {}, list(piece.others)
            if "X" in wanted:
                found["X"] = self.checks.rows(piece, self.features)
            here = slice(piece.place.start, piece.place.start + piece.n_rows)
            found["row"] = np.arange(here.start, here.stop)
            if "y" in wanted:
                y = given["y"][here] if "y" in given else _side_by_side(others[: len(self.target)])
                found["y"] = self.checks.target(piece, y)
            if "weight" in wanted:
                weight = given["weight"][here] if "weight" in given else others[-1]
                found["weight"] = self.checks.weights(weight, self.features.dtype)
            yield tuple(found[name] for name in wanted)

    def array(self, what: str) -> StreamedArray:
        """X, y, the weights or the numbers of the rows, to be cut by `Chunks`."""
        n, dtype = self.n_rows, self.features.dtype
        if what == "row":
            return StreamedArray(self, what, (n,), np.intp)
        if what == "X":
            return StreamedArray(self, what, (n, self.features.width), dtype)
        if what == "weight":
            return StreamedArray(self, what, (n,), dtype)
        columns = len(self.target) if "y" not in self.checks.given else 1
        kind = np.dtype(np.float64 if self.checks.classes is None else np.intp)
        return StreamedArray(self, what, (n,) if columns == 1 else (n, columns), kind)


class MemoryStream(Stream):
    """Checked arrays in memory, cut and read as those of a source: what an engine of other machines works on."""

    def __init__(self, name: str, **arrays: Any) -> None:
        X = arrays["X"]
        self.arrays, self.name, self.n_rows = arrays, name, X.shape[0]
        self.features = Features(None, None, X.shape[1], X.dtype)
        self._sparse = sparse.issparse(X)
        self._entries = X.nnz if self._sparse else 0

    @property
    def portable(self) -> bool:
        return False

    @property
    def is_sparse(self) -> bool:
        return self._sparse

    @property
    def n_entries(self) -> int:
        return self._entries

    def read(self, wanted: Sequence[str], start: int, stop: int) -> Iterator[tuple[Any, ...]]:
        row = np.arange(start, stop)
        yield tuple(row if name == "row" else row_slice(self.arrays[name], start, stop) for name in wanted)

    def array(self, what: str) -> StreamedArray:
        if what == "row":
            return StreamedArray(self, what, (self.n_rows,), np.intp)
        array = self.arrays[what]
        return StreamedArray(self, what, array.shape, array.dtype)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "arrays": {}}  # another machine gets the chunks that it works on, no more


def _side_by_side(columns: list[np.ndarray]) -> np.ndarray:
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


class StreamedArray:
    """Stands for an array whose rows are read when `Chunks` of it are walked through.

    It has a shape and a dtype, but no values: what needs all of them at once cannot learn from a source. `map`
    gives an array whose chunks are made from those of others.
    """

    def __init__(
        self,
        stream: Stream,
        what: str,
        shape: tuple[int, ...],
        dtype: Any,
        function: Callable[..., Any] | None = None,
        inputs: tuple[StreamedArray, ...] = (),
    ) -> None:
        self.stream, self.what, self.shape, self.dtype = stream, what, shape, np.dtype(dtype)
        self.function, self.inputs = function, inputs

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=object))

    @property
    def nbytes(self) -> int:
        """Bytes of the values; of a sparse matrix, with those of its indices."""
        if self.is_sparse:
            return int(self.stream.n_entries * self.dtype.itemsize * 1.5)
        return self.size * self.dtype.itemsize

    @property
    def is_sparse(self) -> bool:
        """Whether chunks are CSR matrices."""
        if self.inputs:
            return self.inputs[0].is_sparse and self.ndim == 2 and self.shape[1] >= self.inputs[0].shape[1]
        return self.what == "X" and self.stream.is_sparse

    def __len__(self) -> int:
        return self.shape[0]

    def map(
        self,
        function: Callable[..., Any],
        *others: StreamedArray,
        width: int | None = None,
        dtype: Any = None,
    ) -> StreamedArray:
        """An array made row by row: `function(chunk, *chunks of others)`; `width` columns, or of one dimension.

        What is made of sparse rows, with as many columns or more, is sparse.
        """
        shape = (self.shape[0],) if width is None else (self.shape[0], width)
        return StreamedArray(self.stream, "", shape, dtype or self.dtype, function, (self, *others))

    def fields(self) -> list[str]:
        """Which of "X", "y", "weight" and "row" the values come from."""
        return (
            [self.what] if self.function is None else [name for one in self.inputs for name in one.fields()]
        )

    def evaluate(self, found: dict[str, Any]) -> Any:
        """The values of a chunk whose fields are given."""
        if self.function is None:
            return found[self.what]
        return self.function(*(one.evaluate(found) for one in self.inputs))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{self.stream.name}: this needs all rows of a source at once. Load them "
            "(`source.to_arrays(y=...)`) or draw some (`source.sample(100_000, y=...)`)."
        )

    __array_ufunc__ = None  # NumPy's functions are refused in the same way


class StreamedChunks(Sequence[Any]):
    """Chunks that are read when someone walks through them; see `Chunks`."""

    def __init__(self, arrays: Sequence[Any], borders: list[int], prepare: Any = None) -> None:
        self.arrays, self.borders, self.prepare = tuple(arrays), borders, prepare
        self.stream: Stream = next(array.stream for array in arrays if isinstance(array, StreamedArray))
        fields = {name for array in arrays if isinstance(array, StreamedArray) for name in array.fields()}
        self.wanted = [name for name in ("X", "y", "weight", "row") if name in fields]
        self.pinned: dict[Any, Any] = {}  # what an engine keeps for these chunks

    def __len__(self) -> int:
        return len(self.borders) - 1

    @property
    def chunk_bytes(self) -> int:
        """Bytes of one chunk, about."""
        rows = max(1, self.borders[-1] // max(len(self), 1))
        return sum(
            int(array.nbytes / max(array.shape[0], 1) * rows)
            for array in self.arrays
            if array is not None and not sparse.issparse(array)
        )

    @property
    def portable(self) -> bool:
        """Whether another process can read these chunks itself."""
        return self.stream.portable and all(
            array is None or isinstance(array, StreamedArray) for array in self.arrays
        )

    def walk(self, first: int = 0, last: int | None = None) -> Iterator[tuple[Any, ...]]:
        """The chunks from first to last, read one after the other."""
        last = len(self) if last is None else last
        borders = self.borders[first : last + 1]
        pieces = self.stream.read(self.wanted, borders[0], borders[-1])
        for k, values in enumerate(in_chunks(pieces, borders)):
            found = dict(zip(self.wanted, values))
            chunk = tuple(
                array.evaluate(found)
                if isinstance(array, StreamedArray)
                else row_slice(array, borders[k], borders[k + 1])
                for array in self.arrays
            )
            yield chunk if self.prepare is None else self.prepare(chunk)

    def prepared(self, function: Callable[[Any], Any]) -> StreamedChunks:
        """The same chunks, each given to a function that is known by its name in a module."""
        return StreamedChunks(self.arrays, self.borders, function)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self.walk()

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        return next(self.walk(k, k + 1))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "pinned": {}}


def is_streamed(*arrays: Any) -> bool:
    """Whether one of these stands for rows that are not in memory."""
    return any(isinstance(array, StreamedArray) for array in arrays)


def holds_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix, in memory or streamed."""
    return X.is_sparse if isinstance(X, StreamedArray) else sparse.issparse(X)


def first_rows(array: Any, n: int) -> Any:
    """The first rows of an array, in memory or not."""
    if not is_streamed(array):
        return array[:n]
    n = min(n, array.shape[0])
    return next(StreamedChunks([array], [0, n]).walk())[0]
