"""Demonstrations of an expert: what users give, as lists of states and actions, or as numbers of a model's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tercet.core.column_parsing import is_frame
from tercet.rl.mdp import MDP, Episode

PAIRS = "a list of episodes, each a list of (state, action) pairs"


class Demonstration(NamedTuple):
    """One episode of an expert.

    Attributes
    ----------
    states, actions : list or array of length n_steps
        The state and the action of each step.
    end : state or None
        The state after the last action, where it is known.
    numbered : bool
        Whether states and actions are numbers (of an `Episode`), not names.
    """

    states: Any
    actions: Any
    end: Any
    numbered: bool


class Demonstrations(NamedTuple):
    """Episodes of an expert in a model, in arrays.

    Attributes
    ----------
    states, actions : arrays of int of shape (n_steps,)
        Number of the state and of the action of each step of all episodes, one after the other.
    lengths : array of int of shape (n_episodes,)
        Number of steps of each episode.
    ends : array of int of shape (n_episodes,)
        State after the last action; -1 where it is not known.
    """

    states: np.ndarray
    actions: np.ndarray
    lengths: np.ndarray
    ends: np.ndarray

    @property
    def times(self) -> np.ndarray:
        """The number of each step in its episode, from 0."""
        firsts = np.cumsum(self.lengths) - self.lengths
        return np.arange(self.states.size) - np.repeat(firsts, self.lengths)

    @property
    def first_states(self) -> np.ndarray:
        """The state in which each episode begins."""
        return self.states[np.cumsum(self.lengths) - self.lengths]


def read_demonstrations(given: Any) -> list[Demonstration]:
    """Demonstrations in any form that users give.

    Parameters
    ----------
    given : list of episodes, Episode, or data frame
        Episodes are lists of (state, action) pairs, of which the last may be (state, None), the state in which the
        episode ended, or `Episode`, as `MDP.simulate` gives them. A frame (or a dict of columns) has the columns
        "state" and "action", and "episode" where there are several.

    Returns
    -------
    list of Demonstration

    Examples
    --------
    >>> read_demonstrations([[("dry", "water"), ("healthy", None)]])
    [Demonstration(states=['dry'], actions=['water'], end='healthy', numbered=False)]
    """
    if isinstance(given, Episode):
        given = [given]
    if is_frame(given) or isinstance(given, Mapping):
        given = _episodes_of_frame(given)
    if not isinstance(given, list | tuple):
        raise ValueError(f"demonstrations must be {PAIRS}, or a frame; got {type(given).__name__}.")
    if not len(given):
        raise ValueError("demonstrations is empty; at least one episode is needed.")
    return [_read_episode(episode, k) for k, episode in enumerate(given)]


def _read_episode(episode: Any, k: int) -> Demonstration:
    if isinstance(episode, Episode):
        if not len(episode.actions):
            raise ValueError(f"demonstrations: episode {k} has no action.")
        states, actions = episode.states, episode.actions
        return Demonstration(states[:-1], actions, states[-1], isinstance(actions, np.ndarray))
    if not isinstance(episode, list | tuple | np.ndarray):
        raise ValueError(f"demonstrations must be {PAIRS}; episode {k} is {episode!r}.")
    for t, step in enumerate(episode):
        if not isinstance(step, list | tuple | np.ndarray) or len(step) != 2:
            hint = (
                " For a single episode, write [episode]." if k == 0 and t == 0 and len(episode) == 2 else ""
            )
            raise ValueError(f"demonstrations must be {PAIRS}; step {t} of episode {k} is {step!r}.{hint}")
    states = [_plain(step[0]) for step in episode]
    actions = [_plain(step[1]) for step in episode]
    end = states.pop() if actions and _is_missing(actions[-1]) else None
    del actions[len(states) :]
    if not actions:
        raise ValueError(f"demonstrations: episode {k} has no action.")
    missing = [t for t, action in enumerate(actions) if _is_missing(action)]
    if missing:
        raise ValueError(
            f"demonstrations: the action of step {missing[0]} of episode {k} is missing; only the last one may be, "
            "after which the episode has ended."
        )
    return Demonstration(states, actions, end, False)


def _episodes_of_frame(frame: Any) -> list[list[tuple[Any, Any]]]:
    missing = [name for name in ("state", "action") if name not in frame]
    if missing:
        raise ValueError(
            f"demonstrations must have the columns 'state' and 'action'; {missing[0]!r} is missing."
        )
    states, actions = (_items(frame[name]) for name in ("state", "action"))
    keys = _items(frame["episode"]) if "episode" in frame else [0] * len(states)
    if not len(states) == len(actions) == len(keys):
        raise ValueError("demonstrations: the columns differ in length.")
    episodes: dict[Any, list[tuple[Any, Any]]] = {}
    for key, state, action in zip(keys, states, actions):
        episodes.setdefault(key, []).append((state, action))
    return list(episodes.values())


def _items(column: Any) -> list[Any]:
    for name in ("to_list", "tolist"):
        if hasattr(column, name):
            return list(getattr(column, name)())
    return list(column)


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python, which are the names of states."""
    return value.item() if isinstance(value, np.generic) else value


def _is_missing(action: Any) -> bool:
    return action is None or (isinstance(action, float) and action != action)


def in_model(given: Any, mdp: MDP) -> Demonstrations:
    """Demonstrations in a model, checked against it.

    The state in which an episode ends, where it is not given, is that to which the last action leads with
    certainty, if there is one.
    """
    episodes = [_in_model(episode, k, mdp) for k, episode in enumerate(read_demonstrations(given))]
    states, actions = (np.concatenate([episode[part] for episode in episodes]) for part in (0, 1))
    lengths = np.array([len(episode[0]) for episode in episodes], dtype=np.int64)
    ends = np.array([episode[2] for episode in episodes], dtype=np.int64)
    return _with_ends(Demonstrations(states, actions, lengths, ends), mdp)


def _in_model(episode: Demonstration, k: int, mdp: MDP) -> tuple[np.ndarray, np.ndarray, int]:
    """Numbers of the states and actions of an episode, and of its end."""
    if episode.numbered:
        x, a = np.append(episode.states, episode.end).astype(np.int64), episode.actions.astype(np.int64)
        for numbers, n, what in ((x, mdp.n_states, "state"), (a, mdp.n_actions, "action")):
            if numbers.min() < 0 or numbers.max() >= n:
                t = int(np.argmax((numbers < 0) | (numbers >= n)))
                raise ValueError(
                    f"demonstrations: step {t} of episode {k} has the {what} {numbers[t]}; the model's are "
                    f"numbered from 0 to {n - 1}."
                )
    else:
        names = [*episode.states, *([] if episode.end is None else [episode.end])]
        x = np.array([_number(mdp.state_index, name, t, k) for t, name in enumerate(names)], dtype=np.int64)
        a = np.array(
            [_number(mdp.action_index, name, t, k) for t, name in enumerate(episode.actions)], dtype=np.int64
        )
    over = np.flatnonzero(mdp.terminal[x])
    if over.size and len(x) == len(a) == over[0] + 1:  # the last pair is in the terminal state: it is the end
        a, over = a[:-1], over[1:]
    n = len(a)
    if over.size and over[0] < n:
        raise ValueError(
            f"demonstrations: episode {k} goes on after step {over[0]}, in the terminal state "
            f"{mdp.states[x[over[0]]]!r}."
        )
    if not n:
        raise ValueError(f"demonstrations: episode {k} has no action before its terminal state.")
    forbidden = np.flatnonzero(~mdp.allowed[x[:n], a])
    if forbidden.size:
        t = forbidden[0]
        raise ValueError(
            f"demonstrations: step {t} of episode {k} takes the action {mdp.actions[a[t]]!r} in the state "
            f"{mdp.states[x[t]]!r}, which does not allow it."
        )
    return x[:n], a, int(x[n]) if len(x) > n else -1


def _number(index: Any, name: Any, t: int, k: int) -> int:
    try:
        return int(index(name))
    except ValueError as error:
        said = str(error).removeprefix("MDP: ")
        raise ValueError(f"demonstrations: step {t} of episode {k}: {said}") from None


def _with_ends(shown: Demonstrations, mdp: MDP) -> Demonstrations:
    """Add the ends that are certain, and warn of transitions that the model says are impossible."""
    P, lasts = mdp.probabilities, np.cumsum(shown.lengths) - 1
    pairs = mdp.pair_index[shown.states, shown.actions]
    only = pairs[lasts]
    single = (shown.ends < 0) & (np.diff(P.indptr)[only] == 1)
    ends = np.where(single, P.indices[np.minimum(P.indptr[only], P.nnz - 1)], shown.ends)
    after = np.append(shown.states[1:], -1)
    after[lasts] = ends
    known = np.flatnonzero(after >= 0)
    chances = np.asarray(P[pairs[known], after[known]]) if known.size else np.empty(0)
    impossible = known[chances.ravel() == 0]
    if impossible.size:
        x, a, u = (int(part[impossible[0]]) for part in (shown.states, shown.actions, after))
        warnings.warn(
            f"demonstrations: {impossible.size} of {known.size} transitions have the probability 0 in the model, "
            f"the first from state {mdp.states[x]!r} by action {mdp.actions[a]!r} to {mdp.states[u]!r}. Check the "
            "model.",
            stacklevel=2,
        )
    return shown._replace(ends=ends)
