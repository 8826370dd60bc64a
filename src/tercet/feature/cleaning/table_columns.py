"""Columns of any table by name or place, missing values, and groups of equal rows."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.column_parsing import is_frame
from tercet.core.spelling_suggestions import spelling_suggestions

CHUNK = 1 << 22  # numbers at a time


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a frame, places of those of an array."""
    return list(X.columns) if is_frame(X) else list(range(X.shape[1]))


def column_index(key: Any, names: Sequence[Any], owner: str, parameter: str) -> int:
    """The place of a column that is given by its name or place; an error names the parameter.

    Examples
    --------
    >>> column_index("height", ["age", "height"], "RuleFilter", "ranges"), column_index(-1, [0, 1], "", "")
    (1, 1)
    """
    whole = isinstance(key, numbers.Integral) and not isinstance(key, bool)
    if isinstance(key, str) and key in names:
        return list(names).index(key)
    if whole and -len(names) <= int(key) < len(names):
        return int(key) % len(names)
    near = spelling_suggestions(str(key), [name for name in names if isinstance(name, str)], 3)
    hint = f"; near it: {', '.join(near)}" if near else ""
    raise ValueError(
        f"{owner}: parameter {parameter!r} names the column {key!r}, but there is no such column among "
        f"{len(names)}{hint}."
    )


def column_indices(keys: Any, names: Sequence[Any], owner: str, parameter: str) -> list[int]:
    """The places of columns that are given by a name, a place or a list of them; each once."""
    single = isinstance(keys, str | numbers.Integral)
    given = [keys] if single else keys.tolist() if hasattr(keys, "tolist") else list(keys)
    found = [column_index(key, names, owner, parameter) for key in given]
    if len(set(found)) < len(found):
        raise ValueError(f"{owner}: parameter {parameter!r} names a column twice: {given!r}.")
    return found


def column_numbers(X: Any, j: int, owner: str) -> np.ndarray:
    """Column j as floats, NaN where it is missing; an error names the column where it holds something else."""
    name = column_names(X)[j]
    values = raw_column(X, j)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    try:
        cells = [np.nan if is_missing(value) else float(value) for value in values.tolist()]
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        strange = next(value for value in values.tolist() if not _is_number(value))
        raise ValueError(
            f"{owner}: column {name!r} must hold numbers; it holds {str(strange)[:40]!r}."
        ) from None


def raw_column(X: Any, j: int) -> np.ndarray:
    """Column j as an array of whatever it holds; a frame's missing values are None, NaN or NaT."""
    if is_frame(X):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j)
        if hasattr(column, "null_count") and column.null_count() and not column.dtype.is_float():
            return np.array([*column.to_list(), None], dtype=object)[:-1]  # even where cells are lists
        return np.asarray(column)
    if sparse.issparse(X):
        return np.asarray(X[:, [j]].toarray()).ravel()
    return X[:, j]


def is_missing(value: Any) -> bool:
    """Whether a cell is missing: None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    if value is None:
        return True
    if isinstance(value, str):
        return False
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor different, an array both
        return type(value).__name__ == "NAType"


def missing_mask(X: Any) -> np.ndarray:
    """Which cells of an array, frame or sparse matrix are missing: None, NaN, NaT or null; of shape (n, d)."""
    if sparse.issparse(X):
        gone = X.tocsr().copy()
        gone.data = np.isnan(gone.data) if gone.dtype.kind == "f" else np.zeros(gone.data.shape, dtype=bool)
        return gone.astype(bool).toarray()
    if hasattr(X, "isna"):
        return np.asarray(X.isna())
    if is_frame(X):  # polars has null and NaN
        columns = [X.to_series(j) for j in range(X.shape[1])]
        return np.column_stack([_null_or_nan(column) for column in columns])
    if X.dtype.kind in "fc":
        return np.isnan(X)
    if X.dtype.kind in "mM":
        return np.isnat(X)
    if X.dtype.kind != "O":
        return np.zeros(X.shape, dtype=bool)
    return np.array([is_missing(value) for value in X.ravel().tolist()], dtype=bool).reshape(X.shape)


def _null_or_nan(column: Any) -> np.ndarray:
    gone = column.is_null()
    return (gone | column.is_nan().fill_null(True)).to_numpy() if column.dtype.is_float() else gone.to_numpy()


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return is_missing(value)
    return True


def equal_rows(table: np.ndarray) -> np.ndarray:
    """The group of each row: rows have the same number if and only if all their values are equal, or both NaN.

    Rows are sorted by a hash value, and compared where that is equal: once through memory instead of a sort of
    rows.

    Examples
    --------
    >>> equal_rows(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))
    array([0, 1, 0])
    """
    table = np.ascontiguousarray(table, dtype=np.float64) + 0.0  # -0.0 is 0.0
    table[np.isnan(table)] = np.nan  # of which there are many
    bits = table.view(np.uint64)
    key = _hashes(bits)
    order = np.argsort(key, kind="stable")
    new, step = np.ones(len(key), dtype=bool), max(CHUNK // max(bits.shape[1], 1), 1)
    for start in range(1, len(key), step):
        part = order[start - 1 : start + step]
        new[start : start + step] = (bits[part[1:]] != bits[part[:-1]]).any(axis=1)
    if (new[1:] & (key[order[1:]] == key[order[:-1]])).any():  # two rows of one hash value
        return _by_first_row(np.unique(bits, axis=0, return_inverse=True)[1].reshape(-1))
    group = np.empty(len(key), dtype=np.intp)
    group[order] = np.cumsum(new) - 1
    return _by_first_row(group)


def _hashes(bits: np.ndarray) -> np.ndarray:
    """A hash value for each row: the sum of its values' own, each mixed with its column (splitmix64)."""
    n, d = bits.shape
    column = (np.arange(1, d + 1, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    found, step = np.empty(n, dtype=np.uint64), max(CHUNK // max(d, 1), 1)
    for start in range(0, n, step):
        z = bits[start : start + step] + column
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found[start : start + step] = (z ^ (z >> np.uint64(31))).sum(axis=1, dtype=np.uint64)
    return found


def _by_first_row(group: np.ndarray) -> np.ndarray:
    """Groups numbered in the order in which they first occur."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]
