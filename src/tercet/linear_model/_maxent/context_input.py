"""Contexts and their weights as a maximum entropy model takes them, in memory or streamed."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tercet.core.streams import is_streamed
from tercet.linear_model._least_squares.design_matrix import append_ones


def streaming_refusal(model: Any) -> str:
    """Why the parameters of a model do not allow learning from a source."""
    if model.feature_functions is not None:
        return "feature_functions take contexts of any kind. Use columns of numbers as features."
    if model.algorithm in ("iis", "gis", "newton"):
        return f"algorithm={model.algorithm!r} needs all rows at once. Use 'lbfgs' or 'newton-cg'."
    return ""


def with_constant(X: Any, constant: bool) -> Any:
    """X in double precision, with a constant column where there are intercepts."""
    function = _doubled_with_ones if constant else _doubled
    if is_streamed(X):
        return X.map(function, width=X.shape[1] + constant, dtype=np.float64)
    return function(X)


def _doubled(X: Any) -> Any:
    """X in double precision."""
    return X.astype(np.float64, copy=False)


def _doubled_with_ones(X: Any) -> Any:
    """X in double precision with a last column of ones."""
    return append_ones(_doubled(X))


def shares(y: Any, weight: Any, mass: float) -> Any:
    """The weights of the contexts, in memory or streamed, as shares of their sum."""
    if weight is None:
        each = functools.partial(_equal_shares, share=1.0 / mass)
        return y.map(each, dtype=np.float64) if is_streamed(y) else each(y)
    if is_streamed(weight):
        return weight.map(functools.partial(shares, None, mass=mass), dtype=np.float64)
    return weight.astype(np.float64) / mass


def _equal_shares(y: np.ndarray, share: float) -> np.ndarray:
    return np.full(y.size, share)
