"""Checks of logged pulls: which arms were pulled, and what they gave."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.rows import read_only
from tercet.core.scaling import LARGE


def checked_actions(owner: str, actions: Any, n_arms: int | None = None) -> np.ndarray:
    """Numbers of arms in one column, each from 0 to n_arms - 1."""
    given = np.atleast_1d(np.asarray(actions))
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise ValueError(
            f"{owner}: actions must be whole numbers of arms in one column; got an array of {given.dtype} of shape "
            f"{given.shape}."
        )
    wrong = (given < 0) | (given >= (np.inf if n_arms is None else n_arms))
    if wrong.any():
        place = int(np.argmax(wrong))
        arms = "arms are numbered from 0" + ("" if n_arms is None else f" to {n_arms - 1}")
        raise ValueError(f"{owner}: actions holds {given[place]} at place {place}; {arms}.")
    return read_only(given.astype(np.int64))


def checked_rewards(
    owner: str, rewards: Any, n: int, like: str = "actions", name: str = "rewards"
) -> np.ndarray:
    """Finite numbers in one column of length n, whose squares are numbers, too."""
    try:
        given = np.atleast_1d(np.asarray(rewards, dtype=np.float64))
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be numbers; got {rewards!r}.") from None
    if given.shape != (n,):
        raise ValueError(f"{owner}: {name} must have the shape ({n},), as {like} have; got {given.shape}.")
    if not np.isfinite(given).all():
        place = int(np.argmin(np.isfinite(given)))
        raise ValueError(f"{owner}: {name} must be finite numbers; at place {place} there is {given[place]}.")
    if n and np.abs(given).max() > LARGE:
        raise ValueError(
            f"{owner}: {name} must be of size {LARGE:g} at most; got {given[np.argmax(np.abs(given))]:g}."
        )
    return read_only(np.ascontiguousarray(given))
