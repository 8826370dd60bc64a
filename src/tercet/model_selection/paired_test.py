"""Comparing two methods on the same splits of one data set.

The scores of J splits are not independent: their training sets share rows. The variance of their mean is
therefore larger than s²/J; Nadeau and Bengio (2003) correct it to s² (1/J + n_test/n_train), and Bouckaert and
Frank (2004) use the same for repeated cross-validation. The plain paired t test of the texts rejects far too
often; this one keeps its level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit


@dataclass(frozen=True)
class PairedTest:
    """Result of a corrected paired t test.

    Attributes
    ----------
    difference : mean of the first scores minus the second.
    statistic, p_value : Student's t with `df` degrees of freedom, two-sided.
    low, high : the interval of the difference.
    df : number of splits less one.
    """

    difference: float
    statistic: float
    p_value: float
    low: float
    high: float
    df: int


def corrected_paired_test(
    first: Any, second: Any, *, n_train: float, n_test: float, confidence: float = 0.95
) -> PairedTest:
    """Whether two methods differ, from their scores on the same splits.

    Parameters
    ----------
    first, second : arrays of shape (n_splits,)
        Scores on the same splits, in the same order: one k-fold cross-validation, repeated ones, or random
        splits.
    n_train, n_test : float
        Rows in a training set and in a test set (their mean, when splits differ by a row).
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    PairedTest

    Examples
    --------
    >>> test = corrected_paired_test([0.9, 0.8, 0.9, 1.0], [0.8, 0.7, 0.7, 0.9], n_train=75, n_test=25)
    >>> round(test.difference, 3), round(test.p_value, 4)
    (0.125, 0.0467)
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise ValueError(
            f"first and second must be scores of the same splits, at least 2; got shapes {a.shape} and {b.shape}."
        )
    d = a - b
    mean, error = _mean_and_error(d, n_train, n_test)
    df = d.size - 1
    if error > 1e-15 * max(np.abs(a).max(), np.abs(b).max()):  # below that the scores' own rounding
        statistic = mean / error
        p = 2.0 * float(stdtr(df, -abs(statistic)))
    else:  # the same difference on every split
        statistic = float(np.sign(mean) * np.inf) if mean else 0.0
        p = 0.0 if mean else 1.0
    half = float(stdtrit(df, 0.5 + _checked_confidence(confidence) / 2)) * error
    return PairedTest(mean, statistic, p, mean - half, mean + half, df)


def corrected_interval(
    scores: Any, *, n_train: float, n_test: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of a mean score over splits, with the corrected variance.

    Examples
    --------
    >>> low, high = corrected_interval([0.9, 0.8, 0.9, 1.0], n_train=75, n_test=25)
    >>> round(low, 3), round(high, 3)
    (0.702, 1.098)
    """
    values = np.asarray(scores, dtype=float)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"scores must be those of at least 2 splits; got shape {values.shape}.")
    mean, error = _mean_and_error(values, n_train, n_test)
    half = float(stdtrit(values.size - 1, 0.5 + _checked_confidence(confidence) / 2)) * error
    return mean - half, mean + half


def holm(p_values: Any) -> np.ndarray:
    """P-values for many comparisons at once, by Holm's step-down rule.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    running = np.maximum.accumulate(p[order] * (p.size - np.arange(p.size)))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(running, 1.0)
    return adjusted


def _mean_and_error(values: np.ndarray, n_train: float, n_test: float) -> tuple[float, float]:
    """The mean of some scores, and its standard error corrected for overlapping training sets."""
    if not (n_train > 0 and n_test > 0):
        raise ValueError(f"n_train and n_test must be positive; got {n_train!r} and {n_test!r}.")
    variance = float(np.var(values, ddof=1))
    return float(values.mean()), float(np.sqrt(variance * (1 / values.size + n_test / n_train)))


def _checked_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    return confidence
