"""Bounds on the training error of AdaBoost (训练误差界; Li ch. 8, Theorems 8.1 and 8.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method


class ErrorBounds(NamedTuple):
    """Bounds on the training error after M rounds, each at least as large as the one before it."""

    product: float  # prod Z_m = prod 2 sqrt(e_m (1 - e_m))
    exponential: float  # exp(-2 sum gamma_m²)
    uniform: float  # exp(-2 M gamma²), gamma the smallest of the gamma_m


@method(
    zh="AdaBoost 训练误差界",
    task="theory",
    model="error <= prod Z_m = prod sqrt(1 - 4 gamma_m²) <= exp(-2 sum gamma_m²), gamma_m = 1/2 - e_m",
    strategy="exponential loss, which bounds the number of mistakes",
    texts=["Li ch. 8, Thm 8.1, 8.2, Cor 8.1"],
)
def training_error_bounds(errors: ArrayLike) -> ErrorBounds:
    """Bounds on the training error of AdaBoost from the weighted errors e_m of its members.

    Parameters
    ----------
    errors : array of shape (M,)
        e_m, from 0 to 1/2 (the `estimator_errors_` of `AdaBoostClassifier(learning_rate=1)` with two classes).

    Returns
    -------
    ErrorBounds

    Examples
    --------
    >>> product, exponential, uniform = training_error_bounds([0.3, 3 / 14, 2 / 11])
    >>> round(product, 4), round(exponential, 4), round(uniform, 4)
    (0.5802, 0.6403, 0.7866)
    """
    e = np.asarray(errors, dtype=np.float64)
    if e.ndim != 1 or not e.size or not ((e >= 0) & (e <= 0.5)).all():
        raise ValueError(f"errors must be a list of numbers from 0 to 1/2; got {errors!r}.")
    gamma = 0.5 - e
    product = float(np.prod(2.0 * np.sqrt(e * (1.0 - e))))
    return ErrorBounds(
        product, float(np.exp(-2.0 * np.sum(gamma**2))), float(np.exp(-2.0 * e.size * gamma.min() ** 2))
    )
