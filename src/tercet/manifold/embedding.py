"""Base of embeddings: rows in, points out."""

from __future__ import annotations

from typing import Any

from tercet.core.estimator import NO_TARGET, Estimator
from tercet.core.validation import target_for_callbacks


class Embedding(Estimator):
    """Base of the estimators that place rows in few dimensions; they learn nothing from a target."""

    sparse_input = False

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None
