"""Scaling by powers of two, for rows whose squares would overflow or vanish."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

SMALL, LARGE = 1e-120, 1e140  # between them squares, and sums of many, keep all their digits
SAFE_SQUARES = 1e-200, 1e270  # of sums of squares whose largest term is certainly between them


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


def common_exponent(*tables: Any) -> int:
    """The exponent e such that the rows of all tables can be squared when divided by 2^e; 0 as a rule.

    Examples
    --------
    >>> common_exponent(np.array([[3.0]]), np.array([[1e-300]])), common_exponent(np.array([[2.0**600]]))
    (0, 601)
    """
    squares = 0.0
    for X in tables:
        values = X.data if sparse.issparse(X) else X
        flat = values.ravel() if values.dtype == np.float64 and values.flags.c_contiguous else None
        with np.errstate(over="ignore", under="ignore"):
            squares += np.nan if flat is None else float(np.dot(flat, flat))  # once through memory, not twice
    if SAFE_SQUARES[0] < squares < SAFE_SQUARES[1]:
        return 0
    return scale_exponent(max(largest(X) for X in tables))


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
