"""Block Lanczos with thick restarts: the largest singular triplets of a matrix that is seen by its products only.

The basis Q of a Krylov space of AA' (or A'A, whichever is smaller) grows by a block of columns in each pass; the
eigenpairs of T = Q'AA'Q are the Ritz pairs. A block lets one look at a sparse matrix serve many columns, which is
what its products cost, and finds values of multiplicity up to its width at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from tercet.core.parallel import Chunks, each, one_blas_thread, total
from tercet.core.stopping import check_stop
from tercet.decomposition._engine.signs import fix_signs

MOST_PASSES = 1000
BLOCK = 16  # columns; two cache lines of doubles
SMALL = 128  # a matrix with a side as short as this is decomposed as a whole
ROWS = 4096  # of the basis, in a chunk


class RitzPairs(NamedTuple):
    """The state of the iteration: a basis, and the Ritz values and vectors in it, the largest first."""

    basis: np.ndarray
    values: np.ndarray
    vectors: np.ndarray


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
    values, R = linalg.eigh(total(_inner, Chunks(W, W, rows=ROWS), n_jobs=n_jobs), check_finite=False)
    if size < 8 * k or not values[0] > np.finfo(W.dtype).eps ** 0.75 * values[-1]:
        return linalg.svd(W, full_matrices=False, check_finite=False, overwrite_a=True)
    roots = np.sqrt(values).astype(W.dtype)
    near = _product(W, R / roots, n_jobs)  # W = near diag(roots) R', and near is nearly orthonormal
    spread, turn = linalg.eigh(
        total(_inner, Chunks(near, near, rows=ROWS), n_jobs=n_jobs), check_finite=False
    )
    stretch = np.sqrt(spread).astype(W.dtype)
    small = (stretch[:, None] * turn.T * roots) @ R.T  # W = (near turn / stretch) small
    left, s, Rt = linalg.svd(small, check_finite=False)
    return _product(near, (turn / stretch) @ left, n_jobs), s, Rt


def _krylov(
    rows: Any, k: int, rng: np.random.Generator, tol: float, steps: Callable[..., Iterable[Any]] | None
) -> np.ndarray:
    """An orthonormal basis of the k leading Ritz vectors."""
    left, size, dtype = rows.shape[0] <= rows.shape[1], min(rows.shape), rows.dtype
    width = BLOCK if k > BLOCK // 2 else BLOCK // 2
    most = min(size, k + max(2 * k, 12 * width))
    Q, T, m = np.empty((size, most + width), dtype=dtype), np.zeros((most + width, most + width)), 0
    block = linalg.qr(rng.standard_normal((size, width)).astype(dtype), mode="economic", check_finite=False)[
        0
    ]
    eps = float(np.finfo(dtype).eps)
    before: np.ndarray | None = None
    state: RitzPairs | None = None
    loop: Iterable[Any] = (
        range(MOST_PASSES) if steps is None else steps(MOST_PASSES, _unpacked(rows, k, left))
    )
    for step in loop:
        check_stop()
        Q[:, m : m + width] = block
        first, m = m, m + width
        Z = rows.times(rows.transposed_times(block)) if left else rows.transposed_times(rows.times(block))
        H = orthogonalise(Q[:, :m], Z, rows.n_jobs)
        T[:m, first:m], T[first:m, :m] = H, H.T
        values, vectors = linalg.eigh((T[:m, :m] + T[:m, :m].T) / 2, check_finite=False)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
        width = min(width, size - m)
        block, R = next_block(Q[:, :m], Z, width, eps * values[0], rng)
        residual = np.linalg.norm(R @ vectors[first:m, :k], axis=0)
        small = np.maximum(tol * values[:k], 8 * eps * values[0])
        done = m >= size or (m >= k and bool((residual[:k] <= small).all()))
        # An exhausted Krylov space may lack values of a higher multiplicity: fresh directions must add none.
        exhausted, known = not R.any(axis=1).all(), before
        before = values[:k] if exhausted else None
        if done and m < size and exhausted:
            close = {"rtol": max(tol, 1e3 * eps), "atol": eps * values[0]}
            done = known is not None and known.size == k and np.allclose(values[:k], known, **close)
        state = RitzPairs(Q[:, :m], values, vectors)
        if steps is not None:
            step.report(state, residual=float(residual.max() / max(values[0], 1e-300)))
            step.converged(done)
        if done:
            break
        if m + width > most:
            keep = min(k + width, m - width)
            kept = _product(Q[:, :m], vectors[:, :keep].astype(dtype), rows.n_jobs)
            Q = np.empty_like(Q)  # what was reported stays as it was
            Q[:, :keep] = kept
            T[:] = 0.0
            T[np.arange(keep), np.arange(keep)] = values[:keep]
            m = keep
    assert state is not None
    return _product(state.basis, state.vectors[:, :k].astype(dtype), rows.n_jobs)


def _unpacked(rows: Any, k: int, left: bool) -> Callable[[RitzPairs], Any]:
    """What callbacks see of a pass: the triplets so far."""

    def unpack(state: RitzPairs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        near = state.basis @ state.vectors[:, :k].astype(state.basis.dtype)
        return triplets(rows, near, k, left)

    return unpack


def next_block(
    Q: np.ndarray, Z: np.ndarray, width: int, negligible: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The next columns of the basis, and the R of Z = block R; Z is orthogonal to Q.

    Where the Krylov space is exhausted, what is left of Z is rounding: random directions take its place, with
    rows of zeros in R.
    """
    block, R, order = linalg.qr(Z, mode="economic", pivoting=True, check_finite=False)
    kept = min(int((np.abs(np.diag(R)) > 8 * negligible).sum()), width)
    back = np.empty_like(R)
    back[:, order] = R
    back[kept:] = 0.0
    if kept < width:
        fresh = rng.standard_normal((len(Q), width - kept)).astype(Q.dtype)
        whole = np.hstack([Q, block[:, :kept]])
        for _ in range(2):
            orthogonalise(whole, fresh, None)
            fresh = linalg.qr(fresh, mode="economic", check_finite=False)[0]
        block = np.hstack([block[:, :kept], fresh])
    return np.ascontiguousarray(block[:, :width]), back[:width]


def orthogonalise(Q: np.ndarray, Z: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Take from Z, in place, what lies in the span of Q, twice; returns the coefficients Q'Z."""
    chunks = Chunks(Q, Z, rows=ROWS)
    H = total(_inner, chunks, n_jobs=n_jobs)
    again = total(_rest_inner, chunks, H, n_jobs=n_jobs)
    each(_rest, chunks, again, n_jobs=n_jobs)
    return H + again


def _inner(chunk: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    q, z = chunk
    return q.T @ z


def _rest(chunk: tuple[np.ndarray, np.ndarray], H: np.ndarray) -> None:
    q, z = chunk
    z -= q @ H


def _rest_inner(chunk: tuple[np.ndarray, np.ndarray], H: np.ndarray) -> np.ndarray:
    _rest(chunk, H)
    return _inner(chunk)


def _product(Q: np.ndarray, S: np.ndarray, n_jobs: int | None) -> np.ndarray:
    out = np.empty((len(Q), S.shape[1]), dtype=Q.dtype)
    each(_product_rows, Chunks(Q, out, rows=ROWS), S, n_jobs=n_jobs)
    return out


def _product_rows(chunk: tuple[np.ndarray, np.ndarray], S: np.ndarray) -> None:
    q, out = chunk
    np.matmul(q, S, out=out)
