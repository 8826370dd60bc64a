"""The variational Gaussian mixture (变分高斯混合模型)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Items, by_value
from tercet.core.parallel import Chunks, total
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Positive, Seed
from tercet.core.row_sums import mass_of
from tercet.core.streams import is_streamed
from tercet.core.validation import check_array
from tercet.distributions._gaussian.covariances import (
    CovarianceType,
    covariance_shape,
    n_free,
    positive_definite,
)
from tercet.distributions._gaussian.precisions import precisions_of
from tercet.mixture._engine.variational import VariationalComponents, VariationalPosterior
from tercet.mixture.base import Mixture
from tercet.mixture.components import check_magnitude, gaussian_shapes, mean_imputed
from tercet.mixture.conjugate_prior import ConjugatePrior


@method(
    zh="变分高斯混合模型",
    task="clustering",
    approach="generative",
    model="p(x) = Σ_k π_k N(x; μ_k, Σ_k), with a Dirichlet (process) prior of π, a Gaussian-Wishart prior of μ, Σ",
    strategy="the greatest lower bound of the evidence ln p(X), over q(z) q(π) Π_k q(μ_k, Σ_k)",
    algorithms="mean-field variational inference: q(z) from q(π, μ, Σ) and q(π, μ, Σ) from q(z), alternately",
    texts=["Li ch. 9", "watermelon notes ch. 12, eq. 12.23"],
    peers=["sklearn.mixture.BayesianGaussianMixture"],
)
class BayesianGaussianMixture(Mixture):
    """Variational Bayesian Gaussian mixture, whose prior empties components that are not needed.

    The posterior of the parameters and of the components of the rows is approached by one in which the two are
    independent, q(z) q(π, μ, Λ): the one for which the lower bound of the evidence,

        L = E_q[ln p(X, z, π, μ, Λ)] - E_q[ln q] <= ln p(X),

    is greatest. Both factors are updated alternately, and the bound never falls. Where the prior gives little to
    small weights, components that explain nothing lose all their rows: `n_components` need only be great enough.

    Missing values (NaN) are variables like z: for each component a missing part has the Gaussian distribution that
    the known part of its row implies (at the expected precision), and its uncertainty counts.

    Parameters
    ----------
    n_components : int, default=1
        The most components that may be used.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Every component its own covariance matrix, one for all, a diagonal one each, or a multiple of the identity
        each.
    tol : float, default=1e-3
        Stop when the lower bound changes by less.
    reg_covar : float, default=1e-6
        Added to the variances of the components.
    max_iter : int, default=100
        The most passes of one start.
    n_init : int, default=1
        How many starts to try; the one with the greatest lower bound is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        The first responsibilities: clusters of k-means; rows chosen by k-means++; random ones; random rows.
    weight_concentration_prior_type : {"dirichlet_process", "dirichlet_distribution"}, default="dirichlet_process"
        The prior of the weights: sticks broken off one after the other, or the same for every component.
    weight_concentration_prior : float, optional
        The concentration α₀ of that prior; small values empty components. By default 1 / n_components.
    mean_precision_prior : float, optional
        How many rows the prior of the means counts for; 1 by default.
    mean_prior : array of shape (n_features,), optional
        The prior mean; by default that of X.
    degrees_of_freedom_prior : float, optional
        How many rows the prior of the covariances counts for; more than n_features - 1, by default n_features.
    covariance_prior : float or array, optional
        The scale of that prior, of the shape that one component's covariance has; by default the covariance of X.
    random_state : int, optional
        Decides what is drawn.
    warm_start : bool, default=False
        Go on where the last fit ended.
    verbose : int, default=0
        Print a line for every `verbose_interval` passes.
    verbose_interval : int, default=10
        How many passes to a line.
    exact : bool, default=False
        Take E[ln |Λ|] from the distributions that "diag", "spherical" and "tied" precisions have, not (as
        scikit-learn does) from a Wishart distribution of a matrix for each component, and count `reg_covar` as
        noise of the values when rows are shared out. Then the bound is one of the evidence for every kind, has all
        its constants, and nothing can make it fall. With "full" covariances and reg_covar=0 only the constants
        differ.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        The expected weights.
    means_ : array of shape (n_components, n_features)
        The expected means.
    covariances_, precisions_, precisions_cholesky_ : arrays
        The inverses of the expected precisions, the expected precisions, and factors of those, of the shape that
        `covariance_type` has: (n_components,) if "spherical", (n_components, n_features) if "diag",
        (n_features, n_features) if "tied", (n_components, n_features, n_features) if "full".
    weight_concentration_ : array of shape (n_components,) or pair of such
        The posterior Dirichlet distribution, or the pairs of the Beta distributions of the sticks.
    mean_precision_, degrees_of_freedom_ : arrays of shape (n_components,)
        How many rows the posterior means and covariances count for (one number for all if "tied").
    weight_concentration_prior_, mean_precision_prior_, degrees_of_freedom_prior_ : float
        The prior that was used.
    mean_prior_, covariance_prior_ : arrays
        The prior that was used.
    lower_bound_ : float
        The bound at the end, without its constants (with them, if `exact`).
    lower_bounds_ : list of float
        The bound after every pass.
    elbo_ : float
        The lower bound of the evidence ln p(X) at the end, with all constants, whatever `exact` is.
    counts_ : array of shape (n_components,)
        The expected number of rows of each component.
    n_active_ : int
        The number of components with more than one expected row.
    labels_ : array of shape (n_samples,)
        The most probable component of each row.
    converged_ : bool
        Whether the bound settled before `max_iter`.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, size=(50, 2)), rng.normal(6, 1, size=(50, 2))])
    >>> model = BayesianGaussianMixture(n_components=6, max_iter=500, random_state=0).fit(X)
    >>> model.n_active_, sorted(model.means_[model.counts_ > 1].round().tolist())
    (2, [[0.0, 0.0], [6.0, 6.0]])
    """

    missing_input = True
    streaming = True
    streams_missing = False

    def __init__(
        self,
        *,
        n_components: Count = 1,
        covariance_type: CovarianceType = "full",
        tol: NonNegative = 1e-3,
        reg_covar: NonNegative = 1e-6,
        max_iter: CountOrZero = 100,
        n_init: Count = 1,
        init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans",
        weight_concentration_prior_type: Literal[
            "dirichlet_process", "dirichlet_distribution"
        ] = "dirichlet_process",
        weight_concentration_prior: Positive | None = None,
        mean_precision_prior: Positive | None = None,
        mean_prior: list | tuple | np.ndarray | None = None,
        degrees_of_freedom_prior: Positive | None = None,
        covariance_prior: Positive | list | tuple | np.ndarray | None = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
        verbose_interval: Count = 10,
        exact: bool = False,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.exact = exact
        self.n_jobs = n_jobs

    weight_concentration_prior_: float
    mean_precision_prior_: float
    mean_prior_: np.ndarray
    degrees_of_freedom_prior_: float
    covariance_prior_: Any
    weight_concentration_: Any
    counts_: np.ndarray
    n_active_: int
    fitted_shapes = {
        **gaussian_shapes("covariance_type"),
        "weight_concentration_prior_": "",
        "mean_precision_prior_": "",
        "degrees_of_freedom_prior_": "",
        "mean_prior_": "features",
        "covariance_prior_": by_value(
            "covariance_type",
            {"full": "features features", "tied": "features features", "diag": "features", "spherical": ""},
        ),
        "weight_concentration_": by_value(
            "weight_concentration_prior_type",
            {
                "dirichlet_process": Items(("components", "components")),
                "dirichlet_distribution": "components",
            },
        ),
        "mean_precision_": "components",
        "degrees_of_freedom_": lambda model: "" if model.covariance_type == "tied" else "components",
    }

    def _fit(self, X: np.ndarray, y: None, sample_weight: np.ndarray | None) -> None:
        """Mean-field inference: q(z) from q(π, μ, Λ) (E) and q(π, μ, Λ) from q(z) (M) by turns, as in EM."""
        self._set_prior(X, sample_weight)
        super()._fit(X, y, sample_weight)

    # --- the prior ----------------------------------------------------------------------------------------------

    def _set_prior(self, X: np.ndarray, weight: np.ndarray | None) -> None:
        d, given = X.shape[1], self.degrees_of_freedom_prior
        if given is not None and given <= d - 1:
            raise ValueError(
                f"The parameter 'degrees_of_freedom_prior' should be greater than {d - 1}, but got {given:.3f}. It "
                f"must be greater than n_features - 1."
            )
        alpha, beta = self.weight_concentration_prior, self.mean_precision_prior
        self.weight_concentration_prior_ = 1.0 / self.n_components if alpha is None else alpha
        self.mean_precision_prior_ = 1.0 if beta is None else beta
        self.degrees_of_freedom_prior_ = d if given is None else given
        rows = SampleMoments(X, weight)
        self.mean_prior_ = self._given("mean_prior", (d,))
        if self.mean_prior_ is None:
            self.mean_prior_ = rows.mean
        shape = {"full": (d, d), "tied": (d, d), "diag": (d,), "spherical": ()}[self.covariance_type]
        self.covariance_prior_ = self._given("covariance_prior", shape)
        if self.covariance_prior_ is None:
            self.covariance_prior_ = rows.covariance(self.covariance_type, self.reg_covar)
        elif not _is_positive(self.covariance_prior_):
            words = "symmetric and positive definite" if len(shape) == 2 else "positive"
            raise ValueError(
                f"BayesianGaussianMixture: covariance_prior must be {words} for covariance_type="
                f"{self.covariance_type!r}; got {self.covariance_prior!r}."
            )

    def _given(self, name: str, shape: tuple[int, ...]) -> Any:
        """A part of the prior as the caller gave it."""
        value = getattr(self, name)
        if value is None:
            return None
        value = (
            check_array(value, dtype=np.float64, ensure_2d=False, input_name=name)
            if np.ndim(value)
            else value
        )
        if np.shape(value) != shape:
            raise ValueError(
                f"BayesianGaussianMixture: {name} must have the shape {shape} for covariance_type="
                f"{self.covariance_type!r} and {self.n_features_in_} features; got {np.shape(value)}."
            )
        return value if shape else float(value)

    # --- attributes and parameters -------------------------------------------------------------------------------

    def _components(self, n_features: int) -> VariationalComponents:
        prior = ConjugatePrior(
            covariance_type=self.covariance_type,
            n_components=self.n_components,
            process=self.weight_concentration_prior_type == "dirichlet_process",
            concentration=float(self.weight_concentration_prior_),
            mean_precision=float(self.mean_precision_prior_),
            mean=np.asarray(self.mean_prior_, dtype=np.float64),
            degrees=float(self.degrees_of_freedom_prior_),
            covariance=np.asarray(self.covariance_prior_, dtype=np.float64),
            exact=bool(self.exact),
        )
        return VariationalComponents(prior, self.reg_covar)

    def _shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        k, d = self.n_components, n_features
        process = self.weight_concentration_prior_type == "dirichlet_process"
        return {
            "means_": (k, d),
            "covariances_": covariance_shape(self.covariance_type, (k,), d),
            "weight_concentration_": (2, k) if process else (k,),
        }

    def _attributes(self, theta: VariationalPosterior) -> dict[str, Any]:
        return {
            "weights_": theta.weights,
            **theta.terms,
            "precisions_cholesky_": theta.cholesky,
            "precisions_": precisions_of(theta.cholesky, theta.kind),
            "counts_": theta.counts,
            "n_active_": theta.n_active,
            "elbo_": theta.elbo,
        }

    def _theta(self) -> VariationalPosterior:
        names = ("weight_concentration_", "mean_precision_", "means_", "degrees_of_freedom_", "covariances_")
        components = self._components(self.n_features_in_)
        terms = {name: np.asarray(getattr(self, name), dtype=np.float64) for name in names}
        cholesky = np.asarray(self.precisions_cholesky_, dtype=np.float64)
        return components.posterior_parameters(terms, np.asarray(self.counts_, dtype=np.float64), cholesky)

    def _n_parameters(self) -> int:
        """Of the components with rows."""
        active, d = max(self.n_active_, 1), self.n_features_in_
        return n_free(self.covariance_type, (active,), d) + active * d + active - 1

    def _warn_degenerate(self, per: float) -> None:
        """Components without rows are expected: see `n_active_`."""


class SampleMoments:
    """The mean and the covariance of rows with weights and missing values, from which a prior is taken."""

    def __init__(self, X: np.ndarray, weight: np.ndarray | None) -> None:
        if is_streamed(X):
            filled, missing = X, None
        else:
            if weight is not None and not weight.all():  # a row of no weight is not there
                X, weight = X[weight > 0], weight[weight > 0]
            check_magnitude(X)
            filled, missing = mean_imputed(X, weight), np.isnan(X)
        chunks, mass = Chunks(filled, weight), mass_of(X, weight)
        self.mean = total(_weighted_sum, chunks) / mass
        self.free = max(mass - 1.0, 0.5 * mass)  # the first, unless weights are small: no negative variance
        self.matrix = total(_scatter, chunks, self.mean) / self.free
        if missing is not None and missing.any():  # imputed means make the variances too small
            here = (np.ones(len(X)) if weight is None else weight.astype(np.float64)) @ ~missing
            grow = np.sqrt(self.free / np.maximum(here - 1.0, 0.5 * here))
            self.matrix *= grow[:, None] * grow

    def covariance(self, kind: str, reg_covar: float) -> Any:
        """Of the shape of one component's; flat directions get `reg_covar`, or every component would need rows."""
        matrix, variances = self.matrix, np.diag(self.matrix).copy()
        if kind == "spherical":
            return float(variances.mean()) or reg_covar
        if kind == "diag":
            return np.where(variances > 0, variances, reg_covar)
        least, most = np.linalg.eigvalsh(matrix)[[0, -1]]
        return matrix + reg_covar * np.eye(len(matrix)) if least <= 1e-12 * most else matrix


def _weighted_sum(chunk: Any) -> np.ndarray:
    X, weight = chunk
    w = np.ones(len(X)) if weight is None else weight.astype(np.float64)
    return w @ X.astype(np.float64, copy=False)


def _scatter(chunk: Any, mean: np.ndarray) -> np.ndarray:
    X, weight = chunk
    away = X - mean
    return away.T @ away if weight is None else (away.T * weight.astype(np.float64)) @ away


def _is_positive(matrix: Any) -> bool:
    """Whether a variance, variances or a covariance matrix are positive."""
    if np.ndim(matrix) < 2:
        return bool(np.all(np.asarray(matrix) > 0))
    return bool(np.allclose(matrix, matrix.T)) and positive_definite(matrix)
