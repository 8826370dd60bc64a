"""Contingency tables of two labellings, counted in one pass over the labels."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse as sp

DENSE = 1 << 16  # cells that a full table may have in any case; with more rows, four for each row


class Contingency(NamedTuple):
    """The cells of a contingency table that are not empty, and its marginal sums."""

    counts: np.ndarray
    row: np.ndarray
    column: np.ndarray
    row_sums: np.ndarray
    column_sums: np.ndarray

    @property
    def n(self) -> int:
        return int(self.row_sums.sum())


def contingency_matrix(
    labels_true: Any,
    labels_pred: Any,
    *,
    eps: float | None = None,
    sparse: bool = False,
    dtype: Any = np.int64,
) -> Any:
    """Contingency table of two labellings: how many rows have each pair of labels.

    Parameters
    ----------
    labels_true, labels_pred : arrays of shape (n_samples,)
        The two labels of each row.
    eps : float, optional
        A number to add to every cell, to keep them from being zero.
    sparse : bool, default=False
        Return a CSR matrix.
    dtype : type, default=int64
        Of the counts.

    Returns
    -------
    contingency : array or CSR matrix of shape (n_classes_true, n_classes_pred)
        Rows and columns are the labels in sorted order.

    Examples
    --------
    >>> contingency_matrix([0, 0, 1, 1, 2, 2], [1, 0, 2, 1, 0, 2])
    array([[1, 1, 0],
           [0, 1, 1],
           [1, 0, 1]])
    """
    if eps is not None and sparse:
        raise ValueError("Cannot set 'eps' when sparse=True")
    found = contingency(labels_true, labels_pred)
    shape = found.row_sums.size, found.column_sums.size
    table = sp.csr_array((found.counts.astype(dtype), (found.row, found.column)), shape=shape)
    if sparse:
        return table
    dense = table.toarray()
    return dense if eps is None else dense + eps


def contingency(labels_true: Any, labels_pred: Any) -> Contingency:
    """The contingency table of two labellings, as its cells that are not empty."""
    a, b = check_labels(labels_true, "labels_true"), check_labels(labels_pred, "labels_pred")
    if a.size != b.size:
        raise ValueError(
            f"labels_true and labels_pred must be equally long: inconsistent numbers of samples, {a.size} and "
            f"{b.size}."
        )
    (first, rows), (second, columns) = label_codes(a, "labels_true"), label_codes(b, "labels_pred")
    place = first * np.int64(columns) + second
    if rows * columns <= max(DENSE, 4 * a.size):
        table = np.bincount(place, minlength=rows * columns)
        cells = np.flatnonzero(table)
        counts = table[cells]
    else:
        cells, counts = np.unique(place, return_counts=True)
    row, column = np.divmod(cells, max(columns, 1))
    return Contingency(counts, *_compact(row, column, counts, rows, columns))


def from_table(table: Any) -> Contingency:
    """A contingency table that is given as an array or a sparse matrix."""
    cells = sp.coo_array(table)
    counts = np.asarray(cells.data)
    if (
        cells.ndim != 2
        or counts.dtype.kind not in "iuf"
        or not np.isfinite(counts).all()
        or (counts < 0).any()
    ):
        raise ValueError(f"contingency must be a table of counts, which are not negative; got {table!r}.")
    cells.sum_duplicates()
    there = cells.data > 0
    counts = cells.data[there]
    row, column = (np.asarray(at)[there].astype(np.int64) for at in cells.coords)
    return Contingency(counts, *_compact(row, column, counts, *cells.shape))


def _compact(row: Any, column: Any, counts: Any, rows: int, columns: int) -> tuple[np.ndarray, ...]:
    """Rows and columns numbered without those that are empty, and their sums."""
    found = []
    for at, size in ((row, rows), (column, columns)):
        sums = np.bincount(at, counts, minlength=size)
        there = sums > 0
        found.append(((np.cumsum(there) - 1)[at] if size else at, sums[there].astype(counts.dtype)))
    (row, row_sums), (column, column_sums) = found
    return row, column, row_sums, column_sums


def check_labels(labels: Any, name: str) -> np.ndarray:
    """Labels as an array of one dimension, or an error that says what is wrong."""
    try:
        y = np.asarray(labels)
    except ValueError:  # lists of several lengths
        raise ValueError(f"{name} must be 1D: one label for each row.") from None
    if y.ndim != 1:
        raise ValueError(f"{name} must be 1D: shape is {y.shape!r}")
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError(f"{name} contains NaN or infinity, which are no labels.")
        if (y != np.floor(y)).any():
            warnings.warn(
                f"Clustering metrics expects discrete values but received continuous values for {name}",
                UserWarning,
                stacklevel=4,
            )
    return y


def label_codes(y: np.ndarray, name: str = "labels") -> tuple[np.ndarray, int]:
    """A whole number for each label, in the order of the labels, and a bound for them.

    Integers that lie close together stay as they are, less the smallest: some numbers may not occur. That spares
    sorting millions of labels.
    """
    if y.dtype.kind == "b":
        y = y.astype(np.int8)
    if y.dtype.kind in "iu" and y.size:
        low, high = int(y.min()), int(y.max())
        if high - low < max(1024, y.size // 4):
            wide = y if y.dtype == np.uint64 else y.astype(np.int64, copy=False)
            codes = wide - wide.dtype.type(low) if low else wide
            return codes.astype(np.int64, copy=False), high - low + 1
    try:
        values, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise ValueError(f"{name} must be labels of one kind, numbers or strings, without gaps.") from None
    return codes.reshape(-1).astype(np.int64, copy=False), values.size
