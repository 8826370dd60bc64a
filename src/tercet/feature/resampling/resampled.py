"""A classifier that learns from resampled rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Having
from tercet.core.meta import MetaClassifier, Part, clone, fit_part, rows_at
from tercet.core.parameters import Seed
from tercet.core.steps import Fit
from tercet.feature.resampling.random_over_sampler import RandomOverSampler
from tercet.feature.resampling.random_under_sampler import RandomUnderSampler
from tercet.feature.resampling.smote import SMOTE

SAMPLERS = {"over": RandomOverSampler, "smote": SMOTE, "under": RandomUnderSampler}


def _can(name: str) -> Any:
    """For `available_if`: whether the estimator has a method."""

    def check(model: Resampled) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), name)  # its own error says what is missing
        return True

    return check


@method(
    zh="重采样后学习",
    task="classification",
    model="that of the estimator",
    strategy="that of the estimator, on rows with other class sizes",
    algorithms="resample the training rows, then fit",
    texts=["watermelon notes ch. 1"],
    peers=["imblearn.pipeline.Pipeline"],
)
class Resampled(MetaClassifier):
    """Resampled: an estimator that learns from resampled rows, and predicts rows as they are.

    In a pipeline and in cross-validation no row that is scored was ever resampled. Rows that are drawn keep their
    weights; those that SMOTE makes have none, so that it takes no `sample_weight`.

    Parameters
    ----------
    estimator : estimator
        Any classifier.
    sampler : {"over", "under", "smote"} or sampler, default="over"
        What changes the training rows: random oversampling, random undersampling, SMOTE, or an object with
        `fit_resample`.
    random_state : int, optional
        Decides what a sampler draws that is given by its name.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : array of shape (n_classes,)

    Examples
    --------
    >>> from tercet.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = [[0], [1], [2], [3], [4], [3], [5]], [0, 0, 0, 0, 0, 1, 1]
    >>> LinearDiscriminantAnalysis().fit(X, y).predict([[3.5]])
    array([0])
    >>> Resampled(LinearDiscriminantAnalysis(), "over", random_state=0).fit(X, y).predict([[3.5]])
    array([1])
    """

    def __init__(
        self,
        estimator: Any,
        sampler: Literal["over", "under", "smote"] | Any = "over",
        *,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.sampler = sampler
        self.random_state = random_state

    fitted_shapes = {"estimator_": Having({"classes_": "classes"}, ("predict",))}

    def _fit_all(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        sampler = self._sampler()
        rows, labels = sampler.fit_resample(X, self.classes_[y])
        (task,) = Fit.of(self).tasks(1, self.task_name)
        part, params = Part(np.asarray(labels)), self._drawn(sampler, params, len(y))
        self.estimator_ = fit_part(clone(self.estimator), rows, part, params, False, task)

    def _drawn(self, sampler: Any, params: dict[str, Any], n: int) -> dict[str, Any]:
        """Weights, and what else rows have, of the rows that were drawn."""
        if not params:
            return params
        drawn = getattr(sampler, "sample_indices_", None)
        if drawn is None:
            raise ValueError(
                f"{type(self).__name__}: {', '.join(params)} was given, but {type(sampler).__name__} makes rows, "
                "which have none; a sampler that draws rows can be used with it."
            )
        return {
            name: rows_at(value, drawn) if np.shape(value)[:1] == (n,) else value
            for name, value in params.items()
        }

    def _sampler(self) -> Any:
        if isinstance(self.sampler, str) and self.sampler in SAMPLERS:
            return SAMPLERS[self.sampler](random_state=self.random_state)
        if not hasattr(self.sampler, "fit_resample") or isinstance(self.sampler, type):
            raise ValueError(
                f"{type(self).__name__}: parameter 'sampler' must be one of {list(SAMPLERS)} or have fit_resample; "
                f"got {self.sampler!r}."
            )
        return clone(self.sampler)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        return self._ask("predict", X)

    @available_if(_can("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, as the resampled rows have them.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        return self._ask("predict_proba", X)

    @available_if(_can("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        return self._ask("decision_function", X)

    def _ask(self, name: str, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return getattr(self.estimator_, name)(self._check(X, reset=False))
