"""Stacking of classifiers (学习法)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from tercet.core.catalog import method
from tercet.core.estimator import distinct
from tercet.core.parameters import CountOrZero, Jobs
from tercet.core.scoring import AccuracyScoring
from tercet.ensemble.combination.multi_response_regression import MultiResponseRegression
from tercet.ensemble.combination.stacking import Stacking, final_has
from tercet.linear_model import LogisticRegression


@method(
    zh="Stacking 分类（学习法）",
    task="classification",
    model="H(x) = h'(h_1(x), ..., h_T(x))",
    strategy="that of each member; that of the final estimator on out-of-fold predictions",
    algorithms="cross-validated predictions of the members, then a fit of the final estimator",
    texts=["watermelon notes ch. 6, 6.4.3", "watermelon notes ch. 6, 6.1"],
    peers=["sklearn.ensemble.StackingClassifier"],
)
class StackingClassifier(AccuracyScoring, Stacking):
    """Stacking: a classifier that learns from the out-of-fold predictions of several others.

    The members in `estimators_` are fitted on all rows. The final estimator learns from out-of-fold predictions:
    those of clones that were fitted without the row.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The members and their names; "drop" in place of an estimator leaves it out. Regressors learn the indices
        of the classes.
    final_estimator : estimator, "multi_response" or None, default=None
        The classifier of the second level; None is `LogisticRegression`, "multi_response"
        `MultiResponseRegression`: a linear regression for each class.
    cv : int, splitter, iterable, "prefit" or None, default=None
        The folds of the out-of-fold predictions, a partition of the rows; None is 5 stratified folds. "prefit":
        the members are fitted already, on other rows than these.
    stack_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        The output of the members that the final estimator gets: probabilities, scores or labels; "auto" is the
        first of these that a member has.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    passthrough : bool, default=False
        Whether the final estimator gets the features, too.
    verbose : int, default=0
        How much joblib says about the progress.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list of them for an indicator matrix
    estimators_ : list
        The fitted members that are not dropped. They have learned indices of classes.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The fitted classifier of the second level.
    stack_method_ : list of str
        The method of each member whose output the final estimator gets.
    n_features_in_ : int
        Number of features, where the members know it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tercet.naive_bayes import GaussianNB
    >>> from tercet.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("nb", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2))]
    >>> model = StackingClassifier(members).fit(X, y)
    >>> model.transform(X).shape
    (150, 6)
    """

    def __init__(
        self,
        estimators: list,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto",
        n_jobs: Jobs = None,
        passthrough: bool = False,
        verbose: CountOrZero | bool = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose

    def _default_final(self) -> Any:
        return LogisticRegression()

    def _final(self) -> Any:
        if isinstance(self.final_estimator, str):
            if self.final_estimator != "multi_response":
                raise ValueError(
                    "StackingClassifier: parameter 'final_estimator' must be a classifier, 'multi_response' or "
                    f"None; got {self.final_estimator!r}."
                )
            return MultiResponseRegression()
        return super()._final()

    def _check_member(self, name: str, member: Any) -> None:
        """Regressors are welcome, too: classes may have an order."""
        if not hasattr(member, "fit"):
            raise ValueError(f"The estimator {name!r} should be an estimator with fit; got {member!r}.")

    def _target(self, y: Any) -> np.ndarray:
        check_classification_targets(y)
        if type_of_target(y) == "multilabel-indicator":
            pairs = [distinct(column) for column in np.asarray(y).T]
            self.classes_ = [classes for classes, _ in pairs]
            return np.column_stack([index for _, index in pairs])
        self.classes_, index = distinct(column_or_1d(y, warn=True))
        return index

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: Any) -> np.ndarray:
        """The class that the final estimator predicts.

        Parameters
        ----------
        X : anything that the members take
            The data.
        **predict_params
            More for the final estimator's `predict`.

        Returns
        -------
        labels : array of shape (n_samples,) or (n_samples, n_labels)
        """
        index = self._predict(X, predict_params)
        if isinstance(self.classes_, list):
            return np.column_stack(
                [known[column] for known, column in zip(self.classes_, np.asarray(index).T)]
            )
        return self.classes_[index]

    @available_if(final_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, by the final estimator; of an indicator matrix, of each label.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        proba = self._ask_final("predict_proba", X)
        return np.column_stack([p[:, -1] for p in proba]) if isinstance(proba, list) else proba

    @available_if(final_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes, by the final estimator.

        Parameters
        ----------
        X : anything that the members take
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        return self._ask_final("decision_function", X)
