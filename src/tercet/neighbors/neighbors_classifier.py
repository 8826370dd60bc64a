"""Base class of classifiers by the vote of the neighbours."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from tercet.core.estimator import Classifier, check_weight, distinct
from tercet.core.fitted_checks import Indices, OneOf, classes_of_outputs
from tercet.core.validation import check_target
from tercet.neighbors._engine.neighbourhood import Neighbourhood
from tercet.neighbors.base import Neighbors, Weighting
from tercet.neighbors.majority_vote import Ties, most_voted, vote_counts


def _class_indices(model: Any) -> Indices:
    if not isinstance(model.classes_, list):
        return Indices("rows", below="classes")
    return Indices("rows outputs", below=tuple(f"classes@{k}" for k in range(len(model.classes_))))


class NeighborsClassifier(Classifier, Neighbors):
    """A classifier by the majority vote of the neighbours of a query."""

    weights: Weighting
    ties: Ties
    batch_rounding = 1e-12  # distances by "mahalanobis" are products by BLAS
    outputs_2d_: bool
    fitted_shapes = {
        "classes_": classes_of_outputs,
        "outputs_2d_": lambda model: OneOf((isinstance(model.classes_, list),)),
        "_y": _class_indices,
    }

    def _encode(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
                "(n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
            y = y.ravel()
        self.outputs_2d_ = y.ndim == 2
        if self.outputs_2d_:
            return super()._encode(y)
        self.classes_, index = distinct(y)  # a single class is allowed
        return index

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes for each query.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or None
            The queries; None is for the rows that were learned, without their own votes.

        Returns
        -------
        y : array of shape (n_queries,) or (n_queries, n_outputs)
        """
        near = self._neighbourhood(X)  # Alg 3.1 (1)
        columns = []
        for k, (votes, (classes, labels)) in enumerate(zip(self._votes(near), self._outputs())):
            chosen = classes[most_voted(votes, near, labels, self.ties)]  # Alg 3.1 (2), eq. (3.1)
            columns.append(self._or_outlier(chosen, votes, k))
        return np.stack(columns, axis=1) if self.outputs_2d_ else columns[0]

    def predict_proba(self, X: Any) -> Any:
        """The classes' shares of the votes, as columns in the order of `classes_`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or None
            The queries; None is for the rows that were learned, without their own votes.

        Returns
        -------
        shares : array of shape (n_queries, n_classes), or a list of such for several outputs
        """
        shares = []
        for votes in self._votes(self._neighbourhood(X)):
            total = votes.sum(axis=1, keepdims=True)
            shares.append(votes / np.where(total > 0, total, 1.0))
        return shares if self.outputs_2d_ else shares[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of queries whose class is predicted rightly (for several outputs, whose classes all are).

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features), or None
            The queries; None scores the rows that were learned, each by its neighbours alone: leave-one-out.
        y : array of shape (n_queries,) or (n_queries, n_outputs)
            Their classes.
        sample_weight : array of shape (n_queries,), optional
            How much each query counts.

        Returns
        -------
        accuracy : float
        """
        if not self.outputs_2d_:
            return super().score(X, y, sample_weight)
        predicted = self.predict(X)
        truth = check_target(self, y, len(predicted), multi_output=True, numeric=False)
        if truth.shape != predicted.shape:
            raise ValueError(
                f"y must have the shape {predicted.shape} of the predictions; got {truth.shape}."
            )
        weight = check_weight(sample_weight, np.empty((len(predicted), 0)), relative=True)
        return float(np.average((predicted == truth).all(axis=1), weights=weight))

    def _outputs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The classes and the labels of each output."""
        return list(zip(self.classes_, self._y.T)) if self.outputs_2d_ else [(self.classes_, self._y)]

    def _votes(self, near: Neighbourhood) -> list[np.ndarray]:
        """The votes for each class, output by output."""
        weights = near.weights(self.weights)
        self._check_voters(near.sums(np.abs(weights)))
        return [vote_counts(near, weights, labels, len(classes)) for classes, labels in self._outputs()]

    def _check_voters(self, cast: np.ndarray) -> None:
        if (cast == 0).any():
            raise ValueError(
                f"All neighbors of some sample is getting zero weights. Please modify 'weights' to avoid this case "
                f"if you are using a user-defined function. ({type(self).__name__}: no neighbour of query "
                f"{np.argmin(cast)} has a weight.)"
            )

    def _or_outlier(self, chosen: np.ndarray, votes: np.ndarray, output: int) -> np.ndarray:
        """The chosen classes of an output, with the label of outliers where nobody voted."""
        return chosen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
