"""Base classes of linear classifiers and regressors: the scores w·x + b."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from tercet.core.estimator import Classifier, Regressor, check_is_fitted
from tercet.core.row_products import row_products, row_scores
from tercet.core.row_sums import class_masses
from tercet.core.validation import check_structure


class LinearClassifier(Classifier):
    """A classifier whose scores are linear: one hyperplane for two classes, one for each of more.

    Examples
    --------
    The second class is where the columns sum to more than 1:

    >>> class Above(LinearClassifier):
    ...     def _fit(self, X, y, sample_weight):
    ...         self.coef_, self.intercept_ = np.ones((1, X.shape[1])), np.array([-1.0])
    >>> model = Above().fit([[0, 0], [1, 1]], ["low", "high"])
    >>> model.decision_function([[2, 0]]), model.predict([[2, 0], [0, 0]])
    (array([1.]), array(['low', 'high'], dtype='<U4'))
    """

    coef_: Any
    intercept_: np.ndarray
    fitted_shapes = {"coef_": "planes features", "intercept_": "planes | "}

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores w·x + b: of shape (n_samples,) for two classes, else (n_samples, n_classes).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array
            Positive means the second class when there are two.
        """
        scores = linear_scores(self, X)
        return scores.ravel() if scores.ndim == 2 and scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        winner = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winner]

    def _class_weights(self, class_weight: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """The weight of each class; "balanced" is inverse to its share of the sample weights."""
        if isinstance(class_weight, dict):
            return self._given_weights(class_weight)
        counts = class_masses(y, weight, self.classes_.size)
        if class_weight is None:
            return np.ones(counts.size)
        balanced = np.zeros(counts.size)  # a class may have rows of weight 0 only
        return np.divide(counts.sum() / counts.size, counts, out=balanced, where=counts > 0)

    def sparsify(self) -> Self:
        """Keep `coef_` as a CSR matrix, which pays when most weights are zero.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = sparse.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep `coef_` as an array again.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self.coef_ = dense_coef(self.coef_)
        return self


class LinearRegressor(Regressor):
    """A regressor whose prediction is linear.

    Examples
    --------
    >>> class Sum(LinearRegressor):
    ...     def _fit(self, X, y, sample_weight):
    ...         self.coef_, self.intercept_ = np.ones(X.shape[1]), 0.0
    >>> Sum().fit([[0, 0], [1, 1]], [0, 2]).predict([[2, 3]])
    array([5.])
    """

    coef_: np.ndarray
    intercept_: Any
    fitted_shapes = {
        "coef_": "features | targets features",
        "intercept_": lambda model: "targets | " if np.ndim(model.coef_) == 2 else " | 1",
    }

    def predict(self, X: Any) -> np.ndarray:
        """Predictions w·x + b.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        """
        return linear_scores(self, X, refuse=type(self).__name__)


def dense_coef(coef: Any) -> np.ndarray:
    """Weights as an array, whether or not `sparsify` was called."""
    return coef.toarray() if sparse.issparse(coef) else coef


def linear_scores(model: Any, X: Any, refuse: str = "") -> np.ndarray:
    """The scores w·x + b of a fitted model; rows are checked first, sparse ones of the right kind by the result.

    A score beyond floating-point numbers is an error in the name of `refuse`, or the largest number there is.
    """
    check_is_fitted(model, "coef_")
    if sparse.issparse(X) and X.format == "csr" and X.dtype.char in "df" and _is_plain(model, X):
        scores = row_products(check_structure(X), model.coef_) + model.intercept_
        if np.isfinite(scores).all():
            return scores
    return row_scores(model._check(X, reset=False), model.coef_, model.intercept_, refuse=refuse)


def _is_plain(model: Any, X: Any) -> bool:
    """Whether X is as wide as the model was fitted for, and has rows; a model that knows names asks for them."""
    known = getattr(model, "n_features_in_", None)
    return X.ndim == 2 and X.shape[0] > 0 and X.shape[1] == known and not hasattr(model, "feature_names_in_")
