"""Small data sets drawn from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import generator


def two_moons(n: int = 200, noise: float = 0.1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Two interleaved half circles.

    Examples
    --------
    >>> X, y = two_moons(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 2), 50)
    """
    rng = generator(random_state)
    upper, lower = np.linspace(0, np.pi, n - n // 2), np.linspace(0, np.pi, n // 2)
    points = np.r_[
        np.c_[np.cos(upper), np.sin(upper)], np.c_[1 - np.cos(lower), 0.5 - np.sin(lower)]
    ] + rng.normal(scale=noise, size=(n, 2))
    return points, np.repeat([0, 1], [n - n // 2, n // 2])
