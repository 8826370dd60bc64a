"""k nearest neighbours with k chosen by cross-validation (k 值的选择): classification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.parameters import Count, Jobs
from tercet.neighbors._engine.k_selection import FoundNeighbours, best_k, cross_validated_k
from tercet.neighbors._engine.search import Metric
from tercet.neighbors.base import Algorithm, KNeighborsMixin, Power, Weighting
from tercet.neighbors.k_neighbors_classifier import KNeighborsClassifier
from tercet.neighbors.majority_vote import Ties
from tercet.neighbors.neighbors_classifier import NeighborsClassifier


@method(
    zh="k 近邻分类（交叉验证选 k）",
    task="classification",
    model="y = argmax_c Σ I(y_i = c) over the k rows nearest to x",
    strategy="the k with the best score in cross-validation",
    algorithms={
        "kd_tree": "neighbours by a kd-tree, once for all k",
        "brute": "neighbours by a linear scan, once for all k",
    },
    texts=["Li ch. 3, 3.2.3"],
    peers=["sklearn.model_selection.GridSearchCV"],
)
class KNeighborsClassifierCV(KNeighborsMixin, NeighborsClassifier):
    """Classifier by the majority vote of the k nearest rows, with k chosen by cross-validation.

    Each fold is searched once, for the largest k; all others are scored from the same neighbours. Leave-one-out
    costs no more than one search of the data.

    Parameters
    ----------
    ks : list of int, optional
        The numbers of neighbours to try; by default 1, 2, 3, 4, 5, 7, 9, 11, 15, 21, 31 and 41, as far as there are
        so many rows.
    cv : int, "loo", splitter or list of splits, default=5
        The folds; "loo" (or `LeaveOneOut()`) leaves out one row at a time and scores all predictions together.
    scoring : str or callable, optional
        What is best: a scorer's name or function; by default the accuracy.
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
    best_k_ : int
        The number of neighbours with the best mean score; of equals, the first in `ks_`.
    best_score_ : float
        That score.
    ks_ : array of shape (n_ks,)
        The numbers that were tried.
    scores_ : array of shape (n_ks, n_folds)
        The score of each on each fold.
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

    Examples
    --------
    >>> X, y = [[0], [1], [2], [10], [11], [12]], [0, 0, 0, 1, 1, 1]
    >>> model = KNeighborsClassifierCV(ks=[1, 3, 5], cv="loo").fit(X, y)
    >>> model.best_k_, model.scores_.ravel()
    (1, array([1., 1., 0.]))
    """

    def __init__(
        self,
        ks: list | tuple | range | np.ndarray | None = None,
        *,
        cv: Any = 5,
        scoring: str | Callable | None = None,
        weights: Weighting = "uniform",
        algorithm: Algorithm = "auto",
        leaf_size: Count = 30,
        p: Power = 2,
        metric: Metric = "minkowski",
        metric_params: dict | None = None,
        n_jobs: Jobs = None,
        ties: Ties = "smallest",
    ) -> None:
        self.ks = ks
        self.cv = cv
        self.scoring = scoring
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.ties = ties

    best_k_: int
    best_score_: float
    ks_: np.ndarray
    scores_: np.ndarray

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        self.ks_, self.scores_ = cross_validated_k(
            self, _ClassifierOfFound, X, self._labels(y), sample_weight
        )
        self.best_k_, self.best_score_ = best_k(self, self.ks_, self.scores_)
        self._keep_rows(X, y, sample_weight)

    def _n_neighbors(self) -> int:
        check_is_fitted(self, "best_k_")
        return self.best_k_

    def _labels(self, y: Any) -> Any:
        """The labels as they were given."""
        if not self.outputs_2d_:
            return self.classes_[y]
        return np.stack([classes[y[:, k]] for k, classes in enumerate(self.classes_)], axis=1)


class _ClassifierOfFound(FoundNeighbours, KNeighborsClassifier): ...
