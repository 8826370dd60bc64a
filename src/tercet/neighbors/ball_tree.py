"""The ball tree (球树): a search visits only the balls that the ball around the query meets.

Rows are split in halves again and again, each part inside a ball around its centre. The triangle inequality bounds
the distance of a query from all rows of a ball, so that no coordinates are needed, only a metric.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.neighbors._engine.ball_metrics import CODES
from tercet.neighbors._engine.search import POWERS, NeighborIndex
from tercet.neighbors.search_tree import SearchTree, check_count


@method(
    zh="球树",
    task="search",
    model="a binary tree of balls: each node's rows are split by which of two far rows is nearer",
    strategy="visit only the balls that the ball around the query meets",
    algorithms="the nearer part first; balls beyond the farthest neighbour are pruned by the triangle inequality",
    peers=["sklearn.neighbors.BallTree"],
)
class BallTree(SearchTree):
    """Exact nearest neighbours, and neighbours within a radius, under any metric.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    leaf_size : int, default=40
        Parts of so many rows are not split any more. It changes the time, not the result.
    metric : str or callable, default="minkowski"
        A name of `valid_metrics`: an L_p distance, "mahalanobis", "seuclidean", "haversine" (latitude and longitude
        in radians), a distance of counts or of truth values; or a function of two rows, which must keep the
        triangle inequality.
    n_jobs : int, optional
        Threads to use. The result does not depend on it.
    **kwargs
        What the metric takes: the power `p` and weights `w` of "minkowski", `V` or `VI` of "mahalanobis", `V` of
        "seuclidean", or what a function takes.

    Attributes
    ----------
    data : array of shape (n, d)
        The rows.
    n, m : int
        How many they are and of how many coordinates.

    Notes
    -----
    Of rows at the same distance, those that come first in X are nearer. "braycurtis" and "dice" are no metrics:
    all rows are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> cities = np.radians([[51.5, -0.1], [48.9, 2.4], [52.5, 13.4]])  # London, Paris, Berlin
    >>> distances, indices = BallTree(cities, metric="haversine").query(np.radians([[50.8, 4.4]]), k=2)
    >>> indices, (6371 * distances).round()
    (array([[1, 0]]), array([[255., 323.]]))
    """

    valid_metrics: ClassVar[list[str]] = [
        *(name for name in POWERS if name != "sqeuclidean"),
        *CODES,
        "haversine",
        "pyfunc",
    ]

    def __init__(
        self,
        X: Any,
        leaf_size: int = 40,
        metric: Any = "minkowski",
        *,
        n_jobs: int | None = None,
        **kwargs: Any,
    ) -> None:
        self.data = check_array(X, dtype=np.float64, order="C", input_name="X")
        self.n, self.m = self.data.shape
        self.leaf_size, self.n_jobs = check_count(leaf_size, "leaf_size"), n_jobs
        self.metric, self.metric_params = metric, kwargs
        options = dict(kwargs)
        if metric == "pyfunc":
            metric = options.pop("func")
        elif hasattr(metric, "pairwise"):  # an object of scikit-learn's DistanceMetric
            metric = Pairwise(metric)
        elif not callable(metric) and metric not in self.valid_metrics:
            raise ValueError(f"metric must be one of {', '.join(self.valid_metrics)}; got {metric!r}.")
        self._index = NeighborIndex(
            self.data,
            metric,
            params=options,
            algorithm="ball_tree",
            leaf_size=self.leaf_size,
            n_jobs=n_jobs,
        )
        self._tree = self._index.engine

    @property
    def plain(self) -> bool:
        """Whether the tree is of the rows as they are, not of transformed ones."""
        return self._index.transform is None

    def _queries(self, X: Any) -> np.ndarray:
        return self._index._prepared(super()._queries(X))

    def __reduce__(self) -> Any:
        # The rows are enough: the same tree is built again, and no file can send a kernel out of bounds.
        return rebuilt_ball_tree, (self.data, self.leaf_size, self.metric, self.n_jobs, self.metric_params)


class Pairwise:
    """The distance of two rows by an object that measures all pairs of two tables."""

    def __init__(self, metric: Any) -> None:
        self.metric = metric

    def __call__(self, x: np.ndarray, z: np.ndarray) -> float:
        return float(self.metric.pairwise(x[None], z[None])[0, 0])


def rebuilt_ball_tree(X: Any, leaf_size: int, metric: Any, n_jobs: int | None, params: dict) -> BallTree:
    """The tree of a pickle."""
    return BallTree(X, leaf_size, metric, n_jobs=n_jobs, **params)
