"""Paths of Markov chains: drawn from transition probabilities, and counted."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np


def sample_path(start: np.ndarray, trans: np.ndarray, u: np.ndarray) -> np.ndarray:
    """States (T,) of a chain, drawn by the numbers u (T,) in [0, 1) from the cumulative probabilities."""
    first, lines = np.cumsum(start).tolist(), np.cumsum(trans, axis=1).tolist()
    states, line = np.empty(u.size, dtype=np.int64), first
    for t, uniform in enumerate(u.tolist()):
        # Sums that round to less than one must not lead beyond the last possible state.
        state = min(bisect_right(line, uniform * line[-1]), bisect_left(line, line[-1]))
        states[t], line = state, lines[state]
    return states


def sample_paths(start: np.ndarray, trans: np.ndarray, u: np.ndarray) -> np.ndarray:
    """States (n, T) of n chains side by side, drawn by the numbers u (n, T) in [0, 1)."""
    n = len(trans)
    ends = np.cumsum(np.vstack([trans, start]), axis=1)
    ends /= ends[:, -1:]
    last = (ends < 1.0).sum(axis=1)  # the last possible state of each row: sums may round to less than one
    # One sorted array for all rows: row i has its cumulative probabilities in (i, i + 1].
    line = (ends + np.arange(n + 1)[:, None]).ravel()
    states, row = np.empty(u.shape, dtype=np.int64), np.full(len(u), n)
    for t in range(u.shape[1]):
        found = np.searchsorted(line, row + u[:, t], side="right") - row * n
        row = np.minimum(found, last[row])
        states[:, t] = row
    return states


def transition_counts(
    sequences: Any, states: Sequence[Hashable] | None = None, alpha: float = 0.0
) -> tuple[np.ndarray, np.ndarray, list]:
    """How often each state follows each other, how often each comes first, and the states.

    Parameters
    ----------
    sequences : sequence of states, or list of such
        The paths.
    states : sequence, optional
        All states in order; by default those that occur, sorted where they can be.
    alpha : float, default=0.0
        Added to every count.

    Returns
    -------
    counts : array of shape (n_states, n_states)
        A row for each state that is left.
    first : array of shape (n_states,)
        Counts of first states.
    states : list

    Examples
    --------
    >>> counts, first, states = transition_counts([["a", "b", "a"], ["b", "a"]])
    >>> counts, first, states
    (array([[0., 1.],
           [2., 0.]]), array([1., 1.]), ['a', 'b'])
    """
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be a finite number, at least 0; got {alpha!r}.")
    paths = _paths(sequences)
    names = _sorted({state for path in paths for state in path}) if states is None else list(states)
    code = {state: k for k, state in enumerate(names)}
    counts, first = np.full((len(names), len(names)), float(alpha)), np.full(len(names), float(alpha))
    for path in paths:
        strange = [state for state in path if state not in code]
        if strange:
            raise ValueError(f"sequences hold {strange[0]!r}, which is not one of the states {names}.")
        codes = np.array([code[state] for state in path])
        first[codes[0]] += 1.0
        np.add.at(counts, (codes[:-1], codes[1:]), 1.0)
    return counts, first, names


def _paths(sequences: Any) -> list[list]:
    """Sequences as lists of states; a single sequence makes one."""
    given = list(sequences)
    several = bool(given) and all(isinstance(item, list | tuple | np.ndarray) for item in given)
    paths = (
        [item.tolist() if isinstance(item, np.ndarray) else list(item) for item in given]
        if several
        else [given]
    )
    if not all(paths):
        raise ValueError("sequences must have at least one state each; got an empty one.")
    if any(isinstance(state, float) and state != state for path in paths for state in path):
        raise ValueError("sequences must hold states; got NaN.")
    return paths


def _sorted(states: set) -> list:
    try:
        return sorted(states)
    except TypeError:
        return sorted(states, key=repr)
