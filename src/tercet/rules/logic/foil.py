"""FOIL: clauses learned from general to specific by information gain (一阶归纳学习器)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Fraction, Seed, check_parameters
from tercet.core.steps import ConvergenceWarning, Fit, with_callbacks
from tercet.rules.logic._engine.candidate_literals import Space, Types
from tercet.rules.logic._engine.examples import Examples, covered
from tercet.rules.logic._engine.recursion_guard import RecursionGuard
from tercet.rules.logic._engine.relations import FactBase, ranked_keys
from tercet.rules.logic.clause_learner import ClauseLearner, checked_examples, known_facts, refuse_defined
from tercet.rules.logic.clause_search import ClauseSearch, has_ground_calls, needed
from tercet.rules.logic.literal import Literal
from tercet.rules.logic.terms import as_term


@method(
    zh="FOIL（一阶归纳学习器）",
    task="inductive logic programming",
    model="Horn clauses without function symbols: p(X) <- L_1 ∧ ... ∧ L_m, negation and recursion included",
    strategy="FOIL gain: t (log2(p1 / (p1 + n1)) - log2(p0 / (p0 + n0))); no clause takes more bits than it saves",
    algorithms="sequential covering; literals are added one by one, the largest gain first; post-pruning",
    texts=["watermelon notes ch. 13, 13.4"],
    peers=["Quinlan's FOIL 6", "Popper", "aleph"],
)
class FOIL(ClauseLearner):
    """First-order inductive learner: clauses that cover positive examples and no negative ones.

    A clause begins as p(X_1 ... X_k) without a body. Literals are added, each with at least one variable that is
    there already, as long as bindings of negative examples are covered; the next one has the largest gain

        F_gain = t (log2(p1 / (p1 + n1)) - log2(p0 / (p0 + n0))),

    where p and n count bindings of positives and negatives before (0) and after (1), and t the positive bindings
    before that are still covered. Examples that a finished clause covers are removed, and the next clause is
    learned.

    A recursive literal is allowed if an argument becomes smaller in an order that the background has (a relation
    without cycles, as parent or successor), so that proofs end. Literals that determine a new variable for every
    positive binding have no gain of their own, yet open the way to others: they are added all at once, and those
    that were of no use are pruned.

    Parameters
    ----------
    negation : bool, default=True
        Whether literals may be negated, as `\\+ married(X, _)`.
    recursion : bool, default=True
        Whether the predicate that is learned may be in a body.
    determinate : bool, default=True
        Whether determinate literals are added where no literal has nearly the largest possible gain.
    constants : iterable, default=()
        Constants that literals may name, as in `colour(X, red)`.
    types : dict, optional
        Types of the arguments of predicates: {"parent": ("person", "person")}. By default arguments that share a
        constant are of one type. Only variables of one type are tried at a place.
    encoding_length : bool, default=True
        Whether a clause must not take more bits than the examples it explains. Few examples allow only short
        clauses.
    min_accuracy : float, default=1.0
        Accuracy on the examples from which a clause is accepted that no further literal improves. At 1 no clause
        covers a negative example: with noisy examples clauses become too special and positives stay uncovered, of
        which a warning tells. Lower it then, to Quinlan's 0.8, say: clauses may cover some negative examples.
    max_variables : int, default=12
        The most variables of a clause.
    max_literals : int, default=20
        The most literals of a body before pruning, besides determinate ones.
    max_clauses : int, default=100
        The most clauses.
    max_bindings : int, default=100000
        Literals with more bindings than this, and than twice the examples, are not tried.
    max_backtracks : int, default=20
        How often the search of a clause that fails goes back to a literal of nearly the best gain.
    max_negatives : int, default=100000
        Of the negatives that the closed world gives, as many are drawn.
    random_state : int, Generator, RandomState or None, default=None
        Seed of that draw; nothing else is random.

    Attributes
    ----------
    clauses_ : list of Clause
        The definition that was learned.
    target_ : (str, int)
        Name and arity of its predicate.
    uncovered_ : list of Literal
        Positive examples that do not follow from the background and the clauses.
    facts_ : list of Literal
        The background as ground facts.
    history_ : dict
        For each clause, the positives that it covers and those that are left.

    Examples
    --------
    >>> background = '''
    ...     parent(ann, tom). parent(ann, sue). parent(tom, eve). parent(tom, ian). parent(sue, jim).
    ...     parent(eve, bob). parent(ian, lea).
    ... '''
    >>> positives = [
    ...     "ancestor(ann, tom)",
    ...     "ancestor(ann, sue)",
    ...     "ancestor(ann, eve)",
    ...     "ancestor(ann, ian)",
    ...     "ancestor(ann, jim)",
    ...     "ancestor(ann, bob)",
    ...     "ancestor(ann, lea)",
    ...     "ancestor(tom, eve)",
    ...     "ancestor(tom, ian)",
    ...     "ancestor(tom, bob)",
    ...     "ancestor(tom, lea)",
    ...     "ancestor(sue, jim)",
    ...     "ancestor(eve, bob)",
    ...     "ancestor(ian, lea)",
    ... ]
    >>> model = FOIL(negation=False).fit(background, positives)
    >>> print(model.to_prolog())
    ancestor(A, B) :- parent(A, B).
    ancestor(A, B) :- parent(A, C), ancestor(C, B).
    >>> model.predict(["ancestor(ann, lea)", "ancestor(lea, ann)"])
    array([ True, False])
    """

    def __init__(
        self,
        *,
        negation: bool = True,
        recursion: bool = True,
        determinate: bool = True,
        constants: Iterable[Any] = (),
        types: Mapping[str, Any] | None = None,
        encoding_length: bool = True,
        min_accuracy: Fraction = 1.0,
        max_variables: Count = 12,
        max_literals: Count = 20,
        max_clauses: Count = 100,
        max_bindings: Count = 100_000,
        max_backtracks: CountOrZero = 20,
        max_negatives: Count = 100_000,
        random_state: Seed = None,
    ) -> None:
        self.negation = negation
        self.recursion = recursion
        self.determinate = determinate
        self.constants = constants
        self.types = types
        self.encoding_length = encoding_length
        self.min_accuracy = min_accuracy
        self.max_variables = max_variables
        self.max_literals = max_literals
        self.max_clauses = max_clauses
        self.max_bindings = max_bindings
        self.max_backtracks = max_backtracks
        self.max_negatives = max_negatives
        self.random_state = random_state

    @with_callbacks
    def fit(self, background: Any, positives: Any, negatives: Any = None) -> Self:
        """Learn a definition of the examples' predicate.

        Parameters
        ----------
        background : Program, Prolog text or iterable of clauses
            What is known: facts, and rules without compound terms.
        positives : Prolog text or iterable of ground atoms
            Of one predicate, which the background does not define.
        negatives : Prolog text or iterable of ground atoms, optional
            By default the closed world: every tuple of constants of the arguments' types that is not positive.

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
            self._cover(facts, good, bad if negatives is not None else None)
        left, hints = self.uncovered_, ""
        if any(clause.is_recursive for clause in self.clauses_):  # so far tested with the positives as facts
            self.uncovered_ = self._unproved(good)
        if left and self.encoding_length:
            hints += " encoding_length=False allows longer clauses for few examples."
        if left and self.min_accuracy == 1.0:
            hints += (
                " If examples are noisy, lower min_accuracy (0.8, say): clauses may then cover negatives."
            )
        if left and len(self.uncovered_) > len(left):
            hints += f" By recursion, {len(self.uncovered_)} do not follow from the clauses."
        if named := left or self.uncovered_:
            what = "no clause was found for" if left else "the clauses do not prove"
            warnings.warn(
                f"FOIL: {what} {len(named)} of {len(good)} positive examples, {named[0]} among them.{hints}",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _cover(self, facts: FactBase, positives: list[Literal], negatives: list[Literal] | None) -> None:
        """Learn a definition; one without recursion where proofs by recursion cover more negatives."""
        space = self._space(facts, positives)
        good = Examples.of(positives, self.target_, facts)
        bad = (
            self._closed_world(space, good)
            if negatives is None
            else Examples.of(negatives, self.target_, facts)
        )
        space.max_bindings = max(self.max_bindings, 2 * (len(good) + len(bad)))
        self._learn(space, good, bad)
        # A recursive literal was tested on the positives; of atoms that are in neither list it may prove more.
        if negatives is not None and any(clause.is_recursive for clause in self.clauses_):
            expected = np.any([covered(clause, bad) for clause in self.clauses_], axis=0)
            proved = self._covered(bad)
            self.__dict__.pop("_prepared", None)
            if (proved & ~expected).any():
                space.predicates.remove(self.target_)
                self._learn(space, good, bad)

    def _learn(self, space: Space, good: Examples, bad: Examples) -> None:
        """Sequential covering: a clause, then the examples that it does not cover."""
        guard = RecursionGuard(space.facts, self.target_)
        left, clauses = good, []
        for step in self.steps(self.max_clauses, name="clause"):
            clause = ClauseSearch(self, space, guard, left, bad, len(good)).run()
            if clause is None:
                break
            hit = covered(clause, left)
            left = left[~hit]
            clauses.append(clause)
            guard.accept(clause.head, clause.body)  # type: ignore[arg-type]
            step.report(covered=int(hit.sum()), left=len(left), clauses_=list(clauses))
            if not len(left):
                break
        self.clauses_ = needed(clauses, good)
        self.uncovered_ = left.atoms()

    def _unproved(self, positives: list[Literal]) -> list[Literal]:
        """The positives that do not follow from the clauses, in their order.

        Where recursive calls have no unknown argument, joins with the positives proved so far find most that do,
        much faster than a proof of each.
        """
        facts = FactBase(self.facts_)
        left = Examples.of(positives, self.target_, facts)
        while len(left) and all(map(has_ground_calls, self.clauses_)):
            hit = np.any([covered(clause, left) for clause in self.clauses_], axis=0)
            if not hit.any():
                break
            facts.add_rows(self.target_, left.rows[hit])
            left = left[~hit]
        atoms = left.atoms()
        return [atom for atom, holds in zip(atoms, self.predict(atoms)) if not holds]

    def _space(self, facts: FactBase, good: list[Literal]) -> Space:
        background = list(facts.relations)
        facts.add(good)  # what a recursive literal is tested on
        types = Types(facts, None if self.types is None else dict(self.types))
        constants = []
        for value in self.constants:
            constant = as_term(value)
            code = facts.codes.get(constant)
            if code is None:
                raise ValueError(f"constants: {constant} is not in the background.")
            constants += [(constant, kind) for kind in types.kinds_of(code)]
        predicates = [*background, *([self.target_] if self.recursion else [])]
        return Space(
            facts,
            types,
            self.target_,
            predicates,
            constants,
            self.negation,
            self.max_variables,
            self.max_bindings,
        )

    def _closed_world(self, space: Space, good: Examples) -> Examples:
        """Every tuple of constants of the arguments' types that is no positive example, or a draw of them."""
        arity = self.target_[1]
        if not arity:
            return good[:0]
        domains = [space.types.domain(space.types.of(self.target_, place)) for place in range(arity)]
        sizes = [len(domain) for domain in domains]
        wanted = self.max_negatives + len(good)
        chosen: Any
        if math.prod(sizes) <= wanted:
            chosen = np.unravel_index(np.arange(math.prod(sizes)), sizes)
        else:
            seed = self.random_state
            rng = np.random.default_rng(
                seed.randint(2**31) if isinstance(seed, np.random.RandomState) else seed
            )
            chosen = [rng.integers(size, size=2 * wanted) for size in sizes]
        columns = [domain[places] for domain, places in zip(domains, chosen)]
        keys, known = ranked_keys(columns, list(good.rows.T))
        first = np.sort(np.unique(keys, return_index=True)[1])  # each tuple once, as it was drawn
        first = first[~np.isin(keys[first], known)][: self.max_negatives]
        return Examples(space.facts, self.target_, np.column_stack(columns)[first])
