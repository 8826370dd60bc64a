"""CSV files: a part is a file, read in blocks. Types are those of the first block of the first file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

from tercet.core.sources import PIECE_BYTES, Features, Part, SourceError
from tercet.datasets.sources.arrow_columns import TableColumns, holds_words
from tercet.datasets.sources.files import found_files
from tercet.datasets.sources.source import SUFFIXES, Source


class CSVFiles(Source):
    """Files of text with a header line, separated by commas (by tabs in .tsv files)."""

    def _open(self) -> None:
        self.paths = found_files(self.data, [end for end, kind in SUFFIXES.items() if kind == "csv"])
        try:
            with self._reader(self.paths[0], None) as reader:
                schema = reader.schema
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{self.paths[0]} cannot be read as CSV: {_line(error)}") from error
        # a whole number may be followed by others further down
        self.tables = TableColumns(schema, str(self.paths[0]), self.columns, gaps=True)

    def _find_parts(self) -> list[Part]:
        return [Part(str(path), None, path) for path in self.paths]

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        chosen = self.tables.features(exclude, names)
        kinds = [self.tables.schema.field(name).type for name in chosen.names or ()]
        if any(pa.types.is_temporal(kind) for kind in kinds):
            raise SourceError(f"{self.paths[0]}: dates are no features; leave them out (columns=[...]).")
        return chosen

    def _reader(self, path: Path, types: dict[str, Any] | None) -> Any:
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        return csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=PIECE_BYTES),
            parse_options=csv.ParseOptions(delimiter=separator),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=None if types is None else list(types)
            ),
        )

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        schema = self.tables.schema
        types = {name: schema.field(name).type for name in self.tables.wanted(features, others)}
        for name in (features.columns or ()) if features is not None else ():
            if not (pa.types.is_boolean(types[name]) or holds_words(types[name])):
                types[name] = pa.float64()
        try:
            with self._reader(part.key, types) as reader:
                yield from self.tables.pieces(iter(reader), features, others, skip)
        except (pa.ArrowException, OSError, KeyError) as error:
            raise SourceError(f"{part.label} cannot be read: {_line(error)}") from error

    def _count(self, part: Part) -> int:
        name = self.tables.schema.names[0]
        try:
            with self._reader(part.key, {name: pa.string()}) as reader:
                return sum(batch.num_rows for batch in reader)
        except (pa.ArrowException, OSError, KeyError) as error:
            raise SourceError(f"{part.label} cannot be read: {_line(error)}") from error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
