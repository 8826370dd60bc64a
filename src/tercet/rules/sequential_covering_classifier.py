"""Sequential covering (序贯覆盖): a rule, the rows that it does not cover, the next rule."""

from __future__ import annotations

from typing import Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count
from tercet.rules._engine.scans import SCORES, TIE, cover_of, scan_two
from tercet.rules.base import Budget, ClassByClassClassifier
from tercet.rules.beam_search import FoundRule, beam_search
from tercet.rules.bottom_up_search import bottom_up_search
from tercet.rules.rule_growth import BinaryProblem, Tests, covered


@method(
    zh="序贯覆盖",
    task="classification",
    model="ordered list of rules: class <- conjunction of conditions, and a default class",
    strategy="FOIL gain, accuracy p / (p + n), entropy or Laplace's estimate of each rule",
    algorithms={
        "top-down": "beam search from general to specific: conditions are added",
        "bottom-up": "beam search from specific to general: from one row, bounds are widened or removed",
    },
    texts=["watermelon notes ch. 13, sec. 13.2"],
)
class SequentialCoveringClassifier(ClassByClassClassifier):
    """Rules one after the other, each on the rows that those before do not cover (separate and conquer).

    Class by class, from the rarest to the commonest, which is the default: the best rule by a beam search is
    kept and the rows that it covers are removed, until no rows of the class are left or no rule is better than
    none. There is no pruning; see `RIPPERClassifier` for noisy data.

    Of equal scores the rule that covers more is better, and then the first. Bounds of numbers lie half-way between
    neighbouring values. A missing value satisfies no condition.

    Parameters
    ----------
    algorithm : {"top-down", "bottom-up"}, default="top-down"
        Whether a rule is specialised from the empty one or generalised from a row.
    criterion : {"accuracy", "foil", "entropy", "laplace"}, default="accuracy"
        What rules are compared by.
    beam_width : int, default=1
        How many rules the search keeps.
    class_order : "frequency" or list, default="frequency"
        In which order rules of the classes are learned; the last one is the default class.
    max_rules : int, optional
        The most rules.
    max_rule_conds : int, optional
        The most conditions of a rule (top-down only).
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Which columns are categories: by their dtype, by name or place, or none.

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
    >>> X, y = load_watermelon("2.0", return_X_y=True)
    >>> model = SequentialCoveringClassifier().fit(X, y)
    >>> print(model.ruleset_)
    1 ← (x3=清晰) ∧ (x5=硬滑)
    1 ← (x4=稍凹) ∧ (x2=浊响) ∧ (x0=青绿)
    1 ← (x0=乌黑) ∧ (x2=浊响) ∧ (x3=稍糊)
    0 ← True
    """

    def __init__(
        self,
        algorithm: Literal["top-down", "bottom-up"] = "top-down",
        *,
        criterion: Literal["accuracy", "foil", "entropy", "laplace"] = "accuracy",
        beam_width: Count = 1,
        class_order: Literal["frequency"] | list | tuple | np.ndarray = "frequency",
        max_rules: Count | None = None,
        max_rule_conds: Count | None = None,
        categorical_features: Features = "from_dtype",
    ) -> None:
        self.algorithm = algorithm
        self.criterion = criterion
        self.beam_width = beam_width
        self.class_order = class_order
        self.max_rules = max_rules
        self.max_rule_conds = max_rule_conds
        self.categorical_features = categorical_features

    def _rules_of_class(self, problem: BinaryProblem, budget: Budget) -> list[Tests]:
        rules, weights = list[Tests](), problem.weights
        while weights[:, 0].any() and budget.left(rules):
            found = self._best_rule(problem, weights)
            if found is None or not found.tests:
                break
            rules.append(found.tests)
            weights = np.where(covered(problem.table, found.tests)[:, None], 0.0, weights)
        return rules

    def _best_rule(self, problem: BinaryProblem, weights: np.ndarray) -> FoundRule | None:
        """The best rule for rows of these weights that is more often right than no rule at all."""
        P, N = weights.sum(axis=0)

        def accept(counts: np.ndarray) -> np.ndarray:
            return counts[:, 0] * N > counts[:, 1] * P * (1 + TIE)

        if self.algorithm == "bottom-up":
            found = bottom_up_search(
                problem.table, weights, problem.hashes, score=self.criterion, width=self.beam_width
            )
            return found if found is not None and accept(found.counts[None])[0] else None
        base = float(np.log2(P / (P + N)))
        return beam_search(
            problem.table,
            cover_of(problem.table, weights.sum(axis=1)),
            lambda cover: scan_two(problem.table, cover, weights, SCORES[self.criterion], base),
            width=self.beam_width,
            max_conds=self.max_rule_conds,
            accept=accept,
        )
