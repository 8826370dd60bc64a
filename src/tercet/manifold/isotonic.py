"""Isotonic regression (保序回归), the step that makes multidimensional scaling non-metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.manifold._smacof.kernels import pool_adjacent


@method(
    zh="保序回归",
    task="regression",
    model="f(x) does not fall as x grows",
    strategy="weighted squared error",
    algorithms="pooling of adjacent violators, O(n) after sorting",
    texts=["watermelon notes ch. 8"],
    peers=["sklearn.isotonic.isotonic_regression"],
)
def isotonic_values(y: Any, weights: Any = None) -> np.ndarray:
    """The non-decreasing sequence that is nearest to y in weighted squares.

    Parameters
    ----------
    y : array of shape (n,)
        Numbers, in the order in which they should rise.
    weights : array of shape (n,), optional
        How much each counts; more than 0.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> isotonic_values([1.0, 3.0, 2.0, 4.0])
    array([1. , 2.5, 2.5, 4. ])
    """
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    mass = np.ones(y.shape)
    if weights is not None:
        mass = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="weights")
    if y.ndim != 1 or mass.shape != y.shape or mass.min() <= 0:
        raise ValueError(
            f"isotonic_values: y and weights must be of one shape (n,), weights more than 0; got {y.shape} and "
            f"{mass.shape}, the smallest weight {mass.min():g}."
        )
    out = np.empty(y.size)
    pool_adjacent(np.ascontiguousarray(y), np.ascontiguousarray(mass), out)
    return out
