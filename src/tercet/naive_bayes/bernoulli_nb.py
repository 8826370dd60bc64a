"""Bernoulli naive Bayes (伯努利朴素贝叶斯): binary features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.parameters import ArrayLike, Jobs, NonNegative
from tercet.core.rows import kernel_form
from tercet.core.streams import is_streamed
from tercet.naive_bayes._engine.class_sums import class_sums, csr_like, dot, missing_sums, split_missing
from tercet.naive_bayes.base import add_to_rows, check_class_prior, log
from tercet.naive_bayes.discrete_nb import Alpha, DiscreteNB


@method(
    zh="伯努利朴素贝叶斯",
    task="classification",
    approach="generative",
    model="P(c | x) ∝ P(c) Π_j θ_cj^x_j (1-θ_cj)^(1-x_j), x_j in {0, 1}",
    strategy="maximum likelihood (alpha = 0) or its Bayesian estimate with alpha added to both counts",
    loss="log",
    convex=False,
    algorithms="counts by class, in one pass",
    texts=["watermelon notes ch. 5, sec. 5.3, 5.4", "Li ch. 4, sec. 4.2.1, 4.2.3"],
    peers=["sklearn.naive_bayes.BernoulliNB"],
)
class BernoulliNB(DiscreteNB):
    """Naive Bayes for binary features, which are present or absent.

    θ_cj = (N_cj + α) / (N_c + 2α), with N_c the rows of class c in which feature j is known and N_cj those that
    have it. With α = 0 some classes may be impossible; where all are, the posterior is the prior. A feature that is
    not known (NaN) says nothing.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        What is added to the counts of 1 and of 0 (the λ of Li ch. 4): 1 is Laplace's smoothing, 0 maximum
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

    fitted_shapes = {"missing_count_": "classes features"}

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        self._reset_counts(X.shape[1])
        self.missing_count_ = np.zeros_like(self.feature_count_)
        self._partial_fit(X, y, sample_weight)

    def _partial_fit(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        alpha, prior = self._check_alpha(), check_class_prior(self)  # errors come before anything is counted
        if is_streamed(X):
            X = X.map(self._binarized, width=X.shape[1])
            self.missing_count_ += missing_sums(X, y, weight, self.classes_.size, self.n_jobs)
            missing = None
        else:
            X = self._binarized(X)
            _, missing = split_missing(X)
        self._add_counts(X, y, weight)
        if missing is not None:
            self.missing_count_ += class_sums(missing, y, weight, self.classes_.size, self.n_jobs)
        self.feature_log_prob_ = np.minimum(log(self._probabilities(alpha)), 0.0)
        self.class_log_prior_ = self._log_prior(prior)

    def _probabilities(self, alpha: Any) -> np.ndarray:
        """(4.10), λ = α and S = 2: θ_cj = (N_cj + α) / (N_c + 2α), N_c the rows in which feature j is known.

        Without counts and α, in the limit of small α, it is 1/2.
        """
        known = self.class_count_[:, None] - self.missing_count_
        ones, both = self.feature_count_ + alpha, np.maximum(known, 0.0) + 2 * alpha
        return np.divide(ones, both, out=np.full(ones.shape, 0.5), where=both > 0)

    def _binarized(self, X: Any) -> Any:
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
        return csr_like(X, ones) if sparse.issparse(X) else ones

    def _tables(self, X: Any) -> tuple[Any, ...]:
        log_one = np.ascontiguousarray(self.feature_log_prob_.T, dtype=np.float64)
        log_zero = log(-np.expm1(log_one))
        never_one, never_zero = np.isneginf(log_one), np.isneginf(log_zero)
        log_one, log_zero = np.where(never_one, 0.0, log_one), np.where(never_zero, 0.0, log_zero)
        impossible = (never_one * 1.0, never_zero * 1.0) if never_one.any() or never_zero.any() else None
        return log_one, log_zero, impossible

    def _score(self, X: Any, log_one: Any, log_zero: Any, impossible: Any) -> np.ndarray:
        """log P(c) + Σ_j x_j log θ_cj + (1-x_j) log (1-θ_cj)."""
        X, missing = split_missing(self._binarized(X))
        joint = _over_features(X, missing, log_one, log_zero, kernel_form(self.class_log_prior_))
        if impossible is not None:
            # more than rounding may leave behind; a value between 0 and 1 counts for both
            joint[_over_features(X, missing, *impossible) > 1e-6] = -np.inf
        return joint


def _over_features(X: Any, missing: Any, one: np.ndarray, zero: np.ndarray, start: Any = 0.0) -> np.ndarray:
    """start + Σ_j x_j one_j + (1-x_j) zero_j over the known features."""
    found = dot(X, one - zero)
    add_to_rows(found, kernel_form(zero.sum(axis=0) + start))
    return found if missing is None else found - dot(missing, zero)
