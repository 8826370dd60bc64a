"""Anything with `__arrow_c_stream__`: frames, Arrow tables and readers, relations of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa

from tercet.core.sources import Features, Part
from tercet.datasets.sources.arrow_columns import TableColumns
from tercet.datasets.sources.source import Source
from tercet.datasets.sources.spool import ArrowSpool


class ArrowStreamSource(Source):
    """Rows of an object that exports an Arrow stream, again and again; a reader is copied to a file."""

    portable: ClassVar[bool] = False

    def _open(self) -> None:
        if isinstance(self.data, pa.RecordBatchReader):
            self.data = ArrowSpool(self.data)
        with self._reader() as reader:
            self.tables = TableColumns(reader.schema, repr(self), self.columns)

    def _reader(self) -> Any:
        return pa.RecordBatchReader.from_stream(self.data)

    def _find_parts(self) -> list[Part]:
        data = self.data
        known = getattr(data, "num_rows", None)
        if known is None and getattr(data, "shape", None) and isinstance(data.shape[0], int):
            known = data.shape[0]
        return [Part(repr(self), known, None)]

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        return self.tables.features(exclude, names)

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        with self._reader() as reader:
            yield from self.tables.pieces(iter(reader), features, others, skip)

    def _count(self, part: Part) -> int:
        with self._reader() as reader:
            return sum(batch.num_rows for batch in reader)
