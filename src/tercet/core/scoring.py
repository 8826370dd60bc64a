"""`score` of classifiers and regressors: scikit-learn's measures, with sentences about y and sample_weight."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from tercet.core.input_errors import Broken, shown
from tercet.core.sample_weights import check_weight
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.source_scores import streamed_accuracy, streamed_r2
from tercet.core.sources import RowSource
from tercet.core.validation import check_target


class AccuracyScoring(ClassifierMixin):
    """scikit-learn's `ClassifierMixin` with a `score` whose errors name what is wrong."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted. A row that is rejected counts as an error.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            The true classes.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        accuracy : float
        """
        if isinstance(X, RowSource):
            return streamed_accuracy(self, X, y, sample_weight)
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X)
        weight = _check_weight(sample_weight, predicted)
        rejected = self._rejected(predicted)
        try:
            if rejected is None or not rejected.any() or np.shape(y) != predicted.shape:
                return float(accuracy_score(y, predicted, sample_weight=weight))
            return _accuracy_of_decided(self, y, predicted, ~rejected, weight)
        except Broken as error:
            _check_target(self, y, predicted, numeric=False)
            raise ValueError(_strange_labels(self, y, error)) from error

    def _rejected(self, predicted: np.ndarray) -> np.ndarray | None:
        """Mask of the predictions that stand for no class; None for a classifier that always decides."""
        return None


class R2Scoring(RegressorMixin):
    """scikit-learn's `RegressorMixin` with a `score` that names what is wrong, and does not overflow."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², 1 minus the squared error of the predictions over that of the mean.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            The true targets.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        r2 : float
        """
        if isinstance(X, RowSource):
            return streamed_r2(self, X, y, sample_weight)
        from sklearn.metrics import r2_score

        predicted = self.predict(X)
        weight = _check_weight(sample_weight, predicted)
        try:
            return float(r2_score(*_squarable(y, predicted), sample_weight=weight))
        except Broken as error:
            _check_target(self, y, predicted, numeric=True)
            raise ValueError(
                f"{type(self).__name__}.score: y has the shape {np.shape(y)}, the predictions have "
                f"{np.shape(predicted)}: {error}"
            ) from error


def _accuracy_of_decided(
    estimator: Any, y: Any, predicted: np.ndarray, decided: np.ndarray, weight: np.ndarray | None
) -> float:
    """Accuracy over all rows of a classifier that has not decided on all of them.

    Its label of a rejected row may be of another type than the classes: only the others are compared with them.
    """
    from sklearn.metrics import accuracy_score

    mass = np.ones(len(decided)) if weight is None else weight
    if not mass[decided].any():
        return 0.0
    true, said = np.asarray(y)[decided], predicted[decided].astype(estimator.classes_.dtype)
    share = float(mass[decided].sum() / mass.sum())
    return share * float(accuracy_score(true, said, sample_weight=mass[decided]))


def rejection_label(classes: np.ndarray, given: Any, owner: str) -> Any:
    """The label that a classifier gives to rows it rejects: the given one, or by default a whole number below all
    classes, -1 as a rule, and "reject" where the classes are strings.

    Examples
    --------
    >>> [rejection_label(np.array(labels), None, "") for labels in ([0, 1], [-1, 1], ["no", "yes"])]
    [-1, -2, 'reject']
    """
    known = classes.tolist()
    if given is None:
        given = "reject" if isinstance(known[0], str) else min(-1, int(np.floor(min(known))) - 1)
    if given in known:
        raise ValueError(f"{owner}: reject_label={given!r} must not be one of the classes {known}.")
    return given


def _check_weight(sample_weight: Any, predicted: Any) -> np.ndarray | None:
    return check_weight(sample_weight, np.broadcast_to(0.0, (len(predicted), 1)), relative=True)


def _check_target(estimator: Any, y: Any, predicted: Any, *, numeric: bool) -> None:
    """Refuse targets by the sentences that `fit` has for them."""
    check_target(estimator, y, len(predicted), multi_output=np.ndim(predicted) > 1, numeric=numeric)


def _squarable(y: Any, predicted: np.ndarray) -> tuple[Any, np.ndarray]:
    """Targets and predictions in units in which their squares neither overflow nor vanish: R² is the same."""
    if not isinstance(y, np.ndarray) or y.dtype.kind != "f" or not y.size:
        return y, predicted
    exponent = scale_exponent(max(largest(y), largest(predicted)))
    return times_power(y, -exponent), times_power(predicted, -exponent)


def _strange_labels(estimator: Any, y: Any, error: Exception) -> str:
    """What is wrong with labels that cannot be compared with those learned."""
    name, classes = type(estimator).__name__, getattr(estimator, "classes_", None)
    if isinstance(classes, np.ndarray):
        known = set(classes.tolist())
        for k, label in enumerate(np.ravel(np.asarray(y)).tolist()):
            if label not in known:
                some = shown(classes.tolist())
                return (
                    f"{name}.score: y must hold labels like those learned, {some}; y[{k}] is {shown(label)}."
                )
    return f"{name}.score: y cannot be compared with the predictions: {error}"
