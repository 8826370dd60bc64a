"""What a branch of a tree asks of a row, and how to say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tercet.tree.structure import Tree
from tercet.tree.walks import CATEGORY, LINEAR, SHARED

Digits = Callable[[float], str]


def plain(x: float) -> str:
    """A number in six digits at most."""
    return f"{x:.6g}"


@dataclass(frozen=True)
class Between:
    """low < x[feature] <= high. Of a row without the value, the part `missing` meets it."""

    feature: int
    low: float
    high: float
    missing: float

    def degrees(self, X: np.ndarray) -> np.ndarray:
        """How far each row meets the condition: 0 or 1, or between where a missing value is shared."""
        x = X[:, self.feature]
        return np.where(np.isnan(x), self.missing, (x > self.low) & (x <= self.high))

    def both(self, other: Between) -> Between:
        """The one condition that says what two say."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Between(self.feature, low, high, self.missing * other.missing)

    def parts(self) -> list[Between]:
        """The two ends, as conditions of their own."""
        ends = [(self.low, np.inf), (-np.inf, self.high)]
        found = [Between(self.feature, a, b, self.missing) for a, b in ends if a > -np.inf or b < np.inf]
        return found or [self]

    def said(self, names: Names, digits: Digits = plain) -> str:
        name = names.features[self.feature]
        if self.low == -np.inf:
            return f"{name} <= {digits(self.high)}"
        if self.high == np.inf:
            return f"{name} > {digits(self.low)}"
        return f"{digits(self.low)} < {name} <= {digits(self.high)}"


@dataclass(frozen=True)
class Among:
    """x[feature] is one of the categories `codes`; with `strange`, also one that the node has never seen."""

    feature: int
    codes: frozenset[int]
    missing: float
    strange: bool = False
    count: int = 0  # codes from here on are strange

    def degrees(self, X: np.ndarray) -> np.ndarray:
        x = X[:, self.feature]
        known = (x >= 0) & (x < self.count)
        table = np.zeros(self.count + 1)
        table[list(self.codes)] = 1.0
        table[-1] = float(self.strange)
        place = np.where(known, np.nan_to_num(x), self.count).astype(np.int64)
        return np.where(np.isnan(x), self.missing, table[place])

    def both(self, other: Among) -> Among:
        missing, strange = self.missing * other.missing, self.strange and other.strange
        count = max(self.count, other.count)
        return Among(self.feature, self.codes & other.codes, missing, strange, count)

    def parts(self) -> list[Among]:
        return [self]

    def words(self, names: Names) -> list[str]:
        """The categories' names."""
        return [names.category(self.feature, code) for code in sorted(self.codes)]

    def said(self, names: Names, digits: Digits = plain) -> str:
        words = self.words(names)
        name = names.features[self.feature]
        if self.strange and not words:
            return f"{name} = another value"
        return f"{name} = {words[0]}" if len(words) == 1 else f"{name} in {{{', '.join(words)}}}"


@dataclass(frozen=True)
class Weighted:
    """coef · x <= threshold, or above it."""

    coef: tuple[float, ...]
    threshold: float
    above: bool
    missing: float

    def degrees(self, X: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(self.coef)
        total = X[:, used] @ np.asarray(self.coef)[used]
        return np.where(np.isnan(total), self.missing, (total > self.threshold) == self.above)

    def parts(self) -> list[Weighted]:
        return [self]

    def said(self, names: Names, digits: Digits = plain) -> str:
        terms = ""
        for j in np.flatnonzero(self.coef):
            sign = ("-" if not terms else " - ") if self.coef[j] < 0 else " + " if terms else ""
            size = "" if abs(self.coef[j]) == 1 else f"{digits(abs(self.coef[j]))} "
            terms += f"{sign}{size}{names.features[j]}"
        return f"{terms or 0} {'>' if self.above else '<='} {digits(self.threshold)}"


Condition = Between | Among | Weighted


def branch(tree: Tree, t: int, k: int) -> Condition:
    """What node t asks of the rows that go to its child k."""
    child, feature, threshold = int(tree.child[t]) + k, int(tree.feature[t]), float(tree.threshold[t])
    missing = float(tree.share[child]) if tree.missing[t] == SHARED else float(tree.missing[t] == k)
    if tree.kind[t] == CATEGORY:
        slots = slots_of(tree, t)
        codes = frozenset(int(code) for code in np.flatnonzero(slots == k))
        return Among(feature, codes, missing, count=len(slots))
    if tree.kind[t] == LINEAR:
        return Weighted(tuple(tree.coef[tree.slot_start[t]].tolist()), threshold, bool(k), missing)
    return Between(feature, *((-np.inf, threshold) if k == 0 else (threshold, np.inf)), missing)


def slots_of(tree: Tree, t: int) -> np.ndarray:
    """The child of each category at a node that tests categories."""
    return tree.slots[tree.slot_start[t] : tree.slot_start[t] + tree.slot_count[t]]


def has_many_branches(tree: Tree, t: int) -> bool:
    """Whether a test has more answers than yes and no."""
    return bool(tree.kind[t] == CATEGORY and tree.n_children[t] != 2)


def edge_words(names: Names, t: int, k: int) -> str:
    """The categories that lead from node t to its child k."""
    asked = branch(names.tree, t, k)
    return ", ".join(asked.words(names)) if isinstance(asked, Among) else ""


class Names:
    """What the numbers in a tree stand for.

    Attributes
    ----------
    tree : Tree
    features : list of str
    categories : list of arrays, None for a column of numbers.
    classes : for each output a list of str; None for numbers.
    """

    def __init__(
        self, model: Any, feature_names: Any = None, class_names: Any = None, unnamed: str = "x{}"
    ) -> None:
        tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
        if not isinstance(tree, Tree):
            if hasattr(model, "get_params"):
                check_is_fitted(model)
            raise TypeError(f"A fitted decision tree is needed; {type(model).__name__} has no tree.")
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
                raise ValueError(f"class_names has {len(found)} names; the tree was fitted with {n} classes.")
        return [[str(word) for word in found] for found in known]

    def category(self, j: int, code: int) -> str:
        """What a category is called."""
        known: Sequence[Any] | None = self.categories[j]
        if known is None or code >= len(known):
            return str(code)
        word = known[code]
        return plain(float(word)) if isinstance(word, float | np.floating) else str(word)

    def answer(self, value: np.ndarray) -> Any:
        """What a node with this value says: a class's name or a number; a list of them for several outputs."""
        said: list[Any] = (
            [float(v[0]) for v in value]
            if self.classes is None
            else [words[int(v[: len(words)].argmax())] for words, v in zip(self.classes, value)]
        )
        return said[0] if len(said) == 1 else said
