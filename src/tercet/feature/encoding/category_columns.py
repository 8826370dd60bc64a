"""Categories of a column: distinct values in order, and the code of each row.

The categories of a column are as scikit-learn has them: numbers in their dtype, strings and other objects in an
object array, in sorted order, with None and then NaN at the end where values are missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.column_parsing import SMALL, from_lists, is_frame
from tercet.core.input_errors import Explaining, shown
from tercet.core.validation import check_array, validate_data

NUMBERS = "biufmM"
HUGE = 2**1023  # beyond floating-point numbers
UNKNOWN, MISSING = -1, -2  # codes of values that are no known category


def read_columns(estimator: Any, X: Any, *, reset: bool) -> list[np.ndarray]:
    """The columns of a table of any kind, each as an array; names and widths are checked as scikit-learn does."""
    if is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        columns = [column_values(X[name]) for name in X.columns]
        height = len(columns[0]) if columns else 0
        check_array(np.zeros((height, len(columns))), estimator=estimator)
    else:
        if sparse.issparse(X):
            raise TypeError(
                "Sparse data was passed, but dense data is required: X must be an array or a frame."
            )
        if isinstance(X, list | tuple):
            with Explaining(X=X):
                X = from_lists(X)
        array = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
        columns = [array[:, j] for j in range(array.shape[1])]
    for j, values in enumerate(columns):
        if values.dtype.kind == "f" and np.isinf(values).any():
            raise ValueError(
                f"Input X contains infinity in column {j}; {type(estimator).__name__} takes none."
            )
        if values.dtype.kind in "cV":
            raise ValueError(f"Complex data not supported: column {j} of X is of {values.dtype}.")
    return columns


def column_values(series: Any) -> np.ndarray:
    """A column of a pandas or polars frame as an array: of numbers with NaN, of times, or of objects."""
    if hasattr(series, "to_physical"):  # polars
        kind = str(series.dtype)
        if not series.null_count() and series.dtype.is_numeric():
            return np.asarray(series.to_numpy())
        if series.dtype.is_numeric() or kind == "Boolean":
            return np.asarray(series.cast(float).to_numpy()) if series.null_count() else series.to_numpy()
        return _objects(series.to_list())
    if str(series.dtype) == "category":
        codes, labels = np.asarray(series.cat.codes), series.cat.categories.to_numpy()
        if labels.dtype.kind not in NUMBERS:
            labels = labels.astype(object)
        elif (codes < 0).any():
            labels = labels.astype(np.float64 if labels.dtype.kind in "biuf" else labels.dtype)
        gone: Any = np.array([np.nan], dtype=object if labels.dtype == object else np.float64)
        return (np.concatenate([labels, gone]) if (codes < 0).any() else labels)[codes]
    if getattr(series.dtype, "na_value", None) is not None and not isinstance(series.dtype, np.dtype):
        # extension types: numbers that may be missing are floats then, all else objects
        kind = str(series.dtype).lower()
        if any(word in kind for word in ("int", "float", "bool", "double")):
            if series.isna().any():
                return series.to_numpy(dtype=np.float64, na_value=np.nan)
            return np.asarray(series.to_numpy())
        return _objects(series.tolist())
    return np.asarray(series.to_numpy())


def _objects(values: list[Any]) -> np.ndarray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def is_missing(value: Any) -> bool:
    """Whether a value stands for one that is not known: None, NaN, pandas.NA, NaT."""
    if value is None:
        return True
    if isinstance(value, str | bytes):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither equal nor different
        return type(value).__name__ == "NAType"


def missing_place(categories: np.ndarray) -> int:
    """The code of the missing values; -1 where there are none. NaN comes last, None before it."""
    for place in range(len(categories) - 1, max(len(categories) - 3, -1), -1):
        if is_missing(categories[place]):
            return place
    return -1


def is_nan(value: Any) -> bool:
    """Whether a value is missing and not None."""
    return value is not None and is_missing(value)


def factorize(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of a column in order, and the code of each row among them.

    Examples
    --------
    >>> factorize(np.array(["b", None, "a", "b"], dtype=object))
    (array(['a', 'b', None], dtype=object), array([1, 2, 0, 1]))
    """
    if values.dtype.kind in NUMBERS:
        return _distinct_numbers(values)
    listed = values.tolist()
    table = distinct_values(listed)
    known = _sorted_labels(table)
    codes, last = {value: code for code, value in enumerate(known)}, len(known) - 1
    for value in table:
        table[value] = codes.get(value, last)  # every NaN is a key of its own
    categories = np.array(known, dtype=values.dtype) if values.dtype.kind in "US" else _objects(known)
    return categories, np.fromiter(map(table.__getitem__, listed), dtype=np.int64, count=len(listed))


def encode(values: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """The codes of the values of a column among known categories; -1 for those that are not among them.

    Examples
    --------
    >>> encode(np.array([2.0, 7.0, np.nan]), np.array([1.0, 2.0, np.nan]))
    array([ 1, -1,  2])
    """
    if values.dtype.kind in "biuf" and categories.dtype.kind in "biuf":
        return _number_codes(values, categories)
    return _label_codes(values.tolist(), categories.tolist())


def mark_missing(values: np.ndarray, codes: np.ndarray) -> None:
    """Give the code MISSING to missing values that are not among the categories."""
    rows = np.flatnonzero(codes == UNKNOWN)
    if values.dtype.kind == "f":
        codes[rows[np.isnan(values[rows])]] = MISSING
    elif values.dtype.kind == "O":
        codes[rows[[is_missing(value) for value in values[rows].tolist()]]] = MISSING


def _distinct_numbers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if values.dtype.kind in "iu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * values.size + SMALL:  # a table of all whole numbers there may be
            wide: Any = np.uint64 if values.dtype.kind == "u" else np.int64  # a range need not fit the dtype
            shifted = (values.astype(wide) - wide(low)).astype(np.int64)
            there = np.flatnonzero(np.bincount(shifted, minlength=high - low + 1))
            place = np.zeros(high - low + 1, dtype=np.int64)
            place[there] = np.arange(there.size)
            return (there.astype(wide) + wide(low)).astype(values.dtype), place[shifted]
    categories, codes = np.unique(values, return_inverse=True)
    return categories, codes.astype(np.int64, copy=False)


def _number_codes(values: np.ndarray, categories: np.ndarray) -> np.ndarray:
    """Codes among numbers in order (NaN last), by bisection."""
    last = categories.size - 1
    nan = categories.dtype.kind == "f" and bool(np.isnan(categories[last]))
    known = categories[:last] if nan else categories
    if not known.size:
        codes = np.full(values.size, -1, dtype=np.int64)
    else:
        at = np.minimum(np.searchsorted(known, values), known.size - 1)
        codes = np.where(known[at] == values, at, -1)
    if nan and values.dtype.kind == "f":
        codes[np.isnan(values)] = last
    return codes


def distinct_values(values: Iterable[Any]) -> dict[Any, Any]:
    """The distinct values, in the order in which they come."""
    try:
        found = dict.fromkeys(values)
    except TypeError:
        raise TypeError(
            "X holds lists, dicts or other values that are no categories: these are strings or numbers."
        ) from None
    huge = [value for value in found if isinstance(value, int) and abs(value) > HUGE]
    if huge:
        raise ValueError(f"X holds a number that is too large: {shown(huge[0])}.")
    return found


def as_doubles(values: np.ndarray) -> np.ndarray:
    """float32 numbers as the float64 numbers of the same shortest decimal form; others as they are.

    Examples
    --------
    >>> as_doubles(np.array([0.1], dtype=np.float32))
    array([0.1])
    """
    return values.astype(str).astype(np.float64) if values.dtype == np.float32 else values


def _sorted_labels(table: dict[Any, None]) -> list[Any]:
    """Labels in order, one None and one NaN last."""
    present = [value for value in table if not is_missing(value)]
    gone = [value for value in table if is_missing(value)]
    try:
        known = sorted(present)
    except TypeError:
        kinds = sorted({type(value).__qualname__ for value in table})
        raise TypeError(
            f"Encoders require their input argument must be uniformly strings or numbers. Got {kinds}: X has "
            "columns that mix them."
        ) from None
    if any(value is None for value in gone):
        known.append(None)
    if any(value is not None for value in gone):
        known.append(np.nan)
    return known


def _label_codes(values: list[Any], known: list[Any]) -> np.ndarray:
    """Codes of hashable values; -1 for unknown ones."""
    table = {value: code for code, value in enumerate(known)}
    try:
        codes = np.fromiter(map(table.get, values, repeat(-1)), dtype=np.int64, count=len(values))
    except TypeError:
        codes = np.full(len(values), -1)
        distinct_values(values)  # an error: they are no categories
    if known and is_nan(known[-1]):
        for row in np.flatnonzero(codes < 0).tolist():
            if is_nan(values[row]):
                codes[row] = len(known) - 1
    return codes


def given_categories(values: np.ndarray, given: Any, column: int, who: str) -> np.ndarray:
    """Categories that a user gives for a column, checked as scikit-learn does."""
    dtype: Any = {"U": object, "S": "S"}.get(values.dtype.kind, values.dtype)
    try:
        known = np.array(given, dtype=dtype)
    except (TypeError, ValueError):
        raise ValueError(
            f"{who}: parameter 'categories' must give values of the type of column {column}, {dtype}; got "
            f"{shown(given)}."
        ) from None
    if known.ndim != 1 or not known.size:
        raise ValueError(f"{who}: parameter 'categories' must be a list for each column; got {shown(given)}.")
    if known.dtype == object and isinstance(known[0], bytes) and values.dtype.kind != "S":
        kind = type(values[0]).__name__
        raise ValueError(
            f"In column {column}, the predefined categories have type 'bytes' which is incompatible with values "
            f"of type '{kind}'."
        )
    listed = known.tolist()
    if any(is_nan(value) for value in listed[:-1]):
        raise ValueError(
            f"Nan should be the last element in user provided categories, see categories {known} in column "
            f"#{column}"
        )
    if len(distinct_values(listed)) != len(listed):
        raise ValueError(f"In column {column}, the predefined categories contain duplicate elements.")
    if values.dtype.kind not in "OUS":
        numbers = known[:-1] if known.dtype.kind == "f" and np.isnan(known[-1]) else known
        if (np.sort(numbers) != numbers).any():
            raise ValueError("Unsorted categories are not supported for numerical categories")
    return known
