"""Classification by the vote of the k nearest rows (k 近邻法, Alg 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs
from tercet.neighbors._engine.search import Metric
from tercet.neighbors.base import Algorithm, KNeighborsMixin, Power, Weighting
from tercet.neighbors.majority_vote import Ties
from tercet.neighbors.neighbors_classifier import NeighborsClassifier


@method(
    zh="k 近邻分类",
    task="classification",
    model="y = argmax_c Σ I(y_i = c) over the k rows nearest to x",
    strategy="the majority, which has the least 0-1 loss in the neighbourhood",
    algorithms={
        "kd_tree": "neighbours by a kd-tree",
        "ball_tree": "neighbours by a ball tree",
        "brute": "neighbours by a linear scan",
    },
    texts=["Li ch. 3, Alg 3.1", "Li ch. 12, Table 12.1", "watermelon notes ch. 8, 8.1"],
    peers=["sklearn.neighbors.KNeighborsClassifier"],
)
class KNeighborsClassifier(KNeighborsMixin, NeighborsClassifier):
    """Classifier by the majority vote of the k nearest rows.

    A small k follows the rows closely (a small error of approximation, a large one of estimation); with k as large
    as the data the most frequent class always wins. Distances add up over all features: scale them alike, and mind
    that in many dimensions all rows are about equally far.

    Parameters
    ----------
    n_neighbors : int, default=5
        The number k of neighbours that vote.
    weights : {"uniform", "distance"} or callable, default="uniform"
        What a vote counts: one; the inverse of the distance (a row at the very place of the query decides alone);
        or what a function makes of the distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        How neighbours are found; see `NearestNeighbors`. The answers are the same.
    leaf_size : int, default=30
        Rows in a leaf of the tree; changes nothing but the time.
    p : float, default=2
        The power of "minkowski"; below 1 it is not a metric, and only the linear scan can use it.
    metric : str or callable, default="minkowski"
        How far apart rows are; see `NearestNeighbors`.
    metric_params : dict, optional
        What else the metric takes.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    ties : {"smallest", "nearest"}, default="smallest"
        Who wins of classes with equally many votes: the smallest label, or the one with the nearest neighbour.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels; a list of such for several outputs.
    effective_metric_ : str or callable
        The metric by its plainest name.
    effective_metric_params_ : dict
        What it takes.
    n_samples_fit_ : int
        How many rows were learned.
    outputs_2d_ : bool
        Whether y had several columns.

    Notes
    -----
    With `sample_weight`, a neighbourhood takes rows until their weights add up to k: a row of weight 2 takes two of
    the k places, one of weight 0 none, and the last counts for what is left.

    Examples
    --------
    >>> model = KNeighborsClassifier(n_neighbors=3).fit([[0], [1], [2], [3]], ["a", "a", "b", "b"])
    >>> model.predict([[1.1]]), model.predict_proba([[0.9]]).round(3)
    (array(['a'], dtype='<U1'), array([[0.667, 0.333]]))
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
        ties: Ties = "smallest",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.ties = ties

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        self._keep_rows(X, y, sample_weight)
