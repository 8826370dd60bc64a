"""Parquet and Feather: columns with types of their own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.messages import Message
from tercet.datasets.readers.damage import quiet_panics
from tercet.datasets.readers.source_file import ReadRequest, SourceFile, first_bytes
from tercet.datasets.readers.table import Table, listed
from tercet.datasets.readers.table_format import typed_format

if TYPE_CHECKING:
    import polars as pl


def read_parquet(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read Parquet; when rows are drawn, one row group after the other."""
    import polars as pl

    return _read(source, "Parquet", pl.scan_parquet, request)


def read_feather(source: SourceFile, request: ReadRequest) -> Iterator[Table]:
    """Read Feather (Arrow IPC), of the first version too."""
    import polars as pl

    if not source.path.is_dir() and first_bytes(source.path, 4) == b"FEA1":

        def scan(path: Path, **_: Any) -> pl.LazyFrame:
            from pyarrow import feather

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pyarrow would rather not read the first version
                frame = pl.from_arrow(feather.read_table(path))
            assert isinstance(frame, pl.DataFrame)
            return frame.lazy()

        return _read(source, "Feather", scan, request)
    return _read(source, "Feather", pl.scan_ipc, request)


def _read(source: SourceFile, format: str, scan: Any, request: ReadRequest) -> Iterator[Table]:
    import polars as pl

    notes: list[Message] = []
    with quiet_panics():
        files = source.files
        lazy = scan(files if len(files) > 1 else files[0], glob=False)
        schema = lazy.collect_schema()
        total = int(lazy.select(pl.len()).collect().item())
        lazy, kinds = _plain(lazy, schema, notes)
        if not kinds.keys() and not lazy.collect_schema().names():
            raise source.error("there is no column that can be used")
        if total == 0:
            raise source.error("there is a header but no row")
        row_bytes = _row_bytes(lazy, total)
    for wanted in request.parts(total, row_bytes, notes):
        with quiet_panics():
            frame = lazy.collect() if wanted is None else _picked(lazy, wanted, total)
            frame = frame.with_columns(pl.col(pl.Float64, pl.Float32).fill_nan(None))
        yield Table(
            frame=frame,
            kinds=kinds,
            source=source.name,
            format=format,
            total_rows=total,
            notes=tuple(notes),
            reading=typed_format(frame).to_dict(),
        )


def _plain(
    lazy: pl.LazyFrame, schema: pl.Schema, notes: list[Message]
) -> tuple[pl.LazyFrame, dict[str, str]]:
    """Only columns that hold one value a row, with plain types."""
    import polars as pl
    from polars import selectors

    nested, casts, kinds = [], [], {}
    for name, dtype in schema.items():
        here = selectors.by_name(name)  # `pl.col` would take "^a.*$" for a pattern
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Null):
            nested.append(name)
        elif dtype.is_decimal():
            casts.append(here.cast(pl.Float64))
        elif dtype in (pl.Categorical, pl.Enum):
            casts.append(here.cast(pl.String))
            kinds[name] = "categorical"
        elif dtype == pl.Time:
            casts.append(here.cast(pl.Int64) / 1e9)
        elif dtype == pl.Duration:
            casts.append(here.dt.total_seconds(fractional=True))
        elif dtype == pl.Datetime and getattr(dtype, "time_zone", None):
            casts.append(here.dt.convert_time_zone("UTC").dt.replace_time_zone(None))
    if nested:
        notes.append(Message("nested or binary columns are left out: {columns}", columns=listed(nested)))
    return lazy.drop(selectors.by_name(nested)).with_columns(casts), kinds


def _row_bytes(lazy: pl.LazyFrame, total: int) -> float:
    head = lazy.head(1000).collect()
    return head.estimated_size() / max(head.height, 1)


def _picked(lazy: pl.LazyFrame, wanted: np.ndarray, total: int) -> pl.DataFrame:
    """The rows with these numbers; the file is read in slices."""
    import polars as pl

    step, parts = 1 << 17, []
    for first in range(int(wanted[0]) // step * step, total, step):
        here = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, first + step)] - first
        if len(here):
            parts.append(lazy.slice(first, step).collect()[here])
    return pl.concat(parts)
