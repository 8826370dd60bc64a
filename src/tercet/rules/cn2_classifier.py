"""CN2 (Clark and Niblett, 1989; Clark and Boswell, 1991)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.stats import chi2

from tercet.core.catalog import method
from tercet.core.columns import Features
from tercet.core.parameters import Count, Fraction, NonNegative
from tercet.rules._engine.scans import SCORES, cover_of, scan
from tercet.rules.base import RuleClassifier, TrainingRows
from tercet.rules.beam_search import FoundRule, beam_search
from tercet.rules.rule_growth import Tests, covered
from tercet.rules.rule_scores import class_likelihood_ratio


@method(
    zh="CN2 规则学习",
    task="classification",
    model="list or set of rules: class <- conjunction of conditions, and a default class",
    strategy="entropy or Laplace's estimate of each rule; significance by the likelihood ratio statistic",
    algorithms={
        "ordered": "a list: all rows that a rule covers are removed, whatever their class",
        "unordered": "a set: class by class; only rows of the class are removed, and distributions are added up",
    },
    texts=["watermelon notes ch. 13, sec. 13.2, 13.3"],
    peers=["Orange CN2Learner", "Orange CN2UnorderedLearner"],
)
class CN2Classifier(RuleClassifier):
    """Rules by beam search, of which only significant ones stay (CN2).

    Sequential covering from general to specific: a beam search finds the rule of the largest Laplace estimate
    (n_c + 1) / (n + K), or of the least entropy, among those whose likelihood ratio statistic 2 Σ n_k log(n_k /
    (n P_k)) is significant; covered rows are removed, until there is no such rule.

    Thresholds of numbers lie half-way between neighbouring values; of those of a column and a direction only
    that of the largest statistic enters the star. A missing value satisfies no condition.

    The star, the rules that are specialised next, has the best by the criterion and, by turns, those of the largest
    statistic. In the papers it has the former only: often rules of a few rows that happen to be of one class, which
    lead to lists of more rules.

    Parameters
    ----------
    algorithm : {"ordered", "unordered"}, default="ordered"
        A list, in which the first rule that covers a row decides; or a set, with rules of each class against
        all rows, in which the class distributions of all rules that cover a row are added up.
    criterion : {"laplace", "entropy"}, default="laplace"
        What rules are compared by; entropy is of the first paper, and prefers rules of few rows.
    confidence : float, default=0.99
        Level of the chi-squared test of the likelihood ratio statistic; 0 for no test.
    beam_width : int, default=5
        How many rules the star keeps.
    min_coverage : float, default=1
        The least weight of the rows of a rule.
    max_rules : int, optional
        The most rules.
    max_rule_conds : int, optional, default=5
        The most conditions of a rule.
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Which columns are categories: by their dtype, by name or place, or none.

    Attributes
    ----------
    ruleset_ : RuleSet
        The rules, to be read, printed and exported.
    rule_counts_ : array of shape (n_rules, n_classes)
        Weight of the training rows that each rule decides; of a set, that it covers.
    categories_ : list
        The categories of each column; None for one of numbers.
    classes_ : array of shape (n_classes,)

    Examples
    --------
    >>> from tercet.datasets import load_watermelon
    >>> X, y = load_watermelon("3.0", return_X_y=True)
    >>> model = CN2Classifier().fit(X, y)
    >>> print(model.ruleset_.to_text("if"))
    if x3=清晰 and x6>=0.3815 then 1 (7 rows, 100 %)
    otherwise 0 (10 rows, 90 %)
    """

    def __init__(
        self,
        algorithm: Literal["ordered", "unordered"] = "ordered",
        *,
        criterion: Literal["laplace", "entropy"] = "laplace",
        confidence: Fraction = 0.99,
        beam_width: Count = 5,
        min_coverage: NonNegative = 1,
        max_rules: Count | None = None,
        max_rule_conds: Count | None = 5,
        categorical_features: Features = "from_dtype",
    ) -> None:
        self.algorithm = algorithm
        self.criterion = criterion
        self.confidence = confidence
        self.beam_width = beam_width
        self.min_coverage = min_coverage
        self.max_rules = max_rules
        self.max_rule_conds = max_rule_conds
        self.categorical_features = categorical_features

    @property
    def _ordered(self) -> bool:
        return self.algorithm == "ordered"

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        rows = self._start(X, y, sample_weight)
        rules: list[tuple[Tests, int]] = []
        targets = [-1] if self._ordered else np.flatnonzero(rows.totals()).tolist()
        target, weight = targets.pop(0), rows.weight.copy()
        limit = 2 * len(rows.y) + len(targets) + 1
        for step in self.steps(limit, name="rule", unpack=lambda r: self._assembled(rows, r)):
            full = self.max_rules is not None and len(rules) >= self.max_rules
            found = None if full else self._best_rule(rows, weight, target)
            if found is not None:
                covers = covered(rows.table, found.tests)
                label = int(found.counts.argmax()) if target < 0 else target
                rules.append((found.tests, label))
                weight[covers & (rows.y == target) if target >= 0 else covers] = 0.0
            step.report(tuple(rules), rules=len(rules), left=float(weight.sum()))
            if found is None and not targets:
                break
            if found is None:  # the next class, against all rows
                target, weight = targets.pop(0), rows.weight.copy()
        self.__dict__.update(self._assembled(rows, rules))

    def _best_rule(self, rows: TrainingRows, weight: np.ndarray, target: int) -> FoundRule | None:
        """The best significant rule for the rows that are left; for a class, or for the commonest of its rows."""
        totals = np.bincount(rows.y, weight, rows.n_classes)
        if np.count_nonzero(totals) < 2 or (target >= 0 and totals[target] <= 0):
            return None
        score = SCORES[self.criterion]
        # a set is compared with all rows; after a rule of a list, what it covered is gone
        expected = totals if target < 0 else rows.totals()
        significant = SignificantRules(expected, target, self.confidence, self.min_coverage)
        return beam_search(
            rows.table,
            cover_of(rows.table, weight),
            lambda cover: scan(rows.table, cover, rows.y, weight, rows.n_classes, score, target),
            width=self.beam_width,
            max_conds=self.max_rule_conds,
            accept=significant,
            evidence=significant.statistic,
        )


class SignificantRules:
    """The test of CN2: which rules have other class distributions than all rows, by the likelihood ratio statistic.

    A rule of one class (`target`) is tested against the other classes together, and must have more of its class.
    """

    def __init__(self, totals: np.ndarray, target: int, confidence: float, min_coverage: float) -> None:
        self.target, self.min_coverage = target, min_coverage
        self.totals = self._grouped(totals)
        freedom = max(np.count_nonzero(self.totals) - 1, 1)
        self.limit = float(chi2.ppf(confidence, freedom)) if confidence < 1 else np.inf

    def _grouped(self, counts: np.ndarray) -> np.ndarray:
        if self.target < 0:
            return counts
        own = counts[..., self.target]
        return np.stack([own, counts.sum(axis=-1) - own], axis=-1)

    def statistic(self, counts: np.ndarray) -> np.ndarray:
        """The likelihood ratio statistic of each rule."""
        return class_likelihood_ratio(self._grouped(counts), self.totals)

    def __call__(self, counts: np.ndarray) -> np.ndarray:
        good = self.statistic(counts) >= self.limit
        counts = self._grouped(counts)
        good &= counts.sum(axis=1) >= self.min_coverage
        if self.target >= 0:
            good &= counts[:, 0] * self.totals[1] > counts[:, 1] * self.totals[0]
        return good
