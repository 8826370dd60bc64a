"""Which values of a column are missing, and the others as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.notes import Note

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


def missing_mask(series: pl.Series) -> pl.Series:
    """Which values are missing: null, NaN, infinite, or an empty string."""
    import polars as pl

    if series.dtype.is_float():
        return pl.Series(~np.isfinite(series.to_numpy()))  # null is NaN in it
    if series.dtype == pl.String or isinstance(series.dtype, pl.Categorical | pl.Enum):
        return series.is_null() | (series.cast(pl.String).str.strip_chars() == "").fill_null(True)
    return series.is_null()


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)


def brief(value: Any, most: int = 40) -> str:
    """A value in a message."""
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def numbers(series: pl.Series) -> np.ndarray:
    """A column of numbers, booleans, times or spans as float64, with NaN for what is missing or infinite."""
    import polars as pl

    dtype = series.dtype
    if dtype == pl.Time:
        series = series.cast(pl.Int64).cast(pl.Float64) / 1e9
    elif dtype == pl.Duration:
        series = series.dt.total_microseconds().cast(pl.Float64) / (DAY * 1e6)
    array = series.cast(pl.Float64).to_numpy()  # null is NaN in it
    infinite = np.isinf(array)
    return np.where(infinite, np.nan, array) if infinite.any() else array


def loose_numbers(strings: pl.Series) -> tuple[np.ndarray, pl.Series]:
    """The finite numbers among strings, and the strings that are none."""
    import polars as pl

    read = strings.str.strip_chars().cast(pl.Float64, strict=False)
    good = read.is_finite().fill_null(False)
    return read.filter(good).to_numpy(), strings.filter(~good)


def days(series: pl.Series) -> np.ndarray:
    """Dates as days since 1970 with NaN; the clock is that of the column's own time zone."""
    import polars as pl

    if isinstance(series.dtype, pl.Datetime) and series.dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)
    if isinstance(series.dtype, pl.Datetime):
        series = series.dt.timestamp("us").cast(pl.Float64) / (DAY * 1e6)
    else:
        series = series.cast(pl.Int32).cast(pl.Float64)
    return np.array(series.fill_null(float("nan")).to_numpy(), dtype=np.float64)


def not_numbers(name: str, n: int, values: list[str]) -> Note:
    """The remark about strings in a column of numbers."""
    return Note(
        "column {name!r}: {n} values among the numbers are no numbers ({values}); taken as missing",
        name=name,
        n=n,
        values=", ".join(brief(value) for value in values[:3]) + (" ..." if len(values) > 3 else ""),
    )
