"""A random field that learns from parts of the data, one sequence at a time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.estimator import check_weight, generator
from tercet.core.parameters import check_parameters
from tercet.sequence.crf._engine.online_steps import corpus_of
from tercet.sequence.crf._engine.products import Features
from tercet.sequence.crf.features import merged
from tercet.sequence.crf.model import ChainProbabilities
from tercet.sequence.crf.online import ONLINE, Corpus, Gradient, Mistaken, calibrate, correct, descend
from tercet.sequence.crf.tagging import ordered
from tercet.sequence.crf.weights import by_rows, weighty
from tercet.sequence.text.sequences import Sequences, flat

PASSES = {"l2sgd": 1000, "ap": 100, "pa": 100, "arow": 100}  # where max_iterations is None; else 1000


def _learns_singly(model: Any) -> bool:
    """Whether more sequences can be learned later."""
    if model.algorithm in ONLINE:
        return True
    names = ", ".join(map(repr, ONLINE))
    raise AttributeError(f"CRF: partial_fit needs algorithm to be one of {names}; got {model.algorithm!r}.")


class LearnsSingly(ChainProbabilities):
    """The algorithms that need one sequence at a time."""

    algorithm: str
    c2: float
    max_iterations: int | None
    epsilon: float
    period: int
    delta: float
    pa_type: int
    c: float
    error_sensitive: bool
    averaging: bool
    variance: float
    gamma: float
    random_state: Any
    online_: dict[str, Any]

    @property
    def _passes(self) -> int:
        return self.max_iterations or PASSES.get(self.algorithm, 1000)

    def _online(
        self, X: Sequences, y: np.ndarray, weight: np.ndarray | None, features: Features
    ) -> np.ndarray:
        """Passes over all sequences, one after another."""
        corpus = corpus_of(by_rows(X), y, weight, features)
        rng, loop = generator(self.random_state), self._loop(features, self._passes)
        if self.algorithm == "l2sgd":
            return descend(
                corpus, features.size, loop, rng, c2=self.c2, period=self.period, delta=self.delta,
                calibration=self._calibration(),
            )  # fmt: skip
        return correct(corpus, self._learner(np.zeros(features.size)), loop, rng, self.epsilon)

    def _calibration(self) -> dict[str, Any]:
        names = ("eta", "rate", "samples", "candidates", "max_trials")
        return {name: getattr(self, f"calibration_{name}") for name in names}

    def _learner(self, w: np.ndarray) -> Mistaken:
        settings = self.pa_type, self.c, self.error_sensitive, self.variance, self.gamma
        return Mistaken(w, self.algorithm, settings, self.averaging)

    @available_if(_learns_singly)
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, lengths: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from some more sequences in one pass ("l2sgd", "ap", "pa" and "arow"), for data that come in parts.

        Parameters
        ----------
        X, y : as for `fit`
            New attributes and new pairs get a weight when they are first seen. (`min_freq` counts within a call.)
        classes : list of labels, optional
            All labels that will ever come; by default those of the first call (also the first one after `fit`,
            which is a new beginning).
        lengths : array of shape (n_sequences,), optional
            The lengths of the sequences, where X is one table.
        sample_weight : array of shape (n_sequences,), optional
            How much each sequence counts.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "online_")
        rows = self._rows(self._sequences(X, lengths), reset=first, growing=True)
        if classes is not None:
            given = ordered(flat(classes))[0]
            if not first and not np.array_equal(given, self.classes_):
                raise ValueError(
                    f"{type(self).__name__}: classes={classes!r} are not those of the first call, {self.classes_}."
                )
            self.classes_ = given
        elif first:
            self._encode(rows.with_rows(self._labels_in(y, rows)))
        codes, weight = self._codes(y, rows), check_weight(sample_weight, rows)
        if weight is not None and not weight.all():
            rows, codes, weight = weighty(rows, codes, weight)
        features = self._choose(rows, codes, weight)
        state = {"weights": np.zeros(features.size), "seen": 0}
        if not first:
            features, places = merged(self._features(), features)
            state = {name: grown(name, value, features.size, places, self.variance)
                     for name, value in self.online_.items()}  # fmt: skip
        w = self._one_pass(corpus_of(by_rows(rows), codes, weight, features), features.size, state)
        self.__dict__.update(self._model(features, w), online_=state)
        return self

    def _one_pass(self, corpus: Corpus, size: int, state: dict[str, Any]) -> np.ndarray:
        """Learn from the sequences in their order; `state` is what the next call goes on from."""
        order = np.arange(corpus.n)
        if self.algorithm == "l2sgd":
            if "eta" not in state:
                rng = generator(self.random_state)
                state["eta"] = calibrate(corpus, size, self.c2, rng, **self._calibration())
            descent = Gradient(
                state["weights"], self.c2, state["seen"] + corpus.n, state["eta"], state["seen"]
            )
            descent.learn(corpus, order)
            state.update(weights=descent.weights, seen=descent.t)
            return descent.weights
        learner = self._learner(state["weights"])
        if "sums" in state:
            learner.sums, learner.seen = state["sums"], np.array([1.0 + state["seen"]])
        if self.algorithm == "arow":
            learner.variance = state.setdefault("variance", learner.variance)
        learner.learn(corpus, order)
        state.update(weights=learner.w, sums=learner.sums, seen=int(learner.seen[0]) - 1)
        return learner.weights

    def _forget(self, kept: np.ndarray) -> None:
        if hasattr(self, "online_"):
            self.online_ = {
                name: value[kept] if isinstance(value, np.ndarray) else value
                for name, value in self.online_.items()
            }


def grown(name: str, value: Any, size: int, places: np.ndarray, variance: float) -> Any:
    """An array with an entry for each weight, for more weights than before; other values as they are."""
    if not isinstance(value, np.ndarray):
        return value
    if value.shape != places.shape:
        raise ValueError(
            f"CRF: online_[{name!r}] has the shape {value.shape}; there are {places.size} weights."
        )
    wider = np.full(size, variance if name == "variance" else 0.0)
    wider[places] = value
    return wider


__all__ = ["LearnsSingly"]
