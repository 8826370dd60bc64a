"""Logic programs: clauses, and proofs from them by SLD resolution (逻辑程序)."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tercet.core.catalog import method
from tercet.core.input_errors import shown
from tercet.core.parameters import Count, Positive, allows, describe
from tercet.rules.logic._engine.coded_clauses import CodedProgram
from tercet.rules.logic._engine.machine import Limits, Machine, ProofLimitError
from tercet.rules.logic.clause import Clause, as_clause
from tercet.rules.logic.literal import Literal, as_literal
from tercet.rules.logic.prolog import parse_goal, parse_program, to_prolog
from tercet.rules.logic.proof import Proof, SearchTree
from tercet.rules.logic.resolution import resolvent
from tercet.rules.logic.substitution import Substitution
from tercet.rules.logic.terms import Immutable, Variable, subterms

MAX_DEPTH = 10_000
MAX_INFERENCES = 10_000_000


@method(
    zh="一阶规则：Horn 子句与 SLD 归结",
    task="logic programming",
    model="Horn clauses; a goal holds if it can be resolved away",
    strategy="a proof: a sequence of resolution steps that ends in the empty goal",
    algorithms="SLD resolution: first literal, clauses in order, backtracking; negation as failure",
    texts=["watermelon notes ch. 13, 13.4"],
    peers=["SWI-Prolog", "pyDatalog"],
)
class Program(Immutable):
    """Horn clauses, and proofs from them by backtracking.

    The first goal is resolved with each clause whose head unifies with it, in order; a negated goal (`\\+ p`)
    holds if p has no proof. Facts are found by an index on whichever argument is bound. A predicate without
    clauses has no proof.

    Depth-first search need not end: a clause that calls itself first (left recursion) goes down for ever. A search
    that reaches a limit without an answer raises `ProofLimitError`, which names such clauses; `left_recursive`
    finds them beforehand, and `least_model` evaluates programs without compound terms whatever their recursion.

    Parameters
    ----------
    clauses : Prolog text, or iterable of clauses, literals or texts
        The program.

    Attributes
    ----------
    clauses : tuple of Clause
        In order.

    Examples
    --------
    >>> program = Program('''
    ...     parent(ann, tom). parent(tom, eve). parent(tom, ian).
    ...     ancestor(X, Y) :- parent(X, Y).
    ...     ancestor(X, Y) :- parent(X, Z), ancestor(Z, Y).
    ... ''')
    >>> [str(answer) for answer in program.solve("ancestor(ann, W)")]
    ['{W/tom}', '{W/eve}', '{W/ian}']
    >>> program.holds("ancestor(eve, ann)")
    False
    """

    __slots__ = ("__dict__", "clauses")
    parts = ("clauses",)
    clauses: tuple[Clause, ...]

    def __init__(self, clauses: Any = ()) -> None:
        if isinstance(clauses, Program):
            found = clauses.clauses
        elif isinstance(clauses, str):
            found = tuple(parse_program(clauses))
        elif isinstance(clauses, Iterable):
            found = tuple(as_clause(clause) for clause in clauses)
        else:
            raise ValueError(f"A program is Prolog text or clauses; got {shown(clauses)}.")
        if goals := [clause for clause in found if clause.head is None]:
            raise ValueError(f"A program is made of facts and rules; {goals[0]} is a goal.")
        self._set(clauses=found)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Program:
        """The program in a file of Prolog text (UTF-8)."""
        return cls(Path(path).read_text(encoding="utf-8"))

    def __len__(self) -> int:
        return len(self.clauses)

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self.clauses == other.clauses

    def __hash__(self) -> int:
        return hash(self.clauses)

    def __add__(self, other: Any) -> Program:
        return Program((*self.clauses, *Program(other).clauses))

    def __str__(self) -> str:
        return to_prolog(self.clauses)

    def __repr__(self) -> str:
        return f"Program({len(self.clauses)} clauses, {len(self.predicates)} predicates)"

    @functools.cached_property
    def predicates(self) -> dict[tuple[str, int], int]:
        """Number of clauses of each predicate, by name and arity."""
        counts: dict[tuple[str, int], int] = {}
        for clause in self.clauses:
            assert clause.head is not None
            counts[clause.head.key] = counts.get(clause.head.key, 0) + 1
        return counts

    @property
    def facts(self) -> list[Literal]:
        """The ground facts."""
        return [clause.head for clause in self.clauses if clause.is_fact and clause.is_ground and clause.head]

    @functools.cached_property
    def _coded(self) -> CodedProgram:
        return CodedProgram(self.clauses)

    def solve(
        self,
        goal: Any,
        *,
        max_depth: int = MAX_DEPTH,
        max_inferences: int | None = MAX_INFERENCES,
        time_limit: float | None = None,
    ) -> Iterator[Substitution]:
        """The answers to a goal, one for each proof, in the order of the search.

        Parameters
        ----------
        goal : Prolog text, Literal or list of them
            What is asked.
        max_depth : int, default=10000
            The most clauses with a body that may stand above a goal; deeper branches are given up.
        max_inferences : int or None, default=10000000
            The most clauses to try.
        time_limit : float, optional
            The most seconds.

        Yields
        ------
        answer : Substitution
            Terms for the variables of the goal.

        Raises
        ------
        ProofLimitError
            At a limit, after the answers that were found before it.
        """
        for answer, _ in self._search(goal, max_depth, max_inferences, time_limit):
            yield answer

    def prove(self, goal: Any, **limits: Any) -> Proof | None:
        """The first proof of a goal, or None where there is none; limits as in `solve`."""
        for _, proof in self._search(goal, proofs=True, **limits):
            return proof
        return None

    def holds(self, goal: Any, **limits: Any) -> bool:
        """Whether a goal has a proof; limits as in `solve`."""
        return any(True for _ in self._search(goal, **limits))

    def _search(
        self,
        goal: Any,
        max_depth: int = MAX_DEPTH,
        max_inferences: int | None = MAX_INFERENCES,
        time_limit: float | None = None,
        proofs: bool = False,
    ) -> Iterator[tuple[Substitution, Proof | None]]:
        _check_limit("max_depth", max_depth, Count)
        _check_limit("max_inferences", max_inferences, Count | None)
        _check_limit("time_limit", time_limit, Positive | None)
        limits = Limits(max_depth, max_inferences, time_limit)
        machine = Machine(self._coded, limits)
        literals = as_goal(goal)
        goals, cells = machine.goals(literals)
        try:
            for steps in machine.solutions(goals):
                names: dict[int, Variable] = {}
                answer = {v: machine.symbols.decoded(cell, names) for v, cell in cells.items()}
                proof = self._proof(machine, steps, names) if proofs else None
                yield Substitution(answer), proof
        except ProofLimitError as error:
            raise ProofLimitError(self._explained(str(error), literals)) from None
        if limits.cut:
            said = f"branches of the search went deeper than max_depth={max_depth}"
            raise ProofLimitError(self._explained(said, literals))

    def _explained(self, said: str, literals: list[Literal]) -> str:
        goal = ", ".join(str(literal) for literal in literals)
        culprits = "; ".join(str(clause) for clause in self.left_recursive()[:3])
        hint = f" Left-recursive clauses call themselves first: {culprits}" if culprits else ""
        return f"{goal}: {said}.{hint}"

    def _proof(self, machine: Machine, steps: Any, names: dict[int, Variable]) -> Proof:
        """The tree of the resolution steps of a solution."""
        ordered = []
        while steps is not None:
            ordered.append(steps[0])
            steps = steps[1]
        children: dict[int, list[Proof]] = {}
        for step in ordered:  # the last step first: what is below a step is done before it
            parent, (key, args, negated), number = step
            goal = Literal(key[0], (machine.symbols.decoded(arg, names) for arg in args), negated)
            clause = self.clauses[number] if number >= 0 else None
            node = Proof(goal, clause, tuple(reversed(children.pop(id(step), []))))
            children.setdefault(id(parent), []).append(node)
        roots = children.get(id(None), [])
        return roots[0] if len(roots) == 1 else Proof(None, None, tuple(reversed(roots)))

    def left_recursive(self) -> list[Clause]:
        """The clauses by which a predicate calls itself first, with no argument that becomes smaller.

        Depth-first search does not return from such a call. A call with a part of an argument (of a list, say)
        ends.

        Examples
        --------
        >>> program = Program("path(X, Z) :- path(X, Y), edge(Y, Z). path(X, Y) :- edge(X, Y). edge(a, b).")
        >>> [str(clause) for clause in program.left_recursive()]
        ['path(X, Z) :- path(X, Y), edge(Y, Z).']
        """
        first: dict[Clause, tuple[str, int]] = {}
        for clause in self.clauses:
            called = next((literal for literal in clause.body if not literal.is_comparison), None)
            if called is not None and not _smaller(clause, called):
                first[clause] = called.key
        calls: dict[tuple[str, int], set[tuple[str, int]]] = {}
        for clause, key in first.items():
            assert clause.head is not None
            calls.setdefault(clause.head.key, set()).add(key)
        return [
            clause for clause, key in first.items() if clause.head and clause.head.key in _reached(calls, key)
        ]

    def search_tree(self, goal: Any, *, max_depth: int = 20, max_nodes: int = 500) -> SearchTree:
        """The whole tree of SLD resolution, in plain form: for pictures, and to check proofs with.

        Parameters
        ----------
        goal : Prolog text, Literal or list of them
            What is asked; negated goals are proved on their own.
        max_depth : int, default=20
            The most resolution steps below the root; beyond it a node is "cut".
        max_nodes : int, default=500
            The most nodes.

        Returns
        -------
        root : SearchTree
        """
        literals = as_goal(goal)
        root = SearchTree(literals)
        asked = Clause(None, literals).variables
        waiting, nodes = [(root, 0)], 1
        while waiting:
            node, depth = waiting.pop()
            if not node.goals:
                node.status = "success"
                continue
            if depth >= max_depth or nodes >= max_nodes:
                node.status = "cut"
                continue
            for clause, theta, goals in self._expanded(node.goals):
                answer = node.answer.compose(theta).restricted(asked)
                own = theta.restricted(v for literal in node.goals for v in literal.variables)
                node.children.append(SearchTree(goals, "open", clause, own, answer))
            nodes += len(node.children)
            node.status = "open" if node.children else "failure"
            waiting += [(child, depth + 1) for child in reversed(node.children)]
        return root

    def _expanded(self, goals: list[Literal]) -> Iterator[tuple[Clause | None, Substitution, list[Literal]]]:
        """What each clause makes of the first goal."""
        goal = goals[0]
        if goal.negated or goal.is_comparison or goal.key in (("true", 0), ("fail", 0), ("false", 0)):
            for theta in self.solve(goal):
                yield None, theta, [theta.apply(literal) for literal in goals[1:]]
            return
        clause = Clause(None, goals)
        for other in self.clauses:
            found = resolvent(clause, other, 0, distinct=False)
            if found is not None:
                yield other, found[1], list(found[0].body)

    def least_model(self, *, max_facts: int = 5_000_000) -> list[Literal]:
        """All ground atoms that follow from a program without compound terms, by forward chaining.

        It ends whatever the recursion is: left-recursive clauses are as good as others. Negated literals must be
        stratified: no predicate may depend on its own negation.

        Parameters
        ----------
        max_facts : int, default=5000000
            The most atoms to derive; an error says when there are more.

        Returns
        -------
        atoms : list of Literal

        Examples
        --------
        >>> program = Program(
        ...     "path(X, Z) :- path(X, Y), edge(Y, Z). path(X, Y) :- edge(X, Y). edge(a, b). edge(b, c)."
        ... )
        >>> [str(atom) for atom in program.least_model() if atom.predicate == "path"]
        ['path(a, b)', 'path(a, c)', 'path(b, c)']
        """
        from tercet.rules.logic._engine.forward_chaining import least_model

        return least_model(self.clauses, max_facts).atoms()


def as_goal(goal: Any) -> list[Literal]:
    """A conjunction of literals from text, a literal or a list of them."""
    if isinstance(goal, str):
        return parse_goal(goal)
    return [as_literal(one) for one in (goal if isinstance(goal, list | tuple) else [goal])]


def _check_limit(name: str, value: Any, hint: Any) -> None:
    if not allows(hint, value):
        raise ValueError(f"{name} must be {describe(hint)}; got {shown(value)}.")


def _smaller(clause: Clause, called: Literal) -> bool:
    """Whether a call has a proper part of an argument of the clause's head in its place."""
    head = clause.head
    assert head is not None
    if called.key != head.key:
        return False
    return any(new != old and new in set(subterms(old)) for new, old in zip(called.args, head.args))


def _reached(
    calls: dict[tuple[str, int], set[tuple[str, int]]], start: tuple[str, int]
) -> set[tuple[str, int]]:
    found, waiting = {start}, [start]
    while waiting:
        for key in calls.get(waiting.pop(), ()):
            if key not in found:
                found.add(key)
                waiting.append(key)
    return found
