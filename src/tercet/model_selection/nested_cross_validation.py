"""Nested cross-validation: the score of a method that chooses its own parameters (嵌套交叉验证).

The best score of a search was chosen for being the best, and is too good. Here the whole search, its own
cross-validation included, is run on each training set of an outer cross-validation, and what it chose is scored on
rows that took no part in the choice. :func:`corrected_selection` estimates the same without further fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from tercet.core.catalog import method
from tercet.core.meta import rows_at
from tercet.core.parallel import one_blas_thread
from tercet.core.validation import indexable
from tercet.model_selection.paired_test import corrected_interval


@dataclass(frozen=True, eq=False)
class NestedScores:
    """Scores of a search by nested cross-validation.

    Attributes
    ----------
    score : mean over the outer folds, of what the search chose without them.
    low, high : interval of the mean, with the variance corrected for overlapping training sets.
    scores : ndarray of shape (n_folds,)
        Score of each outer fold.
    inner_scores : ndarray of shape (n_folds,)
        The search's own best score on each outer training set, which is too good; NaN where it has none.
    optimism : mean of `inner_scores` less `score`; NaN where there are none.
    best_params : list of dict
        What was chosen on each outer training set; empty where the search does not say.
    estimators : list of estimators
        The fitted searches.
    """

    score: float
    low: float
    high: float
    scores: np.ndarray
    inner_scores: np.ndarray
    optimism: float
    best_params: list[dict[str, Any]]
    estimators: list[Any]


@method(
    zh="嵌套交叉验证",
    task="model selection",
    model="a search that chooses by an inner cross-validation, on each training set of an outer one",
    strategy="mean score of what was chosen on rows that took no part in the choice",
    texts=["Li ch. 1, 1.5.2", "Machine Learning in Depth ch. 1"],
    peers=["sklearn.model_selection.cross_validate"],
)
def nested_cross_validation(
    search: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> NestedScores:
    """Score of a search, its choice included, on new rows.

    Parameters
    ----------
    search : estimator
        Chooses by itself in `fit`: GridSearchCV, RandomizedSearchCV, LassoCV, PolynomialRegression("cv") ...;
        clones of it are fitted.
    X, y : rows and their targets.
    cv : int or splitter, default=5
        The outer folds; stratified for a classifier when a number is given.
    scoring : str or callable, optional
        The outer score, greater is better; by default the search's own.
    groups : array of shape (n_samples,), optional
        For an outer splitter that keeps groups together.
    confidence : float, default=0.95
        Of the interval.
    n_jobs : int, optional
        Threads for the outer folds; the result does not depend on it.

    Returns
    -------
    NestedScores

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from tercet.neighbors import KNeighborsClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)  # nothing to learn
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 2, 3, 5, 8, 13]}, cv=5)
    >>> found = nested_cross_validation(search, X, y)
    >>> round(found.score, 2), bool(found.optimism > 0)
    (0.47, True)
    """
    X, y, groups = indexable(X, np.asarray(y), groups)
    splitter = check_cv(cv, y, classifier=is_classifier(search))
    folds = list(splitter.split(X, y, groups))
    if len(folds) < 2:
        raise ValueError(f"cv must have at least 2 folds; got {len(folds)}.")
    scorer = check_scoring(search, scoring)
    with one_blas_thread():
        found = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_outer_fold)(clone(search), X, y, train, test, scorer) for train, test in folds
        )
    fitted, scores = [model for model, _ in found], np.array([score for _, score in found])
    if np.isnan(scores).any():
        raise ValueError(f"The score must be a number; got nan for {search!r} with scoring={scoring!r}.")
    n_train, n_test = (float(np.mean([len(part[k]) for part in folds])) for k in (0, 1))
    low, high = corrected_interval(scores, n_train=n_train, n_test=n_test, confidence=confidence)
    inner = np.array([float(getattr(model, "best_score_", np.nan)) for model in fitted])
    score = float(scores.mean())
    best = [dict(getattr(model, "best_params_", {})) for model in fitted]
    return NestedScores(score, low, high, scores, inner, float(inner.mean() - score), best, fitted)


def _outer_fold(
    search: Any, X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray, scorer: Any
) -> tuple[Any, float]:
    with one_blas_thread():
        search.fit(rows_at(X, train), y[train])
        return search, float(scorer(search, rows_at(X, test), y[test]))
