"""The base of mixtures (混合模型): p(x) = Σ_k π_k p(x | θ_k), learned by EM from one or several starts.

A mixture has components: a `Components` object, which knows the densities p(x | θ_k), their expected statistics
and the M step. An estimator derived from `Mixture` has the parameters in its signature and says which `Components`
they mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import DensityMixin

from tercet.cluster import KMeans, kmeans_plusplus
from tercet.core.estimator import Estimator, check_is_fitted, check_weight, generator
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.parallel import Chunks, each, total
from tercet.core.row_sums import mass_of
from tercet.core.source_fits import learn_streamed
from tercet.core.sources import RowSource
from tercet.core.steps import ConvergenceWarning, Steps, stopped_early
from tercet.core.streams import is_streamed
from tercet.core.validation import target_for_callbacks
from tercet.mixture.components import (
    AssignedChunks,
    Components,
    mean_imputed,
    posterior,
    rows_without_values,
    with_shares,
)
from tercet.optimize import check_ascent

HINT = (
    "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, or "
    "check for degenerate data."
)


class Mixture(DensityMixin, Estimator):
    """The base of all mixtures: EM from several starts or a warm start, prediction, criteria and sampling.

    A subclass has the parameters n_components, tol, max_iter, n_init, init_params, random_state, warm_start,
    verbose, verbose_interval and n_jobs, and writes `_components`, `_shapes` and `_n_parameters` (and, where they
    differ, `_initial_parameters`, `_attributes` and `_theta`). Its theta is by default a dict of the attributes in
    `learned`."""

    sparse_input = False
    batch_rounding = 1e-12  # densities are products by BLAS
    row_attributes = ("labels_",)
    learned: ClassVar[tuple[str, ...]] = ()

    n_components: int
    tol: float
    max_iter: int
    n_init: int
    init_params: str
    random_state: Any
    warm_start: bool
    verbose: int
    verbose_interval: int
    n_jobs: int | None

    converged_: bool
    lower_bound_: float
    lower_bounds_: list[float]
    seen_weight_: float
    n_batches_: int
    labels_: np.ndarray
    weights_: np.ndarray
    fitted_shapes = {"weights_": Floats("components", low=0.0), "seen_weight_": "", "n_batches_": Whole()}

    def _components(self, n_features: int) -> Components:
        """The components that the parameters (and, once fitted, the attributes) describe."""
        raise NotImplementedError

    def _shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shapes that fitted attributes have if a warm start can go on from them."""
        raise NotImplementedError

    def _n_parameters(self) -> int:
        """The number of free parameters, for AIC and BIC."""
        raise NotImplementedError

    def _attributes(self, theta: Any) -> dict[str, Any]:
        """The fitted attributes, from the parameters as EM handles them."""
        return dict(theta)

    def _theta(self) -> Any:
        """The parameters as EM handles them, from the fitted attributes."""
        return {name: np.asarray(getattr(self, name), dtype=np.float64) for name in self.learned}

    # --- learning -----------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        given = X
        zeros = sample_weight is not None and not is_streamed(X) and not sample_weight.all()
        if sample_weight is not None and zeros:  # a row of no weight is not there
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        self._check_n_samples(X.shape[0])
        components, rng = self._components(X.shape[1]), generator(self.random_state)
        chunks = components.chunks(X, sample_weight)
        mass = mass_of(X, sample_weight)
        warm = self._continues_last_fit(X.shape[1])
        before = self.lower_bound_ if warm else -np.inf
        best: tuple[float, Any, Steps] | None = None

        def fitted(theta: Any) -> dict[str, Any]:
            return self._fitted(theta, given, components)

        for loop in self._restarts(1 if warm else self.n_init, fitted):
            theta = self._theta() if warm else self._initial_parameters(X, sample_weight, components, rng)
            theta, value = self._em(components, chunks, theta, loop, mass, before)
            if best is None or value > best[0]:
                best = value, theta, loop
        assert best is not None
        value, theta, loop = best
        self.__dict__.update(
            fitted(theta),
            converged_=bool(loop.is_converged),
            n_iter_=loop.count,
            lower_bound_=value,
            lower_bounds_=[float(measures["lower_bound"]) for measures in loop.history],
            seen_weight_=mass,
            n_batches_=1,
        )
        self._warn_degenerate(mass)

    def _em(
        self, components: Components, chunks: Any, theta: Any, loop: Steps, mass: float, before: float
    ) -> tuple[Any, float]:
        """EM from one start (Alg 9.1): the parameters after the last M step, and the last objective.

        `mass` is the weight of all rows, `before` the objective at the end of an earlier fit.
        """
        value = -np.inf
        for step in loop:
            likelihood, *statistics = total(components.expect, chunks, theta, n_jobs=self.n_jobs)  # E
            following = components.maximise(tuple(statistics), theta)  # M
            measures = components.measures(likelihood, tuple(statistics), theta, following, mass)
            theta, value = following, measures["lower_bound"]
            rises = components.monotone and step.count > 1
            check_ascent(before if rises else -np.inf, value)
            step.report(theta, **measures)
            if step.converged((value - before if rises else abs(value - before)) < self.tol):
                break
            before = value
        return theta, value

    def _continues_last_fit(self, n_features: int) -> bool:
        """Whether this is a warm start from a fit with as many components and features."""
        if not self.warm_start or not hasattr(self, "converged_"):
            return False
        return all(np.shape(getattr(self, name)) == shape for name, shape in self._shapes(n_features).items())

    def _fitted(self, theta: Any, X: Any, components: Components) -> dict[str, Any]:
        """The attributes of a fitted model, in the precision of the data, with the components of the rows."""
        found = {name: _in_dtype(value, X.dtype) for name, value in self._attributes(theta).items()}
        if is_streamed(X):
            return found
        return {**found, "labels_": self._most_probable(X, components, theta)}

    def _check_n_samples(self, rows: int, which: str = "") -> None:
        if rows < self.n_components:
            raise ValueError(
                f"{type(self).__name__}: Expected n_samples >= n_components, but got "
                f"n_components={self.n_components}, n_samples={rows}{which}."
            )

    def _restarts(self, starts: int, fitted: Any) -> Iterable[Steps]:
        """The loops of EM: one, or one inside each of several starts."""
        options = {"unpack": fitted, "watch": self._watch, "hint": HINT}
        if starts == 1:
            yield self.steps(self.max_iter, **options)
            return
        for start in self.steps(starts, name="start", inner=self.max_iter):
            if self.verbose:
                print(f"start {start.count}")
            yield start.steps(self.max_iter, **options)

    def _watch(self, step: Steps) -> Any:
        """Called after every pass; a true answer would end the loop."""
        if self.verbose and step.count % self.verbose_interval == 0:
            print(f"pass {step.count}: lower bound {step.measures['lower_bound']:.6g}")

    def _initial_parameters(
        self, X: Any, weight: np.ndarray | None, components: Components, rng: np.random.Generator
    ) -> Any:
        """The first theta: an M step with the responsibilities that `init_params` says."""
        if is_streamed(X):
            labels = self._streamed_labels(X, weight, rng)
            chunks: Any = Chunks(X, labels, weight)
            return components.first(chunks.prepared(partial(with_shares, k=self.n_components)), self.n_jobs)
        empty, X = rows_without_values(X), mean_imputed(X, weight)
        if empty is not None:  # they tell nothing of the start
            self._check_n_samples(int((~empty).sum()), " with a value")
            weight = np.where(empty, 0.0, 1.0 if weight is None else weight).astype(X.dtype)
        shares = self._initial_responsibilities(X, weight, rng)
        return components.first(AssignedChunks(X, shares, weight, self.n_components), self.n_jobs)

    def _streamed_labels(self, X: Any, weight: Any, rng: np.random.Generator) -> Any:
        """The component of each row of a source, by k-means."""
        rows = X.stream.array("row")
        if self.init_params == "random_from_data":
            chosen = rng.choice(X.shape[0], size=self.n_components, replace=False)
            return rows.map(partial(_labels_of_chosen, chosen))
        if self.n_components == 1:
            return rows.map(np.zeros_like)
        if X.is_sparse:
            raise TypeError(
                f"{type(self).__name__}: k-means of a source takes dense rows. Use init_params='random_from_data'."
            )
        seed = int(rng.integers(2**31 - 1))
        kmeans = InitialKMeans(self.n_components, n_init=1, random_state=seed, n_jobs=self.n_jobs)
        learn_streamed(kmeans, X, None, weight, X.stream.features)
        kmeans.__dict__.pop("feature_names_in_", None)
        kmeans.n_features_in_ = X.shape[1]
        return X.map(kmeans.predict, dtype=np.int32)

    def _streaming_refusal(self) -> str:
        if self.init_params in ("kmeans", "random_from_data"):
            return ""
        return f"init_params={self.init_params!r} needs all rows at once. Use init_params='kmeans'."

    def _initial_responsibilities(
        self, X: Any, weight: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """The component of each row (-1: of none), or responsibilities of shape (n_samples, n_components)."""
        n, k = X.shape[0], self.n_components
        if k == 1 and self.init_params == "kmeans":  # all rows are its cluster
            return np.zeros(n, dtype=np.int32)
        if self.init_params == "random":
            drawn = rng.random((n, k))
            return drawn / drawn.sum(axis=1, keepdims=True)
        if self.init_params == "kmeans":
            seed = int(rng.integers(2**31 - 1))
            kmeans = InitialKMeans(k, n_init=1, random_state=seed, n_jobs=self.n_jobs)
            return kmeans.fit(X, None, weight).labels_
        if self.init_params == "k-means++":
            _, chosen = kmeans_plusplus(X, k, sample_weight=weight, random_state=rng, n_jobs=self.n_jobs)
        else:
            chosen = rng.choice(n if weight is None else np.flatnonzero(weight), size=k, replace=False)
        labels = np.full(n, -1)
        labels[chosen] = np.arange(k)
        return labels

    def _warn_degenerate(self, per: float) -> None:
        """Warn of components with hardly any rows, whose parameters mean little."""
        poor = np.flatnonzero(np.asarray(self.weights_, dtype=np.float64) * max(per, 1.0) < 1e-8)
        if poor.size:
            warnings.warn(
                f"{type(self).__name__}: the components {poor.tolist()} have starved: hardly any row belongs to "
                "them. Lower n_components, or try other starts (n_init, init_params).",
                ConvergenceWarning,
                stacklevel=6,
            )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the mixture from the rows X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Learn the mixture from the rows X, and return the most probable component of each."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if isinstance(X, RowSource) or stopped_early(self) else self.labels_

    # --- inference ----------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row."""
        X = self._rows(X)
        return self._most_probable(X, self._components(X.shape[1]), self._theta())

    def predict_proba(self, X: Any) -> np.ndarray:
        """The posterior probabilities of the components for each row."""
        X = self._rows(X)
        parts = self._map_log_joint(X, lambda joint: posterior(joint)[0].T)
        return np.concatenate(parts).astype(self._dtype(X), copy=False)

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of each row."""
        X = self._rows(X)
        found = np.concatenate(self._map_log_joint(X, lambda joint: posterior(joint)[1]))
        with np.errstate(over="ignore"):  # -inf in single precision
            return found.astype(self._dtype(X), copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-likelihood of the rows, weighted where there are weights."""
        return self._mean_log_likelihood(X, sample_weight)[0]

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion of the rows: the lower the better."""
        mean, n = self._mean_log_likelihood(X, sample_weight)
        return float(-2 * n * mean + self._n_parameters() * np.log(n))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion of the rows: the lower the better."""
        mean, n = self._mean_log_likelihood(X, sample_weight)
        return float(-2 * n * mean + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Draw rows: a component for each in proportion to the weights, then a row of that component.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            The component of each row, in ascending order.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {type(self).__name__} draws at least 1 sample; got {n_samples!r}."
            )
        rng, theta = generator(self.random_state), self._theta()
        weights = np.asarray(self.weights_, dtype=np.float64)
        counts = rng.multinomial(n_samples, weights / weights.sum())
        rows = self._components(self._n_features()).draw(theta, counts, rng)
        return rows, np.repeat(np.arange(counts.size), counts)

    def _n_features(self) -> int:
        return self.n_features_in_

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._check(X, reset=False)

    def _map_log_joint(self, X: Any, function: Any) -> list[Any]:
        components, theta = self._components(X.shape[1]), self._theta()
        return _map_log_joint(components, X, theta, function, self.n_jobs)

    def _most_probable(self, X: Any, components: Components, theta: Any) -> np.ndarray:
        parts = _map_log_joint(components, X, theta, lambda joint: joint.argmax(axis=0), self.n_jobs)
        return np.concatenate(parts)

    def _mean_log_likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """The mean log-likelihood of the rows, and their weight."""
        X = self._rows(X)
        weight = check_weight(sample_weight, X)
        likelihood = np.concatenate(self._map_log_joint(X, lambda joint: posterior(joint)[1]))
        if weight is None:
            return float(likelihood.mean()), float(likelihood.size)
        here, weight = weight > 0, weight.astype(np.float64)
        return float(np.average(likelihood[here], weights=weight[here])), float(weight.sum())

    def _dtype(self, X: Any) -> Any:
        return np.float32 if X.dtype == np.float32 else np.float64

    def _check(self, X: Any, y: Any = ..., *, reset: bool = True) -> Any:
        """As for clusterers: a target may come along for callbacks, and is not looked at."""
        X = super()._check(X, reset=reset)
        return X if y is ... else (X, target_for_callbacks(y, X.shape[0]))


def _labels_of_chosen(chosen: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The component of rows by their numbers: one for each that was chosen, else -1."""
    order = np.argsort(chosen)
    at = np.minimum(np.searchsorted(chosen, rows, sorter=order), chosen.size - 1)
    return np.where(chosen[order[at]] == rows, order[at], -1)


class InitialKMeans(KMeans):
    """K-means as a start: that it has not converged, or found fewer clusters, is not warned of."""

    def steps(self, limit: int, **options: Any) -> Steps:
        return super().steps(limit, **options, watch=lambda step: step.count == limit)

    def _warn(self, message: str, kind: type[Warning] = RuntimeWarning) -> None:
        pass


def _map_log_joint(components: Components, X: Any, theta: Any, function: Any, n_jobs: Any) -> list[Any]:
    """`function` of the log-joint densities of each chunk of rows."""
    chunks = Chunks(X, rows=components.rows_at_once())
    return each(lambda chunk: function(components.log_joint(chunk[0], theta)), chunks, n_jobs=n_jobs)


def _in_dtype(value: Any, dtype: Any) -> Any:
    """Arrays of floats in the precision of the data."""
    both = isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.dtype(dtype).kind == "f"
    return value.astype(dtype) if both else value
