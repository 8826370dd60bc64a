"""The systems of equations behind kernel machines.

Least squares in the space of a kernel, with weights d² of the rows, a penalty mu and offsets b that are free of
it, comes down to

    B u + E b = r,  Eᵀu = 0,     B = D K D + mu I

and so does each Newton step of a logistic loss. `Factor` solves it by Cholesky's factorisation of B;
`tercet.optimize.conjugate_gradient` by products with K alone, which need not be in memory.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, sparse

from tercet.core.memory import available
from tercet.core.parallel import each, total
from tercet.kernels import FromFunction, Kernel, Precomputed, subtract_offset

WHOLE = 8192  # rows whose Gram matrix (half a gigabyte) is kept; fixed, so that results are fixed, too
TILE = 256  # rows of a block of K that is made, used and forgotten: it stays in a core's cache
PANEL = 512  # columns that are eliminated at once: Ctrl-C is answered between panels
RANK, ROOM = 512, 1 << 24  # columns of the factor that preconditions, and numbers in it


class Gram:
    """K of the training rows: kept when it is small (or given), else made in blocks, again for each product."""

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        whole: bool,
        n_jobs: int | None = None,
        near: np.ndarray | None = None,
    ) -> None:
        self.near, X = near, subtract_offset(near, X)
        if kernel.takes == "gram" and not (kernel.holds_gram or isinstance(kernel, Precomputed)):
            kernel, X = Precomputed(), kernel(X)  # a multiple of the matrix that is given, say
        self.given = kernel.takes == "gram" and not kernel.holds_gram
        if hasattr(X, "dtype") and X.dtype == np.float32:  # systems may be ill-conditioned
            X = X.astype(np.float64)
        self.kernel, self.X, self.n_jobs = kernel, X, n_jobs
        self.n = X.shape[0]
        if kernel.takes == "vectors" and not isinstance(
            kernel, FromFunction
        ):  # which looks at its numbers itself
            with np.errstate(over="ignore", invalid="ignore"):
                finite = np.isfinite(kernel.diag(X))
            if not finite.all():
                raise ValueError(
                    f"{kernel!r}: K(x, x) of row {int(finite.argmin())} is too large for a number; scale X down."
                )
        if whole and self.n > WHOLE and 16 * self.n**2 > available():
            raise MemoryError(
                f"The Gram matrix of {self.n} rows takes {8 * self.n**2 / 1e9:.1f} GB, and as much again to work "
                f"with; there are {available() / 1e9:.1f} GB."
            )
        self.K: np.ndarray | None = None
        if whole:  # numbers that a function or a matrix gives may be whole, or of few digits
            self.K = X if self.given else np.asarray(kernel(X, n_jobs=n_jobs), dtype=np.float64)

    def height(self, A: np.ndarray) -> Any:
        """By how much b of each column of coefficients is less for the rows as they are (see `kernels.origin`)."""
        return 0.0 if self.near is None else A.T @ self.X @ self.near

    def times(self, V: np.ndarray) -> np.ndarray:
        """K V."""
        if self.K is not None:
            return product(self.K, V, self.n_jobs)
        if (
            self.kernel.takes != "vectors"
            or type(self.kernel).times is not Kernel.times
            or sparse.issparse(self.X)
        ):
            return self.kernel.times(self.X, self.X, V, n_jobs=self.n_jobs)
        rows, _ = self.kernel.prepare(self.X, self.X)
        cuts = [slice(k, min(k + TILE, self.n)) for k in range(0, self.n, TILE)]

        def halves(k: int) -> np.ndarray:
            """What the blocks of K right of its diagonal in panel k add: each counts for its mirror image, too."""
            out = np.zeros(V.shape)
            for there in cuts[k:]:
                tile = self.kernel.tile(rows[cuts[k]], rows[there])
                out[cuts[k]] += tile @ V[there]
                if there is not cuts[k]:
                    out[there] += tile.T @ V[cuts[k]]
            return out

        return total(halves, range(len(cuts)), n_jobs=self.n_jobs)

    def among(self, rows: np.ndarray) -> np.ndarray:
        """K of some rows with each other."""
        return self.kernel(self.X[rows]) if self.K is None else self.K[np.ix_(rows, rows)]

    def along(self, rows: np.ndarray, V: np.ndarray) -> np.ndarray:
        """K of all rows with some, times V."""
        if self.K is None:
            return self.kernel.times(self.X, self.X[rows], V, n_jobs=self.n_jobs)
        return self.K[:, rows] @ V

    def low_rank(self, rank: int) -> np.ndarray:
        """L with L Lᵀ near K: the first columns of Cholesky's factor, the row that K leaves most of coming next."""
        left = self.K.diagonal().copy() if self.K is not None else np.array(self.kernel.diag(self.X))
        enough = 1e-14 * left.max(initial=0.0)
        L = np.zeros((min(rank, self.n), self.n))
        for k in range(len(L)):
            i = int(left.argmax())
            if left[i] <= enough:
                return L[:k].T
            row = np.array(self.along(np.array([i]), np.ones(1)).ravel())
            L[k] = (row - L[:k, i] @ L[:k]) / np.sqrt(left[i])
            left = np.maximum(left - L[k] ** 2, 0.0)
            left[i] = 0.0
        return L.T


class Factor:
    """B = C Cᵀ, to solve with; B's pseudo-inverse where there is none (B is singular, or K is no kernel)."""

    def __init__(self, B: np.ndarray, n_jobs: int | None = None) -> None:
        """`B` is overwritten."""
        B = np.asarray(B, dtype=np.float64, order="C")
        self.n_jobs = n_jobs
        # Rows of very different weights do not make B singular: its diagonal is brought near 1, by powers of 2.
        exponents = np.frexp(np.where(B.diagonal() > 0, B.diagonal(), 1.0))[1]
        self.scale = np.ldexp(1.0, -(exponents // 2))
        B *= self.scale
        B *= self.scale[:, None]
        size = linalg.lapack.dlange("1", B.T)
        spare = np.array(B.diagonal())
        try:
            self.C: np.ndarray | None = cholesky(B, n_jobs)
            rcond = linalg.lapack.dpocon(self.C.T, size, uplo="U")[0]  # BLAS reads columns first: Cᵀ of ours
        except linalg.LinAlgError:
            rcond = 0.0
        if rcond < np.finfo(np.float64).eps:
            warnings.warn(
                "The kernel's system of equations is singular or not positive definite: its least-squares solution "
                "of smallest norm is taken. A larger penalty would help.",
                linalg.LinAlgWarning,
                stacklevel=2,
            )
            B = np.triu(B, 1)  # the factor went into the lower half
            B += B.T
            np.fill_diagonal(B, spare)
            B /= self.scale
            B /= self.scale[:, None]
            values, self.V = linalg.eigh(B)
            kept = np.abs(values) > len(B) * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
            self.inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
            self.C = None

    def solve(self, r: np.ndarray) -> np.ndarray:
        """B⁻¹ r."""
        if self.C is None:
            return self.V @ (self.inverse * (self.V.T @ r).T).T
        scale = self.scale.reshape(-1, *(1,) * (r.ndim - 1))
        return scale * linalg.cho_solve((self.C.T, False), scale * r, check_finite=False)

    def bordered(self, E: np.ndarray | None, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u and b of B u + E b = r, Eᵀu = 0."""
        if E is None:
            return self.solve(r), np.zeros((0, *r.shape[1:]))
        u, side = self.solve(r), self.solve(E)
        b = linalg.lstsq(E.T @ side, E.T @ u)[0]  # offsets that move together count once
        return u - side @ b, b

    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of B⁻¹."""
        if self.C is None:
            return (self.V**2) @ self.inverse
        C, found = self.C, np.empty(len(self.C))

        def squares(here: slice) -> None:
            """Lengths of columns of C⁻¹, which has nothing above its diagonal."""
            unit = np.eye(len(C) - here.start, here.stop - here.start)
            side = linalg.solve_triangular(
                C[here.start :, here.start :], unit, lower=True, check_finite=False
            )
            found[here] = np.einsum("ij,ij->j", side, side)

        each(squares, panels(len(C)), n_jobs=self.n_jobs)
        return self.scale**2 * found


def cholesky(B: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Cholesky's factor in the lower half of B, panel by panel; what a panel changes further on, threads share."""
    cuts = panels(len(B))
    for k, here in enumerate(cuts):
        corner = linalg.cholesky(B[here, here], lower=True, check_finite=False)
        B[here, here] = corner + np.triu(B[here, here], 1)  # the upper half stays what it was

        def divide(rows: slice, corner: np.ndarray = corner, here: slice = here) -> None:
            B[rows, here] = linalg.solve_triangular(corner, B[rows, here].T, lower=True, check_finite=False).T

        def subtract(columns: slice, here: slice = here) -> None:
            side = B[columns, here]
            B[columns, columns] -= np.tril(side @ side.T)
            B[columns.stop :, columns] -= B[columns.stop :, here] @ side.T

        each(divide, cuts[k + 1 :], n_jobs=n_jobs)
        each(subtract, cuts[k + 1 :], n_jobs=n_jobs)
    return B


def product(A: np.ndarray, B: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """A B in panels of rows, which threads share."""
    out = np.empty((A.shape[0], *B.shape[1:]))
    each(lambda rows: np.matmul(A[rows], B, out=out[rows]), panels(len(A)), n_jobs=n_jobs)
    return out


def squared(A: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """A Aᵀ in blocks, which threads share; what lies above the diagonal is a copy of what lies below."""
    out = np.empty((len(A), len(A)))
    cuts = panels(len(A))

    def put(block: tuple[slice, slice]) -> None:
        rows, columns = block
        out[rows, columns] = A[rows] @ A[columns].T
        out[columns, rows] = out[rows, columns].T

    each(put, [(rows, columns) for k, rows in enumerate(cuts) for columns in cuts[: k + 1]], n_jobs=n_jobs)
    return out


def panels(n: int) -> list[slice]:
    """n rows or columns, cut into panels."""
    return [slice(k, min(k + PANEL, n)) for k in range(0, n, PANEL)]


def low_rank_inverse(G: np.ndarray, mu: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """v -> (G Gᵀ + mu I)⁻¹ v, by the small matrix GᵀG (Woodbury's formula); mu may differ from column to column."""
    squares, V = linalg.eigh(G.T @ G)
    H = G @ V
    mu = np.maximum(mu, max(1e-12 * float(np.abs(squares).sum()), np.finfo(np.float64).tiny))
    return lambda v: (v - H @ ((H.T @ v) / (np.maximum(squares, 0.0)[:, None] + mu))) / mu
