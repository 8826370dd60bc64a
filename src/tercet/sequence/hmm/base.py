"""The base of hidden Markov models (隐马尔可夫模型): hidden states, and observations that depend on them."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.estimator import check_is_fitted, check_weight, generator
from tercet.core.parallel import each, total
from tercet.core.parameters import check_parameters
from tercet.core.steps import Steps
from tercet.core.streams import is_streamed
from tercet.optimize import check_ascent
from tercet.sampling import sample_path, stationary_distribution
from tercet.sequence.base import SequenceEstimator, Sequences, mistaken_lengths
from tercet.sequence.hmm.em import (
    Emissions,
    EStep,
    StreamedEStep,
    Theta,
    log,
    log_dirichlet,
    normalised_counts,
    probability_table,
)
from tercet.sequence.hmm.state_labels import check_transitions_allowed, state_codes
from tercet.sequence.hmm.topology import topology
from tercet.sequence.k_best import k_best

# The parameters that the last `fit` of a model found: others were set by hand. They are no part of its state.
_learned: weakref.WeakKeyDictionary[Any, Theta] = weakref.WeakKeyDictionary()

MOST_STATES = 1 << 13


class HMM(SequenceEstimator):
    """A hidden Markov model λ = (A, B, π): P(I, O) = π_{i_1} b_{i_1}(o_1) Π_t a_{i_{t-1} i_t} b_{i_t}(o_t).

    A model of symbols, of Gaussian rows or of counts derives from this class. It has the parameters in its
    signature and says which `Emissions` they mean."""

    missing_input = True
    sparse_input = False

    n_components: Any
    n_features: Any
    startprob_prior: Any
    transmat_prior: Any
    topology: Any
    algorithm: Any
    random_state: Any
    n_iter: int
    n_init: int
    tol: float
    verbose: Any
    params: str
    init_params: str
    implementation: str
    n_jobs: int | None

    startprob_: np.ndarray
    transmat_: np.ndarray
    classes_: np.ndarray
    converged_: bool
    history_: dict[str, list[Any]]

    def _emissions(self) -> Emissions:
        """The emission distributions that the parameters describe."""
        raise NotImplementedError

    # --- learning -----------------------------------------------------------------------------------------------

    def _fit(self, X: Sequences, y: Sequences | None, sample_weight: np.ndarray | None) -> None:
        """Baum-Welch (Alg 10.4), from one start or several; counting (10.30), (10.31) where no state is hidden."""
        e_step = self._e_step(X, None if y is None else y.rows, sample_weight)
        self._warn_overwritten(e_step.emissions)
        known = e_step.states is not None and bool((e_step.states >= 0).all())
        if known and e_step.emissions.closed_form(e_step.X.rows):
            self._keep(self._initial(e_step, None), converged_=True)
            return
        rng, best = generator(self.random_state), None
        for loop in self._restarts():
            theta, value, before = self._initial(e_step, rng), -np.inf, -np.inf
            if best is None:
                self._warn_degenerate(e_step, theta)
            chunks = e_step.chunks(theta)
            for step in loop:
                # E: expected counts of all sequences, added up (10.27)-(10.29)
                likelihood, *counts = total(e_step.expected_counts, chunks, theta, n_jobs=self.n_jobs)
                value = float(likelihood + self._log_prior(e_step.emissions, theta))
                check_ascent(before, value)
                # M: counts divided by their sums (10.39)-(10.41)
                theta = self._maximise(e_step.emissions, counts, theta)
                step.report(theta, log_likelihood=value)
                if step.converged(value - before < self.tol):
                    break
                before = value
            if best is None or value > best[0]:
                best = value, theta, loop
        assert best is not None
        _, theta, loop = best
        self._keep(theta, converged_=bool(loop.is_converged), n_iter_=loop.count)

    def _keep(self, theta: Theta, **more: Any) -> None:
        """Set the fitted attributes."""
        self.__dict__.update(theta, **more)
        _learned[self] = theta

    def _maximise(self, emissions: Emissions, counts: list[Any], theta: Theta) -> Theta:
        """The M step, with the pseudo-counts of the priors; only what `params` names is learned."""
        start, transitions, *statistics = counts
        new = dict(theta)
        if "s" in self.params:
            new["startprob_"] = normalised_counts(start, self.startprob_prior, theta["startprob_"])
        if "t" in self.params:
            new["transmat_"] = normalised_counts(transitions, self.transmat_prior, theta["transmat_"])
        if set(self.params) & set(emissions.letters):
            learned = emissions.update(tuple(statistics), theta)
            for letter, names in emissions.letters.items():
                if letter in self.params:
                    new.update({name: learned[name] for name in names})
        return new

    def _log_prior(self, emissions: Emissions, theta: Theta) -> float:
        """The log of the priors, up to a constant."""
        value = 0.0
        if "s" in self.params:
            value += log_dirichlet(theta["startprob_"], self.startprob_prior)
        if "t" in self.params:
            value += log_dirichlet(theta["transmat_"], self.transmat_prior)
        return value + float(emissions.log_prior(theta))

    def _restarts(self) -> Iterable[Steps]:
        """The loops of EM: one, or one inside each of several starts."""
        options: dict[str, Any] = {"hint": "Raise n_iter or tol.", "watch": _print if self.verbose else None}
        if self.n_init == 1 or not self.init_params:
            yield self.steps(self.n_iter, **options)
            return
        for start in self.steps(self.n_init, name="start", inner=self.n_iter):
            yield start.steps(self.n_iter, **options)

    def _e_step(self, X: Sequences, labels: Any, weight: np.ndarray | None) -> EStep:
        """The training sequences of positive weight with their known states; `classes_` gets the names."""
        numbers = None
        if weight is not None and not is_streamed(X.rows) and not weight.all():
            numbers = np.flatnonzero(weight > 0)
            labels = None if labels is None else labels[np.repeat(weight > 0, X.lengths)]
            X, weight = X[weight > 0], weight[weight > 0]
        emissions = self._emissions()
        self._check_letters(emissions)
        count = self.n_components
        if count is None and labels is None and "s" not in self.init_params and "startprob_" in vars(self):
            count = len(self.startprob_)
        if count is not None and count > MOST_STATES:
            raise ValueError(
                f"{type(self).__name__}: parameter 'n_components' is {count}; transitions are kept for "
                f"at most {MOST_STATES} states."
            )
        if labels is None:
            self.classes_, states = np.arange(1 if count is None else count), None
        else:
            self.classes_, states = state_codes(labels, count, type(self).__name__)
            states = states if (states >= 0).any() else None
        kind: type[Any] = StreamedEStep if is_streamed(X.rows) else EStep
        return kind(emissions, X, states, weight, numbers, scaling=self.implementation == "scaling")

    def _initial(self, e_step: EStep, rng: np.random.Generator | None) -> Theta:
        """Parameters to begin with: those that the caller has set, random ones for the rest, or the counts of known
        states."""
        emissions, states, n = e_step.emissions, e_step.states, self.classes_.size
        fresh = {
            name
            for letter, names in _attributes(emissions).items()
            for name in names
            if letter in self.init_params or name not in vars(self)
        }
        emissions.prepare(
            e_step.X.rows, states, e_step.row_weight, generator(self.random_state) if rng is None else rng
        )
        allowed, drawn = topology(self.topology, n), rng if states is None else None
        found: dict[str, Any] = {}
        if "startprob_" in fresh:
            ordered = isinstance(self.topology, str) and self.topology in ("left-right", "bakis")
            first = np.eye(n)[0] if ordered and states is None else np.ones(n)
            found["startprob_"] = _random_distributions(first, None if ordered else drawn)
        if "transmat_" in fresh:
            found["transmat_"] = _random_distributions(allowed.astype(float), drawn)
        if fresh - {"startprob_", "transmat_"}:
            values = emissions.initial(n, rng)
            found.update({name: values[name] for name in fresh if name in values})
        theta = self._parameters(emissions, n, found)
        forbidden = np.argwhere((theta["transmat_"] > 0) & ~allowed)
        if forbidden.size:
            i, j = forbidden[0]
            raise ValueError(
                f"{type(self).__name__}: transmat_[{i}, {j}] is {theta['transmat_'][i, j]:g}, but "
                f"topology={self.topology!r} does not allow this transition."
            )
        return theta if states is None else self._counted(e_step, theta, fresh)

    def _counted(self, e_step: EStep, theta: Theta, fresh: set[str]) -> Theta:
        """The parameters that known states suggest (10.30), (10.31); `theta` where nothing is known."""
        emissions, states = e_step.emissions, e_step.states
        assert states is not None
        check_transitions_allowed(
            states, e_step.X.borders, theta["transmat_"] > 0, self.classes_, type(self).__name__
        )
        known = (states >= 0).mean()
        # If EM goes on from here, unlabelled rows count for a tenth of all: a transition or symbol that was not
        # seen with a label must stay possible.
        unlabelled = 0.0 if known == 1 else min(1.0, 0.1 * known / (1 - known))
        chunks = e_step.chunks(theta)
        counts = total(e_step.labelled_counts, chunks, theta, unlabelled, n_jobs=self.n_jobs)
        counted = self._maximise(emissions, list(counts), theta)
        if known == 1:
            return counted
        labelled = np.isin(np.arange(theta["startprob_"].size), states)  # the others must not all be alike
        for name in fresh:
            drawn = theta[name]
            if name in ("startprob_", "transmat_"):
                theta[name] = 0.9 * counted[name] + 0.1 * drawn
            elif not emissions.initial_uses_labels:
                theta[name] = np.where(labelled.reshape(-1, *[1] * (drawn.ndim - 1)), counted[name], drawn)
        return theta

    def _warn_overwritten(self, emissions: Emissions) -> None:
        """Warn of attributes that were set by hand, and that `init_params` draws anew."""
        learned = _learned.get(self)
        fitted_elsewhere = learned is None and ("converged_" in vars(self) or "history_" in vars(self))
        for letter, names in _attributes(emissions).items():
            for name in names if letter in self.init_params and not fitted_elsewhere else ():
                if name in vars(self) and (learned is None or vars(self)[name] is not learned.get(name)):
                    warnings.warn(
                        f"{type(self).__name__}: {name.lstrip('_')} has been set, but is initialised anew, as "
                        f"init_params={self.init_params!r} contains {letter!r}. To begin with what was set, leave "
                        "the letter out.",
                        UserWarning,
                        stacklevel=2,
                    )

    def _warn_degenerate(self, e_step: EStep, theta: Theta) -> None:
        """Warn of more parameters to learn than observed values."""
        free = self._free_parameters(e_step.emissions, theta)
        count, size = sum(free[letter] for letter in self.params), e_step.X.rows.size
        if size < count:
            warnings.warn(
                f"{type(self).__name__}: a model with {count} free parameters is fitted to only {size} data "
                "points, and the solution will be degenerate. Use fewer states, or more data.",
                UserWarning,
                stacklevel=2,
            )

    def _check_letters(self, emissions: Emissions) -> None:
        letters = _attributes(emissions)
        for name in ("params", "init_params"):
            if not set(getattr(self, name)) <= set(letters):
                raise ValueError(
                    f"{type(self).__name__}: parameter {name!r} must be made of the letters "
                    f"{''.join(sorted(letters))!r}; got {getattr(self, name)!r}."
                )

    # --- inference ----------------------------------------------------------------------------------------------

    def score(self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None) -> float:
        """The log-likelihood of the observations; -inf where they are impossible.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The observations.
        y : ignored
            (Or `lengths`, which other libraries have in this place; understood as in `fit`.)
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences in a table.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts.
        """
        if mistaken_lengths(X, y, lengths, symbols=self.symbols):
            lengths = y
        e_step, theta = self._given_model(X, lengths)
        weight = check_weight(sample_weight, e_step.X)
        logs = np.concatenate(self._each(e_step.score, e_step, theta))
        return float(logs.sum() if weight is None else logs[weight > 0] @ weight[weight > 0])

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Any]:
        """The log-likelihood of the observations, and the posterior of each state at each row (10.24)."""
        e_step, theta = self._given_model(X, lengths)
        parts = self._each(e_step.smooth, e_step, theta)
        posterior = np.concatenate([part[1] for part in parts])
        return float(sum(part[0].sum() for part in parts)), e_step.X.like_given(posterior)

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """The posterior of each state at each row, γ_t(i) = P(i_t = i | O) (10.24)."""
        return self.score_samples(X, lengths)[1]

    def expected_counts(self, X: Any, lengths: Any = None) -> dict[str, np.ndarray]:
        """Expected counts of the hidden states, given the observations (10.27-10.29).

        Returns
        -------
        dict
            "starts", "visits" and "departures" of each state, and "transitions" between each two.
        """
        e_step, theta = self._given_model(X, lengths)
        counts = total(e_step.visits, e_step.chunks(theta), theta, n_jobs=self.n_jobs)
        return dict(zip(("starts", "visits", "departures", "transitions"), counts))

    def decode(self, X: Any, lengths: Any = None, algorithm: str | None = None) -> tuple[float, Any]:
        """The most likely states.

        Parameters
        ----------
        X : list of sequences, or table of shape (n_rows, n_features)
            The observations.
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences in a table.
        algorithm : {"viterbi", "map"}, optional
            The most likely path (Alg 10.5), or the most likely state at each row (10.43), which need not make a
            possible path. By default the model's own.

        Returns
        -------
        score : float
            The log-probability of the paths and the observations; with "map" the expected number of correct states.
        states : array of shape (n_rows,), or list of arrays
        """
        algorithm = self.algorithm if algorithm is None else algorithm
        if algorithm not in ("viterbi", "map"):
            raise ValueError(
                f"{type(self).__name__}: algorithm must be one of 'viterbi', 'map'; got {algorithm!r}."
            )
        e_step, theta = self._given_model(X, lengths)
        if algorithm == "map":
            posterior = np.concatenate([part[1] for part in self._each(e_step.smooth, e_step, theta)])
            score, path = posterior.max(axis=1).sum(), posterior.argmax(axis=1)
        else:
            parts = self._each(e_step.decode, e_step, theta)
            score, path = sum(logs.sum() for logs, _ in parts), np.concatenate([path for _, path in parts])
        return float(score), e_step.X.like_given(np.take(self._state_names(theta), path))

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The most likely states, by the model's `algorithm`."""
        return self.decode(X, lengths)[1]

    def k_best(self, X: Any, k: int, lengths: Any = None) -> list[tuple[np.ndarray, np.ndarray]]:
        """The k most likely paths of each sequence, best first.

        Returns
        -------
        list of (scores, paths)
            For each sequence the log-probabilities of the paths and the observations, of shape (found,), and the
            states, of shape (found, length); fewer than k where fewer paths are possible.
        """
        e_step, theta = self._given_model(X, lengths)
        names, start, trans = self._state_names(theta), log(theta["startprob_"]), log(theta["transmat_"])
        found = [k_best(start, trans, e_step.emissions.log_likelihood(rows, theta), k) for rows in e_step.X]
        return [(scores, names[paths]) for scores, paths in found]

    def sample(self, n_samples: int = 1, random_state: Any = None, currstate: Any = None) -> tuple[Any, Any]:
        """Draw a sequence of observations, and the states behind it (Alg 10.1).

        Parameters
        ----------
        n_samples : int, default=1
            The length of the sequence.
        random_state : int, optional
            Decides what is drawn; by default the model's own.
        currstate : state, optional
            The first state; drawn by default.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        states : array of shape (n_samples,)
        """
        emissions = self._emissions()
        theta = self._parameters(emissions)
        names = self._state_names(theta)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(
                f"{type(self).__name__}: n_samples must be a positive integer; got {n_samples!r}."
            )
        rng = generator(self.random_state if random_state is None else random_state)
        found = np.flatnonzero(names == currstate) if currstate is not None else np.empty(0, dtype=int)
        if currstate is not None and not found.size:
            raise ValueError(
                f"{type(self).__name__}: currstate={currstate!r} is no state; there are {names.tolist()}."
            )
        start = theta["startprob_"] if currstate is None else np.eye(names.size)[found[0]]
        states = sample_path(start, theta["transmat_"], rng.random(n_samples))
        return emissions.draw(states, theta, rng), names[states]

    def get_stationary_distribution(self) -> np.ndarray:
        """The share of time spent in each state in the long run: π A = π."""
        return stationary_distribution(self._parameters(self._emissions())["transmat_"], self.startprob_)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's information criterion; less is better."""
        return -2 * self.score(X, lengths=lengths) + 2 * self._n_parameters()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """The Bayesian information criterion; less is better."""
        X = Sequences.of(X, lengths, symbols=self.symbols)
        return -2 * self.score(X) + self._n_parameters() * float(np.log(X.borders[-1]))

    @property
    def monitor_(self) -> Monitor:
        """The course of the fit, as hmmlearn has it."""
        check_is_fitted(self, "startprob_")
        table = getattr(self, "history_", {})
        values = table.get("log_likelihood", [])
        if "start" in table:  # of several starts, the one that ended highest was kept
            ends = dict(zip(table["start"], values))
            kept = max(ends, key=lambda start: ends[start])
            values = [value for start, value in zip(table["start"], values) if start == kept]
        return Monitor(list(values), getattr(self, "converged_", False), len(values))

    # --- parameters and rows ------------------------------------------------------------------------------------

    def _rows(self, X: Sequences, *, reset: bool = False) -> Sequences:
        X = super()._rows(X, reset=reset)
        if not reset and X.rows.shape[1] != self.n_features:
            raise ValueError(
                f"{type(self).__name__}: X has {X.rows.shape[1]} features, but the model knows {self.n_features}."
            )
        return X

    def _given_model(self, X: Any, lengths: Any) -> tuple[EStep, Theta]:
        """Sequences to ask about, and the parameters."""
        check_parameters(self)  # a model that was set by hand has not been through `fit`
        emissions = self._emissions()
        theta = self._parameters(emissions)
        X = self._rows(Sequences.of(X, lengths, symbols=self.symbols))
        return EStep(emissions, X, scaling=self.implementation == "scaling"), theta

    def _parameters(self, emissions: Emissions, n: int | None = None, fresh: Any = None) -> Theta:
        """The parameters as checked float64 arrays: `fresh` ones, and attributes, which may have been set by
        hand."""
        names, owner = sum(_attributes(emissions).values(), ()), type(self).__name__
        if fresh is None:
            check_is_fitted(self, names)
            fresh, n = {}, self.n_components
        given = {name: fresh[name] if name in fresh else getattr(self, name) for name in names}
        shape = ("n_components",) if n is None else (n,)
        start = probability_table(given["startprob_"], "startprob_", shape, owner, self.startprob_prior)
        n = start.size
        trans = probability_table(given["transmat_"], "transmat_", (n, n), owner, self.transmat_prior)
        return {"startprob_": start, "transmat_": trans, **emissions.checked(given, n)}

    def _n_parameters(self) -> int:
        """Free parameters: of the start, of the allowed transitions, and of the emissions."""
        emissions = self._emissions()
        return sum(self._free_parameters(emissions, self._parameters(emissions)).values())

    def _free_parameters(self, emissions: Emissions, theta: Theta) -> dict[str, int]:
        """The number of free parameters that each letter of `params` stands for."""
        allowed = topology(self.topology, theta["startprob_"].size)
        n = len(allowed)
        return {"s": n - 1, "t": int(allowed.sum()) - n, **emissions.n_parameters(theta)}

    def _state_names(self, theta: Theta) -> np.ndarray:
        n = theta["startprob_"].size
        names = getattr(self, "classes_", None)
        return np.arange(n) if names is None or len(names) != n else np.asarray(names)

    def _each(self, function: Any, e_step: EStep, theta: Theta) -> list[Any]:
        return each(function, e_step.chunks(theta), theta, n_jobs=self.n_jobs)


@dataclass
class Monitor:
    """The course of a fit: the log-likelihood before each pass, whether EM converged, and the number of passes."""

    history: list[float]
    converged: bool
    iter: int


def _attributes(emissions: Emissions) -> dict[str, tuple[str, ...]]:
    """The letters of `params`, and the attributes they stand for: π, A and those of the emissions."""
    return {"s": ("startprob_",), "t": ("transmat_",), **emissions.letters}


def _random_distributions(allowed: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """Distributions (rows) over what is allowed: random, or uniform without rng."""
    weights = allowed * (1.0 if rng is None else rng.standard_exponential(allowed.shape) + 1e-3)
    return weights / weights.sum(axis=-1, keepdims=True)


def _print(step: Steps) -> None:
    print(f"pass {step.count}: log-likelihood {step.measures['log_likelihood']:.6f}")
