"""Eigenpairs of symmetric matrices for embeddings: the largest of dense ones, the smallest of sparse ones.

LAPACK (`scipy.linalg.eigh`) finds them all at once, ARPACK and block Lanczos the few that are asked for from
products alone. Signs are fixed in one place, `signed_vectors`; the bits do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigsh, splu

from tercet.core.block_lanczos import leading_ritz_pairs, tall_product
from tercet.core.parallel import Chunks, each, one_blas_thread
from tercet.core.scaling import largest, scale_exponent, times_power

Solver = Literal["dense", "arpack", "lanczos", "randomized"]
Pairs = tuple[np.ndarray, np.ndarray]
OVERSAMPLES = 10  # columns of the random table beyond the eigenvectors asked for
FEW = 200  # rows up to which all eigenpairs are found at once


def signed_vectors(V: np.ndarray) -> np.ndarray:
    """Turn each column so that its largest entry is positive; of entries equal up to rounding the first counts.

    Examples
    --------
    >>> signed_vectors(np.array([[-0.8, 0.6], [0.6, 0.8]]))
    array([[ 0.8,  0.6],
           [-0.6,  0.8]])
    """
    if not V.size:
        return V
    size = np.abs(V)
    nearly = 1 - np.sqrt(np.finfo(V.dtype).eps)
    first = np.argmax(size >= size.max(axis=0) * nearly, axis=0)
    return V * np.where(V[first, np.arange(V.shape[1])] < 0, -1, 1).astype(V.dtype)


def centred_both(A: np.ndarray) -> np.ndarray:
    """J A J, with J the centring matrix.

    Examples
    --------
    >>> centred_both(np.eye(2))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    centred = A - A.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    return centred


def largest_eigenpairs(
    A: np.ndarray,
    k: int,
    solver: Solver,
    *,
    centre: bool = False,
    tol: float = 0.0,
    max_iter: int | None = None,
    iterated_power: int | None = None,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> Pairs:
    """The k largest eigenvalues of a symmetric matrix, falling, and their vectors as columns.

    Parameters
    ----------
    A : array of shape (n, n)
        The matrix; it is never changed.
    k : int
        How many, at most n.
    solver : {"dense", "arpack", "lanczos", "randomized"}
        LAPACK, ARPACK, block Lanczos, or a random range; the last one finds the values largest in size.
    centre : bool, default=False
        Of J A J instead, with J the centring matrix, which only "dense" forms.
    tol, max_iter :
        Of "arpack" and "lanczos"; 0 is as near as numbers are, None as many passes as it takes.
    iterated_power : int, optional
        Products with A beyond the first of "randomized"; by default 7 for few eigenpairs, else 4.
    rng : Generator
        Decides where the iterations start.
    n_jobs : int, optional
        Threads for products.
    """
    n = len(A)
    exponent = scale_exponent(largest(A))  # squares must neither overflow nor vanish
    A = times_power(A, -exponent)
    with one_blas_thread():
        if solver == "dense" or not A.any() or (solver == "arpack" and k >= n):
            values, V = _all_at_once(centred_both(A) if centre else A, k)
        else:
            times = products(A, centre=centre, n_jobs=n_jobs)
            if solver == "arpack":
                values, V = _arpack(times, n, k, A.dtype, tol, max_iter, rng)
            elif solver == "randomized":
                power = iterated_power if iterated_power is not None else 7 if k < 0.1 * n else 4
                values, V = _random_range(times, n, k, A.dtype, power, rng)
            else:
                found = leading_ritz_pairs(times, n, k, rng, dtype=A.dtype, tol=tol, n_jobs=n_jobs)
                values = found.values[:k].astype(A.dtype)
                V = tall_product(found.basis, found.vectors[:, :k].astype(A.dtype), n_jobs)
    return np.ldexp(values, exponent), signed_vectors(V)


def products(A: np.ndarray, *, centre: bool, n_jobs: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
    """The function that multiplies columns by A, or by J A J, on threads."""

    def times(block: np.ndarray) -> np.ndarray:
        if centre:
            block = block - block.mean(axis=0)
        out = np.empty((len(A), block.shape[1]), dtype=A.dtype)
        each(_multiply, Chunks(A, out), block, n_jobs=n_jobs)
        if centre:
            out -= out.mean(axis=0)
        return out

    return times


def _multiply(chunk: tuple[np.ndarray, np.ndarray], block: np.ndarray) -> None:
    rows, out = chunk
    np.matmul(rows, block, out=out)


def _all_at_once(A: np.ndarray, k: int) -> Pairs:
    n = len(A)
    values, V = linalg.eigh(A, subset_by_index=[n - k, n - 1], check_finite=False)
    return values[::-1], V[:, ::-1]


def _arpack(
    times: Any, n: int, k: int, dtype: Any, tol: float, max_iter: int | None, rng: np.random.Generator
) -> Pairs:
    operator = LinearOperator((n, n), matvec=lambda v: times(v.reshape(-1, 1))[:, 0], dtype=dtype)
    start = rng.uniform(-1, 1, size=n).astype(dtype)
    values, V = eigsh(operator, k, which="LA", tol=tol, maxiter=max_iter, v0=start)
    order = np.argsort(-values, kind="stable")
    return values[order], V[:, order]


def _random_range(times: Any, n: int, k: int, dtype: Any, power: int, rng: np.random.Generator) -> Pairs:
    """Rayleigh-Ritz on the range of A^(power + 1) G, with G random; the values largest in size."""
    width = min(k + OVERSAMPLES, n)
    Q = rng.standard_normal((n, width)).astype(dtype)
    for _ in range(power + 1):
        Q = linalg.qr(times(Q), mode="economic", check_finite=False)[0]
    small = Q.T @ times(Q)
    values, R = linalg.eigh((small + small.T) / 2, check_finite=False)
    chosen = np.argsort(-np.abs(values), kind="stable")[:k]
    chosen = chosen[np.argsort(-values[chosen], kind="stable")]
    return values[chosen], Q @ R[:, chosen]


def smallest_eigenpairs(
    M: Any,
    k: int,
    solver: Literal["dense", "arpack"],
    *,
    tol: float = 0.0,
    max_iter: int | None = None,
    rng: np.random.Generator,
    solve: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Pairs:
    """The k smallest eigenvalues of a positive semidefinite matrix, rising, whose null space holds the constant
    vector; that one is left out.

    "arpack" is the shift-invert mode: the largest eigenvalues of M^-1 on the vectors that sum to 0, where `solve`
    (by default from a sparse factorisation of M) gives M^-1 b for such b up to a constant.

    Parameters
    ----------
    M : array or CSR matrix of shape (n, n)
    k : int
        How many, less than n.
    solver : {"dense", "arpack"}
    tol, max_iter :
        Of "arpack".
    rng : Generator
        Decides where the iteration starts.
    solve : callable, optional
        M^-1 b.
    """
    n = M.shape[0]
    with one_blas_thread():
        if solver == "dense" or k >= n - 1:
            dense = M.toarray() if sparse.issparse(M) else np.array(M)
            dense += (
                float(np.abs(dense).sum(axis=1).max(initial=1.0)) / n
            )  # the constant vector becomes the last one
            values, V = linalg.eigh(dense, subset_by_index=[0, k - 1], overwrite_a=True, check_finite=False)
            return values, signed_vectors(V)
        inverse = solve or symmetric_factor(M).solve

        def times(v: np.ndarray) -> np.ndarray:
            v = v.ravel()
            found = inverse(v - v.mean())
            return found - found.mean()

        start = rng.uniform(-1, 1, size=n)
        operator = LinearOperator((n, n), matvec=times, dtype=np.float64)
        found = eigsh(operator, k, which="LA", tol=tol, maxiter=max_iter, v0=start - start.mean())
        V = found[1][:, np.argsort(-found[0], kind="stable")]
        values = np.einsum("ij,ij->j", V, M @ V)  # Rayleigh quotients: M itself, not its factors
        order = np.argsort(values, kind="stable")
        return values[order], signed_vectors(V[:, order])


def symmetric_factor(M: Any) -> SuperLU:
    """Triangular factors of a sparse positive semidefinite matrix, with a diagonal shift within its rounding."""
    shift = float(M.diagonal().max(initial=0.0)) * 1e-14
    shifted = sparse.csc_array(M + sparse.eye_array(M.shape[0]) * (shift or 1.0))
    return splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


__all__ = [
    "FEW",
    "ArpackError",
    "Pairs",
    "Solver",
    "centred_both",
    "largest_eigenpairs",
    "products",
    "signed_vectors",
    "smallest_eigenpairs",
    "symmetric_factor",
]
