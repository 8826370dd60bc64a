"""Constraints on the labels that may begin a sequence, follow each other, and end it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.metrics import allowed_transitions


def masks_of(constraints: Any, labels: list[Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Boolean masks of the labels that may come first, of the transitions (from, to), and of the last labels."""
    n = len(labels)
    begin, go, end = np.ones(n, dtype=bool), np.ones((n, n), dtype=bool), np.ones(n, dtype=bool)
    if constraints is None:
        return begin, go, end
    if isinstance(constraints, str):
        try:
            return allowed_transitions(labels, constraints)
        except ValueError as error:
            raise ValueError(f"constraints={constraints!r}: {error}") from None
    if isinstance(constraints, dict):
        strange = [label for label in constraints if label not in labels]
        if len(strange) == len(constraints):  # some may be missing from a fold of the data
            raise ValueError(f"constraints name the labels {strange}; those of the model are {labels}.")
        for i, label in enumerate(labels):
            if label in constraints:
                go[i] = np.isin(np.arange(n), [labels.index(to) for to in constraints[label] if to in labels])
        return begin, go, end
    matrix = np.asarray(constraints)
    if matrix.shape != (n, n) or matrix.dtype.kind not in "biu":
        raise ValueError(
            f"constraints must be the name of a scheme, a dict from labels to those that may follow, or a boolean "
            f"matrix of shape ({n}, {n}); got {constraints!r}."
        )
    return begin, matrix.astype(bool), end


__all__ = ["masks_of"]
