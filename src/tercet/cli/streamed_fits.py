"""`tercet fit` on tables that do not fit into memory: methods that can learn from all rows, pass by pass.

Columns, scales and categories come from the rows that were drawn to look at the table; the method then learns from
every row, encoded batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tercet.cli import pipelines
from tercet.cli.tables import batches
from tercet.core.sources import Features, Part, RowSource
from tercet.datasets import Table
from tercet.feature import Schema, TableEncoder

TARGET = "target"


class EncodedTable(RowSource):
    """The rows of a table that have a target, as an encoder gives them; read again in every pass.

    Parameters
    ----------
    data : str
        The file or folder.
    reading : dict
        How it is read (`Table.reading`).
    schema : Schema
    encoder : TableEncoder
        Fitted.
    """

    portable = False

    def __init__(
        self, data: str, reading: dict[str, Any], schema: Schema, encoder: TableEncoder, ragged: str
    ) -> None:
        self.data, self.reading, self.schema, self.encoder = data, reading, schema, encoder
        self.ragged, self.width = ragged, len(encoder.get_feature_names_out())

    def __repr__(self) -> str:
        return f"table {self.data!r}"

    def _find_parts(self) -> list[Part]:
        return [Part(self.data, None)]

    def _choose(self, exclude: tuple[Any, ...], names: tuple[str, ...] | None) -> Features:
        return Features(None, None, self.width, np.dtype(np.float64))

    def _count(self, part: Part) -> int:
        others = (TARGET,) if self.schema.task != "clustering" else ()
        read = self._read(part, None if others else self.features(), others, 0)
        return sum(len(values[0]) if others else len(X) for X, values in read)

    def _read(
        self, part: Part, features: Features | None, others: tuple[Any, ...], skip: int
    ) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        for table in batches(self.data, like=self.reading, ragged=self.ragged):
            y, known = None, np.ones(table.height, bool)
            if self.schema.task != "clustering":
                codes, known = self.schema.to_target(table)
                y = pipelines.labels(self.schema, codes[known])
            n = int(known.sum())
            here, skip = min(skip, n), skip - min(skip, n)
            if here == n:
                continue
            X = None
            if features is not None:
                rows = self.schema.to_records(table).take(np.flatnonzero(known)[here:])
                X = np.asarray(self.encoder.transform(rows), dtype=np.float64)
            yield X, tuple(y[here:] for _ in others) if y is not None else ()


def assemble(schema: Schema, estimator: Any) -> Pipeline:
    """As `pipelines.assemble`, with features that are numbers in a dense array."""
    options = pipelines.encoder_options(estimator) | {"sparse": False}
    if options.get("categories") == "keep":
        options["categories"] = "onehot"
    encoder = TableEncoder(pipelines.without_summaries(schema), **options)
    return Pipeline([("encoder", encoder), ("model", estimator)])


class AllRows:
    """A fit of all rows of a table: the preprocessing from those drawn, the method from every one."""

    def __init__(self, pipeline: Pipeline, schema: Schema, table: Table, data: str, ragged: str) -> None:
        self.pipeline, self.schema, self.table, self.data, self.ragged = pipeline, schema, table, data, ragged
        self.n_rows = 0

    def __call__(self, records: Any, y: Any) -> None:
        encoder, model = self.pipeline[0], self.pipeline[-1]
        encoder.fit(records, y)
        source = EncodedTable(self.data, self.table.reading, self.schema, encoder, self.ragged)
        model.fit(source, **({} if y is None else {"y": TARGET}))
        self.n_rows = source.n_rows
