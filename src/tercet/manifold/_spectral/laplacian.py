"""The smallest eigenvectors of a graph Laplacian, as the largest of the affinities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, lobpcg, splu

from tercet.core.parallel import one_blas_thread
from tercet.core.symmetric_eigen import FEW, largest_eigenpairs

RESTARTS = 30  # of Lanczos' method before a factorisation is tried
BASIS = 40  # vectors that it keeps


def laplacian_vectors(
    A: Any, k: int, solver: str, rng: np.random.Generator, tol: Any, *, normed: bool, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The k eigenvectors of the Laplacian of symmetric affinities with the smallest eigenvalues, and sqrt(d_i).

    The largest eigenvectors of B = D^-½ A D^-½, or of B = A - D + max(D), are those of the Laplacian.
    """
    B, roots, top = mirrored(A, normed)
    n = B.shape[0]
    exact = 0.0 if tol == "auto" else float(tol)
    with one_blas_thread():
        if solver == "amg" or (solver == "lobpcg" and n >= 5 * k + 1):
            return _by_lobpcg(B, top, k, roots if normed else np.ones(n), rng, tol, solver == "amg"), roots
        if n <= FEW or k >= n - 1 or solver == "lobpcg":
            dense = B.toarray() if sparse.issparse(B) else B
            return linalg.eigh(dense, subset_by_index=[n - k, n - 1])[1][:, ::-1], roots
        if not sparse.issparse(B):
            return largest_eigenpairs(B, k, "lanczos", tol=exact, rng=rng, n_jobs=n_jobs)[1], roots
        return _by_arpack(B, top, k, exact, rng), roots


def mirrored(A: Any, normed: bool) -> tuple[Any, np.ndarray, float]:
    """B whose largest eigenvectors are wanted, the roots of the degrees, and the eigenvalue of the constant one.

    Affinities of a node with itself do not count; a node without others has degree 0, and root 1.
    """
    if sparse.issparse(A):
        A = sparse.csr_array(A, dtype=np.float64)
        A = A - sparse.diags_array(A.diagonal())
        degrees = np.asarray(A.sum(axis=1)).ravel()
    else:
        A = np.array(A, dtype=np.float64)
        np.fill_diagonal(A, 0.0)
        degrees = A.sum(axis=1)
    roots = np.where(degrees > 0, np.sqrt(degrees), 1.0)
    top = 1.0 if normed else float(degrees.max(initial=0.0)) or 1.0
    if sparse.issparse(A):
        if normed:
            D = sparse.diags_array(1 / roots)
            return sparse.csr_array(D @ A @ D), roots, top
        return sparse.csr_array(A + sparse.diags_array(top - degrees)), roots, top
    if normed:
        A /= roots
        A /= roots[:, None]
    else:
        np.fill_diagonal(A, top - degrees)
    return A, roots, top


def _by_arpack(B: Any, top: float, k: int, tol: float, rng: np.random.Generator) -> np.ndarray:
    """Lanczos' method; where it is slow, on the inverse of the Laplacian by a sparse factorisation."""
    n = B.shape[0]
    start = rng.uniform(-1, 1, size=n)
    try:
        values, V = eigsh(
            B, k, which="LA", tol=tol, v0=start, ncv=min(n, max(2 * k + 1, BASIS)), maxiter=RESTARTS
        )
    except ArpackNoConvergence:
        shift = 1e-6 * top
        L = sparse.csc_array(sparse.eye_array(n) * (top + shift) - B)
        factors = splu(L, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        inverse = LinearOperator((n, n), matvec=factors.solve, dtype=np.float64)
        values, V = eigsh(inverse, k, which="LA", tol=tol, v0=start)
    return V[:, np.argsort(-values, kind="stable")]


def _by_lobpcg(
    B: Any, top: float, k: int, constant: np.ndarray, rng: np.random.Generator, tol: Any, multigrid: bool
) -> np.ndarray:
    n = B.shape[0]
    start = rng.standard_normal((n, k + 1))
    start[:, 0] = constant
    L = sparse.eye_array(n) * top - B if sparse.issparse(B) else np.eye(n) * top - B
    preconditioner = None
    if multigrid:
        try:
            from pyamg import smoothed_aggregation_solver
        except ImportError as error:
            raise ValueError("The eigen_solver was set to 'amg', but pyamg is not available.") from error
        shifted = sparse.csr_matrix(L + 1e-5 * sparse.eye_array(n))
        preconditioner = smoothed_aggregation_solver(shifted).aspreconditioner()
    _, V = lobpcg(
        L, start, M=preconditioner, tol=None if tol == "auto" else float(tol), largest=False, maxiter=2000
    )
    return V[:, :k]
