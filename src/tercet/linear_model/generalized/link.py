"""Link functions of generalised linear models (联系函数)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from tercet.core.functions import sigmoid_derivative

Array = np.ndarray
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Link:
    """A monotone, differentiable g with g(mean) = w·x + b (联系函数; watermelon notes eq. 1.13).

    Parameters
    ----------
    function : callable
        g.
    inverse : callable
        Its inverse.
    slope : callable, optional
        Derivative of the inverse; by default by central differences.

    Examples
    --------
    >>> cube = Link(np.cbrt, lambda z: z**3)
    >>> cube.inverse(np.array([2.0])), cube.derivative(np.array([2.0])).round(6)
    (array([8.]), array([12.]))
    """

    function: Function
    inverse: Function
    slope: Function | None = None

    def derivative(self, z: Array) -> Array:
        """Derivative of the inverse at z."""
        if self.slope is not None:
            return self.slope(z)
        h = 6e-6 * np.maximum(1.0, np.abs(z))
        return (self.inverse(z + h) - self.inverse(z - h)) / (2 * h)


def _density(z: Array) -> Array:
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


LINKS: dict[str, Link] = {
    "identity": Link(lambda m: m, lambda z: z, np.ones_like),
    "log": Link(np.log, np.exp, np.exp),
    "logit": Link(logit, expit, sigmoid_derivative),
    "probit": Link(ndtri, ndtr, _density),
    "cloglog": Link(
        lambda m: np.log(-np.log1p(-m)), lambda z: -np.expm1(-np.exp(z)), lambda z: np.exp(z - np.exp(z))
    ),
    "reciprocal": Link(lambda m: 1 / m, lambda z: 1 / z, lambda z: -1 / z**2),
    "inverse-squared": Link(lambda m: m**-2.0, lambda z: z**-0.5, lambda z: -0.5 * z**-1.5),
    "sqrt": Link(np.sqrt, np.square, lambda z: 2 * z),
}
