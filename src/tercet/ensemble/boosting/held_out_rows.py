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


class HeldOutRows:
    """Which of n rows are held out, and how many, where there may be too many rows for a mask of them.

    Parameters
    ----------
    n, fraction, seed, strata
        As those of `held_out_mask`; above `SPLIT_ROWS` rows strata are not needed.

    Examples
    --------
    >>> held = HeldOutRows(10, 0.3, 0)
    >>> held.n_held, held.counts_before(np.array([0, 10])).tolist()
    (3, [0, 3])
    """

    def __init__(self, n: int, fraction: Any, seed: int, strata: np.ndarray | None = None) -> None:
        self.n, self.fraction, self.seed = n, fraction, seed
        self.mask = held_out_mask(n, fraction, seed, strata) if n <= SPLIT_ROWS else None
        self.n_held = int(self.counts_before(np.array([n]))[0])

    def mask_of(self, start: int, count: int) -> np.ndarray:
        """Whether the rows from number `start` on are held out."""
        if self.mask is not None:
            return self.mask[start : start + count]
        return is_held_out(np.arange(start, start + count), self.n, self.fraction, self.seed)

    def counts_before(self, places: np.ndarray) -> np.ndarray:
        """How many rows are held out before each of some places, in ascending order."""
        found, done = np.zeros(len(places), np.int64), 0
        for start in range(0, self.n, SPLIT_ROWS):
            counts = np.append(0, np.cumsum(self.mask_of(start, min(SPLIT_ROWS, self.n - start))))
            low, high = np.searchsorted(places, [start, start + len(counts)])
            found[low:high] = done + counts[places[low:high] - start]
            done += int(counts[-1])
        return found


def is_held_out(rows: np.ndarray, n: int, fraction: Any, seed: int) -> np.ndarray:
    """Whether rows with these numbers, of more than `SPLIT_ROWS`, are held out."""
    share = fraction / n if isinstance(fraction, int | np.integer) else fraction
    return uniform_draws(seed, rows) < share
