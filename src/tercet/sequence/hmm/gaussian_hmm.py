"""Hidden Markov model with Gaussian emissions (高斯隐马尔可夫模型)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Real, Seed
from tercet.core.scaling import LARGE
from tercet.distributions._gaussian.covariances import (
    CovarianceType,
    check_covariances,
    compacted,
    expanded,
    matrices_of,
    n_free,
    repeated,
)
from tercet.distributions._gaussian.estimation import GaussianPrior, maximise
from tercet.distributions._gaussian.moments import draw, log_densities, moments
from tercet.sequence.hmm.base import HMM
from tercet.sequence.hmm.em import Theta
from tercet.sequence.hmm.real_emissions import RealEmissions, broadcast_prior, broadcast_prior_matrices


@method(
    zh="高斯隐马尔可夫模型",
    task="sequence labelling",
    approach="generative",
    model="P(I, O) = π_{i_1} b_{i_1}(o_1) Π_t a_{i_{t-1} i_t} b_{i_t}(o_t), with b_i(o) = N(o; m_i, S_i)",
    strategy="maximum likelihood P(O | λ), or P(O, I | λ) where states are known; with priors, a posteriori",
    loss="log",
    convex=False,
    algorithms={
        "Baum-Welch": "EM: posteriors by the forward-backward algorithm, then weighted means and covariances",
        "counting": "means and covariances of the rows of each state, where all states are known",
    },
    texts=["Li ch. 10, Alg 10.4"],
    peers=["hmmlearn.hmm.GaussianHMM"],
)
class GaussianHMM(HMM):
    """Hidden Markov model with Gaussian emissions.

    The states follow one another as in `CategoricalHMM`; in state i a row is drawn from N(m_i, S_i). A value
    that is NaN is marginalised: the likelihood is that of the observed values, and EM never lowers it. Where the
    states are known (`fit(X, y)`) their rows are averaged.

    Parameters
    ----------
    n_components : int, optional
        The number of states. By default as many as there are labels in y, or one without y.
    covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        One variance for each state; one for each state and feature; a matrix for each state; one matrix for all.
    min_covar : float, default=1e-3
        Added to the variances of the start. No variance becomes less later on, nor less than a millionth of the
        feature's variance in the data, if that is smaller.
    startprob_prior : float or array of shape (n_components,), default=1.0
        Dirichlet prior of the first state: prior - 1 is added to the counts.
    transmat_prior : float or array of shape (n_components, n_components), default=1.0
        Dirichlet priors of the transitions: prior - 1 is added to the counts.
    means_prior : float or array, default=0
        What the means were believed to be before: for all alike, for each state or for each state and feature.
    means_weight : float or array, default=0
        How many rows this belief is worth.
    covars_prior : float or array, default=1e-2
        Scatter that was seen before: a sum of squares, or a matrix for "full" and "tied" (a number is a multiple of
        the identity).
    covars_weight : float or array, default=1
        What that scatter weighs: one more than the number of rows it comes from, for "full" and "tied"
        n_features more. Less counts as no rows.
    algorithm : {"viterbi", "map"}, default="viterbi"
        How `predict` decodes: the most likely path, or the most likely state at each step.
    random_state : int, optional
        Decides what is drawn.
    n_iter : int, default=10
        The most passes of EM; with 0 the model is only initialised.
    tol : float, default=1e-2
        EM stops when a pass raises the log-likelihood (with the log-prior) by less.
    verbose : bool, default=False
        Print a line for each pass.
    params : str, default="stmc"
        What is learned: s for startprob_, t for transmat_, m for means_, c for covars_.
    init_params : str, default="stmc"
        What is set before EM begins (means by k-means); the rest starts from the attributes as they are.
    implementation : {"scaling", "log"}, default="scaling"
        Arithmetic of the recursions: scaled (a sequence that underflows is computed again with logarithms), or
        logarithms throughout.
    topology : {"ergodic", "left-right", "bakis", "cycle"} or boolean matrix, default="ergodic"
        The allowed transitions: all; none back to an earlier state; to stay, to the next state or to skip one;
        to stay or to the next, and from the last to the first; or those where a matrix is True. "left-right" and
        "bakis" begin in state 0 unless labels say otherwise.
    n_init : int, default=1
        How many random starts to try; the one with the highest likelihood is kept.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    startprob_ : array of shape (n_components,)
        π, the probabilities of the first state.
    transmat_ : array of shape (n_components, n_components)
        A, the probabilities of the transitions.
    means_ : array of shape (n_components, n_features)
        The means of the states.
    covars_ : array of shape (n_components, n_features, n_features)
        The covariances of the states, as matrices whatever the type. To be set in the short form of the type: of
        shape (n_components,), (n_components, n_features), (n_components, n_features, n_features) or, if tied,
        (n_features, n_features).
    classes_ : array of shape (n_components,)
        The names of the states: the labels in y, or numbers.
    converged_ : bool
        Whether EM met its stopping rule.
    n_iter_ : int
        Passes of EM.

    Examples
    --------
    >>> X = [[0.1], [-0.2], [0.0], [5.1], [4.8], [np.nan], [5.0], [0.2], [0.1]]
    >>> model = GaussianHMM(2, random_state=0, n_iter=30).fit(X)
    >>> model.means_.round(1).ravel(), model.predict(X)
    (array([5., 0.]), array([1, 1, 1, 0, 0, 0, 0, 1, 1]))
    """

    means_: np.ndarray
    _covars_: np.ndarray

    largest_value = LARGE
    streaming = True
    streams_missing = False

    def __init__(
        self,
        n_components: Count | None = None,
        covariance_type: CovarianceType = "diag",
        min_covar: NonNegative = 1e-3,
        startprob_prior: NonNegative | list | np.ndarray = 1.0,
        transmat_prior: NonNegative | list | np.ndarray = 1.0,
        means_prior: Real | list | np.ndarray = 0,
        means_weight: NonNegative | list | np.ndarray = 0,
        covars_prior: NonNegative | list | np.ndarray = 1e-2,
        covars_weight: Real | list | np.ndarray = 1,
        algorithm: Literal["viterbi", "map"] = "viterbi",
        random_state: Seed = None,
        n_iter: CountOrZero = 10,
        tol: float = 1e-2,
        verbose: bool | int = False,
        params: str = "stmc",
        init_params: str = "stmc",
        implementation: Literal["scaling", "log"] = "scaling",
        *,
        topology: Literal["ergodic", "left-right", "bakis", "cycle"] | list | np.ndarray = "ergodic",
        n_init: Count = 1,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.topology = topology
        self.n_init = n_init
        self.n_jobs = n_jobs

    @property
    def covars_(self) -> np.ndarray:
        """The covariances of the states as matrices."""
        if "_covars_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no covars_ yet: fit it, or set them.")
        n, d = np.shape(self.means_)
        return matrices_of(np.asarray(self._covars_), self.covariance_type, (n,), d)

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        self._covars_ = compacted(np.array(covars, dtype=np.float64), self.covariance_type)

    @property
    def n_features(self) -> int:
        """The number of features, from the attributes."""
        return int(np.shape(self.means_)[1])

    def _emissions(self) -> GaussianEmissions:
        return GaussianEmissions(
            type(self).__name__,
            self.params,
            covariance_type=self.covariance_type,
            min_covar=self.min_covar,
            means_prior=self.means_prior,
            means_weight=self.means_weight,
            covars_prior=self.covars_prior,
            covars_weight=self.covars_weight,
        )


@dataclass
class GaussianEmissions(RealEmissions):
    """A Gaussian for each state: b_i(o) = N(o; m_i, S_i). Covariances are kept in the compact form of their
    type."""

    letters: ClassVar[dict[str, tuple[str, ...]]] = {"m": ("means_",), "c": ("_covars_",)}

    covariance_type: CovarianceType
    min_covar: float
    means_prior: Any
    means_weight: Any
    covars_prior: Any
    covars_weight: Any

    def closed_form(self, rows: Any) -> bool:
        """With matrices, missing values are hidden variables even where the states are known."""
        return self.covariance_type in ("spherical", "diag") or not np.isnan(rows.min())

    def initial(self, n: int, rng: np.random.Generator | None) -> Theta:
        """Means by k-means or of the labelled rows; all states have the covariance of the rows about them."""
        sample = self.sample
        means = sample.means(n, self.owner)
        labelled = (sample.states >= 0).any()
        covariance = sample.covariance(self.min_covar, means[sample.nearest(means)] if labelled else None)
        return {"means_": means, "_covars_": repeated(covariance, self.covariance_type, (n,))}

    def checked(self, given: dict[str, Any], n: int) -> Theta:
        means = np.array(given["means_"], dtype=np.float64, order="C")
        if means.ndim != 2 or len(means) != n or not means.shape[1] or not np.isfinite(means).all():
            raise ValueError(
                f"{self.owner}: means_ must be finite numbers of shape ({n}, n_features); "
                f"got shape {means.shape}."
            )
        d = means.shape[1]
        covars = check_covariances(given["_covars_"], self.covariance_type, (n,), d, self.owner)
        self._prior(n, d)
        return {"means_": means, "_covars_": covars}

    def log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        return log_densities(rows, theta["means_"], self._expanded(theta))

    def statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        """Moments about the present means: weights, first moments (N, d), second moments."""
        return moments(rows, posterior, theta["means_"], self._expanded(theta))

    def update(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        """Weighted means and covariances of the rows, with those of the prior."""
        n, d = theta["means_"].shape
        means, covars = maximise(
            (statistics[0], statistics[1], statistics[2]),
            theta["means_"],
            theta["_covars_"],
            self.covariance_type,
            (n,),
            self._prior(n, d),
            self.sample.floor(self.min_covar),
            learn_means="m" in self.params,
            learn_covariances="c" in self.params,
        )
        return {"means_": means, "_covars_": covars}

    def log_prior(self, theta: Theta) -> float:
        means, covars = theta["means_"], theta["_covars_"]
        n, d = means.shape
        return self._prior(n, d).log_density(means, covars, self.covariance_type, (n,))

    def _prior(self, n: int, d: int) -> GaussianPrior:
        """hmmlearn's priors as rows that were seen before; `covars_weight` is one row more, or d with matrices."""
        owner, kind = self.owner, self.covariance_type
        shape = (n, d) if kind in ("spherical", "diag") else (n, 1)
        weight = broadcast_prior(self.means_weight, shape, owner, "means_weight", low=0.0)
        mean = broadcast_prior(self.means_prior, (n, d), owner, "means_prior")
        if kind in ("spherical", "diag"):
            scatter = broadcast_prior(self.covars_prior, shape, owner, "covars_prior", low=0.0)
            mass = np.maximum(broadcast_prior(self.covars_weight, shape, owner, "covars_weight") - 1, 0.0)
            if kind == "spherical":
                scatter, mass = scatter.sum(axis=1), mass.sum(axis=1)
            return GaussianPrior(mean, weight, scatter, mass)
        lead = (n,) if kind == "full" else ()
        scatter = broadcast_prior_matrices(self.covars_prior, lead, d, owner, "covars_prior")
        mass = np.maximum(broadcast_prior(self.covars_weight, lead, owner, "covars_weight") - d, 0.0)
        return GaussianPrior(mean, weight, scatter, mass[..., None, None])

    def _expanded(self, theta: Theta) -> np.ndarray:
        n, d = theta["means_"].shape
        return expanded(theta["_covars_"], self.covariance_type, (n,), d)

    def n_parameters(self, theta: Theta) -> dict[str, int]:
        n, d = theta["means_"].shape
        return {"m": n * d, "c": n_free(self.covariance_type, (n,), d)}

    def draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        return draw(states, theta["means_"], self._expanded(theta), rng)
