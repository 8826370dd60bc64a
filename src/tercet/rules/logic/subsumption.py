"""θ-subsumption: which clause is more general, and reduction to the smallest equivalent clause (θ-包含)."""

from __future__ import annotations

from typing import Any

from tercet.core.catalog import method
from tercet.rules.logic._engine.machine import ProofLimitError
from tercet.rules.logic._engine.matching import Binding, Matching, Targets, Tries, match_all, one_way
from tercet.rules.logic.clause import Clause, as_clause
from tercet.rules.logic.literal import ground_atoms
from tercet.rules.logic.resolution import apart
from tercet.rules.logic.substitution import Substitution
from tercet.rules.logic.terms import Term

MAX_TRIES = 100_000


@method(
    zh="θ-包含",
    task="logic programming",
    model="C subsumes D if Cθ ⊆ D for a substitution θ; then C implies D",
    algorithms="backtracking: fewest values first, arc consistency, parts that share no variable apart",
    texts=["watermelon notes ch. 13, 13.4", "watermelon notes ch. 13, 13.5"],
)
def subsumes(general: Any, specific: Any, *, max_tries: int = MAX_TRIES) -> Substitution | None:
    """Substitution θ under which every literal of one clause is one of another; None where there is none.

    Parameters
    ----------
    general, specific : Clause or Prolog text
        C and D. Their variables are apart, whatever they are called.
    max_tries : int, default=100000
        The most mappings of a literal to try: the problem is NP-complete. Beyond it `ProofLimitError` is raised.

    Returns
    -------
    theta : Substitution or None
        For the variables of the first clause; an empty one, too, says yes.

    Examples
    --------
    >>> print(subsumes("p(X) :- q(X, Y), q(Y, Z)", "p(a) :- q(a, a), r(b)"))
    {X/a, Y/a, Z/a}
    >>> subsumes("p(X) :- q(X, X)", "p(X) :- q(X, Y)") is None
    True
    """
    C, D = as_clause(general), as_clause(specific)
    if (C.head is None) != (D.head is None) and C.head is not None:
        return None
    own = apart(C, D)
    start: Binding | None = {}
    if own.head is not None and D.head is not None:
        start = one_way(own.head, D.head, {}) if own.head.key == D.head.key else None
    if start is None:
        return None
    theta = match_all(own.body, Targets(D.body), start, Tries(max_tries))
    if theta is None:
        return None
    names = dict(zip(own.variables, C.variables))
    return Substitution({names[v]: term for v, term in theta.items() if v in names})


def equivalent(a: Any, b: Any) -> bool:
    """Whether two clauses subsume each other.

    Examples
    --------
    >>> equivalent("p(X) :- q(X, Y), q(X, Z)", "p(X) :- q(X, Y)")
    True
    """
    return subsumes(a, b) is not None and subsumes(b, a) is not None


@method(
    zh="子句约简",
    task="logic programming",
    model="the smallest clause that subsumes C and that C subsumes; relative to facts B: Cθ ⊆ C ∪ B",
    algorithms="for each literal a substitution that maps the clause onto itself without it",
    texts=["watermelon notes ch. 13, 13.5"],
)
def reduce_clause(clause: Any, background: Any = (), *, max_tries: int = MAX_TRIES) -> Clause:
    """Smallest clause that is equivalent to a clause under θ-subsumption, also relative to known facts.

    A literal goes if a substitution maps the clause onto the rest of it. With a background, literals may be mapped
    onto its facts as well, and ground literals that are facts go: what is known need not be said.

    Parameters
    ----------
    clause : Clause or Prolog text
        The clause.
    background : ground facts, default=()
        Prolog text, atoms or facts.
    max_tries : int, default=100000
        The most mappings to try for one literal; one that is not found redundant by then stays.

    Returns
    -------
    reduced : Clause

    Examples
    --------
    >>> print(reduce_clause("p(X) :- q(X, Y), q(X, b), q(Z, b)"))
    p(X) :- q(X, b).
    >>> print(reduce_clause("p(X) :- q(X), r(Y), r(a)", background="r(a). r(c)."))
    p(X) :- q(X).
    """
    C = as_clause(clause).distinct()
    facts = ground_atoms(background, "background")
    known = set(facts)
    C = Clause(C.head, (literal for literal in C.body if literal not in known))
    fixed: dict[Any, Term] = {} if C.head is None else {v: v for v in C.head.variables}
    waiting = sorted(C.body, key=lambda literal: -sum(v not in fixed for v in literal.variables))
    matching = Matching(C.body, Targets([*C.body, *facts]), fixed)
    for literal in waiting:
        if literal not in C.body:
            continue
        try:
            theta = matching.solve(Tries(max_tries), without=literal)
        except ProofLimitError:
            continue
        if theta is not None:
            images = dict.fromkeys(one.replaced(theta) for one in C.body)
            C = Clause(C.head, (image for image in images if image not in known))
            matching = Matching(C.body, Targets([*C.body, *facts]), fixed)
    return C
