"""What methods of principal components share: projection, reconstruction, and the Gaussian model behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.parallel import all_cores
from tercet.core.validation import check_array, check_structure, target_for_callbacks
from tercet.decomposition._engine.centred_rows import CentredRows


class PrincipalAxes(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """A transformer onto orthonormal components of centred rows."""

    batch_rounding = 1e-11  # the projections are products by BLAS
    n_jobs: int | None = None
    whiten: bool
    components_: np.ndarray
    explained_variance_: np.ndarray
    singular_values_: np.ndarray
    mean_: np.ndarray
    noise_variance_: float
    n_components_: int
    scale_: np.ndarray | None = None

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def transform(self, X: Any) -> np.ndarray:
        """The scores of rows on the components.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_samples, n_components)
            With `whiten`, divided by the standard deviation of each component; 0 for one without variance.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores(X)
            if self.whiten:
                np.divide(scores, self._deviations(np.inf), out=scores, casting="same_kind")
        return finite_scores(scores, type(self).__name__)

    def _scores(self, X: Any) -> np.ndarray:
        rows = CentredRows(X, self.mean_, self.scale_, n_jobs=all_cores(self.n_jobs))
        return rows.times(self.components_.T)

    def _deviations(self, without: float) -> np.ndarray:
        """Standard deviations of the components; `without` for those that have none but rounding."""
        n = getattr(self, "n_samples_", None) or self.n_samples_seen_
        variance = self.explained_variance_.astype(np.float64)
        usual = (variance > 1e-300) & (variance < np.inf)
        width = np.where(usual, np.sqrt(variance), self.singular_values_ / np.sqrt(max(n - 1, 1)))
        most = width.max(initial=0.0)
        return np.where(width > 4 * np.finfo(self.components_.dtype).eps * most, width, without)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The rows whose scores these are, in the space of the components.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            The scores.

        Returns
        -------
        rows : array of shape (n_samples, n_features)
            The reconstruction; with fewer components than features, the nearest rows of rank k.
        """
        check_is_fitted(self)
        X = checked_scores(X, len(self.components_), type(self).__name__)
        if self.whiten:
            X = X * self._deviations(0.0).astype(X.dtype)
        rows = X @ self.components_
        if self.scale_ is not None:
            rows *= self.scale_
        return rows + self.mean_

    def get_covariance(self) -> np.ndarray:
        """The covariance of the Gaussian model: Σ_k (λ_k - σ²) α_k α_k' + σ² I.

        Returns
        -------
        covariance : array of shape (n_features, n_features)
        """
        check_is_fitted(self)
        extra = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (self.components_.T * extra) @ self.components_
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        return covariance if self.scale_ is None else covariance * np.outer(self.scale_, self.scale_)

    def get_precision(self) -> np.ndarray:
        """The inverse of `get_covariance`.

        Returns
        -------
        precision : array of shape (n_features, n_features)
        """
        check_is_fitted(self)
        variance, noise = self._model_variances()
        d = self.components_.shape[1]
        if len(self.components_) == d and self.noise_variance_ == 0:
            precision = (self.components_.T / variance) @ self.components_
        else:  # (1/λ_k - 1/σ²) along the components, 1/σ² everywhere
            precision = (self.components_.T * (1 / variance - 1 / noise)) @ self.components_
            precision.flat[:: d + 1] += 1 / noise
        return precision if self.scale_ is None else precision / np.outer(self.scale_, self.scale_)

    def _model_variances(self) -> tuple[np.ndarray, float]:
        """λ_k and σ² of the Gaussian model; where they are next to nothing, eps times the largest."""
        noise = float(self.noise_variance_)
        variance = self.explained_variance_.astype(np.float64)
        most = float(max(variance.max(initial=0.0), noise))
        least = float(np.finfo(self.components_.dtype).eps) * most
        if not 0 < least < np.inf:
            name = type(self).__name__
            raise ValueError(
                f"{name}: the variance of the rows is {most:g}; there is no density of such a variance."
            )
        return np.maximum(variance, max(noise, least)), max(noise, least)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class ProbabilisticAxes(PrincipalAxes):
    """Principal components with the density of probabilistic PCA."""

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-density of each row in the Gaussian model (probabilistic PCA).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        log_density : array of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64, copy=False)
        variance, noise = self._model_variances()
        d, k = X.shape[1], len(self.components_)
        with np.errstate(over="ignore", invalid="ignore"):
            Z = X - self.mean_
            if self.scale_ is not None:
                Z = Z / self.scale_
            Y = Z @ self.components_.T.astype(np.float64)
            rest = Z - Y @ self.components_  # what the components do not have; not |z|² - |y|², which cancels
            squares = (Y**2 / variance).sum(axis=1) + (rest**2).sum(axis=1) / noise
        determinant = float(np.log(variance).sum()) + (d - k) * np.log(noise)
        if self.scale_ is not None:
            determinant += 2 * float(np.log(self.scale_).sum())
        return finite_scores(
            (-0.5 * (squares + d * np.log(2 * np.pi) + determinant))[:, None], type(self).__name__
        )[:, 0]

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-density of the rows, by which cross-validation can choose the number of components.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.
        y : ignored

        Returns
        -------
        score : float
        """
        return float(self.score_samples(X).mean())


def finite_scores(scores: np.ndarray, name: str) -> np.ndarray:
    """Scores, or an error where one is beyond floating-point numbers."""
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise ValueError(
            f"{name}: the result for row {row} of X is beyond floating-point numbers. Scale the features."
        )
    return scores


def checked_scores(X: Any, k: int, name: str, accept_sparse: str | bool = False) -> Any:
    """Scores on k components, as a caller gives them; dense ones unless sparse ones are accepted."""
    if sparse.issparse(X) and not accept_sparse:
        X = check_structure(X).toarray()
    X = check_array(
        X, accept_sparse=accept_sparse, dtype=(np.float64, np.float32), input_name="X", ensure_min_features=0
    )
    if X.shape[1] != k:
        raise ValueError(f"{name}: X has {X.shape[1]} columns; expected are {k}, one for each component.")
    return X
