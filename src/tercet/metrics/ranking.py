"""Measures of a ranking: discounted cumulative gain, and its share of the best there is, over queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def dcg(relevance: ArrayLike, *, k: int | None = None, gain: str = "exponential") -> float:
    """Discounted cumulative gain of relevances in the order of a ranking, best place first.

    Parameters
    ----------
    relevance : array of shape (n,)
        How relevant each item is, in the order of the ranking.
    k : int, optional
        How many places count; all by default.
    gain : {"exponential", "linear"}
        2^y - 1, or y.

    Examples
    --------
    >>> round(dcg([3, 2, 0]), 4)
    8.8928
    """
    y = np.asarray(relevance, dtype=np.float64)[:k]
    return float(gains(y, gain) @ discounts(y.size))


def ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    queries: ArrayLike | None = None,
    *,
    k: int | None = None,
    gain: str = "exponential",
) -> float:
    """Mean over queries of the discounted cumulative gain, divided by that of the best order.

    Items of equal score share the mean gain of their places. A query without relevant items counts as 1.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n,)
        Relevances, and the scores that rank the items.
    queries : array of shape (n,), optional
        The query that each item belongs to; one for all by default.
    k : int, optional
        How many places count; all by default.
    gain : {"exponential", "linear"}
        2^y - 1, or y.

    Examples
    --------
    >>> round(ndcg([3, 2, 0, 1], [0.9, 0.2, 0.5, 0.1]), 4)
    0.9508
    """
    y, score = np.asarray(y_true, dtype=np.float64), np.asarray(y_score, dtype=np.float64)
    ids = np.zeros(y.size, dtype=int) if queries is None else np.unique(queries, return_inverse=True)[1]
    if y.ndim != 1 or score.shape != y.shape or ids.shape != y.shape:
        raise ValueError(
            f"y_true, y_score and queries must be of one length; got {y.shape}, {score.shape} and {ids.shape}."
        )
    order = np.argsort(ids, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(ids))[:-1])
    return float(np.mean([query_ndcg(y[rows], score[rows], k, gain) for rows in parts]))


def query_ndcg(y: np.ndarray, score: np.ndarray, k: int | None = None, gain: str = "exponential") -> float:
    """NDCG of one query."""
    best = float(np.sort(gains(y, gain))[::-1] @ discounts(y.size, k))
    if best <= 0.0:
        return 1.0
    _, place, count = np.unique(-score, return_inverse=True, return_counts=True)
    mean_gain = np.bincount(place, gains(y, gain)) / count
    last = np.cumsum(count)
    total = np.append(0.0, np.cumsum(discounts(y.size, k)))
    return float(mean_gain @ (total[last] - total[last - count])) / best


def gains(y: np.ndarray, gain: str = "exponential") -> np.ndarray:
    """What items of these relevances are worth: 2^y - 1, or y."""
    return np.exp2(y) - 1.0 if gain == "exponential" else y


def discounts(n: int, k: int | None = None) -> np.ndarray:
    """What the n places count: 1 / log2(1 + place), and 0 beyond the first k.

    Examples
    --------
    >>> discounts(3, 2).round(4)
    array([1.    , 0.6309, 0.    ])
    """
    worth = 1.0 / np.log2(np.arange(2.0, n + 2.0))
    worth[n if k is None else k :] = 0.0
    return worth
