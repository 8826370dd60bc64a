"""Subset selection: which features to keep when each of them has a price (子集选择)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def best_subset(
    risk: Callable[[list[int]], tuple[float, Array]],
    order: Array,
    price: float,
    start: Array,
    value: float,
) -> Array:
    """Minimise risk(S) + price |S| over all subsets S, by branch and bound.

    Parameters
    ----------
    risk : callable
        From a list of features to the least risk with these, and the coefficients that reach it. It must not
        rise when features are added, and may be off by a constant.
    order : array of shape (d,)
        How important each feature looks; the most important are decided on first.
    price : float
        What a feature costs.
    start : array of shape (d,)
        Coefficients that are known to be good.
    value : float
        Their risk + price.

    Returns
    -------
    w : array of shape (d,)

    Examples
    --------
    >>> gains = np.array([3.0, 0.2, 1.0])
    >>> def risk(S):
    ...     return -gains[S].sum(), gains[S]
    >>> best_subset(risk, gains, 0.5, np.zeros(3), 0.0)
    array([3., 0., 1.])
    """
    best, least = start, value
    slack = 1e-12 * max(abs(value), 1e-300)

    def search(inside: list[int], free: list[int], joint: float) -> None:
        """All subsets that hold `inside` and some of `free`; joint is the risk with all of these."""
        nonlocal best, least
        found, w = risk(sorted(inside))
        if found + price * len(inside) < least - slack:
            best, least = np.zeros(len(order)), found + price * len(inside)
            best[sorted(inside)] = w
        # whatever else is below here takes at least one feature more, and cannot beat all of them together
        if not free or joint + price * (len(inside) + 1) >= least - slack:
            return
        first, rest = free[0], free[1:]
        search([*inside, first], rest, joint)
        search(inside, rest, risk(sorted(inside + rest))[0])

    everything = [int(j) for j in np.argsort(-order, kind="stable")]
    search([], everything, risk(sorted(everything))[0])
    return best
