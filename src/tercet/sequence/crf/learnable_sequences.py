"""The labelled sequences that something can be learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.sequence.base import Sequences


def learnable(X: Sequences, y: np.ndarray, weight: np.ndarray | None) -> tuple[Any, np.ndarray, Any]:
    """The sequences that have tokens and a positive weight, with their labels."""
    here = X.lengths > 0 if weight is None else (X.lengths > 0) & (weight > 0)
    if here.all():
        return X, y, weight
    there = np.flatnonzero(here)
    return X[there], X.with_rows(y)[there].rows, None if weight is None else weight[there]
