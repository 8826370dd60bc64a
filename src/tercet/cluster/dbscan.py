"""DBSCAN (密度聚类): clusters are the maximal sets of density-connected rows."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.cluster._engine.grid import Grid
from tercet.cluster._engine.neighbor_lists import (
    GivenSearch,
    ModelSearch,
    NeighborLists,
    Search,
    TreeSearch,
    clusters_near,
)
from tercet.cluster.distance_input import check_metric, check_precomputed, lp_power
from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Clusterer, check_is_fitted
from tercet.core.fitted_checks import Floats, Indices
from tercet.core.kernel import kernel
from tercet.core.parameters import Count, Jobs, Positive, Range
from tercet.core.sample_weights import check_mass, refuse_dates
from tercet.core.validation import check_array

Power = Annotated[float, Range(0, np.inf, "(]")] | None
FEW_ROWS, FEW_COLUMNS = 1000, 10  # fewer rows, or more columns, are searched faster by a scan than by a tree


@method(
    zh="DBSCAN（密度聚类）",
    task="clustering",
    model="clusters are maximal sets of density-connected rows; the rest is noise",
    strategy="none: a row is core when at least min_samples rows, itself among them, are within eps of it",
    algorithms={
        "auto": "a grid of cells for Euclidean distances in few dimensions, else a tree or a scan",
        "kd_tree": "neighbours by a kd-tree",
        "ball_tree": "neighbours by a ball tree",
        "brute": "neighbours by a linear scan",
    },
    texts=["watermelon notes ch. 7, Fig 9.9"],
    peers=["sklearn.cluster.DBSCAN", "dbscan.DBSCAN", "sklearnex.cluster.DBSCAN"],
)
class DBSCAN(Clusterer):
    """Density-based clustering: dense regions are clusters, and rows in none of them are noise.

    N(x) are the rows no farther than eps from x, x itself among them; x is a core row when |N(x)| >= min_samples.
    Rows of N(x) are directly reachable from a core row x. A cluster is all that is reachable from one of its core
    rows, step by step. A row that is no core row, but reachable from several clusters, belongs to the one that was
    grown first; clusters are numbered by their first core row. Memory is linear in the rows: neighbours are
    never all kept at once.

    Parameters
    ----------
    eps : float, default=0.5
        How far neighbours may be; those at just this distance are neighbours.
    min_samples : int, default=5
        How many neighbours make a core row, the row itself among them.
    metric : str or callable, default="euclidean"
        How far apart rows are: any name that `NearestNeighbors` knows, a function of two rows (symmetric), or
        "precomputed" when X holds the distances; those missing from a sparse matrix are larger than eps.
    metric_params : dict, optional
        What else the metric takes.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to find neighbours; it changes the time, not the clusters.
    leaf_size : int, default=30
        Rows in a leaf of a tree; changes nothing but the time.
    p : float, optional
        The power of "minkowski"; 2 by default.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    core_sample_indices_ : array of shape (n_core_samples,)
        The numbers of the core rows.
    components_ : array of shape (n_core_samples, n_features)
        The core rows. X is not copied if it holds floats: leave it as it is.
    labels_ : array of shape (n_samples,)
        The cluster of each row; -1 is noise.

    Examples
    --------
    >>> X = [[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]]
    >>> model = DBSCAN(eps=3, min_samples=2).fit(X)
    >>> model.labels_
    array([ 0,  0,  0,  1,  1, -1])
    >>> model.predict([[2, 1], [9, 9], [50, 0]])
    array([ 0,  1, -1])
    """

    def __init__(
        self,
        eps: Positive = 0.5,
        *,
        min_samples: Count = 5,
        metric: str | Callable = "euclidean",
        metric_params: dict | None = None,
        algorithm: Literal["auto", "ball_tree", "kd_tree", "brute"] = "auto",
        leaf_size: Count = 30,
        p: Power = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.n_jobs = n_jobs

    core_sample_indices_: np.ndarray
    _fit_X: Any
    fitted_shapes = {
        "_fit_X": Floats("rows features", finite=True),
        "labels_": Indices("rows", below="rows", low=-1),
        "core_sample_indices_": Indices("cores*", below="rows"),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
            The rows, or their distances.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts in `min_samples`. A negative weight keeps its neighbours from being core rows.

        Returns
        -------
        self
        """
        return self._learn(X, y, mass=sample_weight)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None, mass: Any = None) -> None:
        weight = checked_mass(mass, X.shape[0])
        check_metric(self)
        if self.metric == "precomputed" and sparse.issparse(X):  # a graph, which need not be symmetric
            graph = NeighborLists(X, GivenSearch(self.eps))
            core = graph.core_rows(self.min_samples, weight)
            labels = grow_clusters(*graph.search.lists(X), core)
        else:
            if self.algorithm == "auto" and lp_power(self, X) == 2 and Grid.fits(X, self.eps):
                rows: Any = Grid(X, self.eps, self.n_jobs)
            else:
                rows = NeighborLists(X, self._search(X))
            core = rows.core_rows(self.min_samples, weight)
            labels = rows.labels(core)
            del rows  # its memory is as large as what follows
        self._fit_X, self.labels_, self.core_sample_indices_ = X, labels, np.flatnonzero(core)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        checked = super()._check(X, y, reset=reset)
        if self.metric != "precomputed":
            return checked
        rows = checked if y is NO_TARGET else checked[0]
        rows = check_precomputed(rows, type(self).__name__, square=reset)
        return rows if y is NO_TARGET else (rows, checked[1])

    def _search(self, X: Any) -> Search:
        """What finds the neighbours of rows among the rows X."""
        if self.metric == "precomputed":
            return GivenSearch(self.eps)
        p, (n, d) = lp_power(self, X), X.shape
        tree = self.algorithm == "kd_tree" or (
            self.algorithm == "auto" and n >= FEW_ROWS and d <= FEW_COLUMNS
        )
        if p is not None and p >= 1 and tree:
            weights = (self.metric_params or {}).get("w")
            return TreeSearch(np.ascontiguousarray(X), self.eps, self.leaf_size, p, weights, self.n_jobs)
        return ModelSearch(
            X,
            self.eps,
            algorithm=self.algorithm,
            leaf_size=self.leaf_size,
            metric=self.metric,
            metric_params=self.metric_params,
            p=self.p,
            n_jobs=self.n_jobs,
        )

    @property
    def components_(self) -> Any:
        """The core rows."""
        if "core_sample_indices_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no components_ before fit.")
        return self._fit_X[self.core_sample_indices_]

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the clusters of the rows X, and return the cluster of each."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> np.ndarray:
        """The cluster that each row is reachable from: the first with a core row within eps, or -1 for noise.

        Of the rows that were learned from these are their labels. With "precomputed", X has the distances from
        all of them.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        core = np.zeros(len(self.labels_), dtype=bool)
        core[self.core_sample_indices_] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fit has said what there was to say of the algorithm
            search = self._search(self._fit_X)
        return clusters_near(X, search, core, self.labels_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def grow_clusters(indptr: Any, indices: Any, core: Any) -> np.ndarray:
    """Clusters from lists of neighbours, in plain form (Fig 9.9).

    Parameters
    ----------
    indptr, indices : arrays of shape (n + 1,) and (number of neighbours,)
        The neighbours of row i are indices[indptr[i] : indptr[i + 1]].
    core : array of shape (n,)
        Which rows are core rows.

    Returns
    -------
    labels : array of shape (n,)
        The cluster of each row; -1 is noise.

    Examples
    --------
    >>> grow_clusters([0, 2, 5, 7, 8], [0, 1, 0, 1, 2, 1, 2, 3], [False, True, False, False])
    array([ 0,  0,  0, -1])
    """
    indptr, indices = (np.ascontiguousarray(given, dtype=np.int64) for given in (indptr, indices))
    return expand(indptr, indices, np.ascontiguousarray(core, dtype=bool))


@kernel
def expand(indptr, indices, core):
    """Grow a cluster from each core row that has none yet."""
    labels = np.full(core.size, -1, np.intp)
    queue = np.empty(core.size, np.int64)
    k = 0
    for i in range(core.size):
        if not core[i] or labels[i] >= 0:
            continue
        labels[i], queue[0], waiting = k, i, 1  # a new cluster grows from a core row that has none
        while waiting > 0:
            waiting -= 1
            q = queue[waiting]
            if not core[q]:
                continue
            for s in range(indptr[q], indptr[q + 1]):  # all that is reachable from it and has no cluster yet
                j = indices[s]
                if labels[j] < 0:
                    labels[j], queue[waiting] = k, j
                    waiting += 1
        k += 1
    return labels


def dbscan(
    X: Any,
    eps: float = 0.5,
    *,
    min_samples: int = 5,
    metric: Any = "minkowski",
    metric_params: dict | None = None,
    algorithm: Any = "auto",
    leaf_size: int = 30,
    p: Any = 2,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """DBSCAN in one call; see `DBSCAN`.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        The rows, or their distances.
    eps, min_samples, metric, metric_params, algorithm, leaf_size, p, n_jobs : as in `DBSCAN`
    sample_weight : array of shape (n_samples,), optional
        How much each row counts in `min_samples`.

    Returns
    -------
    core_samples : array of shape (n_core_samples,)
        The numbers of the core rows.
    labels : array of shape (n_samples,)
        The cluster of each row; -1 is noise.

    Examples
    --------
    >>> dbscan([[1.0], [2.0], [2.5], [9.0]], eps=1.0, min_samples=3)
    (array([1]), array([ 0,  0,  0, -1]))
    """
    options: dict[str, Any] = {"min_samples": min_samples, "metric": metric, "metric_params": metric_params}
    options.update(algorithm=algorithm, leaf_size=leaf_size, p=p, n_jobs=n_jobs)
    model = DBSCAN(eps, **options).fit(X, sample_weight=sample_weight)
    return model.core_sample_indices_, model.labels_


def checked_mass(given: Any, n: int) -> np.ndarray | None:
    """Weights of n rows, which may be negative, but not all of them: then no row would be a core row."""
    if given is None:
        return None
    refuse_dates(given)
    if isinstance(given, numbers.Real):
        given = np.full(n, given, dtype=np.float64)
    weight = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.shape != (n,):
        raise ValueError(
            f"Sample weights must be 1D array or scalar: sample_weight.shape == {weight.shape}, expected ({n},), "
            "one weight for each row."
        )
    if not (weight > 0).any():
        raise ValueError(
            f"sample_weight is zero or less for every row, at most {weight.max()}: no row could be a core row."
        )
    check_mass(np.abs(weight))
    return np.ascontiguousarray(weight)
