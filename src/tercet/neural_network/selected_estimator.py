"""Base of meta-estimators that fit several candidates and keep the best one."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length

from tercet.core.column_parsing import from_lists
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Having
from tercet.core.input_errors import Explaining
from tercet.core.meta import MetaClassifier, MetaEstimator, columns_at, rows_at
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import check_parameters
from tercet.core.steps import Task, with_callbacks


def _best_can(name: str) -> Any:
    """For `available_if`: whether the chosen estimator, or the one to be fitted, has a method."""

    def check(model: SelectedEstimator) -> bool:
        getattr(
            getattr(model, "best_estimator_", model.estimator), name
        )  # its own error says what is missing
        return True

    return check


class SelectedEstimator(MetaEstimator):
    """Base of meta-estimators that keep the best of several fits; a subclass implements `_fit_all(X, y, params)`.

    It predicts, transforms and scores as `best_estimator_` does.
    """

    __metadata_request__fit = {"sample_weight": UNUSED}
    task_name = "fit-candidate"

    estimator: Any
    scoring: Any
    random_state: Any
    best_estimator_: Any
    fitted_shapes = {"best_estimator_": Having({}, ("fit",))}

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the candidates and keep the best.

        Parameters
        ----------
        X : anything that the estimator takes
            The training data.
        y : array of shape (n_samples,) or (n_samples, n_outputs), optional
            The labels or targets, where the estimator needs them.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows; passed on to the estimator and to the scorer.
        **fit_params
            More for the estimator's `fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        check_parameters(self)
        name = type(self).__name__
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            got = self.estimator
            raise ValueError(f"{name}: parameter 'estimator' must be an estimator with fit; got {got!r}.")
        if y is None and get_tags(self.estimator).target_tags.required:
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
        X, y = self._check(X, y)
        params = MetaClassifier._route(self, "fit", X, sample_weight, fit_params)
        weight = params.get("sample_weight")
        if weight is not None and not np.any(weight):
            raise ValueError(f"{name}: sample_weight must not be zero for all rows.")
        with self._running(X, y, params):
            self._fit_all(X, y, params)
        return self

    def _fit_all(self, X: Any, y: Any, params: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no _fit_all(X, y, params).")

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        """Check feature names and the number of features; the estimators check the values."""
        if isinstance(X, list | tuple):
            with Explaining(X=X):
                X = from_lists(X)
        X = MetaClassifier._check(self, X, reset=reset)
        if y is NO_TARGET:
            return X
        if y is not None:
            with Explaining(X=X, y=y):
                check_consistent_length(X, y)
            y = y if hasattr(y, "shape") else np.asarray(y)
        return X, y

    def _split(self, X: Any, y: Any, fraction: float) -> tuple[np.ndarray, np.ndarray]:
        """Rows to learn from and rows to score; of a classifier, both have the classes in the same shares."""
        seed = int(generator(self.random_state).integers(2**31 - 1))
        stratify = np.asarray(y) if y is not None and is_classifier(self.estimator) else None
        try:
            here, there = train_test_split(
                np.arange(X.shape[0]), test_size=fraction, random_state=seed, stratify=stratify
            )
        except ValueError as error:
            raise ValueError(
                f"{type(self).__name__}: validation_fraction={fraction!r} cannot split the rows: {error}"
            ) from None
        return here, there

    def _take(
        self,
        X: Any,
        y: Any,
        params: dict[str, Any],
        rows: np.ndarray | None,
        columns: np.ndarray | None = None,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """X, y and the metadata on some rows (None: on all); of a matrix of pairs on these columns, too."""
        if rows is None:
            return X, y, params
        n = X.shape[0]
        params = {
            name: rows_at(value, rows) if np.shape(value)[:1] == (n,) else value
            for name, value in params.items()
        }
        part = rows_at(X, rows)
        if get_tags(self.estimator).input_tags.pairwise:
            part = columns_at(part, rows if columns is None else columns)
        return part, None if y is None else rows_at(y, rows), params

    def _score(self, model: Any, X: Any, y: Any, params: dict[str, Any], scoring: Any = None) -> float:
        """The score of a fitted estimator, weighted where there are weights."""
        weight = {name: value for name, value in params.items() if name == "sample_weight"}
        try:
            scorer = check_scoring(model, self.scoring if scoring is None else scoring)
        except TypeError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        return float(scorer(model, X, y, **weight))

    @available_if(_best_can("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the chosen estimator.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._ask("predict", X)

    @available_if(_best_can("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of the chosen estimator.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        return self._ask("predict_proba", X)

    @available_if(_best_can("predict_log_proba"))
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities of the chosen estimator.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        return self._ask("predict_log_proba", X)

    @available_if(_best_can("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values of the chosen estimator.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._ask("decision_function", X)

    @available_if(_best_can("transform"))
    def transform(self, X: Any) -> Any:
        """Rows as the chosen estimator transforms them.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
        """
        return self._ask("transform", X)

    @available_if(_best_can("score_samples"))
    def score_samples(self, X: Any) -> np.ndarray:
        """The score of each row under the chosen estimator.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        scores : array of shape (n_samples,)
        """
        return self._ask("score_samples", X)

    @available_if(_best_can("score"))
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The chosen estimator's own score of some rows.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.
        y : array of shape (n_samples,) or (n_samples, n_outputs), optional
            The labels or targets, where the estimator needs them.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.best_estimator_.score(self._check(X, reset=False), y, **weight))

    def _ask(self, name: str, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(self._check(X, reset=False))

    @property
    def classes_(self) -> np.ndarray:
        """The classes, of a classifier."""
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted yet; call 'fit' first.")
        return self.best_estimator_.classes_

    @property
    def batch_rounding(self) -> float:  # type: ignore[override]
        """Relative difference that a prediction may have with the batch it is made in."""
        return float(getattr(self.estimator, "batch_rounding", 1e-9))

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags", "input_tags"):
            setattr(tags, name, copy.deepcopy(getattr(inner, name)))
        return tags


def fit_candidate(estimator: Any, X: Any, y: Any, params: dict[str, Any], task: Task) -> Any:
    """Fit one candidate."""
    with one_blas_thread(), task.around(estimator):
        return estimator.fit(X, y, **params)
