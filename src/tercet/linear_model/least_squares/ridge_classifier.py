"""Ridge regression of class labels (岭回归分类器)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from tercet.core.catalog import method
from tercet.core.estimator import distinct
from tercet.core.fitted_checks import OneOf
from tercet.core.input_errors import Explaining
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.streams import is_streamed
from tercet.linear_model.base import LinearClassifier
from tercet.linear_model.least_squares.ridge import Solver, fit_ridge, streaming_refusal

Array = np.ndarray


@method(
    zh="岭回归分类器",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="ridge regression of labels -1 and +1",
    algorithms={"solver": "those of Ridge"},
    texts=["watermelon notes ch. 10, eq. 10.6"],
    peers=["sklearn.linear_model.RidgeClassifier"],
)
class RidgeClassifier(LinearClassifier):
    """Ridge regression of the labels -1 and +1, one target for each of several classes.

    Parameters
    ----------
    alpha, fit_intercept, copy_X, max_iter, tol, solver, positive, random_state, penalize_intercept, n_jobs
        As in `Ridge`.
    class_weight : dict or "balanced", optional
        Weights of the classes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_features,) or (n_classes, n_features)
        A vector for two classes.
    intercept_ : array of shape (1,) or (n_classes,)
    solver_, n_iter_
        As in `Ridge`.

    Examples
    --------
    >>> model = RidgeClassifier().fit([[3, 3], [4, 3], [1, 1]], ["near", "near", "far"])
    >>> model.predict([[5, 5], [0, 0]])
    array(['near', 'far'], dtype='<U4')
    """

    multi_output = True
    streaming = True

    def __init__(
        self,
        alpha: NonNegative | list | tuple | np.ndarray = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: Count | None = None,
        tol: NonNegative = 1e-4,
        class_weight: dict | Literal["balanced"] | None = None,
        solver: Solver = "auto",
        positive: bool = False,
        random_state: Seed = None,
        penalize_intercept: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.penalize_intercept = penalize_intercept
        self.n_jobs = n_jobs

    _multilabel = False  # so in files from before it was saved
    fitted_shapes = {
        "_multilabel": OneOf((False, True)),
        "coef_": lambda model: "classes features" if model._multilabel else "planes features | features",
        "intercept_": lambda model: "classes | " if model._multilabel else "planes | 1 | ",
    }

    def _fit(self, X: Any, y: Array, sample_weight: Array | None) -> None:
        fit_ridge(self, X, signs_of(y, self.classes_.size), self._weights(y, sample_weight))

    def _streaming_refusal(self) -> str:
        return streaming_refusal(self)

    def _weights(self, y: Array, sample_weight: Array | None) -> Array | None:
        """The weights of the rows times those of their classes."""
        if y.ndim == 1:
            return self._balance(self.class_weight, y, sample_weight, weighed=False)
        if self.class_weight is None:
            return sample_weight
        by_class = compute_sample_weight(self.class_weight, y)
        return by_class if sample_weight is None else by_class * sample_weight

    def _encode(self, y: Any) -> Array:
        with Explaining(y=y):
            self._multilabel = type_of_target(y).startswith("multilabel")
        if not self._multilabel:
            with Explaining(y=y):
                self.classes_, index = distinct(column_or_1d(y, warn=True))  # one class alone will do
            return index
        y = y.toarray() if hasattr(y, "toarray") else np.asarray(y)
        self.classes_ = np.arange(y.shape[1])
        return y

    def predict(self, X: Any) -> Array:
        """The class of each row, or its labels as a matrix of zeros and ones where there may be several.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,) or (n_samples, n_labels)
        """
        scores = self.decision_function(X)
        if self._multilabel:
            return (scores > 0).astype(int)
        if self.classes_.size == 1:
            return np.repeat(self.classes_, len(scores))
        winner = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winner]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False  # several labels, but not several kinds of labels
        tags.classifier_tags.multi_label = True
        return tags


def signs_of(y: Any, n_classes: int) -> Any:
    """Targets -1 and +1: a column for each of several classes (or labels), one for two classes or one."""
    if is_streamed(y):
        if y.ndim == 2:
            return y.map(functools.partial(signs_of, n_classes=n_classes), width=y.shape[1], dtype=np.float64)
        width = n_classes if n_classes > 2 else 1
        return y.map(functools.partial(signs_of, n_classes=n_classes), width=width, dtype=np.float64)
    if y.ndim == 2:
        return np.where(y > 0, 1.0, -1.0)
    columns = np.arange(n_classes) if n_classes > 2 else np.array([1])
    return np.where(y[:, None] == columns, 1.0, -1.0)
