"""Products of a sparse matrix with tables of a few columns.

Plain loops over a few columns are slow: the sums go to memory and back with every entry. `combine` keeps
them in a vector register, a cache line of the table at a time.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tercet.core.cache_lines import LINE, get_line, no_line, plus_line, set_line
from tercet.core.kernel import implement, kernel, verb
from tercet.core.parallel import each
from tercet.core.rows import Sparse, rows

WORK = 1_000_000  # products in a piece of work for one thread


class Transposed:
    """X' of a CSR matrix, for X'R: a second copy, by columns, so that threads do not share sums.

    Parameters
    ----------
    X : CSR matrix of shape (n, d)
    width : int
        Columns that R will have.

    Examples
    --------
    >>> from scipy import sparse
    >>> X = sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    >>> out = np.empty((3, 2))
    >>> Transposed(X, 2).times(np.array([[1.0, 2.0], [3.0, 4.0]]), out)
    >>> out
    array([[ 1.,  2.], [ 9., 12.], [ 2.,  4.]])
    """

    def __init__(self, X: Any, width: int) -> None:
        T = X.T.tocsr()
        pieces = min(1 + T.nnz * width // WORK, T.shape[0])
        # the heavy columns of a text come first: equal shares of the entries, not of the columns
        cuts = np.searchsorted(T.indptr, np.linspace(0, T.nnz, pieces + 1)[1:-1])
        borders = np.unique([0, *cuts, T.shape[0]])
        self.parts = [(T[first:last], slice(first, last)) for first, last in itertools.pairwise(borders)]

    def times(self, R: np.ndarray, out: np.ndarray, n_jobs: int | None = None) -> None:
        """out = X'R."""
        R = np.ascontiguousarray(R)
        blocks = each(_block, self.parts, R, n_jobs=n_jobs)
        for (_, place), block in zip(self.parts, blocks):
            out[place] = block


def _block(part: tuple[Any, slice], R: np.ndarray) -> np.ndarray:
    return times(part[0], R)


def times(X: Any, W: np.ndarray) -> np.ndarray:
    """XW for a CSR matrix."""
    dtype = np.result_type(X.dtype, W.dtype)
    out = np.zeros((X.shape[0], W.shape[1]), dtype=dtype)
    if W.shape[1] * dtype.itemsize < LINE:
        multiply(rows(X), np.ascontiguousarray(W), out)
    else:
        multiply_lines(rows(X.astype(dtype, copy=False)), np.ascontiguousarray(W, dtype=dtype), out)
    return out


@kernel
def multiply(X: Any, W: Any, out: Any) -> None:
    """out += XW, four entries of a row at a time: each touches the sums once."""
    for i in range(out.shape[0]):
        x = X.data[X.indptr[i] : X.indptr[i + 1]]
        at = X.indices[X.indptr[i] : X.indptr[i + 1]]
        z = out[i]
        whole = x.size // 4 * 4
        for s in range(0, whole, 4):
            x0, x1, x2, x3 = x[s], x[s + 1], x[s + 2], x[s + 3]
            w0, w1 = W[np.uint64(at[s])], W[np.uint64(at[s + 1])]
            w2, w3 = W[np.uint64(at[s + 2])], W[np.uint64(at[s + 3])]
            for k in range(z.size):
                z[k] += x0 * w0[k] + x1 * w1[k] + x2 * w2[k] + x3 * w3[k]
        for s in range(whole, x.size):
            w = W[np.uint64(at[s])]
            for k in range(z.size):
                z[k] += x[s] * w[k]


@kernel
def multiply_lines(X: Any, W: Any, out: Any) -> None:
    """out = XW, for tables of at least a cache line."""
    for i in range(out.shape[0]):
        combine(X, i, W, out, i)


@verb
def combine(X: Sparse, i: int, W: np.ndarray, Z: np.ndarray, place: int) -> None:
    """Z[place] = row i of X times W. All are of one dtype, the rows of W at least a cache line."""
    s = slice(X.indptr[i], X.indptr[i + 1])
    Z[place] = X.data[s] @ W[X.indices[s]]


# The compiled form. A vector as long as a cache line is one register of some processors, two or four of others.
# Three of them at a time, as an entry then waits for its row of W once, not three times. Indices are unsigned, as
# one with a sign is tested at every step.


@implement(combine)
def _combine(X: Any, i: Any, W: Any, Z: Any, place: Any) -> Any:
    def by_lines(X: Any, i: Any, W: Any, Z: Any, place: Any) -> None:
        width, step = np.uint64(W.shape[1]), np.uint64(LINE // W.itemsize)
        first, end, last = np.uint64(X.indptr[i]), np.uint64(X.indptr[i + 1]), width - step
        for line in range(np.uint64(0), width, np.uint64(3) * step):
            # the last lines may begin within the one before, and then do some columns again
            k: Any = min(line, last)
            k1: Any = min(line + step, last)
            k2: Any = min(line + step + step, last)
            row = np.uint64(place) * width
            a = no_line(W)
            if k == last:
                for s in range(first, end):
                    a = plus_line(a, X.data[s], get_line(W, np.uint64(X.indices[s]) * width + k))
            else:
                b, c = no_line(W), no_line(W)
                for s in range(first, end):
                    at, x = np.uint64(X.indices[s]) * width, X.data[s]
                    a = plus_line(a, x, get_line(W, at + k))
                    b = plus_line(b, x, get_line(W, at + k1))
                    c = plus_line(c, x, get_line(W, at + k2))
                set_line(Z, row + k1, b)
                set_line(Z, row + k2, c)
            set_line(Z, row + k, a)

    return by_lines
