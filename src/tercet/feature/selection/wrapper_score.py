"""The score by which wrappers judge a set of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from tercet.core.folds import Folds
from tercet.core.parallel import one_blas_thread


def wrapper_score(owner: Any, X: np.ndarray, y: Any, columns: Any, folds: Folds) -> float:
    """Mean score of `owner.estimator` on the folds, with some of the columns.

    The folds run in threads: a process that was forked can run them, and whoever wants processes says so to joblib.
    """
    scorer, part, target = check_scoring(owner.estimator, owner.scoring), X[:, columns], np.asarray(y)
    with one_blas_thread():
        scores = Parallel(n_jobs=owner.n_jobs, prefer="threads")(
            delayed(_fold_score)(clone(owner.estimator), part, target, train, test, scorer)
            for train, test in folds
        )
    score = float(np.mean(scores))
    if np.isnan(score):
        raise ValueError(
            f"{type(owner).__name__}: the score must be a number; got nan for {owner.estimator!r} "
            f"with scoring={owner.scoring!r}."
        )
    return score


def _fold_score(
    estimator: Any, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, scorer: Any
) -> float:
    return float(scorer(estimator.fit(X[train], y[train]), X[test], y[test]))
