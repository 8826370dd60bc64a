"""Random Markov decision processes (随机马尔可夫决策过程)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import inner, kernel
from tercet.rl._engine.model import new_draws, uniform
from tercet.rl.mdp import MDP

FEW = 8  # up to a share of 1/FEW of all states, drawing until they differ is faster than walking through all


@method(
    zh="随机马尔可夫决策过程",
    task="reinforcement learning",
    model="Garnet(n_states, n_actions, n_successors): random successors, probabilities and rewards",
    strategy="rewards of pairs of a state and an action are standard normal",
    peers=["mdptoolbox.example.rand", "quantecon.markov.random_discrete_dp"],
)
def random_mdp(
    n_states: int, n_actions: int, n_successors: int | None = None, *, random_state: Any = None
) -> MDP:
    """Random model of the Garnet family, to try methods on models of any size.

    Each pair of a state and an action leads to `n_successors` different random states. Their probabilities are the
    lengths of the pieces of an interval that is cut at random, and the rewards of pairs are standard normal.
    There is no terminal state.

    Parameters
    ----------
    n_states, n_actions : int
        Number of states and of actions.
    n_successors : int, optional
        Number of states that an action may lead to; by default all.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random number generator.

    Returns
    -------
    MDP

    References
    ----------
    T. W. Archibald, K. I. M. McKinnon and L. C. Thomas, On the generation of Markov decision processes (1995).

    Examples
    --------
    >>> mdp = random_mdp(1000, 4, 5, random_state=0)
    >>> mdp, mdp.probabilities.nnz
    (MDP(1000 states, 4 actions, 0 terminal), 20000)
    """
    sizes = {"n_states": n_states, "n_actions": n_actions, "n_successors": n_successors}
    for name, value in sizes.items():
        if not isinstance(value, int | np.integer) and not (value is None and name == "n_successors"):
            raise ValueError(f"random_mdp: {name} must be an integer; got {value!r}.")
    k = n_states if n_successors is None else n_successors
    if n_states < 1 or n_actions < 1 or not 1 <= k <= n_states:
        raise ValueError(
            "random_mdp: n_states and n_actions must be at least 1, and n_successors from 1 to n_states; got "
            f"{n_states}, {n_actions} and {k}."
        )
    rng = generator(random_state)
    n_pairs = n_states * n_actions
    successors = np.empty((n_pairs, k), dtype=np.int32 if n_pairs * k < 2**31 else np.int64)
    chances = np.empty((n_pairs, k))
    with np.errstate(over="ignore"):
        draw_transitions(n_states, successors, chances, new_draws(rng))
    indptr = np.arange(0, n_pairs * k + 1, k, dtype=successors.dtype)
    P = sparse.csr_array((chances.ravel(), successors.ravel(), indptr), shape=(n_pairs, n_states))
    x, a = np.repeat(np.arange(n_states), n_actions), np.tile(np.arange(n_actions), n_states)
    return MDP.from_pairs(x, a, P, rng.standard_normal(n_pairs), terminal=[])


@kernel
def draw_transitions(n_states: int, successors: np.ndarray, chances: np.ndarray, draws: np.ndarray) -> None:
    """Different random successors (n_pairs, k) of each pair, in order, and their random probabilities."""
    n_pairs, k = successors.shape
    for pair in range(n_pairs):
        row, p = successors[pair], chances[pair]
        if k * FEW > n_states:  # each state in turn, with the probability that it is among those still wanted
            found, state = 0, 0
            while found < k:
                if uniform(draws) * (n_states - state) < k - found:
                    row[found] = state
                    found += 1
                state += 1
        else:
            for j in range(k):
                insert_new_state(n_states, row, j, draws)
        total = 0.0
        for j in range(k):  # gaps between uniform cuts are distributed as exponentials divided by their sum
            p[j] = -np.log(1.0 - uniform(draws)) + 1e-300
            total += p[j]
        for j in range(k):
            p[j] /= total


@inner
def insert_new_state(n_states: int, row: np.ndarray, count: int, draws: np.ndarray) -> None:
    """Insert a random state that is not among the first `count` of a row, which are in order."""
    while True:
        state = int(uniform(draws) * n_states)
        place = count
        while place > 0 and row[place - 1] > state:
            place -= 1
        if place == 0 or row[place - 1] != state:
            break
    for j in range(count, place, -1):
        row[j] = row[j - 1]
    row[place] = state
