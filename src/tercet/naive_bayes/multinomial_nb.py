"""Multinomial naive Bayes (多项式朴素贝叶斯): a row is a bag of words drawn from its class's distribution."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs
from tercet.core.rows import kernel_form
from tercet.core.scaling import LARGE
from tercet.naive_bayes._engine.class_sums import dot, split_missing
from tercet.naive_bayes.base import add_to_rows, check_class_prior
from tercet.naive_bayes.discrete_nb import Alpha, DiscreteNB, log_shares


@method(
    zh="多项式朴素贝叶斯",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_j θ_cj^x_j",
    strategy="maximum likelihood (alpha = 0) or its Bayesian estimate with alpha added to every count",
    loss="log",
    convex=False,
    algorithms="sums of the counts by class, in one pass",
    texts=["watermelon notes ch. 5, sec. 5.3, 5.4", "Li ch. 4, sec. 4.2.1, 4.2.3"],
    peers=["sklearn.naive_bayes.MultinomialNB"],
)
class MultinomialNB(DiscreteNB):
    """Naive Bayes for counts, such as the words of texts.

    θ_cj = (N_cj + α) / Σ_j (N_cj + α), with N_cj the sum of feature j over the rows of class c. With α = 0 a class
    that never had a feature is impossible where the feature is; where all classes are impossible the posterior is
    the prior. A count that is not known (NaN) is left out of the sums, and a row is predicted as by a model that
    never had the feature.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        What is added to every count (the λ of Li ch. 4): 1 is Laplace's smoothing, 0 maximum likelihood.
    force_alpha : bool, default=True
        If False, an alpha below 1e-10 is raised to that.
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
        Weighted sums of the features by class, N_cj.
    feature_log_prob_ : array of shape (n_classes, n_features)
        log θ_cj.

    Examples
    --------
    >>> X = [[2, 1, 0], [1, 1, 0], [0, 1, 3]]
    >>> model = MultinomialNB().fit(X, ["sport", "sport", "music"])
    >>> model.predict([[1, 0, 0], [0, 0, 1]])
    array(['sport', 'music'], dtype='<U5')
    >>> np.exp(model.feature_log_prob_).round(3)
    array([[0.143, 0.286, 0.571],
           [0.5  , 0.375, 0.125]])
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
        n_jobs: Jobs = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._reset_counts(X.shape[1])
        self._partial_fit(X, y, sample_weight)

    def _partial_fit(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        alpha, prior = self._check_alpha(), check_class_prior(self)  # errors come before anything is counted
        self._add_counts(X, y, weight)
        # (4.10), λ = α: θ_cj = (N_cj + α) / Σ_j (N_cj + α); α = 0 is (4.9), maximum likelihood
        self.feature_log_prob_ = log_shares(self.feature_count_ + alpha)
        self.class_log_prior_ = self._log_prior(prior)

    def _tables(self, X: Any) -> tuple[Any, ...]:
        W = np.ascontiguousarray(self.feature_log_prob_.T, dtype=np.float64)
        theta = functools.cache(lambda: np.exp(W))  # computed only where values are missing
        impossible = np.isneginf(W)
        if not impossible.any():
            return W, None, theta
        return np.where(impossible, 0.0, W), impossible.astype(np.float64), theta

    def _score(self, X: Any, W: Any, impossible: Any, theta: Callable[[], Any]) -> np.ndarray:
        """log P(c) + Σ_j x_j log θ_cj; W holds log θ_cj, with 0 for -inf, which `impossible` marks."""
        X, missing = split_missing(X)
        joint = dot(X, W)
        add_to_rows(joint, kernel_form(self.class_log_prior_))
        if missing is not None:
            joint -= np.asarray(X.sum(axis=1)).reshape(-1, 1) * log_known_share(missing, theta())
        if impossible is not None:
            joint[dot(X, impossible) > 0] = -np.inf
        return joint


def log_known_share(missing: Any, theta: np.ndarray) -> np.ndarray:
    """Logarithm of the probability that each class gives to the features that are known in each row.

    What is known of a bag of words is a bag of the known words: their probabilities are to sum to 1. (Where a
    class gives them none there is nothing to divide by: 0.)
    """
    rest = 1.0 - dot(missing, theta)
    return np.log(np.where(rest > 0, rest, 1.0))
