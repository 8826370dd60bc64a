"""Error rate, accuracy, precision, recall and F of the confusion counts (Li ch. 1.4, 1.8; Studies ML ch. 2.3).

The Chinese terms are not the same everywhere:

==============  =================  ===============  ====================  =============================
measure         Li           Studies ML         the Watermelon Book   scikit-learn's users
==============  =================  ===============  ====================  =============================
accuracy        精确率             精度             精度                  准确率
precision       准确率                              查准率                精确率
recall          召回率                              查全率                召回率
error rate      误差率             错误率           错误率                错误率
==============  =================  ===============  ====================  =============================
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import column_or_1d

from tercet.core.catalog import method
from tercet.core.sample_weights import check_weight


class ConfusionCounts(NamedTuple):
    """True positives, false negatives, false positives and true negatives, or their weights.

    A measure whose denominator is 0 is 0, with a warning.

    Examples
    --------
    >>> counts = ConfusionCounts(tp=3, fn=1, fp=2, tn=4)
    >>> counts.precision, counts.recall, round(counts.f1, 6), counts.accuracy
    (0.6, 0.75, 0.666667, 0.7)
    """

    tp: float
    fn: float
    fp: float
    tn: float

    @property
    def accuracy(self) -> float:
        """Share of rows that are right (1.21): 精确率 in Li, 精度 in Studies ML."""
        return _ratio(self.tp + self.tn, sum(self), "accuracy", "no rows")

    @property
    def error_rate(self) -> float:
        """Share of rows that are wrong (1.20): 1 - accuracy."""
        return _ratio(self.fp + self.fn, sum(self), "error rate", "no rows")

    @property
    def precision(self) -> float:
        """TP / (TP + FP) (1.41): 准确率 in Li, 查准率 elsewhere."""
        return _ratio(self.tp, self.tp + self.fp, "precision", "no predicted positives")

    @property
    def recall(self) -> float:
        """TP / (TP + FN) (1.42): the true positive rate, or sensitivity."""
        return _ratio(self.tp, self.tp + self.fn, "recall", "no positives")

    @property
    def specificity(self) -> float:
        """TN / (TN + FP): the true negative rate."""
        return _ratio(self.tn, self.tn + self.fp, "specificity", "no negatives")

    @property
    def false_positive_rate(self) -> float:
        """FP / (TN + FP): 1 - specificity."""
        return _ratio(self.fp, self.tn + self.fp, "false positive rate", "no negatives")

    @property
    def f1(self) -> float:
        """2 TP / (2 TP + FP + FN) (1.44), the harmonic mean of precision and recall (1.43)."""
        return self.f_score(1.0)

    def f_score(self, beta: float = 1.0) -> float:
        """(1 + beta²) TP / ((1 + beta²) TP + beta² FN + FP): recall counts beta times as much as precision."""
        check_beta(beta)
        hits = (1.0 + beta**2) * self.tp
        return _ratio(hits, hits + beta**2 * self.fn + self.fp, "F", "no positives, true or predicted")


@method(
    zh="混淆矩阵的四种计数、准确率（查准率）、召回率（查全率）与 F1 值",
    task="evaluation",
    model="P = TP/(TP + FP), R = TP/(TP + FN), 2/F₁ = 1/P + 1/R, F₁ = 2TP/(2TP + FP + FN)",
    texts=["Li ch. 1, eq. 1.41-1.44"],
    peers=["sklearn.metrics.precision_recall_fscore_support", "sklearn.metrics.confusion_matrix"],
)
def confusion_counts(
    y_true: Any, y_pred: Any, *, pos_label: Any = 1, sample_weight: Any = None
) -> ConfusionCounts:
    """Confusion counts of one class against all others, with precision, recall, F and accuracy.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n_samples,)
        True and predicted labels.
    pos_label : label, default=1
        The positive class; every other label is negative. A fold may have none of it: then it is in neither array,
        and all other labels are equal.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    counts : ConfusionCounts
        Counts tp, fn, fp, tn, with the measures as attributes.

    Notes
    -----
    The text calls accuracy 精确率 and precision 准确率; much else in Chinese has these two the other way round.

    Examples
    --------
    >>> counts = confusion_counts([1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0])
    >>> counts
    ConfusionCounts(tp=2, fn=1, fp=1, tn=2)
    >>> round(counts.precision, 4), round(counts.recall, 4), round(counts.f1, 4)
    (0.6667, 0.6667, 0.6667)
    """
    truth, predicted, weight = checked_labels(y_true, y_pred, sample_weight)
    real, said = truth == pos_label, predicted == pos_label
    if not (np.any(real) or np.any(said)):
        refuse_unknown_label(pos_label, truth, predicted)
    cells = np.bincount(2 * real + said, weight, minlength=4)
    tn, fp, fn, tp = (cells if weight is not None else cells.astype(int)).tolist()
    return ConfusionCounts(tp, fn, fp, tn)


@method(
    zh="误差率（错误率）与精确率（精度）",
    task="evaluation",
    model="e = (1/N) Σ I(yᵢ ≠ f(xᵢ)), accuracy = 1 - e",
    texts=["Li ch. 1, eq. 1.20, 1.21", "Studies ML ch. 2, eq. 2.4, 2.5"],
    peers=["sklearn.metrics.zero_one_loss", "sklearn.metrics.accuracy_score"],
)
def error_rate(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Share of rows whose label was predicted wrongly: 1 - accuracy.

    Parameters
    ----------
    y_true, y_pred : arrays of shape (n_samples,)
        True and predicted labels.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Examples
    --------
    >>> round(error_rate([0, 1, 1, 2, 2, 2], [0, 1, 2, 2, 2, 0]), 6)
    0.333333
    """
    truth, predicted, weight = checked_labels(y_true, y_pred, sample_weight)
    return float(np.average(truth != predicted, weights=weight))


def checked_labels(y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """True and predicted labels of one length, and weights or None."""
    truth, predicted = column_or_1d(y_true, input_name="y_true"), column_or_1d(y_pred, input_name="y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"y_true has {truth.size} rows and y_pred has {predicted.size}: lengths differ.")
    if truth.size == 0:
        raise ValueError("y_true and y_pred are empty.")
    for name, labels in (("y_true", truth), ("y_pred", predicted)):
        if labels.dtype.kind == "f" and np.isnan(labels).any():
            raise ValueError(f"{name} has NaN at row {int(np.argmax(np.isnan(labels)))}.")
    if (truth.dtype.kind in "OUS") != (predicted.dtype.kind in "OUS"):
        raise ValueError(
            f"y_true and y_pred must be labels of one kind; got {truth.dtype} and {predicted.dtype}."
        )
    return truth, predicted, check_weight(sample_weight, truth)


def refuse_unknown_label(pos_label: Any, truth: np.ndarray, predicted: np.ndarray) -> None:
    """Refuse a positive label that occurs nowhere, unless all rows have one other label of the same kind.

    That is what a fold without positives looks like; scikit-learn accepts it, too.
    """
    known = np.union1d(truth, predicted)
    if len(known) == 1 and isinstance(pos_label, str) == isinstance(known[0], str):
        return
    raise ValueError(
        f"pos_label={pos_label!r} is neither in y_true nor in y_pred; they have {known[:6].tolist()!r}."
    )


def check_beta(beta: float) -> None:
    """Refuse a beta of F that is not a positive number."""
    if not 0 < beta < np.inf:
        raise ValueError(f"beta must be a positive number; got {beta!r}.")


def _ratio(part: float, whole: float, what: str, why: str) -> float:
    if whole > 0:
        return float(part / whole)
    warnings.warn(f"{what} is set to 0: there are {why}.", UndefinedMetricWarning, stacklevel=3)
    return 0.0
