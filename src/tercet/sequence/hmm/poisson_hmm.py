"""Hidden Markov model with Poisson emissions (泊松隐马尔可夫模型)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import gammaln

from tercet.core.catalog import method
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed
from tercet.core.scaling import LARGE
from tercet.sequence.base import Sequences
from tercet.sequence.hmm.base import HMM
from tercet.sequence.hmm.em import Theta, log
from tercet.sequence.hmm.real_emissions import RealEmissions, broadcast_prior

NO_ROWS = 1e-100  # a state of less weight has seen no rows


@method(
    zh="泊松隐马尔可夫模型",
    task="sequence labelling",
    approach="generative",
    model="P(I, O) = π_{i_1} b_{i_1}(o_1) Π_t a_{i_{t-1} i_t} b_{i_t}(o_t), with b_i(o) = Π_j Poisson(o_j; λ_ij)",
    strategy="maximum likelihood P(O | λ), or P(O, I | λ) where states are known; with priors, a posteriori",
    loss="log",
    convex=False,
    algorithms={
        "Baum-Welch": "EM: posteriors by the forward-backward algorithm, then weighted mean counts",
        "counting": "mean counts of the rows of each state, where all states are known",
    },
    texts=["Li ch. 10, Alg 10.4"],
    peers=["hmmlearn.hmm.PoissonHMM"],
)
class PoissonHMM(HMM):
    """Hidden Markov model with Poisson emissions.

    In state i the j-th number of a row is drawn from a Poisson distribution with mean λ_ij. A number that is NaN
    was not observed, and is left out. (Numbers that are not whole are taken as they are, with the gamma function
    for the factorial.)

    Parameters
    ----------
    n_components : int, optional
        The number of states. By default as many as there are labels in y, or one without y.
    startprob_prior : float or array of shape (n_components,), default=1.0
        Dirichlet prior of the first state: prior - 1 is added to the counts.
    transmat_prior : float or array of shape (n_components, n_components), default=1.0
        Dirichlet priors of the transitions: prior - 1 is added to the counts.
    lambdas_prior : float or array of shape (n_components, n_features), default=0.0
        Counts that were seen before.
    lambdas_weight : float or array of shape (n_components, n_features), default=0.0
        The number of rows in which they were seen.
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
    params : str, default="stl"
        What is learned: s for startprob_, t for transmat_, l for lambdas_.
    init_params : str, default="stl"
        What is drawn before EM begins; the rest starts from the attributes as they are.
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
    lambdas_ : array of shape (n_components, n_features)
        The mean counts of the states.
    classes_ : array of shape (n_components,)
        The names of the states: the labels in y, or numbers.
    converged_ : bool
        Whether EM met its stopping rule.
    n_iter_ : int
        Passes of EM.

    Examples
    --------
    >>> X = [[0], [1], [0], [9], [11], [8], [1], [0]]
    >>> model = PoissonHMM().fit(X, ["calm", "calm", "calm", "busy", "busy", "busy", "calm", "calm"])
    >>> model.lambdas_.round(2).ravel(), model.predict([[2], [12]])
    (array([9.33, 0.4 ]), array(['calm', 'busy'], dtype='<U4'))
    """

    positive_only = True
    largest_value = LARGE
    lambdas_: np.ndarray

    def __init__(
        self,
        n_components: Count | None = None,
        startprob_prior: NonNegative | list | np.ndarray = 1.0,
        transmat_prior: NonNegative | list | np.ndarray = 1.0,
        lambdas_prior: NonNegative | list | np.ndarray = 0.0,
        lambdas_weight: NonNegative | list | np.ndarray = 0.0,
        algorithm: Literal["viterbi", "map"] = "viterbi",
        random_state: Seed = None,
        n_iter: CountOrZero = 10,
        tol: float = 1e-2,
        verbose: bool | int = False,
        params: str = "stl",
        init_params: str = "stl",
        implementation: Literal["scaling", "log"] = "scaling",
        *,
        topology: Literal["ergodic", "left-right", "bakis", "cycle"] | list | np.ndarray = "ergodic",
        n_init: Count = 1,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight
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
    def n_features(self) -> int:
        """The number of features, from the attributes."""
        return int(np.shape(self.lambdas_)[1])

    def _emissions(self) -> PoissonEmissions:
        return PoissonEmissions(type(self).__name__, self.params, self.lambdas_prior, self.lambdas_weight)

    def _rows(self, X: Sequences, *, reset: bool = False) -> Sequences:
        X = super()._rows(X, reset=reset)
        least = np.fmin.reduce(X.rows, axis=None)
        if least < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: {least:g} is the smallest; counts are 0 "
                "or more."
            )
        return X


@dataclass
class PoissonEmissions(RealEmissions):
    """Independent Poisson distributions of the features: b_i(o) = Π_j Poisson(o_j; λ_ij), with gamma priors."""

    letters: ClassVar[dict[str, tuple[str, ...]]] = {"l": ("lambdas_",)}

    prior: Any  # counts seen before
    prior_weight: Any  # in so many rows

    def initial(self, n: int, rng: np.random.Generator | None) -> Theta:
        """Random means with the mean and variance of the rows (from a gamma distribution); means of the labelled
        rows of a state, where there are any."""
        sample = self.sample
        mean = np.maximum(sample.mean, 1e-3)
        scale = np.maximum(sample.variance, 1e-3 * mean) / mean
        lambdas = np.maximum(sample.rng.gamma(mean / scale, scale, size=(n, mean.size)), 1e-3 * mean)
        for i in np.unique(sample.states[sample.states >= 0]):
            here = sample.states == i
            lambdas[i] = np.maximum(
                np.average(sample.rows[here], axis=0, weights=sample.weight[here]), 1e-3 * mean
            )
        return {"lambdas_": lambdas}

    def checked(self, given: dict[str, Any], n: int) -> Theta:
        lambdas = np.array(given["lambdas_"], dtype=np.float64, order="C")
        good = lambdas.ndim == 2 and len(lambdas) == n and lambdas.shape[1] > 0
        if not good or not (lambdas >= 0).all() or not np.isfinite(lambdas).all():
            raise ValueError(
                f"{self.owner}: lambdas_ must be finite, not negative and of shape ({n}, n_features); "
                f"got {lambdas!r}."
            )
        self._pseudo_counts(lambdas.shape)
        return {"lambdas_": lambdas}

    def log_likelihood(self, rows: Any, theta: Theta) -> np.ndarray:
        """Σ_j o_j log λ_ij - λ_ij - log o_j!, over the observed counts."""
        counts, seen = _observed(rows)
        lambdas = theta["lambdas_"]
        zero = lambdas == 0
        like = counts @ np.log(np.where(zero, 1.0, lambdas)).T - seen @ lambdas.T
        like -= gammaln(counts + 1.0).sum(axis=1, keepdims=True)
        if zero.any():  # a state that gives only zeros
            like[(counts > 0).astype(np.float64) @ zero.T > 0] = -np.inf
        return like

    def statistics(self, rows: Any, posterior: np.ndarray, theta: Theta) -> tuple[Any, ...]:
        """Expected sums of the counts, and weights of the rows in which they were observed: (N, d) both."""
        counts, seen = _observed(rows)
        return posterior.T @ counts, posterior.T @ seen

    def update(self, statistics: tuple[Any, ...], theta: Theta) -> Theta:
        """λ_ij = (Σ_t γ_t(i) o_tj + prior counts) / (Σ_t γ_t(i) + prior rows)."""
        counts, mass = statistics
        prior, prior_rows = self._pseudo_counts(counts.shape)
        total = np.broadcast_to(mass + prior_rows, counts.shape)
        lambdas = np.divide(counts + prior, total, out=theta["lambdas_"].copy(), where=total > NO_ROWS)
        return {"lambdas_": lambdas}

    def log_prior(self, theta: Theta) -> float:
        prior, prior_rows = self._pseudo_counts(theta["lambdas_"].shape)
        here = prior > 0
        logs = log(theta["lambdas_"])[here]
        return float(prior[here] @ logs - (prior_rows * theta["lambdas_"]).sum())

    def _pseudo_counts(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        prior = broadcast_prior(self.prior, shape, self.owner, "lambdas_prior", low=0.0)
        return prior, broadcast_prior(self.prior_weight, shape, self.owner, "lambdas_weight", low=0.0)

    def n_parameters(self, theta: Theta) -> dict[str, int]:
        return {"l": theta["lambdas_"].size}

    def draw(self, states: np.ndarray, theta: Theta, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(theta["lambdas_"][states])


def _observed(rows: Any) -> tuple[np.ndarray, np.ndarray]:
    """Counts with 0 where they are missing, and 1 where they are not."""
    rows = np.asarray(rows, dtype=np.float64)
    missing = np.isnan(rows)
    return np.where(missing, 0.0, rows), (~missing).astype(np.float64)
