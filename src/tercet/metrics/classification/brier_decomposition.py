"""Brier score as reliability, resolution and uncertainty (Murphy 1973; Stephenson et al. 2008)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.metrics.classification.binary_scores import probabilities
from tercet.metrics.classification.calibration import Strategy, probability_bins


class BrierDecomposition(NamedTuple):
    """Parts of the Brier score: brier = reliability - resolution + uncertainty + within_bins.

    Attributes
    ----------
    brier : float
        Mean squared distance of the probabilities from 0 and 1.
    reliability : float
        Mean squared distance of observed frequencies from predicted probabilities; 0 is calibrated.
    resolution : float
        Variance of the observed frequencies between bins; more is better.
    uncertainty : float
        Variance of the outcome, whatever is predicted.
    within_bins : float
        Variance of the probabilities inside the bins, less twice their covariance with the outcome; 0 when a bin
        has one probability only.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


@method(
    zh="Brier 分数的分解",
    task="evaluation",
    model="Σ wᵢ (pᵢ - yᵢ)² = Σ w_b (p̄_b - ȳ_b)² - Σ w_b (ȳ_b - ȳ)² + ȳ(1 - ȳ) + within bins",
    strategy="reliability - resolution + uncertainty",
    peers=["sklearn.metrics.brier_score_loss", "R SpecsVerification::BrierDecomp"],
)
def brier_decomposition(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int | None = 10,
    strategy: Strategy = "uniform",
    pos_label: Any = None,
    sample_weight: Any = None,
) -> BrierDecomposition:
    """Brier score and its parts: reliability (calibration), resolution and uncertainty.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Labels of two classes.
    y_prob : array of shape (n_samples,)
        Predicted probabilities of the positive class.
    n_bins : int or None, default=10
        Bins of the probability; None makes one of each distinct value, as for forecasts in steps of 10%.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal weight.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.

    Examples
    --------
    >>> parts = brier_decomposition([0, 0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.8, 0.8, 0.8], n_bins=None)
    >>> [round(part, 4) for part in parts]
    [0.24, 0.0178, 0.0278, 0.25, 0.0]
    """
    scores = probabilities(y_true, y_prob, pos_label=pos_label, sample_weight=sample_weight)
    p, y = scores.score, scores.positive.astype(float)
    if n_bins is None:
        bins = np.unique(p, return_inverse=True)[1]
    else:
        bins = probability_bins(scores, n_bins, strategy)
    weight = np.ones(p.size) if scores.weight is None else scores.weight
    weight = weight / weight.sum()
    total = np.bincount(bins, weight)
    divisor = np.where(total > 0, total, 1.0)
    mean_p, mean_y = (np.bincount(bins, weight * part) / divisor for part in (p, y))
    share = float(weight @ y)
    spread = weight @ ((p - mean_p[bins]) ** 2)
    together = weight @ ((p - mean_p[bins]) * (y - mean_y[bins]))
    return BrierDecomposition(
        brier=float(weight @ ((p - y) ** 2)),
        reliability=float(total @ ((mean_p - mean_y) ** 2)),
        resolution=float(total @ ((mean_y - share) ** 2)),
        uncertainty=share * (1.0 - share),
        within_bins=float(spread - 2.0 * together),
    )
