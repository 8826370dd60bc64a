"""Conversion of columns to the kinds of a schema: numbers, days, codes, labels; errors name the row."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.messages import Message
from tercet.datasets.readers import listed
from tercet.feature.table_input import raise_table_error
from tercet.feature.value_parsing import (
    PAIRS,
    TRUE,
    days_since_1970,
    invalid_numbers_note,
    is_missing_or_marker,
    json_value,
    missing_mask,
    read_dates,
    read_numbers,
    to_floats,
    unpatterned,
)

if TYPE_CHECKING:
    import polars as pl

    from tercet.feature.column_inference import Column

Say = Callable[[Message], Any]
MISSING, UNKNOWN = -1, -2  # codes


def numeric_block(frame: pl.DataFrame, columns: list[Column], n: int, say: Say) -> np.ndarray:
    """Columns of numbers and dates, side by side."""
    import polars as pl

    names = [column.name for column in columns]
    if not names:
        return np.empty((n, 0))
    if not all(c.kind == "numeric" and frame[c.name].dtype.is_numeric() for c in columns):
        made = []
        for column in columns:
            convert = to_days if column.kind == "date" else to_numbers
            made.append(pl.Series(column.name, convert(frame[column.name], column, say)))
        frame = pl.DataFrame(made)
    # by name, not by an expression, for which "^a$" is a pattern; null is NaN in the block
    chosen = pl.DataFrame([frame.get_column(name).cast(pl.Float64) for name in names])
    block = chosen.to_numpy(order="c")
    infinite = np.isinf(block)
    return np.where(infinite, np.nan, block) if infinite.any() else block


def known_categories(column: Column) -> tuple[str, ...]:
    """The categories that codes count, with "other" for those that the schema does not list."""
    categories = column.categories or ()
    return (*categories, "other") if column.distinct > len(categories) else categories


def to_numbers(series: pl.Series, column: Column, say: Say) -> np.ndarray:
    """A column that the schema calls numeric."""
    import polars as pl

    series, dtype = unpatterned(series), series.dtype
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null, pl.Time, pl.Duration):
        return to_floats(series)
    read, strange = read_numbers(series)
    if strange.any():
        if "not_numbers" not in column.summary:
            _refuse_first(series, column.name, strange, "column {name!r}, row {row}: {value} is not a number")
        say(
            invalid_numbers_note(
                column.name, int(strange.sum()), series.filter(strange).unique().sort().to_list()
            )
        )
    return to_floats(read)


def to_days(series: pl.Series, column: Column, say: Say) -> np.ndarray:
    """A column that the schema calls a date; the signature is that of `to_numbers`."""
    import polars as pl

    if series.dtype in (pl.Date, pl.Datetime):
        return days_since_1970(series)
    if series.dtype == pl.Null:
        return np.full(series.len(), np.nan)
    read, strange, unclear = read_dates(series)
    if unclear:
        template = "column {name!r}, row {row}: {value} may have the day first, or the month"
        _refuse_first(series, column.name, strange, template)
    if strange.any():
        _refuse_first(series, column.name, strange, "column {name!r}, row {row}: {value} is not a date")
    return days_since_1970(read)


def to_codes(series: pl.Series, column: Column, say: Say) -> np.ndarray:
    """A column of categories as indices into them: -1 for missing, -2 for unknown.

    Where the schema could not keep all categories, what it does not know is the further category "other".
    """
    import polars as pl

    series, categories = unpatterned(series), column.categories or ()
    if series.dtype == pl.Null:
        return np.full(series.len(), -1, dtype=np.int32)
    strings = _as_spelled(series, categories)
    gaps = missing_mask(strings)
    table = {value: k for k, value in enumerate(categories)}
    codes = _codes_from_table(strings, table)
    if (codes < 0)[~gaps.to_numpy()].any():
        codes = _other_spellings(strings, codes, column)
        if series.dtype.is_numeric():
            codes = np.where(codes >= 0, codes, _by_value(series, categories)).astype(np.int32)
    unknown = (codes < 0) & ~gaps.to_numpy()
    if unknown.any():
        if column.distinct > len(categories):
            codes[unknown] = len(categories)
        else:
            codes[unknown] = UNKNOWN
            found = strings.filter(pl.Series(unknown)).unique().sort().to_list()
            say(
                Message(
                    "column {name!r}: {n} rows have categories that were not there before ({values}); "
                    "taken as none of the known ones",
                    name=column.name,
                    n=int(unknown.sum()),
                    values=", ".join(str(v)[:40] for v in found[:3]) + (" ..." if len(found) > 3 else ""),
                )
            )
    codes[gaps.to_numpy()] = MISSING
    return codes


def to_texts(series: pl.Series) -> list[str | None]:
    """A column of texts."""
    return _as_strings(unpatterned(series)).to_list()


def _codes_from_table(strings: pl.Series, table: Mapping[Any, int]) -> np.ndarray:
    import polars as pl

    if not table:
        return np.full(strings.len(), -1, dtype=np.int32)
    found = strings.replace_strict(table, default=-1, return_dtype=pl.Int32)
    return np.array(found.fill_null(-1).to_numpy(), dtype=np.int32)


def _other_spellings(strings: pl.Series, codes: np.ndarray, column: Column) -> np.ndarray:
    """Other spellings of the same: blanks at the ends, and for yes and no also other letters."""
    trimmed = strings.str.strip_chars()
    table = {value.strip(): k for k, value in enumerate(column.categories or ())}
    again = _codes_from_table(trimmed, table)
    if column.kind == "boolean" and len(table) == 2:
        known = set().union(*PAIRS, {"0", "1"})
        yes_no = _codes_from_table(trimmed.str.to_lowercase(), {word: int(word in TRUE) for word in known})
        again = np.where(again >= 0, again, yes_no)
    return np.where(codes >= 0, codes, again).astype(np.int32)


def _by_value(series: pl.Series, categories: tuple[str, ...]) -> np.ndarray:
    """Numbers as indices into categories of the same value, if only one has it: 1.1 may have been written 1.10."""
    import polars as pl

    values: dict[float, int | None] = {}
    for k, category in enumerate(categories):
        with contextlib.suppress(ValueError):
            values[float(category)] = None if float(category) in values else k
    clear = {value: k for value, k in values.items() if k is not None and abs(value) < 2**53}
    return _codes_from_table(series.cast(pl.Float64), clear)


def _as_spelled(series: pl.Series, categories: tuple[str, ...]) -> pl.Series:
    """Values as the schema spells them: a gap makes floats of whole numbers, and true may be read as a boolean."""
    import polars as pl

    if series.dtype.is_float() and not any("." in value for value in categories):
        whole = series.fill_nan(None)
        if bool((whole.drop_nulls() == whole.drop_nulls().round()).all()):
            return whole.cast(pl.Int64, strict=False).cast(pl.String)
    if series.dtype == pl.Boolean:
        words = {value.lower(): value for value in categories}
        strings = series.cast(pl.String)
        return strings.replace({w: words.get(w, w) for w in ("true", "false")})
    return _as_strings(series)


def _as_strings(series: pl.Series) -> pl.Series:
    import polars as pl

    return series if series.dtype == pl.String else series.cast(pl.String, strict=False)


def _refuse_first(series: pl.Series, name: str, strange: pl.Series, template: str) -> None:
    row = int(strange.arg_true()[0])
    raise_table_error(template, name=name, row=row + 1, value=repr(json_value(series[row]))[:60])


def target_numbers(series: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """A target of numbers, and which rows have one."""
    import polars as pl

    name, series = series.name, unpatterned(series)
    if not (series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null)):
        read, strange = read_numbers(series)
        if strange.any():
            _refuse_first(series, name, strange, "the target {name!r}, row {row}: {value} is not a number")
        series = read
    y = to_floats(series)
    return y, ~np.isnan(y)


def target_codes(series: pl.Series, classes: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
    """A target of classes as indices into them (-1 where there is none), and which rows have one."""
    import polars as pl

    name, series = series.name, unpatterned(series)
    if isinstance(classes[0], bool):
        values = _as_spelled(series, ("false", "true")).str.strip_chars().str.to_lowercase()
        table: dict[Any, int] = {"false": 0, "true": 1, "0": 0, "1": 1}
        gaps = missing_mask(values)
    elif isinstance(classes[0], int | float):
        # Not by way of floats where labels are whole: theirs may have more digits.
        whole = all(isinstance(label, int) for label in classes)
        gaps = (
            missing_mask(series)
            if series.dtype != pl.String
            else is_missing_or_marker(series.str.strip_chars())
        )
        values = _integers(series) if whole else read_numbers(series)[0]
        table = {(label if whole else float(label)): k for k, label in enumerate(classes)}
    else:
        values = _as_spelled(series, classes)
        table = {label: k for k, label in enumerate(classes)}
        gaps = missing_mask(values)
    codes = values.replace_strict(table, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
    known = ~gaps.to_numpy()
    if series.dtype.is_numeric() and isinstance(classes[0], str):
        codes = np.where(codes >= 0, codes, _by_value(series, classes))
    codes = np.where(known, codes, -1)
    if (codes < 0)[known].any():
        _unknown_label(series, name, pl.Series((codes < 0) & known), classes)
    return codes.astype(np.int64), known


def _integers(series: pl.Series) -> pl.Series:
    """Whole numbers, digit by digit; null for all else."""
    import polars as pl

    if series.dtype.is_integer() or series.dtype == pl.Boolean:
        return series.cast(pl.Int128)
    strings = series if series.dtype == pl.String else series.cast(pl.String, strict=False)
    read = strings.str.strip_chars().cast(pl.Int128, strict=False)
    floats = to_floats(read_numbers(series)[0])
    exact = (np.abs(floats) < 2**53) & (floats == np.floor(floats))
    rounded = pl.Series(np.where(exact, floats, np.nan)).fill_nan(None).cast(pl.Int128)
    return read.zip_with(read.is_not_null(), rounded)


def _unknown_label(series: pl.Series, name: str, strange: pl.Series, classes: tuple[Any, ...]) -> None:
    row = int(strange.arg_true()[0])
    raise_table_error(
        "the target {name!r}, row {row}: {value} is none of the classes {classes}",
        name=name,
        row=row + 1,
        value=repr(json_value(series[row]))[:60],
        classes=listed(list(classes)),
    )
