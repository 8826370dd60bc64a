"""Strategies for K-armed bandits: the watermelon notes' Algorithms 2 and 4, UCB1 and Thompson sampling."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.kernel import inner, kernel, shared
from tercet.core.parameters import (
    Count,
    Fraction,
    NonNegative,
    Positive,
    PositiveOrInf,
    Real,
    Seed,
    check_parameters,
)
from tercet.core.steps import QUIET, Fit, with_callbacks
from tercet.core.validation import check_is_fitted
from tercet.rl._engine.model import new_draws, uniform
from tercet.rl.agent import Agent
from tercet.rl.bandits.bandit import Arms, as_bandit, move_means, reward
from tercet.rl.bandits.draws import beta, random_best, student_t
from tercet.rl.bandits.incremental_mean import next_mean
from tercet.rl.bandits.logged_data import checked_actions, checked_rewards
from tercet.rl.schedules import Schedule, Timetable, compiled, scheduled

ALGORITHMS = ("epsilon-greedy", "softmax", "ucb1", "thompson", "explore-only", "exploit-only")
EPSILON_GREEDY, SOFTMAX, UCB1, THOMPSON, EXPLORE_ONLY, _ = range(len(ALGORITHMS))
BLOCKS = 100  # of pulls, with a line in the history each
FIRST_PULLS = 4  # of each arm before the posterior of a normal mean with a uniform prior is usable


class ArmTable(NamedTuple):
    """What is known about the arms.

    Attributes
    ----------
    Q : array of shape (n_arms,), float64
        Mean reward of each arm.
    counts : array of shape (n_arms,), int64
        How often each arm was pulled.
    deviations : array of shape (n_arms,), float64
        Σ (v - Q)² over the rewards v of each arm.
    scores : array of shape (n_arms,), float64
        Space for what an algorithm maximises.
    clock : array of shape (1,), int64
        Number of pulls.
    draws : array of shape (1,), uint64
        The stream of random numbers.
    """

    Q: np.ndarray
    counts: np.ndarray
    deviations: np.ndarray
    scores: np.ndarray
    clock: np.ndarray
    draws: np.ndarray


class BanditRules(NamedTuple):
    """Parameters of the agent, as kernels see them. `averaging`: Q is the mean of all rewards."""

    algorithm: int
    epsilon: Timetable
    temperature: Timetable
    exploration: float
    averaging: bool
    learning_rate: Timetable
    normal: bool


@method(
    zh="K-摇臂赌博机算法",
    task="reinforcement learning",
    model="Q(k), the mean reward of arm k",
    strategy="a high sum of rewards: exploit the best arm so far, explore others enough to know",
    algorithms={
        "epsilon-greedy": "a random arm with probability ε, otherwise argmax_k Q(k) (Alg 2)",
        "softmax": "arm k with probability exp(Q(k)/τ) / Σ_i exp(Q(i)/τ) (Alg 4)",
        "ucb1": "argmax_k Q(k) + c √(2 ln t / n_k)",
        "thompson": "the arm that is best in a draw from the posterior",
        "explore-only": "all arms in turn",
        "exploit-only": "argmax_k Q(k)",
    },
    texts=["watermelon notes ch. 14, Alg 2, 4"],
    peers=["mabwiser.mab.MAB"],
)
class BanditAgent(Agent):
    """Agent for K-armed bandits: ε-greedy, softmax, UCB1, Thompson sampling, and the two baselines.

    After every pull the mean reward of the arm is updated, Q(k) = (Q(k) n_k + v)/(n_k + 1), with n_k the number of
    its pulls before. The algorithm says which arm is pulled next; of equally good arms a random one is.

    Parameters
    ----------
    algorithm : {"epsilon-greedy", "softmax", "ucb1", "thompson", "explore-only", "exploit-only"}, \
default="epsilon-greedy"
        How the next arm is chosen. "explore-only" pulls all arms in turn, "exploit-only" always the best so far.
    n_steps : int, default=1000
        Number of pulls T of a fit.
    epsilon : float or Schedule, default=0.1
        Probability ε of a random arm for "epsilon-greedy"; `Schedule("inverse_sqrt")` is the text's ε_t = 1/√t.
    temperature : float or Schedule, default=0.1
        Temperature τ of "softmax": near 0 it exploits only, and infinity explores only.
    exploration : float, default=1.0
        Factor c of the confidence bounds of "ucb1". Rewards should be from 0 to 1; otherwise c should be the range
        of the rewards.
    likelihood : {"bernoulli", "normal"}, default="bernoulli"
        Distribution of rewards for "thompson". "bernoulli": rewards are from 0 to 1, and the posterior of a mean is
        a beta distribution, from a uniform prior. "normal": means and variances are unknown with a uniform prior;
        the posterior of a mean is a Student's t distribution, after four pulls of each arm.
    learning_rate : float or Schedule, optional
        Step size α of Q(k) += α (v - Q(k)). By default 1/n_k, so that Q is the mean of all rewards; a constant
        weights recent rewards more, for bandits that are not stationary.
    initial_value : float, default=0.0
        First value of Q. A high one makes "epsilon-greedy" and "exploit-only" try every arm.
    n_arms : int, optional
        Number of arms, for `choose` and `partial_fit` without `fit`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choices and of the rewards.

    Attributes
    ----------
    Q_ : array of shape (n_arms,)
        Mean reward of each arm.
    counts_ : array of shape (n_arms,)
        Number of pulls of each arm.
    deviations_ : array of shape (n_arms,)
        Sum of squared deviations of the rewards of each arm from their mean.
    draws_ : array of shape (1,)
        State of the stream of random numbers.
    best_ : int
        The arm with the highest mean reward.
    actions_ : array of shape (n_steps,)
        The arm of each pull of `fit`.
    rewards_ : array of shape (n_steps,)
        The reward of each pull of `fit`.
    cumulative_reward_ : float
        The sum r of the rewards of `fit`.
    regret_ : array of shape (n_steps,)
        Expected regret after each pull of `fit`, Σ_{s<=t} (μ* - μ_{a_s}).
    history_ : dict
        For each of up to 100 blocks of pulls the mean reward, the regret up to its end, and the share of pulls of
        the best arm.

    Examples
    --------
    >>> from tercet.rl import Bandit, Schedule
    >>> bandit = Bandit([0.2, 0.5, 0.8])
    >>> agent = BanditAgent(epsilon=Schedule("inverse_sqrt"), n_steps=5000, random_state=0).fit(bandit)
    >>> agent.best_, agent.counts_.argmax(), agent.regret_.shape
    (2, np.int64(2), (5000,))
    >>> BanditAgent("explore-only", n_steps=300).fit(bandit).regret_[-1].round(6)
    np.float64(90.0)

    Without a bandit, one pull after another:

    >>> agent = BanditAgent("thompson", n_arms=2, random_state=0)
    >>> arm = agent.choose()
    >>> agent = agent.partial_fit(arm, 1.0)
    >>> agent.partial_fit([0, 1, 0], [1, 0, 0]).counts_.sum()
    np.int64(4)
    """

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": Floats("arms", finite=True),
        "counts_": Floats("arms", finite=True, low=0.0),
        "deviations_": Floats("arms", finite=True, low=0.0),
        "draws_": Floats("1", finite=True, low=0.0),
    }
    Q_: np.ndarray
    counts_: np.ndarray
    deviations_: np.ndarray
    draws_: np.ndarray
    actions_: np.ndarray
    rewards_: np.ndarray
    regret_: np.ndarray

    def __init__(
        self,
        algorithm: Literal[
            "epsilon-greedy", "softmax", "ucb1", "thompson", "explore-only", "exploit-only"
        ] = "epsilon-greedy",
        n_steps: Count = 1000,
        *,
        epsilon: Fraction | Schedule = 0.1,
        temperature: PositiveOrInf | Schedule = 0.1,
        exploration: NonNegative = 1.0,
        likelihood: Literal["bernoulli", "normal"] = "bernoulli",
        learning_rate: Positive | Schedule | None = None,
        initial_value: Real = 0.0,
        n_arms: Count | None = None,
        random_state: Seed = None,
    ) -> None:
        self.algorithm = algorithm
        self.n_steps = n_steps
        self.epsilon = epsilon
        self.temperature = temperature
        self.exploration = exploration
        self.likelihood = likelihood
        self.learning_rate = learning_rate
        self.initial_value = initial_value
        self.n_arms = n_arms
        self.random_state = random_state

    @with_callbacks
    def fit(self, bandit: Any, y: Any = None) -> Self:
        """Pull the arms of a bandit `n_steps` times, knowing nothing at first.

        Parameters
        ----------
        bandit : Bandit, or array of shape (n_arms,)
            The bandit, or the probabilities of reward of its arms.
        y : ignored
            Not used.

        Returns
        -------
        self
        """
        check_parameters(self)
        bandit = as_bandit(bandit)
        if self.n_arms not in (None, bandit.n_arms):
            raise ValueError(
                f"BanditAgent: n_arms is {self.n_arms}, but the bandit has {bandit.n_arms} arms."
            )
        with Fit(self), np.errstate(**QUIET):
            self._fit(bandit)
        return self

    def _fit(self, bandit: Any) -> None:
        rng, n = generator(self.random_state), self.n_steps
        table, rules = self._begin(bandit.n_arms, rng), self._rules()
        log = np.zeros(n, dtype=np.int32), np.zeros(n), np.zeros(n)  # arms, rewards, expected losses
        size, regret, arms = -(-n // BLOCKS), 0.0, None
        for step in self.steps(-(-n // size), name="block", unpack=unpacked):
            first, end = step.index * size, min(n, (step.index + 1) * size)
            arms = bandit._arms(size, rng, arms)
            actions, rewards, losses = (part[first:end] for part in log)
            self._pull(arms, table, rules, actions, rewards, losses)
            regret += losses.sum()
            state = copied(table), tuple(part[:end] for part in log)
            best_share = np.mean(losses == 0.0)
            step.report(state, mean_reward=rewards.mean(), regret=regret, best_share=best_share)
        self.__dict__.update(unpacked(state))

    def _begin(self, n_arms: int, rng: np.random.Generator) -> ArmTable:
        """Algorithm 2, line 3: no arm was pulled."""
        Q = np.full(n_arms, float(self.initial_value))
        counts, deviations = np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms)
        return ArmTable(Q, counts, deviations, np.zeros(n_arms), np.zeros(1, dtype=np.int64), new_draws(rng))

    def _rules(self) -> BanditRules:
        if self.algorithm == "thompson" and self.learning_rate is not None:
            raise ValueError(
                "BanditAgent: algorithm='thompson' needs means of all rewards; parameter 'learning_rate' must be "
                f"None, got {self.learning_rate!r}."
            )
        return BanditRules(
            ALGORITHMS.index(self.algorithm),
            compiled(self.epsilon),
            compiled(self.temperature),
            float(self.exploration),
            self.learning_rate is None,
            compiled(1.0 if self.learning_rate is None else self.learning_rate),
            self.likelihood == "normal",
        )

    def _pull(self, arms: Arms, table: ArmTable, rules: BanditRules, *log: np.ndarray) -> None:
        """Pull arms until the log is full."""
        done = pulls(arms, table, rules, *log)
        if done < len(log[0]):
            raise self._unusable(log[1][done])

    def _unusable(self, value: float) -> ValueError:
        return ValueError(
            "BanditAgent: algorithm='thompson' with likelihood='bernoulli' needs rewards from 0 to 1; got "
            f"{value:g}. Use likelihood='normal'."
        )

    @property
    def best_(self) -> int:
        """The arm with the highest mean reward, the first of equal ones."""
        return int(np.argmax(self.Q_))

    def predict(self, X: Any = None) -> Any:
        """The arm with the highest mean reward: what was learned, without exploring.

        Parameters
        ----------
        X : array of shape (n_samples, ...), optional
            Observations, which a bandit has none of: only their number counts.

        Returns
        -------
        int, or array of int of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.best_ if X is None else np.full(len(X), self.best_)

    def choose(self) -> int:
        """The arm to pull next: the algorithm's choice after all pulls so far.

        Returns
        -------
        int
        """
        table, rules = self._table(self.n_arms), self._rules()
        with np.errstate(**QUIET):
            arm = int(choose(table, rules))
        self.__dict__.update(learned(table))
        return arm

    def partial_fit(self, actions: Any, rewards: Any) -> Self:
        """Learn from pulls that were made, whoever chose the arms.

        Parameters
        ----------
        actions : int or array of int of shape (n_pulls,)
            The arms pulled. Without `fit` and without `n_arms`, the first call says how many arms there are.
        rewards : float or array of shape (n_pulls,)
            What they gave.

        Returns
        -------
        self
        """
        check_parameters(self)
        actions, rewards = self._logged(actions, rewards)
        table = self._table(self._arm_count(actions))
        if learn(table, self._rules(), actions, rewards) < len(actions):
            raise self._unusable(rewards[(rewards < 0) | (rewards > 1)][0])
        self.__dict__.update(learned(table))
        return self

    def replay(self, actions: Any, rewards: Any) -> np.ndarray:
        """Evaluate the agent on logged pulls of arms that were chosen uniformly at random (Li et al. 2011).

        The agent goes through the log, from what it has learned before. Where it chooses the arm that was pulled,
        it learns from the reward; other pulls are skipped. The rewards that it got are distributed as if it had
        pulled the arms itself.

        Parameters
        ----------
        actions : array of int of shape (n_pulls,)
            The arms pulled.
        rewards : array of shape (n_pulls,)
            What they gave.

        Returns
        -------
        array
            The rewards of the pulls in which the choices agree; their mean estimates the agent's mean reward.

        Examples
        --------
        >>> import numpy as np
        >>> from tercet.rl import Bandit
        >>> rng = np.random.default_rng(0)
        >>> actions = rng.integers(3, size=3000)
        >>> rewards = Bandit([0.2, 0.5, 0.8]).pull(actions, rng)
        >>> got = BanditAgent("ucb1", random_state=0).replay(actions, rewards)
        >>> bool(got.mean() > rewards.mean())
        True
        """
        check_parameters(self)
        actions, rewards = self._logged(actions, rewards)
        table, rules = self._table(self._arm_count(actions)), self._rules()
        used = np.zeros(len(actions), dtype=bool)
        with np.errstate(**QUIET):
            if replay(table, rules, actions, rewards, used) < len(actions):
                raise self._unusable(rewards[(rewards < 0) | (rewards > 1)][0])
        self.__dict__.update(learned(table))
        return rewards[used]

    def _logged(self, actions: Any, rewards: Any) -> tuple[np.ndarray, np.ndarray]:
        known = len(self.Q_) if hasattr(self, "Q_") else self.n_arms
        actions = checked_actions("BanditAgent", actions, known)
        return actions, checked_rewards("BanditAgent", rewards, len(actions))

    def _arm_count(self, actions: np.ndarray) -> int | None:
        return int(actions.max()) + 1 if self.n_arms is None and actions.size else self.n_arms

    def _table(self, n_arms: int | None) -> ArmTable:
        """A copy of what was learned, or a fresh table for so many arms."""
        if hasattr(self, "Q_"):
            counts = self.counts_.astype(np.int64)
            clock = np.array([counts.sum()], dtype=np.int64)
            draws = self.draws_.astype(np.uint64)
            Q, deviations = self.Q_.astype(np.float64), self.deviations_.astype(np.float64)
            return ArmTable(Q, counts, deviations, np.zeros(Q.size), clock, draws)
        if n_arms is None:
            raise ValueError(
                "BanditAgent: the number of arms is not known; give it as parameter 'n_arms', or call fit."
            )
        return self._begin(n_arms, generator(self.random_state))


def learned(table: ArmTable) -> dict[str, Any]:
    """The fitted attributes that a table makes."""
    return {
        "Q_": table.Q,
        "counts_": table.counts,
        "deviations_": table.deviations,
        "draws_": table.draws,
    }


def unpacked(state: Any) -> dict[str, Any]:
    """The fitted attributes after the pulls in a log."""
    table, (actions, rewards, losses) = state
    return {
        **learned(table),
        "actions_": actions,
        "rewards_": rewards,
        "cumulative_reward_": float(rewards.sum()),
        "regret_": np.cumsum(losses),
    }


def copied(table: ArmTable) -> ArmTable:
    """A copy of a table, which goes on changing."""
    return ArmTable(*(part.copy() for part in table))


@kernel
def pulls(
    arms: Arms,
    table: ArmTable,
    rules: BanditRules,
    actions: np.ndarray,
    rewards: np.ndarray,
    losses: np.ndarray,
) -> int:
    """Choose an arm, pull it, update its mean (Alg 2, 4). Gives the number of pulls: fewer than there is room for
    if the algorithm cannot use a reward."""
    for i in range(actions.size):
        k = next_arm(table, rules)
        v = reward(arms, k, table.draws)
        actions[i], rewards[i], losses[i] = k, v, arms.best[0] - arms.means[k]
        if not usable(rules, v):
            return i
        update(table, rules, k, v)
        move_means(arms, table.draws)
    return actions.size


@kernel
def learn(table: ArmTable, rules: BanditRules, actions: np.ndarray, rewards: np.ndarray) -> int:
    """Update means by logged pulls. Gives the number of pulls that could be used."""
    for i in range(actions.size):
        if not usable(rules, rewards[i]):
            return i
        update(table, rules, actions[i], rewards[i])
    return actions.size


@kernel
def replay(
    table: ArmTable, rules: BanditRules, actions: np.ndarray, rewards: np.ndarray, used: np.ndarray
) -> int:
    """Learn from the logged pulls that agree with the algorithm's choices. Gives the number of pulls looked at:
    fewer than there are if the algorithm cannot use a reward."""
    for i in range(actions.size):
        if not usable(rules, rewards[i]):
            return i
        used[i] = next_arm(table, rules) == actions[i]
        if used[i]:
            update(table, rules, actions[i], rewards[i])
    return actions.size


@shared
def choose(table: ArmTable, rules: BanditRules) -> int:
    """The next arm, for loops in Python."""
    return next_arm(table, rules)


@inner
def usable(rules: BanditRules, v: float) -> bool:
    """Whether a reward is one that the model allows."""
    return rules.algorithm != THOMPSON or rules.normal or 0.0 <= v <= 1.0


@inner
def next_arm(table: ArmTable, rules: BanditRules) -> int:
    """The arm that the algorithm chooses."""
    Q, scores = table.Q, table.scores
    n_arms, t = Q.size, table.clock[0] + 1
    if rules.algorithm == EXPLORE_ONLY:
        return int(np.argmin(table.counts))
    if rules.algorithm == SOFTMAX:
        return softmax_arm(table, scheduled(rules.temperature, t, t, t))
    if rules.algorithm == EPSILON_GREEDY and uniform(table.draws) < scheduled(rules.epsilon, t, t, t):
        return int(uniform(table.draws) * n_arms)
    width = rules.exploration * math.sqrt(2.0 * math.log(max(1, t - 1)))
    for k in range(n_arms):
        if rules.algorithm == UCB1:  # Auer, Cesa-Bianchi and Fischer (2002)
            scores[k] = Q[k] + width / math.sqrt(table.counts[k]) if table.counts[k] else math.inf
        elif rules.algorithm == THOMPSON:
            scores[k] = posterior_draw(table, k, rules.normal)
        else:
            scores[k] = Q[k]
    return random_best(scores, table.draws)


@inner
def softmax_arm(table: ArmTable, temperature: float) -> int:
    """Arm k with probability exp(Q(k)/τ) / Σ_i exp(Q(i)/τ), eq. 14.2; the largest Q is taken off first, so that
    nothing overflows."""
    Q, weights = table.Q, table.scores
    n_arms, top, total = Q.size, Q.max(), 0.0
    for k in range(n_arms):
        weights[k] = math.exp((Q[k] - top) / temperature) if Q[k] < top else 1.0
        total += weights[k]
    left = uniform(table.draws) * total
    for k in range(n_arms):
        left -= weights[k]
        if left < 0:
            return k
    return int(np.argmax(Q))


@inner
def posterior_draw(table: ArmTable, k: int, normal: bool) -> float:
    """A draw from the posterior of the mean of arm k.

    Of rewards in [0, 1]: Beta(1 + Σ v, 1 + Σ (1 - v)). Of normal ones: Q + t √(S / (n (n - 2))), with t of
    Student's distribution with n - 2 degrees of freedom and S = Σ (v - Q)² (Honda and Takemura 2014, for a uniform
    prior).
    """
    mean, n = table.Q[k], table.counts[k]
    if not normal:
        return beta(table.draws, 1.0 + max(0.0, mean * n), 1.0 + max(0.0, (1.0 - mean) * n))
    if n < FIRST_PULLS:
        return math.inf
    return mean + student_t(table.draws, n - 2.0) * math.sqrt(table.deviations[k] / (n * (n - 2.0)))


@inner
def update(table: ArmTable, rules: BanditRules, k: int, v: float) -> None:
    """Algorithm 2, lines 11 and 12: the mean first, with the count of the pulls before; then the count."""
    before, n = table.Q[k], table.counts[k]
    if rules.averaging:
        table.Q[k] = next_mean(before, v, n)
    else:
        alpha = scheduled(rules.learning_rate, table.clock[0] + 1, table.clock[0] + 1, n + 1)
        table.Q[k] = before + alpha * (v - before)
    table.deviations[k] += max(0.0, (v - before) * (v - table.Q[k])) if n else 0.0
    table.counts[k] = n + 1
    table.clock[0] += 1
