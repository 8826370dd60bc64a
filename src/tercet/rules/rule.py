"""A rule as one reads it: head <- conjunction of conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.core.column_parsing import label_text

COMPARISONS = ("=", "<=", ">=")


@dataclass(frozen=True)
class Condition:
    """One condition (文字) of a rule, such as texture=clear or density>=0.38.

    A missing value satisfies none.

    Attributes
    ----------
    feature : str or int
        Name of the column, or its place.
    comparison : {"=", "<=", ">="}
    value : str or float

    Examples
    --------
    >>> print(Condition("density", ">=", 0.38))
    density>=0.38
    """

    feature: Any
    comparison: str
    value: Any

    def __post_init__(self) -> None:
        if self.comparison not in COMPARISONS:
            raise ValueError(f"comparison must be one of {COMPARISONS}; got {self.comparison!r}.")
        if self.comparison != "=" and isinstance(self.value, str):
            raise ValueError(f"value must be a number for {self.comparison!r}; got {self.value!r}.")

    @property
    def name(self) -> str:
        """The column in words."""
        return self.feature if isinstance(self.feature, str) else f"x{self.feature}"

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{shortened(self.value)}"

    def holds(self, column: np.ndarray) -> np.ndarray:
        """Which entries of a column satisfy the condition; NaN and None do not."""
        if isinstance(self.value, str):
            return np.array([not missing(v) and label_text(v) == self.value for v in column], dtype=bool)
        numbers = np.array([np.nan if missing(v) else v for v in column.tolist()], dtype=np.float64)
        if self.comparison == "=":
            return numbers == self.value
        return numbers <= self.value if self.comparison == "<=" else numbers >= self.value


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, then `head` (规则): head <- condition and condition and ...

    Attributes
    ----------
    conditions : tuple of Condition
        None of them: the rule covers every row.
    head : label
        The class that it predicts.
    distribution : dict
        Weight of the training rows of each class that the rule covers; in an ordered list, of those that no earlier
        rule covers.

    Examples
    --------
    >>> rule = Rule([Condition("texture", "=", "clear")], "good", {"good": 7, "bad": 2})
    >>> print(rule)
    good ← (texture=clear)
    >>> rule.support, round(rule.precision, 3)
    (9.0, 0.778)
    """

    conditions: tuple[Condition, ...]
    head: Any
    distribution: Mapping[Any, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "conditions", tuple(self.conditions))

    def __len__(self) -> int:
        return len(self.conditions)

    def __bool__(self) -> bool:
        return True

    @property
    def support(self) -> float:
        """Weight of the training rows that the rule covers."""
        return float(sum(self.distribution.values()))

    @property
    def precision(self) -> float:
        """The share of these rows whose class is the head; NaN where there are none."""
        support = self.support
        return float(self.distribution.get(self.head, 0.0)) / support if support > 0 else float("nan")

    def covers(self, X: Any, feature_names: Any = None) -> np.ndarray:
        """Which rows satisfy all conditions.

        Parameters
        ----------
        X : frame, or array of shape (n_samples, n_features)
            The rows, with the categories as they were given.
        feature_names : sequence of str, optional
            Names of the columns of an array.

        Returns
        -------
        covered : bool array of shape (n_samples,)
        """
        columns, n_rows = table_columns(X, feature_names)
        return self.covers_columns(columns, n_rows)

    def covers_columns(self, columns: Mapping[Any, np.ndarray], n_rows: int) -> np.ndarray:
        covered = np.ones(n_rows, dtype=bool)
        for condition in self.conditions:
            if condition.feature not in columns:
                raise ValueError(
                    f"the rule {self} tests {condition.name!r}; X has no such column "
                    f"(it has {[name for name in columns if isinstance(name, str)][:12] or n_rows})."
                )
            covered &= condition.holds(columns[condition.feature])
        return covered

    def body(self, joint: str = " ∧ ", around: str = "({})") -> str:
        """The conditions in words."""
        return joint.join(around.format(condition) for condition in self.conditions)

    def __str__(self) -> str:
        return f"{shortened(self.head)} ← {self.body() or 'True'}"


def table_columns(X: Any, feature_names: Any = None) -> tuple[dict[Any, np.ndarray], int]:
    """The columns of a table by place and, where they are known, by name."""
    if hasattr(X, "columns") and hasattr(X, "shape"):
        names = [str(name) for name in X.columns]
        parts = [as_objects(X[name]) for name in X.columns]
        n_rows = X.shape[0]
    else:
        array = np.asarray(X, dtype=object if not hasattr(X, "dtype") else None)
        if array.ndim != 2:
            raise ValueError(f"X must be a table of rows and columns; got the shape {array.shape}.")
        names, parts, n_rows = [], list(array.T), array.shape[0]
    if feature_names is not None:
        names = [str(name) for name in feature_names]
    columns: dict[Any, np.ndarray] = dict(enumerate(parts))
    columns.update(zip(names, parts))
    return columns, n_rows


def as_objects(column: Any) -> np.ndarray:
    """The entries of a frame's column."""
    out = np.empty(len(column), dtype=object)
    out[:] = column.to_list()
    return out


def missing(value: Any) -> bool:
    """Whether a value is None, NaN or pandas.NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def shortened(value: Any) -> str:
    """A number in at most six digits; anything else as it is."""
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    return str(value)
