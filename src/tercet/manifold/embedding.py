"""Base of embeddings: rows in, points out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.validation import target_for_callbacks
from tercet.neighbors import BallTree, KDTree, NearestNeighbors


class Embedding(Estimator):
    """Base of the estimators that place rows in few dimensions; they learn nothing from a target."""

    sparse_input = False

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None


def rows_of_index(X: Any) -> Any:
    """The rows of a tree or of a fitted search for neighbours; other things as they are."""
    if isinstance(X, NearestNeighbors):
        check_is_fitted(X)
        return X._fit_X
    return np.asarray(X.data) if isinstance(X, KDTree | BallTree) else X
