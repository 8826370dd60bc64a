"""Columns of dates, times and durations as microseconds."""

from __future__ import annotations

import datetime
import numbers
import re
from typing import Any

import numpy as np

from tercet.core.column_parsing import is_frame
from tercet.feature.cleaning.table_columns import is_missing, raw_column

NAT = np.iinfo(np.int64).min  # what NumPy's NaT is as an integer
FARTHEST = 2**62  # microseconds; some 146 000 years
PER_UNIT = {"D": 86_400e6, "s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
LOOSE = re.compile(
    r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[ T]+(\d{1,2})[:时](\d{1,2})(?:[:分](\d{1,2})秒?|分)?)?"
)


def column_moments(
    X: Any, j: int, name: Any, unit: str, form: str | None, owner: str
) -> tuple[np.ndarray, bool]:
    """Column j as microseconds since 1970 (NaT where missing), and whether it holds durations.

    Times of a time zone are those of its clocks.
    """
    values = _temporal(X, j)
    if values.dtype.kind == "m":
        return values.astype("m8[us]").astype(np.int64), True
    if values.dtype.kind == "M":
        return values.astype("M8[us]").astype(np.int64), False
    if values.dtype.kind in "biuf":
        return _of_numbers(values, unit, name, owner), False
    cells = values.tolist()
    here = [cell for cell in cells if not is_missing(cell)]
    if here and all(isinstance(cell, datetime.timedelta) for cell in here):
        spans = [None if is_missing(cell) else cell for cell in cells]
        return np.array(spans, dtype="m8[us]").astype(np.int64), True
    read = {cell: _parsed(cell, unit, form, name, owner) for cell in dict.fromkeys(here)}
    return np.array([NAT if is_missing(cell) else read[cell] for cell in cells], dtype=np.int64), False


def _temporal(X: Any, j: int) -> np.ndarray:
    """Column j, as an array of datetime64 or timedelta64 where a frame has such a type."""
    if not is_frame(X):
        return X[:, j]
    column = X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j)
    kind = str(column.dtype).lower()
    if not kind.startswith(("date", "timedelta", "duration")):
        return raw_column(X, j)
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_localize(None)
    elif getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)
    return column.to_numpy()


def _of_numbers(values: np.ndarray, unit: str, name: Any, owner: str) -> np.ndarray:
    """Numbers of units since 1970."""
    values = values.astype(np.float64)
    with np.errstate(over="ignore"):
        scaled = np.rint(values * PER_UNIT[unit])
    far = np.abs(scaled) > FARTHEST
    if far.any():
        raise ValueError(
            f"{owner}: column {name!r} of X holds {values[far][0]:g}, which is too far from 1970 in units of "
            f"{unit!r} to be a date."
        )
    gone = np.isnan(values)
    return np.where(gone, NAT, np.where(gone, 0.0, scaled).astype(np.int64))


def _parsed(cell: Any, unit: str, form: str | None, name: Any, owner: str) -> int:
    """Microseconds since 1970 of one value."""
    try:
        if isinstance(cell, numbers.Real) and not isinstance(cell, bool):
            return int(_of_numbers(np.array([float(cell)]), unit, name, owner)[0])
        return int(moment(cell, form).astype(np.int64))
    except (ValueError, TypeError, OverflowError) as error:
        if "of X holds" in str(error):
            raise
        wanted = (
            f"of the format {form!r}"
            if form
            else "such as '2024-01-31 08:30:00'; format= says how to read it"
        )
        raise ValueError(
            f"{owner}: column {name!r} of X holds {str(cell)[:40]!r}, which is no date {wanted}."
        ) from None


def moment(value: Any, form: str | None = None) -> np.datetime64:
    """A date or time as microseconds: of `datetime`, NumPy, pandas, or a string.

    Examples
    --------
    >>> moment("2024-01-31T08:30:00+08:00"), moment("2024年1月31日")
    (np.datetime64('2024-01-31T08:30:00.000000'), np.datetime64('2024-01-31T00:00:00.000000'))
    >>> moment("31.01.2024", "%d.%m.%Y")
    np.datetime64('2024-01-31T00:00:00.000000')
    """
    if isinstance(value, str):
        value = _from_text(value.strip(), form)
    if isinstance(value, datetime.datetime):
        return np.datetime64(value.replace(tzinfo=None), "us")
    if isinstance(value, datetime.date):
        return np.datetime64(value, "us")
    if isinstance(value, np.datetime64):
        return value.astype("M8[us]")
    raise ValueError(f"{value!r} is no date.")


def _from_text(text: str, form: str | None) -> Any:
    if form is not None:
        return datetime.datetime.strptime(text, form)
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        found = LOOSE.fullmatch(text)
        if found is None:
            raise
        return datetime.datetime(*(int(part or 0) for part in found.groups()))  # type: ignore[arg-type]
