"""What token labellers are given: sequences in any form, also empty ones, and the indices of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.sequence.base import Sequences
from tercet.sequence.text.attributes import is_empty, is_tokens, token_sequences
from tercet.sequence.text.tokens import known_labels

LARGEST = 1e100  # value of an attribute: squares and sums stay finite


def sequences_in(X: Any, lengths: Any = None) -> Sequences:
    """Sequences of tokens, or of rows of numbers; some may be empty."""
    if is_tokens(X):
        return token_sequences(X, lengths)
    if lengths is not None or not isinstance(X, list | tuple) or (len(X) and not any(map(is_empty, X))):
        return Sequences.of(X, lengths)
    full = np.array([not is_empty(part) for part in X], dtype=bool)
    counts = np.zeros(full.size, dtype=np.int64)
    rows: Any = []
    if full.any():
        tables = Sequences.of([part for part in X if not is_empty(part)])
        if not tables.listed:
            raise ValueError("X has empty rows among others; give a list of tables, one for each sequence.")
        rows, counts[full] = tables.rows, tables.lengths
    return Sequences(rows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), listed=True)


def learnable(X: Sequences, y: np.ndarray, weight: np.ndarray | None) -> tuple[Any, np.ndarray, Any]:
    """The sequences that have tokens and a positive weight, with their labels."""
    here = X.lengths > 0 if weight is None else (X.lengths > 0) & (weight > 0)
    if here.all():
        return X, y, weight
    there = np.flatnonzero(here)
    return X[there], X.with_rows(y)[there].rows, None if weight is None else weight[there]


def check_size(rows: Any, vocabulary: dict[str, int], owner: str) -> None:
    """Refuse values whose squares and sums would overflow."""
    values = rows.data if sparse.issparse(rows) else rows.ravel()
    if values.size and max(-values.min(), values.max()) > LARGEST:
        at = int(np.abs(values).argmax())
        column = int(rows.indices[at] if sparse.issparse(rows) else at % rows.shape[1])
        name = next((name for name, place in vocabulary.items() if place == column), f"x{column}")
        raise ValueError(
            f"{owner}: attribute {name!r} has the value {values[at]:g}; allowed are numbers up to "
            f"{LARGEST:g} in size. Scale it, or give its logarithm."
        )


def label_indices(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The index of each label among the classes: -1 for an unknown label, n_classes for one that is not among them.

    Examples
    --------
    >>> label_indices(np.array(["B", None, "C"], dtype=object), np.array(["A", "B"]))
    array([ 1, -1,  2])
    """
    place, known = {label: k for k, label in enumerate(classes.tolist())}, known_labels(labels)
    codes = [place.get(label, classes.size) if there else -1 for label, there in zip(labels.tolist(), known)]
    return np.array(codes, dtype=np.int64)
