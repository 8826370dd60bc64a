"""Monte Carlo methods (蒙特卡洛强化学习), the watermelon notes' Algorithms 8 and 9: values are means of returns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.fitted_checks import Declarations, Floats, Indices
from tercet.core.kernel import inner, kernel, shared
from tercet.core.parameters import ArrayLike, Count, Fraction, Positive, Real, Seed
from tercet.core.stopping import check_stop
from tercet.rl._engine.model import Model, first_state, new_draws, transition, uniform
from tercet.rl.agent import Agent
from tercet.rl.environment import GymEnvironment
from tercet.rl.learning.tabular_control import initial_values, reachable_states
from tercet.rl.mdp import MDP, Episode
from tercet.rl.policies import action_probabilities
from tercet.rl.schedules import Schedule, Timetable, compiled, scheduled

PASSES = 1000  # of more episodes, several make a pass
WORK = 20_000_000  # a kernel comes back after about so much work, to be interrupted
MISSING = 0.05  # share of the rewards that truncated episodes may lack without a warning


class MonteCarloTables(NamedTuple):
    """What is known so far; shapes are (n_states, n_actions) unless they are given.

    Attributes
    ----------
    Q : values of actions; -inf where a state does not allow an action.
    visits : how many returns each value is the mean of, int64.
    clock : steps taken, episodes begun and episodes learned from, shape (3,), int64.
    draws : the stream of random numbers, shape (1,), uint64.
    weights : sums of importance weights.
    seen : number of the last episode in which the pair was visited, int64.
    target : the policy to evaluate; no rows where it is the greedy policy, which improves.
    behaviour : the policy that acts; no rows where it is the target policy with probability 1 - ε.
    """

    Q: np.ndarray
    visits: np.ndarray
    clock: np.ndarray
    draws: np.ndarray
    weights: np.ndarray
    seen: np.ndarray
    target: np.ndarray
    behaviour: np.ndarray


class MonteCarloRules(NamedTuple):
    """Parameters of `MonteCarlo`, as kernels see them."""

    discount: float
    epsilon: Timetable
    learning_rate: Timetable
    max_steps: int
    average: bool
    first_visit: bool
    off_policy: bool
    weighted: bool


class Trajectory(NamedTuple):
    """<x_0, a_0, r_1, x_1, a_1, r_2 ...> (14.14) in arrays of shape (max_steps,).

    Attributes
    ----------
    states, actions, rewards : x_t, a_t and r_{t+1}.
    chances : probability b(x_t, a_t) with which the action was chosen.
    weights : importance weight of the return from t.
    fresh : whether the episode had not visited the pair before.
    """

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    chances: np.ndarray
    weights: np.ndarray
    fresh: np.ndarray

    @classmethod
    def empty(cls, n: int) -> Trajectory:
        """Arrays for trajectories of at most n steps."""
        states, actions = np.zeros((2, n), dtype=np.int64)
        rewards, chances, weights = np.zeros((3, n))
        return cls(states, actions, rewards, chances, weights, np.zeros(n, dtype=bool))


@method(
    zh="蒙特卡洛强化学习",
    task="reinforcement learning",
    model="table Q(x, a); π(x) = argmax_a Q(x, a), or a given policy",
    strategy="Q^π(x, a) = E_π[R_t | x_t = x, a_t = a], estimated by a mean over sampled trajectories",
    algorithms={
        "on-policy": "mean return of the ε-greedy policy that acts, improved after each trajectory (Alg 8)",
        "off-policy": "importance-weighted mean for the greedy policy, while an ε-greedy one acts (Alg 9)",
    },
    texts=["watermelon notes ch. 14, Alg 8, 9"],
)
class MonteCarlo(Agent):
    """Monte Carlo control and prediction: the value of an action is the mean of the returns that followed it.

    A policy acts for a whole episode, <x_0, a_0, r_1, x_1, a_1, r_2 ...>; then every visit of a state and an action
    is given the return that came after it,

        R_t = Σ_{i>t} γ^{i-t-1} r_i    or, in the text, the mean of the later rewards,  R_t = 1/(T-t) Σ_{i>t} r_i,

    and Q(x_t, a_t) becomes the mean of the returns so far. On-policy, the policy that acts is evaluated and
    improved: it is ε-greedy, and Q is the value of this ε-greedy policy. Off-policy, the greedy policy π is
    evaluated while its ε-greedy version b acts, and returns have importance weights,

        W_t = Π_{i>t} π(x_i, a_i) / b(x_i, a_i).

    Parameters
    ----------
    n_episodes : int, default=1000
        Number of episodes.
    control : {"on-policy", "off-policy"}, default="on-policy"
        Whether the policy that acts is evaluated, or another one.
    policy : array of shape (n_states,) or (n_states, n_actions), optional
        A policy to evaluate, as actions or their probabilities: nothing is improved then. By default the greedy
        policy of Q is, and the agent learns to act.
    behaviour : array of shape (n_states,) or (n_states, n_actions), optional
        The policy that acts, off-policy. It must take every action that the evaluated policy takes. By default a
        random action with probability ε, otherwise the policy to evaluate.
    visits : {"every", "first"}, default="every"
        Which visits of a state and an action in an episode count. First-visit means are unbiased; the bias of
        every-visit means vanishes as episodes are added.
    returns : {"discounted", "average"}, default="discounted"
        Discounted sums of rewards, or the text's means of the later rewards of T = `max_steps` steps. After a
        terminal state rewards are 0.
    importance : {"weighted", "ordinary"}, default="weighted"
        Off-policy: the mean Σ W R / Σ W, which varies less and whose bias vanishes; or Σ W R / n, which is
        unbiased (with visits="first") and may have an infinite variance.
    discount : float, default=0.99
        Discount γ, from 0 to 1; not used by average returns.
    epsilon : float or Schedule, default=0.1
        Probability ε of a random action; not used where the policy that acts is given.
    learning_rate : float or Schedule, optional
        Step size α of Q(x, a) += α (R - Q(x, a)), which forgets returns of older policies. By default 1/n at the
        n-th return: the mean. Weighted importance sampling has steps of its own.
    exploring_starts : bool, default=False
        Begin every episode in a random state with a random action (of a model, not of an environment).
    initial_value : float or array of shape (n_states, n_actions), default=0.0
        Value of what was never tried.
    max_steps : int, default=1000
        The most steps of an episode. The discounted returns of truncated episodes lack what comes after.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    Q_ : array of shape (n_states, n_actions)
        Values of actions; -inf where a state does not allow an action.
    V_ : array of shape (n_states,)
        Values of states: of the best action, or of the given policy.
    policy_ : array of int of shape (n_states,)
        The greedy policy, or the most likely actions of the given one.
    n_visits_ : array of int of shape (n_states, n_actions)
        Number of returns that each value is the mean of; returns of weight 0 count in ordinary means alone.
    weights_ : array of shape (n_states, n_actions)
        Sums of the importance weights of these returns.
    episode_returns_, episode_lengths_ : arrays of shape (n_episodes,)
        Sum of the rewards of each episode, and its number of steps.
    n_truncated_ : int
        Number of episodes that ended before a terminal state.
    history_ : dict
        Mean return, mean length and truncated episodes of each pass (an episode, or a block of them).

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> P = [[[0.8, 0.2, 0], [0.1, 0.9, 0]], [[0, 0.5, 0.5], [0.6, 0, 0.4]], [[0, 0, 1], [0, 0, 1]]]
    >>> R = [[[1, 2, 0], [0, 3, 0]], [[0, 0, 5], [-1, 0, 8]], [[0, 0, 0], [0, 0, 0]]]
    >>> agent = MonteCarlo(20_000, discount=0.9, random_state=0).fit(MDP(P, R))
    >>> agent.predict([0, 1]), agent.Q_.round().astype(int)
    (array([1, 1]), array([[10, 10],
           [ 6,  8],
           [ 0,  0]]))

    The value of the random policy, from episodes of another one:

    >>> judge = MonteCarlo(20_000, control="off-policy", discount=0.9, random_state=0)
    >>> judge.set_params(policy=[[0.5, 0.5]] * 3, behaviour=[[0.2, 0.8]] * 3).fit(MDP(P, R)).V_.round()
    array([8., 6., 0.])
    """

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": Floats("states actions"),
        "V_": Floats("states"),
        "policy_": Indices("states", below="actions"),
        "n_visits_": "states actions",
        "weights_": "states actions",
    }
    Q_: np.ndarray
    V_: np.ndarray
    n_visits_: np.ndarray
    weights_: np.ndarray
    episode_returns_: np.ndarray
    episode_lengths_: np.ndarray
    n_truncated_: int

    def __init__(
        self,
        n_episodes: Count = 1000,
        *,
        control: Literal["on-policy", "off-policy"] = "on-policy",
        policy: ArrayLike = None,
        behaviour: ArrayLike = None,
        visits: Literal["every", "first"] = "every",
        returns: Literal["discounted", "average"] = "discounted",
        importance: Literal["weighted", "ordinary"] = "weighted",
        discount: Fraction = 0.99,
        epsilon: Fraction | Schedule = 0.1,
        learning_rate: Positive | Schedule | None = None,
        exploring_starts: bool = False,
        initial_value: Real | ArrayLike = 0.0,
        max_steps: Count = 1000,
        random_state: Seed = None,
    ) -> None:
        self.n_episodes = n_episodes
        self.control = control
        self.policy = policy
        self.behaviour = behaviour
        self.visits = visits
        self.returns = returns
        self.importance = importance
        self.discount = discount
        self.epsilon = epsilon
        self.learning_rate = learning_rate
        self.exploring_starts = exploring_starts
        self.initial_value = initial_value
        self.max_steps = max_steps
        self.random_state = random_state

    def _fit(self, world: MDP | GymEnvironment) -> None:
        self._check(world)
        self._remember_states(world)
        rng = generator(self.random_state)
        tables = self._begin(world, rng)
        if isinstance(world, MDP):
            run = self._model_runner(world, tables)
        else:
            run = self._environment_runner(world, tables, int(rng.integers(2**31)))
        n = self.n_episodes
        episodes: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        block = -(-n // PASSES)

        def learned(tables: MonteCarloTables) -> dict[str, Any]:
            returns, lengths, cut = (np.concatenate(parts) for parts in zip(*episodes))
            course = {
                "episode_returns_": returns,
                "episode_lengths_": lengths,
                "n_truncated_": int(cut.sum()),
            }
            return {**self._values(tables), **course}

        for step in self.steps(-(-n // block), name="block" if block > 1 else "episode", unpack=learned):
            returns, lengths, cut = run(min(block, n - step.index * block))
            episodes.append((returns, lengths, cut))
            step.report(
                tables,
                mean_return=float(returns.mean()),
                mean_length=float(lengths.mean()),
                truncated=int(cut.sum()),
            )
        self.__dict__.update(learned(tables))
        self._warn(world, np.concatenate([cut for _, _, cut in episodes]))

    def _values(self, tables: MonteCarloTables) -> dict[str, Any]:
        """Copies of what was learned: only where somebody wants to see them."""
        Q, visits, weights = tables.Q.copy(), tables.visits.copy(), tables.weights.copy()
        target = tables.target
        if target.size:
            values, policy = (np.where(target > 0, Q, 0.0) * target).sum(axis=1), target.argmax(axis=1)
        else:
            values, policy = Q.max(axis=1), Q.argmax(axis=1)
        return {"Q_": Q, "V_": values, "policy_": policy, "n_visits_": visits, "weights_": weights}

    # Before the first episode ------------------------------------------------------------------------------

    def _check(self, world: MDP | GymEnvironment) -> None:
        """Refuse parameters that do not go together, or with what is learned from."""
        who = type(self).__name__
        if world.n_states is None:
            raise ValueError(
                f"{who} needs discrete observations; got {world.space}. Use LinearQLearning or LinearSarsa, with "
                "features of the observations."
            )
        if isinstance(self.epsilon, Schedule) and (self.epsilon.per == "visit" or self.epsilon.largest > 1):
            raise ValueError(
                f"{who}: epsilon must be a schedule per 'step' or 'episode' that stays in [0, 1]; got "
                f"{self.epsilon!r}."
            )
        if self.behaviour is not None and self.control == "on-policy":
            raise ValueError(
                f"{who}: behaviour needs control='off-policy'; on-policy, the evaluated policy acts."
            )
        if self.learning_rate is not None and self.control == "off-policy" and self.importance == "weighted":
            raise ValueError(
                f"{who}: learning_rate needs importance='ordinary' or control='on-policy'; got "
                f"{self.learning_rate!r}."
            )
        if self.exploring_starts and not isinstance(world, MDP):
            raise ValueError(
                f"{who}: exploring_starts needs a model; an environment chooses its first state itself."
            )

    def _begin(self, world: Any, rng: np.random.Generator) -> MonteCarloTables:
        """Tables before the first step: values are `initial_value`, 0 in terminal states."""
        shape = world.n_states, world.n_actions
        Q = initial_values(self, shape)
        if isinstance(world, MDP):
            Q[world.terminal] = 0.0
            Q[~world.allowed] = -np.inf
        elif self.policy is None and self.behaviour is None:  # a given policy may take masked actions
            world.restrict(Q)
        none = np.zeros((0, shape[1]))
        target = none if self.policy is None else action_probabilities(self.policy, world)
        behaviour = none if self.behaviour is None else action_probabilities(self.behaviour, world)
        if behaviour.size:
            _check_coverage(target, behaviour, world)
        elif self.control == "on-policy":
            behaviour = target  # where it is given
        visits, seen = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        clock = np.zeros(3, dtype=np.int64)
        return MonteCarloTables(Q, visits, clock, new_draws(rng), np.zeros(shape), seen, target, behaviour)

    def _rules(self) -> MonteCarloRules:
        rate = Schedule("harmonic", per="visit") if self.learning_rate is None else self.learning_rate
        average, off_policy = self.returns == "average", self.control == "off-policy"
        return MonteCarloRules(
            1.0 if average else float(self.discount),
            compiled(self.epsilon),
            compiled(rate),
            self.max_steps,
            average,
            self.visits == "first",
            off_policy,
            off_policy and self.importance == "weighted",
        )

    # Episodes of a model: inside a kernel ------------------------------------------------------------------

    def _model_runner(self, mdp: MDP, tables: MonteCarloTables) -> Callable[[int], Any]:
        """A function that runs a number of episodes: their returns, lengths, and which were truncated."""
        rules = self._rules()
        path = Trajectory.empty(self.max_steps)
        inside = ~mdp.terminal[mdp.pair_states] & self.exploring_starts
        limit = max(1, WORK // (10 + mdp.n_actions))
        starts = np.column_stack([mdp.pair_states[inside], mdp.pair_actions[inside]]).astype(np.int64)

        def run(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            returns, lengths, cut = (
                np.zeros(count),
                np.zeros(count, dtype=np.int64),
                np.zeros(count, dtype=bool),
            )
            done = 0
            while done < count:
                check_stop()
                rest = returns[done:], lengths[done:], cut[done:]
                done += monte_carlo_episodes(mdp.model, tables, rules, limit, starts, path, *rest)
            return returns, lengths, cut

        return run

    # Episodes of an environment: a loop in Python ----------------------------------------------------------

    def _environment_runner(
        self, world: GymEnvironment, tables: MonteCarloTables, seed: int
    ) -> Callable[[int], Any]:
        """As `_model_runner`; the streams of a vector environment have a trajectory each."""
        rules = self._rules()
        states = world.reset(seed)
        paths = [Trajectory.empty(self.max_steps) for _ in states]
        lengths = [0] * len(states)
        over: list[tuple[int, bool]] = []  # streams whose episodes are waiting to be learned from
        tables.clock[1] += len(states)

        def step() -> None:
            chosen = [act(tables, rules, x) for x in states]
            moves = world.step([a for a, _ in chosen])
            for i, (a, chance) in enumerate(chosen):
                if not moves.ignored[i]:
                    path, t = paths[i], lengths[i]
                    path.states[t], path.actions[t], path.chances[t] = states[i], a, chance
                    path.rewards[t] = moves.rewards[i]
                    lengths[i] += 1
                    tables.clock[0] += 1
                    if moves.terminated[i] or moves.truncated[i]:
                        over.append((i, moves.terminated[i]))
                states[i] = moves.next_observations[i]

        def run(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            found: list[tuple[float, int, bool]] = []
            while len(found) < count:
                while not over:
                    step()
                i, terminated = over.pop(0)
                learn(tables, rules, paths[i], lengths[i], terminated)
                found.append((paths[i].rewards[: lengths[i]].sum(), lengths[i], not terminated))
                lengths[i] = 0
                tables.clock[1] += 1
            returns, steps, cut = zip(*found)
            return np.array(returns), np.array(steps, dtype=np.int64), np.array(cut)

        return run

    # Reports -----------------------------------------------------------------------------------------------

    def _warn(self, world: MDP | GymEnvironment, cut: np.ndarray) -> None:
        """Tell what the values cannot be trusted for."""
        lengths = self.episode_lengths_
        if self.returns == "discounted" and _missing_share(lengths, cut, self.discount) > MISSING:
            warnings.warn(
                f"{type(self).__name__}: {self.n_truncated_} of {lengths.size} episodes were cut off before a "
                "terminal state, and their returns lack what comes after. Raise max_steps or epsilon, or use "
                "returns='average'.",
                stacklevel=5,
            )
        if isinstance(world, MDP):
            unknown = reachable_states(world) & ~world.terminal & (self.n_visits_.sum(axis=1) == 0)
            never = np.flatnonzero(unknown)
            if never.size:
                named = ", ".join(repr(world.states[x]) for x in never[:3])
                warnings.warn(
                    f"{type(self).__name__}: {never.size} of {world.n_states} states have no return ({named}"
                    f"{' ...' if never.size > 3 else ''}); their values are initial_value. Raise n_episodes or "
                    "epsilon.",
                    stacklevel=5,
                )


def _check_coverage(target: np.ndarray, behaviour: np.ndarray, world: Any) -> None:
    """Refuse a policy that never takes an action which the evaluated policy takes."""
    wanted = target > 0 if target.size else world.allowed
    wrong = np.argwhere(wanted & (behaviour <= 0))
    if wrong.size:
        x, a = wrong[0]
        whose = "policy does" if target.size else "the learned policy may"
        raise ValueError(
            f"MonteCarlo: behaviour never takes action {world.actions[a]!r} in state {world.states[x]!r}, which "
            f"{whose}."
        )


def _missing_share(lengths: np.ndarray, cut: np.ndarray, discount: float) -> float:
    """Mean weight, over all steps, of the rewards that would have come after a truncated episode."""
    n = lengths[cut].astype(np.float64)
    tails = n if discount == 1 else discount * (1.0 - discount**n) / (1.0 - discount)
    return float(tails.sum() / max(lengths.sum(), 1))


# In plain form ---------------------------------------------------------------------------------------------


@method(
    zh="蒙特卡洛回报",
    task="reinforcement learning",
    model="R_t = Σ_{i>t} γ^{i-t-1} r_i, or 1/(T-t) Σ_{i>t} r_i",
    texts=["watermelon notes ch. 14, eq. 14.14, Alg 8"],
)
def monte_carlo_returns(
    rewards: Any,
    *,
    discount: float = 1.0,
    returns: Literal["discounted", "average"] = "discounted",
    n_steps: int | None = None,
) -> np.ndarray:
    """Returns of a trajectory: what came after each of its steps.

    Parameters
    ----------
    rewards : array of shape (n,)
        The rewards r_1, r_2 ... of the steps t = 0, 1 ...
    discount : float, default=1.0
        Discount γ of "discounted" returns, from 0 to 1.
    returns : {"discounted", "average"}, default="discounted"
        Σ_{i>t} γ^{i-t-1} r_i, or the mean of the later rewards of T steps, 1/(T-t) Σ_{i>t} r_i.
    n_steps : int, optional
        The number of steps T, at least n; rewards after the trajectory are 0. By default n.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> monte_carlo_returns([1, 0, 2, 3], returns="average").round(4)
    array([1.5   , 1.6667, 2.5   , 3.    ])
    >>> monte_carlo_returns([1, 0, 2, 3], discount=0.5)
    array([1.875, 1.75 , 3.5  , 3.   ])
    """
    r = np.asarray(rewards, dtype=np.float64)
    if r.ndim != 1:
        raise ValueError(f"rewards must have the shape (steps,); got {r.shape}.")
    if not 0 <= discount <= 1:
        raise ValueError(f"discount must be from 0 to 1; got {discount!r}.")
    if returns not in ("discounted", "average"):
        raise ValueError(f"returns must be 'discounted' or 'average'; got {returns!r}.")
    horizon = r.size if n_steps is None else n_steps
    if horizon < r.size:
        raise ValueError(f"n_steps must be at least {r.size}, the number of rewards; got {n_steps!r}.")
    if returns == "average":
        return r[::-1].cumsum()[::-1] / (horizon - np.arange(r.size))
    found, later = np.empty(r.size), 0.0
    for t in range(r.size - 1, -1, -1):
        found[t] = later = r[t] + discount * later
    return found


@method(
    zh="重要性采样权重",
    task="reinforcement learning",
    model="W_t = Π_{i>t} π(x_i, a_i) / b(x_i, a_i)",
    strategy="the mean of W R over trajectories of b is the mean of R over those of π",
    texts=["watermelon notes ch. 14, eq. 14.15-14.18, Alg 9"],
)
def importance_weights(target: Any, behaviour: Any) -> np.ndarray:
    """Importance weights of the returns of a trajectory, for the values of its actions.

    Q(x_t, a_t) takes the action a_t as given, so that the weight of R_t has the ratios of later actions alone. The
    weight of the whole trajectory (14.18) is W_0 π(x_0, a_0) / b(x_0, a_0).

    Parameters
    ----------
    target : array of shape (n,)
        Probabilities π(x_t, a_t) of the trajectory's actions under the policy to evaluate.
    behaviour : array of shape (n,)
        Their probabilities b(x_t, a_t) under the policy that acted, above 0.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> importance_weights([1, 1, 0, 1], [0.9, 0.9, 0.1, 0.9]).round(4)
    array([0.    , 0.    , 1.1111, 1.    ])
    """
    p, b = np.asarray(target, dtype=np.float64), np.asarray(behaviour, dtype=np.float64)
    if p.ndim != 1 or p.shape != b.shape:
        raise ValueError(
            f"target and behaviour must have the same shape (steps,); got {p.shape} and {b.shape}."
        )
    for name, chances, wrong in (
        ("target", p, ~((p >= 0) & (p <= 1))),
        ("behaviour", b, ~((b > 0) & (b <= 1))),
    ):
        if wrong.any():
            t = int(np.argmax(wrong))
            above = "above 0, and at most 1" if name == "behaviour" else "from 0 to 1"
            raise ValueError(f"{name} must hold probabilities {above}; at step {t} it holds {chances[t]:g}.")
    later = np.append((p / b)[1:], 1.0)
    return later[::-1].cumprod()[::-1]


class MonteCarloValues(NamedTuple):
    """Values of actions from given trajectories.

    Attributes
    ----------
    Q : array of shape (n_states, n_actions)
        Mean of the returns of each action, by their weights; NaN without one.
    n_visits : array of int of shape (n_states, n_actions)
        Number of returns.
    weights : array of shape (n_states, n_actions)
        Sum of their importance weights.

    Examples
    --------
    >>> from tercet.rl import Episode
    >>> monte_carlo_values([Episode([0, 1], [0], [2.0], True)], 2, 1).n_visits
    array([[1],
           [0]])
    """

    Q: np.ndarray
    n_visits: np.ndarray
    weights: np.ndarray


@method(
    zh="蒙特卡洛策略评估",
    task="reinforcement learning",
    model="Q(x, a) = Σ W R / Σ W or Σ W R / n, over the visits of x and a",
    strategy="law of large numbers; importance sampling where another policy acted",
    texts=["watermelon notes ch. 14, eq. 14.15, 14.16"],
)
def monte_carlo_values(
    episodes: Sequence[Episode],
    n_states: int,
    n_actions: int,
    *,
    discount: float = 1.0,
    returns: Literal["discounted", "average"] = "discounted",
    visits: Literal["every", "first"] = "every",
    policy: Any = None,
    behaviour: Any = None,
    importance: Literal["weighted", "ordinary"] = "weighted",
) -> MonteCarloValues:
    """Values of actions, from trajectories that were recorded before: of the policy that acted, or of another one.

    Parameters
    ----------
    episodes : list of Episode
        The trajectories, with numbers of states and actions (as `MDP.simulate` gives them).
    n_states, n_actions : int
        Numbers of states and of actions.
    discount : float, default=1.0
        Discount γ of "discounted" returns.
    returns, visits, importance
        As for `MonteCarlo`; average returns are over the steps of each trajectory.
    policy, behaviour : arrays of shape (n_states, n_actions), optional
        Probabilities of the policy to evaluate and of the one that acted; by default they are the same.

    Returns
    -------
    MonteCarloValues

    Examples
    --------
    >>> # The text's trajectory, (x_0, a, 1), (x_1, b, 0), (x_0, a, 2), (x_1, a, 3)
    >>> from tercet.rl import Episode
    >>> episode = Episode([0, 1, 0, 1, 0], [0, 1, 0, 0], [1.0, 0.0, 2.0, 3.0], False)
    >>> monte_carlo_values([episode], 2, 2, returns="average").Q.round(4)
    array([[2.    ,    nan],
           [3.    , 1.6667]])
    """
    if (policy is None) != (behaviour is None):
        raise ValueError("monte_carlo_values: policy and behaviour go together; give both or neither.")
    if visits not in ("every", "first"):
        raise ValueError(f"visits must be 'every' or 'first'; got {visits!r}.")
    if importance not in ("weighted", "ordinary"):
        raise ValueError(f"importance must be 'weighted' or 'ordinary'; got {importance!r}.")
    shape = n_states, n_actions
    chances = [np.asarray(given, dtype=np.float64) for given in (policy, behaviour) if given is not None]
    for name, given in zip(("policy", "behaviour"), chances):
        if given.shape != shape:
            raise ValueError(f"{name} must have the shape {shape}; got {given.shape}.")
    sums, counts, weights = np.zeros(shape), np.zeros(shape, dtype=np.int64), np.zeros(shape)
    for episode in episodes:
        a = np.asarray(episode.actions, dtype=np.int64)
        x = np.asarray(episode.states, dtype=np.int64)[: a.size]
        if a.size and not (min(x.min(), a.min()) >= 0 and x.max() < n_states and a.max() < n_actions):
            raise ValueError(
                f"episodes must hold states from 0 to {n_states - 1} and actions to {n_actions - 1}."
            )
        R = monte_carlo_returns(episode.rewards, discount=discount, returns=returns)
        W = importance_weights(*(given[x, a] for given in chances)) if chances else np.ones(a.size)
        keep = np.arange(a.size) if visits == "every" else np.unique(x * n_actions + a, return_index=True)[1]
        if importance == "weighted":
            keep = keep[W[keep] > 0]
        pairs = x[keep], a[keep]
        np.add.at(sums, pairs, W[keep] * R[keep])
        np.add.at(counts, pairs, 1)
        np.add.at(weights, pairs, W[keep])
    with np.errstate(invalid="ignore"):
        return MonteCarloValues(sums / (weights if importance == "weighted" else counts), counts, weights)


# The algorithms --------------------------------------------------------------------------------------------


@kernel
def monte_carlo_episodes(
    model: Model,
    tables: MonteCarloTables,
    rules: MonteCarloRules,
    limit: int,
    starts: np.ndarray,
    path: Trajectory,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes, each followed by learning from it (Alg 8, 9), for about `limit` steps; the number of episodes."""
    steps = 0
    for e in range(returns.size):
        n, terminated = run_episode(model, tables, rules, starts, path)
        learn(tables, rules, path, n, terminated)
        for t in range(n):
            returns[e] += path.rewards[t]
        lengths[e], cut[e] = n, not terminated
        steps += n
        if steps >= limit:
            return e + 1
    return returns.size


@inner
def run_episode(
    model: Model, tables: MonteCarloTables, rules: MonteCarloRules, starts: np.ndarray, path: Trajectory
) -> tuple[int, bool]:
    """Act until a terminal state or for `max_steps`; how many steps, and whether the state is terminal.

    `starts` has a row (state, action) for each exploring start; none for starts as the model has them.
    """
    tables.clock[1] += 1
    x, exploring, begin = first_state(model, tables.draws), starts.shape[0] > 0, 0
    if exploring:
        begin = int(uniform(tables.draws) * starts.shape[0])
        x = starts[begin, 0]
    for t in range(rules.max_steps):
        if model.terminal[x]:
            return t, True
        a, chance = act(tables, rules, x)
        if exploring and t == 0:
            a, chance = starts[begin, 1], 1.0
        k = transition(model, x, a, tables.draws)
        path.states[t], path.actions[t], path.rewards[t], path.chances[t] = x, a, model.rewards[k], chance
        tables.clock[0] += 1
        x = model.successors[k]
    return rules.max_steps, model.terminal[x]


@shared
def act(tables: MonteCarloTables, rules: MonteCarloRules, x: int) -> tuple[int, float]:
    """Draw an action of the policy that acts: its number a and its probability b(x, a)."""
    epsilon = scheduled(rules.epsilon, tables.clock[0] + 1, tables.clock[1], 1)
    best, ties, allowed = greedy_actions(tables.Q, x)
    u, below, chosen, chance = uniform(tables.draws), 0.0, 0, 1.0
    for a in range(tables.Q.shape[1]):
        if tables.behaviour.shape[0]:
            b = tables.behaviour[x, a]
        elif tables.Q[x, a] == -np.inf:
            b = 0.0
        elif tables.target.shape[0]:
            b = epsilon / allowed + (1.0 - epsilon) * tables.target[x, a]
        else:
            b = epsilon / allowed + (1.0 - epsilon) * (tables.Q[x, a] == best) / ties
        if b > 0.0:
            chosen, chance = a, b
            below += b
            if u < below:
                break
    return chosen, chance


@inner
def greedy_actions(Q: np.ndarray, x: int) -> tuple[float, int, int]:
    """The highest value in a state, how many actions have it, and how many there are."""
    best, ties, allowed = -np.inf, 0, 0
    for a in range(Q.shape[1]):
        if Q[x, a] > best:
            best, ties = Q[x, a], 1
        elif Q[x, a] == best:
            ties += 1
        allowed += Q[x, a] != -np.inf
    return best, ties, allowed


@inner
def target_probability(tables: MonteCarloTables, x: int, a: int) -> float:
    """π(x, a) of the policy to evaluate: a given one, or the greedy one, in which equal actions share."""
    if tables.target.shape[0]:
        return tables.target[x, a]
    best, ties, _ = greedy_actions(tables.Q, x)
    return 1.0 / ties if tables.Q[x, a] == best else 0.0


@shared
def learn(
    tables: MonteCarloTables, rules: MonteCarloRules, path: Trajectory, n: int, terminated: bool
) -> None:
    """Learn from a trajectory of n steps: the returns R_t, their weights W_t, and the values Q(x_t, a_t)."""
    tables.clock[2] += 1
    for t in range(n):
        x, a = path.states[t], path.actions[t]
        path.fresh[t] = tables.seen[x, a] != tables.clock[2]
        tables.seen[x, a] = tables.clock[2]
    W = 1.0
    for t in range(n - 1, -1, -1):  # before any value changes, and with it the greedy policy
        path.weights[t] = W
        if rules.off_policy:
            W *= target_probability(tables, path.states[t], path.actions[t]) / path.chances[t]
    T = rules.max_steps if terminated else n
    R = 0.0
    for t in range(n - 1, -1, -1):
        R = path.rewards[t] + rules.discount * R
        if path.fresh[t] or not rules.first_visit:
            mean = R / (T - t) if rules.average else R
            add_return(tables, rules, path.states[t], path.actions[t], mean, path.weights[t])


@inner
def add_return(tables: MonteCarloTables, rules: MonteCarloRules, x: int, a: int, R: float, W: float) -> None:
    """Q(x, a) as the mean with one more return R of weight W."""
    if tables.Q[x, a] == -np.inf:  # an environment has masked the action since
        return
    if rules.weighted:
        if W > 0.0:
            tables.visits[x, a] += 1
            tables.weights[x, a] += W
            tables.Q[x, a] += W / tables.weights[x, a] * (R - tables.Q[x, a])
        return
    tables.visits[x, a] += 1
    tables.weights[x, a] += W
    alpha = scheduled(rules.learning_rate, tables.clock[0], tables.clock[1], tables.visits[x, a])
    tables.Q[x, a] += alpha * (W * R - tables.Q[x, a])
