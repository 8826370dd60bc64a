"""Bins and categories as columns of zeros and ones, and back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.input_errors import shown
from tercet.feature.text.count_vectorizer import in_sparse_interface

MOST_CELLS = 2**33  # of an array of zeros and ones: 64 gigabytes


def sparse_one_hot(codes: np.ndarray, widths: np.ndarray, dtype: Any) -> Any:
    """A CSR matrix with a one in the column of each code; a code beyond the width of its block has none.

    Examples
    --------
    >>> sparse_one_hot(np.array([[0, 1], [2, 0]]), np.array([2, 2]), np.float64).toarray()
    array([[1., 0., 0., 1.],
           [0., 0., 1., 0.]])
    """
    n, d = codes.shape
    if not d:
        return in_sparse_interface(sparse.csr_array((n, 0), dtype=dtype))
    starts = np.concatenate([[0], np.cumsum(widths)])
    index = np.int32 if max(n * d, starts[-1]) <= np.iinfo(np.int32).max else np.int64
    columns = np.add(codes, starts[:-1], dtype=np.int64).astype(index).ravel()
    there = ((codes >= 0) & (codes < widths)).ravel()
    indptr = np.arange(0, n * d + 1, d, dtype=index)
    if not there.all():
        indptr = np.concatenate([[0], np.cumsum(there)]).astype(index)[indptr]
        columns = columns[there]
    found = sparse.csr_array((np.ones(columns.size, dtype), columns, indptr), shape=(n, int(starts[-1])))
    return in_sparse_interface(found)


def dense_one_hot(codes: np.ndarray, widths: np.ndarray, dtype: Any) -> np.ndarray:
    """As `sparse_one_hot`, in an array."""
    starts = np.concatenate([[0], np.cumsum(widths, dtype=np.int64)])
    if len(codes) * int(starts[-1]) > MOST_CELLS:
        raise ValueError(
            f"{len(codes)} rows of {starts[-1]} columns do not fit into memory: encode them as a sparse matrix."
        )
    found = np.zeros((len(codes), int(starts[-1])), dtype=dtype)
    for column, start, width in zip(codes.T, starts, widths):
        rows = np.flatnonzero((column >= 0) & (column < width))
        found[rows, start + column[rows]] = 1
    return found


def codes_from_one_hot(X: Any, widths: np.ndarray, none_allowed: bool) -> np.ndarray:
    """The codes of columns of zeros and ones as floats; NaN for a block without a one, where that is allowed."""
    starts = np.concatenate([[0], np.cumsum(widths)])
    if X.shape[1] != starts[-1]:
        raise ValueError(
            f"Shape of the passed X data is not correct. Expected {starts[-1]} columns, got {X.shape[1]}."
        )
    codes = np.full((X.shape[0], len(widths)), np.nan)
    if sparse.issparse(X):
        rows, columns = sparse.csr_array(X).nonzero()
        blocks = np.searchsorted(starts, columns, side="right") - 1
        codes[rows, blocks] = columns - starts[blocks]
    else:
        for j, (start, end) in enumerate(pairwise(starts)):
            part = X[:, start:end]
            there = part.any(axis=1) if end > start else np.zeros(len(X), dtype=bool)
            codes[there, j] = part[there].argmax(axis=1)
    empty = np.isnan(codes)
    if empty.any() and not none_allowed:
        row, j = np.argwhere(empty)[0]
        raise ValueError(f"X has no 1 among the columns {starts[j]} to {starts[j + 1] - 1} of row {row}.")
    return codes


def edge_texts(edges: np.ndarray) -> list[str]:
    """Numbers in six digits, or in as many as tell them apart."""
    short = [f"{edge:.6g}" for edge in edges]
    return short if len(set(short)) == len(short) else [repr(float(edge)) for edge in edges]


def codes_of_labels(X: np.ndarray, labels: list[list[str]], missing: bool) -> np.ndarray:
    """The bins of intervals that are given as texts."""
    codes = np.full(X.shape, np.nan)
    if X.ndim != 2 or X.shape[1] != len(labels):
        raise ValueError(f"KBinsDiscretizer: X has the shape {X.shape}; expected are {len(labels)} columns.")
    for j, own in enumerate(labels):
        table = {label: float(code) for code, label in enumerate(own)}
        for i, label in enumerate(X[:, j].tolist()):
            code = table.get(label)
            if code is None and not (missing and label != label):
                raise ValueError(
                    f"KBinsDiscretizer: X has {shown(label)} in column {j}; the intervals are {own[:6]}."
                )
            codes[i, j] = np.nan if code is None else code
    return codes
