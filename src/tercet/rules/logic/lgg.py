"""Least general generalisation of terms, literals and clauses (最小一般泛化)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from tercet.core.catalog import method
from tercet.rules.logic.clause import Clause, as_clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.prolog import parse_clause, parse_term
from tercet.rules.logic.terms import Compound, Term, Variable, fresh_names, subterms

MAX_LITERALS = 100_000


@method(
    zh="最小一般泛化（LGG）",
    task="inductive logic programming",
    model="the most specific expression of which both are instances; of clauses, that subsumes both",
    strategy="least generalisation in the lattice of θ-subsumption",
    algorithms="Plotkin: same functor part by part, else a variable for each pair of terms; all pairs of literals",
    texts=["watermelon notes ch. 13, 13.5.1"],
)
def lgg(*expressions: Any, max_literals: int = MAX_LITERALS) -> Any:
    """Least general generalisation of terms, of literals or of clauses.

    Equal terms stay; terms of one functor are generalised part by part; any other pair of terms becomes a variable,
    always the same one for the same pair. Literals must agree in predicate and sign. Clauses have the
    generalisations of all pairs of their literals that do.

    Parameters
    ----------
    *expressions : terms, literals, clauses or Prolog text
        Two or more of one kind, or one, which is its own generalisation. Text with a full stop or `:-` is a clause.
    max_literals : int, default=100000
        The most literals of a clause, which may have as many as the product of those of the two; see `rlgg`
        for bounds that keep it small.

    Returns
    -------
    generalisation : as the expressions
        None for literals of different predicates, and for clauses whose heads are.

    Examples
    --------
    >>> print(lgg("f(a, g(a), c)", "f(b, g(b), c)"))
    f(A, g(A), c)
    >>> print(lgg("better(1, 10) :- curl(1, 10), deep(1, 10).", "better(1, 15) :- curl(1, 15), hard(1, 15)."))
    better(1, A) :- curl(1, A).
    """
    if not expressions:
        raise ValueError("lgg needs at least one expression.")
    kinds: list[Any] = [_expression(value) for value in expressions]
    if len({type(value) if isinstance(value, Clause | Literal) else Term for value in kinds}) > 1:
        raise ValueError("lgg needs expressions of one kind: all terms, all literals or all clauses.")
    found = functools.reduce(functools.partial(_pair, most=max_literals), kinds)
    return found.renamed() if isinstance(found, Clause) and len(kinds) > 1 else found


def _expression(value: Any) -> Any:
    if isinstance(value, str):
        return parse_clause(value) if ":-" in value or value.rstrip().endswith(".") else parse_term(value)
    return value if isinstance(value, Literal | Term) else as_clause(value)


def _pair(a: Any, b: Any, most: int) -> Any:
    if a is None or b is None:
        return None
    table = Generalisation(_names(a) | _names(b))
    if isinstance(a, Clause):
        return table.clause(a, b, most)
    return table.literal(a, b) if isinstance(a, Literal) else table.term(a, b)


def _names(value: Any) -> set[str]:
    if isinstance(value, Clause | Literal):
        return {variable.name for variable in value.variables}
    return {term.name for term in subterms(value) if isinstance(term, Variable)}


class Generalisation:
    """The table of one generalisation: a variable for each pair (or tuple) of terms that differ."""

    def __init__(self, taken: set[str]) -> None:
        self.variables: dict[tuple[Term, ...], Variable] = {}
        self._names: Iterator[str] = fresh_names(taken)

    def term(self, *terms: Term) -> Term:
        """The least general generalisation of terms."""
        spine: list[
            tuple[str, list[Term]]
        ] = []  # the last argument in a loop: a list is as deep as it is long
        while (parts := alike(terms)) is not None:
            spine.append((terms[0].functor, [self.term(*arguments) for arguments in parts[:-1]]))  # type: ignore[union-attr]
            terms = parts[-1]
        if all(term == terms[0] for term in terms[1:]):
            found = terms[0]
        else:
            if terms not in self.variables:
                self.variables[terms] = Variable(next(self._names))
            found = self.variables[terms]
        for functor, args in reversed(spine):
            found = Compound(functor, [*args, found])
        return found

    def literal(self, *literals: Literal) -> Literal | None:
        """That of literals; None for different predicates or signs."""
        first = literals[0]
        if any(one.key != first.key or one.negated != first.negated for one in literals[1:]):
            return None
        args = [self.term(*terms) for terms in zip(*(one.args for one in literals))]
        return Literal(first.predicate, args, first.negated)

    def clause(self, C: Clause, D: Clause, most: int) -> Clause | None:
        """That of two clauses: all pairs of literals; None where heads have nothing in common."""
        head = self.literal(C.head, D.head) if C.head is not None and D.head is not None else None
        if head is None and (C.head is not None or D.head is not None):
            return None
        partners: dict[Any, list[Literal]] = {}
        for literal in D.body:
            partners.setdefault((literal.key, literal.negated), []).append(literal)
        many = sum(len(partners.get((literal.key, literal.negated), ())) for literal in C.body)
        if many > most:
            raise ValueError(
                f"The generalisation would have {many} literals; max_literals={most}. Reduce the clauses, or use "
                "rlgg with max_depth and max_degree."
            )
        body: dict[Literal, None] = {}
        for a in C.body:
            for b in partners.get((a.key, a.negated), ()):
                found = self.literal(a, b)
                assert found is not None
                body[found] = None
        return Clause(head, body)


def alike(terms: tuple[Term, ...]) -> list[tuple[Term, ...]] | None:
    """The arguments, place by place, of compound terms of one functor that are not all equal; else None."""
    first = terms[0]
    if not isinstance(first, Compound) or all(term == first for term in terms[1:]):
        return None
    for term in terms[1:]:
        if (
            not isinstance(term, Compound)
            or term.functor != first.functor
            or len(term.args) != len(first.args)
        ):
            return None
    return list(zip(*(term.args for term in terms if isinstance(term, Compound))))
