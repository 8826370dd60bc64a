"""The piecewise-linear distance classifier (分段线性距离分类器): several means for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted, generator
from tercet.core.fitted_checks import Floats
from tercet.core.folds import take_rows
from tercet.core.functions import log_softmax
from tercet.core.parameters import Jobs, Seed
from tercet.core.validation import finite_predictions
from tercet.discriminant_analysis.subclasses import (
    SubclassClassifier,
    SubclassCounts,
    Subclasses,
    divided_classes,
)
from tercet.metrics.distance import pairwise_distances


@method(
    zh="分段线性距离分类器",
    task="classification",
    model="y = argmin_i g_i(x), g_i(x) = min_l ‖x - m_iˡ‖: the class of the nearest subclass mean",
    strategy="each class is divided into subclasses of one mode, which their means represent",
    algorithms="k-means within each class; or given subclasses, or given means",
    texts=["Pattern Recognition ch. 5, sec. 5.2.1, eq. 5-1"],
)
class PiecewiseLinearDistance(SubclassClassifier):
    """Piecewise-linear distance classifier: the class of the nearest of several means per class.

    The discriminant of class i is the distance to the nearest mean of its subclasses, g_i(x) = min_l ‖x - m_iˡ‖;
    the smallest wins. The boundary consists of pieces of hyperplanes, each the perpendicular bisector of two means.
    With one subclass per class it is the minimum-distance classifier (`tercet.neighbors.NearestCentroid`).

    Parameters
    ----------
    n_subclasses : int, dict or list, default=2
        Subclasses of each class: one number; a dict from classes to numbers; or a list of such, of which
        cross-validation chooses the best. A class has at most as many subclasses as distinct rows.
    means : dict, optional
        Given subclass means, in place of k-means: a dict from each class to an array of shape (l_i, n_features).
    cv : int, splitter or list of splits, default=5
        The folds that choose among several `n_subclasses`.
    random_state : int, optional
        Seed of k-means and of the folds' fits.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    subclass_means_ : array of shape (n_subclasses, n_features)
        The means m_iˡ, those of the first class first.
    subclass_labels_ : array of shape (n_subclasses,)
        The class of each.
    n_subclasses_ : array of shape (n_classes,)
        The number of subclasses of each class.
    variance_ : float
        The variance of a feature about the means of the subclasses, the same for all; `predict_proba` uses it.
    classes_ : array of shape (n_classes,)
        The labels.
    best_n_subclasses_ : int or dict
        The chosen candidate, if there were several.
    cv_scores_ : array of shape (n_candidates, n_folds)
        The accuracy of each candidate on each fold, if there were several.

    Examples
    --------
    >>> X, y = [[0, 0], [1, 0], [4, 5], [5, 4], [4, 0], [5, 1]], [1, 1, 1, 1, 2, 2]
    >>> model = PiecewiseLinearDistance({1: 2, 2: 1}, random_state=0).fit(X, y)
    >>> model.subclass_means_
    array([[0.5, 0. ],
           [4.5, 4.5],
           [4.5, 0.5]])
    >>> model.predict([[1, 1], [3, 1], [4, 3]])
    array([1, 2, 1])
    """

    width_checked_attributes = ("subclass_means_",)
    fitted_shapes = {
        "subclass_means_": Floats("subclasses features", finite=True),
        "variance_": Floats("", low=0.0),
    }

    def __init__(
        self,
        n_subclasses: SubclassCounts = 2,
        *,
        means: dict | None = None,
        cv: Any = 5,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_subclasses = n_subclasses
        self.means = means
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs

    subclass_means_: np.ndarray
    variance_: float

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, subclasses: Any = None) -> None:
        given = self._given_subclasses(subclasses, y)
        if sample_weight is not None and not (sample_weight > 0).all():
            there = np.flatnonzero(sample_weight > 0)
            X, y, sample_weight = take_rows(X, there), y[there], sample_weight[there]
            given = None if given is None else given[there]
        self._check_classes(y)
        if self.means is not None:
            found, means = self._given_means(X.shape[1])
            number = pairwise_distances(_dense(X), means).argmin(axis=1)
        else:
            if given is None:
                counts = self._chosen_counts(X, y, sample_weight, self.n_jobs)
                given = divided_classes(
                    X, y, sample_weight, counts, generator(self.random_state), self.n_jobs
                )
            found, number = Subclasses.of_rows(y, given, self.classes_.size)
            means = found.means(X, number, sample_weight)[1]
        self.n_subclasses_, self.subclass_labels_ = found.counts, self.classes_[found.owner]
        self.subclass_means_ = means.astype(X.dtype, copy=False)
        self.variance_ = _variance(X, means[number], sample_weight)

    def _check_classes(self, y: np.ndarray) -> None:
        missing = np.setdiff1d(np.arange(self.classes_.size), y)
        if missing.size:
            label = self.classes_.tolist()[missing[0]]
            raise ValueError(f"PiecewiseLinearDistance: class {label!r} has no row of positive weight.")

    def _given_means(self, width: int) -> tuple[Subclasses, np.ndarray]:
        """The parameter `means` as one array, with the number of means of each class."""
        tables = []
        for label in self.classes_.tolist():
            table = np.asarray(self.means.get(label, ()), dtype=np.float64)  # type: ignore[union-attr]
            if table.ndim != 2 or not len(table) or table.shape[1] != width or not np.isfinite(table).all():
                raise ValueError(
                    f"PiecewiseLinearDistance: means must give class {label!r} an array of at least one mean of "
                    f"{width} features; got {self.means.get(label)!r}."  # type: ignore[union-attr]
                )
            tables.append(table)
        return Subclasses(np.array([len(table) for table in tables])), np.concatenate(tables)

    def distances(self, X: Any) -> np.ndarray:
        """The discriminants g_i(x): the distance from each row to the nearest mean of each class.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        distances : array of shape (n_samples, n_classes)
        """
        return -self._class_scores(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """The negative squares of the discriminants g_i; of two classes, the second's less the first's.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
        """
        squares = self._class_scores(X) ** 2
        return squares[:, 0] - squares[:, 1] if self.classes_.size == 2 else -squares

    def _subclass_scores(self, X: Any) -> np.ndarray:
        X = self._check(X, reset=False)
        return -pairwise_distances(_dense(X), self.subclass_means_, n_jobs=self.n_jobs)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        log_proba : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "subclass_means_")
        squares = self._class_scores(X) ** 2
        apart = finite_predictions(squares - squares.min(axis=1, keepdims=True), type(self).__name__)
        if self.variance_ > 0:
            with np.errstate(over="ignore"):
                return log_softmax(-apart / (2 * self.variance_), axis=1)
        with np.errstate(divide="ignore"):  # the limit: the nearest classes share the probability
            return np.log((apart == 0) / (apart == 0).sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: normal distributions of one variance about the nearest means, equal priors.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        proba : array of shape (n_samples, n_classes)
        """
        return np.exp(self.predict_log_proba(X))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else X


def _variance(X: Any, centre: np.ndarray, weight: np.ndarray | None) -> float:
    """The weighted mean square of a feature's deviation from the mean of its row's subclass."""
    squares = ((_dense(X) - centre) ** 2).mean(axis=1, dtype=np.float64)
    return float(np.average(squares, weights=weight))
