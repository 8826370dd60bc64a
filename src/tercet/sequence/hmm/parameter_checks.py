"""Checks of a hidden Markov model's parameters and priors, which may be set by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.sequence.hmm.markov_chain import check_distributions


def probability_table(given: Any, name: str, shape: tuple[Any, ...], owner: str) -> np.ndarray:
    """An attribute whose rows are distributions, as a fresh float64 array of the given shape (a word: any)."""
    values = np.array(given, dtype=np.float64, order="C")
    fits = values.ndim == len(shape) and values.size > 0
    if not fits or any(isinstance(m, int | np.integer) and m != k for m, k in zip(shape, values.shape)):
        expected = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(f"{owner}: {name} has the shape {values.shape}; expected is ({expected}).")
    if not ((values >= 0).all() and (np.abs(values.sum(axis=-1) - 1.0) <= 1e-6).all()):  # say which row
        check_distributions(values, f"{owner}'s {name}")
    return values


def check_prior(given: Any, name: str, shape: tuple[int, ...], owner: str) -> None:
    """Refuse a prior that is not a number or an array of the given shape, or is negative."""
    prior = np.asarray(given, dtype=np.float64)
    try:
        np.broadcast_to(prior, shape)
    except ValueError:
        raise ValueError(
            f"{owner}: {name} must be a number or an array of shape {shape}; got {prior.shape}."
        ) from None
    if not (prior >= 0).all() or not np.isfinite(prior).all():
        raise ValueError(f"{owner}: {name} must be finite and not negative; got {prior!r}.")


def broadcast_prior(
    value: Any, shape: tuple[int, ...], owner: str, name: str, low: float = -np.inf
) -> np.ndarray:
    """A prior's parameter for each entry of `shape`: from a number, an array that NumPy would broadcast, or one
    with the first axes only (a value for each state, say)."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim and array.shape == shape[: array.ndim] and array.shape != shape[-array.ndim :]:
        array = array.reshape(*array.shape, *[1] * (len(shape) - array.ndim))
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{owner}: {name} must be a number or an array that fits the shape {shape}; "
            f"got an array of shape {np.shape(value)}."
        ) from None
    if not np.isfinite(array).all() or array.min(initial=np.inf) < low:
        also = "" if low == -np.inf else f" and not less than {low:g}"
        raise ValueError(f"{owner}: {name} must be finite{also}; got {value!r}.")
    return array


def broadcast_prior_matrices(value: Any, lead: tuple[int, ...], d: int, owner: str, name: str) -> np.ndarray:
    """The same for matrices. A number stands for a multiple of the identity: a matrix of equal entries would be
    singular, and pull all correlations towards one."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim < 2 or array.shape[-2:] != (d, d):
        return broadcast_prior(array, lead, owner, name)[..., None, None] * np.eye(d)
    return broadcast_prior(array, (*lead, d, d), owner, name)
