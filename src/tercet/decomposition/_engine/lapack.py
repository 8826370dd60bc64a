"""LAPACK with as many threads as pay.

On small matrices the threads of BLAS wait for each other longer than they work, above all on a busy machine.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.parallel import one_blas_thread

SMALL_WORK = 4e8  # products, some tenths of a second


def lapack_threads(shape: tuple[int, ...]) -> Any:
    """A context in which a matrix of this shape is decomposed."""
    m, n = shape
    return one_blas_thread() if m * n * min(m, n) < SMALL_WORK else contextlib.nullcontext()


def singular_triplets(A: np.ndarray, **options: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`scipy.linalg.svd` of finite numbers."""
    with lapack_threads(A.shape):
        return linalg.svd(A, check_finite=False, **options)


def eigenpairs(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a symmetric matrix, the largest first, and the eigenvectors as columns."""
    with lapack_threads(S.shape):
        values, vectors = linalg.eigh(S, check_finite=False)
    return values[::-1], vectors[:, ::-1]


def triangular_factor(A: np.ndarray) -> np.ndarray:
    """The R of A = QR, of a tall matrix that may be overwritten."""
    with lapack_threads(A.shape):
        return linalg.qr(A, mode="r", overwrite_a=True, check_finite=False)[0][: A.shape[1]]


def right_singular(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right singular vectors (as rows) of a matrix that may be overwritten.

    A tall one is reduced to its triangular factor first: its left singular vectors are not needed.
    """
    if A.shape[0] > 1.5 * A.shape[1]:
        A = triangular_factor(A)
    _, s, Vt = singular_triplets(A, full_matrices=False, overwrite_a=True)
    return s, Vt
