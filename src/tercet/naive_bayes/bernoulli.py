"""Bernoulli naive Bayes (伯努利朴素贝叶斯): which features are there, and which are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs, NonNegative
from tercet.naive_bayes.base import log
from tercet.naive_bayes.discrete import Alpha, DiscreteNB, class_sums, dot, split, with_data


@method(
    zh="伯努利朴素贝叶斯",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_j θ_cj^x_j (1-θ_cj)^(1-x_j), x_j in {0, 1}",
    strategy="maximum likelihood (alpha = 0) or its Bayesian estimate with alpha added to both counts",
    algorithms="counts by class, in one pass",
    texts=["002 ch. 5, sec. 5.3, 5.4", "000 ch. 4, sec. 4.2.1, 4.2.3"],
    peers=["sklearn.naive_bayes.BernoulliNB"],
)
class BernoulliNB(DiscreteNB):
    """Naive Bayes for features that are there or not.

    θ_cj = (N_cj + α) / (N_c + 2α), with N_c the rows of class c in which feature j is known and N_cj those that
    have it. With α = 0 some classes may be impossible; where all are, the posterior is the prior. A feature that is
    not known (NaN) says nothing.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        What is added to the counts of 1 and of 0 (the λ of 000 ch. 4): 1 is Laplace's smoothing, 0 maximum
        likelihood.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to that.
    binarize : float or None, default=0.0
        Values above it are 1, others 0. None takes X as it is: numbers from 0 to 1.
    fit_prior : bool, default=True
        Whether the prior probabilities are the shares of the classes, or all the same.
    class_prior : array of shape (n_classes,), optional
        Prior probabilities to use in place of those.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
        Logarithms of the prior probabilities.
    feature_count_ : array of shape (n_classes, n_features)
        Weight of the rows of each class that have the feature, N_cj.
    missing_count_ : array of shape (n_classes, n_features)
        Weight of the rows of each class in which the feature is not known.
    feature_log_prob_ : array of shape (n_classes, n_features)
        log θ_cj.

    Examples
    --------
    >>> X = [[1, 0], [1, 1], [0, 1], [0, 1]]
    >>> model = BernoulliNB().fit(X, ["a", "a", "b", "b"])
    >>> model.predict([[1, 1], [0, 1]])
    array(['a', 'b'], dtype='<U1')
    >>> np.exp(model.feature_log_prob_)
    array([[0.75, 0.5 ],
           [0.25, 0.75]])
    """

    def __init__(
        self,
        *,
        alpha: Alpha = 1.0,
        force_alpha: bool = True,
        binarize: NonNegative | None = 0.0,
        fit_prior: bool = True,
        class_prior: ArrayLike = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    def _binary(self, X: Any) -> Any:
        values = X.data if sparse.issparse(X) else X
        if self.binarize is None:
            if (
                np.fmin.reduce(values, axis=None, initial=0) < 0
                or np.fmax.reduce(values, axis=None, initial=0) > 1
            ):
                raise ValueError("BernoulliNB: with binarize=None all values of X must be from 0 to 1.")
            return X
        ones = (values > self.binarize).astype(X.dtype)
        ones[np.isnan(values)] = np.nan
        return with_data(X, ones) if sparse.issparse(X) else ones

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self.missing_count_ = np.zeros((self.classes_.size, X.shape[1]))
        super()._fit(X, y, sample_weight)

    def _count(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        X = self._binary(X)
        _, unknown = split(X)
        if unknown is not None:
            self.missing_count_ += class_sums(unknown, y, weight, self.classes_.size, self.n_jobs)
        super()._count(X, y, weight)

    def _score(self, chunk: tuple[Any], *tables: Any) -> np.ndarray:
        return super()._score((self._binary(chunk[0]),), *tables)

    def _update(self, alpha: Any) -> None:
        known = self.class_count_[:, None] - self.missing_count_
        ones, both = self.feature_count_ + alpha, np.maximum(known, 0.0) + 2 * alpha
        # with nothing counted and nothing added, as with ever smaller alpha, 1 is as probable as 0
        theta = np.divide(ones, both, out=np.full(ones.shape, 0.5), where=both > 0)
        self.feature_log_prob_ = np.minimum(log(theta), 0.0)  # sums of weights may differ in the last digit

    def _tables(self, X: Any) -> tuple[Any, ...]:
        there = np.ascontiguousarray(self.feature_log_prob_.T, dtype=np.float64)
        away = log(-np.expm1(there))
        sure = [np.isneginf(there), np.isneginf(away)]
        there, away = np.where(sure[0], 0.0, there), np.where(sure[1], 0.0, away)
        never = (sure[0] * 1.0, sure[1] * 1.0) if any(s.any() for s in sure) else None
        return there, away, never

    def _evidence(self, X: Any, unknown: Any, there: Any, away: Any, never: Any) -> np.ndarray:
        joint = _over_features(X, unknown, there, away) + self.class_log_prior_
        if (
            never is not None
        ):  # more than what sums may leave behind; values between 0 and 1 are a share of both
            joint[_over_features(X, unknown, *never) > 1e-6] = -np.inf
        return joint


def _over_features(X: Any, unknown: Any, there: np.ndarray, away: np.ndarray) -> np.ndarray:
    """Σ_j x_j there_j + (1-x_j) away_j over the features that are known."""
    found = dot(X, there - away) + away.sum(axis=0)
    return found if unknown is None else found - dot(unknown, away)
