"""Matching of literals: a substitution that maps each of some literals onto one of others.

The literal with the fewest partners left is mapped first, every binding removes partners that no longer fit, and
parts that share no variable are solved on their own: a plain search in the order of the text takes exponential time
on clauses of a few dozen literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tercet.rules.logic._engine.machine import ProofLimitError
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Compound, Term, Variable

Binding = dict[Variable, Term]
Shape = tuple[tuple[str, int], bool]
FEW = 8  # partners that need no index


class Targets:
    """Literals to map onto, found by predicate, sign and any argument; one of them may be left out."""

    def __init__(self, literals: Iterable[Literal]) -> None:
        self.literals = dict.fromkeys(literals)
        self.left_out: Literal | None = None
        self._groups: dict[Shape, list[Literal]] = {}
        for literal in self.literals:
            self._groups.setdefault(shape(literal), []).append(literal)
        self._indices: dict[tuple[Shape, int], dict[Term, list[Literal]]] = {}

    def __contains__(self, literal: Literal) -> bool:
        return literal in self.literals and literal != self.left_out

    def partners(self, pattern: Literal, binding: Mapping[Variable, Term]) -> list[tuple[Literal, Binding]]:
        """The literals that a pattern can become, each with the bindings that it adds."""
        group = self._groups.get(shape(pattern), [])
        for place, arg in enumerate(pattern.args):
            term = binding.get(arg) if isinstance(arg, Variable) else arg
            if len(group) > FEW and term is not None and (term.is_ground or isinstance(arg, Variable)):
                found = self._index(shape(pattern), place).get(term, [])
                group = found if len(found) < len(group) else group
        pairs = ((target, one_way(pattern, target, binding)) for target in group if target != self.left_out)
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


def match_all(
    patterns: Sequence[Literal], targets: Targets, binding: Binding, tries: Tries
) -> Binding | None:
    """A substitution that maps every pattern onto a target, or None."""
    distinct = list(dict.fromkeys(patterns))
    domains: dict[int, list[Literal]] = {}
    for k, pattern in enumerate(distinct):
        domains[k] = [target for target, _ in targets.partners(pattern, binding)]
        if not domains[k]:
            return None
    return _solve(distinct, domains, dict(binding), tries)


def _solve(
    patterns: list[Literal], domains: dict[int, list[Literal]], binding: Binding, tries: Tries
) -> Binding | None:
    """Solve the parts that share no free variable one after the other."""
    found = dict(binding)
    for part in _parts(patterns, domains, binding):
        solved = _assign(patterns, {k: domains[k] for k in part}, binding, tries)
        if solved is None:
            return None
        found.update(solved)
    return found


def _assign(
    patterns: list[Literal], domains: dict[int, list[Literal]], binding: Binding, tries: Tries
) -> Binding | None:
    """Map the literal with the fewest partners, then the rest."""
    place = min(domains, key=lambda k: (len(domains[k]), k))
    rest = {k: partners for k, partners in domains.items() if k != place}
    for target in domains[place]:
        tries.spend()
        added = one_way(patterns[place], target, binding)
        if added is None:
            continue
        extended = {**binding, **added}
        narrowed = _narrowed(patterns, rest, extended, added)
        if narrowed is None:
            continue
        solved = _solve(patterns, narrowed, extended, tries) if narrowed else extended
        if solved is not None:
            return solved
    return None


def _narrowed(
    patterns: list[Literal], domains: dict[int, list[Literal]], binding: Binding, added: Binding
) -> dict[int, list[Literal]] | None:
    """The partners that are left after new bindings; None where a literal has none."""
    found = {}
    for k, partners in domains.items():
        if any(variable in added for variable in patterns[k].variables):
            partners = [t for t in partners if one_way(patterns[k], t, binding) is not None]
            if not partners:
                return None
        found[k] = partners
    return found


def _parts(patterns: list[Literal], domains: dict[int, Any], binding: Binding) -> list[list[int]]:
    """Groups of literals that are linked by variables without a value; small ones first."""
    parent = {k: k for k in domains}

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    first: dict[Variable, int] = {}
    for k in domains:
        for variable in patterns[k].variables:
            if variable not in binding:
                parent[root(k)] = root(first.setdefault(variable, k))
    groups: dict[int, list[int]] = {}
    for k in domains:
        groups.setdefault(root(k), []).append(k)
    return sorted(groups.values(), key=len)


def fold(
    literal: Literal, body: Sequence[Literal], targets: Targets, fixed: Binding, tries: Tries
) -> Binding | None:
    """A substitution that maps a body onto targets without one of its literals, and moves as little as it can.

    A variable without a binding stays what it is, so that a literal is looked at only if its image is no target.
    """
    holding: dict[Variable, list[Literal]] = {}
    for other in body:
        for variable in other.variables:
            holding.setdefault(variable, []).append(other)
    targets.left_out = literal
    try:
        return _settled([literal], {**fixed}, holding, targets, tries)
    finally:
        targets.left_out = None


def _settled(
    astray: list[Literal],
    binding: Binding,
    holding: dict[Variable, list[Literal]],
    targets: Targets,
    tries: Tries,
) -> Binding | None:
    """Bindings under which the literals that are astray have images, too."""
    if not astray:
        return binding
    options = [targets.partners(one, binding) for one in astray]
    place = min(range(len(astray)), key=lambda k: len(options[k]))
    # First the partners that move the fewest variables.
    for _, added in sorted(options[place], key=lambda pair: sum(t != v for v, t in pair[1].items())):
        tries.spend()
        extended = {**binding, **added}
        touched = [other for v, t in added.items() if t != v for other in holding[v]]
        following = [
            one for one in dict.fromkeys([*astray, *touched]) if one.replaced(extended) not in targets
        ]
        found = _settled(following, extended, holding, targets, tries)
        if found is not None:
            return found
    return None
