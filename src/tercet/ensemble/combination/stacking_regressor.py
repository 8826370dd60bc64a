"""Stacking of regressors (学习法)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.parameters import CountOrZero, Jobs
from tercet.core.scoring import R2Scoring
from tercet.ensemble.combination.stacking import Stacking, final_has
from tercet.linear_model import RidgeCV


@method(
    zh="Stacking 回归（学习法）",
    task="regression",
    model="H(x) = h'(h_1(x), ..., h_T(x))",
    strategy="that of each member; that of the final estimator on out-of-fold predictions",
    algorithms="cross-validated predictions of the members, then a fit of the final estimator",
    texts=["watermelon notes ch. 6, 6.4.3", "watermelon notes ch. 6, 6.1"],
    peers=["sklearn.ensemble.StackingRegressor"],
)
class StackingRegressor(R2Scoring, Stacking):
    """Stacking: a regressor that learns from the out-of-fold predictions of several others.

    The members in `estimators_` are fitted on all rows. The final estimator learns from out-of-fold predictions:
    those of clones that were fitted without the row.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members and their names; "drop" in place of an estimator leaves it out.
    final_estimator : estimator or None, default=None
        The regressor of the second level; None is `RidgeCV`.
    cv : int, splitter, iterable, "prefit" or None, default=None
        The folds of the out-of-fold predictions, a partition of the rows; None is 5 folds. "prefit": the members
        are fitted already, on other rows than these.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    passthrough : bool, default=False
        Whether the final estimator gets the features, too.
    verbose : int, default=0
        How much joblib says about the progress.

    Attributes
    ----------
    estimators_ : list
        The fitted members that are not dropped.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The fitted regressor of the second level.
    stack_method_ : list of str
        The method of each member whose output the final estimator gets.
    n_features_in_ : int
        Number of features, where the members know it.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.linear_model import LinearRegression
    >>> from tercet.tree import DecisionTreeRegressor
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> y = 2 * x.ravel() + (x.ravel() > 0.5)
    >>> members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=1))]
    >>> model = StackingRegressor(members, cv=5).fit(x, y)
    >>> model.transform(x).shape
    (50, 2)
    """

    def __init__(
        self,
        estimators: list,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: Jobs = None,
        passthrough: bool = False,
        verbose: CountOrZero | bool = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose

    def _default_final(self) -> Any:
        return RidgeCV()

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: Any) -> np.ndarray:
        """Predictions of the final estimator.

        Parameters
        ----------
        X : anything that the members take
            The data.
        **predict_params
            More for the final estimator's `predict`.

        Returns
        -------
        y : array of shape (n_samples,)
        """
        return self._predict(X, predict_params)

    def fit_transform(self, X: Any, y: Any, **fit_params: Any) -> Any:
        """Fit, and give the outputs of the members that were fitted on all rows.

        Parameters
        ----------
        X, y, **fit_params
            As in `fit`.

        Returns
        -------
        Z : array or sparse matrix of shape (n_samples, n_columns)
        """
        return super().fit_transform(X, y, **fit_params)
