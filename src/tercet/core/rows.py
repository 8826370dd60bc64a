"""Rows of a matrix as kernels see them: dense and sparse data behind the same few verbs.

`rows(X)` gives the rows, `columns(X)` the columns (the rows of the transpose); a kernel written with
`row_dot` and `row_add` then works on both layouts, for dense and sparse data alike, and the choice is made
by type when the kernel is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.kernel import implement, inner, kernel, verb


class Dense(NamedTuple):
    """Rows of a two-dimensional array."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape


class Sparse(NamedTuple):
    """Rows in compressed form: row i has data[s] in column indices[s] for s from indptr[i] to indptr[i+1]."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_columns: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.indptr.size - 1, self.n_columns


Rows = Dense | Sparse


def rows(X: Any) -> Rows:
    """The rows of X, an array or a scipy sparse matrix, for use in kernels."""
    if sparse.issparse(X):
        return _compressed(X.tocsr())
    return Dense(read_only(np.ascontiguousarray(X)))


def columns(X: Any) -> Rows:
    """The columns of X as rows, for kernels that walk over features."""
    if sparse.issparse(X):
        return _compressed(X.tocsc().T)
    return Dense(read_only(np.ascontiguousarray(np.asarray(X).T)))


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view: kernels are compiled anew for arrays that may be written to, so they never get one of those
    where they only read."""
    view = array.view()
    view.flags.writeable = False
    return view


def kernel_form(values: Any) -> np.ndarray:
    """Numbers in the one form that kernels which read them are compiled for: contiguous, float64, read-only."""
    return read_only(np.ascontiguousarray(values, dtype=np.float64))


def transposed_times(X: Any, r: np.ndarray) -> np.ndarray:
    """X'r for an array or a sparse matrix, as threads want it.

    NumPy's `X.T @ r` with a vector r holds the GIL; its `dot` does not. SciPy's `X.T` copies the entries of a chunk
    of rows, as it does with all views of much larger arrays.

    Examples
    --------
    >>> transposed_times(sparse.csr_array([[1.0, 0.0], [2.0, 3.0]]), np.array([1.0, -1.0]))
    array([-1., -3.])
    """
    if not sparse.issparse(X):
        return np.dot(X.T, r)
    if r.ndim != 1 or X.format != "csr":
        return X.T @ r
    out = np.zeros(X.shape[1], dtype=np.result_type(X.dtype, r.dtype))
    add_rows(_compressed(X), read_only(np.ascontiguousarray(r)), out)
    return out


def _compressed(X: Any) -> Sparse:
    # One index type wherever it suffices, so that a kernel is not compiled twice.
    index = np.int32 if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max else np.int64
    indices, indptr = X.indices.astype(index, copy=False), X.indptr.astype(index, copy=False)
    return Sparse(read_only(X.data), read_only(indices), read_only(indptr), X.shape[1])


@verb
def row_dot(rows: Rows, i: int, w: np.ndarray) -> float:
    """Inner product of row i with the vector w."""
    if isinstance(rows, Sparse):
        s = slice(rows.indptr[i], rows.indptr[i + 1])
        return rows.data[s] @ w[rows.indices[s]]
    return rows.values[i] @ w


@verb
def row_add(rows: Rows, i: int, scale: float, w: np.ndarray) -> None:
    """w += scale * row i."""
    if isinstance(rows, Sparse):
        s = slice(rows.indptr[i], rows.indptr[i + 1])
        np.add.at(w, rows.indices[s], scale * rows.data[s])
    else:
        w += scale * rows.values[i]


@verb
def row_square(rows: Rows, i: int) -> float:
    """Squared length of row i."""
    if isinstance(rows, Sparse):
        v = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
    else:
        v = rows.values[i]
    return v @ v


@verb
def rows_dot(rows: Rows, i: int, j: int) -> float:
    """Inner product of rows i and j (sparse rows must have sorted indices)."""
    if isinstance(rows, Sparse):
        w = np.zeros(rows.n_columns, dtype=rows.data.dtype)
        row_add(rows, j, 1.0, w)
        return row_dot(rows, i, w)
    return rows.values[i] @ rows.values[j]


# The compiled forms. Slices are taken before the loop: an index such as a[start + k] is tested for
# wrap-around at every step and does not vectorise.


def _is_dense(kind: Any) -> bool:
    return getattr(kind, "instance_class", None) is Dense


@implement(row_dot)
def _row_dot(rows: Any, i: Any, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, w: Any) -> Any:
            x = rows.values[i]
            total = x[0] * w[0] * 0
            for k in range(x.size):
                total += x[k] * w[k]
            return total

        return dense

    def compressed(rows: Any, i: Any, w: Any) -> Any:
        x = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        at = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        total = w[0] * 0
        for k in range(x.size):
            total += x[k] * w[np.uint64(at[k])]
        return total

    return compressed


@implement(row_add)
def _row_add(rows: Any, i: Any, scale: Any, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, scale: Any, w: Any) -> None:
            x = rows.values[i]
            for k in range(x.size):
                w[k] += scale * x[k]

        return dense

    def compressed(rows: Any, i: Any, scale: Any, w: Any) -> None:
        x = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        at = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        for k in range(x.size):
            w[np.uint64(at[k])] += scale * x[k]

    return compressed


@implement(row_square)
def _row_square(rows: Any, i: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any) -> Any:
            x = rows.values[i]
            total = x[0] * 0
            for k in range(x.size):
                total += x[k] * x[k]
            return total

        return dense

    def compressed(rows: Any, i: Any) -> Any:
        x = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        total = rows.data[:1].sum() * 0
        for k in range(x.size):
            total += x[k] * x[k]
        return total

    return compressed


@implement(rows_dot)
def _rows_dot(rows: Any, i: Any, j: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, j: Any) -> Any:
            x, z = rows.values[i], rows.values[j]
            total = x[0] * 0
            for k in range(x.size):
                total += x[k] * z[k]
            return total

        return dense

    def compressed(rows: Any, i: Any, j: Any) -> Any:
        a, a_end = rows.indptr[i], rows.indptr[i + 1]
        b, b_end = rows.indptr[j], rows.indptr[j + 1]
        total = rows.data[:1].sum() * 0
        while a < a_end and b < b_end:
            if rows.indices[a] == rows.indices[b]:
                total += rows.data[a] * rows.data[b]
                a += 1
                b += 1
            elif rows.indices[a] < rows.indices[b]:
                a += 1
            else:
                b += 1
        return total

    return compressed


@kernel
def add_rows(rows: Any, r: Any, out: Any) -> None:
    """out += sum_i r_i times row i."""
    for i in range(r.size):
        row_add(rows, i, r[i], out)


@inner
def sum_of(values: Any) -> Any:
    """The sum of a row of numbers. As a part of its kernel: numba's own `.sum()` may stand by itself, with other
    bits (see `core.kernel.PART`).

    Examples
    --------
    >>> sum_of([1.0, 2.0, 3.5])
    6.5
    """
    total = 0.0
    for k in range(len(values)):
        total += values[k]
    return total
