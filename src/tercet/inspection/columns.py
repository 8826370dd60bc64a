"""Columns of arrays, frames and sparse matrices: taken out, and replaced in a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.column_parsing import from_lists, is_frame


def as_table(X: Any) -> Any:
    """Rows that have columns to replace: frames and sparse matrices as they are, all else as an array."""
    if is_frame(X):
        return X
    if sparse.issparse(X):
        return X.tocsr()
    array = from_lists(X) if isinstance(X, list | tuple) else np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"X must have rows and columns; it has the shape {array.shape}.")
    return array


def column_names(X: Any, names: Any = None) -> list[Any]:
    """The names of all columns: those given, those of a frame, or x0, x1 ..."""
    d = X.shape[1]
    if names is not None:
        if len(names) != d:
            raise ValueError(f"feature_names must have {d} names; got {len(names)}.")
        return list(names)
    return list(X.columns) if is_frame(X) else [f"x{j}" for j in range(d)]


def column_index(X: Any, feature: Any, names: Any = None) -> int:
    """The place of a column that is given by its place or its name."""
    d = X.shape[1]
    if isinstance(feature, str) or (is_frame(X) and feature in list(X.columns)):
        known = column_names(X, names)
        if feature in known:
            return known.index(feature)
        raise ValueError(f"feature {feature!r} is not among the columns {known[:12]}.")
    if isinstance(feature, bool) or not isinstance(feature, int | np.integer) or not -d <= feature < d:
        raise ValueError(f"all features must be in [0, {d - 1}] or names of columns; got {feature!r}.")
    return int(feature) % d


def column_at(X: Any, j: int) -> np.ndarray:
    """The values of a column."""
    if hasattr(X, "iloc"):
        return np.asarray(X.iloc[:, j])
    if is_frame(X):
        return np.asarray(X[:, j])
    return X[:, [j]].toarray()[:, 0] if sparse.issparse(X) else X[:, j]


def with_columns(X: Any, values: dict[int, Any]) -> Any:
    """A copy in which the columns at some places have other values: an array, or one value for all rows."""
    if hasattr(X, "iloc"):
        import pandas as pd

        copied = X.copy()
        for j, value in values.items():
            line = value if np.ndim(value) else [value] * len(X)
            dtype = X.dtypes.iloc[j]
            keep = isinstance(dtype, pd.CategoricalDtype)
            copied.isetitem(j, pd.Series(line, index=X.index, dtype=dtype if keep else None))
        return copied
    if is_frame(X):
        import polars as pl

        lines = {X.columns[j]: v if np.ndim(v) else [v] * len(X) for j, v in values.items()}
        return X.with_columns([pl.Series(name, line).cast(X[name].dtype) for name, line in lines.items()])
    if sparse.issparse(X):
        copied = X.tolil(copy=True)
        for j, value in values.items():
            copied[:, [j]] = np.broadcast_to(value, X.shape[0])[:, None]
        return copied.tocsr()
    mixed = X.dtype.kind in "biu" and any(np.asarray(v).dtype.kind not in "biu" for v in values.values())
    copied = X.astype(np.float64 if mixed else X.dtype)  # a value between two integers must not be rounded
    for j, value in values.items():
        copied[:, j] = value
    return copied
