"""Golem: clauses learned from specific to general by relative least general generalisations."""

from __future__ import annotations

import itertools
import warnings
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Fraction, Seed, check_parameters
from tercet.core.steps import ConvergenceWarning, Fit, with_callbacks
from tercet.rules.logic._engine.body_query import is_function_free
from tercet.rules.logic._engine.examples import Examples, covered
from tercet.rules.logic._engine.relations import FactBase
from tercet.rules.logic.clause import Clause, connected_variables
from tercet.rules.logic.clause_learner import ClauseLearner, checked_examples, known_facts, refuse_defined
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.program import Program
from tercet.rules.logic.rlgg import FactIndex, determinate_clause


@method(
    zh="Golem（自底向上的归纳逻辑程序设计）",
    task="inductive logic programming",
    model="Horn clauses whose literals are ij-determinate",
    strategy="clauses that cover the most positive examples and no more negatives than allowed",
    algorithms="relative least general generalisation of sampled pairs, extended greedily; reduction by negatives",
    texts=["watermelon notes ch. 13, 13.5.1"],
    peers=["Golem", "aleph"],
)
class Golem(ClauseLearner):
    """Bottom-up learner of clauses by relative least general generalisation.

    Pairs of positive examples are drawn; of their generalisations that cover hardly any negatives, the one that
    covers most positives is generalised further with other examples while it covers more. Then literals are
    removed as long as no more negatives are covered, the positives that it covers are set aside, and the next
    clause is learned. What is learned is not recursive.

    Parameters
    ----------
    max_depth : int, default=2
        i, the most literals between a term and the head.
    max_degree : int, default=2
        j, the most terms that determine a new one.
    n_samples : int, default=10
        Pairs, and then examples, that are drawn for each generalisation.
    noise : float, default=0.0
        The largest share of negatives among the examples that a clause covers.
    min_positives : int, default=2
        The fewest positive examples that a clause must cover.
    max_clauses : int, default=100
        The most clauses.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draws.

    Attributes
    ----------
    clauses_ : list of Clause
        The definition that was learned.
    target_ : (str, int)
        Name and arity of its predicate.
    uncovered_ : list of Literal
        Positive examples that no clause covers.
    facts_ : list of Literal
        The background as ground facts.
    history_ : dict
        For each clause, the positives that it covers and those that are left.

    Examples
    --------
    >>> background = '''
    ...     father(tom, eve). father(tom, ian). father(jim, tom). father(bob, sue).
    ...     mother(ann, eve). mother(ann, ian). mother(sue, tom). mother(lea, sue).
    ...     female(eve). female(ann). female(sue). female(lea).
    ... '''
    >>> positives = ["daughter(eve, tom)", "daughter(eve, ann)", "daughter(sue, bob)", "daughter(sue, lea)"]
    >>> negatives = [
    ...     "daughter(ian, tom)",
    ...     "daughter(tom, sue)",
    ...     "daughter(ian, ann)",
    ...     "daughter(eve, bob)",
    ...     "daughter(sue, tom)",
    ...     "daughter(eve, lea)",
    ... ]
    >>> print(Golem(random_state=0).fit(background, positives, negatives).to_prolog())
    daughter(A, B) :- father(B, A), female(A).
    daughter(A, B) :- mother(B, A), female(A).
    """

    def __init__(
        self,
        *,
        max_depth: Count = 2,
        max_degree: Count = 2,
        n_samples: Count = 10,
        noise: Fraction = 0.0,
        min_positives: CountOrZero = 2,
        max_clauses: Count = 100,
        random_state: Seed = None,
    ) -> None:
        self.max_depth = max_depth
        self.max_degree = max_degree
        self.n_samples = n_samples
        self.noise = noise
        self.min_positives = min_positives
        self.max_clauses = max_clauses
        self.random_state = random_state

    @with_callbacks
    def fit(self, background: Any, positives: Any, negatives: Any = ()) -> Self:
        """Learn a definition of the examples' predicate.

        Parameters
        ----------
        background : Program, Prolog text or iterable of clauses
            What is known: facts, and rules without compound terms.
        positives : Prolog text or iterable of ground atoms
            Of one predicate, which the background does not define.
        negatives : Prolog text or iterable of ground atoms, default=()
            Without them any generalisation is as good as another.

        Returns
        -------
        self
        """
        check_parameters(self)
        good, bad = checked_examples(positives, negatives)
        facts = known_facts(background)
        refuse_defined(facts, good[0].key)
        self.__dict__.pop("_prepared", None)
        self.target_, self.facts_ = good[0].key, facts.atoms()
        with Fit(self):
            self._cover(_Coverage(facts, self.facts_), FactIndex(self.facts_), good, bad)
        if self.uncovered_:
            warnings.warn(
                f"Golem: no clause was found for {len(self.uncovered_)} of {len(good)} positive examples, "
                f"{self.uncovered_[0]} among them.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _cover(self, coverage: _Coverage, index: FactIndex, good: list[Literal], bad: list[Literal]) -> None:
        rng = check_random_state(
            self.random_state
            if not isinstance(self.random_state, np.random.Generator)
            else int(self.random_state.integers(2**31))
        )
        left, clauses = list(good), []
        for step in self.steps(self.max_clauses, name="clause"):
            clause = self._best(coverage, index, left, bad, rng)
            if clause is None:
                break
            clause = self._reduced(coverage, clause, bad).renamed()
            hit = coverage.of(clause, left)
            left = [atom for atom, is_hit in zip(left, hit) if not is_hit]
            clauses.append(clause)
            step.report(covered=int(hit.sum()), left=len(left), clauses_=list(clauses), uncovered_=list(left))
            if not left:
                break
        self.clauses_, self.uncovered_ = clauses, left

    def _best(
        self, coverage: _Coverage, index: FactIndex, left: list[Literal], bad: list[Literal], rng: Any
    ) -> Clause | None:
        """The best generalisation of a pair, extended by further examples while it covers more."""
        pairs: list[tuple[Literal, ...]] = list(itertools.combinations(left, 2)) if len(left) <= 50 else [
            tuple(left[k] for k in rng.choice(len(left), 2, replace=False)) for _ in range(self.n_samples)
        ]  # fmt: skip
        if len(pairs) > self.n_samples:
            pairs = [pairs[k] for k in np.sort(rng.choice(len(pairs), self.n_samples, replace=False))]
        if len(left) == 1 and self.min_positives <= 1:
            pairs = [(left[0],)]
        best = self._choose(coverage, index, pairs, left, bad)
        while best is not None:
            examples, _, hit = best
            rest = [atom for atom, is_hit in zip(left, hit) if not is_hit]
            if not rest:
                break
            drawn = rng.choice(len(rest), min(self.n_samples, len(rest)), replace=False)
            wider = self._choose(coverage, index, [(*examples, rest[k]) for k in np.sort(drawn)], left, bad)
            if wider is None or wider[2].sum() <= hit.sum():
                break
            best = wider
        return None if best is None or best[2].sum() < self.min_positives else best[1]

    def _choose(
        self,
        coverage: _Coverage,
        index: FactIndex,
        groups: list[tuple[Literal, ...]],
        left: list[Literal],
        bad: list[Literal],
    ) -> tuple[tuple[Literal, ...], Clause, np.ndarray] | None:
        """Of the generalisations of some groups, the accurate one that covers most; the first of equal ones."""
        best = None
        for examples in groups:
            clause = linked(determinate_clause(examples, index, self.max_depth, self.max_degree))
            hit, wrong = coverage.of(clause, left), int(coverage.of(clause, bad).sum())
            if wrong <= self.noise * (wrong + hit.sum()) and (best is None or hit.sum() > best[2].sum()):
                best = examples, clause, hit
        return best

    def _reduced(self, coverage: _Coverage, clause: Clause, bad: list[Literal]) -> Clause:
        """The clause without the literals that exclude no negative example; those far from the head go first."""
        limit = int(coverage.of(clause, bad).sum())
        for literal in reversed(clause.body):
            shorter = clause.without(literal)
            if shorter.body and int(coverage.of(shorter, bad).sum()) <= limit:
                clause = shorter
        return linked(clause)


class _Coverage:
    """Which examples a clause covers: by joins of facts, or by proof where it holds compound terms."""

    def __init__(self, facts: FactBase, atoms: list[Literal]) -> None:
        self.facts, self.atoms = facts, atoms

    def of(self, clause: Clause, examples: list[Literal]) -> np.ndarray:
        if is_function_free(clause):
            return covered(clause, Examples.of(examples, clause.head.key, self.facts))  # type: ignore[union-attr]
        program = Program([*self.atoms, clause])
        return np.array([program.holds(example) for example in examples], dtype=bool)


def linked(clause: Clause) -> Clause:
    """The clause without literals that no chain of variables links to its head."""
    head = clause.head.variables if clause.head else []
    near = connected_variables(clause.body, head)
    return Clause(clause.head, (literal for literal in clause.body if near.issuperset(literal.variables)))
