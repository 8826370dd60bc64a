"""The kd-tree (kd 树): a search visits only the parts of space that the ball around the query reaches.

Space is cut in two at a median again and again, until few rows are left in each part. A search descends to the
part where the query is, and then visits other parts only if the ball around the query reaches them.
`BalancedKDTree` is the same in plain form (Alg 3.2, 3.3).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.metrics.distance import check_p, check_weights
from tercet.neighbors._engine.flat_ball_tree import FlatBallTree
from tercet.neighbors._engine.flat_kd_tree import FlatKDTree
from tercet.neighbors.search_tree import SearchTree, check_count

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
    texts=["Li ch. 3, Alg 3.2, 3.3"],
    peers=["scipy.spatial.cKDTree", "sklearn.neighbors.KDTree", "pykdtree"],
)
class KDTree(SearchTree):
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

    valid_metrics: ClassVar[list[str]] = list(POWERS)

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
            check_count(leaf_size, "leaf_size"),
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
        self._ball_tree: FlatBallTree | None = None

    @property
    def plain(self) -> bool:
        """Whether the tree is of the rows as they are, not of transformed ones."""
        return self._scale is None

    def _balls(self) -> FlatBallTree:
        if self._ball_tree is None:
            self._ball_tree = FlatBallTree(
                self._tree.points, self.leaf_size, float(self.p), None, self.n_jobs
            )
        return self._ball_tree

    def __reduce__(self) -> Any:
        # The rows are enough: the same tree is built again, and no file can send a kernel out of bounds.
        return _rebuilt, (type(self), self.data, self.leaf_size, self.metric, self.p, self.w, self.n_jobs)

    def _queries(self, X: Any) -> np.ndarray:
        Q = super()._queries(X)
        return Q if self._scale is None else Q * self._scale


def _rebuilt(kind: type, X: Any, leaf_size: int, metric: str, p: float, w: Any, n_jobs: int | None) -> Any:
    return kind(X, leaf_size, metric, p, w=w, n_jobs=n_jobs)
