"""Q-learning (Q-学习), the watermelon notes' Algorithm 11, with double Q-learning and Watkins's Q(λ)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats
from tercet.core.kernel import inner, kernel, shared
from tercet.core.parameters import ArrayLike, Count, Fraction, Positive, Real, Seed
from tercet.rl._engine.model import Model, uniform
from tercet.rl._engine.tables import (
    EPISODES,
    STATE,
    STEPS,
    Rules,
    Tables,
    begin_episode,
    best_value,
    checked_update,
    counted_rate,
    exploring_action,
    keep_place,
    next_transition,
    paused,
    recorded,
)
from tercet.rl._engine.td_backups import SMALLEST, Traces, clear, new_traces, raise_trace, spread
from tercet.rl.learning.tabular_control import TabularControl
from tercet.rl.schedules import Schedule, scheduled


@method(
    zh="Q-学习",
    task="reinforcement learning",
    model="table Q(x, a); π(x) = argmax_a Q(x, a)",
    strategy="the Bellman optimality equation Q(x, a) = E[r + γ max_a' Q(x', a')]",
    algorithms={
        "Q-learning": "Q(x, a) += α (r + γ max_a' Q(x', a') - Q(x, a)), actions ε-greedy (Alg 11)",
        "double": "two tables; one chooses the action whose value the other one estimates",
        "trace_decay": "Watkins's Q(λ): traces, which end where an action explores",
    },
    texts=["watermelon notes ch. 14, Alg 11"],
    peers=["mushroom_rl.algorithms.value.td.QLearning", "mushroom_rl.algorithms.value.td.DoubleQLearning"],
)
class QLearning(TabularControl):
    """Q-learning: the values of the best policy, learned while another policy explores.

    After action a in state x, with reward r and next state x',

        Q(x, a) += α (r + γ max_a' Q(x', a') - Q(x, a))

    without the term γ max_a' Q(x', a') where the episode ends in x'. Where an episode is cut off (truncated),
    it stays.

    Parameters
    ----------
    n_episodes : int, default=1000
        Number of episodes.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every
        state.
    learning_rate : float or Schedule, default=0.1
        Step size α. `Schedule("harmonic", per="visit")` takes the mean of all samples.
    epsilon : float or Schedule, default=0.1
        Probability ε of a random action.
    exploration : {"epsilon-greedy", "softmax"}, default="epsilon-greedy"
        How actions are chosen while learning: the best one, or with probability ε a random one; or by
        probabilities proportional to exp(Q/τ).
    temperature : float or Schedule, default=1.0
        Temperature τ of exploration="softmax".
    double : bool, default=False
        Double Q-learning: two tables, of which a random one learns from a step. It chooses the best action in
        x', and the other table gives its value. This avoids the bias of a maximum over noisy values.
    trace_decay : float, default=0.0
        λ of Watkins's Q(λ): earlier pairs of state and action learn from a step, too, with weights (γλ)^k,
        back to the last action that explored.
    initial_value : float or array of shape (n_states, n_actions), default=0.0
        Values before the first step. Values above those of the best policy make the agent try all actions.
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
    Q_ : array of shape (n_states, n_actions)
        Values of actions; -inf where a state does not allow an action.
    V_ : array of shape (n_states,)
        The value of the best action in each state.
    policy_ : array of shape (n_states,)
        The best action in each state.
    n_visits_ : array of shape (n_states, n_actions)
        How often each action was taken.
    double_Q_ : array of shape (2, n_states, n_actions)
        With double=True the two tables, whose mean is Q_.
    double_visits_ : array of shape (2, n_states, n_actions)
        With double=True how often each table has learned.
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
        Mean return and length of the episodes of each pass, and how many were cut off.

    Examples
    --------
    >>> # A corridor of five states; the agent gets a reward of 1 at its right end, which is terminal.
    >>> from tercet.rl import MDP
    >>> P = [
    ...     [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]],
    ...     [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0]],
    ...     [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]],
    ...     [[0, 0, 1, 0, 0], [0, 0, 0, 0, 1]],
    ...     [[0, 0, 0, 0, 1], [0, 0, 0, 0, 1]],
    ... ]
    >>> mdp = MDP(P, [[0, 0], [0, 0], [0, 0], [0, 1], [0, 0]], start=0, actions=["left", "right"])
    >>> agent = QLearning(500, discount=0.9, learning_rate=0.5, random_state=0).fit(mdp)
    >>> agent.policy_[:4], agent.V_.round(3)
    (array([1, 1, 1, 1]), array([0.729, 0.81 , 0.9  , 1.   , 0.   ]))
    """

    fitted_shapes: ClassVar[Declarations] = {
        "double_Q_": Floats("2 states actions"),
        "double_visits_": "2 states actions",
    }
    double_Q_: np.ndarray
    double_visits_: np.ndarray

    def __init__(
        self,
        n_episodes: Count = 1000,
        *,
        discount: Fraction = 0.99,
        learning_rate: Positive | Schedule = 0.1,
        epsilon: Fraction | Schedule = 0.1,
        exploration: Literal["epsilon-greedy", "softmax"] = "epsilon-greedy",
        temperature: Positive | Schedule = 1.0,
        double: bool = False,
        trace_decay: Fraction = 0.0,
        initial_value: Real | ArrayLike = 0.0,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        warm_start: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_episodes = n_episodes
        self.discount = discount
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.exploration = exploration
        self.temperature = temperature
        self.double = double
        self.trace_decay = trace_decay
        self.initial_value = initial_value
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.warm_start = warm_start
        self.random_state = random_state

    def _episode_kernel(self) -> Callable[..., int]:
        return q_learning_episodes

    def _learn_step(
        self,
        tables: Tables,
        rules: Rules,
        memory: Any,
        s: int,
        a: int,
        r: float,
        u: int,
        b: int,
        terminated: bool,
    ) -> None:
        learn(tables, rules, memory, s, a, r, u, terminated)

    def _end_episode(self, tables: Tables, rules: Rules, memory: QMemory) -> None:
        clear(memory.traces)

    def _memories(self, tables: Tables, rules: Rules, n_streams: int) -> list[QMemory]:
        if self.double and self.trace_decay > 0:
            raise ValueError(
                "QLearning: double=True cannot be used with trace_decay above 0; set one of them."
            )
        shape = (2, *tables.Q.shape) if self.double else (0, 0, 0)
        twins, visits = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        if self.double:
            goes_on = self.warm_start and "double_Q_" in vars(self)
            twins[:] = self.double_Q_ if goes_on else tables.Q
            visits[:] = self.double_visits_ if goes_on else 0
        for name in ("double_Q_", "double_visits_"):
            self.__dict__.pop(name, None)
        table = tables.Q.reshape(-1)
        return [QMemory(twins, visits, new_traces(table, table, self.trace_decay)) for _ in range(n_streams)]

    def _memory_attributes(self, memory: QMemory) -> dict[str, Any]:
        if not self.double:
            return {}
        return {"double_Q_": memory.twins.copy(), "double_visits_": memory.visits.copy()}


class QMemory(NamedTuple):
    """What the variants of Q-learning need beside the table.

    Attributes
    ----------
    twins, visits : arrays of shape (2, n_states, n_actions)
        Values and visits of the two tables of double Q-learning; of shape (0, 0, 0) otherwise.
    traces : Traces
        Eligibility traces of Q(λ).
    """

    twins: np.ndarray
    visits: np.ndarray
    traces: Traces


@kernel
def q_learning_episodes(
    model: Model,
    tables: Tables,
    rules: Rules,
    memory: QMemory,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of Q-learning (Alg 11), with their returns and lengths; how many have ended."""
    e, x = 0, tables.clock[STATE]
    while e < returns.size and not paused(tables):
        if lengths[e] == 0:
            x = begin_episode(model, tables)
        a = exploring_action(tables, rules, x)
        k = next_transition(model, tables, x, a)
        r, u = model.rewards[k], model.successors[k]
        learn(tables, rules, memory, x, a, r, u, model.terminal[u])
        x = u
        before, e = e, recorded(rules, e, r, model.terminal[u], returns, lengths, cut)
        if e > before:
            clear(memory.traces)
    keep_place(tables, x, 0)
    return e


@shared
def learn(
    tables: Tables, rules: Rules, memory: QMemory, x: int, a: int, r: float, u: int, terminated: bool
) -> None:
    """Q(x, a) += α (r + γ max_a' Q(x', a') - Q(x, a)); a terminal x' has the value 0."""
    target = r if terminated else r + rules.discount * best_value(tables.Q, u)
    if memory.twins.shape[0] == 2:
        learn_double(tables, rules, memory, x, a, r, u, terminated)
    elif memory.traces.decay > 0.0:
        learn_by_traces(tables, rules, memory.traces, x, a, target)
    else:
        alpha = counted_rate(tables, rules, x, a)
        tables.Q[x, a] += alpha * (target - tables.Q[x, a])


@inner
def learn_by_traces(tables: Tables, rules: Rules, traces: Traces, x: int, a: int, target: float) -> None:
    """Watkins's Q(λ). What came before an action that explores does not learn from what comes after it."""
    if tables.Q[x, a] < best_value(tables.Q, x):
        clear(traces)
    alpha = counted_rate(tables, rules, x, a)
    raise_trace(traces, x * tables.Q.shape[1] + a, alpha)
    spread(traces, target - tables.Q[x, a], rules.discount * traces.decay, SMALLEST * alpha)


@inner
def learn_double(
    tables: Tables, rules: Rules, memory: QMemory, x: int, a: int, r: float, u: int, terminated: bool
) -> None:
    """Q_i(x, a) += α (r + γ Q_j(x', argmax_a' Q_i(x', a')) - Q_i(x, a)) for i drawn from the two tables."""
    i = 0 if uniform(tables.draws) < 0.5 else 1
    counted_rate(tables, rules, x, a)
    memory.visits[i, x, a] += 1
    alpha = scheduled(
        rules.learning_rate, tables.clock[STEPS], tables.clock[EPISODES], memory.visits[i, x, a]
    )
    best, value = 0, -np.inf
    for b in range(tables.Q.shape[1]):
        if tables.Q[u, b] != -np.inf and memory.twins[i, u, b] > value:
            best, value = b, memory.twins[i, u, b]
    target = r if terminated else r + rules.discount * memory.twins[1 - i, u, best]
    memory.twins[i, x, a] += alpha * (target - memory.twins[i, x, a])
    tables.Q[x, a] = 0.5 * (memory.twins[0, x, a] + memory.twins[1, x, a])


@method(
    zh="Q-学习更新",
    task="reinforcement learning",
    model="Q(x, a) += α (r + γ max_a' Q(x', a') - Q(x, a))",
    strategy="the Bellman optimality equation",
    texts=["watermelon notes ch. 14, Alg 11"],
)
def q_learning_update(
    Q: np.ndarray,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    *,
    learning_rate: float,
    discount: float,
    terminated: bool = False,
) -> float:
    """Q-learning update: one step of learning in a table, which is changed.

    Parameters
    ----------
    Q : array of shape (n_states, n_actions)
        The table.
    state, action : int
        What was done.
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
        The new value of the state and the action.

    Examples
    --------
    >>> Q = np.array([[0.5, 0.0], [1.0, 2.0]])
    >>> q_learning_update(Q, 0, 0, 1.0, 1, learning_rate=0.1, discount=0.9)
    0.73
    """
    ahead = 0.0 if terminated else np.max(Q[next_state])
    return checked_update("q_learning_update", Q, (state, action), reward + discount * ahead, learning_rate)
