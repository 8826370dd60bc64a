"""Base class of regressors by the mean of the neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.core.estimator import Regressor
from tercet.neighbors.base import Neighbors, Weighting


class NeighborsRegressor(Regressor, Neighbors):
    """A regressor by the weighted mean of the neighbours of a query."""

    weights: Weighting
    batch_rounding = 1e-12  # distances by "mahalanobis" are products by BLAS
    fitted_shapes = {"_y": "rows | rows targets"}

    def predict(self, X: Any) -> np.ndarray:
        """The mean target of the neighbours of each query.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or None
            The queries; None is for the rows that were learned, without their own targets.

        Returns
        -------
        y : array of shape (n_queries,) or (n_queries, n_outputs)
        """
        near = self._neighbourhood(X)
        weights = near.weights(self.weights)
        total = near.sums(weights)
        self._check_weights(total)
        columns = self._y.T if self._y.ndim == 2 else [self._y]
        with np.errstate(invalid="ignore"):
            means = [near.sums(weights * column[near.rows]) / total for column in columns]
        return np.stack(means, axis=1) if self._y.ndim == 2 else means[0]

    def _check_weights(self, total: np.ndarray) -> None:
        if (total == 0).any():
            raise ValueError(
                f"All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case "
                f"if you are using a user-defined function. ({type(self).__name__}: no neighbour of query "
                f"{np.argmax(total == 0)} has a weight.)"
            )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions: 1 minus their squared error over that of the mean.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or None
            The queries; None scores the rows that were learned, each by its neighbours alone: leave-one-out.
        y : array of shape (n_queries,) or (n_queries, n_outputs)
            Their targets.
        sample_weight : array of shape (n_queries,), optional
            How much each query counts.

        Returns
        -------
        r2 : float
        """
        return super().score(X, y, sample_weight)
