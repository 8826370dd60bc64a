"""OPTICS (点排序聚类): rows ordered by density; clusters of any density are valleys of the reachability."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_memory

from tercet.cluster.distance_input import (
    BOOLEAN,
    block_distances,
    check_metric,
    check_precomputed,
    dense_form,
    power_of,
    row_distances,
)
from tercet.cluster.steep_areas import absolute_size, xi_clusters, xi_labels
from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Clusterer
from tercet.core.fitted_checks import Floats, Indices
from tercet.core.parameters import Count, Fraction, Jobs, Range
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.stopping import check_stop
from tercet.neighbors import NearestNeighbors

Power = Annotated[float, Range(0, np.inf, "(]")] | None
Size = Annotated[int, Range(2, np.inf, "[)")] | Fraction
DECIMALS = 15  # distances are rounded, so that equals do not differ by the order of a sum
ROUNDED = 1e290  # and larger ones are not


@method(
    zh="OPTICS（点排序聚类）",
    task="clustering",
    model="an ordering of the rows, and the distance at which each is reached from those before it",
    strategy="none: the next row is the one that is reached at the smallest distance",
    algorithms={
        "auto": "core distances by a kd-tree or a scan, whichever should be faster",
        "ball_tree": "core distances by a ball tree",
        "kd_tree": "core distances by a kd-tree",
        "brute": "core distances by a linear scan",
    },
    texts=["watermelon notes ch. 7, Fig 9.9"],
    peers=["sklearn.cluster.OPTICS"],
)
class OPTICS(Clusterer):
    """Ordering of the rows by density, from which clusters of all densities are read off.

    The core distance c(x) is that of the min_samples-th nearest row, x itself among them. From a core row x
    another row z is reached at r = max(c(x), d(x, z)). The ordering goes on with the row that is reached at the
    smallest distance so far: valleys of the reachability are clusters, and inside them may be deeper ones.

    Parameters
    ----------
    min_samples : int or float, default=5
        How many neighbours make a core row, the row itself among them; or a fraction of the rows, at least 2.
    max_eps : float, default=inf
        How far neighbours may be.
    metric : str or callable, default="minkowski"
        How far apart rows are: any name that `NearestNeighbors` knows, a function of two rows (symmetric), or
        "precomputed" when X holds the distances.
    p : float, default=2
        The power of "minkowski".
    metric_params : dict, optional
        What else the metric takes.
    cluster_method : {"xi", "dbscan"}, default="xi"
        How clusters are read off: where the reachability is steep, or below one distance.
    eps : float, optional
        That distance, for "dbscan"; max_eps by default.
    xi : float, default=0.05
        How steep the border of a cluster is: the reachability changes by a factor of 1 - xi.
    predecessor_correction : bool, default=True
        Leave out last rows of a cluster that are reached from rows outside of it.
    min_cluster_size : int or float, optional
        How many rows a cluster of "xi" has at least, or which fraction of the rows; min_samples by default.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to find neighbours.
    leaf_size : int, default=30
        Rows in a leaf of a tree; changes nothing but the time.
    memory : str or joblib.Memory, optional
        Where to keep orderings, so that other clusters can be read off the same one.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each row; -1 is noise.
    reachability_ : array of shape (n_samples,)
        The distance at which each row was reached; infinite where a part of the ordering begins.
    ordering_ : array of shape (n_samples,)
        The rows in their order.
    core_distances_ : array of shape (n_samples,)
        The core distances; infinite where they are larger than max_eps.
    predecessor_ : array of shape (n_samples,)
        The row that each was reached from, or -1.
    cluster_hierarchy_ : array of shape (n_clusters, 2)
        With "xi": the first and the last place in the ordering of all clusters, those inside others before them.

    Examples
    --------
    >>> X = [[1, 2], [2, 5], [3, 6], [8, 7], [8, 8], [7, 3]]
    >>> model = OPTICS(min_samples=2).fit(X)
    >>> model.ordering_, model.labels_
    (array([0, 1, 2, 5, 3, 4]), array([0, 0, 0, 1, 1, 1]))
    """

    def __init__(
        self,
        *,
        min_samples: Size = 5,
        max_eps: Annotated[float, Range(0, np.inf, "[]")] = np.inf,
        metric: str | Callable = "minkowski",
        p: Power = 2,
        metric_params: dict | None = None,
        cluster_method: Literal["xi", "dbscan"] = "xi",
        eps: Annotated[float, Range(0, np.inf, "[]")] | None = None,
        xi: Fraction = 0.05,
        predecessor_correction: bool = True,
        min_cluster_size: Size | None = None,
        algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = "auto",
        leaf_size: Count = 30,
        memory: Any = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.min_samples = min_samples
        self.max_eps = max_eps
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.cluster_method = cluster_method
        self.eps = eps
        self.xi = xi
        self.predecessor_correction = predecessor_correction
        self.min_cluster_size = min_cluster_size
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.memory = memory
        self.n_jobs = n_jobs

    reachability_: np.ndarray
    ordering_: np.ndarray
    core_distances_: np.ndarray
    predecessor_: np.ndarray
    fitted_shapes = {
        "labels_": Indices("rows", below="rows", low=-1),
        "ordering_": Indices("rows", below="rows"),
        "reachability_": Floats("rows", low=0.0),
        "core_distances_": Floats("rows", low=0.0),
        "predecessor_": Indices("rows", below="rows", low=-1),
        "cluster_hierarchy_": Indices("clusters* 2", below="rows"),
    }

    def fit(self, X: Any, y: Any = None) -> Self:
        """Order the rows X, and read off the clusters.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
            The rows, or their distances.
        y : ignored
            Nothing is learned from it; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if self.metric in BOOLEAN and getattr(X, "dtype", None) is not None and X.dtype != bool:
            warnings.warn(
                f"Data will be converted to boolean for metric {self.metric}, to avoid this warning, you may "
                "convert the data prior to calling fit.",
                DataConversionWarning,
                stacklevel=5,
            )
        checked = super()._check(X, y, reset=reset)
        if self.metric != "precomputed":
            return checked
        rows = check_precomputed(checked if y is NO_TARGET else checked[0], type(self).__name__)
        return rows if y is NO_TARGET else (rows, checked[1])

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        check_metric(self)
        n = X.shape[0]
        for name in ("min_samples", "min_cluster_size"):
            absolute_size(getattr(self, name), n, name)
        eps = self.max_eps if self.eps is None else self.eps
        if self.cluster_method == "dbscan" and eps > self.max_eps:
            raise ValueError(
                f"OPTICS: Specify an epsilon smaller than {self.max_eps}. Got {eps}: distances above max_eps are "
                "not known."
            )
        order = check_memory(self.memory).cache(compute_optics_graph, ignore=["n_jobs"])
        self.ordering_, self.core_distances_, self.reachability_, self.predecessor_ = order(
            X,
            min_samples=self.min_samples,
            max_eps=self.max_eps,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            n_jobs=self.n_jobs,
        )
        if self.cluster_method == "dbscan":
            self.labels_ = cluster_optics_dbscan(
                reachability=self.reachability_,
                core_distances=self.core_distances_,
                ordering=self.ordering_,
                eps=eps,
            )
            return
        self.labels_, self.cluster_hierarchy_ = cluster_optics_xi(
            reachability=self.reachability_,
            predecessor=self.predecessor_,
            ordering=self.ordering_,
            min_samples=self.min_samples,
            min_cluster_size=self.min_cluster_size,
            xi=self.xi,
            predecessor_correction=self.predecessor_correction,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def compute_optics_graph(
    X: Any,
    *,
    min_samples: Any,
    max_eps: float,
    metric: Any,
    p: Any,
    metric_params: dict | None,
    algorithm: Any,
    leaf_size: int,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The ordering of OPTICS; see `OPTICS` for the parameters.

    Returns
    -------
    ordering, core_distances, reachability, predecessor : arrays of shape (n_samples,)

    Examples
    --------
    >>> options = {"metric": "minkowski", "p": 2, "metric_params": None, "algorithm": "auto", "leaf_size": 30}
    >>> X = np.array([[0.0], [5.0], [1.0], [6.0]])
    >>> compute_optics_graph(X, min_samples=2, max_eps=np.inf, n_jobs=None, **options)
    (array([0, 2, 1, 3]), array([1., 1., 1., 1.]), array([inf,  4.,  1.,  1.]), array([-1,  2,  0,  1]))
    """
    n, k = X.shape[0], absolute_size(min_samples, X.shape[0], "min_samples")
    params = dict(metric_params or {})
    if isinstance(metric, str) and metric in ("minkowski", "p"):
        params.setdefault("p", 2 if p is None else p)
    exponent, X = 0, dense_form(X, metric, params)
    if power_of(metric, params) is not None and not sparse.issparse(
        X
    ):  # distances must neither overflow nor vanish
        exponent = scale_exponent(largest(X))
        X, max_eps = times_power(X, -exponent), float(times_power(np.float64(max_eps), -exponent))
    search = NearestNeighbors(
        n_neighbors=k,
        algorithm=algorithm,
        leaf_size=leaf_size,
        metric=metric,
        metric_params=metric_params,
        p=p,
        n_jobs=n_jobs,
    ).fit(X)
    distances = row_distances(X, metric, params)
    core = rounded(core_distances(X, search, metric, params))
    core[core > max_eps] = np.inf
    reachability, predecessor = np.full(n, np.inf), np.full(n, -1)
    ordering, rest = np.empty(n, dtype=np.intp), np.arange(n)
    for step in range(n):
        check_stop()
        at = int(
            np.argmin(reachability[rest])
        )  # the nearest so far; of equals, and where none is near, the first
        point = ordering[step] = rest[at]
        rest = np.delete(rest, at)
        if np.isinf(core[point]):
            continue
        far = distances(point)[rest]
        reach = rounded(np.maximum(far, core[point]))
        nearer = (far <= max_eps) & (reach < reachability[rest])
        reachability[rest[nearer]], predecessor[rest[nearer]] = reach[nearer], point
    if np.isinf(reachability).all():
        warnings.warn(
            "All reachability values are inf. Set a larger max_eps or all data will be considered outliers.",
            UserWarning,
            stacklevel=2,
        )
    return ordering, times_power(core, exponent), times_power(reachability, exponent), predecessor


def core_distances(X: Any, search: NearestNeighbors, metric: Any, params: dict[str, Any]) -> np.ndarray:
    """The distances of the rows from their farthest neighbours of a search.

    They are to the bit what the ordering compares them with: rows are often reached at just the core distance.
    """
    far, found = search.kneighbors(X)
    if isinstance(metric, str) and metric == "precomputed":
        return far[:, -1]
    measure = block_distances(X, metric, params)
    return np.array([measure(X[i : i + 1], X[j : j + 1])[0, 0] for i, j in enumerate(found[:, -1].tolist())])


def cluster_optics_dbscan(*, reachability: Any, core_distances: Any, ordering: Any, eps: float) -> np.ndarray:
    """The clusters that DBSCAN would find at a distance: a new one begins where a core row is not reached
    within it.

    Parameters
    ----------
    reachability, core_distances, ordering : arrays of shape (n_samples,)
        As `OPTICS` has them.
    eps : float
        The distance.

    Returns
    -------
    labels : array of shape (n_samples,)
        The cluster of each row; -1 is noise.

    Examples
    --------
    >>> ordering, reachability = np.array([0, 2, 1, 3]), np.array([np.inf, 4.0, 1.0, 1.0])
    >>> cluster_optics_dbscan(reachability=reachability, core_distances=np.ones(4), ordering=ordering, eps=2)
    array([0, 1, 0, 1])
    """
    if not eps >= 0:
        raise ValueError(f"eps must be a number in [0, inf]; got {eps!r}.")
    unreached, core = np.asarray(reachability) > eps, np.asarray(core_distances) <= eps
    labels = np.empty(len(unreached), dtype=np.intp)
    labels[ordering] = np.cumsum((unreached & core)[ordering]) - 1
    labels[unreached & ~core] = -1
    return labels


def cluster_optics_xi(
    *,
    reachability: Any,
    predecessor: Any,
    ordering: Any,
    min_samples: Any,
    min_cluster_size: Any = None,
    xi: float = 0.05,
    predecessor_correction: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Clusters between a steep fall and a steep rise of the reachability.

    Parameters
    ----------
    reachability, predecessor, ordering : arrays of shape (n_samples,)
        As `OPTICS` has them.
    min_samples, min_cluster_size, xi, predecessor_correction : as in `OPTICS`

    Returns
    -------
    labels : array of shape (n_samples,)
        The cluster of each row, of those inside others the innermost; -1 is noise.
    clusters : array of shape (n_clusters, 2)
        The first and the last place in the ordering of all clusters, those inside others before them.

    Examples
    --------
    >>> ordering, reachability = np.array([0, 2, 1, 3]), np.array([np.inf, 4.0, 1.0, 1.0])
    >>> labels, clusters = cluster_optics_xi(
    ...     reachability=reachability, predecessor=np.array([-1, 2, 0, 1]), ordering=ordering, min_samples=2
    ... )
    >>> labels, clusters.tolist()
    (array([0, 1, 0, 1]), [[0, 1], [2, 3], [0, 3]])
    """
    reachability, predecessor, ordering = map(np.asarray, (reachability, predecessor, ordering))
    if not 0 <= xi <= 1:
        raise ValueError(f"xi must be a number in [0, 1]; got {xi!r}.")
    flat = absolute_size(min_samples, len(ordering), "min_samples")
    least = absolute_size(min_cluster_size, len(ordering), "min_cluster_size") or flat
    clusters = xi_clusters(
        reachability[ordering], predecessor[ordering], ordering, xi, flat, least, predecessor_correction
    )
    return xi_labels(ordering, clusters), clusters


def rounded(distances: np.ndarray) -> np.ndarray:
    """Distances to 15 decimals."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(distances < ROUNDED, np.around(distances, DECIMALS), distances)
