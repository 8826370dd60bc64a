"""Topologies of hidden Markov models: which transitions a chain of states may make."""

from __future__ import annotations

from typing import Any

import numpy as np

KINDS = ("ergodic", "left-right", "bakis", "cycle")


def topology(kind: Any, n: int) -> np.ndarray:
    """Which transitions a chain of n states may make.

    Parameters
    ----------
    kind : {"ergodic", "left-right", "bakis", "cycle"} or boolean matrix
        All; none back to an earlier state; to stay, to the next or to skip one; to stay or to the next, and from
        the last to the first. A matrix is checked: every state must be able to go somewhere.
    n : int
        The number of states.

    Returns
    -------
    array of bool of shape (n, n)

    Examples
    --------
    >>> topology("bakis", 4).astype(int)
    array([[1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 0, 1]])
    """
    ahead = np.arange(n)[None, :] - np.arange(n)[:, None]
    if isinstance(kind, str):
        if kind == "ergodic":
            return np.ones((n, n), dtype=bool)
        if kind == "left-right":
            return ahead >= 0
        if kind == "bakis":
            return (ahead >= 0) & (ahead <= 2)
        if kind == "cycle":
            return np.isin(ahead % n, (0, 1))
        raise ValueError(
            f"topology must be one of {', '.join(map(repr, KINDS))} or a matrix of booleans; got {kind!r}."
        )
    allowed = np.asarray(kind)
    if allowed.shape != (n, n) or not np.isin(allowed, (0, 1)).all():
        raise ValueError(
            f"topology must be a matrix of booleans of shape ({n}, {n}); got shape {allowed.shape}, "
            f"dtype {allowed.dtype}."
        )
    allowed = allowed.astype(bool)
    stuck = np.flatnonzero(~allowed.any(axis=1))
    if stuck.size:
        raise ValueError(f"topology lets state {stuck[0]} go nowhere: row {stuck[0]} has no True.")
    return allowed
