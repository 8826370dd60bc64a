"""Numbers by the mean of the neighbours (k 近邻回归)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Regressor
from tercet.core.parameters import Count, Jobs
from tercet.neighbors.base import (
    Algorithm,
    KNeighborsMixin,
    Neighbors,
    Power,
    Radius,
    RadiusNeighborsMixin,
    Weighting,
)
from tercet.neighbors.search import Metric


class MeanRegressor(Regressor, Neighbors):
    """A regressor that gives the mean of the rows near a query."""

    weights: Weighting

    def predict(self, X: Any) -> np.ndarray:
        """The mean target of the neighbours of each query.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or None
            The queries; None is for the rows that were learned, without their own targets.

        Returns
        -------
        y : array of shape (n_queries,) or (n_queries, n_outputs)
        """
        near = self._neighbourhood(X)
        weights = near.weights(self.weights)
        total = near.sums(weights)
        self._check_total(total)
        columns = self._y.T if self._y.ndim == 2 else [self._y]
        with np.errstate(invalid="ignore"):
            means = [near.sums(weights * column[near.rows]) / total for column in columns]
        return np.stack(means, axis=1) if self._y.ndim == 2 else means[0]

    def _check_total(self, total: np.ndarray) -> None:
        if (total == 0).any():
            raise ValueError(
                f"{type(self).__name__}: all neighbours of query {np.argmax(total == 0)} have weight zero; "
                f"`weights` must give some of them a say."
            )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions: 1 minus their squared error over that of the mean.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or None
            The queries; None scores the rows that were learned, each by its neighbours alone: leave-one-out.
        y : array of shape (n_queries,) or (n_queries, n_outputs)
            Their targets.
        sample_weight : array of shape (n_queries,), optional
            How much each query counts.

        Returns
        -------
        r2 : float
        """
        return super().score(X, y, sample_weight)


@method(
    zh="k 近邻回归",
    task="regression",
    model="y = the mean of y_i over the k rows nearest to x",
    strategy="least squares in the neighbourhood",
    algorithms={
        "kd_tree": "neighbours by a kd-tree",
        "brute": "neighbours by a linear scan",
    },
    texts=["000 ch. 3, 3.1", "002 ch. 8, 8.1"],
    peers=["sklearn.neighbors.KNeighborsRegressor"],
)
class KNeighborsRegressor(KNeighborsMixin, MeanRegressor):
    """The mean target of the k nearest rows.

    Parameters
    ----------
    n_neighbors : int, default=5
        The number k of neighbours.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What a neighbour counts: one; the inverse of its distance (a row at the very place of the query decides
        alone); or what a function makes of the distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are found; see `NearestNeighbors`. The answers are the same.
    leaf_size : int, default=30
        Rows in a leaf of the tree; changes nothing but the time.
    p : float, default=2
        The power of "minkowski", at least 1.
    metric : str or callable, default="minkowski"
        How far apart rows are; see `NearestNeighbors`.
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

    Notes
    -----
    With `sample_weight`, a neighbourhood takes rows until their weights add up to k: a row of weight 2 takes two of
    the k places, one of weight 0 none, and the last counts for what is left.

    Examples
    --------
    >>> model = KNeighborsRegressor(n_neighbors=2).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    def __init__(
        self,
        n_neighbors: Count = 5,
        *,
        weights: Weighting = "uniform",
        algorithm: Algorithm = "auto",
        leaf_size: Count = 30,
        p: Power = 2,
        metric: Metric = "minkowski",
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs


@method(
    zh="半径近邻回归",
    task="regression",
    model="y = the mean of y_i over the rows within a radius of x",
    strategy="least squares in the neighbourhood",
    algorithms={
        "kd_tree": "neighbours by a kd-tree",
        "brute": "neighbours by a linear scan",
    },
    texts=["000 ch. 3, 3.1"],
    peers=["sklearn.neighbors.RadiusNeighborsRegressor"],
)
class RadiusNeighborsRegressor(RadiusNeighborsMixin, MeanRegressor):
    """The mean target of the rows within a radius; NaN, with a warning, where there are none.

    Parameters
    ----------
    radius : float, default=1.0
        How far neighbours may be; those at just this distance belong to them.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What a neighbour counts: one; the inverse of its distance (a row at the very place of the query decides
        alone); or what a function makes of the distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are found; see `NearestNeighbors`. The answers are the same.
    leaf_size : int, default=30
        Rows in a leaf of the tree; changes nothing but the time.
    p : float, default=2
        The power of "minkowski", at least 1.
    metric : str or callable, default="minkowski"
        How far apart rows are; see `NearestNeighbors`.
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
    >>> model = RadiusNeighborsRegressor().fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    def __init__(
        self,
        radius: Radius = 1.0,
        *,
        weights: Weighting = "uniform",
        algorithm: Algorithm = "auto",
        leaf_size: Count = 30,
        p: Power = 2,
        metric: Metric = "minkowski",
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def _k(self) -> None:
        return None

    def _check_total(self, total: np.ndarray) -> None:
        if (total == 0).any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN.", stacklevel=3
            )
