"""Hidden Markov model with Gaussian mixture emissions (高斯混合隐马尔可夫模型)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.spatial.distance import cdist

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Real, Seed
from tercet.core.scaling import LARGE
from tercet.distributions._gaussian.covariances import (
    CovarianceType,
    check_covariances,
    expanded,
    n_free,
    repeated,
)
from tercet.distributions._gaussian.estimation import GaussianPrior, maximise
from tercet.distributions._gaussian.moments import draw, log_densities, moments
from tercet.sequence._chain.scaled import subtract_row_max
from tercet.sequence.hmm.base import HMM
from tercet.sequence.hmm.em import Theta, log, log_dirichlet, normalised_counts, probability_table
from tercet.sequence.hmm.real_emissions import (
    RealEmissions,
    RowSample,
    broadcast_prior,
    broadcast_prior_matrices,
)


@method(
    zh="高斯混合隐马尔可夫模型",
    task="sequence labelling",
    approach="generative",
    model="P(I, O) = π_{i_1} b_{i_1}(o_1) Π_t a_{i_{t-1} i_t} b_{i_t}(o_t); b_i(o) = Σ_l w_il N(o; m_il, S_il)",
    strategy="maximum likelihood P(O | λ), or P(O, I | λ) where states are known; with priors, a posteriori",
    loss="log",
    convex=False,
    algorithms={
        "Baum-Welch": "EM: posteriors of states and components by the forward-backward algorithm, then the mixtures"
    },
    texts=["Li ch. 10, Alg 10.4", "Li ch. 9, Alg 9.2"],
    peers=["hmmlearn.hmm.GMMHMM"],
)
class GMMHMM(HMM):
    """Hidden Markov model with Gaussian mixture emissions.

    In state i a row is drawn from the l-th of `n_mix` Gaussians with probability w_il. Which one it was is hidden
    like the states, even where these are known; EM finds both. A value that is NaN is marginalised.

    Parameters
    ----------
    n_components : int, optional
        The number of states. By default as many as there are labels in y, or one without y.
    n_mix : int, default=1
        How many Gaussians each state has.
    min_covar : float, default=1e-3
        Added to the variances of the start. No variance becomes less later on, nor less than a millionth of the
        feature's variance in the data, if that is smaller.
    startprob_prior : float or array of shape (n_components,), default=1.0
        Dirichlet prior of the first state: prior - 1 is added to the counts.
    transmat_prior : float or array of shape (n_components, n_components), default=1.0
        Dirichlet priors of the transitions: prior - 1 is added to the counts.
    weights_prior : float or array of shape (n_components, n_mix), default=1.0
        Dirichlet priors of the weights: prior - 1 is added to the counts.
    means_prior : float or array, default=0
        What the means were believed to be before; an array has the shape of means_.
    means_weight : float or array, default=0
        How many rows this belief is worth: for all Gaussians alike, or for each.
    covars_prior : float or array, optional
        Prior of the covariances: the shape of an inverse gamma distribution for "spherical" and "diag", the
        matrix of an inverse Wishart distribution for "full" and "tied" (a number is a multiple of the identity).
        By default there is none.
    covars_weight : float or array, optional
        The scale of the inverse gamma distribution, or the degrees of freedom of the inverse Wishart distribution.
    algorithm : {"viterbi", "map"}, default="viterbi"
        How `predict` decodes: the most likely path, or the most likely state at each step.
    covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        One variance for each Gaussian; one for each of its features; a matrix for each; one matrix for all
        Gaussians of a state.
    random_state : int, optional
        Decides what is drawn.
    n_iter : int, default=10
        The most passes of EM; with 0 the model is only initialised.
    tol : float, default=1e-2
        EM stops when a pass raises the log-likelihood (with the log-prior) by less.
    verbose : bool, default=False
        Print a line for each pass.
    params : str, default="stmcw"
        What is learned: s for startprob_, t for transmat_, m for means_, c for covars_, w for weights_.
    init_params : str, default="stmcw"
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
    weights_ : array of shape (n_components, n_mix)
        The weights of the Gaussians in each state.
    means_ : array of shape (n_components, n_mix, n_features)
        Their means.
    covars_ : array
        Their covariances: of shape (n_components, n_mix), (n_components, n_mix, n_features), (n_components, n_mix,
        n_features, n_features) or, if tied, (n_components, n_features, n_features).
    classes_ : array of shape (n_components,)
        The names of the states: the labels in y, or numbers.
    converged_ : bool
        Whether EM met its stopping rule.
    n_iter_ : int
        Passes of EM.

    Examples
    --------
    >>> X = np.array([0, 4, 0.3, 4.2, 9, 0.1, 3.9, 0.2, 9.1, 8.8, 9.2, 9.1])[:, None]
    >>> model = GMMHMM(2, n_mix=2, random_state=0, tol=10).fit(X, [0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1])
    >>> np.sort(model.means_[0].ravel()).round(1)
    array([0.2, 4. ])
    """

    weights_: np.ndarray
    means_: np.ndarray
    covars_: np.ndarray

    largest_value = LARGE

    def __init__(
        self,
        n_components: Count | None = None,
        n_mix: Count = 1,
        min_covar: NonNegative = 1e-3,
        startprob_prior: NonNegative | list | np.ndarray = 1.0,
        transmat_prior: NonNegative | list | np.ndarray = 1.0,
        weights_prior: NonNegative | list | np.ndarray = 1.0,
        means_prior: Real | list | np.ndarray = 0.0,
        means_weight: NonNegative | list | np.ndarray = 0.0,
        covars_prior: Real | list | np.ndarray | None = None,
        covars_weight: Real | list | np.ndarray | None = None,
        algorithm: Literal["viterbi", "map"] = "viterbi",
        covariance_type: CovarianceType = "diag",
        random_state: Seed = None,
        n_iter: CountOrZero = 10,
        tol: float = 1e-2,
        verbose: bool | int = False,
        params: str = "stmcw",
        init_params: str = "stmcw",
        implementation: Literal["scaling", "log"] = "scaling",
        *,
        topology: Literal["ergodic", "left-right", "bakis", "cycle"] | list | np.ndarray = "ergodic",
        n_init: Count = 1,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.n_mix = n_mix
        self.min_covar = min_covar
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.weights_prior = weights_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.algorithm = algorithm
        self.covariance_type = covariance_type
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
    def n_features(self) -> int:
        """The number of features, from the attributes."""
        return int(np.shape(self.means_)[2])

    def _emissions(self) -> GMMEmissions:
        return GMMEmissions(
            type(self).__name__,
            self.params,
            n_mix=self.n_mix,
            covariance_type=self.covariance_type,
            min_covar=self.min_covar,
            weights_prior=self.weights_prior,
            means_prior=self.means_prior,
            means_weight=self.means_weight,
            covars_prior=self.covars_prior,
            covars_weight=self.covars_weight,
        )


@dataclass
class GMMEmissions(RealEmissions):
    """A mixture of M Gaussians for each state: b_i(o) = Σ_l w_il N(o; m_il, S_il)."""

    letters: ClassVar[dict[str, tuple[str, ...]]] = {"m": ("means_",), "c": ("covars_",), "w": ("weights_",)}

    n_mix: int
    covariance_type: CovarianceType
    min_covar: float
    weights_prior: Any
    means_prior: Any
    means_weight: Any
    covars_prior: Any
    covars_weight: Any

    def closed_form(self, rows: Any) -> bool:
        """The component of a row is hidden even where its state is known."""
        return False

    def initial(self, n: int, rng: np.random.Generator | None) -> Theta:
        """K-means for the states, and again for the components of each."""
        sample = self.sample
        of_states = sample.means(n, self.owner)
        states = sample.nearest(of_states)
        means, centre = np.empty((n, self.n_mix, of_states.shape[1])), np.empty(sample.rows.shape)
        for i, mean in enumerate(of_states):
            here = states == i
            means[i] = self._component_means(sample, here, mean)
            centre[here] = means[i][cdist(sample.rows[here], means[i]).argmin(axis=1)]
        covariance = sample.covariance(self.min_covar, centre)
        return {
            "weights_": np.full((n, self.n_mix), 1 / self.n_mix),
            "means_": means,
            "covars_": repeated(covariance, self.covariance_type, (n, self.n_mix)),
        }

    def _component_means(self, sample: RowSample, here: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """First means (M, d) of a state: centres of its rows, or random ones about its mean where these are too
        few."""
        if len(np.unique(sample.rows[here], axis=0)) >= self.n_mix:
            return sample.centres(here, self.n_mix)
        deviation = np.sqrt(sample.variance + self.min_covar)
        return mean + sample.rng.standard_normal((self.n_mix, mean.size)) * deviation

    def checked(self, given: dict[str, Any], n: int) -> Theta:
        weights = probability_table(given["weights_"], "weights_", (n, self.n_mix), self.owner)
        means = np.array(given["means_"], dtype=np.float64, order="C")
        good = means.ndim == 3 and means.shape[:2] == (n, self.n_mix) and means.shape[2] > 0
        if not good or not np.isfinite(means).all():
            raise ValueError(
                f"{self.owner}: means_ must be finite numbers of shape ({n}, {self.n_mix}, n_features); "
                f"got shape {means.shape}."
            )
        lead, d = means.shape[:2], means.shape[2]
        covars = check_covariances(given["covars_"], self.covariance_type, lead, d, self.owner)
        self._prior(lead, d)
        return {"weights_": weights, "means_": means, "covars_": covars}

    def log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        densities, offsets = self._weighted_densities(rows, theta)
        return (log(densities.sum(axis=1)) + offsets).reshape(len(rows), -1)

    def _weighted_densities(self, rows: Any, theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        """w_il N(o_t; m_il, S_il), of shape (T N, M), divided by the largest of each row, and the logs of these."""
        found = log_densities(rows, *self._flat(theta))
        found += log(theta["weights_"]).ravel()
        found = found.reshape(-1, self.n_mix)
        offsets = np.empty(len(found))
        subtract_row_max(found, offsets)
        return np.exp(found, out=found), offsets

    def statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        """Expected counts of the components, (N, M), and moments of the rows about their means."""
        shares, _ = self._weighted_densities(rows, theta)
        whole = shares.sum(axis=1)
        whole[whole == 0] = 1.0  # a state that cannot have given this row; its posterior is zero
        shares *= (posterior.ravel() / whole)[:, None]
        shares = shares.reshape(len(rows), -1)
        counts = shares.sum(axis=0).reshape(theta["weights_"].shape)
        return counts, *moments(rows, shares, *self._flat(theta))

    def update(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        """Weights, means and covariances of the components, as in a Gaussian mixture (9.30)-(9.32)."""
        counts, *seen = statistics
        lead, d = theta["means_"].shape[:2], theta["means_"].shape[2]
        means, covars = maximise(
            (seen[0], seen[1], seen[2]),
            theta["means_"].reshape(-1, d),
            theta["covars_"],
            self.covariance_type,
            lead,
            self._prior(lead, d),
            self.sample.floor(self.min_covar),
            learn_means="m" in self.params,
            learn_covariances="c" in self.params,
        )
        weights = normalised_counts(counts, self.weights_prior, theta["weights_"])
        return {"weights_": weights, "means_": means.reshape(*lead, d), "covars_": covars}

    def log_prior(self, theta: Theta) -> float:
        lead, d = theta["means_"].shape[:2], theta["means_"].shape[2]
        flat = theta["means_"].reshape(-1, d)
        value = self._prior(lead, d).log_density(flat, theta["covars_"], self.covariance_type, lead)
        return value + log_dirichlet(theta["weights_"], self.weights_prior)

    def _prior(self, lead: tuple[int, ...], d: int) -> GaussianPrior:
        """hmmlearn's priors of a mixture (inverse gamma, inverse Wishart) as rows that were seen before."""
        owner, kind = self.owner, self.covariance_type
        broadcast_prior(self.weights_prior, lead, owner, "weights_prior", low=0.0)
        mean = broadcast_prior(self.means_prior, (*lead, d), owner, "means_prior").reshape(-1, d)
        weight = broadcast_prior(self.means_weight, lead, owner, "means_weight", low=0.0).reshape(-1, 1)
        first, second = self.covars_prior, self.covars_weight
        if kind in ("spherical", "diag"):
            shape, per = (lead, d) if kind == "spherical" else ((*lead, d), 1)
            alpha = broadcast_prior(-1.0 - per / 2 if first is None else first, shape, owner, "covars_prior")
            beta = broadcast_prior(0.0 if second is None else second, shape, owner, "covars_weight", low=0.0)
            return GaussianPrior(mean, weight, 2 * beta, per + 2 * (alpha + 1))
        shape, sharing = (lead, 1) if kind == "full" else (lead[:1], lead[1])
        none = -(sharing + d + 1.0)
        scatter = broadcast_prior_matrices(0.0 if first is None else first, shape, d, owner, "covars_prior")
        freedom = broadcast_prior(none if second is None else second, shape, owner, "covars_weight")
        return GaussianPrior(mean, weight, scatter, (freedom - none)[..., None, None])

    def _flat(self, theta: Theta) -> tuple[np.ndarray, np.ndarray]:
        """Means (N M, d) and expanded covariances of all Gaussians."""
        means = theta["means_"]
        lead, d = means.shape[:2], means.shape[2]
        return means.reshape(-1, d), expanded(theta["covars_"], self.covariance_type, lead, d)

    def n_parameters(self, theta: Theta) -> dict[str, int]:
        n, m, d = theta["means_"].shape
        return {"w": n * (m - 1), "m": n * m * d, "c": n_free(self.covariance_type, (n, m), d)}

    def draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        cumulated = np.cumsum(theta["weights_"], axis=1)[states]
        component = (rng.random((states.size, 1)) * cumulated[:, -1:] >= cumulated).sum(axis=1)
        return draw(states * self.n_mix + component, *self._flat(theta), rng)
