"""Rule sets (规则集): ordered lists and unordered sets, with a default rule and a way to resolve conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.rules.rule import Rule, shortened, table_columns
from tercet.rules.rule_export import python_text, sql_text

# Rules of higher priority come first; the place in the set decides between equals.
PRIORITIES: dict[str, Callable[[Rule], float]] = {
    "order": lambda rule: 0.0,
    "shortest": len,
    "longest": lambda rule: -len(rule),
    "precision": lambda rule: -np.nan_to_num(rule.precision),
    "support": lambda rule: -rule.support,
}
RESOLUTIONS = (*PRIORITIES, "vote", "distribution")


@method(
    zh="规则集",
    task="rules",
    model="head <- condition and condition and ...; default rule where none covers",
    strategy="conflicts: order of the rules, vote, or a meta-rule",
    algorithms="the rules are looked through one after the other",
    texts=["watermelon notes ch. 13, sec. 13.1"],
)
class RuleSet(Sequence):
    """Rules with a default rule, and a way to decide where several rules cover a row.

    Parameters
    ----------
    rules : sequence of Rule
        In order of priority, where the order counts.
    default : label or Rule
        What holds where no rule covers a row.
    resolution : str or callable, default="order"
        How conflicts are resolved. "order": the first rule that covers decides (排序法); "vote": each rule has
        one vote (投票法); "distribution": the class distributions of the rules are added up, as in unordered
        CN2; or a meta-rule (元规则法): "shortest", "longest", "precision" or "support" says which rule decides,
        and a callable gets the list of rules that cover a row and returns one of them.
    feature_names : sequence of str, optional
        Names of the columns of arrays.
    classes : sequence, optional
        All classes, in order; by default those of the rules.

    Examples
    --------
    >>> from tercet.rules import Condition, Rule
    >>> rules = RuleSet(
    ...     [
    ...         Rule([Condition("texture", "=", "clear"), Condition("density", ">=", 0.38)], "good"),
    ...         Rule([Condition("sugar", "<=", 0.2)], "bad"),
    ...     ],
    ...     default="bad",
    ...     feature_names=["texture", "density", "sugar"],
    ... )
    >>> print(rules)
    good ← (texture=clear) ∧ (density>=0.38)
    bad ← (sugar<=0.2)
    bad ← True
    >>> rules.predict([["clear", 0.5, 0.1], ["blurred", 0.5, 0.4], ["clear", None, 0.3]]).tolist()
    ['good', 'bad', 'bad']
    >>> print(rules.to_text("wittgenstein"))
    [[texture=clear^density=>=0.38] => good V [sugar=<=0.2] => bad]
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        default: Any,
        *,
        resolution: str | Callable[[list[Rule]], Rule] = "order",
        feature_names: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        if not callable(resolution) and resolution not in RESOLUTIONS:
            raise ValueError(f"resolution must be a callable or one of {RESOLUTIONS}; got {resolution!r}.")
        self.rules = list(rules)
        self.default = default if isinstance(default, Rule) else Rule((), default)
        self.resolution = resolution
        self.feature_names = None if feature_names is None else [str(name) for name in feature_names]
        heads = {rule.head for rule in [*self.rules, self.default]}
        self.classes = sorted(heads) if classes is None else [_plain(label) for label in classes]
        if not heads <= set(self.classes):
            raise ValueError(
                f"a rule has the head {sorted(heads - set(self.classes), key=str)[0]!r}; the classes are "
                f"{self.classes[:12]}."
            )

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, k: Any) -> Any:
        return self.rules[k]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __str__(self) -> str:
        return "\n".join(str(rule) for rule in [*self.rules, self.default])

    def __repr__(self) -> str:
        return (
            f"<RuleSet of {len(self)} rules, {self.n_conditions} conditions, resolution={self.resolution!r}>"
        )

    @property
    def n_conditions(self) -> int:
        """How many conditions all rules have together."""
        return sum(map(len, self.rules))

    def with_resolution(self, resolution: str | Callable[[list[Rule]], Rule]) -> RuleSet:
        """The same rules with another way to resolve conflicts."""
        return RuleSet(
            self.rules,
            self.default,
            resolution=resolution,
            feature_names=self.feature_names,
            classes=self.classes,
        )

    def by_priority(self) -> list[Rule]:
        """The rules in the order in which they decide; an error where no order does."""
        if callable(self.resolution) or self.resolution not in PRIORITIES:
            raise ValueError(f"resolution={self.resolution!r} is not an order of the rules.")
        return sorted(self.rules, key=PRIORITIES[self.resolution])

    def covers(self, X: Any) -> np.ndarray:
        """Which rows each rule covers.

        Parameters
        ----------
        X : frame, or array of shape (n_samples, n_features)
            The rows, with the categories as they were given.

        Returns
        -------
        covered : bool array of shape (n_samples, n_rules)
        """
        columns, n_rows = table_columns(X, self.feature_names)
        out = np.zeros((n_rows, len(self.rules)), dtype=bool)
        for k, rule in enumerate(self.rules):
            out[:, k] = rule.covers_columns(columns, n_rows)
        return out

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, by the rules that cover it or the default."""
        covers, classes = self.covers(X), np.asarray(self.classes)
        if self.resolution not in ("vote", "distribution"):
            heads = [self.classes.index(rule.head) for rule in [*self.rules, self.default]]
            return classes[np.array(heads, dtype=np.intp)[self._deciding(covers)]]
        scores = self._sums(covers, self.resolution)
        if self.resolution == "vote":  # the distributions decide between equally many votes
            shares = self._sums(covers, "share")
            scores = np.where(scores == scores.max(axis=1, keepdims=True), shares, -1.0)
        best = classes[scores.argmax(axis=1)]
        return np.where(covers.any(axis=1), best, classes[self.classes.index(self.default.head)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Laplace's estimate (n_c + 1) / (n + K) by the rules that decide, for each row and class.

        n_c are the weights of the training rows of the rule that decides (the sum over all that cover the row with
        "distribution", the number of their votes with "vote").
        """
        covers = self.covers(X)
        if self.resolution in ("vote", "distribution"):
            counts = self._sums(covers, self.resolution)
            counts[~covers.any(axis=1)] = self._counts([self.default])[0]
        else:
            counts = self._counts([*self.rules, self.default])[self._deciding(covers)]
        return (counts + 1) / (counts.sum(axis=1, keepdims=True) + len(self.classes))

    def _sums(self, covers: np.ndarray, kind: Any) -> np.ndarray:
        """Votes, class weights or class shares, added up over the rules that cover a row."""
        each = self._counts(self.rules)
        if kind == "vote":
            heads = [self.classes.index(rule.head) for rule in self.rules]
            each = np.eye(len(self.classes))[heads].reshape(each.shape)
        elif kind == "share":
            each = each / each.sum(axis=1, keepdims=True)
        return covers.astype(np.float64) @ each

    def _deciding(self, covers: np.ndarray) -> np.ndarray:
        """The index of the rule that decides each row; that after the last is the default."""
        if callable(self.resolution):
            return np.array([self._chosen(row) for row in covers], dtype=np.intp)
        priority = PRIORITIES[str(self.resolution)]
        places = sorted(range(len(self.rules)), key=lambda k: priority(self.rules[k]))
        found = np.column_stack([covers[:, places], np.ones(len(covers), dtype=bool)])
        return np.array([*places, len(self.rules)], dtype=np.intp)[found.argmax(axis=1)]

    def _chosen(self, covers: np.ndarray) -> int:
        found = [rule for rule, holds in zip(self.rules, covers) if holds]
        if not found:
            return len(self.rules)
        rule = found[0] if len(found) == 1 else self.resolution(found)  # type: ignore[operator]
        if not any(rule is one for one in found):
            raise ValueError(
                f"the meta-rule must return one of the rules that it gets; it returned {rule!r}."
            )
        return next(k for k, one in enumerate(self.rules) if one is rule)

    def _counts(self, rules: list[Rule]) -> np.ndarray:
        """Weights of the classes under each rule; 1 for its head where the rule has none."""
        out = np.zeros((len(rules), len(self.classes)))
        for k, rule in enumerate(rules):
            for label, weight in (rule.distribution if rule.support > 0 else {rule.head: 1.0}).items():
                out[k, self.classes.index(label)] = weight
        return out

    def statistics(self, X: Any, y: Any, sample_weight: Any = None) -> list[dict[str, Any]]:
        """What each rule, by itself, says of labelled rows.

        Returns
        -------
        list of dict
            "rule", "support" (weight of the rows it covers), "coverage" (their share), "precision" (share of them
            that have its class) and "recall" (share of the rows of its class that it covers).
        """
        covers, labels = self.covers(X), np.asarray(y)
        given = check_weight(sample_weight, covers)
        weight = np.ones(len(covers)) if given is None else given
        out = []
        for rule, covered in zip([*self.rules, self.default], [*covers.T, ~covers.any(axis=1)]):
            right = labels == rule.head
            support, hits = float(weight[covered].sum()), float(weight[covered & right].sum())
            out.append(
                {
                    "rule": str(rule),
                    "support": support,
                    "coverage": support / float(weight.sum()),
                    "precision": hits / support if support > 0 else float("nan"),
                    "recall": hits / float(weight[right].sum()) if weight[right].sum() > 0 else float("nan"),
                }
            )
        return out

    def to_list(self) -> list[dict[str, Any]]:
        """The rules as dictionaries: "if" (texts of the conditions), "then", "support", "precision" and
        "distribution"; the last is the default rule."""
        return [
            {
                "if": [str(condition) for condition in rule.conditions],
                "then": rule.head,
                "support": rule.support,
                "precision": rule.precision,
                "distribution": dict(rule.distribution),
            }
            for rule in [*self.rules, self.default]
        ]

    def to_frame(self) -> Any:
        """The rules as a pandas DataFrame, one in each row; the last is the default rule."""
        import pandas as pd

        rows = [{**entry, "if": " and ".join(entry["if"])} for entry in self.to_list()]
        return pd.DataFrame([{k: v for k, v in row.items() if k != "distribution"} for row in rows])

    def to_text(self, style: str = "arrow") -> str:
        """The rules as text.

        Parameters
        ----------
        style : {"arrow", "if", "wittgenstein"}, default="arrow"
            "good ← (texture=clear) ∧ (density>=0.38)" as textbooks write it; "if ... then ... (rows,
            precision)"; or "[[texture=clear^density=>=0.38] V [...]]" as wittgenstein prints the rules of one
            class.
        """
        if style == "arrow":
            return str(self)
        if style == "if":
            return "\n".join(_sentence(rule) for rule in [*self.rules, self.default])
        if style != "wittgenstein":
            raise ValueError(f"style must be one of 'arrow', 'if', 'wittgenstein'; got {style!r}.")
        heads = {rule.head for rule in self.rules}
        parts = []
        for rule in self.rules:
            tests = [
                f"{c.name}={'' if c.comparison == '=' else c.comparison}{shortened(c.value)}"
                for c in rule.conditions
            ]
            then = f" => {shortened(rule.head)}" if len(heads) > 1 else ""
            parts.append(f"[{'^'.join(tests)}]{then}")
        return f"[{' V '.join(parts)}]"

    def to_python(self, name: str = "predict") -> str:
        """Source of a Python function of one row (a dict, or a list where columns have no names).

        Parameters
        ----------
        name : str, default="predict"
            What to call it.
        """
        return python_text(self, name)

    def to_sql(self) -> str:
        """An SQL expression (CASE WHEN ... END) that gives the class of a row; NULL satisfies no condition."""
        return sql_text(self)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _sentence(rule: Rule) -> str:
    start = f"if {rule.body(' and ', '{}')} then" if rule.conditions else "otherwise"
    rows = f"{rule.support:.6g} {'row' if rule.support == 1 else 'rows'}"
    seen = f" ({rows}, {100 * rule.precision:.3g} %)" if rule.support > 0 else ""
    return f"{start} {shortened(rule.head)}{seen}"
