"""Checks of sample weights."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from tercet.core.input_errors import shown
from tercet.core.validation import check_array


def check_weight(sample_weight: Any, X: Any, *, relative: bool = False) -> np.ndarray | None:
    """Sample weights as an array (of float32 where X is), or None when there are none.

    Where only their ratios count (`relative`), weights of any sum are taken, in a unit in which it is a number.
    """
    if sample_weight is None:
        return None
    n = X.shape[0]
    # rows may be strings, or floats of another size; a frame has a type for each column
    dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
    read_as = np.float64 if relative else dtype
    if isinstance(sample_weight, numbers.Number):
        if not isinstance(sample_weight, numbers.Real) or not math.isfinite(sample_weight):
            raise ValueError(f"sample_weight must be finite and not negative; got {sample_weight!r}.")
        weight = np.full(n, sample_weight, dtype=read_as)
    else:
        refuse_dates(sample_weight)
        weight = check_array(sample_weight, ensure_2d=False, dtype=read_as, input_name="sample_weight")
        weight = np.require(weight, requirements=["C", "W"])  # or kernels would be compiled once more
    one = getattr(X, "one", "row")  # what a weight is for; whole sequences have one, too
    if not weight.any():
        raise ValueError(f"sample_weight is zero for every {one}: there is nothing to learn from.")
    if weight.shape != (n,):
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight.shape == {weight.shape}, expected ({n},), "
            f"one weight for each {one}."
        )
    if weight.min() < 0:
        raise ValueError(
            "Negative values in data passed to `sample_weight`: sample_weight must not be negative; its smallest "
            f"value is {weight.min()}."
        )
    if relative:
        return in_safe_unit(weight, most_mass(dtype)).astype(dtype, copy=False)
    check_mass(weight)
    return weight


def most_mass(dtype: Any) -> float:
    """The largest sum of weights whose products with losses are numbers; the smallest is its reciprocal."""
    return 1e100 if dtype == np.float64 else 1e30


def in_safe_unit(weight: np.ndarray, bound: float) -> np.ndarray:
    """Weights whose sum is from 1 / bound to bound as they are; others times a power of 4, the largest near 1.

    Examples
    --------
    >>> in_safe_unit(np.array([2.0**999, 2.0**998]), 1e100)
    array([0.5 , 0.25])
    """
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if 1 / bound <= total <= bound:
        return weight
    exponent = int(np.frexp(weight.max())[1])
    return np.ldexp(weight, -(exponent + exponent % 2))  # of 4, so that square roots keep their digits, too


def check_mass(weight: np.ndarray) -> None:
    """Refuse weights whose products with losses would overflow or vanish."""
    bound = most_mass(weight.dtype)
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not 1 / bound <= total <= bound:
        raise ValueError(
            f"sample_weight adds up to {total:.3g}; the sum must be from {1 / bound:g} to {bound:g}. Divide the "
            "weights by their mean."
        )


def refuse_dates(sample_weight: Any) -> None:
    """Refuse dates as weights, which NumPy takes for numbers of days."""
    if getattr(getattr(sample_weight, "dtype", None), "kind", "") in ("m", "M"):
        raise ValueError(f"sample_weight must hold numbers; got {shown(sample_weight)}.")
