"""What classifiers that label rows by other classifiers share: fits on some rows, confidences, routed metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from tercet.core.estimator import check_is_fitted
from tercet.core.functions import log_sum_exp
from tercet.core.meta import Part, clone
from tercet.core.parallel import one_blas_thread
from tercet.semi_supervised.partial_labels import SemiSupervisedMetaClassifier


class PseudoLabeling(SemiSupervisedMetaClassifier):
    """Meta-classifier that fits clones of its estimator on rows with labels, given or found."""

    estimator: Any

    def _fit_on(self, estimator: Any, X: Any, codes: np.ndarray, params: dict[str, Any]) -> Any:
        """A clone of an estimator, fitted on the rows that have a label."""
        rows = np.flatnonzero(codes >= 0)
        labels = self.classes_[codes[rows]]
        part, params = Part(labels, rows if rows.size < codes.size else None).cut(X, params, False)
        with one_blas_thread():
            return clone(estimator).fit(part, labels, **params)

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Metadata for a method of the estimator other than `fit`."""
        if not params:
            return {}
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params).estimator[method]
        raise ValueError(
            f"{type(self).__name__}.{method}: {sorted(params)} can be passed to the estimator only with metadata "
            "routing enabled."
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for name in ("predict", "predict_proba", "decision_function", "predict_log_proba", "score"):
            mapping.add(caller=name, callee=name)
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False
        return tags


def class_probabilities(owner: Any, estimator: Any, X: Any) -> np.ndarray:
    """`predict_proba` of a fitted estimator, or an error that says why it is needed."""
    try:
        predict_proba = estimator.predict_proba
    except AttributeError as error:
        raise AttributeError(
            f"{type(owner).__name__}: the estimator {type(estimator).__name__} gives no confidences; it must have "
            f"predict_proba. ({error})"
        ) from None
    return np.asarray(predict_proba(X), dtype=np.float64)


def confidences(owner: Any, estimator: Any, X: Any) -> np.ndarray:
    """Log-probabilities of the classes, or of scores turned into such: (n_samples, n_classes)."""
    if hasattr(estimator, "predict_proba"):
        with np.errstate(divide="ignore"):
            return np.log(class_probabilities(owner, estimator, X))
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        scores = np.column_stack([np.zeros(len(scores)), scores]) if scores.ndim == 1 else scores
        return scores - log_sum_exp(scores, keepdims=True)
    raise AttributeError(
        f"{type(owner).__name__}: the estimator {type(estimator).__name__} gives no confidences; it must have "
        "predict_proba or decision_function."
    )


def fitted_estimator_has(attribute: str) -> Callable[[Any], bool]:
    """For `available_if`: whether the fitted estimator, or the one to be fitted, can do something."""

    def check(meta: Any) -> bool:
        getattr(getattr(meta, "estimator_", meta.estimator), attribute)  # its own error says what is missing
        return True

    return check


def check_has_fit(owner: Any, estimator: Any) -> None:
    """An error for a parameter that is no classifier with `fit`."""
    if not hasattr(estimator, "fit") or not hasattr(get_tags(estimator), "classifier_tags"):
        raise ValueError(f"{type(owner).__name__}: estimator must be a classifier; got {estimator!r}.")


def fitted_rows(model: Any, X: Any) -> Any:
    """Rows to predict, once the model is fitted."""
    check_is_fitted(model)
    return model._check(X, reset=False)
