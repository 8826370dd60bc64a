"""Thresholds and labels of least cost, and thresholds of highest F."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.classification._ranked.threshold_counts import threshold_counts
from tercet.metrics.classification.binary_scores import binary_scores
from tercet.metrics.classification.confusion_counts import check_beta
from tercet.metrics.classification.costs import checked_costs, checked_prior, error_costs


class ThresholdChoice(NamedTuple):
    """The threshold at or above which rows are called positive, and the value of the measure there."""

    threshold: float
    value: float


@method(
    zh="给定代价时的最优概率阈值",
    task="evaluation",
    model="positive iff p ≥ (c_FP - c_TN) / (c_FP - c_TN + c_FN - c_TP)",
    strategy="least expected cost under the true probabilities",
    texts=["watermelon notes ch. 1, eq. 1.30, 1.31"],
    peers=["sklearn.model_selection.FixedThresholdClassifier"],
)
def bayes_threshold(cost: Any) -> float:
    """Threshold of a probability at which both decisions have the same expected cost.

    Parameters
    ----------
    cost : array of shape (2, 2)
        cost[i, j] of predicting j for class i; 1 is positive.

    Returns
    -------
    threshold : float
        For calibrated probabilities of the positive class; 1/2 when both mistakes cost the same.

    Examples
    --------
    >>> bayes_threshold([[0, 1], [4, 0]])
    0.2
    """
    false_positive, false_negative = error_costs(cost)
    return false_positive / (false_positive + false_negative)


@method(
    zh="最小风险决策",
    task="evaluation",
    model="argmin_j Σᵢ P(i | x) cost[i, j]",
    strategy="least expected cost (Bayes decision rule)",
    peers=["weka.classifiers.meta.CostSensitiveClassifier"],
)
def minimum_cost_labels(proba: Any, cost: Any, *, labels: Any = None) -> np.ndarray:
    """The class of least expected cost for each row: Bayes decisions of minimum risk.

    Parameters
    ----------
    proba : array of shape (n_samples, n_classes)
        Probabilities of the classes.
    cost : array of shape (n_classes, n_classes)
        cost[i, j] of predicting class j for class i.
    labels : array of shape (n_classes,), optional
        The classes in the order of the columns; 0, 1, 2 ... by default.

    Examples
    --------
    >>> minimum_cost_labels([[0.7, 0.3], [0.9, 0.1]], [[0, 1], [4, 0]], labels=["no", "yes"])
    array(['yes', 'no'], dtype='<U3')
    """
    p = np.asarray(proba, dtype=float)
    if p.ndim != 2:
        raise ValueError(f"proba must have a row for each sample and a column for each class; got {p.shape}.")
    if not np.isfinite(p).all() or p.min(initial=0.0) < 0:
        raise ValueError("proba must be finite and not negative.")
    table = checked_costs(cost, p.shape[1])
    classes = np.arange(p.shape[1]) if labels is None else np.asarray(labels)
    if classes.shape != (p.shape[1],):
        raise ValueError(f"labels must name the {p.shape[1]} columns of proba; got {classes.size}.")
    return classes[np.argmin(p @ table, axis=1)]


@method(
    zh="使期望代价最小的阈值",
    task="evaluation",
    model="the threshold of least c_TN TN + c_FP FP + c_FN FN + c_TP TP on labelled rows",
    peers=["sklearn.model_selection.TunedThresholdClassifierCV"],
)
def min_cost_threshold(
    y_true: Any,
    y_score: Any,
    cost: Any,
    *,
    prior: float | None = None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> ThresholdChoice:
    """Threshold of a score with the least mean cost on labelled rows; the score need not be calibrated.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores.
    cost : array of shape (2, 2)
        cost[i, j] of predicting j for class i; 1 is positive.
    prior : float, optional
        Probability of the positive class where the threshold will be used; by default its share in `y_true`.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    choice : ThresholdChoice
        `threshold`, infinite when it is best to call nothing positive, and `value`, the mean cost.

    Examples
    --------
    >>> min_cost_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], [[0, 1], [5, 0]])
    ThresholdChoice(threshold=0.35, value=0.25)
    """
    table = checked_costs(cost, 2)
    scores = binary_scores(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    fps, tps, thresholds = threshold_counts(*scores)
    share = float(tps[-1] / (fps[-1] + tps[-1])) if prior is None else checked_prior(prior)
    fpr, tpr = (np.append(0.0, part / part[-1]) for part in (fps, tps))
    negatives = table[0, 0] * (1 - fpr) + table[0, 1] * fpr
    positives = table[1, 0] * (1 - tpr) + table[1, 1] * tpr
    mean = (1 - share) * negatives + share * positives
    best = int(np.argmin(mean))
    return ThresholdChoice(float(np.append(np.inf, thresholds)[best]), float(mean[best]))


@method(
    zh="使 F 值最大的阈值",
    task="evaluation",
    model="the threshold of greatest (1 + β²) P R / (β² P + R) on labelled rows",
    peers=["sklearn.model_selection.TunedThresholdClassifierCV"],
)
def max_f_threshold(
    y_true: Any, y_score: Any, *, beta: float = 1.0, pos_label: Any = None, sample_weight: Any = None
) -> ThresholdChoice:
    """Threshold of a score with the highest F on labelled rows.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores.
    beta : float, default=1.0
        How many times recall counts as much as precision.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    choice : ThresholdChoice
        `threshold` (the highest of equals), and `value`, the F there.

    Examples
    --------
    >>> max_f_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    ThresholdChoice(threshold=0.35, value=0.8)
    """
    check_beta(beta)
    scores = binary_scores(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    fps, tps, thresholds = threshold_counts(*scores)
    f = (1 + beta**2) * tps / (beta**2 * tps[-1] + tps + fps)
    best = int(np.argmax(f))
    return ThresholdChoice(float(thresholds[best]), float(f[best]))
