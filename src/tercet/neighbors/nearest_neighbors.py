"""Search for nearest rows (近邻搜索)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs
from tercet.neighbors._engine.search import Metric
from tercet.neighbors.base import (
    Algorithm,
    KNeighborsMixin,
    Power,
    Radius,
    RadiusNeighborsMixin,
)


@method(
    zh="近邻搜索",
    task="search",
    model="N_k(x): the k rows nearest to x under a distance",
    strategy="none: nothing is fitted, the rows are kept",
    algorithms={
        "kd_tree": "a kd-tree over the rows; whole branches are pruned",
        "ball_tree": "a ball tree over the rows; whole balls are pruned",
        "brute": "a linear scan: distances to all rows, by products of blocks",
    },
    texts=["Li ch. 3, 3.3"],
    peers=["sklearn.neighbors.NearestNeighbors", "scipy.spatial.cKDTree", "faiss.IndexFlatL2"],
)
class NearestNeighbors(KNeighborsMixin, RadiusNeighborsMixin):
    """Search for the rows that are nearest to a query, or within a radius of it.

    The answers are exact, with distances in double precision, and equal distances in the order of the rows,
    whatever the algorithm.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours to look for.
    radius : float, default=1.0
        How far neighbours may be; those at just this distance belong to them.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How to search: by a ball tree, by a kd-tree, by a linear scan, or by what should be faster: a kd-tree for
        at most 10 features and at least 1000 rows, else the scan.
    leaf_size : int, default=30
        Rows in a leaf of the tree; changes nothing but the time.
    metric : str or callable, default="minkowski"
        How far apart rows are: an L_p distance ("euclidean", "manhattan", "chebyshev" ...), "mahalanobis",
        "seuclidean", "cosine", "correlation", any other name that scikit-learn has, a function of two rows, or
        "precomputed", when X holds the distances themselves.
    p : float, default=2
        The power of "minkowski"; below 1 it is not a metric, and only the linear scan can use it.
    metric_params : dict, optional
        What else the metric takes: weights `w` of the features, a covariance `V` or its inverse `VI`.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric by its plainest name.
    effective_metric_params_ : dict
        What it takes.
    n_samples_fit_ : int
        How many rows there are to find.

    Examples
    --------
    >>> model = NearestNeighbors(n_neighbors=2).fit([[1, 1], [5, 1], [4, 4]])
    >>> model.kneighbors([[2, 1]])
    (array([[1., 3.]]), array([[0, 1]]))
    """

    supervised = False

    def __init__(
        self,
        *,
        n_neighbors: Count | None = 5,
        radius: Radius = 1.0,
        algorithm: Algorithm = "auto",
        leaf_size: Count = 30,
        metric: Metric = "minkowski",
        p: Power = 2,
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows to search among.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), KDTree or fitted estimator of neighbours
            The rows; for "precomputed", distances of shape (n_samples, n_samples).
        y : ignored

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        self._keep_rows(X, None, None)
