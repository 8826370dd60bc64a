"""Unification: the most general substitution that makes two expressions the same (最一般合一)."""

from __future__ import annotations

from typing import Any

from tercet.core.catalog import method
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.prolog import parse_term
from tercet.rules.logic.substitution import Substitution
from tercet.rules.logic.terms import Compound, Term, Variable, as_term, replaced, term_variables


@method(
    zh="合一（最一般合一元）",
    task="logic programming",
    model="θ with sθ = tθ, of which every other unifier is an instance",
    algorithms="Robinson: left to right, a variable takes the term on the other side unless it occurs in it",
    texts=["watermelon notes ch. 13, 13.5"],
)
def unify(s: Any, t: Any) -> Substitution | None:
    """Most general unifier of two terms or literals; None where there is none.

    A variable is not unified with a term in which it occurs (the occurs check), so that X and f(X) do not unify.

    Parameters
    ----------
    s, t : terms, literals or Prolog text
        Variables of one name are the same variable in both.

    Returns
    -------
    theta : Substitution or None
        Idempotent: no variable that it replaces is in a term that it puts in.

    Examples
    --------
    >>> print(unify("p(X, f(Y), a)", "p(g(b), f(Z), Z)"))
    {X/g(b), Y/a, Z/a}
    >>> print(unify("X", "f(X)"))
    None
    """
    if isinstance(s, Literal) and isinstance(t, Literal) and s.negated != t.negated:
        return None
    bindings: dict[Variable, Term] = {}
    waiting = [(_expression(s), _expression(t))]
    while waiting:
        a, b = waiting.pop()
        a, b = _value(a, bindings), _value(b, bindings)
        if a is b or a == b:
            continue
        if isinstance(b, Variable) and not isinstance(a, Variable):
            a, b = b, a
        if isinstance(a, Variable):
            if occurs(a, b, bindings):
                return None
            bindings[a] = b
        elif isinstance(a, Compound) and isinstance(b, Compound):
            if a.functor != b.functor or len(a.args) != len(b.args):
                return None
            waiting += reversed(list(zip(a.args, b.args)))
        else:
            return None
    return Substitution(_resolved(bindings))


def occurs(variable: Variable, term: Term, bindings: dict[Variable, Term]) -> bool:
    """Whether a variable is in a term, once the bindings so far are put in."""
    waiting, seen = [term], set()
    while waiting:
        one = _value(waiting.pop(), bindings)
        if one == variable:
            return True
        if isinstance(one, Compound) and not one.is_ground and id(one) not in seen:
            seen.add(id(one))
            waiting += one.args
    return False


def _expression(value: Any) -> Term:
    if isinstance(value, Literal):
        return value.as_term()
    return parse_term(value) if isinstance(value, str) else as_term(value)


def _value(term: Term, bindings: dict[Variable, Term]) -> Term:
    while isinstance(term, Variable) and term in bindings:
        term = bindings[term]
    return term


def _resolved(bindings: dict[Variable, Term]) -> dict[Variable, Term]:
    """Bindings that refer to each other, with all of them put in."""
    done: dict[Variable, Term] = {}
    for start in bindings:
        path = [start]
        while path:
            variable = path[-1]
            if variable in done:
                path.pop()
                continue
            term = bindings[variable]
            needed = [v for v in term_variables(term) if v in bindings and v not in done]
            if needed:
                path += needed
            else:
                done[variable] = replaced(term, done)
                path.pop()
    return done
