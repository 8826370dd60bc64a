"""The number of neighbours by cross-validation (k 值的选择), with one search for all of them.

The k nearest rows are the first k of the nearest rows: what is found for the largest k is all there is to know
about the smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import LeaveOneOut, check_cv

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.parameters import Count, Jobs
from tercet.neighbors.base import Algorithm, KNeighborsMixin, Power, Weighting
from tercet.neighbors.classification import KNeighborsClassifier
from tercet.neighbors.neighbourhood import Neighbourhood
from tercet.neighbors.regression import KNeighborsRegressor, MeanRegressor
from tercet.neighbors.search import Metric
from tercet.neighbors.voting import Ties, VotingClassifier

KS = (1, 2, 3, 4, 5, 7, 9, 11, 15, 21, 31, 41)
Numbers = list | tuple | range | np.ndarray | None


class Prepared(KNeighborsMixin):
    """A model whose neighbours have been found already."""

    near: Neighbourhood

    def _neighbourhood(self, X: Any) -> Neighbourhood:
        return self.near


class PreparedClassifier(Prepared, KNeighborsClassifier): ...


class PreparedRegressor(Prepared, KNeighborsRegressor): ...


class ChoiceOfK(KNeighborsMixin):
    """An estimator of neighbours that chooses how many there are."""

    ks: Numbers
    cv: Any
    scoring: Any
    best_k_: int
    best_score_: float
    ks_: np.ndarray
    scores_: np.ndarray

    def _k(self) -> int:
        check_is_fitted(self, "best_k_")
        return self.best_k_

    def _fit(self, X: Any, y: Any, sample_weight: np.ndarray | None) -> None:
        labels = self._labels(y)
        folds = list(self._folds(X, labels))
        self.ks_ = self._candidates(X.shape[0], folds, sample_weight)
        columns = [self._fold_scores(X, labels, sample_weight, *fold) for fold in folds]
        self.scores_ = np.stack(columns, axis=1)
        means = self.scores_.mean(axis=1)
        if np.isnan(means).all():
            raise ValueError(f"{type(self).__name__}: scoring={self.scoring!r} gives NaN for every k.")
        best = int(np.nanargmax(means))
        self.best_k_, self.best_score_ = int(self.ks_[best]), float(means[best])
        super()._fit(X, y, sample_weight)

    def _labels(self, y: Any) -> Any:
        """The targets as they were given."""
        return y

    def _folds(self, X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
        """Which rows to learn from and which to predict; (None, None) is for all, each without itself."""
        if isinstance(self.cv, LeaveOneOut) or (isinstance(self.cv, str) and self.cv == "loo"):
            yield None, None
            return
        yield from check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y)

    def _candidates(self, n: int, folds: list, weight: np.ndarray | None) -> np.ndarray:
        """The numbers to try; none is larger than what every fold has to learn from."""
        mass = np.ones(n) if weight is None else weight.astype(np.float64)
        rooms = [mass.sum() - mass.max() if learn is None else mass[learn].sum() for learn, _ in folds]
        room = int(min(rooms) * (1 + 1e-12))
        if self.ks is None:
            return np.array([k for k in KS if k <= room] or [1])
        asked = list(self.ks)
        if not asked or not all(isinstance(k, int | np.integer) and k >= 1 for k in asked):
            raise ValueError(f"{type(self).__name__}: ks must be positive integers; got {self.ks!r}.")
        if max(asked) > room:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but ks has n_neighbors = {max(asked)}, and a fold learns "
                f"from n_samples_fit = {room}."
            )
        return np.asarray(asked, dtype=np.int64)

    def _fold_scores(self, X: Any, y: Any, weight: np.ndarray | None, learn: Any, test: Any) -> np.ndarray:
        """The score of every k on one fold, from one search."""
        kind = PreparedClassifier if is_classifier(self) else PreparedRegressor
        names = set(kind._get_param_names()) & set(self.get_params(deep=False))
        model: Any = kind(int(self.ks_.max()), **{name: getattr(self, name) for name in names})
        everyone = np.arange(X.shape[0])
        here, there = (everyone, everyone) if learn is None else (learn, test)
        rows, queries = X[here], X[there]
        if self._precomputed:
            rows, queries = rows[:, here], queries[:, here]
        model.fit(rows, y[here], None if weight is None else weight[here])
        found = KNeighborsMixin._neighbourhood(model, None if learn is None else queries)
        scorer = check_scoring(model, self.scoring)
        more = {} if weight is None else {"sample_weight": weight[there]}
        scores = []
        for k in self.ks_:
            model.near = found.nearest(int(k))
            scores.append(scorer(model, queries, y[there], **more))
        return np.array(scores, dtype=np.float64)


@method(
    zh="k 近邻分类（交叉验证选 k）",
    task="classification",
    model="y = argmax_c Σ I(y_i = c) over the k rows nearest to x",
    strategy="the k with the best score in cross-validation",
    algorithms={
        "kd_tree": "neighbours by a kd-tree, once for all k",
        "brute": "neighbours by a linear scan, once for all k",
    },
    texts=["000 ch. 3, 3.2.3"],
    peers=["sklearn.model_selection.GridSearchCV"],
)
class KNeighborsClassifierCV(ChoiceOfK, VotingClassifier):
    """The class that most of the k nearest rows have, with k chosen by cross-validation.

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
        The power of "minkowski", at least 1.
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
        ks: Numbers = None,
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

    def _labels(self, y: Any) -> Any:
        if not self.outputs_2d_:
            return self.classes_[y]
        return np.stack([classes[y[:, k]] for k, classes in enumerate(self.classes_)], axis=1)


@method(
    zh="k 近邻回归（交叉验证选 k）",
    task="regression",
    model="y = the mean of y_i over the k rows nearest to x",
    strategy="the k with the best score in cross-validation",
    algorithms={
        "kd_tree": "neighbours by a kd-tree, once for all k",
        "brute": "neighbours by a linear scan, once for all k",
    },
    texts=["000 ch. 3, 3.2.3"],
    peers=["sklearn.model_selection.GridSearchCV"],
)
class KNeighborsRegressorCV(ChoiceOfK, MeanRegressor):
    """The mean target of the k nearest rows, with k chosen by cross-validation.

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
        What is best: a scorer's name or function; by default R².
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
    best_k_ : int
        The number of neighbours with the best mean score; of equals, the first in `ks_`.
    best_score_ : float
        That score.
    ks_ : array of shape (n_ks,)
        The numbers that were tried.
    scores_ : array of shape (n_ks, n_folds)
        The score of each on each fold.
    effective_metric_ : str or callable
        The metric by its plainest name.
    effective_metric_params_ : dict
        What it takes.
    n_samples_fit_ : int
        How many rows were learned.

    Examples
    --------
    >>> X = [[0], [1], [2], [3], [4], [5]]
    >>> model = KNeighborsRegressorCV(ks=[1, 2, 4], cv="loo").fit(X, [0, 1, 2, 3, 4, 5])
    >>> model.best_k_, model.best_score_.__round__(4)
    (2, 0.7429)
    """

    def __init__(
        self,
        ks: Numbers = None,
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
