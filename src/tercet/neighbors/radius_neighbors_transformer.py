"""Rows to the graph of their neighbours within a radius (半径近邻图)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs
from tercet.neighbors._engine.search import Metric
from tercet.neighbors.base import Algorithm, Power, Radius, RadiusNeighborsMixin


@method(
    zh="半径近邻图",
    task="search",
    model="a sparse matrix with an entry for each neighbour of a row within a radius",
    strategy="none: nothing is fitted, the rows are kept",
    algorithms={
        "kd_tree": "neighbours by a kd-tree",
        "ball_tree": "neighbours by a ball tree",
        "brute": "neighbours by a linear scan",
    },
    peers=["sklearn.neighbors.RadiusNeighborsTransformer"],
)
class RadiusNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RadiusNeighborsMixin):
    """Transform rows into the graph of their neighbours within a radius.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Whether entries are distances or 1.
    radius : float, default=1.0
        How far neighbours may be; those at just this distance belong to them.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are found; see `NearestNeighbors`. The answers are the same.
    leaf_size : int, default=30
        Rows in a leaf of the tree; changes nothing but the time.
    metric : str or callable, default="minkowski"
        How far apart rows are; see `NearestNeighbors`.
    p : float, default=2
        The power of "minkowski"; below 1 it is not a metric, and only the linear scan can use it.
    metric_params : dict, optional
        What else the metric takes.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric by its plainest name.
    effective_metric_params_ : dict
        What it takes.
    n_samples_fit_ : int
        How many rows were learned.

    Examples
    --------
    >>> RadiusNeighborsTransformer(radius=2).fit_transform([[0.0], [3.0], [1.0]]).toarray()
    array([[0., 0., 1.],
           [0., 0., 2.],
           [1., 2., 0.]])
    """

    supervised = False

    batch_rounding = 1e-12  # distances by "mahalanobis" are products by BLAS

    def __init__(
        self,
        *,
        mode: Literal["distance", "connectivity"] = "distance",
        radius: Radius = 1.0,
        algorithm: Algorithm = "auto",
        leaf_size: Count = 30,
        metric: Metric = "minkowski",
        p: Power = 2,
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.mode = mode
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows to search among; y is ignored."""
        return self._learn(X, y)

    def _n_neighbors(self) -> None:
        return None

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        self._keep_rows(X, None, None)

    def transform(self, X: Any) -> Any:
        """The graph of the neighbours of the rows X among the training rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_samples_fit)
        """
        return self.radius_neighbors_graph(X, mode=self.mode, sort_results=True)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The graph of the rows X among themselves; y is ignored."""
        return self.fit(X).transform(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_
