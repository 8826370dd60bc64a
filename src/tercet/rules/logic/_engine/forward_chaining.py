"""The least model of a program without compound terms, by forward chaining stratum by stratum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tercet.rules.logic._engine.body_query import Bindings, is_function_free, satisfied
from tercet.rules.logic._engine.relations import FactBase, Key
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Compound, Variable


def least_model(clauses: Sequence[Clause], max_facts: int) -> FactBase:
    """All ground atoms that follow, as a fact base; clauses that cannot be evaluated so are refused."""
    facts = FactBase(clause.head for clause in clauses if clause.is_fact and clause.is_ground and clause.head)
    rules = [clause for clause in clauses if not (clause.is_fact and clause.is_ground)]
    for rule in rules:
        _check(rule)
    for stratum in strata(rules):
        _saturate(facts, stratum, max_facts)
    return facts


def _check(rule: Clause) -> None:
    head = rule.head
    assert head is not None
    if any(isinstance(arg, Compound) and not arg.is_ground for arg in head.args) or not is_function_free(
        rule
    ):
        raise ValueError(f"Forward chaining needs clauses without compound terms or arithmetic; got {rule}")
    bound = {
        v
        for literal in rule.body
        if not literal.negated and (not literal.is_comparison or literal.predicate in ("=", "=="))
        for v in literal.variables
    }
    if loose := [v.name for v in head.variables if v not in bound]:
        raise ValueError(
            f"Forward chaining needs every variable of a head in the body; {', '.join(loose)} is missing in {rule}"
        )


def strata(rules: Sequence[Clause]) -> list[list[Clause]]:
    """The rules in an order in which what a negated literal asks for is complete before it is asked."""
    level: dict[Key, int] = {rule.head.key: 0 for rule in rules if rule.head}
    for _ in range(len(level) + 1):
        changed = False
        for rule in rules:
            assert rule.head is not None
            lowest = max((level.get(literal.key, 0) + literal.negated for literal in rule.body), default=0)
            if lowest > level[rule.head.key]:
                level[rule.head.key], changed = lowest, True
        if not changed:
            break
    else:
        worst = max(level, key=lambda key: level[key])
        raise ValueError(
            f"Forward chaining needs stratified negation; {worst[0]}/{worst[1]} depends on its negation."
        )
    found: list[list[Clause]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for rule in rules:
        assert rule.head is not None
        found[level[rule.head.key]].append(rule)
    return found


def _saturate(facts: FactBase, rules: list[Clause], max_facts: int) -> None:
    """Apply rules until nothing new follows; after the first round, to what is new in one of the literals."""
    own = {rule.head.key for rule in rules if rule.head}
    new: dict[Key, np.ndarray] = {}
    for rule in rules:
        _derive(facts, rule, rule.body, Bindings(facts, np.zeros(1, dtype=np.int64), {}), new)
    while new:
        latest = {}
        for key, rows in new.items():
            before = facts.relations[key].rows if key in facts.relations else np.empty((0, key[1]), np.int64)
            facts.add_rows(key, rows)
            fresh = _missing(facts.relations[key].rows, before)
            if len(fresh):
                latest[key] = fresh
        if sum(len(relation) for relation in facts.relations.values()) > max_facts:
            raise ValueError(f"More than max_facts={max_facts} atoms follow from the program.")
        new = {}
        for rule in rules:
            for place, literal in enumerate(rule.body):
                if literal.key in own and literal.key in latest and not literal.negated:
                    rest = (*rule.body[:place], *rule.body[place + 1 :])
                    start = _matching(facts, literal, latest[literal.key])
                    _derive(facts, rule, rest, start, new)


def _derive(
    facts: FactBase, rule: Clause, body: Sequence[Literal], start: Bindings, new: dict[Key, np.ndarray]
) -> None:
    head = rule.head
    assert head is not None
    found = satisfied(body, start, set(head.variables))
    codes = [
        found.columns[arg] if isinstance(arg, Variable) else np.full(len(found), facts.code(arg))
        for arg in head.args
    ]
    rows = np.column_stack(codes) if codes else np.zeros((min(1, len(found)), 0), dtype=np.int64)
    if len(rows):
        rows = np.unique(rows, axis=0) if codes else rows
        new[head.key] = np.concatenate([new[head.key], rows]) if head.key in new else rows


def _matching(facts: FactBase, literal: Literal, rows: np.ndarray) -> Bindings:
    """Rows of a literal's predicate as bindings of its variables."""
    kept = np.ones(len(rows), dtype=bool)
    columns: dict[Variable, np.ndarray] = {}
    for place, arg in enumerate(literal.args):
        if isinstance(arg, Variable):
            if arg in columns:
                kept &= columns[arg] == rows[:, place]
            else:
                columns[arg] = rows[:, place]
        else:
            kept &= rows[:, place] == facts.code(arg)
    return Bindings(facts, np.zeros(len(rows), dtype=np.int64), columns).taken(np.flatnonzero(kept))


def _missing(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The rows that are not known; both are sorted and distinct."""
    if not rows.shape[1]:
        return rows[: len(rows) - len(known)]
    both, counts = np.unique(np.concatenate([rows, known]), axis=0, return_counts=True)
    return both[counts == 1]
