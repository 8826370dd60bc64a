"""Truncated singular value decomposition as a transformer (截断奇异值分解)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted, generator
from tercet.core.fitted_checks import Floats
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.core.row_sums import largest_of
from tercet.core.scaling import scale_exponent, times_power
from tercet.core.steps import Steps
from tercet.core.streams import is_streamed
from tercet.core.validation import target_for_callbacks
from tercet.decomposition._engine.arpack import arpack_triplets
from tercet.decomposition._engine.block_lanczos import block_lanczos
from tercet.decomposition._engine.centred_rows import CentredRows
from tercet.decomposition._engine.moments import total_variance
from tercet.decomposition._engine.range_finder import random_range, settled_normalizer
from tercet.decomposition._engine.streamed_range import streamed_svd
from tercet.decomposition.base import checked_scores, finite_scores
from tercet.decomposition.matrix_input import safe_exponent


@method(
    zh="截断奇异值分解",
    task="dimensionality reduction",
    model="X ≈ U_k Σ_k V_k': rows become their products with the k leading right singular vectors",
    strategy="least ||X - L||_F over matrices L of rank k",
    algorithms={
        "randomized": "range of products with a random table, with power iterations",
        "arpack": "Lanczos with implicit restarts, one vector at a time",
        "lanczos": "block Lanczos with thick restarts",
    },
    texts=["Li ch. 15, Def 15.3, Thm 15.3", "Li ch. 17"],
    peers=["sklearn.decomposition.TruncatedSVD"],
)
class TruncatedSVD(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Truncated singular value decomposition: rows in the coordinates of the k leading right singular vectors.

    X ≈ U_k Σ_k V_k' is the best approximation of rank k; `transform` gives X V_k. Rows are not centred, so that
    sparse rows stay sparse: on a table of words this is latent semantic analysis.

    Parameters
    ----------
    n_components : int, default=2
        The number k of components.
    algorithm : {"randomized", "arpack", "lanczos"}, default="randomized"
        "randomized" is as near as its number of iterations allows. "arpack" and "lanczos" go on until `tol` is
        met; "lanczos" takes many columns through each look at the matrix, on all threads.
    n_iter : int, default=5
        Power iterations of "randomized".
    n_oversamples : int, default=10
        Columns of the random table beyond k.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        How the table is kept from becoming singular between the iterations.
    random_state : int, optional
        Decides the random table, or the start.
    tol : float, default=0.0
        Tolerance of "arpack" and "lanczos"; 0 is as near as numbers are. "lanczos" stops when the residuals
        |XX'u - s²u| are at most tol s².
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The right singular vectors; the largest entry of each is positive.
    singular_values_ : array of shape (n_components,)
    explained_variance_ : array of shape (n_components,)
        The variance of the rows along each component.
    explained_variance_ratio_ : array of shape (n_components,)
        Its share in the variance of all features.

    Examples
    --------
    >>> model = TruncatedSVD(n_components=2, random_state=0)
    >>> model.fit([[1, 0, 0, 0], [0, 0, 0, 4], [0, 3, 0, 0], [2, 0, 0, 0]]).singular_values_.round(6)
    array([4., 3.])
    """

    def __init__(
        self,
        n_components: Count = 2,
        *,
        algorithm: Literal["arpack", "randomized", "lanczos"] = "randomized",
        n_iter: CountOrZero = 5,
        n_oversamples: Count = 10,
        power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = "auto",
        random_state: Seed = None,
        tol: NonNegative = 0.0,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol
        self.n_jobs = n_jobs

    width_checked_attributes = ("components_",)
    fitted_shapes = {
        "components_": Floats("components features", finite=True),
        "singular_values_": Floats("components", low=0.0),
        "explained_variance_": Floats("components", low=0.0),
        "explained_variance_ratio_": Floats("components", low=0.0),
    }
    batch_rounding = 1e-12  # the projections are products by BLAS
    components_: np.ndarray
    singular_values_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the singular vectors of the table X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    streaming = True

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """`fit`, and `transform` of the same rows."""
        return self.fit(X, y).transform(X)

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        n, d = X.shape
        self._check_count(n, d)
        if is_streamed(X):
            self._fit_streamed(X)
            return
        exponent = safe_exponent(X)  # squares must neither overflow nor vanish
        X = times_power(X, -exponent)
        k = min(self.n_components, n, d)
        rows = CentredRows(X, n_jobs=all_cores(self.n_jobs))
        whole = total_variance(X, rows.n_jobs)
        rng = generator(self.random_state)
        if self.algorithm == "lanczos":

            def passes(limit: int, unpack: Any) -> Steps:
                return self.steps(
                    limit,
                    unpack=lambda state: attributes(rows, unpack(state), whole, exponent, exact=False),
                    hint="Raise tol.",
                )

            triplets = block_lanczos(rows, k, rng, self.tol, passes)
        elif self.algorithm == "arpack":
            triplets = arpack_triplets(rows, k, self.tol, rng)
        else:
            normalizer = settled_normalizer(self.power_iteration_normalizer, self.n_iter)
            triplets = random_range(rows, k, self.n_oversamples, self.n_iter, normalizer, rng, right=True)
        exact = self.algorithm == "randomized" or self.tol == 0
        self.__dict__.update(attributes(rows, triplets, whole, exponent, exact))
        if not np.isfinite(self.explained_variance_).all():
            raise ValueError(
                "TruncatedSVD: explained_variance_ is beyond floating-point numbers. X holds numbers as large as "
                f"{float(np.ldexp(1.0, exponent - 1)):.3g}: scale the features."
            )

    def _streaming_refusal(self) -> str:
        if self.algorithm == "randomized":
            return ""
        return f"algorithm={self.algorithm!r} needs all rows at once. Use algorithm='randomized'."

    def _fit_streamed(self, X: Any) -> None:
        if scale_exponent(largest_of(X)):
            raise ValueError(f"TruncatedSVD: X holds numbers up to {largest_of(X):.3g}. Scale the features.")
        rng, k = generator(self.random_state), min(self.n_components, *X.shape)
        jobs = all_cores(self.n_jobs)
        s, Vt, variance, whole = streamed_svd(X, k, self.n_oversamples, self.n_iter, rng, jobs)
        share = variance / whole if whole > 0 else np.zeros(k)
        self.components_, self.singular_values_ = Vt, s
        self.explained_variance_ = variance.astype(Vt.dtype)
        self.explained_variance_ratio_ = share.astype(Vt.dtype)

    def _check_count(self, n: int, d: int) -> None:
        k = self.n_components
        if self.algorithm == "arpack" and k >= min(n, d):
            raise ValueError(
                f"TruncatedSVD: n_components={k} must be less than min(n_samples, n_features)={min(n, d)} with "
                f"algorithm='arpack'; n_samples={n}, n_features={d}."
            )
        if k > d:
            raise ValueError(f"TruncatedSVD: n_components={k} must be <= n_features={d}.")

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = super()._check(X, reset=reset)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def transform(self, X: Any) -> np.ndarray:
        """The products of the rows with the components.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return finite_scores(
            CentredRows(X, n_jobs=all_cores(self.n_jobs)).times(self.components_.T), type(self).__name__
        )

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The rows whose scores these are, in the span of the components.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            The scores.

        Returns
        -------
        rows : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = checked_scores(X, len(self.components_), type(self).__name__)
        return X @ self.components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def attributes(
    rows: CentredRows, triplets: tuple[Any, Any, Any], whole: float, exponent: int, exact: bool
) -> dict[str, Any]:
    """The fitted attributes that belong to singular triplets of X / 2^exponent, whose total variance is `whole`."""
    U, s, Vt = triplets
    scores = U * s if exact else rows.times(Vt.T)  # where the iteration ended early, X V is not U S
    variance = scores.var(axis=0, dtype=np.float64)
    share = variance / whole if whole > 0 else np.zeros(len(s))
    return {
        "components_": np.ascontiguousarray(Vt),
        "explained_variance_": times_power(variance, 2 * exponent).astype(Vt.dtype),
        "explained_variance_ratio_": share.astype(Vt.dtype),
        "singular_values_": times_power(s, exponent),
    }
