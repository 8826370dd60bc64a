"""Las Vegas Wrapper: random sets of columns, judged by the method that will use them (watermelon notes ch. 10)."""

from __future__ import annotations

import time
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Labels
from tercet.core.folds import checked_folds
from tercet.core.parameters import Count, Jobs, PositiveOrInf, Seed
from tercet.feature.selection.base import ColumnSelector, WrapsEstimator
from tercet.feature.selection.wrapper_score import wrapper_score


@method(
    zh="LVW 拉斯维加斯包裹法",
    task="feature selection",
    model="a set of columns",
    strategy="greatest cross-validated score; of equal scores the smaller set",
    algorithms="random sets, until so many in a row were no better, or time is over",
    texts=["watermelon notes ch. 10, Fig 11.1"],
)
class LasVegasWrapper(WrapsEstimator, ColumnSelector):
    """Las Vegas Wrapper: the best of many random sets of columns, by the score of an estimator.

    Parameters
    ----------
    estimator : estimator
        Its cross-validated score judges a set.
    max_failures : int, default=20
        The search ends after so many sets in a row that were no better (T in the text).
    max_iter : int, default=500
        The search ends after so many sets in any case.
    time_limit : float, default=inf
        The search ends after so many seconds with the best set so far, and a warning. Only the set of all columns
        is judged in any case. What is found then depends on the machine.
    cv : int or splitter, default=5
        Folds of the score.
    scoring : str or callable, optional
        The score; by default the estimator's own.
    random_state : int, optional
        Decides the sets.
    n_jobs : int, optional
        Threads for the folds of one set; the result does not depend on it.

    Attributes
    ----------
    support_ : array of shape (n_features,)
        Which columns were chosen.
    score_ : float
        Of the set that was chosen.
    n_iter_ : int
        Sets that were tried.

    Examples
    --------
    >>> from tercet.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> model = LasVegasWrapper(GaussianNB(), random_state=0).fit(X, X[:, 1] + X[:, 3] > 0)
    >>> model.get_support()[[1, 3]]
    array([ True,  True])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        max_failures: Count = 20,
        max_iter: Count = 500,
        time_limit: PositiveOrInf = np.inf,
        cv: Any = 5,
        scoring: Any = None,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.estimator = estimator
        self.max_failures = max_failures
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cv = cv
        self.scoring = scoring
        self.random_state = random_state
        self.n_jobs = n_jobs

    sparse_input = False
    fitted_shapes = {"support_": Labels("features")}

    def fit(self, X: Any, y: Any) -> Self:
        """Try random sets of the columns of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Labels or numbers, as the estimator takes them.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        d, rng = X.shape[1], generator(self.random_state)
        folds = checked_folds(self, X, y, classifier=is_classifier(self.estimator))  # the same for all sets
        chosen, score, failures, tried = np.ones(d, dtype=bool), -np.inf, 0, 0
        start = time.monotonic()
        while failures < self.max_failures and tried < self.max_iter:
            if tried and time.monotonic() - start >= self.time_limit:
                warnings.warn(
                    f"{type(self).__name__}: time_limit={self.time_limit:g} seconds are over after {tried} sets; "
                    f"the last {failures} were no better, max_failures={self.max_failures}.",
                    ConvergenceWarning,
                    stacklevel=4,
                )
                break
            # The first set is that of all columns: a draw has to be better than that, or as good and smaller.
            mask = np.less(rng.random(d), 0.5) if tried else chosen
            tried += 1
            if not mask.any():
                mask = np.arange(d) == rng.integers(d)
            found = wrapper_score(self, X, y, mask, folds)
            if found > score or (found == score and mask.sum() < chosen.sum()):
                chosen, score, failures = mask, found, 0
            else:
                failures += 1
        self.support_, self.score_, self.n_iter_ = chosen, score, tried
