"""Alignment matrices of the variants of LLE: sums of small blocks over the neighbourhoods.

Each gives the sparse positive semidefinite matrix M (n, n) whose null space, but for the constant vector, is the
embedding. Blocks of many rows go through LAPACK at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import each

ROWS = 512  # in a piece of work


def sum_of_blocks(n: int, nodes: np.ndarray, blocks: np.ndarray) -> Any:
    """The matrix (n, n) with blocks[i] (m, m) added at the rows and columns nodes[i] (m,)."""
    m = nodes.shape[1]
    rows = np.repeat(nodes, m, axis=1).ravel()
    columns = np.tile(nodes, (1, m)).ravel()
    return sparse.csr_array(sparse.coo_array((blocks.ravel(), (rows, columns)), shape=(n, n)))


def in_pieces(function: Callable[[slice], Any], n: int, n_jobs: int | None) -> list[Any]:
    """A function of slices of n rows, on threads."""
    return each(function, [slice(a, a + ROWS) for a in range(0, n, ROWS)], n_jobs=n_jobs)


def left_vectors(G: np.ndarray, full: bool) -> tuple[np.ndarray, np.ndarray]:
    """Left singular vectors of matrices G (m, k, d), and the squares of their singular values, falling."""
    if full or G.shape[1] > G.shape[2]:
        U, s, _ = np.linalg.svd(G, full_matrices=full)
        return U, s**2
    values, U = np.linalg.eigh(G @ G.transpose(0, 2, 1))
    return U[..., ::-1], np.maximum(values[..., ::-1], 0.0)


def centred_neighbourhoods(X: np.ndarray, near: np.ndarray) -> np.ndarray:
    G = X[near]
    return G - G.mean(axis=1, keepdims=True)


def hessian_matrix(X: np.ndarray, near: np.ndarray, k: int, tol: float, n_jobs: int | None) -> Any:
    """Hessian eigenmaps: quadratic forms of second derivatives in local tangent coordinates (k of them)."""
    n, m = near.shape

    def piece(rows: slice) -> np.ndarray:
        U = left_vectors(centred_neighbourhoods(X, near[rows]), False)[0][:, :, :k]
        pairs = [U[:, :, a : a + 1] * U[:, :, a:k] for a in range(k)]
        Y = np.concatenate([np.ones((len(U), m, 1)), U, *pairs], axis=2)
        w = np.linalg.qr(Y, mode="complete")[0][:, :, k + 1 :]
        sums = w.sum(axis=1, keepdims=True)
        w = w / np.where(np.abs(sums) < tol, 1.0, sums)
        return w @ w.transpose(0, 2, 1)

    return sum_of_blocks(n, near, np.concatenate(in_pieces(piece, n, n_jobs)))


def tangent_matrix(X: np.ndarray, near: np.ndarray, k: int, n_jobs: int | None) -> Any:
    """Local tangent space alignment: I - GG' of each neighbourhood, G its constant and k tangent coordinates."""
    n, m = near.shape

    def piece(rows: slice) -> np.ndarray:
        U = left_vectors(centred_neighbourhoods(X, near[rows]), X.shape[1] < k)[0][:, :, :k]
        return np.eye(m) - 1.0 / m - U @ U.transpose(0, 2, 1)

    return sum_of_blocks(n, near, np.concatenate(in_pieces(piece, n, n_jobs)))


def modified_matrix(X: np.ndarray, near: np.ndarray, k: int, tol: float, n_jobs: int | None) -> Any:
    """Modified LLE: several weight vectors for each row, from the almost null space of its local Gram matrix."""
    n, m = near.shape
    d = min(X.shape[1], m)

    def spectra(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        U, values = left_vectors(X[near[rows]] - X[rows][:, None, :], True)
        return U, values[:, :d]

    found = in_pieces(spectra, n, n_jobs)
    V, values = (np.concatenate([part[which] for part in found]) for which in (0, 1))
    size = null_sizes(values, k) + (m - d)
    weights = regular_weights(V, values)
    nodes = np.concatenate([near, np.arange(n)[:, None]], axis=1)

    def piece(rows: slice) -> np.ndarray:
        blocks = np.zeros((len(V[rows]), m + 1, m + 1))
        for i, block in zip(range(*rows.indices(n)), blocks):
            W = several_weights(V[i][:, m - size[i] :], weights[i], tol)
            block[:m, :m] = W @ W.T
            block[:m, m] = block[m, :m] = -W.sum(axis=1)
            block[m, m] = size[i]
        return blocks

    return sum_of_blocks(n, nodes, np.concatenate(in_pieces(piece, n, n_jobs)))


def regular_weights(V: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Weights (n, m) of ordinary LLE from the spectra of the local Gram matrices, with 1e-3 of their traces."""
    m, d = V.shape[1], values.shape[1]
    reg = 1e-3 * values.sum(axis=1, keepdims=True)
    reg[reg == 0] = 1e-3  # neighbours at the place of the row
    along = V.sum(axis=1) / (np.concatenate([values, np.zeros((len(V), m - d))], axis=1) + reg)
    weights = np.einsum("iab,ib->ia", V, along)
    return weights / weights.sum(axis=1, keepdims=True)


def null_sizes(values: np.ndarray, k: int) -> np.ndarray:
    """How many small eigenvalues of each row are almost null: at most a share of the rest that is usual."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = values[:, k:].sum(axis=1) / values[:, :k].sum(axis=1)
        eta = np.median(np.nan_to_num(share, nan=0.0, posinf=np.inf))
        sums = np.cumsum(values, axis=1)
        rest = np.nan_to_num(sums[:, -1:] / sums[:, :-1] - 1, nan=0.0, posinf=np.inf)
    return np.array([np.searchsorted(row[::-1], eta) for row in rest], dtype=np.int64)


def several_weights(V: np.ndarray, weights: np.ndarray, tol: float) -> np.ndarray:
    """Weight vectors (m, s) that sum to 1 each, from the s vectors V (m, s) and the regular weights."""
    s = V.shape[1]
    if s == 0:
        return np.zeros((len(V), 0))
    sums = V.sum(axis=0)
    alpha = np.linalg.norm(sums) / np.sqrt(s)
    h = alpha - sums
    size = np.linalg.norm(h)
    h = h / size if size >= tol else np.zeros(s)
    return V - 2 * np.outer(V @ h, h) + (1 - alpha) * weights[:, None]
