"""Precision-recall curve, average precision, and the break-even point (平衡点)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.metrics import _ranking as full

from tercet.core.catalog import method
from tercet.metrics.classification._ranked.threshold_counts import threshold_counts
from tercet.metrics.classification.binary_scores import binary_scores, one_class_only, plain_scores


@method(
    zh="P-R 曲线（查准率-查全率曲线）",
    task="evaluation",
    model="P = TP/(TP + FP) over R = TP/(TP + FN), for every threshold",
    peers=["sklearn.metrics.precision_recall_curve"],
)
def precision_recall_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Precision and recall for every threshold.

    The Watermelon Book calls them 查准率 and 查全率; in Li they are 准确率 and 召回率.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores: the higher, the likelier positive.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    drop_intermediate : bool, default=False
        Leave out points between others of the same recall.

    Returns
    -------
    precision, recall : arrays of shape (n_thresholds + 1,)
        Recall falls; the last point is precision 1 at recall 0.
    thresholds : array of shape (n_thresholds,)
        Rising.

    Examples
    --------
    >>> precision, recall, thresholds = precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> precision.round(3), recall
    (array([0.5  , 0.667, 0.5  , 1.   , 1.   ]), array([1. , 1. , 0.5, 0.5, 0. ]))
    """
    plain = plain_scores(y_true, y_score, pos_label, sample_weight)
    if plain is None or type(drop_intermediate) is not bool:
        return full.precision_recall_curve(
            y_true,
            y_score,
            pos_label=pos_label,
            sample_weight=sample_weight,
            drop_intermediate=drop_intermediate,
        )
    fps, tps, thresholds = threshold_counts(*plain)
    thresholds = thresholds.astype(plain.score.dtype, copy=False)
    if drop_intermediate and fps.size > 2:
        moved = np.diff(tps) != 0
        kept = np.concatenate([[True], moved[:-1] | moved[1:], [True]])
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    precision, recall = tps / (tps + fps), tps / tps[-1]
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1]


def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    average: Literal["micro", "samples", "weighted", "macro"] | None = "macro",
    pos_label: Any = 1,
    sample_weight: Any = None,
) -> Any:
    """Average precision: the sum of the precisions at each threshold, times what it adds to recall.

    Parameters
    ----------
    y_true : array of shape (n_samples,) or (n_samples, n_classes)
        Labels, or an indicator of several labels.
    y_score : array of shape (n_samples,) or (n_samples, n_classes)
        Scores: the higher, the likelier positive.
    average : {"micro", "samples", "weighted", "macro"} or None, default="macro"
        How those of several classes are averaged.
    pos_label : label, default=1
        The positive class.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Examples
    --------
    >>> round(average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.833333
    """
    known = average in ("micro", "samples", "weighted", "macro", None)
    plain = plain_scores(y_true, y_score, pos_label, sample_weight) if known else None
    if plain is None:
        return full.average_precision_score(
            y_true, y_score, average=average, pos_label=pos_label, sample_weight=sample_weight
        )
    fps, tps, _ = threshold_counts(*plain)
    return float(np.diff(tps, prepend=0.0) @ (tps / (tps + fps)) / tps[-1])


class BreakEvenPoint(NamedTuple):
    """Where precision and recall are equal: their value, and the threshold of the score there."""

    value: float
    threshold: float


@method(
    zh="P-R 曲线的平衡点 BEP",
    task="evaluation",
    model="the precision where precision = recall: TP / (TP + FN) when as many are called positive as there are",
    peers=["R ROCR::performance(measure='prbe')"],
)
def break_even_point(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> BreakEvenPoint:
    """Break-even point of the precision-recall curve: the value at which precision equals recall.

    The two are equal when as many rows are called positive as there are positives. Where a group of equal scores
    crosses that number, the curve is interpolated as if the group came in random order.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    point : BreakEvenPoint
        `value`, and the `threshold` of the score at or above which rows are called positive. Both are NaN, with a
        warning, where there are no positives.

    Examples
    --------
    >>> break_even_point([0, 0, 1, 1, 1], [0.1, 0.7, 0.6, 0.8, 0.3])
    BreakEvenPoint(value=0.6666666666666666, threshold=0.6)
    """
    scores = binary_scores(
        y_true, y_score, pos_label=pos_label, sample_weight=sample_weight, both_classes=False
    )
    if one_class_only(scores, "the break-even point", negatives=False):
        return BreakEvenPoint(np.nan, np.nan)
    fps, tps, thresholds = threshold_counts(*scores)
    called = np.append(0.0, fps + tps)
    found = float(np.interp(tps[-1], called, np.append(0.0, tps)))
    # The first threshold with as many called positive, but for the rounding of sums of weights.
    place = int(np.searchsorted(called[1:], tps[-1] * (1 - 1e-12)))
    return BreakEvenPoint(found / float(tps[-1]), float(thresholds[place]))
