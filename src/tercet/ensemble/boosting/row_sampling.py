"""The rows of one round of boosting: drawn at random, or by the size of their gradients (GOSS)."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_sampling(model: Any) -> None:
    """Refuse shares of one-side sampling that are more than all rows."""
    if model.sampling == "goss" and model.top_rate + model.other_rate > 1.0 + 1e-12:
        raise ValueError(
            f"{type(model).__name__}: with sampling='goss' top_rate + other_rate must be at most 1, all "
            f"rows; got top_rate={model.top_rate!r} and other_rate={model.other_rate!r}."
        )


def drawn_rows(n: int, share: float, random: np.random.Generator) -> np.ndarray | None:
    """A share of n rows, drawn without replacement and in order; None for all of them."""
    if share >= 1.0:
        return None
    return np.sort(random.choice(n, max(1, int(share * n)), replace=False, shuffle=False))


def drawn_mask(weight: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
    """Mask of a share of the rows that have a weight, drawn without replacement."""
    if share >= 1.0:
        return np.ones(weight.size, dtype=bool)
    inside, there = np.zeros(weight.size, dtype=bool), np.flatnonzero(weight)
    drawn = random.choice(there.size, max(1, int(share * there.size)), replace=False, shuffle=False)
    inside[there[drawn]] = True
    return inside


def one_side_sample(
    r: np.ndarray, weight: np.ndarray, top_rate: float, other_rate: float, random: np.random.Generator
) -> tuple[np.ndarray | None, np.ndarray]:
    """Gradient-based one-side sampling: all rows with large gradients, and some of the others.

    Rows whose gradient is small are learned well. Those that are drawn stand for all of them: their weight is
    multiplied by how many they stand for, so that sums over the rows keep their expectation.

    Parameters
    ----------
    r : array of shape (n, n_scores)
        The negative gradients.
    weight : array of shape (n,)
        The weights of the rows.
    top_rate, other_rate : float
        The shares of all rows that are taken for their gradients, and drawn from the others.
    random : Generator
        Draws them.

    Returns
    -------
    rows : array or None
        The rows in order; None for all of them.
    weight : array of shape (n,)
        Their weights.

    Examples
    --------
    >>> r = np.array([[0.1], [-3.0], [0.2], [0.1], [2.0], [0.3]])
    >>> rows, weight = one_side_sample(r, np.ones(6), 2 / 6, 2 / 6, np.random.default_rng(0))
    >>> 1 in rows, 4 in rows, len(rows), weight[rows].sum()
    (True, True, 4, np.float64(6.0))
    """
    n = len(r)
    top, others = max(1, round(top_rate * n)), max(1, round(other_rate * n))
    if top + others >= n:
        return None, weight
    size = weight * np.abs(r).sum(axis=1)
    least = np.partition(size, n - top)[n - top]
    large = size > least
    large[np.flatnonzero(size == least)[: top - np.count_nonzero(large)]] = True  # of equals the first
    small = np.flatnonzero(~large)
    drawn = small[random.choice(small.size, others, replace=False, shuffle=False)]
    weight = weight.copy()
    weight[drawn] *= small.size / others
    large[drawn] = True
    return np.flatnonzero(large), weight
