"""Rule sets as Python and SQL text."""

from __future__ import annotations

import keyword
import math
from typing import Any

from tercet.rules.rule import Condition, Rule

NUMBER = """\
    def number(value):
        return float("nan") if value is None else value
"""


def python_text(rules: Any, name: str) -> str:
    """Source of a function that classifies one row."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"name must be a Python identifier; got {name!r}.")
    lines = [f"def {name}(row):"]
    if any(c.comparison != "=" for rule in rules for c in rule.conditions):
        lines += [NUMBER.rstrip(), ""]
    if rules.resolution in ("vote", "distribution"):
        lines += [f"    scores = {dict.fromkeys(rules.classes, 0.0)!r}", "    covered = False"]
        for rule in rules:
            lines += [f"    if {_python_body(rule)}:", "        covered = True"]
            lines += [f"        scores[{label!r}] += {weight!r}" for label, weight in _votes(rules, rule)]
        lines += [
            "    if not covered:",
            f"        return {rules.default.head!r}",
            "    return max(scores, key=scores.get)",
        ]
        return "\n".join(lines) + "\n"
    for rule in rules.by_priority():
        lines += [f"    if {_python_body(rule)}:", f"        return {rule.head!r}"]
    return "\n".join([*lines, f"    return {rules.default.head!r}"]) + "\n"


def sql_text(rules: Any) -> str:
    """A CASE expression that classifies a row of a table."""
    if rules.resolution not in ("vote", "distribution"):
        cases = [f"  WHEN {_sql_body(rule)} THEN {_sql_literal(rule.head)}" for rule in rules.by_priority()]
        if not cases:
            return _sql_literal(rules.default.head)
        return "\n".join(["CASE", *cases, f"  ELSE {_sql_literal(rules.default.head)}", "END"])
    if not len(rules):
        return _sql_literal(rules.default.head)
    sums = {label: ["0"] for label in rules.classes}
    for rule in rules:
        for label, weight in _votes(rules, rule):
            sums[label].append(f"CASE WHEN {_sql_body(rule)} THEN {weight!r} ELSE 0 END")
    terms = {label: f"({' + '.join(parts)})" for label, parts in sums.items()}
    nobody = " AND ".join(f"NOT COALESCE({_sql_body(rule)}, FALSE)" for rule in rules)
    cases = [f"  WHEN {nobody} THEN {_sql_literal(rules.default.head)}"]
    for k, label in enumerate(rules.classes[:-1]):
        larger = " AND ".join(f"{terms[label]} >= {terms[other]}" for other in rules.classes[k + 1 :])
        cases.append(f"  WHEN {larger} THEN {_sql_literal(label)}")
    return "\n".join(["CASE", *cases, f"  ELSE {_sql_literal(rules.classes[-1])}", "END"])


def _votes(rules: Any, rule: Rule) -> list[tuple[Any, float]]:
    """What a rule that covers a row adds to the score of each class."""
    if rules.resolution == "vote" or not rule.support > 0:
        share = {label: 2.0**-30 * w / rule.support for label, w in rule.distribution.items() if w > 0}
        return [
            (label, float(label == rule.head) + share.get(label, 0.0))
            for label in rules.classes
            if label == rule.head or label in share
        ]
    return [(label, float(weight)) for label, weight in rule.distribution.items() if weight > 0]


def _python_body(rule: Rule) -> str:
    return " and ".join(map(_python_test, rule.conditions)) or "True"


def _python_test(condition: Condition) -> str:
    cell = f"row[{condition.feature!r}]"
    if condition.comparison == "=":
        value = repr(condition.value) if isinstance(condition.value, str) else _number(condition.value)
        return f"{cell} == {value}"
    return f"number({cell}) {condition.comparison} {_number(condition.value)}"


def _sql_body(rule: Rule) -> str:
    return " AND ".join(map(_sql_test, rule.conditions)) or "TRUE"


def _sql_test(condition: Condition) -> str:
    column = '"' + condition.name.replace('"', '""') + '"'
    return f"{column} {condition.comparison} {_sql_literal(condition.value)}"


def _sql_literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return _number(value)
    return "'" + str(value).replace("'", "''") + "'"


def _number(value: Any) -> str:
    whole = isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 2**53
    return repr(int(value)) if whole else repr(value)
