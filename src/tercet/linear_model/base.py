"""Base classes of linear classifiers and regressors: the scores w·x + b."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from tercet.core.estimator import Classifier, Regressor, check_is_fitted
from tercet.core.row_products import row_products


class LinearClassifier(Classifier):
    """A classifier whose scores are linear: one hyperplane for two classes, one for each of more."""

    coef_: Any
    intercept_: np.ndarray

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
        check_is_fitted(self, "coef_")
        X = self._check(X, reset=False)
        scores = row_products(X, self.coef_) + self.intercept_
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
        counts = np.bincount(y, weight, self.classes_.size)
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
    """A regressor whose prediction is linear."""

    coef_: np.ndarray
    intercept_: Any

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
        check_is_fitted(self, "coef_")
        X = self._check(X, reset=False)
        return row_products(X, self.coef_) + self.intercept_


def dense_coef(coef: Any) -> np.ndarray:
    """Weights as an array, whether or not `sparsify` was called."""
    return coef.toarray() if sparse.issparse(coef) else coef
