"""The kd-tree (kd 树): a search visits only the parts of space that the ball around the query reaches.

Space is cut in two at a median again and again, until few rows are left in each part. A search descends to the
part where the query is, and then visits other parts only if the ball around the query reaches them.
`BalancedKDTree` is the same in plain form (Alg 3.2, 3.3).
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.metrics.distance import check_p, check_weights
from tercet.neighbors._engine.flat_kd_tree import FlatKDTree
from tercet.neighbors._engine.neighbourhood import check_radius, ragged

POWERS = {
    "minkowski": None,
    "p": None,
    "euclidean": 2,
    "l2": 2,
    "manhattan": 1,
    "cityblock": 1,
    "l1": 1,
    "chebyshev": np.inf,
    "infinity": np.inf,
}


@method(
    zh="kd 树",
    task="search",
    model="a binary tree: each node cuts space at the median of its rows, in the coordinate where they differ most",
    strategy="visit only the branches that the ball around the query meets",
    algorithms="descend to the query's leaf, then back up; branches beyond the farthest neighbour are pruned",
    texts=["000 ch. 3, Alg 3.2, 3.3"],
    peers=["scipy.spatial.cKDTree", "sklearn.neighbors.KDTree", "pykdtree"],
)
class KDTree:
    """Exact nearest neighbours, and neighbours within a radius, under any L_p distance.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows. They are not copied if they are floats, row after row: leave them as they are.
    leaf_size : int, default=16
        Parts of so many rows are not cut any more. It changes the time, not the result.
    metric : str, default="minkowski"
        "minkowski", or "euclidean" ("l2"), "manhattan" ("l1", "cityblock"), "chebyshev" ("infinity"), which set p.
    p : float, default=2
        The power of the distance, from 1 to infinity.
    w : array of shape (d,), optional
        Weights of the coordinates: (Σ_l w_l |x_l - z_l|^p)^(1/p).
    n_jobs : int, optional
        Threads to use. The result does not depend on it.

    Attributes
    ----------
    data : array of shape (n, d)
        The rows.
    n, m : int
        How many they are and of how many coordinates.

    Notes
    -----
    Of rows at the same distance, those that come first in X are nearer. Any number of equal rows is fine: they
    make one leaf, of which a search looks at k.

    Examples
    --------
    >>> tree = KDTree([[2, 3], [5, 4], [9, 6], [4, 7], [8, 1], [7, 2]])
    >>> distances, indices = tree.query([[9, 2]], k=2)
    >>> indices
    array([[4, 5]])
    >>> tree.query_radius([[9, 2]], r=2)[0]
    array([4, 5])
    """

    def __init__(
        self,
        X: Any,
        leaf_size: int = 16,
        metric: str = "minkowski",
        p: float = 2,
        *,
        w: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.data = check_array(X, dtype=[np.float64, np.float32], order="C", input_name="X")
        self.n, self.m = self.data.shape
        self.leaf_size, self.metric, self.w, self.n_jobs = (
            _check_count(leaf_size, "leaf_size"),
            metric,
            w,
            n_jobs,
        )
        if metric not in POWERS:
            raise ValueError(f"metric must be one of {', '.join(map(repr, POWERS))}; got {metric!r}.")
        power = POWERS[metric]
        self.p = check_p(p if power is None else power)
        self._scale = None
        if w is not None:
            weight = check_weights(w, self.m)
            self._scale = (weight > 0).astype(float) if np.isinf(self.p) else weight ** (1 / self.p)
        points = self.data if self._scale is None else self.data * self._scale
        self._tree = FlatKDTree(points, self.leaf_size, self.p, n_jobs)

    def query(
        self,
        X: Any,
        k: int = 1,
        return_distance: bool = True,
        sort_results: bool = True,
        *,
        n_jobs: int | None = None,
    ) -> Any:
        """The k nearest rows of each query, nearest first.

        Parameters
        ----------
        X : array of shape (n_queries, d)
            The queries.
        k : int, default=1
            How many rows; no more than there are.
        return_distance : bool, default=True
            Give the distances, too.
        sort_results : bool, default=True
            Taken for the sake of callers of scikit-learn's class: results are always sorted.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was built with.

        Returns
        -------
        distances : array of shape (n_queries, k)
            Only with `return_distance`.
        indices : array of shape (n_queries, k)
            The numbers of the rows; of rows at one distance, the smaller number first.
        """
        if _check_count(k, "k") > self.n:
            raise ValueError(
                f"k={k} neighbours were asked for, but the tree has n={self.n} rows: k must be <= n."
            )
        far, near = self._tree.query(self._queries(X), k, n_jobs)
        return (far, near) if return_distance else near

    def radius(
        self, X: Any, r: Any, *, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows no farther than r from each query, as (indptr, indices, distances).

        Those of query i are indices[indptr[i] : indptr[i + 1]], in the order of the tree; r is a number, or an
        array with one for each query.

        Examples
        --------
        >>> KDTree([[0.0], [1.0], [5.0]]).radius([[0.5], [9.0]], 0.5)
        (array([0, 2, 2]), array([0, 1]), array([0.5, 0.5]))
        """
        Q = self._queries(X)
        return self._tree.radius(Q, check_radius(r, len(Q)), n_jobs)

    def query_radius(
        self,
        X: Any,
        r: Any,
        return_distance: bool = False,
        count_only: bool = False,
        sort_results: bool = False,
        *,
        n_jobs: int | None = None,
    ) -> Any:
        """The rows no farther than r from each query.

        Parameters
        ----------
        X : array of shape (n_queries, d)
            The queries.
        r : float or array of shape (n_queries,)
            How far.
        return_distance : bool, default=False
            Give the distances, too.
        count_only : bool, default=False
            Give only how many there are.
        sort_results : bool, default=False
            The nearest first; otherwise in the order of their numbers.
        n_jobs : int, optional
            Threads to use; by default as many as the tree was built with.

        Returns
        -------
        counts : array of shape (n_queries,)
            With `count_only`.
        indices : array of n_queries arrays
            The numbers of the rows.
        distances : array of n_queries arrays
            With `return_distance`.
        """
        if count_only:
            Q = self._queries(X)
            return self._tree.counts(Q, check_radius(r, len(Q)), n_jobs)
        indptr, near, far = self.radius(X, r, n_jobs=n_jobs)
        who = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        order = np.lexsort((near, far, who) if sort_results else (near, who))
        indices = ragged(near[order], indptr)
        return (indices, ragged(far[order], indptr)) if return_distance else indices

    def __reduce__(self) -> Any:
        # The rows are enough: the same tree is built again, and no file can send a kernel out of bounds.
        return _rebuilt, (type(self), self.data, self.leaf_size, self.metric, self.p, self.w, self.n_jobs)

    def _queries(self, X: Any) -> np.ndarray:
        Q = check_array(X, dtype=np.float64, order="C", input_name="X", ensure_min_samples=0)
        if Q.shape[1] != self.m:
            raise ValueError(f"X has {Q.shape[1]} columns, and the rows of the tree have {self.m}.")
        return Q if self._scale is None else Q * self._scale


def _rebuilt(kind: type, X: Any, leaf_size: int, metric: str, p: float, w: Any, n_jobs: int | None) -> Any:
    return kind(X, leaf_size, metric, p, w=w, n_jobs=n_jobs)


def _check_count(value: Any, name: str) -> int:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer in [1, inf); got {value!r}.")
    return int(value)
