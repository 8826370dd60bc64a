"""Draws inside kernels: from normal, gamma, beta and Student's t distributions, and among equally good arms."""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner
from tercet.rl._engine.model import uniform


@inner
def normal(draws: np.ndarray) -> float:
    """A standard normal number, by Box and Muller."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(draws)))
    return radius * math.cos(2.0 * math.pi * uniform(draws))


@inner
def gamma(draws: np.ndarray, shape: float) -> float:
    """A number of the gamma distribution with scale 1 and a shape of at least 1, by Marsaglia and Tsang."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(draws)
        v = (1.0 + c * x) ** 3
        if v > 0 and math.log(1.0 - uniform(draws)) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v


@inner
def beta(draws: np.ndarray, a: float, b: float) -> float:
    """A number of the beta distribution with parameters of at least 1."""
    x = gamma(draws, a)
    return x / (x + gamma(draws, b))


@inner
def student_t(draws: np.ndarray, freedom: float) -> float:
    """A number of Student's t distribution with at least 2 degrees of freedom."""
    return normal(draws) / math.sqrt(2.0 * gamma(draws, 0.5 * freedom) / freedom)


@inner
def random_best(values: np.ndarray, draws: np.ndarray) -> int:
    """The place of the largest value, a random one of several."""
    best, ties = 0, 1
    for k in range(1, values.size):
        if values[k] > values[best]:
            best, ties = k, 1
        elif values[k] == values[best]:
            ties += 1
            if uniform(draws) * ties < 1.0:
                best = k
    return best
