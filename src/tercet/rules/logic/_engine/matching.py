"""Matching of literals: a substitution that maps each of some literals onto one of others.

This is a constraint satisfaction problem: variables are to have terms for values, and each literal allows the
tuples of values that make it one of the targets. Values without support in every literal are removed
(generalised arc consistency, with the tuples of a literal as the bits of an integer), the variable with the
fewest values left is bound next, and parts that share no variable are solved on their own. A plain search in the
order of the text takes exponential time on clauses of a few dozen literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tercet.rules.logic._engine.machine import ProofLimitError
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Compound, Term, Variable

Binding = dict[Variable, Term]
Shape = tuple[tuple[str, int], bool]
FEW = 8  # partners that need no index


class Targets:
    """Literals to map onto, found by predicate, sign and any argument."""

    def __init__(self, literals: Iterable[Literal]) -> None:
        self.literals = dict.fromkeys(literals)
        self._groups: dict[Shape, list[Literal]] = {}
        for literal in self.literals:
            self._groups.setdefault(shape(literal), []).append(literal)
        self._indices: dict[tuple[Shape, int], dict[Term, list[Literal]]] = {}

    def partners(self, pattern: Literal, binding: Mapping[Variable, Term]) -> list[tuple[Literal, Binding]]:
        """The literals that a pattern can become, each with the bindings that it adds."""
        group = self._groups.get(shape(pattern), [])
        for place, arg in enumerate(pattern.args):
            term = binding.get(arg) if isinstance(arg, Variable) else arg
            if len(group) > FEW and term is not None and (term.is_ground or isinstance(arg, Variable)):
                found = self._index(shape(pattern), place).get(term, [])
                group = found if len(found) < len(group) else group
        pairs = ((target, one_way(pattern, target, binding)) for target in group)
        return [(target, added) for target, added in pairs if added is not None]

    def _index(self, group: Shape, place: int) -> dict[Term, list[Literal]]:
        if (group, place) not in self._indices:
            table: dict[Term, list[Literal]] = {}
            for literal in self._groups.get(group, ()):
                table.setdefault(literal.args[place], []).append(literal)
            self._indices[group, place] = table
        return self._indices[group, place]


class Tries:
    """How many mappings a search may try: the problem is NP-complete."""

    def __init__(self, limit: int) -> None:
        self.limit, self.left = limit, limit

    def spend(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise ProofLimitError(
                f"subsumption was not decided in max_tries={self.limit} mappings of literals."
            )


def shape(literal: Literal) -> Shape:
    """What literals that map onto each other have in common: predicate, arity and sign."""
    return literal.key, literal.negated


def one_way(pattern: Literal, target: Literal, binding: Mapping[Variable, Term]) -> Binding | None:
    """The bindings that must be added so that a literal becomes another; variables of the target stay."""
    added: Binding = {}
    waiting = list(zip(pattern.args, target.args))
    while waiting:
        a, b = waiting.pop()
        if isinstance(a, Variable):
            known = binding.get(a)
            if known is None:
                known = added.setdefault(a, b)
            if known is not b and known != b:
                return None
        elif isinstance(a, Compound) and not a.is_ground:
            if not isinstance(b, Compound) or a.functor != b.functor or len(a.args) != len(b.args):
                return None
            waiting += zip(a.args, b.args)
        elif a != b:
            return None
    return added


class Matching:
    """The tuples of values that each of some literals allows its variables."""

    def __init__(self, patterns: Iterable[Literal], targets: Targets, fixed: Binding) -> None:
        self.fixed = fixed
        self.variables: dict[Variable, int] = {}
        self.terms: list[Term] = []
        self.scopes: list[list[int]] = []  # the variables of each literal
        self.masks: list[list[dict[int, int]]] = []  # for each of them, the tuples that have a value, as bits
        self.alive: list[int] = []  # the tuples that are allowed
        self.places: list[dict[Literal, int]] = []  # the tuple that each target is
        codes: dict[Term, int] = {}
        for pattern in dict.fromkeys(patterns):
            free = [v for v in pattern.variables if v not in fixed]
            masks: list[dict[int, int]] = [{} for _ in free]
            places = {}
            for k, (target, added) in enumerate(targets.partners(pattern, fixed)):
                places[target] = k
                for mask, variable in zip(masks, free):
                    code = codes.setdefault(added[variable], len(codes))
                    mask[code] = mask.get(code, 0) | 1 << k
            self.scopes.append([self.variables.setdefault(v, len(self.variables)) for v in free])
            self.masks.append(masks)
            self.places.append(places)
            self.alive.append((1 << len(places)) - 1)
        self.terms, self.codes = list(codes), codes
        self.literals_of: list[list[int]] = [[] for _ in self.variables]
        for c, scope in enumerate(self.scopes):
            for v in scope:
                self.literals_of[v].append(c)

    def solve(self, tries: Tries, without: Literal | None = None) -> Binding | None:
        """A substitution that maps every literal onto a target (but for one that is left out), or None.

        Variables stay what they are where they can.
        """
        alive = [
            bits & ~(1 << places[without]) if without in places else bits
            for bits, places in zip(self.alive, self.places)
        ]
        if not all(alive):
            return None
        domains = [
            set(self.masks[found[0]][self.scopes[found[0]].index(v)])
            for v, found in enumerate(self.literals_of)
        ]
        if not self._propagate(domains, alive, set(range(len(alive)))):
            return None
        values = self._search(domains, alive, list(range(len(domains))), tries)
        if values is None:
            return None
        return {**self.fixed, **{v: self.terms[values[k]] for v, k in self.variables.items()}}

    def _propagate(self, domains: list[set[int]], alive: list[int], waiting: set[int]) -> bool:
        """Remove tuples and values without support; whether every literal has a tuple left."""
        while waiting:
            c = waiting.pop()
            tuples = alive[c]
            for mask, v in zip(self.masks[c], self.scopes[c]):
                allowed = 0
                for value in domains[v]:
                    allowed |= mask.get(value, 0)
                tuples &= allowed
            if not tuples:
                return False
            alive[c] = tuples
            for mask, v in zip(self.masks[c], self.scopes[c]):
                kept = {value for value in domains[v] if mask.get(value, 0) & tuples}
                if len(kept) < len(domains[v]):
                    domains[v] = kept
                    waiting.update(self.literals_of[v])
        return True

    def _search(
        self, domains: list[set[int]], alive: list[int], among: list[int], tries: Tries
    ) -> dict[int, int] | None:
        """Values for some variables, whose domains are arc consistent."""
        found = {v: next(iter(domains[v])) for v in among if len(domains[v]) == 1}
        for part in self._parts([v for v in among if v not in found], domains):
            chosen = min(part, key=lambda v: (len(domains[v]), v))
            for value in self._ordered(chosen, domains[chosen]):
                tries.spend()
                narrowed, left = list(domains), list(alive)
                narrowed[chosen] = {value}
                if self._propagate(narrowed, left, set(self.literals_of[chosen])):
                    solved = self._search(narrowed, left, part, tries)
                    if solved is not None:
                        found.update(solved)
                        break
            else:
                return None
        return found

    def _ordered(self, variable: int, values: set[int]) -> list[int]:
        """The values of a variable, the variable itself first."""
        own = self.codes.get(list(self.variables)[variable], -1)
        return sorted(values, key=lambda value: (value != own, value))

    def _parts(self, among: list[int], domains: list[set[int]]) -> list[list[int]]:
        """Groups of variables that literals link, small ones first."""
        left, groups = set(among), []
        while left:
            group, waiting = [], [min(left)]
            left.discard(waiting[0])
            while waiting:
                v = waiting.pop()
                group.append(v)
                for c in self.literals_of[v]:
                    linked = left.intersection(self.scopes[c])
                    left -= linked
                    waiting += sorted(linked)
            groups.append(group)
        return sorted(groups, key=len)


def match_all(
    patterns: Sequence[Literal], targets: Targets, binding: Binding, tries: Tries
) -> Binding | None:
    """A substitution that maps every pattern onto a target, or None."""
    return Matching(patterns, targets, binding).solve(tries)
