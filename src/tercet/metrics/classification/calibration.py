"""Calibration of probabilities: reliability curve, calibration errors, and the Hosmer-Lemeshow test."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import chdtrc

from tercet.core.catalog import method
from tercet.metrics.classification.binary_scores import BinaryScores, probabilities
from tercet.metrics.classification.class_scores import class_scores


class ReliabilityCurve(NamedTuple):
    """Bins of predicted probabilities, without the empty ones.

    Attributes
    ----------
    predicted : array of shape (n_bins,)
        Mean predicted probability.
    observed : array of shape (n_bins,)
        Share of positives.
    weight : array of shape (n_bins,)
        Rows, or their weight.
    """

    predicted: np.ndarray
    observed: np.ndarray
    weight: np.ndarray


class HosmerLemeshowTest(NamedTuple):
    """The statistic, its degrees of freedom, and the probability of one as large for calibrated probabilities."""

    statistic: float
    degrees_of_freedom: int
    p_value: float


Strategy = Literal["uniform", "quantile"]


@method(
    zh="可靠性曲线（校准曲线）",
    task="evaluation",
    model="share of positives over the mean predicted probability, in bins of equal width or equal weight",
    peers=["sklearn.calibration.calibration_curve"],
)
def reliability_curve(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    pos_label: Any = None,
    sample_weight: Any = None,
) -> ReliabilityCurve:
    """Observed frequency of the positive class over its predicted probability, in bins.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Labels of two classes.
    y_prob : array of shape (n_samples,)
        Predicted probabilities of the positive class.
    n_bins : int, default=10
        Bins at most; empty ones are left out.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal weight (equal probabilities stay together).
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Examples
    --------
    >>> curve = reliability_curve([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9], n_bins=2)
    >>> curve.predicted.round(4), curve.observed.round(4), curve.weight
    (array([0.2   , 0.7667]), array([0.3333, 0.6667]), array([3., 3.]))
    """
    scores = probabilities(y_true, y_prob, pos_label=pos_label, sample_weight=sample_weight)
    return binned(scores, n_bins, strategy)


@method(
    zh="期望校准误差 ECE",
    task="evaluation",
    model="ECE = Σ_b w_b |observed_b - predicted_b|",
    peers=["torchmetrics.CalibrationError", "netcal.metrics.ECE"],
)
def expected_calibration_error(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 10,
    strategy: Strategy = "uniform",
    norm: Literal["l1", "l2", "max"] = "l1",
    labels: Any = None,
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    """Expected calibration error: the mean distance of observed frequencies from predicted probabilities.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Labels.
    y_prob : array of shape (n_samples,) or (n_samples, n_classes)
        Probabilities of the positive class; or of all classes: then it is how often the predicted class is right
        beside its probability (confidence calibration).
    n_bins, strategy, pos_label, sample_weight
        As in `reliability_curve`.
    norm : {"l1", "l2", "max"}, default="l1"
        Mean of the bins' distances, root of the mean of their squares, or the largest.
    labels : array of shape (n_classes,), optional
        The classes in the order of the columns; by default those of `y_true`, sorted.

    Examples
    --------
    >>> round(expected_calibration_error([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9], n_bins=2), 6)
    0.116667
    """
    if norm not in ("l1", "l2", "max"):
        raise ValueError(f"norm must be 'l1', 'l2' or 'max'; got {norm!r}.")
    if np.ndim(y_prob) == 2:
        y_true, y_prob = top_label(y_true, y_prob, labels)
        pos_label = 1
    predicted, observed, weight = reliability_curve(
        y_true, y_prob, n_bins=n_bins, strategy=strategy, pos_label=pos_label, sample_weight=sample_weight
    )
    distance = np.abs(observed - predicted)
    if norm == "max":
        return float(distance.max())
    mean = np.average(distance if norm == "l1" else distance**2, weights=weight)
    return float(mean if norm == "l1" else np.sqrt(mean))


def maximum_calibration_error(y_true: Any, y_prob: Any, **settings: Any) -> float:
    """Maximum calibration error: the largest distance of an observed frequency from the predicted probability.

    Parameters
    ----------
    y_true, y_prob, **settings
        As in `expected_calibration_error`, whose ``norm="max"`` it is.

    Examples
    --------
    >>> round(maximum_calibration_error([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9], n_bins=2), 6)
    0.133333
    """
    return expected_calibration_error(y_true, y_prob, norm="max", **settings)


@method(
    zh="Hosmer-Lemeshow 检验",
    task="evaluation",
    model="H = Σ_b (O_b - n_b p̄_b)² / (n_b p̄_b (1 - p̄_b)) over groups of equal size",
    strategy="χ² with g - 2 degrees of freedom on the training rows, g on others",
    peers=["R ResourceSelection::hoslem.test"],
)
def hosmer_lemeshow_test(
    y_true: Any, y_prob: Any, *, n_groups: int = 10, fitted: bool = True, pos_label: Any = None
) -> HosmerLemeshowTest:
    """Test whether observed frequencies agree with predicted probabilities, in groups of equal size.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Labels of two classes.
    y_prob : array of shape (n_samples,)
        Predicted probabilities of the positive class.
    n_groups : int, default=10
        Groups by quantiles of the probability; ties can make them fewer.
    fitted : bool, default=True
        Whether the probabilities were fitted to these rows: two degrees of freedom fewer.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> test = hosmer_lemeshow_test(rng.random(2000) < p, p, fitted=False)
    >>> test.degrees_of_freedom, test.p_value > 0.05
    (10, True)
    """
    predicted, observed, size = binned(
        probabilities(y_true, y_prob, pos_label=pos_label), n_groups, "quantile"
    )
    freedom = len(size) - (2 if fitted else 0)
    if freedom < 1:
        raise ValueError(
            f"the probabilities fall into {len(size)} groups: too few for a test with fitted={fitted}."
        )
    variance = size * predicted * (1 - predicted)
    gap = size * (observed - predicted)
    # a group predicted with certainty allows no deviation
    parts = np.divide(gap**2, variance, out=np.where(gap == 0, 0.0, np.inf), where=variance > 0)
    statistic = float(parts.sum())
    return HosmerLemeshowTest(statistic, freedom, float(chdtrc(freedom, statistic)))


def binned(scores: BinaryScores, n_bins: int, strategy: str) -> ReliabilityCurve:
    """Reliability curve of checked probabilities."""
    group = probability_bins(scores, n_bins, strategy)
    weight = np.bincount(group, scores.weight, minlength=n_bins).astype(float)
    factor = 1.0 if scores.weight is None else scores.weight
    predicted, observed = (
        np.bincount(group, part * factor, minlength=n_bins) for part in (scores.score, scores.positive)
    )
    full = weight > 0
    weight = weight[full]
    # a mean of equal numbers may round out of [0, 1]
    return ReliabilityCurve(np.clip(predicted[full] / weight, 0.0, 1.0), observed[full] / weight, weight)


def probability_bins(scores: BinaryScores, n_bins: int, strategy: str) -> np.ndarray:
    """The bin of each row: of equal width, or bounded by quantiles."""
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"the number of bins must be an integer of 1 or more; got {n_bins!r}.")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f"strategy must be 'uniform' or 'quantile'; got {strategy!r}.")
    inner = np.linspace(0, 1, n_bins + 1)[1:-1]
    if strategy == "uniform":
        return np.searchsorted(inner, scores.score, side="right")
    if scores.weight is None:
        edges = np.quantile(scores.score, inner)
    else:
        edges = np.quantile(scores.score, inner, weights=scores.weight, method="inverted_cdf")
    return np.searchsorted(np.unique(edges), scores.score, side="right")


def top_label(y_true: Any, proba: Any, labels: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Whether the class of the highest probability is right (1 or 0), and that probability."""
    codes, p = class_scores(y_true, proba, labels, "y_prob")
    return (p.argmax(axis=1) == codes).astype(int), p.max(axis=1)
