"""The rows as Relief takes them: columns scaled by their range, which of them are categories, rows drawn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.estimator import generator

ROWS_AT_A_TIME = 64


class ReliefRows(NamedTuple):
    """Columns as rows, numbers first."""

    Z: np.ndarray
    n_numbers: int
    order: np.ndarray
    chunks: list[tuple[np.ndarray]]
    n_rows: int

    def in_order(self, values: np.ndarray) -> np.ndarray:
        """Values of the columns in the order in which they came."""
        result = np.empty_like(values)
        result[self.order] = values
        return result


def relief_rows(
    X: np.ndarray, categorical_features: Any, n_rows: int | None, random_state: Any, name: str
) -> ReliefRows:
    """Scale and order the columns, and draw `n_rows` of the rows (all when None)."""
    n, d = X.shape
    category = _category_mask(categorical_features, d, name)
    order = np.concatenate([np.flatnonzero(~category), np.flatnonzero(category)])
    Z = np.ascontiguousarray(X.T[order], dtype=np.float64)
    n_numbers = int((~category).sum())
    low, high = Z[:n_numbers].min(axis=1), Z[:n_numbers].max(axis=1)
    half = high / 2 - low / 2  # of a range that may itself be beyond floats
    usual = half > 0
    Z[:n_numbers] -= np.where(usual, 0.0, low)[:, None]
    Z[:n_numbers] = np.where(usual[:, None], Z[:n_numbers] / np.where(usual, half, 1.0)[:, None] / 2, 0.0)
    if n_rows is None or n_rows >= n:
        rows = np.arange(n)
    else:
        rows = np.sort(generator(random_state).choice(n, n_rows, replace=False))
    chunks = [(rows[start : start + ROWS_AT_A_TIME],) for start in range(0, len(rows), ROWS_AT_A_TIME)]
    return ReliefRows(Z, n_numbers, order, chunks, len(rows))


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
