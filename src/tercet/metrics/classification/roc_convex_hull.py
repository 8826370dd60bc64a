"""Convex hull of the ROC curve: the thresholds that are best for some costs and class shares.

Provost & Fawcett, Robust classification for imprecise environments, Machine Learning 42, 2001.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.metrics.classification._ranked.threshold_counts import threshold_counts
from tercet.metrics.classification.binary_scores import binary_scores
from tercet.metrics.classification.roc import roc_points


class ROCHull(NamedTuple):
    """Corners of the convex hull of a ROC curve.

    Attributes
    ----------
    fpr, tpr : arrays of shape (n_corners,)
        From (0, 0) to (1, 1).
    thresholds : array of shape (n_corners,)
        Of the score; the first is infinite.
    area : float
        Under the hull; not below the AUC.
    """

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray
    area: float


@method(
    zh="ROC 凸包",
    task="evaluation",
    model="the least concave curve on or above the ROC curve",
    strategy="corners where FN and FP have the least cost for some class shares and costs",
    algorithms="scan from left to right (monotone chain)",
    peers=["R ROCR::performance(measure='rch')"],
)
def roc_convex_hull(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> ROCHull:
    """Upper convex hull of the ROC curve.

    A threshold minimises the expected cost for some class shares and costs if and only if its point is on the hull.

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
    hull : ROCHull
        fpr, tpr, thresholds and the area.

    Examples
    --------
    >>> hull = roc_convex_hull([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> hull.fpr, hull.tpr, hull.area
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]), 0.875)
    """
    scores = binary_scores(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    fpr, tpr, thresholds = roc_points(threshold_counts(*scores))
    corner = hull_corners(fpr, tpr)
    fpr, tpr, thresholds = fpr[corner], tpr[corner], thresholds[corner]
    return ROCHull(fpr, tpr, thresholds, float(np.trapezoid(tpr, fpr)))


@kernel
def hull_corners(x, y):
    """Indices of the corners of the upper hull of points in rising order of x and y."""
    kept = np.empty(x.size, np.int64)
    k = 0
    for i in range(x.size):
        # a corner below the line from the one before it to the new point is none
        while k >= 2:
            a, b = kept[k - 2], kept[k - 1]
            if (x[b] - x[a]) * (y[i] - y[a]) < (y[b] - y[a]) * (x[i] - x[a]):
                break
            k -= 1
        kept[k] = i
        k += 1
    return kept[:k].copy()
