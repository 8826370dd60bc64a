"""The mountain car (小车上山): a task with continuous states."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.lazy import optional_module

if TYPE_CHECKING:
    import gymnasium as gym
else:
    gym = optional_module("gymnasium", "Environments need", "rl")

LOWEST, HIGHEST, GOAL = -1.2, 0.6, 0.5
FASTEST, FORCE, GRAVITY = 0.07, 0.001, 0.0025


class MountainCar(gym.Env):
    """Mountain car: a car too weak to climb a hill must first drive backwards to gain speed.

    The velocity changes by 0.001 (a - 1) - 0.0025 cos(3 x) at each step, the position x by the velocity; both are
    clipped, and the car stops at the left end. Each step costs 1, until the car is at 0.5 or further right.
    The same as gymnasium's MountainCar-v0.

    Parameters
    ----------
    goal_velocity : float, default=0.0
        The least velocity with which the goal must be reached.
    render_mode : {"ansi"}, optional
        Whether `render` gives a text.

    Attributes
    ----------
    state : array of shape (2,)
        Position, from -1.2 to 0.6, and velocity, from -0.07 to 0.07.

    Examples
    --------
    >>> env = MountainCar()
    >>> env.reset(seed=0)[0].round(3)
    array([-0.473,  0.   ], dtype=float32)
    >>> observation, reward, terminated, truncated, _ = env.step(2)
    >>> observation.round(4), reward, terminated, truncated
    (array([-0.472 ,  0.0006], dtype=float32), -1.0, False, False)
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 30}

    def __init__(self, goal_velocity: float = 0.0, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"MountainCar: render_mode must be 'ansi' or None; got {render_mode!r}.")
        self.goal_velocity, self.render_mode = goal_velocity, render_mode
        low, high = (np.array(ends, dtype=np.float32) for ends in ((LOWEST, -FASTEST), (HIGHEST, FASTEST)))
        self.observation_space = gym.spaces.Box(low, high, dtype=np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.state: np.ndarray | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode at rest, between `options["low"]` (-0.6) and `options["high"]` (-0.4)."""
        super().reset(seed=seed)
        ends = {"low": -0.6, "high": -0.4, **(options or {})}
        if not LOWEST <= ends["low"] <= ends["high"] <= HIGHEST:
            raise ValueError(
                f"MountainCar: options must have low <= high, both from {LOWEST} to {HIGHEST}; got {ends['low']} "
                f"and {ends['high']}."
            )
        self.state = np.array([self.np_random.uniform(ends["low"], ends["high"]), 0.0])
        return self.state.astype(np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Push to the left (0), not at all (1) or to the right (2)."""
        if self.state is None:
            raise gym.error.ResetNeeded("MountainCar: call reset before step.")
        if not self.action_space.contains(action):
            raise ValueError(f"MountainCar: action must be 0, 1 or 2; got {action!r}.")
        position, velocity = self.state.tolist()
        velocity += (int(action) - 1) * FORCE - GRAVITY * math.cos(3 * position)
        velocity = min(max(velocity, -FASTEST), FASTEST)
        position = min(max(position + velocity, LOWEST), HIGHEST)
        if position == LOWEST and velocity < 0:
            velocity = 0.0
        self.state = np.array([position, velocity])
        terminated = position >= GOAL and velocity >= self.goal_velocity
        return self.state.astype(np.float32), -1.0, terminated, False, {}

    def render(self) -> str | None:
        """The car (o) between the left end and the goal (|) as a line of text."""
        if self.render_mode is None:
            gym.logger.warn('MountainCar: render needs render_mode="ansi" when the environment is made.')
            return None
        if self.state is None:
            raise gym.error.ResetNeeded("MountainCar: call reset before render.")
        line = ["."] * 37  # one letter for 0.05
        line[round((GOAL - LOWEST) / 0.05)] = "|"
        line[round((self.state[0] - LOWEST) / 0.05)] = "o"
        return "".join(line) + "\n"
