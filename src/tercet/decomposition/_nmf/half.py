"""One half of a factorisation X ≈ AB': what an update of A needs of X and B, by rows of X.

The other half is the same with X', B and A. Rows are cut by the data alone and sums run in a fixed order, so that
the number of threads changes nothing; AB' is never there as a whole.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.cache_lines import LINE, lines
from tercet.core.parallel import each
from tercet.core.row_products import row_products
from tercet.core.rows import Sparse, rows
from tercet.core.scaling import largest
from tercet.core.sparse_products import multiply, multiply_lines
from tercet.decomposition._nmf.kernels import divergence_logs, divergence_products, products_at

CELLS = 1 << 18  # of X in a piece of work
GRAIN = 64
SMALL = 1e-6  # of the largest entry of a start: what is below becomes 0


class Half:
    """X ≈ AB' by rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        With 0 where a value is missing.
    missing : CSR matrix of shape (n, d), optional
        Its entries are the cells that are missing.
    n_jobs : int
        Threads.
    by_row : bool, default=False
        Whether each row must have the same bits whatever rows are beside it: no products by BLAS then.
    """

    def __init__(self, X: Any, missing: Any = None, n_jobs: int = 1, *, by_row: bool = False) -> None:
        self.X, self.missing, self.n_jobs, self.by_row = X, missing, n_jobs, by_row
        self.sparse = sparse.issparse(X)
        n, d = X.shape
        if self.sparse:
            pieces = max(1, min(X.nnz * 16 // CELLS, n // GRAIN))
            cuts = np.searchsorted(X.indptr, np.linspace(0, X.nnz, pieces + 1)[1:-1])
        else:
            step = max(GRAIN, CELLS // max(d, 1) // GRAIN * GRAIN)
            cuts = np.arange(step, n, step)
        self.borders = np.unique([0, *cuts, n]).tolist()
        self.spans = [slice(a, b) for a, b in itertools.pairwise(self.borders)]
        self.parts = [X[span] for span in self.spans] if self.sparse and len(self.spans) > 1 else [X]
        self.views = [rows(part) for part in self.parts] if self.sparse else []
        self.ratios: list[np.ndarray] = []  # room for those of the entries, once they are needed
        # far below what a cell of the largest size can feel, and far above where ratios overflow
        self.floor = float(largest(X)) * np.finfo(X.dtype).eps ** 2 or np.finfo(X.dtype).tiny
        self.squares = self._squares()
        self.total_square = float(self.squares.sum())
        self._listed()

    def _squares(self) -> np.ndarray:
        """Σ_j x_ij² of each row."""
        if self.sparse:
            squared = sparse.csr_array((self.X.data.astype(np.float64) ** 2, self.X.indices, self.X.indptr),
                                       shape=self.X.shape)  # fmt: skip
            return np.asarray(squared.sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)

    def _listed(self) -> None:
        """The cells that make the Gram matrices of rows: the missing or the known ones, whichever are fewer."""
        self.sign, listed = 0, sparse.csr_array((self.X.shape[0], self.X.shape[1]), dtype=np.int8)
        if self.missing is not None:
            self.sign, listed = -1, self.missing
            if not self.sparse and 2 * self.missing.nnz > self.X.size:
                self.sign, listed = 1, sparse.csr_array((self.missing.toarray() == 0).astype(np.int8))
        self.listed = listed
        self.indptr, self.indices = listed.indptr.astype(np.int64), listed.indices.astype(np.int64)

    def known(self, span: slice | None = None) -> np.ndarray | None:
        """Which cells of some rows are known, as an array; None where all are."""
        if self.missing is None:
            return None
        here = self.missing if span is None else self.missing[span]
        return here.toarray() == 0

    def some(self, which: np.ndarray) -> Half:
        """The same for some of the rows."""
        missing = None if self.missing is None else self.missing[which]
        return Half(self.X[which], missing, self.n_jobs, by_row=self.by_row)

    def each_span(self, task: Callable[..., Any], *given: Any) -> list[Any]:
        """`task(number, span, *given)` for each piece of the rows."""
        if len(self.spans) == 1:  # small tables: a pass must not cost more than its arithmetic
            return [task(0, self.spans[0], *given)]
        return each(_call, [(task, k, span) for k, span in enumerate(self.spans)], *given, n_jobs=self.n_jobs)

    def dot(self, X: Any, B: np.ndarray) -> np.ndarray:
        """XB for some rows."""
        return row_products(X, np.ascontiguousarray(B.T)) if self.by_row else np.dot(X, B)

    def products(self, B: np.ndarray) -> np.ndarray:
        """XB, of shape (n, k)."""
        if not self.sparse and len(self.spans) == 1:
            return self.dot(self.X, B.astype(self.X.dtype, copy=False))
        out = np.zeros((self.X.shape[0], B.shape[1]), dtype=self.X.dtype)
        B = np.ascontiguousarray(B, dtype=self.X.dtype)

        def piece(k: int, span: slice) -> None:
            if not self.sparse:
                out[span] = self.dot(self.X[span], B)
            elif B.shape[1] * B.itemsize < LINE:
                multiply(self.views[k], B, out[span])
            else:
                multiply_lines(self.views[k], B, out[span])

        self.each_span(piece)
        return out

    def listed_products(self, A: np.ndarray, B: np.ndarray) -> Any:
        """AB' at the listed cells, as a CSR matrix."""
        values = np.empty(self.indices.size, dtype=A.dtype)
        products_at(self.indptr, self.indices, np.ascontiguousarray(A), np.ascontiguousarray(B), values)
        return sparse.csr_array((values, self.indices, self.indptr), shape=self.X.shape)

    def terms(self, A: np.ndarray, B: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """Σ_j x_ij (AB')_ij^(beta-2) b_j and Σ_j (AB')_ij^(beta-1) b_j over the known cells of each row.

        Their difference is minus the gradient of the beta-divergence, their quotient the multiplicative rule.
        """
        if beta == 2:
            numerator = self.products(B)
            gram = np.dot(B.T, B) if self.sign <= 0 else np.zeros((B.shape[1],) * 2, B.dtype)
            denominator = self.dot(A, gram)
            if self.sign:
                denominator = denominator + self.sign * (self.listed_products(A, B) @ B)
            return numerator, denominator
        if beta == 1 and self.sparse:
            denominator = B.sum(axis=0)[None, :]
            if self.missing is not None:
                denominator = denominator - self.missing @ B
            return self._divergence_products(A, B), denominator
        numerator, denominator = np.empty(A.shape), np.empty(A.shape)
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
        sums = B.sum(axis=0)

        def piece(k: int, span: slice) -> None:
            X, fit, known = self._cells(k, span, A, B)
            if beta == 1:
                numerator[span] = self.dot(X / fit, B)  # 0 where X is missing
                denominator[span] = sums if known is None else self.dot(known.astype(np.float64), B)
                return
            ratio, power = X * fit ** (beta - 2), fit ** (beta - 1)
            if known is not None:
                power = power * known
            numerator[span], denominator[span] = self.dot(ratio, B), self.dot(power, B)

        self.each_span(piece)
        return numerator, denominator

    def _cells(self, k: int, span: slice, A: np.ndarray, B: np.ndarray) -> tuple[Any, Any, Any]:
        """Some rows of X and of AB' as arrays, the latter off zero, and which cells are known."""
        fit = np.maximum(self.dot(A[span], B.T), self.floor)
        return self.parts[k].toarray() if self.sparse else self.X[span], fit, self.known(span)

    def _divergence_products(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        a, b = padded(A), padded(B)
        self.ratios = self.ratios or [np.empty(part.nnz, A.dtype) for part in self.parts]
        out = lines(A.shape[0], A.shape[1], A.dtype)

        def piece(k: int, span: slice) -> None:
            X = self.views[k]
            assert isinstance(X, Sparse)
            room = Sparse(self.ratios[k], X.indices, X.indptr, X.n_columns)
            divergence_products(X, room, a[span], b, A.dtype.type(self.floor), out[span])

        self.each_span(piece)
        return out[:, : A.shape[1]]

    def row_losses(self, A: np.ndarray, B: np.ndarray, beta: float) -> np.ndarray:
        """The beta-divergence of each row from that of AB', over the known cells."""
        if self.sparse and beta == 2:
            gram, A64 = np.dot(B.T, B).astype(np.float64), A.astype(np.float64, copy=False)
            found = self.squares + ((self.dot(A64, gram) - 2.0 * self.products(B)) * A64).sum(axis=1)
            if self.sign:
                found += self.sign * np.asarray(self.listed_products(A, B).power(2).sum(axis=1)).ravel()
            return np.maximum(found, 0.0) / 2
        found = np.empty(A.shape[0])
        if self.sparse and beta == 1:
            a, b = padded(A), padded(B)

            def logs(k: int, span: slice) -> None:
                divergence_logs(self.views[k], a[span], b, A.dtype.type(self.floor), found[span])

            self.each_span(logs)
            found += A @ B.sum(axis=0, dtype=np.float64)
            if self.missing is not None:
                found -= ((self.missing @ B) * A).sum(axis=1)
            return found
        A, B = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)

        def piece(k: int, span: slice) -> None:
            if beta == 2:
                X, fit, known = self.X[span], self.dot(A[span], B.T), self.known(span)
            else:
                X, fit, known = self._cells(k, span, A, B)
            cells = divergences(X.astype(np.float64, copy=False), fit, beta)
            found[span] = (cells if known is None else cells * known).sum(axis=1)

        self.each_span(piece)
        return found

    def loss(self, A: np.ndarray, B: np.ndarray, beta: float) -> float:
        """The beta-divergence of X from AB' over the known cells."""
        return max(float(self.row_losses(A, B, beta).sum()), 0.0)


def divergences(X: Any, Z: Any, beta: float) -> Any:
    """The beta-divergence of each cell of X from that of Z; 0 log 0 is 0."""
    if beta == 2:
        return (X - Z) ** 2 / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        if beta == 1:
            return np.where(X > 0, X * np.log(np.where(X > 0, X, 1.0) / Z) - X, 0.0) + Z
        if beta == 0:
            return X / Z - np.log(X / Z) - 1
        return (X**beta + (beta - 1) * Z**beta - beta * X * Z ** (beta - 1)) / (beta * (beta - 1))


def padded(A: np.ndarray) -> np.ndarray:
    """A with columns of zeros up to whole cache lines."""
    out = lines(A.shape[0], A.shape[1], A.dtype)
    out[:, : A.shape[1]] = A
    return out


def _call(piece: tuple[Callable[..., Any], int, slice], *given: Any) -> Any:
    task, k, span = piece
    return task(k, span, *given)


def halves(X: Any, n_jobs: int) -> tuple[Half, Half]:
    """Both halves of a table: by rows and by columns."""
    filled, missing = split_missing(X)
    across = filled.T.tocsr() if sparse.issparse(filled) else filled.T
    by_rows = Half(filled, missing, n_jobs)
    return by_rows, Half(across, None if missing is None else missing.T.tocsr(), n_jobs)


def split_missing(X: Any) -> tuple[Any, Any]:
    """X with 0 in the place of NaN, and the cells of NaN as a CSR matrix; None where there is none."""
    if sparse.issparse(X):
        gone = np.isnan(X.data)
        if not gone.any():
            return X, None
        filled = X.copy()
        filled.data[gone] = 0
        parts = gone.astype(np.int8), X.indices.copy(), X.indptr.copy()
        missing = sparse.csr_array(parts, shape=X.shape)
        missing.eliminate_zeros()  # in place
        return filled, missing
    gone = np.isnan(X)
    if not gone.any():
        return X, None
    return np.where(gone, X.dtype.type(0), X), sparse.csr_array(gone.astype(np.int8))
