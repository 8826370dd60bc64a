"""Dyna-Q: Q-learning with planning in a learned model; Dyna-Q+ and prioritised sweeping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats, Indices, Keys, Labels
from tercet.core.kernel import inner, kernel, shared
from tercet.core.parameters import ArrayLike, Count, CountOrZero, Fraction, NonNegative, Positive, Real, Seed
from tercet.core.validation import check_is_fitted
from tercet.rl._engine.experience import (
    PAIRS,
    QUEUED,
    UNTRIED,
    Experience,
    ExperienceStore,
    drawn_record,
    put,
    remember,
    take,
)
from tercet.rl._engine.model import Model, uniform
from tercet.rl._engine.tables import (
    EPISODES,
    PAUSE,
    STATE,
    STEPS,
    Rules,
    Tables,
    begin_episode,
    best_value,
    counted_rate,
    exploring_action,
    keep_place,
    next_transition,
    paused,
    recorded,
)
from tercet.rl.learning.tabular_control import TabularControl
from tercet.rl.mdp import MDP
from tercet.rl.schedules import Schedule, scheduled


@method(
    zh="Dyna-Q 算法",
    task="reinforcement learning",
    model="table Q(x, a), and counts of the transitions (x, a) → x' that were seen",
    strategy="the Bellman optimality equation Q(x, a) = E[r + γ max_a' Q(x', a')], in experience and in the model",
    algorithms={
        "Dyna-Q": "after each step, Q-learning updates of random pairs in the model",
        "kappa": "Dyna-Q+: a bonus κ √τ for pairs that were not tried for τ steps",
        "prioritised": "prioritised sweeping: the pairs first whose values change most",
    },
    peers=["Sutton & Barto, Reinforcement Learning, sec. 8.2-8.4"],
)
class DynaQ(TabularControl):
    """Dyna-Q: Q-learning with planning in a model that is learned at the same time.

    Each step teaches twice: directly, by the update of Q-learning

        Q(x, a) += α (r + γ max_a' Q(x', a') - Q(x, a))

    and by what it adds to a model, the relative frequencies of the next states of each pair (x, a) and their
    mean rewards. `planning_steps` more updates follow, of random pairs that were tried before, with outcomes
    drawn from the model. Few steps in the world are enough then, where these are dear.

    Parameters
    ----------
    n_episodes : int, default=1000
        Number of episodes.
    planning_steps : int, default=5
        Updates in the model after each step; 0 is Q-learning.
    kappa : float, default=0.0
        κ of Dyna-Q+: planning adds κ √τ to the reward of a pair that was not tried for τ steps, and also
        takes actions that were never tried, as if they changed nothing. This finds out about changes of the
        world.
    prioritised : bool, default=False
        Prioritised sweeping: planning takes the pairs in the order of how much their values would change,
        beginning with the last step and going back to what leads there, and sets them to the expectation
        under the model. `learning_rate` is not used.
    tol : float, default=1e-5
        With prioritised=True the smallest change that is made.
    discount : float, default=0.99
        Discount γ, from 0 to 1. With 1, a model must have a terminal state that can be reached from every
        state.
    learning_rate : float or Schedule, default=0.1
        Step size α, in experience and in planning.
    epsilon : float or Schedule, default=0.1
        Probability ε of a random action.
    exploration : {"epsilon-greedy", "softmax"}, default="epsilon-greedy"
        How actions are chosen while learning: the best one, or with probability ε a random one; or by
        probabilities proportional to exp(Q/τ).
    temperature : float or Schedule, default=1.0
        Temperature τ of exploration="softmax".
    initial_value : float or array of shape (n_states, n_actions), default=0.0
        Values before the first step. Values above those of the best policy make the agent try all actions.
    max_steps : int, default=1000
        The most steps of an episode, after which it is cut off.
    n_steps : int, optional
        The most steps in all.
    warm_start : bool, default=False
        Whether another `fit` goes on from the values, the model, counts and random numbers of the last one.
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
    transitions_ : dict of arrays of shape (n_transitions,)
        The learned model: "state", "action", "next_state", whether the episode "terminated" there, how often
        ("count") and the mean "reward". See `learned_model`.
    last_visits_ : array of shape (n_states, n_actions)
        The step in which each action was taken last; 0 for never.
    priorities_ : array of shape (n_states, n_actions)
        With prioritised=True the priorities of the pairs that wait to be updated; 0 for others.
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
    >>> agent = DynaQ(20, planning_steps=20, discount=0.9, learning_rate=0.5, random_state=0).fit(mdp)
    >>> agent.policy_[:4], agent.V_.round(3)
    (array([1, 1, 1, 1]), array([0.729, 0.81 , 0.9  , 1.   , 0.   ]))
    >>> agent.learned_model()
    MDP(5 states, 2 actions, 1 terminal)
    """

    fitted_shapes: ClassVar[Declarations] = {
        "transitions_": Keys(
            {
                "state": Indices("transitions*", below="states"),
                "action": Indices("transitions*", below="actions"),
                "next_state": Indices("transitions*", below="states"),
                "terminated": Labels("transitions*"),
                "count": Floats("transitions*", low=1.0),
                "reward": Floats("transitions*", finite=True),
            }
        ),
        "last_visits_": "states actions",
        "priorities_": Floats("states actions", finite=True, low=0.0),
    }
    transitions_: dict[str, np.ndarray]
    last_visits_: np.ndarray
    priorities_: np.ndarray

    def __init__(
        self,
        n_episodes: Count = 1000,
        *,
        planning_steps: CountOrZero = 5,
        kappa: NonNegative = 0.0,
        prioritised: bool = False,
        tol: NonNegative = 1e-5,
        discount: Fraction = 0.99,
        learning_rate: Positive | Schedule = 0.1,
        epsilon: Fraction | Schedule = 0.1,
        exploration: Literal["epsilon-greedy", "softmax"] = "epsilon-greedy",
        temperature: Positive | Schedule = 1.0,
        initial_value: Real | ArrayLike = 0.0,
        max_steps: Count = 1000,
        n_steps: Count | None = None,
        warm_start: bool = False,
        random_state: Seed = None,
    ) -> None:
        self.n_episodes = n_episodes
        self.planning_steps = planning_steps
        self.kappa = kappa
        self.prioritised = prioritised
        self.tol = tol
        self.discount = discount
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.exploration = exploration
        self.temperature = temperature
        self.initial_value = initial_value
        self.max_steps = max_steps
        self.n_steps = n_steps
        self.warm_start = warm_start
        self.random_state = random_state

    def learned_model(self) -> MDP:
        """The model that was learned from the transitions: frequencies of next states, and mean rewards.

        Actions that were never tried are not allowed in it. States that no action was tried in are terminal.
        Where an episode has ended in a state in which others have not, the model has one more state, the
        last.

        Returns
        -------
        MDP
        """
        check_is_fitted(self)
        n, m = self.Q_.shape
        seen = self.transitions_
        pairs, rows = np.unique(seen["state"] * m + seen["action"], return_inverse=True)
        goes_on = np.bincount(seen["state"], minlength=n) > 0
        beyond = seen["terminated"] & goes_on[seen["next_state"]]
        size = n + bool(beyond.any())
        totals = np.bincount(rows, seen["count"])
        weights = seen["count"] / totals[rows]
        P = sparse.csr_array(
            (weights, (rows, np.where(beyond, n, seen["next_state"]))), shape=(len(pairs), size)
        )
        R = np.bincount(rows, weights * seen["reward"])
        ends = np.flatnonzero(~np.append(goes_on, False)[:size])
        stay = sparse.csr_array((np.ones(ends.size), (np.arange(ends.size), ends)), shape=(ends.size, size))
        return MDP.from_pairs(
            np.concatenate([pairs // m, ends]),
            np.concatenate([pairs % m, np.zeros_like(ends)]),
            sparse.vstack([P, stay], format="csr"),
            np.concatenate([R, np.zeros(ends.size)]),
            terminal=np.isin(np.arange(size), ends),
            states=None if self.states_ is None else [*self.states_, "end"][:size],
            actions=range(m),
        )

    def _memories(self, tables: Tables, rules: Rules, n_streams: int) -> list[DynaMemory]:
        if self.prioritised and self.kappa > 0:
            raise ValueError("DynaQ: prioritised=True cannot be used with kappa above 0; set one of them.")
        store = ExperienceStore(tables.Q.shape[0], tables.Q.shape[1], bool(self.prioritised))
        known = vars(self)
        if self.warm_start and "transitions_" in known:
            priorities = known.get("priorities_")
            store.restore(self.transitions_, self.last_visits_, priorities, self.kappa > 0, tables.Q)
        plan = Plan(self.planning_steps, float(self.kappa), bool(self.prioritised), float(self.tol))
        return [DynaMemory(store, plan)] * n_streams

    def _memory_attributes(self, memory: DynaMemory) -> dict[str, Any]:
        seen, shape = memory.store.arrays, (-1, memory.store.n_actions)
        found = {"transitions_": memory.store.transitions(), "last_visits_": seen.last.reshape(shape).copy()}
        if self.prioritised:
            found["priorities_"] = seen.priorities.reshape(shape).copy()
        return found

    def _episode_kernel(self) -> Callable[..., int]:
        return episodes_with_room

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
        learn(tables, rules, memory.store.reserve(1), memory.plan, s, a, r, u, terminated)


class Plan(NamedTuple):
    """Parameters of planning, as kernels see them."""

    steps: int
    kappa: float
    prioritised: bool
    tol: float


class DynaMemory(NamedTuple):
    """What Dyna-Q keeps beside the table, for all streams of steps."""

    store: ExperienceStore
    plan: Plan


def episodes_with_room(
    model: Model, tables: Tables, rules: Rules, memory: DynaMemory, *record: np.ndarray
) -> int:
    """Call the kernel with room for all transitions that it may see."""
    steps = int(tables.clock[PAUSE] - tables.clock[STEPS])
    seen = memory.store.reserve(min(steps, model.successors.size))
    return dyna_q_episodes(model, tables, rules, seen, memory.plan, *record)


@kernel
def dyna_q_episodes(
    model: Model,
    tables: Tables,
    rules: Rules,
    seen: Experience,
    plan: Plan,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Episodes of Dyna-Q, with their returns and lengths; how many have ended."""
    e, x = 0, tables.clock[STATE]
    while e < returns.size and not paused(tables):
        if lengths[e] == 0:
            x = begin_episode(model, tables)
        a = exploring_action(tables, rules, x)
        k = next_transition(model, tables, x, a)
        r, u = model.rewards[k], model.successors[k]
        learn(tables, rules, seen, plan, x, a, r, u, model.terminal[u])
        e = recorded(rules, e, r, model.terminal[u], returns, lengths, cut)
        x = u
    keep_place(tables, x, 0)
    return e


@shared
def learn(
    tables: Tables,
    rules: Rules,
    seen: Experience,
    plan: Plan,
    x: int,
    a: int,
    r: float,
    u: int,
    terminated: bool,
) -> None:
    """Learn from a step, add it to the model, and plan."""
    pair, alpha = x * tables.Q.shape[1] + a, counted_rate(tables, rules, x, a)
    remember(seen, tables.Q, plan.kappa > 0.0, pair, u, terminated, r, 1)
    seen.last[pair] = tables.clock[STEPS]
    if plan.prioritised:
        queue_change(tables, rules, seen, plan, pair)
    else:
        target = r if terminated else r + rules.discount * best_value(tables.Q, u)
        tables.Q[x, a] += alpha * (target - tables.Q[x, a])
    for _ in range(plan.steps):
        if not plan.prioritised:
            plan_random(tables, rules, seen, plan)
        elif seen.sizes[QUEUED] > 0:
            plan_first(tables, rules, seen, plan)


@inner
def plan_random(tables: Tables, rules: Rules, seen: Experience, plan: Plan) -> None:
    """Q-learning from a transition that the model draws for a random pair."""
    pair = seen.pairs[int(uniform(tables.draws) * seen.sizes[PAIRS])]
    x, a = pair // tables.Q.shape[1], pair % tables.Q.shape[1]
    if seen.newest[pair] == UNTRIED:  # as if the action changed nothing
        target = rules.discount * best_value(tables.Q, x)
    else:
        k = drawn_record(seen, pair, tables.visits[x, a], uniform(tables.draws))
        target = seen.rewards[k]
        if not seen.ends[k]:
            target += rules.discount * best_value(tables.Q, seen.next_states[k])
    if plan.kappa > 0.0:
        target += plan.kappa * math.sqrt(tables.clock[STEPS] - seen.last[pair])
    alpha = scheduled(
        rules.learning_rate, tables.clock[STEPS], tables.clock[EPISODES], max(1, tables.visits[x, a])
    )
    tables.Q[x, a] += alpha * (target - tables.Q[x, a])


@inner
def plan_first(tables: Tables, rules: Rules, seen: Experience, plan: Plan) -> None:
    """Set the value of the first pair in the queue; what leads to its state may change next."""
    pair = take(seen)
    x, a = pair // tables.Q.shape[1], pair % tables.Q.shape[1]
    tables.Q[x, a] = expected_target(tables, rules, seen, pair)
    k = seen.arrivals[x]
    while k >= 0:
        if not seen.ends[k]:
            queue_change(tables, rules, seen, plan, seen.origins[k])
        k = seen.earlier[k]


@inner
def queue_change(tables: Tables, rules: Rules, seen: Experience, plan: Plan, pair: int) -> None:
    """Put a pair into the queue if its value is to change by more than `tol`."""
    x, a = pair // tables.Q.shape[1], pair % tables.Q.shape[1]
    change = abs(expected_target(tables, rules, seen, pair) - tables.Q[x, a])
    if change > plan.tol:
        put(seen, pair, change)


@inner
def expected_target(tables: Tables, rules: Rules, seen: Experience, pair: int) -> float:
    """Σ_x' P(x' | x, a) (r + γ max_a' Q(x', a')) under the learned model."""
    total, weight, k = 0.0, 0, seen.newest[pair]
    while k >= 0:
        target = seen.rewards[k]
        if not seen.ends[k]:
            target += rules.discount * best_value(tables.Q, seen.next_states[k])
        total += seen.counts[k] * target
        weight += seen.counts[k]
        k = seen.older[k]
    return total / weight
