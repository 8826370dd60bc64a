"""Rows drawn at random for mini-batches, in memory or from a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tercet.core.memory import available
from tercet.core.row_sums import gathered_rows, largest_of
from tercet.core.streams import is_streamed

DRAWN_BYTES = 64 << 20  # of rows of a source that are drawn ahead


def draw_rows(uniform: np.ndarray, n: int, height: np.ndarray | None) -> np.ndarray:
    """Row numbers by numbers from [0, 1): all alike, or in proportion to weights whose running sum is given."""
    if height is None:
        return np.minimum((uniform * n).astype(np.intp), n - 1)
    last = int(np.searchsorted(height, height[-1]))  # no row after it has a weight
    return np.minimum(np.searchsorted(height, uniform * height[-1], side="right"), last)


def drawn_batches(
    X: Any, height: np.ndarray | None, size: int, limit: int, rng: np.random.Generator
) -> Iterator[Any]:
    """Batches of rows drawn in proportion to their weights.

    Rows are drawn for 16 batches, then for 32, and so on while they take little memory: one pass over a source
    reads them.
    """
    n, ahead = X.shape[0], 16
    most = max(
        16, DRAWN_BYTES // max(int(size * X.nbytes / n if is_streamed(X) else 8 * X.shape[1] * size), 1)
    )
    while True:
        at = draw_rows(rng.random((min(ahead, limit), size)), n, height)
        if is_streamed(X):
            every, place = np.unique(at, return_inverse=True)
            (found,) = gathered_rows(every, X)
            yield from (found[part] for part in place.reshape(at.shape))
        else:
            yield from (X[part] for part in at)
        ahead, limit = min(2 * ahead, most), max(limit - ahead, 1)


def refuse_streams(X: Any, weight: Any, exponent: int) -> None:
    """Refuse rows of a source that are too large, or too many for their weights to be kept."""
    if exponent:
        raise ValueError(f"MiniBatchKMeans: X holds numbers up to {largest_of(X):.3g}. Scale the features.")
    if X.is_sparse:
        raise TypeError("MiniBatchKMeans takes dense rows of a source. Use partial_fit with its pieces.")
    if weight is not None and 32 * weight.shape[0] > available():
        raise TypeError(
            f"MiniBatchKMeans: the weights of {weight.shape[0]} rows do not fit into memory. Use KMeans."
        )


def sample_rows(
    X: Any, weight: np.ndarray | None, rng: np.random.Generator, size: int, least: int
) -> tuple[Any, np.ndarray | None]:
    """Some rows, drawn without replacement from those that have a weight, and their weights."""
    if size >= X.shape[0]:
        return X, weight
    pool = X.shape[0] if weight is None else np.flatnonzero(weight > 0)
    if weight is not None and len(pool) < least:
        pool = X.shape[0]
    count = pool if isinstance(pool, int) else len(pool)
    chosen = np.sort(rng.choice(pool, min(size, count), replace=False))
    return gathered_rows(chosen, X)[0], None if weight is None else weight[chosen]
