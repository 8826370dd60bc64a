"""Inverse resolution: clauses from which given ones follow by a resolution step (逆归结).

With A, B and C for conjunctions of literals:

    absorption            p <- A, B     q <- A        =>  p <- q, B     q <- A
    identification        p <- A, B     p <- A, q     =>  q <- B        p <- A, q
    intra-construction    p <- A, B     p <- A, C     =>  p <- A, q     q <- B     q <- C
    inter-construction    p <- A, B     q <- A, C     =>  p <- r, B     r <- A     q <- r, C

In first-order logic A is found up to a substitution, which is undone (the inverse substitution). Every result is
checked: resolution gives the clauses back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tercet.core.catalog import method
from tercet.rules.logic._engine.matching import Binding, one_way, shape
from tercet.rules.logic.clause import Clause, as_clause
from tercet.rules.logic.lgg import Generalisation
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.resolution import apart, resolve
from tercet.rules.logic.terms import Term, Variable, fresh_names, term_variables


@method(
    zh="吸收（逆归结）",
    task="inductive logic programming",
    model="p <- A, B and q <- A follow from p <- q, B and q <- A",
    algorithms="V operator: the body of one clause, up to a substitution, is replaced by its head in the other",
    texts=["watermelon notes ch. 13, 13.5"],
)
def absorption(clause: Any, other: Any) -> list[Clause]:
    """Absorption: clauses p <- q, B that resolve with q <- A to p <- A, B.

    Parameters
    ----------
    clause : Clause or Prolog text
        p <- A, B, with A up to a substitution.
    other : Clause or Prolog text
        q <- A, which stays.

    Returns
    -------
    found : list of Clause
        One for each way to find A; constants that the head of the other clause restores are variables in the first
        form, and kept in the second.

    Examples
    --------
    >>> [str(c) for c in absorption("p :- a, b, c.", "q :- a, b.")]
    ['p :- q, c.']
    >>> for c in absorption("tiger(tom) :- cat(tom), striped(tom).", "feline(tom) :- cat(tom)."):
    ...     print(c)
    tiger(A) :- feline(A), striped(A).
    tiger(tom) :- feline(tom), striped(tom).
    """
    C, original = as_clause(clause).distinct(), as_clause(other).distinct()
    D = apart(original, C)
    found: dict[Clause, None] = {}
    if D.head is None or not D.body:
        return []
    for theta in _images(D.body, C.body, {}):
        gone = {literal.replaced(theta) for literal in D.body}
        places = [k for k, literal in enumerate(C.body) if literal in gone]
        body = [literal for k, literal in enumerate(C.body) if k not in places]
        body.insert(places[0], D.head.replaced(theta))
        specific = Clause(C.head, body)
        for candidate in (_undone(specific, D.head), specific):
            if _follows(C, candidate, original):
                found[candidate] = None
    return list(found)


@method(
    zh="辨识（逆归结）",
    task="inductive logic programming",
    model="p <- A, B and p <- A, q follow from q <- B and p <- A, q",
    algorithms="V operator: what one clause has in the place of a literal of the other defines that literal",
    texts=["watermelon notes ch. 13, 13.5"],
)
def identification(clause: Any, other: Any) -> list[Clause]:
    """Identification: clauses q <- B that resolve with p <- A, q to p <- A, B.

    Parameters
    ----------
    clause : Clause or Prolog text
        p <- A, B, an instance of p and A.
    other : Clause or Prolog text
        p <- A, q, which stays.

    Returns
    -------
    found : list of Clause
        One for each way to choose q and to find A.

    Examples
    --------
    >>> [str(c) for c in identification("p :- a, b, c.", "p :- a, q.")]
    ['q :- b, c.']
    >>> grown = "old(ann) :- parent(ann, tom), adult(tom)."
    >>> [str(c) for c in identification(grown, "old(X) :- kid(X, Y), adult(Y).")]
    ['kid(ann, tom) :- parent(ann, tom).']
    """
    C, original = as_clause(clause).distinct(), as_clause(other).distinct()
    D = apart(original, C)
    found: dict[Clause, None] = {}
    if C.head is None or D.head is None or C.head.key != D.head.key:
        return []
    start = one_way(D.head, C.head, {})
    for k, literal in enumerate(D.body):
        rest = [*D.body[:k], *D.body[k + 1 :]]
        if start is None or literal.negated:
            continue
        for theta in _images(rest, C.body, start):
            gone = {one.replaced(theta) for one in rest}
            candidate = Clause(literal.replaced(theta), (one for one in C.body if one not in gone))
            if _follows(C, original, candidate):
                found[candidate] = None
    return list(found)


@method(
    zh="内构（逆归结）",
    task="inductive logic programming",
    model="p <- A, B and p <- A, C follow from p <- A, q and q <- B and q <- C, with a new q",
    algorithms="W operator: what two clauses of one head do not share defines a new predicate",
    texts=["watermelon notes ch. 13, 13.5"],
)
def intra_construction(first: Any, second: Any, name: str | None = None) -> tuple[Clause, ...] | None:
    """Intra-construction: two clauses of one predicate, by way of a new predicate for where they differ.

    Parameters
    ----------
    first, second : Clause or Prolog text
        p <- A, B and p <- A, C.
    name : str, optional
        The new predicate; by default new1, new2 ... whichever is free.

    Returns
    -------
    clauses : (p <- A, q; q <- B; q <- C), or None
        None where the heads are of different predicates, or the clauses do not differ.

    Examples
    --------
    >>> for clause in intra_construction("p :- a, b.", "p :- a, c.", name="q"):
    ...     print(clause)
    p :- a, q.
    q :- b.
    q :- c.
    """
    C1, original = as_clause(first).distinct(), as_clause(second).distinct()
    C2 = apart(original, C1)
    if C1.head is None or C2.head is None or C1.head.key != C2.head.key:
        return None
    common = _Common(C1, C2)
    head = common.table.literal(C1.head, C2.head)
    common.grow()
    B, C = common.rest()
    if head is None or (not B and not C):
        return None
    invented = _invented(name, C1, C2)
    args = common.arguments(B, C)
    q = Literal(invented, args)
    result = (
        common.named(Clause(head, (*common.literals, q))),
        Clause(q.replaced(common.values(0)), B),
        Clause(q.replaced(common.values(1)), C).replaced(_own_names(C2, original)),
    )
    back = _follows(C1, result[0], result[1]) and _follows(original, result[0], result[2])
    return result if back else None


@method(
    zh="互构（逆归结）",
    task="inductive logic programming",
    model="p <- A, B and q <- A, C follow from p <- r, B and q <- r, C and r <- A, with a new r",
    algorithms="W operator: what two clauses share defines a new predicate",
    texts=["watermelon notes ch. 13, 13.5"],
)
def inter_construction(first: Any, second: Any, name: str | None = None) -> tuple[Clause, ...] | None:
    """Inter-construction: two clauses, by way of a new predicate for what their bodies share.

    Parameters
    ----------
    first, second : Clause or Prolog text
        p <- A, B and q <- A, C.
    name : str, optional
        The new predicate; by default new1, new2 ... whichever is free.

    Returns
    -------
    clauses : (p <- r, B; r <- A; q <- r, C), or None
        None where the bodies share nothing.

    Examples
    --------
    >>> for clause in inter_construction("p :- a, b.", "q :- a, c.", name="r"):
    ...     print(clause)
    p :- r, b.
    r :- a.
    q :- r, c.
    """
    C1, original = as_clause(first).distinct(), as_clause(second).distinct()
    C2 = apart(original, C1)
    best: _Common | None = None
    for i in range(len(C1.body)):
        for j in range(len(C2.body)):
            common = _Common(C1, C2)
            if common.take(i, j):
                common.grow()
                if best is None or common.rank > best.rank:
                    best = common
    if best is None:
        return None
    B, C = best.rest()
    args = best.arguments([*_head(C1), *B], [*_head(C2), *C])
    r = Literal(_invented(name, C1, C2), args)
    result = (
        Clause(C1.head, (r.replaced(best.values(0)), *B)),
        best.named(Clause(r, best.literals)),
        Clause(C2.head, (r.replaced(best.values(1)), *C)).replaced(_own_names(C2, original)),
    )
    back = _follows(C1, result[0], result[1]) and _follows(original, result[2], result[1])
    return result if back else None


class _Common:
    """What two clauses share, as literals over variables that stand for pairs of their terms."""

    def __init__(self, first: Clause, second: Clause) -> None:
        self.clauses = first, second
        taken = {variable.name for clause in self.clauses for variable in clause.variables}
        self.table = Generalisation(taken)
        self.literals: list[Literal] = []
        self.used: tuple[set[int], set[int]] = (set(), set())

    @property
    def rank(self) -> tuple[int, int]:
        return len(self.literals), -len(self.table.variables)

    def take(self, i: int, j: int) -> bool:
        """Share a literal of each body; whether they are of one predicate and sign."""
        found = self.table.literal(self.clauses[0].body[i], self.clauses[1].body[j])
        if found is None:
            return False
        self.literals.append(found)
        self.used[0].add(i)
        self.used[1].add(j)
        return True

    def grow(self) -> None:
        """Share the literals that are linked to what is shared, those that need the fewest new variables first."""
        while True:
            options = []
            for i, a in enumerate(self.clauses[0].body):
                for j, b in enumerate(self.clauses[1].body):
                    if i in self.used[0] or j in self.used[1] or shape(a) != shape(b):
                        continue
                    pairs = list(zip(a.args, b.args))
                    new = {pair for pair in pairs if pair[0] != pair[1] and pair not in self.table.variables}
                    if not new or len(new) < len(set(pairs)):
                        options.append((len(new), i, j))
            if not options:
                return
            self.take(*min(options)[1:])

    def rest(self) -> tuple[list[Literal], list[Literal]]:
        """The literals that are not shared, of each body."""
        bodies = [
            [literal for k, literal in enumerate(clause.body) if k not in used]
            for clause, used in zip(self.clauses, self.used)
        ]
        return bodies[0], bodies[1]

    def arguments(self, first: Sequence[Literal], second: Sequence[Literal]) -> list[Variable]:
        """The variables of the shared part that the new predicate must pass on.

        Those that stand for something else than a variable, for one that occurs in the rest of its clause, or for
        one that another stands for, too.
        """
        found = []
        for pair, variable in self.table.variables.items():
            needed = False
            for side, term in enumerate(pair):
                outside = {v for literal in (first, second)[side] for v in literal.variables}
                again = any(p != pair and _holds(p[side], term) for p in self.table.variables)
                needed |= not isinstance(term, Variable) or term in outside or again
            if needed:
                found.append(variable)
        return found

    def values(self, side: int) -> dict[Any, Term]:
        """What the variables of the shared part stand for in one of the clauses."""
        return {variable: pair[side] for pair, variable in self.table.variables.items()}

    def named(self, clause: Clause) -> Clause:
        """A clause over the shared part, with the first clause's names of variables where they are free."""
        naming: dict[Any, Term] = {}
        taken = {v.name for v in clause.variables if v not in self.values(0)}
        names = fresh_names({*taken, *(v.name for v in self.clauses[0].variables)})
        for variable, term in self.values(0).items():
            free = isinstance(term, Variable) and term.name not in taken
            naming[variable] = term if free else Variable(next(names))
            taken.add(naming[variable].name)  # type: ignore[union-attr]
        return clause.replaced(naming)


def _holds(term: Term, variable: Term) -> bool:
    return isinstance(variable, Variable) and variable in set(term_variables(term))


def _own_names(renamed: Clause, original: Clause) -> dict[Any, Term]:
    """The names that a clause's variables had before they were renamed apart."""
    return dict(zip(renamed.variables, original.variables))


def _head(clause: Clause) -> list[Literal]:
    return [] if clause.head is None else [clause.head]


def _images(patterns: Sequence[Literal], targets: Sequence[Literal], binding: Binding) -> Iterator[Binding]:
    """All substitutions that map every pattern onto a target."""
    if not patterns:
        yield binding
        return
    for target in targets:
        if shape(target) == shape(patterns[0]):
            added = one_way(patterns[0], target, binding)
            if added is not None:
                yield from _images(patterns[1:], targets, {**binding, **added})


def _undone(clause: Clause, head: Literal) -> Clause:
    """The clause with variables for the terms of another clause's head, which resolution with it restores."""
    names = fresh_names(variable.name for variable in clause.variables)
    terms = [arg for arg in head.args if not isinstance(arg, Variable)]
    return clause.replaced({term: Variable(next(names)) for term in dict.fromkeys(terms)})


def _follows(wanted: Clause, first: Clause, second: Clause) -> bool:
    """Whether resolution of two clauses gives a third, but for names and order."""
    return any(wanted.is_variant(resolvent) for resolvent in resolve(first, second))


def _invented(name: str | None, *clauses: Clause) -> str:
    taken = {literal.predicate for clause in clauses for literal in clause.literals}
    if name is not None:
        if name in taken:
            raise ValueError(f"name must be that of a new predicate; {name!r} is in the clauses.")
        return name
    return next(f"new{k}" for k in range(1, len(taken) + 2) if f"new{k}" not in taken)
