"""The vote of a neighbourhood (多数表决规则)."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import DataConversionWarning

from tercet.core.catalog import method
from tercet.core.estimator import Classifier, distinct
from tercet.neighbors.base import Neighbors, Weighting
from tercet.neighbors.neighbourhood import Neighbourhood

Ties = Literal["smallest", "nearest"]


@method(
    zh="多数表决规则",
    task="classification",
    model="the class of most neighbours",
    strategy="least local error rate, 1 - (1/k) Σ I(y_i = c)",
    texts=["000 ch. 3, 3.2.4"],
)
def vote(labels: Any, weights: Any = None, *, ties: Ties = "smallest") -> tuple[Any, float]:
    """Majority vote of a neighbourhood, and the share of its labels that the winner is wrong about.

    Parameters
    ----------
    labels : sequence of length k
        The neighbours' classes, the nearest first.
    weights : sequence of length k, optional
        What each vote counts.
    ties : {"smallest", "nearest"}, default="smallest"
        Who wins of equals: the smallest label, or that of the nearest neighbour.

    Returns
    -------
    label : the class with most votes.
    error : the local error rate: the 0-1 loss of this answer over the neighbourhood, which no other has less of.

    Examples
    --------
    >>> vote(["b", "a", "b", "c"])
    ('b', 0.5)
    """
    labels = np.asarray(labels)
    mass = np.ones(labels.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if labels.ndim != 1 or not labels.size or mass.shape != labels.shape:
        raise ValueError(
            f"vote: labels and weights must be equally long, and not empty; got {labels.shape}, {mass.shape}."
        )
    if not np.isfinite(mass).all() or mass.min() < 0 or not mass.any():
        raise ValueError("vote: weights must be finite, not negative and not all zero.")
    if ties not in ("smallest", "nearest"):
        raise ValueError(f"vote: ties must be 'smallest' or 'nearest'; got {ties!r}.")
    classes, index = np.unique(labels, return_inverse=True)
    near = Neighbourhood(np.array([0, labels.size]), np.arange(labels.size), np.empty(labels.size))
    votes = poll(near, mass, index, len(classes))
    best = winners(votes, near, index, ties)[0]
    return classes[best].item(), float(1 - votes[0, best] / mass.sum())


def poll(near: Neighbourhood, weights: np.ndarray, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """The votes of each neighbourhood for each class."""
    m = len(near.indptr) - 1
    return np.bincount(near.who * n_classes + labels[near.rows], weights, m * n_classes).reshape(m, n_classes)


def winners(votes: np.ndarray, near: Neighbourhood, labels: np.ndarray, ties: Ties) -> np.ndarray:
    """The class with most votes in each neighbourhood."""
    best = votes.argmax(axis=1)
    if ties == "nearest":
        who, cast = near.who, labels[near.rows]
        leading = np.flatnonzero(votes[who, cast] == votes.max(axis=1)[who])
        asked, first = np.unique(who[leading], return_index=True)
        best[asked] = cast[leading[first]]
    return best


class VotingClassifier(Classifier, Neighbors):
    """A classifier in which the rows near a query have votes."""

    weights: Weighting
    ties: Ties
    outputs_2d_: bool

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
        self.classes_, index = distinct(y)  # a single class is one to vote for
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
        near = self._neighbourhood(X)
        polls = self._polls(near)
        chosen = [
            classes[winners(votes, near, labels, self.ties)]
            for votes, (classes, labels) in zip(polls, self._outputs())
        ]
        return self._joined([self._or_outlier(c, v, k) for k, (c, v) in enumerate(zip(chosen, polls))])

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
        for votes in self._polls(self._neighbourhood(X)):
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
        right = (self.predict(X) == np.asarray(y)).all(axis=1)
        return float(np.average(right, weights=sample_weight))

    def _outputs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The classes and the labels of each output."""
        return list(zip(self.classes_, self._y.T)) if self.outputs_2d_ else [(self.classes_, self._y)]

    def _polls(self, near: Neighbourhood) -> list[np.ndarray]:
        """The votes for each class, output by output."""
        weights = near.weights(self.weights)
        self._check_votes(near.sums(np.abs(weights)))
        return [poll(near, weights, labels, len(classes)) for classes, labels in self._outputs()]

    def _check_votes(self, cast: np.ndarray) -> None:
        if (cast == 0).any():
            raise ValueError(
                f"{type(self).__name__}: all neighbours of query {np.argmin(cast)} have weight zero; `weights` "
                f"must give some of them a vote."
            )

    def _or_outlier(self, chosen: np.ndarray, votes: np.ndarray, output: int) -> np.ndarray:
        return chosen

    def _joined(self, columns: list[np.ndarray]) -> np.ndarray:
        return np.stack(columns, axis=1) if self.outputs_2d_ else columns[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
