"""Values of X whose squares overflow or underflow."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.row_sums import largest_of
from tercet.core.streams import is_streamed

HUGE = {4: 1e12, 8: 1e75}  # by the bytes of a number: fourth powers still do not overflow
TINY = {4: 1e-15, 8: 1e-100}


def rescaled(X: Any) -> tuple[Any, float]:
    """X divided by a power of two where its values are huge, and that power; else X itself and 1."""
    largest = largest_value(X)
    if not largest > HUGE[X.dtype.itemsize]:
        return X, 1.0
    if is_streamed(X):
        raise ValueError(
            f"X holds numbers up to {largest:.3g}, whose squares may overflow. Scale the features."
        )
    scale = float(2.0 ** np.floor(np.log2(largest)))
    return (X * X.dtype.type(1 / scale)).astype(X.dtype, copy=False), scale


def largest_value(X: Any) -> float:
    """The largest absolute value of X."""
    if is_streamed(X):
        return largest_of(X)
    values = X.data if sparse.issparse(X) else X
    return float(max(values.max(), -values.min())) if values.size else 0.0


def warn_of_tiny_values(model: Any, X: Any) -> None:
    """Warn where all values of X are so tiny that a penalty leaves the weights no effect."""
    largest = largest_value(X)
    if 0 < largest < TINY[X.dtype.itemsize]:
        warnings.warn(
            f"{type(model).__name__}: the largest value of X is {largest:.3g}; with weights of any common size "
            "such features have no effect on the scores. Scale the features.",
            UserWarning,
            stacklevel=4,
        )
