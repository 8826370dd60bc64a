"""The labelled sequences that something can be learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.sequence.base import Sequences


def learnable_of(
    model: Any, X: Sequences, y: np.ndarray, weight: np.ndarray | None
) -> tuple[Any, np.ndarray, Any]:
    """The sequences that have tokens and a positive weight; `classes_` of the model become the labels of these."""
    given, (X, y, weight) = X, learnable(X, y, weight)
    if X is given:
        return X, y, weight
    if not (y >= 0).any():
        raise ValueError(f"{type(model).__name__} needs labels; the sequences of positive weight have none.")
    present, index = np.unique(np.append(y, -1), return_inverse=True)
    model.classes_ = model.classes_[present[1:]]
    return X, index[:-1] - 1, weight


def learnable(X: Sequences, y: np.ndarray, weight: np.ndarray | None) -> tuple[Any, np.ndarray, Any]:
    """The sequences that have tokens and a positive weight, with their labels."""
    here = X.lengths > 0 if weight is None else (X.lengths > 0) & (weight > 0)
    if here.all():
        return X, y, weight
    there = np.flatnonzero(here)
    return X[there], X.with_rows(y)[there].rows, None if weight is None else weight[there]
