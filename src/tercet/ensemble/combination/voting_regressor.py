"""Averages of regressors (平均法)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.parameters import CountOrZero, Jobs
from tercet.core.scoring import R2Scoring
from tercet.core.validation import finite_predictions
from tercet.ensemble.combination.voting import Voting


@method(
    zh="平均法集成回归",
    task="regression",
    model="H(x) = Σ_i w_i h_i(x), w_i >= 0, Σ w_i = 1",
    strategy="that of each member; learned weights: the error of out-of-fold predictions",
    algorithms="each member by its own algorithm, on all rows",
    texts=["watermelon notes ch. 6, eq. 6.17, 6.18", "watermelon notes ch. 6, 6.1"],
    peers=["sklearn.ensemble.VotingRegressor"],
)
class VotingRegressor(R2Scoring, Voting):
    """Average of several regressors, each fitted on all rows: simple, weighted, or with learned weights.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members and their names; "drop" in place of an estimator leaves it out.
    weights : array of shape (n_members,), "inverse_error", "least_squares" or None, default=None
        Weights of the members; None: all equal. They may be learned from out-of-fold predictions: in inverse
        proportion to the mean squared errors, or those with the least squared error of the average, not negative
        and with the sum 1.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    verbose : bool, default=False
        Whether to print how long each member took.
    cv : int, splitter or None, default=None
        The folds for learning weights, a partition of the rows; None is 5 folds.

    Attributes
    ----------
    estimators_ : list
        The fitted members that are not dropped.
    named_estimators_ : Bunch
        The same by name.
    weights_ : array of shape (n_members,)
        Learned weights.
    n_features_in_ : int
        Number of features, where the members know it.

    Examples
    --------
    >>> from tercet.linear_model import LinearRegression
    >>> from tercet.neighbors import KNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0]
    >>> members = [("line", LinearRegression()), ("near", KNeighborsRegressor(1))]
    >>> VotingRegressor(members).fit(X, y).predict([[2.0], [3.0]]).round(6)
    array([4.5, 8.5])
    """

    def __init__(
        self,
        estimators: list,
        *,
        weights: Any = None,
        n_jobs: Jobs = None,
        verbose: bool | CountOrZero = False,
        cv: Any = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.cv = cv

    def predict(self, X: Any) -> np.ndarray:
        """The average of the members' predictions.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        y : array of shape (n_samples,)
        """
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.average(self._predictions(X), axis=1, weights=self._member_weights())
        return finite_predictions(found, type(self).__name__)

    def transform(self, X: Any) -> np.ndarray:
        """The prediction of each member.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        predictions : array of shape (n_samples, n_members)
        """
        check_is_fitted(self)
        return self._predictions(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the features; they have to be those of the fit.

        Returns
        -------
        names : array of str
        """
        names = [name for name, _ in self._active()]
        return self._names_out(names, [1] * len(names), input_features)
