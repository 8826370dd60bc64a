"""Ridge regression that chooses its penalty by cross-validation (岭回归的交叉验证)."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_scalar

from tercet.core.catalog import method
from tercet.core.folds import checked_folds
from tercet.core.parameters import Jobs, Positive
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, in_units, match_target_shape
from tercet.linear_model._least_squares.leave_one_out import leave_one_out
from tercet.linear_model.base import LinearRegressor
from tercet.linear_model.least_squares.ridge import Ridge
from tercet.linear_model.metadata_routing import route, routing_enabled

Array = np.ndarray


@method(
    zh="岭回归的交叉验证",
    task="regression",
    model="f(x) = w·x + b",
    strategy="ridge regression, alpha by the error on left-out samples",
    algorithms={"cv=None": "leave-one-out in closed form from one decomposition", "cv": "folds"},
    texts=["Pattern Recognition ch. 5, 5.7.3"],
    peers=["sklearn.linear_model.RidgeCV"],
)
class RidgeCV(LinearRegressor):
    """Ridge regression with the best of several penalties.

    Leaving out sample i changes its error to (y_i - f(x_i)) / (1 - h_ii), with h_ii the diagonal of the hat
    matrix: one decomposition of X serves all samples and all penalties.

    Parameters
    ----------
    alphas : array of shape (n_alphas,) or float, default=(0.1, 1.0, 10.0)
        Penalties to try.
    fit_intercept : bool, default=True
        Whether there is a b.
    scoring : str or callable, optional
        A scorer; by default minus the mean squared error (leave-one-out) or R^2 (folds; weighted when metadata
        routing is enabled).
    cv : int, splitter or iterable, optional
        Folds; None means leave-one-out.
    gcv_mode : {"auto", "svd", "eigen"}, optional
        Decomposition for leave-one-out: of X, or of the smaller of X'X and XX'.
    store_cv_results : bool, default=False
        Keep `cv_results_`.
    alpha_per_target : bool, default=False
        Choose alpha for each target alone (leave-one-out only).
    n_jobs : int, optional
        Threads. The result does not depend on it.

    Attributes
    ----------
    alpha_ : float or array of shape (n_targets,)
        The best alpha.
    best_score_ : float or array of shape (n_targets,)
        Its score.
    coef_, intercept_ : those of the best alpha.
    cv_results_ : array of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared errors of the left-out samples, or with `scoring` their predictions.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4]], [0.1, 0.9, 2.1, 2.9, 4.2]
    >>> RidgeCV(alphas=[0.01, 1, 100]).fit(X, y).alpha_
    0.01
    """

    multi_output = True
    alpha_: Any

    def __init__(
        self,
        alphas: Positive | list | tuple | np.ndarray = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: Literal["auto", "svd", "eigen"] | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Learn from rows X with targets y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The training data.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            The targets.
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
        return weighted_scorer(self, "r2")

    def _fit(
        self, X: Any, y: Array, sample_weight: Array | None, params: Any = None, score: Any = None
    ) -> None:
        alphas = check_alphas(self.alphas, self.cv)
        if self.cv is None:
            if self.gcv_mode == "svd" and issparse(X):
                warnings.warn(
                    "The 'svd' mode is not supported for sparse X: gcv_mode='eigen' is used, and in 1.11, as in "
                    "scikit-learn, it will be an error.",
                    FutureWarning,
                    stacklevel=2,
                )
            if "sample_weight" in score:
                score = {**score, "sample_weight": sample_weight}
            self._leave_one_out(X, y, sample_weight, alphas, score)
        else:
            search = search_folds(self, Ridge(n_jobs=self.n_jobs), X, y, sample_weight, alphas, params)
            self.alpha_, self.best_score_ = np.float64(search.best_params_["alpha"]), search.best_score_
            self.coef_, self.intercept_ = search.best_estimator_.coef_, search.best_estimator_.intercept_

    def _leave_one_out(
        self, X: Any, y: Array, weight: Array | None, alphas: Array, metadata: dict[str, Any]
    ) -> None:
        rows, strengths, unit = in_units(X, alphas)
        design = DesignMatrix(rows, y, weight, self.fit_intercept, self.n_jobs)
        errors, coefs = leave_one_out(design, strengths, self.gcv_mode == "svd" and not issparse(X))
        scores, kept = self._score(design, errors, y, metadata)
        if self.alpha_per_target:
            best = scores.argmax(axis=0)
            self.best_score_ = scores[best, np.arange(scores.shape[1])]
            self.alpha_ = alphas[best] if best.size > 1 else float(alphas[best[0]])
            if y.ndim == 1:
                self.best_score_ = self.best_score_[0]
            coef = coefs[best, np.arange(coefs.shape[1])]
        else:
            one = int(scores.argmax())
            self.alpha_, self.best_score_, coef = float(alphas[one]), scores[one], coefs[one]
        if self.store_cv_results:
            table = np.moveaxis(kept, 0, -1).astype(X.dtype)
            self.cv_results_ = table[:, 0] if y.ndim == 1 else table
        self.coef_, self.intercept_ = match_target_shape(
            coef / unit, design.intercepts(coef), y, X.dtype, self.fit_intercept, flat=True
        )

    def _score(
        self, design: DesignMatrix, errors: Array, y: Array, metadata: dict[str, Any]
    ) -> tuple[Array, Array]:
        """Scores of the penalties (by target if asked), and what is to be kept: errors or predictions.

        The errors are of shape (n_alphas, n, k), with the square root of the weight in each row.
        """
        weight = design.weight
        if self.scoring is None:
            with np.errstate(over="ignore"):
                squares = errors**2
                if not np.isfinite(squares).all():  # of huge targets: the order is what matters
                    squares = np.where(np.isfinite(squares), squares, np.inf)
                    errors = errors / np.abs(errors).max()
                    return -(errors**2).mean(axis=1 if self.alpha_per_target else (1, 2)), squares
            return -squares.mean(axis=1 if self.alpha_per_target else (1, 2)), squares
        scorer = check_scoring(_GivenPredictions(), self.scoring)
        root = 1.0 if weight is None else np.sqrt(np.maximum(weight, 1e-300), dtype=np.float64)[:, None]
        predictions = design.y - errors / root
        metadata = {name: value for name, value in metadata.items() if value is not None}
        if not self.alpha_per_target:
            given = predictions[..., 0] if y.ndim == 1 else predictions
            return np.array([scorer(_GivenPredictions(), p, y, **metadata) for p in given]), predictions
        targets = range(predictions.shape[2])
        scores = [
            [scorer(_GivenPredictions(), p[:, k], design.y[:, k], **metadata) for k in targets]
            for p in predictions
        ]
        return np.array(scores), predictions


class _GivenPredictions(RegressorMixin, BaseEstimator):
    """An estimator whose predictions are what it is given, for scorers."""

    def fit(self, X: Any, y: Any) -> _GivenPredictions:
        return self

    def predict(self, X: Array) -> Array:
        return X


def check_alphas(alphas: Any, cv: Any) -> Array:
    """The penalties as an array; all must be above 0 for leave-one-out, at least 0 for folds."""
    given = np.atleast_1d(np.asarray(alphas, dtype=object))
    boundaries: Any = "neither" if cv is None else "left"
    for k, alpha in enumerate(given.ravel()):
        name = "alphas" if given.size == 1 else f"alphas[{k}]"
        check_scalar(alpha, name, numbers.Real, min_val=0.0, include_boundaries=boundaries)
    checked = given.astype(np.float64)
    if checked.ndim != 1 or not np.isfinite(checked).all():
        raise ValueError(f"parameter 'alphas' must hold finite numbers; got {alphas!r}.")
    return checked


def weighted_scorer(model: Any, default: str) -> Any:
    """The scorer of a model; the default counts weights, too, when metadata routing is enabled."""
    if model.scoring is None and routing_enabled():
        return get_scorer(default).set_score_request(sample_weight=True)
    return check_scoring(model, model.scoring)


def metadata_router(model: Any, scorer: Any) -> MetadataRouter:
    """Where metadata goes from `fit`: to the model itself, to the scorer and to the splitter."""
    router = MetadataRouter(owner=model).add_self_request(model)
    router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
    return router.add(splitter=model.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))


def search_folds(
    model: Any, estimator: Any, X: Any, y: Array, weight: Array | None, alphas: Array, params: dict[str, Any]
) -> GridSearchCV:
    """The best penalty by the scores of folds, and the estimator fitted with it to all rows."""
    for name in ("store_cv_results", "alpha_per_target"):
        if getattr(model, name, False):
            raise ValueError(
                f"{type(model).__name__}: cv!=None and {name}=True are incompatible: only leave-one-out, cv=None, "
                f"has them; got cv={model.cv!r}."
            )
    estimator.set_params(fit_intercept=model.fit_intercept)
    if routing_enabled():
        estimator.set_fit_request(sample_weight=True)
    if weight is not None:
        params = {**params, "sample_weight": weight}
    cv = model.cv
    if not routing_enabled():  # else the splitter may need metadata, which the search hands on
        cv = checked_folds(model, X, y, classifier=is_classifier(estimator), weight=weight)
    search = GridSearchCV(estimator, {"alpha": alphas.tolist()}, cv=cv, scoring=model._scorer())
    return search.fit(X, y, **params)
