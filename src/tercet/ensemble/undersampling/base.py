"""Base class of ensembles whose members are fitted on undersampled rows, and answer with their mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.estimator import Classifier, check_is_fitted
from tercet.core.fitted_checks import Each, Having, Sizes
from tercet.core.meta import rows_at
from tercet.core.parallel import each
from tercet.ensemble.bagging.bagging_classifier import members_have
from tercet.ensemble.base import BaseEnsemble, takes_weights
from tercet.ensemble.boosting.ada_boost_classifier import AdaBoostClassifier
from tercet.ensemble.member_checks import check_member_classes, check_member_widths


class UndersamplingEnsemble(BaseEnsemble, Classifier):
    """Base class of ensembles of classifiers on undersampled rows."""

    n_jobs: Any
    estimators_samples_: list[np.ndarray]

    def _default_estimator(self) -> Any:
        return AdaBoostClassifier()

    def _usable_rows(self, y: np.ndarray, sample_weight: np.ndarray | None) -> np.ndarray:
        """The rows that may be drawn: those with a weight."""
        self.estimator_ = self._base()
        if sample_weight is None:
            return np.arange(len(y))
        if not takes_weights(self.estimator_):
            raise ValueError(
                f"{type(self).__name__}: the members ({type(self.estimator_).__name__}) take no sample_weight."
            )
        usable = np.flatnonzero(sample_weight > 0)
        counts = np.bincount(y[usable], minlength=len(self.classes_))
        if not counts.all():
            raise ValueError(
                f"{type(self).__name__}: sample_weight is 0 for all rows of class "
                f"{self.classes_[counts.argmin()]}: nothing can be balanced with it. Leave its rows out."
            )
        return usable

    def _fitted_member(
        self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, rows: np.ndarray, seed: int
    ) -> Any:
        """A member on some rows, which keep their weights."""
        member = self._member(np.random.default_rng([seed, 1]))
        extra = {} if sample_weight is None else {"sample_weight": sample_weight[rows]}
        return member.fit(rows_at(X, rows), self.classes_[y[rows]], **extra)

    fitted_shapes = {"estimators_": Each(Having({"classes_": "classes"}, ("predict",)), "members")}

    def _check_fitted(self, sizes: Sizes) -> None:
        if "estimators_" in vars(self):
            check_member_widths(type(self).__name__, self.estimators_, sizes.get("features"))
            check_member_classes(type(self).__name__, self.estimators_, self.classes_)

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean of the members' importances."""
        return self._mean_importances(np.ones(len(self.estimators_)))

    def _mean_answer(self, answer: Any, X: Any) -> np.ndarray:
        """The mean of `answer(m, X)` over the members m."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        answers = each(lambda m: answer(m, X), range(len(self.estimators_)), n_jobs=self.n_jobs)
        return np.asarray(sum(answers) / len(answers))

    def _member_proba(self, m: int, X: Any) -> np.ndarray:
        """The probabilities that a member gives; 1 for its answer where it gives none."""
        member = self.estimators_[m]
        if hasattr(member, "predict_proba"):
            return np.asarray(member.predict_proba(X))
        return (np.asarray(member.predict(X))[:, None] == self.classes_).astype(np.float64)

    def _member_decision(self, m: int, X: Any) -> np.ndarray:
        return np.asarray(self.estimators_[m].decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the members' probabilities; the shares of their votes where they give none.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._mean_answer(self._member_proba, X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest mean probability; of equals, the first.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        best = self._mean_answer(self._member_proba, X).argmax(axis=1)
        return self.classes_[best]

    @available_if(members_have("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """The mean of the members' scores.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._mean_answer(self._member_decision, X)
