"""Randomised singular value decomposition of streamed rows, by sums over chunks alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from tercet.core.parallel import Chunks, reduce, total
from tercet.decomposition._engine.signs import fix_signs


def streamed_svd(
    X: Any, k: int, oversamples: int, n_iter: int, rng: np.random.Generator, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """s, Vt, the variances of the scores XV, and the total variance of X.

    In exact arithmetic the subspaces are those of `random_range` for the same random table: (A'A)^(n_iter + 1) G
    is orthonormalised after each pass over the rows, and AQ is factored as PR by the R factors of chunks.
    """
    n, d = X.shape
    width = min(k + oversamples, n, d)
    chunks = Chunks(X)
    if chunks.borders[1] < 4 * width:  # an R factor of fewer rows says no less than the rows
        chunks = Chunks(X, rows=4 * width)
    if width == d:  # the table would span all there is
        Q = np.eye(d, dtype=X.dtype)
    else:
        Q = rng.standard_normal((d, width)).astype(X.dtype)
        for _ in range(n_iter + 1):
            Q = linalg.qr(total(_gram_times, chunks, Q, n_jobs=n_jobs), mode="economic", check_finite=False)[
                0
            ]
    R = reduce(_r_factor, chunks, _r_of_both, Q, n_jobs=n_jobs)
    _, s, Rt = linalg.svd(R, full_matrices=False, check_finite=False)
    Vt = fix_signs(None, np.ascontiguousarray((Q @ Rt[:k].T).T))[1]
    x_mean, scores_mean = (part / n for part in total(_sums, chunks, Vt, n_jobs=n_jobs))
    whole, squares = total(_squares, chunks, Vt, x_mean, scores_mean, n_jobs=n_jobs)
    if X.is_sparse:
        whole -= n * float(x_mean @ x_mean)
    return s[:k], Vt, squares / n, float(whole) / n


def _gram_times(chunk: Any, Q: np.ndarray) -> np.ndarray:
    (X,) = chunk
    return X.T @ (X @ Q)


def _r_factor(chunk: Any, Q: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.qr(chunk[0] @ Q, mode="r"))


def _r_of_both(upper: np.ndarray, lower: np.ndarray, owned: bool) -> np.ndarray:
    return np.asarray(np.linalg.qr(np.vstack([upper, lower]), mode="r"))


def _sums(chunk: Any, Vt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (X,) = chunk
    return np.asarray(X.sum(axis=0, dtype=np.float64)).ravel(), (X @ Vt.T).sum(axis=0, dtype=np.float64)


def _squares(
    chunk: Any, Vt: np.ndarray, x_mean: np.ndarray, scores_mean: np.ndarray
) -> tuple[float, np.ndarray]:
    """Sum of squared deviations of the rows (of sparse ones from zero), and of each score."""
    (X,) = chunk
    if sparse.issparse(X):
        whole = float(np.dot(X.data.astype(np.float64, copy=False), X.data))
    else:
        whole = float(((X - x_mean) ** 2).sum())
    away = X @ Vt.T - scores_mean
    return whole, np.einsum("ij,ij->j", away, away)
