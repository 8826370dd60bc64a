"""Starts of non-negative matrix factorisation: random factors, and NNDSVD from singular vectors."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.parallel import all_cores, one_blas_thread
from tercet.core.validation import check_array, refuse_negative
from tercet.decomposition._nmf.half import SMALL, Half, halves

EXACT = 400  # rows or columns up to which all singular vectors are computed


def nndsvd(
    X: Any,
    n_components: int,
    *,
    variant: Literal["nndsvd", "nndsvda", "nndsvdar"] = "nndsvd",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Factors W, H >= 0 from the singular vectors of X (Boutsidis and Gallopoulos, 2008).

    Of each pair of singular vectors the positive or the negative parts are kept, whichever weigh more.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Numbers of at least 0.
    n_components : int
        The rank k, at most min(n_samples, n_features).
    variant : {"nndsvd", "nndsvda", "nndsvdar"}, default="nndsvd"
        Zeros stay, become the mean of X, or small random numbers.
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Returns
    -------
    W, H : arrays of shape (n_samples, k) and (k, n_features)

    Examples
    --------
    >>> W, H = nndsvd([[1.0, 2.0], [2.0, 4.0]], 1)
    >>> (W @ H).round(6)
    array([[1., 2.],
           [2., 4.]])
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    refuse_negative(X, "nndsvd (input X)")
    if n_components > min(X.shape):
        raise ValueError(
            f"nndsvd: n_components={n_components!r} must be at most min(n_samples, n_features) = {min(X.shape)}."
        )
    pair = halves(X, all_cores(n_jobs))
    W, Ht = nonnegative_singular_vectors(pair, n_components, variant, random_numbers(random_state))
    return W, np.ascontiguousarray(Ht.T)


def random_numbers(random_state: Any) -> Any:
    """What draws the numbers of a start: the same as scikit-learn's for the same seed."""
    from sklearn.utils import check_random_state

    return random_state if isinstance(random_state, np.random.Generator) else check_random_state(random_state)


def random_factors(mean: float, shape: tuple[int, int], k: int, dtype: Any, rng: Any) -> tuple[Any, Any]:
    """W and H' of |normal| numbers, in such a unit that WH is of the size of X."""
    size = np.sqrt(mean / k)
    H = size * rng.standard_normal(size=(k, shape[1])).astype(dtype, copy=False)
    W = size * rng.standard_normal(size=(shape[0], k)).astype(dtype, copy=False)
    return np.abs(W).astype(dtype, copy=False), np.abs(H).astype(dtype, copy=False).T


def nonnegative_singular_vectors(
    pair: tuple[Half, Half], k: int, variant: str, rng: Any
) -> tuple[np.ndarray, np.ndarray]:
    """W and H' of NNDSVD; missing values are taken for the mean of their column."""
    pair = filled(pair)
    U, S, V = leading_singular_vectors(pair, k, rng)
    W, Ht = np.zeros_like(U), np.zeros_like(V)
    W[:, 0], Ht[:, 0] = np.sqrt(S[0]) * np.abs(U[:, 0]), np.sqrt(S[0]) * np.abs(V[:, 0])
    for j in range(1, k):
        sides = [(np.maximum(sign * U[:, j], 0), np.maximum(sign * V[:, j], 0)) for sign in (1, -1)]
        sizes = [(np.linalg.norm(u), np.linalg.norm(v)) for u, v in sides]
        best = int(sizes[0][0] * sizes[0][1] <= sizes[1][0] * sizes[1][1])
        (u, v), (size_u, size_v) = sides[best], sizes[best]
        if size_u > 0 and size_v > 0:
            scale = np.sqrt(S[j] * size_u * size_v)
            W[:, j], Ht[:, j] = scale / size_u * u, scale / size_v * v
    for factor in (W, Ht):
        factor[factor < SMALL * min(1.0, float(factor.max(initial=0.0)))] = 0
    X = pair[0].X
    mean = float(X.mean(dtype=np.float64))
    for factor in (W, Ht) if variant != "nndsvd" else ():
        empty = factor == 0
        drawn = rng.standard_normal(size=int(empty.sum())) / 100 if variant == "nndsvdar" else 1.0
        factor[empty] = np.abs(mean * drawn)
    return W.astype(X.dtype, copy=False), Ht.astype(X.dtype, copy=False)


def filled(pair: tuple[Half, Half]) -> tuple[Half, Half]:
    """Halves without missing values."""
    rows, columns = pair
    if rows.missing is None:
        return pair
    n = rows.X.shape[0]
    known = n - np.asarray(columns.missing.sum(axis=1)).ravel()
    sums = np.asarray(rows.X.sum(axis=0)).ravel()
    means = np.divide(sums, known, out=np.zeros(sums.size), where=known > 0).astype(rows.X.dtype)
    if rows.sparse:
        at = rows.missing.tocoo()
        full = rows.X + sparse.csr_array((means[at.coords[1]], at.coords), shape=rows.X.shape)
        return Half(full.tocsr(), None, rows.n_jobs), Half(full.T.tocsr(), None, rows.n_jobs)
    X: Any = np.where(rows.missing.toarray() == 0, rows.X, means)
    return Half(X, None, rows.n_jobs), Half(X.T, None, rows.n_jobs)


def leading_singular_vectors(
    pair: tuple[Half, Half], k: int, rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U (n, k), S (k,) and V (d, k): exact for few rows or columns, else by subspace iteration."""
    rows, columns = pair
    X = rows.X
    with one_blas_thread():
        if min(X.shape) <= EXACT and X.shape[0] * X.shape[1] <= 4_000_000:
            dense = X.toarray() if rows.sparse else X
            U, S, Vt = np.linalg.svd(dense.astype(np.float64), full_matrices=False)
            return U[:, :k], S[:k], Vt[:k].T
        width = min(k + 10, min(X.shape))
        Y = rows.products(rng.standard_normal(size=(X.shape[1], width)).astype(X.dtype, copy=False))
        for _ in range(7 if k < 0.1 * min(X.shape) else 4):
            Z = columns.products(np.linalg.qr(Y)[0])
            Y = rows.products(np.linalg.qr(Z)[0])
        Q = np.linalg.qr(Y)[0]
        V, S, Wt = np.linalg.svd(columns.products(Q), full_matrices=False)
        return (Q @ Wt.T)[:, :k], S[:k], V[:, :k]
