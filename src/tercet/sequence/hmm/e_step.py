"""The E step of hidden Markov models: forward-backward and Viterbi on chunks of sequences, expected counts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.core.steps import ConvergenceWarning
from tercet.sequence._chain import long_chains
from tercet.sequence.hmm.emissions import Emissions, Theta, log, mask_known_states
from tercet.sequence.text.sequences import Sequences


class EStep:
    """Forward-backward, Viterbi and expected counts of given sequences, under parameters `theta`.

    A chunk is a range (from, to) of sequences. All counts of chunks may be added up.

    Parameters
    ----------
    emissions : Emissions
        Knows the likelihoods and statistics of the observations.
    X : Sequences
        The observations.
    states : array of shape (n_rows,), optional
        The known states; -1 where a state is not known.
    weight : array of shape (n_sequences,), optional
        How much each sequence counts.
    numbers : array of shape (n_sequences,), optional
        What errors call each sequence; by default its place in X.
    scaling : bool, default=True
        Scaled recursions, with logarithms only where these underflow; or logarithms throughout.
    """

    def __init__(
        self,
        emissions: Emissions,
        X: Sequences,
        states: np.ndarray | None = None,
        weight: np.ndarray | None = None,
        numbers: np.ndarray | None = None,
        *,
        scaling: bool = True,
    ) -> None:
        self.emissions, self.X, self.states, self.weight = emissions, X, states, weight
        self.numbers, self.scaling = numbers, scaling

    @property
    def row_weight(self) -> np.ndarray | None:
        """The weight of each row's sequence."""
        return None if self.weight is None else np.repeat(self.weight, self.X.lengths)

    def chunks(self, theta: Theta) -> list[tuple[int, int]]:
        """Ranges of sequences, cut by the data alone."""
        return self.X.chunks(self.emissions.rows_per_chunk(theta))

    def expected_counts(self, chunk: tuple[int, int], theta: Theta) -> tuple[Any, ...]:
        """Log-likelihood, expected starts (N,) and transitions (N, N), and the statistics of the emissions
        (10.27)-(10.29)."""
        logs, posterior, transitions = self.smooth(chunk, theta)
        part = self._part(chunk)
        if part.weight is None:
            total = logs.sum()
        else:
            total = logs @ part.weight
            posterior *= part.row_weight[:, None]
        start = posterior[part.borders[:-1]].sum(axis=0)
        return total, start, transitions, *self.emissions.statistics(part.rows, posterior, theta)

    def visits(self, chunk: tuple[int, int], theta: Theta) -> tuple[np.ndarray, ...]:
        """Expected starts, visits and departures of the states, and expected transitions (10.27)-(10.29)."""
        _, posterior, transitions = self.smooth(chunk, theta)
        borders = self._part(chunk).borders
        visits, ends = posterior.sum(axis=0), posterior[borders[1:] - 1].sum(axis=0)
        return posterior[borders[:-1]].sum(axis=0), visits, visits - ends, transitions

    def labelled_counts(
        self, chunk: tuple[int, int], theta: Theta, unlabelled: float = 0.0
    ) -> tuple[Any, ...]:
        """The counts of `expected_counts` where states are known (10.30), (10.31). A row whose state is not known
        has the weight `unlabelled`, spread evenly over the states."""
        part = self._part(chunk)
        n = theta["startprob_"].size
        assert part.states is not None
        posterior = np.full((part.states.size, n), unlabelled / n)
        known = part.states >= 0
        posterior[known] = 0.0
        posterior[known, part.states[known]] = 1.0
        weighted = posterior if part.weight is None else posterior * part.row_weight[:, None]
        following = posterior.copy()
        following[part.borders[:-1]] = 0.0  # nothing leads to the first row of a sequence
        transitions = weighted[:-1].T @ following[1:]
        start = weighted[part.borders[:-1]].sum(axis=0)
        return start, transitions, *self.emissions.statistics(part.rows, weighted, theta)

    def smooth(self, chunk: tuple[int, int], theta: Theta) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forward-backward: log-likelihoods (S,), posteriors γ (T, N), and expected transitions Σ_t ξ_t (N, N),
        weighted by sequence."""
        part = self._part(chunk)
        start, trans = theta["startprob_"], theta["transmat_"]
        logs, n = np.full(len(part), -np.inf), start.size
        if self.scaling:
            like, offsets = self.emissions.scaled_likelihood(part.rows, theta, part.states)
            alpha, posterior = long_chains.smooth(part.borders, start, trans, like, logs)
            logs += part.sequence_sums(offsets)
            if part.weight is not None:
                like *= part.row_weight[:, None]
            counts = alpha[:-1].T @ like[1:]
            counts *= trans
        else:
            posterior, counts = np.empty((part.borders[-1], n)), np.zeros((n, n))
        for s in np.flatnonzero(logs == -np.inf).tolist():  # scaling lost a path
            logs[s], posterior[part.span(s)], more = self._log_smooth(part, s, theta)
            counts += more if part.weight is None else part.weight[s] * more
        return logs, posterior, counts

    def score(self, chunk: tuple[int, int], theta: Theta) -> np.ndarray:
        """Forward: log-likelihoods (S,) of the sequences; -inf for an impossible one."""
        part = self._part(chunk)
        start, trans = theta["startprob_"], theta["transmat_"]
        logs = np.full(len(part), -np.inf)
        if self.scaling:
            like, offsets = self.emissions.scaled_likelihood(part.rows, theta, part.states)
            long_chains.likelihoods(part.borders, start, trans, like, logs)
            logs += part.sequence_sums(offsets)
        for s in np.flatnonzero(logs == -np.inf).tolist():
            log_like, offset = self._log_likelihood(part, s, theta)
            value = long_chains.log_likelihood(log(start), log(trans), log_like, np.empty_like(log_like))
            logs[s] = value + offset
        return logs

    def decode(self, chunk: tuple[int, int], theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        """Viterbi: log-probabilities (S,) of the best paths, and the paths (T,) (Alg 10.5)."""
        part = self._part(chunk)
        log_like = part.masked(self.emissions.log_likelihood(part.rows, theta))
        logs, start, trans = np.empty(len(part)), log(theta["startprob_"]), log(theta["transmat_"])
        path = long_chains.decode(part.borders, start, trans, log_like, logs)
        for s in np.flatnonzero(logs == -np.inf).tolist():
            self._log_smooth(part, s, theta)  # says which row is impossible
        return logs, path

    def _log_smooth(self, part: SequenceChunk, s: int, theta: Theta) -> tuple[float, np.ndarray, np.ndarray]:
        """Forward-backward of one sequence in log space, where nothing underflows."""
        log_like, offset = self._log_likelihood(part, s, theta)
        n = log_like.shape[1]
        alpha, posterior, counts = np.empty_like(log_like), np.empty_like(log_like), np.zeros((n, n))
        start, trans = log(theta["startprob_"]), log(theta["transmat_"])
        total = long_chains.log_smooth(start, trans, log_like, alpha, posterior, counts)
        if total == -np.inf:
            row = int(np.flatnonzero((alpha == -np.inf).all(axis=1))[0])
            number = part.first + s if self.numbers is None else self.numbers[part.first + s]
            raise ValueError(
                f"{self.emissions.owner}: sequence {number} has probability 0: no state that can be "
                f"reached at its row {row} can give what was observed there."
            )
        return total + offset, posterior, counts

    def _log_likelihood(self, part: SequenceChunk, s: int, theta: Theta) -> tuple[np.ndarray, float]:
        """Log-likelihoods (T, N) of one sequence, each row less its largest, and the sum of these: posteriors
        depend on differences, which large numbers would round."""
        span = part.span(s)
        one = SequenceChunk(part.rows[span], np.array([0, span.stop - span.start]), part.first + s)
        one.states = None if part.states is None else part.states[span]
        log_like = one.masked(self.emissions.log_likelihood(one.rows, theta))
        top = log_like.max(axis=1, keepdims=True)
        top[top == -np.inf] = 0.0
        log_like -= top
        return log_like, float(top.sum())

    def _part(self, chunk: tuple[int, int]) -> SequenceChunk:
        a, b = chunk
        borders = self.X.borders[a : b + 1]
        here = slice(borders[0], borders[-1])
        part = SequenceChunk(self.X.rows[here], borders - borders[0], a)
        part.states = None if self.states is None else self.states[here]
        part.weight = None if self.weight is None else self.weight[a:b]
        return part


class SequenceChunk:
    """Some of the sequences: their rows and borders, the number of the first, known states, weights."""

    states: np.ndarray | None = None
    weight: np.ndarray | None = None

    def __init__(self, rows: Any, borders: np.ndarray, first: int) -> None:
        self.rows, self.borders, self.first = rows, borders, first

    def __len__(self) -> int:
        return self.borders.size - 1

    def span(self, s: int) -> slice:
        return slice(self.borders[s], self.borders[s + 1])

    @property
    def row_weight(self) -> np.ndarray:
        """The weight of each row's sequence."""
        assert self.weight is not None
        return np.repeat(self.weight, np.diff(self.borders))

    def sequence_sums(self, values: np.ndarray | None) -> Any:
        """Sums of a value of each row over the sequences."""
        return 0.0 if values is None else np.add.reduceat(values, self.borders[:-1])

    def masked(self, log_like: np.ndarray) -> np.ndarray:
        """Log-likelihoods in which a known state excludes all others."""
        return mask_known_states(np.ascontiguousarray(log_like, dtype=np.float64), self.states, -np.inf)


def check_ascent(before: float, value: float) -> None:
    """Theorem 9.1: EM's objective is a number, and does not fall."""
    if np.isnan(value):
        raise ValueError(f"EM: the log-likelihood is not a number: {value}.")
    if value < before - 1e-8 * max(1.0, abs(before)):  # by more than rounding
        warnings.warn(
            f"EM: the objective fell from {before:.10g} to {value:.10g}.", ConvergenceWarning, stacklevel=3
        )
