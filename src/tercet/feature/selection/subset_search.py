"""Search for a good set of columns: forward, backward, in both directions, or with several sets at a time.

A set is judged by what its joint values tell about the classes, or by the cross-validated score of an estimator on
these columns. Greedy search stops when no neighbouring set is better.

Information gain counts equal values, and of real numbers no two are equal: every such column alone would tell the
class of each training row. So numbers are cut into intervals first.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier

from tercet.core.catalog import method
from tercet.core.column_parsing import look_continuous
from tercet.core.estimator import distinct
from tercet.core.fitted_checks import Labels
from tercet.core.folds import Folds, checked_folds
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.feature.discretization.mdl import mdl_cuts
from tercet.feature.selection.base import ColumnSelector, WrapsEstimator
from tercet.feature.selection.subset_information import subset_information_gain
from tercet.feature.selection.wrapper_score import wrapper_score


@method(
    zh="子集搜索（前向、后向、双向、集束）",
    task="feature selection",
    model="a set of columns",
    strategy="greatest information gain of the set, or cross-validated score of an estimator on it",
    algorithms={
        "forward": "add the best column while that is better",
        "backward": "take away the worst column while that is not worse",
        "bidirectional": "each round add a column, which stays, and take away another, which stays away",
        "beam": "forward, with the best few sets of each size kept",
    },
    texts=["watermelon notes ch. 10, 10.1", "Machine Learning in Depth ch. 3"],
    peers=["sklearn.feature_selection.SequentialFeatureSelector", "mlxtend.feature_selection"],
)
class SubsetSearch(WrapsEstimator, ColumnSelector):
    """Subset search: columns chosen as a set, one step at a time.

    Parameters
    ----------
    estimator : estimator, optional
        Judges a set by its cross-validated score on these columns; by default a set is judged by the information
        gain of its joint values, in which numbers are cut into intervals.
    direction : {"forward", "backward", "bidirectional", "beam"}, default="forward"
        How the search goes through the sets.
    n_features_to_select : int, optional
        Number of columns to end with; by default the search ends when no step is better.
    beam_width : int, default=3
        Sets that "beam" keeps of each size.
    tol : float, default=0.0
        A step must be better by more than this; "backward" may be worse by as much.
    discrete_features : "auto", bool, array of indices or mask, default="auto"
        Without an estimator: the columns whose values are categories. The others are cut into intervals by class
        entropy and description length, as by `KBinsDiscretizer(strategy="mdl")`, and at least once each if
        `n_features_to_select` is given. "auto" takes columns of more than 10 distinct values as numbers if some
        are fractions or if they are more than half as many as the rows.
    cv : int or splitter, default=5
        Folds of the estimator's score.
    scoring : str or callable, optional
        The estimator's score; by default its own.
    n_jobs : int, optional
        Threads for the folds of one set; the result does not depend on it.

    Attributes
    ----------
    support_ : array of shape (n_features,)
        Which columns were chosen.
    score_ : float
        Of the set that was chosen.
    path_ : list of pairs (columns, score)
        The sets that the search went through.

    Examples
    --------
    >>> X = [[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 1]]
    >>> SubsetSearch(direction="backward").fit(X, [0, 1, 1, 0]).get_support(indices=True)
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        direction: Literal["forward", "backward", "bidirectional", "beam"] = "forward",
        n_features_to_select: Count | None = None,
        beam_width: Count = 3,
        tol: NonNegative = 0.0,
        discrete_features: Any = "auto",
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimator = estimator
        self.direction = direction
        self.n_features_to_select = n_features_to_select
        self.beam_width = beam_width
        self.tol = tol
        self.discrete_features = discrete_features
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    sparse_input = False
    fitted_shapes = {"support_": Labels("features")}

    def fit(self, X: Any, y: Any) -> Self:
        """Search for the columns of X that tell most about y.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Labels, or numbers when the estimator is a regressor.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        d, most = X.shape[1], self.n_features_to_select
        if most is not None and most > d:
            name = type(self).__name__
            raise ValueError(
                f"{name}: n_features_to_select={most!r}, but there are {d} columns: at most {d}."
            )
        scores: dict[frozenset[int], float] = {frozenset(): -np.inf}
        folds: Folds = []
        if self.estimator is None:
            y = distinct(y)[1]
            X = self._codes(X, y)
        else:  # the same folds for all sets
            folds = checked_folds(self, X, y, classifier=is_classifier(self.estimator))

        def judge(columns: frozenset[int]) -> float:
            if columns not in scores:
                scores[columns] = self._score(X, y, sorted(columns), folds)
            return scores[columns]

        search = {"forward": self._forward, "beam": self._forward, "backward": self._backward}
        path = search.get(self.direction, self._bidirectional)(d, judge)
        self.path_ = [(tuple(sorted(columns)), scores[columns]) for columns in path]
        chosen = path[-1]
        self.support_ = np.isin(np.arange(d), sorted(chosen))
        self.score_ = float(scores[chosen])
        if self.estimator is None and self.score_ == 0.0:
            warnings.warn(
                f"{type(self).__name__}: no column tells anything about y; the choice says nothing. Give an "
                "estimator to judge the columns by.",
                UserWarning,
                stacklevel=5,
            )

    def _codes(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """X with the intervals of its numbers in the place of the numbers."""
        n, d = X.shape
        if isinstance(self.discrete_features, str):
            if self.discrete_features != "auto":
                raise ValueError(
                    f"{type(self).__name__}: discrete_features must be 'auto', a bool, indices or a mask; got "
                    f"{self.discrete_features!r}."
                )
            numeric = np.array([look_continuous(column) for column in X.T])
        elif isinstance(self.discrete_features, bool):
            numeric = np.full(d, not self.discrete_features)
        else:
            numeric = np.ones(d, dtype=bool)
            numeric[np.asarray(self.discrete_features)] = False
        codes, weight, n_classes = X.astype(np.float64), np.ones(n), int(y.max()) + 1
        for j in np.flatnonzero(numeric):
            order = np.argsort(codes[:, j], kind="stable")
            cuts = mdl_cuts(
                codes[order, j], y[order], weight, n_classes, once=self.n_features_to_select is not None
            )
            codes[:, j] = np.searchsorted(cuts, codes[:, j], side="right")
        return codes

    def _score(self, X: np.ndarray, y: Any, columns: list[int], folds: Folds) -> float:
        if self.estimator is None:
            # Two sets that tell the same must compare as equal, whatever the order of their sums.
            return round(subset_information_gain(X, y, columns), 12)
        return wrapper_score(self, X, y, columns, folds)

    def _forward(self, d: int, judge: Any) -> list[frozenset[int]]:
        """Sets of 1, 2, ... columns; "beam" carries on with several of each size."""
        width = self.beam_width if self.direction == "beam" else 1
        beam = [frozenset[int]()]
        path: list[frozenset[int]] = []
        while len(path) < (self.n_features_to_select or d):
            beam = best(judge, {s | {j} for s in beam for j in range(d) if j not in s}, width)
            if path and self.n_features_to_select is None and judge(beam[0]) <= judge(path[-1]) + self.tol:
                break
            path.append(beam[0])
        return path

    def _backward(self, d: int, judge: Any) -> list[frozenset[int]]:
        """All columns, and one less at each step. A set as good with fewer columns is better."""
        path = [frozenset(range(d))]
        judge(path[0])
        while len(path[-1]) > (self.n_features_to_select or 1):
            (smaller,) = best(judge, {path[-1] - {j} for j in path[-1]}, 1)
            if self.n_features_to_select is None and judge(smaller) < judge(path[-1]) - self.tol:
                break
            path.append(smaller)
        return path

    def _bidirectional(self, d: int, judge: Any) -> list[frozenset[int]]:
        """From both ends: `low` grows inside `high`, which shrinks, until neither moves or they meet."""
        low, high = frozenset[int](), frozenset(range(d))
        path: list[frozenset[int]] = []
        most = self.n_features_to_select
        while low != high and (most is None or len(low) < most):
            (larger,) = best(judge, {low | {j} for j in high - low}, 1)
            grows = not low or most is not None or judge(larger) > judge(low) + self.tol
            if grows:
                low = larger
                path.append(low)
            loose = high - low
            shrinks = False
            if loose and (most is None or len(high) > most):
                (smaller,) = best(judge, {high - {j} for j in loose}, 1)
                shrinks = judge(smaller) >= judge(high) - self.tol
                high = smaller if shrinks else high
            if not (grows or shrinks):
                break
        return path


def best(judge: Any, sets: Iterable[frozenset[int]], width: int) -> list[frozenset[int]]:
    """The best sets; of equal ones those with the earlier columns."""
    return sorted(sets, key=lambda s: (-judge(s), sorted(s)))[:width]
