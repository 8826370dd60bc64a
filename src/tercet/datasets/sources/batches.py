"""Batches of rows from a function that is called for each pass, or from an iterator, copied to a file once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from scipy import sparse

from tercet.core.sources import Features, Part, SourceError, piece_rows
from tercet.datasets.sources.arrow_columns import TableColumns
from tercet.datasets.sources.matrix import choose_numbered, cut_columns
from tercet.datasets.sources.source import Source
from tercet.datasets.sources.spool import ArraySpool


class BatchSource(Source):
    """Batches that are arrays, sparse matrices, or frames with `__arrow_c_stream__`."""

    portable: ClassVar[bool] = False
    tables: TableColumns | None = None

    def _open(self) -> None:
        self.make = self.data if callable(self.data) else ArraySpool(self.data)
        first = next(iter(self._batches()), None)
        if first is None:
            raise SourceError(f"{self!r} gives no batch.")
        self.first = first[:1] if not hasattr(first, "__arrow_c_stream__") else None
        if sparse.issparse(first):
            self.sparse = True  # type: ignore[misc]
        if self.first is None:
            schema = pa.RecordBatchReader.from_stream(first).schema
            self.tables = TableColumns(schema, repr(self), self.columns)

    def _batches(self) -> Iterator[Any]:
        for k, batch in enumerate(self.make()):
            if not hasattr(batch, "__arrow_c_stream__"):
                batch = batch.tocsr() if sparse.issparse(batch) else np.asarray(batch)
                if batch.ndim != 2 or batch.dtype.kind not in "fiub":
                    raise SourceError(
                        f"{self!r}: batch {k} must be rows of numbers; it has the shape {batch.shape} and the "
                        f"dtype {batch.dtype}."
                    )
            yield batch

    @property
    def n_entries(self) -> int:
        return sum(int(batch.nnz) for batch in self._batches())

    def _find_parts(self) -> list[Part]:
        return [Part(repr(self), None, None)]

    def _count(self, part: Part) -> int:
        return sum(
            batch.shape[0] if hasattr(batch, "shape") else pa.table(batch).num_rows
            for batch in self._batches()
        )

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        if self.tables is not None:
            return self.tables.features(exclude, names)
        return choose_numbered(self.first, self.columns, exclude, repr(self))

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        if self.tables is not None:
            records = (
                record for batch in self._batches() for record in pa.RecordBatchReader.from_stream(batch)
            )
            yield from self.tables.pieces(records, features, others, skip)
            return
        assert self.first is not None
        width = self.first.shape[1]
        for k, batch in enumerate(self._batches()):
            if batch.shape[1] != width:
                raise SourceError(
                    f"{self!r}: batch {k} has {batch.shape[1]} columns, but the first has {width}."
                )
            if skip >= batch.shape[0]:
                skip -= batch.shape[0]
                continue
            step = piece_rows(8 * width)
            for start in range(skip, batch.shape[0], step):
                rows = batch[start : start + step]
                yield cut_columns(rows, features), tuple(rows[:, column] for column in others)
            skip = 0
