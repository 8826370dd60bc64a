"""Cost curve: expected cost over class shares and costs (Drummond & Holte 2006; 代价曲线)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.classification.costs import checked_prior, error_costs
from tercet.metrics.classification.roc_convex_hull import roc_convex_hull


class CostCurve(NamedTuple):
    """Lower envelope of the cost lines of all thresholds.

    Attributes
    ----------
    probability_cost : array of shape (n_corners + 1,)
        Rising from 0 to 1: where the envelope bends.
    cost : array of shape (n_corners + 1,)
        Normalised expected cost there.
    fpr, fnr, thresholds : arrays of shape (n_corners,)
        Threshold k is the best from `probability_cost[k]` to `probability_cost[k + 1]`. Its line goes from fpr on
        the left to fnr on the right.
    area : float
        Under the envelope: the expected total cost, when all probability costs are equally likely. From 0 to 1/4.
    """

    probability_cost: np.ndarray
    cost: np.ndarray
    fpr: np.ndarray
    fnr: np.ndarray
    thresholds: np.ndarray
    area: float

    def at(self, probability_cost: Any) -> Any:
        """Normalised expected cost of the best thresholds."""
        return np.interp(probability_cost, self.probability_cost, self.cost)

    def threshold_at(self, probability_cost: float) -> float:
        """The best threshold of the score; infinite where it is best to call nothing positive."""
        place = np.searchsorted(self.probability_cost, probability_cost, side="right") - 1
        return float(self.thresholds[min(max(int(place), 0), self.thresholds.size - 1)])


@method(
    zh="代价曲线",
    task="evaluation",
    model="cost_norm = FNR · P(+)cost + FPR · (1 - P(+)cost), the least over all thresholds",
    strategy="the area under the lower envelope is the expected total cost",
    peers=["R ROCR::performance(measure='ecost')"],
)
def cost_curve(y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None) -> CostCurve:
    """Least normalised expected cost over the probability cost of the positive class.

    Every point (FPR, TPR) of the ROC curve is a line from (0, FPR) to (1, FNR); the curve is the lower envelope of
    all of them. Its pieces are the corners of the ROC convex hull.

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
    curve : CostCurve
        Where the envelope bends, its cost there, the thresholds between, and the area.

    Examples
    --------
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> curve.probability_cost.round(4), curve.cost.round(4), round(curve.area, 4)
    (array([0. , 0.5, 1. ]), array([0.  , 0.25, 0.  ]), 0.125)
    >>> curve.at(probability_cost(0.5, [[0, 1], [3, 0]]))
    np.float64(0.125)
    """
    fpr, tpr, thresholds, _ = roc_convex_hull(
        y_true, y_score, pos_label=pos_label, sample_weight=sample_weight
    )
    right, up = np.diff(fpr), np.diff(tpr)
    # Lines of neighbouring corners meet here; it rises along the hull. A corner without width is best nowhere.
    ends = np.concatenate([[0.0], right / (right + up), [1.0]])
    used = np.diff(ends) > 0
    fpr, fnr, thresholds = fpr[used], 1.0 - tpr[used], thresholds[used]
    bends = np.append(0.0, ends[1:][used])
    heights = np.append(fpr, fpr[-1]) * (1.0 - bends) + np.append(fnr, fnr[-1]) * bends
    return CostCurve(bends, heights, fpr, fnr, thresholds, float(np.trapezoid(heights, bends)))


def probability_cost(prior: float, cost: Any = ((0, 1), (1, 0))) -> float:
    """Probability cost of the positive class: p c_FN / (p c_FN + (1 - p) c_FP).

    Parameters
    ----------
    prior : float
        Probability p of the positive class.
    cost : array of shape (2, 2), default=((0, 1), (1, 0))
        cost[i, j] of predicting j for class i; 1 is positive.

    Examples
    --------
    >>> probability_cost(0.25, [[0, 1], [3, 0]])
    0.5
    """
    p, (false_positive, false_negative) = checked_prior(prior), error_costs(cost)
    return p * false_negative / (p * false_negative + (1 - p) * false_positive)


def expected_total_cost(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> float:
    """Area under the cost curve: the mean normalised cost over all probability costs (期望总体代价).

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As in `cost_curve`.

    Returns
    -------
    cost : float
        From 0 for a perfect ranking to 1/4 for a useless one.

    Examples
    --------
    >>> round(expected_total_cost([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 6)
    0.125
    """
    return cost_curve(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight).area
