"""The cells of one column, from whatever frame, array or list: as numbers, or as places among labels."""

from __future__ import annotations

import contextlib
import decimal
import numbers
import re
from typing import Any

import numpy as np

from tercet.core.kernel import kernel

SMALL = 4096  # whole numbers below this are told apart by a table
PLAIN = re.compile(r"(bool|u?int|float)(ean)?\d*(\[pyarrow\])?", re.IGNORECASE)  # dtypes of numbers
MOMENTS = re.compile(r"date|time|period|duration", re.IGNORECASE)  # and of times
TIMES = "times; days, months or hours of them are numbers or categories that can be learned from."
Column = tuple[np.ndarray, np.ndarray | None, str, bool]  # values, labels, kind, declared


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas or polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_column"))


def from_lists(X: Any) -> np.ndarray:
    """Lists of lists as an array in which numbers stay numbers beside strings."""
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array


def read_series(column: Any) -> Column:
    """A column of a frame."""
    kind = str(column.dtype)
    if kind == "category":
        codes = np.asarray(column.cat.codes, dtype=np.float64)
        return declared_labels(np.where(codes < 0, np.nan, codes), column.cat.categories.tolist())
    if kind.startswith("Enum"):
        return declared_labels(_polars_floats(column.to_physical()), column.dtype.categories.to_list())
    if MOMENTS.match(kind):
        raise ValueError(f"column {column.name!r} holds {TIMES}")
    polars = hasattr(column, "to_physical")
    if PLAIN.fullmatch(kind):
        word = {"b": "boolean", "i": "integer", "u": "integer"}.get(kind[:1].lower(), "number")
        values = _polars_floats(column) if polars else column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values, dtype=np.float64), None, word, False
    if hasattr(column, "factorize"):
        with contextlib.suppress(TypeError):  # a value that cannot be a key
            codes, distinct = column.factorize()
            values, labels, word, _ = read_objects(list(distinct))
            return np.append(values, np.nan)[codes], labels, word, False
    part = read_objects(column.to_list())
    return (part[0], part[1], "category", False) if kind.startswith("Categorical") else part


def _polars_floats(column: Any) -> np.ndarray:
    return np.asarray(column.cast(float).to_numpy(), dtype=np.float64)


def declared_labels(codes: np.ndarray, labels: list[Any]) -> Column:
    """A column whose dtype lists its labels."""
    words = not all(isinstance(v, numbers.Real) for v in labels)
    return (
        codes,
        np.array([spelling(v) for v in labels] if words else labels, dtype=str if words else float),
        "category",
        True,
    )


def read_objects(values: list[Any]) -> Column:
    """Python objects as numbers, if they all are, else as strings."""
    try:
        table = dict.fromkeys(values)
    except TypeError:  # a value that cannot be a key
        values = [v if v is None or isinstance(v, str | numbers.Number) else str(v) for v in values]
        table = dict.fromkeys(values)
    here = [value for value in table if not _is_missing(value)]
    if any(isinstance(v, numbers.Complex) and not isinstance(v, numbers.Real) for v in here):
        raise ValueError("Complex data not supported.")
    if all(isinstance(v, numbers.Real | decimal.Decimal | np.bool_) for v in here):
        known = set(here)
        numeric = np.array([float(v) if v in known else np.nan for v in values])
        boolean = bool(here) and all(isinstance(v, bool | np.bool_) for v in here)
        return numeric, None, "boolean" if boolean else "number", False
    labels, place = np.unique([spelling(v) for v in here], return_inverse=True)
    code = dict(zip(here, place.astype(float).tolist()))
    return np.array([code.get(v, np.nan) for v in values]), labels, "category", False


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor different
        return type(value).__name__ == "NAType"


def coded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers as places among their distinct values."""
    gone = np.isnan(values)
    distinct, place = np.unique(values[~gone], return_inverse=True)
    codes = np.full(len(values), np.nan)
    codes[~gone] = place
    return distinct, codes


def distinct_numbers(values: np.ndarray) -> np.ndarray:
    """The distinct numbers of a column in order; there is no need to sort small whole ones."""
    seen = np.zeros(SMALL, dtype=np.bool_)
    if mark(values, seen):
        return np.flatnonzero(seen).astype(np.float64)
    return np.unique(values[~np.isnan(values)])


def finder(values: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, float, np.ndarray | None]:
    """What finds numbers among the known ones: a table, if these are whole and lie close together."""
    n = len(known)
    low, high = (float(known.min()), float(known.max())) if n else (0.0, 0.0)
    if high - low < 4 * n + SMALL and (known == np.floor(known)).all():
        table = np.full(int(high - low) + 2, float(n))  # the last entry is for what is strange
        table[(known - low).astype(np.intp)] = np.arange(n)
        return values, low, table
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, values, sorter=order), n - 1)]
    return np.where(np.isnan(values), np.nan, np.where(known[at] == values, at, float(n))), 0.0, None


@kernel
def mark(values, seen):
    """Mark the values that are there; False if one of them is not a small whole number."""
    for i in range(values.size):
        v = values[i]
        if 0 <= v < seen.size and v == np.floor(v):
            seen[int(v)] = True
        elif v == v:
            return False
    return True


@kernel
def look_up(values, low, table, X, j):
    """Write to column j the table's entry for each value, counted from `low`; the last where there is none."""
    last = table.size - 1
    for i in range(values.size):
        at = values[i] - low
        if at != at:
            X[i, j] = np.nan
        elif 0 <= at < last and values[i] == np.floor(values[i]):
            X[i, j] = table[int(at)]
        else:
            X[i, j] = table[last]


def lookup_key(value: Any, words: bool) -> Any:
    """A value as it is looked up: as a string among strings, as a number among numbers."""
    return spelling(value) if words else spelled_number(value)


def spelling(value: Any) -> str:
    """A value as a string, the same for 2 and 2.0."""
    if isinstance(value, str) or not isinstance(value, numbers.Real) or isinstance(value, bool):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def places_of(known: np.ndarray) -> dict[Any, int]:
    """The place of each label."""
    return {value: place for place, value in enumerate(known.tolist())}


def spelled_number(value: Any) -> float | None:
    """A number, perhaps spelled out; None for what is none."""
    try:
        return float(value)
    except ValueError:
        return None


def as_number(value: Any, name: Any) -> float:
    """A number of the column of that name, or an error."""
    found = spelled_number(value)
    if found is None:
        raise ValueError(f"column {name!r} held numbers when the model was fitted; now it holds {value!r}.")
    return found
