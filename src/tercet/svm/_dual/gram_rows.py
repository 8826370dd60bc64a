"""Access to the Gram matrix for the block-coordinate dual solver: blocks of it, and sums of its rows.

Each class has `diag`, `block(rows)` = K of some rows with each other, `add(F, rows, coef, keep, pinned)`, which is
F += sum of coef_j K_j, `rounding_error()`, the standard deviation of the rounding error of F, and
`correct(F, beta, error)`, which recomputes F = K beta until that is at most `error`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each
from tercet.kernels import Gaussian, Kernel, Linear, Precomputed
from tercet.svm._dual.gaussian_rows import GaussianRows, largest_exponent
from tercet.svm._dual.row_cache import RowCache

FULL_GRAM_ROWS = 2048  # up to so many rows the full Gram matrix is computed
MAX_EXPONENT = 200.0  # gamma |x|² up to which distances in float32 are exact enough
SAMPLE = 64  # rows from which the rounding error of float32 is estimated
MAX_ERROR = 1e-6  # of float32, relative to the largest entry; a kernel that loses more is computed in float64


def gram_rows(kernel: Kernel, X: Any, *, fine: bool, cache_bytes: float, n_jobs: int | None) -> Any:
    """The class that suits a kernel and its rows; `fine` asks for float64 throughout."""
    n = X.shape[0]
    if n <= FULL_GRAM_ROWS:
        return FullGram(
            X if isinstance(kernel, Precomputed) and np.ndim(X) == 2 else kernel.gram(X, X, n_jobs=n_jobs)
        )
    if isinstance(kernel, Precomputed):
        return GivenGram(X) if kernel.matrix is None else GivenGram(kernel.matrix, X)
    if getattr(X, "dtype", None) == np.float32:  # sums that are to be exact need more
        X = X.astype(np.float64)
    if type(kernel) is Linear:
        return LinearGram(X, n_jobs)
    quick = type(kernel) is Gaussian and isinstance(X, np.ndarray) and not fine
    if quick and largest_exponent(X, kernel.rate) <= MAX_EXPONENT:
        return GaussianRows(kernel, X, cache_bytes, n_jobs)
    return CachedRows(kernel, X, fine, cache_bytes, n_jobs)


class GivenGram:
    """A precomputed Gram matrix, or some of its rows and columns."""

    def __init__(self, gram: np.ndarray, indices: np.ndarray | None = None) -> None:
        self.gram = gram
        every = indices is None or np.array_equal(indices, np.arange(gram.shape[0]))
        self.indices = None if every else indices
        self.diag = gram.diagonal().astype(np.float64) if every else gram[indices, indices].astype(np.float64)

    def block(self, rows: np.ndarray) -> np.ndarray:
        rows = rows if self.indices is None else self.indices[rows]
        return self.gram[np.ix_(rows, rows)].astype(np.float64)

    def add(
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: Any = None, pinned: Any = None
    ) -> None:
        for start in range(0, rows.size, 256):
            part = slice(start, start + 256)
            if self.indices is None:
                F += coef[part] @ self.gram[rows[part]]
            else:
                F += (coef[part] @ self.gram[self.indices[rows[part]]])[self.indices]

    def rounding_error(self) -> float:
        return 0.0

    def correct(self, F: np.ndarray, beta: np.ndarray, error: float) -> None:
        F[:] = 0.0
        rows = np.flatnonzero(beta)
        self.add(F, rows, beta[rows])


class FullGram(GivenGram):
    """The full Gram matrix of few rows."""

    def __init__(self, gram: np.ndarray) -> None:
        super().__init__(np.ascontiguousarray(gram, dtype=np.float64))

    def correct(self, F: np.ndarray, beta: np.ndarray, error: float) -> None:
        F[:] = self.gram @ beta


class LinearGram:
    """The linear kernel: F = X w with w = X'beta, of shape (n_features,)."""

    def __init__(self, X: Any, n_jobs: int | None) -> None:
        self.X = X.astype(np.float64, copy=False)
        self.n_jobs = n_jobs
        self.diag = np.asarray(
            (self.X.multiply(self.X) if sparse.issparse(X) else self.X**2).sum(axis=1)
        ).reshape(-1)
        self.chunks = Chunks(self.X)

    def block(self, rows: np.ndarray) -> np.ndarray:
        part = self.X[rows]
        product = part @ part.T
        return product.toarray() if sparse.issparse(product) else product

    def add(
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: Any = None, pinned: Any = None
    ) -> None:
        w = self.X[rows].T @ coef
        parts = each(lambda chunk: chunk[0] @ w, self.chunks, n_jobs=self.n_jobs)
        F += np.concatenate(parts)

    def rounding_error(self) -> float:
        return 0.0

    def correct(self, F: np.ndarray, beta: np.ndarray, error: float) -> None:
        F[:] = 0.0
        rows = np.flatnonzero(beta)
        self.add(F, rows, beta[rows])


class CachedRows:
    """Rows of any kernel, with a cache."""

    def __init__(self, kernel: Kernel, X: Any, fine: bool, cache_bytes: float, n_jobs: int | None) -> None:
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.diag = np.asarray(kernel.diag(X), dtype=np.float64)
        size = float(np.abs(self.diag).max(initial=0.0))
        self.float32_error = 0.0 if fine else max(6e-8 * size, float32_error(kernel, X, size))
        fine = fine or self.float32_error > MAX_ERROR * size
        self.dtype = np.float64 if fine else np.float32
        floats = getattr(X, "dtype", None) == np.float64
        self.rows = X.astype(self.dtype) if floats and not fine else X
        n = X.shape[0]
        self.cache = RowCache(n, int(cache_bytes // (n * np.dtype(self.dtype).itemsize)), self.dtype)
        self.float32_coef = np.zeros(n)

    def block(self, rows: np.ndarray) -> np.ndarray:
        part = self.rows[rows]
        return self.kernel.gram(part, part, n_jobs=self.n_jobs).astype(np.float64, copy=False)

    def add(
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: np.ndarray, pinned: np.ndarray
    ) -> None:
        slots = self.cache.find(rows)
        known = slots >= 0
        for start in range(0, int(known.sum()), 64):
            part = slice(start, start + 64)
            F += coef[known][part] @ self.cache.rows[slots[known][part]]
        fresh, wanted = rows[~known], keep[~known]
        places = np.full(fresh.size, -1, dtype=np.int64)
        places[wanted] = self.cache.allocate(fresh[wanted], pinned)
        most = max(8, int(2**25 // F.size))
        for start in range(0, fresh.size, most):
            part = slice(start, start + most)
            K = self.kernel.gram(self.rows[fresh[part]], self.rows, n_jobs=self.n_jobs)
            F += coef[~known][part] @ K
            stored = places[part] >= 0
            self.cache.rows[places[part][stored]] = K[stored]
        self.float32_coef[rows] += coef

    def rounding_error(self) -> float:
        if self.dtype == np.float64:
            return 0.0
        return self.float32_error * float(np.linalg.norm(self.float32_coef))

    def correct(self, F: np.ndarray, beta: np.ndarray, error: float) -> None:
        rows = np.flatnonzero(beta)
        F[:] = self.kernel.times(self.X, self.X[rows], beta[rows], n_jobs=self.n_jobs)
        self.float32_coef[:] = 0.0


def float32_error(kernel: Kernel, X: Any, size: float) -> float:
    """Root mean square error of a Gram matrix in float32, over a sample of rows; `size` is its largest entry.

    It is measured because rows far from 0 and near to each other cancel. Infinite where numbers overflow.
    """
    if getattr(X, "dtype", None) != np.float64:
        return 0.0
    largest = abs(X).max() if X.shape[1] else 0.0
    if size > 1e30 or largest > 1e15:
        return np.inf
    some = X[np.linspace(0, X.shape[0] - 1, SAMPLE).astype(np.intp)]
    rough = some.astype(np.float32)
    return float(np.sqrt(np.mean((kernel.gram(rough, rough) - kernel.gram(some, some)) ** 2)))
