"""Columns of a kind that the user declares, whatever would be inferred."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tercet.core.messages import Message
from tercet.feature.column_inference import (
    Column,
    as_date,
    categorical,
    describe_numbers,
    in_name,
    infer_column,
    mostly_numbers,
    under_name,
)
from tercet.feature.summaries import summarise_values
from tercet.feature.table_input import raise_table_error
from tercet.feature.value_parsing import (
    json_value,
    missing_mask,
    read_dates,
    shortened,
    split_numbers,
    unpatterned,
)

if TYPE_CHECKING:
    import polars as pl

KINDS = ("numeric", "categorical", "boolean", "date", "text", "identifier")
ASKED = Message("as asked")


def column_as(series: pl.Series, kind: str) -> tuple[Column, list[Message]]:
    """The column that a series is when it is taken for that kind, and what is odd about it.

    A kind that the values do not allow is a `TableError`. A column without different values stays what it is.

    Examples
    --------
    >>> import polars as pl
    >>> column, _ = column_as(pl.Series("district", [7, 12, 7, 3]), "categorical")
    >>> column.categories, column.why
    (('3', '7', '12'), 'as asked')
    """
    import polars as pl

    column, notes = infer_column(series, feature=False)
    name, series = series.name, unpatterned(series)
    if kind == "identifier":
        return replace(column, kind=kind, used=False, why=Message("as asked; dropped")), notes
    if column.kind in ("empty", "constant") or (column.kind == "text" and not column.used):
        return column, notes
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    odd: list[Message] = []
    made = _column_of_kind(series, kind, odd)
    if isinstance(made, Column):
        odd = [in_name(note, name) for note in odd] if series.dtype == pl.String else notes
        return replace(under_name(made, name), why=ASKED), odd
    raise_table_error(
        "column {name!r} cannot be {kind}: {why}; it can be {allowed}",
        name=name,
        kind=kind,
        why=made,
        allowed=", ".join(
            k for k in KINDS if k == "identifier" or isinstance(_column_of_kind(series, k, []), Column)
        ),
    )


def _column_of_kind(series: pl.Series, kind: str, notes: list[Message]) -> Column | Message:
    """The column, or why it cannot be of that kind."""
    import polars as pl

    gaps = missing_mask(series)
    here, missing = series.filter(~gaps), int(gaps.sum())
    strings, dated = here.dtype == pl.String, here.dtype in (pl.Date, pl.Datetime)
    value = repr(shortened(json_value(here[0])))
    if kind == "categorical":
        return categorical(here, missing, ASKED)
    if kind == "boolean":
        n = here.n_unique()
        return (
            categorical(here, missing, ASKED, kind) if n == 2 else Message("it has {n} different values", n=n)
        )
    if kind == "text":
        if not strings:
            return Message("{value} is no string", value=value)
        summary = {**summarise_values(here), "mean_length": float(here.str.len_chars().mean() or 0)}  # type: ignore[arg-type]
        return Column(here.name, kind, ASKED, True, missing, here.n_unique(), summary)
    if kind == "date":
        if dated:
            return as_date(here, missing)
        read, strange, unclear = read_dates(here)
        if strange.any():
            value = repr(shortened(json_value(here.filter(strange)[0])))
            if unclear:
                return Message("{value} may have the day first, or the month", value=value)
            return Message("{value} is not a date", value=value)
        return as_date(read.drop_nulls(), missing + read.null_count())
    if strings and split_numbers(here)[0].size:
        return mostly_numbers(here, missing, notes)
    if strings or dated:
        return Message("{value} is not a number", value=value)
    summary, distinct = describe_numbers(here)
    return Column(here.name, kind, ASKED, True, missing, distinct, summary)
