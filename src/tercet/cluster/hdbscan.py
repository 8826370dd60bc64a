"""HDBSCAN (层次密度聚类): DBSCAN at all distances at once, and the clusters that last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.cluster._engine.density_hierarchy import CondensedTree, condense, labels_at, single_linkage
from tercet.cluster.distance_input import block_distances, check_metric, check_symmetric, dense_form
from tercet.cluster.mutual_reachability import mutual_reachability_tree, neighbor_search
from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Clusterer, check_is_fitted
from tercet.core.fitted_checks import Floats, Indices, Sizes
from tercet.core.parameters import Count, Jobs, NonNegative, Positive, Range
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.validation import is_finite, target_for_callbacks, validate_data
from tercet.neighbors import BallTree, KDTree

Pair = Annotated[int, Range(2, np.inf, "[)")]
INFINITE, MISSING = -2, -3  # labels of rows with infinite numbers, and with missing ones


@method(
    zh="HDBSCAN（层次密度聚类）",
    task="clustering",
    model="a tree of clusters, dense ones inside sparser ones; the kept clusters do not overlap",
    strategy="keep the clusters with the largest sum of stabilities, sum of (lambda - lambda at birth) over rows",
    algorithms={
        "auto": "core distances by a tree where the metric allows it, else by a scan",
        "brute": "core distances by a linear scan",
        "kd_tree": "core distances by a kd-tree",
        "ball_tree": "core distances by a ball tree",
    },
    texts=["watermelon notes ch. 7, Fig 9.9"],
    peers=["sklearn.cluster.HDBSCAN", "hdbscan.HDBSCAN", "fast_hdbscan.HDBSCAN"],
)
class HDBSCAN(Clusterer):
    """Density-based clustering at all distances at once: clusters may differ in density.

    No eps has to be chosen. The distance of two rows is max(c_i, c_j, d(x_i, x_j) / alpha), where the core
    distance c_i is that of the min_samples-th nearest row, the row itself among them. Its minimum spanning tree
    gives DBSCAN's core clusters for every eps, a tree of merges; read from the top, with lambda = 1 / distance,
    a cluster splits in two when both parts have min_cluster_size rows, and otherwise loses rows. Clusters that
    last are kept.

    Parameters
    ----------
    min_cluster_size : int, default=5
        How many rows a cluster has at least.
    min_samples : int, optional
        How many neighbours the core distance reaches to; min_cluster_size by default.
    cluster_selection_epsilon : float, default=0.0
        Clusters that split at a smaller distance than this are not split.
    max_cluster_size : int, optional
        How many rows a cluster of "eom" has at most.
    metric : str or callable, default="euclidean"
        How far apart rows are: any name that `NearestNeighbors` knows, a function of two rows, or "precomputed"
        when X holds the distances.
    metric_params : dict, optional
        What else the metric takes; "max_distance" is that of rows which a sparse matrix of distances leaves
        infinitely far apart.
    alpha : float, default=1.0
        What distances are divided by, in comparison with core distances.
    algorithm : {"auto", "brute", "kd_tree", "ball_tree"}, default="auto"
        How to find neighbours.
    leaf_size : int, default=40
        Rows in a leaf of a tree; changes nothing but the time.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    cluster_selection_method : {"eom", "leaf"}, default="eom"
        Keep clusters by excess of mass, or the leaves of the tree.
    allow_single_cluster : bool, default=False
        Whether all rows may be one cluster.
    store_centers : {"centroid", "medoid", "both"}, optional
        Which centres to compute.
    copy : bool, default="warn"
        Taken for the sake of callers of scikit-learn's class: X is never changed.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each row; -1 is noise, -2 a row with an infinite number, -3 one with a missing number (NaN).
    probabilities_ : array of shape (n_samples,)
        How strongly each row belongs to its cluster, from 0 to 1; 0 for noise, NaN for missing numbers.
    centroids_, medoids_ : arrays of shape (n_clusters, n_features)
        With `store_centers`: means weighted by the probabilities, and rows of the smallest weighted distances.
    core_distances_ : array of shape (n_finite,)
        The core distances of the rows without missing and infinite numbers, to which the trees belong as well.
    single_linkage_tree_ : array of shape (n_finite - 1, 4)
        The merges: two clusters, their distance and the number of rows, as `scipy.cluster.hierarchy` has them.
    condensed_tree_ : array of shape (n_edges, 4)
        Cluster, what leaves it (a row, or a cluster from n_finite on), the lambda at which, and its number of rows.

    Examples
    --------
    >>> X = [[1.0], [1.1], [1.2], [5.0], [5.1], [5.3], [20.0]]
    >>> model = HDBSCAN(min_cluster_size=3, min_samples=2).fit(X)
    >>> model.labels_
    array([ 0,  0,  0,  1,  1,  1, -1])
    >>> model.predict([[1.05], [5.2], [100.0]])
    array([ 0,  1, -1])
    """

    def __init__(
        self,
        min_cluster_size: Pair = 5,
        min_samples: Count | None = None,
        cluster_selection_epsilon: NonNegative = 0.0,
        max_cluster_size: Count | None = None,
        metric: str | Callable = "euclidean",
        metric_params: dict | None = None,
        alpha: Positive = 1.0,
        algorithm: Literal["auto", "brute", "kd_tree", "ball_tree"] = "auto",
        leaf_size: Count = 40,
        n_jobs: Jobs = None,
        cluster_selection_method: Literal["eom", "leaf"] = "eom",
        allow_single_cluster: bool = False,
        store_centers: Literal["centroid", "medoid", "both"] | None = None,
        copy: bool | Literal["warn"] = "warn",
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.metric_params = metric_params
        self.alpha = alpha
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.n_jobs = n_jobs
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster
        self.store_centers = store_centers
        self.copy = copy

    probabilities_: np.ndarray
    core_distances_: np.ndarray
    single_linkage_tree_: np.ndarray
    condensed_tree_: np.ndarray
    _fit_X: Any
    _kept: np.ndarray
    fitted_shapes = {
        "_fit_X": Floats("rows features"),
        "labels_": Indices("rows", below="rows", low=MISSING),
        "probabilities_": Floats("rows"),
        "core_distances_": Floats("finite", low=0.0),
        "single_linkage_tree_": Floats("merges* 4", low=0.0),
        "condensed_tree_": Floats("edges* 4", low=0.0),
        "_kept": Indices("kept*", below="rows"),
    }

    @property
    def missing_input(self) -> bool:  # type: ignore[override]
        return not self._precomputed

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
            The rows, or their distances. Rows may have missing (NaN) and infinite numbers: they are left out.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        finite, labels = (
            finite_rows(X) if not self._precomputed else (slice(None), np.zeros(X.shape[0], np.intp))
        )
        rows = X[finite] if (labels < 0).any() else X
        k = self._check_rows(rows.shape[0])
        tree = mutual_reachability_tree(self, rows, k)
        merges = single_linkage(*tree.edges)
        condensed = condense(merges, self.min_cluster_size)
        clusters = CondensedTree.of(condensed, rows.shape[0])
        epsilon = float(np.ldexp(self.cluster_selection_epsilon, -tree.exponent))
        kept = clusters.select(
            self.cluster_selection_method,
            single=bool(self.allow_single_cluster),
            epsilon=epsilon,
            largest=self.max_cluster_size,
        )
        labels[finite], found = clusters.label_rows(kept, epsilon)
        self.labels_, self.probabilities_ = labels, np.where(labels == MISSING, np.nan, 0.0)
        self.probabilities_[finite] = found
        merges[:, 2] = times_power(merges[:, 2], tree.exponent)
        condensed[:, 2] = times_power(condensed[:, 2], -tree.exponent)
        self.single_linkage_tree_, self.condensed_tree_ = merges, condensed
        self.core_distances_ = times_power(tree.core, tree.exponent)
        self._fit_X, self._kept = X, np.flatnonzero(kept)
        if self.store_centers:
            self._find_centers(rows, labels[finite], found)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if reset:
            self._check_choices(X)
        given = sparse.issparse(X) and self._precomputed
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": given}
        rows = validate_data(self, X, reset=reset, **options)
        if self._precomputed:
            values = rows.data if sparse.issparse(rows) else rows
            if np.isnan(values).any():
                raise ValueError(
                    f"{type(self).__name__}: np.nan values found in precomputed-dense distances."
                )
            check_symmetric(rows, type(self).__name__, square=reset)
        return rows if y is NO_TARGET else (rows, target_for_callbacks(y, rows.shape[0]))

    def _check_choices(self, X: Any) -> None:
        """Refuse parameters that do not fit each other."""
        check_metric(self)
        trees: dict[str, Any] = {"kd_tree": KDTree, "ball_tree": BallTree}
        if self.algorithm in trees and self.metric not in trees[self.algorithm].valid_metrics:
            raise ValueError(
                f"HDBSCAN: {self.metric} is not a valid metric for a {trees[self.algorithm].__name__}-based "
                "algorithm. Please select a different metric."
            )
        if self._precomputed and self.store_centers is not None:
            raise ValueError("HDBSCAN: Cannot store centers when using a precomputed distance matrix.")
        if sparse.issparse(X) and not self._precomputed and self.algorithm in trees:
            raise ValueError(
                f"HDBSCAN: Sparse data matrices only support algorithm `brute`. Got {self.algorithm!r}."
            )

    def _check_rows(self, n: int) -> int:
        """How many neighbours the core distance reaches to, of n rows."""
        if n < 2:
            raise ValueError(
                f"n_samples={n} while HDBSCAN requires more than one sample (without missing and infinite numbers)."
            )
        k = self.min_cluster_size if self.min_samples is None else self.min_samples
        if k > n:
            raise ValueError(f"HDBSCAN: min_samples ({k}) must be at most the number of samples in X ({n})")
        return k

    def _find_centers(self, X: Any, labels: np.ndarray, strength: np.ndarray) -> None:
        """Weighted means of the clusters, and the rows with the smallest weighted distances from the others."""
        count, exponent = int(labels.max()) + 1, scale_exponent(largest(X))
        means, middle = np.empty((count, X.shape[1])), np.empty((count, X.shape[1]))
        params = self.metric_params or {}
        X = dense_form(X, self.metric, params)
        measure = block_distances(X, self.metric, params)
        for c in range(count):
            rows, weight = X[labels == c], strength[labels == c]
            dense = rows.toarray() if sparse.issparse(rows) else rows
            scaled = times_power(dense, -exponent)
            means[c] = times_power(
                np.average(scaled, weights=weight if weight.any() else None, axis=0), exponent
            )
            if self.store_centers != "centroid":
                sums = [measure(rows[i : i + 256], rows) @ weight for i in range(0, rows.shape[0], 256)]
                middle[c] = dense[np.argmin(np.concatenate(sums))]
        if self.store_centers in ("centroid", "both"):
            self.centroids_ = means
        if self.store_centers in ("medoid", "both"):
            self.medoids_ = middle

    def dbscan_clustering(self, cut_distance: float, min_cluster_size: int = 5) -> np.ndarray:
        """The clusters of DBSCAN's core rows for one eps: a cut through the tree of merges.

        Parameters
        ----------
        cut_distance : float
            The distance at which the tree is cut; rows whose core distance is larger are noise.
        min_cluster_size : int, default=5
            Smaller clusters are noise.

        Returns
        -------
        labels : array of shape (n_samples,)
            As `labels_`.
        """
        check_is_fitted(self)
        labels = self.labels_.copy()
        labels[labels >= -1] = labels_at(self.single_linkage_tree_, cut_distance, min_cluster_size)
        return labels

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each new row: that of its nearest row by mutual reachability, at the density of that
        distance.

        Of the rows that were learned from these are their labels. With "precomputed", X has the distances from
        all of them.
        """
        return self.approximate_predict(X)[0]

    def approximate_predict(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """The cluster of each new row, and how strongly it belongs there; the clusters stay as they are.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features)
            The rows; for "precomputed", distances of shape (n_queries, n_samples).

        Returns
        -------
        labels : array of shape (n_queries,)
            As `labels_`.
        probabilities : array of shape (n_queries,)
            As `probabilities_`.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        there, labels = (slice(None), np.zeros(X.shape[0], np.intp)) if self._precomputed else finite_rows(X)
        strength = np.where(labels == MISSING, np.nan, 0.0)
        if (labels >= 0).any():
            nearest, density = self._nearest(X[there] if (labels < 0).any() else X)
            n = len(self.core_distances_)
            clusters = CondensedTree.of(self.condensed_tree_, n)
            kept = np.zeros(len(clusters.parent), dtype=bool)
            kept[self._kept] = True
            found = clusters.labels_of(kept)[clusters.climb(clusters.row_cluster[nearest], density)]
            if kept[0]:
                found[density < clusters.threshold(self.cluster_selection_epsilon)] = -1
            labels[there], strength[there] = found, clusters.strengths(found, density, kept)
        return labels, strength

    def _nearest(self, Q: Any) -> tuple[np.ndarray, np.ndarray]:
        """The nearest row of each query by mutual reachability, and the density at that distance."""
        core, n = self.core_distances_, len(self.core_distances_)
        k = self.min_cluster_size if self.min_samples is None else self.min_samples
        rows = self._fit_X[self.labels_ >= -1] if (self.labels_ < -1).any() else self._fit_X
        if self._precomputed:
            D = Q.toarray() if sparse.issparse(Q) else Q
            if sparse.issparse(Q):
                D = np.where(D == 0, np.inf, D)
            found = np.argsort(D, axis=1, kind="stable")[:, : 2 * k]
            far = np.take_along_axis(D, found, axis=1)
        else:
            far, found = neighbor_search(self, rows, k).kneighbors(Q, min(2 * k, n))
        with np.errstate(over="ignore"):
            scaled = far / self.alpha  # infinite at the limits of floats: farther than all others
        reach = np.maximum(np.maximum(far[:, [k - 1]], core[found]), scaled)
        at = reach.argmin(axis=1)[:, None]  # of equals the nearest
        distance = np.take_along_axis(reach, at, axis=1)[:, 0]
        with np.errstate(divide="ignore", over="ignore"):
            density = 1 / distance
        return np.take_along_axis(found, at, axis=1)[:, 0], density

    def _check_fitted(self, sizes: Sizes) -> None:
        if "condensed_tree_" not in vars(self):
            return
        tree, n = self.condensed_tree_[:, [0, 1, 3]], sizes["finite"]
        rows = tree[:, 1] < n
        k = len(tree) - n + 1  # clusters: the root, and those that split off
        sound = (
            n <= sizes["rows"]
            and len(tree) >= n
            and (tree == np.floor(tree)).all()
            and (tree < 2 * n + k).all()
            and ((tree[:, 0] >= n) & (tree[:, 0] < n + k) & (rows | (tree[:, 0] < tree[:, 1]))).all()
            and np.array_equal(np.sort(tree[:, 1]), np.delete(np.arange(n + k), n))
            and (self._kept < k).all()
        )
        merges = self.single_linkage_tree_
        ends = merges[:, :2]
        sound = sound and len(merges) == n - 1 and (ends == np.floor(ends)).all()
        if not (sound and (ends < n + np.arange(n - 1)[:, None]).all() and (self.labels_ >= -1).sum() == n):
            raise ValueError(
                f"{type(self).__name__}: condensed_tree_ and single_linkage_tree_ are no trees of {n} rows, each "
                "of which leaves one cluster, and of clusters that split from those before them."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed
        return tags


def finite_rows(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which rows have only finite numbers, and labels: 0 for those, and what is wrong with the others.

    Examples
    --------
    >>> finite_rows(np.array([[1.0, 2.0], [np.nan, np.inf], [3.0, -np.inf]]))
    (array([0]), array([ 0, -3, -2]))
    """
    labels = np.zeros(X.shape[0], dtype=np.intp)
    if sparse.issparse(X):
        who = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        labels[who[np.isinf(X.data)]] = INFINITE
        labels[who[np.isnan(X.data)]] = MISSING
    elif not is_finite(X):
        labels[np.isinf(X).any(axis=1)] = INFINITE
        labels[np.isnan(X).any(axis=1)] = MISSING
    return np.flatnonzero(labels == 0), labels
