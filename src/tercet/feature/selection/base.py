"""What selectors share: which columns are kept, and how."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import get_tags

from tercet.core.estimator import Estimator, check_is_fitted
from tercet.core.input_errors import Explaining
from tercet.core.validation import QUIET, check_structure


class ColumnSelector(SelectorMixin, Estimator):
    """A transformer that keeps the columns of `support_`; it learns them from a target."""

    support_: np.ndarray

    def transform(self, X: Any) -> Any:
        """The columns of X that are kept.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X : array of shape (n_samples, n_selected)
        """
        check_structure(X)  # SciPy cuts columns out of a broken matrix unseen
        with Explaining(X=X), np.errstate(**QUIET):
            return super().transform(X)

    def inverse_transform(self, X: Any) -> Any:
        """Rows of all columns, with zeros in those that were not kept.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_selected)
            Rows of the columns that are kept.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        """
        return super().inverse_transform(check_structure(X))

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return np.asarray(self.support_, dtype=bool)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class WrapsEstimator(Estimator):
    """Mixin of selectors that fit an estimator: missing values are data where it takes them."""

    estimator: Any

    @property
    def missing_input(self) -> bool:  # type: ignore[override]
        """Whether NaN may be among the values."""
        return self.estimator is not None and bool(get_tags(self.estimator).input_tags.allow_nan)


class ScoreSelector(ColumnSelector):
    """A transformer that keeps the columns with the best `scores_`.

    The `n_features_to_select` best ones; or, when that is None, those with scores above `threshold`. Of equal
    scores the earlier column is better.
    """

    n_features_to_select: int | None
    threshold: float
    scores_: np.ndarray

    def ranking(self) -> np.ndarray:
        """Columns from the best to the worst, as indices."""
        check_is_fitted(self)
        return np.argsort(-self.scores_, kind="stable")

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        if self.n_features_to_select is None:
            return self.scores_ > self.threshold
        mask = np.zeros(len(self.scores_), dtype=bool)
        mask[self.ranking()[: self.n_features_to_select]] = True
        return mask

    def _check_selected(self, d: int) -> None:
        k = self.n_features_to_select
        if k is not None and k > d:
            raise ValueError(
                f"{type(self).__name__}: n_features_to_select={k!r}, but there are {d} columns: at most {d}."
            )
