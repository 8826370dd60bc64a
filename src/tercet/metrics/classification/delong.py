"""Confidence interval of an AUC, and the test of two AUCs, from the variance of DeLong et al. (1988)."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.exceptions import UndefinedMetricWarning

from tercet.core.catalog import method
from tercet.metrics.classification._ranked.radix_sort import sorted_scores
from tercet.metrics.classification.binary_scores import binary_scores


class AUCInterval(NamedTuple):
    """An AUC with its standard error and the ends of its confidence interval."""

    auc: float
    standard_error: float
    low: float
    high: float


class DeLongTest(NamedTuple):
    """Two AUCs, the standard error of their difference, and the two-sided test that they are equal."""

    auc_a: float
    auc_b: float
    standard_error: float
    z: float
    p_value: float


@method(
    zh="AUC 的置信区间（DeLong）",
    task="evaluation",
    model="AUC ± z √(Var V₁₀/m⁺ + Var V₀₁/m⁻), V₁₀ and V₀₁ the rows' shares of pairs ranked rightly",
    algorithms={
        "delong": "variance of the structural components (DeLong, DeLong & Clarke-Pearson 1988)",
        "hanley-mcneil": "variance of exponential scores (Hanley & McNeil 1982)",
    },
    peers=["R pROC::ci.auc"],
)
def auc_interval(
    y_true: Any,
    y_score: Any,
    *,
    confidence: float = 0.95,
    method: Literal["delong", "hanley-mcneil"] = "delong",
    logit: bool = False,
    pos_label: Any = None,
) -> AUCInterval:
    """Confidence interval of the area under the ROC curve.

    Parameters
    ----------
    y_true, y_score : arrays of shape (n_samples,)
        Labels of two classes, and scores.
    confidence : float, default=0.95
        Probability that the interval covers the true AUC.
    method : {"delong", "hanley-mcneil"}, default="delong"
        How the variance is estimated.
    logit : bool, default=False
        Make the interval symmetric in log(AUC / (1 - AUC)): better near 1, and never beyond it.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.

    Notes
    -----
    Rows are independent draws; weights have no place in it. Each class needs two rows or more.

    Examples
    --------
    >>> found = auc_interval([0, 0, 0, 0, 1, 1, 1, 1], [0.1, 0.4, 0.5, 0.7, 0.35, 0.6, 0.8, 0.9])
    >>> [round(value, 4) for value in found]
    [0.75, 0.2041, 0.3499, 1.0]
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    if method not in ("delong", "hanley-mcneil"):
        raise ValueError(f"method must be 'delong' or 'hanley-mcneil'; got {method!r}.")
    positive, score, _ = binary_scores(y_true, y_score, pos_label=pos_label)
    v10, v01 = _components(positive, score)
    auc = float(v10.mean())
    error = _standard_error(v10, v01) if method == "delong" else _hanley_mcneil(auc, v10.size, v01.size)
    if error == 0:
        warnings.warn(
            f"the AUC is {auc:g} on these rows, and its estimated variance 0: the interval has no width.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
        return AUCInterval(auc, 0.0, auc, auc)
    z = float(ndtri(0.5 + confidence / 2))
    if logit and 0 < auc < 1:
        centre, half = np.log(auc / (1 - auc)), z * error / (auc * (1 - auc))
        low, high = (1 / (1 + np.exp(-(centre + side * half))) for side in (-1, 1))
    else:
        low, high = max(auc - z * error, 0.0), min(auc + z * error, 1.0)
    return AUCInterval(auc, error, float(low), float(high))


@method(
    zh="两个 AUC 的比较（DeLong 检验）",
    task="model comparison",
    model="z = (AUC_a - AUC_b) / √(Var(V₁₀ᵃ - V₁₀ᵇ)/m⁺ + Var(V₀₁ᵃ - V₀₁ᵇ)/m⁻)",
    strategy="reject equal areas when |z| is above the normal quantile",
    peers=["R pROC::roc.test"],
)
def delong_test(y_true: Any, score_a: Any, score_b: Any, *, pos_label: Any = None) -> DeLongTest:
    """Test whether two scores of the same rows have the same area under the ROC curve.

    Parameters
    ----------
    y_true : array of shape (n_samples,)
        Labels of two classes.
    score_a, score_b : arrays of shape (n_samples,)
        The scores of two models on these rows.
    pos_label : label, optional
        The positive class; 1 when the labels are in {0, 1} or {-1, 1}.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> test = delong_test(y, [1, 4, 5, 7, 3, 6, 8, 9], [1, 2, 6, 3, 5, 4, 8, 7])
    >>> test.auc_a, test.auc_b, round(test.p_value, 4)
    (0.75, 0.875, 0.5403)
    """
    positive, a, _ = binary_scores(y_true, score_a, pos_label=pos_label, name="score_a")
    _, b, _ = binary_scores(y_true, score_b, pos_label=pos_label, name="score_b")
    (a10, a01), (b10, b01) = _components(positive, a), _components(positive, b)
    error = _standard_error(a10 - b10, a01 - b01)
    difference = float(a10.mean() - b10.mean())
    if error > 0:
        z = difference / error
    else:  # the same ranking, or two that differ by the same share on every row
        z = 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return DeLongTest(float(a10.mean()), float(b10.mean()), error, z, float(2 * ndtr(-abs(z))))


def _components(positive: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Structural components: the share of negatives below each positive, and of positives above each negative."""
    above, below = score[positive], score[~positive]
    if min(above.size, below.size) < 2:
        raise ValueError(
            f"each class needs two rows or more; got {above.size} positive and {below.size} negative ones."
        )
    return _share_below(above, below), 1.0 - _share_below(below, above)


def _share_below(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Share of the others that are below each value, ties by half."""
    others = sorted_scores(others)
    under, through = (np.searchsorted(others, values, side=side) for side in ("left", "right"))
    return (under + through) / (2.0 * others.size)


def _standard_error(v10: np.ndarray, v01: np.ndarray) -> float:
    return float(np.sqrt(v10.var(ddof=1) / v10.size + v01.var(ddof=1) / v01.size))


def _hanley_mcneil(auc: float, positives: int, negatives: int) -> float:
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    spread = auc * (1 - auc) + (positives - 1) * (q1 - auc**2) + (negatives - 1) * (q2 - auc**2)
    return float(np.sqrt(max(spread, 0.0) / (positives * negatives)))
