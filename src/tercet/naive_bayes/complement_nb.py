"""Complement naive Bayes (补集朴素贝叶斯): each class by the distribution of all other classes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs
from tercet.core.scaling import LARGE
from tercet.naive_bayes._engine.class_sums import dot, split_missing
from tercet.naive_bayes.base import check_class_prior
from tercet.naive_bayes.discrete_nb import Alpha, DiscreteNB, log_shares
from tercet.naive_bayes.multinomial_nb import log_known_share


@method(
    zh="补集朴素贝叶斯",
    task="classification",
    approach="generative",
    model="f(x) = argmin_c Σ_j x_j log θ_~cj, θ_~c of the rows that are not in class c",
    strategy="maximum likelihood (alpha = 0) or its Bayesian estimate with alpha added to every count",
    algorithms="sums of the counts by class, in one pass",
    texts=["watermelon notes ch. 5, sec. 5.3, 5.4"],
    peers=["sklearn.naive_bayes.ComplementNB"],
)
class ComplementNB(DiscreteNB):
    """Naive Bayes for counts whose classes are of very different size.

    A class is judged by the rows outside it: θ_~cj = (N_~cj + α) / Σ_j (N_~cj + α), and the score of class c is
    -Σ_j x_j log θ_~cj; the prior plays no part. With α = 0 a row with a feature that no other class has is
    certainly of its class. A count that is not known (NaN) is left out of the sums, and a row is predicted as by a
    model that never had the feature.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        What is added to every count: 1 is Laplace's smoothing, 0 maximum likelihood.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to that.
    fit_prior : bool, default=True
        Only for `class_log_prior_`, which has no part in the prediction.
    class_prior : array of shape (n_classes,), optional
        Only for `class_log_prior_` too.
    norm : bool, default=False
        Whether the weights of each class are divided by their sum.
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
        Weighted sums of the features by class.
    feature_all_ : array of shape (n_features,)
        Weighted sums of the features.
    feature_log_prob_ : array of shape (n_classes, n_features)
        The weights, -log θ_~cj.

    Examples
    --------
    >>> X = [[2, 1, 0], [1, 1, 0], [0, 1, 3]]
    >>> model = ComplementNB().fit(X, ["sport", "sport", "music"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]])
    array(['sport', 'music'], dtype='<U5')
    >>> np.exp(-model.feature_log_prob_).round(3)
    array([[0.5  , 0.375, 0.125],
           [0.143, 0.286, 0.571]])
    """

    positive_only = True
    largest_value = LARGE

    def __init__(
        self,
        *,
        alpha: Alpha = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ArrayLike = None,
        norm: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.n_jobs = n_jobs

    fitted_shapes = {"feature_all_": "features"}

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._reset_counts(X.shape[1])
        self._partial_fit(X, y, sample_weight)

    def _partial_fit(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        alpha, prior = self._check_alpha(), check_class_prior(self)  # errors come before anything is counted
        self._add_counts(X, y, weight)
        self.feature_all_ = self.feature_count_.sum(axis=0)
        logs = self._complement_log_prob(alpha)
        self.feature_log_prob_ = normalised_weights(logs) if self.norm else -logs
        self.class_log_prior_ = self._log_prior(prior)

    def _complement_log_prob(self, alpha: Any) -> np.ndarray:
        """log θ_~cj, θ_~cj = (N_~cj + α) / Σ_j (N_~cj + α).

        N_~cj is summed over the other classes: the difference N_j - N_cj would not be exactly 0 where it should.
        """
        counts = self.feature_count_
        others = np.zeros_like(counts)
        np.cumsum(counts[:-1], axis=0, out=others[1:])
        others[:-1] += np.cumsum(counts[:0:-1], axis=0)[::-1]
        return log_shares(others + alpha)

    def _tables(self, X: Any) -> tuple[Any, ...]:
        W = np.ascontiguousarray(self.feature_log_prob_.T, dtype=np.float64)
        certain = np.isposinf(W)
        logs = functools.cache(lambda: np.ascontiguousarray(self._complement_log_prob(self._check_alpha()).T))
        if not certain.any():
            return W, None, logs
        return np.where(certain, 0.0, W), certain.astype(np.float64), logs

    def _score(self, X: Any, W: Any, certain: Any, logs: Callable[[], Any]) -> np.ndarray:
        """-Σ_j x_j log θ_~cj; W holds -log θ_~cj, with 0 for inf, which `certain` marks."""
        X, missing = split_missing(X)
        scores = dot(X, W)
        if missing is not None:
            scores = self._without_missing(X, missing, scores, logs())
        if certain is not None:
            own = dot(X, certain) > 0
            scores[own.any(axis=1, keepdims=True) & ~own] = -np.inf
        if self.classes_.size == 1:
            scores += self.class_log_prior_
        return scores

    def _without_missing(self, X: Any, missing: Any, scores: np.ndarray, logs: np.ndarray) -> np.ndarray:
        """Scores by the weights of a model that never had the missing features."""
        length = np.asarray(X.sum(axis=1)).reshape(-1, 1)
        rest = log_known_share(missing, np.exp(logs))
        if not self.norm:
            return scores + length * rest
        finite = np.isfinite(logs).all(axis=0)  # with alpha = 0 the other classes keep their weights
        logs = np.where(finite, logs, 0.0)
        n_known = X.shape[1] - np.asarray(missing.sum(axis=1)).reshape(-1, 1)
        total = logs.sum(axis=0) - dot(missing, logs) - n_known * rest
        parts = dot(X, logs) - length * rest
        nonzero = np.abs(total) > 1e-9  # the logarithm of a single known feature is 0
        return np.where(finite, np.divide(parts, total, out=np.zeros_like(parts), where=nonzero), scores)


def normalised_weights(logs: np.ndarray) -> np.ndarray:
    """Each class's weights over their sum; in the limit of small alpha, features of probability 0 have it all."""
    never = np.isneginf(logs)
    logs = np.where(never.any(axis=1, keepdims=True), never * 1.0, logs)
    total = logs.sum(axis=1, keepdims=True)  # 0 for a single feature, whose logarithm is 0
    return np.divide(logs, total, out=np.zeros_like(logs), where=total != 0)
