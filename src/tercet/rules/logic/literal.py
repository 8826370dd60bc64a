"""Literals: a predicate of terms, or its negation (文字)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tercet.core.input_errors import shown
from tercet.rules.logic.terms import (
    Compound,
    Constant,
    Immutable,
    Term,
    Variable,
    as_term,
    replaced,
    term_variables,
)

COMPARISONS = ("=", "\\=", "==", "\\==", "<", ">", "=<", ">=", "=:=", "=\\=", "is")
OPPOSITES = {"=": "\\=", "\\=": "=", "==": "\\==", "\\==": "=="}


class Literal(Immutable):
    """A literal: a predicate with its arguments, which may be negated.

    Parameters
    ----------
    predicate : str
        The name of the predicate.
    args : iterable, default=()
        Its arguments: terms, or values that become constants.
    negated : bool, default=False
        Whether it is the negation that holds.

    Attributes
    ----------
    key : (str, int)
        Name and arity, which make a predicate.

    Examples
    --------
    >>> print(Literal("parent", [Variable("X"), "eve"]), Literal("female", ["ann"], negated=True))
    parent(X, eve) \\+ female(ann)
    >>> Literal.parse("parent(X, eve)").key
    ('parent', 2)
    """

    __slots__ = ("_hash", "args", "is_ground", "key", "negated", "predicate")
    parts = ("predicate", "args", "negated")
    predicate: str
    args: tuple[Term, ...]
    negated: bool
    key: tuple[str, int]
    is_ground: bool

    def __init__(self, predicate: str, args: Iterable[Any] = (), negated: bool = False) -> None:
        if not isinstance(predicate, str) or not predicate:
            raise ValueError(
                f"A predicate's name must be a string that is not empty; got {shown(predicate)}."
            )
        terms = tuple(as_term(arg) for arg in args)
        self._set(
            predicate=predicate,
            args=terms,
            negated=bool(negated),
            key=(predicate, len(terms)),
            is_ground=all(term.is_ground for term in terms),
            _hash=hash((predicate, terms, bool(negated))),
        )

    @classmethod
    def parse(cls, text: str) -> Literal:
        """The literal that a Prolog text says."""
        from tercet.rules.logic.prolog import parse_literal

        return parse_literal(text)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Literal
            and hash(self) == hash(other)
            and self.predicate == other.predicate
            and self.negated == other.negated
            and self.args == other.args
        )

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined]

    def __str__(self) -> str:
        from tercet.rules.logic.prolog import format_literal

        return format_literal(self)

    @property
    def variables(self) -> list[Variable]:
        """The variables, in the order in which one reads them."""
        return list(dict.fromkeys(v for term in self.args for v in term_variables(term)))

    @property
    def is_comparison(self) -> bool:
        """Whether it compares two terms, as X = Y and X < 3 do."""
        return len(self.args) == 2 and self.predicate in COMPARISONS

    def replaced(self, mapping: Mapping[Any, Term]) -> Literal:
        """The literal with variables (or other terms) replaced, all at once."""
        return Literal(self.predicate, (replaced(arg, mapping) for arg in self.args), self.negated)

    def negation(self) -> Literal:
        """The opposite literal."""
        if self.is_comparison and self.predicate in OPPOSITES and not self.negated:
            return Literal(OPPOSITES[self.predicate], self.args)
        return Literal(self.predicate, self.args, not self.negated)

    def as_term(self) -> Term:
        """The literal, without its sign, as a term."""
        return Compound(self.predicate, self.args) if self.args else Constant(self.predicate)


def as_literal(value: Any) -> Literal:
    """A literal from a literal or Prolog text."""
    if isinstance(value, Literal):
        return value
    if isinstance(value, str):
        return Literal.parse(value)
    said = str(value) if isinstance(value, Immutable) else shown(value)
    raise ValueError(f"A literal is needed, or Prolog text of one; got {said}.")


def ground_atoms(values: Any, name: str, *, distinct: bool = True) -> list[Literal]:
    """Examples as ground atoms, or an error that says which is none; `distinct`: each once.

    Prolog text may hold several, each with its full stop.
    """
    from tercet.rules.logic.prolog import parse_program

    clauses = parse_program(values) if isinstance(values, str) else list(values)
    atoms = [as_literal(clause.head if getattr(clause, "is_fact", False) else clause) for clause in clauses]
    for atom in atoms:
        if atom.negated or not atom.is_ground or atom.is_comparison:
            raise ValueError(f"{name} must be ground atoms; got {atom}.")
    return list(dict.fromkeys(atoms)) if distinct else atoms
