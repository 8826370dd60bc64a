"""Which rows are held out to decide when boosting stops."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from tercet.core.counter_draws import uniform_draws

SPLIT_ROWS = 1 << 20  # with more rows, each is held out or not by its number, whatever the targets are


def held_out_mask(n: int, fraction: Any, seed: int, strata: np.ndarray | None) -> np.ndarray:
    """Mask of the rows held out: those that scikit-learn holds out, up to `SPLIT_ROWS` rows.

    Parameters
    ----------
    n : int
        The number of rows.
    fraction : float or int
        The share of them, or how many.
    seed : int
    strata : array of shape (n,), optional
        Classes whose shares are kept.

    Examples
    --------
    >>> held_out_mask(10, 0.3, 0, None).sum()
    np.int64(3)
    """
    mask = np.zeros(n, dtype=bool)
    if n <= SPLIT_ROWS:
        mask[train_test_split(np.arange(n), test_size=fraction, random_state=seed, stratify=strata)[1]] = True
    else:
        for start in range(0, n, SPLIT_ROWS):
            rows = np.arange(start, min(n, start + SPLIT_ROWS))
            mask[rows] = is_held_out(rows, n, fraction, seed)
    return mask


def is_held_out(rows: np.ndarray, n: int, fraction: Any, seed: int) -> np.ndarray:
    """Whether rows with these numbers, of more than `SPLIT_ROWS`, are held out."""
    share = fraction / n if isinstance(fraction, int | np.integer) else fraction
    return uniform_draws(seed, rows) < share
