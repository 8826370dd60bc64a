"""Gaussian mixtures (高斯混合模型)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.stats import multivariate_normal

from tercet.core.catalog import method
from tercet.core.estimator import check_weight
from tercet.core.functions import log_sum_exp
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Positive, Seed, check_parameters
from tercet.core.validation import check_array
from tercet.distributions._gaussian.covariances import (
    CovarianceType,
    covariance_shape,
    n_free,
    positive_definite,
)
from tercet.distributions._gaussian.precisions import (
    check_precisions,
    cholesky_of_precisions,
    covariances_of,
    precisions_of,
)
from tercet.mixture._engine.gaussian_components import GaussianComponents
from tercet.mixture._engine.gaussian_parameters import GaussianParameters
from tercet.mixture.base import Mixture
from tercet.mixture.components import Components, gaussian_shapes
from tercet.optimize import RunningStatistics, online_em_step


@method(
    zh="高斯混合模型",
    task="clustering",
    approach="generative",
    model="a sum of k Gaussian densities: p(x) = Σ_k α_k N(x | μ_k, Σ_k)",
    strategy="maximum likelihood with hidden components (a posteriori where priors are given)",
    loss="log",
    convex=False,
    algorithms={
        "em": "E: responsibilities of the components for the rows; M: weighted means and covariances",
        "hard": "classification EM: each row assigned to its most probable component",
    },
    texts=[
        "Li ch. 9, Alg 9.2, eq. 9.24-9.32",
        "Li ch. 22, Table 22.1",
        "watermelon notes ch. 7, eq. 7.17-7.27, Fig 9.6",
    ],
    peers=["sklearn.mixture.GaussianMixture", "pomegranate.gmm.GeneralMixtureModel"],
)
class GaussianMixture(Mixture):
    """Mixture of Gaussian distributions: clusters and a density of the rows.

    Maximises Σ_i w_i log Σ_k α_k N(x_i | μ_k, Σ_k) by EM. With γ_ik, the probability that row i belongs to
    component k, a pass sets α_k to the mean of γ_ik, and μ_k and Σ_k to the mean and the covariance of the rows,
    weighted by γ_ik. The likelihood never falls (but for `reg_covar`) and ends at a local maximum, which depends on
    the start. NaN in X stands for a value that is not known: densities are those of the known values, and EM fills
    in what is expected of the others.

    Parameters
    ----------
    n_components : int, default=1
        The number k of components.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Each component has its own covariance matrix; all share one; each has its own variances; each has one
        variance.
    tol : float, default=1e-3
        Stop when the mean log-likelihood changes by less.
    reg_covar : float, default=1e-6
        Added to all variances, so that a component cannot shrink onto a single row.
    max_iter : int, default=100
        The most passes of one start; 0 leaves the start as it is.
    n_init : int, default=1
        How many starts to try; the one with the highest likelihood is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        How rows are shared out at first: by k-means; k rows that are far apart; at random; k rows at random.
    weights_init : array of shape (n_components,), optional
        The first weights α.
    means_init : array of shape (n_components, n_features), optional
        The first means.
    precisions_init : array, optional
        The inverses of the first covariances, in the shape that covariance_type has.
    random_state : int, optional
        Decides what is drawn.
    warm_start : bool, default=False
        Whether a further fit goes on from where the last one ended.
    verbose : int, default=0
        Print a line now and then.
    verbose_interval : int, default=10
        How many passes from one line to the next.
    algorithm : {"em", "hard"}, default="em"
        EM; or classification EM, with each row in its most probable component, which maximises
        Σ_i max_k log α_k N(x_i | μ_k, Σ_k) and is k-means with covariances.
    weight_prior : float, default=0.0
        A Dirichlet prior of the weights: as if each component had that many rows more.
    covariance_prior : float or array, optional
        An inverse Wishart prior of the covariances, by its mode: a variance for all features, one for each, or a
        covariance matrix.
    covariance_prior_count : float, default=1.0
        How many rows that prior is worth.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    weights_ : array of shape (n_components,)
        The weights α of the components.
    means_ : array of shape (n_components, n_features)
        Their means.
    covariances_ : array
        Their covariances: (n_components, n_features, n_features) for "full", (n_features, n_features) for "tied",
        (n_components, n_features) for "diag", (n_components,) for "spherical".
    precisions_ : array
        The inverses of the covariances.
    precisions_cholesky_ : array
        Upper triangular matrices P with P Pᵀ = Σ⁻¹ (square roots of the precisions, where these are numbers).
    labels_ : array of shape (n_samples,)
        The most probable component of each row.
    converged_ : bool
        Whether the kept start has converged.
    n_iter_ : int
        Passes of the start that was kept.
    lower_bound_ : float
        The mean log-likelihood (with the log-prior, where there is one) at its last pass.
    lower_bounds_ : list of float
        The same for each of its passes.
    n_batches_, seen_weight_ : int, float
        How many batches were learned from, and the weight of all their rows.

    Examples
    --------
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> model = GaussianMixture(n_components=2, random_state=0).fit(X)
    >>> sorted(model.means_.round(3).tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> model.predict_proba([[0, 1], [11, float("nan")]]).max(axis=1).round(3)
    array([1., 1.])
    """

    missing_input = True
    streaming = True
    streams_missing = False

    def __init__(
        self,
        n_components: Count = 1,
        *,
        covariance_type: CovarianceType = "full",
        tol: NonNegative = 1e-3,
        reg_covar: NonNegative = 1e-6,
        max_iter: CountOrZero = 100,
        n_init: Count = 1,
        init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans",
        weights_init: list | tuple | np.ndarray | None = None,
        means_init: list | tuple | np.ndarray | None = None,
        precisions_init: list | tuple | np.ndarray | None = None,
        random_state: Seed = None,
        warm_start: bool = False,
        verbose: int | bool = 0,
        verbose_interval: Count = 10,
        algorithm: Literal["em", "hard"] = "em",
        weight_prior: NonNegative = 0.0,
        covariance_prior: Positive | list | tuple | np.ndarray | None = None,
        covariance_prior_count: Positive = 1.0,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.algorithm = algorithm
        self.weight_prior = weight_prior
        self.covariance_prior = covariance_prior
        self.covariance_prior_count = covariance_prior_count
        self.n_jobs = n_jobs

    means_: np.ndarray
    covariances_: np.ndarray
    precisions_: np.ndarray
    precisions_cholesky_: np.ndarray
    fitted_shapes = gaussian_shapes("covariance_type")

    def _components(self, n_features: int) -> GaussianComponents:
        return GaussianComponents(
            self.covariance_type,
            self.n_components,
            n_features,
            reg_covar=self.reg_covar,
            hard=self.algorithm == "hard",
            weight_prior=self.weight_prior,
            covariance_prior=self._covariance_prior(n_features),
            covariance_prior_count=self.covariance_prior_count,
        )

    def _shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        k, d = self.n_components, n_features
        return {"means_": (k, d), "covariances_": covariance_shape(self.covariance_type, (k,), d)}

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch of rows: a step of online EM (the first batch is learned as by `fit`).

        The statistics of all that was seen before are those that the parameters answer to; batch t counts
        (t + 1)^-0.7 against them.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows of the batch.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        if not hasattr(self, "converged_"):
            return self.fit(X, sample_weight=sample_weight)
        check_parameters(self)
        X = self._check(X, reset=False)
        weight = check_weight(sample_weight, X)
        if weight is not None:
            X, weight = X[weight > 0], weight[weight > 0]
        mass = float(len(X) if weight is None else weight.sum(dtype=np.float64))
        components, theta = self._components(X.shape[1]), self._theta()
        past = [part / self.seen_weight_ for part in components.recall(theta, self.seen_weight_)]
        theta, memory, likelihood = online_em_step(
            components,
            components.chunks(X, weight),
            theta,
            RunningStatistics(tuple(past), self.n_batches_, self.seen_weight_),
            mass=mass,
            n_jobs=self.n_jobs,
        )
        self.__dict__.update(
            self._fitted(theta, X, components),
            lower_bound_=(likelihood + components.log_prior(theta)) / mass,
            n_iter_=self.n_iter_ + 1,
            n_batches_=memory.batches,
            seen_weight_=memory.mass,
        )
        return self

    def _covariance_prior(self, d: int) -> np.ndarray | None:
        """`covariance_prior` as a matrix."""
        if self.covariance_prior is None:
            return None
        given = np.asarray(self.covariance_prior, dtype=np.float64)
        matrix = given if given.ndim == 2 or given.size not in (1, d) else np.eye(d) * given
        if matrix.shape != (d, d) or not np.allclose(matrix, matrix.T) or not positive_definite(matrix):
            raise ValueError(
                f"GaussianMixture: covariance_prior must be a positive number, {d} of them, or a symmetric "
                f"positive-definite matrix of shape ({d}, {d}); got {self.covariance_prior!r}."
            )
        return matrix

    def _initial_parameters(
        self, X: Any, weight: np.ndarray | None, components: Components, rng: np.random.Generator
    ) -> GaussianParameters:
        """What is given, and for the rest what `init_params` says."""
        weights, means, cholesky = self._given(X.shape[1])
        if weights is None or means is None or cholesky is None:
            found = super()._initial_parameters(X, weight, components, rng)
            weights = found.weights if weights is None else weights
            means = found.means if means is None else means
            if cholesky is None:
                return GaussianParameters.of_covariances(
                    self.covariance_type, weights, means, found.covariances
                )
        return GaussianParameters.of_precisions(self.covariance_type, weights, means, cholesky)

    def _given(self, d: int) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        """The parts of the start that the caller gave, checked; precisions as Cholesky factors."""
        k, name = self.n_components, type(self).__name__
        weights, means, cholesky = self.weights_init, self.means_init, None
        if weights is not None:
            weights = check_array(weights, dtype=np.float64, ensure_2d=False, input_name="weights_init")
            check_given_weights(weights, k)
        if means is not None:
            means = check_array(means, dtype=np.float64, input_name="means_init")
            if means.shape != (k, d):
                raise ValueError(
                    f"The parameter 'means' should have the shape of {(k, d)}, but got {means.shape} in means_init."
                )
        if self.precisions_init is not None:
            precisions = check_precisions(self.precisions_init, self.covariance_type, k, d, name)
            cholesky = cholesky_of_precisions(precisions, self.covariance_type)
        return weights, means, cholesky

    def _attributes(self, theta: GaussianParameters) -> dict[str, Any]:
        return {
            "weights_": theta.weights,
            "means_": theta.means,
            "covariances_": theta.covariances,
            "precisions_cholesky_": theta.cholesky,
            "precisions_": precisions_of(theta.cholesky, self.covariance_type),
        }

    def _theta(self) -> GaussianParameters:
        names = ("weights_", "means_", "precisions_cholesky_")
        weights, means, cholesky = (np.asarray(getattr(self, name), dtype=np.float64) for name in names)
        covariances = getattr(self, "covariances_", None)  # some set the others by hand
        if covariances is None:
            covariances = covariances_of(cholesky, self.covariance_type)
        with np.errstate(divide="ignore"):
            offsets = np.log(weights)
        covariances = np.asarray(covariances, dtype=np.float64)
        return GaussianParameters(self.covariance_type, offsets, means, cholesky, covariances, weights)

    def _n_features(self) -> int:
        return np.shape(self.means_)[1]

    def _n_parameters(self) -> int:
        k, d = np.shape(self.means_)
        return n_free(self.covariance_type, (k,), d) + k * d + k - 1


class GaussianMixtureStep(NamedTuple):
    """The parameters after an EM step; the responsibilities (n, k) and the log-likelihood before it."""

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    responsibilities: np.ndarray
    log_likelihood: float


@method(
    zh="高斯混合模型EM算法的一步",
    task="clustering",
    approach="generative",
    model="p(x) = Σ_k α_k N(x | μ_k, Σ_k)",
    strategy="the maximum of the Q function: expected log-likelihood of rows and components",
    algorithms="E: responsibilities of the components; M: weighted means, covariances and weights",
    texts=["Li ch. 9, Alg 9.2, eq. 9.24-9.32", "watermelon notes ch. 7, eq. 7.17-7.27"],
    peers=["sklearn.mixture.GaussianMixture"],
)
def gaussian_mixture_step(X: Any, weights: Any, means: Any, covariances: Any) -> GaussianMixtureStep:
    """One EM step of a Gaussian mixture in plain form, which makes the rows more likely.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    weights, means, covariances : arrays of shape (k,), (k, d), (k, d, d)
        α, μ and Σ.

    Returns
    -------
    GaussianMixtureStep
        The new weights, means and covariances; responsibilities of shape (n, k) and the log-likelihood of the rows
        under the old ones.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [6.0], [7.0]])
    >>> step = gaussian_mixture_step(X, [0.5, 0.5], [[0.0], [7.0]], [[[1.0]], [[1.0]]])
    >>> step.weights, step.means.ravel().round(4), step.covariances.ravel().round(4)
    (array([0.5, 0.5]), array([0.5, 6.5]), array([0.25, 0.25]))
    """
    X, means = np.asarray(X, dtype=np.float64), np.asarray(means, dtype=np.float64)
    density = np.stack([multivariate_normal(m, S).logpdf(X) for m, S in zip(means, covariances)], axis=-1)
    log_joint = np.log(weights) + density.reshape(len(X), -1)
    log_total = log_sum_exp(log_joint, keepdims=True)
    gamma = np.exp(log_joint - log_total)  # E: the responsibilities γ_jk (9.29)
    counts = gamma.sum(axis=0)
    means = gamma.T @ X / counts[:, None]  # M: (9.30)
    apart = X[:, None, :] - means
    covariances = np.einsum("jk,jka,jkb->kab", gamma, apart, apart) / counts[:, None, None]  # (9.31)
    return GaussianMixtureStep(counts / len(X), means, covariances, gamma, float(log_total.sum()))  # (9.32)


def check_given_weights(weights: np.ndarray, k: int) -> None:
    """An error for `weights_init` that are not k probabilities."""
    if weights.shape != (k,):
        raise ValueError(
            f"The parameter 'weights' should have the shape of {(k,)}, but got {weights.shape} in weights_init."
        )
    if weights.min() < 0 or weights.max() > 1:
        raise ValueError(
            f"The parameter 'weights' should be in the range [0, 1], but got min value {weights.min():.5f}, max "
            f"value {weights.max():.5f} in weights_init."
        )
    if abs(weights.sum() - 1) > 1e-6:
        raise ValueError(
            f"The parameter 'weights' should be normalized, but got sum(weights) = {weights.sum():.5f} in "
            f"weights_init."
        )
