"""Temporal differences (时序差分): TD(0), n-step TD and TD(λ), the watermelon notes' (14.19)-(14.21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Indices
from tercet.core.kernel import inner, kernel, shared
from tercet.core.parameters import ArrayLike, Count, Fraction, Positive, Real, Seed
from tercet.core.rows import read_only
from tercet.core.validation import check_is_fitted
from tercet.rl._engine.model import Model, uniform
from tercet.rl._engine.tables import (
    STATE,
    STEPS,
    Rules,
    Tables,
    begin_episode,
    checked_update,
    keep_place,
    next_transition,
    paused,
    recorded,
)
from tercet.rl._engine.td_backups import TDBackups, back_up, finish_episode, new_backups
from tercet.rl.environment import GymEnvironment
from tercet.rl.learning.tabular_control import TabularControl, initial_values, new_tables, take_course
from tercet.rl.mdp import MDP
from tercet.rl.policies import action_probabilities
from tercet.rl.schedules import Schedule


@method(
    zh="时序差分学习",
    task="reinforcement learning",
    model="table V(x), the values of a policy π",
    strategy="the Bellman equation V(x) = E[r + γ V(x')], actions by π",
    algorithms={
        "TD(0)": "V(x) += α (r + γ V(x') - V(x)) (14.21)",
        "bootstrap_steps": "n-step TD: n rewards before the value that is estimated",
        "trace_decay": "TD(λ): eligibility traces, accumulating, replacing or dutch (true online TD(λ))",
    },
    texts=["watermelon notes ch. 14, eq. 14.19-14.21"],
)
class TemporalDifference(TabularControl):
    """Values of a policy by temporal differences: TD(0), n-step TD or TD(λ).

    After a step from state x by the policy, with reward r and next state x',

        V(x) += α (r + γ V(x') - V(x))

    without the term γ V(x') where the episode ends in x'. Where an episode is cut off (truncated), it stays.
    The difference in brackets is the TD error.

    Parameters
    ----------
    policy : array, dict, callable, agent or None, default=None
        The policy π: an action for each state, shape (n_states,); probabilities of the actions, shape
        (n_states, n_actions); a dict from names of a model's states to actions; a function from an
        observation to an action; a fitted agent; or None for the policy that takes each action with the same
        probability.
    n_episodes : int, default=1000
        Number of episodes.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every
        state.
    learning_rate : float or Schedule, default=0.1
        Step size α. `Schedule("harmonic", per="visit")` takes the mean of all samples (14.19).
    bootstrap_steps : int, default=1
        The n of n-step TD: V(x) approaches r_1 + γ r_2 + ... + γ^(n-1) r_n + γ^n V(x_n). With n as large as
        episodes are long this is a Monte Carlo method.
    trace_decay : float, default=0.0
        λ of TD(λ): earlier states learn from a step, too, with weights (γλ)^k.
    traces : {"accumulating", "replacing", "dutch"}, default="accumulating"
        What a visit does to a trace: it is raised by 1, set to 1, or raised by 1 less α times itself. With
        "dutch" this is true online TD(λ), which learns from each step what λ-returns would teach.
    offline : bool, default=False
        Whether values stay as they are until an episode ends, and then change by the sum of all that was
        learned. With trace_decay above 0 they change by the λ-returns of the episode.
    initial_value : float or array of shape (n_states,), default=0.0
        Values before the first step.
    max_steps : int, default=1000
        The most steps of an episode, after which it is cut off.
    n_steps : int, optional
        The most steps in all.
    warm_start : bool, default=False
        Whether another `fit` goes on from the values, counts and random numbers of the last one.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Attributes
    ----------
    V_ : array of shape (n_states,)
        Values of the states.
    n_visits_ : array of shape (n_states,)
        How often each state was left.
    policy_ : array of shape (n_states,)
        The most probable action of the policy in each state.
    episode_returns_, episode_lengths_ : arrays of shape (n_episodes,)
        Sum of the rewards and number of steps of each episode of this fit.
    n_truncated_ : int
        Number of episodes of this fit that were cut off.
    n_steps_, n_episodes_ : int
        Steps taken and episodes begun, with warm_start by all fits.
    draws_ : array of shape (2,)
        State of the random numbers, of the agent and of the model.
    n_iter_ : int
        Number of passes of the loop.
    history_ : dict
        Of each pass the mean return and length of the episodes, how many were cut off, and the mean of the
        absolute TD errors.

    Examples
    --------
    >>> # A random walk between two ends, of which the right one pays 1; the true values are x/6.
    >>> from tercet.rl import MDP, Schedule
    >>> P, R = np.zeros((7, 1, 7)), np.zeros((7, 1, 7))
    >>> for x in range(1, 6):
    ...     P[x, 0, [x - 1, x + 1]] = 0.5
    >>> P[0, 0, 0] = P[6, 0, 6] = R[5, 0, 6] = 1
    >>> walk = MDP(P, R, start=3)
    >>> rate = Schedule("linear", 0.1, 0.001, length=100_000)
    >>> agent = TemporalDifference(n_episodes=20_000, discount=1.0, learning_rate=rate, random_state=0).fit(
    ...     walk
    ... )
    >>> agent.V_.round(1)
    array([0. , 0.2, 0.3, 0.5, 0.7, 0.8, 0. ])
    """

    fitted_shapes: ClassVar[Declarations] = {
        "Q_": None,
        "policy_": Indices("states", below=str(2**31)),
        "n_visits_": "states",
    }

    def __init__(
        self,
        policy: ArrayLike = None,
        *,
        n_episodes: Count = 1000,
        discount: Fraction = 0.99,
        learning_rate: Positive | Schedule = 0.1,
        bootstrap_steps: Count = 1,
        trace_decay: Fraction = 0.0,
        traces: Literal["accumulating", "replacing", "dutch"] = "accumulating",
        offline: bool = False,
        initial_value: Real | ArrayLike = 0.0,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        warm_start: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.policy = policy
        self.n_episodes = n_episodes
        self.discount = discount
        self.learning_rate = learning_rate
        self.bootstrap_steps = bootstrap_steps
        self.trace_decay = trace_decay
        self.traces = traces
        self.offline = offline
        self.initial_value = initial_value
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.warm_start = warm_start
        self.random_state = random_state

    def value(self, observations: Any) -> Any:
        """The values V(x) of states.

        Parameters
        ----------
        observations : state, or list or array of states
            Observations of the environment (tuples, say), names of a model's states, or numbers of states.

        Returns
        -------
        float, or array of float
            For one observation its value, otherwise the value of each.
        """
        check_is_fitted(self)
        if self._is_single(observations):
            return float(self.V_[self._state_number(observations)])
        return np.array([self.V_[self._state_number(one)] for one in observations], dtype=np.float64)

    def _begin(self, world: MDP | GymEnvironment, rng: np.random.Generator) -> PolicyTables:  # type: ignore[override]
        V = initial_values(self, (world.n_states or 0,))[:, None].copy()
        if isinstance(world, MDP):
            V[world.terminal] = 0.0
        chances = np.cumsum(policy_probabilities(self.policy, world), axis=1)
        chances[chances >= chances[:, -1:]] = 1.0
        return PolicyTables(*new_tables(V, rng), chances=read_only(chances))

    def _go_on(self, tables: Tables) -> None:
        if len(self.V_) != len(tables.Q):
            raise ValueError(
                f"TemporalDifference: warm_start=True goes on from V_, which has {len(self.V_)} states; env has "
                f"{len(tables.Q)}."
            )
        tables.Q[:, 0], tables.visits[:, 0] = self.V_, self.n_visits_
        take_course(self, tables)

    def _state(self, tables: PolicyTables) -> Any:  # type: ignore[override]
        return tables.Q, tables.visits, tables.chances

    def _unpack(self, state: Any) -> dict[str, Any]:
        V, visits, chances = state
        policy = np.argmax(np.diff(chances, axis=1, prepend=0.0), axis=1)
        return {"V_": V[:, 0].copy(), "policy_": policy, "n_visits_": visits[:, 0].copy()}

    def _memory(self, tables: Tables, rules: Rules) -> TDBackups:
        if self.bootstrap_steps > 1 and self.trace_decay > 0:
            raise ValueError(
                "TemporalDifference: bootstrap_steps above 1 cannot be used with trace_decay above 0; set one of "
                "them."
            )
        if self.offline and self.trace_decay > 0 and self.traces == "dutch":
            raise ValueError(
                "TemporalDifference: traces='dutch' cannot be used with offline=True; use traces='accumulating'."
            )
        n = min(self.bootstrap_steps, self.max_steps)
        return new_backups(tables, n, self.trace_decay, self.traces, bool(self.offline))

    def _measures(self, memories: list[TDBackups]) -> dict[str, Any]:
        total = np.sum([memory.errors for memory in memories], axis=0)
        for memory in memories:
            memory.errors[:] = 0.0
        return {"td_error": float(total[0] / total[1]) if total[1] else np.nan}

    def _episode_kernel(self) -> Callable[..., int]:
        return td_episodes

    def _choose(self, tables: PolicyTables, rules: Rules, memory: Any, state: int) -> int:  # type: ignore[override]
        return int(follow(tables, state))

    def _learn_step(
        self,
        tables: Any,
        rules: Rules,
        memory: Any,
        s: int,
        a: int,
        r: float,
        u: int,
        b: int,
        terminated: bool,
    ) -> None:
        learn(tables, rules, memory, s, r, u, terminated)

    def _end_episode(self, tables: Tables, rules: Rules, memory: Any) -> None:
        finish(rules, memory)


class PolicyTables(NamedTuple):
    """As `Tables`, with V as a table of one column, and a policy.

    Attributes
    ----------
    Q, visits : arrays of shape (n_states, 1)
    clock, draws, nature : as in `Tables`
    chances : array of shape (n_states, n_actions), float64
        Cumulative probabilities of the actions in each state.
    """

    Q: np.ndarray
    visits: np.ndarray
    clock: np.ndarray
    draws: np.ndarray
    nature: np.ndarray
    chances: np.ndarray


@kernel
def td_episodes(
    model: Model,
    tables: PolicyTables,
    rules: Rules,
    memory: TDBackups,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of a policy, with their returns and lengths; how many have ended."""
    e, x = 0, tables.clock[STATE]
    while e < returns.size and not paused(tables):
        if lengths[e] == 0:
            x = begin_episode(model, tables)
        k = next_transition(model, tables, x, follow_policy(tables, x))
        r, u = model.rewards[k], model.successors[k]
        learn(tables, rules, memory, x, r, u, model.terminal[u])
        x = u
        before, e = e, recorded(rules, e, r, model.terminal[u], returns, lengths, cut)
        if e > before or tables.clock[STEPS] >= rules.budget:
            finish_episode(rules, memory)
    keep_place(tables, x, 0)
    return e


@shared
def learn(
    tables: PolicyTables, rules: Rules, memory: TDBackups, x: int, r: float, u: int, terminated: bool
) -> None:
    """V(x) += α (r + γ V(x') - V(x)), or n-step returns or traces; a terminal x' has the value 0."""
    back_up(tables, rules, memory, x, 0, r, 0.0 if terminated else tables.Q[u, 0])


@shared
def finish(rules: Rules, memory: TDBackups) -> None:
    """Learn what is left at the end of an episode."""
    finish_episode(rules, memory)


@inner
def follow_policy(tables: PolicyTables, state: int) -> int:
    """An action by the policy."""
    u = uniform(tables.draws)
    action = 0
    while tables.chances[state, action] <= u:  # the last one is 1
        action += 1
    return action


@shared
def follow(tables: PolicyTables, state: int) -> int:
    """An action by the policy, for loops in Python."""
    return follow_policy(tables, state)


def policy_probabilities(policy: Any, world: MDP | GymEnvironment) -> np.ndarray:
    """Probabilities of the actions in each state, shape (n_states, n_actions), of what `policy` may be."""
    choose = getattr(policy, "predict", policy)
    if isinstance(world, MDP):
        if callable(choose):
            policy = np.array([choose(name) for name in world.states])
        return action_probabilities(policy, world)
    if callable(choose):
        policy = np.array([choose(world.decode(x)) for x in world.states]) - world.first_action
    elif isinstance(policy, Mapping):
        raise TypeError(
            "TemporalDifference: policy may be a dict for an MDP alone; give a function of observations."
        )
    shown = {name: getattr(world, name) for name in ("n_states", "n_actions", "states", "actions", "allowed")}
    no_model: Any = SimpleNamespace(**shown, terminal=np.zeros(len(world.states), dtype=bool))
    return action_probabilities(policy, no_model)


@method(
    zh="时序差分更新",
    task="reinforcement learning",
    model="V(x) += α (r + γ V(x') - V(x))",
    strategy="the Bellman equation of a policy",
    texts=["watermelon notes ch. 14, eq. 14.19-14.21"],
)
def td_update(
    V: np.ndarray,
    state: int,
    reward: float,
    next_state: int,
    *,
    learning_rate: float,
    discount: float,
    terminated: bool = False,
) -> float:
    """TD(0) update: one step of learning the values of a policy in a table, which is changed.

    Parameters
    ----------
    V : array of shape (n_states,)
        The table.
    state : int
        Where a step began.
    reward : float
        What it brought.
    next_state : int
        Where it led.
    learning_rate : float
        Step size α.
    discount : float
        Discount γ.
    terminated : bool, default=False
        Whether the episode ended: then the next state has the value 0.

    Returns
    -------
    float
        The new value of the state.

    Examples
    --------
    >>> V = np.array([0.5, 2.0])
    >>> round(td_update(V, 0, 1.0, 1, learning_rate=0.1, discount=0.9), 10), V.round(2)
    (0.73, array([0.73, 2.  ]))
    """
    ahead = 0.0 if terminated else V[next_state]
    return checked_update("td_update", V, state, reward + discount * ahead, learning_rate)
