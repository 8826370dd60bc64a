"""Conditions of a tree's branches, and the names to write them with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.tree._engine.traversal import CATEGORY, LINEAR, SHARED
from tercet.tree.tree import Tree

Digits = Callable[[float], str]


def short_number(x: float) -> str:
    """A number with six significant digits at most."""
    return f"{x:.6g}"


@dataclass(frozen=True)
class IntervalCondition:
    """low < x[feature] <= high; a row without the value satisfies it to the degree `missing`.

    Examples
    --------
    >>> IntervalCondition(0, 1.0, 2.0, missing=0.5).degrees(np.array([[1.5], [3.0], [np.nan]])).tolist()
    [1.0, 0.0, 0.5]
    """

    feature: int
    low: float
    high: float
    missing: float

    def degrees(self, X: np.ndarray) -> np.ndarray:
        """The degree to which each row satisfies the condition: 0 or 1, or less where a missing value is shared."""
        x = X[:, self.feature]
        return np.where(np.isnan(x), self.missing, (x > self.low) & (x <= self.high))

    def conjunction(self, other: IntervalCondition) -> IntervalCondition:
        """The conjunction of two conditions on one feature."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return IntervalCondition(self.feature, low, high, self.missing * other.missing)

    def parts(self) -> list[IntervalCondition]:
        """The two one-sided conditions of an interval."""
        ends = [(self.low, np.inf), (-np.inf, self.high)]
        found = [
            IntervalCondition(self.feature, a, b, self.missing) for a, b in ends if a > -np.inf or b < np.inf
        ]
        return found or [self]

    def text(self, names: TreeLabels, digits: Digits = short_number) -> str:
        name = names.features[self.feature]
        if self.low == -np.inf:
            return f"{name} <= {digits(self.high)}"
        if self.high == np.inf:
            return f"{name} > {digits(self.low)}"
        return f"{digits(self.low)} < {name} <= {digits(self.high)}"


@dataclass(frozen=True)
class CategoryCondition:
    """x[feature] is one of the categories `codes`; with `unseen`, also one that the node has never seen.

    Examples
    --------
    >>> condition = CategoryCondition(0, frozenset({0, 2}), missing=0.5, count=3)
    >>> condition.degrees(np.array([[0.0], [1.0], [2.0], [np.nan]])).tolist()
    [1.0, 0.0, 1.0, 0.5]
    """

    feature: int
    codes: frozenset[int]
    missing: float
    unseen: bool = False
    count: int = 0  # codes from here on are unseen

    def degrees(self, X: np.ndarray) -> np.ndarray:
        x = X[:, self.feature]
        known = (x >= 0) & (x < self.count)
        table = np.zeros(self.count + 1)
        table[list(self.codes)] = 1.0
        table[-1] = float(self.unseen)
        place = np.where(known, np.nan_to_num(x), self.count).astype(np.int64)
        return np.where(np.isnan(x), self.missing, table[place])

    def conjunction(self, other: CategoryCondition) -> CategoryCondition:
        missing, unseen = self.missing * other.missing, self.unseen and other.unseen
        count = max(self.count, other.count)
        return CategoryCondition(self.feature, self.codes & other.codes, missing, unseen, count)

    def parts(self) -> list[CategoryCondition]:
        return [self]

    def category_names(self, names: TreeLabels) -> list[str]:
        """The categories' names."""
        return [names.category(self.feature, code) for code in sorted(self.codes)]

    def text(self, names: TreeLabels, digits: Digits = short_number) -> str:
        words = self.category_names(names)
        name = names.features[self.feature]
        if self.unseen and not words:
            return f"{name} = another value"
        return f"{name} = {words[0]}" if len(words) == 1 else f"{name} in {{{', '.join(words)}}}"


@dataclass(frozen=True)
class LinearCondition:
    """coef · x <= threshold, or above it.

    Examples
    --------
    >>> condition = LinearCondition((1.0, -1.0), 0.0, above=True, missing=0.0)
    >>> condition.degrees(np.array([[2.0, 1.0], [1.0, 2.0]])).tolist()
    [1.0, 0.0]
    """

    coef: tuple[float, ...]
    threshold: float
    above: bool
    missing: float

    def degrees(self, X: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(self.coef)
        total = X[:, used] @ np.asarray(self.coef)[used]
        return np.where(np.isnan(total), self.missing, (total > self.threshold) == self.above)

    def parts(self) -> list[LinearCondition]:
        return [self]

    def text(self, names: TreeLabels, digits: Digits = short_number) -> str:
        terms = ""
        for j in np.flatnonzero(self.coef):
            sign = ("-" if not terms else " - ") if self.coef[j] < 0 else " + " if terms else ""
            size = "" if abs(self.coef[j]) == 1 else f"{digits(abs(self.coef[j]))} "
            terms += f"{sign}{size}{names.features[j]}"
        return f"{terms or 0} {'>' if self.above else '<='} {digits(self.threshold)}"


Condition = IntervalCondition | CategoryCondition | LinearCondition


def branch_condition(tree: Tree, t: int, k: int) -> Condition:
    """The condition that rows satisfy which go from node t to its child k.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"])
    >>> [branch_condition(model.tree_, 0, k).text(TreeLabels(model)) for k in (0, 1)]
    ['x0 <= 1.5', 'x0 > 1.5']
    """
    child, feature, threshold = int(tree.child[t]) + k, int(tree.feature[t]), float(tree.threshold[t])
    missing = float(tree.share[child]) if tree.missing[t] == SHARED else float(tree.missing[t] == k)
    if tree.kind[t] == CATEGORY:
        slots = category_slots(tree, t)
        codes = frozenset(int(code) for code in np.flatnonzero(slots == k))
        return CategoryCondition(feature, codes, missing, count=len(slots))
    if tree.kind[t] == LINEAR:
        return LinearCondition(tuple(tree.coef[tree.slot_start[t]].tolist()), threshold, bool(k), missing)
    return IntervalCondition(feature, *((-np.inf, threshold) if k == 0 else (threshold, np.inf)), missing)


def category_slots(tree: Tree, t: int) -> np.ndarray:
    """The child of each category at a node that tests categories."""
    return tree.slots[tree.slot_start[t] : tree.slot_start[t] + tree.slot_count[t]]


def is_multiway(tree: Tree, t: int) -> bool:
    """Whether a test of categories has other than two branches."""
    return bool(tree.kind[t] == CATEGORY and tree.n_children[t] != 2)


def branch_text(names: TreeLabels, t: int, k: int) -> str:
    """The names of the categories that lead from node t to its child k."""
    condition = branch_condition(names.tree, t, k)
    return ", ".join(condition.category_names(names)) if isinstance(condition, CategoryCondition) else ""


class TreeLabels:
    """The names of the features, categories and classes of a tree, for text and pictures.

    Attributes
    ----------
    tree : Tree
    features : list of str
    categories : list of arrays, None for a column of numbers.
    classes : for each output a list of str; None for numbers.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    >>> labels = TreeLabels(model, feature_names=["house"])
    >>> labels.features, labels.classes
    (['house'], [['no', 'yes']])
    """

    def __init__(
        self, model: Any, feature_names: Any = None, class_names: Any = None, unnamed: str = "x{}"
    ) -> None:
        tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
        if not isinstance(tree, Tree):
            if hasattr(model, "get_params"):
                check_is_fitted(model)
            many = hasattr(model, "estimators_") or hasattr(model, "trees_")
            hint = ": `tercet.inspection.member_tree` takes one out of many" if many else ""
            raise TypeError(f"A fitted decision tree is needed; {type(model).__name__} has no tree{hint}.")
        self.tree, d = tree, tree.n_features
        if feature_names is None:
            feature_names = getattr(model, "feature_names_in_", None)
        names = [unnamed.format(j) for j in range(d)] if feature_names is None else [*map(str, feature_names)]
        if len(names) != d:
            raise ValueError(f"feature_names must contain {d} elements, got {len(names)}")
        self.features = names
        categories = getattr(model, "categories_", None)
        self.categories = [None] * d if categories is None else list(categories)
        self.classes = self._classes(model, class_names)

    def _classes(self, model: Any, given: Any) -> list[list[str]] | None:
        counts = self.tree.n_classes
        if counts.max() == 1:
            return None
        known: Any = getattr(model, "classes_", None) if given is None else given
        if known is None:
            known = [list(range(n)) for n in counts]
        elif len(counts) == 1 and (given is not None or not isinstance(known, list)):
            known = [known]
        for found, n in zip(known, counts):
            if len(found) != n:
                raise ValueError(
                    "When `class_names` is an array, it should contain as many items as `decision_tree.classes_`. "
                    f"Got {len(found)} while the tree was fitted with {n} classes."
                )
        return [[str(word) for word in found] for found in known]

    def category(self, j: int, code: int) -> str:
        """The name of a category."""
        known: Sequence[Any] | None = self.categories[j]
        if known is None or code >= len(known):
            return str(code)
        word = known[code]
        return short_number(float(word)) if isinstance(word, float | np.floating) else str(word)

    def prediction(self, value: np.ndarray) -> Any:
        """The prediction of a node with this value: a class name or a number; a list for several outputs."""
        predicted: list[Any] = (
            [float(v[0]) for v in value]
            if self.classes is None
            else [words[int(v[: len(words)].argmax())] for words, v in zip(self.classes, value)]
        )
        return predicted[0] if len(predicted) == 1 else predicted
