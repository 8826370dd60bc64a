"""Parsing of one column of a frame, array or list into numbers, or into ordinal codes and labels."""

from __future__ import annotations

import contextlib
import decimal
import numbers
import re
import warnings
from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import read_only

SMALL = 4096  # integers below this are encoded through a lookup table
PLAIN = re.compile(r"(bool|u?int|float)(ean)?\d*(\[pyarrow\])?", re.IGNORECASE)  # dtypes of numbers
MOMENTS = re.compile(r"date|time|period|duration", re.IGNORECASE)  # and of times
TIMES = "times; days, months or hours of them are numbers or categories that can be learned from."
Column = tuple[np.ndarray, np.ndarray | None, str, bool]  # values, labels, kind, declared


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas or polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_column"))


def from_lists(X: Any) -> np.ndarray:
    """Array of nested lists; object dtype where strings would turn the numbers into strings."""
    array = np.asarray(X)
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array


def read_series(column: Any) -> Column:
    """Parse a column of a pandas or polars frame."""
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
        with contextlib.suppress(TypeError):  # unhashable
            codes, distinct = column.factorize()
            values, labels, word, _ = read_objects(list(distinct))
            return np.append(values, np.nan)[codes], labels, word, False
    part = read_objects(column.to_list())
    return (part[0], part[1], "category", False) if kind.startswith("Categorical") else part


def _polars_floats(column: Any) -> np.ndarray:
    return np.asarray(column.cast(float).to_numpy(), dtype=np.float64)


def declared_labels(codes: np.ndarray, labels: list[Any]) -> Column:
    """Column whose dtype declares its categories."""
    words = not all(isinstance(v, numbers.Real) for v in labels)
    return (
        codes,
        np.array([label_text(v) for v in labels] if words else labels, dtype=str if words else float),
        "category",
        True,
    )


def read_objects(values: list[Any]) -> Column:
    """Parse Python objects: numbers if all of them are, else strings."""
    try:
        table = dict.fromkeys(values)
    except TypeError:  # unhashable
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
    labels, place = np.unique([label_text(v) for v in here], return_inverse=True)
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


def ordinal_codes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct values of a numeric column, and the code of each row (NaN stays NaN)."""
    gone = np.isnan(values)
    distinct, place = np.unique(values[~gone], return_inverse=True)
    codes = np.full(len(values), np.nan)
    codes[~gone] = place
    return distinct, codes


def distinct_numbers(values: np.ndarray) -> np.ndarray:
    """Sorted distinct values of a numeric column; small integers need no sort."""
    seen = np.zeros(SMALL, dtype=np.bool_)
    if mark_small_integers(read_only(np.ascontiguousarray(values)), seen):
        return np.flatnonzero(seen).astype(np.float64)
    return np.unique(values[~np.isnan(values)])


def look_continuous(values: np.ndarray) -> bool:
    """Whether numbers look like measurements rather than categories.

    They do if more than 10 values are distinct and some are fractions or more than half of the rows are distinct.

    Examples
    --------
    >>> look_continuous(np.arange(12) / 5), look_continuous(np.arange(100) % 12)
    (True, False)
    """
    known = values[~np.isnan(values)]
    distinct = distinct_numbers(known)
    return distinct.size > 10 and (2 * distinct.size > known.size or bool((distinct % 1 != 0).any()))


def warn_of_measurements(values: np.ndarray, owner: str, stacklevel: int = 3) -> None:
    """A warning where fractions, most of them distinct, are counted as categories: then every value by itself tells
    whatever is to be told."""
    if values.dtype.kind != "f" or values.size <= 10 or not (values % 1 != 0).any():
        return
    if 2 * distinct_numbers(values).size > values.size:
        warnings.warn(
            f"{owner}: a column of numbers is taken as categories, and most of its values occur only once. Cut it "
            "into intervals first, as with KBinsDiscretizer.",
            UserWarning,
            stacklevel=stacklevel,
        )


def code_lookup(values: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, float, np.ndarray | None]:
    """Codes of `values` among `known`, or values, offset and lookup table where `known` are dense integers."""
    n = len(known)
    low, high = (float(known.min()), float(known.max())) if n else (0.0, 0.0)
    if high - low < 4 * n + SMALL and (known == np.floor(known)).all():
        table = np.full(int(high - low) + 2, float(n))  # the last entry is for unknown values
        table[(known - low).astype(np.intp)] = np.arange(n)
        return values, low, table
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, values, sorter=order), n - 1)]
    return np.where(np.isnan(values), np.nan, np.where(known[at] == values, at, float(n))), 0.0, None


@kernel
def mark_small_integers(values: Any, seen: Any) -> Any:
    """Set seen[v] for every value v; False at a value that is not an integer below seen.size."""
    for i in range(values.size):
        v = values[i]
        if 0 <= v < seen.size and v == np.floor(v):
            seen[int(v)] = True
        elif v == v:
            return False
    return True


@kernel
def write_codes(values: Any, low: Any, table: Any, X: Any, j: Any) -> None:
    """X[i, j] = table[values[i] - low], or the last entry for an unknown value; NaN stays NaN."""
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
    """Key under which a value is looked up: a string among strings, a number among numbers."""
    return label_text(value) if words else parse_number(value)


def label_text(value: Any) -> str:
    """Category label as a string, the same for 2 and 2.0."""
    if isinstance(value, str) or not isinstance(value, numbers.Real) or isinstance(value, bool):
        return str(value)
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


def code_table(known: np.ndarray) -> dict[Any, int]:
    """Code of each label."""
    return {value: place for place, value in enumerate(known.tolist())}


def parse_number(value: Any) -> float | None:
    """Parse a number; None if it is not one."""
    try:
        return float(value)
    except ValueError:
        return None


def require_number(value: Any, name: Any) -> float:
    """Parse a number, or raise an error that names the column."""
    found = parse_number(value)
    if found is None:
        raise ValueError(f"column {name!r} held numbers when the model was fitted; now it holds {value!r}.")
    return found
