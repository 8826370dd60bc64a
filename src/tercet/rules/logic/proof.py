"""Proofs and search trees, as text and for pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.substitution import Substitution


@dataclass(frozen=True)
class Proof:
    """The proof of a literal: the clause that it follows from, and the proofs of that clause's body.

    Attributes
    ----------
    goal : Literal
        What is proved, with the answer's values put in; None at the root of a proof of several goals.
    clause : Clause or None
        The clause of the program; None for a comparison and for what has no proof and is therefore not so.
    children : tuple of Proof
        The proofs of the body.

    Examples
    --------
    >>> from tercet.rules.logic import Program
    >>> program = Program("parent(ann, tom). parent(tom, eve). grand(X, Z) :- parent(X, Y), parent(Y, Z).")
    >>> print(program.prove("grand(ann, W)"))
    grand(ann, eve)
    ├─ parent(ann, tom)
    └─ parent(tom, eve)
    """

    goal: Literal | None
    clause: Clause | None
    children: tuple[Proof, ...] = ()

    @property
    def label(self) -> str:
        return "true" if self.goal is None else str(self.goal)

    @property
    def depth(self) -> int:
        """Levels of clauses below the root."""
        level, deepest = [self], 0
        while level := [child for node in level for child in node.children]:
            deepest += 1
        return deepest

    @property
    def clauses(self) -> list[Clause]:
        """The clauses that it uses, in the order of the proof."""
        found, waiting = [], [self]
        while waiting:
            node = waiting.pop()
            if node.clause is not None:
                found.append(node.clause)
            waiting += reversed(node.children)
        return found

    def to_text(self) -> str:
        """The proof as lines, the body of a clause below its head."""
        return "\n".join(tree_lines(self))

    def __str__(self) -> str:
        return self.to_text()


@dataclass
class SearchTree:
    """A node of the tree that SLD resolution searches: the goals that are left, and what each clause makes of them.

    Attributes
    ----------
    goals : list of Literal
        What is left to prove; nothing at a success.
    status : str
        "open" (a node with children), "success", "failure" or "cut" (beyond the limits).
    clause : Clause or None
        The clause that led here.
    theta : Substitution
        The unifier of that step, for the variables of the goals above.
    children : list of SearchTree
        In the order of the clauses.

    Examples
    --------
    >>> from tercet.rules.logic import Program
    >>> print(Program("p(X) :- q(X), r(X). q(a). q(b). r(b).").search_tree("p(X)"))
    p(X)
    └─ q(X), r(X)
       ├─ {X/a}: r(a)  [failure]
       └─ {X/b}: r(b)
          └─ true  [success]
    """

    goals: list[Literal]
    status: str = "open"
    clause: Clause | None = None
    theta: Substitution = field(default_factory=Substitution)
    answer: Substitution = field(default_factory=Substitution)
    children: list[SearchTree] = field(default_factory=list)

    @property
    def label(self) -> str:
        goals = ", ".join(str(goal) for goal in self.goals) or "true"
        return f"{self.theta}: {goals}" if self.theta else goals

    def leaves(self) -> Iterator[SearchTree]:
        """The leaves, from left to right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if not node.children:
                yield node
            waiting += reversed(node.children)

    def to_text(self) -> str:
        """The tree as lines; leaves say how they ended."""
        return "\n".join(tree_lines(self))

    def __str__(self) -> str:
        return self.to_text()


def tree_lines(root: Proof | SearchTree) -> Iterator[str]:
    """A tree as lines with branches."""
    waiting: list[tuple[Proof | SearchTree, str, str]] = [(root, "", "")]
    while waiting:
        node, branch, below = waiting.pop()
        status = getattr(node, "status", "open")
        yield f"{branch}{node.label}" + ("" if status == "open" else f"  [{status}]")
        last = len(node.children) - 1
        children: list[Any] = list(enumerate(node.children))
        for k, child in reversed(children):
            waiting.append(
                (child, below + ("└─ " if k == last else "├─ "), below + ("   " if k == last else "│  "))
            )
