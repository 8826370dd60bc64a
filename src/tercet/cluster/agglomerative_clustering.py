"""Agglomerative clustering (聚合聚类): from the bottom up, the two nearest clusters become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from scipy.spatial.distance import squareform
from sklearn.utils.validation import check_memory

from tercet.cluster._engine.linkage import MergeTree
from tercet.cluster.merge_trees import ALIASES, METRICS, build_tree, check_distances, pair_distances
from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted
from tercet.core.fitted_checks import Floats, Indices, Sizes, Whole
from tercet.core.parameters import Count, Jobs, NonNegative


@method(
    zh="聚合聚类（层次聚类）",
    task="clustering",
    model="a tree of nested clusters, cut into as many as are wanted",
    strategy="merge the two clusters with the smallest distance, again and again",
    algorithms={
        "single": "distance of the two nearest rows; by the minimum spanning tree",
        "complete": "distance of the two farthest rows",
        "average": "mean distance of all pairs of rows",
        "centroid": "distance of the two centres",
        "ward": "growth of the sum of squares",
    },
    texts=["000 ch. 14, Alg 14.1, eq. 14.14-14.17", "002 ch. 7, Fig 9.11"],
    peers=["sklearn.cluster.AgglomerativeClustering", "scipy.cluster.hierarchy.linkage"],
)
class AgglomerativeClustering(Clusterer):
    """Agglomerative (hierarchical) clustering, from single rows up to one cluster of all.

    Every row begins as a cluster of its own, and the two clusters that are nearest to each other become one; of
    pairs that are equally near, the one with the first rows. The texts' Algorithm 14.1 is `linkage="single"`.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Where to cut the tree. Exactly one of this, `distance_threshold` and `max_diameter` must be given.
    metric : str or callable, default="euclidean"
        The distance of two rows: a name that `scipy.spatial.distance.pdist` knows ("cityblock", "minkowski",
        "mahalanobis", "correlation", "cosine" ...), "l1", "l2", "manhattan", "absolute_correlation" (1 - |r|), a
        function of two rows or one of all rows that gives the matrix of distances, or "precomputed" when X is that.
    memory : str or joblib.Memory, optional
        Where to keep trees, so that cutting the same tree elsewhere does not grow it again.
    connectivity : array or sparse matrix of shape (n_samples, n_samples), or callable, optional
        Which rows are neighbours, or a function of X that says it. Only clusters with neighbours in each other are
        merged, and complete, average and single linkage take only the distances of neighbours.
    compute_full_tree : "auto" or bool, default="auto"
        Whether to go on merging when `n_clusters` are left. With `connectivity` only: else the tree is always full,
        and so it is by default unless `n_clusters` is large, at least 100 and 2 % of the rows.
    linkage : {"ward", "complete", "average", "single", "centroid"}, default="ward"
        The distance of two clusters: how much the sum of squares would grow; of the two farthest rows; the mean
        of all pairs; of the two nearest rows; of the two centres ("ward" and "centroid": Euclidean only).
        Distances of merges never fall, except those of centres, which may.
    distance_threshold : float, optional
        Merges at this distance or above are undone.
    compute_distances : bool, default=False
        Taken for the sake of callers of scikit-learn's class: `distances_` is always there.
    max_diameter : float, optional
        Stop before the first merge that would put two rows farther apart than this into one cluster.
    metric_params : dict, optional
        More for the metric: {"p": 3} for "minkowski", {"VI": inverse covariance} for "mahalanobis" (by default
        the pseudo-inverse of the data's own).
    n_jobs : int, optional
        Threads for the distances of all pairs; the result does not depend on it.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each row.
    n_clusters_ : int
    children_ : array of shape (n_samples - 1, 2)
        The two clusters of each merge: rows are 0 to n - 1, and merge i makes cluster n + i.
    distances_ : array of shape (n_samples - 1,)
        Their distances.
    n_leaves_, n_connected_components_ : int
        The number of rows, and of connected components of `connectivity`; 1 without it.

    Examples
    --------
    >>> D = [[0, 7, 2, 9, 3], [7, 0, 5, 4, 6], [2, 5, 0, 8, 1], [9, 4, 8, 0, 5], [3, 6, 1, 5, 0]]
    >>> model = AgglomerativeClustering(metric="precomputed", linkage="single").fit(D)
    >>> model.children_.tolist(), model.distances_.tolist()
    ([[2, 4], [0, 5], [1, 3], [6, 7]], [1.0, 2.0, 4.0, 5.0])
    >>> model.labels_
    array([1, 0, 1, 0, 1])
    """

    sparse_input = False

    def __init__(
        self,
        n_clusters: Count | None = 2,
        *,
        metric: str | Callable = "euclidean",
        memory: Any = None,
        connectivity: Any = None,
        compute_full_tree: Literal["auto"] | bool = "auto",
        linkage: Literal["ward", "complete", "average", "single", "centroid"] = "ward",
        distance_threshold: NonNegative | None = None,
        compute_distances: bool = False,
        max_diameter: NonNegative | None = None,
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances
        self.max_diameter = max_diameter
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    children_: np.ndarray
    fitted_shapes = {
        "n_leaves_": Whole("leaves", 1),
        "children_": Indices("merges* 2", below=str(2**62)),
        "distances_": Floats("merges*"),
    }
    distances_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the tree over the rows X, or over a matrix of distances, and cut it.

        Parameters
        ----------
        X : array of shape (n_samples, n_features), or (n_samples, n_samples) when `metric` is "precomputed"
            The rows, or their distances.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        self._check_choices(X)
        X = X.astype(np.float64, copy=False)
        graph = self.connectivity(X) if callable(self.connectivity) else self.connectivity
        if graph is not None and not sparse.issparse(graph):
            graph = np.asarray(graph)
        build = check_memory(self.memory).cache(build_tree, ignore=["n_jobs"])
        self.children_, self.distances_, self.n_connected_components_ = build(
            X, self.linkage, self.metric, self.metric_params, graph, self._least(len(X)), n_jobs=self.n_jobs
        )
        self.n_leaves_ = len(X)
        self.n_clusters_ = self._count(X)
        self.labels_ = self.cut(self.n_clusters_)

    def _least(self, n: int) -> int | None:
        """The number of clusters at which merging stops; None for the full tree."""
        full = self.compute_full_tree
        if full == "auto":
            full = self.n_clusters is None or self.n_clusters < max(100, 0.02 * n)
        return None if full or self.connectivity is None else self.n_clusters

    def _check_choices(self, X: np.ndarray) -> None:
        """Refuse parameters that do not fit each other, or the data."""
        n = len(X)
        stops = {name: getattr(self, name) for name in ("n_clusters", "distance_threshold", "max_diameter")}
        if sum(value is not None for value in stops.values()) != 1:
            given = ", ".join(f"{name}={value!r}" for name, value in stops.items())
            raise ValueError(
                f"AgglomerativeClustering: Exactly one of {', '.join(stops)} has to be given; got {given}."
            )
        if self.connectivity is not None and self.linkage == "centroid":
            raise ValueError("AgglomerativeClustering: linkage='centroid' does not take connectivity.")
        if self.n_clusters is None and not self.compute_full_tree:
            raise ValueError(
                "AgglomerativeClustering: compute_full_tree must be True if distance_threshold or max_diameter is "
                "set."
            )
        if n < 2:
            raise ValueError(f"AgglomerativeClustering needs at least 2 rows; got n_samples = {n}.")
        if self.n_clusters is not None and self.n_clusters > n:
            raise ValueError(f"AgglomerativeClustering: n_clusters={self.n_clusters} of n_samples={n} rows.")
        if self.linkage in ("ward", "centroid") and self.metric not in ("euclidean", "l2"):
            raise ValueError(
                f"AgglomerativeClustering: linkage={self.linkage!r} is of points and Euclidean distances; "
                f"got metric={self.metric!r}."
            )
        known = (*METRICS, *ALIASES, "precomputed")
        if isinstance(self.metric, str) and self.metric not in known:
            raise ValueError(
                f"AgglomerativeClustering: parameter 'metric' must be one of {', '.join(sorted(known))}, or a "
                f"function of two rows; got {self.metric!r}."
            )
        if self.metric == "precomputed":
            check_distances(X)

    def _check_fitted(self, sizes: Sizes) -> None:
        if "children_" not in vars(self):
            return
        leaves, merges = sizes["leaves"], sizes["merges"]
        before = (self.children_ < leaves + np.arange(merges)[:, None]).all()
        if merges >= leaves or not before or np.unique(self.children_).size < 2 * merges:
            raise ValueError(
                f"{type(self).__name__}: children_ has {merges} merges; expected are fewer than {leaves}, each of "
                "two leaves or earlier merges that no other has."
            )

    def _count(self, X: np.ndarray) -> int:
        """How many clusters the stopping rule leaves."""
        if self.n_clusters is not None:
            return self.n_clusters
        if self.distance_threshold is not None:
            over = self.distances_ >= self.distance_threshold
            if self.connectivity is not None:  # as many merges are undone, though distances may fall again
                return int(over.sum()) + 1
        else:
            over = self._diameters(X) > self.max_diameter
        return len(X) - int(np.argmax(over)) if over.any() else 1

    def _diameters(self, X: np.ndarray) -> np.ndarray:
        """The diameter of each merged cluster: the distance of its two farthest rows."""
        table = squareform(pair_distances(X, self.metric, self.metric_params, self.n_jobs))
        n = len(X)
        members = [np.array([i]) for i in range(n)]
        widths = np.zeros(2 * n - 1)
        for k, (a, b) in enumerate(self.children_, n):
            across = table[np.ix_(members[a], members[b])].max()
            widths[k] = max(across, widths[a], widths[b])
            members.append(np.concatenate([members[a], members[b]]))
            members[a] = members[b] = members[k][:0]
        return widths[n:]

    def cut(self, n_clusters: int) -> np.ndarray:
        """The cluster of each row when the tree is cut into so many clusters."""
        check_is_fitted(self)
        least = self.n_leaves_ - len(self.children_)
        if not least <= n_clusters <= self.n_leaves_:
            raise ValueError(f"n_clusters must be from {least} to {self.n_leaves_}; got {n_clusters!r}.")
        return MergeTree(self.children_, self.distances_).cut(int(n_clusters), self.n_leaves_)

    def linkage_matrix(self) -> np.ndarray:
        """The tree as `scipy.cluster.hierarchy` has it: two clusters, their distance, the number of rows."""
        check_is_fitted(self)
        n = self.n_leaves_
        sizes = np.ones(n + len(self.children_))
        for k, (a, b) in enumerate(self.children_, n):
            sizes[k] = sizes[a] + sizes[b]
        return np.column_stack([self.children_, self.distances_, sizes[n:]]).astype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def agglomerate(distances: Any, linkage: str = "single") -> tuple[np.ndarray, np.ndarray]:
    """Agglomerative clustering of a distance matrix in plain form (Alg 14.1).

    Parameters
    ----------
    distances : array of shape (n, n)
        Symmetric; of "ward" and "centroid" they must be Euclidean.
    linkage : {"single", "complete", "average", "centroid", "ward"}, default="single"
        The distance of two clusters.

    Returns
    -------
    children : array of shape (n - 1, 2)
        The two clusters of each merge: rows are 0 to n - 1, and merge i makes cluster n + i.
    heights : array of shape (n - 1,)
        Their distances.

    Examples
    --------
    >>> D = [[0, 7, 2, 9, 3], [7, 0, 5, 4, 6], [2, 5, 0, 8, 1], [9, 4, 8, 0, 5], [3, 6, 1, 5, 0]]
    >>> children, heights = agglomerate(D)
    >>> children.tolist(), heights.tolist()
    ([[2, 4], [0, 5], [1, 3], [6, 7]], [1.0, 2.0, 4.0, 5.0])
    """
    D = np.array(distances, dtype=np.float64)
    n = len(D)
    np.fill_diagonal(D, np.inf)
    numbers, sizes = np.arange(n), np.ones(n)
    children, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    for i in range(n - 1):
        a, b = np.unravel_index(D.argmin(), D.shape)  # the nearest pair; of equals, the first
        children[i], heights[i] = np.sort(numbers[[a, b]]), D[a, b]
        merged = lance_williams(D[a], D[b], D[a, b], sizes[a], sizes[b], sizes, linkage)
        D[b], D[:, b] = merged, merged  # b becomes the new cluster, and a is no more
        D[a], D[:, a], D[b, b] = np.inf, np.inf, np.inf
        numbers[b], sizes[b] = n + i, sizes[a] + sizes[b]
    return children, heights


def lance_williams(
    d_ac: Any, d_bc: Any, d_ab: float, n_a: float, n_b: float, n_c: Any, linkage: str = "single"
) -> np.ndarray:
    """The Lance-Williams update: distances of other clusters c from the union of clusters a and b.

    Parameters
    ----------
    d_ac, d_bc : arrays of shape (m,)
        Distances of the clusters c from a and from b.
    d_ab : float
        Distance of a and b.
    n_a, n_b, n_c : float, float, array of shape (m,)
        Numbers of rows.
    linkage : {"single", "complete", "average", "centroid", "ward"}, default="single"
        The distance of two clusters.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> [
    ...     float(lance_williams(3.0, 4.0, 2.0, 1, 3, 1, linkage))
    ...     for linkage in ("single", "complete", "average")
    ... ]
    [3.0, 4.0, 3.75]
    """
    d_ac, d_bc, n_c = (np.asarray(value, dtype=np.float64) for value in (d_ac, d_bc, n_c))
    n = n_a + n_b
    if linkage == "single":
        return np.minimum(d_ac, d_bc)
    if linkage == "complete":
        return np.maximum(d_ac, d_bc)
    if linkage == "average":
        return (n_a * d_ac + n_b * d_bc) / n
    if linkage == "centroid":
        squares = (n_a * d_ac**2 + n_b * d_bc**2) / n - n_a * n_b * d_ab**2 / n**2
    elif linkage == "ward":
        squares = ((n_a + n_c) * d_ac**2 + (n_b + n_c) * d_bc**2 - n_c * d_ab**2) / (n + n_c)
    else:
        raise ValueError(
            f"linkage must be 'single', 'complete', 'average', 'centroid' or 'ward'; got {linkage!r}."
        )
    return np.sqrt(np.maximum(squares, 0.0))
