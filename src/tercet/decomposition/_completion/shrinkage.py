"""Decompositions with shrunken singular values, of arrays and of sparse matrices plus a product of low rank."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from tercet.core.kernel import kernel
from tercet.core.rows import read_only
from tercet.decomposition._engine.lapack import singular_triplets

WHOLE = 400  # rows or columns up to which all singular values are computed


class Triplets(NamedTuple):
    """U diag(s) Vt."""

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray

    def matrix(self) -> np.ndarray:
        return (self.U * self.s) @ self.Vt


def no_triplets(shape: tuple[int, int]) -> Triplets:
    """The matrix of zeros."""
    return Triplets(np.zeros((shape[0], 0)), np.zeros(0), np.zeros((0, shape[1])))


def extrapolated(new: Triplets, old: Triplets, beta: float) -> Triplets:
    """new + beta (new - old), as factors that are no singular vectors."""
    return Triplets(
        np.hstack([new.U, old.U]),
        np.concatenate([(1 + beta) * new.s, -beta * old.s]),
        np.vstack([new.Vt, old.Vt]),
    )


def shrunken(A: Any, tau: float, most: int, near: Triplets | None = None) -> Triplets:
    """The singular values of A above tau, less tau, with their vectors; `most` of them.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator of shape (n, d)
        The matrix.
    tau : float
        What is subtracted.
    most : int
        The largest rank.
    near : Triplets, optional
        Of a matrix nearby: how many values to ask for, and where to start.
    """
    least = min(A.shape)
    if isinstance(A, np.ndarray) and least <= WHOLE:
        U, s, Vt = singular_triplets(A, full_matrices=False)
    else:
        many = min(most, 10) if near is None else min(most, len(near.s) + 5)
        while True:
            U, s, Vt = _leading(A, min(many, least - 1))
            if s.size >= min(most, least - 1) or s[-1] <= tau:
                break
            many *= 2
    keep = min(int((s > tau).sum()), most)
    return Triplets(U[:, :keep], s[:keep] - tau, Vt[:keep])


def _leading(A: Any, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k leading triplets, the largest first; of a matrix of zeros none that count."""
    start = np.cos(np.arange(min(A.shape)) * 0.7) + 0.1  # any vector that is not special will do
    narrow = A.shape[0] <= A.shape[1]
    image = (A @ (A.T @ start)) if narrow else (A.T @ (A @ start))
    if not np.any(image):
        return np.eye(A.shape[0], k), np.zeros(k), np.eye(k, A.shape[1])
    U, s, Vt = svds(A, k=k, v0=start, solver="arpack")
    order = np.argsort(-s, kind="stable")
    return U[:, order], s[order], Vt[order]


def sparse_plus_low_rank(R: Any, Z: Triplets) -> LinearOperator:
    """R + U diag(s) Vt as an operator, which is never a whole array."""
    back = R.T.tocsr()

    def times(v: np.ndarray) -> np.ndarray:
        return R @ v + Z.U @ (Z.s * (Z.Vt @ v).T).T

    def transposed_times(v: np.ndarray) -> np.ndarray:
        return back @ v + Z.Vt.T @ (Z.s * (Z.U.T @ v).T).T

    return LinearOperator(
        R.shape,
        matvec=times,
        rmatvec=transposed_times,
        matmat=times,
        rmatmat=transposed_times,
        dtype=np.float64,
    )


def product_at(X: Any, Z: Triplets) -> np.ndarray:
    """Entries of U diag(s) Vt where a CSR matrix has some, in its order."""
    values = np.zeros(X.nnz)
    left = read_only(np.ascontiguousarray(Z.U * Z.s))
    right = read_only(np.ascontiguousarray(Z.Vt.T))
    indptr, indices = (read_only(part.astype(np.int64)) for part in (X.indptr, X.indices))
    entry_products(indptr, indices, left, right, values)
    return values


@kernel
def entry_products(indptr: Any, indices: Any, left: Any, right: Any, values: Any) -> None:
    """values[s] = left[i]·right[j] for the entries (i, j) of a CSR matrix."""
    for i in range(indptr.size - 1):
        a = left[i]
        for s in range(indptr[i], indptr[i + 1]):
            b, total = right[indices[s]], 0.0
            for k in range(a.size):
                total += a[k] * b[k]
            values[s] = total


def with_values(X: Any, values: np.ndarray) -> Any:
    """A CSR matrix with the entries of X in their places and other values."""
    return sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
