"""LinUCB and linear Thompson sampling: contextual bandits whose rewards are linear in the context."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Floats, Whole
from tercet.core.kernel import inner, kernel
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import Count, Fraction, NonNegative, Positive, Seed, check_parameters
from tercet.core.rows import read_only
from tercet.core.scaling import LARGE
from tercet.core.steps import QUIET, Fit, fitted_attributes, with_callbacks
from tercet.core.stopping import check_stop
from tercet.core.symbolic_shapes import Sizes
from tercet.core.validation import check_array, check_is_fitted, refuse_large, validate_data
from tercet.rl._engine.model import new_draws, uniform
from tercet.rl.agent import Agent
from tercet.rl.bandits.draws import normal
from tercet.rl.bandits.logged_data import checked_actions, checked_rewards
from tercet.rl.schedules import Schedule, Timetable, compiled, scheduled

ALGORITHMS = ("linucb", "thompson", "epsilon-greedy")
LINUCB, THOMPSON, EPSILON_GREEDY = range(len(ALGORITHMS))
ROWS = 1024  # rows between two looks at whether to stop


class ArmRegressions(NamedTuple):
    """Ridge regressions of the rewards of each arm, A_k = λ I + Σ x xᵀ and b_k = Σ r x.

    Attributes
    ----------
    factors : array of shape (n_arms, n_features, n_features), float64
        Upper Cholesky factors U of A_k = UᵀU. They are updated row by row, which keeps them positive definite; the
        inverse of A, updated by the Sherman-Morrison formula, would lose that by rounding.
    targets : array of shape (n_arms, n_features), float64
        b_k.
    coef : array of shape (n_arms, n_features), float64
        θ_k = A_k⁻¹ b_k.
    counts : array of shape (n_arms,), int64
        Rows of each arm.
    scores : array of shape (n_arms,), float64
        Space for what the algorithm maximises.
    draws : array of shape (1,), uint64
        The stream of random numbers.
    """

    factors: np.ndarray
    targets: np.ndarray
    coef: np.ndarray
    counts: np.ndarray
    scores: np.ndarray
    draws: np.ndarray


class LinUCBRules(NamedTuple):
    """Parameters of the agent, as kernels see them."""

    algorithm: int
    alpha: float
    epsilon: Timetable


@method(
    zh="LinUCB 上下文赌博机",
    task="reinforcement learning",
    model="E[r | x, arm k] = θ_k · x",
    strategy="ridge regression for each arm, θ_k = A_k⁻¹ b_k, and exploration where it is uncertain",
    algorithms={
        "linucb": "argmax_k θ_k · x + α √(xᵀ A_k⁻¹ x)",
        "thompson": "argmax_k of draws from N(θ_k · x, α² xᵀ A_k⁻¹ x)",
        "epsilon-greedy": "a random arm with probability ε, otherwise argmax_k θ_k · x",
    },
    peers=["contextualbandits.online.LinUCB", "mabwiser.mab.LearningPolicy.LinUCB", "obp.policy.LinUCB"],
)
class LinUCB(Agent):
    """LinUCB: a contextual bandit that chooses arms by upper confidence bounds of linear rewards.

    Each row x of X is a context, for which one arm is to be chosen. The reward of arm k is linear in the context,
    θ_k · x, and θ_k is a ridge regression of the rewards that the arm gave:

        θ_k = A_k⁻¹ b_k,    A_k = λ I + Σ x xᵀ,    b_k = Σ r x    (over the rows in which arm k was chosen)

    The arm with the highest θ_k · x + α √(xᵀ A_k⁻¹ x) is chosen: it is expected to be good, or little is known of
    it. Linear Thompson sampling and ε-greedy choices are other algorithms for the same model.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight α of the standard errors: how much is explored. For "thompson" the standard deviation of the noise.
    algorithm : {"linucb", "thompson", "epsilon-greedy"}, default="linucb"
        How arms are chosen.
    ridge : float, default=1.0
        The penalty λ.
    epsilon : float or Schedule, default=0.1
        Probability of a random arm, for "epsilon-greedy". A schedule counts the rows learned from.
    n_arms : int, optional
        Number of arms; by default what the actions in the first call of `fit` or `partial_fit` say.
    random_state : int, RandomState, Generator or None, default=None
        Seed of random choices.

    Attributes
    ----------
    coef_ : array of shape (n_arms, n_features)
        The coefficients θ_k.
    counts_ : array of shape (n_arms,)
        Number of rows in which each arm was chosen.
    factors_ : array of shape (n_arms, n_features, n_features)
        Upper Cholesky factors of the matrices A_k.
    targets_ : array of shape (n_arms, n_features)
        The vectors b_k.
    draws_ : array of shape (1,)
        State of the stream of random numbers.
    actions_, rewards_ : arrays of shape (n_samples,)
        Arms chosen and rewards got in the last call of `play`.
    regret_ : array of shape (n_samples,)
        The sum, up to each row of the last call of `play`, of what the best arm of the row would have given more.

    Notes
    -----
    There is no intercept: a column of ones in X gives one.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> rewards = X @ [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]  # of each arm
    >>> agent = LinUCB().play(X, rewards)
    >>> agent.coef_.round(1) + 0.0
    array([[ 1.,  0.],
           [-1.,  1.],
           [ 0., -1.]])
    >>> agent.predict([[2.0, 0.5], [-1.0, -2.0]])
    array([0, 2])

    Row by row:

    >>> agent = LinUCB(n_arms=3)
    >>> agent = agent.partial_fit([[0.0, 1.0]], 1, 2.0)
    >>> agent.choose([[0.0, 1.0]])
    array([1])
    """

    fitted_shapes: ClassVar[Declarations] = {
        "n_features_in_": Whole("features", 1),
        "coef_": Floats("arms features", finite=True),
        "factors_": Floats("arms features features", finite=True),
        "targets_": Floats("arms features", finite=True),
        "counts_": Floats("arms", finite=True, low=0.0),
        "draws_": Floats("1", finite=True, low=0.0),
    }
    coef_: np.ndarray
    factors_: np.ndarray
    targets_: np.ndarray
    counts_: np.ndarray
    draws_: np.ndarray
    n_features_in_: int
    actions_: np.ndarray
    rewards_: np.ndarray
    regret_: np.ndarray

    def __init__(
        self,
        alpha: NonNegative = 1.0,
        *,
        algorithm: Literal["linucb", "thompson", "epsilon-greedy"] = "linucb",
        ridge: Positive = 1.0,
        epsilon: Fraction | Schedule = 0.1,
        n_arms: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.alpha = alpha
        self.algorithm = algorithm
        self.ridge = ridge
        self.epsilon = epsilon
        self.n_arms = n_arms
        self.random_state = random_state

    @with_callbacks
    def fit(self, X: Any, actions: Any, rewards: Any) -> Self:
        """Learn from logged choices, knowing nothing at first.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.
        actions : array of int of shape (n_samples,)
            The arm chosen in each row, from 0.
        rewards : array of shape (n_samples,)
            What it gave.

        Returns
        -------
        self
        """
        check_parameters(self)
        for name in fitted_attributes(self):
            delattr(self, name)
        with Fit(self):
            return self._learn(X, actions, rewards)

    def partial_fit(self, X: Any, actions: Any, rewards: Any) -> Self:
        """Learn from more choices.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.
        actions : int or array of int of shape (n_samples,)
            The arm chosen in each row, from 0.
        rewards : float or array of shape (n_samples,)
            What it gave.

        Returns
        -------
        self
        """
        check_parameters(self)
        return self._learn(X, actions, rewards)

    def _learn(self, X: Any, actions: Any, rewards: Any) -> Self:
        X = self._contexts(X)
        actions, rewards = self._logged(X, actions, rewards)
        model = self._model(X.shape[1], actions)
        with one_blas_thread(), np.errstate(**QUIET):
            for k in np.unique(actions):
                here = actions == k
                learn_rows(model, int(k), X[here], rewards[here])
        return self._keep(model)

    def play(self, X: Any, rewards: Any) -> Self:
        """Choose an arm for each row and learn from its reward, row by row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.
        rewards : array of shape (n_samples, n_arms)
            The reward that each arm would give: a simulation, or the classes of labelled data in columns of 0 and
            1. The agent sees only those of the arms that it chooses.

        Returns
        -------
        self
            With `actions_`, `rewards_` and `regret_` of these rows.
        """
        check_parameters(self)
        X = self._contexts(X)
        R = check_array(rewards, dtype=np.float64, input_name="rewards")
        known = self._known_arms()
        if R.shape[0] != X.shape[0] or (known is not None and R.shape[1] != known):
            wanted = (X.shape[0], "n_arms" if known is None else known)
            raise ValueError(
                f"LinUCB: rewards must have the shape ({wanted[0]}, {wanted[1]}); got {R.shape}."
            )
        model = self._model(X.shape[1], np.array([R.shape[1] - 1]))
        chosen = self._run(model, X, R, np.zeros(0, dtype=np.int64))
        self.actions_, self.rewards_ = chosen, R[np.arange(len(R)), chosen]
        self.regret_ = np.cumsum(R.max(axis=1) - self.rewards_)
        return self._keep(model)

    def replay(self, X: Any, actions: Any, rewards: Any) -> np.ndarray:
        """Evaluate the agent on logged choices that were made uniformly at random (Li et al. 2011).

        The agent goes through the log, from what it has learned before. Where it chooses the arm of the log, it
        learns from the reward; other rows are skipped. The rewards that it got are distributed as if it had chosen
        the arms itself.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.
        actions : array of int of shape (n_samples,)
            The arm chosen in each row, from 0.
        rewards : array of shape (n_samples,)
            What it gave.

        Returns
        -------
        array
            The rewards of the rows in which the choices agree; their mean estimates the agent's mean reward.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X, actions = rng.normal(size=(2000, 2)), rng.integers(2, size=2000)
        >>> rewards = np.where(actions == 0, X[:, 0], X[:, 1])
        >>> LinUCB().replay(X, actions, rewards).mean() > rewards.mean() + 0.4
        np.True_
        """
        check_parameters(self)
        X = self._contexts(X)
        actions, rewards = self._logged(X, actions, rewards)
        model = self._model(X.shape[1], actions)
        chosen = self._run(model, X, rewards[:, None], actions)
        self._keep(model)
        return rewards[chosen == actions]

    def _run(self, model: ArmRegressions, X: np.ndarray, R: np.ndarray, log: np.ndarray) -> np.ndarray:
        """Go through rows, and learn from those in which the arm is that of the log, if there is one."""
        chosen, rules = np.zeros(len(X), dtype=np.int64), self._rules()
        X, R, log = read_only(X), read_only(np.ascontiguousarray(R)), read_only(log)
        with np.errstate(**QUIET):
            for first in range(0, len(X), ROWS):
                check_stop()
                play_rows(model, rules, X, R, log, first, min(len(X), first + ROWS), chosen)
        return chosen

    def predict(self, X: Any) -> np.ndarray:
        """The arm with the highest expected reward, without exploring.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.

        Returns
        -------
        array of int of shape (n_samples,)
        """
        return np.argmax(self.expected_rewards(X), axis=1)

    def expected_rewards(self, X: Any) -> np.ndarray:
        """Expected rewards of all arms, θ_k · x.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.

        Returns
        -------
        array of shape (n_samples, n_arms)
        """
        check_is_fitted(self)
        X = self._contexts(X)
        with one_blas_thread():
            return X @ self.coef_.T

    def decision_function(self, X: Any) -> np.ndarray:
        """What the algorithm maximises: upper confidence bounds, draws from the posterior, or expected rewards.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.

        Returns
        -------
        array of shape (n_samples, n_arms)
        """
        return self._scores(X)[1]

    def choose(self, X: Any) -> np.ndarray:
        """The arms to choose next, exploring as the algorithm says; of equally good ones the first.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The contexts.

        Returns
        -------
        array of int of shape (n_samples,)
        """
        return self._scores(X)[0]

    def _scores(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Arms and scores for rows, without learning in between."""
        if not hasattr(self, "coef_") and self.n_arms is None:
            check_is_fitted(self)
        check_parameters(self)
        X = self._contexts(X)
        model = self._model(X.shape[1], np.zeros(0, dtype=np.int64))
        arms, scores = np.zeros(len(X), dtype=np.int64), np.zeros((len(X), len(model.coef)))
        with np.errstate(**QUIET):
            score_rows(model, self._rules(), read_only(X), arms, scores)
        self._keep(model)
        return arms, scores

    def _contexts(self, X: Any) -> np.ndarray:
        X = validate_data(self, X, reset=not hasattr(self, "coef_"), dtype=np.float64)
        refuse_large(X, LARGE, "LinUCB")
        return np.ascontiguousarray(X)

    def _known_arms(self) -> int | None:
        return len(self.coef_) if hasattr(self, "coef_") else self.n_arms

    def _logged(self, X: np.ndarray, actions: Any, rewards: Any) -> tuple[np.ndarray, np.ndarray]:
        actions = checked_actions("LinUCB", actions, self._known_arms())
        if len(actions) != len(X):
            raise ValueError(f"LinUCB: actions must have the length {len(X)}, as X has; got {len(actions)}.")
        return actions, checked_rewards("LinUCB", rewards, len(actions))

    def _model(self, n_features: int, actions: np.ndarray) -> ArmRegressions:
        """What was learned, of which kernels change the factors in place; or what is known before the first row."""
        if hasattr(self, "coef_"):
            factors = np.require(self.factors_, np.float64, ["C", "W"])
            targets, coef = (np.array(part, np.float64, order="C") for part in (self.targets_, self.coef_))
            counts, draws = self.counts_.astype(np.int64), self.draws_.astype(np.uint64)
            return ArmRegressions(factors, targets, coef, counts, np.zeros(counts.size), draws)
        n = int(actions.max()) + 1 if self.n_arms is None else self.n_arms
        factors = np.tile(math.sqrt(self.ridge) * np.eye(n_features), (n, 1, 1))
        targets, coef = np.zeros((n, n_features)), np.zeros((n, n_features))
        counts, draws = np.zeros(n, dtype=np.int64), new_draws(generator(self.random_state))
        return ArmRegressions(factors, targets, coef, counts, np.zeros(n), draws)

    def _rules(self) -> LinUCBRules:
        return LinUCBRules(ALGORITHMS.index(self.algorithm), float(self.alpha), compiled(self.epsilon))

    def _keep(self, model: ArmRegressions) -> Self:
        self.factors_, self.targets_, self.coef_ = model.factors, model.targets, model.coef
        self.counts_, self.draws_ = model.counts, model.draws
        return self

    def _check_fitted(self, sizes: Sizes) -> None:
        if not (np.diagonal(self.factors_, axis1=1, axis2=2) > 0).all():
            raise ValueError("LinUCB: factors_ are not Cholesky factors.")


def learn_rows(model: ArmRegressions, arm: int, X: np.ndarray, rewards: np.ndarray) -> None:
    """Learn from rows in which one arm was chosen: one by one where they are few, otherwise from all at once."""
    n, d = X.shape
    if n < d:
        for x, r in zip(X, rewards):
            learn_row(model, arm, read_only(x), r)
        return
    U = model.factors[arm]
    for first in range(
        0, n, max(ROWS, 4 * d)
    ):  # UᵀU + XᵀX = RᵀR, without squares: R is that of a QR decomposition
        U = np.linalg.qr(np.vstack([U, X[first : first + max(ROWS, 4 * d)]]), mode="r")
    model.factors[arm] = U * np.where(np.diagonal(U) < 0, -1.0, 1.0)[:, None]
    model.targets[arm] += rewards @ X
    model.counts[arm] += n
    half = solve_triangular(model.factors[arm], model.targets[arm], trans="T", check_finite=False)
    model.coef[arm] = solve_triangular(model.factors[arm], half, check_finite=False)


@kernel
def learn_row(model: ArmRegressions, arm: int, x: np.ndarray, r: float) -> None:
    """Learn from one row."""
    learn(model, arm, x, r, np.empty(x.size))


@kernel
def score_rows(
    model: ArmRegressions, rules: LinUCBRules, X: np.ndarray, arms: np.ndarray, scores: np.ndarray
) -> None:
    """The arm that the algorithm chooses in each row, and what it maximises."""
    space = np.empty(X.shape[1])
    for i in range(X.shape[0]):
        arms[i] = next_arm(model, rules, X[i], space)
        scores[i] = model.scores


@kernel
def play_rows(
    model: ArmRegressions,
    rules: LinUCBRules,
    X: np.ndarray,
    R: np.ndarray,
    log: np.ndarray,
    first: int,
    end: int,
    chosen: np.ndarray,
) -> None:
    """Choose an arm in each row; learn from its reward, or where it is the arm of the log."""
    space = np.empty(X.shape[1])
    for i in range(first, end):
        k = chosen[i] = next_arm(model, rules, X[i], space)
        if log.size == 0:
            learn(model, k, X[i], R[i, k], space)
        elif log[i] == k:
            learn(model, k, X[i], R[i, 0], space)


@inner
def next_arm(model: ArmRegressions, rules: LinUCBRules, x: np.ndarray, space: np.ndarray) -> int:
    """The arm that the algorithm chooses for a context, the first of equally good ones."""
    n_arms, d = model.coef.shape
    for k in range(n_arms):
        model.scores[k] = 0.0
        for j in range(d):
            model.scores[k] += model.coef[k, j] * x[j]
        if rules.algorithm != EPSILON_GREEDY:
            width = rules.alpha * standard_error(model.factors[k], x, space)
            model.scores[k] += width if rules.algorithm == LINUCB else width * normal(model.draws)
    if rules.algorithm == EPSILON_GREEDY:
        t = model.counts.sum() + 1
        if uniform(model.draws) < scheduled(rules.epsilon, t, t, t):
            return int(uniform(model.draws) * n_arms)
    return int(np.argmax(model.scores))


@inner
def standard_error(U: np.ndarray, x: np.ndarray, space: np.ndarray) -> float:
    """√(xᵀ A⁻¹ x) = |U⁻ᵀ x|, by forward substitution."""
    d, total = x.size, 0.0
    space[:] = x
    for i in range(d):
        space[i] /= U[i, i]
        total += space[i] * space[i]
        for j in range(i + 1, d):
            space[j] -= U[i, j] * space[i]
    return math.sqrt(total)


@inner
def learn(model: ArmRegressions, arm: int, x: np.ndarray, r: float, space: np.ndarray) -> None:
    """A += x xᵀ by rotations of the rows of U, b += r x, and θ = A⁻¹ b by two substitutions."""
    U, b, theta, d = model.factors[arm], model.targets[arm], model.coef[arm], x.size
    space[:] = x
    for i in range(d):
        if space[i] != 0.0:
            length = math.hypot(U[i, i], space[i])
            c, s = U[i, i] / length, space[i] / length
            U[i, i] = length
            for j in range(i + 1, d):
                above = U[i, j]
                U[i, j] = c * above + s * space[j]
                space[j] = c * space[j] - s * above
    for j in range(d):
        b[j] += r * x[j]
    theta[:] = b
    for i in range(d):
        theta[i] /= U[i, i]
        for j in range(i + 1, d):
            theta[j] -= U[i, j] * theta[i]
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            theta[i] -= U[i, j] * theta[j]
        theta[i] /= U[i, i]
    model.counts[arm] += 1
