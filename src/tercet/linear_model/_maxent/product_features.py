"""Features f(x, y) = x_j [y = k] of a matrix X, and their sums over chunks of contexts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.cache_lines import lines
from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, total
from tercet.core.rows import columns, read_only, rows
from tercet.core.sparse_products import multiply_lines, times
from tercet.core.streams import holds_sparse, is_streamed

LARGE = 100_000  # entries of X from which Hessian-vector products in float32 pay
SMALL = 1e6  # products of numbers from here on may leave the range of float32


class ProductFeatures:
    """f(x, y) = x_j [y = k] for all columns j and labels k, or only for some pairs of them.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_columns)
        Float64.
    n_labels : int
    seen : boolean array of shape (n_columns, n_labels), optional
        The pairs that have a weight.
    n_jobs : int, optional
        Threads; the results do not depend on it.
    """

    def __init__(
        self, X: Any, n_labels: int, seen: np.ndarray | None = None, n_jobs: int | None = None
    ) -> None:
        self.X, self.n_labels, self.n_jobs = X, n_labels, n_jobs
        self.seen = None if seen is None or seen.all() else np.flatnonzero(seen)
        self.size = X.shape[1] * n_labels if self.seen is None else self.seen.size
        self._chunks: list[ContextChunk] | None = None
        self._streamed: Any = None  # chunks of streamed contexts, and the table of the last statistics
        self._padded: dict[Any, np.ndarray] = {}
        self._coarse: Any = np.float64

    def context_weight(self, weight: np.ndarray) -> np.ndarray:
        return weight

    def empirical(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.pick(label_sums(self.X, y, weight, self.n_labels, self.n_jobs))

    def table(self, w: np.ndarray) -> np.ndarray:
        """The weights as an array of shape (n_columns, n_labels), 0 for pairs that have none."""
        if self.seen is None:
            return w.reshape(-1, self.n_labels)
        full = np.zeros(self.X.shape[1] * self.n_labels)
        full[self.seen] = w
        return full.reshape(-1, self.n_labels)

    def pick(self, table: np.ndarray) -> np.ndarray:
        """The inverse of `table`."""
        table = np.array(table[:, : self.n_labels], dtype=np.float64, order="C")
        return table.ravel() if self.seen is None else table.ravel()[self.seen]

    def scores(self, w: np.ndarray) -> np.ndarray:
        return times(self.X, self.table(w)) if sparse.issparse(self.X) else self.X @ self.table(w)

    def statistics(self, w: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        if is_streamed(self.X):
            self._streamed = Chunks(self.X, weight), self.table(w)
            chunks, table = self._streamed
            log_z, expected = total(_streamed_statistics, chunks, table, n_jobs=self.n_jobs)
            return float(log_z), self.pick(expected)
        if self._chunks is None:
            self._chunks = self._context_chunks(weight)
        log_z, expected = self._total(ContextChunk.statistics, w, np.float64)
        return float(log_z), self.pick(expected)

    def hessian_product(self, v: np.ndarray) -> np.ndarray:
        if is_streamed(self.X):
            chunks, table = self._streamed
            return self.pick(total(_streamed_product, chunks, table, self.table(v), n_jobs=self.n_jobs))
        assert self._chunks is not None
        return self.pick(self._total(ContextChunk.hessian_product, v, self._coarse))

    def _total(self, statistic: Callable, w: np.ndarray, dtype: Any) -> Any:
        assert self._chunks is not None
        table = self.table(w)
        if sparse.issparse(self.X):
            if dtype not in self._padded:
                self._padded[dtype] = lines(len(table), self.n_labels, dtype)
            self._padded[dtype][:, : self.n_labels] = table
            table = self._padded[dtype]
        if len(self._chunks) == 1:  # nothing to add up
            return statistic(self._chunks[0], table)
        return total(statistic, self._chunks, table, n_jobs=self.n_jobs)

    def _context_chunks(self, weight: np.ndarray) -> list[ContextChunk]:
        chunks = Chunks(self.X, weight)
        if sparse.issparse(self.X):
            # each chunk fills and adds a table of sums: their number is bounded by the entries of X
            most = max(1, self.X.nnz // (4 * max(1, self.size)))
            if len(chunks) > most:
                chunks = Chunks(self.X, weight, rows=-(-self.X.shape[0] // most))
            if self.X.nnz >= LARGE and np.abs(self.X.data).max(initial=0.0) < SMALL:
                self._coarse = np.float32
        return [ContextChunk(X, part, self.n_labels, self._coarse) for X, part in chunks]

    def matrix(self) -> sparse.csr_array:
        F = sparse.kron(sparse.csr_array(self.X), sparse.eye_array(self.n_labels), format="csr")
        return F if self.seen is None else F[:, self.seen]


def label_sums(
    X: Any, y: np.ndarray, weight: np.ndarray, n_labels: int, n_jobs: int | None = None, sizes: bool = False
) -> np.ndarray:
    """Sums of weight x_j over the rows with each label, an array of shape (n_columns, n_labels).

    With `sizes`, sums of weight |x_j|.
    """
    if not holds_sparse(X) or is_streamed(X):
        return total(_label_sums, Chunks(X, y, weight), n_labels, sizes, n_jobs=n_jobs)
    return _label_sums((X, y, weight), n_labels, sizes)


def _label_sums(chunk: Any, n_labels: int, sizes: bool) -> np.ndarray:
    X, y, weight = chunk
    X = abs(X) if sizes else X
    if not sparse.issparse(X):
        shown = np.zeros((y.size, n_labels))
        shown[np.arange(y.size), y] = weight
        return X.T @ shown
    table = np.zeros((X.shape[1], n_labels))
    scatter(rows(X), y, weight, table)
    return table


class ContextChunk:
    """A chunk of contexts with their weights, and P(x) P(y|x) at the point of the last statistics.

    Sparse rows are kept by rows and by columns, so that both products write their sums in order. Hessian-vector
    products may use a second copy in the dtype `coarse`: they decide how far a step goes, not where the fit ends,
    and half the bytes take half the time.
    """

    def __init__(self, X: Any, weight: np.ndarray, n_labels: int, coarse: Any) -> None:
        self.weight, self.n_labels, self.sparse = weight, n_labels, sparse.issparse(X)
        parts: Any = (rows(X), columns(X)) if self.sparse else (X, X.T)
        self.exact = self.rounded = parts
        if coarse is not np.float64:
            self.rounded = [part._replace(data=read_only(part.data.astype(coarse))) for part in parts]
        n, d = X.shape
        self.top, self.joint, self.rough_joint = np.empty(n), self._buffer(n), self._buffer(n, coarse)
        self.expected = self._buffer(d)
        self.directional, self.product = self._buffer(n, coarse), self._buffer(d, coarse)

    def statistics(self, W: np.ndarray) -> tuple[float, np.ndarray]:
        """sum_x P(x) log Z(x), and sum_x P(x) P(y|x) x_j."""
        by_row, by_column = self.exact
        scores = self._product(by_row, W, self.joint)
        subtract_row_maxima(scores, self.n_labels, self.top)
        np.exp(scores, out=scores)
        log_z = normalise(scores, self.top, self.weight)
        self.rough_joint[:, : self.n_labels] = scores[:, : self.n_labels]
        return log_z, self._product(by_column, scores, self.expected)

    def hessian_product(self, V: np.ndarray) -> np.ndarray:
        """sum_x P(x) Cov(x_j [y = k], f·V | x)."""
        by_row, by_column = self.rounded
        along = self._product(by_row, V, self.directional)
        centre_scores(along, self.rough_joint, self.weight)
        return self._product(by_column, along, self.product)

    def _buffer(self, n: int, dtype: Any = np.float64) -> np.ndarray:
        return lines(n, self.n_labels, dtype) if self.sparse else np.empty((n, self.n_labels))

    def _product(self, X: Any, table: np.ndarray, out: np.ndarray) -> np.ndarray:
        if self.sparse:
            multiply_lines(X, table, out)
            return out
        return np.matmul(X, table, out=out)


def _streamed_statistics(chunk: Any, W: np.ndarray) -> tuple[float, np.ndarray]:
    """`ContextChunk.statistics` of contexts that are not kept."""
    contexts, table = _contexts(chunk, W)
    log_z, expected = contexts.statistics(table)
    return log_z, expected[:, : W.shape[1]]


def _streamed_product(chunk: Any, W: np.ndarray, V: np.ndarray) -> np.ndarray:
    """`ContextChunk.hessian_product` at the weights W, of contexts that are not kept."""
    contexts, table = _contexts(chunk, W)
    contexts.statistics(table)
    return contexts.hessian_product(_padded(V, contexts.sparse))[:, : W.shape[1]]


def _contexts(chunk: Any, W: np.ndarray) -> tuple[ContextChunk, np.ndarray]:
    X, weight = chunk
    contexts = ContextChunk(X, weight, W.shape[1], np.float64)
    return contexts, _padded(W, contexts.sparse)


def _padded(table: np.ndarray, is_sparse: bool) -> np.ndarray:
    """A table with the rows that products of sparse matrices take."""
    if not is_sparse:
        return table
    padded = lines(len(table), table.shape[1], np.float64)
    padded[:, : table.shape[1]] = table
    return padded


@kernel
def scatter(rows, label, weight, table):
    """Add each row, times its weight, to the table's column of its label."""
    for i in range(label.size):
        k = label[i]
        for s in range(rows.indptr[i], rows.indptr[i + 1]):
            table[rows.indices[s], k] += weight[i] * rows.data[s]


@kernel
def subtract_row_maxima(scores, n_labels, top):
    """Subtract from each row its maximum, kept in `top`; the padding columns get a score of -inf."""
    for i in range(top.size):
        row = scores[i]
        high = row[0]
        for k in range(1, n_labels):
            high = max(high, row[k])
        for k in range(n_labels):
            row[k] -= high
        for k in range(n_labels, row.size):
            row[k] = -np.inf
        top[i] = high


@kernel
def normalise(scores, top, weight):
    """Turn exp(scores - top) into P(x) P(y|x) in place; returns sum_x P(x) log Z(x)."""
    value = 0.0
    for i in range(top.size):
        row = scores[i]
        z = 0.0
        for k in range(row.size):
            z += row[k]
        value += weight[i] * (np.log(z) + top[i])
        share = weight[i] / z
        for k in range(row.size):
            row[k] *= share
    return value


@kernel
def centre_scores(along, joint, weight):
    """Turn directional scores into P(x) P(y|x) times their deviations from the mean under P(y|x), in place."""
    for i in range(weight.size):
        row, p = along[i], joint[i]
        mean = row[0] * 0
        for k in range(row.size):
            mean += p[k] * row[k]
        mean = mean / row.dtype.type(weight[i]) if weight[i] > 0 else mean * 0
        for k in range(row.size):
            row[k] = p[k] * (row[k] - mean)
