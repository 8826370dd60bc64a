"""Neighbours by a kd-tree, a ball tree or a linear scan, for every distance.

A weighted L_p distance, the standardised Euclidean and the Mahalanobis distance are plain L_p distances of
transformed rows: `NeighborIndex` transforms them once, and each query as it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import metrics as sklearn_metrics
from sklearn.metrics import DistanceMetric

from tercet.core.validation import narrow_indices
from tercet.metrics.distance import check_p, check_weights, mahalanobis_factor, pairwise_distances
from tercet.neighbors._engine.ball_metrics import CODES
from tercet.neighbors._engine.brute import EuclideanScan, Scan
from tercet.neighbors._engine.brute_kernels import gapped_distances
from tercet.neighbors._engine.flat_ball_tree import FlatBallTree
from tercet.neighbors._engine.flat_kd_tree import FlatKDTree
from tercet.neighbors._engine.kd_kernels import lp_distances
from tercet.neighbors._engine.kd_metrics import metric_of
from tercet.neighbors._engine.neighbourhood import check_radius

Name = Literal[
    "minkowski",
    "euclidean",
    "manhattan",
    "chebyshev",
    "cosine",
    "correlation",
    "mahalanobis",
    "seuclidean",
    "sqeuclidean",
    "precomputed",
    "l1",
    "l2",
    "p",
    "cityblock",
    "infinity",
    "braycurtis",
    "canberra",
    "dice",
    "hamming",
    "haversine",
    "jaccard",
    "nan_euclidean",
    "rogerstanimoto",
    "russellrao",
    "sokalmichener",
    "sokalsneath",
    "yule",
]
Metric: TypeAlias = Name | Callable | DistanceMetric
# Metrics that are L_p distances of the rows or of transformed rows, with p where the name says it.
POWERS: dict[Any, float | None] = {
    "minkowski": None,
    "p": None,
    "euclidean": 2,
    "l2": 2,
    "sqeuclidean": 2,
    "seuclidean": 2,
    "mahalanobis": 2,
    "manhattan": 1,
    "cityblock": 1,
    "l1": 1,
    "chebyshev": np.inf,
    "infinity": np.inf,
}
# The keys of metric_params that each metric takes; others pass them on to a function, which checks them.
METRIC_PARAMS: dict[Any, tuple[str, ...]] = {
    **dict.fromkeys(POWERS, ("w",)),
    **dict.fromkeys(("minkowski", "p"), ("p", "w")),
    **dict.fromkeys(("cosine", "correlation", "braycurtis", "nan_euclidean", "precomputed"), ()),
    "seuclidean": ("V",),
    "mahalanobis": ("V", "VI"),
}
# Objects of scikit-learn's DistanceMetric that are named metrics.
OBJECTS = {f"{name.title()}Distance": name for name in ("euclidean", "manhattan", "chebyshev")}
BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")
SPARSE = ("cosine", "manhattan", "cityblock", "l1")  # beside the Euclidean ones
MAX_FEATURES, MIN_ROWS = 10, 1000  # of a tree: beyond them the scan is faster (measured)


class NeighborIndex:
    """Finds the neighbours of queries among rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows; for "precomputed", distances between all of them.
    metric : str, callable or DistanceMetric
        A name of `Name`, or a function of two rows.
    p, params : float, dict
        The power of "minkowski", and what else the metric takes: `w`, `V`, `VI` ...
    algorithm : {"auto", "kd_tree", "ball_tree", "brute"}
        How to search. A tree that cannot measure is replaced by the scan.
    leaf_size : int
        Rows in a leaf of the tree.
    k : int, optional
        How many neighbours will be asked for, as far as is known.
    n_jobs : int, optional
        Threads to build with; the result does not depend on it.
    tree : FlatKDTree or FlatBallTree, optional
        An existing tree of these rows; it is used if it has the same distance.

    Attributes
    ----------
    method : "kd_tree", "ball_tree" or "brute".

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0], [5.0, 1.0], [4.0, 4.0]])
    >>> NeighborIndex(X[1:], p=1).query(X[:1], 1), NeighborIndex(X[1:], p=4).query(X[:1], 1)[1]
    ((array([[4.]]), array([[0]])), array([[1]]))
    """

    def __init__(
        self,
        X: Any,
        metric: Any = "minkowski",
        *,
        p: float = 2,
        params: dict[str, Any] | None = None,
        algorithm: str = "auto",
        leaf_size: int = 30,
        k: int | None = None,
        n_jobs: int | None = None,
        tree: FlatKDTree | FlatBallTree | None = None,
    ) -> None:
        params = dict(params or {})
        metric = OBJECTS.get(type(metric).__name__.removesuffix("64").removesuffix("32"), metric)
        if isinstance(metric, str):
            check_metric_params(metric, params)
        power: Any = POWERS.get(metric) if isinstance(metric, str) else None
        self.sparse = sparse.issparse(X)
        self.transform: Any = None
        lp = isinstance(metric, str) and metric in POWERS
        self.squared = isinstance(metric, str) and metric == "sqeuclidean"
        if lp:
            power = params.pop("p", p) if power is None else power
            power = float(power) if 0 < power < 1 else float(check_p(power))  # below 1 by the scan only
            self.transform = lp_transform(X, metric, power, params)
            X = self._transformed(X)
        pays = X.shape[1] <= MAX_FEATURES and X.shape[0] >= MIN_ROWS and (k is None or k < X.shape[0] // 2)
        if algorithm == "auto":
            algorithm = "kd_tree" if lp and pays else "brute"
        measure = power if lp else metric
        self.engine: Any
        if tree is not None and self.transform is None and same_distance(tree, measure, params):
            self.engine, self.method = tree, tree.method
            return
        self.method = algorithm if not self.sparse and tree_measures(algorithm, measure, params) else "brute"
        self.engine = self._engine(X, measure, params, leaf_size, n_jobs)

    def _engine(self, X: Any, measure: Any, params: dict[str, Any], leaf_size: int, n_jobs: Any) -> Any:
        """The tree or the scan; `measure` is the power of an L_p distance, or another metric."""
        if self.method == "kd_tree":
            return FlatKDTree(np.ascontiguousarray(X), leaf_size, measure, n_jobs)
        if self.method == "ball_tree":
            return FlatBallTree(X, leaf_size, measure, params if callable(measure) else None, n_jobs)
        if isinstance(measure, str) and measure == "precomputed":
            return Precomputed(X.shape[0])
        lp = isinstance(measure, int | float)
        if lp and measure == 2:
            return EuclideanScan(X)
        return Scan(
            X, block_distances("minkowski" if lp else measure, measure if lp else None, params, self.sparse)
        )

    def query(self, Q: Any, k: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices of the k nearest rows, in order; of equals, the smaller index first."""
        far, found = self.engine.query(self._prepared(Q), k, n_jobs=n_jobs)
        return (far**2 if self.squared else far), found

    def radius(self, Q: Any, r: Any, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that are no farther than r, a number or one for each query, as (indptr, indices, distances)."""
        r = check_radius(r, Q.shape[0])
        r = np.sqrt(r) if self.squared else r
        indptr, found, far = self.engine.radius(self._prepared(Q), r, n_jobs=n_jobs)
        return indptr, found, far**2 if self.squared else far

    def _prepared(self, Q: Any) -> Any:
        if (
            sparse.issparse(Q)
            and not self.sparse
            and not isinstance(self.engine, Precomputed | EuclideanScan)
        ):
            Q = Q.toarray()  # a tree, or a metric chosen for dense rows, cannot read it
        return self._transformed(Q)

    def _transformed(self, X: Any) -> Any:
        if self.transform is None:
            return X
        if self.transform.ndim == 2:
            return X @ self.transform
        return X.multiply(self.transform).tocsr() if sparse.issparse(X) else X * self.transform


def tree_measures(algorithm: str, measure: Any, params: dict[str, Any]) -> bool:
    """Whether a tree can measure an L_p distance of a power, or another metric."""
    if isinstance(measure, int | float):
        return algorithm != "brute" and measure >= 1
    if algorithm != "ball_tree":
        return False
    if isinstance(measure, str):
        return measure == "haversine" or (measure in CODES and not params)
    return not hasattr(measure, "pairwise")


def same_distance(tree: FlatKDTree | FlatBallTree, measure: Any, params: dict[str, Any]) -> bool:
    """Whether a tree has been built for this distance."""
    if isinstance(tree, FlatKDTree):
        return isinstance(measure, int | float) and tree.p == measure
    return bool(tree.given == measure) and (not callable(measure) or tree.params == params)


def lp_transform(X: Any, metric: str, p: float, params: dict[str, Any]) -> np.ndarray | None:
    """The vector or matrix to multiply rows by so that the distance is a plain L_p one; None: nothing."""
    d = X.shape[1]
    if metric == "mahalanobis":
        S, M = params.get("V"), params.get("VI")
        if S is None and M is None:
            X = X.toarray() if sparse.issparse(X) else X
            S = np.atleast_2d(np.cov(X, rowvar=False, dtype=np.float64))
        return mahalanobis_factor(d, S if M is None else None, M)
    if metric == "seuclidean":
        V = params.get("V")
        if V is None:
            X = X.toarray() if sparse.issparse(X) else X
            V = X.var(axis=0, ddof=1, dtype=np.float64) if len(X) > 1 else np.zeros(d)
        V = np.asarray(V, dtype=np.float64)
        if V.shape != (d,) or not (V > 0).all():
            where = (
                f"; column {np.argmin(V)} has {V.min()}" if V.shape == (d,) else f"; got the shape {V.shape}"
            )
            raise ValueError(f"metric='seuclidean' needs a positive variance for each of {d} columns{where}.")
        return 1 / np.sqrt(V)
    w = params.get("w")
    if w is None:
        return None
    w = check_weights(w, d)
    return (w > 0).astype(np.float64) if np.isinf(p) else w ** (1 / p)


def block_distances(
    metric: Any, p: float | None, params: dict[str, Any], is_sparse: bool
) -> Callable[[Any, Any], Any]:
    """The function that gives the distances between two blocks of rows."""
    if is_sparse and isinstance(metric, str):
        name = "manhattan" if p == 1 else f"minkowski, p={p:g}" if p is not None else metric
        if name not in SPARSE:
            names = ", ".join([*SPARSE, *(n for n, power in POWERS.items() if power == 2)])
            raise ValueError(
                f"Metric '{metric}' not valid for sparse input. Those that are: {names}, and functions; got {name}."
            )
        return lambda Q, X: sklearn_metrics.pairwise_distances(*map(narrow_indices, (Q, X)), metric=name)
    if p is not None:
        return lambda Q, X: block_lp_distances(Q, X, p)
    if hasattr(metric, "pairwise"):
        return lambda Q, X: metric.pairwise(Q, X)
    if callable(metric):
        if is_sparse:
            return lambda Q, X: sklearn_metrics.pairwise_distances(Q, X, metric=metric, **params)
        return lambda Q, X: cdist(Q, X, metric, **params)
    if metric in ("cosine", "correlation"):
        return lambda Q, X: pairwise_distances(Q.astype(np.float64), X.astype(np.float64), metric)
    if metric in BOOLEAN:  # what is not zero is true
        name = "rogerstanimoto" if metric == "sokalmichener" else metric  # two names of one formula
        # Two rows without a true value are at distance 0.
        return lambda Q, X: np.nan_to_num(cdist(Q != 0, X != 0, name, **params), nan=0.0)
    if metric == "nan_euclidean":  # rows without a common feature are infinitely far apart
        return block_gapped_distances
    if metric == "haversine":
        return haversine_distances
    if metric == "braycurtis":  # scipy has another formula for negative numbers
        return lambda Q, X: DistanceMetric.get_metric(metric).pairwise(
            *(A.astype(np.float64) for A in (Q, X))
        )
    return lambda Q, X: sklearn_metrics.pairwise_distances(Q, X, metric=metric, **params)


def haversine_distances(Q: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Angles between points on the globe."""
    if X.shape[1] != 2:
        raise ValueError(
            f"Haversine distance only valid in 2 dimensions, latitude and longitude; X has {X.shape[1]} columns."
        )
    return sklearn_metrics.pairwise.haversine_distances(Q, X)


def block_lp_distances(Q: np.ndarray, X: np.ndarray, p: float) -> np.ndarray:
    """L_p distances of two blocks of rows."""
    out = np.empty((len(Q), len(X)))
    Q, X = (np.array(A, dtype=np.float64, order="C") for A in (Q, X))  # the one form it is compiled for
    lp_distances(Q, X, metric_of(p), out)
    return out


def block_gapped_distances(Q: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Distances of two blocks of rows that may lack features."""
    out = np.empty((len(Q), len(X)))
    Q, X = (np.array(A, dtype=np.float64, order="C") for A in (Q, X))  # the one form it is compiled for
    gapped_distances(Q, X, out)
    return out


def check_metric_params(metric: str, params: dict[str, Any]) -> None:
    """An error for keys of metric_params that a metric does not take."""
    taken = METRIC_PARAMS.get(metric)
    unknown = [name for name in params if taken is not None and name not in taken]
    if unknown:
        allowed = f"takes only {', '.join(map(repr, taken))}" if taken else "takes nothing"
        raise ValueError(f"metric_params holds {unknown[0]!r}, but metric={metric!r} {allowed}.")


class Precomputed:
    """Neighbours by distances that are given: a query is the row of its distances from all n rows, or, sparse, from
    the near ones."""

    def __init__(self, n: int) -> None:
        self.full, self.partial = DistanceMatrix(n), DistanceGraph(n)

    def query(self, Q: Any, k: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        return (self.partial if sparse.issparse(Q) else self.full).query(Q, k, n_jobs)

    def radius(self, Q: Any, r: Any, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (self.partial if sparse.issparse(Q) else self.full).radius(Q, r, n_jobs)


class DistanceMatrix(Scan):
    """Neighbours by given distances from all n rows."""

    def __init__(self, n: int) -> None:
        self.X = np.empty((n, 0))

    def _tile(self, Q: Any, part: slice) -> np.ndarray:
        return np.ascontiguousarray(Q[:, part], dtype=np.float64)


class DistanceGraph:
    """Neighbours by a sparse matrix of distances: what is not in it is not near."""

    def __init__(self, n: int) -> None:
        self.n = n

    def query(self, Q: Any, k: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest rows of every query; each must have so many."""
        counts = np.diff(Q.indptr)
        if counts.min() < k:
            raise ValueError(
                f"{k} neighbors per samples are required, but some samples have only {counts.min()} neighbors in "
                f"the precomputed graph."
            )
        indptr, found, far = self.radius(Q, np.inf)
        order = np.lexsort((found, far, np.repeat(np.arange(len(counts)), counts)))
        first = indptr[:-1, None] + np.arange(k)
        return far[order][first], found[order][first]

    def radius(self, Q: Any, r: Any, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows that are no farther than r."""
        who = np.repeat(np.arange(Q.shape[0]), np.diff(Q.indptr))
        near = Q.data <= np.broadcast_to(r, Q.shape[0])[who]
        indptr = np.concatenate([[0], np.cumsum(np.bincount(who[near], minlength=Q.shape[0]))])
        return indptr, Q.indices[near].astype(np.int64), Q.data[near].astype(np.float64)
