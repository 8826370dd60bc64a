"""Where a block method gets the Gram matrix from: blocks of it, and sums of its rows.

Each kind has `diag`, `block(rows)` = K of some rows with each other, `add(F, rows, coef, keep, held)`, which is
F += sum of coef_j K_j, `noise()`, the standard deviation of what rounding has done to F, and
`settle(F, beta, rest)`, which makes that good down to a noise of `rest`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each
from tercet.kernels import Gaussian, Kernel, Linear, Precomputed
from tercet.svm.gaussian_rows import GaussianRows, reach
from tercet.svm.row_cache import RowCache

WHOLE = 2048  # up to so many rows the Gram matrix is kept whole
REACH = 200.0  # gamma |x|² up to which distances in float32 will do
SAMPLE = 64  # rows that show what float32 does to a kernel
BLUR = 1e-6  # of the largest entry: a kernel that loses more is not for float32


def gram_rows(kernel: Kernel, X: Any, *, fine: bool, cache_bytes: float, n_jobs: int | None) -> Any:
    """The kind that suits a kernel and its rows; `fine` asks for float64 throughout."""
    n = X.shape[0]
    if n <= WHOLE:
        return Whole(
            X if isinstance(kernel, Precomputed) and np.ndim(X) == 2 else kernel.gram(X, X, n_jobs=n_jobs)
        )
    if isinstance(kernel, Precomputed):
        return Given(X) if kernel.matrix is None else Given(kernel.matrix, X)
    if getattr(X, "dtype", None) == np.float32:  # sums that are to be exact need more
        X = X.astype(np.float64)
    if type(kernel) is Linear:
        return Plane(X, n_jobs)
    quick = type(kernel) is Gaussian and isinstance(X, np.ndarray) and not fine
    if quick and reach(X, kernel.rate) <= REACH:
        return GaussianRows(kernel, X, cache_bytes, n_jobs)
    return KeptRows(kernel, X, fine, cache_bytes, n_jobs)


class Given:
    """A Gram matrix that is there, or some of its rows and columns."""

    def __init__(self, gram: np.ndarray, names: np.ndarray | None = None) -> None:
        self.gram = gram
        every = names is None or np.array_equal(names, np.arange(gram.shape[0]))
        self.names = None if every else names
        self.diag = gram.diagonal().astype(np.float64) if every else gram[names, names].astype(np.float64)

    def block(self, rows: np.ndarray) -> np.ndarray:
        rows = rows if self.names is None else self.names[rows]
        return self.gram[np.ix_(rows, rows)].astype(np.float64)

    def add(
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: Any = None, held: Any = None
    ) -> None:
        for start in range(0, rows.size, 256):
            part = slice(start, start + 256)
            if self.names is None:
                F += coef[part] @ self.gram[rows[part]]
            else:
                F += (coef[part] @ self.gram[self.names[rows[part]]])[self.names]

    def noise(self) -> float:
        return 0.0

    def settle(self, F: np.ndarray, beta: np.ndarray, rest: float) -> None:
        F[:] = 0.0
        rows = np.flatnonzero(beta)
        self.add(F, rows, beta[rows])


class Whole(Given):
    """A small Gram matrix, made at once."""

    def __init__(self, gram: np.ndarray) -> None:
        super().__init__(np.ascontiguousarray(gram, dtype=np.float64))

    def settle(self, F: np.ndarray, beta: np.ndarray, rest: float) -> None:
        F[:] = self.gram @ beta


class Plane:
    """The linear kernel: F = X w, and w is short."""

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
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: Any = None, held: Any = None
    ) -> None:
        w = self.X[rows].T @ coef
        parts = each(lambda chunk: chunk[0] @ w, self.chunks, n_jobs=self.n_jobs)
        F += np.concatenate(parts)

    def noise(self) -> float:
        return 0.0

    def settle(self, F: np.ndarray, beta: np.ndarray, rest: float) -> None:
        F[:] = 0.0
        rows = np.flatnonzero(beta)
        self.add(F, rows, beta[rows])


class KeptRows:
    """Rows of any kernel, kept for later while there is room."""

    def __init__(self, kernel: Kernel, X: Any, fine: bool, cache_bytes: float, n_jobs: int | None) -> None:
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.diag = np.asarray(kernel.diag(X), dtype=np.float64)
        size = float(np.abs(self.diag).max(initial=0.0))
        self.blur = 0.0 if fine else max(6e-8 * size, rounding(kernel, X, size))
        fine = fine or self.blur > BLUR * size
        self.dtype = np.float64 if fine else np.float32
        floats = getattr(X, "dtype", None) == np.float64
        self.rows = X.astype(self.dtype) if floats and not fine else X
        n = X.shape[0]
        self.cache = RowCache(n, int(cache_bytes // (n * np.dtype(self.dtype).itemsize)), self.dtype)
        self.owed = np.zeros(n)

    def block(self, rows: np.ndarray) -> np.ndarray:
        part = self.rows[rows]
        return self.kernel.gram(part, part, n_jobs=self.n_jobs).astype(np.float64, copy=False)

    def add(
        self, F: np.ndarray, rows: np.ndarray, coef: np.ndarray, keep: np.ndarray, held: np.ndarray
    ) -> None:
        slots = self.cache.find(rows)
        known = slots >= 0
        for start in range(0, int(known.sum()), 64):
            part = slice(start, start + 64)
            F += coef[known][part] @ self.cache.rows[slots[known][part]]
        fresh, wanted = rows[~known], keep[~known]
        places = np.full(fresh.size, -1, dtype=np.int64)
        places[wanted] = self.cache.place(fresh[wanted], held)
        most = max(8, int(2**25 // F.size))
        for start in range(0, fresh.size, most):
            part = slice(start, start + most)
            K = self.kernel.gram(self.rows[fresh[part]], self.rows, n_jobs=self.n_jobs)
            F += coef[~known][part] @ K
            stored = places[part] >= 0
            self.cache.rows[places[part][stored]] = K[stored]
        self.owed[rows] += coef

    def noise(self) -> float:
        if self.dtype == np.float64:
            return 0.0
        return self.blur * float(np.linalg.norm(self.owed))

    def settle(self, F: np.ndarray, beta: np.ndarray, rest: float) -> None:
        rows = np.flatnonzero(beta)
        F[:] = self.kernel.times(self.X, self.X[rows], beta[rows], n_jobs=self.n_jobs)
        self.owed[:] = 0.0


def rounding(kernel: Kernel, X: Any, size: float) -> float:
    """What float32 does to entries of a Gram matrix of this size: its root mean square over a sample of rows.

    Rows far from 0 and near to each other lose what tells them apart; so it is measured. Infinite where numbers
    do not fit.
    """
    if getattr(X, "dtype", None) != np.float64:
        return 0.0
    largest = abs(X).max() if X.shape[1] else 0.0
    if size > 1e30 or largest > 1e15:
        return np.inf
    some = X[np.linspace(0, X.shape[0] - 1, SAMPLE).astype(np.intp)]
    rough = some.astype(np.float32)
    return float(np.sqrt(np.mean((kernel.gram(rough, rough) - kernel.gram(some, some)) ** 2)))
