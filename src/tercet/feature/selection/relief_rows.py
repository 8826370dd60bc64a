"""The rows as Relief takes them: columns scaled by their range, which of them are categories, rows drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.estimator import generator
from tercet.feature.selection._engine.relief_neighbors import UNROLLED

ROWS_AT_A_TIME = 64


class ReliefRows(NamedTuple):
    """Rows sorted by class, with numbers first, and the same in single precision, column by column."""

    Z: np.ndarray
    columns: np.ndarray
    n_numbers: int
    starts: np.ndarray
    kind: np.ndarray
    order: np.ndarray
    chunks: list[tuple[np.ndarray]]
    n_rows: int

    def in_order(self, values: np.ndarray) -> np.ndarray:
        """Values of the columns in the order in which they came."""
        result = np.empty_like(values)
        result[self.order] = values
        return result


def relief_rows(
    X: np.ndarray,
    kind: np.ndarray,
    categorical_features: Any,
    n_rows: int | None,
    random_state: Any,
    name: str,
) -> ReliefRows:
    """Scale and order the columns, sort rows by class, and draw `n_rows` of them (all when None)."""
    n, d = X.shape
    category = _category_mask(categorical_features, d, name)
    order = np.concatenate([np.flatnonzero(~category), np.flatnonzero(category)])
    by_kind = np.argsort(kind, kind="stable")
    Z = np.ascontiguousarray(X[np.ix_(by_kind, order)], dtype=np.float64)
    n_numbers = int((~category).sum())
    numbers = Z[:, :n_numbers]
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    half = high / 2 - low / 2  # of a range that may itself be beyond floats
    numbers /= 2
    numbers -= low / 2
    numbers /= np.where(half > 0, half, np.inf)
    rows = np.arange(n)
    if n_rows is not None and n_rows < n:
        drawn = np.zeros(n, dtype=bool)
        drawn[generator(random_state).choice(n, n_rows, replace=False)] = True
        rows = np.flatnonzero(drawn[by_kind])
    chunks = [(rows[start : start + ROWS_AT_A_TIME],) for start in range(0, len(rows), ROWS_AT_A_TIME)]
    starts = np.append(0, np.cumsum(np.bincount(kind)))
    columns = _single_precision(Z, n_numbers)
    return ReliefRows(Z, columns, n_numbers, starts, kind[by_kind], order, chunks, len(rows))


def _single_precision(Z: np.ndarray, n_numbers: int) -> np.ndarray:
    """Columns as rows: numbers, then categories, each filled up with constant columns for the kernels."""
    n, d = Z.shape
    first = -(-n_numbers // UNROLLED) * UNROLLED
    columns = np.zeros((first - (n_numbers - d) // UNROLLED * UNROLLED, n), dtype=np.float32)
    columns[:n_numbers] = Z[:, :n_numbers].T
    categories = columns[first : first + d - n_numbers]
    with np.errstate(over="ignore"):
        categories[:] = Z[:, n_numbers:].T
    for j in np.flatnonzero((categories != Z[:, n_numbers:].T).any(axis=1)):  # two may have become one
        categories[j] = np.unique(Z[:, n_numbers + j], return_inverse=True)[1]
    return columns


def _category_mask(given: Any, d: int, name: str) -> np.ndarray:
    mask = np.zeros(d, dtype=bool)
    if given is None:
        return mask
    columns = np.asarray(given)
    if columns.dtype == bool and columns.shape == (d,):
        return columns
    if columns.ndim != 1 or (columns.size and columns.dtype.kind not in "iu"):
        raise ValueError(
            f"{name}: categorical_features must be column indices or a mask of {d}; got {given!r}."
        )
    if columns.size and not (-d <= columns.min() and columns.max() < d):
        raise ValueError(f"{name}: categorical_features must be columns from 0 to {d - 1}; got {given!r}.")
    mask[columns.astype(np.int64)] = True
    return mask
