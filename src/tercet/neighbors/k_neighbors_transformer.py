"""Rows to the graph of their k nearest neighbours (k 近邻图)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs
from tercet.neighbors._engine.search import Metric
from tercet.neighbors.base import Algorithm, KNeighborsMixin, Power


@method(
    zh="k 近邻图",
    task="search",
    model="a sparse matrix with an entry for each of the k neighbours of a row",
    strategy="none: nothing is fitted, the rows are kept",
    algorithms={
        "kd_tree": "neighbours by a kd-tree",
        "ball_tree": "neighbours by a ball tree",
        "brute": "neighbours by a linear scan",
    },
    peers=["sklearn.neighbors.KNeighborsTransformer"],
)
class KNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KNeighborsMixin):
    """Transform rows into the graph of their k nearest neighbours.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Whether entries are distances or 1. With "distance" there is one neighbour more than `n_neighbors`: a row of
        the training data is its own first.
    n_neighbors : int, default=5
        How many neighbours each row has.
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
    >>> KNeighborsTransformer(n_neighbors=1).fit_transform([[0.0], [3.0], [1.0]]).toarray()
    array([[0., 0., 1.],
           [0., 0., 2.],
           [1., 0., 0.]])
    """

    supervised = False

    batch_rounding = 1e-12  # distances by "mahalanobis" are products by BLAS

    def __init__(
        self,
        *,
        mode: Literal["distance", "connectivity"] = "distance",
        n_neighbors: Count = 5,
        algorithm: Algorithm = "auto",
        leaf_size: Count = 30,
        metric: Metric = "minkowski",
        p: Power = 2,
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.mode = mode
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows to search among; y is ignored."""
        return self._learn(X, y)

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
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), mode=self.mode)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The graph of the rows X among themselves; y is ignored."""
        return self.fit(X).transform(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_samples_fit_
