"""The resolution step: two clauses and what follows from them (归结)."""

from __future__ import annotations

from typing import Any

from tercet.core.catalog import method
from tercet.rules.logic.clause import Clause, as_clause
from tercet.rules.logic.substitution import Substitution
from tercet.rules.logic.unification import unify


@method(
    zh="归结",
    task="logic programming",
    model="(A ∨ L), (B ∨ ¬L') |- (A ∨ B)θ with Lθ = L'θ",
    algorithms="most general unifier of a head with a literal of a body, variables renamed apart",
    texts=["watermelon notes ch. 13, 13.5"],
)
def resolve(clause: Any, other: Any) -> list[Clause]:
    """All resolvents of a clause with another, whose head resolves a literal of the body of the first.

    Parameters
    ----------
    clause : Clause or Prolog text
        The clause whose body has the literal that is resolved away.
    other : Clause or Prolog text
        The clause whose head unifies with that literal; its variables are renamed apart.

    Returns
    -------
    resolvents : list of Clause
        One for each literal of the body that unifies, in the order of the body.

    Examples
    --------
    >>> for resolvent in resolve("old(X) :- parent(X, Y), parent(Y, Z)", "parent(ann, tom)"):
    ...     print(resolvent)
    old(ann) :- parent(tom, Z).
    old(X) :- parent(X, ann).
    """
    first, second = as_clause(clause), as_clause(other)
    found = [resolvent(first, second, k) for k in range(len(first.body))]
    return [pair[0] for pair in found if pair is not None]


def resolvent(
    first: Clause, second: Clause, place: int, *, distinct: bool = True
) -> tuple[Clause, Substitution] | None:
    """The resolvent at one literal of the first clause's body, with the unifier; None where there is none.

    The body of the second clause takes the place of the literal.
    """
    literal = first.body[place]
    if second.head is None or literal.negated or literal.key != second.head.key:
        return None
    second = apart(second, first)
    assert second.head is not None
    theta = unify(literal, second.head)
    if theta is None:
        return None
    body = (*first.body[:place], *second.body, *first.body[place + 1 :])
    # Variables of the first clause keep their names where they can.
    own, others = set(first.variables), set(second.variables)
    naming = Substitution({term: v for v, term in theta.items() if v in own and term in others})
    theta = theta.compose(naming)
    found = theta.apply(Clause(first.head, body))
    return (found.distinct() if distinct else found), theta


def apart(clause: Clause, other: Clause) -> Clause:
    """A variant of a clause that has no variable of another."""
    taken = {variable.name for variable in other.variables}
    if not taken & {variable.name for variable in clause.variables}:
        return clause
    return clause.renamed({*taken, *(variable.name for variable in clause.variables)})
