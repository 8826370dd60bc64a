"""What classifiers that label rows by other classifiers share: fits on some rows, confidences, routed metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import InputTags, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Sizes
from tercet.core.functions import log_sum_exp
from tercet.core.meta import Part, clone
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import check_parameters
from tercet.semi_supervised.partial_labels import SemiSupervisedClassifier


class PseudoLabeling(MetaEstimatorMixin, SemiSupervisedClassifier):
    """Meta-classifier that fits clones of its estimator on rows with labels, given or found.

    `_fit` gets, beside rows, indices into `classes_` and weights, `params`: the metadata for the estimator's `fit`.
    """

    __metadata_request__fit = {"sample_weight": UNUSED}
    estimator: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            The labels; -1 (or None among strings) for rows without one.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; passed on to the estimator.
        **fit_params
            More for the estimator's `fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        check_parameters(self)
        check_has_fit(self, self.estimator)
        return self._learn(X, y, sample_weight, params=self._fit_metadata(sample_weight, fit_params))

    def _check_fitted(self, sizes: Sizes) -> None:
        """Refuse members that answer with other classes than the model has."""
        for member in getattr(self, "estimators_", []):
            strange = set(np.ravel(getattr(member, "classes_", [])).tolist()) - set(self.classes_.tolist())
            if strange:
                raise ValueError(
                    f"{type(self).__name__}: a member has the class {strange.pop()!r}; the classes are "
                    f"{self.classes_.tolist()[:12]}."
                )

    def _fit_metadata(self, sample_weight: Any, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What the estimator's `fit` gets beside rows and labels; the weights are put in by `_fit_on`."""
        if get_config()["enable_metadata_routing"]:
            given = fit_params if sample_weight is None else {**fit_params, "sample_weight": sample_weight}
            return dict(process_routing(self, "fit", **given).estimator["fit"]) if given else {}
        if fit_params:
            raise ValueError(
                f"{type(self).__name__}.fit: passing {sorted(fit_params)} to the estimator is only supported if "
                "enable_metadata_routing=True."
            )
        if sample_weight is None:
            return {}
        name = type(self.estimator).__name__
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(f"sample_weight was given, but {name}.fit takes none.")
        return {"sample_weight": sample_weight}

    def _fit_on(
        self, estimator: Any, X: Any, codes: np.ndarray, weight: Any, params: dict[str, Any], rows: Any = None
    ) -> Any:
        """A clone of an estimator, fitted on the rows that have a label (or on `rows`)."""
        rows = np.flatnonzero(codes >= 0) if rows is None else rows
        labels = self.classes_[codes[rows]]
        if "sample_weight" in params:
            params = {**params, "sample_weight": weight}
        part, params = Part(labels, rows).cut(X, params, False)
        with one_blas_thread():
            return clone(estimator).fit(part, labels, **params)

    @property
    def missing_input(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes NaN."""
        return bool(_input_tags(self.estimator).allow_nan)

    @property
    def sparse_input(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes sparse rows."""
        return bool(_input_tags(self.estimator).sparse)

    @property
    def positive_only(self) -> bool:  # type: ignore[override]
        """Whether the estimator refuses negative values."""
        return bool(_input_tags(self.estimator).positive_only)

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Metadata for a method of the estimator other than `fit`."""
        if not params:
            return {}
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params).estimator[method]
        raise ValueError(
            f"{type(self).__name__}.{method}: passing {sorted(params)} to the estimator is only supported if "
            "enable_metadata_routing=True."
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
        router = MetadataRouter(owner=self)
        return router.add(estimator=self.estimator, method_mapping=mapping)


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


def _input_tags(estimator: Any) -> Any:
    return get_tags(estimator).input_tags if estimator is not None else InputTags()


def check_has_fit(owner: Any, estimator: Any, name: str = "estimator") -> None:
    """An error for a parameter that is no classifier with `fit`."""
    if not hasattr(estimator, "fit"):
        raise ValueError(
            f"{type(owner).__name__}: parameter {name!r} must be a classifier with fit; got {estimator!r}."
        )


def fitted_rows(model: Any, X: Any) -> Any:
    """Rows to predict, once the model is fitted."""
    check_is_fitted(model)
    return model._check(X, reset=False)
