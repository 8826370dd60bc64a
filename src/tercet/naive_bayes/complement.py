"""Complement naive Bayes (补集朴素贝叶斯): how badly a row fits the rows of all other classes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs
from tercet.naive_bayes.discrete import Alpha, DiscreteNB, dot
from tercet.naive_bayes.multinomial import log_rest, log_shares


@method(
    zh="补集朴素贝叶斯",
    task="classification",
    approach="generative",
    model="f(x) = argmin_c Σ_j x_j log θ_~cj, θ_~c of the rows that are not in class c",
    strategy="maximum likelihood (alpha = 0) or its Bayesian estimate with alpha added to every count",
    algorithms="sums of the counts by class, in one pass",
    texts=["002 ch. 5, sec. 5.3, 5.4"],
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

    def _update(self, alpha: Any) -> None:
        self.feature_all_ = self.feature_count_.sum(axis=0)
        logs = self._logs(alpha)
        if not self.norm:
            self.feature_log_prob_ = -logs
            return
        never = np.isneginf(logs)  # as with ever smaller alpha, those have all the weight
        logs = np.where(never.any(axis=1, keepdims=True), never * 1.0, logs)
        whole = logs.sum(axis=1, keepdims=True)  # 0 where there is but one feature, whose logarithm is 0
        self.feature_log_prob_ = np.divide(logs, whole, out=np.zeros_like(logs), where=whole != 0)

    def _logs(self, alpha: Any) -> np.ndarray:
        """log θ_~cj, from sums of the other classes: what is left of a difference is not zero where it should."""
        counts = self.feature_count_
        others = np.zeros_like(counts)
        np.cumsum(counts[:-1], axis=0, out=others[1:])
        others[:-1] += np.cumsum(counts[:0:-1], axis=0)[::-1]
        return log_shares(others + alpha)

    def _tables(self, X: Any) -> tuple[Any, ...]:
        W = np.ascontiguousarray(self.feature_log_prob_.T, dtype=np.float64)
        sure = np.isposinf(W)
        logs = functools.cache(lambda: np.ascontiguousarray(self._logs(self._alpha()).T))
        if not sure.any():
            return W, None, logs
        return np.where(sure, 0.0, W), sure.astype(np.float64), logs

    def _evidence(self, X: Any, unknown: Any, W: Any, sure: Any, logs: Any) -> np.ndarray:
        scores = dot(X, W)
        if unknown is not None:
            scores = self._without(X, unknown, scores, logs())
        if sure is not None:
            mine = dot(X, sure) > 0
            scores[mine.any(axis=1, keepdims=True) & ~mine] = -np.inf
        if self.classes_.size == 1:
            scores += self.class_log_prior_
        return scores

    def _without(self, X: Any, unknown: Any, scores: np.ndarray, logs: np.ndarray) -> np.ndarray:
        """Scores by the weights that there would be, had the features that are not known never been there."""
        length = np.asarray(X.sum(axis=1)).reshape(-1, 1)
        rest = log_rest(unknown, np.exp(logs))
        if not self.norm:
            return scores + length * rest
        plain = np.isfinite(logs).all(axis=0)  # alpha = 0 leaves other classes their weights
        logs = np.where(plain, logs, 0.0)
        known = X.shape[1] - np.asarray(unknown.sum(axis=1)).reshape(-1, 1)
        whole = logs.sum(axis=0) - dot(unknown, logs) - known * rest
        parts = dot(X, logs) - length * rest
        some = np.abs(whole) > 1e-9  # one feature that is left has the logarithm 0
        return np.where(plain, np.divide(parts, whole, out=np.zeros_like(parts), where=some), scores)
