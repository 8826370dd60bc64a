"""Classification by the nearest class mean (最近质心分类)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tercet.core.catalog import method
from tercet.core.estimator import Classifier
from tercet.core.fitted_checks import Floats
from tercet.core.functions import log_softmax
from tercet.core.parameters import Positive
from tercet.core.rows import read_only, rows
from tercet.core.scaling import LARGE
from tercet.core.validation import finite_predictions
from tercet.metrics.distance import pairwise_distances
from tercet.neighbors._engine.centroids import (
    dense_means,
    dense_scatter,
    nearest_point,
    nearest_point_sparse,
    sparse_means,
    sparse_scatter,
)
from tercet.neighbors._engine.search import NeighborIndex

FEW = 32  # centroids from which on a search by matrix products is faster
BLOCK = 256  # columns of a sparse matrix that are dense at one time


@method(
    zh="最近质心分类",
    task="classification",
    model="y = argmin_c d(x, m_c): the class whose centroid is nearest",
    strategy="centroids that minimise the distances of their rows: means, or medians for the Manhattan distance",
    algorithms="class means in closed form; with shrinkage, soft-thresholded towards the overall mean",
    texts=["Pattern Recognition ch. 5, sec. 5.2.1"],
    peers=["sklearn.neighbors.NearestCentroid"],
)
class NearestCentroid(Classifier):
    """Classifier by the nearest centroid.

    Parameters
    ----------
    metric : {"euclidean", "manhattan"}, default="euclidean"
        The distance: centroids are the means of the classes, or their medians.
    shrink_threshold : float, optional
        Move centroids towards the overall mean: t-like statistics of their differences from it are soft-thresholded
        by this much, so that features that do not tell the classes apart drop out (nearest shrunken centroids).
    priors : {"uniform", "empirical"} or array of shape (n_classes,), default="uniform"
        Probabilities of the classes: the same for all, their frequencies, or given ones. Where they differ, they
        count, and distances are measured in units of the standard deviations within classes.

    Attributes
    ----------
    centroids_ : array of shape (n_classes, n_features)
    classes_ : array of shape (n_classes,)
    class_prior_ : array of shape (n_classes,)
    deviations_ : array of shape (n_classes, n_features)
        Differences of the centroids from the overall mean in units of their standard errors.
    within_class_std_dev_ : array of shape (n_features,)
        Pooled standard deviations within the classes.

    Examples
    --------
    >>> X, y = [[-1, -1], [-2, -1], [1, 1], [2, 1]], ["a", "a", "b", "b"]
    >>> NearestCentroid().fit(X, y).predict([[-0.8, -1]])
    array(['a'], dtype='<U1')
    """

    batch_rounding = 1e-12
    width_checked_attributes = ("centroids_",)
    fitted_shapes = {
        "centroids_": Floats("classes features", finite=True),
        "class_prior_": "classes",
        "within_class_std_dev_": "features",
    }
    largest_value = LARGE

    def __init__(
        self,
        metric: Literal["euclidean", "manhattan"] = "euclidean",
        *,
        shrink_threshold: Positive | None = None,
        priors: Literal["uniform", "empirical"] | list | tuple | np.ndarray = "uniform",
    ) -> None:
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors

    centroids_: np.ndarray

    def _encode(self, y: Any) -> np.ndarray:
        try:
            return super()._encode(y)
        except ValueError as error:
            if "only one class" in str(error):
                raise ValueError(
                    f"The number of classes has to be greater than one; got 1 class. {error}"
                ) from None
            raise

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        n, k = X.shape[0], len(self.classes_)
        weight = np.ones(n) if sample_weight is None else sample_weight.astype(np.float64)
        mass = np.bincount(y, weight, k)
        if (mass == 0).any():
            raise ValueError(
                f"NearestCentroid: class {self.classes_.tolist()[mass.argmin()]!r} has no weight."
            )
        self.class_prior_ = self._priors(mass)
        means, scatter, width = np.zeros((k, X.shape[1])), np.zeros(X.shape[1]), np.zeros(X.shape[1])
        if self.metric == "manhattan":
            self._medians(X, y, weight, mass, means, scatter, width)
        elif sparse.issparse(X):
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            packed = rows(X)
            sparse_means(packed, y, weight, mass, means)
            sparse_scatter(packed, y, weight, means, scatter, width)
            self.centroids_ = means.copy()
        else:
            X = read_only(np.ascontiguousarray(X))
            dense_means(X, y, weight, mass, means)
            dense_scatter(X, y, weight, means, scatter, width)
            self.centroids_ = means.copy()
        if not width.any():
            raise ValueError("NearestCentroid: All features have zero variance. Division by zero.")
        self._shrink(scatter, mass, mass @ means / mass.sum())

    def _medians(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        mass: np.ndarray,
        means: np.ndarray,
        scatter: np.ndarray,
        width: np.ndarray,
    ) -> None:
        """The medians as centroids; into the last three: class means, scatter about the medians, ranges."""
        self.centroids_ = np.empty(means.shape)
        for here, block in column_blocks(X):
            for c in range(len(mass)):
                some = y == c
                means[c, here] = weight[some] @ block[some] / mass[c]
                self.centroids_[c, here] = weighted_medians(block[some], weight[some])
            scatter[here] = weight @ (block - self.centroids_[y, here]) ** 2
            seen = block[weight > 0]
            width[here] = seen.max(axis=0) - seen.min(axis=0)

    def _priors(self, mass: np.ndarray) -> np.ndarray:
        """The parameter `priors` as an array."""
        if isinstance(self.priors, str):
            return mass / mass.sum() if self.priors == "empirical" else np.full(mass.size, 1 / mass.size)
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != mass.shape:
            raise ValueError(
                f"NearestCentroid: priors must have {mass.size} entries, one for each class; got {self.priors!r}."
            )
        if (priors < 0).any():
            raise ValueError(f"NearestCentroid: priors must be non-negative; got {self.priors!r}.")
        if not np.isclose(priors.sum(), 1.0):
            warnings.warn(
                "The priors do not sum to 1. Normalizing such that it sums to one.", UserWarning, stacklevel=6
            )
        return priors / priors.sum()

    def _shrink(self, scatter: np.ndarray, mass: np.ndarray, mean: np.ndarray) -> None:
        """Deviations of the centroids from the overall mean, and the centroids moved towards it."""
        n, k = mass.sum(), mass.size
        freedom = n - k
        self.within_class_std_dev_ = np.sqrt(scatter / freedom) if freedom > 0 else np.zeros(scatter.size)
        if (self.within_class_std_dev_ == 0).any():
            warnings.warn(
                "self.within_class_std_dev_ has at least 1 zero standard deviation. Inputs within the same classes "
                "for at least 1 feature are identical.",
                stacklevel=6,
            )
        spread = self.within_class_std_dev_ + np.median(self.within_class_std_dev_)
        error = np.sqrt(1 / mass - 1 / n)[:, None] * spread
        # where nothing varies within the classes there is no unit to measure deviations in, and nothing shrinks
        known, apart = error > 0, self.centroids_ - mean
        with np.errstate(over="ignore"):
            self.deviations_ = np.divide(apart, error, out=np.zeros_like(apart), where=known)
        if self.shrink_threshold:
            size = np.maximum(np.abs(self.deviations_) - self.shrink_threshold, 0.0)
            self.deviations_ = np.sign(self.deviations_) * size
            self.centroids_ = np.where(known, mean + error * self.deviations_, self.centroids_)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_queries, n_features)
            The rows.

        Returns
        -------
        y : array of shape (n_queries,)
        """
        check_is_fitted(self)
        if not np.isclose(self.class_prior_, 1 / len(self.classes_)).all():
            return self.classes_[self._scores(X).argmax(axis=1)]
        X = self._check(X, reset=False)
        if self.metric == "euclidean" and not sparse.issparse(X) and len(self.classes_) <= FEW:
            nearest = np.empty(X.shape[0], dtype=np.int64)
            with np.errstate(over="ignore", under="ignore"):  # as plain Python; it says so where they decide
                found = nearest_point(read_only(np.ascontiguousarray(X)), read_only(self.centroids_), nearest)
            if found:
                return self.classes_[nearest]
        if self.metric == "euclidean" and sparse.issparse(X) and len(self.classes_) <= FEW:
            nearest = np.empty(X.shape[0], dtype=np.int64)
            with np.errstate(over="ignore", under="ignore"):
                found = nearest_point_sparse(rows(X), self.centroids_, nearest)
            if found:
                return self.classes_[nearest]
        return self.classes_[NeighborIndex(self.centroids_, self.metric).query(X, 1)[1][:, 0]]

    def _scores(self, X: Any) -> np.ndarray:
        """-d(x, m_c)² in units of the standard deviations + 2 log prior."""
        check_is_fitted(self)
        X = self._check(X, reset=False)
        unit = np.where(self.within_class_std_dev_ > 0, self.within_class_std_dev_, 1.0)
        X = (X.toarray() if sparse.issparse(X) else X) / unit
        with np.errstate(divide="ignore"):
            prior = 2 * np.log(self.class_prior_)
        with np.errstate(over="ignore"):
            squares = pairwise_distances(X, self.centroids_ / unit, self.metric) ** 2
        return prior - finite_predictions(squares, type(self).__name__)

    def _is_euclidean(self) -> bool:
        return self.metric == "euclidean"

    @available_if(_is_euclidean)
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes; of two classes, the second's less the first's."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    @available_if(_is_euclidean)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, proportional to the exponentials of the scores."""
        return np.exp(self.predict_log_proba(X))

    @available_if(_is_euclidean)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes."""
        return log_softmax(self._scores(X), axis=1)


def column_blocks(X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """The columns of X as dense blocks of double precision, with their places."""
    if not sparse.issparse(X):
        yield slice(0, X.shape[1]), X.astype(np.float64, copy=False)
        return
    X = X.tocsc()
    for start in range(0, X.shape[1], BLOCK):
        here = slice(start, min(start + BLOCK, X.shape[1]))
        yield here, X[:, here].toarray().astype(np.float64, copy=False)


def weighted_medians(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The median of each column; a row of weight 2 is as good as two rows."""
    rows, weight = rows[weight > 0], weight[weight > 0]
    order = np.argsort(rows, axis=0, kind="stable")
    height = np.cumsum(weight[order], axis=0)
    half = height[-1] / 2
    low = (height < half).sum(axis=0)  # the first row that reaches the half
    exact = np.isclose(np.take_along_axis(height, low[None], axis=0)[0], half, rtol=1e-12, atol=0.0)
    high = np.minimum(low + exact, len(rows) - 1)
    pair = [
        np.take_along_axis(rows, np.take_along_axis(order, i[None], axis=0), axis=0)[0] for i in (low, high)
    ]
    return (pair[0] + pair[1]) / 2
