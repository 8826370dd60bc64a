"""Exponentials of many numbers at once, in a loop that compilers turn into vector instructions."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner

LEAST_EXPONENT = -700.0
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@inner
def exp_negative(x: np.ndarray, out: np.ndarray, bits: np.ndarray) -> None:
    """e^x of numbers that are not positive, to the last digit or two; `bits` is the memory of `out` as integers.

    e^x = 2^p e^f with a whole number p and |f| <= ln(2)/2, and the first terms of the series of e^f. Below -700 the
    result is e^-700. The memory of x is used.
    """
    for i in range(x.size):
        z = max(x[i], LEAST_EXPONENT)
        power = np.int64(z * LOG2_E - 0.5)  # towards 0: the nearest, of numbers that are not positive
        f = (z - power * LN2_HIGH) - power * LN2_LOW
        p = 1.0 / 479001600.0
        p = p * f + 1.0 / 39916800.0
        p = p * f + 1.0 / 3628800.0
        p = p * f + 1.0 / 362880.0
        p = p * f + 1.0 / 40320.0
        p = p * f + 1.0 / 5040.0
        p = p * f + 1.0 / 720.0
        p = p * f + 1.0 / 120.0
        p = p * f + 1.0 / 24.0
        p = p * f + 1.0 / 6.0
        p = p * f + 0.5
        p = p * f + 1.0
        out[i] = p * f + 1.0
        x[i] = power
    for i in range(x.size):
        bits[i] += np.int64(x[i]) << 52
