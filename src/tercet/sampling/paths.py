"""Paths of Markov chains: drawn from transition probabilities, and counted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.rows import kernel_form, read_only


def sample_path(start: np.ndarray, trans: np.ndarray, u: np.ndarray) -> np.ndarray:
    """States (T,) of a chain, drawn by the numbers u (T,) in [0, 1) from the cumulative probabilities.

    Examples
    --------
    >>> start, trans = np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.0, 1.0]])
    >>> sample_path(start, trans, np.array([0.3, 0.4, 0.9, 0.1])).tolist()
    [0, 0, 1, 1]
    """
    return sample_paths(start, trans, np.asarray(u)[None])[0]


def sample_paths(start: np.ndarray, trans: np.ndarray, u: np.ndarray) -> np.ndarray:
    """States (n, T) of n chains, drawn by the numbers u (n, T) in [0, 1) from the cumulative probabilities.

    Examples
    --------
    >>> start, trans = np.array([1.0, 0.0]), np.array([[0.5, 0.5], [0.0, 1.0]])
    >>> sample_paths(start, trans, np.array([[0.3, 0.4], [0.3, 0.9]])).tolist()
    [[0, 0], [0, 1]]
    """
    ends = np.cumsum(np.vstack([trans, start]), axis=1)
    # Sums that round to less than one must not lead beyond the last possible state.
    last = (ends < ends[:, -1:]).sum(axis=1)
    states = np.empty(np.shape(u), dtype=np.int64)
    walk(kernel_form(ends), read_only(last), kernel_form(u), states)
    return states


@kernel
def walk(ends: np.ndarray, last: np.ndarray, u: np.ndarray, states: np.ndarray) -> None:
    """Each number picks the next state by binary search in the row (n + 1, n) of the present one; the last row is
    that of the start."""
    n = ends.shape[1]
    for i in range(u.shape[0]):
        row = n
        for t in range(u.shape[1]):
            value = u[i, t] * ends[row, n - 1]
            low, high = 0, n
            while low < high:
                middle = (low + high) // 2
                if value < ends[row, middle]:
                    high = middle
                else:
                    low = middle + 1
            row = min(low, last[row])
            states[i, t] = row


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
    if not isinstance(sequences, Iterable):
        raise ValueError(f"sequences must be a sequence of states, or a list of such; got {sequences!r}.")
    given = list(sequences)
    nested = [isinstance(item, list | tuple | np.ndarray) for item in given]
    several = bool(given) and all(nested)
    if any(nested) and not several:
        raise ValueError("sequences must be one sequence of states, or a list of such; got both at once.")
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
