"""Policies: deterministic, stochastic, greedy, ε-greedy and softmax (策略)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.functions import softmax

if TYPE_CHECKING:
    from tercet.rl.mdp import MDP

SLACK = 1e-6  # how far probabilities may be from a sum of one


def action_probabilities(policy: Any, mdp: MDP) -> np.ndarray:
    """A policy as probabilities of the actions in each state.

    What a policy does in terminal states does not matter; where it takes an action that is not allowed there, or
    none, all allowed ones get the same probability.

    Parameters
    ----------
    policy : array of shape (n_states,) or (n_states, n_actions), dict, or None
        The number or the name of an action for each state, or probabilities of the actions; a dict from names of
        states to actions; None for the policy that takes each allowed action with the same probability.
    mdp : MDP
        The model, whose states allow the actions.

    Returns
    -------
    array of shape (n_states, n_actions)

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> mdp = MDP([[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [0.0, 1.0], actions=["left", "right"])
    >>> action_probabilities([1, 0], mdp)
    array([[0., 1.],
           [1., 0.]])
    >>> action_probabilities({0: "right", 1: "right"}, mdp)
    array([[0., 1.],
           [0., 1.]])
    """
    shape, uniform = (mdp.n_states, mdp.n_actions), mdp.allowed / mdp.allowed.sum(axis=1, keepdims=True)
    if policy is None:
        return uniform
    given = _actions_of_states(policy, mdp) if isinstance(policy, Mapping) else np.asarray(policy)
    if given.shape == shape[:1]:
        chances = _one_hot(given, mdp)
    elif given.shape == shape:
        chances = given.astype(np.float64)
    else:
        raise ValueError(
            f"policy must have the shape {shape[:1]}, an action for each state, or {shape}, probabilities of the "
            f"actions; got {given.shape}."
        )
    sums = chances.sum(axis=1)
    wrong = ~(chances >= 0).all(axis=1) | ~(np.abs(sums - 1.0) <= SLACK)
    forbidden = (chances > 0) & ~mdp.allowed
    # an environment that stands in for a model does not tell where it ends
    ends = getattr(mdp, "terminal", np.zeros(shape[0], dtype=bool)) & (wrong | forbidden.any(axis=1))
    chances[ends], sums[ends], wrong[ends], forbidden[ends] = uniform[ends], 1.0, False, False
    if wrong.any():
        x = int(np.argmax(wrong))
        raise ValueError(
            f"policy must hold probabilities that sum to 1; in state {mdp.states[x]!r} it holds "
            f"{chances[x].tolist()}."
        )
    if forbidden.any():
        x, a = np.argwhere(forbidden)[0]
        raise ValueError(
            f"policy takes action {mdp.actions[a]!r} in state {mdp.states[x]!r}, which does not allow it."
        )
    found: np.ndarray = chances / sums[:, None]
    return found


def _actions_of_states(policy: Mapping[Any, Any], mdp: MDP) -> np.ndarray:
    """The numbers of the actions of a dict; terminal states may be left out."""
    found = np.where(mdp.terminal, 0, -1)
    for state, action in policy.items():
        found[mdp.state_index(state)] = mdp.action_index(action)
    if (found < 0).any():
        raise ValueError(f"policy has no action for state {mdp.states[int(np.argmax(found < 0))]!r}.")
    return found


def _one_hot(policy: np.ndarray, mdp: MDP) -> np.ndarray:
    if policy.dtype.kind in "OU":
        policy = np.array([mdp.action_index(action) for action in policy.tolist()])
    if policy.dtype.kind not in "iu":
        raise ValueError(f"policy must hold numbers of actions, whole numbers; got {policy.dtype}.")
    wrong = (policy < 0) | (policy >= mdp.n_actions)
    if wrong.any():
        x = int(np.argmax(wrong))
        raise ValueError(
            f"policy has the action {policy[x]} in state {mdp.states[x]!r}; actions are numbered from 0 to "
            f"{mdp.n_actions - 1}."
        )
    chances = np.zeros((mdp.n_states, mdp.n_actions))
    chances[np.arange(mdp.n_states), policy] = 1.0
    return chances


@method(
    zh="贪心策略",
    task="reinforcement learning",
    model="π(x) = argmax_a Q(x, a)",
    strategy="the action of the highest value; of equal ones the first",
    texts=["watermelon notes ch. 14, eq. 14.12"],
)
def greedy_policy(Q: Any) -> np.ndarray:
    """Greedy policy: in each state the action of the highest value, the first of equal ones.

    Parameters
    ----------
    Q : array of shape (n_states, n_actions)
        Values of actions; -inf or NaN for actions that a state does not allow.

    Returns
    -------
    array of int of shape (n_states,)

    Examples
    --------
    >>> greedy_policy([[1.0, 2.0], [3.0, 3.0]])
    array([1, 0])
    """
    values = _values(Q)
    _allowed_actions(values)
    found: np.ndarray = np.argmax(values, axis=1)
    return found


@method(
    zh="ε-贪心策略",
    task="reinforcement learning",
    model="π^ε(x, a) = 1 - ε + ε/|A| for the greedy action, ε/|A| for others",
    strategy="explore with probability ε, exploit otherwise",
    texts=["watermelon notes ch. 14, Alg 8, 9"],
)
def epsilon_greedy_policy(values: Any, epsilon: float, *, allowed: Any = None) -> np.ndarray:
    """ε-greedy policy π^ε: a random action with probability ε, otherwise the greedy one.

    Parameters
    ----------
    values : array of shape (n_states, n_actions), or of int of shape (n_states,)
        Values of actions (-inf or NaN where an action is not allowed), or the policy π to randomise.
    epsilon : float
        Probability ε of a random action, from 0 to 1.
    allowed : array of bool of shape (n_states, n_actions)
        Which actions there are; needed where a policy is given in place of values.

    Returns
    -------
    array of shape (n_states, n_actions)

    Examples
    --------
    >>> epsilon_greedy_policy([[0.4, 0.2]], 0.2)
    array([[0.9, 0.1]])
    """
    if not _is_number(epsilon) or not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon must be a number from 0 to 1; got {epsilon!r}.")
    given = np.asarray(values)
    if given.ndim == 1 and allowed is None:
        raise ValueError(
            "epsilon_greedy_policy: a policy needs `allowed`, which says what actions there are."
        )
    mask = None if allowed is None else np.asarray(allowed, dtype=bool)
    if mask is not None and mask.shape[: given.ndim] != given.shape:
        raise ValueError(
            f"epsilon_greedy_policy: allowed must have the shape (states, actions) of {given.shape[0]} states; got "
            f"{mask.shape}."
        )
    if mask is not None and given.ndim == 1:
        greedy = given
        inside = given.dtype.kind in "iu" and (given >= 0).all() and (given < mask.shape[1]).all()
        if not inside or not mask[np.arange(len(given)), given].all():
            raise ValueError("epsilon_greedy_policy: the policy must hold numbers of allowed actions.")
    else:
        Q = _values(values) if mask is None else np.where(mask, _values(values), -np.inf)
        mask = _allowed_actions(Q)
        greedy = np.argmax(Q, axis=1)
    chances: np.ndarray = epsilon * mask / mask.sum(axis=1, keepdims=True)
    chances[np.arange(len(chances)), greedy] += 1.0 - epsilon
    return chances


@method(
    zh="softmax 策略",
    task="reinforcement learning",
    model="π(x, a) = exp(Q(x, a)/τ) / Σ_b exp(Q(x, b)/τ)",
    strategy="better actions are more likely; τ → 0 exploits, τ → ∞ explores",
    texts=["watermelon notes ch. 14, eq. 14.2"],
)
def softmax_policy(Q: Any, temperature: float = 1.0) -> np.ndarray:
    """Softmax (Boltzmann) policy: probabilities proportional to exp(Q/τ).

    Parameters
    ----------
    Q : array of shape (..., n_actions)
        Values of actions; -inf or NaN for actions that a state does not allow.
    temperature : float, default=1.0
        The temperature τ, above 0.

    Returns
    -------
    array of the shape of Q

    Examples
    --------
    >>> softmax_policy([0.4, 0.2], 0.1).round(8)
    array([0.88079708, 0.11920292])
    """
    if not _is_number(temperature) or not temperature > 0:
        raise ValueError(f"temperature must be a number above 0; got {temperature!r}.")
    Q = np.asarray(Q, dtype=np.float64)
    allowed = _allowed_actions(np.where(np.isnan(Q), -np.inf, Q))
    best = np.where(allowed, Q, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):  # of a tiny temperature: worse actions get the probability 0
        scores = np.where(allowed, Q - best, -np.inf) / temperature if temperature < np.inf else 0.0 * allowed
    return softmax(np.where(allowed, scores, -np.inf))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _values(Q: Any) -> np.ndarray:
    Q = np.asarray(Q, dtype=np.float64)
    if Q.ndim != 2:
        raise ValueError(f"Q must have the shape (states, actions); got {Q.shape}.")
    return np.where(np.isnan(Q), -np.inf, Q)


def _allowed_actions(Q: np.ndarray) -> np.ndarray:
    """Which actions have a value; an error for a state in which none has, or one is inf."""
    allowed: np.ndarray = np.greater(Q, -np.inf)
    wrong = ~allowed.any(axis=-1) | np.isposinf(Q).any(axis=-1)
    if wrong.any():
        x = np.flatnonzero(np.atleast_1d(wrong))[0]
        raise ValueError(f"Q must hold a finite value of an action for each state; row {x} does not.")
    return allowed
