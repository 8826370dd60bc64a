"""Grid worlds, drawn as text (网格世界)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.rl.mdp import MDP

MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1), "stay": (0, 0)}
ARROWS = {"up": "↑", "right": "→", "down": "↓", "left": "←", "stay": "•"}
REWARDS = {"G": 1.0, "H": -1.0, "C": -100.0}  # of entering a cell, where nothing else is said
WALL, START, CLIFF = "#", "S", "C"


class GridWorld(MDP):
    """A model whose states are the cells of a grid; `grid_world` makes it.

    Attributes
    ----------
    grid : array of str of shape (n_rows, n_columns)
        The letters of the cells.
    positions : array of int of shape (n_states, 2)
        Row and column of each state.

    Examples
    --------
    >>> world = grid_world("S.G")
    >>> print(world.render(state=1))
    S@G
    >>> world.state_index((0, 2)), world.as_grid([0.5, 1.0, 0.0])
    (2, array([[0.5, 1. , 0. ]]))
    """

    grid: np.ndarray
    positions: np.ndarray

    def __repr__(self) -> str:
        n, m = self.grid.shape
        return f"GridWorld({n} x {m} cells, {self.n_states} states, {self.n_actions} actions)"

    def state_index(self, state: Hashable) -> int:
        """The number of a state, which may be given as (row, column)."""
        if not isinstance(state, tuple) or len(state) != 2:
            return super().state_index(state)
        found = np.flatnonzero((self.positions == state).all(axis=1))
        if not found.size:
            n, m = self.grid.shape
            raise ValueError(
                f"MDP: there is no state at {state!r}; states are the cells from (0, 0) to ({n - 1}, {m - 1}) that "
                "are not walls."
            )
        return int(found[0])

    def as_grid(self, values: Any, fill: float = np.nan) -> np.ndarray:
        """Values of the states as an array of shape (n_rows, n_columns), with `fill` in walls."""
        values = np.asarray(values)
        if values.shape != (self.n_states,):
            raise ValueError(
                f"values must have the shape ({self.n_states},), one for each state; got {values.shape}."
            )
        found = np.full(self.grid.shape, fill, dtype=np.result_type(values, np.asarray(fill)))
        found[tuple(self.positions.T)] = values
        return found

    def render(self, state: Hashable | None = None, policy: Any = None) -> str:
        """The grid as text.

        Parameters
        ----------
        state : state, optional
            Where the agent is; it is drawn as @.
        policy : array of shape (n_states,) or (n_states, n_actions), optional
            Actions or their probabilities, drawn as arrows (of the most probable action) in cells that are not
            terminal.

        Returns
        -------
        str

        Examples
        --------
        >>> world = grid_world(["S.#", "..G"])
        >>> print(world.render(policy=[2, 2, 1, 1, 0]))
        ↓↓#
        →→G
        """
        letters = self.grid.copy()
        if policy is not None:
            from tercet.rl.policies import action_probabilities

            chosen = action_probabilities(policy, self).argmax(axis=1)
            for (row, column), action, ends in zip(self.positions, chosen, self.terminal):
                if not ends and letters[row, column] != CLIFF:
                    letters[row, column] = ARROWS[self.actions[action]]
        if state is not None:
            letters[tuple(self.positions[self.state_index(state)])] = "@"
        return "\n".join("".join(row) for row in letters)


@method(
    zh="网格世界",
    task="reinforcement learning",
    model="states are the cells of a grid; an action moves to the next cell, or slips sideways",
    strategy="the reward of each cell that is entered",
    peers=["gymnasium FrozenLake-v1, CliffWalking-v1", "minigrid"],
)
def grid_world(
    text: str | Sequence[str],
    *,
    step_reward: float = 0.0,
    rewards: Mapping[Any, float] | None = None,
    slip: float = 0.0,
    terminal: str = "GH",
    actions: Sequence[str] = ("up", "right", "down", "left"),
) -> GridWorld:
    """Grid world drawn as text: an agent moves from cell to cell, and gets the reward of each cell that it enters.

    A move into a wall or out of the grid leaves the agent where it is, which counts as entering the cell again.

    Parameters
    ----------
    text : str, or list of str
        The rows of the grid: `#` is a wall, `S` a start (of several a random one), `G` a goal, `H` a hole, both
        terminal, and `C` a cliff, from which the agent is put back to a start. All other letters are free cells;
        spaces are ignored.
    step_reward : float, default=0.0
        Reward of entering a cell that has no other.
    rewards : dict, optional
        Rewards of entering cells, by letter or by (row, column), which wins. By default 1 for `G`, -1 for `H`
        and -100 for `C`; those that are not given keep these values.
    slip : float, default=0.0
        Probability of moving at a right angle to the action instead, to either side alike.
    terminal : str, default="GH"
        Letters of the cells in which an episode ends.
    actions : sequence of {"up", "right", "down", "left", "stay"}, default=("up", "right", "down", "left")
        Names of the actions, in their order.

    Returns
    -------
    GridWorld
        States are the cells that are not walls, numbered from 0 row by row.

    Examples
    --------
    >>> # The world of Russell and Norvig's textbook
    >>> world = grid_world(
    ...     ["...G", ".#.H", "S..."],
    ...     step_reward=-0.04,
    ...     slip=0.2,
    ... )
    >>> world
    GridWorld(3 x 4 cells, 11 states, 4 actions)
    >>> world.state_index((2, 0)), world.step((1, 0), "up", random_state=0)
    (7, Step(state=0, reward=-0.04, terminated=False))
    """
    grid = _letters(text)
    if not 0 <= slip <= 1:
        raise ValueError(f"grid_world: slip must be from 0 to 1; got {slip!r}.")
    unknown = [name for name in actions if name not in MOVES]
    if unknown or not len(actions) or len(set(actions)) != len(actions):
        raise ValueError(
            f"grid_world: actions must be different names among {', '.join(map(repr, MOVES))}; got {actions!r}."
        )
    positions = np.argwhere(grid != WALL)
    starts = np.flatnonzero(grid[tuple(positions.T)] == START)
    if not starts.size and (grid == CLIFF).any():
        raise ValueError("grid_world: a cliff, 'C', puts the agent back to a start, 'S'; the text has none.")
    first = np.bincount(starts, minlength=len(positions)) / starts.size if starts.size else None
    gains = _entry_rewards(grid, float(step_reward), rewards or {})
    ends = np.isin(grid, list(terminal))[tuple(positions.T)]
    outcomes = _outcomes(grid, positions, gains, starts, actions, slip)
    P, R = transition_matrices(outcomes, len(positions), len(actions))
    world = GridWorld(P, R, terminal=ends, start=first, actions=list(actions))
    world.grid, world.positions = grid, positions
    return world


def _letters(text: str | Sequence[str]) -> np.ndarray:
    """The letters of the cells, shape (n_rows, n_columns)."""
    lines = text.splitlines() if isinstance(text, str) else list(text)
    rows = ["".join(line.split()) for line in lines]
    rows = [row for row in rows if row]
    if not rows or len({len(row) for row in rows}) > 1:
        lengths = ", ".join(str(len(row)) for row in rows[:10])
        raise ValueError(
            f"grid_world: text must have rows of equal length; got rows of {lengths or 'no'} letters."
        )
    grid = np.array([list(row) for row in rows])
    if (grid == WALL).all():
        raise ValueError("grid_world: text has nothing but walls, '#'.")
    return grid


def _entry_rewards(grid: np.ndarray, step_reward: float, rewards: Mapping[Any, float]) -> np.ndarray:
    """Reward of entering each cell, shape (n_rows, n_columns)."""
    gains = np.full(grid.shape, step_reward)
    by_letter = {key: value for key, value in rewards.items() if isinstance(key, str)}
    for letter, value in {**REWARDS, **by_letter}.items():
        gains[grid == letter] = value
        if letter in by_letter and not (grid == letter).any():
            raise ValueError(f"grid_world: rewards has {letter!r}; the text has no such cell.")
    for key in rewards.keys() - by_letter.keys():
        inside = isinstance(key, tuple) and len(key) == 2 and all(0 <= k < n for k, n in zip(key, grid.shape))
        if not inside or grid[key] == WALL:
            raise ValueError(
                f"grid_world: rewards has {key!r}; expected letters, or (row, column) of cells that are not walls."
            )
        gains[key] = rewards[key]
    return gains


def _outcomes(
    grid: np.ndarray,
    positions: np.ndarray,
    gains: np.ndarray,
    starts: np.ndarray,
    actions: Sequence[str],
    slip: float,
) -> list[np.ndarray]:
    """Columns (state, action, next state, probability, reward), for each direction that an action may take."""
    found: list[tuple[np.ndarray, ...]] = []
    numbers = np.full(grid.shape, -1)
    numbers[tuple(positions.T)] = here = np.arange(len(positions))
    for a, name in enumerate(actions):
        dr, dc = MOVES[name]
        for step, p in (((dr, dc), 1.0 - slip), ((dc, dr), slip / 2), ((-dc, -dr), slip / 2)):
            target = positions + step
            inside: Any = np.logical_and(target >= 0, target < grid.shape).all(axis=1)
            target = np.where(inside[:, None], target, positions)
            target = np.where((grid[tuple(target.T)] == WALL)[:, None], positions, target)
            cell = tuple(target.T)
            falls = grid[cell] == CLIFF
            found.append(_column(a, here[~falls], numbers[cell][~falls], p, gains[cell][~falls]))
            for start in starts if falls.any() else ():
                found.append(_column(a, here[falls], start, p / starts.size, gains[cell][falls]))
    return [np.concatenate(part) for part in zip(*found)]


def _column(a: int, x: np.ndarray, u: Any, p: float, r: np.ndarray) -> tuple[np.ndarray, ...]:
    """The outcomes of an action in the states x."""
    return x, np.full(x.size, a), np.broadcast_to(u, x.shape), np.full(x.size, p), r


def transition_matrices(
    outcomes: Sequence[np.ndarray], n_states: int, n_actions: int
) -> tuple[list[Any], list[Any]]:
    """Probabilities and rewards for `MDP`, from columns (state, action, next state, probability, reward).

    Outcomes with the same next state are one transition, with the mean of their rewards.
    """
    probabilities, rewards = [], []
    for action in range(n_actions):
        x, _, u, p, r = (column[(outcomes[1] == action) & (outcomes[3] > 0)] for column in outcomes)
        P = sparse.csr_array((p, (x, u)), shape=(n_states, n_states))
        gains = sparse.csr_array((p * r, (x, u)), shape=(n_states, n_states))
        probabilities.append(P)
        rewards.append(sparse.csr_array((gains.data / P.data, P.indices, P.indptr), shape=P.shape))
    return probabilities, rewards
