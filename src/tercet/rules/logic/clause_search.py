"""The search of one clause of FOIL, and the pruning of what it finds."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.rules.logic._engine.body_query import Bindings
from tercet.rules.logic._engine.candidate_literals import Candidate, Search, Space
from tercet.rules.logic._engine.examples import Examples, covered
from tercet.rules.logic._engine.matching import one_way
from tercet.rules.logic._engine.recursion_guard import RecursionGuard
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Variable, fresh_names

NEAR_BEST = 0.8  # share of the largest possible gain below which determinate literals are added
State = tuple[
    list[Literal], Bindings, dict[Variable, Any], float, int
]  # body, bindings, types, bits, literals


class ClauseSearch:
    """The search of one clause: the literals so far, their bindings, and where to come back to."""

    def __init__(
        self,
        foil: Any,
        space: Space,
        guard: RecursionGuard,
        good: Examples,
        bad: Examples,
        n_good: int,
    ) -> None:
        self.foil, self.space, self.guard, self.good, self.bad = foil, space, guard, good, bad
        self.n_examples = n_good + len(bad)
        name, arity = foil.target_
        letters = fresh_names(())
        self.head = Literal(name, [Variable(next(letters)) for _ in range(arity)])
        self.backtracks = foil.max_backtracks

    def run(self) -> Clause | None:
        """A clause that is consistent, or accurate enough; None where there is none."""
        kinds = {
            v: self.space.types.of(self.head.key, k)
            for k, v in enumerate(self.head.args)
            if isinstance(v, Variable)
        }
        table = (self.good + self.bad).bindings(self.head)
        states: list[State] = [([], table, kinds, 0.0, 0)]
        while states:
            body = self._grow(states, *states.pop())
            if body is not None:
                return self._pruned(Clause(self.head, body))
        return None

    def _grow(
        self,
        states: list[Any],
        body: list[Literal],
        table: Bindings,
        kinds: dict[Variable, Any],
        bits: float,
        size: int,
    ) -> list[Literal] | None:
        """Add literals until no negative is covered; None where that fails. `states` gets near-best choices."""
        while (n := self._negatives(table)) and size < self.foil.max_literals:
            found, determinate = Search(
                self.space,
                table,
                len(self.good),
                kinds,
                functools.partial(self._admissible, body),
            ).run(set(body))
            p = int(np.searchsorted(table.example, len(self.good)))
            largest = p * -math.log2(p / (p + n)) if p else 0.0
            if self.foil.determinate and (not found or found[0].gain < NEAR_BEST * largest):
                added = self._determinate(body, kinds, determinate)
                if added:
                    body, kinds = [*body, *added], dict(kinds)
                    for literal in added:
                        table = self._extended(table, literal, kinds)
                    continue
            chosen: State | None = None
            for candidate in found:
                state = self._extension(body, table, kinds, bits, size, candidate)
                if state is None:
                    continue
                if chosen is None:
                    chosen = state
                elif self.backtracks > 0:
                    self.backtracks -= 1
                    states.append(state)
                else:
                    break
            if chosen is None:
                break
            body, table, kinds, bits, size = chosen
        accuracy = self._accuracy(table)
        return body if accuracy > 0 and (not n or (body and accuracy >= self.foil.min_accuracy)) else None

    def _negatives(self, table: Bindings) -> int:
        return len(table) - int(np.searchsorted(table.example, len(self.good)))

    def _accuracy(self, table: Bindings) -> float:
        """Share of positives among the examples that are covered."""
        examples = np.unique(table.example)
        return float((examples < len(self.good)).mean()) if len(examples) else 0.0

    def _admissible(self, body: list[Literal], literal: Literal) -> bool:
        return literal.key != self.guard.target or self.guard.order(self.head, [*body, literal]) is not None

    def _extension(
        self,
        body: list[Literal],
        table: Bindings,
        kinds: dict[Variable, Any],
        bits: float,
        size: int,
        candidate: Candidate,
    ) -> State | None:
        """The state after a literal; None where the clause would take more bits than it saves."""
        literal, known = candidate.literal, dict(kinds)
        if literal.negated:  # a variable of its own says that there is none
            own = {
                v: Variable(f"_{len(body) + 1}_{k}")
                for k, v in enumerate(literal.variables)
                if v not in kinds
            }
            literal = literal.replaced(own)
        bits += self._cost(literal, kinds) - math.log2(size + 1)
        extended = self._extended(table, literal, known)
        if self.foil.encoding_length:
            examples = np.unique(extended.example)
            if bits > self._allowed(int((examples < len(self.good)).sum())) + 1e-9:
                return None
        return [*body, literal], extended, known, bits, size + 1

    def _extended(self, table: Bindings, literal: Literal, kinds: dict[Variable, Any]) -> Bindings:
        """The bindings after a literal; its new variables get their types."""
        if literal.is_comparison:
            return table.compared(literal)
        if not literal.negated:
            for place, arg in enumerate(literal.args):
                if isinstance(arg, Variable):
                    kinds.setdefault(arg, self.space.types.of(literal.key, place))
        return table.extended(literal)

    def _cost(self, literal: Literal, kinds: dict[Variable, Any]) -> float:
        """Bits of a literal: its sign, its predicate, its arguments."""
        choices = self.space.n_choices(literal, kinds)
        return 1 + math.log2(len(self.space.predicates) + 1) + math.log2(max(1, choices))

    def _allowed(self, p: int) -> float:
        """Bits that say which p of the examples are positive: log2 |T| + log2 of |T| over p."""
        T = self.n_examples
        choose = math.lgamma(T + 1) - math.lgamma(p + 1) - math.lgamma(T - p + 1)
        return math.log2(T) + choose / math.log(2)

    def _determinate(
        self, body: list[Literal], kinds: dict[Variable, Any], found: list[Candidate]
    ) -> list[Literal]:
        """Determinate literals that say something new, as many as there are variables left."""
        added: list[Literal] = []
        names = fresh_names(v.name for v in kinds)
        room = self.foil.max_variables - len(kinds)
        for candidate in found:
            literal = candidate.literal
            new = [v for v in literal.variables if v not in kinds]
            old = {v: v for v in kinds}
            known = any(
                one.key == literal.key and not one.negated and one_way(literal, one, old) is not None
                for one in (*body, *added)
            )
            if not known and len(new) <= room:
                room -= len(new)
                added.append(literal.replaced({v: Variable(next(names)) for v in new}))
        return added

    def _pruned(self, clause: Clause) -> Clause:
        """The clause without the literals that exclude no negative example, and with constants in their places."""
        wrong, right = (int(covered(clause, examples).sum()) for examples in (self.bad, self.good))
        for literal in reversed(clause.body):
            shorter = clause.without(literal)
            if not shorter.body or not _is_evaluable(shorter):
                continue
            recursive = any(one.key == self.guard.target for one in shorter.body)
            if recursive and self.guard.order(self.head, shorter.body) is None:
                continue
            # Without the literal that binds it, a variable of a negated literal asks for more.
            kept = int(covered(shorter, self.good).sum())
            if kept >= right and int(covered(shorter, self.bad).sum()) <= wrong:
                clause, right = shorter, kept
        return tidy(Clause(self.head, _calls_last(clause)))


def _is_evaluable(clause: Clause) -> bool:
    """Whether the variables of comparisons, but for those that a = binds, have values when they are reached."""
    known = set(clause.head.variables) if clause.head else set()
    for literal in clause.body:
        if literal.is_comparison and not known.issuperset(literal.variables):
            return False
        if not literal.negated:
            known |= set(literal.variables)
    return True


def _calls_last(clause: Clause) -> list[Literal]:
    """The body with each recursive call after the literals that need no variable of its own.

    A proof of a call whose arguments are not known yet may find nothing: a negated literal gives them no values.
    """
    assert clause.head is not None
    ordered: list[Literal] = []
    calls: list[Literal] = []
    known = set(clause.head.variables)
    for literal in clause.body:
        if literal.key == clause.head.key and not literal.negated:
            calls.append(literal)
            continue
        tests = literal.negated or literal.is_comparison
        own = {v for call in calls for v in call.variables} - known
        if own & set(literal.variables) and (tests or not known & set(literal.variables)):
            ordered += calls
            known, calls = known | own, []
        ordered.append(literal)
        known |= set() if literal.negated else set(literal.variables)
    return ordered + calls


def has_ground_calls(clause: Clause) -> bool:
    """Whether all arguments of a recursive call have values when it is reached."""
    known = set(clause.head.variables) if clause.head else set()
    for literal in clause.body:
        if clause.head and literal.key == clause.head.key and not known.issuperset(literal.variables):
            return False
        known |= set() if literal.negated else set(literal.variables)
    return True


def tidy(clause: Clause) -> Clause:
    """The clause with X = c put in where X is no variable of the head, and its variables named in order."""
    for literal in clause.body:
        if literal.is_comparison and literal.predicate == "=" and not literal.negated:
            left, right = literal.args
            head = clause.head.variables if clause.head else []
            for variable, term in ((left, right), (right, left)):
                if isinstance(variable, Variable) and variable not in head:
                    return tidy(clause.without(literal).replaced({variable: term}).distinct())
    head_names = {v: v for v in (clause.head.variables if clause.head else [])}
    names = fresh_names(v.name for v in head_names)
    negated_only = {v for v in clause.variables if all(
        one.negated for one in clause.literals if v in one.variables
    )}  # fmt: skip
    naming: dict[Any, Any] = {}
    blanks = 0
    for variable in clause.variables:
        if variable in head_names:
            continue
        if variable in negated_only:
            blanks += 1
            naming[variable] = Variable(f"_{blanks}")
        else:
            naming[variable] = Variable(next(names))
    return clause.replaced(naming)


def needed(clauses: Sequence[Clause], good: Examples) -> list[Clause]:
    """The clauses without those all of whose positive examples others cover; clauses without recursion first."""
    hits = [covered(clause, good) for clause in clauses]
    kept = list(range(len(clauses)))
    for k in sorted(kept, key=lambda k: int(hits[k].sum())):
        others = [hits[j] for j in kept if j != k]
        if others and not (hits[k] & ~np.any(others, axis=0)).any():
            kept.remove(k)
    kept.sort(key=lambda k: (clauses[k].is_recursive, k))
    return [clauses[k] for k in kept]
