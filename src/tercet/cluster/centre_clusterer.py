"""What the methods with a centre for each cluster share: starts, predictions, distances and scores."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances

from tercet.cluster._engine.nearest_centres import nearest_centre
from tercet.cluster.initial_centres import (
    dense_rows,
    draw_plusplus,
    draw_random,
    hierarchical_centers,
    rows_to_draw_from,
)
from tercet.cluster.partition import Partition, times_square
from tercet.core.estimator import Clusterer, check_is_fitted, check_weight
from tercet.core.fitted_checks import Floats
from tercet.core.parallel import all_cores
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.sources import RowSource
from tercet.core.steps import Steps, stopped_early
from tercet.core.validation import check_array

# By name, by a function of the rows, as points, or as numbers of rows.
InitialCentres = (
    Literal["k-means++", "random", "hierarchical"]
    | Callable
    | list
    | tuple
    | np.ndarray
    | sparse.sparray
    | sparse.spmatrix
)


class CentreClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """A clusterer whose rows belong to the nearest of `cluster_centers_`.

    A subclass has the parameters `n_clusters`, `init`, `n_init`, `max_iter`, `verbose` and `n_jobs`.
    """

    n_clusters: int
    init: Any
    n_init: Any
    max_iter: int
    verbose: int | bool
    n_jobs: int | None
    width_checked_attributes: ClassVar[tuple[str, ...]] = ("cluster_centers_",)
    fitted_shapes = {"cluster_centers_": Floats("clusters features", finite=True)}
    batch_rounding = 1e-12  # distances to the centres are products by BLAS
    cluster_centers_: np.ndarray
    inertia_: float

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
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
        """Find the clusters of the rows X, and return the cluster of each."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if isinstance(X, RowSource) or stopped_early(self) else self.labels_

    def predict(self, X: Any) -> np.ndarray:
        """The nearest centre of each row."""
        return nearest_centre(self._checked_rows(X), self.cluster_centers_, all_cores(self.n_jobs))

    def transform(self, X: Any) -> np.ndarray:
        """The distances of each row from all centres."""
        X, centres = self._checked_rows(X), self.cluster_centers_
        most = max(largest(X), largest(centres))
        if X.dtype == np.float32 and not 1e-15 < most < 1e18:  # squares are no float32, nor need distances be
            X = X.astype(np.float64)
        exponent = scale_exponent(most)
        apart = euclidean_distances(times_power(X, -exponent), times_power(centres, -exponent))
        return times_power(apart, exponent)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of the rows."""
        X = self._checked_rows(X)
        weight, exponent = check_weight(sample_weight, X), scale_exponent(largest(X))
        centres = times_power(self.cluster_centers_.astype(np.float64), -exponent)
        found = Partition.around(times_power(X, -exponent), centres, weight, all_cores(self.n_jobs))
        return -times_square(found.inertia, exponent)

    def _checked_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return X if sparse.issparse(X) else np.ascontiguousarray(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _warn(self, message: str, kind: type[Warning] = RuntimeWarning) -> None:
        warnings.warn(message, kind, stacklevel=7)

    def _warn_of_empty(self, counts: np.ndarray, n_clusters: int | None = None) -> None:
        distinct, k = np.count_nonzero(counts), n_clusters or self.n_clusters
        if distinct < k:
            self._warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({k}). "
                f"Possibly due to duplicate points in X.",
                ConvergenceWarning,
            )

    def _warn_of_range(self, inertia: float, exponent: int) -> None:
        """Warn where the inertia of rows that were scaled by 2^-exponent is no number as it was before."""
        if inertia > 0 and not 0 < self.inertia_ < np.inf:
            self._warn(
                f"{type(self).__name__}: inertia_ is {self.inertia_}: the sum of squared distances is beyond "
                f"floating point. The clusters are right; scale X by 2**{-exponent} to see it."
            )

    def _check_count(self, X: Any) -> None:
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"{type(self).__name__}: n_clusters={self.n_clusters} needs as many rows; "
                f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}."
            )

    def _n_starts(self, drawn_starts: int) -> int:
        """How many starts to try; `drawn_starts` is what "auto" means where they are drawn."""
        starts = self.n_init
        drawn = callable(self.init) or (isinstance(self.init, str) and self.init == "random")
        if starts == "auto":
            return drawn_starts if drawn else 1
        if starts > 1 and not (drawn or isinstance(self.init, str)):
            self._warn(
                f"Explicit initial center position passed: performing only one init in {type(self).__name__} "
                f"instead of n_init={starts}."
            )
            return 1
        return starts

    def _starts(self, drawn_starts: int, fitted: Callable[[Any], dict[str, Any]]) -> Iterable[Steps]:
        """The loops of passes: one, or one inside each of several starts."""
        starts = self._n_starts(drawn_starts)
        if starts == 1:
            yield self.steps(self.max_iter, unpack=fitted)
            return
        for start in self.steps(starts, name="start", inner=self.max_iter):
            yield start.steps(self.max_iter, unpack=fitted)

    def _initial_centres(
        self, X: Any, weight: Any, rng: np.random.Generator, exponent: int = 0
    ) -> np.ndarray:
        """The centres of one start, as `init` says; X is scaled by 2^-exponent."""
        k, init = self.n_clusters, self.init
        if callable(init):
            given = times_power(X, exponent)
            init = init(given, k, random_state=np.random.RandomState(rng.integers(2**31 - 1)))
        if self.verbose:
            print("Initialization complete")
        if isinstance(init, str):
            if init == "hierarchical":
                return hierarchical_centers(X, k).astype(np.float64)
            X, weight = rows_to_draw_from(X, weight, k, rng)
            if init == "random":
                return dense_rows(X, draw_random(X, k, weight, rng)).astype(np.float64)
            return dense_rows(X, draw_plusplus(X, k, weight, rng, n_jobs=all_cores(self.n_jobs))).astype(
                np.float64
            )
        return self._given_centres(X, init, exponent)

    def _given_centres(self, X: Any, init: Any, exponent: int = 0) -> np.ndarray:
        """Centres as the caller gave them: as points, or as numbers of rows."""
        k, (n, d) = self.n_clusters, X.shape
        given = init.toarray() if sparse.issparse(init) else np.asarray(init)
        if given.ndim == 1 and given.dtype.kind in "iu":
            if given.shape != (k,) or given.min() < 0 or given.max() >= n:
                raise ValueError(
                    f"{type(self).__name__}: init as row numbers must be {k} numbers from 0 to {n - 1}; "
                    f"got {given.tolist()}."
                )
            return dense_rows(X, given).astype(np.float64)
        given = check_array(given, dtype=np.float64, input_name="init")
        if given.shape[0] != k:
            raise ValueError(
                f"The shape of the initial centers {given.shape} does not match the number of clusters {k}."
            )
        if given.shape[1] != d:
            raise ValueError(
                f"The shape of the initial centers {given.shape} does not match the number of features of the data "
                f"{d}."
            )
        return times_power(given.astype(X.dtype).astype(np.float64), -exponent)
