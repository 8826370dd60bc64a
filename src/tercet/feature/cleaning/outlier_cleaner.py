"""Outliers of columns by the z-score, Tukey's fences, the median absolute deviation or quantiles."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Positive
from tercet.feature.cleaning.base import LimitCleaner
from tercet.feature.column_statistics import moments, quantiles

Rule = Literal["iqr", "zscore", "mad", "quantile"]
Tail = Literal["both", "lower", "upper"]
THRESHOLDS = {"iqr": 1.5, "zscore": 3.0, "mad": 3.5, "quantile": 0.05}
NORMAL = 0.6744897501960817  # median absolute deviation of a standard normal distribution


@method(
    zh="异常值处理, 3σ 法则, 箱线图法",
    task="preprocessing",
    model="lower_j ≤ x_ij ≤ upper_j",
    strategy="limits of each column, from the training rows",
    algorithms={
        "iqr": "Tukey's fences: Q1 - 1.5 (Q3 - Q1) and Q3 + 1.5 (Q3 - Q1)",
        "zscore": "mean ± 3 standard deviations",
        "mad": "median ± 3.5 MAD / 0.6745, MAD the median of |x - median|",
        "quantile": "the 5 % and the 95 % quantile (winsorising)",
    },
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["feature_engine.outliers.Winsorizer"],
)
class OutlierCleaner(LimitCleaner):
    """Outliers of each column clipped, made missing or flagged.

    A column whose spread is 0 (constant, or most values equal) and one without values have no limits.
    `OutlierFilter` drops rows with outliers instead.

    Parameters
    ----------
    rule : {"iqr", "zscore", "mad", "quantile"}, default="iqr"
        How limits are found: Tukey's fences around the quartiles; standard deviations from the mean (3σ); scaled
        median absolute deviations from the median, which outliers do not move; quantiles.
    threshold : float, optional
        How far the limits are: in interquartile ranges beyond the quartiles (1.5), in standard deviations (3), in
        median absolute deviations scaled to be standard deviations of a normal distribution (3.5), or the share of
        values beyond a limit (0.05).
    tail : {"both", "lower", "upper"}, default="both"
        Which limits there are.
    action : {"clip", "missing", "flag"}, default="clip"
        Outliers become the limit, or NaN, or stay, with a further column for each that holds 1 where there is one.

    Attributes
    ----------
    lower_, upper_ : arrays of shape (n_features,)
        The limits; infinite where there is none.
    n_outside_ : array of shape (n_features,)
        Outliers of each column among the training rows.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [4.0], [50.0]]
    >>> OutlierCleaner().fit_transform(X).ravel()
    array([1., 2., 3., 4., 7.])
    >>> OutlierCleaner("mad", action="missing").fit_transform(X).ravel()
    array([ 1.,  2.,  3.,  4., nan])
    """

    def __init__(
        self,
        rule: Rule = "iqr",
        *,
        threshold: Positive | None = None,
        tail: Tail = "both",
        action: Literal["clip", "missing", "flag"] = "clip",
    ) -> None:
        self.rule = rule
        self.threshold = threshold
        self.tail = tail
        self.action = action

    flag_name = "outlier"

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the limits of each column.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.
        y : ignored
            There for pipelines; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _limits(self, X: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        return outlier_limits(X, self.rule, self.threshold, self.tail, sample_weight)


def outlier_limits(
    X: np.ndarray, rule: str, threshold: float | None, tail: str, weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limit of each column by a rule of `OutlierCleaner`."""
    far = THRESHOLDS[rule] if threshold is None else float(threshold)
    if rule == "quantile" and far >= 0.5:
        raise ValueError(f"threshold={far!r} must be below 0.5 where rule='quantile'.")
    X = np.where(np.isinf(X), np.nan, X)
    with np.errstate(over="ignore", invalid="ignore"):
        if rule == "zscore":
            sums = moments(X, weight)
            centre, spread = sums.mean[0], sums.std[0]
            lower, upper = centre - far * spread, centre + far * spread
        elif rule == "mad":
            centre = quantiles(X, [0.5], weight)[0, 0]
            spread = quantiles(np.abs(X - centre), [0.5], weight)[0, 0] / NORMAL
            lower, upper = centre - far * spread, centre + far * spread
        else:
            low, high = quantiles(X, [0.25, 0.75] if rule == "iqr" else [far, 1 - far], weight)[:, 0]
            reach = far * (high - low) if rule == "iqr" else 0.0
            lower, upper, spread = low - reach, high + reach, high - low
    free = ~(spread > 0)
    lower = np.where(free | (tail == "upper"), -np.inf, lower)
    return lower, np.where(free | (tail == "lower"), np.inf, upper)
