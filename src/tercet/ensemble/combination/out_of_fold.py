"""Out-of-fold predictions: of rows by estimators that were fitted without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags

from tercet.core.folds import checked_folds
from tercet.core.meta import Part, columns_at, rows_at
from tercet.core.parallel import one_blas_thread

Splits = list[tuple[np.ndarray, np.ndarray]]


def partition(owner: Any, X: Any, y: np.ndarray, classifier: bool) -> Splits:
    """Train and test rows of each fold; every row is in one test set, and all members get the same folds."""
    cv, splits = owner.cv, checked_folds(owner, np.zeros((len(y), 1)), y, classifier=classifier)
    times = np.bincount(np.concatenate([np.arange(len(y))[test] for _, test in splits]), minlength=len(y))
    if (times != 1).any():
        row = int(np.argmax(times != 1))
        raise ValueError(
            f"cv must be a partition, with every row in one test set; row {row} is in {times[row]} of those that "
            f"{cv!r} gives."
        )
    return splits


def predict_fold(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    split: tuple[np.ndarray, np.ndarray],
    method: str,
    params: dict[str, Any],
    classes: Any,
) -> np.ndarray:
    """Columns for the test rows of a fold, from an estimator fitted on its other rows."""
    train, test = (np.arange(len(y))[rows] for rows in split)
    pairwise = get_tags(estimator).input_tags.pairwise
    inside, given = Part(y, train).cut(X, params, pairwise)
    outside = rows_at(X, test)
    with one_blas_thread():
        estimator.fit(inside, y[train], **given)
        return columns(estimator, columns_at(outside, train) if pairwise else outside, method, classes)


def columns(estimator: Any, X: Any, method: str, classes: Any = None) -> np.ndarray:
    """Output of an estimator for rows, as columns of numbers.

    Probabilities of two classes add up to 1, so that only the second is kept. `classes` are those of the whole
    data, a list of them for an indicator matrix, or None for numbers.
    """
    found = getattr(estimator, method)(X)
    if isinstance(found, list):  # a table for each label
        tables = [
            _all_classes(p, estimator.classes_[k], len(known))
            for k, (p, known) in enumerate(zip(found, classes))
        ]
        return np.hstack([table[:, 1:] for table in tables])
    found = np.asarray(found)
    if found.ndim == 1:
        return found.reshape(-1, 1)
    if method == "predict_proba" and classes is not None and not isinstance(classes, list):
        found = _all_classes(found, estimator.classes_, len(classes))
        return found[:, 1:] if len(classes) == 2 else found
    return found


def _all_classes(proba: np.ndarray, index: Any, count: int) -> np.ndarray:
    """Probabilities with a column for each class, also for those that a fold does not have."""
    if proba.shape[1] == count:
        return proba
    found = np.zeros((len(proba), count), dtype=proba.dtype)
    found[:, np.asarray(index)] = proba
    return found


def join_folds(name: str, parts: list[np.ndarray], splits: Splits) -> np.ndarray:
    """Columns of all rows from those of the folds."""
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        raise ValueError(
            f"{name}: the columns differ between folds ({sorted(widths)}), as some folds do not have all classes. "
            "Use fewer folds, or stack_method='predict_proba'."
        )
    rows = sum(len(part) for part in parts)
    found = np.empty((rows, *widths), dtype=np.result_type(*parts))
    for part, (_, test) in zip(parts, splits):
        found[test] = part
    return found
