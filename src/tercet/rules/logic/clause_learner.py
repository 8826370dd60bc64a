"""What learners of clauses share: the examples, predictions by proof, the clauses as Prolog text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from tercet.core.public_names import PublicPickle
from tercet.core.steps import Iterative
from tercet.rules.logic._engine.body_query import is_function_free
from tercet.rules.logic._engine.examples import Examples, covered
from tercet.rules.logic._engine.forward_chaining import least_model
from tercet.rules.logic._engine.relations import FactBase
from tercet.rules.logic.clause import Clause
from tercet.rules.logic.literal import Literal, ground_atoms
from tercet.rules.logic.program import Program
from tercet.rules.logic.prolog import to_prolog

MOST_FACTS = 5_000_000


class ClauseLearner(PublicPickle, Iterative):
    """Learner of clauses that, with the background, entail the positive examples and none of the negative ones."""

    clauses_: list[Clause]
    target_: tuple[str, int]
    uncovered_: list[Literal]
    facts_: list[Literal]

    def predict(self, atoms: Any) -> np.ndarray:
        """Whether each atom follows from the background and the clauses.

        Parameters
        ----------
        atoms : Prolog text or list of ground atoms
            In any number, of any constants.

        Returns
        -------
        holds : bool array of shape (n_atoms,)
        """
        self._check_fitted()
        asked = ground_atoms(atoms, "atoms", distinct=False)
        own = np.array([atom.key == self.target_ for atom in asked], dtype=bool)
        examples = Examples.of([asked[k] for k in np.flatnonzero(own)], self.target_, self._known()[0])
        found = np.zeros(len(asked), dtype=bool)
        found[own] = self._covered(examples)
        return found

    def _covered(self, examples: Examples) -> np.ndarray:
        """Whether each example follows: by joins where a clause allows it, else by proof."""
        found = np.zeros(len(examples), dtype=bool)
        for clause in self.clauses_:
            if not clause.is_recursive and is_function_free(clause):
                rest = np.flatnonzero(~found)
                found[rest] = covered(clause, examples[rest])
        if any(clause.is_recursive or not is_function_free(clause) for clause in self.clauses_):
            rest = np.flatnonzero(~found)
            program = self._known()[1]
            found[rest] = [program.holds(atom) for atom in examples[rest].atoms()]
        return found

    def score(self, positives: Any, negatives: Any) -> float:
        """Accuracy on examples: the share of positives that follow and of negatives that do not."""
        right = np.concatenate([self.predict(positives), ~self.predict(negatives)])
        return float(right.mean())

    def to_prolog(self) -> str:
        """The clauses as Prolog text."""
        self._check_fitted()
        return to_prolog(self.clauses_)

    def _check_fitted(self) -> None:
        if "clauses_" not in vars(self):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit first.")

    def _known(self) -> tuple[FactBase, Program]:
        """The background for predictions, in both forms; made when it is first needed."""
        if "_prepared" not in vars(self):
            self._prepared = FactBase(self.facts_), Program([*self.facts_, *self.clauses_])
        return self._prepared

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_prepared"}


def known_facts(background: Any) -> FactBase:
    """The ground facts that follow from a background of facts and rules."""
    program = Program(background)
    if all(clause.is_fact and clause.is_ground for clause in program):
        return FactBase(program.facts)
    return least_model(program.clauses, MOST_FACTS)


def checked_examples(positives: Any, negatives: Any) -> tuple[list[Literal], list[Literal]]:
    """Examples of one predicate that do not contradict each other, or an error that says what is wrong."""
    good = ground_atoms(positives, "positives")
    bad = ground_atoms(() if negatives is None else negatives, "negatives")
    if not good:
        raise ValueError("positives must have at least one example.")
    keys = dict.fromkeys(atom.key for atom in (*good, *bad))
    if len(keys) > 1:
        names = ", ".join(f"{name}/{arity}" for name, arity in keys)
        raise ValueError(f"All examples must be of one predicate; got {names}.")
    if both := [atom for atom in good if atom in set(bad)]:
        more = f" and {len(both) - 1} more" if len(both) > 1 else ""
        raise ValueError(f"Contradictory examples: {both[0]}{more} is both positive and negative.")
    return good, bad


def refuse_defined(facts: FactBase, key: tuple[str, int]) -> None:
    """Refuse a background that has facts of the predicate to learn."""
    if len(facts.relation(key)):
        raise ValueError(f"The background defines {key[0]}/{key[1]}, which is what is to be learned.")
