"""Horn clauses: a head that holds where all literals of a body do (Horn 子句)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tercet.core.input_errors import shown
from tercet.rules.logic.literal import Literal, as_literal
from tercet.rules.logic.terms import Immutable, Term, Variable, fresh_names, replaced, term_variables


class Clause(Immutable):
    """A Horn clause, which Prolog writes as head :- literal, literal ...

    A clause without a body is a fact, one without a head a goal. Literals of the body may be negated (`\\+`):
    negation as failure. Clauses are equal if they read the same; `is_variant` tells whether they differ by the
    names of variables and the order of the body alone.

    Parameters
    ----------
    head : Literal or None
        What follows.
    body : iterable of Literal, default=()
        What it follows from.

    Attributes
    ----------
    is_fact, is_ground, is_recursive : bool
        No body; no variables; the head's predicate is in the body.
    predicates : set of (name, arity)
        The predicates of the body.

    Examples
    --------
    >>> clause = Clause.parse("grandparent(X, Z) :- parent(X, Y), parent(Y, Z).")
    >>> print(clause.head), len(clause.body), [str(v) for v in clause.variables]
    grandparent(X, Z)
    (None, 2, ['X', 'Z', 'Y'])
    >>> print(
    ...     clause.renamed(),
    ...     clause.is_variant(Clause.parse("grandparent(A, B) :- parent(C, B), parent(A, C).")),
    ... )
    grandparent(A, B) :- parent(A, C), parent(C, B). True
    """

    __slots__ = ("_hash", "body", "head")
    parts = ("head", "body")
    head: Literal | None
    body: tuple[Literal, ...]

    def __init__(self, head: Literal | None, body: Iterable[Literal] = ()) -> None:
        literals = tuple(body)
        for literal in (*literals, *(() if head is None else (head,))):
            if not isinstance(literal, Literal):
                raise ValueError(f"A clause is made of literals; got {shown(literal)}.")
        if head is not None and head.negated:
            raise ValueError(f"The head of a Horn clause must not be negated; got {head}.")
        self._set(head=head, body=literals, _hash=hash((head, literals)))

    @classmethod
    def parse(cls, text: str) -> Clause:
        """The clause that a Prolog text says; the full stop may be left out."""
        from tercet.rules.logic.prolog import parse_clause

        return parse_clause(text)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Clause
            and hash(self) == hash(other)
            and self.head == other.head
            and self.body == other.body
        )

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        from tercet.rules.logic.prolog import format_clause

        return format_clause(self)

    @property
    def literals(self) -> tuple[Literal, ...]:
        """Head and body."""
        return (*(() if self.head is None else (self.head,)), *self.body)

    @property
    def variables(self) -> list[Variable]:
        """The variables, in the order in which one reads them."""
        return list(dict.fromkeys(v for literal in self.literals for v in literal.variables))

    @property
    def is_fact(self) -> bool:
        return self.head is not None and not self.body

    @property
    def is_ground(self) -> bool:
        return all(literal.is_ground for literal in self.literals)

    @property
    def is_recursive(self) -> bool:
        return self.head is not None and self.head.key in self.predicates

    @property
    def predicates(self) -> set[tuple[str, int]]:
        return {literal.key for literal in self.body}

    def replaced(self, mapping: Mapping[Any, Term]) -> Clause:
        """The clause with variables (or other terms) replaced, all at once."""
        head = None if self.head is None else self.head.replaced(mapping)
        return Clause(head, (literal.replaced(mapping) for literal in self.body))

    def renamed(self, taken: Iterable[str] = ()) -> Clause:
        """The clause with its variables called A, B ... but for names that are taken."""
        names = fresh_names(taken)
        return self.replaced({variable: Variable(next(names)) for variable in self.variables})

    def without(self, *literals: Literal) -> Clause:
        """The clause without some literals of its body."""
        gone = set(literals)
        return Clause(self.head, (literal for literal in self.body if literal not in gone))

    def distinct(self) -> Clause:
        """The clause with each literal of its body once."""
        return Clause(self.head, dict.fromkeys(self.body))

    def is_variant(self, other: Clause) -> bool:
        """Whether two clauses are the same, but for the names of variables and the order of the body."""
        return any(True for _ in _renamings(self.distinct(), other.distinct()))


def as_clause(value: Any) -> Clause:
    """A clause from a clause, a literal (a fact) or Prolog text."""
    if isinstance(value, Clause):
        return value
    if isinstance(value, str):
        return Clause.parse(value)
    return Clause(as_literal(value))


def _renamings(a: Clause, b: Clause) -> Iterator[dict[Variable, Variable]]:
    """One-to-one renamings of variables that make the literals of one clause those of the other."""
    if (a.head is None) != (b.head is None) or len(a.body) != len(b.body):
        return
    shape: Callable[[Literal], Any] = lambda literal: (literal.key, literal.negated)  # noqa: E731
    if sorted(map(shape, a.body)) != sorted(map(shape, b.body)):
        return
    targets = [[other for other in b.body if shape(other) == shape(literal)] for literal in a.body]
    order = sorted(range(len(a.body)), key=lambda k: len(targets[k]))

    def extend(
        place: int, there: dict[Variable, Variable], back: dict[Variable, Variable], used: set[Literal]
    ) -> Iterator[dict[Variable, Variable]]:
        if place == len(order):
            yield there
            return
        literal = a.body[order[place]]
        for other in targets[order[place]]:
            if other not in used and (found := _renamed_to(literal, other, there, back)):
                yield from extend(place + 1, found[0], found[1], used | {other})

    start: Any = ({}, {})
    if a.head is not None and b.head is not None:
        start = _renamed_to(a.head, b.head, {}, {}) if shape(a.head) == shape(b.head) else None
    if start is not None:
        yield from extend(0, start[0], start[1], set())


def _renamed_to(
    a: Literal, b: Literal, there: dict[Variable, Variable], back: dict[Variable, Variable]
) -> tuple[dict[Variable, Variable], dict[Variable, Variable]] | None:
    """The renaming, extended so that the first literal becomes the second."""
    there, back = dict(there), dict(back)
    for x, y in zip(a.variables, b.variables):
        if there.setdefault(x, y) != y or back.setdefault(y, x) != x:
            return None
    renaming: dict[Any, Term] = dict(there)
    return (there, back) if tuple(replaced(arg, renaming) for arg in a.args) == b.args else None


def connected_variables(literals: Iterable[Literal], start: Iterable[Variable]) -> set[Variable]:
    """The variables that are linked to some through literals which share one."""
    found, waiting = set(start), list(literals)
    while True:
        linked = [literal for literal in waiting if found & set(literal.variables)]
        if not linked:
            return found
        for literal in linked:
            found |= set(literal.variables)
        waiting = [literal for literal in waiting if literal not in linked]


def all_variables(terms: Iterable[Term]) -> set[Variable]:
    """The variables of some terms."""
    return {variable for term in terms for variable in term_variables(term)}
