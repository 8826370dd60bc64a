"""What all metric learners share: the transformation, the matrix of the metric, distances of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.estimator import Estimator, check_is_fitted
from tercet.core.fitted_checks import Floats
from tercet.core.row_products import row_scores
from tercet.core.scaling import LARGE
from tercet.core.steps import fitted_attributes
from tercet.core.validation import check_array
from tercet.metric_learning.mahalanobis_metric import MahalanobisMetric


class MahalanobisLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An estimator that learns L, the `components_` of the distance |L(x - z)|; the metric matrix is M = L'L."""

    largest_value = LARGE  # squares of differences are taken
    fitted_shapes = {"components_": Floats("components features", finite=True)}
    components_: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """The rows Lx, whose Euclidean distances are the learned ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        return row_scores(self._check(X, reset=False), self.components_, refuse=type(self).__name__)

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """The matrix M = L'L of the metric: symmetric and positive semidefinite.

        Returns
        -------
        M : array of shape (n_features, n_features)
            `KNeighborsClassifier(metric="mahalanobis", metric_params={"VI": M})` searches trees by it.
        """
        check_is_fitted(self)
        L = self.components_.astype(np.float64)
        return L.T @ L

    def get_metric(self) -> MahalanobisMetric:
        """The learned distance as a function of two points, for the `metric` of `tercet.neighbors`.

        Returns
        -------
        metric : MahalanobisMetric
            It stays as it is when the estimator is fitted again.
        """
        check_is_fitted(self)
        return MahalanobisMetric(self.components_)

    def pair_distance(self, pairs: Any) -> np.ndarray:
        """The learned distances of pairs of points.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features)
            The pairs.

        Returns
        -------
        distances : array of shape (n_pairs,)
        """
        check_is_fitted(self)
        points = check_array(pairs, dtype=np.float64, allow_nd=True, ensure_2d=False, input_name="pairs")
        if points.ndim != 3 or points.shape[1:] != (2, self.n_features_in_):
            raise ValueError(
                f"{type(self).__name__}: pairs must be of shape (n_pairs, 2, {self.n_features_in_}); "
                f"got {points.shape}."
            )
        difference = (points[:, 0] - points[:, 1]) @ self.components_.T.astype(np.float64)
        return np.sqrt((difference**2).sum(axis=1))

    def pair_score(self, pairs: Any) -> np.ndarray:
        """How alike the points of pairs are: minus their learned distances.

        Parameters
        ----------
        pairs : array of shape (n_pairs, 2, n_features)
            The pairs.

        Returns
        -------
        scores : array of shape (n_pairs,)
        """
        return -self.pair_distance(pairs)

    def _keep(self, components: np.ndarray, dtype: Any) -> None:
        """Set `components_`, unless they are no numbers."""
        with np.errstate(over="ignore"):
            components = np.ascontiguousarray(components, dtype=dtype)
        if not np.isfinite(components).all():
            for name in fitted_attributes(self):
                delattr(self, name)
            raise ValueError(
                f"{type(self).__name__}: components_ are beyond floating-point numbers. The numbers of X are too "
                "large, too small, or too different in size: scale the features."
            )
        self.components_ = components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def dense(X: Any) -> np.ndarray:
    """Rows as a contiguous array of float64."""
    return np.ascontiguousarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def positive_weights(sample_weight: np.ndarray | None, n: int) -> np.ndarray:
    """Weights of the rows as float64; ones where none are given."""
    return np.ones(n) if sample_weight is None else sample_weight.astype(np.float64)


def square_root(M: np.ndarray) -> np.ndarray:
    """The symmetric square root L of a metric matrix: M = L L. Unlike other factors it is unique.

    Examples
    --------
    >>> square_root(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])
    """
    if not np.isfinite(M).all():  # `_keep` says so
        return np.full(M.shape, np.nan)
    if not (M - np.diag(np.diagonal(M))).any():
        return np.diag(np.sqrt(np.maximum(np.diagonal(M), 0.0)))
    values, basis = linalg.eigh(M)
    return (basis * np.sqrt(np.maximum(values, 0.0))) @ basis.T
