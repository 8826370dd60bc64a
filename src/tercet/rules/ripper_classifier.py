"""RIPPER: repeated incremental pruning to produce error reduction (Cohen, 1995)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count, CountOrZero, NonNegative, OpenFraction, Seed
from tercet.rules.base import Budget, ClassByClassClassifier
from tercet.rules.description_length import exception_bits, rule_bits
from tercet.rules.rule_growth import BinaryProblem, Tests, covered, error_rate, grow_rule, prune_rule


@method(
    zh="RIPPER 规则学习",
    task="classification",
    model="ordered list of rules: class <- conjunction of conditions, and a default class",
    strategy="description length of the rules and of the rows that they are wrong about",
    algorithms="IREP*, then k passes in which each rule is replaced, revised or kept",
    texts=["watermelon notes ch. 13, sec. 13.3"],
    peers=["wittgenstein.RIPPER", "weka.JRip"],
)
class RIPPERClassifier(ClassByClassClassifier):
    """Short list of rules by repeated incremental pruning to produce error reduction.

    The rules of a class are learned as in `IREPClassifier` (IREP*: pruned by (p - n) / (p + n), until the
    description length is more than 64 bits above the smallest so far). Then each of k passes takes the rules
    one after the other: a replacement is grown from nothing and a revision from the rule, both pruned by the
    error of the whole set, and the one of the three stays with which the description is the shortest; further
    rules cover what is left. In the end rules go without which the description is shorter. Classes come from
    the rarest to the commonest, which is the default.

    Equal rows are divided in proportion to their weight by a hash of their values, so that a row of weight 2 is as
    good as having it twice. A missing value satisfies no condition.

    Parameters
    ----------
    k : int, default=2
        Number of optimisation passes.
    dl_allowance : float, default=64
        Stop when the description length is so many bits above the smallest so far.
    prune_size : float, default=0.33
        The share of the rows that rules are pruned by.
    metric : {"precision", "accuracy"}, default="precision"
        What a rule is pruned by: (p - n) / (p + n), or (p + (N - n)) / (P + N).
    class_order : "frequency" or list, default="frequency"
        In which order rules of the classes are learned; the last one is the default class.
    max_rules : int, optional
        The most rules.
    max_rule_conds : int, optional
        The most conditions of a rule.
    max_total_conds : int, optional
        The most conditions of all rules together.
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Which columns are categories: by their dtype, by name or place, or none.
    random_state : int, RandomState, Generator or None, default=None
        Decides how rows are divided.

    Attributes
    ----------
    ruleset_ : RuleSet
        The rules, to be read, printed and exported.
    rule_counts_ : array of shape (n_rules, n_classes)
        Weight of the training rows that each rule decides.
    categories_ : list
        The categories of each column; None for one of numbers.
    classes_ : array of shape (n_classes,)

    Examples
    --------
    >>> from tercet.datasets import load_watermelon
    >>> X, y = load_watermelon("3.0", return_X_y=True)
    >>> model = RIPPERClassifier(random_state=0).fit(X, y)
    >>> print(model.ruleset_)
    1 ← (x3=清晰) ∧ (x6>=0.3815)
    0 ← True
    """

    def __init__(
        self,
        k: CountOrZero = 2,
        *,
        dl_allowance: NonNegative = 64,
        prune_size: OpenFraction = 0.33,
        metric: Literal["precision", "accuracy"] = "precision",
        class_order: Literal["frequency"] | list | tuple | np.ndarray = "frequency",
        max_rules: Count | None = None,
        max_rule_conds: Count | None = None,
        max_total_conds: Count | None = None,
        categorical_features: Features = "from_dtype",
        random_state: Seed = None,
    ) -> None:
        self.k = k
        self.dl_allowance = dl_allowance
        self.prune_size = prune_size
        self.metric = metric
        self.class_order = class_order
        self.max_rules = max_rules
        self.max_rule_conds = max_rule_conds
        self.max_total_conds = max_total_conds
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _rules_of_class(self, problem: BinaryProblem, budget: Budget) -> list[Tests]:
        rules = self._covering(problem, RuleCovers(problem), budget)
        for _ in range(self.k):
            if not len(rules):
                break
            self._optimised(problem, rules, budget)
            self._covering(problem, rules, budget)
        return rules.tests

    def _covering(self, problem: BinaryProblem, rules: RuleCovers, budget: Budget) -> RuleCovers:
        """IREP*: rules until positive rows are gone, or the description is too long; then needless ones go."""
        table = problem.table
        shortest = rules.bits()
        left = rules.left()
        while problem.weights[left, 0].any() and budget.left(rules.tests):
            growing, pruning = problem.split(left)
            tests = grow_rule(table, growing, max_conds=budget.longest_after(rules.tests))
            if not tests:
                break
            tests = prune_rule(table, tests, pruning, self.metric)
            if error_rate(table, tests, pruning, growing) > 0.5:
                break
            rules.append(tests)
            bits = rules.bits()
            shortest = min(shortest, bits)
            if bits > shortest + self.dl_allowance:
                rules.pop()
                break
            left &= ~rules.covers[-1]
        rules.without_needless()
        return rules

    def _optimised(self, problem: BinaryProblem, rules: RuleCovers, budget: Budget) -> None:
        """One pass over the rules: each is kept, replaced or revised, by the description length of all."""
        table = problem.table
        for i in range(len(rules)):
            growing, pruning = problem.split(rules.left(before=i))
            pruning = np.where(rules.left(but=i)[:, None], pruning, 0.0)
            others = [tests for j, tests in enumerate(rules.tests) if j != i]
            longest = budget.longest_after(others)
            bits, kept = rules.bits(), rules[i]
            for start in ((), kept[0]):
                tests = grow_rule(table, growing, start, longest)
                tests = prune_rule(table, tests, pruning, "accuracy") if tests else tests
                if not tests or tests == kept[0]:
                    continue
                before = rules[i]
                rules[i] = tests, covered(table, tests)
                variant = rules.bits()
                if variant < bits - 1e-9:
                    bits = variant
                else:
                    rules[i] = before


class RuleCovers:
    """Rules of one class in the making, with the rows that each covers and their description length."""

    def __init__(self, problem: BinaryProblem) -> None:
        self.problem = problem
        self.tests: list[Tests] = []
        self.covers: list[np.ndarray] = []
        self.n_possible = problem.table.n_conditions
        self.totals = problem.weights.sum(axis=0)
        self.there = problem.weights.sum(axis=1) > 0

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, i: int) -> tuple[Tests, np.ndarray]:
        return self.tests[i], self.covers[i]

    def __setitem__(self, i: int, rule: tuple[Tests, np.ndarray]) -> None:
        self.tests[i], self.covers[i] = rule

    def append(self, tests: Tests) -> None:
        self.tests.append(tests)
        self.covers.append(covered(self.problem.table, tests))

    def pop(self, i: int = -1) -> None:
        self.tests.pop(i)
        self.covers.pop(i)

    def left(self, before: int | None = None, but: int = -1) -> np.ndarray:
        """Rows of this problem that no rule covers; none of the first so many, or none but one."""
        left = self.there.copy()
        for j, covers in enumerate(self.covers[:before]):
            if j != but:
                left &= ~covers
        return left

    def bits(self) -> float:
        """Description length of the rules and of the rows that they are wrong about."""
        missed = self.left().astype(np.float64) @ self.problem.weights
        hit = self.totals - missed
        theory = sum(rule_bits(len(tests), self.n_possible) for tests in self.tests)
        return theory + exception_bits(float(hit.sum()), float(missed.sum()), float(hit[1]), float(missed[0]))

    def without_needless(self) -> None:
        """Remove rules, the last first, without which the description is shorter."""
        bits = self.bits()
        for i in reversed(range(len(self))):
            rule = self[i]
            self.pop(i)
            fewer = self.bits()
            if fewer < bits - 1e-9:
                bits = fewer
            else:
                self.tests.insert(i, rule[0])
                self.covers.insert(i, rule[1])
