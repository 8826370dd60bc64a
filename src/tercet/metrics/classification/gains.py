"""Cumulative gain and lift of the rows of highest score, and the Kolmogorov-Smirnov statistic of two classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.classification._ranked.threshold_counts import threshold_counts
from tercet.metrics.classification.binary_scores import binary_scores, one_class_only


class KSStatistic(NamedTuple):
    """The largest distance of the two classes' distribution functions, and the score at which it is reached."""

    statistic: float
    threshold: float


@method(
    zh="累积增益曲线",
    task="evaluation",
    model="share of the positives among the share of rows of highest score",
    peers=["scikitplot.metrics.plot_cumulative_gain", "R caret::lift"],
)
def gain_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cumulative gain: which share of the positives is reached with the share of rows of highest score.

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
    share, gain : arrays of shape (n_thresholds + 1,)
        Share of all rows and of the positives, both rising from 0 to 1. The latter is NaN, with a warning, where
        there are no positives.
    thresholds : array of shape (n_thresholds + 1,)
        Falling; the first is infinite.

    Examples
    --------
    >>> share, gain, _ = gain_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> share, gain
    (array([0.  , 0.25, 0.5 , 0.75, 1.  ]), array([0. , 0.5, 0.5, 1. , 1. ]))
    """
    scores = binary_scores(
        y_true, y_score, pos_label=pos_label, sample_weight=sample_weight, both_classes=False
    )
    none = one_class_only(scores, "the gain", negatives=False)
    fps, tps, thresholds = threshold_counts(*scores)
    called = fps + tps
    share = np.append(0.0, called / called[-1])
    gain = np.full(share.shape, np.nan) if none else np.append(0.0, tps / tps[-1])
    return share, gain, np.append(np.inf, thresholds)


@method(
    zh="提升曲线",
    task="evaluation",
    model="lift = P(y = 1 | the rows of highest score) / P(y = 1)",
    peers=["scikitplot.metrics.plot_lift_curve", "R caret::lift"],
)
def lift_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lift: how many times as frequent positives are among the rows of highest score as among all.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As in `gain_curve`.

    Returns
    -------
    share, lift : arrays of shape (n_thresholds,)
        Share of all rows, and the lift there; 1 in the end.
    thresholds : array of shape (n_thresholds,)
        Falling.

    Examples
    --------
    >>> share, lift, _ = lift_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> lift.round(3)
    array([2.   , 1.   , 1.333, 1.   ])
    """
    share, gain, thresholds = gain_curve(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
    return share[1:], gain[1:] / share[1:], thresholds[1:]


@method(
    zh="KS 统计量",
    task="evaluation",
    model="KS = max |TPR - FPR| over all thresholds",
    peers=["scipy.stats.ks_2samp"],
)
def ks_statistic(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> KSStatistic:
    """Kolmogorov-Smirnov statistic: the largest distance of the score's distributions in the two classes.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As in `gain_curve`.

    Returns
    -------
    ks : KSStatistic
        `statistic`, from 0 to 1, and the `threshold` at or above which it is reached. With positives above it is
        Youden's J. Both are NaN, with a warning, with rows of one class only.

    Examples
    --------
    >>> ks_statistic([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    KSStatistic(statistic=0.5, threshold=0.8)
    """
    scores = binary_scores(
        y_true, y_score, pos_label=pos_label, sample_weight=sample_weight, both_classes=False
    )
    if one_class_only(scores, "the statistic"):
        return KSStatistic(np.nan, np.nan)
    fps, tps, thresholds = threshold_counts(*scores)
    distance = np.abs(tps / tps[-1] - fps / fps[-1])
    best = int(np.argmax(distance))
    return KSStatistic(float(distance[best]), float(thresholds[best]))
