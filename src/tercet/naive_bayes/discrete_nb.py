"""Base class of naive Bayes for counts and indicators: sums of the features by class, smoothing and priors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tercet.core.parameters import NonNegative
from tercet.core.row_sums import class_masses
from tercet.naive_bayes._engine.class_sums import class_sums
from tercet.naive_bayes.base import BayesClassifier, PartialFitMixin, as_numbers, log

Alpha = NonNegative | list | tuple | np.ndarray
LEAST_ALPHA = 1e-10


class DiscreteNB(PartialFitMixin, BayesClassifier):
    """Naive Bayes whose estimates are made of N_c, the weight of class c, and N_cj, the sum of feature j over its
    rows. A missing value (NaN) adds nothing to the sums."""

    missing_input = True
    streaming = True
    width_checked_attributes = ("feature_log_prob_",)
    fitted_shapes = {"feature_count_": "classes features", "feature_log_prob_": "classes features"}
    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    class_count_: np.ndarray
    feature_count_: np.ndarray
    feature_log_prob_: np.ndarray

    def _reset_counts(self, n_features: int) -> None:
        self.class_count_ = np.zeros(self.classes_.size)
        self.feature_count_ = np.zeros((self.classes_.size, n_features))

    def _add_counts(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Add the rows X to N_c and N_cj."""
        sums = class_sums(X, y, weight, self.classes_.size, self.n_jobs)
        self.class_count_ += class_masses(y, weight, self.classes_.size)
        self.feature_count_ += sums

    def _log_prior(self, given: np.ndarray | None) -> np.ndarray:
        """log P(c): as given, N_c / N (4.8), or equal for all classes."""
        if given is not None:
            return log(given)
        if self.fit_prior:
            return log(self.class_count_) - np.log(self.class_count_.sum())
        return np.full(self.classes_.size, -np.log(self.classes_.size))

    def _check_alpha(self) -> np.ndarray:
        """The smoothing parameter, a number or one for each feature."""
        name = type(self).__name__
        alpha = as_numbers(self.alpha, f"{name}: alpha")
        if alpha.shape and alpha.shape != (self.n_features_in_,):
            raise ValueError(
                f"{name}: When alpha is an array, it should contains `n_features` numbers, one for each of "
                f"{self.n_features_in_} features; got the shape {alpha.shape}."
            )
        if not (alpha >= 0).all() or np.isinf(alpha).any():
            raise ValueError(
                f"{name}: All values in alpha must be greater than 0, or 0: alpha must be a finite number, or one "
                f"for each feature; got {self.alpha!r}."
            )
        return raised_alpha(self, alpha)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def raised_alpha(model: Any, alpha: Any) -> Any:
    """The smoothing parameter, where `force_alpha` is False no smaller than 1e-10."""
    if model.force_alpha or np.min(alpha) >= LEAST_ALPHA:
        return alpha
    warnings.warn(
        f"{type(model).__name__}: alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e} "
        f"in place of {model.alpha!r}; force_alpha=True leaves it alone.",
        stacklevel=5,
    )
    return np.maximum(alpha, LEAST_ALPHA)


def log_shares(counts: np.ndarray) -> np.ndarray:
    """Logarithms of each row's shares; those of a row of zeros, as with ever smaller counts, are equal."""
    whole = counts.sum(axis=1, keepdims=True)
    if not whole.all():
        counts = np.where(whole > 0, counts, 1.0)
        whole = counts.sum(axis=1, keepdims=True)
    return log(counts) - np.log(whole)
