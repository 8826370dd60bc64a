"""Semi-supervised naive Bayes by EM (半监督朴素贝叶斯)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import get_tags

from tercet.core.catalog import method
from tercet.core.estimator import check_is_fitted
from tercet.core.fitted_checks import Having, Labels
from tercet.core.functions import log_sum_exp
from tercet.core.meta import clone
from tercet.core.parameters import Annotated, Count, NonNegative, Range
from tercet.naive_bayes import GaussianNB
from tercet.semi_supervised.partial_labels import (
    SemiSupervisedClassifier,
    check_labeled_weight,
    decode_labels,
    warn_all_labeled,
)

LEAST_SHARE = 1e-16  # responsibilities below it change no sum


@method(
    zh="半监督朴素贝叶斯",
    task="classification",
    approach="generative",
    model="P(c) Π_j P(x_j | c), the distributions those of the estimator",
    strategy="maximum likelihood of labelled and unlabelled rows together",
    algorithms="EM: E: posterior probabilities of the rows without a label; M: the estimator, by them as weights",
    texts=["watermelon notes ch. 11, sec. 11.2"],
    peers=["pomegranate.NaiveBayes"],
)
class SemiSupervisedNB(SemiSupervisedClassifier):
    """Naive Bayes learned by EM from rows with labels and without.

    Each row without a label counts for every class, by its posterior probability: P(c | x) is computed by the
    model of the pass before (E), and the estimator is fitted with these as weights (M). The likelihood Σ_l log
    P(y, x) + λ Σ_u log Σ_c P(c, x) never falls, up to the smoothing of the estimator, whose prior takes part in
    what is maximised. Learning is inductive.

    Parameters
    ----------
    estimator : estimator, optional
        A naive Bayes classifier, with `sample_weight` and `predict_joint_log_proba`: `GaussianNB()` (the default),
        `MultinomialNB()`, `BernoulliNB()`, `CategoricalNB()` ...
    unlabeled_weight : float, default=1.0
        λ: how much a row without a label counts beside one with a label, in [0, 1].
    tol : float, default=1e-4
        Stop when the mean log-likelihood changes by less.
    max_iter : int, default=100
        The most passes.

    Attributes
    ----------
    estimator_ : estimator
        The naive Bayes classifier.
    classes_ : array of shape (n_classes,)
        The labels.
    log_likelihood_ : float
        The mean log-likelihood of the rows at the last pass.
    transduction_ : array of shape (n_samples,)
        The labels that were given, and the most probable classes of the other rows.
    n_iter_ : int

    Examples
    --------
    >>> from tercet.naive_bayes import MultinomialNB
    >>> X = [[3, 0, 0], [0, 0, 3], [1, 0, 0], [0, 4, 0], [0, 1, 2]]
    >>> SemiSupervisedNB(MultinomialNB()).fit(X, [0, 1, -1, -1, -1]).transduction_
    array([0, 1, 0, 1, 1])
    """

    least_classes = 1

    def __init__(
        self,
        estimator: Any = None,
        *,
        unlabeled_weight: Annotated[float, Range(0, 1)] = 1.0,
        tol: NonNegative = 1e-4,
        max_iter: Count = 100,
    ) -> None:
        self.estimator = estimator
        self.unlabeled_weight = unlabeled_weight
        self.tol = tol
        self.max_iter = max_iter

    fitted_shapes = {
        "estimator_": Having({}, ("predict_joint_log_proba",)),
        "transduction_": Labels("samples"),
    }
    estimator_: Any
    transduction_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; NaN where the estimator takes it.
        y : array of shape (n_samples,)
            The labels; -1 (or None among strings) for rows without one.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        base = self._base()
        if not hasattr(base, "predict_joint_log_proba"):
            raise ValueError(
                f"SemiSupervisedNB: estimator must be a naive Bayes classifier, with predict_joint_log_proba; got "
                f"{type(base).__name__}, which gives no joint probabilities."
            )
        check_labeled_weight(y, sample_weight, self.classes_, type(self).__name__)
        if (y >= 0).all():
            warn_all_labeled(type(self).__name__)
        given = X
        weight = np.ones(y.size) if sample_weight is None else sample_weight.astype(np.float64)
        weight = np.where(y < 0, self.unlabeled_weight * weight, weight)
        X, codes, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
        known, rest = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        model = self._maximised(base, X, known, codes[known], weight[known])
        before = -np.inf

        def fitted(model: Any) -> dict[str, Any]:
            joint = model.predict_joint_log_proba(given)
            found = np.where(y >= 0, y, joint.argmax(axis=1))
            return {"estimator_": model, "transduction_": decode_labels(self.classes_, found)}

        for step in self.steps(self.max_iter, unpack=fitted):
            joint = np.asarray(model.predict_joint_log_proba(X), dtype=np.float64)
            total = log_sum_exp(joint, keepdims=True)
            impossible = np.isneginf(total[rest, 0])  # as likely for all classes
            value = weight[known] @ joint[known, codes[known]]
            value = value + weight[rest] @ np.where(impossible, 0.0, total[rest, 0])
            value = float(value) / float(weight.sum())
            if rest.size:
                shares = np.exp(np.where(impossible[:, None], 0.0, joint[rest] - total[rest]))
                shares /= shares.sum(axis=1, keepdims=True)  # E: P(c | x)
                row, c = np.nonzero(shares > LEAST_SHARE)
                rows = np.concatenate([known, rest[row]])
                labels = np.concatenate([codes[known], c])
                parts = np.concatenate([weight[known], weight[rest[row]] * shares[row, c]])
                model = self._maximised(base, X, rows, labels, parts)  # M: the same row for all classes
            step.report(model, log_likelihood=value)
            if step.converged(not rest.size or abs(value - before) < self.tol):
                break
            before = value
        self.__dict__.update(fitted(model), log_likelihood_=value)

    def _base(self) -> Any:
        return GaussianNB() if self.estimator is None else self.estimator

    def _maximised(self, base: Any, X: Any, rows: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> Any:
        """The naive Bayes classifier of weighted rows."""
        order = np.argsort(rows, kind="stable")
        every = rows.size == X.shape[0] and bool((rows[order] == np.arange(rows.size)).all())
        part = X if every else X[rows[order]]
        return clone(base).fit(part, self.classes_[labels[order]], sample_weight=weight[order])

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log P(c) + log P(x | c) for each row and class, of shape (n_samples, n_classes)."""
        check_is_fitted(self)
        return self.estimator_.predict_joint_log_proba(self._check(X, reset=False))

    def predict_proba(self, X: Any) -> np.ndarray:
        """The posterior probability of every class for every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(self._check(X, reset=False))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`."""
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(self._check(X, reset=False))

    def predict(self, X: Any) -> np.ndarray:
        """The class of the greatest posterior probability.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.estimator_.predict(self._check(X, reset=False))

    @property
    def missing_input(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes NaN."""
        return bool(get_tags(self._base()).input_tags.allow_nan)

    @property
    def sparse_input(self) -> bool:  # type: ignore[override]
        """Whether the estimator takes sparse rows."""
        return bool(get_tags(self._base()).input_tags.sparse)

    @property
    def positive_only(self) -> bool:  # type: ignore[override]
        """Whether the estimator refuses negative values."""
        return bool(get_tags(self._base()).input_tags.positive_only)
