"""Estimate of what a fit on all rows costs, from fits on fewer."""

from __future__ import annotations

import numpy as np


def extrapolate(spans: list[tuple[int, float]], rows: int) -> float:
    """Seconds of a fit on all rows, from the last two of some trial fits on fewer: on a line through them while
    the time grows no faster than the rows, else on their power law.

    Examples
    --------
    >>> extrapolate([(200, 0.010), (2000, 0.011)], 200_000)
    0.121
    >>> extrapolate([(200, 0.01), (2000, 1.0)], 4000)
    4.0
    """
    large, last = spans[-1]
    if len(spans) < 2 or large >= rows:
        return last
    small, first = spans[-2]
    power = np.log(max(last, 1e-9) / max(first, 1e-9)) / np.log(large / small)
    if power <= 1 or last < 1e-3:  # below a millisecond the ratio is noise
        return round(last + max(0.0, last - first) / (large - small) * (rows - large), 9)
    return round(float(last * (rows / large) ** min(power, 3.0)), 9)
