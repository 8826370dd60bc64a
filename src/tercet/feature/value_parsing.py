"""Parsing of values: missing ones, numbers, dates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.messages import Message

if TYPE_CHECKING:
    import polars as pl

DAY = 86_400.0
PAIRS = [
    {"false", "true"},
    {"f", "t"},
    {"no", "yes"},
    {"n", "y"},
    {"off", "on"},
    {"否", "是"},
    {"假", "真"},
    {"无", "有"},
]
TRUE = {"true", "t", "yes", "y", "on", "是", "真", "有", "1"}


def unpatterned(series: pl.Series) -> pl.Series:
    """A series under a name that is no pattern: polars' methods look a series up by its name, and "^a.*$" finds
    other columns, or none.

    Examples
    --------
    >>> import polars as pl
    >>> unpatterned(pl.Series("^a.*$", [1.4])).round().to_list()
    [1.0]
    """
    pattern = series.name.startswith("^") and series.name.endswith("$")
    return series.alias(series.name.lstrip("^")) if pattern else series


def missing_mask(series: pl.Series) -> pl.Series:
    """Which values are missing: null, NaN, infinite, or an empty string."""
    import polars as pl

    series = unpatterned(series)
    if series.dtype.is_float():
        return pl.Series(~np.isfinite(series.to_numpy()))  # null is NaN in it
    if series.dtype == pl.String or isinstance(series.dtype, pl.Categorical | pl.Enum):
        return series.is_null() | (series.cast(pl.String).str.strip_chars() == "").fill_null(True)
    return series.is_null()


def json_value(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)


def shortened(value: Any, most: int = 40) -> str:
    """A value in a message."""
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def to_floats(series: pl.Series) -> np.ndarray:
    """A column of numbers, booleans, times or spans as float64, with NaN for what is missing or infinite."""
    import polars as pl

    series = unpatterned(series)
    dtype = series.dtype
    if dtype == pl.Time:
        series = series.cast(pl.Int64).cast(pl.Float64) / 1e9
    elif dtype == pl.Duration:
        series = series.dt.total_microseconds().cast(pl.Float64) / (DAY * 1e6)
    array = series.cast(pl.Float64).to_numpy()  # null is NaN in it
    infinite = np.isinf(array)
    return np.where(infinite, np.nan, array) if infinite.any() else array


def split_numbers(strings: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """The finite numbers among strings, and the strings that are none."""
    import polars as pl

    strings = unpatterned(strings)
    read = strings.str.strip_chars().cast(pl.Float64, strict=False)
    good = read.is_finite().fill_null(False)
    return read.filter(good).to_numpy(), strings.filter(~good)


def read_numbers(series: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Strings as numbers, null for what is missing or none; and which of them are none."""
    import polars as pl

    strings = unpatterned(series).cast(pl.String, strict=False).str.strip_chars()
    read = strings.cast(pl.Float64, strict=False)
    return read, read.is_null() & ~is_missing_or_marker(strings)


def read_dates(series: pl.Series) -> tuple[pl.Series, pl.Series, bool]:
    """Strings as moments, null for what is missing or none; which are none; and whether day and month are unclear.

    Examples
    --------
    >>> import polars as pl
    >>> read_dates(pl.Series(["31/1/2024", "3/2/2024", "NA"]))[0].dt.day().to_list()
    [31, 3, None]
    >>> read_dates(pl.Series(["3/2/2024"]))[2]
    True
    """
    import polars as pl

    from tercet.datasets.readers import parse_dates

    strings = unpatterned(series).cast(pl.String, strict=False).str.strip_chars()
    strings = strings.str.replace(r"^([0-9]{4})([0-9]{2})([0-9]{2})$", "$1-$2-$3")
    gaps = is_missing_or_marker(strings)
    read = parse_dates(strings, "ymd")[0].cast(pl.Datetime("us")).alias(strings.name)
    rest = read.is_null() & ~gaps
    if not rest.any():
        return read, rest, False
    day, month = (parse_dates(strings, order)[0].cast(pl.Datetime("us")) for order in ("dmy", "mdy"))
    bad_day, bad_month = (int((found.is_null() & rest).sum()) for found in (day, month))
    strange = rest & (day != month)
    dotted = (
        strings.filter(rest).str.contains(r"^[0-9]+\.").any()
    )  # where dots are in use, the day comes first
    if not bad_day and not bad_month and strange.any() and not dotted:
        return read, strange, True
    read = read.zip_with(~rest, day if bad_day <= bad_month else month)
    return read, read.is_null() & ~gaps, False


def is_missing_or_marker(strings: pl.Series) -> pl.Series:
    """Which strings say that there is no number or date."""
    from tercet.datasets.readers import MISSING

    strings = unpatterned(strings)
    return missing_mask(strings) | strings.str.to_lowercase().is_in(list(MISSING)).fill_null(True)


def days_since_1970(series: pl.Series) -> np.ndarray:
    """Dates as days since 1970 with NaN; the clock is that of the column's own time zone."""
    import polars as pl

    series = unpatterned(series)
    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    if isinstance(series.dtype, pl.Datetime):
        series = series.dt.timestamp("us").cast(pl.Float64) / (DAY * 1e6)
    else:
        series = series.cast(pl.Int32).cast(pl.Float64)
    return np.array(series.fill_null(float("nan")).to_numpy(), dtype=np.float64)


def invalid_numbers_note(name: str, n: int, values: list[str]) -> Message:
    """The remark about strings in a column of numbers."""
    return Message(
        "column {name!r}: {n} values among the numbers are no numbers ({values}); taken as missing",
        name=name,
        n=n,
        values=", ".join(shortened(value) for value in values[:3]) + (" ..." if len(values) > 3 else ""),
    )
