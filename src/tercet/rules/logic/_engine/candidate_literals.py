"""Literals that may be added to a clause, each with the bindings that would be left.

Of a predicate the literal with new variables at all places but one comes first; its specialisations, in which
further places hold old variables, cover no more positive bindings, so that a branch whose best gain is too small
is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.rules.logic._engine.body_query import Bindings
from tercet.rules.logic._engine.relations import FactBase, Key
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Term, Variable, fresh_names

BACKTRACK = 0.8  # share of the best gain from which a literal is worth coming back to


@dataclass(frozen=True)
class Candidate:
    """A literal with what it keeps: p and n bindings of positives and negatives, t old positive bindings."""

    literal: Literal
    p: int
    n: int
    t: int
    gain: float
    n_new: int

    @property
    def rank(self) -> tuple[float, int, bool]:
        """The larger, the better; of equal gains fewer new variables and no negation."""
        return round(self.gain, 9), -self.n_new, not self.literal.negated and self.literal.predicate != "\\="


def information(p: float, n: float) -> float:
    """Bits that say that a binding is positive: -log2(p / (p + n))."""
    return float(-np.log2(p / (p + n))) if p else np.inf


class Types:
    """Types of the arguments of predicates: as given, or columns that share a constant are of one type."""

    def __init__(self, facts: FactBase, given: dict[str, Sequence[str]] | None) -> None:
        self.facts = facts
        self._of: dict[tuple[Key, int], Any] = {}
        columns = [(key, place) for key in facts.relations for place in range(key[1])]
        if given is not None:
            for key, place in columns:
                names = given.get(key[0])
                if names is not None and len(names) != key[1]:
                    raise ValueError(f"types of {key[0]!r} must be {key[1]} names; got {list(names)!r}.")
                self._of[key, place] = None if names is None else names[place]
            return
        first = np.full(len(facts.terms), -1, dtype=np.int64)
        parent = list(range(len(columns)))

        def root(k: int) -> int:
            while parent[k] != k:
                parent[k] = k = parent[parent[k]]
            return k

        for k, (key, place) in enumerate(columns):
            codes = np.unique(facts.relations[key].rows[:, place])
            for other in np.unique(first[codes]):
                if other >= 0:
                    parent[root(k)] = root(int(other))
            first[codes] = k
        self._of = {column: root(k) for k, column in enumerate(columns)}

    def of(self, key: Key, place: int) -> Any:
        """The type of an argument; None fits all."""
        return self._of.get((key, place))

    def kinds_of(self, code: int) -> set[Any]:
        """The types of a constant, by the columns that it is in."""
        return {
            kind
            for (key, place), kind in self._of.items()
            if (self.facts.relations[key].rows[:, place] == code).any()
        }

    def domain(self, kind: Any) -> np.ndarray:
        """The numbers of all constants of a type."""
        columns = [
            self.facts.relations[key].rows[:, place]
            for (key, place), found in self._of.items()
            if kind is None or found is None or found == kind
        ]
        return np.unique(np.concatenate(columns)) if columns else np.empty(0, dtype=np.int64)


@dataclass
class Space:
    """What literals there are to choose from."""

    facts: FactBase
    types: Types
    target: Key
    predicates: list[Key]
    constants: list[tuple[Term, Any]]  # each with its type
    negation: bool
    max_variables: int
    max_bindings: int

    def fits(self, one: Any, other: Any) -> bool:
        """Whether two types may be the same."""
        return one is None or other is None or one == other

    def comparisons(self, kinds: dict[Variable, Any]) -> Iterator[Literal]:
        """Equalities of two variables of one type, or of a variable and a constant."""
        variables = list(kinds)
        for k, first in enumerate(variables):
            for second in variables[k + 1 :]:
                if self.fits(kinds[first], kinds[second]):
                    yield Literal("=", (first, second))
            for constant, kind in self.constants:
                if self.fits(kind, kinds[first]):
                    yield Literal("=", (first, constant))

    def n_choices(self, literal: Literal, kinds: dict[Variable, Any]) -> int:
        """How many ways there are to choose the arguments of a literal's predicate, one old variable among them."""
        if literal.is_comparison:
            return sum(1 for _ in self.comparisons(kinds))
        ways = 1
        for place in range(literal.key[1]):
            kind = self.types.of(literal.key, place)
            ways *= 1 + sum(self.fits(own, kind) for own in kinds.values())
        return ways - 1


class Search:
    """All literals that one clause may be extended by, scored on its bindings."""

    def __init__(
        self,
        space: Space,
        table: Bindings,
        positives: int,
        kinds: dict[Variable, Any],
        admissible: Callable[[Literal], bool],
    ) -> None:
        self.space, self.table, self.kinds, self.admissible = space, table, kinds, admissible
        self.p0 = int(np.searchsorted(table.example, positives))  # rows of positives come first
        self.n0 = len(table) - self.p0
        self.before = information(self.p0, self.n0)
        self.best = 0.0
        self.found: list[Candidate] = []
        self._determinate: list[Candidate] = []

    def run(self, present: set[Literal]) -> tuple[list[Candidate], list[Candidate]]:
        """Candidates of positive gain, the best first, and determinate literals."""
        for key in self.space.predicates:
            self._predicate(key, present)
        for literal in self.space.comparisons(self.kinds):
            if literal not in present and literal.negation() not in present:
                mask = np.zeros(len(self.table), dtype=np.int64)
                mask[self._rows_equal(literal)] = 1
                self._score(literal, mask, 0)
        self.found.sort(key=lambda candidate: candidate.rank, reverse=True)
        return self.found, self._determinate

    def _predicate(self, key: Key, present: set[Literal]) -> None:
        names = fresh_names(variable.name for variable in self.kinds)
        new = [Variable(next(names)) for _ in range(key[1])]
        room = self.space.max_variables - len(self.kinds)
        branches: list[tuple[int, tuple[Variable, ...]]] = [(0, tuple(new))]
        while branches:  # depth first: the places before `place` are settled
            place, args = branches.pop()
            used = [v for v in dict.fromkeys(args) if v in new]
            literal = Literal(key[0], _in_order(args, new))
            if any(arg not in new for arg in args) and literal not in present:
                count = self.table.counts(literal)
                if not self._score(literal, count, len(used), room):
                    continue
            branches += reversed([
                (k + 1, (*args[:k], variable, *args[k + 1 :]))
                for k in range(place, key[1])
                for variable in self._choices(key, k, args, new)
            ])  # fmt: skip

    def _choices(
        self, key: Key, place: int, args: tuple[Variable, ...], new: list[Variable]
    ) -> Iterator[Variable]:
        """Old variables of the place's type, and new ones that stand at an earlier place."""
        kind = self.space.types.of(key, place)
        for variable, own in self.kinds.items():
            if self.space.fits(own, kind):
                yield variable
        for earlier in range(place):
            if args[earlier] == new[earlier] and self.space.types.of(key, earlier) == kind:
                yield args[earlier]

    def _rows_equal(self, literal: Literal) -> np.ndarray:
        left, right = literal.args
        columns = self.table.columns
        values = columns[right] if isinstance(right, Variable) else self.space.facts.codes.get(right, -1)
        assert isinstance(left, Variable)
        return np.flatnonzero(columns[left] == values)

    def _score(self, literal: Literal, count: np.ndarray, n_new: int, room: int = 0) -> bool:
        """Keep a literal and its negation where they gain; whether a specialisation might."""
        positive, negative = count[: self.p0], count[self.p0 :]
        p, n, t = int(positive.sum()), int(negative.sum()), int(np.count_nonzero(positive))
        recursive = literal.key == self.space.target
        if n_new <= room and p + n <= self.space.max_bindings:
            self._keep(literal, p, n, t, n_new)
            if n_new and t == self.p0 == p and negative.max(initial=0) <= 1 and not recursive:
                self._determinate.append(Candidate(literal, p, n, t, 0.0, n_new))
        limit = BACKTRACK * self.best
        hopeful = t > 0 and t * self.before >= limit
        if self.space.negation and not recursive:
            lost = int(np.count_nonzero(negative))  # the most that the negation of a specialisation excludes
            self._keep(literal.negation(), self.p0 - t, self.n0 - lost, self.p0 - t, 0)
            hopeful |= lost > 0 and self.p0 * (self.before - information(self.p0, self.n0 - lost)) >= limit
        return hopeful

    def _keep(self, literal: Literal, p: int, n: int, t: int, n_new: int) -> None:
        if not p:
            return
        gain = t * (self.before - information(p, n))
        if gain > 1e-9 and gain >= BACKTRACK * self.best and self.admissible(literal):
            self.best = max(self.best, gain)
            self.found.append(Candidate(literal, p, n, t, gain, n_new))


def _in_order(args: tuple[Variable, ...], new: list[Variable]) -> tuple[Term, ...]:
    """The arguments with new variables named in the order in which they occur."""
    names = dict(zip(dict.fromkeys(arg for arg in args if arg in new), new))
    return tuple(names.get(arg, arg) for arg in args)
