"""The incremental mean (增量式均值) of the watermelon notes, equation 14.1."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import inner


@method(
    zh="增量式均值",
    task="function",
    model="Q_n = ((n - 1) Q_{n-1} + v_n)/n = Q_{n-1} + (v_n - Q_{n-1})/n",
    strategy="the mean of all values so far, without keeping them",
    texts=["watermelon notes ch. 14, eq. 14.1"],
)
def incremental_mean(mean: Any, value: Any, count: Any) -> Any:
    """Incremental mean: the mean of count values and one more.

    Parameters
    ----------
    mean : float or array
        The mean of the values so far.
    value : float or array
        The new value.
    count : int or array of int
        The number of values so far, without the new one: n - 1 in equation 14.1. Line 11 of Algorithm 2, too, comes
        before the count is raised in line 12.

    Returns
    -------
    float or array

    Examples
    --------
    >>> Q = 0.0
    >>> for count, reward in enumerate([1, 0, 1, 1]):
    ...     Q = incremental_mean(Q, reward, count)
    ...     print(round(Q, 4))
    1.0
    0.5
    0.6667
    0.75
    """
    counts = np.asarray(count)
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError(f"incremental_mean: count must be whole numbers of at least 0; got {count!r}.")
    mean, value = np.asarray(mean, dtype=np.float64), np.asarray(value, dtype=np.float64)
    return next_mean(mean, value, counts)[()]


@inner
def next_mean(mean: Any, value: Any, count: Any) -> Any:
    """Equation 14.1: the mean of `count` values and one more."""
    return (mean * count + value) / (count + 1)
