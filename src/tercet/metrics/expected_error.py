"""Mean squared error and error rate under a density of the inputs (Studies ML ch. 2.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.catalog import method

Function = Callable[[np.ndarray], Any]


@method(
    zh="概率密度下的均方误差",
    task="evaluation",
    model="E(f; 𝒟) = ∫ (f(x) - y(x))² p(x) dx",
    texts=["Studies ML ch. 2, eq. 2.2, 2.3"],
    peers=["sklearn.metrics.mean_squared_error"],
)
def expected_squared_error(
    f: Function, target: Function, density: Any, bounds: Any = (-np.inf, np.inf), *, points: Any = None
) -> float:
    """Mean squared error of f under a density of the inputs, by numerical integration.

    Parameters
    ----------
    f, target : callables
        The model and the truth; arrays of shape (n,) for one input, or (n, n_features), to n numbers.
    density : callable, or distribution with a `pdf`
        p(x), as from `scipy.stats`.
    bounds : pair of numbers, or of arrays of shape (n_features,), default=(-inf, inf)
        Where p(x) is not 0.
    points : array of shape (n_points,) or (n_points, n_features), optional
        Where f, target or p jump or bend.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> round(expected_squared_error(lambda x: x, lambda x: 0.0 * x, norm(1, 2)), 6)
    5.0
    """
    return _expectation(
        lambda x: (np.asarray(f(x), float) - np.asarray(target(x), float)) ** 2, density, bounds, points
    )


@method(
    zh="概率密度下的错误率与精度",
    task="evaluation",
    model="E(f; 𝒟) = ∫ I(f(x) ≠ y(x)) p(x) dx, accuracy = 1 - E",
    texts=["Studies ML ch. 2, eq. 2.6, 2.7"],
    peers=["sklearn.metrics.zero_one_loss"],
)
def expected_error_rate(
    f: Function, target: Function, density: Any, bounds: Any = (-np.inf, np.inf), *, points: Any = None
) -> float:
    """Error rate of a classifier under a density of the inputs, by numerical integration.

    1 less it is the accuracy, which Studies ML calls 精度.

    Parameters
    ----------
    f, target : callables
        The classifier and the true labels.
    density, bounds, points
        As in `expected_squared_error`; `points` are where f or the labels change.

    Examples
    --------
    >>> from scipy.stats import uniform
    >>> error = expected_error_rate(
    ...     lambda x: x > 0.5, lambda x: x > 0.3, uniform(), (0, 1), points=[0.3, 0.5]
    ... )
    >>> round(error, 6)
    0.2
    """
    return _expectation(lambda x: np.asarray(f(x)) != np.asarray(target(x)), density, bounds, points)


def _expectation(value: Function, density: Any, bounds: Any, points: Any) -> float:
    """Integral of value(x) p(x), adaptively."""
    from scipy.integrate import cubature

    low, high = (np.atleast_1d(np.asarray(end, dtype=float)) for end in bounds)
    if low.shape != high.shape or low.ndim != 1 or not (low < high).all():
        raise ValueError(f"bounds must be a lower and an upper end for each input; got {bounds!r}.")
    pdf = getattr(density, "pdf", density)
    if not callable(pdf):
        raise ValueError(f"density must be a callable p(x), or have a pdf; got {density!r}.")

    def integrand(x: np.ndarray) -> np.ndarray:
        x = x[:, 0] if x.shape[1] == 1 else x
        return np.asarray(value(x), dtype=float) * np.asarray(pdf(x), dtype=float)

    jumps = None if points is None else list(np.reshape(np.asarray(points, float), (-1, low.size)))
    found = cubature(integrand, low, high, points=jumps, rtol=1e-9, atol=1e-12)
    if not np.isfinite(found.estimate):
        raise ValueError(
            "the integral is not finite: f, target and density must be finite within the bounds."
        )
    return float(found.estimate)
