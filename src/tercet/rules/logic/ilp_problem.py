"""The task of inductive logic programming: background, examples and hypotheses (归纳逻辑程序设计)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.public_names import PublicPickle
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.clause_learner import checked_examples
from tercet.rules.logic.literal import Literal, ground_atoms
from tercet.rules.logic.program import Program
from tercet.rules.logic.proof import Proof
from tercet.rules.logic.rlgg import saturate
from tercet.rules.logic.terms import Constant, Term, Variable, fresh_names


@dataclass(frozen=True)
class Verdict:
    """What a hypothesis comes to.

    Attributes
    ----------
    missed : list of Literal
        Positive examples that do not follow.
    wrong : list of Literal
        Negative examples that do.
    is_complete, is_consistent : bool
        Whether there are none of them.
    accuracy : float
        The share of examples that are as they should be.

    Examples
    --------
    >>> problem = ILPProblem("bird(tweety). bird(sam).", positives="flies(tweety).", negatives="flies(sam).")
    >>> verdict = problem.judge("flies(X) :- bird(X).")
    >>> verdict.is_complete, verdict.is_consistent, verdict.accuracy
    (True, False, 0.5)
    """

    missed: list[Literal]
    wrong: list[Literal]
    n_examples: int

    @property
    def is_complete(self) -> bool:
        return not self.missed

    @property
    def is_consistent(self) -> bool:
        return not self.wrong

    @property
    def accuracy(self) -> float:
        return 1 - (len(self.missed) + len(self.wrong)) / self.n_examples


@method(
    zh="归纳逻辑程序设计",
    task="inductive logic programming",
    model="a hypothesis H of clauses with B ∧ H |= e for every positive e, and for no negative one",
    strategy="complete and consistent with the examples, given the background B",
    algorithms="entailment by SLD resolution with limits",
    texts=["watermelon notes ch. 13, 13.5"],
    peers=["Popper", "aleph"],
)
class ILPProblem(PublicPickle):
    """A task of inductive logic programming: background knowledge and examples.

    A hypothesis H is complete if every positive example follows from B and H, and consistent if no negative one
    does. A task makes sense if B alone is neither: some positive does not follow from it, and no negative does.

    Parameters
    ----------
    background : Program, Prolog text or iterable of clauses
        B, facts and rules.
    positives, negatives : Prolog text or iterables of ground atoms
        The examples, which must not contradict each other.
    max_depth, max_inferences, time_limit
        Limits of a proof, as in `Program.solve`.

    Examples
    --------
    >>> problem = ILPProblem(
    ...     "parent(ann, tom). parent(tom, eve).", ["grand(ann, eve)"], ["grand(ann, tom)", "grand(tom, ann)"]
    ... )
    >>> problem.judge("grand(X, Z) :- parent(X, Y), parent(Y, Z).").accuracy
    1.0
    >>> [str(atom) for atom in problem.judge("grand(X, Y) :- parent(X, Z).").wrong]
    ['grand(ann, tom)', 'grand(tom, ann)']
    >>> print(problem.bottom_clause("grand(ann, eve)"))
    grand(A, B) :- parent(A, C), parent(C, B).
    """

    def __init__(
        self,
        background: Any,
        positives: Any,
        negatives: Any = (),
        *,
        max_depth: int = 1000,
        max_inferences: int | None = 1_000_000,
        time_limit: float | None = None,
    ) -> None:
        self.background = Program(background)
        self.positives, self.negatives = checked_examples(positives, negatives)
        self.limits = {"max_depth": max_depth, "max_inferences": max_inferences, "time_limit": time_limit}

    def __repr__(self) -> str:
        return (
            f"ILPProblem({len(self.background)} clauses, {len(self.positives)} positives, "
            f"{len(self.negatives)} negatives)"
        )

    def entails(self, hypothesis: Any, atoms: Any) -> np.ndarray:
        """Whether each atom follows from the background and a hypothesis.

        Parameters
        ----------
        hypothesis : Program, Prolog text or iterable of clauses
            H; nothing, `()`, asks the background alone.
        atoms : Prolog text or ground atoms
            What is asked.

        Returns
        -------
        follows : bool array of shape (n_atoms,)
        """
        program = Program(hypothesis) + self.background
        asked = ground_atoms(atoms, "atoms", distinct=False)
        return np.array([program.holds(atom, **self.limits) for atom in asked], dtype=bool)

    def judge(self, hypothesis: Any) -> Verdict:
        """Which positives a hypothesis misses and which negatives it covers."""
        missed = [e for e, ok in zip(self.positives, self.entails(hypothesis, self.positives)) if not ok]
        wrong = [e for e, ok in zip(self.negatives, self.entails(hypothesis, self.negatives)) if ok]
        return Verdict(missed, wrong, len(self.positives) + len(self.negatives))

    def is_solution(self, hypothesis: Any) -> bool:
        """Whether a hypothesis is complete and consistent."""
        verdict = self.judge(hypothesis)
        return verdict.is_complete and verdict.is_consistent

    def is_sensible(self) -> bool:
        """Whether the background alone leaves a positive unexplained, and explains no negative."""
        verdict = self.judge(())
        return verdict.is_consistent and not verdict.is_complete

    def explain(self, hypothesis: Any, atom: Any) -> Proof | None:
        """The proof of an atom from the background and a hypothesis, or None."""
        return (Program(hypothesis) + self.background).prove(atom, **self.limits)

    def bottom_clause(self, example: Any, max_depth: int | None = None) -> Clause:
        """The most specific clause that covers an example: its ground clause with constants turned into variables.

        Numbers and names become variables alike, the same one wherever a constant stands; every clause that covers
        the example and has no constants subsumes it.
        """
        ground = saturate(example, self.background, max_depth=max_depth)
        names = fresh_names(())
        naming: dict[Term, Term] = {}
        for literal in ground.literals:
            for arg in literal.args:
                if isinstance(arg, Constant) and arg not in naming:
                    naming[arg] = Variable(next(names))
        return ground.replaced(naming)
