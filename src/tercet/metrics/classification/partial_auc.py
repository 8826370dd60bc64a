"""Area under a part of the ROC curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.classification._ranked.threshold_counts import threshold_counts
from tercet.metrics.classification.binary_scores import binary_scores, one_class_only
from tercet.metrics.classification.roc import roc_points


@method(
    zh="部分 AUC",
    task="evaluation",
    model="∫ TPR dFPR over a range of FPR, or ∫ (1 - FPR) dTPR over a range of TPR",
    peers=["sklearn.metrics.roc_auc_score", "R pROC::auc(partial.auc=...)"],
)
def partial_auc(
    y_true: Any,
    y_score: Any,
    *,
    fpr_range: tuple[float, float] | None = None,
    tpr_range: tuple[float, float] | None = None,
    standardize: bool = False,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    """Area under the ROC curve between two false positive rates, or beside it between two true positive rates.

    With rows of one class only it is NaN, with a warning.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores.
    fpr_range : pair of float, optional
        From which to which false positive rate, as in (0, 0.1).
    tpr_range : pair of float, optional
        From which to which true positive rate instead, as in (0.9, 1): the area right of the curve.
    standardize : bool, default=False
        McClish's correction: 0.5 for a random score and 1 for a perfect one, whatever the range.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Examples
    --------
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.5, 0.7, 0.35, 0.6, 0.8, 0.9]
    >>> partial_auc(y, score, fpr_range=(0.0, 0.5))
    0.3125
    >>> round(partial_auc(y, score, fpr_range=(0.0, 0.5), standardize=True), 6)
    0.75
    """
    if (fpr_range is None) == (tpr_range is None):
        raise ValueError("partial_auc needs either fpr_range or tpr_range.")
    name, given = ("fpr_range", fpr_range) if tpr_range is None else ("tpr_range", tpr_range)
    low, high = _checked_range(name, given)
    scores = binary_scores(
        y_true, y_score, pos_label=pos_label, sample_weight=sample_weight, both_classes=False
    )
    if one_class_only(scores, "the area"):
        return np.nan
    fpr, tpr, _ = roc_points(threshold_counts(*scores))
    if tpr_range is not None:  # the same curve with the classes and the direction of the score exchanged
        fpr, tpr = (1.0 - tpr)[::-1], (1.0 - fpr)[::-1]
        low, high = 1.0 - high, 1.0 - low
    area = _area_to(fpr, tpr, high) - _area_to(fpr, tpr, low)
    if not standardize:
        return area
    chance, most = (high**2 - low**2) / 2, high - low
    return 0.5 * (1.0 + (area - chance) / (most - chance))


def _area_to(x: np.ndarray, y: np.ndarray, end: float) -> float:
    """Area under a curve of rising x from 0 to `end`; where it rises upright, the whole rise is left of `end`."""
    stop = int(np.searchsorted(x, end, side="right"))
    if stop == x.size:
        return float(np.trapezoid(y, x))
    height = np.interp(end, x[stop - 1 : stop + 1], y[stop - 1 : stop + 1])
    return float(np.trapezoid(np.append(y[:stop], height), np.append(x[:stop], end)))


def _checked_range(name: str, given: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be two numbers from 0 to 1; got {given!r}.") from None
    if not 0 <= low < high <= 1:
        raise ValueError(f"{name} must be two rising numbers from 0 to 1; got {given!r}.")
    return low, high
