"""Self-training (自训练)."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from tercet.core.catalog import method
from tercet.core.fitted_checks import Having, Labels
from tercet.core.parameters import Annotated, Count, CountOrZero, Range
from tercet.semi_supervised.partial_labels import decode_labels, warn_all_labeled
from tercet.semi_supervised.pseudo_labels import (
    PseudoLabeling,
    class_probabilities,
    fitted_estimator_has,
    fitted_rows,
)


@method(
    zh="自训练",
    task="classification",
    model="that of the estimator",
    strategy="that of the estimator, on the given labels and on its own most confident ones",
    algorithms="fit; label the rows without one; keep the confident labels; again",
    texts=["watermelon notes ch. 11, sec. 11.1"],
    peers=["sklearn.semi_supervised.SelfTrainingClassifier"],
)
class SelfTrainingClassifier(PseudoLabeling):
    """Self-training: a classifier that adds the labels it is sure of to those it learns from.

    In each pass a clone of the estimator is fitted on the labelled rows, and those of the other rows whose greatest
    probability is above `threshold` (or the `k_best` of them) get its labels for good. Learning is inductive: what
    is learned is a classifier of new rows.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`.
    threshold : float, default=0.75
        With criterion="threshold": labels of a greater probability are kept.
    criterion : {"threshold", "k_best"}, default="threshold"
        Which labels are kept.
    k_best : int, default=10
        With criterion="k_best": how many, in each pass.
    max_iter : int or None, default=10
        The most passes; None: until there is nothing to add.
    verbose : bool, default=False
        Print a line for each pass.

    Attributes
    ----------
    estimator_ : estimator
        The classifier, fitted on all labels.
    classes_ : array of shape (n_classes,)
        The labels.
    transduction_ : array of shape (n_samples,)
        The labels of the last fit; -1 (or None) for rows that got none.
    labeled_iter_ : array of shape (n_samples,)
        The pass in which each row got its label; 0: it was given, -1: it has none.
    n_iter_ : int
        Passes made.
    termination_condition_ : {"max_iter", "no_change", "all_labeled"}
        Why it ended.

    Examples
    --------
    >>> from tercet.naive_bayes import GaussianNB
    >>> X = [[0.0], [0.5], [1.0], [2.0], [5.0], [6.0], [6.5], [7.0]]
    >>> model = SelfTrainingClassifier(GaussianNB()).fit(X, [0, 0, -1, -1, -1, -1, 1, 1])
    >>> model.transduction_, model.labeled_iter_
    (array([0, 0, 0, 0, 1, 1, 1, 1]), array([0, 0, 1, 1, 1, 1, 0, 0]))
    """

    least_classes = 1

    def __init__(
        self,
        estimator: Any = None,
        threshold: Annotated[float, Range(0, 1, "[)")] = 0.75,
        criterion: Literal["threshold", "k_best"] = "threshold",
        k_best: Count = 10,
        max_iter: CountOrZero | None = 10,
        verbose: bool | CountOrZero = False,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.criterion = criterion
        self.k_best = k_best
        self.max_iter = max_iter
        self.verbose = verbose

    fitted_shapes = {
        "estimator_": Having({}, ("predict",)),
        "transduction_": Labels("samples"),
        "labeled_iter_": Labels("samples"),
    }
    estimator_: Any
    transduction_: np.ndarray
    labeled_iter_: np.ndarray
    termination_condition_: str

    def _fit(self, X: Any, y: np.ndarray, sample_weight: Any, params: dict[str, Any] | None = None) -> None:
        params = params or {}
        codes, when = y.copy(), np.where(y >= 0, 0, -1)
        unlabeled = int((y < 0).sum())
        if not unlabeled:
            warn_all_labeled("SelfTrainingClassifier")
        elif self.criterion == "k_best" and self.k_best > unlabeled:
            warnings.warn(
                "SelfTrainingClassifier: k_best is larger than the amount of unlabeled samples. All unlabeled "
                "samples will be labeled in the first iteration.",
                UserWarning,
                stacklevel=3,
            )
        ended = "max_iter"
        limit = unlabeled + 1 if self.max_iter is None else self.max_iter
        loop = self.steps(limit if unlabeled else 0)
        for step in loop:
            model = self._fit_on(self.estimator, X, codes, sample_weight, params)
            rest = np.flatnonzero(codes < 0)
            proba = class_probabilities(self, model, X[rest])
            chosen = self._confident(proba.max(axis=1))
            codes[rest[chosen]] = proba[chosen].argmax(axis=1)
            when[rest[chosen]] = step.count
            if self.verbose:
                print(f"End of iteration {step.count}, added {chosen.size} new labels.")
            step.report(
                labeled=int((codes >= 0).sum()),
                estimator_=model,
                transduction_=decode_labels(self.classes_, codes),
                labeled_iter_=when,
            )
            if not chosen.size:
                ended = "no_change"
                break
            if (codes >= 0).all():
                break
        self.termination_condition_ = "all_labeled" if (codes >= 0).all() else ended
        self.n_iter_ = loop.count
        self.estimator_ = self._fit_on(self.estimator, X, codes, sample_weight, params)
        self.transduction_, self.labeled_iter_ = decode_labels(self.classes_, codes), when

    def _confident(self, probability: np.ndarray) -> np.ndarray:
        """Which of the new labels are kept."""
        if self.criterion == "threshold":
            return np.flatnonzero(probability > self.threshold)
        if self.k_best >= probability.size:
            return np.arange(probability.size)
        return np.sort(np.argsort(-probability, kind="stable")[: self.k_best])

    @available_if(fitted_estimator_has("predict"))
    def predict(self, X: Any, **params: Any) -> np.ndarray:
        """The class of each row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        **params
            More for the estimator's method, when metadata routing is enabled.

        Returns
        -------
        labels : array of shape (n_samples,)
        """
        routed, X = self._routed("predict", params), fitted_rows(self, X)
        return self.estimator_.predict(X, **routed)

    @available_if(fitted_estimator_has("predict_proba"))
    def predict_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Probabilities of the classes, of shape (n_samples, n_classes); see `predict`."""
        routed, X = self._routed("predict_proba", params), fitted_rows(self, X)
        return self.estimator_.predict_proba(X, **routed)

    @available_if(fitted_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X: Any, **params: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes; see `predict`."""
        routed, X = self._routed("predict_log_proba", params), fitted_rows(self, X)
        return self.estimator_.predict_log_proba(X, **routed)

    @available_if(fitted_estimator_has("decision_function"))
    def decision_function(self, X: Any, **params: Any) -> np.ndarray:
        """Scores of the estimator; see `predict`."""
        routed, X = self._routed("decision_function", params), fitted_rows(self, X)
        return self.estimator_.decision_function(X, **routed)
