"""Products with the centred, scaled and weighted rows of a table that is never copied as a whole.

The matrix is D (X - 1 m') S^-1: rows X, means m, scales S, square roots of the weights D. Dense rows are centred
chunk by chunk, so that a large mean cancels before it is multiplied; sparse rows stay sparse, and the product of
the means is taken off.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from tercet.core.parallel import Chunks, each, total
from tercet.core.sparse_products import Transposed, times

CHUNK_VALUES = 1 << 18  # values in a chunk, which stay in a core's own cache


class Scratch:
    """Memory for the centred rows of a chunk, one piece for each thread: fresh memory is dear at first touch."""

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self.shape, self.dtype, self.own = shape, dtype, threading.local()

    def __getstate__(self) -> dict[str, Any]:  # sent to another machine: without the memory
        return {"shape": self.shape, "dtype": self.dtype}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def minus(self, X: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """X - mean, valid until the thread asks again."""
        rows = len(X)
        found = getattr(self.own, "found", None)
        if found is None or len(found) < rows:
            found = self.own.found = np.empty((rows, self.shape[1]), self.dtype)
        return np.subtract(X, mean, out=found[:rows])


class CentredRows:
    """Rows minus their mean, over their scale, times the square root of their weight.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    mean, scale : arrays of shape (d,), optional
    root_weight : array of shape (n,), optional
    n_jobs : int, optional
        Threads; the bits do not depend on it.
    """

    def __init__(
        self, X: Any, mean: Any = None, scale: Any = None, root_weight: Any = None, n_jobs: int | None = None
    ) -> None:
        self.X, self.shape, self.dtype, self.n_jobs = X, X.shape, X.dtype, n_jobs
        self.mean, self.scale, self.root_weight = (
            None if part is None else np.asarray(part, dtype=X.dtype) for part in (mean, scale, root_weight)
        )
        self._by_columns: Transposed | None = None

    def times(self, B: np.ndarray) -> np.ndarray:
        """The matrix times B, of shape (n, p)."""
        B = np.asarray(B, dtype=self.dtype) if self.scale is None else B / self.scale[:, None]
        B = np.ascontiguousarray(B, dtype=self.dtype)
        out = np.empty((self.shape[0], B.shape[1]), dtype=self.dtype)
        chunks = Chunks(self.X, out, rows=self._chunk_rows())
        if sparse.issparse(self.X):
            each(_sparse_rows, chunks, B, n_jobs=self.n_jobs)
            if self.mean is not None:
                out -= self.mean @ B
        else:
            each(_dense_rows, chunks, B, self.mean, self._scratch(), n_jobs=self.n_jobs)
        if self.root_weight is not None:
            out *= self.root_weight[:, None]
        return out

    def transposed_times(self, B: np.ndarray) -> np.ndarray:
        """The transpose of the matrix times B, of shape (d, p)."""
        B = np.ascontiguousarray(B, dtype=self.dtype)
        if self.root_weight is not None:
            B = self.root_weight[:, None] * B
        if sparse.issparse(self.X):
            if self._by_columns is None:
                self._by_columns = Transposed(self.X, B.shape[1])
            out = np.empty((self.shape[1], B.shape[1]), dtype=self.dtype)
            self._by_columns.times(B, out, self.n_jobs)
            if self.mean is not None:
                out -= np.outer(self.mean, B.sum(axis=0))
        else:
            chunks = Chunks(self.X, B, rows=self._chunk_rows())
            out = total(_dense_columns, chunks, self.mean, self._scratch(), n_jobs=self.n_jobs)
        if self.scale is not None:
            out /= self.scale[:, None]
        return out

    def _scratch(self) -> Scratch:
        return Scratch(self.shape, self.dtype)

    def _chunk_rows(self) -> int | None:
        if sparse.issparse(self.X):
            return None
        return max(64, CHUNK_VALUES // self.shape[1] // 64 * 64)

    def operator(self) -> LinearOperator:
        """The same as SciPy's iterative solvers take it."""
        return LinearOperator(
            shape=self.shape,
            dtype=self.dtype,
            matvec=lambda b: self.times(np.reshape(b, (-1, 1)))[:, 0],
            rmatvec=lambda b: self.transposed_times(np.reshape(b, (-1, 1)))[:, 0],
            matmat=self.times,
            rmatmat=self.transposed_times,
        )


def _sparse_rows(chunk: tuple[Any, np.ndarray], B: np.ndarray) -> None:
    X, out = chunk
    out[:] = times(X, B)


def _dense_rows(chunk: tuple[Any, np.ndarray], B: np.ndarray, mean: Any, scratch: Scratch) -> None:
    X, out = chunk
    np.matmul(X if mean is None else scratch.minus(X, mean), B, out=out)


def _dense_columns(chunk: tuple[Any, np.ndarray], mean: Any, scratch: Scratch) -> np.ndarray:
    X, B = chunk
    return (X if mean is None else scratch.minus(X, mean)).T @ B
