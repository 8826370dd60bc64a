"""Hidden states: their names, what is known of them, first distributions over them, and walks through them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.sequence.hmm.markov_chain import check_distributions


def state_codes(labels: Any, count: int | None, who: str) -> tuple[np.ndarray, np.ndarray]:
    """The names of all states, and the state of each row by its number; -1 where it is not known.

    Parameters
    ----------
    labels : array of shape (n_rows,)
        Numbers or names; -1, None or NaN where the state is not known. Integers from 0 to count - 1 are the states'
        own numbers, False and True the states 0 and 1; other labels, sorted, name the first states.
    count : int or None
        The number of states; None for as many as there are labels.
    who : str
        Whose labels they are, for errors.

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
                f"{who}: y must hold labels of one kind, numbers or strings; got {labels[:5]!r}."
            )
    if values.dtype.kind == "f" and (values == np.round(values)).all():
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
            f"{who}: y has {names.size} different labels ({names[:5].tolist()} ...), but n_components={count}."
        )
    codes[~unknown] = index
    return _complete(names, n), codes


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


def _complete(names: np.ndarray, n: int) -> np.ndarray:
    """Names for the states that no label names: their numbers, or numbers that are not taken."""
    rest = range(names.size, n)
    if not rest:
        return names
    if names.dtype.kind in "US":
        return np.concatenate([names, np.array([f"state {k}" for k in rest], dtype=str)])
    top = names[-1] + 1
    return np.concatenate([names, top + np.arange(len(rest), dtype=names.dtype)])


def refuse_forbidden(
    who: str, states: np.ndarray, borders: np.ndarray, allowed: np.ndarray, names: np.ndarray
) -> None:
    """An error where known states make a transition that is not allowed."""
    last = np.zeros(states.size, dtype=bool)
    last[borders[1:] - 1] = True
    pairs = np.flatnonzero((states[:-1] >= 0) & (states[1:] >= 0) & ~last[:-1])
    wrong = pairs[~allowed[states[pairs], states[pairs + 1]]]
    if wrong.size:
        s = int(np.searchsorted(borders, wrong[0], side="right")) - 1
        one, other = names[states[wrong[0] : wrong[0] + 2]].tolist()
        raise ValueError(
            f"{who}: in sequence {s} the labels go from {one!r} to {other!r} after row {wrong[0] - borders[s]}, "
            "but topology or transmat_ does not allow this transition."
        )


def spread(allowed: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """Distributions over what is allowed: drawn, or even."""
    weights = allowed * (1.0 if rng is None else rng.standard_exponential(allowed.shape) + 1e-3)
    return weights / weights.sum(axis=-1, keepdims=True)


def walk(start: np.ndarray, trans: np.ndarray, u: np.ndarray) -> np.ndarray:
    """States one after another, each drawn by a number in [0, 1)."""
    first, lines = np.cumsum(start).tolist(), np.cumsum(trans, axis=1).tolist()
    states, line = np.empty(u.size, dtype=np.int64), first
    for t, chance in enumerate(u.tolist()):
        # Sums that round to less than one must not lead beyond the last state that can be.
        state = min(bisect_right(line, chance * line[-1]), bisect_left(line, line[-1]))
        states[t], line = state, lines[state]
    return states


@dataclass
class Monitor:
    """The course of a fit: the log-likelihood before each pass, how many there were, and whether they converged."""

    history: list[float]
    converged: bool
    iter: int


def distributions(model: Any, name: str, shape: tuple[Any, ...]) -> np.ndarray:
    """An attribute whose rows are distributions, as a fresh float64 array of the given shape (a word: any)."""
    values = np.array(getattr(model, name), dtype=np.float64, order="C")
    fits = values.ndim == len(shape) and values.size > 0
    if not fits or any(isinstance(m, int | np.integer) and m != k for m, k in zip(shape, values.shape)):
        expected = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(
            f"{type(model).__name__}: {name} has the shape {values.shape}; expected is ({expected})."
        )
    if not ((values >= 0).all() and (np.abs(values.sum(axis=-1) - 1.0) <= 1e-6).all()):  # say which row
        check_distributions(values, f"{type(model).__name__}'s {name}")
    return values


def check_prior(model: Any, name: str, shape: tuple[int, ...]) -> None:
    """Refuse a prior that is not a number or an array of the given shape, or is negative."""
    prior = np.asarray(getattr(model, name), dtype=np.float64)
    try:
        np.broadcast_to(prior, shape)
    except ValueError:
        raise ValueError(
            f"{type(model).__name__}: {name} must be a number or an array of shape {shape}; got {prior.shape}."
        ) from None
    if not (prior >= 0).all() or not np.isfinite(prior).all():
        raise ValueError(f"{type(model).__name__}: {name} must be finite and not negative; got {prior!r}.")
