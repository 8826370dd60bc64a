"""Rules that rows must keep: ranges of columns, and whatever a function of the table tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.feature.cleaning.base import RowFilter
from tercet.feature.cleaning.range_cleaner import resolved_ranges
from tercet.feature.cleaning.table_columns import column_names, column_numbers


@method(
    zh="规则清洗, 一致性规则",
    task="preprocessing",
    model="the rows that keep all rules",
    strategy="rules that are given: ranges of columns, conditions on rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.1"],
    peers=["pandera.DataFrameSchema"],
)
class RuleFilter(RowFilter):
    """Drops or reports the training rows that break a rule; a sampler, for use in `Resampled`.

    Rules find impossible values (a height of 3 m) and rows that contradict themselves (a child of 5 who is
    married).

    Parameters
    ----------
    ranges : dict, optional
        The least and the largest possible value by column, which is given by its name or place, as in
        {"height": (0.3, 2.5)}; None leaves an end open. A missing value breaks no range.
    rules : dict of callables, optional
        Conditions by name: functions of the table that give a mask of the rows that keep the rule.
    action : {"drop", "report"}, default="drop"
        "report" keeps all rows, for a look at `violations_`.

    Attributes
    ----------
    violations_ : dict
        The rows that break each rule, by its name; ranges by that of their column.
    sample_indices_ : array of int
        The rows that were kept.

    Examples
    --------
    >>> X, y = np.array([[1.7, 30], [3.0, 40], [1.1, 5]]), np.array([1, 1, 1])  # height, age; married
    >>> cleaner = RuleFilter({0: (0.3, 2.5)}, rules={"married": lambda X: X[:, 1] >= 18})
    >>> cleaner.fit_resample(X, y)
    (array([[ 1.7, 30. ]]), array([1]))
    >>> cleaner.violations_
    {0: array([1]), 'married': array([2])}
    """

    def __init__(
        self,
        ranges: dict | None = None,
        *,
        rules: dict | None = None,
        action: Literal["drop", "report"] = "drop",
    ) -> None:
        self.ranges = ranges
        self.rules = rules
        self.action = action

    def _dropped(self, X: Any, y: Any) -> np.ndarray:
        name, n, names = type(self).__name__, X.shape[0], column_names(X)
        broken = np.zeros(n, dtype=bool)
        self.violations_: dict[Any, np.ndarray] = {}
        for j, (low, high) in resolved_ranges(self.ranges, names, name).items():
            values = column_numbers(X, j, name)
            outside = (values < low) | (values > high)
            self.violations_[names[j]] = np.flatnonzero(outside)
            broken |= outside
        for rule, holds in (self.rules or {}).items():
            if rule in self.violations_:
                raise ValueError(f"{name}: the rule {rule!r} has the name of a column that has a range.")
            failed = ~_kept_by(holds, X, n, f"{name}: the rule {rule!r}")
            self.violations_[rule] = np.flatnonzero(failed)
            broken |= failed
        return broken if self.action == "drop" else np.zeros(n, dtype=bool)

    def _advice(self) -> str:
        many = {rule: len(rows) for rule, rows in self.violations_.items()}
        return f"rows that break each rule: {many}"


def _kept_by(holds: Callable[[Any], Any], X: Any, n: int, who: str) -> np.ndarray:
    if not callable(holds):
        raise ValueError(f"{who} must be a function of the table; got {holds!r}.")
    answer = holds(X)
    if hasattr(answer, "fill_null"):
        answer = answer.fill_null(True)  # polars' null: not known to be broken
    elif hasattr(answer, "isna"):
        answer = answer.mask(answer.isna(), True)
    mask = np.asarray(answer)
    if mask.shape != (n,) or not np.isin(mask, (0, 1)).all():
        raise ValueError(
            f"{who} must give True or False for each of {n} rows; got an array of shape {mask.shape}."
        )
    return mask.astype(bool)
