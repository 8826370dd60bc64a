"""Finite Markov chains (马尔可夫链): distributions after n steps, long run, simulation, and learning from paths."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.public_names import PublicPickle
from tercet.sampling import long_run, state_classes
from tercet.sampling.monte_carlo import MonteCarloEstimate
from tercet.sampling.paths import sample_path, sample_paths, transition_counts
from tercet.sampling.user_functions import positive_count


@method(
    zh="马尔可夫链",
    task="Markov chain",
    approach="generative",
    model="P(X_t = j | X_t-1 = i) = a_ij, whatever came before",
    strategy="maximum likelihood: shares of the transitions; with pseudo-counts, the mean of the posterior",
    texts=[
        "Li ch. 19",
        "Li ch. 21",
        "Machine Learning in Depth ch. 5, Thm 01",
        "watermelon notes ch. 12, eq. 12.19",
    ],
    peers=["pydtmc.MarkovChain", "quantecon.MarkovChain"],
)
class MarkovChain(PublicPickle):
    """Markov chain with finitely many states: the next state depends on the present one alone.

    Parameters
    ----------
    transition : array, sparse array or DataFrame of shape (n_states, n_states)
        Transition probabilities.
    states : sequence, optional
        Names of the states; by default the columns of a DataFrame, or 0, 1 ...
    start : array of shape (n_states,) or state, optional
        Distribution of the first state, or the first state itself; by default all states are as likely.
    convention : {"row", "column"}, default="row"
        How to read the matrix. "row": a_ij = P(next is j | now is i), rows sum to 1, and the distribution moves as
        π(t) = π(t-1) A. "column": p_ij = P(next is i | now is j), columns sum to 1, π(t) = P π(t-1), as in the
        chapter on PageRank. Names and answers do not depend on it, but `transition`, `power` and `time_reversal`
        are in the chain's own convention.

    Attributes
    ----------
    states : list
        Names of the states.
    transmat_ : array of shape (n_states, n_states)
        The matrix with a row for each state, whatever the convention.
    start : array of shape (n_states,)
        Distribution of the first state.

    Examples
    --------
    >>> chain = MarkovChain([[0.9, 0.1], [0.5, 0.5]], states=["sun", "rain"], start="rain")
    >>> chain.distribution(2)
    array([0.7, 0.3])
    >>> chain.stationary_distribution().round(4), chain.is_ergodic(), chain.is_reversible()
    (array([0.8333, 0.1667]), True, True)
    >>> chain.simulate(5, random_state=0).tolist()
    ['rain', 'sun', 'sun', 'sun', 'sun']
    """

    def __init__(
        self,
        transition: Any,
        states: Sequence[Hashable] | None = None,
        start: Any = None,
        convention: Literal["row", "column"] = "row",
    ) -> None:
        if convention not in ("row", "column"):
            raise ValueError(f"convention must be 'row' or 'column'; got {convention!r}.")
        self.convention = convention
        self.transmat_ = state_classes.row_form(transition, convention)
        n = len(self.transmat_)
        states = getattr(transition, "columns", None) if states is None else states
        self.states: list[Any] = list(range(n)) if states is None else list(states)
        if len(self.states) != n or len(set(self.states)) != n:
            raise ValueError(f"states must be {n} different names, one for each state; got {self.states}.")
        self._code = {state: k for k, state in enumerate(self.states)}
        self._has_start = start is not None
        self.start = self._distribution(start) if self._has_start else np.full(n, 1.0 / n)

    @classmethod
    def fit(
        cls,
        sequences: Any,
        states: Sequence[Hashable] | None = None,
        alpha: float = 0.0,
        convention: Literal["row", "column"] = "row",
    ) -> Self:
        """The chain that fits observed paths best: shares of the transitions out of each state.

        Parameters
        ----------
        sequences : sequence of states, or list of such
            The paths.
        states : sequence, optional
            All states in order; by default those that occur, sorted where they can be.
        alpha : float, default=0.0
            Pseudo-count of each transition and of each first state, the parameter of a symmetric Dirichlet prior;
            the result is the posterior mean. With 0, maximum likelihood, every state must be left at least once.
        convention : {"row", "column"}, default="row"
            That of the chain.

        Examples
        --------
        >>> MarkovChain.fit(["a", "b", "a", "a", "b", "a"]).transmat_.round(4)
        array([[0.3333, 0.6667],
               [1.    , 0.    ]])
        """
        A, start, names = transition_counts(sequences, states, alpha)
        stuck = np.flatnonzero(A.sum(axis=1) == 0)
        if stuck.size:
            raise ValueError(
                f"State {names[stuck[0]]!r} is never left in sequences: nothing is known of what follows it. "
                "Give alpha above 0."
            )
        A = A / A.sum(axis=1, keepdims=True)
        return cls(A if convention == "row" else A.T, names, start / start.sum(), convention)

    @property
    def n_states(self) -> int:
        """How many states there are."""
        return len(self.transmat_)

    @property
    def transition(self) -> np.ndarray:
        """The transition probabilities in the chain's convention."""
        return self._own(self.transmat_)

    # Distributions ----------------------------------------------------------------------------------------------

    def power(self, n: int) -> np.ndarray:
        """The probabilities of transitions in n steps, the n-th power of the matrix, in the chain's convention."""
        return self._own(long_run.after_steps(self.transmat_, positive_count(n, "n", 0)))

    def distribution(self, n: int, start: Any = None) -> np.ndarray:
        """The distribution of the state after n steps."""
        return long_run.after_steps(self.transmat_, positive_count(n, "n", 0), self._distribution(start))

    def distributions(self, n: int, start: Any = None) -> np.ndarray:
        """The distributions after 0, 1 ... n steps, a row for each, shape (n + 1, n_states)."""
        table = np.empty((positive_count(n, "n", 0) + 1, self.n_states))
        table[0] = self._distribution(start)
        for t in range(n):
            table[t + 1] = table[t] @ self.transmat_
        return table

    def stationary_distribution(
        self, start: Any = None, algorithm: Literal["elimination", "power", "eigenvector"] = "elimination"
    ) -> np.ndarray:
        """The distribution that a step does not change.

        With several closed classes it is not unique: without a `start`, here or of the chain, that is an error;
        with one, the shares of time in the long run from there. All are mixtures of `stationary_distributions`.
        """
        classes = state_classes.closed_classes(self.transmat_)
        if len(classes) > 1 and start is None and not self._has_start:
            raise ValueError(
                f"The stationary distribution is not unique: the chain has {len(classes)} closed classes, "
                f"{[self._names(group) for group in classes]}. Give start, or see stationary_distributions()."
            )
        return long_run.stationary_distribution(self.transmat_, self._distribution(start), algorithm)

    def stationary_distributions(self) -> np.ndarray:
        """The stationary distribution of each closed class, a row for each."""
        return long_run.stationary_distributions(self.transmat_)

    def limit(self, start: Any = None) -> np.ndarray:
        """What the distribution converges to; an error where it goes round in a period.

        In an irreducible and aperiodic chain it is the stationary distribution, from any start.
        """
        start = self._distribution(start)
        reached = start @ long_run.absorption_probabilities(self.transmat_) > 0
        period = state_classes.periods(self.transmat_)
        for group in [g for g, r in zip(state_classes.closed_classes(self.transmat_), reached) if r]:
            if period[group[0]] > 1:
                raise ValueError(
                    f"The distribution need not converge: the states {self._names(group)} have the period "
                    f"{period[group[0]]}. stationary_distribution() has the shares of time."
                )
        return long_run.stationary_distribution(self.transmat_, start)

    def convergence_rate(self) -> float:
        """The second largest modulus of an eigenvalue: the distance from the limit falls like its n-th power."""
        moduli = np.sort(np.abs(np.linalg.eigvals(self.transmat_)))
        return float(min(moduli[-2], 1.0)) if len(moduli) > 1 else 0.0

    # Properties -------------------------------------------------------------------------------------------------

    def is_irreducible(self) -> bool:
        """Whether every state can reach every other (不可约)."""
        return state_classes.is_irreducible(self.transmat_)

    def is_aperiodic(self) -> bool:
        """Whether no state has a period above 1 (非周期)."""
        return state_classes.is_aperiodic(self.transmat_)

    def is_positive_recurrent(self) -> bool:
        """Whether the chain comes back to every state, in a finite expected time (正常返).

        A finite chain has no null recurrent states: what is recurrent is positive recurrent.
        """
        return len(state_classes.recurrent_states(self.transmat_)) == self.n_states

    def is_ergodic(self) -> bool:
        """Whether it is irreducible, aperiodic and positive recurrent: one limit from any start (Theorem 21.1)."""
        return self.is_irreducible() and self.is_aperiodic()

    def is_reversible(self, pi: Any = None, tol: float = 1e-9) -> bool:
        """Whether detailed balance holds (可逆), for `pi` or the stationary distributions; see `is_reversible`."""
        return long_run.is_reversible(self.transmat_, pi, tol)

    def periods(self) -> dict:
        """The period of each state; 0 where the chain never comes back."""
        return dict(zip(self.states, state_classes.periods(self.transmat_).tolist()))

    def communicating_classes(self) -> list[list]:
        """The states in groups that can reach one another."""
        return [self._names(group) for group in state_classes.communicating_classes(self.transmat_)]

    def recurrent_states(self) -> list:
        """The states that the chain comes back to for sure."""
        return self._names(state_classes.recurrent_states(self.transmat_))

    def transient_states(self) -> list:
        """The states that are left for good, sooner or later."""
        return self._names(state_classes.transient_states(self.transmat_))

    def absorbing_states(self) -> list:
        """The states that are never left."""
        return self._names(state_classes.absorbing_states(self.transmat_))

    # Times ------------------------------------------------------------------------------------------------------

    def hitting_times(self, targets: Any) -> dict:
        """The expected number of steps from each state to one of the targets; infinite if it may never come."""
        wanted = [targets] if self._is_state(targets) or np.ndim(targets) == 0 else list(targets)
        codes = [self._state(state) for state in wanted]
        return dict(zip(self.states, long_run.hitting_times(self.transmat_, codes).tolist()))

    def return_times(self) -> dict:
        """The expected number of steps until the chain is back: 1 / π_i; infinite for a transient state."""
        return dict(zip(self.states, long_run.return_times(self.transmat_).tolist()))

    def absorption_probabilities(self) -> np.ndarray:
        """The probability to end in each closed class, a row for each state."""
        return long_run.absorption_probabilities(self.transmat_)

    def entropy_rate(self, base: float | None = None) -> float:
        """The uncertainty of each next state in the long run."""
        return long_run.entropy_rate(self.transmat_, self.start, base)

    def time_reversal(self) -> MarkovChain:
        """The chain with time running backwards; itself where it is reversible."""
        return type(self)(
            self._own(long_run.time_reversal(self.transmat_)),
            self.states,
            self.stationary_distribution(),
            self.convention,
        )

    # Paths ------------------------------------------------------------------------------------------------------

    def simulate(
        self, length: int, size: int | None = None, start: Any = None, random_state: Any = None
    ) -> np.ndarray:
        """Draw paths of the chain.

        Parameters
        ----------
        length : int
            States of a path, the first of which is drawn from the start.
        size : int, optional
            How many paths, drawn side by side; by default one.
        start : array of shape (n_states,) or state, optional
            Instead of the chain's own.
        random_state : int, Generator or None
            Decides the draws.

        Returns
        -------
        paths : array of shape (length,) or (size, length)
            Names of the states.
        """
        return self._named(self._paths(length, size, start, random_state))

    def time_average(
        self,
        f: Any,
        length: int,
        burn_in: int = 0,
        start: Any = None,
        random_state: Any = None,
    ) -> MonteCarloEstimate:
        """Average of f along a path, which converges to its stationary mean (ergodic theorem, 遍历定理).

        The states of a path are not independent: the standard error is that of the means of √length batches.

        Parameters
        ----------
        f : callable, mapping, or array of shape (n_states,)
            A number for each state.
        length : int
            States of the path that are averaged.
        burn_in : int, default=0
            States at the beginning that are not.
        start, random_state : as in `simulate`.

        Examples
        --------
        >>> chain = MarkovChain([[0.9, 0.1], [0.5, 0.5]])
        >>> found = chain.time_average([0, 1], 100_000, random_state=0)
        >>> bool(abs(found.value - chain.expectation([0, 1])) < 3 * found.standard_error)
        True
        """
        values, burn_in = self._values(f), positive_count(burn_in, "burn_in", 0)
        codes = self._paths(positive_count(length, "length", 4) + burn_in, None, start, random_state)
        return MonteCarloEstimate.of_chain(values[codes[burn_in:]])

    def expectation(self, f: Any, start: Any = None) -> float:
        """The mean of f under the stationary distribution."""
        return float(self.stationary_distribution(start) @ self._values(f))

    def log_probability(self, path: Any) -> float:
        """log P(path), the first state by the start; minus infinity where it cannot happen."""
        codes = [self._state(state) for state in path]
        if not codes:
            raise ValueError("path must have at least one state; it is empty.")
        factors = np.append(self.start[codes[0]], self.transmat_[codes[:-1], codes[1:]])
        with np.errstate(divide="ignore"):
            return float(np.log(factors).sum())

    def __repr__(self) -> str:
        return (
            f"MarkovChain({self.transition.tolist()}, states={self.states}, convention={self.convention!r})"
        )

    # Inside -----------------------------------------------------------------------------------------------------

    def _own(self, A: np.ndarray) -> np.ndarray:
        return A.copy() if self.convention == "row" else A.T.copy()

    def _names(self, codes: Any) -> list:
        return [self.states[k] for k in codes]

    def _named(self, codes: np.ndarray) -> np.ndarray:
        if self.states == list(range(self.n_states)):
            return codes
        names = np.empty(self.n_states, dtype=object)
        names[:] = self.states
        plain = np.array(self.states)
        return (plain if plain.ndim == 1 and plain.tolist() == self.states else names)[codes]

    def _is_state(self, thing: Any) -> bool:
        try:
            return thing in self._code
        except TypeError:
            return False

    def _state(self, state: Any) -> int:
        if not self._is_state(state):
            raise ValueError(f"{state!r} is not a state; the states are {self.states}.")
        return self._code[state]

    def _distribution(self, start: Any) -> np.ndarray:
        """A start as a distribution: the chain's own, one state, or probabilities."""
        if start is None:
            return self.start
        if self._is_state(start) or np.ndim(start) == 0:
            return np.eye(self.n_states)[self._state(start)]
        return long_run.start_distribution(start, self.n_states)

    def _values(self, f: Callable | Mapping | Any) -> np.ndarray:
        if callable(f) or isinstance(f, Mapping):
            at = f if callable(f) else f.__getitem__
            f = [at(state) for state in self.states]
        values = np.asarray(f, dtype=float)
        if values.shape != (self.n_states,) or not np.isfinite(values).all():
            raise ValueError(f"f must give a finite number for each of {self.n_states} states; got {f!r}.")
        return values

    def _paths(self, length: int, size: int | None, start: Any, random_state: Any) -> np.ndarray:
        rng, length = generator(random_state), positive_count(length, "length")
        start = self._distribution(start)
        if size is None:
            return sample_path(start, self.transmat_, rng.random(length))
        return sample_paths(start, self.transmat_, rng.random((positive_count(size, "size"), length)))
