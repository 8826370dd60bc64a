"""State labels: the names of hidden states, and what labels tell of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.sequence.base import refuse_infinite_labels


def state_codes(labels: Any, count: int | None, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """The names of all states, and the state of each row by its number; -1 where it is not known.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Numbers or names; -1, None or NaN where the state is not known. Integers from 0 to count - 1 are the states'
        own numbers, False and True the states 0 and 1; other labels, sorted, name the first states.
    count : int or None
        The number of states; None for as many as there are labels.
    owner : str
        The model, for errors.

    Examples
    --------
    >>> state_codes(np.array(["b", None, "a"], dtype=object), None, "HMM")
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    labels = np.asarray(labels)
    unknown = _unknown(labels)
    values = labels[~unknown]
    if labels.dtype == object and values.size:
        values = np.array(values.tolist())
        if values.ndim != 1 or (
            values.dtype.kind in "US" and not all(isinstance(v, str) for v in labels[~unknown])
        ):
            raise ValueError(
                f"{owner}: y must hold labels of one kind, numbers or strings; got {labels[:5]!r}."
            )
        if values.dtype == object:
            raise ValueError(f"{owner}: y must hold labels that are numbers or strings; got {labels[:5]!r}.")
    if values.dtype.kind == "f" and values.size:
        refuse_infinite_labels([values.min(), values.max()])
        if (values == np.round(values)).all() and np.abs(values).max() < 2**53:
            values = values.astype(np.int64)
    names, index = np.unique(values, return_inverse=True)
    codes = np.full(labels.size, -1, dtype=np.int64)
    if not names.size:
        return np.arange(1 if count is None else count), codes
    n = names.size if count is None else count
    if names.dtype.kind in "iu" and names[0] >= 0 and names[-1] < n:
        codes[~unknown] = values
        return np.arange(n), codes
    if names.dtype.kind == "b" and n > 1:  # False and True are numbers too, with names of their own
        codes[~unknown] = values
        return np.array([False, True, *range(2, n)], dtype=bool if n == 2 else object), codes
    if names.size > n:
        raise ValueError(
            f"{owner}: y has {names.size} different labels ({names[:5].tolist()} ...), but n_components={count}."
        )
    codes[~unknown] = index
    return _with_unlabelled(names, n), codes


def _unknown(labels: np.ndarray) -> np.ndarray:
    if labels.dtype.kind in "iu":
        return labels == -1
    if labels.dtype.kind == "f":
        return np.isnan(labels) | (labels == -1)
    if labels.dtype == object:
        numeric = not any(isinstance(label, str) for label in labels)
        return np.array(
            [label is None or label != label or (numeric and label == -1) for label in labels], dtype=bool
        )
    return np.zeros(labels.size, dtype=bool)


def _with_unlabelled(names: np.ndarray, n: int) -> np.ndarray:
    """Names for the states that no label names: their numbers, or numbers that are not taken."""
    rest = range(names.size, n)
    if not rest:
        return names
    if names.dtype.kind in "US":
        return np.concatenate([names, np.array([f"state {k}" for k in rest], dtype=str)])
    top = names[-1] + 1
    return np.concatenate([names, top + np.arange(len(rest), dtype=names.dtype)])


def check_transitions_allowed(
    states: np.ndarray, borders: np.ndarray, allowed: np.ndarray, names: np.ndarray, owner: str
) -> None:
    """Refuse known states between which a transition is not allowed."""
    last = np.zeros(states.size, dtype=bool)
    last[borders[1:] - 1] = True
    pairs = np.flatnonzero((states[:-1] >= 0) & (states[1:] >= 0) & ~last[:-1])
    wrong = pairs[~allowed[states[pairs], states[pairs + 1]]]
    if wrong.size:
        s = int(np.searchsorted(borders, wrong[0], side="right")) - 1
        one, other = names[states[wrong[0] : wrong[0] + 2]].tolist()
        raise ValueError(
            f"{owner}: in sequence {s} the labels go from {one!r} to {other!r} after row {wrong[0] - borders[s]}, "
            "but topology or transmat_ does not allow this transition."
        )
