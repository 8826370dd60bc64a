"""Checks and inversions that the calculators share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def checked_count(name: str, value: float, least: float = 1) -> float:
    """A finite number of rows, hypotheses or dimensions, at least `least`."""
    if (
        not (isinstance(value, (int, float)) or hasattr(value, "__float__"))
        or not least <= float(value) < math.inf
    ):
        raise ValueError(f"{name} must be a finite number of at least {least}; got {value!r}.")
    return float(value)


def log_of_count(name: str, value: Any) -> float:
    """Logarithm of a number of hypotheses or labellings, at least 1; an int may be too large for a float."""
    if isinstance(value, int) and value >= 1:
        return math.log(value)
    return math.log(checked_count(name, value))


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


def checked_risk(name: str, value: float, largest: float = 1.0) -> float:
    """A mean loss in [0, largest]."""
    if not 0 <= float(value) <= largest:
        raise ValueError(f"{name} must be in [0, {largest:g}], as the loss is; got {value!r}.")
    return float(value)


def checked_choice(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
    return value


def least_count(holds: Callable[[int], bool], start: int = 1) -> int:
    """Smallest integer from `start` on for which a condition holds that stays true once it is true."""
    if holds(start):
        return start
    low, high = start, 2 * start
    while not holds(high):
        if high > 2**60:
            raise ValueError("more than 2^60 rows would be needed.")
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
