"""The passes over sequences that a hidden Markov model makes: likelihoods, posteriors, best paths, expected counts.

`Passes` is what EM (`optimize.em`) has to know of a hidden Markov model: the E step is the forward-backward
algorithm on a chunk of sequences, the M step divides expected counts by their sums (000 ch. 10, Alg 10.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.sequence._chain import long_chains as hmm_sweeps
from tercet.sequence.text.sequences import Sequences

Theta = dict[str, np.ndarray]


class Passes:
    """A hidden Markov model on given sequences.

    Parameters
    ----------
    model : HMM
        Knows the observations: likelihoods, statistics, priors.
    X : Sequences
        The observations.
    states : array of shape (n_rows,), optional
        The known states; -1 where a state is not known.
    weight : array of shape (n_sequences,), optional
        How much each sequence counts.
    numbers : array of shape (n_sequences,), optional
        What errors call each sequence; by default its place in X.
    """

    def __init__(
        self,
        model: Any,
        X: Sequences,
        states: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        numbers: np.ndarray | None = None,
    ) -> None:
        self.model, self.X, self.states, self.weight, self.numbers = model, X, states, weight, numbers

    def expect(self, chunk: tuple[int, int], theta: Theta) -> tuple[Any, ...]:
        """Log-likelihood and expected counts of some of the sequences (10.27-10.29)."""
        logs, posterior, transitions = self.smooth(chunk, theta)
        part = self._part(chunk)
        if part.weight is None:
            total = logs.sum()
        else:
            total = logs @ part.weight
            posterior *= part.by_row[:, None]
        start = posterior[part.borders[:-1]].sum(axis=0)
        return total, start, transitions, *self.model._emission_statistics(part.rows, posterior, theta)

    def visits(self, chunk: tuple[int, int], theta: Theta) -> tuple[np.ndarray, ...]:
        """Expected starts, visits and departures of the states, and expected transitions (10.27-10.29)."""
        _, posterior, transitions = self.smooth(chunk, theta)
        borders = self._part(chunk).borders
        visits, ends = posterior.sum(axis=0), posterior[borders[1:] - 1].sum(axis=0)
        return posterior[borders[:-1]].sum(axis=0), visits, visits - ends, transitions

    def maximise(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        """Counts divided by their sums (10.39-10.41), with pseudo-counts where priors say so."""
        start, transitions, *emissions = statistics
        model, new = self.model, dict(theta)
        if "s" in model.params:
            new["startprob_"] = shares(start, model.startprob_prior, theta["startprob_"])
        if "t" in model.params:
            new["transmat_"] = shares(transitions, model.transmat_prior, theta["transmat_"])
        if set(model.params) & set(model.emitted):
            learned = model._maximise_emissions(tuple(emissions), theta)
            for letter, names in model.emitted.items():
                if letter in model.params:
                    new.update({name: learned[name] for name in names if name in learned})
        return new

    def log_prior(self, theta: Theta) -> float:
        """log of the Dirichlet priors, but for a constant."""
        model, value = self.model, 0.0
        if "s" in model.params:
            value += log_dirichlet(theta["startprob_"], model.startprob_prior)
        if "t" in model.params:
            value += log_dirichlet(theta["transmat_"], model.transmat_prior)
        return value + float(model._log_emission_prior(theta))

    def count(self, chunk: tuple[int, int], theta: Theta, rest: float = 0.0) -> tuple[Any, ...]:
        """The statistics of `expect` where the states are known (10.30, 10.31). A row whose state is not known has
        the weight `rest`, and may be of any state, all alike."""
        part = self._part(chunk)
        n = theta["startprob_"].size
        assert part.states is not None
        posterior = np.full((part.states.size, n), rest / n)
        known = part.states >= 0
        posterior[known] = 0.0
        posterior[known, part.states[known]] = 1.0
        weighted = posterior if part.weight is None else posterior * part.by_row[:, None]
        onward = posterior.copy()
        onward[part.borders[:-1]] = 0.0
        transitions = weighted[:-1].T @ onward[1:]
        start = weighted[part.borders[:-1]].sum(axis=0)
        return start, transitions, *self.model._emission_statistics(part.rows, weighted, theta)

    def smooth(self, chunk: tuple[int, int], theta: Theta) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Log-likelihoods of some of the sequences, posteriors of their states, and expected transitions (weighted
        by sequence)."""
        part = self._part(chunk)
        start, trans = theta["startprob_"], theta["transmat_"]
        logs, n = np.full(len(part), -np.inf), start.size
        if self.model.implementation == "scaling":
            like, offsets = self.model._scaled_likelihood(part.rows, theta, part.states)
            alpha, posterior = hmm_sweeps.smooth(part.borders, start, trans, like, logs)
            logs += part.summed(offsets)
            if part.weight is not None:
                like *= part.by_row[:, None]
            counts = alpha[:-1].T @ like[1:]
            counts *= trans
        else:
            posterior, counts = np.empty((part.borders[-1], n)), np.zeros((n, n))
        for s in np.flatnonzero(logs == -np.inf).tolist():
            logs[s], posterior[part.span(s)], more = self._by_logarithms(part, s, theta)
            counts += more if part.weight is None else part.weight[s] * more
        return logs, posterior, counts

    def score(self, chunk: tuple[int, int], theta: Theta) -> np.ndarray:
        """Log-likelihoods of some of the sequences; -inf for one that cannot be."""
        part = self._part(chunk)
        start, trans = theta["startprob_"], theta["transmat_"]
        logs = np.full(len(part), -np.inf)
        if self.model.implementation == "scaling":
            like, offsets = self.model._scaled_likelihood(part.rows, theta, part.states)
            hmm_sweeps.likelihoods(part.borders, start, trans, like, logs)
            logs += part.summed(offsets)
        for s in np.flatnonzero(logs == -np.inf).tolist():
            log_like, unit = self._log_like(part, s, theta)
            weight = hmm_sweeps.log_likelihood(log(start), log(trans), log_like, np.empty_like(log_like))
            logs[s] = weight + unit
        return logs

    def decode(self, chunk: tuple[int, int], theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of the best paths of some of the sequences, and the paths (Alg 10.5)."""
        part = self._part(chunk)
        log_like = part.masked(self.model._log_likelihood(part.rows, theta))
        logs, start, trans = np.empty(len(part)), log(theta["startprob_"]), log(theta["transmat_"])
        path = hmm_sweeps.decode(part.borders, start, trans, log_like, logs)
        for s in np.flatnonzero(logs == -np.inf).tolist():
            self._by_logarithms(part, s, theta)  # says where it cannot be
        return logs, path

    def _by_logarithms(self, part: Part, s: int, theta: Theta) -> tuple[float, np.ndarray, np.ndarray]:
        """One sequence in log space, where nothing underflows."""
        log_like, unit = self._log_like(part, s, theta)
        n = log_like.shape[1]
        alpha, beta, counts = np.empty_like(log_like), np.empty_like(log_like), np.zeros((n, n))
        start, trans = log(theta["startprob_"]), log(theta["transmat_"])
        total = hmm_sweeps.log_smooth(start, trans, log_like, alpha, beta, counts)
        if total == -np.inf:
            row = int(np.flatnonzero((alpha == -np.inf).all(axis=1))[0])
            number = part.first + s if self.numbers is None else self.numbers[part.first + s]
            raise ValueError(
                f"{type(self.model).__name__}: sequence {number} has probability 0: no state that can be "
                f"reached at its row {row} can give what was observed there."
            )
        return total + unit, beta, counts

    def _log_like(self, part: Part, s: int, theta: Theta) -> tuple[np.ndarray, float]:
        """Log-likelihoods of one sequence, each row less its largest, and the sum of these: differences are what
        posteriors are made of, and large numbers would round them."""
        span = part.span(s)
        one = Part(part.rows[span], np.array([0, span.stop - span.start]), part.first + s)
        one.states = None if part.states is None else part.states[span]
        log_like = one.masked(self.model._log_likelihood(one.rows, theta))
        top = log_like.max(axis=1, keepdims=True)
        top[top == -np.inf] = 0.0
        log_like -= top
        return log_like, float(top.sum())

    def _part(self, chunk: tuple[int, int]) -> Part:
        a, b = chunk
        borders = self.X.borders[a : b + 1]
        here = slice(borders[0], borders[-1])
        part = Part(self.X.rows[here], borders - borders[0], a)
        part.states = None if self.states is None else self.states[here]
        part.weight = None if self.weight is None else self.weight[a:b]
        return part


class Part:
    """Some of the sequences: their rows and borders, what is known of the states, weights."""

    states: np.ndarray | None = None
    weight: np.ndarray | None = None

    def __init__(self, rows: Any, borders: np.ndarray, first: int) -> None:
        self.rows, self.borders, self.first = rows, borders, first

    def __len__(self) -> int:
        return self.borders.size - 1

    def span(self, s: int) -> slice:
        return slice(self.borders[s], self.borders[s + 1])

    @property
    def by_row(self) -> np.ndarray:
        """The weight of each row's sequence."""
        assert self.weight is not None
        return np.repeat(self.weight, np.diff(self.borders))

    def summed(self, values: np.ndarray | None) -> Any:
        """Sums of a value of each row over the sequences."""
        return 0.0 if values is None else np.add.reduceat(values, self.borders[:-1])

    def masked(self, log_like: np.ndarray) -> np.ndarray:
        """Log-likelihoods where a known state leaves no other possible."""
        return only_known(np.ascontiguousarray(log_like, dtype=np.float64), self.states, -np.inf)


def only_known(table: np.ndarray, states: np.ndarray | None, nothing: float) -> np.ndarray:
    """Put `nothing` in place of all entries but that of the known state, in rows whose state is known."""
    if states is not None:
        known = np.flatnonzero(states >= 0)
        kept = table[known, states[known]]
        table[known] = nothing
        table[known, states[known]] = kept
    return table


def shares(counts: np.ndarray, prior: Any, old: np.ndarray) -> np.ndarray:
    """Counts plus pseudo-counts (prior - 1, but no less than nothing) divided by the sum of the row.

    What was impossible stays so; a row without counts stays as it was.
    """
    counts = np.where(old == 0, 0.0, np.maximum(counts + (np.asarray(prior) - 1.0), 0.0))
    total = counts.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, counts / total, old)


def log_dirichlet(p: np.ndarray, prior: Any) -> float:
    """Σ (prior - 1) log p. An impossible outcome costs nothing; with prior < 1 it is a gain, held finite."""
    extra = np.broadcast_to(np.asarray(prior, dtype=np.float64) - 1.0, p.shape)
    here = (extra != 0) & ((p > 0) | (extra < 0))
    return float(extra[here] @ np.log(np.maximum(p[here], 1e-300)))


def log(p: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities; of nothing, -inf."""
    with np.errstate(divide="ignore"):
        return np.log(p)
