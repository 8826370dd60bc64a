"""A table of a source for non-negative factorisation: rows that are read in passes, and pages of their W."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.memory import available
from tercet.core.parallel import Chunks, total
from tercet.core.read_ahead import feed
from tercet.core.row_pages import Field, RowPages
from tercet.core.row_sums import largest_of
from tercet.core.scaling import times_power
from tercet.core.stopping import check_stop
from tercet.decomposition._nmf.half import SMALL

CHUNK_BYTES = 1 << 23  # of rows that are worked on together
MOST_GRAM = 1000  # columns up to which singular vectors come from X'X; else by subspace iteration


class StreamedTable:
    """The rows of X, divided by a power of two, and pages of their W.

    Parameters
    ----------
    X : StreamedArray of shape (n, d)
    k : int
        Components.
    exponent : callable
        Gives the power of two for the largest entry.
    rows : int, optional
        Rows of a chunk.
    """

    def __init__(self, X: Any, k: int, exponent: Callable[[float], int], rows: int | None = None) -> None:
        self.shape, self.dtype, self.k = X.shape, X.dtype, k
        n = X.shape[0]
        if rows is None:
            rows = int(np.clip(n * CHUNK_BYTES // max(X.nbytes, 1), 64, n))
        self.chunks, self.power = Chunks(X, rows=rows), exponent(float(largest_of(X)))
        self.pages = RowPages(n, rows, {"W": Field((k,), X.dtype)}, available() // 3)

    def __enter__(self) -> StreamedTable:
        return self

    def __exit__(self, *error: Any) -> None:
        self.pages.close()

    def walk(self) -> Iterator[tuple[int, Any]]:
        """The number of a page, and its rows of X."""
        with feed(self.chunks) as ordered:
            for page, (X,) in enumerate(ordered):
                check_stop()
                yield page, times_power(X, -self.power)

    def W(self, page: int) -> np.ndarray:
        """A copy of the rows of W of a page."""
        return np.ascontiguousarray(self.pages.get(page, "W").T)

    def set_W(self, page: int, W: np.ndarray) -> None:
        """Change the rows of W of a page."""
        self.pages.get(page, "W")[:] = W.T

    def mean(self) -> float:
        """The mean entry of X."""
        cells = self.shape[0] * self.shape[1]
        return float(total(_sum, self.chunks, self.power)) / max(cells, 1)

    # Starts -----------------------------------------------------------------------------------------------------

    def start(self, init: str, rng: Any) -> np.ndarray:
        """Write the first W, and return the first H'; see `nndsvd`."""
        return self._random_start(rng) if init == "random" else self._singular_start(init, rng)

    def _random_start(self, rng: Any) -> np.ndarray:
        """`random_factors`: the same numbers, drawn chunk by chunk."""
        size, d, k = np.sqrt(self.mean() / self.k), self.shape[1], self.k
        H = size * rng.standard_normal(size=(k, d)).astype(self.dtype, copy=False)
        for page in range(len(self.pages)):
            W = size * rng.standard_normal(size=(self.pages.rows(page), k)).astype(self.dtype, copy=False)
            self.set_W(page, np.abs(W))
        return np.ascontiguousarray(np.abs(H).astype(self.dtype, copy=False).T)

    def _singular_start(self, variant: str, rng: Any) -> np.ndarray:
        """`nonnegative_singular_vectors`, where the left ones, X v / s, are never there as a whole."""
        S, V = self._leading_singular_vectors(rng)
        V = np.divide(V, S, out=np.zeros_like(V), where=S > 0)  # XV is U
        squares, largest = np.zeros((2, self.k)), np.zeros((2, self.k))
        for _, X in self.walk():
            for side, U in enumerate(_sides(np.asarray(X @ V, dtype=np.float64))):
                squares[side] += (U**2).sum(axis=0)
                largest[side] = np.maximum(largest[side], U.max(axis=0, initial=0.0))
        right = V * S
        sizes = np.sqrt(squares), np.array([np.linalg.norm(side, axis=0) for side in _sides(right)])
        best = (sizes[0][0] * sizes[1][0] <= sizes[0][1] * sizes[1][1]).astype(int)
        at = best, np.arange(self.k)
        size_u, size_v = sizes[0][at], sizes[1][at]
        there = (size_u > 0) & (size_v > 0)
        scale = np.sqrt(S * size_u * size_v)
        factor_u = np.divide(scale, size_u, out=np.zeros(self.k), where=there)
        factor_v = np.divide(scale, size_v, out=np.zeros(self.k), where=there)
        factor_u[0] = factor_v[0] = np.sqrt(S[0])
        most = largest[at] * factor_u
        most[0] = largest[:, 0].max() * factor_u[0]
        bar, mean = SMALL * min(1.0, float(most.max(initial=0.0))), self.mean()
        for page, X in self.walk():
            U = _chosen_sides(np.asarray(X @ V, dtype=np.float64), best) * factor_u
            self.set_W(page, _filled(U, bar, variant, mean, rng).astype(self.dtype, copy=False))
        Ht = _chosen_sides(right, best) * factor_v
        bar = SMALL * min(1.0, float(Ht.max(initial=0.0)))
        return np.ascontiguousarray(_filled(Ht, bar, variant, mean, rng).astype(self.dtype, copy=False))

    def _leading_singular_vectors(self, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """S (k,) and V (d, k)."""
        d, k = self.shape[1], self.k
        if d <= MOST_GRAM:
            square, vectors = np.linalg.eigh(total(_gram, self.chunks, self.power))
        else:
            Q = rng.standard_normal(size=(d, min(k + 10, min(self.shape))))
            for _ in range(7 if k < 0.1 * min(self.shape) else 4):
                Q = np.linalg.qr(total(_power_step, self.chunks, self.power, Q))[0]
            square, vectors = np.linalg.eigh(total(_projected_gram, self.chunks, self.power, Q))
            vectors = Q @ vectors
        order = np.argsort(-square, kind="stable")[:k]
        S = np.sqrt(np.maximum(square[order], 0.0))
        S[1e-8 * S[0] > S] = 0.0  # roundings of X'X
        return S, np.ascontiguousarray(vectors[:, order])


def _sides(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.maximum(U, 0), np.maximum(-U, 0)


def _chosen_sides(U: np.ndarray, best: np.ndarray) -> np.ndarray:
    """The positive or the negative parts, as `best` says; of the first column, which has one sign, the sizes."""
    chosen = np.maximum(np.where(best == 0, U, -U), 0)
    chosen[:, 0] = np.abs(U[:, 0])
    return chosen


def _filled(A: np.ndarray, bar: float, variant: str, mean: float, rng: Any) -> np.ndarray:
    """What is below the bar becomes 0, or what the variant puts in the place of zeros."""
    A[bar > A] = 0
    if variant != "nndsvd":
        empty = A == 0
        drawn = rng.standard_normal(size=int(empty.sum())) / 100 if variant == "nndsvdar" else 1.0
        A[empty] = np.abs(mean * drawn)
    return A


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X


def _sum(chunk: Any, power: int) -> float:
    return float(times_power(chunk[0], -power).sum(dtype=np.float64))


def _gram(chunk: Any, power: int) -> np.ndarray:
    X = times_power(chunk[0], -power).astype(np.float64, copy=False)
    return np.asarray(_dense(X.T @ X))


def _power_step(chunk: Any, power: int, Q: np.ndarray) -> np.ndarray:
    X = times_power(chunk[0], -power).astype(np.float64, copy=False)
    return np.asarray(X.T @ (X @ Q))


def _projected_gram(chunk: Any, power: int, Q: np.ndarray) -> np.ndarray:
    Y = np.asarray(times_power(chunk[0], -power).astype(np.float64, copy=False) @ Q)
    return Y.T @ Y


__all__ = ["StreamedTable"]
