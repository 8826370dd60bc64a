"""Sarsa, the watermelon notes' Algorithm 10, with expected Sarsa, n-step Sarsa and Sarsa(λ)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel, shared
from tercet.core.parameters import ArrayLike, Count, Fraction, Positive, Real, Seed
from tercet.rl._engine.model import Model
from tercet.rl._engine.tables import (
    ACTION,
    STATE,
    STEPS,
    Rules,
    Tables,
    begin_episode,
    checked_update,
    counted_rate,
    expected_value,
    exploring_action,
    keep_place,
    next_transition,
    paused,
    recorded,
)
from tercet.rl._engine.td_backups import TDBackups, back_up, finish_episode, new_backups
from tercet.rl.learning.tabular_control import TabularControl
from tercet.rl.schedules import Schedule


@method(
    zh="Sarsa 算法",
    task="reinforcement learning",
    model="table Q(x, a); π(x) = argmax_a Q(x, a)",
    strategy="the Bellman equation Q(x, a) = E[r + γ Q(x', a')] of the policy π^ε that chooses a and a'",
    algorithms={
        "Sarsa": "Q(x, a) += α (r + γ Q(x', a') - Q(x, a)), a and a' by π^ε (Alg 10)",
        "expected": "the mean of Q(x', a') over the actions a' in place of the one that comes next",
        "bootstrap_steps": "n-step Sarsa: n rewards before the value that is estimated",
        "trace_decay": "Sarsa(λ): eligibility traces, accumulating, replacing or dutch (true online Sarsa(λ))",
    },
    texts=["watermelon notes ch. 14, Alg 10", "watermelon notes ch. 14, eq. 14.20, 14.21"],
    peers=["mushroom_rl.algorithms.value.td.SARSA", "mushroom_rl.algorithms.value.td.TrueOnlineSARSALambda"],
)
class Sarsa(TabularControl):
    """Sarsa: the values of the policy that explores, learned while it improves.

    After action a in state x, with reward r, next state x' and next action a',

        Q(x, a) += α (r + γ Q(x', a') - Q(x, a))

    without the term γ Q(x', a') where the episode ends in x'. Where an episode is cut off (truncated), it
    stays. Both actions are chosen by the policy π^ε that explores, so that Q takes its mistakes into account.

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
        Probability ε of a random action. With a schedule that goes to 0, values become those of the best
        policy.
    exploration : {"epsilon-greedy", "softmax"}, default="epsilon-greedy"
        How actions are chosen while learning: the best one, or with probability ε a random one; or by
        probabilities proportional to exp(Q/τ).
    temperature : float or Schedule, default=1.0
        Temperature τ of exploration="softmax".
    expected : bool, default=False
        Expected Sarsa: Σ_a' π^ε(x', a') Q(x', a') in place of Q(x', a'), which has no variance from a'.
    bootstrap_steps : int, default=1
        The n of n-step Sarsa: Q(x, a) approaches r_1 + γ r_2 + ... + γ^(n-1) r_n + γ^n Q(x_n, a_n). With n as
        large as episodes are long this is a Monte Carlo method.
    trace_decay : float, default=0.0
        λ of Sarsa(λ): earlier pairs of state and action learn from a step, too, with weights (γλ)^k.
    traces : {"accumulating", "replacing", "dutch"}, default="accumulating"
        What a visit does to a trace: it is raised by 1, set to 1, or raised by 1 less α times itself. With
        "dutch" this is true online Sarsa(λ), which learns from each step what λ-returns would teach.
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
    >>> agent = Sarsa(500, discount=0.9, learning_rate=0.5, expected=True, random_state=0).fit(mdp)
    >>> agent.policy_[:4], agent.V_.round(1)
    (array([1, 1, 1, 1]), array([0.7, 0.8, 0.9, 1. , 0. ]))
    """

    chooses_first = True

    def __init__(
        self,
        n_episodes: Count = 1000,
        *,
        discount: Fraction = 0.99,
        learning_rate: Positive | Schedule = 0.1,
        epsilon: Fraction | Schedule = 0.1,
        exploration: Literal["epsilon-greedy", "softmax"] = "epsilon-greedy",
        temperature: Positive | Schedule = 1.0,
        expected: bool = False,
        bootstrap_steps: Count = 1,
        trace_decay: Fraction = 0.0,
        traces: Literal["accumulating", "replacing", "dutch"] = "accumulating",
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
        self.expected = expected
        self.bootstrap_steps = bootstrap_steps
        self.trace_decay = trace_decay
        self.traces = traces
        self.initial_value = initial_value
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.warm_start = warm_start
        self.random_state = random_state

    def _memory(self, tables: Tables, rules: Rules) -> SarsaMemory:
        if self.bootstrap_steps > 1 and self.trace_decay > 0:
            raise ValueError(
                "Sarsa: bootstrap_steps above 1 cannot be used with trace_decay above 0; set one of them."
            )
        if self.expected and self.trace_decay > 0 and self.traces == "dutch":
            raise ValueError(
                "Sarsa: traces='dutch' cannot be used with expected=True; use another kind of traces."
            )
        n = min(self.bootstrap_steps, self.max_steps)
        return SarsaMemory(bool(self.expected), new_backups(tables, n, self.trace_decay, self.traces))

    def _episode_kernel(self) -> Callable[..., int]:
        return sarsa_episodes

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
        learn(tables, rules, memory, s, a, r, u, b, terminated)

    def _end_episode(self, tables: Tables, rules: Rules, memory: Any) -> None:
        finish(rules, memory)


class SarsaMemory(NamedTuple):
    """Memory of Sarsa beside the table: whether it is expected Sarsa, and n-step returns or traces."""

    expected: bool
    backups: TDBackups


@kernel
def sarsa_episodes(
    model: Model,
    tables: Tables,
    rules: Rules,
    memory: SarsaMemory,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of Sarsa (Alg 10), with their returns and lengths; how many have ended."""
    e, x, a = 0, tables.clock[STATE], tables.clock[ACTION]
    while e < returns.size and not paused(tables):
        if lengths[e] == 0:
            x = begin_episode(model, tables)
            a = exploring_action(tables, rules, x)
        k = next_transition(model, tables, x, a)
        r, u = model.rewards[k], model.successors[k]
        b = -1 if model.terminal[u] else exploring_action(tables, rules, u)
        learn(tables, rules, memory, x, a, r, u, b, model.terminal[u])
        x, a = u, b
        before, e = e, recorded(rules, e, r, model.terminal[u], returns, lengths, cut)
        if e > before or tables.clock[STEPS] >= rules.budget:
            finish_episode(rules, memory.backups)
    keep_place(tables, x, a)
    return e


@shared
def learn(
    tables: Tables,
    rules: Rules,
    memory: SarsaMemory,
    x: int,
    a: int,
    r: float,
    u: int,
    b: int,
    terminated: bool,
) -> None:
    """Q(x, a) += α (r + γ Q(x', a') - Q(x, a)); a terminal x' has the value 0."""
    ahead = 0.0
    if not terminated:
        ahead = expected_value(tables, rules, u) if memory.expected else tables.Q[u, b]
    if memory.backups.window.entries.size == 1 and memory.backups.traces.decay == 0.0:
        alpha = counted_rate(tables, rules, x, a)
        tables.Q[x, a] += alpha * (r + rules.discount * ahead - tables.Q[x, a])
    else:  # n-step returns or traces
        back_up(tables, rules, memory.backups, x, a, r, ahead)


@shared
def finish(rules: Rules, memory: SarsaMemory) -> None:
    """Learn what is left at the end of an episode."""
    finish_episode(rules, memory.backups)


@method(
    zh="Sarsa 更新",
    task="reinforcement learning",
    model="Q(x, a) += α (r + γ Q(x', a') - Q(x, a))",
    strategy="the Bellman equation of the policy that chooses a and a'",
    texts=["watermelon notes ch. 14, eq. 14.21"],
)
def sarsa_update(
    Q: np.ndarray,
    state: int,
    action: int,
    reward: float,
    next_state: int,
    next_action: int | None = None,
    *,
    learning_rate: float,
    discount: float,
    probabilities: Any = None,
    terminated: bool = False,
) -> float:
    """Sarsa update, or expected Sarsa update: one step of learning in a table, which is changed.

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
    next_action : int, optional
        What is done next; not needed with `probabilities`.
    learning_rate : float
        Step size α.
    discount : float
        Discount γ.
    probabilities : array of shape (n_actions,), optional
        Probabilities π(x', ·) of the next action, for expected Sarsa.
    terminated : bool, default=False
        Whether the episode ended: then the next state has the value 0.

    Returns
    -------
    float
        The new value of the state and the action.

    Examples
    --------
    >>> import numpy as np
    >>> from tercet.rl import epsilon_greedy_policy
    >>> Q = np.array([[0.5, 0.0], [1.0, 2.0]])
    >>> sarsa_update(Q.copy(), 0, 0, 1.0, 1, 0, learning_rate=0.1, discount=0.9)
    0.64
    >>> policy = epsilon_greedy_policy(Q, 0.2)
    >>> round(sarsa_update(Q, 0, 0, 1.0, 1, probabilities=policy[1], learning_rate=0.1, discount=0.9), 10)
    0.721
    """
    if (next_action is None) == (probabilities is None) and not terminated:
        raise ValueError("sarsa_update: next_action or probabilities must be given, and not both.")
    if terminated:
        ahead = 0.0
    elif probabilities is None:
        ahead = float(Q[next_state, next_action])
    else:
        weights = np.asarray(probabilities, dtype=np.float64)
        if weights.shape != Q.shape[1:]:
            raise ValueError(
                f"sarsa_update: probabilities must have the shape {Q.shape[1:]}; got {weights.shape}."
            )
        taken = weights > 0  # others may have the value -inf
        ahead = float(weights[taken] @ Q[next_state, taken])
    return checked_update("sarsa_update", Q, (state, action), reward + discount * ahead, learning_rate)
