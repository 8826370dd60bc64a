"""Split search and growth in plain form: ID3, C4.5 and CART (Li ch. 5, Alg 5.2, 5.3, 5.5 and 5.6).

`DecisionTreeClassifier` and `DecisionTreeRegressor` grow the same trees with faster engines, which are tested
against these functions. No weights, no missing values, no limits but those of the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.tree.tree import Tree, TreeBuilder

TIE = 1e-9  # scores that differ by less differ by rounding: the first feature and the smallest threshold win
Algorithm = Literal["cart", "id3", "c45"]
Criterion = Literal["gini", "entropy", "squared_error"]


class Split(NamedTuple):
    """The best test of a node.

    Attributes
    ----------
    feature : int
        The feature that is tested.
    threshold : float
        x <= threshold is branch 0, x > threshold branch 1; NaN for a test of categories.
    branch : int array of shape (n_samples,)
        The branch of each row.
    score : float
        The information gain, the gain ratio, or the decrease of the Gini index or of the squared error.
    """

    feature: int
    threshold: float
    branch: np.ndarray
    score: float


def best_split(
    X: Any,
    y: Any,
    *,
    algorithm: Algorithm = "cart",
    criterion: Criterion = "gini",
    categorical_features: Iterable[int] = (),
    category_tests: Literal["subset", "value"] = "subset",
) -> Split | None:
    """The best test of a set of rows, by trying every feature and every threshold.

    "cart" tests numbers by a threshold and categories by a subset, and scores by the decrease of the impurity.
    "id3" and "c45" have one branch for each category, and score by the information gain (5.9) and the gain ratio
    (5.10).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Numbers, and categories of any kind in `categorical_features`.
    y : array of shape (n_samples,)
        Labels, or numbers with criterion="squared_error".
    algorithm : {"cart", "id3", "c45"}, default="cart"
        Which tests there are, and how they are scored.
    criterion : {"gini", "entropy", "squared_error"}, default="gini"
        The impurity of "cart".
    categorical_features : indices, optional
        The features that are categories.
    category_tests : {"subset", "value"}, default="subset"
        What "cart" tests of categories: a subset, or one value against the rest (Alg 5.6).

    Returns
    -------
    split : Split, or None where all rows are alike

    Examples
    --------
    The first feature of the loan table (Table 5.1) is whether the applicant has a house:

    >>> from tercet.datasets import load_loans
    >>> X, y = load_loans(return_X_y=True)
    >>> split = best_split(X, y, algorithm="id3", categorical_features=range(4))
    >>> load_loans().feature_names[split.feature], round(split.score, 3)
    ('house', 0.42)
    """
    X, y = np.asarray(X), np.asarray(y)
    categorical = set(categorical_features)
    criterion = "entropy" if algorithm != "cart" else criterion
    best = None
    for j in range(X.shape[1]):
        tests = list(_candidates(X[:, j], j in categorical, algorithm != "cart", category_tests == "value"))
        split = _best_split_of_feature(tests, y, j, algorithm, criterion)
        if split is not None and (best is None or split.score > best.score * (1 + TIE) + 1e-12):
            best = split
    return best


def _best_split_of_feature(
    tests: list[tuple[float, np.ndarray]], y: np.ndarray, j: int, algorithm: Algorithm, criterion: Criterion
) -> Split | None:
    """The test of feature j with the largest gain; "c45" then scores it by the gain ratio."""
    best = None
    for threshold, branch in tests:
        gain = _gain(y, branch, criterion)
        if best is None or gain > best.score * (1 + TIE) + 1e-12:
            best = Split(j, threshold, branch, gain)
    if best is not None and algorithm == "c45":
        best = best._replace(score=best.score / _impurity(best.branch, "entropy"))  # (5.10): g(D, A) / H_A(D)
    return best


def _candidates(
    x: np.ndarray, categorical: bool, multiway: bool, single: bool
) -> Iterator[tuple[float, np.ndarray]]:
    """All tests of one feature: the threshold, and the branch of each row."""
    values = np.unique(x)
    if not categorical:
        for low, high in pairwise(values.astype(float)):
            yield low / 2 + high / 2, (x > low).astype(int)
    elif multiway and len(values) > 1:
        yield np.nan, np.searchsorted(values, x)
    elif not multiway:
        largest = 1 if single else len(values) // 2
        for size in range(1, largest + 1 if len(values) > 1 else 1):
            for subset in combinations(values, size):
                yield np.nan, (~np.isin(x, subset)).astype(int)


def _gain(y: np.ndarray, branch: np.ndarray, criterion: Criterion) -> float:
    """The decrease of the impurity: H(D) - Σ |D_i| / |D| H(D_i), (5.8) and (5.9); (5.25) for the Gini index."""
    parts = [y[branch == i] for i in np.unique(branch)]
    after = sum(len(part) / len(y) * _impurity(part, criterion) for part in parts)
    return max(_impurity(y, criterion) - after, 0.0)


def _impurity(y: np.ndarray, criterion: Criterion) -> float:
    """The empirical entropy (5.7), the Gini index (5.24), or the mean squared error of the mean (5.19), (5.20)."""
    if criterion == "squared_error":
        return float(np.var(y))
    p = np.unique(y, return_counts=True)[1] / len(y)
    return float(-p @ np.log2(p) if criterion == "entropy" else 1 - p @ p)


def grow_tree(
    X: Any,
    y: Any,
    *,
    algorithm: Algorithm = "cart",
    criterion: Criterion = "gini",
    categorical_features: Iterable[int] = (),
    category_tests: Literal["subset", "value"] = "subset",
    epsilon: float = 0.0,
    max_depth: int | None = None,
    min_samples_split: int = 2,
) -> Tree:
    """Grow a tree in plain form: Alg 5.2 (ID3), 5.3 (C4.5), 5.5 (regression) or 5.6 (CART).

    Parameters
    ----------
    X, y, algorithm, criterion, categorical_features, category_tests : as in `best_split`
        The rows and how to split them.
    epsilon : float, default=0.0
        "id3" and "c45" make a leaf where the best score is below it.
    max_depth : int, optional
        The most tests on a path to a leaf.
    min_samples_split : int, default=2
        The fewest rows of a node that is split.

    Returns
    -------
    tree : Tree
        Its categories and classes are the indices of the sorted values, as those of the estimators.

    Examples
    --------
    >>> from tercet.datasets import load_loans
    >>> from tercet.tree import export_text
    >>> X, y = load_loans(return_X_y=True)
    >>> tree = grow_tree(X, y, algorithm="id3", categorical_features=range(4))
    >>> print(export_text(tree, feature_names=load_loans().feature_names, class_names=["no", "yes"]), end="")
    |--- house = 0
    |   |--- job = 0
    |   |   |--- class: no
    |   |--- job = 1
    |   |   |--- class: yes
    |--- house = 1
    |   |--- class: yes
    """
    y, categorical = np.asarray(y), set(categorical_features)
    X = _with_codes(np.asarray(X), categorical)
    n_classes = 1
    if criterion != "squared_error" or algorithm != "cart":
        classes, y = np.unique(y, return_inverse=True)
        n_classes, criterion = len(classes), criterion if algorithm == "cart" else "entropy"
    builder = TreeBuilder(X.shape[1])
    builder.add_root()

    def grow_below(t: int, rows: np.ndarray, features: list[int], depth: int) -> None:
        mean = [y[rows].mean()] if n_classes == 1 else np.bincount(y[rows], minlength=n_classes) / len(rows)
        impurity = _impurity(y[rows], criterion)
        builder.set(t, value=[mean], impurity=impurity, samples=len(rows), weight=len(rows))
        # (1), (2): one class, or no feature that is left.
        if (
            len(np.unique(y[rows])) == 1
            or not features
            or depth == max_depth
            or len(rows) < min_samples_split
        ):
            return
        # (3): the best feature.
        asked = [k for k, j in enumerate(features) if j in categorical]
        part = X[rows][:, features]
        split = best_split(
            part,
            y[rows],
            algorithm=algorithm,
            criterion=criterion,
            categorical_features=asked,
            category_tests=category_tests,
        )
        # (4): no gain worth a test.
        if split is None or (algorithm != "cart" and split.score < epsilon):
            return
        # (5), (6): a child for each branch, and the same for each of them; a category is tested once on a path.
        j = features[split.feature]
        rest = [f for f in features if f != j] if algorithm != "cart" and j in categorical else features
        children = _add_test(builder, t, j, split, X[rows, j], j in categorical)
        for i, child in enumerate(children):
            grow_below(child, rows[split.branch == i], rest, depth + 1)

    grow_below(0, np.arange(len(y)), list(range(X.shape[1])), 0)
    return builder.tree(n_classes=[n_classes])


def _with_codes(X: np.ndarray, categorical: set[int]) -> np.ndarray:
    """X as floats, each category as its place among the sorted values of its column."""
    columns = [np.unique(x, return_inverse=True)[1] if j in categorical else x for j, x in enumerate(X.T)]
    return np.column_stack(columns).astype(float)


def _add_test(builder: TreeBuilder, t: int, j: int, split: Split, x: np.ndarray, categorical: bool) -> range:
    """Give node t the test of feature j; returns the numbers of its children."""
    if not categorical:
        return builder.split(t, feature=j, threshold=split.threshold)
    slots = np.full(int(x.max()) + 1, -1)
    slots[x.astype(int)] = split.branch
    return builder.split(t, feature=j, slots=slots, n_children=int(split.branch.max()) + 1)
