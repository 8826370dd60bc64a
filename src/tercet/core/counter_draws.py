"""Random numbers of rows that depend on a seed and the number of the row alone, not on the order of reading."""

from __future__ import annotations

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15


def uniform_draws(seed: int, rows: np.ndarray) -> np.ndarray:
    """Numbers from [0, 1), one for each row number: SplitMix64, from a state that is a hash of the seed.

    Examples
    --------
    >>> uniform_draws(0, np.arange(4)).round(3), uniform_draws(0, np.array([2])).round(3)
    (array([0.282, 0.652, 0.701, 0.387]), array([0.701]))
    """
    start = _mixed(np.array([(seed + 1) * GOLDEN & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64))
    with np.errstate(over="ignore"):
        x = _mixed(start + np.asarray(rows, dtype=np.uint64) * np.uint64(GOLDEN))
    return (x >> np.uint64(11)) * 2.0**-53


def _mixed(x: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
