"""All bindings that satisfy the body of a clause without compound terms, by joins of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.rules.logic._engine.relations import FactBase, Relation, ranked_keys
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Compound, Variable

MOST_ROWS = 4_000_000  # bindings at a time; more examples than that allow are taken in halves
ORDER = ("<", ">", "=<", ">=", "=:=", "=\\=")


class TooManyBindings(ValueError):
    """A join that would have more rows than are allowed."""


class Bindings:
    """Values of variables, a row for each binding, and the example that each row belongs to."""

    def __init__(self, facts: FactBase, example: np.ndarray, columns: dict[Variable, np.ndarray]) -> None:
        self.facts, self.example, self.columns = facts, example, columns

    def __len__(self) -> int:
        return len(self.example)

    def taken(self, rows: np.ndarray) -> Bindings:
        """Some of the rows."""
        return Bindings(self.facts, self.example[rows], {v: c[rows] for v, c in self.columns.items()})

    def pattern(
        self, literal: Literal
    ) -> tuple[Relation, tuple[int, ...], list[np.ndarray], dict[Variable, int]] | None:
        """A literal's relation, its bound columns, their values, and the columns of new variables.

        None where a constant is unknown: nothing satisfies the literal.
        """
        bound, values, pairs = [], [], []
        new: dict[Variable, int] = {}
        for place, arg in enumerate(literal.args):
            if isinstance(arg, Variable) and arg not in self.columns:
                if arg in new:
                    pairs.append((new[arg], place))
                else:
                    new[arg] = place
                continue
            if isinstance(arg, Variable):
                column = self.columns[arg]
            else:
                code = self.facts.codes.get(arg)
                if code is None:
                    return None
                column = np.full(len(self), code)
            bound.append(place)
            values.append(column)
        return self.facts.relation(literal.key).where_equal(tuple(pairs)), tuple(bound), values, new

    def counts(self, literal: Literal) -> np.ndarray:
        """How many extensions each binding has that satisfy a literal."""
        found = self.pattern(literal)
        if found is None:
            return np.zeros(len(self), dtype=np.int64)
        relation, bound, values, _ = found
        if not bound:
            return np.full(len(self), len(relation))
        return relation.counts(bound, values, self.facts.size)

    def extended(self, literal: Literal, most: int = MOST_ROWS) -> Bindings:
        """The bindings that satisfy a literal of a predicate, with a column for each new variable."""
        if literal.negated:
            return self.taken(np.flatnonzero(self.counts(literal) == 0))
        found = self.pattern(literal)
        if found is None:
            return self.taken(np.empty(0, dtype=np.int64))
        relation, bound, values, new = found
        if not new:
            return self.taken(np.flatnonzero(self.counts(literal) > 0))
        if bound:
            if int(relation.counts(bound, values, self.facts.size).sum()) > most:
                raise TooManyBindings(f"{literal} has more than {most} bindings.")
            left, right = relation.join(bound, values, self.facts.size)
        else:
            if len(self) * len(relation) > most:
                raise TooManyBindings(f"{literal} has more than {most} bindings.")
            left = np.repeat(np.arange(len(self)), len(relation))
            right = np.tile(np.arange(len(relation)), len(self))
        table = self.taken(left)
        for variable, place in new.items():
            table.columns[variable] = relation.rows[right, place]
        return table

    def compared(self, literal: Literal) -> Bindings:
        """The bindings that satisfy a comparison; X = t binds X where it is new."""
        sides = [self._side(arg) for arg in literal.args]
        name = {"==": "=", "\\==": "\\="}.get(literal.predicate, literal.predicate)
        if name == "=" and not literal.negated and any(side is None for side in sides):
            a, b = sides
            if a is None and b is None:
                raise ValueError(f"{literal} compares two variables that have no values.")
            table = self.taken(np.arange(len(self)))
            variable = literal.args[0 if a is None else 1]
            assert isinstance(variable, Variable)
            table.columns[variable] = b if a is None else a  # type: ignore[assignment]
            return table
        if sides[0] is None or sides[1] is None:
            raise ValueError(f"{literal} compares a variable that has no value.")
        if name in ("=", "\\="):
            kept = (sides[0] == sides[1]) == (name == "=")
        else:
            kept = self._in_order(name, sides[0], sides[1], literal)
        return self.taken(np.flatnonzero(kept != literal.negated))

    def _side(self, arg: Any) -> np.ndarray | None:
        if isinstance(arg, Variable):
            return self.columns.get(arg)
        if isinstance(arg, Compound) and not arg.is_ground:
            raise ValueError(f"{arg} is a compound term with variables, which joins of facts cannot compare.")
        return np.full(len(self), self.facts.code(arg))

    def _in_order(self, name: str, left: np.ndarray, right: np.ndarray, literal: Literal) -> np.ndarray:
        if name not in ORDER:
            raise ValueError(f"{literal} cannot be evaluated on tables of facts.")
        numbers = self.facts.numbers()
        a, b = numbers[left], numbers[right]
        if np.isnan(a).any() or np.isnan(b).any():
            side = left if np.isnan(a).any() else right
            culprit = self.facts.terms[int(side[np.isnan(numbers[side])][0])]
            raise ValueError(f"Arithmetic needs numbers; got {culprit} in {literal}.")
        table = {"<": a < b, ">": a > b, "=<": a <= b, ">=": a >= b, "=:=": a == b, "=\\=": a != b}
        return table[name]

    def projected(self, needed: set[Variable]) -> Bindings:
        """The bindings of some of the variables, each once for every example."""
        if all(variable in needed for variable in self.columns):
            return self
        kept = {v: c for v, c in self.columns.items() if v in needed}
        columns = [self.example, *kept.values()]
        key = ranked_keys(columns, [c[:0] for c in columns])[0]
        rows = np.sort(np.unique(key, return_index=True)[1])
        return Bindings(self.facts, self.example, kept).taken(rows)


def satisfied(
    body: Sequence[Literal], table: Bindings, wanted: set[Variable], most: int = MOST_ROWS
) -> Bindings:
    """The bindings of the wanted variables that satisfy a body; too many examples are taken in halves."""
    try:
        return _satisfied(list(body), table, wanted, most)
    except TooManyBindings:
        first, last = (int(table.example.min()), int(table.example.max())) if len(table) else (0, 0)
        if first == last:
            raise
        middle = (first + last) // 2
        low = satisfied(body, table.taken(np.flatnonzero(table.example <= middle)), wanted, most)
        high = satisfied(body, table.taken(np.flatnonzero(table.example > middle)), wanted, most)
        columns = {v: np.concatenate([c, high.columns[v]]) for v, c in low.columns.items()}
        return Bindings(table.facts, np.concatenate([low.example, high.example]), columns)


def _satisfied(body: list[Literal], table: Bindings, wanted: set[Variable], most: int) -> Bindings:
    # A negated literal or a comparison waits for the variables that literals before it bind.
    waits: dict[int, set[Variable]] = {}
    known = set(table.columns)
    for place, literal in enumerate(body):
        if literal.negated or literal.is_comparison:
            waits[place] = known & set(literal.variables)
        if not literal.negated and not (literal.is_comparison and literal.predicate not in ("=", "==")):
            known = known | set(literal.variables)
    left = dict(enumerate(body))
    while left:
        if not len(table):
            missing = {v: np.empty(0, dtype=np.int64) for v in wanted if v not in table.columns}
            return Bindings(table.facts, table.example, {**table.columns, **missing})
        place = _cheapest(left, waits, table)
        literal = left.pop(place)
        table = table.compared(literal) if literal.is_comparison else table.extended(literal, most)
        needed = wanted.union(*(literal.variables for literal in left.values()))
        table = table.projected(needed)
    return table


def _cheapest(left: dict[int, Literal], waits: dict[int, set[Variable]], table: Bindings) -> int:
    """The literal to evaluate next: tests first, then the one with the fewest extensions."""
    known = set(table.columns)
    best, fewest = -1, np.inf
    for place, literal in left.items():
        if place in waits:
            if waits[place] <= known:
                return place
            continue
        if literal.is_comparison or (known.issuperset(literal.variables) and literal.args):
            return place
        count = float(table.counts(literal).sum())
        if count < fewest:
            best, fewest = place, count
    return best if best >= 0 else next(iter(left))


def is_function_free(clause: Clause) -> bool:
    """Whether the arguments in a clause's body are variables and ground terms."""
    return all(
        isinstance(arg, Variable) or arg.is_ground for literal in clause.body for arg in literal.args
    ) and not any(literal.predicate == "is" and literal.is_comparison for literal in clause.body)
