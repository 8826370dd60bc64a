"""Scaling by powers of two, for rows whose squares would overflow or vanish."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

SMALL, LARGE = 1e-120, 1e140  # between them squares, and sums of many, keep all their digits


def largest(X: Any) -> float:
    """The largest size of a number in X, an array or sparse matrix.

    Examples
    --------
    >>> largest(np.array([[1.0, -3.0]]))
    3.0
    """
    values = X.data if sparse.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def scale_exponent(most: float) -> int:
    """The exponent e such that rows with numbers up to `most` can be squared when divided by 2^e; 0 as a rule.

    Examples
    --------
    >>> scale_exponent(1000.0), scale_exponent(0.0), scale_exponent(2.0**-600)
    (0, 0, -599)
    """
    return 0 if most == 0 or SMALL < most < LARGE else int(np.frexp(most)[1])


def times_power(X: Any, exponent: int) -> Any:
    """X times 2^exponent, without rounding as long as nothing overflows or vanishes; X itself for 0.

    Examples
    --------
    >>> times_power(np.array([3.0, 5.0]), -1)
    array([1.5, 2.5])
    """
    if exponent == 0:
        return X
    with np.errstate(over="ignore"):  # a radius beside rows of subnormal numbers is infinite
        if sparse.issparse(X):
            scaled = X.copy()
            scaled.data = np.ldexp(X.data, exponent)
            return scaled
        return np.ldexp(X, exponent)
