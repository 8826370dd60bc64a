"""Value difference metric of categories, and its combination with the Minkowski distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from tercet.core.catalog import method
from tercet.core.columns import Columns, Features, MixedColumns
from tercet.core.estimator import check_weight, distinct
from tercet.metrics.distance.vectors import check_p, check_weights


@method(
    zh="VDM 距离",
    task="distance",
    model="VDM_p(a, b) = Σ_i |m_{u,a,i} / m_{u,a} - m_{u,b,i} / m_{u,b}|^p over the clusters i",
    texts=["watermelon notes ch. 7, eq. 7.14"],
)
def vdm(
    values: Sequence[Any],
    clusters: Sequence[Any],
    a: Any,
    b: Any,
    *,
    p: float = 2,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Value difference metric: how differently two values of an attribute spread over clusters or classes.

    Parameters
    ----------
    values : sequence of length n
        The attribute, row by row.
    clusters : sequence of length n
        The cluster or class of each row.
    a, b : the two values.
    p : float, default=2
        The power of the differences, at least 1.
    sample_weight : array of length n, optional
        How much each row counts.

    Examples
    --------
    >>> colour = ["green", "green", "black", "black", "black"]
    >>> vdm(colour, [1, 0, 1, 1, 1], "green", "black", p=1)
    1.0
    """
    if np.isinf(check_p(p)):
        raise ValueError("vdm: p must be finite.")
    column, classes = np.asarray(values, dtype=object), np.asarray(clusters)
    if column.ndim != 1 or classes.shape != column.shape:
        raise ValueError(
            f"vdm: values and clusters must be equally long; got {column.shape}, {classes.shape}."
        )
    weight = (
        np.ones(len(column))
        if sample_weight is None
        else check_weight(sample_weight, np.empty((len(column), 1)))
    )
    _, index = distinct(classes)
    spreads = []
    for value in (a, b):
        mass = np.bincount(index, weight * np.array([v == value for v in column]), minlength=index.max() + 1)
        if not mass.any():
            raise ValueError(f"vdm: no row has the value {value!r}.")
        spreads.append(mass / mass.sum())
    return float((np.abs(spreads[0] - spreads[1]) ** p).sum())


@method(
    zh="MinkovDM 混合距离",
    task="distance",
    model="(Σ_{ordered} w_u |x_u - z_u|^p + Σ_{unordered} w_u VDM_p(x_u, z_u))^(1/p)",
    texts=["watermelon notes ch. 7, eq. 7.15"],
)
class MinkovDM:
    """Distance between rows of numbers and of categories: Minkowski's for the numbers, VDM for the rest.

    Parameters
    ----------
    p : float, default=2
        The power, at least 1.
    categorical_features : "from_dtype", list or mask, default="from_dtype"
        The columns without an order: those of strings and of a frame's categorical dtype, unless places, names or a
        mask are given.
    w : array of length d, optional
        How much each column counts.

    Examples
    --------
    >>> X = [[0.0, "green"], [1.0, "green"], [1.0, "black"]]
    >>> metric = MinkovDM(p=1).fit(X, [1, 0, 1])
    >>> metric.pairwise(X)
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """

    def __init__(
        self, p: float = 2, *, categorical_features: Features = "from_dtype", w: ArrayLike | None = None
    ) -> None:
        self.p = p
        self.categorical_features = categorical_features
        self.w = w

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn how the values of each categorical column spread over the clusters or classes y."""
        if np.isinf(check_p(self.p)):
            raise ValueError("MinkovDM: p must be finite; VDM has no limit as p grows.")
        self._columns = _MixedColumnsReader(self.categorical_features)
        X, y = self._columns._check(X, y)
        _refuse_missing(X)
        weight = check_weight(sample_weight, X)
        self._weight = np.ones(X.shape[1]) if self.w is None else check_weights(self.w, X.shape[1])
        weight = np.ones(len(X)) if weight is None else weight
        _, index = distinct(y)
        whole = np.bincount(index, weight) / weight.sum()
        self.spreads_: list[np.ndarray | None] = []
        for j, categories in enumerate(self._columns.categories_):
            if categories is None:
                self.spreads_.append(None)
                continue
            mass = np.zeros((len(categories) + 1, whole.size))
            np.add.at(mass, (X[:, j].astype(np.intp), index), weight)
            total = mass.sum(axis=1, keepdims=True)
            # A value that nobody has tells nothing of the cluster: it spreads as all rows do.
            self.spreads_.append(np.where(total > 0, mass / np.where(total > 0, total, 1), whole))
        return self

    def pairwise(self, X: Any, Z: Any = None) -> np.ndarray:
        """The distance of every row of X from every row of Z (of X itself, if there is no Z)."""
        self._check_fitted()
        X = self._columns._check(X, reset=False)
        return self._distances(X, X if Z is None else self._columns._check(Z, reset=False))

    def __call__(self, x: Any, z: Any) -> float:
        """The distance of two rows."""
        self._check_fitted()
        d = len(self.spreads_)
        if len(x) != d or len(z) != d:
            raise ValueError(f"MinkovDM: rows must have {d} values; got {len(x)} and {len(z)}.")
        both = np.empty((2, d), dtype=object)
        both[0], both[1] = list(x), list(z)
        rows = Columns.of_array(both).encode(self._columns.categories_)
        return float(self._distances(rows[:1], rows[1:])[0, 0])

    def _check_fitted(self) -> None:
        if not hasattr(self, "spreads_"):
            raise NotFittedError("This MinkovDM has not learned from rows yet: call fit first.")

    def _distances(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        _refuse_missing(X)
        _refuse_missing(Z)
        total = np.zeros((len(X), len(Z)))
        for j, spread in enumerate(self.spreads_):
            if spread is None:
                total += self._weight[j] * np.abs(X[:, j, None] - Z[:, j]) ** self.p
            else:
                table = (np.abs(spread[:, None] - spread) ** self.p).sum(axis=2)
                total += self._weight[j] * table[np.ix_(X[:, j].astype(np.intp), Z[:, j].astype(np.intp))]
        return total ** (1 / self.p)


def _refuse_missing(X: np.ndarray) -> None:
    if np.isnan(X).any():
        raise ValueError("MinkovDM: the rows have missing values; fill them in first.")


class _MixedColumnsReader(MixedColumns):
    """Encodes mixed columns; the metric itself is no estimator."""

    def __init__(self, categorical_features: Features) -> None:
        self.categorical_features = categorical_features
