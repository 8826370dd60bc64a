"""Bagging of regressors (装袋法; watermelon notes ch. 6): members on bootstrap samples, averaged."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import Regressor
from tercet.core.parameters import Count, CountOrZero, Jobs, Seed
from tercet.ensemble.bagging.base import BaseBagging, CountOrShare
from tercet.tree import DecisionTreeRegressor


@method(
    zh="Bagging 回归",
    task="regression",
    model="the mean of the members",
    strategy="that of the members; averaging lowers the variance",
    algorithms="members on rows, columns or with parameters drawn at random (bagging, random subspace)",
    texts=["watermelon notes ch. 6", "Machine Learning in Depth ch. 8"],
    peers=["sklearn.ensemble.BaggingRegressor"],
)
class BaggingRegressor(BaseBagging, Regressor):
    """Bagging: regressors fitted on bootstrap samples, averaged.

    A member gets n rows drawn with replacement; some 0.368 of the rows are not among them, its out-of-bag rows,
    which tell the error without another sample. With `max_features` below 1 and all rows it is the random subspace
    method.

    Parameters
    ----------
    estimator : regressor, optional
        The members; by default `DecisionTreeRegressor()`.
    n_estimators : int, default=10
        The number of members.
    max_samples : int or float, optional
        How many rows a member gets; a float is a fraction of them (of the sum of weights, if given). By default n.
    max_features : int or float, default=1.0
        How many columns a member gets; a float is a fraction of them.
    bootstrap, bootstrap_features : bool, default=True and False
        Whether rows, and columns, are drawn with replacement.
    oob_score : bool, default=False
        Whether to predict each row by the members that have not seen it.
    warm_start : bool, default=False
        Whether `fit` keeps the members of the fit before, and only adds those that are missing.
    n_jobs : int, optional
        Threads. The ensemble does not depend on it.
    random_state : int, optional
        Decides the rows and the columns of the members, and their seeds.
    verbose : int, default=0
        There for scikit-learn's sake; register a `ProgressBar` callback to watch a fit.
    param_distributions : dict, optional
        Parameters of the members that each draws at random (parameter perturbation): lists of values, or
        distributions with `rvs`, by name.
    oob_use : {"prune", "early_stopping"}, optional
        What each member does with its out-of-bag rows, beside `oob_score`. With "prune" decision trees are pruned
        by them, as their `pruning` says ("reduced_error" where that is None). With "early_stopping" members that
        learn in rounds stop by them: boosting gets them as X_val and y_val, other iterative members a callback
        `tercet.EarlyStopping`, which keeps the best round.

    Attributes
    ----------
    estimators_ : list of regressors
        The members.
    estimators_features_, estimators_samples_ : lists of arrays
        The columns and the rows of each member.
    estimator_ : regressor
        What the members are clones of.
    oob_score_, oob_prediction_ : float and array
        With `oob_score`: R² and the means of the members that have not seen a row.

    Examples
    --------
    >>> X, y = [[1, 5], [2, 6], [3, 4], [7, 9], [8, 8], [9, 7]], [1.0, 1.2, 1.1, 3.0, 3.2, 5.0]
    >>> BaggingRegressor(random_state=0).fit(X, y).predict([[0, 3], [9, 9]]).round()
    array([1., 4.])
    """

    multi_output = True

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: Count = 10,
        *,
        max_samples: CountOrShare | None = None,
        max_features: CountOrShare = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: Jobs = None,
        random_state: Seed = None,
        verbose: CountOrZero | bool = 0,
        param_distributions: dict | None = None,
        oob_use: Literal["prune", "early_stopping"] | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.param_distributions = param_distributions
        self.oob_use = oob_use

    def _default_estimator(self) -> Any:
        return DecisionTreeRegressor()

    def _encode(self, y: Any) -> np.ndarray:
        y = super()._encode(y)
        return column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y

    def _member_prediction(self, m: int, X: Any, params: dict[str, Any] | None = None) -> np.ndarray:
        return np.asarray(self.estimators_[m].predict(self._rows_for(X, m), **(params or {})))

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the members' predictions.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        **params
            More for the members, when metadata routing is enabled.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        given = self._routed("predict", params).get("predict", {})
        answers = self._answers(lambda m, rows: self._member_prediction(m, rows, given), X)
        with np.errstate(over="ignore"):
            total = sum(answers)
        if np.isfinite(total).all():
            return total / len(answers)
        return sum(answer / len(answers) for answer in answers)  # the sum is beyond the largest number

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        width = 1 if y.ndim == 1 else y.shape[1]
        sums, votes = self._out_of_bag(
            X, lambda m, rows: self._member_prediction(m, rows).reshape(-1, width), width
        )
        self.oob_prediction_ = np.reshape(sums / np.maximum(votes, 1)[:, None], y.shape)
        self.oob_score_ = float(r2_score(y, self.oob_prediction_))
