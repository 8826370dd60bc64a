"""Multi-response linear regression (多响应线性回归): the second level of stacking."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.scaling import LARGE
from tercet.core.validation import finite_predictions
from tercet.linear_model import LinearRegression


@method(
    zh="多响应线性回归",
    task="classification",
    model="f(x) = argmax_j (w_j·x + b_j)",
    strategy="sum over the classes of (1[y = j] - w_j·x - b_j)²",
    loss="squared",
    convex=True,
    algorithms="a least-squares fit for each class",
    texts=["watermelon notes ch. 6, 6.4.3"],
    peers=["weka MultiClassClassifier"],
)
class MultiResponseRegression(Classifier):
    """Multi-response linear regression: least squares to the indicator of each class; the largest wins.

    The usual second level of stacking on probabilities (Ting and Witten, 1999).

    Parameters
    ----------
    positive : bool, default=False
        Whether weights must not be negative, as in Breiman's stacked regressions.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features)
    intercept_ : array of shape (n_classes,)

    Examples
    --------
    >>> X, y = [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9]], ["a", "a", "b", "b"]
    >>> MultiResponseRegression().fit(X, y).predict([[0.6, 0.4]])
    array(['a'], dtype='<U1')
    """

    sparse_input = False
    largest_value = LARGE
    classes_: np.ndarray
    fitted_shapes = {
        "coef_": Floats("classes features", finite=True),
        "intercept_": Floats("classes", finite=True),
    }

    def __init__(self, *, positive: bool = False) -> None:
        self.positive = positive

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        responses = (y[:, None] == np.arange(len(self.classes_))).astype(X.dtype)
        line = LinearRegression(positive=self.positive).fit(X, responses, sample_weight)
        self.coef_, self.intercept_ = line.coef_, line.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Responses of the classes; of two, the second's less the first's.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.einsum("ij,kj->ik", X, self.coef_) + self.intercept_
        finite_predictions(scores, type(self).__name__)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest response.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        return self.classes_[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)]
