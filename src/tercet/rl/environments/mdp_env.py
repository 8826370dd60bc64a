"""Models as environments of gymnasium."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.lazy import optional_module
from tercet.rl.environments.grid_world import GridWorld
from tercet.rl.mdp import MDP

if TYPE_CHECKING:
    import gymnasium as gym
else:
    gym = optional_module("gymnasium", "Environments need", "rl")


class MDPEnv(gym.Env):
    """Environment of gymnasium that a model in arrays defines.

    Observations and actions are the numbers of states and actions. An episode ends in a terminal state; a limit of
    its steps is set by gymnasium's `TimeLimit`. Where states do not allow all actions, `info["action_mask"]` tells
    which they have.

    Parameters
    ----------
    mdp : MDP
        The model.
    render_mode : {"ansi"}, optional
        Whether `render` gives a text: the grid of a grid world, the name of the state otherwise.

    Attributes
    ----------
    mdp : MDP
        The model.
    P : dict
        P[state][action] is a list of (probability, next state, reward, terminated), as gymnasium's toy texts
        have it.
    state : int
        The present state.

    Examples
    --------
    >>> from tercet.rl import MDP
    >>> env = MDPEnv(MDP([[[0, 1]], [[0, 1]]], [[5.0], [0.0]]))
    >>> env.reset(seed=0)
    (0, {})
    >>> env.step(0)
    (1, 5.0, True, False, {})
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, mdp: MDP, render_mode: str | None = None) -> None:
        if not isinstance(mdp, MDP):
            raise TypeError(f"MDPEnv: mdp must be an MDP; got {type(mdp).__name__}.")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"MDPEnv: render_mode must be 'ansi' or None; got {render_mode!r}.")
        self.mdp, self.render_mode = mdp, render_mode
        self.observation_space = gym.spaces.Discrete(mdp.n_states)
        self.action_space = gym.spaces.Discrete(mdp.n_actions)
        self._has_mask = not bool(mdp.allowed.all())
        self.state: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed : int, optional
            Seed of the random numbers from now on.
        options : dict, optional
            {"state": ...} begins in a state, given by its name or number; by default the model's own start.
        """
        super().reset(seed=seed)
        start = (options or {}).get("state")
        if start is not None:
            self.state = self.mdp.state_index(start)
        else:
            cumulative = self.mdp.model.start
            self.state = int(np.searchsorted(cumulative, self.np_random.random(), side="right"))
        return self.state, self._info()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action.

        Returns
        -------
        observation : int
            The next state.
        reward : float
        terminated : bool
            Whether the next state is terminal.
        truncated : bool
            False: gymnasium's `TimeLimit` limits steps.
        info : dict
        """
        if self.state is None:
            raise gym.error.ResetNeeded("MDPEnv: call reset before step.")
        if not self.action_space.contains(action):
            raise ValueError(
                f"MDPEnv: action must be an integer from 0 to {self.mdp.n_actions - 1}; got {action!r}."
            )
        model, pair = self.mdp.model, int(self.mdp.pair_index[self.state, action])
        if pair < 0:
            names = self.mdp.states[self.state], self.mdp.actions[action]
            raise ValueError(f"MDPEnv: state {names[0]!r} does not allow the action {names[1]!r}.")
        low, high = int(model.indptr[pair]), int(model.indptr[pair + 1])
        k = low + int(np.searchsorted(model.cumulative[low:high], self.np_random.random(), side="right"))
        self.state = int(model.successors[k])
        return self.state, float(model.rewards[k]), bool(model.terminal[self.state]), False, self._info()

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.mdp.allowed[self.state].astype(np.int8)} if self._has_mask else {}

    def render(self) -> str | None:
        """The present state as text."""
        if self.render_mode is None:
            gym.logger.warn('MDPEnv: render needs render_mode="ansi" when the environment is made.')
            return None
        if self.state is None:
            raise gym.error.ResetNeeded("MDPEnv: call reset before render.")
        if isinstance(self.mdp, GridWorld):
            return self.mdp.render(state=self.state) + "\n"
        return f"{self.mdp.states[self.state]}\n"

    @functools.cached_property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """Table of the transitions."""
        mdp, model = self.mdp, self.mdp.model
        table: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {
            x: {} for x in range(mdp.n_states)
        }
        columns = (mdp.probabilities.data, model.successors, model.rewards, model.terminal[model.successors])
        rows = list(zip(*(column.tolist() for column in columns)))
        ends = model.indptr.tolist()
        for pair, (x, a) in enumerate(zip(mdp.pair_states.tolist(), mdp.pair_actions.tolist())):
            table[x][a] = rows[ends[pair] : ends[pair + 1]]
        return table

    @property
    def initial_state_distrib(self) -> np.ndarray:
        """Distribution of the first state."""
        return self.mdp.start


def make_env(model: str, render_mode: str | None = None, **options: Any) -> MDPEnv:
    """An embedded model as an environment; the entry point of those that are registered.

    Parameters
    ----------
    model : str
        Name of a function of `tercet.rl` that makes a model: "grid_world", "frozen_lake" ...
    render_mode : {"ansi"}, optional
        As for `MDPEnv`.
    **options
        Parameters of the function.

    Examples
    --------
    >>> env = make_env("grid_world", "ansi", text="S.G")
    >>> env.reset(seed=0)[0], env.render()
    (0, '@.G\\n')
    """
    module = importlib.import_module(f"tercet.rl.environments.{model}")
    return MDPEnv(getattr(module, model)(**options), render_mode)
