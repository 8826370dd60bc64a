"""What the base of hidden Markov models has to know of a family of observations."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tercet.sequence.base import SequenceEstimator
from tercet.sequence.hmm.e_step import Theta, only_known
from tercet.sequence.text.sequences import Sequences


class Family(SequenceEstimator):
    """Observations that depend on hidden states: what can be said of them when the state is known."""

    emitted: ClassVar[dict[str, tuple[str, ...]]] = {}  # letters of `params`, and the attributes they mean
    closed_form: ClassVar[bool] = True  # known states leave nothing hidden
    missing_input = True
    sparse_input = False

    n_components: Any
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

    def _initial_emissions(
        self, X: Sequences, n: int, rng: np.random.Generator | None, wanted: set[str]
    ) -> Theta:
        """First values of the attributes in `wanted`, for n states; without rng, a start that favours no state."""
        raise NotImplementedError

    def _checked_emissions(self, n: int) -> Theta:
        """The attributes as fresh float64 arrays, or an error that says what is wrong with them. (They may have
        been set by hand, or come from a file.)"""
        raise NotImplementedError

    def _log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        """log b_i(o) of every row o and state i; zero where a row says nothing."""
        raise NotImplementedError

    def _scaled_likelihood(
        self, rows: Any, theta: Theta, states: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Likelihoods, each row in a unit of its own, and the logs of the units (None for ones); nothing but the
        known state where `states` is not negative. A fresh array: it will be written over."""
        like = only_known(
            np.ascontiguousarray(self._log_likelihood(rows, theta), dtype=np.float64), states, -np.inf
        )
        unit = like.max(axis=1)
        unit[unit == -np.inf] = 0.0
        like -= unit[:, None]
        return np.exp(like, out=like), unit

    def _emission_statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        """What the M step has to know of the rows, each of which belongs to state i with weight posterior[:, i]:
        numbers and arrays that may be added up."""
        raise NotImplementedError

    def _maximise_emissions(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        """The attributes that suit the statistics best."""
        raise NotImplementedError

    def _log_emission_prior(self, theta: Theta) -> float:
        """What the priors of the attributes add to the log-likelihood."""
        return 0.0

    def _free_emissions(self, theta: Theta) -> int:
        """How many free numbers the observations take."""
        raise NotImplementedError

    def _draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        """An observation for each of the states, as rows of a table."""
        raise NotImplementedError

    def _rows_per_chunk(self, theta: Theta) -> int:
        """So many that the tables of a chunk stay in a core's own cache."""
        return int(np.clip((1 << 16) // theta["startprob_"].size, 512, 1 << 15))
