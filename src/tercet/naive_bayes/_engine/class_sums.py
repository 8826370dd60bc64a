"""Sums of the rows of each class, dense or sparse, on several threads; missing values are left out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, engine, total
from tercet.core.row_products import row_products
from tercet.core.rows import Sparse, rows
from tercet.core.sparse_products import times
from tercet.core.stopping import check_stop
from tercet.core.streams import is_streamed

ENTRIES = 1 << 22  # of a sparse matrix in a piece of work


def class_sums(X: Any, y: np.ndarray, weight: Any, n_classes: int, n_jobs: int | None = None) -> np.ndarray:
    """For each class the weighted sum of its rows' known values, of shape (n_classes, n_features).

    Rows of a sparse matrix are taken class by class, so that the few sums that a thread
    adds to at a time stay in its cache.
    """
    if is_streamed(X) and X.is_sparse:
        return total(_sparse_chunk_sums, class_chunks(n_classes, X, y, weight), n_classes, n_jobs=n_jobs)
    if not sparse.issparse(X):
        return total(_dense_sums, class_chunks(n_classes, X, y, weight), n_classes, n_jobs=n_jobs)
    n, d = X.shape
    weight = np.ones(n) if weight is None else weight.astype(np.float64)
    run = max(1, max(ENTRIES, 16 * d) * n // max(X.nnz, 1))  # sums of a piece cost little beside its entries
    short = y.astype(np.uint16) if n_classes <= 1 << 16 else y  # which NumPy sorts by digits
    order, found = np.argsort(short, kind="stable"), np.zeros((n_classes, d))
    pieces = _pieces(np.bincount(y, minlength=n_classes), run)
    parts = engine(n_jobs).map(_sparse_sums, pieces, (rows(X), order, y, weight))
    for (_, _, first, last), part in zip(pieces, parts):
        found[first:last] += part
    return found


def _dense_sums(chunk: Any, n_classes: int) -> Any:
    X, y, weight = chunk
    X, _ = split_missing(X)
    ones = np.ones(y.size) if weight is None else weight.astype(np.float64)
    return sparse.csr_array((ones, y, np.arange(y.size + 1)), (y.size, n_classes)).T @ X


def _sparse_chunk_sums(chunk: Any, n_classes: int) -> np.ndarray:
    return np.asarray(_dense_sums(chunk, n_classes).toarray())


def missing_sums(X: Any, y: Any, weight: Any, n_classes: int, n_jobs: int | None = None) -> np.ndarray:
    """For each class and feature the weight of the rows of a streamed X in which it is missing."""
    return total(_missing_chunk_sums, class_chunks(n_classes, X, y, weight), n_classes, n_jobs=n_jobs)


def _missing_chunk_sums(chunk: Any, n_classes: int) -> np.ndarray:
    X, y, weight = chunk
    _, missing = split_missing(X)
    if missing is None:
        return np.zeros((n_classes, X.shape[1]))
    found = _dense_sums((missing, y, weight), n_classes)
    return np.asarray(found.toarray() if sparse.issparse(found) else found)


def _pieces(counts: np.ndarray, run: int) -> list[tuple[int, int, int, int]]:
    """Rows sorted by class, cut into (from, to, first class, last class + 1): small classes together, large ones
    in runs."""
    found, start, first, end = [], 0, 0, 0
    for c, size in enumerate(counts.tolist()):
        if size >= run or end - start >= run:
            found += [(start, end, first, c)] if end > start else []
            start, first = end, c
        end += size
        if size >= run:
            found += [(a, min(a + run, end), c, c + 1) for a in range(start, end, run)]
            start, first = end, c + 1
    return [*found, (start, end, first, len(counts))] if end > start else found


def _sparse_sums(piece: tuple[int, ...], X: Sparse, order: np.ndarray, y: Any, weight: Any) -> np.ndarray:
    start, end, first, last = piece
    table = np.zeros((last - first, X.n_columns))
    for here, there in itertools.pairwise([*range(start, end, 1 << 16), end]):  # to answer Ctrl-C in between
        check_stop()
        add_rows(X, order[here:there], y, weight, first, table)
    return table


def class_chunks(n_classes: int, *arrays: Any) -> Chunks:
    """Chunks of enough rows that a table with a row for each class costs little beside them."""
    chunks = Chunks(*arrays)
    rows = 8 * n_classes
    return chunks if chunks.borders[1] >= min(rows, arrays[0].shape[0]) else Chunks(*arrays, rows=rows)


def split_missing(X: Any) -> tuple[Any, Any]:
    """X with 0 for missing values, and the indicator matrix of those (None when there are none)."""
    values = X.data if sparse.issparse(X) else X
    if not values.size or not np.isnan(values.min()):
        return X, None
    missing = np.isnan(values)
    if not sparse.issparse(X):
        return np.where(missing, 0.0, X), missing.astype(np.float64)
    return csr_like(X, np.where(missing, 0.0, values)), csr_like(X, missing.astype(np.float64))


def csr_like(X: Any, values: np.ndarray) -> Any:
    """A CSR matrix with the sparsity pattern of X and other values."""
    made = sparse.csr_array(X.shape, dtype=values.dtype)
    made.data, made.indices, made.indptr = values, X.indices, X.indptr
    return made


def dot(X: Any, W: np.ndarray) -> np.ndarray:
    """XW in double precision: single would leave little of long sums whose differences decide."""
    return times(X.astype(np.float64, copy=False), W) if sparse.issparse(X) else row_products(X, W.T)


@kernel
def add_rows(X, order, y, weight, first, table):
    """table[y[i] - first] += weight[i] * row i, over the rows in the given order; NaN adds nothing."""
    for i in order:
        x = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        out, w = table[y[i] - first], weight[i]
        for s in range(x.size):
            if x[s] == x[s]:
                out[np.uint64(at[s])] += w * x[s]
