"""Sums as parts of kernels: numba's own `.sum()` may stand by itself, with other bits (see `core.kernel.PART`)."""

from __future__ import annotations

from typing import Any

from tercet.core.kernel import inner


@inner
def sum_of(values: Any) -> Any:
    """The sum of a row of numbers.

    Examples
    --------
    >>> sum_of([1.0, 2.0, 3.5])
    6.5
    """
    total = 0.0
    for k in range(len(values)):
        total += values[k]
    return total
