"""Checks of sample weights."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from tercet.core.input_errors import shown
from tercet.core.validation import check_array


def check_weight(sample_weight: Any, X: Any, most: float = 1e100) -> np.ndarray | None:
    """Sample weights as an array of X's dtype, or None when there are none."""
    if sample_weight is None:
        return None
    n = X.shape[0]
    # rows may be strings, or numbers of rows; a frame has a type for each column
    dtype = getattr(X, "dtype", None)
    dtype = dtype if dtype is not None and np.dtype(dtype).kind == "f" else np.float64
    if isinstance(sample_weight, numbers.Number):
        if not isinstance(sample_weight, numbers.Real) or not math.isfinite(sample_weight):
            raise ValueError(f"sample_weight must be finite and not negative; got {sample_weight!r}.")
        weight = np.full(n, sample_weight, dtype=dtype)
    else:
        refuse_dates(sample_weight)
        weight = check_array(sample_weight, ensure_2d=False, dtype=dtype, input_name="sample_weight")
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
    check_mass(weight, most)
    return weight


def check_mass(weight: np.ndarray, most: float = 1e100) -> None:
    """Refuse weights whose products with losses would overflow or vanish."""
    bound = most if weight.dtype == np.float64 else min(most, 1e30)
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
