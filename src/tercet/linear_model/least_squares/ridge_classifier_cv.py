"""Ridge classification that chooses its penalty by cross-validation (岭回归分类器的交叉验证)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metadata_routing import MetadataRouter

from tercet.core.catalog import method
from tercet.core.parameters import Jobs, Positive
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, in_units, match_target_shape
from tercet.linear_model._least_squares.leave_one_out import leave_one_out
from tercet.linear_model.least_squares.ridge_classifier import RidgeClassifier, signs_of
from tercet.linear_model.least_squares.ridge_cv import (
    check_alphas,
    metadata_router,
    search_folds,
    weighted_scorer,
)
from tercet.linear_model.metadata_routing import route

Array = np.ndarray


@method(
    zh="岭回归分类器的交叉验证",
    task="classification",
    model="f(x) = sign(w·x + b)",
    strategy="ridge regression of labels -1 and +1, alpha by the error on left-out samples",
    algorithms={"cv=None": "leave-one-out in closed form from one decomposition", "cv": "folds"},
    texts=["Pattern Recognition ch. 5, 5.7.3"],
    peers=["sklearn.linear_model.RidgeClassifierCV"],
)
class RidgeClassifierCV(RidgeClassifier):
    """Ridge classifier with the best of several penalties; see `RidgeCV` and `RidgeClassifier`.

    Parameters
    ----------
    alphas : array of shape (n_alphas,) or float, default=(0.1, 1.0, 10.0)
        Penalties to try.
    fit_intercept : bool, default=True
        Whether there is a b.
    scoring : str or callable, optional
        A scorer of classifiers; by default minus the mean squared error of the targets -1 and +1 (leave-one-out)
        or the accuracy (folds).
    cv : int, splitter or iterable, optional
        Folds, which may lack a class; None means leave-one-out.
    class_weight : dict or "balanced", optional
        Weights of the classes.
    store_cv_results : bool, default=False
        Keep `cv_results_`.
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    alpha_ : float
        The best alpha.
    best_score_ : float
        Its score.
    classes_ : array of shape (n_classes,)
    coef_, intercept_
        Those of the best alpha; see `RidgeClassifier`.
    cv_results_ : array of shape (n_samples, n_targets, n_alphas)
        Squared errors of the left-out samples, or with `scoring` their scores.

    Examples
    --------
    >>> X, y = [[3, 3], [4, 3], [5, 4], [1, 1], [0, 2], [1, 0]], ["near", "near", "near", "far", "far", "far"]
    >>> model = RidgeClassifierCV(alphas=[0.01, 1, 100]).fit(X, y)
    >>> model.alpha_, model.predict([[5, 5], [0, 0]])
    (1.0, array(['near', 'far'], dtype='<U4'))
    """

    alpha_: Any

    streaming = False
    streams_instead = "RidgeClassifier with an alpha chosen on a sample"

    def __init__(
        self,
        alphas: Positive | list | tuple | np.ndarray = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        class_weight: dict | Literal["balanced"] | None = None,
        store_cv_results: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.class_weight = class_weight
        self.store_cv_results = store_cv_results
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Learn from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,) or indicator matrix of shape (n_samples, n_labels)
            The labels.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.
        **params
            For the splitter, such as `groups`, and the scorer, when metadata routing is enabled.

        Returns
        -------
        self
        """
        routed = route(self, sample_weight, params)
        score = routed.scorer.score if routed else {"sample_weight": sample_weight}
        return self._learn(X, y, sample_weight, params=params, score=score)

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes; see scikit-learn's guide to metadata routing.

        Returns
        -------
        MetadataRouter
        """
        return metadata_router(self, self._scorer())

    def _scorer(self) -> Any:
        return weighted_scorer(self, "accuracy")

    def _fit(
        self, X: Any, y: Array, sample_weight: Array | None, params: Any = None, score: Any = None
    ) -> None:
        alphas, weight = check_alphas(self.alphas, self.cv), self._weights(y, sample_weight)
        if self.cv is not None:
            labels = y if self._multilabel else self.classes_[y]
            search = search_folds(
                self, RidgeClassifier(n_jobs=self.n_jobs), X, labels, weight, alphas, params
            )
            self.alpha_, self.best_score_ = np.float64(search.best_params_["alpha"]), search.best_score_
            self.coef_, self.intercept_ = search.best_estimator_.coef_, search.best_estimator_.intercept_
            return
        signs = signs_of(y, self.classes_.size)
        rows, strengths, unit = in_units(X, alphas)
        design = DesignMatrix(rows, signs, weight, self.fit_intercept, self.n_jobs)
        errors, coefs = leave_one_out(design, strengths, careful=False)
        if self.scoring is None:
            kept = errors**2
            scores = -kept.mean(axis=(1, 2))
        else:
            root = 1.0 if weight is None else np.sqrt(np.maximum(weight, 1e-300), dtype=np.float64)[:, None]
            kept = signs - errors / root
            if "sample_weight" in score:
                score = {**score, "sample_weight": weight}
            scores = np.array([self._score_of(given, y, score) for given in kept])
        one = int(scores.argmax())
        self.alpha_, self.best_score_ = float(alphas[one]), scores[one]
        if self.store_cv_results:
            self.cv_results_ = np.moveaxis(kept, 0, -1).astype(X.dtype)
        self.coef_, self.intercept_ = match_target_shape(
            coefs[one] / unit, design.intercepts(coefs[one]), signs, X.dtype, self.fit_intercept, flat=True
        )

    def _score_of(self, scores: Array, y: Array, metadata: dict[str, Any]) -> float:
        """The scorer's opinion of the scores of left-out samples."""
        given = {name: value for name, value in metadata.items() if value is not None}
        labels = y if self._multilabel else self.classes_[y]
        return self._scorer()(_GivenScores(self.classes_, self._multilabel), scores, labels, **given)


class _GivenScores(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are what it is given, for scorers."""

    def __init__(self, classes: Any, multilabel: bool = False) -> None:
        self.classes_, self.multilabel = classes, multilabel

    def fit(self, X: Any, y: Any) -> _GivenScores:
        return self

    def decision_function(self, X: Array) -> Array:
        return X[:, 0] if X.shape[1] == 1 else X

    def predict(self, X: Array) -> Array:
        if self.multilabel:
            return (X > 0).astype(int)
        winner = (X[:, 0] > 0).astype(int) if X.shape[1] == 1 else X.argmax(axis=1)
        return self.classes_[np.minimum(winner, self.classes_.size - 1)]
