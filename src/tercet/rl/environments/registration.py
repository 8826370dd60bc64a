"""The embedded environments in gymnasium's registry."""

from __future__ import annotations

from typing import Any

from tercet.core.lazy import optional_module

MAZE = ["S..#....", ".#.#.##.", ".#...#..", ".####.#.", "......#G"]
# Name, the function that makes the model, its parameters, and after how many steps an episode is cut off.
MODELS: list[tuple[str, str, dict[str, Any], int | None]] = [
    ("GridWorld", "grid_world", {"text": MAZE, "step_reward": -1.0, "rewards": {"G": 0.0}}, 200),
    ("Watermelon", "watermelon_watering", {}, 100),
    ("CliffWalking", "cliff_walking", {}, None),
    ("FrozenLake", "frozen_lake", {}, 100),
    ("Blackjack", "blackjack", {}, None),
    ("RandomMDP", "random_mdp", {"n_states": 100, "n_actions": 4, "n_successors": 5, "random_state": 0}, 100),
]


def register_environments() -> list[str]:
    """Register the embedded environments with gymnasium; those that are registered already stay.

    `import tercet.rl.environments` does it where gymnasium is installed, so that

        gymnasium.make("tercet.rl.environments:tercet/FrozenLake-v0", is_slippery=False)

    needs no more. Keywords are the parameters of the functions `grid_world`, `watermelon_watering`,
    `cliff_walking`, `frozen_lake`, `blackjack` and `random_mdp`, and of `MountainCar`.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> register_environments()[:2]
    ['tercet/GridWorld-v0', 'tercet/Watermelon-v0']
    >>> import gymnasium
    >>> gymnasium.make("tercet/GridWorld-v0", text="S..G").observation_space
    Discrete(4)
    """
    gym = optional_module("gymnasium", "Environments need", "rl")
    pages = "tercet.rl.environments"
    specs = [
        (name, f"{pages}.mdp_env:make_env", {"model": model, **options}, limit)
        for name, model, options, limit in MODELS
    ]
    specs.append(("MountainCar", f"{pages}.mountain_car:MountainCar", {}, 200))
    ids = []
    for name, place, options, limit in specs:
        ids.append(f"tercet/{name}-v0")
        if ids[-1] not in gym.registry:
            gym.register(ids[-1], entry_point=place, kwargs=options, max_episode_steps=limit)
    return ids
