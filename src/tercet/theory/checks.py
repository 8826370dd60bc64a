"""Checks that the calculators share."""

from __future__ import annotations

import math


def checked_count(name: str, value: float, least: float = 1) -> float:
    """A finite number of rows, hypotheses or dimensions, at least `least`."""
    if (
        not (isinstance(value, (int, float)) or hasattr(value, "__float__"))
        or not least <= float(value) < math.inf
    ):
        raise ValueError(f"{name} must be a finite number of at least {least}; got {value!r}.")
    return float(value)


def checked_probability(name: str, value: float) -> float:
    """A probability strictly between 0 and 1."""
    if not 0 < float(value) < 1:
        raise ValueError(f"{name} must be between 0 and 1, both excluded; got {value!r}.")
    return float(value)


def checked_positive(name: str, value: float) -> float:
    """A finite number above 0."""
    if not 0 < float(value) < math.inf:
        raise ValueError(f"{name} must be a finite number above 0; got {value!r}.")
    return float(value)
