"""IREP: incremental reduced error pruning (Fürnkranz and Widmer, 1994)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count, OpenFraction, Seed
from tercet.rules.base import Budget, ClassByClassClassifier
from tercet.rules.rule_growth import BinaryProblem, Tests, covered, error_rate, grow_rule, prune_rule


@method(
    zh="IREP 规则学习",
    task="classification",
    model="ordered list of rules: class <- conjunction of conditions, and a default class",
    strategy="FOIL gain of each condition; (p + (N - n)) / (P + N) of the rule on rows that it was not grown from",
    algorithms="sequential covering; each rule is pruned as soon as it is grown",
    texts=["watermelon notes ch. 13, sec. 13.3"],
    peers=["wittgenstein.IREP"],
)
class IREPClassifier(ClassByClassClassifier):
    """Rules grown on two thirds of the rows and pruned at once on the rest (incremental reduced error pruning).

    For each rule the rows that are left are divided at random. On the larger part conditions of the largest
    FOIL gain are added until no row of another class is covered; on the smaller part final conditions are
    removed so that (p + (N - n)) / (P + N) is the largest. The rows that the rule covers are removed, and so
    on, until a rule is wrong about more than half of the rows that it covers. Classes come from the rarest to
    the commonest, which is the default.

    Equal rows are divided in proportion to their weight by a hash of their values, so that a row of weight 2 is as
    good as having it twice. A missing value satisfies no condition.

    Parameters
    ----------
    prune_size : float, default=0.33
        The share of the rows that rules are pruned by.
    metric : {"accuracy", "precision"}, default="accuracy"
        What a rule is pruned by: (p + (N - n)) / (P + N), or (p - n) / (p + n).
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
    >>> model = IREPClassifier(random_state=0).fit(X, y)
    >>> print(model.ruleset_)
    1 ← (x3=清晰)
    0 ← True
    """

    def __init__(
        self,
        prune_size: OpenFraction = 0.33,
        *,
        metric: Literal["accuracy", "precision"] = "accuracy",
        class_order: Literal["frequency"] | list | tuple | np.ndarray = "frequency",
        max_rules: Count | None = None,
        max_rule_conds: Count | None = None,
        max_total_conds: Count | None = None,
        categorical_features: Features = "from_dtype",
        random_state: Seed = None,
    ) -> None:
        self.prune_size = prune_size
        self.metric = metric
        self.class_order = class_order
        self.max_rules = max_rules
        self.max_rule_conds = max_rule_conds
        self.max_total_conds = max_total_conds
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _rules_of_class(self, problem: BinaryProblem, budget: Budget) -> list[Tests]:
        table, rules = problem.table, list[Tests]()
        left = problem.weights.sum(axis=1) > 0
        while problem.weights[left, 0].any() and budget.left(rules):
            growing, pruning = problem.split(left)
            tests = grow_rule(table, growing, max_conds=budget.longest_after(rules))
            if not tests:
                break
            tests = prune_rule(table, tests, pruning, self.metric)
            if error_rate(table, tests, pruning, growing) > 0.5:
                break
            rules.append(tests)
            left &= ~covered(table, tests)
        return rules
