"""Dask frames: a part is a partition, computed when it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa

from tercet.core.sources import Features, Part
from tercet.datasets.sources.arrow_columns import TableColumns
from tercet.datasets.sources.source import Source


class DaskFrameSource(Source):
    """The partitions of a Dask data frame, in their order."""

    portable: ClassVar[bool] = False

    def _open(self) -> None:
        # `columns` of a frame of no rows have their types
        schema = pa.Schema.from_pandas(self.data._meta, preserve_index=False)
        self.tables = TableColumns(schema, repr(self), self.columns)

    def _find_parts(self) -> list[Part]:
        return [Part(f"{self!r}, partition {k}", None, k) for k in range(self.data.npartitions)]

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        return self.tables.features(exclude, names)

    def _table(self, part: Part, wanted: list[str]) -> Any:
        frame = self.data.partitions[part.key][wanted].compute()
        return pa.Table.from_pandas(frame, preserve_index=False)

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        wanted = self.tables.wanted(features, others)
        yield from self.tables.pieces(iter(self._table(part, wanted).to_batches()), features, others, skip)

    def _count(self, part: Part) -> int:
        return len(self.data.partitions[part.key])
