"""Range rules: values that cannot be, such as a height of 3 m."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.feature.cleaning.base import LimitCleaner
from tercet.feature.cleaning.table_columns import column_index


@method(
    zh="取值范围规则, 数据清洗",
    task="preprocessing",
    model="low_j ≤ x_ij ≤ high_j for the columns that have a range",
    strategy="ranges that are given, not learned",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["feature_engine.outliers.ArbitraryOutlierCapper"],
)
class RangeCleaner(LimitCleaner):
    """Impossible values, outside of given ranges, made missing, clipped or flagged.

    `RuleFilter` drops rows with such values instead.

    Parameters
    ----------
    ranges : dict, optional
        The least and the largest possible value by column, which is given by its name or place, as in
        {"height": (0.3, 2.5)}; None leaves an end open. Other columns have no range.
    action : {"missing", "clip", "flag"}, default="missing"
        Impossible values become NaN, or the end of the range, or stay, with a further column for each that holds 1
        where there is one.

    Attributes
    ----------
    lower_, upper_ : arrays of shape (n_features,)
        The ends of the ranges; infinite where there is none.
    n_outside_ : array of shape (n_features,)
        Impossible values of each column among the training rows.

    Examples
    --------
    >>> X = [[1.7, 60.0], [3.0, 70.0], [1.6, -1.0]]
    >>> RangeCleaner({0: (0.3, 2.5), 1: (0, None)}).fit_transform(X)
    array([[ 1.7, 60. ],
           [ nan, 70. ],
           [ 1.6,  nan]])
    """

    def __init__(
        self, ranges: dict | None = None, *, action: Literal["missing", "clip", "flag"] = "missing"
    ) -> None:
        self.ranges = ranges
        self.action = action

    flag_name = "out_of_range"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns that have a range.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _limits(self, X: np.ndarray, sample_weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        lower, upper = np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf)
        for j, (low, high) in resolved_ranges(self.ranges, list(names), type(self).__name__).items():
            lower[j], upper[j] = low, high
        return lower, upper


def resolved_ranges(ranges: Any, names: Sequence[Any], owner: str) -> dict[int, tuple[float, float]]:
    """Ranges by the places of their columns, open ends infinite.

    Examples
    --------
    >>> resolved_ranges({"age": (0, None)}, ["height", "age"], "RangeCleaner")
    {1: (0.0, inf)}
    """
    found: dict[int, tuple[float, float]] = {}
    for key, pair in (ranges or {}).items():
        j = column_index(key, names, owner, "ranges")
        if j in found:
            raise ValueError(f"{owner}: parameter 'ranges' gives the column {names[j]!r} two ranges.")
        good = isinstance(pair, tuple | list | np.ndarray) and len(pair) == 2
        if not good or not all(end is None or isinstance(end, numbers.Real) for end in pair):
            raise ValueError(
                f"{owner}: the range of column {names[j]!r} must be a pair of numbers (None for no end); "
                f"got {pair!r}."
            )
        low = -np.inf if pair[0] is None else float(pair[0])
        high = np.inf if pair[1] is None else float(pair[1])
        if not low <= high:
            raise ValueError(
                f"{owner}: the range of column {names[j]!r} must begin before it ends; got {pair!r}."
            )
        found[j] = low, high
    return found
