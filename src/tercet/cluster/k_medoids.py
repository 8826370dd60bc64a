"""k-medoids clustering (k 中心点聚类): the centre of a cluster is one of its rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from tercet.cluster._engine.medoid_swaps import MedoidState, sums_with_candidates
from tercet.cluster.initial_centres import content_order, dense_rows
from tercet.cluster.medoid_distances import MedoidMetric, is_precomputed
from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted, generator
from tercet.core.fitted_checks import Floats, Indices
from tercet.core.parameters import Count, Jobs, Seed
from tercet.core.scaling import common_exponent, times_power
from tercet.core.steps import stopped_early


@method(
    zh="k 中心点聚类",
    task="clustering",
    model="each row belongs to the nearest of k rows, the medoids: C(i) = argmin_l d(x_i, x_m(l))",
    strategy="least sum of distances to the medoids, Σ_l Σ_{C(i)=l} d(x_i, x_m(l))",
    algorithms={
        "fasterpam": "every swap of a medoid for another row that makes the sum less is made at once",
        "pam": "the best of all swaps, again and again",
        "alternate": "rows to their nearest medoids, medoids to the middles of their clusters, by turns",
    },
    texts=["Li ch. 14, Alg 14.2"],
    peers=["kmedoids.KMedoids", "sklearn_extra.cluster.KMedoids"],
)
class KMedoids(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Clusterer):
    """k-medoids clustering, by any distance: every row belongs to the nearest of k rows.

    Minimises Σ_i w_i min_l d(x_i, x_m(l)) over the choice of k rows m(l). Distances are not squared, so that a row
    far away counts less than in k-means. All distances are kept: n² numbers.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    metric : str or callable, default="euclidean"
        The distance of two rows: a name ("manhattan", "cosine", "minkowski", "mahalanobis", "canberra" ...), a
        function of two rows, or "precomputed" when X is the matrix of distances (in `predict`, of new rows from
        those that were learned from).
    algorithm : {"fasterpam", "pam", "alternate"}, default="fasterpam"
        How to look for better medoids. "pam" makes the best of all swaps in each pass; "fasterpam" makes every swap
        that helps, needs fewer passes and ends as well; "alternate" moves medoids within their clusters only: fast,
        and worse.
    init : {"build", "k-medoids++", "random"} or array of k row numbers, default="build"
        The first medoids: greedily, each the row that makes the sum least; drawn far apart; or drawn at random,
        which is fastest for many clusters.
    max_iter : int, default=300
        The most passes.
    metric_params : dict, optional
        More for the metric, such as {"p": 3} for "minkowski".
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Threads for the distances; the result does not depend on it.

    Attributes
    ----------
    medoid_indices_ : array of shape (n_clusters,)
        The rows that are the medoids.
    cluster_centers_ : array of shape (n_clusters, n_features) or None
        The medoids themselves; None when `metric` is "precomputed".
    labels_ : array of shape (n_samples,)
        The cluster of each row; of equally near medoids, the first.
    inertia_ : float
        The sum of distances to the medoids.
    n_iter_ : int

    Examples
    --------
    >>> X = [[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [4.0, 2.0], [4.0, 4.0], [4.0, 0.0]]
    >>> model = KMedoids(2).fit(X)
    >>> sorted(model.medoid_indices_.tolist()), model.inertia_
    ([0, 3], 8.0)
    >>> model.predict([[0.0, 0.0], [4.0, 5.0]]) == model.labels_[[0, 3]]
    array([ True,  True])
    """

    batch_rounding = 1e-12  # distances by cosine are products by BLAS

    def __init__(
        self,
        n_clusters: Count = 8,
        *,
        metric: str | Callable = "euclidean",
        algorithm: Literal["fasterpam", "pam", "alternate"] = "fasterpam",
        init: Literal["build", "k-medoids++", "random"] | list | tuple | np.ndarray = "build",
        max_iter: Count = 300,
        metric_params: dict | None = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.algorithm = algorithm
        self.init = init
        self.max_iter = max_iter
        self.metric_params = metric_params
        self.random_state = random_state
        self.n_jobs = n_jobs

    fitted_shapes = {
        "medoid_indices_": Indices("clusters", below=str(2**62)),
        "cluster_centers_": lambda model: (
            None if is_precomputed(model.metric) else Floats("clusters features", finite=True)
        ),
    }
    medoid_indices_: np.ndarray
    cluster_centers_: Any
    inertia_: float
    _metric_options: dict[str, Any]  # what the metric takes, with what it learned from the rows

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) when `metric` is \
"precomputed"
            The rows, or their distances.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; one of weight 0 is no medoid.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the clusters of the rows X, and return the cluster of each."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if stopped_early(self) else self.labels_

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        n, k = X.shape[0], self.n_clusters
        weight = np.ones(n) if sample_weight is None else sample_weight.astype(np.float64)
        if np.count_nonzero(weight) < k:
            raise ValueError(
                f"KMedoids: n_clusters={k} needs as many rows with a weight; n_samples={np.count_nonzero(weight)} "
                f"should be >= n_clusters={k}."
            )
        metric = MedoidMetric.learned(X, self.metric, self.metric_params, self.n_jobs)
        D, exponent = metric.all_pairs(X)
        # Rows in an order of their contents: shuffled rows give the same medoids.
        order = np.arange(n) if metric.precomputed else content_order(times_power(X, -common_exponent(X)))
        order = order[weight[order] > 0]
        state = MedoidState(D, weight, order, self._first_medoids(D, weight, order))

        def fitted(medoids: np.ndarray) -> dict[str, Any]:
            found = MedoidState(D, weight, order, medoids)
            return {
                "medoid_indices_": medoids,
                "cluster_centers_": None if metric.precomputed else dense_rows(X, medoids),
                "labels_": found.nearest.astype(np.int32),
                "inertia_": float(times_power(np.float64(found.loss), exponent)),
                "_metric_options": metric.options,
            }

        improve = {"fasterpam": state.eager_pass, "pam": state.best_swap, "alternate": state.alternate}
        for step in self.steps(self.max_iter, unpack=fitted):
            swaps = improve[self.algorithm]()
            step.report(
                state.medoids.copy(),
                inertia=float(times_power(np.float64(state.loss), exponent)),
                swaps=swaps,
            )
            if step.converged(swaps == 0):
                break
        self.__dict__.update(fitted(state.medoids))
        distinct = np.unique(self.labels_).size
        if distinct < k:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({k}). Possibly due to "
                f"duplicate points in X.",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _first_medoids(self, D: np.ndarray, weight: np.ndarray, order: np.ndarray) -> np.ndarray:
        """The medoids of the start, as `init` says."""
        k, rng = self.n_clusters, generator(self.random_state)
        if isinstance(self.init, str):
            if self.init == "random":
                return np.array(order[rng.permutation(order.size)[:k]])
            if self.init == "build":
                return build(D, weight, order, k)
            return draw_far_apart(D, weight, order, k, rng)
        given = np.asarray(self.init)
        allowed = np.flatnonzero(weight > 0)
        good = given.shape == (k,) and given.dtype.kind in "iu" and np.isin(given, allowed).all()
        if not good or np.unique(given).size < k:
            raise ValueError(
                f"KMedoids: init must be {k} different row numbers from 0 to {len(D) - 1}, of rows with a weight; "
                f"got {given.tolist()}."
            )
        return given.astype(np.intp)

    def predict(self, X: Any) -> np.ndarray:
        """The nearest medoid of each row; of equals, the first."""
        return self._distances(X)[0].argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> np.ndarray:
        """The distances of each row from all medoids."""
        return times_power(*self._distances(X))

    def _distances(self, X: Any) -> tuple[np.ndarray, int]:
        """Distances of each row from all medoids, times 2 to minus the exponent that is returned."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        if is_precomputed(self.metric):
            if self.medoid_indices_.max() >= X.shape[1]:
                raise ValueError(f"KMedoids: medoid_indices_ name rows beyond the {X.shape[1]} columns of X.")
            found = X.toarray() if sparse.issparse(X) else X
            return np.array(found[:, self.medoid_indices_]), 0
        return MedoidMetric(self.metric, self._metric_options, self.n_jobs).between(X, self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        pairwise = is_precomputed(self.metric)
        tags.input_tags.pairwise, tags.input_tags.positive_only = pairwise, pairwise
        return tags


def build(D: np.ndarray, weight: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
    """PAM's first medoids: each the candidate that makes the sum of distances least, given those before it."""
    nearest = np.full(len(D), np.inf)
    chosen: list[int] = []
    for _ in range(k):
        sums = sums_with_candidates(D, weight, order, nearest)
        sums[np.isin(order, chosen)] = np.inf
        chosen.append(int(order[sums.argmin()]))
        nearest = np.minimum(nearest, D[chosen[-1]])
    return np.array(chosen)


def draw_far_apart(
    D: np.ndarray, weight: np.ndarray, order: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """Medoids drawn one after the other, each in proportion to its distance from those before it."""
    mass, nearest = weight[order], np.full(order.size, np.inf)
    chosen: list[int] = []
    for u in rng.random(k):
        share = mass.copy() if not chosen else mass * nearest
        share[np.isin(order, chosen)] = 0.0
        if not share.any():  # the rest are equal to medoids
            share = np.where(np.isin(order, chosen), 0.0, mass)
        height = np.cumsum(share)
        last = np.flatnonzero(share)[-1]
        place = min(int(np.searchsorted(height, u * height[-1], side="right")), int(last))
        chosen.append(int(order[place]))
        nearest = np.minimum(nearest, D[chosen[-1]][order])
    return np.array(chosen)
