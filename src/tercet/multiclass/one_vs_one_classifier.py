"""One against one (一对一)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import delayed

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Each, Having, Indices
from tercet.core.meta import (
    MetaClassifier,
    Part,
    clone,
    columns_at,
    confidence,
    estimators_have,
    partial_fit_part,
)
from tercet.core.parameters import Jobs, check_parameters


@method(
    zh="一对一",
    task="classification",
    model="the class with most votes of N(N-1)/2 two-class models; ties by the sum of confidences",
    strategy="that of the estimator, on the rows of two classes",
    algorithms="one fit for each pair of classes",
    texts=["watermelon notes ch. 1, 1.8"],
    peers=["sklearn.multiclass.OneVsOneClassifier"],
)
class OneVsOneClassifier(MetaClassifier):
    """One-vs-one: an estimator for each pair of classes, and a vote of all of them.

    Parameters
    ----------
    estimator : estimator
        Any classifier with `decision_function` or `predict_proba`, or a regressor.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    estimators_ : tuple of n_classes * (n_classes - 1) / 2 estimators
        For the classes (0, 1), (0, 2) ..., (1, 2) ...; positive means the second.
    classes_ : array of shape (n_classes,)
    pairwise_indices_ : list of arrays or None
        The training rows of each estimator, when the estimator takes a Gram matrix.

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> X, y = [[9, 9], [8, 9], [-5, 5], [-6, 5], [-9, -9], [-8, -9]], ["a", "a", "b", "b", "c", "c"]
    >>> model = OneVsOneClassifier(Perceptron()).fit(X, y)
    >>> model.predict([[7, 8], [-5, 6], [-7, -7]])
    array(['a', 'b', 'c'], dtype='<U1')
    >>> model.votes([[7, 8]])
    array([[2, 1, 0]])
    """

    task_name = "fit-pair"

    def __init__(self, estimator: Any, *, n_jobs: Jobs = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs

    fitted_shapes = {
        "estimators_": Each(Having({}, ("predict",)), "class_pairs"),
        "pairwise_indices_": lambda model: (
            None
            if model.pairwise_indices_ is None
            else Each(Indices("rows@", below="features"), "class_pairs")
        ),
    }

    def _fit_all(self, X: Any, y: np.ndarray, params: dict[str, Any]) -> None:
        parts = list(self._pair_problems(y)) if get_tags(self.estimator).input_tags.pairwise else None
        count = self.n_classes_ * (self.n_classes_ - 1) // 2
        self.estimators_ = tuple(self._fit_parts(X, parts or self._pair_problems(y), count, params))
        self.pairwise_indices_ = None if parts is None else [part.rows for part in parts]

    def _pair_problems(self, y: np.ndarray) -> Iterator[Part]:
        """The two-class problem of each pair of classes, on their rows."""
        members = [np.flatnonzero(y == k) for k in range(self.n_classes_)]
        for i, j in combinations(range(self.n_classes_), 2):
            rows = np.sort(np.concatenate([members[i], members[j]]))
            yield Part((y[rows] == j).astype(int), rows)

    @available_if(estimators_have("partial_fit"))
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **partial_fit_params: Any
    ) -> Self:
        """Go on learning with a batch of rows.

        Parameters
        ----------
        X : anything that the estimator takes
            The batch.
        y : array of shape (n_samples,)
            Its labels.
        classes : array of shape (n_classes,), optional
            All labels there will be; needed in the first call.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.
        **partial_fit_params
            More for the estimator's `partial_fit`, when metadata routing is enabled.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = self._first_call(classes)
        if first:
            count = self.n_classes_ * (self.n_classes_ - 1) // 2
            self.estimators_ = tuple(clone(self.estimator) for _ in range(count))
            self.pairwise_indices_ = None
        X, index = self._check_batch(X, y, first=first)
        params = self._route("partial_fit", X, sample_weight, partial_fit_params)
        parts = zip(range(len(self.estimators_)), self._pair_problems(index))
        there = [(k, part) for k, part in parts if part.target.size]
        calls = (delayed(partial_fit_part)(self.estimators_[k], X, part, params) for k, part in there)
        fitted = self._parallel(calls, len(there))
        of = {k: estimator for (k, _), estimator in zip(there, fitted)}
        self.estimators_ = tuple(of.get(k, estimator) for k, estimator in enumerate(self.estimators_))
        return self

    def _confidences(self, X: Any) -> np.ndarray:
        """How sure each estimator is of the second class of its pair, of shape (n_samples, n_pairs)."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        columns = self.pairwise_indices_ or [None] * len(self.estimators_)
        return np.column_stack(
            [
                confidence(estimator, X if mine is None else columns_at(X, mine), 0.5)
                for estimator, mine in zip(self.estimators_, columns)
            ]
        )

    def votes(self, X: Any) -> np.ndarray:
        """How many of the estimators are for each class.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        votes : array of shape (n_samples, n_classes)
        """
        return count_votes(self._confidences(X), self.n_classes_)[0]

    def decision_function(self, X: Any) -> np.ndarray:
        """Votes, plus the sum of confidences squeezed into (-1/3, 1/3), which decides ties and nothing else.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) for two classes (those of the second), else (n_samples, n_classes)
        """
        votes, sums = count_votes(self._confidences(X), self.n_classes_)
        scores = votes + sums / (3 * (np.abs(sums) + 1))
        return scores[:, 1] if self.n_classes_ == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : anything that the estimator takes
            The data.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        scores = self.decision_function(X)
        winner = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[winner]


def count_votes(confidences: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Votes and sums of confidences of each class, from one column for each pair."""
    votes = np.zeros((len(confidences), n_classes), dtype=int)
    sums = np.zeros((len(confidences), n_classes))
    for (i, j), c in zip(combinations(range(n_classes), 2), confidences.T):
        votes[:, i] += c <= 0
        votes[:, j] += c > 0
        sums[:, i] -= c
        sums[:, j] += c
    return votes, sums
