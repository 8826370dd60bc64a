"""Tables of action values that kernels and Python loops update, and the choice of actions that explores."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, shared
from tercet.rl._engine.model import Model, draw_index, first_state, uniform
from tercet.rl.schedules import Timetable, scheduled

STEPS, EPISODES, PAUSE, STATE, ACTION = range(5)  # places in Tables.clock


class Tables(NamedTuple):
    """What a tabular agent knows, and where it is.

    Attributes
    ----------
    Q : array of shape (n_states, n_actions), float64
        Values of actions; -inf where a state does not allow an action.
    visits : array of shape (n_states, n_actions), int64
        How often each action was taken.
    clock : array of shape (5,), int64
        Steps taken so far; episodes begun; the number of steps at which a kernel returns to Python, be it in
        the midst of an episode; and then the state and the action that come next.
    draws : array of shape (1,), uint64
        The agent's stream of random numbers.
    nature : array of shape (1,), uint64
        The model's stream of random numbers. With two streams, an agent makes the same choices in a model and
        in an environment that has random numbers of its own.
    """

    Q: np.ndarray
    visits: np.ndarray
    clock: np.ndarray
    draws: np.ndarray
    nature: np.ndarray


class Rules(NamedTuple):
    """Parameters of an agent, as kernels see them.

    Attributes
    ----------
    discount : float
    epsilon, learning_rate : Timetable
    max_steps : int
        The most steps of an episode.
    budget : int
        The number of steps at which learning ends.
    softmax : bool
        Whether actions are drawn by a softmax of their values; otherwise they are ε-greedy.
    temperature : Timetable
        Of the softmax.
    """

    discount: float
    epsilon: Timetable
    learning_rate: Timetable
    max_steps: int
    budget: int
    softmax: bool
    temperature: Timetable


LikeTables = Any  # Tables, or a tuple that has those of its fields that a function uses
LikeRules = Any  # Rules, alike


# Values ------------------------------------------------------------------------------------------------


@inner
def best_value(Q: np.ndarray, state: int) -> float:
    """max_a Q(x, a)."""
    best = Q[state, 0]
    for a in range(1, Q.shape[1]):
        best = max(best, Q[state, a])
    return best


@inner
def expected_value(tables: LikeTables, rules: LikeRules, state: int) -> float:
    """Σ_a π(x, a) Q(x, a) of the policy that explores. Ties do not matter: tied actions have the same value."""
    best, total, weight = best_value(tables.Q, state), 0.0, 0.0
    step, episode = tables.clock[STEPS] + 1, tables.clock[EPISODES]
    if rules.softmax:
        temperature = scheduled(rules.temperature, step, episode, 1)
        for a in range(tables.Q.shape[1]):
            if tables.Q[state, a] != -np.inf:
                share = math.exp((tables.Q[state, a] - best) / temperature)
                total += share * tables.Q[state, a]
                weight += share
        value = total / weight
    else:
        epsilon = scheduled(rules.epsilon, step, episode, 1)
        for a in range(tables.Q.shape[1]):
            if tables.Q[state, a] != -np.inf:
                total += tables.Q[state, a]
                weight += 1.0
        value = (1.0 - epsilon) * best + epsilon * total / weight
    return value


# Choices -----------------------------------------------------------------------------------------------


@inner
def greedy(tables: LikeTables, state: int) -> int:
    """An action of the highest value, a random one of several."""
    best, ties, found = tables.Q[state, 0], 1, 0
    for a in range(1, tables.Q.shape[1]):
        if tables.Q[state, a] > best:
            best, ties, found = tables.Q[state, a], 1, a
        elif tables.Q[state, a] == best:
            ties += 1
    if ties > 1:
        k = int(uniform(tables.draws) * ties)
        while k > 0:
            found += 1
            if tables.Q[state, found] == best:
                k -= 1
    return found


@inner
def any_action(tables: LikeTables, state: int, u: float) -> int:
    """One of the actions that the state allows, by a random number u in [0, 1]."""
    allowed = 0
    for a in range(tables.Q.shape[1]):
        allowed += tables.Q[state, a] != -np.inf
    k, found = min(int(u * allowed), allowed - 1), -1
    while k >= 0:
        found += 1
        if tables.Q[state, found] != -np.inf:
            k -= 1
    return found


@inner
def epsilon_greedy(tables: LikeTables, state: int, epsilon: float) -> int:
    """A random action with probability ε, otherwise a greedy one."""
    u = uniform(tables.draws)
    if u < epsilon:
        action = any_action(tables, state, u / epsilon)  # u/ε is uniform again
    else:
        action = greedy(tables, state)
    return action


@inner
def softmax_action(tables: LikeTables, state: int, temperature: float) -> int:
    """An action with probability proportional to exp(Q/τ)."""
    best, total = best_value(tables.Q, state), 0.0
    for a in range(tables.Q.shape[1]):
        total += math.exp((tables.Q[state, a] - best) / temperature)  # 0 for actions that are not allowed
    u, found = uniform(tables.draws) * total, 0
    for a in range(tables.Q.shape[1]):
        share = math.exp((tables.Q[state, a] - best) / temperature)
        if share > 0.0 and u >= 0.0:
            found = a
            u -= share
    return found


@inner
def exploring_action(tables: LikeTables, rules: LikeRules, state: int) -> int:
    """An action by the policy that explores, with the ε or the temperature of the present step."""
    step, episode = tables.clock[STEPS] + 1, tables.clock[EPISODES]
    if rules.softmax:
        action = softmax_action(tables, state, scheduled(rules.temperature, step, episode, 1))
    else:
        action = epsilon_greedy(tables, state, scheduled(rules.epsilon, step, episode, 1))
    return action


@shared
def choose(tables: LikeTables, rules: LikeRules, state: int) -> int:
    """An action by the policy that explores, for loops in Python."""
    return exploring_action(tables, rules, state)


# The course of episodes --------------------------------------------------------------------------------


@inner
def begin_episode(model: Model, tables: LikeTables) -> int:
    """Count an episode; its first state."""
    tables.clock[EPISODES] += 1
    return first_state(model, tables.nature)


@inner
def next_transition(model: Model, tables: LikeTables, state: int, action: int) -> int:
    """The number of the transition that an action leads to: see `model.rewards` and `model.successors`.

    Values that have overflowed may choose an action that the state does not allow: -1 must not become an
    index.
    """
    pair = max(model.pairs[state, action], 0)
    low, high = model.indptr[pair], model.indptr[pair + 1]
    return draw_index(model.cumulative, low, high, uniform(tables.nature))


@inner
def counted_rate(tables: LikeTables, rules: LikeRules, state: int, action: int) -> float:
    """Count a step and a visit; the step size α that belongs to them."""
    tables.clock[STEPS] += 1
    tables.visits[state, action] += 1
    return scheduled(
        rules.learning_rate, tables.clock[STEPS], tables.clock[EPISODES], tables.visits[state, action]
    )


@inner
def recorded(
    rules: LikeRules,
    e: int,
    reward: float,
    terminated: bool,
    returns: np.ndarray,
    lengths: np.ndarray,
    cut: np.ndarray,
) -> int:
    """Add a step to the record of episode e; the episode that the next step belongs to."""
    returns[e] += reward
    lengths[e] += 1
    if terminated or lengths[e] == rules.max_steps:
        cut[e] = not terminated
        return e + 1
    return e


@inner
def paused(tables: LikeTables) -> bool:
    """Whether it is time to return to Python."""
    return tables.clock[STEPS] >= tables.clock[PAUSE]


@inner
def keep_place(tables: LikeTables, state: int, action: int) -> None:
    """Keep the state and the action that come next, for when the kernel is called again."""
    tables.clock[STATE], tables.clock[ACTION] = state, action


# Updates by hand --------------------------------------------------------------------------------------


def checked_update(who: str, table: np.ndarray, place: Any, target: float, learning_rate: float) -> float:
    """Move an entry of a table towards a target."""
    if not isinstance(table, np.ndarray) or table.dtype.kind != "f":
        raise TypeError(
            f"{who}: the table is changed, so it must be an array of floats; got {type(table).__name__}."
        )
    table[place] += learning_rate * (target - table[place])
    return float(table[place])
