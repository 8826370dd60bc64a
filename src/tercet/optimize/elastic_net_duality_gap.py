"""Duality gap of least squares under an L1 and an L2 penalty: how far a solution can be from the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.kernel import shared


def elastic_net_duality_gap(
    w: np.ndarray, correlations: np.ndarray, square: float, l1: float, l2: float = 0.0, positive: bool = False
) -> tuple[float, float]:
    """Duality gap of the elastic net at w, a bound on its distance from the minimum, and the value at w.

    Parameters
    ----------
    w : array of shape (n_features,)
        Coordinates.
    correlations, square : array of shape (n_features,), float
        Correlations of the residual r with the columns, and its mean square
        (`LeastSquares.residual_correlations`).
    l1, l2, positive
        The penalty.

    Returns
    -------
    gap, value : float

    Examples
    --------
    >>> elastic_net_duality_gap(np.zeros(1), np.array([2.0]), 5.0, l1=4.0)
    (0.0, 2.5)
    """
    return gap_and_value(w, correlations, float(square), float(l1), float(l2), bool(positive))


@shared
def gap_and_value(w: Any, correlations: Any, square: Any, l1: Any, l2: Any, positive: Any) -> Any:
    """Duality gap and value, as a sum of terms none of which is negative: no digits are lost to cancellation.

    The better of two dual points: the residual itself, which is feasible with an L2 part (its gap is the sum of
    the Fenchel-Young gaps of the coordinates), and the best feasible multiple of the residual, with the L2 part
    written as extra rows of data.
    """
    absolute, ridge, along, largest, unscaled = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(w.size):
        v, c = w[j], correlations[j]
        gradient = c - l2 * v
        absolute += abs(v)
        ridge += l2 * v * v
        along += v * gradient
        largest = max(largest, gradient if positive else abs(gradient))
        if l2 > 0.0:
            if c < 0.0 and not positive:
                v, c = -v, -c
            if c > l1:
                unscaled += l1 * (abs(v) - v) + (c - l1 - l2 * v) ** 2 / (2.0 * l2)
            else:
                unscaled += l1 * abs(v) - v * c + l2 * v * v / 2.0
    augmented = square + ridge  # mean square of the residual of the augmented data
    best = max(1.0 + along / augmented, 0.0) if augmented > 0.0 else 1.0
    scale = min(best, l1 / largest) if largest > 0.0 else best
    scaled = (1.0 - scale) ** 2 * augmented / 2.0
    for j in range(w.size):
        scaled += max(l1 * abs(w[j]) - scale * w[j] * (correlations[j] - l2 * w[j]), 0.0)
    gap = min(scaled, unscaled) if l2 > 0.0 else scaled
    return gap, square / 2.0 + l1 * absolute + ridge / 2.0
