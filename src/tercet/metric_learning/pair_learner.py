"""Base of the methods that learn from must-link and cannot-link pairs."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from tercet.core.estimator import NO_TARGET, generator
from tercet.metric_learning.base import MahalanobisLearner, dense
from tercet.metric_learning.tuple_input import (
    Pairs,
    are_tuples,
    check_tuples,
    given_pairs,
    labelled_pairs,
    linked_pairs,
)


class PairLearner(MahalanobisLearner):
    """A metric learner from pairs: as points, as numbers of rows, or made from labels.

    A subclass has the parameters `n_constraints` and `random_state`.
    """

    most_pairs: ClassVar[int] = 20_000  # up to which all pairs of labelled rows are taken
    n_constraints: int | None
    random_state: Any

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Learn a metric from labelled rows, from linked rows, or from pairs of points.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or array of shape (n_pairs, 2, n_features)
            The rows, or pairs of points.
        y : array of shape (n_samples,) or (n_pairs,), optional
            The labels of the rows; rows of one class are must-link. For pairs of points, 1 (must-link) or -1
            (cannot-link).
        sample_weight : array of shape (n_samples,) or (n_pairs,), optional
            How much each row, or each pair, counts; a pair of rows weighs the product of their weights.
        must_link, cannot_link : arrays of shape (n_links, 2), optional
            Numbers of rows of X that belong together, or apart; in place of y.

        Returns
        -------
        self
        """
        if must_link is None and cannot_link is None:
            return self._learn(X, y, sample_weight)
        if y is not None:
            raise ValueError(
                f"{type(self).__name__}: give either y or must_link and cannot_link; both say which rows are alike."
            )
        if are_tuples(X):
            raise ValueError(
                f"{type(self).__name__}: must_link and cannot_link are numbers of rows of X; X holds pairs of "
                "points."
            )
        return self._learn(X, None, sample_weight, links=(must_link, cannot_link))

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET:
            return super()._check(X, reset=reset)
        if are_tuples(X):
            return check_tuples(self, X, 2), y
        return (super()._check(X), None) if y is None else super()._check(X, y)

    def _pairs(self, X: Any, y: Any, weight: np.ndarray | None, links: Any) -> Pairs:
        """The pairs to learn from; both kinds are there."""
        name = type(self).__name__
        if X.ndim == 3:
            found = given_pairs(X, y, weight, name)
        elif links is not None:
            found = linked_pairs(dense(X), links[0], links[1], weight, name)
        elif y is None:
            raise ValueError(
                f"This {name} estimator requires y to be passed, but the target y is None: labels of the rows, or "
                "must_link and cannot_link."
            )
        else:
            rng = generator(self.random_state)
            found = labelled_pairs(dense(X), y, weight, self.n_constraints, rng, name, self.most_pairs)
        for pairs, word in ((found.alike, "must-link"), (found.apart, "cannot-link")):
            if not pairs.any():
                raise ValueError(
                    f"{name}: there is no {word} pair of two different points, among {len(pairs)} pair(s) with a "
                    "weight; "
                    "at least one of each kind is needed."
                )
        return found
