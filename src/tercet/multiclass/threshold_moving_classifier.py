"""Threshold moving and rescaling (阈值移动, 再缩放) for classes of unequal size or cost."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Having
from tercet.core.meta import MetaClassifier, Part, clone, fit_part
from tercet.core.steps import Fit


@method(
    zh="阈值移动, 再缩放",
    task="classification",
    model="y'/(1-y') = y/(1-y) · m⁻/m⁺; positive if y' > 1/2",
    strategy="that of the estimator; costs come in after it has learned",
    algorithms="one fit on the data as it is",
    texts=["watermelon notes ch. 1, eq. 1.30, 1.31"],
    peers=[
        "sklearn.model_selection.FixedThresholdClassifier",
        "sklearn.model_selection.TunedThresholdClassifierCV",
    ],
)
class ThresholdMovingClassifier(MetaClassifier):
    """Threshold moving: an estimator trained on the data as it is, with its probabilities rescaled.

    The probability of each class is multiplied by its weight and all are scaled to sum to 1. With the weights
    1/m_k, a class of two is chosen when its odds exceed its share's, y/(1-y) > m⁺/m⁻, and not when they are
    equal; with costs, the expected cost is least. This counts on the classes' shares in training being those of
    the population.

    Parameters
    ----------
    estimator : estimator
        Any classifier with `predict_proba`.
    class_weight : "balanced", dict, array of shape (n_classes,) or None, default="balanced"
        "balanced" divides by the classes' shares; otherwise the cost of an error on each class, by label or in
        the order of `classes_`; None leaves the probabilities alone.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : array of shape (n_classes,)
    class_weight_ : array of shape (n_classes,)
        What the probabilities are multiplied by.

    Examples
    --------
    >>> from tercet.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = [[0], [1], [2], [3], [4], [3], [5]], [0, 0, 0, 0, 0, 1, 1]
    >>> LinearDiscriminantAnalysis().fit(X, y).predict([[3.5]])
    array([0])
    >>> ThresholdMovingClassifier(LinearDiscriminantAnalysis()).fit(X, y).predict([[3.5]])
    array([1])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        class_weight: Literal["balanced"] | dict | np.ndarray | list | None = "balanced",
    ) -> None:
        self.estimator = estimator
        self.class_weight = class_weight

    fitted_shapes = {
        "class_weight_": "classes",
        "estimator_": Having({"classes_": "classes"}, ("predict_proba",)),
    }

    def _fit_all(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            name = type(self.estimator).__name__
            raise ValueError(f"{type(self).__name__}: estimator must have predict_proba; got {name}.")
        self.class_weight_ = self._weights(y, params.get("sample_weight"))
        (task,) = Fit.of(self).tasks(1, self.task_name)
        self.estimator_ = fit_part(clone(self.estimator), X, Part(self.classes_[y]), params, False, task)

    def _weights(self, y: np.ndarray, sample_weight: Any) -> np.ndarray:
        """What each class's probability is multiplied by."""
        n, chosen = self.n_classes_, self.class_weight
        if chosen is None:
            return np.ones(n)
        if isinstance(chosen, str):
            mass = np.bincount(
                y, np.broadcast_to(1.0 if sample_weight is None else sample_weight, y.shape), n
            )
            return np.divide(mass.sum(), mass, out=np.zeros(n), where=mass > 0)
        if isinstance(chosen, dict):
            labels = self.classes_.tolist()
            unknown = [label for label in chosen if label not in labels]
            if unknown:
                raise ValueError(f"class_weight names {unknown}, but the classes are {labels}.")
            chosen = [chosen.get(label, 1.0) for label in labels]
        weights = np.asarray(chosen, dtype=float)
        if weights.shape != (n,) or not (weights >= 0).all() or not weights.any():
            raise ValueError(
                f"class_weight must be 'balanced', None, or a cost of at least 0 for each of {n} classes; "
                f"got {self.class_weight!r}."
            )
        return weights

    def predict_proba(self, X: Any) -> np.ndarray:
        """Rescaled probabilities of the classes.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return rescale(self.estimator_.predict_proba(X), self.class_weight_)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row; of equals the first.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        winner = self.predict_proba(X).argmax(axis=1)
        return self.classes_[winner]


@method(
    zh="再缩放",
    task="classification",
    model="y'/(1-y') = y/(1-y) · m⁻/m⁺",
    texts=["watermelon notes ch. 1, eq. 1.31"],
)
def rescale(proba: Any, weight: Any) -> np.ndarray:
    """Probabilities with the odds of each class multiplied by its weight.

    Parameters
    ----------
    proba : array of shape (n_samples,) or (n_samples, n_classes)
        Probabilities of the positive class, or of all classes.
    weight : float or array of shape (n_classes,)
        m⁻/m⁺ (or cost⁺/cost⁻) of the positive class, or a weight for each class.

    Returns
    -------
    proba : array of the same shape

    Examples
    --------
    >>> rescale([0.3, 0.2, 0.15], 80 / 20).round(4)
    array([0.6316, 0.5   , 0.4138])
    """
    p, w = np.asarray(proba), np.asarray(weight)
    if p.ndim == 1:
        return p * w / (p * w + (1 - p))
    scaled = p * w
    whole = scaled.sum(axis=1, keepdims=True)
    return np.divide(scaled, whole, out=p.copy(), where=whole > 0)
