"""What hidden Markov models of numbers share: a look at the rows before the start, and likelihoods in scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.sequence.hmm.base import HMM
from tercet.sequence.hmm.e_step import Passes, Theta, only_known
from tercet.sequence.hmm.gaussian_fit import Start
from tercet.sequence.text.sequences import Sequences


class NumberHMM(HMM):
    """A hidden Markov model of rows of numbers; NaN is a value that was not observed."""

    missing_input = True
    _begin: Start  # these two only while a fit lasts
    _gaps: bool

    @property
    def n_features(self) -> int:
        """How many features the attributes speak of."""
        return self._width()

    def _start(self, begin: Start, n: int) -> Theta:
        """First values of all attributes, for n states."""
        raise NotImplementedError

    def _width(self) -> int:
        """How many features the attributes speak of."""
        raise NotImplementedError

    def _fit(self, X: Sequences, y: Sequences | None, sample_weight: np.ndarray | None) -> None:
        self._gaps = bool(np.isnan(X.rows.min()))
        try:
            super()._fit(X, y, sample_weight)
        finally:
            for name in ("_begin", "_gaps"):
                self.__dict__.pop(name, None)

    def _first(self, data: Passes, n: int, rng: np.random.Generator | None) -> Theta:
        weight = None if data.weight is None else np.repeat(data.weight, data.X.lengths)
        rng_here = generator(self.random_state) if rng is None else rng
        self._begin = Start(data.X.rows, data.states, weight, rng_here)
        theta = super()._first(data, n, rng)
        if data.states is None or (data.states >= 0).all():
            return theta
        # Rows without a label would blur the states: the start that their labelled rows suggest is better.
        return {**theta, **self._begin.suggested}

    def _initial_emissions(
        self, X: Sequences, n: int, rng: np.random.Generator | None, wanted: set[str]
    ) -> Theta:
        theta = self._start(self._begin, n)
        self._begin.suggested = {name: theta[name] for name in wanted}
        return self._begin.suggested

    def _rows(self, X: Sequences, *, reset: bool = False) -> Sequences:
        X = super()._rows(X, reset=reset)
        if not reset and X.rows.shape[1] != self._width():
            raise ValueError(
                f"{type(self).__name__}: X has {X.rows.shape[1]} features, but the model knows {self._width()}."
            )
        return X

    def _scaled_likelihood(
        self, rows: Any, theta: Theta, states: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        like = only_known(self._log_likelihood(rows, theta), states, -np.inf)
        unit = np.empty(len(like))
        lower(like, unit)
        return np.exp(like, out=like), unit


@kernel
def lower(like, unit):
    """Take its largest value from each row."""
    n, k = like.shape
    for i in range(n):
        row = like[i]
        top = row[0]
        for j in range(1, k):
            top = row[j] if row[j] > top else top
        if top == -np.inf:
            top = 0.0
        unit[i] = top
        for j in range(k):
            row[j] -= top
