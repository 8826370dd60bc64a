"""Columns of Arrow record batches as arrays: features as rows of a matrix, targets and weights as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tercet.core.sources import Features, SourceError, Words, piece_rows
from tercet.core.spelling_suggestions import spelling_suggestions


class TableColumns:
    """The columns of tables that have one schema."""

    def __init__(
        self, schema: pa.Schema, place: str, only: tuple[str, ...] | None, *, gaps: bool = False
    ) -> None:
        self.schema, self.place, self.gaps = schema, place, gaps  # whether "" is a missing value
        repeated = {name for name in schema.names if schema.names.count(name) > 1}
        if repeated:
            raise SourceError(
                f"{place}: columns must have different names; {sorted(repeated)[0]!r} comes twice."
            )
        self.names = tuple(schema.names if only is None else only)
        for name in self.names:
            self.check(name)

    def check(self, name: Any) -> None:
        """Refuse a column that is not there."""
        if name not in self.schema.names:
            near = spelling_suggestions(str(name), self.schema.names)
            hint = (
                f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(self.schema.names[:8])}."
            )
            raise SourceError(f"{self.place} has no column {name!r}.{hint}")

    def features(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        """The columns to learn from, and the dtype that holds them all."""
        for name in (*exclude, *(names or ())):
            self.check(name)
        chosen = tuple(name for name in self.names if name not in exclude) if names is None else names
        if not chosen:
            raise SourceError(f"{self.place}: no column is left to learn from.")
        kinds, words = [], []
        for place, name in enumerate(chosen):
            kind = self.schema.field(name).type
            if holds_words(kind):
                words.append(Words(place, _refusal(self.place, name, kind), self.gaps))
            kinds.append(
                np.dtype(np.float64) if holds_words(kind) else _feature_dtype(self.place, name, kind)
            )
        common = np.result_type(*kinds)
        dtype = common if common == np.float32 else np.dtype(np.float64)
        return Features(chosen, chosen, len(chosen), dtype, tuple(words))

    def row_bytes(self, names: Sequence[str]) -> float:
        """Bytes of a row of these columns, about."""
        return sum(_width(self.schema.field(name).type) for name in names)

    def wanted(self, features: Features | None, others: tuple[Any, ...]) -> list[str]:
        """All columns that have to be read."""
        for name in others:
            self.check(name)
        return list(dict.fromkeys([*((features.columns or ()) if features is not None else ()), *others]))

    def pieces(
        self, batches: Iterator[Any], features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Record batches from row `skip` on, as a matrix and columns."""
        most = piece_rows(
            max(self.row_bytes(self.wanted(features, others)), 8 * (features.width if features else 1))
        )
        for batch in batches:
            if skip >= batch.num_rows:
                skip -= batch.num_rows
                continue
            for start in range(skip, batch.num_rows, most):
                part = batch.slice(start, most)
                X = None if features is None else _matrix(part, features)
                yield X, tuple(_values(part.column(name), name) for name in others)
            skip = 0


def _width(kind: pa.DataType) -> float:
    """Bytes of a value, about."""
    return kind.bit_width / 8 if pa.types.is_primitive(kind) else 32.0


def _feature_dtype(place: str, name: str, kind: pa.DataType) -> np.dtype[Any]:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return np.dtype(np.int8)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return np.dtype(np.float64)
    raise SourceError(_refusal(place, name, kind))


def _refusal(place: str, name: str, kind: pa.DataType) -> str:
    return f"{place}: column {name!r} holds {kind}, not numbers. Leave it out (columns=[...]), or encode it first."


def holds_words(kind: pa.DataType) -> bool:
    """Whether a column of this type holds strings."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _matrix(batch: Any, features: Features) -> np.ndarray:
    """Columns side by side, in rows that are contiguous; null is NaN, and words are codes."""
    X = np.empty((batch.num_rows, features.width), dtype=features.dtype)
    words = {column.place: column for column in features.words}
    for j, name in enumerate(features.columns or ()):
        X[:, j] = _codes(batch.column(name), words[j]) if j in words else _numbers(batch.column(name))
    return X


def _codes(column: Any, words: Words) -> np.ndarray:
    """The place of each word among the labels, their number for any other word, NaN where it is missing."""
    assert words.labels is not None
    known: dict[Any, float] = {word: place for place, word in enumerate(words.labels.tolist())}
    for missing in (None, "") if words.gaps else (None,):
        known[missing] = np.nan
    column = _dictionary_encoded(column)
    places = [known.get(word, len(words.labels)) for word in column.dictionary.to_pylist()]
    table = np.array([*places, np.nan], dtype=np.float64)
    return table[pc.fill_null(column.indices.cast(pa.int64()), len(places)).to_numpy(zero_copy_only=False)]


def _dictionary_encoded(column: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        return column
    return (column.cast(pa.string()) if pa.types.is_string_view(column.type) else column).dictionary_encode()


def _numbers(column: Any) -> np.ndarray:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        column = pc.cast(column, pa.float64())
    return column.to_numpy(zero_copy_only=False)


def _values(column: Any, name: str) -> np.ndarray:
    """A target or a column of weights: numbers, truth values or strings; None or NaN where one is missing."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return _numbers(column)
    if not holds_words(kind):
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.to_numpy(zero_copy_only=False)
    column = _dictionary_encoded(column)
    if column.null_count:
        return column.dictionary_decode().to_numpy(zero_copy_only=False)  # refused later, by its row
    words = np.asarray(column.dictionary.to_pylist() or [""], dtype=str)
    return words[column.indices.to_numpy(zero_copy_only=False)]
