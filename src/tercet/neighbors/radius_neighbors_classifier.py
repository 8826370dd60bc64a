"""Classification by the vote of the rows within a radius (半径近邻分类)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, Jobs
from tercet.neighbors._engine.neighbourhood import Neighbourhood
from tercet.neighbors._engine.search import Metric
from tercet.neighbors.base import Algorithm, Power, Radius, RadiusNeighborsMixin, Weighting
from tercet.neighbors.majority_vote import Ties
from tercet.neighbors.neighbors_classifier import NeighborsClassifier


@method(
    zh="半径近邻分类",
    task="classification",
    model="y = argmax_c Σ I(y_i = c) over the rows within a radius of x",
    strategy="the majority, which has the least 0-1 loss in the neighbourhood",
    algorithms={
        "kd_tree": "neighbours by a kd-tree",
        "ball_tree": "neighbours by a ball tree",
        "brute": "neighbours by a linear scan",
    },
    texts=["Li ch. 3, 3.1"],
    peers=["sklearn.neighbors.RadiusNeighborsClassifier"],
)
class RadiusNeighborsClassifier(RadiusNeighborsMixin, NeighborsClassifier):
    """Classifier by the majority vote of the rows within a radius.

    Parameters
    ----------
    radius : float, default=1.0
        How far neighbours may be; those at just this distance belong to them.
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
    outlier_label : label, list of labels or "most_frequent", optional
        The class of a query that nobody is near (a list: for each output). It need not be one of the classes: then
        all shares of such a query are 0. Without it, such a query is an error.
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
    outlier_label_ : list of labels or None
        The class of a query that nobody is near, for each output.
    outputs_2d_ : bool
        Whether y had several columns.

    Examples
    --------
    >>> model = RadiusNeighborsClassifier(outlier_label=1).fit([[0], [1], [2], [3]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [9]])
    array([0, 1])
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
        outlier_label: int | str | list | tuple | np.ndarray | None = None,
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
        ties: Ties = "smallest",
    ) -> None:
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.outlier_label = outlier_label
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.ties = ties

    outlier_label_: list | None

    def _n_neighbors(self) -> None:
        return None

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        self._keep_rows(X, y, sample_weight)
        self.outlier_label_ = self._check_outlier_label(sample_weight)

    def _check_outlier_label(self, sample_weight: np.ndarray | None) -> list | None:
        """The parameter `outlier_label` as a list with a label for each output."""
        outputs, given = self._outputs(), self.outlier_label
        if given is None:
            return None
        if isinstance(given, str) and given == "most_frequent":
            counts = [np.bincount(labels, sample_weight, len(classes)) for classes, labels in outputs]
            given = [classes[np.argmax(c)] for (classes, _), c in zip(outputs, counts)]
        elif isinstance(given, list | tuple | np.ndarray):
            if len(given) != len(outputs):
                raise ValueError(
                    f"The length of outlier_label: {given} is inconsistent with the output length: {len(outputs)}"
                )
        else:
            given = [given] * len(outputs)
        for (classes, _), label in zip(outputs, given):
            strings = classes.dtype.kind == "U" and isinstance(label, str)  # of any length
            if np.ndim(label) or (not strings and np.append(classes, label).dtype != classes.dtype):
                raise TypeError(
                    f"The outlier_label {label!r} is inconsistent with the classes {classes} in y: it must be one "
                    f"label of their type."
                )
        return list(given)

    def _check_voters(self, cast: np.ndarray) -> None:
        lost = np.flatnonzero(cast == 0)
        if lost.size and self.outlier_label_ is None:
            raise ValueError(
                f"No neighbors found for test samples {lost} within radius={self.radius}. Make it larger, or "
                f"give such samples a class by outlier_label."
            )

    def _votes(self, near: Neighbourhood) -> list[np.ndarray]:
        found = super()._votes(near)
        if self.outlier_label_ is None:
            return found
        for votes, (classes, _), label in zip(found, self._outputs(), self.outlier_label_):
            lost = ~votes.any(axis=1)
            if lost.any():
                known = np.flatnonzero(classes == label)
                if known.size:
                    votes[lost, known[0]] = 1.0
                else:
                    warnings.warn(
                        f"Outlier label {label} is not in training classes. All class probabilities of outliers "
                        f"will be assigned with 0.",
                        stacklevel=4,
                    )
        return found

    def _or_outlier(self, chosen: np.ndarray, votes: np.ndarray, output: int) -> np.ndarray:
        if self.outlier_label_ is not None:
            label = np.asarray(self.outlier_label_[output])
            lost = ~votes.any(axis=1)
            chosen = chosen.astype(np.result_type(chosen, label)) if lost.any() else chosen
            chosen[lost] = label
        return chosen
