"""Feature selection (特征选择) before a tree, or anything else, is learned: keep what tells about the classes."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.columns import Features, MixedColumns
from tercet.core.estimator import distinct
from tercet.core.input_errors import Explaining
from tercet.core.parameters import Count, Jobs, NonNegative
from tercet.core.validation import QUIET, check_structure
from tercet.tree._engine.gain_table import (
    ENTROPY,
    GAIN,
    GINI,
    INTRINSIC_VALUE,
    MIDPOINT,
    TIE,
    LabelledColumns,
    gain_table,
)


@method(
    zh="信息增益特征选择",
    task="feature selection",
    model="the features with g(D, A) >= threshold, or the k best",
    strategy="information gain, gain ratio or fall of the Gini index of each feature by itself",
    algorithms={
        "gain": "information gain in bits",
        "ratio": "information gain over the entropy of the feature",
        "gini": "fall of the Gini index",
    },
    texts=["Li ch. 5, 5.2.1"],
    peers=["sklearn.feature_selection.SelectKBest", "sklearn.feature_selection.mutual_info_classif"],
)
class InformationSelector(SelectorMixin, MixedColumns):
    """Keep the features that tell most about the classes.

    A column of categories is scored by all its values; one of numbers by the best cut in two. Of what is missing,
    only the rest counts: the gain among rows that have the value, times their share rho of the weight.

    Parameters
    ----------
    criterion : {"gain", "ratio", "gini"}, default="gain"
        Information gain in bits; the same over the feature's own entropy; or how far the Gini index falls.
    threshold : float or "mean", default="mean"
        Keep features that score at least this, or at least the mean of all.
    k : int, optional
        Keep the k best in place of that; of equal ones the first.
    categorical_features : "from_dtype", list or mask, optional
        Which columns are categories: by their dtype, or by name, index or mask.
    n_jobs : int, optional
        Threads. The scores do not depend on it.

    Attributes
    ----------
    scores_ : array of shape (n_features,)
        What each feature scores; 0 for one that is always the same.
    cuts_ : array of shape (n_features,)
        Where a column of numbers was cut in two; NaN for the others.
    threshold_ : float
        The least score that was kept.
    categories_ : list of arrays
        The values of each column of categories; None for numbers.

    Examples
    --------
    >>> from tercet.datasets import load_loans
    >>> X, y = load_loans(return_X_y=True)
    >>> selector = InformationSelector(k=2).fit(X, y)
    >>> selector.scores_.round(3)
    array([0.083, 0.324, 0.42 , 0.363])
    >>> selector.transform(X[:1])
    array([['no', 'fair']], dtype=object)
    """

    def __init__(
        self,
        criterion: Literal["gain", "ratio", "gini"] = "gain",
        *,
        threshold: NonNegative | Literal["mean"] = "mean",
        k: Count | None = None,
        categorical_features: Features = "from_dtype",
        n_jobs: Jobs = None,
    ) -> None:
        self.criterion = criterion
        self.threshold = threshold
        self.k = k
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Score the features of rows X by labels y.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The training data; NaN and None are missing values.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _encode(self, y: Any) -> np.ndarray:
        return distinct(y)[1]

    def _fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        d = X.shape[1]
        if self.k is not None and self.k > d:
            raise ValueError(f"{type(self).__name__}: k={self.k} features cannot be kept; X has {d}.")
        weight = np.ones(len(y)) if sample_weight is None else sample_weight.astype(np.float64)
        X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        sizes = [0 if known is None else max(len(known), 1) for known in self.categories_]
        data = LabelledColumns.of(X, y, int(y.max()) + 1, sizes)
        code = GINI if self.criterion == "gini" else ENTROPY
        rows = np.arange(len(y), dtype=np.int32)
        table = gain_table(
            data, rows, weight, data.sorted_rows(), np.arange(d), code=code, n_jobs=self.n_jobs
        )
        splits = table[:, GAIN] >= 0
        scores = np.where(splits, table[:, GAIN], 0.0)
        if self.criterion == "ratio":
            scores[splits] /= table[splits, INTRINSIC_VALUE]
        self.scores_ = scores
        self.cuts_ = np.where(splits & (data.n_categories == 0), table[:, MIDPOINT], np.nan)
        self.threshold_ = self._least(scores)

    def _least(self, scores: np.ndarray) -> float:
        if self.k is not None:
            return float(np.sort(scores)[-self.k])
        return float(scores.mean() if isinstance(self.threshold, str) else self.threshold)

    fitted_shapes = {"scores_": "features", "cuts_": "features", "threshold_": ""}

    def transform(self, X: Any) -> Any:
        """The features of X that are kept.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n_samples, n_features)
            The data.

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
        kept = self.scores_ >= self.threshold_ - TIE
        if self.k is not None:
            # Sorted by score, and among equal ones (but for rounding) by place.
            order = np.lexsort((np.arange(len(kept)), -np.round(self.scores_, 12)))
            kept = np.isin(np.arange(len(kept)), order[: self.k])
        return kept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
