"""Checks of what curves over thresholds take: labels of two classes, and a score or probability for each row."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from tercet.core.sample_weights import check_weight


class BinaryScores(NamedTuple):
    """Which rows are of the positive class, the score of each, and the weights (None when all count alike)."""

    positive: np.ndarray
    score: np.ndarray
    weight: np.ndarray | None

    @property
    def class_weights(self) -> tuple[float, float]:
        """Total weight of the negatives and of the positives."""
        if self.weight is None:
            positives = float(np.count_nonzero(self.positive))
            return self.positive.size - positives, positives
        positives = float(self.weight[self.positive].sum())
        return float(self.weight[~self.positive].sum()), positives


def plain_scores(
    y_true: Any, y_score: Any, pos_label: Any = None, sample_weight: Any = None
) -> BinaryScores | None:
    """Arrays that are plainly in order: integers of two classes and finite floats, of one length; else None.

    scikit-learn's checks of labels sort them; these look at their least and greatest.
    """
    label, score = (getattr(values, "to_numpy", lambda v=values: v)() for values in (y_true, y_score))
    weight = None if sample_weight is None else np.asarray(sample_weight)
    kinds: Any = (label, "biu"), (score, "fiub"), *(() if weight is None else ((weight, "fiu"),))
    if not all(
        type(values) is np.ndarray and values.ndim == 1 and values.dtype.kind in kind and values.size
        for values, kind in kinds
    ):
        return None
    if score.shape != label.shape or (weight is not None and weight.shape != label.shape):
        return None
    low, high = label.min(), label.max()
    chosen = high if pos_label is None else pos_label
    if low == high or (pos_label is None and (high != 1 or low not in (-1, 0))) or chosen not in (low, high):
        return None
    positive = label == chosen
    # two classes only: every other label is the other end
    if label.dtype.kind != "b" and not (positive | (label == (low if chosen == high else high))).all():
        return None
    if score.dtype.kind == "f" and not np.isfinite(score).all():
        return None
    if weight is None:
        return BinaryScores(positive, score, None)
    if not np.isfinite(weight).all() or not weight.min() > 0:
        return None
    return BinaryScores(positive, score, weight.astype(np.float64, copy=False))


def binary_scores(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    both_classes: bool = True,
    name: str = "y_score",
) -> BinaryScores:
    """Labels and scores of a problem with two classes, checked.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels and scores.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}. Every other label is negative.
    sample_weight : array of shape (n_samples,), optional
        Weights; rows of weight 0 are left out.
    both_classes : bool, default=True
        Whether rows of both classes are needed.
    name : str, default="y_score"
        What errors call the scores.
    """
    plain = plain_scores(y_true, y_score, pos_label, sample_weight)
    if plain is not None:
        return plain
    labels = column_or_1d(y_true, input_name="y_true")
    score = _finite_scores(y_score, name)
    if labels.shape != score.shape:
        raise ValueError(f"y_true has {labels.size} rows and {name} has {score.size}: lengths differ.")
    if labels.size == 0:
        raise ValueError(f"y_true and {name} are empty.")
    positive = labels == _positive_label(labels, pos_label)
    weight = check_weight(sample_weight, score)
    if weight is not None:
        counted = weight > 0
        positive, score, weight = positive[counted], score[counted], weight[counted].astype(np.float64)
    if both_classes and (positive.all() or not positive.any()):
        side = "positive" if positive.all() else "negative"
        raise ValueError(f"y_true has {side} rows only: both classes are needed.")
    return BinaryScores(positive, score, weight)


def one_class_only(scores: BinaryScores, what: str, *, negatives: bool = True) -> bool:
    """Whether a class is missing without which a measure is not defined; then warn, as scikit-learn does."""
    missing = "positive" if not scores.positive.any() else "negative" if scores.positive.all() else ""
    if not missing or (missing == "negative" and not negatives):
        return False
    warnings.warn(
        f"No {missing} rows in y_true: {what} is not defined, and set to NaN.",
        UndefinedMetricWarning,
        stacklevel=3,
    )
    return True


def probabilities(y_true: Any, y_prob: Any, **settings: Any) -> BinaryScores:
    """The same for probabilities of the positive class, which lie between 0 and 1; one class is enough."""
    found = binary_scores(y_true, y_prob, both_classes=False, name="y_prob", **settings)
    low, high = float(found.score.min()), float(found.score.max())
    if low < 0 or high > 1:
        raise ValueError(
            f"y_prob must be probabilities between 0 and 1; it goes from {low:.3g} to {high:.3g}. A decision "
            "function can be made one by sklearn.calibration.CalibratedClassifierCV."
        )
    return found._replace(score=np.asarray(found.score, dtype=np.float64))


def _finite_scores(y_score: Any, name: str) -> np.ndarray:
    values = np.asarray(y_score)
    if values.ndim == 2 and values.shape[1] == 2:
        raise ValueError(
            f"{name} must be the score of the positive class, one for each row; got two columns: take the second, "
            f"{name}[:, 1]."
        )
    values = column_or_1d(values, dtype=np.float64, input_name=name)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{name} must be finite numbers; at row {row} it has {values[row]}.")
    return values


def _positive_label(labels: np.ndarray, pos_label: Any) -> Any:
    """The positive label: as given, or 1 of labels in {0, 1} or {-1, 1}."""
    kind = type_of_target(labels, input_name="y_true")
    present = np.unique(labels)
    shown = ", ".join(repr(label) for label in present[:6].tolist()) + (", ..." if present.size > 6 else "")
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y_true must be labels of classes; got {kind} values.")
    if pos_label is None:
        if present.dtype.kind in "biuf" and (
            np.isin(present, [0, 1]).all() or np.isin(present, [-1, 1]).all()
        ):
            return 1
        raise ValueError(f"pos_label must say which class is positive; y_true has the labels {shown}.")
    if present.size >= 2 and not (present == pos_label).any():
        raise ValueError(f"pos_label={pos_label!r} is not among the labels of y_true: {shown}.")
    return pos_label
