"""Frozen lake (冰湖)."""

from __future__ import annotations

from collections.abc import Sequence

from tercet.core.catalog import method
from tercet.rl.environments.grid_world import GridWorld, grid_world

MAPS = {
    "4x4": ["SFFF", "FHFH", "FFFH", "HFFG"],
    "8x8": ["SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF", "FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG"],
}


@method(
    zh="冰湖",
    task="reinforcement learning",
    model="grid of ice and holes; on slippery ice a move goes sideways with probability 2/3",
    strategy="1 for reaching the goal, 0 otherwise",
    peers=["gymnasium FrozenLake-v1"],
)
def frozen_lake(
    map_name: str | Sequence[str] = "4x4", *, is_slippery: bool = True, success_rate: float = 1.0 / 3.0
) -> GridWorld:
    """Frozen lake: cross slippery ice without falling into a hole.

    The same model as gymnasium's FrozenLake-v1. The best policy reaches the goal of the slippery 4 x 4 lake with
    probability 14/17, and always where the ice is not slippery.

    Parameters
    ----------
    map_name : {"4x4", "8x8"}, or list of str, default="4x4"
        The map: `S` start, `F` ice, `H` hole, `G` goal (and `#` wall).
    is_slippery : bool, default=True
        Whether moves may go sideways.
    success_rate : float, default=1/3
        Probability that a move on slippery ice goes where it should.

    Returns
    -------
    GridWorld
        States are numbered row by row; actions "left", "down", "right", "up".

    Examples
    --------
    >>> frozen_lake()
    GridWorld(4 x 4 cells, 16 states, 4 actions)
    >>> frozen_lake(["SFG"], is_slippery=False).step(1, "right")
    Step(state=2, reward=1.0, terminated=True)
    """
    if isinstance(map_name, str) and map_name not in MAPS:
        raise ValueError(
            f"frozen_lake: map_name must be one of {', '.join(map(repr, MAPS))}, or a list of rows; got "
            f"{map_name!r}."
        )
    if not 0 <= success_rate <= 1:
        raise ValueError(f"frozen_lake: success_rate must be from 0 to 1; got {success_rate!r}.")
    text = MAPS[map_name] if isinstance(map_name, str) else map_name
    slip = 1.0 - success_rate if is_slippery else 0.0
    has_hole = any("H" in row for row in text)
    rewards = {"H": 0.0} if has_hole else {}
    return grid_world(text, rewards=rewards, slip=slip, actions=("left", "down", "right", "up"))
