"""The base of the rule learners: from rules on ranks to fitted arrays, predictions and the readable rule set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tercet.core.columns import MixedColumns
from tercet.core.estimator import Classifier, check_is_fitted, generator
from tercet.core.fitted_checks import Floats, Indices, Sizes
from tercet.core.kernel import kernel
from tercet.core.rows import kernel_form, read_only
from tercet.rules._engine.ranked_table import AT_MOST, EQUAL, RankedTable, row_hashes
from tercet.rules.rule import COMPARISONS, Condition, Rule
from tercet.rules.rule_growth import BinaryProblem, Tests, covered, simplified
from tercet.rules.rule_set import RuleSet


@dataclass
class TrainingRows:
    """Ranked rows of positive weight, their classes and weights."""

    table: RankedTable
    y: np.ndarray
    weight: np.ndarray
    n_classes: int

    def totals(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Weight of each class, of all rows or of some."""
        if rows is None:
            return np.bincount(self.y, self.weight, self.n_classes)
        return np.bincount(self.y[rows], self.weight[rows], self.n_classes)


LearnedRules = Sequence[tuple[Tests, int]]  # conditions and class of each


class RuleClassifier(MixedColumns, Classifier):
    """A classifier of rules; a subclass learns them in `_fit` and hands them to `_assembled`.

    In an ordered list the first rule that covers a row decides; in a set (`_ordered` is false) the class
    distributions of all rules that cover it are added up. The default rule decides the rest.
    """

    relative_weights: ClassVar[bool] = False
    rule_starts_: np.ndarray
    rule_classes_: np.ndarray
    rule_counts_: np.ndarray
    condition_features_: np.ndarray
    condition_comparisons_: np.ndarray
    condition_values_: np.ndarray
    default_counts_: np.ndarray
    default_class_: int
    fitted_shapes = {
        "rule_classes_": Indices("rules*", below="classes"),
        "rule_counts_": Floats("rules* classes", finite=True, low=0.0),
        "rule_starts_": "rules+1",
        "condition_features_": Indices("conditions*", below="features"),
        "condition_comparisons_": Indices("conditions*", below="3"),
        "condition_values_": Floats("conditions*", finite=True),
        "default_counts_": Floats("classes", finite=True, low=0.0),
        "default_class_": Indices("", below="classes"),
    }

    def _check_fitted(self, sizes: Sizes) -> None:
        if "rule_starts_" not in vars(self):
            return
        starts = self.rule_starts_
        good = starts.dtype.kind == "i" and starts[0] == 0 and starts[-1] == len(self.condition_features_)
        if not good or (np.diff(starts) < 0).any():
            raise ValueError(
                f"{type(self).__name__}: rule_starts_ must rise from 0 to the number of conditions, "
                f"{len(self.condition_features_)}."
            )
        for feature, comparison, value in self._conditions():
            known = self.categories_[feature]
            codes = known is not None and (comparison != EQUAL or not 0 <= value < len(known))
            if codes or (known is None and comparison == EQUAL):
                raise ValueError(
                    f"{type(self).__name__}: a condition on column {feature} does not fit its categories."
                )

    @property
    def _ordered(self) -> bool:
        return True

    def _start(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> TrainingRows:
        """Rows of positive weight as ranks."""
        X = self._forget_weightless(X, sample_weight)
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        if not weight.all():
            X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        y = np.ascontiguousarray(y, dtype=np.int64)
        return TrainingRows(RankedTable.of(X, self.categories_), y, weight, len(self.classes_))

    def _assembled(self, rows: TrainingRows, rules: LearnedRules) -> dict[str, Any]:
        """Fitted attributes of rules that were learned.

        A rule of a list that is the commonest class of the rows that reach it stays; others decide nothing, or are
        wrong about most of what they decide.
        """
        left = np.ones(len(rows.y), dtype=bool)
        uncovered = left.copy()
        kept: list[tuple[Tests, int, np.ndarray]] = []
        for tests, label in rules:
            covers = covered(rows.table, tests)
            counts = rows.totals(covers & left)
            if counts[label] > 0 and (not self._ordered or counts.argmax() == label):
                kept.append((simplified(tests), label, counts))
                uncovered &= ~covers
                if self._ordered:
                    left &= ~covers
        default = rows.totals(uncovered)
        default = default if default.any() else rows.totals()
        every = [test for one in kept for test in one[0]]
        return {
            "rule_starts_": np.cumsum([0, *(len(one[0]) for one in kept)], dtype=np.int64),
            "rule_classes_": np.array([one[1] for one in kept], dtype=np.int64),
            "rule_counts_": np.array([one[2] for one in kept]).reshape(-1, rows.n_classes),
            "condition_features_": np.array([test.feature for test in every], dtype=np.int64),
            "condition_comparisons_": np.array([test.comparison for test in every], dtype=np.int64),
            "condition_values_": np.array([test.value for test in every], dtype=np.float64),
            "default_counts_": default,
            "default_class_": int(default.argmax()),
        }

    def _conditions(self) -> list[tuple[int, int, float]]:
        """Column, comparison and value of all conditions of all rules."""
        parts = (self.condition_features_, self.condition_comparisons_, self.condition_values_)
        return list(zip(*(part.tolist() for part in parts)))

    @property
    def ruleset_(self) -> RuleSet:
        """The rules as readable objects (a RuleSet)."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        labels = self.classes_.tolist()
        conditions = []
        for feature, comparison, value in self._conditions():
            known = self.categories_[feature]
            label = value if known is None else known[int(value)].item()
            name = feature if names is None else str(names[feature])
            conditions.append(Condition(name, COMPARISONS[comparison], label))
        starts = self.rule_starts_.tolist()
        rules = [
            Rule(tuple(conditions[start:end]), labels[head], dict(zip(labels, counts)))
            for start, end, head, counts in zip(
                starts, starts[1:], self.rule_classes_.tolist(), self.rule_counts_.tolist()
            )
        ]
        default = Rule((), labels[self.default_class_], dict(zip(labels, self.default_counts_.tolist())))
        how = "order" if self._ordered else "distribution"
        return RuleSet(rules, default, resolution=how, feature_names=names, classes=labels)

    def _class_counts(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Class weights that decide each row, and its class."""
        check_is_fitted(self)
        rows = kernel_form(self._check(X, reset=False))
        starts, features, comparisons, values = (
            read_only(np.ascontiguousarray(part))
            for part in (
                self.rule_starts_,
                self.condition_features_,
                self.condition_comparisons_,
                self.condition_values_,
            )
        )
        if self._ordered:
            first = first_rules(rows, starts, features, comparisons, values)
            counts = np.vstack([self.rule_counts_, self.default_counts_])[first]
            return counts, np.append(self.rule_classes_, self.default_class_)[first]
        counts = kernel_form(self.rule_counts_)
        sums, any_rule = summed_rules(rows, starts, features, comparisons, values, counts)
        sums[~any_rule] = self.default_counts_
        best = np.where(any_rule, sums.argmax(axis=1), self.default_class_)
        return sums, best

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        best = self._class_counts(X)[1]
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Laplace's estimate (n_c + 1) / (n + K) for each row and class.

        n_c are the weights of the training rows under the rule that decides; in a set, under all rules that cover
        the row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        counts = self._class_counts(X)[0]
        return (counts + 1) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])


class ClassByClassClassifier(RuleClassifier):
    """Rules class by class, the rarest first, each class against all rows that are left.

    A subclass writes `_rules_of_class(problem, budget)`; `prune_size` and `random_state` are of those that prune.
    """

    class_order: Any
    max_rules: Any
    max_rule_conds: Any
    max_total_conds: Any = None
    prune_size: Any = 0.33
    random_state: Any = 0

    def _rules_of_class(self, problem: BinaryProblem, budget: Budget) -> list[Tests]:
        raise NotImplementedError(f"{type(self).__name__} has no _rules_of_class(problem, budget).")

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        rows = self._start(X, y, sample_weight)
        order = class_order(self, rows.totals())
        hashes, rng = row_hashes(rows.table, rows.y), generator(self.random_state)
        left = np.ones(len(rows.y), dtype=bool)
        rules: list[tuple[Tests, int]] = []
        for step in self.steps(len(order) - 1, name="class", unpack=lambda r: self._assembled(rows, r)):
            label = order[step.index]
            weight = np.where(left, rows.weight, 0.0)
            weights = np.column_stack([weight * (rows.y == label), weight * (rows.y != label)])
            problem = BinaryProblem(rows.table, weights, hashes, rows.y, float(self.prune_size), rng)
            for tests in self._rules_of_class(problem, Budget.of(self, rules)):
                rules.append((tests, label))
                left &= ~covered(rows.table, tests)
            step.report(tuple(rules), rules=len(rules), conditions=sum(len(tests) for tests, _ in rules))
        self.__dict__.update(self._assembled(rows, rules))


@dataclass
class Budget:
    """How many more rules and conditions a model may get."""

    rules: float
    conditions: float
    longest: int | None

    @classmethod
    def of(cls, model: Any, rules: LearnedRules) -> Budget:
        most = np.inf if model.max_rules is None else model.max_rules - len(rules)
        used = sum(len(tests) for tests, _ in rules)
        total = np.inf if model.max_total_conds is None else model.max_total_conds - used
        return cls(most, total, model.max_rule_conds)

    def left(self, rules: Sequence[Tests]) -> bool:
        """Whether there may be one more rule."""
        return len(rules) < self.rules and sum(map(len, rules)) < self.conditions

    def longest_after(self, rules: Sequence[Tests]) -> int | None:
        """How many conditions the next rule may have."""
        rest = self.conditions - sum(map(len, rules))
        if np.isinf(rest):
            return self.longest
        return int(rest) if self.longest is None else min(int(rest), self.longest)


def class_order(model: Any, totals: np.ndarray) -> list[int]:
    """Classes in the order in which their rules are learned; the last has none. The rarest first, or as given."""
    asked = model.class_order
    if isinstance(asked, str):
        return np.argsort(totals, kind="stable").tolist()
    known, given = model.classes_.tolist(), np.asarray(asked).tolist()
    if sorted(map(repr, given)) != sorted(map(repr, known)):
        raise ValueError(
            f"{type(model).__name__}: class_order must be 'frequency' or give all classes {known[:12]}, each once; "
            f"got {asked!r}."
        )
    return [known.index(label) for label in given]


@kernel
def first_rules(X, starts, features, comparisons, values):
    """The first rule that covers each row; the number of rules where none does."""
    out = np.empty(X.shape[0], dtype=np.int64)
    n_rules = starts.size - 1
    for i in range(X.shape[0]):
        out[i] = n_rules
        for r in range(n_rules):
            holds = True
            for k in range(starts[r], starts[r + 1]):
                x, v = X[i, features[k]], values[k]
                if comparisons[k] == EQUAL:
                    holds = x == v
                elif comparisons[k] == AT_MOST:
                    holds = x <= v
                else:
                    holds = x >= v
                if not holds:
                    break
            if holds:
                out[i] = r
                break
    return out


@kernel
def summed_rules(X, starts, features, comparisons, values, counts):
    """The class weights of all rules that cover a row, added up, and whether there are any."""
    sums = np.zeros((X.shape[0], counts.shape[1]))
    found = np.zeros(X.shape[0], dtype=np.bool_)
    for i in range(X.shape[0]):
        for r in range(starts.size - 1):
            holds = True
            for k in range(starts[r], starts[r + 1]):
                x, v = X[i, features[k]], values[k]
                if comparisons[k] == EQUAL:
                    holds = x == v
                elif comparisons[k] == AT_MOST:
                    holds = x <= v
                else:
                    holds = x >= v
                if not holds:
                    break
            if holds:
                found[i] = True
                for c in range(counts.shape[1]):
                    sums[i, c] += counts[r, c]
    return sums, found
