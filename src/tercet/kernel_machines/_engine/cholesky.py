"""Cholesky factorisation and matrix products in panels that threads share, and the systems they solve.

Kernel least squares with weights d² of the rows, a penalty mu and intercepts b without a penalty is a saddle-point
system

    B u + E b = r,  Eᵀu = 0,     B = D K D + mu I

and so is each Newton step of a logistic loss.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg

from tercet.core.parallel import each

PANEL = 512  # columns that are eliminated at once: Ctrl-C is answered between panels


class CholeskyFactor:
    """B = C Cᵀ, to solve with; the pseudo-inverse where there is none (B is singular, or not positive definite)."""

    def __init__(self, B: np.ndarray, n_jobs: int | None = None) -> None:
        """`B` is overwritten."""
        B = np.asarray(B, dtype=np.float64, order="C")
        self.n_jobs = n_jobs
        # Equilibrate: the diagonal is brought near 1 by powers of 2, so that unequal weights cost no digits.
        exponents = np.frexp(np.where(B.diagonal() > 0, B.diagonal(), 1.0))[1]
        self.scale = np.ldexp(1.0, -(exponents // 2))
        B *= self.scale
        B *= self.scale[:, None]
        norm = linalg.lapack.dlange("1", B.T)
        diagonal = np.array(B.diagonal())
        try:
            self.C: np.ndarray | None = blocked_cholesky(B, n_jobs)
            rcond = linalg.lapack.dpocon(self.C.T, norm, uplo="U")[
                0
            ]  # LAPACK reads columns first: Cᵀ of ours
        except linalg.LinAlgError:
            rcond = 0.0
        if rcond < np.finfo(np.float64).eps:
            warnings.warn(
                "The kernel's system of equations is singular or not positive definite: its least-squares solution "
                "of smallest norm is taken. A larger penalty would help.",
                linalg.LinAlgWarning,
                stacklevel=2,
            )
            self._pseudo_inverse(B, diagonal)

    def _pseudo_inverse(self, B: np.ndarray, diagonal: np.ndarray) -> None:
        """Eigenvectors and inverse eigenvalues of B, from its upper triangle: the factor overwrote the lower."""
        B = np.triu(B, 1)
        B += B.T
        np.fill_diagonal(B, diagonal)
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
        return scale * linalg.lapack.dpotrs(self.C.T, scale * r, lower=0)[0]

    def solve_saddle_point(self, E: np.ndarray | None, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u and b of B u + E b = r, Eᵀu = 0."""
        if E is None:
            return self.solve(r), np.zeros((0, *r.shape[1:]))
        u, scaled = self.solve(r), self.solve(E)
        b = linalg.lstsq(E.T @ scaled, E.T @ u)[0]  # of smallest norm, where constraints depend on each other
        return u - scaled @ b, b

    def inverse_diagonal(self) -> np.ndarray:
        """The diagonal of B⁻¹."""
        if self.C is None:
            return (self.V**2) @ self.inverse
        C, found = self.C, np.empty(len(self.C))

        def column_norms(here: slice) -> None:
            """Squared norms of columns of C⁻¹, which is lower triangular."""
            unit = np.eye(len(C) - here.start, here.stop - here.start)
            columns = linalg.solve_triangular(
                C[here.start :, here.start :], unit, lower=True, check_finite=False
            )
            found[here] = np.einsum("ij,ij->j", columns, columns)

        each(column_norms, panels(len(C)), n_jobs=self.n_jobs)
        return self.scale**2 * found


def blocked_cholesky(B: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """The Cholesky factor in the lower triangle of B, panel by panel; the upper triangle stays what it was."""
    cuts = panels(len(B))
    if len(cuts) == 1:
        corner, failed = linalg.lapack.dpotrf(B.T, lower=0, clean=0)  # LAPACK reads columns first
        if failed:
            raise linalg.LinAlgError(f"The leading minor of order {failed} is not positive definite.")
        return corner.T
    for k, here in enumerate(cuts):
        corner = linalg.cholesky(B[here, here], lower=True, check_finite=False)
        B[here, here] = corner + np.triu(B[here, here], 1)

        def divide(rows: slice, corner: np.ndarray = corner, here: slice = here) -> None:
            B[rows, here] = linalg.solve_triangular(corner, B[rows, here].T, lower=True, check_finite=False).T

        def subtract(columns: slice, here: slice = here) -> None:
            factor = B[columns, here]
            B[columns, columns] -= np.tril(factor @ factor.T)
            B[columns.stop :, columns] -= B[columns.stop :, here] @ factor.T

        each(divide, cuts[k + 1 :], n_jobs=n_jobs)
        each(subtract, cuts[k + 1 :], n_jobs=n_jobs)
    return B


def blocked_product(A: np.ndarray, B: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """A B in panels of rows."""
    out = np.empty((A.shape[0], *B.shape[1:]))
    each(lambda rows: np.matmul(A[rows], B, out=out[rows]), panels(len(A)), n_jobs=n_jobs)
    return out


def blocked_gram(A: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """A Aᵀ in blocks, exactly symmetric."""
    out = np.empty((len(A), len(A)))
    cuts = panels(len(A))

    def fill(block: tuple[slice, slice]) -> None:
        rows, columns = block
        out[rows, columns] = A[rows] @ A[columns].T
        out[columns, rows] = out[rows, columns].T

    each(fill, [(rows, columns) for k, rows in enumerate(cuts) for columns in cuts[: k + 1]], n_jobs=n_jobs)
    return out


def panels(n: int) -> list[slice]:
    """n rows or columns, cut into panels."""
    return [slice(k, min(k + PANEL, n)) for k in range(0, n, PANEL)]
