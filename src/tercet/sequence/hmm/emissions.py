"""Emission distributions of a hidden Markov model: the part of it that knows the observations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tercet.sequence._chain.scaled import subtract_row_max
from tercet.sequence.hmm.row_sample import RowSample

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

    @property
    def names(self) -> list[str]:
        """The attributes that are learned."""
        return [name for names in self.letters.values() for name in names]

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
        subtract_row_max(like, offsets)
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

    def n_parameters(self, theta: Theta) -> int:
        """The number of free parameters, for AIC and BIC."""
        raise NotImplementedError

    def draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        """An observation for each of the states, as rows of a table."""
        raise NotImplementedError

    def rows_per_chunk(self, theta: Theta) -> int:
        """So many that the tables of a chunk stay in a core's own cache."""
        return int(np.clip((1 << 16) // theta["startprob_"].size, 512, 1 << 15))


@dataclass
class RealEmissions(Emissions):
    """Emissions of rows of numbers, where NaN is a value that was not observed."""

    initial_uses_labels: ClassVar[bool] = True

    sample: RowSample = field(init=False, repr=False)

    def prepare(self, rows: Any, states: Any, weight: Any, rng: np.random.Generator) -> None:
        self.sample = RowSample(rows, states, weight, rng)


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
