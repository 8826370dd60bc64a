"""Any table in one form: a polars frame, perhaps with a block of sparse features beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from scipy import sparse

from tercet.core.spelling_suggestions import spelling_suggestions
from tercet.datasets.readers import listed

if TYPE_CHECKING:
    import polars as pl


def raise_table_error(template: str, **values: Any) -> NoReturn:
    """Raise a `TableError` that can be said in another language."""
    from tercet.datasets import TableError

    raise TableError(template, **values)


def raise_unknown_column(name: str, names: Sequence[str]) -> NoReturn:
    """Refuse a name that no column has."""
    if meant := spelling_suggestions(name, names, 3):
        raise_table_error(
            "there is no column {target!r}; near it: {near}; the columns are {names}",
            target=name,
            near=listed(meant),
            names=listed(list(names), 12),
        )
    raise_table_error(
        "there is no column {target!r}; the columns are {names}", target=name, names=listed(list(names), 12)
    )


@dataclass(frozen=True)
class TableInput:
    """A table, wherever it came from."""

    frame: pl.DataFrame
    sparse: sparse.csr_array | None = None
    sparse_names: tuple[str, ...] | None = None
    target: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    total: int = 0  # rows in the file, more than here when rows were drawn
    named: bool = True  # an array's columns have no names, only places

    @property
    def height(self) -> int:
        return self.frame.height if self.sparse is None else self.sparse.shape[0]


def as_table_input(table: Any) -> TableInput:
    """A `Table`, a polars or pandas frame, an array or a sparse matrix as a `TableInput`."""
    import polars as pl

    if isinstance(table, TableInput):
        return table
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        return TableInput(table)
    if isinstance(getattr(table, "frame", None), pl.DataFrame) and hasattr(table, "kinds"):
        return TableInput(
            table.frame, table.sparse, table.sparse_names, table.target, table.kinds, table.total_rows
        )
    if sparse.issparse(table):
        return TableInput(pl.DataFrame(), sparse.csr_array(table), named=False)
    if hasattr(table, "iloc") and hasattr(table, "items"):
        return _from_pandas(table)
    return _from_array(table)


def _from_pandas(table: Any) -> TableInput:
    import polars as pl

    names = [str(name) for name in table.columns]
    _no_duplicates(names)
    kinds, columns = {}, []
    for k, name in enumerate(names):
        values = table.iloc[:, k]
        kind = str(values.dtype)
        if kind == "category":
            kinds[name] = "categorical"
            values = values.astype(object)
        if values.dtype == object:
            columns.append(_from_objects(name, values.where(values.notna(), None).tolist()))
        elif kind.startswith(("period", "interval", "complex", "Sparse")):
            columns.append(_from_objects(name, values.astype(object).tolist()))
        else:
            columns.append(pl.Series(pl.from_pandas(values.reset_index(drop=True))).alias(name))
    return TableInput(pl.DataFrame(columns), kinds=kinds)


def _from_array(table: Any) -> TableInput:
    import polars as pl

    array = np.asarray(table)
    if array.ndim != 2:
        raise ValueError(f"a table must have rows and columns; got an array of shape {array.shape}.")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: a table holds numbers, strings and dates.")
    names = [f"x{j}" for j in range(array.shape[1])]
    if array.dtype.kind in "OUSV":
        return TableInput(
            pl.DataFrame([_from_objects(n, array[:, j].tolist()) for j, n in enumerate(names)]), named=False
        )
    if array.dtype.kind == "f" and array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return TableInput(
        pl.DataFrame([pl.Series(n, np.ascontiguousarray(array[:, j])) for j, n in enumerate(names)]),
        named=False,
    )


def _from_objects(name: str, values: list[Any]) -> pl.Series:
    """A column of Python objects: numbers if all are, else dates if all are, else strings."""
    import datetime

    import polars as pl

    values = [None if v is None or v != v else v for v in values]  # NaN and NaT are not equal to themselves
    here = [v for v in values if v is not None]
    if all(isinstance(v, bool | np.bool_) for v in here):
        return pl.Series(name, values, dtype=pl.Boolean)
    if all(isinstance(v, int | np.integer) and abs(int(v)) < 2**63 for v in here):
        return pl.Series(name, [v if v is None else int(v) for v in values], dtype=pl.Int64)
    if all(isinstance(v, int | float | np.number) for v in here):
        return pl.Series(name, [v if v is None else float(v) for v in values], dtype=pl.Float64)
    if all(isinstance(v, datetime.date) for v in here):
        return pl.Series(name, values, strict=False)
    texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
    return pl.Series(name, [v if v is None else str(v) for v in texts], dtype=pl.String)


def _no_duplicates(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise_table_error("duplicated column names: {names}", names=listed(twice))
