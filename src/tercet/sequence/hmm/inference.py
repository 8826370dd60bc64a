"""What a hidden Markov model can tell of sequences, learned or set by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import check_is_fitted, check_weight, generator
from tercet.core.parallel import each, total
from tercet.core.parameters import check_parameters
from tercet.sequence._chain.k_best import k_best
from tercet.sequence.hmm.e_step import Passes, Theta, log
from tercet.sequence.hmm.family import Family
from tercet.sequence.hmm.markov_chain import stationary_distribution, topology
from tercet.sequence.hmm.states import Monitor, check_prior, distributions, walk
from tercet.sequence.text.sequences import Sequences, mistaken_lengths


class Answers(Family):
    """Likelihoods, posteriors, best paths, samples and criteria of a hidden Markov model."""

    def score(self, X: Any, y: Any = None, lengths: Any = None, sample_weight: Any = None) -> float:
        """The log-likelihood of the observations; -inf where they cannot be.

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
        if mistaken_lengths(X, y, lengths):
            lengths = y
        X, theta = self._asked(X, lengths)
        weight = check_weight(sample_weight, X)
        logs = np.concatenate(self._each(Passes(self, X).score, X, theta))
        return float(logs.sum() if weight is None else logs[weight > 0] @ weight[weight > 0])

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Any]:
        """The log-likelihood of the observations, and the posterior of each state at each row (10.24)."""
        X, theta = self._asked(X, lengths)
        parts = self._each(Passes(self, X).smooth, X, theta)
        posterior = np.concatenate([part[1] for part in parts])
        return float(sum(part[0].sum() for part in parts)), X.like_given(posterior)

    def predict_proba(self, X: Any, lengths: Any = None) -> Any:
        """The posterior of each state at each row, γ_t(i) = P(i_t = i | O) (10.24)."""
        return self.score_samples(X, lengths)[1]

    def expected_counts(self, X: Any, lengths: Any = None) -> dict[str, np.ndarray]:
        """What is to be expected of the hidden states, given the observations (10.27-10.29).

        Returns
        -------
        dict
            "starts", "visits" and "departures" of each state, and "transitions" between each two.
        """
        X, theta = self._asked(X, lengths)
        chunks = X.chunks(self._rows_per_chunk(theta))
        counts = total(Passes(self, X).visits, chunks, theta, n_jobs=self.n_jobs)
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
            path that can be. By default the model's own.

        Returns
        -------
        score : float
            The log-probability of the paths and the observations; with "map" the number of states that one may
            expect to be right.
        states : array of shape (n_rows,), or list of arrays
        """
        algorithm = self.algorithm if algorithm is None else algorithm
        if algorithm not in ("viterbi", "map"):
            raise ValueError(
                f"{type(self).__name__}: algorithm must be one of 'viterbi', 'map'; got {algorithm!r}."
            )
        X, theta = self._asked(X, lengths)
        if algorithm == "map":
            posterior = np.concatenate([part[1] for part in self._each(Passes(self, X).smooth, X, theta)])
            score, path = posterior.max(axis=1).sum(), posterior.argmax(axis=1)
        else:
            parts = self._each(Passes(self, X).decode, X, theta)
            score, path = sum(logs.sum() for logs, _ in parts), np.concatenate([path for _, path in parts])
        return float(score), X.like_given(np.take(self._names(theta), path))

    def predict(self, X: Any, lengths: Any = None) -> Any:
        """The most likely states, by the model's `algorithm`."""
        return self.decode(X, lengths)[1]

    def k_best(self, X: Any, k: int, lengths: Any = None) -> list[tuple[np.ndarray, np.ndarray]]:
        """The k most likely paths of each sequence, best first.

        Returns
        -------
        list of (scores, paths)
            For each sequence the log-probabilities of the paths and the observations, of shape (found,), and the
            states, of shape (found, length); fewer than k where fewer paths can be.
        """
        X, theta = self._asked(X, lengths)
        names, start, trans = self._names(theta), log(theta["startprob_"]), log(theta["transmat_"])
        found = [k_best(start, trans, self._log_likelihood(rows, theta), k) for rows in X]
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
        theta = self._theta()
        names = self._names(theta)
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
        states = walk(start, theta["transmat_"], rng.random(n_samples))
        return self._draw(states, theta, rng), names[states]

    def get_stationary_distribution(self) -> np.ndarray:
        """The share of time spent in each state in the long run: π A = π."""
        return stationary_distribution(self._theta()["transmat_"], self.startprob_)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's information criterion; less is better."""
        return -2 * self.score(X, lengths=lengths) + 2 * self._free()

    def bic(self, X: Any, lengths: Any = None) -> float:
        """The Bayesian information criterion; less is better."""
        X = Sequences.of(X, lengths, symbols=self.symbols)
        return -2 * self.score(X) + self._free() * float(np.log(X.borders[-1]))

    @property
    def monitor_(self) -> Monitor:
        """The course of the fit."""
        check_is_fitted(self, "startprob_")
        table = getattr(self, "history_", {})
        values = table.get("log_likelihood", [])
        if "start" in table:  # of several starts, the one that ended highest was kept
            ends = dict(zip(table["start"], values))
            kept = max(ends, key=lambda start: ends[start])
            values = [value for start, value in zip(table["start"], values) if start == kept]
        return Monitor(list(values), getattr(self, "converged_", False), len(values))

    def _free(self) -> int:
        theta = self._theta()
        allowed = topology(self.topology, theta["startprob_"].size)
        return int(len(allowed) - 1 + allowed.sum() - len(allowed)) + self._free_emissions(theta)

    def _asked(self, X: Any, lengths: Any) -> tuple[Sequences, Theta]:
        check_parameters(self)  # a model that was set by hand has not been through `fit`
        theta = self._theta()
        return self._given(X, lengths), theta

    def _names(self, theta: Theta) -> np.ndarray:
        n = theta["startprob_"].size
        names = getattr(self, "classes_", None)
        return np.arange(n) if names is None or len(names) != n else np.asarray(names)

    def _each(self, function: Any, X: Sequences, theta: Theta) -> list[Any]:
        return each(function, X.chunks(self._rows_per_chunk(theta)), theta, n_jobs=self.n_jobs)

    def _theta(self, n: int | None = None) -> Theta:
        """The model's parameters as fresh arrays; they may have been set by hand, so they are checked."""
        check_is_fitted(
            self, ["startprob_", "transmat_", *(a for names in self.emitted.values() for a in names)]
        )
        expected = self.n_components if n is None else n
        start = distributions(self, "startprob_", ("n_components",) if expected is None else (expected,))
        n = start.size
        theta = {"startprob_": start, "transmat_": distributions(self, "transmat_", (n, n))}
        for name, shape in (("startprob_prior", (n,)), ("transmat_prior", (n, n))):
            check_prior(self, name, shape)
        return {**theta, **self._checked_emissions(n)}
