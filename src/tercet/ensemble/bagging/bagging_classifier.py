"""Bagging of classifiers (装袋法; watermelon notes ch. 6): members on bootstrap samples, which vote."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted, distinct
from tercet.core.fitted_checks import Sizes, Whole
from tercet.core.parameters import Count, CountOrZero, Jobs, Seed
from tercet.ensemble.bagging.base import BaseBagging, CountOrShare
from tercet.ensemble.member_checks import check_member_classes
from tercet.tree import DecisionTreeClassifier


def members_have(attribute: str) -> Any:
    """For `available_if`: whether the members can do something."""

    def check(ensemble: Any) -> bool:
        first = getattr(ensemble, "estimators_", None) or [ensemble._base()]
        getattr(first[0], attribute)  # its own AttributeError says what is missing
        return True

    return check


@method(
    zh="Bagging 分类",
    task="classification",
    model="the class of the largest mean probability, or of most votes, over members",
    strategy="that of the members; averaging lowers the variance",
    algorithms="members on rows, columns or with parameters drawn at random (bagging, random subspace)",
    texts=["watermelon notes ch. 6", "Machine Learning in Depth ch. 8"],
    peers=["sklearn.ensemble.BaggingClassifier"],
)
class BaggingClassifier(BaseBagging, Classifier):
    """Bagging: classifiers fitted on bootstrap samples, which vote.

    A member gets n rows drawn with replacement; some 0.368 of the rows are not among them, its out-of-bag rows,
    which tell the error without another sample. With `max_features` below 1 and all rows it is the random subspace
    method.

    Parameters
    ----------
    estimator : classifier, optional
        The members; by default `DecisionTreeClassifier()`.
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
    estimators_ : list of classifiers
        The members.
    estimators_features_, estimators_samples_ : lists of arrays
        The columns and the rows of each member.
    estimator_ : classifier
        What the members are clones of.
    classes_, n_classes_ : array and int
    oob_score_, oob_decision_function_ : float and array
        With `oob_score`: the accuracy and the probabilities by members that have not seen a row.

    Examples
    --------
    >>> X, y = [[1, 5], [2, 6], [3, 4], [7, 9], [8, 8], [9, 7]], [0, 0, 0, 1, 1, 1]
    >>> BaggingClassifier(random_state=0).fit(X, y).predict([[0, 3], [9, 9]])
    array([0, 1])
    """

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
        return DecisionTreeClassifier()

    def _encode(self, y: Any) -> np.ndarray:
        self.classes_, index = distinct(y)
        self.n_classes_ = len(self.classes_)
        return index

    fitted_shapes = {"n_classes_": Whole("classes", 1)}

    def _check_fitted(self, sizes: Sizes) -> None:
        super()._check_fitted(sizes)
        if "estimators_" in vars(self):
            check_member_classes(type(self).__name__, self.estimators_, self.classes_)

    def _decode(self, y: np.ndarray) -> np.ndarray:
        return self.classes_[y]

    def _member_proba(self, m: int, X: Any, routed: Any = None) -> np.ndarray:
        """The probabilities that a member gives to all classes; 1 for its answer where it gives none."""
        member, X, routed = self.estimators_[m], self._rows_for(X, m), routed or {}
        proba = np.zeros((X.shape[0], self.n_classes_))
        if hasattr(member, "predict_proba"):
            found = member.predict_proba(X, **routed.get("predict_proba", {}))
            proba[:, np.searchsorted(self.classes_, member.classes_)] = found
        else:
            answers = member.predict(X, **routed.get("predict", {}))
            proba[np.arange(len(proba)), np.searchsorted(self.classes_, answers)] = 1.0
        return proba

    def _member_log_proba(self, m: int, X: Any, routed: Any) -> np.ndarray:
        """The logarithms of the probabilities that a member gives to all classes."""
        member, X = self.estimators_[m], self._rows_for(X, m)
        logs = np.full((X.shape[0], self.n_classes_), -np.inf)
        found = member.predict_log_proba(X, **routed.get("predict_log_proba", {}))
        logs[:, np.searchsorted(self.classes_, member.classes_)] = found
        return logs

    def _mean(self, answer: Any, X: Any) -> np.ndarray:
        return sum(self._answers(answer, X)) / len(self.estimators_)

    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the members' probabilities; the shares of their votes where they give none.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        **params
            More for the members, when metadata routing is enabled.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        routed = self._routed("predict_proba", params)
        return self._mean(lambda m, rows: self._member_proba(m, rows, routed), X)

    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The class of the largest mean probability; of equals, the first.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        **params
            More for the members, when metadata routing is enabled.

        Returns
        -------
        array of shape (n_samples,)
        """
        best = self.predict_proba(X, **params).argmax(axis=1)
        return self.classes_[best]

    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """The logarithm of `predict_proba`, from those of the members where they give them.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        **params
            More for the members, when metadata routing is enabled.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        with np.errstate(divide="ignore"):
            if not all(hasattr(member, "predict_log_proba") for member in self.estimators_):
                return np.log(self.predict_proba(X, **params))
            routed = self._routed("predict_log_proba", params)
            logs = self._answers(lambda m, rows: self._member_log_proba(m, rows, routed), X)
        return np.logaddexp.reduce(logs) - np.log(len(logs))

    @available_if(members_have("decision_function"))
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """The mean of the members' scores.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.
        **params
            More for the members, when metadata routing is enabled.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        given = self._routed("decision_function", params).get("decision_function", {})
        return self._mean(
            lambda m, rows: self.estimators_[m].decision_function(self._rows_for(rows, m), **given), X
        )

    def _score_out_of_bag(self, X: Any, y: np.ndarray) -> None:
        sums, votes = self._out_of_bag(X, self._member_proba, self.n_classes_)
        with np.errstate(invalid="ignore"):
            self.oob_decision_function_ = sums / votes[:, None]
        self.oob_score_ = float(np.mean(sums.argmax(axis=1) == y))
