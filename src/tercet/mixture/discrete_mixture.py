"""The base of mixtures of discrete distributions: probability tables with pseudo-counts, SQUAREM, online EM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.core.estimator import check_weight
from tercet.core.parallel import Chunks, total
from tercet.core.parameters import Range, check_parameters
from tercet.core.sparse_products import times
from tercet.core.steps import Steps
from tercet.mixture.base import Mixture
from tercet.mixture.components import Components
from tercet.optimize import RunningStatistics, em, online_em_step

Decay = Annotated[float, Range(0.5, 1, "(]")]
InitParams = Literal["kmeans", "k-means++", "random", "random_from_data"]
ROWS = 1 << 14  # the most in a chunk: their log-probabilities stay in the cache too
TINY = 1e-300  # what a probability of 0 is taken for where its logarithm is needed as a number


class ProbabilityTables(Components):
    """Components whose parameters are tables of probabilities, estimated from counts plus a pseudo-count.

    A subclass says how counts become probabilities (`probabilities`). The first of the statistics are the
    components' shares of the rows.
    """

    def __init__(self, n_components: int, alpha: float, weight_prior: float, hard: bool = False) -> None:
        self.n_components, self.alpha, self.weight_prior, self.hard = n_components, alpha, weight_prior, hard

    def probabilities(self, counts: tuple[Any, ...], alpha: float) -> np.ndarray:
        raise NotImplementedError

    def chunks(self, X: Any, weight: np.ndarray | None) -> Sequence[Any]:
        return chunks_of(X, weight)

    def maximise(self, statistics: tuple[Any, ...], theta: Any) -> dict[str, Any]:
        return self._estimate(statistics, self.alpha)

    def first(self, chunks: Sequence[Any], n_jobs: Any = None) -> dict[str, Any]:
        """With a pseudo-count of at least 1: a value that is impossible at first would stay so."""
        return self._estimate(total(self._assigned, chunks, n_jobs=n_jobs), max(self.alpha, 1.0))

    def _estimate(self, statistics: tuple[Any, ...], alpha: float) -> dict[str, Any]:
        mass = statistics[0] + self.weight_prior
        probs = self.probabilities(statistics[1:], alpha)
        return {"weights_": mass / mass.sum(), "probs_": probs, "_sums": list(statistics)}

    def log_prior(self, theta: Any) -> float:
        """Of Dirichlet distributions with the parameters 1 + alpha, up to a constant."""
        prior = self.alpha * self.log_density(theta["probs_"]) if self.alpha else 0.0
        return prior + (self.weight_prior * logarithm(theta["weights_"]).sum() if self.weight_prior else 0.0)

    def log_density(self, probs: np.ndarray) -> float:
        return float(logarithm(probs).sum())

    def pack(self, theta: Any) -> np.ndarray:
        """Logarithms; `unpack` makes them sum to one again."""
        return np.concatenate(
            [np.log(np.maximum(theta[name].ravel(), TINY)) for name in ("weights_", "probs_")]
        )

    def unpack(self, vector: np.ndarray) -> dict[str, Any]:
        raise NotImplementedError


class DiscreteMixture(Mixture):
    """The base of mixtures of discrete distributions."""

    learned = ("weights_", "probs_")
    alpha: float
    weight_prior: float
    weights_init: Any
    probs_init: Any
    algorithm: str
    learning_decay: float
    probs_: Any
    _sums: list[np.ndarray]  # the expected counts that the probabilities come from

    def _encoded(self, X: Any, weight: np.ndarray | None, *, learning: bool = False) -> Any:
        """Rows as the components read them: zeros and ones, or codes."""
        return X

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        super()._fit(self._encoded(X, sample_weight, learning=True), y, sample_weight)

    def _rows(self, X: Any) -> Any:
        return self._encoded(super()._rows(X), None)

    def _shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        return {"probs_": (self.n_components, n_features)}

    def _em(
        self, components: Components, chunks: Any, theta: Any, loop: Steps, mass: float, before: float
    ) -> tuple[Any, float]:
        if self.algorithm != "squarem":
            return super()._em(components, chunks, theta, loop, mass, before)
        run = em(
            components,
            chunks,
            theta,
            loop,
            tol=self.tol,
            per=mass,
            accelerate=True,
            measure="lower_bound",
            before=before,
            n_jobs=self.n_jobs,
        )
        return run.theta, run.value

    def _initial_parameters(
        self, X: Any, weight: np.ndarray | None, components: Components, rng: np.random.Generator
    ) -> Any:
        k, given = self.n_components, {}
        if self.weights_init is not None:
            given["weights_"] = self._given("weights_init", self.weights_init, (k,), axis=0)
        if self.probs_init is not None:
            given["probs_"] = self._given_probs((k, X.shape[1]))
        return (
            given if len(given) == 2 else {**super()._initial_parameters(X, weight, components, rng), **given}
        )

    def _given_probs(self, shape: tuple[int, ...]) -> np.ndarray:
        return self._given("probs_init", self.probs_init, shape, axis=1)

    def _given(self, name: str, value: Any, shape: tuple[int, ...], axis: int | None) -> np.ndarray:
        """Probabilities as the caller gave them, or an error that says what is wrong with them."""
        try:
            found = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        who = f"{type(self).__name__}: {name}"
        if found.shape != shape:
            raise ValueError(f"{who} must be numbers of the shape {shape}; got {value!r}.")
        if not ((found >= 0) & (found <= 1)).all():
            raise ValueError(f"{who} must be probabilities from 0 to 1; got {value!r}.")
        if axis is not None:
            sums = np.atleast_1d(found.sum(axis=axis))
            for i in np.flatnonzero(np.abs(sums - 1) > 1e-6):
                where = f"row {i}" if axis else "it"
                raise ValueError(f"{who} must sum to 1; {where} sums to {sums[i]:.6g}.")
        return found

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from a batch of rows, by a step of online EM (the first batch is learned as by `fit`).

        Batch t = 1, 2, ... counts (t + 1)^-learning_decay against all before. One that is refused leaves no trace.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or whatever `fit` takes
            The batch.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        if not hasattr(self, "_sums"):
            return self.fit(X, sample_weight=sample_weight)
        check_parameters(self)
        X = self._check(X, reset=False)
        weight = check_weight(sample_weight, X)
        X = self._encoded(X, weight)
        if weight is not None and not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        mass = float(X.shape[0] if weight is None else weight.sum(dtype=np.float64))
        components, theta = self._components(X.shape[1]), self._theta()
        seen = float(np.sum(self._sums[0]))  # the components' shares of all rows so far
        past = tuple(np.asarray(s, dtype=np.float64) / seen for s in self._sums)
        # an interrupted fit has only what its last pass reported
        known = RunningStatistics(past, getattr(self, "n_batches_", 1), getattr(self, "seen_weight_", seen))
        theta, memory, likelihood = online_em_step(
            components,
            components.chunks(X, weight),
            theta,
            known,
            mass=mass,
            decay=self.learning_decay,
            n_jobs=self.n_jobs,
        )
        self.__dict__.update(
            self._fitted(theta, X, components),
            lower_bound_=likelihood / mass + components.log_prior(theta) / memory.mass,
            n_iter_=self.n_iter_ + 1,
            n_batches_=memory.batches,
            seen_weight_=memory.mass,
        )
        return self


def chunks_of(X: Any, *more: Any) -> Chunks:
    """Chunks of rows that are small enough for tables of all components."""
    found = Chunks(X, *more)
    return found if found.borders[1] <= ROWS else Chunks(X, *more, rows=ROWS)


def logarithm(p: np.ndarray) -> np.ndarray:
    """log p, -inf without a warning where p is 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def finite_log(p: np.ndarray) -> np.ndarray:
    """log p, and 0 where p is 0: what is impossible is ruled out apart."""
    return np.log(p, out=np.zeros_like(p), where=p > 0)


def scores(A: np.ndarray, X: Any) -> np.ndarray:
    """A X', of shape (k, rows)."""
    # Always in double precision: sums of a row's many log-probabilities are large, their differences small.
    A, X = A.astype(np.float64, copy=False), X.astype(np.float64, copy=False)
    return np.ascontiguousarray(times(X, A.T).T) if sparse.issparse(X) else A @ X.T


def sums(shares: np.ndarray, X: Any) -> np.ndarray:
    """Σ_i shares_ki x_i, of shape (k, features)."""
    X = X.astype(np.float64, copy=False)
    return (X.T @ np.ascontiguousarray(shares.T)).T if sparse.issparse(X) else shares @ X
