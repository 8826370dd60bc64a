"""The visits of an online pass: which rows come in which order, and the rates that decrease from visit to visit."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tercet.core.parameters import Range

Rate = Annotated[float, Range(0, 1, "(]")]
Decay = Literal["exponential", "linear", "inverse", "constant"]


def decayed(kind: str, start: float, end: float, progress: np.ndarray) -> np.ndarray:
    """A rate that goes from `start` at progress 0 to `end` at progress 1, and stays there.

    Examples
    --------
    >>> p = np.array([0.0, 0.5, 1.0, 2.0])
    >>> (
    ...     decayed("linear", 1.0, 0.25, p),
    ...     decayed("exponential", 1.0, 0.25, p),
    ...     decayed("inverse", 1.0, 0.25, p),
    ... )
    (array([1.   , 0.625, 0.25 , 0.25 ]), array([1.  , 0.5 , 0.25, 0.25]), array([1.  , 0.4 , 0.25, 0.25]))
    """
    p = np.minimum(progress, 1.0)
    if kind == "constant":
        return np.full(p.shape, float(start))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # start / end may overflow
        if kind == "linear":
            rates = start + (end - start) * p
        elif kind == "inverse":
            rates = start / (1.0 + (start / np.float64(end) - 1.0) * p)
        else:
            rates = start ** (1.0 - p) * end**p
    return np.where(p <= 0, start, np.where(p >= 1, end, rates))


def visit_order(n: int, weight: np.ndarray | None, rng: np.random.Generator, shuffle: bool) -> np.ndarray:
    """The rows that a pass visits.

    Without weights, every row once. With weights, as many visits as there are rows with a weight, spread by
    systematic sampling: row i gets visits in proportion to its weight, exactly so on average over the offset,
    which is drawn, and never one more or less than that.

    Examples
    --------
    >>> visit_order(3, np.array([1.0, 0.0, 1.0]), np.random.default_rng(0), False)
    array([0, 2])
    >>> visit_order(4, np.array([1.0, 5.0, 1.0, 1.0]), np.random.default_rng(0), False)
    array([1, 1, 1, 3])
    """
    order = np.arange(n)
    if weight is not None:
        height = np.cumsum(weight, dtype=np.float64)
        there = np.flatnonzero(weight > 0)
        marks = (np.arange(there.size) + rng.random()) * (height[-1] / there.size)
        order = np.minimum(np.searchsorted(height, marks, side="right"), there[-1])
    return rng.permutation(order) if shuffle else order
