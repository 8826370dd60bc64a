"""A finite model as kernels see it, and its simulation.

Pairs of a state and an action that it allows are numbered, those of state 0 first; the transitions of a pair lie
side by side. Masked actions therefore take no memory, and a model with 20 successors of each pair stays 20 wide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Model(NamedTuple):
    """A finite Markov decision process in arrays, all read-only.

    Attributes
    ----------
    pairs : array of shape (n_states, n_actions), int64
        Number of the pair of a state and an action; -1 where the state does not allow the action.
    indptr : array of shape (n_pairs + 1,), int64
        The transitions of pair p are those from indptr[p] to indptr[p + 1].
    successors : array of shape (n_transitions,), int32
        The state that a transition leads to.
    cumulative : array of shape (n_transitions,), float64
        Probability of a transition or an earlier one of the same pair; exactly 1 in the last one.
    rewards : array of shape (n_transitions,), float64
        Reward of a transition.
    terminal : array of shape (n_states,), bool
        States in which an episode ends.
    start : array of shape (n_states,), float64
        Cumulative distribution of the first state.
    """

    pairs: np.ndarray
    indptr: np.ndarray
    successors: np.ndarray
    cumulative: np.ndarray
    rewards: np.ndarray
    terminal: np.ndarray
    start: np.ndarray


def new_draws(rng: np.random.Generator) -> np.ndarray:
    """The state of a stream of random numbers for kernels, shape (1,): SplitMix64 from a drawn seed."""
    return rng.integers(0, 2**64, size=1, dtype=np.uint64)


@inner
def uniform(draws: np.ndarray) -> float:
    """The next number of the stream in [0, 1). Overflow of the integers is wanted."""
    x = draws[0] + np.uint64(GOLDEN)
    draws[0] = x
    x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(SECOND)
    return np.float64((x ^ (x >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


@inner
def draw_index(cumulative: np.ndarray, low: int, high: int, u: float) -> int:
    """The first place from `low` to `high` - 1 whose cumulative probability is above u."""
    if high - low <= 8:
        while low < high - 1 and cumulative[low] <= u:
            low += 1
        return low
    last = high - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return min(low, last)


@inner
def first_state(model: Model, draws: np.ndarray) -> int:
    """The state in which an episode begins."""
    return draw_index(model.start, 0, model.start.size, uniform(draws))


@inner
def transition(model: Model, state: int, action: int, draws: np.ndarray) -> int:
    """The number of the transition that an action leads to: see `model.rewards` and `model.successors`."""
    pair = model.pairs[state, action]
    return draw_index(model.cumulative, model.indptr[pair], model.indptr[pair + 1], uniform(draws))
