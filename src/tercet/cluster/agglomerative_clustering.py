"""Agglomerative clustering (聚合聚类): from the bottom up, the two nearest clusters become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_memory

from tercet.cluster._engine.linkage import MergeTree
from tercet.cluster._engine.set_linkage import merged_diameters
from tercet.cluster.hierarchy import cut_count, linkage_matrix, nearest_cluster
from tercet.cluster.lance_williams import lance_williams
from tercet.cluster.merge_trees import (
    build_tree,
    check_distances,
    check_metric,
    pair_distances,
    takes_all_rows,
)
from tercet.core.catalog import method
from tercet.core.estimator import Clusterer, check_is_fitted
from tercet.core.fitted_checks import Floats, Indices, Sizes, Whole
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.metrics.clustering import cluster_distance


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
        "hausdorff": "largest distance of a row from the nearest row of the other cluster",
        "weighted": "mean of the distances of the two parts, whatever their sizes",
        "median": "distance of the two centres, that of a union being the middle of its parts'",
    },
    texts=[
        "Li ch. 14, Alg 14.1, eq. 14.14-14.17",
        "Li ch. 22, Table 22.1",
        "watermelon notes ch. 7, Fig 9.11",
    ],
    peers=["sklearn.cluster.AgglomerativeClustering", "scipy.cluster.hierarchy.linkage"],
)
class AgglomerativeClustering(Clusterer):
    """Agglomerative (hierarchical) clustering, from single rows up to one cluster of all.

    Every row begins as a cluster of its own, and the two clusters that are nearest to each other become one; of
    pairs that are equally near, the one with the first rows. The texts' Algorithm 14.1 is `linkage="single"`.
    `cut` gives the clusters of any other number or height, `predict` those of new rows.

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
    linkage : {"ward", "complete", "average", "single", "centroid", "hausdorff", "weighted", "median"}, \
            default="ward"
        The distance of two clusters: how much the sum of squares would grow (Euclidean only); of the two farthest
        rows; the mean of all pairs; of the two nearest rows; of the two centres; the largest of a row from the
        nearest row of the other; the mean of the distances of the parts that were merged; of the centres, that of a
        union being the middle of its parts'. "centroid" and "median" of "precomputed" take Euclidean distances.
        Distances of merges never fall, except those of centres and Hausdorff's, which may.
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
        linkage: Literal[
            "ward", "complete", "average", "single", "centroid", "hausdorff", "weighted", "median"
        ] = "ward",
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
        "labels_": Indices("leaves", below="leaves"),
        "_rows": Floats("leaves features", finite=True),
    }
    distances_: np.ndarray
    _rows: np.ndarray

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
        self.__dict__.pop("_rows", None)
        if self.metric != "precomputed":
            self._rows = X

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
        if self.connectivity is not None and self.linkage not in ("ward", "complete", "average", "single"):
            raise ValueError(f"AgglomerativeClustering: linkage={self.linkage!r} does not take connectivity.")
        if self.n_clusters is None and not self.compute_full_tree:
            raise ValueError(
                "AgglomerativeClustering: compute_full_tree must be True if distance_threshold or max_diameter is "
                "set."
            )
        if n < 2:
            raise ValueError(f"AgglomerativeClustering needs at least 2 rows; got n_samples = {n}.")
        if self.n_clusters is not None and self.n_clusters > n:
            raise ValueError(
                f"AgglomerativeClustering: n_clusters={self.n_clusters} needs as many rows; n_samples={n} should "
                f"be >= n_clusters={self.n_clusters}."
            )
        if self.linkage == "ward" and self.metric not in ("euclidean", "l2"):
            raise ValueError(
                f"AgglomerativeClustering: linkage={self.linkage!r} is of points and Euclidean distances; "
                f"got metric={self.metric!r}."
            )
        if self.linkage in ("centroid", "median") and takes_all_rows(self.metric):
            raise ValueError(
                f"AgglomerativeClustering: linkage={self.linkage!r} takes a metric of two points; got a function "
                "of all rows."
            )
        check_metric(self.metric, "AgglomerativeClustering")
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
            if self.connectivity is not None:  # as many merges are undone, though distances may fall again
                return int((self.distances_ >= self.distance_threshold).sum()) + 1
            return cut_count(self.distances_ >= self.distance_threshold, len(X))
        table = pair_distances(X, self.metric, self.metric_params, self.n_jobs)
        return cut_count(merged_diameters(table, len(X), self.children_) > self.max_diameter, len(X))

    def cut(self, n_clusters: int | None = None, *, height: float | None = None) -> np.ndarray:
        """The cluster of each row when the tree is cut into so many clusters, or at a height.

        Parameters
        ----------
        n_clusters : int, optional
            The number of clusters.
        height : float, optional
            In its place, a distance: the first merge at this distance or above is undone with all after it.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        check_is_fitted(self)
        if (n_clusters is None) == (height is None):
            raise ValueError(f"cut takes either n_clusters or height; got {n_clusters!r} and {height!r}.")
        if height is not None:
            n_clusters = cut_count(self.distances_ >= height, self.n_leaves_, len(self.children_))
        least = self.n_leaves_ - len(self.children_)
        assert n_clusters is not None
        if not least <= n_clusters <= self.n_leaves_:
            raise ValueError(f"n_clusters must be from {least} to {self.n_leaves_}; got {n_clusters!r}.")
        return MergeTree(self.children_, self.distances_).cut(int(n_clusters), self.n_leaves_)

    def linkage_matrix(self) -> np.ndarray:
        """The tree as `scipy.cluster.hierarchy` has it: two clusters, their distance, the number of rows."""
        check_is_fitted(self)
        return linkage_matrix(self.children_, self.distances_, np.ones(self.n_leaves_))

    def _can_predict(self) -> bool:
        known = "labels_" not in vars(self) or "_rows" in vars(self) or self.metric == "precomputed"
        centres = self.linkage in ("ward", "centroid")
        return (
            known
            and self.linkage not in ("weighted", "median")
            and not (centres and self.metric == "precomputed")
            and not takes_all_rows(self.metric)
        )

    @available_if(_can_predict)
    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each new row: the one that it is nearest to by the linkage, as a cluster of one row.

        Not defined for "weighted" and "median", whose distances depend on the order of the merges. The cluster of a
        row that the tree was grown over may be another than in `labels_`.

        Parameters
        ----------
        X : array of shape (n_queries, n_features), or (n_queries, n_samples) when `metric` is "precomputed"
            The rows, or their distances from those of `fit`.

        Returns
        -------
        labels : array of shape (n_queries,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False).astype(np.float64, copy=False)
        rows = getattr(self, "_rows", None)
        return nearest_cluster(X, rows, self.labels_, self.linkage, self.metric, self.metric_params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def agglomerate(distances: Any, linkage: str = "single") -> tuple[np.ndarray, np.ndarray]:
    """Agglomerative clustering of a distance matrix in plain form (Alg 14.1).

    Parameters
    ----------
    distances : array of shape (n, n)
        Symmetric; of "ward", "centroid" and "median" they must be Euclidean.
    linkage : {"single", "complete", "average", "centroid", "ward", "weighted", "median", "hausdorff"}, \
            default="single"
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
    table, n = D.copy(), len(D)
    np.fill_diagonal(D, np.inf)
    numbers, sizes, rows = np.arange(n), np.ones(n), [[i] for i in range(n)]
    children, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    for i in range(n - 1):
        a, b = np.unravel_index(D.argmin(), D.shape)  # the nearest pair; of equals, the first
        children[i], heights[i] = np.sort(numbers[[a, b]]), D[a, b]
        rows[b] += rows[a]
        if linkage == "hausdorff":  # by its definition: the distances of the parts do not tell it
            blocks = [table[np.ix_(rows[b], rows[c])] for c in range(n)]
            merged = np.array(
                [cluster_distance(block, None, "hausdorff", metric="precomputed") for block in blocks]
            )
            merged[~np.isfinite(D[b])] = np.inf
        else:
            merged = lance_williams(D[a], D[b], D[a, b], sizes[a], sizes[b], sizes, linkage)
        D[b], D[:, b] = merged, merged  # b becomes the new cluster, and a is no more
        D[a], D[:, a], D[b, b] = np.inf, np.inf, np.inf
        numbers[b], sizes[b] = n + i, sizes[a] + sizes[b]
    return children, heights
