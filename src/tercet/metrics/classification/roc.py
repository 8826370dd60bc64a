"""ROC curve, the area under it, and the rank loss above it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.metrics import _ranking as full
from sklearn.utils.validation import _deprecate_positional_args

from tercet.core.catalog import method
from tercet.metrics.classification._ranked.threshold_counts import (
    ThresholdCounts,
    pairs_ranked,
    threshold_counts,
)
from tercet.metrics.classification.binary_scores import (
    BinaryScores,
    binary_scores,
    one_class_only,
    plain_scores,
)


@_deprecate_positional_args(version="1.11")
def confusion_matrix_at_thresholds(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> tuple[np.ndarray, ...]:
    """Confusion counts at every distinct score as a threshold, from the highest down.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores: the higher, the likelier positive.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    tns, fps, fns, tps, thresholds : arrays of shape (n_thresholds,)
        Counts when the rows whose score is at or above the threshold are called positive.

    Examples
    --------
    >>> tns, fps, fns, tps, thresholds = confusion_matrix_at_thresholds([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> tps, thresholds
    (array([1., 1., 2., 2.]), array([0.8 , 0.4 , 0.35, 0.1 ]))
    """
    plain = plain_scores(y_true, y_score, pos_label, sample_weight)
    if plain is None:
        return full.confusion_matrix_at_thresholds(
            y_true, y_score, pos_label=pos_label, sample_weight=sample_weight
        )
    fps, tps, thresholds = threshold_counts(*plain)
    return fps[-1] - fps, fps, tps[-1] - tps, tps, thresholds.astype(plain.score.dtype, copy=False)


@method(
    zh="ROC 曲线（受试者工作特征曲线）",
    task="evaluation",
    model="TPR = TP/(TP + FN) over FPR = FP/(TN + FP), for every threshold",
    texts=["Pattern Recognition ch. 5, 5.4.4"],
    peers=["sklearn.metrics.roc_curve"],
)
def roc_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Receiver operating characteristic: true positive rate over false positive rate, for every threshold.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores: the higher, the likelier positive.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    drop_intermediate : bool, default=True
        Leave out points in the middle of a straight line.

    Returns
    -------
    fpr, tpr : arrays of shape (n_thresholds,)
        Rising from 0 to 1; the rows at or above a threshold are called positive.
    thresholds : array of shape (n_thresholds,)
        Falling; the first is infinite.

    Examples
    --------
    >>> fpr, tpr, thresholds = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr, tpr
    (array([0. , 0. , 0.5, 0.5, 1. ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    plain = plain_scores(y_true, y_score, pos_label, sample_weight)
    if plain is None or type(drop_intermediate) is not bool:
        return full.roc_curve(
            y_true,
            y_score,
            pos_label=pos_label,
            sample_weight=sample_weight,
            drop_intermediate=drop_intermediate,
        )
    return roc_points(threshold_counts(*plain), drop_intermediate)


def roc_points(
    counts: ThresholdCounts, drop_intermediate: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """FPR, TPR and thresholds of counts, from (0, 0)."""
    fps, tps, thresholds = counts
    if drop_intermediate and fps.size > 2:
        corner = np.concatenate([[True], (np.diff(fps, 2) != 0) | (np.diff(tps, 2) != 0), [True]])
        fps, tps, thresholds = fps[corner], tps[corner], thresholds[corner]
    fpr, tpr = (np.concatenate([[0.0], part / part[-1]]) for part in (fps, tps))
    return fpr, tpr, np.concatenate([[np.inf], thresholds])


@method(
    zh="ROC 曲线下面积 AUC",
    task="evaluation",
    model="AUC = P(f(x⁺) > f(x⁻)) + ½ P(f(x⁺) = f(x⁻)) = 1 - rank loss",
    texts=["Pattern Recognition ch. 5, 5.4.4"],
    peers=["sklearn.metrics.roc_auc_score"],
)
def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    average: Literal["micro", "macro", "samples", "weighted"] | None = "macro",
    sample_weight: Any = None,
    max_fpr: float | None = None,
    multi_class: Literal["raise", "ovr", "ovo"] = "raise",
    labels: Any = None,
) -> Any:
    """Area under the ROC curve: how often a positive row has a higher score than a negative one.

    Parameters
    ----------
    y_true : array of shape (n_samples,) or (n_samples, n_classes)
        Labels, or an indicator of several labels.
    y_score : array of shape (n_samples,) or (n_samples, n_classes)
        Scores: the higher, the likelier positive.
    average : {"micro", "macro", "samples", "weighted"} or None, default="macro"
        How the areas of several classes are averaged.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    max_fpr : float, optional
        The standardised area up to this false positive rate (`partial_auc` has both forms).
    multi_class : {"raise", "ovr", "ovo"}, default="raise"
        Each class against the rest, or every pair of classes (`hand_till_auc`).
    labels : array of shape (n_classes,), optional
        The classes in the order of the columns.

    Returns
    -------
    auc : float, or array of shape (n_classes,)
        From 0 to 1; NaN with a warning when only one class is present.

    Notes
    -----
    Two classes without weights are counted exactly, in time linear in the number of rows; other forms are
    scikit-learn's.

    Examples
    --------
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    whole = max_fpr is None or (isinstance(max_fpr, int | float) and max_fpr == 1)
    known = average in ("micro", "macro", "samples", "weighted", None) and multi_class in (
        "raise",
        "ovr",
        "ovo",
    )
    plain = plain_scores(y_true, y_score, None, sample_weight) if whole and known and labels is None else None
    if plain is None:
        return full.roc_auc_score(
            y_true,
            y_score,
            average=average,
            sample_weight=sample_weight,
            max_fpr=max_fpr,
            multi_class=multi_class,
            labels=labels,
        )
    return binary_auc(plain)


def binary_auc(scores: BinaryScores) -> float:
    """Area under the ROC curve of checked scores: pairs ranked rightly, and half of those tied."""
    if scores.weight is not None:
        fps, tps, _ = threshold_counts(*scores)
        area = np.trapezoid(np.append(0.0, tps), np.append(0.0, fps))
        return float(min(area / (fps[-1] * tps[-1]), 1.0))
    right, tied = pairs_ranked(scores.positive, scores.score)
    negatives, positives = (int(size) for size in scores.class_weights)
    return (2 * right + tied) / (2 * negatives * positives)


@method(
    zh="排序损失",
    task="evaluation",
    model="ℓ_rank = 1/(m⁺m⁻) ΣΣ (I(f(x⁺) < f(x⁻)) + ½ I(f(x⁺) = f(x⁻))) = 1 - AUC",
    peers=["sklearn.metrics.label_ranking_loss"],
)
def rank_loss(y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """Share of the pairs of a positive and a negative that are ranked wrongly; ties count half.

    It is the area above the ROC curve: 1 - AUC. With rows of one class only it is NaN, with a warning.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights; a pair has the product of its two.

    Examples
    --------
    >>> rank_loss([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.25
    """
    scores = binary_scores(
        y_true, y_score, pos_label=pos_label, sample_weight=sample_weight, both_classes=False
    )
    return np.nan if one_class_only(scores, "the ranking loss") else 1.0 - binary_auc(scores)
