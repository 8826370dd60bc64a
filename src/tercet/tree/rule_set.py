"""If-then rules (if-then 规则) of a decision tree, one for each path from the root to a leaf."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.tree.conditions import (
    CategoryCondition,
    Condition,
    TreeLabels,
    branch_condition,
    category_slots,
    short_number,
)
from tercet.tree.pruning import pessimistic_errors
from tercet.tree.tree import CATEGORY, LEAF, LINEAR, Tree


@method(
    zh="if-then 规则",
    task="rules",
    model="if A and B and ... then y: one rule for each path from the root to a leaf",
    strategy="the tree's; simplified: the pessimistic error of each rule",
    algorithms="conditions on one feature merged; simplified: greedy removal of conditions, as C4.5rules",
    texts=["Li ch. 5, 5.1.2", "Machine Learning in Depth ch. 8, 8.1.1"],
)
def extract_rules(
    model: Any, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None
) -> RuleSet:
    """One if-then rule for each path from the root of a tree to a leaf.

    Every row meets the conditions of exactly one rule. (Where the tree divides a row with a missing value among
    several branches, it meets several rules in part, and the parts add up to one.)

    Parameters
    ----------
    model : fitted decision tree, or its Tree
        Of any kind: thresholds, categories, linear tests; classes or numbers.
    feature_names, class_names : sequences of str, optional
        What to call columns and classes; by default as they were called at fit.

    Returns
    -------
    rules : RuleSet

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> X, y = [[0, 1], [0, 3], [1, 1], [1, 3]], ["no", "yes", "yes", "yes"]
    >>> print(extract_rules(DecisionTreeClassifier().fit(X, y), ["house", "income"]))
    if house <= 0.5 and income <= 2 then no (1 row, 100 %)
    if house <= 0.5 and income > 2 then yes (1 row, 100 %)
    if house > 0.5 then yes (2 rows, 100 %)
    """
    names = TreeLabels(model, feature_names, class_names)
    tree = names.tree
    known = np.zeros(tree.n_features, dtype=np.int64)
    np.maximum.at(known, np.maximum(tree.feature, 0), np.where(tree.kind == CATEGORY, tree.slot_count, 0))
    rules: list[Rule] = []
    unseen: list[Rule] = []
    stack: list[tuple[int, dict[int, Any]]] = [(0, {})]
    while stack:
        t, path = stack.pop()
        value = tree.value[t]
        if tree.kind[t] == LEAF:
            count, weight = int(tree.n_node_samples[t]), float(tree.weighted_n_node_samples[t])
            rules.append(Rule(tuple(path.values()), value, count, weight))
            continue
        if tree.kind[t] == CATEGORY:  # a value that the node has not seen stops here
            slots, j = category_slots(tree, t), int(tree.feature[t])
            codes = {*np.flatnonzero(slots < 0).tolist(), *range(len(slots), int(known[j]))}
            rest = _joined(
                path, tree, t, CategoryCondition(j, frozenset(codes), 0.0, unseen=True, count=int(known[j]))
            )
            stop, left = Rule(tuple(rest.values()), value, 0, 0.0), rest[j]
            if left.codes:
                rules.append(stop)
            elif left.unseen:
                unseen.append(stop)
        for k in reversed(range(int(tree.n_children[t]))):
            stack.append((int(tree.child[t]) + k, _joined(path, tree, t, branch_condition(tree, t, k))))
    return RuleSet(rules, names, model, unseen)


def _joined(path: dict[int, Any], tree: Tree, t: int, more: Condition) -> dict[int, Any]:
    """The conditions on a path and one more; those on one feature become one."""
    key = -1 - t if tree.kind[t] == LINEAR else int(tree.feature[t])
    return {**path, key: path[key].conjunction(more) if key in path else more}


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, then `value`.

    Attributes
    ----------
    conditions : tuple
        None of them: the rule holds for every row.
    value : array of shape (n_outputs, n_values)
        Proportions of the classes, or means.
    rows, weight : int, float
        How many rows it was learned from, and their weight.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier, extract_rules
    >>> first = extract_rules(DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"]))[0]
    >>> first.rows, first.confidence, first.degrees(np.array([[0.5], [2.0]])).tolist()
    (2, 1.0, [1.0, 0.0])
    """

    conditions: tuple[Condition, ...]
    value: np.ndarray
    rows: int
    weight: float

    def degrees(self, X: np.ndarray) -> np.ndarray:
        """The degree to which each row satisfies all conditions: 1 or 0, or between where a missing value is
        shared."""
        degree = np.ones(len(X))
        for condition in self.conditions:
            degree *= condition.degrees(X)
        return degree

    @property
    def confidence(self) -> float:
        """The part of its rows that the rule is right about (the mean of several outputs)."""
        return float(self.value.max(axis=1).mean())


class RuleSet(Sequence):
    """The rules of a tree, or an ordered list of simplified ones, in which the first that holds decides.

    Attributes
    ----------
    rules : list of Rule
    default : Rule or None
        What holds where no rule does; only an ordered list has it.

    Examples
    --------
    >>> from tercet.tree import DecisionTreeClassifier
    >>> rules = extract_rules(DecisionTreeClassifier().fit([[0], [1], [2]], ["a", "a", "b"]))
    >>> rules[0].rows, rules.predict([[0], [5]]).tolist()
    (2, ['a', 'b'])
    >>> rules.to_frame()["if"].tolist()
    ['x0 <= 1.5', 'x0 > 1.5']
    """

    def __init__(
        self,
        rules: list[Rule],
        names: TreeLabels,
        model: Any,
        unseen: Sequence[Rule] = (),
        default: Rule | None = None,
    ) -> None:
        self.rules, self.default = rules, default
        self._names, self._model, self._unseen = names, model, list(unseen)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, k: Any) -> Any:
        return self.rules[k]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __str__(self) -> str:
        return "\n".join(
            self._line(rule) for rule in [*self.rules, *([self.default] if self.default else [])]
        )

    def __repr__(self) -> str:
        return f"<RuleSet of {len(self)} rules>"

    def degrees(self, X: Any) -> np.ndarray:
        """The degree to which each row satisfies each rule: an array of shape (n_samples, n_rules)."""
        X = self._encoded(X)
        return np.column_stack([rule.degrees(X) for rule in self.rules])

    def predict_value(self, X: Any) -> np.ndarray:
        """The values of the rules: proportions of classes or means, shape (n_samples, n_outputs, n_values)."""
        X = self._encoded(X)
        out = np.zeros((len(X), *self._names.tree.value.shape[1:]))
        if self.default is None:
            for rule in [*self.rules, *self._unseen]:
                out += rule.degrees(X)[:, None, None] * rule.value
            return out
        left = np.arange(len(X))
        for rule in self.rules:
            holds = rule.degrees(X[left]) >= 1
            out[left[holds]] = rule.value
            left = left[~holds]
        out[left] = self.default.value
        return out

    def predict(self, X: Any) -> np.ndarray:
        """The class (of a bare Tree: its index) or the number that the rules give for each row."""
        value = self.predict_value(X)
        if self._names.classes is None:
            predicted = value[:, :, 0]
        else:
            index = [value[:, o, :n].argmax(axis=1) for o, n in enumerate(self._names.tree.n_classes)]
            predicted = np.column_stack([known[i] for known, i in zip(self._labels(), index)])
        return predicted[:, 0] if predicted.shape[1] == 1 else predicted

    def simplify(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, confidence: float = 0.25
    ) -> RuleSet:
        """Shorter rules, in order, as C4.5rules makes them: the first that holds decides, else the default.

        From each rule conditions are removed, one at a time, as long as its pessimistic error on the rows (the
        upper limit of `tercet.tree.pessimistic_pruning`) does not rise. Of rules that have become equal one stays,
        of rules that are mistaken about most of their rows none. Classes come in the order of how few rows of other
        classes their rules catch, the rules of a class by their pessimistic error; the default is the commonest
        class of the rows that no rule covers.

        Parameters
        ----------
        X, y : arrays
            The rows that the tree was grown from and their classes.
        sample_weight : array of shape (n_samples,), optional
            Their weights.
        confidence : float, default=0.25
            Between 0 and 1; the smaller, the more general the rules become.

        Returns
        -------
        rules : RuleSet

        Examples
        --------
        >>> from tercet.tree import DecisionTreeClassifier
        >>> X, y = [[0, 1], [0, 3], [1, 1], [1, 3]], ["no", "yes", "yes", "yes"]
        >>> rules = extract_rules(DecisionTreeClassifier().fit(X, y), ["house", "income"])
        >>> print(rules.simplify(X, y))
        if house <= 0.5 and income <= 2 then no (1 row, 100 %)
        if income > 2 then yes (2 rows, 100 %)
        if house > 0.5 then yes (2 rows, 100 %)
        otherwise yes (4 rows, 75 %)
        """
        if self._names.classes is None or len(self._names.classes) != 1:
            raise ValueError(
                "simplify counts mistakes: it needs the rules of a tree with one output of classes."
            )
        if not 0 < confidence < 1:
            raise ValueError(f"confidence must be between 0 and 1, got {confidence!r}.")
        X, target = self._encoded(X), self._indices(np.asarray(y))
        given = check_weight(sample_weight, X)
        w = np.ones(len(X)) if given is None else given
        one_hot = np.eye(len(self._names.classes[0]))[target] * w[:, None]
        found: dict[Any, tuple[float, int, np.ndarray, Rule]] = {}
        for rule in self.rules:
            if not w[rule.degrees(X) >= 1].any():  # no row speaks for it
                continue
            label = int(rule.value[0].argmax())
            conditions = _shortened(rule, X, w, target != label, confidence)
            key = label, frozenset(conditions)
            holds = Rule(conditions, rule.value, 0, 0.0).degrees(X) >= 1
            short = _rule(conditions, one_hot, holds)
            if key not in found and short.value[0].argmax() == label:
                error = pessimistic_errors(w[holds & (target != label)].sum(), short.weight, confidence)
                found[key] = float(error) / short.weight, label, holds, short
        caught = {}
        for label in {label for label, _ in found}:
            reach = np.any([holds for _, k, holds, _ in found.values() if k == label], axis=0)
            caught[label] = w[reach & (target != label)].sum()
        ordered = sorted(found.values(), key=lambda one: (caught[one[1]], one[1], one[0], -one[3].weight))
        bare = ~np.any([holds for _, _, holds, _ in ordered], axis=0) & (w > 0)
        default = _rule((), one_hot, bare if bare.any() else w > 0)
        return RuleSet([one[3] for one in ordered], self._names, self._model, default=default)

    def to_list(self) -> list[dict[str, Any]]:
        """The rules as dictionaries: "if" (texts of the conditions), "then", "rows", "weight", "confidence" and
        "distribution"; the last two for classes only.
        """
        return [self._entry(rule) for rule in [*self.rules, *([self.default] if self.default else [])]]

    def to_frame(self) -> Any:
        """The rules as a pandas DataFrame, one in each row."""
        import pandas as pd

        rows = [{**entry, "if": " and ".join(entry["if"])} for entry in self.to_list()]
        return pd.DataFrame([{k: v for k, v in row.items() if k != "distribution"} for row in rows])

    def _entry(self, rule: Rule) -> dict[str, Any]:
        texts = [condition.text(self._names) for condition in rule.conditions]
        entry: dict[str, Any] = {"if": texts, "then": self._names.prediction(rule.value), "rows": rule.rows}
        entry["weight"] = rule.weight
        if self._names.classes is not None:
            parts = [dict(zip(words, v.tolist())) for words, v in zip(self._names.classes, rule.value)]
            entry |= {"confidence": rule.confidence, "distribution": parts if len(parts) > 1 else parts[0]}
        return entry

    def _line(self, rule: Rule) -> str:
        entry = self._entry(rule)
        answers = entry["then"] if isinstance(entry["then"], list) else [entry["then"]]
        then = ", ".join(short_number(a) if isinstance(a, float) else a for a in answers)
        start = "otherwise" if rule is self.default and self.rules else "always"
        if entry["if"]:
            start = f"if {' and '.join(entry['if'])} then"
        sure = f", {100 * rule.confidence:.3g} %" if "confidence" in entry else ""
        return f"{start} {then} ({rule.rows} {'row' if rule.rows == 1 else 'rows'}{sure})"

    def _encoded(self, X: Any) -> np.ndarray:
        """Rows as the tree has them: categories as their codes."""
        checked = X if isinstance(self._model, Tree) else self._model._check(X, reset=False)
        checked = checked.toarray() if hasattr(checked, "toarray") else checked
        return np.asarray(checked, dtype=np.float64)

    def _labels(self) -> list[np.ndarray]:
        counts = self._names.tree.n_classes
        known = getattr(self._model, "classes_", None)
        if known is None:
            return [np.arange(n) for n in counts]
        return list(known) if isinstance(known, list) else [known]

    def _indices(self, y: np.ndarray) -> np.ndarray:
        known = self._labels()[0]
        place = np.minimum(np.searchsorted(known, y), len(known) - 1)
        unseen = y[known[place] != y].tolist()
        if unseen:
            raise ValueError(f"y holds {unseen[0]!r}, which is not a class of the tree.")
        return place


def _rule(conditions: tuple[Condition, ...], one_hot: np.ndarray, holds: np.ndarray) -> Rule:
    """A rule with the class proportions of the rows that it covers."""
    counts = one_hot[holds].sum(axis=0)
    rows = int(one_hot[holds].any(axis=1).sum())
    return Rule(conditions, counts[None] / counts.sum(), rows, float(counts.sum()))


def _shortened(rule: Rule, X: np.ndarray, w: np.ndarray, wrong: np.ndarray, confidence: float) -> tuple:
    """The conditions that are left when those are gone whose absence does not raise the pessimistic error."""
    conditions: list[Any] = [part for condition in rule.conditions for part in condition.parts()]
    broken = np.array([condition.degrees(X) < 1 for condition in conditions]).reshape(len(conditions), len(X))
    count = broken.sum(axis=0)

    def rate(holds: np.ndarray) -> float:
        mass = w[holds].sum()
        return float(pessimistic_errors(w[holds & wrong].sum(), mass, confidence)) / mass if mass else 1.0

    now = rate(count == 0)
    while conditions:
        without = [rate(count == line) for line in broken.astype(np.int64)]
        least = int(np.argmin(without))
        if without[least] > now + 1e-12:
            break
        now = without[least]
        count = count - broken[least]
        broken = np.delete(broken, least, axis=0)
        del conditions[least]
    joined: dict[Any, Any] = {}
    for condition in conditions:
        key = getattr(condition, "feature", condition)
        joined[key] = joined[key].conjunction(condition) if key in joined else condition
    return tuple(joined.values())
