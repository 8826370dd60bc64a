"""REP: reduced error pruning of a whole rule set."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, OpenFraction, Seed
from tercet.core.rows import read_only
from tercet.rules._engine.ranked_table import RankedTable
from tercet.rules._engine.scans import TIE, holds
from tercet.rules.base import Budget, ClassByClassClassifier
from tercet.rules.rule_growth import BinaryProblem, Tests, covered, grow_rule


@method(
    zh="REP 规则学习（减错剪枝）",
    task="classification",
    model="ordered list of rules: class <- conjunction of conditions, and a default class",
    strategy="FOIL gain of each condition; accuracy of the whole set on rows that it was not grown from",
    algorithms="sequential covering without pruning, then the best deletion of a condition or a rule, one by one",
    texts=["watermelon notes ch. 13, sec. 13.3"],
)
class REPClassifier(ClassByClassClassifier):
    """Rules that are grown until they make no mistake, and then pruned together (reduced error pruning).

    The rows are divided once. On the larger part rules are learned that cover all rows of the class and no
    others; on the smaller part the deletion of a condition or of a rule that leaves the fewest errors is
    carried out, as long as there are fewer errors without the rule, or not more without the condition. Classes
    come from the rarest to the commonest, which is the default.

    Equal rows are divided in proportion to their weight by a hash of their values, so that a row of weight 2 is as
    good as having it twice. A missing value satisfies no condition.

    Parameters
    ----------
    prune_size : float, default=0.33
        The share of the rows that rules are pruned by.
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
    >>> model = REPClassifier(random_state=0).fit(X, y)
    >>> print(model.ruleset_)
    1 ← (x3=清晰)
    0 ← True
    """

    def __init__(
        self,
        prune_size: OpenFraction = 0.33,
        *,
        class_order: Literal["frequency"] | list | tuple | np.ndarray = "frequency",
        max_rules: Count | None = None,
        max_rule_conds: Count | None = None,
        max_total_conds: Count | None = None,
        categorical_features: Features = "from_dtype",
        random_state: Seed = None,
    ) -> None:
        self.prune_size = prune_size
        self.class_order = class_order
        self.max_rules = max_rules
        self.max_rule_conds = max_rule_conds
        self.max_total_conds = max_total_conds
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _rules_of_class(self, problem: BinaryProblem, budget: Budget) -> list[Tests]:
        growing, pruning = problem.split(problem.weights.sum(axis=1) > 0)
        table, rules = problem.table, list[Tests]()
        while growing[:, 0].any() and budget.left(rules):
            tests = grow_rule(table, growing, max_conds=budget.longest_after(rules))
            if not tests:
                break
            rules.append(tests)
            growing = np.where(covered(table, tests)[:, None], 0.0, growing)
        return prune_rules(table, rules, pruning)


def prune_rules(table: RankedTable, rules: list[Tests], weights: np.ndarray) -> list[Tests]:
    """Delete conditions and rules, the best deletion first.

    A rule goes if the errors on these rows get fewer, a condition if they do not get more.
    """
    rows = np.flatnonzero(weights.any(axis=1))
    if not rows.size or not rules:
        return rules
    weights, rules = np.ascontiguousarray(weights[rows]), list(rules)
    longest = max(map(len, rules))
    violated = np.zeros((len(rules), rows.size), dtype=np.int32)  # how many conditions a row violates
    place = np.zeros((len(rules), rows.size), dtype=np.int32)  # and the last of these
    for r, tests in enumerate(rules):
        _count_violations(table, tests, rows, violated[r], place[r])
    times = (violated == 0).sum(axis=0)  # how many rules cover a row
    change = np.zeros((len(rules), longest + 1))
    for r in range(len(rules)):
        deletion_errors(violated, place, times, read_only(weights), change, r)
    slack = TIE * float(weights.sum())
    while True:
        allowed = np.where(np.arange(longest + 1) < longest, change <= slack, change < -slack)
        for r, tests in enumerate(rules):  # the last condition goes with its rule
            allowed[r, len(tests) if len(tests) > 1 else 0 : longest] = False
            allowed[r, longest] &= bool(tests)
        if not allowed.any():
            return [tests for tests in rules if tests]
        least = float(change[allowed].min())
        # of equally good deletions the first rule, and its last condition
        r, k = (int(v) for v in np.argwhere((allowed & (change <= least + slack))[:, ::-1])[0])
        k, covered_before = longest - k, violated[r] == 0
        rules[r] = () if k == longest else rules[r][:k] + rules[r][k + 1 :]
        _count_violations(table, rules[r], rows, violated[r], place[r])
        if k == longest:
            violated[r] = longest + 1
        for i in np.flatnonzero((violated[r] == 0) != covered_before).tolist():
            cover_changes(violated, place, times, read_only(weights), change, r, i)
        deletion_errors(violated, place, times, read_only(weights), change, r)


def _count_violations(
    table: RankedTable, tests: Tests, rows: np.ndarray, violated: np.ndarray, place: np.ndarray
) -> None:
    violated[:] = 0
    for k, test in enumerate(tests):
        broken = ~holds(table.ranks[test.feature][rows], test.comparison, test.rank)
        violated += broken
        place[broken] = k


@kernel
def deletion_errors(violated: Any, place: Any, times: Any, weights: Any, change: Any, r: Any) -> Any:
    """How the weight of the errors changes without condition k of rule r; in the last column, without the rule."""
    last = change.shape[1] - 1
    change[r] = 0.0
    for i in range(times.size):
        if times[i] == 0 and violated[r, i] == 1:  # it would be covered
            change[r, place[r, i]] += weights[i, 1] - weights[i, 0]
        elif times[i] == 1 and violated[r, i] == 0:  # it would not be any more
            change[r, last] += weights[i, 0] - weights[i, 1]


@kernel
def cover_changes(violated: Any, place: Any, times: Any, weights: Any, change: Any, r: Any, i: Any) -> Any:
    """Tell the other rules that rule r covers row i from now on, or that it does not any more."""
    last = change.shape[1] - 1
    error = weights[i, 1] - weights[i, 0]
    now = violated[r, i] == 0
    others = times[i] - (0 if now else 1)  # that cover it, too
    sign = -1.0 if now else 1.0
    for other in range(violated.shape[0]):
        if other != r:
            if others == 0 and violated[other, i] == 1:
                change[other, place[other, i]] += sign * error
            elif others == 1 and violated[other, i] == 0:
                change[other, last] -= sign * error
    times[i] += 1 if now else -1
