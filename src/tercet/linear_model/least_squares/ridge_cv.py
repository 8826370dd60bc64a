"""Ridge regression that chooses its penalty by cross-validation (岭回归的交叉验证)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy.linalg import eigh, svd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from tercet.core.catalog import method
from tercet.core.parallel import each, one_blas_thread
from tercet.core.parameters import Jobs, Positive
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, match_target_shape
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
    texts=["003 ch. 5, 5.7.3"],
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
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def _scorer(self) -> Any:
        if self.scoring is None and routing_enabled():  # then the folds' scores count weights too
            return get_scorer("r2").set_score_request(sample_weight=True)
        return check_scoring(self, self.scoring)

    def _fit(
        self, X: Any, y: Array, sample_weight: Array | None, params: Any = None, score: Any = None
    ) -> None:
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=np.float64))
        least = alphas > 0 if self.cv is None else alphas >= 0
        if alphas.ndim != 1 or not np.all(least & np.isfinite(alphas)):
            raise ValueError(
                "RidgeCV: parameter 'alphas' must hold finite numbers above 0 "
                f"(at least 0 when cv is given); got {self.alphas!r}."
            )
        if self.cv is None:
            if "sample_weight" in score:
                score = {**score, "sample_weight": sample_weight}
            self._leave_one_out(X, y, sample_weight, alphas, score)
        else:
            self._folds(X, y, sample_weight, alphas, params)

    def _folds(self, X: Any, y: Array, weight: Array | None, alphas: Array, params: dict[str, Any]) -> None:
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise ValueError(f"RidgeCV: {name}=True needs leave-one-out, cv=None; got cv={self.cv!r}.")
        model = Ridge(fit_intercept=self.fit_intercept, n_jobs=self.n_jobs)
        if routing_enabled():
            model.set_fit_request(sample_weight=True)
        if weight is not None:
            params = {**params, "sample_weight": weight}
        search = GridSearchCV(model, {"alpha": alphas.tolist()}, cv=self.cv, scoring=self._scorer())
        search.fit(X, y, **params)
        self.alpha_, self.best_score_ = search.best_params_["alpha"], search.best_score_
        self.coef_, self.intercept_ = search.best_estimator_.coef_, search.best_estimator_.intercept_

    def _leave_one_out(
        self, X: Any, y: Array, weight: Array | None, alphas: Array, metadata: dict[str, Any]
    ) -> None:
        design = DesignMatrix(X, y, weight, self.fit_intercept, self.n_jobs)
        n, d = design.shape
        tall = n > d and not (issparse(X) and d > 5000)
        with one_blas_thread():
            if tall:
                errors, coefs = leave_one_out_primal(design, alphas, self.gcv_mode == "svd")
            else:
                errors, coefs = leave_one_out_dual(design, alphas)
        scores, kept = self._score(design, errors, y, metadata)
        if self.alpha_per_target:
            best = scores.argmax(axis=0)
            self.best_score_ = scores[best, np.arange(scores.shape[1])]
            self.alpha_ = alphas[best]
            if y.ndim == 1:
                self.best_score_, self.alpha_ = float(self.best_score_[0]), float(self.alpha_[0])
            coef = coefs[best, np.arange(coefs.shape[1])]
        else:
            one = int(scores.argmax())
            self.alpha_, self.best_score_, coef = float(alphas[one]), float(scores[one]), coefs[one]
        if self.store_cv_results:
            table = np.moveaxis(kept, 0, -1).astype(X.dtype)
            self.cv_results_ = table[:, 0] if y.ndim == 1 else table
        self.coef_, self.intercept_ = match_target_shape(
            coef, design.intercepts(coef), y, X.dtype, self.fit_intercept
        )

    def _score(
        self, design: DesignMatrix, errors: Array, y: Array, metadata: dict[str, Any]
    ) -> tuple[Array, Array]:
        """Scores of the penalties (by target if asked), and what is to be kept: errors or predictions.

        The errors are of shape (n_alphas, n, k), with the square root of the weight in each row.
        """
        weight = design.weight
        if self.scoring is None:
            squares = errors**2
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


def leave_one_out_primal(design: DesignMatrix, alphas: Array, careful: bool) -> tuple[Array, Array]:
    """Errors (n_alphas, n, k) and coefficients (n_alphas, k, d) by the right singular vectors of X."""
    if careful:
        R, V = design.qr_factor()
        U, s, Vt = svd(R, full_matrices=False, check_finite=False)
        squares, vectors, right = s**2, Vt.T, s[:, None] * (U.T @ V)
    else:
        gram, cross = design.cross_products()
        squares, vectors = eigh(gram, check_finite=False)
        squares, right = np.maximum(squares, 0.0), vectors.T @ cross
    shrink = 1.0 / (squares[:, None] + alphas)  # (d, n_alphas)
    along = shrink[:, :, None] * right[:, None, :]  # coefficients in the singular directions
    parts = each(_leave_one_out_errors, design.chunks, vectors, shrink, along, design, n_jobs=design.n_jobs)
    coefs = np.einsum("ij,jak->aki", vectors, along)
    return np.concatenate(parts, axis=1), coefs


def _leave_one_out_errors(chunk, vectors, shrink, along, design):
    X, y, weight = chunk
    root = np.ones(X.shape[0]) if weight is None else np.sqrt(weight, dtype=np.float64)
    T = root[:, None] * (X @ vectors - design.x_mean @ vectors)
    V = root[:, None] * (y - design.y_mean)
    n_alphas, k = along.shape[1:]
    residuals = V[:, None, :] - (T @ along.reshape(len(along), -1)).reshape(-1, n_alphas, k)
    leverage = (T * T) @ shrink
    if design.intercept:
        leverage += (root**2 / design.mass)[:, None]
    return np.moveaxis(residuals / (1.0 - leverage)[:, :, None], 1, 0)


def leave_one_out_dual(design: DesignMatrix, alphas: Array) -> tuple[Array, Array]:
    """The same by the left singular vectors, from the n x n matrix XX'."""
    n = design.shape[0]
    root = np.ones(n) if design.weight is None else np.sqrt(design.weight, dtype=np.float64)
    V = root[:, None] * (design.y - design.y_mean)
    gram, transposed_product = _outer_products(design, root)
    if design.intercept:
        # The direction of the intercept is fitted exactly: made the last eigenvector, it can be left out.
        one = root / np.sqrt(design.mass)
        gram += (np.trace(gram) + 1.0) * np.outer(one, one)
    values, U = eigh(gram, check_finite=False)
    values = np.maximum(values, 0.0)
    if design.intercept:
        values, U = values[:-1], U[:, :-1]
    right = U.T @ V
    errors, coefs = [], []
    for alpha in alphas:
        dual = U @ (right / (values + alpha)[:, None])
        diagonal = (U * U) @ (1.0 / (values + alpha))
        with np.errstate(invalid="ignore", divide="ignore"):
            errors.append(np.where(root[:, None] > 0, dual / diagonal[:, None], 0.0))
        coefs.append(transposed_product(dual).T)
    return np.array(errors), np.array(coefs)


def _outer_products(design: DesignMatrix, root: Array) -> tuple[Array, Any]:
    """XX' of the centred, weighted X, and the map u -> X'u."""
    if not issparse(design.X):
        Z, _ = design.centred()
        return Z @ Z.T, lambda u: Z.T @ u
    X, mean = design.X.astype(np.float64), design.x_mean
    across = X @ mean
    gram = (X @ X.T).toarray() - across[:, None] - across + mean @ mean
    gram *= root[:, None] * root

    def transposed_product(u: Array) -> Array:
        u = root[:, None] * u
        return X.T @ u - np.outer(mean, u.sum(axis=0))

    return gram, transposed_product
