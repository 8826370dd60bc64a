"""Clauses in coded form, indexed by predicate and arguments.

A constant is its number in a symbol table, at least 0; a variable of a clause is a negative number, -1 for the
first; a compound term is a tuple of functor and arguments where it is ground, and a list where it holds
variables. At run time a variable is a `Cell`, and every compound term a tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import Compound, Constant, Term, Variable

Key = tuple[str, int]


class Cell:
    """A variable at run time; its value is None until it is bound."""

    __slots__ = ("name", "value")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.value: Any = None


class Symbols:
    """Numbers for constants."""

    def __init__(self) -> None:
        self.codes: dict[Constant, int] = {}
        self.constants: list[Constant] = []

    def code(self, constant: Constant) -> int:
        """The number of a constant, a new one if it has none."""
        found = self.codes.get(constant)
        if found is None:
            found = self.codes[constant] = len(self.constants)
            self.constants.append(constant)
        return found

    def coded(self, term: Term, slots: dict[Variable, int]) -> Any:
        """A term in coded form; a variable that has no slot gets the next one."""
        if isinstance(term, Constant):
            return self.code(term)
        if isinstance(term, Variable):
            return slots.setdefault(term, -1 - len(slots))
        spine: list[list[Any]] = []  # the last argument in a loop: a list is as deep as it is long
        found: Any = term
        while isinstance(found, Compound):
            spine.append([found.functor, *(self.coded(arg, slots) for arg in found.args[:-1])])
            found = found.args[-1]
        found = self.coded(found, slots)
        for part in reversed(spine):
            part.append(found)
            found = part if any(_open(arg) for arg in part[1:]) else tuple(part)
        return found

    def decoded(self, term: Any, names: dict[int, Variable]) -> Term:
        """A term at run time as a term of the language; cells without a value become variables."""
        spine: list[Any] = []
        while True:
            term = value_of(term)
            if not isinstance(term, tuple):
                break
            spine.append(term)
            term = term[-1]
        found: Term = self._simple(term, names)
        for part in reversed(spine):
            args = [self.decoded(arg, names) for arg in part[1:-1]]
            found = Compound(part[0], (*args, found))
        return found

    def _simple(self, term: Any, names: dict[int, Variable]) -> Term:
        if isinstance(term, Cell):
            if id(term) not in names:
                names[id(term)] = Variable(term.name or f"_G{len(names) + 1}")
            return names[id(term)]
        return self.constants[term]


def _open(arg: Any) -> bool:
    return isinstance(arg, list) or (isinstance(arg, int) and arg < 0)


def value_of(term: Any) -> Any:
    """What a cell is bound to, as far as it goes."""
    while type(term) is Cell and term.value is not None:
        term = term.value
    return term


class CodedClause:
    """A clause in coded form, with its number in the program."""

    __slots__ = ("args", "body", "n_slots", "number")

    def __init__(self, clause: Clause, number: int, symbols: Symbols) -> None:
        slots: dict[Variable, int] = {}
        assert clause.head is not None
        self.args = tuple(symbols.coded(arg, slots) for arg in clause.head.args)
        self.body = tuple(coded_literal(literal, symbols, slots) for literal in clause.body)
        self.n_slots, self.number = len(slots), number


def coded_literal(
    literal: Literal, symbols: Symbols, slots: dict[Variable, int]
) -> tuple[Key, tuple[Any, ...], bool]:
    """Predicate, arguments and sign."""
    return literal.key, tuple(symbols.coded(arg, slots) for arg in literal.args), literal.negated


class Predicate:
    """The clauses of one predicate, with an index for each argument that is made when it is first asked for."""

    __slots__ = ("_indices", "clauses")

    def __init__(self) -> None:
        self.clauses: list[CodedClause] = []
        self._indices: dict[int, tuple[dict[Any, list[CodedClause]], list[CodedClause]]] = {}

    def candidates(self, args: Sequence[Any]) -> list[CodedClause]:
        """The clauses whose head may unify with a goal of these arguments, in order: by the best index."""
        best = self.clauses
        for place, arg in enumerate(args):
            key = _index_key(value_of(arg))
            if key is None:
                continue
            if len(best) <= 8:
                return best
            table, others = self._index(place)
            found = table.get(key, others)
            if len(found) < len(best):
                best = found
        return best

    def _index(self, place: int) -> tuple[dict[Any, list[CodedClause]], list[CodedClause]]:
        if place not in self._indices:
            table: dict[Any, list[CodedClause]] = {}
            everywhere: list[CodedClause] = []  # clauses with a variable at this place
            for clause in self.clauses:
                key = _index_key(clause.args[place])
                if key is None:
                    everywhere.append(clause)
                    for found in table.values():
                        found.append(clause)
                else:
                    table.setdefault(key, list(everywhere)).append(clause)
            self._indices[place] = table, everywhere
        return self._indices[place]


def _index_key(arg: Any) -> Any:
    """A constant, or functor and arity of a compound term; None for a variable."""
    if type(arg) is int:
        return arg if arg >= 0 else None
    if type(arg) is Cell:
        return None
    return (arg[0], len(arg))


class CodedProgram:
    """The clauses of a program in coded form, by predicate."""

    def __init__(self, clauses: Iterable[Clause]) -> None:
        self.symbols = Symbols()
        self.predicates: dict[Key, Predicate] = {}
        for number, clause in enumerate(clauses):
            if clause.head is not None:
                coded = CodedClause(clause, number, self.symbols)
                self.predicates.setdefault(clause.head.key, Predicate()).clauses.append(coded)
