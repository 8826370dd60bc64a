"""The parts of EM for hidden Markov models: emission distributions, the E step on chunks of sequences, and what the
M step makes of expected counts. The E step also decodes (Viterbi), which takes the same tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tercet.distributions.probability_tables import check_distributions
from tercet.sequence._chain import log_space, scaled
from tercet.sequence.base import Sequences

Theta = dict[str, np.ndarray]  # the parameters λ = (π, A, B) under their attribute names


@dataclass
class Emissions:
    """Emission distributions b_i(o) of the states of a hidden Markov model.

    A family of distributions derives from this class. It holds the hyperparameters; the learned parameters come in
    as `theta` and are never changed in place.

    Parameters
    ----------
    owner : str
        The name of the model, for errors.
    params : str
        The letters of the parameters that are learned.
    """

    letters: ClassVar[
        dict[str, tuple[str, ...]]
    ] = {}  # letters of `params`, and the attributes they stand for
    initial_uses_labels: ClassVar[bool] = False  # whether first values already come from the labelled rows

    owner: str
    params: str

    def closed_form(self, rows: Any) -> bool:
        """Whether known states leave nothing hidden, so that counting is enough."""
        return True

    def prepare(self, rows: Any, states: Any, weight: Any, rng: np.random.Generator) -> None:
        """Look at the training rows before EM begins."""
        raise NotImplementedError

    def initial(self, n: int, rng: np.random.Generator | None) -> Theta:
        """First values for n states; without rng, values that favour no state."""
        raise NotImplementedError

    def checked(self, given: dict[str, Any], n: int) -> Theta:
        """Parameters (which may have been set by hand) as fresh float64 arrays, or an error that says what is
        wrong."""
        raise NotImplementedError

    def log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        """log b_i(o_t), of shape (T, N); zero where a row says nothing."""
        raise NotImplementedError

    def scaled_likelihood(
        self, rows: Any, theta: Theta, states: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """b_i(o_t) exp(-offset_t), of shape (T, N), and the offsets (T,), or None for zeros; zero for all states
        but the known one where `states` is not negative. A fresh array: it will be written over."""
        like = np.require(self.log_likelihood(rows, theta), np.float64, ["C", "W"])
        mask_known_states(like, states, -np.inf)
        offsets = np.empty(len(like))
        scaled.subtract_row_max(like, offsets)
        return np.exp(like, out=like), offsets

    def statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        """Expected sufficient statistics of the rows, which are in state i with the weights posterior[:, i]:
        numbers and arrays that may be added up."""
        raise NotImplementedError

    def update(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        """The M step: the most likely parameters, given the statistics."""
        raise NotImplementedError

    def log_prior(self, theta: Theta) -> float:
        """The log-density of the priors, up to a constant."""
        return 0.0

    def n_parameters(self, theta: Theta) -> dict[str, int]:
        """The number of free parameters that each letter stands for."""
        raise NotImplementedError

    def draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        """An observation for each of the states, as rows of a table."""
        raise NotImplementedError

    def least_chunk_rows(self, theta: Theta) -> int:
        """The fewest rows of a chunk beside which its statistics cost little."""
        return 1


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
        # the weight of each row's sequence
        self.row_weight: Any = None if weight is None else np.repeat(weight, X.lengths)

    def chunks(self, theta: Theta) -> list[tuple[int, int]]:
        """Ranges of sequences, cut by the data alone; the tables of most stay in a core's own cache."""
        rows = int(np.clip((1 << 16) // theta["startprob_"].size, 512, 1 << 15))
        return self.X.chunks(max(rows, self.emissions.least_chunk_rows(theta)))

    def expected_counts(self, chunk: tuple[int, int], theta: Theta) -> tuple[Any, ...]:
        """Log-likelihood, expected starts (N,) and transitions (N, N), and the statistics of the emissions
        (10.27)-(10.29)."""
        logs, posterior, transitions = self.smooth(chunk, theta)
        part = self._part(chunk)
        total = logs.sum() if part.weight is None else logs @ part.weight
        if part.row_weight is not None:
            posterior *= part.row_weight
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
        weighted = posterior if part.row_weight is None else posterior * part.row_weight
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
            alpha, posterior = scaled.smooth_in_pieces(part.borders, start, trans, like, logs)
            logs += part.sequence_sums(offsets)
            if part.row_weight is not None:
                like *= part.row_weight
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
            scaled.likelihoods_in_pieces(part.borders, start, trans, like, logs)
            logs += part.sequence_sums(offsets)
        for s in np.flatnonzero(logs == -np.inf).tolist():
            log_like, offset = self._log_likelihood(part, s, theta)
            alpha = np.empty_like(log_like)
            logs[s] = offset + log_space.log_likelihood_in_pieces(log(start), log(trans), log_like, alpha)
        return logs

    def decode(self, chunk: tuple[int, int], theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        """Viterbi: log-probabilities (S,) of the best paths, and the paths (T,) (Alg 10.5)."""
        part = self._part(chunk)
        log_like = part.masked(self.emissions.log_likelihood(part.rows, theta))
        logs, start, trans = np.empty(len(part)), log(theta["startprob_"]), log(theta["transmat_"])
        path = log_space.decode_in_pieces(part.borders, start, trans, log_like, logs)
        for s in np.flatnonzero(logs == -np.inf).tolist():
            self._log_smooth(part, s, theta)  # says which row is impossible
        return logs, path

    def _log_smooth(self, part: SequenceChunk, s: int, theta: Theta) -> tuple[float, np.ndarray, np.ndarray]:
        """Forward-backward of one sequence in log space, where nothing underflows."""
        log_like, offset = self._log_likelihood(part, s, theta)
        n = log_like.shape[1]
        alpha, posterior, counts = np.empty_like(log_like), np.empty_like(log_like), np.zeros((n, n))
        start, trans = log(theta["startprob_"]), log(theta["transmat_"])
        total = log_space.log_smooth_in_pieces(start, trans, log_like, alpha, posterior, counts)
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
        if self.weight is not None and self.row_weight is not None:
            part.weight, part.row_weight = self.weight[a:b], self.row_weight[here, None]
        return part


class StreamedEStep(EStep):
    """Expected counts of sequences that are read chunk by chunk."""

    X: Any

    def __init__(
        self,
        emissions: Emissions,
        X: Any,
        states: None = None,
        weight: np.ndarray | None = None,
        numbers: None = None,
        *,
        scaling: bool = True,
    ) -> None:
        self.emissions, self.X, self.states, self.weight = emissions, X, states, weight
        self.numbers, self.scaling = numbers, scaling
        self.row_weight: Any = None if weight is None else RowWeight(weight, X.borders)

    def chunks(self, theta: Theta) -> Any:
        return self.X.row_chunks(super().chunks(theta))

    def expected_counts(self, chunk: Any, theta: Theta) -> tuple[Any, ...]:
        part, here = self.X.part_of(*chunk)
        weight, numbers = None if self.weight is None else self.weight[here], np.arange(here.start, here.stop)
        e_step = EStep(self.emissions, part, None, weight, numbers, scaling=self.scaling)
        return e_step.expected_counts((0, len(part)), theta)


class RowWeight:
    """The weights of rows, by the sequences that they are in."""

    def __init__(self, weight: np.ndarray, borders: np.ndarray) -> None:
        self.weight, self.borders = weight, borders

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        return self.weight[np.searchsorted(self.borders, rows, side="right") - 1]


class SequenceChunk:
    """Some of the sequences: their rows and borders, the number of the first, known states, weights."""

    states: np.ndarray | None = None
    weight: np.ndarray | None = None
    row_weight: np.ndarray | None = None  # of each row's sequence, of shape (T, 1)

    def __init__(self, rows: Any, borders: np.ndarray, first: int) -> None:
        self.rows, self.borders, self.first = rows, borders, first

    def __len__(self) -> int:
        return self.borders.size - 1

    def span(self, s: int) -> slice:
        return slice(self.borders[s], self.borders[s + 1])

    def sequence_sums(self, values: np.ndarray | None) -> Any:
        """Sums of a value of each row over the sequences."""
        return 0.0 if values is None else np.add.reduceat(values, self.borders[:-1])

    def masked(self, log_like: np.ndarray) -> np.ndarray:
        """Log-likelihoods in which a known state excludes all others."""
        return mask_known_states(np.ascontiguousarray(log_like, dtype=np.float64), self.states, -np.inf)


def mask_known_states(table: np.ndarray, states: np.ndarray | None, fill: float) -> np.ndarray:
    """Put `fill` in place of all entries but that of the known state, in the rows (T, N) whose state is known."""
    if states is not None:
        known = np.flatnonzero(states >= 0)
        kept = table[known, states[known]]
        table[known] = fill
        table[known, states[known]] = kept
    return table


def normalised_counts(counts: np.ndarray, prior: Any, old: np.ndarray) -> np.ndarray:
    """Counts plus pseudo-counts (prior - 1, but no less than zero) divided by the sum of the row.

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
    """Logarithms of probabilities; -inf for zero."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def probability_table(
    given: Any, name: str, shape: tuple[Any, ...], owner: str, prior: Any = 1.0
) -> np.ndarray:
    """An attribute whose rows are distributions, as a fresh float64 array of the given shape (a word: any); its
    Dirichlet prior is checked too."""
    values = np.array(given, dtype=np.float64, order="C")
    fits = values.ndim == len(shape) and values.size > 0
    if not fits or any(isinstance(m, int | np.integer) and m != k for m, k in zip(shape, values.shape)):
        expected = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        raise ValueError(f"{owner}: {name} has the shape {values.shape}; expected is ({expected}).")
    if not ((values >= 0).all() and (np.abs(values.sum(axis=-1) - 1.0) <= 1e-6).all()):  # say which row
        check_distributions(values, f"{owner}'s {name}")
    _check_prior(prior, f"{name}prior", values.shape, owner)
    return values


def _check_prior(given: Any, name: str, shape: tuple[int, ...], owner: str) -> None:
    """Refuse a prior that is not a number or an array of the given shape, or is negative."""
    if isinstance(given, int | float) and 0 <= given < np.inf:
        return
    prior = np.asarray(given, dtype=np.float64)
    try:
        np.broadcast_to(prior, shape)
    except ValueError:
        raise ValueError(
            f"{owner}: {name} must be a number or an array of shape {shape}; got {prior.shape}."
        ) from None
    if not (prior >= 0).all() or not np.isfinite(prior).all():
        raise ValueError(f"{owner}: {name} must be finite and not negative; got {prior!r}.")
