"""A table of a source for non-negative factorisation: rows that are read in passes, and their W beside them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each, reduce, total
from tercet.core.read_ahead import feed
from tercet.core.row_pages import Field
from tercet.core.row_states import RowStates, State, row_states
from tercet.core.scaling import largest, times_power
from tercet.core.stopping import check_stop
from tercet.decomposition._nmf.half import SMALL

CHUNK_BYTES = 1 << 23  # of rows that are worked on together
MOST_GRAM = 1000  # columns up to which singular vectors come from X'X; else by subspace iteration


class StreamedTable:
    """The rows of X, divided by a power of two, and the states "W" of its chunks.

    Parameters
    ----------
    X : StreamedArray of shape (n, d)
    k : int
        Components.
    exponent : callable
        Gives the power of two for the largest entry.
    rows : int, optional
        Rows of a chunk.
    states : callable, optional
        Where W is kept; by default where the engine in use works.
    """

    def __init__(
        self,
        X: Any,
        k: int,
        exponent: Callable[[float], int],
        rows: int | None = None,
        states: Callable[..., Any] = row_states,
    ) -> None:
        self.shape, self.dtype, self.k = X.shape, X.dtype, k
        n = X.shape[0]
        if rows is None:
            rows = int(np.clip(n * CHUNK_BYTES // max(X.nbytes, 1), 64, n))
        self.chunks = Chunks(X, rows=rows)
        self.power = exponent(max(each(_largest, self.chunks)))
        self.states: RowStates = states(self.chunks, {"W": Field((k,), X.dtype)})

    def __enter__(self) -> StreamedTable:
        return self

    def __exit__(self, *error: Any) -> None:
        self.states.close()

    def walk(self) -> Iterator[tuple[int, Any]]:
        """The number of a chunk, and its rows of X, read on this machine."""
        with feed(self.chunks) as ordered:
            for number, (X,) in enumerate(ordered):
                check_stop()
                yield number, times_power(X, -self.power)

    def W(self) -> np.ndarray:
        """W of all rows, in memory."""
        return np.concatenate([state["W"] for state in self.states.gathered()])

    def mean(self) -> float:
        """The mean entry of X."""
        cells = self.shape[0] * self.shape[1]
        return float(total(_sum, self.chunks, self.power)) / max(cells, 1)

    # Starts -----------------------------------------------------------------------------------------------------

    def start(self, init: str, rng: Any) -> np.ndarray:
        """Begin with the first W, and return the first H'; see `nndsvd`."""
        return self._random_start(rng) if init == "random" else self._singular_start(init, rng)

    def _random_start(self, rng: Any) -> np.ndarray:
        """`random_factors`: the same numbers, drawn chunk by chunk."""
        size, d, k = np.sqrt(self.mean() / self.k), self.shape[1], self.k
        H = size * rng.standard_normal(size=(k, d)).astype(self.dtype, copy=False)
        rows = np.diff(self.chunks.borders)
        own = list(zip(rows.tolist(), _generators(rng, (rows * k).tolist())))
        self.states.start(_random_rows, size, k, self.dtype, own=own, reads=False)
        return np.ascontiguousarray(np.abs(H).astype(self.dtype, copy=False).T)

    def _singular_start(self, variant: str, rng: Any) -> np.ndarray:
        """`nonnegative_singular_vectors`, where the left ones, X v / s, are never there as a whole."""
        S, V = self._leading_singular_vectors(rng)
        V = np.divide(V, S, out=np.zeros_like(V), where=S > 0)  # XV is U
        squares, most = reduce(_side_sizes, self.chunks, _add_and_maximum, self.power, V)
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
        first = most[:, 0].max() * factor_u[0]
        most = most[at] * factor_u
        most[0] = first
        bar, mean = SMALL * min(1.0, float(most.max(initial=0.0))), self.mean()
        left = self.power, V, best, factor_u, bar
        own: Sequence[Any] = [None] * len(self.chunks)
        if variant == "nndsvdar":
            own = _generators(rng, each(_empty_cells, self.chunks, *left))
        self.states.start(_singular_rows, *left, variant, mean, self.dtype, own=own)
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


def _generators(rng: Any, counts: Sequence[int]) -> list[Any]:
    """A copy of the generator for each chunk, as it is before so many numbers are drawn for it."""
    found = []
    for count in counts:
        found.append(copy.deepcopy(rng))
        rng.standard_normal(size=int(count))
    return found


def _random_rows(chunk: None, own: tuple[int, Any], size: float, k: int, dtype: Any) -> State:
    """W of a chunk of `random_factors`."""
    rows, rng = own[0], copy.deepcopy(own[1])
    return {"W": np.abs(size * rng.standard_normal(size=(rows, k)).astype(dtype, copy=False))}


def _singular_rows(
    chunk: Any, rng: Any, power: int, V: np.ndarray, best: np.ndarray, factor: np.ndarray, bar: float,
    variant: str, mean: float, dtype: Any,
) -> State:  # fmt: skip
    """W of a chunk from the left singular vectors."""
    U = _left_vectors(chunk, power, V, best, factor)
    return {"W": _filled(U, bar, variant, mean, copy.deepcopy(rng)).astype(dtype, copy=False)}


def _empty_cells(
    chunk: Any, power: int, V: np.ndarray, best: np.ndarray, factor: np.ndarray, bar: float
) -> int:
    """How many entries of W of a chunk are to be drawn."""
    U = _left_vectors(chunk, power, V, best, factor)
    return int(((bar > U) | (U == 0)).sum())


def _left_vectors(chunk: Any, power: int, V: np.ndarray, best: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return _chosen_sides(_projected(chunk, power, V), best) * factor


def _projected(chunk: Any, power: int, V: np.ndarray) -> np.ndarray:
    return np.asarray(times_power(chunk[0], -power) @ V, dtype=np.float64)


def _side_sizes(chunk: Any, power: int, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ u² of the positive and of the negative parts of left singular vectors, and their largest entries."""
    sides = np.stack(_sides(_projected(chunk, power, V)))
    return (sides**2).sum(axis=1), sides.max(axis=1, initial=0.0)


def _add_and_maximum(left: Any, right: Any, owned: bool) -> tuple[np.ndarray, np.ndarray]:
    return left[0] + right[0], np.maximum(left[1], right[1])


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


def _largest(chunk: Any) -> float:
    return float(largest(chunk[0]))


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
