"""Constrained seed k-means (约束种子 k 均值) and seeded k-means: clusters that start from labelled rows."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from tercet.cluster.centre_clusterer import CentreClusterer
from tercet.cluster.cop_k_means import ConstrainedPasses, attributes
from tercet.cluster.initial_centres import dense_rows
from tercet.cluster.partition import times_square
from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, distinct, generator
from tercet.core.fitted_checks import Labels
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.steps import stopped_early
from tercet.core.validation import target_for_callbacks


@method(
    zh="约束种子 k 均值聚类",
    task="clustering",
    model="each row belongs to the nearest of k centres, and a labelled row, a seed, to the cluster of its label",
    strategy="least sum of squared distances to the centres, W(C) = Σ_l Σ_{C(i)=l} |x_i - m_l|²",
    algorithms={
        "constrained": "centres start at the means of the seeds, which keep their clusters",
        "seeded": "centres start at the means of the seeds, which may move as all rows",
    },
    texts=["watermelon notes ch. 11, Fig 13.9"],
)
class SeededKMeans(CentreClusterer):
    """k-means that starts from the means of labelled rows, the seeds (constrained seed k-means).

    Every row goes to the nearest centre (of equals, the first), every centre to the mean of its rows, by turns.
    With "constrained", as in the text, a seed stays in the cluster of its label; with "seeded" it only gives the
    start. Clusters are numbered in the order of the seeds' labels. Where there are more clusters than labels, the
    centres of the others start at rows drawn far from those that are there.

    Parameters
    ----------
    n_clusters : int, optional
        The number k of clusters; by default that of the seeds' labels (8 without seeds).
    algorithm : {"constrained", "seeded"}, default="constrained"
        Whether seeds keep their clusters.
    max_iter : int, default=300
        The most passes.
    tol : float, default=1e-4
        Stop when the squared moves of the centres add up to no more than tol times the mean variance of the
        features, or when no row has changed its cluster. 0 leaves only the second rule.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, optional
        Decides the first centres of clusters without seeds.
    n_jobs : int, optional
        Threads for `predict`, by default all cores; the result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
        The cluster of each row. `predict` gives the nearest centre, also of a seed.
    seed_classes_ : array of shape (n_seed_classes,)
        The labels of the seeds; that of cluster k is `seed_classes_[k]`.
    inertia_ : float
        W at the end.
    n_iter_ : int

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [5.2]]
    >>> model = SeededKMeans(2).fit(X, [0, -1, 1, -1, -1, 1, -1])
    >>> model.labels_, model.cluster_centers_.ravel()
    (array([0, 0, 1, 1, 1, 1, 1], dtype=int32), array([1.5 , 7.04]))
    """

    def __init__(
        self,
        n_clusters: Count | None = None,
        *,
        algorithm: Literal["constrained", "seeded"] = "constrained",
        max_iter: Count = 300,
        tol: NonNegative = 1e-4,
        verbose: int | bool = 0,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters  # type: ignore[assignment]
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    fitted_shapes = {"seed_classes_": Labels("seed_classes*")}
    seed_classes_: np.ndarray

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,), optional
            The labels of the seeds; -1 (or None, among strings) for rows without one. Without seeds this is
            k-means.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts in the means.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the clusters of the rows X, and return the cluster of each."""
        self.fit(X, y, sample_weight)
        return self.predict(X) if stopped_early(self) else self.labels_

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET:
            return super()._check(X, reset=reset)
        X = super()._check(X, reset=reset)
        return X, None if y is None else self._check_seeds(y, X.shape[0])

    def _check_seeds(self, y: Any, n: int) -> np.ndarray:
        """y as an array of n labels."""
        seeds = target_for_callbacks(y, n)
        if seeds is None or seeds.ndim != 1 or seeds.dtype.kind not in "biufUO":
            found = type(y).__name__ if seeds is None else f"an array of shape {seeds.shape} of {seeds.dtype}"
            raise ValueError(
                f"{type(self).__name__}: y must hold a label for each of the {n} rows of X, or -1 where there is "
                "none; "
                f"got {found}."
            )
        return seeds

    def _encode(self, y: Any) -> Any:
        return y

    def _fit(self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None) -> None:
        n = X.shape[0]
        self.seed_classes_, seeds = encode_seeds(y, n)
        k = self._count(self.seed_classes_.size, n)
        exponent, rng = scale_exponent(largest(X)), generator(self.random_state)
        X = times_power(X, -exponent)
        weight = np.ones(n) if sample_weight is None else sample_weight.astype(np.float64)
        none = sparse.csr_array((n, n), dtype=np.int8)
        state = ConstrainedPasses(X, weight, np.arange(n), none)
        fixed = np.flatnonzero(seeds >= 0) if self.algorithm == "constrained" else np.zeros(0, dtype=np.intp)

        def assign(centres: np.ndarray) -> np.ndarray:
            labels = state.assign(centres)
            labels[fixed] = seeds[fixed]
            return labels

        def fitted(centres: np.ndarray) -> dict[str, Any]:
            labels = assign(centres)
            return attributes(labels, centres, state.inertia(labels, centres), exponent, X.dtype)

        centres = first_centres(state, seeds, self.seed_classes_.size, k, rng)
        small, labels = self.tol * state.variance, np.full(n, -1)
        for step in self.steps(self.max_iter, unpack=fitted):
            before, labels = labels, assign(centres)
            moved = int((labels != before).sum())
            new = state.means(labels, centres) if moved else centres
            shift, centres = float(((new - centres) ** 2).sum()), new
            inertia = times_square(state.inertia(labels, centres), exponent)
            step.report(centres, inertia=inertia, moved=moved)
            if self.verbose:
                print(f"Iteration {step.count}, inertia {inertia:.6g}, {moved} rows moved.")
            if step.converged(moved == 0 or shift <= small):
                break
        inertia = state.inertia(labels, centres)
        self._warn_of_empty(np.bincount(labels), k)
        self.__dict__.update(attributes(labels, centres, inertia, exponent, X.dtype))
        self._warn_of_range(inertia, exponent)

    def _count(self, classes: int, n: int) -> int:
        """The number of clusters, which seeds and rows must allow."""
        k = self.n_clusters if self.n_clusters is not None else classes or 8
        if k < classes:
            raise ValueError(
                f"{type(self).__name__}: n_clusters={k} must be at least the number of labels of the seeds in y, "
                f"{classes}."
            )
        if n < k:
            raise ValueError(
                f"{type(self).__name__}: n_clusters={k} needs as many rows; n_samples={n} should be >= "
                f"n_clusters={k}."
            )
        return k


def encode_seeds(y: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The labels of the seeds in order, and for each row the number of its label; -1 where it has none.

    Examples
    --------
    >>> encode_seeds(np.array(["b", None, "a"], dtype=object), 3)
    (array(['a', 'b'], dtype='<U1'), array([ 1, -1,  0]))
    """
    seeds = np.full(n, -1)
    if y is None:
        return np.zeros(0, dtype=np.int64), seeds
    there = np.array([v is not None and v != -1 for v in y.tolist()], dtype=bool)
    if not there.any():
        return np.zeros(0, dtype=np.int64), seeds
    labels = np.array(y[there].tolist()) if y.dtype == object else y[there]
    classes, codes = distinct(labels)
    seeds[there] = codes
    return classes, seeds


def first_centres(
    state: ConstrainedPasses, seeds: np.ndarray, classes: int, k: int, rng: np.random.Generator
) -> np.ndarray:
    """The means of the seeds of each label; then rows drawn by their squared distance from the centres before."""
    d = state.X.shape[1]
    centres = np.zeros((k, d))
    labelled = np.flatnonzero(seeds >= 0)
    if classes:
        mass = np.bincount(seeds[labelled], state.weight[labelled], minlength=classes)
        rows = dense_rows(state.X, labelled).astype(np.float64)
        for c in range(classes):  # seeds without weight say where their cluster is all the same
            mine = seeds[labelled] == c
            weight = state.weight[labelled][mine] if mass[c] > 0 else None
            centres[c] = np.average(rows[mine], axis=0, weights=weight)
    closest = np.ones(len(seeds))
    if classes:
        closest = euclidean_distances(state.X, centres[:classes], squared=True).min(axis=1)
    for c in range(classes, k):
        share = state.weight * closest
        if not share.any():  # all rows are centres already
            share = state.weight
        height = np.cumsum(share)
        place = int(np.searchsorted(height, rng.random() * height[-1], side="right"))
        place = min(place, int(np.flatnonzero(share)[-1]))
        centres[c] = dense_rows(state.X, np.array([place]))[0]
        apart = euclidean_distances(state.X, centres[c : c + 1], squared=True)[:, 0]
        closest = apart if c == 0 else np.minimum(closest, apart)
    return centres
