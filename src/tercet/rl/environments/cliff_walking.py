"""Cliff walking (悬崖行走)."""

from __future__ import annotations

from tercet.core.catalog import method
from tercet.rl.environments.grid_world import GridWorld, grid_world

TEXT = ["............", "............", "............", "SCCCCCCCCCCG"]


@method(
    zh="悬崖行走",
    task="reinforcement learning",
    model="grid of 4 x 12 cells; the shortest way leads along a cliff",
    strategy="-1 for each step, -100 for a fall, after which the agent is back at the start",
    peers=["gymnasium CliffWalking-v1"],
)
def cliff_walking(*, is_slippery: bool = False) -> GridWorld:
    """Cliff walking: the way along the cliff is short, but exploring there is dear.

    Q-learning finds the shortest way (return -13), Sarsa, which counts its own exploration, a safer one. The same
    model as gymnasium's CliffWalking-v1, where cliff cells have numbers, too, and nothing leads there.

    Parameters
    ----------
    is_slippery : bool, default=False
        Whether a move goes in the direction of the action with probability 1/3 only, otherwise sideways.

    Returns
    -------
    GridWorld
        48 states, numbered row by row; actions "up", "right", "down", "left".

    Examples
    --------
    >>> world = cliff_walking()
    >>> world
    GridWorld(4 x 12 cells, 48 states, 4 actions)
    >>> world.step(36, "right")
    Step(state=36, reward=-100.0, terminated=False)
    """
    slip = 1.0 - 1.0 / 3.0 if is_slippery else 0.0
    return grid_world(TEXT, step_reward=-1.0, rewards={"G": -1.0}, slip=slip)
