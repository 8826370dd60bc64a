"""AUC of several classes as the mean over pairs of them (Hand & Till 2001)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from tercet.core.catalog import method
from tercet.core.sample_weights import check_weight
from tercet.metrics.classification.binary_scores import BinaryScores
from tercet.metrics.classification.class_scores import class_scores
from tercet.metrics.classification.roc import binary_auc


@method(
    zh="多分类 AUC（Hand-Till）",
    task="evaluation",
    model="M = 2/(c(c - 1)) Σ_{i<j} (A(i|j) + A(j|i))/2, A(i|j) the AUC of pᵢ on the rows of classes i and j",
    peers=["sklearn.metrics.roc_auc_score"],
)
def hand_till_auc(y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None) -> float:
    """Mean AUC over all pairs of classes; the shares of the classes do not matter.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Labels.
    y_score : array of shape (n_samples, n_classes)
        A score for each class; the columns need not sum to 1.
    labels : array of shape (n_classes,), optional
        The classes in the order of the columns; by default those of `y_true`, sorted. Pairs with a class that
        does not occur (in a small fold, say) are left out, with a warning; with a single class the AUC is NaN.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Examples
    --------
    >>> score = [[0.8, 0.1, 0.1], [0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.4, 0.5, 0.1], [0.1, 0.2, 0.7]]
    >>> hand_till_auc([0, 0, 1, 1, 2], score)
    1.0
    """
    areas = pairwise_auc(y_true, y_score, labels=labels, sample_weight=sample_weight)
    pairs = areas[~np.eye(len(areas), dtype=bool)]
    known = ~np.isnan(pairs)
    if not known.any():
        warnings.warn(
            "y_true has rows of one class only: the AUC is not defined, and set to NaN.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
        return np.nan
    return float(pairs[known].mean())


def pairwise_auc(y_true: Any, y_score: Any, *, labels: Any = None, sample_weight: Any = None) -> np.ndarray:
    """AUC of each class against each other one: A[i, j] is that of score i on the rows of classes i and j.

    Parameters
    ----------
    y_true, y_score, labels, sample_weight
        As in `hand_till_auc`.

    Returns
    -------
    areas : array of shape (n_classes, n_classes)
        NaN on the diagonal, and for classes that do not occur.

    Examples
    --------
    >>> pairwise_auc([0, 0, 1, 1], [[0.8, 0.2], [0.4, 0.6], [0.5, 0.5], [0.1, 0.9]])
    array([[ nan, 0.75],
           [0.75,  nan]])
    """
    codes, score, weight, k = _checked(y_true, y_score, labels, sample_weight)
    areas = np.full((k, k), np.nan)
    rows = [np.flatnonzero(codes == j) for j in range(k)]
    absent = [j for j in range(k) if not rows[j].size]
    if absent:
        warnings.warn(
            f"{len(absent)} of {k} classes do not occur in y_true: pairs with them are left out.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
    for i in range(k):
        for j in range(k):
            if i != j and rows[i].size and rows[j].size:
                both = np.concatenate([rows[i], rows[j]])
                is_first = np.arange(both.size) < rows[i].size
                part = BinaryScores(is_first, score[both, i], None if weight is None else weight[both])
                areas[i, j] = binary_auc(part)
    return areas


def _checked(y_true: Any, y_score: Any, labels: Any, sample_weight: Any) -> Any:
    """Codes of the labels, scores, weights and the number of classes, without rows of weight 0."""
    codes, score = class_scores(y_true, y_score, labels, "y_score")
    k = score.shape[1]
    weight = check_weight(sample_weight, score)
    if weight is None:
        return codes, score, None, k
    counted = weight > 0
    return codes[counted], score[counted], weight[counted], k
