"""Relative least general generalisation, with the bounds of Golem (相对最小一般泛化)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tercet.core.catalog import method
from tercet.core.input_errors import shown
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.lgg import MAX_LITERALS, Generalisation, alike, lgg
from tercet.rules.logic.literal import Literal, ground_atoms
from tercet.rules.logic.program import Program
from tercet.rules.logic.subsumption import MAX_TRIES, reduce_clause
from tercet.rules.logic.terms import Term


@method(
    zh="相对最小一般泛化（RLGG）",
    task="inductive logic programming",
    model="the least general generalisation of the clauses e <- B, for examples e and background facts B",
    strategy="most specific clause that covers the examples relative to the background",
    algorithms={
        "all pairs": "of facts of one predicate (Plotkin)",
        "ij-determinate": "literals whose new terms at most j known ones determine, to depth i (Golem)",
    },
    texts=["watermelon notes ch. 13, 13.5.1"],
    peers=["Golem"],
)
def rlgg(
    examples: Any,
    background: Any,
    *,
    max_depth: int | None = None,
    max_degree: int | None = None,
    reduce: bool = True,
    max_literals: int = MAX_LITERALS,
) -> Clause | None:
    """Relative least general generalisation of examples, given ground facts.

    Without bounds the clause has a literal for each pair of facts of one predicate, hence as many as the squares of
    their numbers. Golem's bounds keep those that are determinate: a literal's new terms are the only ones
    possible, in every example, for the terms that it shares with literals before it, at most `max_degree` of
    them, and are at most `max_depth` literals away from the head.

    Parameters
    ----------
    examples : Prolog text or ground atoms
        Two or more, of one predicate.
    background : Prolog text, Program or ground atoms
        Facts; rules are evaluated first.
    max_depth : int, optional
        i, the most literals between a term and the head; no bound by default.
    max_degree : int, optional
        j, the most terms that determine a new one; it is 2 where only `max_depth` is given.
    reduce : bool, default=True
        Whether literals that are redundant relative to the facts are removed, ground facts among them.
    max_literals : int, default=100000
        The most literals without bounds.

    Returns
    -------
    clause : Clause or None
        None where the examples are of different predicates.

    Examples
    --------
    >>> facts = '''parent(ann, mary). parent(ann, tom). parent(tom, eve). parent(tom, ian).
    ...            female(ann). female(mary). female(eve).'''
    >>> print(rlgg(["daughter(mary, ann)", "daughter(eve, tom)"], facts))
    daughter(A, B) :- parent(B, A), female(A).
    >>> len(rlgg(["daughter(mary, ann)", "daughter(eve, tom)"], facts, reduce=False).body)
    25
    """
    atoms = ground_atoms(examples, "examples")
    for name, value in (("max_depth", max_depth), ("max_degree", max_degree)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise ValueError(f"{name} must be an integer of at least 1, or None; got {shown(value)}.")
    if not atoms:
        raise ValueError("rlgg needs at least one example.")
    if len({atom.key for atom in atoms}) > 1:
        return None
    facts = background_facts(background)
    if max_depth is None and max_degree is None:
        clause = _all_pairs(atoms, facts, reduce, max_literals)
    else:
        clause = determinate_clause(atoms, FactIndex(facts), max_depth or len(facts) + 1, max_degree or 2)
    if reduce:
        clause = reduce_clause(clause, facts, max_tries=MAX_TRIES)
    return clause.renamed()


def background_facts(background: Any) -> list[Literal]:
    """The ground facts of a background, with what its rules say."""
    program = Program(background)
    if all(clause.is_fact and clause.is_ground for clause in program):
        return list(dict.fromkeys(program.facts))
    return program.least_model()


def _all_pairs(atoms: list[Literal], facts: list[Literal], reduce: bool, most: int) -> Clause:
    def pair(C: Clause, D: Clause) -> Clause:
        found: Clause = lgg(C, D, max_literals=most)
        return reduce_clause(found, facts) if reduce else found

    # What is reduced relative to the facts stands for itself with all of them.
    return functools.reduce(
        lambda C, atom: pair(Clause(C.head, (*C.body, *facts)).distinct(), Clause(atom, facts)),
        atoms[1:],
        Clause(atoms[0], facts if len(atoms) == 1 and not reduce else ()),
    )


def saturate(example: Any, background: Any, *, max_depth: int | None = None) -> Clause:
    """The ground clause of an example: itself, from all facts that are linked to it.

    This is where bottom-up learning starts: the most specific clause that covers the example.

    Parameters
    ----------
    example : ground atom or Prolog text
        The head.
    background : Prolog text, Program or ground atoms
        Facts; rules are evaluated first.
    max_depth : int, optional
        The most facts between a constant and the head; by default all that are linked in any way.

    Returns
    -------
    clause : Clause

    Examples
    --------
    >>> print(saturate("happy(ann)", "likes(ann, tea). likes(bob, tea). likes(eve, milk).", max_depth=1))
    happy(ann) :- likes(ann, tea).
    """
    atom = ground_atoms([example], "example")[0]
    known, depth = set(atom.args), 0
    body: dict[Literal, None] = {}
    waiting = background_facts(background)
    while max_depth is None or depth < max_depth:
        linked = [fact for fact in waiting if known.intersection(fact.args) or not fact.args]
        if not linked:
            break
        body.update(dict.fromkeys(linked))
        known.update(arg for fact in linked for arg in fact.args)
        gone = set(linked)
        waiting = [fact for fact in waiting if fact not in gone]
        depth += 1
    return Clause(atom, body)


class FactIndex:
    """Facts by predicate, found by the values at some of their places."""

    def __init__(self, facts: Sequence[Literal]) -> None:
        self.facts = set(facts)
        self.groups: dict[tuple[str, int], list[Literal]] = {}
        for fact in self.facts if not isinstance(facts, list) else dict.fromkeys(facts):
            self.groups.setdefault(fact.key, []).append(fact)
        self._tables: dict[Any, dict[tuple[Term, ...], list[Literal]]] = {}

    def find(self, key: tuple[str, int], places: tuple[int, ...], values: tuple[Term, ...]) -> list[Literal]:
        """The facts with these values at these places."""
        if (key, places) not in self._tables:
            table: dict[tuple[Term, ...], list[Literal]] = {}
            for fact in self.groups[key]:
                table.setdefault(tuple(fact.args[k] for k in places), []).append(fact)
            self._tables[key, places] = table
        return self._tables[key, places].get(values, [])


Terms = tuple[Term, ...]  # the terms of all examples that one term of the clause stands for


def determinate_clause(atoms: Sequence[Literal], index: FactIndex, max_depth: int, max_degree: int) -> Clause:
    """The ij-determinate part of the relative least general generalisation."""
    table = Generalisation(set())
    head = table.literal(*atoms)
    assert head is not None
    known: dict[Terms, None] = {}
    for terms in zip(*(atom.args for atom in atoms)):
        _learn(known, terms)
    body: dict[tuple[Literal, ...], None] = {}
    for _ in range(max_depth):
        starting: dict[Term, list[Terms]] = {}
        for terms in known:
            starting.setdefault(terms[0], []).append(terms)
        found = [
            facts
            for key in index.groups
            for facts in _determined(key, index, starting, max_degree)
            if facts not in body
        ]
        if not found:
            break
        for facts in found:
            body[facts] = None
            for terms in zip(*(fact.args for fact in facts)):
                _learn(known, terms)
    literals = [table.literal(*facts) for facts in body]
    return Clause(head, [one for one in literals if one is not None and not one.is_ground]).distinct()


def _learn(known: dict[Terms, None], terms: Terms) -> None:
    """Add a term, with the parts that it has in all examples."""
    known[terms] = None
    for parts in alike(terms) or ():
        _learn(known, parts)


def _determined(
    key: tuple[str, int], index: FactIndex, starting: dict[Term, list[Terms]], max_degree: int
) -> Iterator[tuple[Literal, ...]]:
    """Facts, one of each example, whose known terms determine the others in every example."""
    arity = key[1]
    sizes = [*range(1, min(max_degree, arity - 1) + 1), *([arity] if arity else [])]
    for size in sizes:
        for places in itertools.combinations(range(arity), size):
            for term in starting:
                for fact in index.find(key, places[:1], (term,)):
                    choices = [starting.get(fact.args[k], []) for k in places]
                    for chosen in itertools.product(*choices):
                        if (facts := _unique(key, index, places, chosen)) is not None:
                            yield facts


def _unique(
    key: tuple[str, int], index: FactIndex, places: tuple[int, ...], chosen: tuple[Terms, ...]
) -> tuple[Literal, ...] | None:
    """The only fact of each example with the chosen terms at some places; None where one has none or several."""
    found = []
    for values in zip(*chosen):
        facts = index.find(key, places, values)
        if len(facts) != 1:
            return None
        found.append(facts[0])
    return tuple(found)
