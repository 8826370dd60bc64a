"""Block Lanczos with thick restarts: the largest eigenpairs of a symmetric matrix that is seen by its products.

The basis Q of a Krylov space grows by a block of columns in each pass; the eigenpairs of T = Q'BQ are the Ritz
pairs. A block lets one look at the matrix serve many columns, which is what its products cost, and finds values of
multiplicity up to its width at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from tercet.core.parallel import Chunks, each, total
from tercet.core.stopping import check_stop

MOST_PASSES = 1000
BLOCK = 16  # columns; two cache lines of doubles
ROWS = 4096  # of the basis, in a chunk


class RitzPairs(NamedTuple):
    """The state of the iteration: a basis, and the Ritz values and vectors in it, the largest first."""

    basis: np.ndarray
    values: np.ndarray
    vectors: np.ndarray


def leading_ritz_pairs(
    product: Callable[[np.ndarray], np.ndarray],
    size: int,
    k: int,
    rng: np.random.Generator,
    *,
    dtype: Any = np.float64,
    tol: float = 0.0,
    low: float = -np.inf,
    n_jobs: int | None = None,
    steps: Callable[[int], Iterable[Any]] | None = None,
) -> RitzPairs:
    """The Ritz pairs of a symmetric matrix B of `size` rows, of which the k largest have converged.

    A pair is found when |Bu - vu| <= tol |v|. `product` gives B times a block of columns, which it must not change;
    `low` is a lower bound of the eigenvalues, where there is one; `steps(limit)` makes the loop of passes, by
    default a plain one, each of which reports a `RitzPairs`.
    """
    width = min(BLOCK if k > BLOCK // 2 else BLOCK // 2, size)
    most = min(size, k + max(2 * k, 12 * width))
    Q, T, m = np.empty((size, most + width), dtype=dtype), np.zeros((most + width, most + width)), 0
    start = rng.standard_normal((size, width)).astype(dtype)
    block = linalg.qr(start, mode="economic", check_finite=False)[0]
    eps = float(np.finfo(dtype).eps)
    before: np.ndarray | None = None
    state: RitzPairs | None = None
    loop: Iterable[Any] = range(MOST_PASSES) if steps is None else steps(MOST_PASSES)
    for step in loop:
        check_stop()
        Q[:, m : m + width] = block
        first, m = m, m + width
        Z = product(block)
        H = orthogonalise(Q[:, :m], Z, n_jobs)
        T[:m, first:m], T[first:m, :m] = H, H.T
        values, vectors = linalg.eigh((T[:m, :m] + T[:m, :m].T) / 2, check_finite=False)
        values, vectors = np.maximum(values[::-1], low), vectors[:, ::-1]
        scale = float(max(values[0], -values[-1]))
        width = min(width, size - m)
        block, R = next_block(Q[:, :m], Z, width, eps * scale, rng)
        residual = np.linalg.norm(R @ vectors[first:m, :k], axis=0)
        small = np.maximum(tol * np.abs(values[:k]), 8 * eps * scale)
        done = m >= size or (m >= k and bool((residual[:k] <= small).all()))
        # An exhausted Krylov space may lack values of a higher multiplicity: fresh directions must add none.
        exhausted, known = not R.any(axis=1).all(), before
        before = values[:k] if exhausted else None
        if done and m < size and exhausted:
            close: dict[str, Any] = {"rtol": max(tol, 1e3 * eps), "atol": eps * scale}
            done = known is not None and known.size == k and np.allclose(values[:k], known, **close)
        state = RitzPairs(Q[:, :m], values, vectors)
        if steps is not None:
            step.report(state, residual=float(residual.max() / max(scale, 1e-300)))
            step.converged(done)
        if done:
            break
        if m + width > most:
            keep = min(k + width, m - width)
            kept = tall_product(Q[:, :m], vectors[:, :keep].astype(dtype), n_jobs)
            Q = np.empty_like(Q)  # what was reported stays as it was
            Q[:, :keep] = kept
            T[:] = 0.0
            T[np.arange(keep), np.arange(keep)] = values[:keep]
            m = keep
    assert state is not None
    return state


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
    if kept and np.abs(R[kept - 1, kept - 1]) * np.finfo(Z.dtype).eps ** 0.5 < negligible:
        # what was left of Z is not far from rounding, and need not be orthogonal to Q any more
        orthogonalise(Q, block, None)
        block = linalg.qr(block, mode="economic", check_finite=False)[0]
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
    H = total(inner_products, chunks, n_jobs=n_jobs)
    again = total(_rest_inner, chunks, H, n_jobs=n_jobs)
    each(_rest, chunks, again, n_jobs=n_jobs)
    return H + again


def inner_products(chunk: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """What a chunk of rows adds to Q'Z."""
    q, z = chunk
    return q.T @ z


def _rest(chunk: tuple[np.ndarray, np.ndarray], H: np.ndarray) -> None:
    q, z = chunk
    z -= q @ H


def _rest_inner(chunk: tuple[np.ndarray, np.ndarray], H: np.ndarray) -> np.ndarray:
    _rest(chunk, H)
    return inner_products(chunk)


def tall_product(Q: np.ndarray, S: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Q S for a Q of many rows."""
    out = np.empty((len(Q), S.shape[1]), dtype=Q.dtype)
    each(_product_rows, Chunks(Q, out, rows=ROWS), S, n_jobs=n_jobs)
    return out


def _product_rows(chunk: tuple[np.ndarray, np.ndarray], S: np.ndarray) -> None:
    q, out = chunk
    np.matmul(q, S, out=out)
