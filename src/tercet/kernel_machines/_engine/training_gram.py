"""The Gram matrix of the training rows, in memory or computed in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.memory import available
from tercet.core.parallel import total
from tercet.kernel_machines._engine.cholesky import blocked_product
from tercet.kernels import FromFunction, Kernel, Precomputed, subtract_offset

IN_MEMORY = 8192  # rows whose Gram matrix (half a gigabyte) is kept; fixed, so that results are fixed, too
TILE = 256  # rows of a block of K that is computed, used and dropped: it stays in a core's cache


class TrainingGram:
    """K of the training rows: kept when it is small (or given), else computed in blocks for each product.

    Parameters
    ----------
    kernel, X : the resolved kernel, and the rows.
    in_memory : whether K is kept; by default when there are at most `IN_MEMORY` rows.
    offset : what is subtracted from the rows first (see `tercet.kernels.centring_offset`).
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        in_memory: bool | None = None,
        n_jobs: int | None = None,
        offset: np.ndarray | None = None,
    ) -> None:
        self.offset, X = offset, subtract_offset(offset, X)
        if kernel.takes == "gram" and not (kernel.holds_gram or isinstance(kernel, Precomputed)):
            kernel, X = Precomputed(), kernel(X)  # a multiple of the matrix that is given, say
        self.precomputed = kernel.takes == "gram" and not kernel.holds_gram
        if hasattr(X, "dtype") and X.dtype == np.float32:  # systems may be ill-conditioned
            X = X.astype(np.float64)
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.n = X.shape[0]
        # A kernel of the user's own checks its values itself.
        if kernel.takes == "vectors" and not isinstance(kernel, FromFunction):
            self._check_diagonal()
        in_memory = self.n <= IN_MEMORY if in_memory is None else in_memory
        if in_memory and self.n > IN_MEMORY and 16 * self.n**2 > available():
            raise MemoryError(
                f"The Gram matrix of {self.n} rows takes {8 * self.n**2 / 1e9:.1f} GB, and as much again to work "
                f"with; there are {available() / 1e9:.1f} GB."
            )
        self.K: np.ndarray | None = None
        if in_memory:  # a function or a matrix may give integers, or float32
            self.K = X if self.precomputed else np.asarray(kernel.gram(X, X, n_jobs=n_jobs), dtype=np.float64)

    def _check_diagonal(self) -> None:
        """Refuse rows whose K(x, x) overflows."""
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(self.kernel._diag(self.X))
        if not finite.all():
            raise ValueError(
                f"{self.kernel!r}: K(x, x) of row {int(finite.argmin())} is too large for a number; scale X down."
            )

    def intercept_shift(self, coef: np.ndarray) -> Any:
        """By how much the intercepts of the centred rows exceed those of the rows themselves, of shape (t,)."""
        return 0.0 if self.offset is None else coef.T @ self.X @ self.offset

    def times(self, V: np.ndarray) -> np.ndarray:
        """K V."""
        if self.K is not None:
            return blocked_product(self.K, V, self.n_jobs)
        if (
            self.kernel.takes != "vectors"
            or type(self.kernel).times is not Kernel.times
            or sparse.issparse(self.X)
        ):
            return self.kernel.times(self.X, self.X, V, n_jobs=self.n_jobs)
        rows, _ = self.kernel.prepare(self.X, self.X)
        cuts = [slice(k, min(k + TILE, self.n)) for k in range(0, self.n, TILE)]

        def upper_panel(k: int) -> np.ndarray:
            """The contribution of panel k of the upper triangle of K, and of its mirror image below."""
            out = np.zeros(V.shape)
            for there in cuts[k:]:
                tile = self.kernel.tile(rows[cuts[k]], rows[there])
                out[cuts[k]] += tile @ V[there]
                if there is not cuts[k]:
                    out[there] += tile.T @ V[cuts[k]]
            return out

        return total(upper_panel, range(len(cuts)), n_jobs=self.n_jobs)

    def submatrix(self, rows: np.ndarray) -> np.ndarray:
        """K of some rows with each other."""
        return self.kernel(self.X[rows]) if self.K is None else self.K[np.ix_(rows, rows)]

    def columns_times(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Some columns of K times V."""
        if self.K is None:
            return self.kernel.times(self.X, self.X[rows], V, n_jobs=self.n_jobs)
        return self.K[:, rows] @ V

    def pivoted_cholesky(self, rank: int) -> np.ndarray:
        """L of shape (n, rank) with L Lᵀ near K: the partial Cholesky factor with the largest residual as pivot."""
        residual = self.K.diagonal().copy() if self.K is not None else np.array(self.kernel.diag(self.X))
        enough = 1e-14 * residual.max(initial=0.0)
        L = np.zeros((min(rank, self.n), self.n))
        for k in range(len(L)):
            i = int(residual.argmax())
            if residual[i] <= enough:
                return L[:k].T
            row = np.array(self.columns_times(np.array([i]), np.ones(1)).ravel())
            L[k] = (row - L[:k, i] @ L[:k]) / np.sqrt(residual[i])
            residual = np.maximum(residual - L[k] ** 2, 0.0)
            residual[i] = 0.0
        return L.T
