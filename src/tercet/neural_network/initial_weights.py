"""Initial weights of a network: random, in a range of choice, or given."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from tercet.core.parameters import Positive

Initial = Literal["glorot", "he", "unit"] | Positive | tuple | list


def initial_weights(
    init: Any, sizes: Any, activation: str, rng: np.random.RandomState, owner: str
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Weights and biases of each layer to begin with.

    "glorot" draws from ±sqrt(6 / (inputs + outputs)), with 2 in place of 6 for logistic units; "he" from
    ±sqrt(6 / inputs), with biases of 0; "unit" draws weights and thresholds from (0, 1); a number r draws all from
    (-r, r); a pair (coefs, intercepts) is taken as it is.
    """
    shapes = list(pairwise(sizes))
    if isinstance(init, tuple | list):
        return given_weights(init, shapes, owner)
    coefs, intercepts = [], []
    for shape in shapes:
        bound = weight_bound(init, shape, activation)
        low = 0.0 if init == "unit" else -bound
        coefs.append(rng.uniform(low, bound, shape))
        biases = rng.uniform(low, bound, shape[1])
        intercepts.append(-biases if init == "unit" else np.zeros(shape[1]) if init == "he" else biases)
    return coefs, intercepts


def weight_bound(init: Any, shape: tuple[int, int], activation: str) -> float:
    """The largest absolute value of a weight of a layer."""
    if init == "glorot":
        return float(np.sqrt((2.0 if activation == "logistic" else 6.0) / sum(shape)))
    if init == "he":
        return float(np.sqrt(6.0 / shape[0]))
    return 1.0 if init == "unit" else float(init)


def given_weights(init: Any, shapes: Any, owner: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Given weights and biases as float arrays, if they fit the layers."""
    wanted = [*shapes, *((shape[1],) for shape in shapes)]
    try:
        parts = [np.array(part, dtype=np.float64) for layers in init for part in layers]
        fits = len(init) == 2 and len(init[0]) == len(shapes)
        fits = fits and [part.shape for part in parts] == wanted
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: init must be a pair (coefs, intercepts) of lists of arrays.") from None
    if not fits:
        raise ValueError(
            f"{owner}: init must be a pair (coefs, intercepts) with the shapes {wanted}; "
            f"got {[part.shape for part in parts]}."
        )
    if not all(np.isfinite(part).all() for part in parts):
        raise ValueError(f"{owner}: init must hold finite numbers.")
    for k in range(len(shapes) - 1):
        units = np.vstack([parts[k], parts[len(shapes) + k], parts[k + 1].T])  # a column for each unit
        if units.shape[1] > 1 and (units == units[:, :1]).all():
            warnings.warn(
                f"{owner}: init gives all units of hidden layer {k + 1} the same weights: they stay equal. Draw "
                "random weights.",
                UserWarning,
                stacklevel=2,
            )
    return parts[: len(shapes)], parts[len(shapes) :]
