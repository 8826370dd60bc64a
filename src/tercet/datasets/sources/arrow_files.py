"""Parquet and Feather (Arrow IPC) files: a part is a row group, or a record batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tercet.core.sources import Features, Part, SourceError, piece_rows
from tercet.datasets.sources.arrow_columns import TableColumns
from tercet.datasets.sources.files import found_files
from tercet.datasets.sources.source import SUFFIXES, Source

BUFFER = 1 << 20  # bytes of a column that are read at once


class ArrowFiles(Source):
    """Files of columns with types of their own."""

    def _open(self) -> None:
        self.paths = found_files(
            self.data, [end for end, kind in SUFFIXES.items() if kind in ("parquet", "feather")]
        )
        self.tables = TableColumns(_schema(self.paths[0]), str(self.paths[0]), self.columns)

    def _find_parts(self) -> list[Part]:
        parts = []
        for path in self.paths:
            if path != self.paths[0]:
                self._check_schema(path)
            parts += _row_groups(path) if _is_parquet(path) else _record_batches(path)
        return parts

    def _check_schema(self, path: Path) -> None:
        """Refuse a file whose columns are others than those of the first, or of other types."""
        schema, first = _schema(path), self.tables.schema
        for name in self.tables.names:
            if name not in schema.names:
                raise SourceError(f"{path} has no column {name!r}, which {self.paths[0]} has.")
            if schema.field(name).type != first.field(name).type:
                raise SourceError(
                    f"{path}: column {name!r} holds {schema.field(name).type}, but {first.field(name).type} in "
                    f"{self.paths[0]}."
                )

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        return self.tables.features(exclude, names)

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        wanted = self.tables.wanted(features, others)
        try:
            batches = self._batches(part, wanted)
            yield from self.tables.pieces(batches, features, others, skip)
        except (pa.ArrowException, OSError) as error:
            line = " ".join(str(error).split())
            raise SourceError(f"{part.label} cannot be read: {line}") from error

    def _batches(self, part: Part, wanted: list[str]) -> Iterator[Any]:
        path, index = part.key
        if _is_parquet(path):
            rows = piece_rows(max(self.tables.row_bytes(wanted), 1.0))
            with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
                yield from file.iter_batches(rows, row_groups=[index], columns=wanted)
        else:
            with pa.memory_map(str(path)) as file:
                yield pa.ipc.open_file(file).get_batch(index).select(wanted)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def _schema(path: Path) -> Any:
    try:
        if _is_parquet(path):
            return parquet.read_schema(path)
        with pa.memory_map(str(path)) as file:
            return pa.ipc.open_file(file).schema
    except (pa.ArrowException, OSError) as error:
        line = " ".join(str(error).split())
        raise SourceError(f"{path} cannot be read as Parquet or Feather: {line}") from error


def _row_groups(path: Path) -> list[Part]:
    metadata = parquet.read_metadata(path)
    return [
        Part(f"{path}, row group {k}", metadata.row_group(k).num_rows, (path, k))
        for k in range(metadata.num_row_groups)
    ]


def _record_batches(path: Path) -> list[Part]:
    with pa.memory_map(str(path)) as memory:
        file = pa.ipc.open_file(memory)
        return [
            Part(f"{path}, record batch {k}", file.get_batch(k).num_rows, (path, k))
            for k in range(file.num_record_batches)
        ]
