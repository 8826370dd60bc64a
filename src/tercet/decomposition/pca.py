"""Principal component analysis (主成分分析)."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, check_is_fitted, generator
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, OpenFraction, Seed
from tercet.core.scaling import times_power
from tercet.core.steps import Steps
from tercet.core.streams import is_streamed
from tercet.core.validation import FLOATS, check_array, target_for_callbacks
from tercet.decomposition._engine.arpack import arpack_triplets
from tercet.decomposition._engine.block_lanczos import block_lanczos
from tercet.decomposition._engine.centred_rows import CentredRows
from tercet.decomposition._engine.lapack import eigenpairs, right_singular
from tercet.decomposition._engine.latent_dimension import latent_dimension
from tercet.decomposition._engine.moments import Moments, moments
from tercet.decomposition._engine.range_finder import random_range, settled_normalizer
from tercet.decomposition._engine.signs import fix_signs
from tercet.decomposition.base import ProbabilisticAxes
from tercet.decomposition.component_count import (
    WHOLE,
    check_count,
    check_mass,
    choose_solver,
    requested_count,
)
from tercet.decomposition.matrix_input import safe_exponent
from tercet.decomposition.population import factor_loadings


class _Table(NamedTuple):
    """Rows divided by 2^exponent, with their moments, the variances of the columns and what to divide them by."""

    X: Any
    weight: np.ndarray | None
    moments: Moments
    variance: np.ndarray
    scale: np.ndarray | None
    exponent: int


class _Spectrum(NamedTuple):
    """Variances of the components found, the largest first, their unit vectors, and the total variance."""

    variances: np.ndarray
    components: np.ndarray
    total: float


@method(
    zh="主成分分析",
    task="dimensionality reduction",
    model="y_k = α_k'(x - m), with orthonormal α_k",
    strategy="largest variance of each y_k in turn; that is, least squared distance of rows to their projections",
    algorithms={
        "covariance_eigh": "eigenvectors of the covariance matrix, which is one pass of chunk statistics",
        "full": "singular value decomposition of the centred rows",
        "randomized": "range of products with a random table",
        "arpack": "Lanczos with implicit restarts, one vector at a time",
        "lanczos": "block Lanczos with thick restarts",
    },
    texts=["Li ch. 16, Thm 16.1, Alg 16.1", "Li ch. 22, Table 22.1", "watermelon notes ch. 8, eq. 8.8-8.11"],
    peers=["sklearn.decomposition.PCA"],
)
class PCA(ProbabilisticAxes):
    """Principal component analysis: orthogonal directions in which the rows vary most.

    α_1 is the unit vector for which the variance of α'x is largest, α_2 that among those orthogonal to α_1, and so
    on: the eigenvectors of the covariance matrix S, with eigenvalues λ_k = var y_k, and the right singular vectors
    of the centred rows. The first k components are also those from which the rows are rebuilt with the least
    squared error. Rows are never copied as a whole, nor sparse rows made dense, but for "full".

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        How many components: a number; the share of the variance, between 0 and 1, that they must exceed; by Minka's
        Bayesian choice ("mle"); or all, min(n_samples, n_features) (one fewer with "arpack").
    copy : bool, default=True
        There for callers of scikit-learn's class: X is never changed.
    whiten : bool, default=False
        Divide the scores by their standard deviations.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized", "lanczos"}, default="auto"
        "covariance_eigh" is fastest for up to some thousand features; "full" keeps the digits of small variances;
        "randomized", "arpack" and "lanczos" are for few components of many features. "auto" takes
        "covariance_eigh" for up to 1000 features and ten times as many rows, "randomized" for large tables and few
        components, else "full"; of sparse rows "covariance_eigh" or "lanczos".
    tol : float, default=0.0
        Tolerance of "arpack" and "lanczos"; 0 is as near as numbers are.
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized".
    n_oversamples : int, default=10
        Columns of its random table beyond the components.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        How the table is kept from becoming singular between the iterations.
    random_state : int, optional
        Decides the random table, or the start.
    scale : bool, default=False
        Divide each feature by its standard deviation first: components of the correlation matrix, the default of
        the text. A constant feature stays as it is.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The α_k; the largest entry of each is positive.
    explained_variance_ : array of shape (n_components,)
        The variances λ_k, with the divisor n - 1.
    explained_variance_ratio_ : array of shape (n_components,)
        The contribution rates λ_k / Σλ.
    singular_values_ : array of shape (n_components,)
        Of the centred rows: sqrt((n - 1) λ_k).
    mean_ : array of shape (n_features,)
    scale_ : array of shape (n_features,) or None
        What the features were divided by.
    feature_variance_ : array of shape (n_features,)
        The variances of the features; of scaled ones, 1.
    noise_variance_ : float
        The mean of the variances that were left out.
    n_components_, n_samples_ : int

    Examples
    --------
    >>> X = [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0], [2.3, 2.7], [2, 1.6], [1, 1.1]]
    >>> model = PCA(1).fit(X)
    >>> model.components_.round(3), model.explained_variance_ratio_.round(3), model.loadings_.round(3)
    (array([[0.696, 0.718]]), array([0.959]), array([[0.978, 0.981]]))
    """

    def __init__(
        self,
        n_components: CountOrZero | OpenFraction | Literal["mle"] | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: Literal["auto", "full", "covariance_eigh", "arpack", "randomized", "lanczos"] = "auto",
        tol: NonNegative = 0.0,
        iterated_power: CountOrZero | Literal["auto"] = "auto",
        n_oversamples: Count = 10,
        power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = "auto",
        random_state: Seed = None,
        scale: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.scale = scale
        self.n_jobs = n_jobs

    fitted_shapes = {
        "components_": Floats("components* features", finite=True),
        "explained_variance_": Floats("components*", low=0.0),
        "explained_variance_ratio_": Floats("components*", low=0.0),
        "singular_values_": Floats("components*", low=0.0),
        "mean_": Floats("features", finite=True),
        "scale_": Floats("features|None", finite=True, low=0.0),
        "feature_variance_": Floats("features", low=0.0),
        "noise_variance_": Floats("", low=0.0),
        "n_components_": Whole("components*"),
        "n_samples_": Whole("", 1),
    }
    explained_variance_ratio_: np.ndarray
    feature_variance_: np.ndarray
    n_samples_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows, two at least.
        y : ignored
            There for pipelines; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts; 2 is as good as having the row twice.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """`fit`, and `transform` of the same rows."""
        return self.fit(X, y, sample_weight).transform(X)

    streaming = True

    def _streaming_refusal(self) -> str:
        if self.svd_solver in ("auto", "covariance_eigh"):
            return ""
        return f"svd_solver={self.svd_solver!r} needs all rows at once. Use svd_solver='covariance_eigh'."

    def _fit(self, X: Any, y: None, weight: np.ndarray | None) -> None:
        n, d = X.shape
        solver = self._fit_svd_solver = choose_solver(self.svd_solver, self.n_components, X)
        if is_streamed(X) and solver != "covariance_eigh":
            raise TypeError(
                f"PCA: {n} rows of {d} columns need svd_solver='covariance_eigh' to learn from a source."
            )
        check_count(self.n_components, (n, d), solver)
        check_mass(n, weight)
        table, dtype = self._table(X, weight, solver == "covariance_eigh"), X.dtype
        if solver == "covariance_eigh":
            found = self._by_covariance(table)
        elif solver == "full":
            found = self._by_svd(table)
        else:
            found = self._by_products(table, solver, dtype)
        self.__dict__.update(self._attributes(found, table, dtype))
        if not np.isfinite(self.explained_variance_).all():
            warnings.warn(
                "PCA: explained_variance_ is beyond floating-point numbers. The components, their contribution "
                f"rates and singular values are right; scale X by 2**{-table.exponent} to see the variances.",
                RuntimeWarning,
                stacklevel=6,
            )

    def _table(self, X: Any, weight: np.ndarray | None, scatter: bool) -> _Table:
        """The rows with their moments; scaled where squares would overflow or vanish."""
        found, exponent = moments(X, weight, scatter=scatter, n_jobs=all_cores(self.n_jobs)), 0
        if not found.in_range(X.dtype):  # or there is NaN
            if is_streamed(X):
                raise ValueError(
                    "PCA: the squares of X are beyond floating-point numbers. Scale the features."
                )
            check_array(X, accept_sparse="csr", estimator=self, input_name="X")
            exponent = safe_exponent(X)
            X = times_power(X.astype(np.float64), -exponent)
            found = moments(X, weight, scatter=scatter, n_jobs=all_cores(self.n_jobs))
        variance = found.squares / (found.mass - 1)
        scale = np.sqrt(np.where(variance > 0, variance, 1.0)) if self.scale else None
        return _Table(X, weight, found, variance, scale, exponent)

    def _by_covariance(self, table: _Table) -> _Spectrum:
        """Eigenvectors of the covariance or correlation matrix (Li sec. 16.2.2)."""
        S: np.ndarray = np.asarray(table.moments.scatter) / (table.moments.mass - 1)
        if table.scale is not None:
            S /= np.outer(table.scale, table.scale)
        values, vectors = eigenpairs(S)
        values = np.maximum(values, 0.0)
        return _Spectrum(values, vectors.T, float(values.sum()))

    def _by_svd(self, table: _Table) -> _Spectrum:
        """Right singular vectors of the centred rows over sqrt(n - 1) (Li Alg 16.1)."""
        dtype = table.X.dtype
        centred = table.X - table.moments.mean.astype(dtype)
        if table.scale is not None:
            centred /= table.scale.astype(dtype)
        if table.weight is not None:
            centred *= np.sqrt(table.weight).astype(dtype)[:, None]
        s, Vt = right_singular(centred)
        variances = s.astype(np.float64) ** 2 / (table.moments.mass - 1)
        return _Spectrum(variances, Vt, float(variances.sum()))

    def _by_products(self, table: _Table, solver: str, dtype: Any) -> _Spectrum:
        """The leading singular vectors, from products with the rows alone."""
        root = None if table.weight is None else np.sqrt(table.weight)
        rows = CentredRows(table.X, table.moments.mean, table.scale, root, n_jobs=all_cores(self.n_jobs))
        k, rng = requested_count(self.n_components, table.X.shape, solver), generator(self.random_state)
        total = float((table.variance if table.scale is None else table.variance / table.scale**2).sum())

        def spectrum(triplets: Any) -> _Spectrum:
            return _Spectrum(
                triplets[1].astype(np.float64) ** 2 / (table.moments.mass - 1), triplets[2], total
            )

        def passes(limit: int, unpack: Any) -> Steps:
            return self.steps(
                limit,
                unpack=lambda state: self._attributes(spectrum(unpack(state)), table, dtype),
                hint="Raise tol.",
            )

        if solver == "arpack":
            return spectrum(arpack_triplets(rows, k, self.tol, rng))
        if solver == "lanczos":
            return spectrum(block_lanczos(rows, k, rng, self.tol, passes))
        power = self.iterated_power
        power = (7 if k < 0.1 * min(table.X.shape) else 4) if power == "auto" else power
        normalizer = settled_normalizer(self.power_iteration_normalizer, power)
        return spectrum(random_range(rows, k, self.n_oversamples, power, normalizer, rng, right=True))

    def _attributes(self, found: _Spectrum, table: _Table, dtype: Any) -> dict[str, Any]:
        """The fitted attributes, in the unit and the precision of the rows."""
        values, components, total = found
        mass, exponent = table.moments.mass, table.exponent
        most = min(table.X.shape)
        share = values / total if total > 0 else np.zeros_like(values)
        k = self._chosen(values, share, mass, table.X.shape)
        rest = values[k:].sum() if self._fit_svd_solver in WHOLE else max(total - values.sum(), 0.0)
        noise = float(rest) / (most - k) if k < most else 0.0
        unit = 0 if table.scale is not None else exponent  # what is scaled has no unit
        variance = table.variance if table.scale is None else (table.variance > 0).astype(np.float64)
        return {
            "n_samples_": table.X.shape[0],
            "n_components_": k,
            "components_": fix_signs(None, components[:k])[1].astype(dtype, order="C"),
            "explained_variance_": times_power(values[:k], 2 * unit).astype(dtype),
            "explained_variance_ratio_": share[:k].astype(dtype),
            "singular_values_": times_power(np.sqrt(values[:k] * (mass - 1)), unit).astype(dtype),
            "noise_variance_": float(np.ldexp(noise, 2 * unit)),
            "mean_": times_power(table.moments.mean, exponent).astype(dtype),
            "scale_": None if table.scale is None else times_power(table.scale, exponent).astype(dtype),
            "feature_variance_": times_power(variance, 2 * unit).astype(dtype),
        }

    def _chosen(self, values: np.ndarray, share: np.ndarray, mass: float, shape: tuple[int, int]) -> int:
        k = requested_count(self.n_components, shape, self._fit_svd_solver)
        if k == "mle":
            return latent_dimension(values, mass)
        if 0 < k < 1:
            return min(int(np.searchsorted(np.cumsum(share), k, side="right")) + 1, min(shape))
        return min(int(k), len(values))  # a pass of the iteration may have found fewer

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        # A plain table is not looked through for NaN: its moments tell, and large ones are read only once.
        plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOATS and 0 not in X.shape
        if reset and plain and y is not NO_TARGET and not hasattr(self, "feature_names_in_"):
            self.n_features_in_ = X.shape[1]
            return X, target_for_callbacks(y, X.shape[0])
        return super()._check(X, y, reset=reset)

    @property
    def cumulative_variance_ratio_(self) -> np.ndarray:
        """The cumulative contribution rates of the components (Li eq. 16.31)."""
        return np.minimum(np.cumsum(self.explained_variance_ratio_), 1.0)

    @property
    def loadings_(self) -> np.ndarray:
        """The factor loadings, of shape (n_components, n_features): correlations of components and features."""
        return factor_loadings(self.explained_variance_, self.components_, self.feature_variance_)

    @property
    def variable_contributions_(self) -> np.ndarray:
        """The share of each feature's variance that the components have (Li eq. 16.32)."""
        return (self.loadings_**2).sum(axis=0)

    def reconstruction_error(self, X: Any) -> float:
        """The Frobenius norm of what the components do not have of the centred (and scaled) rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows; of those learned from, the error is sqrt((n - 1) Σ_{i>k} λ_i).

        Returns
        -------
        error : float
        """
        check_is_fitted(self)
        X = super()._check(X, reset=False)
        X = X.toarray() if sparse.issparse(X) else X
        Z = (X - self.mean_) / (1.0 if self.scale_ is None else self.scale_)
        return float(np.linalg.norm(Z - Z @ self.components_.T @ self.components_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.svd_solver != "full"
        return tags
