"""Singular value decomposition (奇异值分解)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import linalg

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parallel import all_cores
from tercet.decomposition._engine.block_lanczos import block_lanczos
from tercet.decomposition._engine.centred_rows import CentredRows
from tercet.decomposition._engine.lapack import eigenpairs, singular_triplets
from tercet.decomposition._engine.range_finder import random_range
from tercet.decomposition._engine.signs import fix_signs
from tercet.decomposition.matrix_input import power_scaled, rank_tolerance, refuse_overflow, scaled_matrix

KINDS = ("full", "compact", "truncated")
ALGORITHMS = ("eig", "lapack", "lanczos", "randomized")


@method(
    zh="奇异值分解",
    task="dimensionality reduction",
    model="A = UΣV', U and V orthogonal, Σ diagonal with σ1 >= σ2 >= ... >= 0",
    strategy="none: exact, or the best approximation of rank k in the Frobenius norm",
    algorithms={
        "eig": "eigenvectors of A'A, then u_j = Av_j / σ_j",
        "lapack": "bidiagonal form, then divide and conquer",
        "lanczos": "block Lanczos with thick restarts, from products with A alone",
        "randomized": "range of products with a random table",
    },
    texts=["Li ch. 15, Thm 15.1, Def 15.1-15.3", "Li app. D"],
    peers=["numpy.linalg.svd", "scipy.sparse.linalg.svds"],
)
def svd(
    A: Any,
    kind: Literal["full", "compact", "truncated"] = "full",
    *,
    algorithm: Literal["eig", "lapack", "lanczos", "randomized"] = "lapack",
    k: int | None = None,
    tol: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular value decomposition A = UΣV' of any matrix; real or complex, a zero matrix, too.

    Parameters
    ----------
    A : array or sparse matrix of shape (m, n)
        The matrix; a sparse one only for "lanczos" and "randomized".
    kind : {"full", "compact", "truncated"}, default="full"
        "full" gives square U and V; "compact" the r = rank(A) triplets that A is the sum of; "truncated" the k
        largest.
    algorithm : {"eig", "lapack", "lanczos", "randomized"}, default="lapack"
        "eig" is the route of the text, which loses half of the digits of small singular values. "lanczos" and
        "randomized" are for a few triplets of a large matrix.
    k : int, optional
        How many triplets, from 1 to min(m, n); for "truncated".
    tol : float, optional
        Singular values up to tol times the largest count as zero; by default max(m, n) eps, and its square root
        for "eig". For "lanczos" the tolerance of the residuals, by default 0: as near as numbers are.
    random_state : int, optional
        Decides what "lanczos" and "randomized" start from.
    n_jobs : int, optional
        Threads for their products.

    Returns
    -------
    U : array of shape (m, m), (m, r) or (m, k)
    s : array of shape (min(m, n),), (r,) or (k,)
        The singular values, the largest first.
    Vt : array of shape (n, n), (r, n) or (k, n)
        V transposed. The largest entry of each row is positive.

    Examples
    --------
    >>> A = [[1, 0, 0, 0], [0, 0, 0, 4], [0, 3, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]]
    >>> U, s, Vt = svd(A, "compact")
    >>> s.round(4), (U * s @ Vt).round(10).tolist() == A
    (array([4.    , 3.    , 2.2361]), True)
    """
    if kind not in KINDS:
        raise ValueError(f"svd: kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
    if algorithm not in ALGORITHMS:
        raise ValueError(
            f"svd: algorithm must be one of {', '.join(map(repr, ALGORITHMS))}; got {algorithm!r}."
        )
    A, exponent = scaled_matrix(A, sparse_too=algorithm in ("lanczos", "randomized"))
    _check_count(kind, k, min(A.shape))
    if algorithm in ("lanczos", "randomized"):
        found = _few_triplets(A, kind, algorithm, k, tol, random_state, n_jobs)
    else:
        U, s, Vt = _by_eigenvectors(A, tol) if algorithm == "eig" else singular_triplets(A)
        zero = rank_tolerance(A.shape, A.dtype, tol, halved=algorithm == "eig") * s.max(initial=0.0)
        r = {"full": None, "compact": int((s > zero).sum()), "truncated": k}[kind]
        # columns of U and V beyond the other's number have no partner: each gets a sign of its own
        U, Vt = _signed(U[:, :r], Vt[:r])
        found = U, s[:r], Vt
    return found[0], refuse_overflow(found[1], exponent, "The largest singular value of A"), found[2]


def eigen_steps(A: Any, tol: float | None = None) -> dict[str, np.ndarray]:
    """The steps of the singular value decomposition by the eigenvectors of A'A (Li sec. 15.2).

    Parameters
    ----------
    A : array of shape (m, n)
        The matrix.
    tol : float, optional
        Singular values up to tol times the largest count as zero; by default sqrt(max(m, n) eps).

    Returns
    -------
    steps : dict
        "gram" A'A; its "eigenvalues", the largest first; "V" with the eigenvectors as columns; "sigma", their
        square roots; "U1", the columns u_j = Av_j / σ_j; "U2", an orthonormal basis of the null space of A';
        "U", both; "Sigma", the rectangular diagonal matrix.

    Examples
    --------
    >>> steps = eigen_steps([[1, 1], [2, 2], [0, 0]])
    >>> steps["eigenvalues"].round(9), steps["sigma"].round(4), steps["U1"].round(4).ravel()
    (array([10.,  0.]), array([3.1623, 0.    ]), array([0.4472, 0.8944, 0.    ]))
    """
    A, exponent = scaled_matrix(A)
    U, s, Vt = _by_eigenvectors(A, tol)
    U, Vt = _signed(U, Vt)
    r = int((s > 0).sum())
    gram = refuse_overflow(A.conj().T @ A, 2 * exponent, "A'A")
    s = power_scaled(s, exponent)
    Sigma = np.zeros(A.shape)
    Sigma[np.arange(s.size), np.arange(s.size)] = s
    eigenvalues = np.zeros(A.shape[1])
    eigenvalues[: s.size] = s**2
    return {
        "gram": gram,
        "eigenvalues": eigenvalues,
        "V": Vt.conj().T,
        "sigma": s,
        "U1": U[:, :r],
        "U2": U[:, r:],
        "U": U,
        "Sigma": Sigma,
    }


def _by_eigenvectors(A: np.ndarray, tol: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m, n = A.shape
    eigenvalues, V = eigenpairs(A.conj().T @ A)  # steps 1, 2: eigenpairs of A'A, the largest first
    sigma = np.sqrt(np.maximum(eigenvalues, 0.0))[: min(m, n)]  # step 3
    sigma[sigma <= rank_tolerance(A.shape, A.dtype, tol, halved=True) * sigma.max(initial=0.0)] = 0.0
    r = int((sigma > 0).sum())
    U1 = A @ V[:, :r] / sigma[:r]  # step 4: u_j = A v_j / sigma_j (15.12)
    U2 = (
        linalg.qr(U1, check_finite=False)[0][:, r:] if r else np.eye(m)
    )  # ... completed by a basis of N(A') (15.16)
    return np.hstack([U1, U2]), sigma, V.conj().T  # step 5


def _few_triplets(
    A: Any, kind: str, algorithm: str, k: int | None, tol: float | None, random_state: Any, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if kind != "truncated" or k is None:
        raise ValueError(
            f"svd: algorithm={algorithm!r} needs kind='truncated' and k; got kind={kind!r}, k={k!r}."
        )
    if np.iscomplexobj(A):
        raise ValueError(
            f"svd: algorithm={algorithm!r} takes real numbers only; use 'lapack' for a complex A."
        )
    rows, rng = CentredRows(A, n_jobs=all_cores(n_jobs)), generator(random_state)
    if algorithm == "lanczos":
        return block_lanczos(rows, k, rng, tol or 0.0)
    return random_range(rows, k, 10, 7 if k < 0.1 * min(A.shape) else 4, "QR", rng)


def _check_count(kind: str, k: Any, most: int) -> None:
    if kind != "truncated":
        if k is not None:
            raise ValueError(f"svd: k={k!r} is for kind='truncated'; got kind={kind!r}.")
        return
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k <= most:
        raise ValueError(f"svd: k must be an integer from 1 to min(m, n)={most}; got {k!r}.")


def _signed(U: np.ndarray, Vt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    p = min(U.shape[1], len(Vt))
    pair, rows = fix_signs(U[:, :p], Vt[:p])
    rest = fix_signs(None, U[:, p:].conj().T)[1].conj().T
    return np.hstack([pair, rest]), np.vstack([rows, fix_signs(None, Vt[p:])[1]])
