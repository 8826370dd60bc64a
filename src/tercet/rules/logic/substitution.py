"""Substitutions of terms for variables, and their composition (置换)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.prolog import parse_term
from tercet.rules.logic.terms import Immutable, Term, Variable, replaced, term_variables


class Substitution(Immutable, Mapping[Variable, Term]):
    """Terms for variables, put in all at once: {X/a, Y/f(Z)}.

    Parameters
    ----------
    mapping : mapping of Variable (or its name) to terms, default={}
        What each variable becomes; strings are read as Prolog. X for X is left out.

    Examples
    --------
    >>> theta = Substitution({"X": "f(Y)", "Y": "Z"})
    >>> print(theta, theta.apply(Literal.parse("p(X, Y, Z)")))
    {X/f(Y), Y/Z} p(f(Y), Z, Z)
    >>> print(theta.compose(Substitution({"Y": "a", "Z": "Y"})))
    {X/f(a), Z/Y}
    """

    __slots__ = ("_terms",)
    parts = ("terms",)
    _terms: dict[Variable, Term]

    def __init__(self, mapping: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        found: dict[Variable, Term] = {}
        for name, value in dict(mapping).items():
            variable = name if isinstance(name, Variable) else Variable(name)
            term = parse_term(value) if isinstance(value, str) else value
            if term != variable:
                found[variable] = term
        self._set(_terms=found)

    @property
    def terms(self) -> dict[Variable, Term]:
        """A copy as a plain dict."""
        return dict(self._terms)

    def __getitem__(self, variable: Variable) -> Term:
        return self._terms[variable]

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def __hash__(self) -> int:
        return hash(frozenset(self._terms.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._terms == dict(other)

    def __str__(self) -> str:
        pairs = sorted((variable.name, str(term)) for variable, term in self._terms.items())
        return "{" + ", ".join(f"{name}/{term}" for name, term in pairs) + "}"

    def __repr__(self) -> str:
        return f"Substitution({self})"

    def apply(self, expression: Any) -> Any:
        """A term, literal or clause (or a list of them) with the variables replaced."""
        if not self._terms:
            return expression
        if isinstance(expression, Literal | Clause):
            return expression.replaced(self._terms)
        if isinstance(expression, list | tuple):
            return type(expression)(self.apply(one) for one in expression)
        return replaced(expression, self._terms)

    def compose(self, after: Substitution) -> Substitution:
        """The substitution that does what this one does, and then the other: E(σ∘τ) = (Eσ)τ."""
        both: dict[Variable, Term] = {v: after.apply(term) for v, term in self._terms.items()}
        return Substitution({**{v: term for v, term in after.items() if v not in self._terms}, **both})

    def restricted(self, variables: Iterable[Variable]) -> Substitution:
        """What it says of some variables."""
        kept = set(variables)
        return Substitution({v: term for v, term in self._terms.items() if v in kept})

    @property
    def is_idempotent(self) -> bool:
        """Whether to apply it twice is to apply it once: no variable that is replaced is in a term put in."""
        return not any(v in self._terms for term in self._terms.values() for v in term_variables(term))
