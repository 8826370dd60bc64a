"""Crossed categorical features (交叉特征)."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Each, Floats
from tercet.core.input_errors import shown
from tercet.core.parameters import Count, Range
from tercet.feature.discretization.bin_codes import dense_one_hot, sparse_one_hot
from tercet.feature.encoding.base import CategoryEncoder
from tercet.feature.encoding.category_columns import is_missing

MOST_CROSSES = 10_000  # combinations of columns; more are a mistake


@method(
    zh="组合（交叉）特征",
    task="feature extraction",
    model="x_i and x_j -> one category for each pair of their categories",
    strategy="the pairs that the training rows have; rare ones may be left out",
    texts=["Machine Learning in Depth ch. 3"],
    peers=["tensorflow.feature_column.crossed_column", "sklearn.preprocessing.PolynomialFeatures"],
)
class FeatureCross(CategoryEncoder):
    """Cross categorical columns: each combination of categories that occurs is a category of a new feature.

    A linear model of crossed features has a weight for each combination. For products of numeric columns
    scikit-learn has `PolynomialFeatures`; numeric columns may be discretised first (`KBinsDiscretizer`).

    Parameters
    ----------
    degree : int, default=2
        Columns that are crossed with each other: all combinations of 2 to so many columns.
    crosses : list of tuples, optional
        The columns to cross, by name or position, in the place of `degree`: `[("city", "hour"), (0, 1, 2)]`.
    encode : {"onehot", "onehot-dense", "ordinal"}, default="onehot"
        A column of zeros and ones for each combination of categories (as a sparse matrix or an array), or the
        number of the combination.
    min_count : int, default=1
        Combinations with fewer training rows are as unknown ones.
    handle_unknown : {"ignore", "error"}, default="ignore"
        A combination or category that `fit` has not seen has zeros only (-1 as a number), or is an error.

    Attributes
    ----------
    categories_ : list of arrays
        The categories of each column; missing values are a category.
    crosses_ : list of tuples
        The columns of each cross.
    combinations_ : list of arrays of shape (n_combinations, n_columns)
        The codes of the categories of each combination that has a number, in order.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> X = [["red", "S"], ["red", "L"], ["blue", "S"], ["red", "S"]]
    >>> model = FeatureCross(encode="onehot-dense").fit(X)
    >>> model.get_feature_names_out(["colour", "size"]).tolist()
    ['colour=blue & size=S', 'colour=red & size=L', 'colour=red & size=S']
    >>> model.transform([["red", "S"], ["blue", "L"]])
    array([[0., 0., 1.],
           [0., 0., 0.]])
    """

    def __init__(
        self,
        degree: Annotated[int, Range(2, np.inf, "[)")] = 2,
        *,
        crosses: list[Any] | tuple[Any, ...] | None = None,
        encode: Literal["onehot", "onehot-dense", "ordinal"] = "onehot",
        min_count: Count = 1,
        handle_unknown: Literal["ignore", "error"] = "ignore",
    ) -> None:
        self.degree = degree
        self.crosses = crosses
        self.encode = encode
        self.min_count = min_count
        self.handle_unknown = handle_unknown

    fitted_shapes = {
        "crosses_": Each(Each(Floats(""), "crossed*@"), "crosses*"),
        "combinations_": Each(Floats("combinations*@ crossed@"), "crosses*"),
    }
    crosses_: list[tuple[int, ...]]
    combinations_: list[np.ndarray]

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        self.crosses_ = self._crossed_columns(X.shape[1])
        self.combinations_ = [
            occurring_combinations(X[:, list(columns)], self.min_count) for columns in self.crosses_
        ]

    def _crossed_columns(self, d: int) -> list[tuple[int, ...]]:
        """The columns of each cross, as positions."""
        if self.crosses is None:
            found = [pair for k in range(2, min(self.degree, d) + 1) for pair in combinations(range(d), k)]
            if len(found) > MOST_CROSSES:
                raise ValueError(
                    f"FeatureCross: degree={self.degree} gives {len(found)} crosses of {d} columns; choose some by "
                    "the parameter 'crosses'."
                )
            return found
        names = list(getattr(self, "feature_names_in_", []))
        return [tuple(self._position(item, names, d) for item in _items(cross)) for cross in self.crosses]

    def _position(self, item: Any, names: list[Any], d: int) -> int:
        place = names.index(item) if isinstance(item, str) and item in names else item
        whole = isinstance(place, int | np.integer) and not isinstance(place, bool)
        if not whole or not -d <= place < d:
            raise ValueError(
                f"FeatureCross: parameter 'crosses' names the column {shown(item)}; there are {d} columns"
                + (f": {', '.join(map(str, names[:12]))}." if names else ".")
            )
        return int(place) % d

    def _check_fitted(self, sizes: dict[str, int]) -> None:
        places = [place for columns in self.crosses_ for place in columns]
        if not all(isinstance(place, int) and 0 <= place < sizes["features"] for place in places):
            raise ValueError(f"FeatureCross: crosses_ must have columns from 0 to {sizes['features'] - 1}.")

    def _encoded(self, codes: np.ndarray) -> Any:
        found = np.empty((len(codes), len(self.crosses_)), dtype=np.int64)
        for k, (columns, known) in enumerate(zip(self.crosses_, self.combinations_)):
            found[:, k] = combination_numbers(codes[:, list(columns)], known)
        if self.handle_unknown == "error" and (found < 0).any():
            row, k = np.argwhere(found < 0)[0]
            raise ValueError(
                f"FeatureCross: row {row} of X has a combination of the columns {self.crosses_[k]} that was not "
                "seen in fit, or too rarely; handle_unknown='ignore' takes it."
            )
        if self.encode == "ordinal":
            return found.astype(np.float64)
        one_hot = sparse_one_hot if self.encode == "onehot" else dense_one_hot
        return one_hot(
            found, np.array([len(known) for known in self.combinations_], dtype=np.int64), np.float64
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the output columns: the categories of each combination, or the crossed columns.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns of X.

        Returns
        -------
        names : array of objects of shape (n_outputs,)
        """
        names = self._names(input_features)
        found = []
        for columns, known in zip(self.crosses_, self.combinations_):
            if self.encode == "ordinal":
                found.append(" & ".join(names[j] for j in columns))
                continue
            for codes in known.tolist():
                labels = [self.categories_[j][code] for j, code in zip(columns, codes)]
                words = ["missing" if is_missing(label) else label for label in labels]
                found.append(" & ".join(f"{names[j]}={word}" for j, word in zip(columns, words)))
        return np.array(found, dtype=object)


def _items(cross: Any) -> list[Any]:
    if isinstance(cross, str) or not hasattr(cross, "__iter__") or len(list(cross)) < 2:
        raise ValueError(
            f"FeatureCross: parameter 'crosses' must be a list of tuples of columns; got {shown(cross)}."
        )
    return list(cross)


def occurring_combinations(codes: np.ndarray, min_count: int) -> np.ndarray:
    """The distinct rows of codes in order, of those without a negative one that come often enough.

    Examples
    --------
    >>> occurring_combinations(np.array([[1, 0], [0, 2], [1, 0]]), 2)
    array([[1, 0]])
    """
    rows = codes[(codes >= 0).all(axis=1)]
    keys = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:  # numbers of the combinations of the columns so far: no product of many sizes
        _, keys = np.unique(keys * (int(column.max(initial=0)) + 1) + column, return_inverse=True)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return rows[first[counts >= min_count]]


def combination_numbers(codes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The number of each row of codes among known combinations in order; -1 where it is not among them.

    Examples
    --------
    >>> combination_numbers(np.array([[1, 0], [0, 0]]), np.array([[0, 2], [1, 0]]))
    array([ 1, -1])
    """
    keys, of_known = np.zeros(len(codes), dtype=np.int64), np.zeros(len(known), dtype=np.int64)
    there = (codes >= 0).all(axis=1) & (len(known) > 0)
    for column, own in zip(codes.T, known.T):
        width = int(max(column.max(initial=0), own.max(initial=0))) + 1
        table, of_known = np.unique(of_known * width + own, return_inverse=True)
        at = np.searchsorted(table, keys * width + column)
        at = np.minimum(at, max(table.size - 1, 0))
        if table.size:
            there &= table[at] == keys * width + column
        keys = np.where(there, at, 0)
    return np.where(there, keys, -1)
