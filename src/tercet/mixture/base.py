"""What all mixtures share: p(x) = Σ_k π_k p(x | θ_k), learned by EM from one or several starts.

A family gives two things: a `Components` object, which knows the densities p(x | θ_k), their expected statistics
and the parameters that fit those best; and an estimator derived from `Mixture`, which has the parameters in its
signature and says which `Components` they mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import DensityMixin

from tercet.cluster import KMeans, kmeans_plusplus
from tercet.core.estimator import Estimator, check_is_fitted, check_weight, generator
from tercet.core.parallel import Chunks, each
from tercet.core.steps import ConvergenceWarning, Steps
from tercet.mixture.components import Components, SharedOut, known, one_hot, posterior, silent
from tercet.optimize import EMResult, em

__all__ = ["Components", "Mixture", "SharedOut", "known", "one_hot", "posterior"]

HINT = "Raise max_iter or tol, or try more starts (n_init)."


class Mixture(DensityMixin, Estimator):
    """The base of all mixtures: starts and restarts, warm starts, and everything a fitted mixture can be asked.

    A subclass has the parameters n_components, tol, max_iter, n_init, init_params, random_state, warm_start,
    verbose, verbose_interval and n_jobs, and writes `_components`, `_shapes` and `_n_parameters` (and, where they
    differ, `_start`, `_attributes` and `_theta`). Its theta is by default a dict of the attributes in `learned`.
    """

    sparse_input = False
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

    def _components(self, n_features: int) -> Components:
        """The components that the parameters (and, once fitted, the attributes) describe."""
        raise NotImplementedError

    def _shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shapes that fitted attributes have if a warm start can go on from them."""
        raise NotImplementedError

    def _n_parameters(self) -> int:
        """How many numbers the model could choose freely, for AIC and BIC."""
        raise NotImplementedError

    def _attributes(self, theta: Any) -> dict[str, Any]:
        """Fitted attributes, from the form in which EM handles them."""
        return dict(theta)

    def _theta(self) -> Any:
        """The fitted attributes in the form in which EM handles them."""
        return {name: np.asarray(getattr(self, name), dtype=np.float64) for name in self.learned}

    # --- learning -----------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        given = X
        if sample_weight is not None and not sample_weight.all():  # a row of no weight is not there
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        self._enough(X.shape[0])
        model, rng = self._components(X.shape[1]), generator(self.random_state)
        chunks = model.chunks(X, sample_weight)
        per = float(X.shape[0] if sample_weight is None else sample_weight.sum(dtype=np.float64))
        warm = self._goes_on(X.shape[1])
        before = self.lower_bound_ if warm else -np.inf
        best: tuple[EMResult, Steps] | None = None

        def fitted(theta: Any) -> dict[str, Any]:
            return self._fitted(theta, given, model)

        for loop in self._starts(1 if warm else self.n_init, fitted):
            theta = self._theta() if warm else self._start(X, sample_weight, model, rng)
            climb = self._climb(model, chunks, theta, loop, per, before)
            if best is None or climb.value > best[0].value:
                best = climb, loop
        assert best is not None
        climb, loop = best
        self.__dict__.update(
            fitted(climb.theta),
            converged_=climb.converged,
            n_iter_=climb.passes,
            lower_bound_=climb.value,
            lower_bounds_=[float(measures["lower_bound"]) for measures in loop.history],
            seen_weight_=per,
            n_batches_=1,
        )
        self._report_degenerate(per)

    def _goes_on(self, n_features: int) -> bool:
        """Whether this fit goes on from an earlier one, which had as many components and features."""
        if not self.warm_start or not hasattr(self, "converged_"):
            return False
        return all(np.shape(getattr(self, name)) == shape for name, shape in self._shapes(n_features).items())

    def _climb(
        self, model: Components, chunks: Any, theta: Any, loop: Steps, per: float, before: float
    ) -> EMResult:
        """The passes of one start; `per` is the mass of the rows, `before` where an earlier fit had got to."""
        return em(
            model,
            chunks,
            theta,
            loop,
            tol=self.tol,
            per=per,
            check=model.monotone,
            measure="lower_bound",
            before=before,
            n_jobs=self.n_jobs,
        )

    def _fitted(self, theta: Any, X: Any, model: Components) -> dict[str, Any]:
        """The attributes of a fitted model, in the precision of the data, with the components of the rows."""
        found = {name: _as(value, X.dtype) for name, value in self._attributes(theta).items()}
        return {**found, "labels_": self._best_component(X, model, theta)}

    def _enough(self, rows: int, which: str = "") -> None:
        if rows < self.n_components:
            raise ValueError(
                f"{type(self).__name__}: expected n_samples >= n_components, but got "
                f"n_components={self.n_components}, n_samples={rows}{which}."
            )

    def _starts(self, starts: int, fitted: Any) -> Iterable[Steps]:
        """The loops of passes: one, or one inside each of several starts."""
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

    def _start(self, X: Any, weight: np.ndarray | None, model: Components, rng: np.random.Generator) -> Any:
        """The first theta: rows are shared out among the components as `init_params` says."""
        gone, X = silent(X), known(X, weight)
        if gone is not None:  # a row that says nothing has no part in the start
            self._enough(int((~gone).sum()), " with a value")
            weight = np.where(gone, 0.0, 1.0 if weight is None else weight).astype(X.dtype)
        shares = self._first_shares(X, weight, rng)
        return model.first(SharedOut(X, shares, weight, self.n_components), self.n_jobs)

    def _first_shares(self, X: Any, weight: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        """The component of each row (-1: of none), or responsibilities of shape (n_samples, n_components)."""
        n, k = X.shape[0], self.n_components
        if k == 1 and self.init_params == "kmeans":  # all rows are its cluster
            return np.zeros(n, dtype=np.int32)
        if self.init_params == "random":
            drawn = rng.random((n, k))
            return drawn / drawn.sum(axis=1, keepdims=True)
        if self.init_params == "kmeans":
            seed = int(rng.integers(2**31 - 1))
            return Groups(k, n_init=1, random_state=seed, n_jobs=self.n_jobs).fit(X, None, weight).labels_
        if self.init_params == "k-means++":
            _, chosen = kmeans_plusplus(X, k, sample_weight=weight, random_state=rng, n_jobs=self.n_jobs)
        else:
            chosen = rng.choice(n if weight is None else np.flatnonzero(weight), size=k, replace=False)
        labels = np.full(n, -1)
        labels[chosen] = np.arange(k)
        return labels

    def _report_degenerate(self, per: float) -> None:
        """Warn of components that hold next to nothing: their parameters mean little."""
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
        return self.fit(X, sample_weight=sample_weight).labels_

    # --- asking -------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of each row."""
        X = self._rows(X)
        return self._best_component(X, self._components(X.shape[1]), self._theta())

    def predict_proba(self, X: Any) -> np.ndarray:
        """The posterior probabilities of the components for each row."""
        X = self._rows(X)
        parts = self._each(X, lambda joint: posterior(joint)[0].T)
        return np.concatenate(parts).astype(self._dtype(X), copy=False)

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of each row."""
        X = self._rows(X)
        return np.concatenate(self._each(X, lambda joint: posterior(joint)[1])).astype(
            self._dtype(X), copy=False
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-likelihood of the rows, weighted where there are weights."""
        return self._judge(X, sample_weight)[0]

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """Bayesian information criterion of the rows: the lower the better."""
        mean, n = self._judge(X, sample_weight)
        return float(-2 * n * mean + self._n_parameters() * np.log(n))

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """Akaike's information criterion of the rows: the lower the better."""
        mean, n = self._judge(X, sample_weight)
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
            raise ValueError(f"{type(self).__name__}: n_samples must be at least 1; got {n_samples!r}.")
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

    def _each(self, X: Any, ask: Any) -> list[Any]:
        model, theta = self._components(X.shape[1]), self._theta()
        return _ask(model, X, theta, ask, self.n_jobs)

    def _best_component(self, X: Any, model: Components, theta: Any) -> np.ndarray:
        return np.concatenate(_ask(model, X, theta, lambda joint: joint.argmax(axis=0), self.n_jobs))

    def _judge(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        """The mean log-likelihood of the rows, and their weight."""
        X = self._rows(X)
        weight = check_weight(sample_weight, X)
        likelihood = np.concatenate(self._each(X, lambda joint: posterior(joint)[1]))
        if weight is None:
            return float(likelihood.mean()), float(likelihood.size)
        here, weight = weight > 0, weight.astype(np.float64)
        return float(np.average(likelihood[here], weights=weight[here])), float(weight.sum())

    def _dtype(self, X: Any) -> Any:
        return np.float32 if X.dtype == np.float32 else np.float64

    def _check(self, X: Any, y: Any = ..., *, reset: bool = True) -> Any:
        """As for clusterers: a target may come along for callbacks, and is not looked at."""
        X = super()._check(X, reset=reset)
        if y is ...:
            return X
        y = None if y is None else np.asarray(y)
        return X, None if y is None or y.shape[:1] != X.shape[:1] else y


class Groups(KMeans):
    """K-means as a start: the mixture may still do where it has not settled, or found fewer clusters."""

    def steps(self, limit: int, **options: Any) -> Steps:
        return super().steps(limit, **options, watch=lambda step: step.count == limit)

    def _report_few(self, found: int) -> None:
        pass


def _ask(model: Components, X: Any, theta: Any, ask: Any, n_jobs: Any) -> list[Any]:
    """`ask` of the log-joint densities of each chunk of rows."""
    chunks = Chunks(X, rows=model.rows_at_once())
    return each(lambda chunk: ask(model.log_joint(chunk[0], theta)), chunks, n_jobs=n_jobs)


def _as(value: Any, dtype: Any) -> Any:
    """Arrays of numbers in the precision of the data."""
    both = isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.dtype(dtype).kind == "f"
    return value.astype(dtype) if both else value
