"""Checks of what measures of several classes take: labels, and a score of each class for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import column_or_1d


def class_scores(y_true: Any, scores: Any, labels: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The place of each label among the classes, and the scores of shape (n_samples, n_classes).

    `labels` are the classes in the order of the columns; None means those of `y_true`, sorted.
    """
    truth = column_or_1d(y_true, input_name="y_true")
    values = np.asarray(scores, dtype=np.float64)
    classes = np.unique(truth) if labels is None else np.asarray(labels)
    if len(np.unique(classes)) != len(classes):
        raise ValueError(f"labels must differ; got {classes.tolist()!r}.")
    if values.shape != (truth.size, len(classes)):
        raise ValueError(
            f"{name} must have a row for each of the {truth.size} labels and a column for each of the "
            f"{len(classes)} classes; got shape {values.shape}. Say which classes the columns are with labels=."
        )
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} must be finite numbers; at row {row} it has {values[row].tolist()}.")
    return label_places(truth, classes), values


def label_places(values: np.ndarray, labels: np.ndarray, name: str = "y_true") -> np.ndarray:
    """The place of each value among the labels; one that is not there is an error."""
    order = np.argsort(labels, kind="stable")
    places = np.minimum(np.searchsorted(labels, values, sorter=order), len(labels) - 1)
    codes = order[places]
    strange = labels[codes] != values
    if np.any(strange):
        value = values.tolist()[int(np.argmax(strange))]
        raise ValueError(f"{name} has {value!r}, which is not among the labels {labels.tolist()[:10]!r}.")
    return codes
