"""The largest scores of each row, without those of entries that are there already."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.parallel import each

CELLS = 4_000_000  # scores that are in memory at a time, for each thread


def top_items(
    scores_of: Callable[[np.ndarray], np.ndarray], P: np.ndarray, seen: Any, n: int, n_jobs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the n largest of `scores_of(rows of P)`, the largest first, equal ones in their order.

    Parameters
    ----------
    scores_of : callable
        From some rows of P to their scores of all columns.
    P : array of shape (m, k)
        The rows.
    seen : CSR matrix of shape (m, columns), optional
        Its entries are left out.
    n : int
        How many.
    n_jobs : int
        Threads.
    """
    if not len(P):
        return np.zeros((0, n), dtype=np.int64), np.zeros((0, n))
    width = scores_of(P[:1]).shape[1]
    size = max(1, CELLS // width)
    spans = list(itertools.pairwise([*range(0, len(P), size), len(P)]))
    parts = each(_top, spans, scores_of, P, seen, n, n_jobs=n_jobs)
    return np.concatenate([items for items, _ in parts]), np.concatenate([best for _, best in parts])


def _top(
    span: tuple[int, int], scores_of: Any, P: np.ndarray, seen: Any, n: int
) -> tuple[np.ndarray, np.ndarray]:
    first, last = span
    scores = scores_of(P[first:last])
    if seen is not None:
        counts = np.diff(seen.indptr[first : last + 1])
        columns = seen.indices[seen.indptr[first] : seen.indptr[last]]
        scores[np.repeat(np.arange(last - first), counts), columns] = -np.inf
    cut = np.partition(scores, -n, axis=1)[:, -n] if n < scores.shape[1] else np.full(len(scores), -np.inf)
    items, best = np.empty((len(scores), n), dtype=np.int64), np.empty((len(scores), n), scores.dtype)
    for i, row in enumerate(scores):
        among = np.flatnonzero(row >= cut[i])
        items[i] = among[np.argsort(-row[among], kind="stable")[:n]]
        best[i] = row[items[i]]
    items[np.isneginf(best)] = -1
    return items, best
