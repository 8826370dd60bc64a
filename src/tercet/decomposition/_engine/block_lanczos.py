"""The largest singular triplets of a matrix that is seen by its products only, by block Lanczos on AA' or A'A."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.block_lanczos import (
    BLOCK,
    ROWS,
    RitzPairs,
    inner_products,
    leading_ritz_pairs,
    tall_product,
)
from tercet.core.parallel import Chunks, one_blas_thread, total
from tercet.decomposition._engine.signs import fix_signs

SMALL = 128  # a matrix with a side as short as this is decomposed as a whole


def block_lanczos(
    rows: Any,
    k: int,
    rng: np.random.Generator,
    tol: float = 0.0,
    steps: Callable[..., Iterable[Any]] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest singular values of `rows` (a `CentredRows`) with their vectors: U, s, Vt.

    A triplet is found when |AA'u - s²u| <= tol s²: then s is within tol / 2 of a singular value, relative to it,
    and as a rule far nearer. `steps(limit, unpack)` makes the loop of passes, by default a plain one; `unpack`
    turns what a pass reports into the triplets so far.
    """
    n, d = rows.shape
    left, size = n <= d, min(n, d)
    with one_blas_thread():
        if size <= max(SMALL, 2 * k + 2 * BLOCK):
            found: np.ndarray = np.eye(size, dtype=rows.dtype)
        else:
            found = _krylov(rows, k, rng, tol, steps)
        return triplets(rows, found, k, left)


def triplets(rows: Any, basis: np.ndarray, k: int, left: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest singular triplets of the matrix projected on an orthonormal basis of one side."""
    across = rows.transposed_times(basis) if left else rows.times(basis)
    P, s, Rt = tall_svd(across, rows.n_jobs)
    near = basis @ Rt[:k].T
    U, Vt = (near, P[:, :k].T) if left else (P[:, :k], near.T)
    U, Vt = fix_signs(U, Vt)
    return U, s[:k], Vt


def tall_svd(W: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular value decomposition of a matrix with many more rows than columns.

    By eigenvectors of W'W, which are products alone, where the singular values are not too different. What they
    lack of orthogonality is made up for by a second pass; where that would not do, LAPACK has to.
    """
    size, k = W.shape
    values, R = linalg.eigh(total(inner_products, Chunks(W, W, rows=ROWS), n_jobs=n_jobs), check_finite=False)
    if size < 8 * k or not values[0] > np.finfo(W.dtype).eps ** 0.75 * values[-1]:
        return linalg.svd(W, full_matrices=False, check_finite=False, overwrite_a=True)
    roots = np.sqrt(values).astype(W.dtype)
    near = tall_product(W, R / roots, n_jobs)  # W = near diag(roots) R', and near is nearly orthonormal
    spread, turn = linalg.eigh(
        total(inner_products, Chunks(near, near, rows=ROWS), n_jobs=n_jobs), check_finite=False
    )
    stretch = np.sqrt(spread).astype(W.dtype)
    small = (stretch[:, None] * turn.T * roots) @ R.T  # W = (near turn / stretch) small
    left, s, Rt = linalg.svd(small, check_finite=False)
    return tall_product(near, (turn / stretch) @ left, n_jobs), s, Rt


def _krylov(
    rows: Any, k: int, rng: np.random.Generator, tol: float, steps: Callable[..., Iterable[Any]] | None
) -> np.ndarray:
    """An orthonormal basis of the k leading Ritz vectors of AA' or A'A."""
    left, size = rows.shape[0] <= rows.shape[1], min(rows.shape)

    def product(block: np.ndarray) -> np.ndarray:
        if left:
            return rows.times(rows.transposed_times(block))
        return rows.transposed_times(rows.times(block))

    def passes(limit: int) -> Iterable[Any]:
        assert steps is not None
        return steps(limit, _unpacked(rows, k, left))

    found = leading_ritz_pairs(
        product,
        size,
        k,
        rng,
        dtype=rows.dtype,
        tol=tol,
        low=0.0,
        n_jobs=rows.n_jobs,
        steps=None if steps is None else passes,
    )
    return tall_product(found.basis, found.vectors[:, :k].astype(rows.dtype), rows.n_jobs)


def _unpacked(rows: Any, k: int, left: bool) -> Callable[[RitzPairs], Any]:
    """What callbacks see of a pass: the triplets so far."""

    def unpack(state: RitzPairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        near = state.basis @ state.vectors[:, :k].astype(state.basis.dtype)
        return triplets(rows, near, k, left)

    return unpack
