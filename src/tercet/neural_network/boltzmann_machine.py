"""Boltzmann machines (Boltzmann 机)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted, generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.functions import log_sum_exp, sigmoid, softmax, softplus
from tercet.core.kernel import kernel
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, CountOrZero, NonNegative, Positive, Real, Seed
from tercet.core.scaling import LARGE
from tercet.core.stopping import check_stop
from tercet.core.symbolic_shapes import Sizes
from tercet.core.validation import check_array, target_for_callbacks
from tercet.neural_network._energy.binary_rows import checked_units, symmetric_weights, two_values
from tercet.neural_network._energy.binary_states import MOST_UNITS, refuse_too_many, state_blocks
from tercet.neural_network._energy.chain_warnings import warn_of_disagreement

FEW_UNITS = 12  # up to which algorithm="auto" enumerates the states
WATCHED = "the energy or the active units"  # what R-hat is computed of
JUDGED = 200  # sweeps of the chains whose agreement is judged after learning
HIDDEN_SCALE = 0.5  # standard deviation of the initial weights of hidden units
GROWTH = 1.1  # of the step size, after a step that raised the objective
TEMPERATURES = 1000  # from independent units to the model, where log Z is estimated
BLOCK = 1 << 21  # numbers of an array of hidden states and rows


class Statistics(NamedTuple):
    """Means <s_i s_j> (with <s_i> on the diagonal), and the log of a sum of exp(-E), for each row where clamped."""

    means: np.ndarray
    log_sum: float


@method(
    zh="Boltzmann 机",
    task="density estimation",
    approach="generative",
    model="P(s) = exp(-E(s)) / Z, E(s) = -Σ_{i<j} w_ij s_i s_j - Σ_i θ_i s_i, s_i in {0, 1}",
    strategy="maximum likelihood of the visible units: Δw_ij = η (<s_i s_j>_data - <s_i s_j>_model)",
    convex=False,
    algorithms={
        "exact": "both means are sums over all states",
        "gibbs": "both means are estimated from Gibbs chains, that of the data with clamped visible units",
    },
    texts=["watermelon notes ch. 3, 3.5.6"],
)
class BoltzmannMachine(Estimator):
    """Boltzmann machine: binary units of which each pair may be connected.

    A state s of units s_i in {0, 1} has the energy E(s) = -Σ_{i<j} w_ij s_i s_j - Σ_i θ_i s_i and the probability
    exp(-E(s)) / Z. Given all others, P(s_i = 1) = σ(Σ_j w_ij s_j + θ_i), which is what Gibbs sampling draws from.
    The features are the visible units; hidden units, which have no data, come after them. Learning raises the
    log-likelihood of the visible units by its gradient, the mean of s_i s_j with the visible units clamped to the
    data less that of the free machine.

    Parameters
    ----------
    n_hidden : int, default=0
        The number of hidden units.
    algorithm : {"auto", "exact", "gibbs"}, default="auto"
        How both means are computed: from all states, of which there are 2^n for n units (at most 20), or from Gibbs
        chains. "auto" is "exact" for up to 12 units.
    learning_rate : float, default=0.1
        Step size η. With "exact" it is the first one: a step that would lower the objective is taken back and
        halved, each other makes the next one larger by a tenth.
    max_iter : int, default=1000
        Steps of the gradient ascent.
    tol : float, default=1e-4
        Stop when no partial derivative is larger ("exact" only: estimates never are exactly 0).
    weight_decay : float, default=0.0
        Strength of the penalty weight_decay / 2 · Σ_{i<j} w_ij². Without one, weights grow as long as the fit goes
        on where units of the data determine each other.
    binarize : float, optional
        Values above count as 1, others as 0. By default X must hold zeros and ones.
    n_chains : int, default=100
        Gibbs chains of the free machine.
    n_gibbs_steps : int, default=5
        Sweeps through all units for each step of the gradient ascent.
    verbose : int, default=0
        Print the number of states before the first step, and a line for each `verbose`-th step.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    weights_ : array of shape (n_units, n_units)
        The weights w, symmetric with zeros on the diagonal; n_units = n_features_in_ + n_hidden.
    intercept_ : array of shape (n_units,)
        The biases θ.
    log_partition_ : float
        log Z: exact for up to 20 units, else estimated by annealed importance sampling.
    algorithm_ : str
        "exact" or "gibbs".

    Examples
    --------
    >>> X = [[1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 0, 1]]
    >>> model = BoltzmannMachine().fit(X)
    >>> model.marginals().round(2), np.mean(X, axis=0)
    (array([0.63, 0.5 , 0.5 ]), array([0.625, 0.5  , 0.5  ]))
    >>> model.mode()
    array([1, 1, 0])
    """

    sparse_input = False
    relative_weights = True
    batch_rounding = 1e-9  # matrix products by BLAS
    streams_instead = "partial_fit of BernoulliRBM with pieces of the rows"
    fitted_shapes: ClassVar[Declarations] = {
        "weights_": Floats("units units", finite=True),
        "intercept_": Floats("units", finite=True),
        "log_partition_": "",
    }
    weights_: np.ndarray
    intercept_: np.ndarray
    log_partition_: float
    algorithm_: str
    n_features_in_: int

    def __init__(
        self,
        n_hidden: CountOrZero = 0,
        *,
        algorithm: Literal["auto", "exact", "gibbs"] = "auto",
        learning_rate: Positive = 0.1,
        max_iter: Count = 1000,
        tol: NonNegative = 1e-4,
        weight_decay: NonNegative = 0.0,
        binarize: Real | None = None,
        n_chains: Count = 100,
        n_gibbs_steps: Count = 5,
        verbose: int | bool = 0,
        random_state: Seed = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.algorithm = algorithm
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.weight_decay = weight_decay
        self.binarize = binarize
        self.n_chains = n_chains
        self.n_gibbs_steps = n_gibbs_steps
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the weights from states of the visible units.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            States of the visible units; see `binarize`.
        y : ignored
            Accepted for pipelines; nothing is learned from it.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row in the log-likelihood; only their ratios count.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: np.ndarray, y: Any, sample_weight: np.ndarray | None) -> None:
        rng = generator(self.random_state)
        V, share = distinct_rows(X, sample_weight)
        n = X.shape[1] + self.n_hidden
        self.algorithm_ = self.algorithm
        if self.algorithm == "auto":
            self.algorithm_ = "exact" if n <= FEW_UNITS else "gibbs"
        if self.algorithm_ == "exact":
            refuse_too_many(n, type(self).__name__, "algorithm='exact'", " Use algorithm='gibbs'.")
            if self.verbose:
                print(f"[{type(self).__name__}] 2^{n} = {1 << n:,} states of {n} units")
        self.weights_, self.intercept_ = initial_weights(X.shape[1], self.n_hidden, rng), np.zeros(n)
        if self.algorithm_ == "exact":
            self._fit_exact(V, share)
        else:
            self._fit_gibbs(V, share, rng)

    def _fit_exact(self, V: np.ndarray, share: np.ndarray) -> None:
        """Gradient ascent; a step that lowers the objective is taken back, and the step size halved."""
        rate = float(self.learning_rate)
        best, kept = -np.inf, (self.weights_, self.intercept_)
        for step in self.steps(self.max_iter):
            data, model = self.clamped_statistics(V, share), self.free_statistics()
            objective = (
                data.log_sum - model.log_sum - 0.25 * self.weight_decay * float((self.weights_**2).sum())
            )
            if objective >= best - 1e-12 * abs(best):
                best, kept = max(objective, best), (self.weights_, self.intercept_)
                log_likelihood, log_partition = data.log_sum - model.log_sum, model.log_sum
                rate *= GROWTH if step.index else 1.0
                gradient = self._gradient(data.means, model.means)
            else:
                rate /= 2.0
                self.weights_, self.intercept_ = kept
            self._say(step.count, log_likelihood)
            step.report(
                log_likelihood=log_likelihood,
                gradient=float(np.abs(gradient).max()),
                weights_=self.weights_,
                intercept_=self.intercept_,
                log_partition_=log_partition,
            )
            if step.converged(np.abs(gradient).max() <= self.tol):
                break
            self._move(rate * gradient)
        self.weights_, self.intercept_ = kept
        self.log_partition_ = self._log_partition()

    def _fit_gibbs(self, V: np.ndarray, share: np.ndarray, rng: np.random.Generator) -> None:
        """Stochastic gradient ascent: Gibbs chains go on from step to step, with and without clamped units."""
        n, d = len(self.intercept_), V.shape[1]
        clamped = np.hstack([V, (rng.random((len(V), n - d)) < 0.5).astype(float)])
        chains = (rng.random((self.n_chains, n)) < 0.5).astype(float)
        hidden, every = np.arange(d, n), np.arange(n)
        for step in self.steps(self.max_iter):
            check_stop()
            for _ in range(self.n_gibbs_steps):
                if self.n_hidden:
                    self._sweep(clamped, hidden, rng)
                self._sweep(chains, every, rng)
            gradient = self._gradient(
                second_moments(clamped, share), second_moments(chains, np.full(len(chains), 1 / len(chains)))
            )
            pseudo = self._pseudo_log_likelihood(clamped, share)
            self._say(step.count, pseudo)
            kept = self.weights_, self.intercept_
            self._move(float(self.learning_rate) * gradient)
            self._refuse_divergence(kept, rng)
            step.report(
                pseudo_log_likelihood=pseudo,
                gradient=float(np.abs(gradient).max()),
                weights_=self.weights_,
                intercept_=self.intercept_,
                log_partition_=np.nan,
            )
        watched, axis = np.empty((len(chains), JUDGED, 3)), main_axis(self.weights_)
        for k in range(JUDGED):
            self._sweep(chains, every, rng)
            watched[:, k] = self._watched(chains, axis)
        warn_of_disagreement(self, watched, WATCHED, "n_gibbs_steps or weight_decay")
        self.log_partition_ = self._log_partition(rng)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        X = two_values(super()._check(X, reset=reset), self.binarize, type(self).__name__)
        return X if y is NO_TARGET else (X, target_for_callbacks(y, X.shape[0]))

    def _encode(self, y: Any) -> None:
        return None

    def _check_fitted(self, sizes: Sizes) -> None:
        if not np.array_equal(self.weights_, self.weights_.T):
            raise ValueError(f"{type(self).__name__}: weights_ is not symmetric.")
        if len(self.intercept_) < self.n_features_in_:
            raise ValueError(
                f"{type(self).__name__}: there are fewer units than the {self.n_features_in_} features."
            )

    def _say(self, count: int, value: float) -> None:
        if self.verbose and count % int(self.verbose) == 0:
            what = "log-likelihood" if self.algorithm_ == "exact" else "pseudo-log-likelihood"
            print(f"[{type(self).__name__}] step {count}, {what} = {value:.4f}")

    def _gradient(self, data: np.ndarray, model: np.ndarray) -> np.ndarray:
        """<s_i s_j>_data - <s_i s_j>_model less the penalty; that of θ_i is on the diagonal."""
        found = data - model
        return 0.5 * (found + found.T) - self.weight_decay * self.weights_  # rounding is not symmetric

    def _move(self, change: np.ndarray) -> None:
        self.intercept_ = self.intercept_ + np.diag(change)
        self.weights_ = self.weights_ + change
        np.fill_diagonal(self.weights_, 0.0)

    def _refuse_divergence(self, kept: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> None:
        if float(np.abs(self.weights_).max()) < LARGE and float(np.abs(self.intercept_).max()) < LARGE:
            return
        self.weights_, self.intercept_ = kept
        self.log_partition_ = self._log_partition(rng)
        raise ValueError(
            f"{type(self).__name__}: the weights grew beyond floating-point numbers with learning_rate="
            f"{self.learning_rate:g} and weight_decay={self.weight_decay:g}. Take a smaller learning_rate, such as "
            f"{self.learning_rate / 10:g}, or a smaller weight_decay. The last finite weights are kept."
        )

    # Sums over all states

    def free_statistics(self) -> Statistics:
        """Means <s_i s_j> of the free machine, and log Z: sums over all states, of at most 20 units.

        Returns
        -------
        means : array of shape (n_units, n_units)
            With <s_i> on the diagonal.
        log_sum : float
            log Z.
        """
        total, peak, means = 0.0, -np.inf, np.zeros_like(self.weights_)
        for states in state_blocks(len(self.intercept_), type(self).__name__, "the free machine"):
            check_stop()
            energies = -self._energy(states)
            top = max(peak, float(energies.max()))
            p = np.exp(energies - top)
            shrink = np.exp(peak - top)
            with one_blas_thread():
                means = shrink * means + (states * p[:, None]).T @ states
            total, peak = shrink * total + float(p.sum()), top
        return Statistics(means / total, peak + float(np.log(total)))

    def clamped_statistics(self, V: np.ndarray, share: np.ndarray) -> Statistics:
        """Means <s_i s_j> with visible units clamped to rows: sums over all states of the hidden units.

        Parameters
        ----------
        V : array of shape (n_samples, n_features)
            Visible units, 0 or 1.
        share : array of shape (n_samples,)
            Weights of the rows; their sum is 1.

        Returns
        -------
        means : array of shape (n_units, n_units)
        log_sum : float
            Weighted mean over the rows of log Σ_h exp(-E(v, h)).
        """
        d, n = V.shape[1], len(self.intercept_)
        means = np.zeros((n, n))
        with one_blas_thread():
            means[:d, :d] = (V * share[:, None]).T @ V
        if n == d:
            return Statistics(means, float(share @ -self._energy(V)))
        log_sum = 0.0
        states = self._hidden_states()
        for rows in np.array_split(np.arange(len(V)), -(-len(V) * len(states) // BLOCK)):
            check_stop()
            logs = self._hidden_logs(V[rows], states)
            log_sum += float(share[rows] @ (log_sum_exp(logs) - self._visible_energy(V[rows])))
            p = softmax(logs) * share[rows, None]
            with one_blas_thread():
                means[:d, d:] += V[rows].T @ (p @ states)
                means[d:, d:] += (states * p.sum(axis=0)[:, None]).T @ states
        means[d:, :d] = means[:d, d:].T
        return Statistics(means, log_sum)

    def _hidden_states(self) -> np.ndarray:
        n_hidden = len(self.intercept_) - self.n_features_in_
        return np.vstack(list(state_blocks(n_hidden, type(self).__name__, "the sum over hidden states")))

    def _hidden_logs(self, V: np.ndarray, states: np.ndarray) -> np.ndarray:
        """-E(v, h) without the terms of visible units alone, of shape (n_samples, n_states)."""
        d = V.shape[1]
        with one_blas_thread():
            own = 0.5 * ((states @ self.weights_[d:, d:]) * states).sum(axis=1) + states @ self.intercept_[d:]
            return (V @ self.weights_[:d, d:]) @ states.T + own

    def _visible_energy(self, V: np.ndarray) -> np.ndarray:
        """The terms of the energy of visible units alone."""
        d = V.shape[1]
        with one_blas_thread():
            return -0.5 * ((V @ self.weights_[:d, :d]) * V).sum(axis=1) - V @ self.intercept_[:d]

    def _energy(self, S: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            return -0.5 * ((S @ self.weights_) * S).sum(axis=1) - S @ self.intercept_

    # Gibbs sampling

    def _sweep(self, S: np.ndarray, free: np.ndarray, rng: np.random.Generator, beta: float = 1.0) -> None:
        gibbs_sweep(S, self.weights_, self.intercept_, free, rng.random((len(S), len(free))), beta, beta)

    def _watched(self, S: np.ndarray, axis: np.ndarray) -> np.ndarray:
        """Quantities that differ between modes: energy, active units, and the direction of main weights."""
        return np.column_stack([self._energy(S), S.sum(axis=1), S @ axis])

    def _pseudo_log_likelihood(self, S: np.ndarray, share: np.ndarray) -> float:
        """Mean over rows of Σ_i log P(s_i | all others)."""
        with one_blas_thread():
            inputs = S @ self.weights_ + self.intercept_
        return float(share @ (S * inputs - softplus(inputs)).sum(axis=1))

    def _log_partition(self, rng: np.random.Generator | None = None) -> float:
        if len(self.intercept_) <= MOST_UNITS:
            return self.free_statistics().log_sum
        return self._estimated_log_partition(generator(self.random_state) if rng is None else rng)

    def _estimated_log_partition(self, rng: np.random.Generator) -> float:
        """Annealed importance sampling: from independent units (w = 0), whose Z is known, to the machine."""
        p = sigmoid(self.intercept_)
        S = (rng.random((self.n_chains, p.size)) < p).astype(float)
        log_weight, free = np.zeros(len(S)), np.arange(p.size)
        for k in range(TEMPERATURES):
            check_stop()
            with one_blas_thread():
                log_weight += 0.5 * ((S @ self.weights_) * S).sum(axis=1) / TEMPERATURES
            u = rng.random(S.shape)
            gibbs_sweep(S, self.weights_, self.intercept_, free, u, (k + 1) / TEMPERATURES, 1.0)
        return float(softplus(self.intercept_).sum() + log_sum_exp(log_weight) - np.log(len(S)))

    # Probabilities, energies and samples

    @classmethod
    def from_weights(
        cls, weights: Any, intercept: Any = None, *, n_hidden: int = 0, **parameters: Any
    ) -> Self:
        """A machine with given weights.

        Parameters
        ----------
        weights : array of shape (n_units, n_units)
            The weights w, symmetric with zeros on the diagonal.
        intercept : array of shape (n_units,), optional
            The biases θ; by default 0.
        n_hidden : int, default=0
            How many of the last units are hidden.
        **parameters
            Parameters of the class.

        Returns
        -------
        BoltzmannMachine

        Examples
        --------
        >>> model = BoltzmannMachine.from_weights([[0, 1], [1, 0]], [0.5, -0.3])
        >>> model.probability([[1, 1]]).round(4)
        array([0.4948])
        """
        W = symmetric_weights(weights)
        theta = np.zeros(len(W))
        if intercept is not None:
            theta = check_array(intercept, ensure_2d=False, dtype=np.float64, input_name="intercept").copy()
        if theta.shape != (len(W),):
            raise ValueError(f"intercept must have shape ({len(W)},), as weights say; got {theta.shape}.")
        if not 0 <= n_hidden < len(W):
            raise ValueError(f"n_hidden must be from 0 to {len(W) - 1}; got {n_hidden!r}.")
        model = cls(n_hidden, **parameters)
        model.weights_, model.intercept_, model.n_features_in_ = W, theta, len(W) - n_hidden
        model.algorithm_ = "exact" if len(W) <= MOST_UNITS else "gibbs"
        model.log_partition_ = model._log_partition()
        return model

    def _states(self, S: Any) -> np.ndarray:
        check_is_fitted(self)
        states = check_array(S, dtype=np.float64, input_name="S")
        if states.shape[1] != len(self.intercept_):
            raise ValueError(
                f"{type(self).__name__}: S has {states.shape[1]} columns; expected {len(self.intercept_)}, one for "
                "each unit, the hidden ones last."
            )
        return two_values(states, None, type(self).__name__, name="S")

    def energy(self, S: Any) -> np.ndarray:
        """Energies E(s) of states of all units.

        Parameters
        ----------
        S : array of shape (n_samples, n_units)
            States of 0 and 1, hidden units last.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._energy(self._states(S))

    def probability(self, S: Any) -> np.ndarray:
        """P(s) of states of all units.

        Parameters
        ----------
        S : array of shape (n_samples, n_units)
            States of 0 and 1, hidden units last.

        Returns
        -------
        array of shape (n_samples,)
        """
        return np.exp(-self.energy(S) - self.log_partition_)

    def conditional_probability(self, S: Any) -> np.ndarray:
        """P(s_i = 1 | all other units) for each unit of each state.

        Parameters
        ----------
        S : array of shape (n_samples, n_units)
            States of 0 and 1, hidden units last.

        Returns
        -------
        array of shape (n_samples, n_units)
            σ(Σ_j w_ij s_j + θ_i).
        """
        states = self._states(S)
        with one_blas_thread():
            return sigmoid(states @ self.weights_ + self.intercept_)

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood log P(v) of rows of visible units, summed over all states of the hidden units.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Visible units; see `binarize`.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        V = self._check(X, reset=False)
        if len(self.intercept_) == V.shape[1]:
            return -self._energy(V) - self.log_partition_
        logs = log_sum_exp(self._hidden_logs(V, self._hidden_states()))
        return logs - self._visible_energy(V) - self.log_partition_

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Visible units; see `binarize`.
        y : ignored
            Accepted for pipelines.

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def marginals(self, given: dict[int, int] | None = None) -> np.ndarray:
        """P(s_i = 1 | given) of each unit, by enumeration of the states of the other units (at most 20).

        Parameters
        ----------
        given : dict of int to int, optional
            States of some units: {1: 1, 2: 0} says s_1 = 1 and s_2 = 0 (units are counted from 0).

        Returns
        -------
        array of shape (n_units,)

        Examples
        --------
        >>> model = BoltzmannMachine.from_weights([[0, 1], [1, 0]])
        >>> model.marginals({1: 1}).round(3)
        array([0.731, 1.   ])
        """
        rest, units, values = self._conditioned(given)
        found = np.empty(len(self.intercept_))
        found[units] = values
        if rest is not None:
            free = np.setdiff1d(np.arange(len(found)), units)
            found[free] = np.diag(rest.free_statistics().means)
        return found

    def _conditioned(self, given: Any) -> tuple[BoltzmannMachine | None, np.ndarray, np.ndarray]:
        """The machine of the units that are not given: these move the biases of the others."""
        check_is_fitted(self)
        units, values = checked_units(given, len(self.intercept_), type(self).__name__)
        free = np.setdiff1d(np.arange(len(self.intercept_)), units)
        if not free.size:
            return None, units, values
        rest = type(self)(random_state=self.random_state, n_chains=self.n_chains)
        rest.weights_ = np.ascontiguousarray(self.weights_[np.ix_(free, free)])
        rest.intercept_ = self.intercept_[free] + self.weights_[np.ix_(free, units)] @ values
        return rest, units, values

    def _filled(self, units: np.ndarray, values: np.ndarray, states: np.ndarray | None, n: int) -> np.ndarray:
        """States of all units from those of the free ones."""
        found = np.empty((n, len(self.intercept_)), dtype=np.int64)
        found[:, units] = values
        if states is not None:
            found[:, np.setdiff1d(np.arange(found.shape[1]), units)] = states
        return found

    def mode(self, given: dict[int, int] | None = None, *, n_sweeps: int = 1000) -> np.ndarray:
        """The most probable state of all units: the one of least energy.

        Parameters
        ----------
        given : dict of int to int, optional
            States of some units.
        n_sweeps : int, default=1000
            For more than 20 units: Gibbs sweeps of simulated annealing, with `n_chains` chains whose temperature
            falls from that of nearly free units to nearly 0. The best state found is returned.

        Returns
        -------
        array of shape (n_units,)
        """
        rest, units, values = self._conditioned(given)
        best = None
        if rest is not None and len(rest.intercept_) <= MOST_UNITS:
            least = np.inf
            for states in state_blocks(len(rest.intercept_), type(self).__name__, "mode"):
                energies = rest._energy(states)
                if energies.min() < least:
                    least, best = float(energies.min()), states[int(energies.argmin())]
        elif rest is not None:
            best = rest._annealed(n_sweeps, coldest=0.01)
        return self._filled(units, values, best, 1)[0]

    def _annealed(self, n_sweeps: int, coldest: float) -> np.ndarray:
        """The best state of simulated annealing."""
        rng = generator(self.random_state)
        S = (rng.random((self.n_chains, len(self.intercept_))) < 0.5).astype(float)
        scale = float(np.abs(self.weights_).sum(axis=1).max() + np.abs(self.intercept_).max()) or 1.0
        best, least = S[0].copy(), np.inf
        for temperature in np.geomspace(scale, coldest * scale / len(S[0]), n_sweeps):
            check_stop()
            self._sweep(S, np.arange(S.shape[1]), rng, 1.0 / float(temperature))
            energies = self._energy(S)
            if energies.min() < least:
                least, best = float(energies.min()), S[int(energies.argmin())].copy()
        return best

    def sample(
        self,
        n_samples: int = 1,
        *,
        given: dict[int, int] | None = None,
        method: Literal["auto", "exact", "gibbs"] = "auto",
        n_sweeps: int = 1000,
        hidden: bool = False,
    ) -> np.ndarray:
        """Draw states.

        Parameters
        ----------
        n_samples : int, default=1
            The number of states.
        given : dict of int to int, optional
            States of some units.
        method : {"auto", "exact", "gibbs"}, default="auto"
            From the list of all states (at most 20 units that are not given), or by a Gibbs chain for each state;
            "auto" takes the list where it can.
        n_sweeps : int, default=1000
            Sweeps of each Gibbs chain. In the first half, the temperature falls to 1 (annealing). A warning says so
            where the chains disagree in the second half.
        hidden : bool, default=False
            Whether to return the hidden units, too.

        Returns
        -------
        array of shape (n_samples, n_features) or (n_samples, n_units)
        """
        rest, units, values = self._conditioned(given)
        if method not in ("auto", "exact", "gibbs"):
            raise ValueError(f"method must be 'auto', 'exact' or 'gibbs'; got {method!r}.")
        rng, states = generator(self.random_state), None
        if rest is not None:
            exact = method == "exact" or (method == "auto" and len(rest.intercept_) <= MOST_UNITS)
            states = rest._drawn(n_samples, rng) if exact else rest._chains(n_samples, n_sweeps, rng, self)
        found = self._filled(units, values, states, n_samples)
        return found if hidden else found[:, : self.n_features_in_]

    def _drawn(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws from the list of all states."""
        n = len(self.intercept_)
        blocks = state_blocks(n, type(self).__name__, "method='exact'")
        logs = np.concatenate([-self._energy(states) for states in blocks])
        chosen = np.searchsorted(np.cumsum(softmax(logs)), rng.random(n_samples), side="right")
        chosen = np.minimum(chosen, len(logs) - 1)
        return chosen[:, None] >> np.arange(n)[::-1] & 1

    def _chains(
        self, n_samples: int, n_sweeps: int, rng: np.random.Generator, model: BoltzmannMachine
    ) -> np.ndarray:
        """The last states of Gibbs chains whose temperature falls to 1 in the first half."""
        S = (rng.random((max(n_samples, 4), len(self.intercept_))) < 0.5).astype(float)
        free, half = np.arange(S.shape[1]), n_sweeps // 2
        hottest = max(1.0, float(np.abs(self.weights_).sum(axis=1).max()))
        temperatures = np.concatenate([np.geomspace(hottest, 1.0, half), np.ones(n_sweeps - half)])
        watched, axis = np.empty((len(S), n_sweeps - half, 3)), main_axis(self.weights_)
        for k, temperature in enumerate(temperatures):
            check_stop()
            self._sweep(S, free, rng, 1.0 / float(temperature))
            if k >= half:
                watched[:, k - half] = self._watched(S, axis)
        warn_of_disagreement(model, watched, WATCHED, "n_sweeps")
        return S[:n_samples]


def distinct_rows(X: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Each different row once, and its share of the weight."""
    rows, index = np.unique(X, axis=0, return_inverse=True)
    mass = np.bincount(index.ravel(), weights=weight, minlength=len(rows)).astype(np.float64)
    return rows[mass > 0], mass[mass > 0] / mass.sum()


def initial_weights(n_visible: int, n_hidden: int, rng: np.random.Generator) -> np.ndarray:
    """Zeros between visible units; small random weights of hidden units, which must differ."""
    n = n_visible + n_hidden
    W = np.triu(rng.normal(0.0, HIDDEN_SCALE, (n, n)), 1)
    W[:n_visible, :n_visible] = 0.0
    return W + W.T


def main_axis(W: np.ndarray) -> np.ndarray:
    """The eigenvector of the largest eigenvalue of the weights."""
    with one_blas_thread():
        return np.linalg.eigh(W)[1][:, -1]


def second_moments(S: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Σ_r share_r s_r s_rᵀ."""
    with one_blas_thread():
        return (S * share[:, None]).T @ S


@kernel
def gibbs_sweep(S, W, theta, free, u, beta, theta_beta):
    """Draw each free unit of each chain in turn from P(s_i = 1 | others) = σ(β Σ_j w_ij s_j + β_θ θ_i)."""
    for c in range(S.shape[0]):
        for k in range(free.size):
            i = free[k]
            x = 0.0
            for j in range(S.shape[1]):
                x += W[i, j] * S[c, j]
            p = 1.0 / (1.0 + np.exp(-beta * x - theta_beta * theta[i]))
            S[c, i] = 1.0 if u[c, k] < p else 0.0
