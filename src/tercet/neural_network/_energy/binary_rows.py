"""Rows of two values, and full states of binary units."""

from __future__ import annotations

from typing import Any

import numpy as np


def two_values(
    X: np.ndarray, threshold: float | None, who: str, low: float = 0.0, name: str = "X"
) -> np.ndarray:
    """Rows as `low` and 1: values above the threshold are 1; without one, only these two values are allowed."""
    if threshold is not None:
        return np.where(threshold < X, 1.0, low)
    wrong = ~np.isin(X, (low, 1.0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"{who}: {name} must have the values {low:g} and 1 only; {name}[{row}, {column}] is "
            f"{X[row, column]:g}." + (" Set binarize to a threshold." if name == "X" else "")
        )
    return X.astype(np.float64)


def checked_units(given: Any, n_units: int, who: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and values of the units that a dict gives."""
    if given is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    if not isinstance(given, dict):
        raise TypeError(f"{who}: given must be a dict from units to 0 or 1; got {given!r}.")
    for unit, value in given.items():
        whole = isinstance(unit, int | np.integer) and not isinstance(unit, bool)
        if not whole or not 0 <= unit < n_units:
            raise ValueError(f"{who}: given names the unit {unit!r}; units are 0 to {n_units - 1}.")
        if value not in (0, 1):
            raise ValueError(f"{who}: given must have the values 0 and 1; unit {unit} has {value!r}.")
    return np.array(list(given), dtype=np.int64), np.array(list(given.values()), dtype=np.float64)


def symmetric_weights(weights: Any, name: str = "weights") -> np.ndarray:
    """A symmetric array with a zero diagonal, or an error."""
    from tercet.core.validation import check_array

    found = np.array(check_array(weights, dtype=np.float64, input_name=name), order="C")
    if found.shape[0] != found.shape[1]:
        raise ValueError(
            f"{name} must be square, with a row and a column for each unit; got shape {found.shape}."
        )
    if not np.array_equal(found, found.T):
        i, j = np.argwhere(found != found.T)[0].tolist()
        raise ValueError(
            f"{name} must be symmetric; [{i}, {j}] is {found[i, j]:g}, [{j}, {i}] is {found[j, i]:g}."
        )
    if np.diag(found).any():
        raise ValueError(f"{name} must have a diagonal of zeros: no unit is connected with itself.")
    return found
