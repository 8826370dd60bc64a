"""Grids for pictures of agents: where states are, cells and their marks, and policies as arrows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.core.lazy import optional_module
from tercet.plot.styling import ACCENT, INK, WIDTH, get_axes, short_name

FREE, WALL, START, GOAL, HOLE, CLIFF = "", "#", "S", "G", "H", "C"
GREY = "#8c8c8c"  # of walls, on light pages and dark ones
ROOM = 0.42  # inches of a cell from which its number is written
LEAST = 0.09  # inches of a cell from which its arrow is drawn
EMPTY = 10  # times as many cells as states: names that are two numbers are no places on a grid
MOVES = {  # names of actions, and the rows and columns that they move by
    (-1, 0): ("up", "north", "u", "n", "↑", "上", "北", "向上"),
    (0, 1): ("right", "east", "r", "e", "→", "右", "东", "向右"),
    (1, 0): ("down", "south", "d", "s", "↓", "下", "南", "向下"),
    (0, -1): ("left", "west", "l", "w", "←", "左", "西", "向左"),
    (0, 0): ("stay", "noop", "none", "•", "停", "不动", "停留"),
}
MOVE_OF = {name: move for move, names in MOVES.items() for name in names}


class Grid(NamedTuple):
    """Where the states of a model are drawn.

    Attributes
    ----------
    letters : array of str of shape (n_rows, n_columns)
        What a cell is: "#" a wall or no state, "S" a start, "G" a goal, "H" a hole, "C" a cliff, any other letter a
        terminal state, and "" a plain cell.
    positions : array of int of shape (n_states, 2)
        Row and column of each state; -1 for a state that has no cell.
    first : tuple of int, or None
        Numbers of the first row and column, where the axes have numbers.
    """

    letters: np.ndarray
    positions: np.ndarray
    first: tuple[int, int] | None = None

    @property
    def placed(self) -> np.ndarray:
        """Which states have a cell, shape (n_states,)."""
        return self.positions[:, 0] >= 0

    @property
    def plain(self) -> np.ndarray:
        """Which states have a cell in which an agent acts: no terminal state and no cliff, shape (n_states,)."""
        letters = self.letters[tuple(self.positions.T)]
        return self.placed & ((letters == FREE) | (letters == START))

    def cells(self, values: np.ndarray) -> np.ndarray:
        """Values of the states as an array of shape (n_rows, n_columns), NaN elsewhere."""
        found = np.full(self.letters.shape, np.nan)
        found[tuple(self.positions[self.placed].T)] = values[self.placed]
        return found


# Where the states are ---------------------------------------------------------------------------------------


def find_grid(given: Any, mdp: Any, names: Sequence[Any]) -> Grid | None:
    """The grid that is given, that of a grid world, or that of states named (row, column); None without one.

    Parameters
    ----------
    given : (n_rows, n_columns), callable or None
        The shape, or a function of a state's name that gives its row and column or None.
    mdp : MDP or None
        The model.
    names : sequence of length n_states
        Names of the states.
    """
    first = None
    if callable(given):
        positions, first = _called_positions(given, names)
    elif given is not None:
        positions = _shape_positions(given, mdp, len(names))
    elif hasattr(mdp, "positions"):
        positions = np.asarray(mdp.positions)
    elif len(names) and all(_is_cell(name) for name in names) and _is_dense(names):
        positions, first = _called_positions(lambda name: name, names)
    else:
        return None
    there = positions[:, 0] >= 0
    own = getattr(mdp, "grid", None)
    shape = tuple(positions.max(axis=0) + 1) if given is None or callable(given) else tuple(given)
    letters = np.full(shape if own is None else own.shape, WALL, dtype=object)
    letters[tuple(positions[there].T)] = FREE
    grid = Grid(letters, positions, first)
    if mdp is not None:
        letters[tuple(positions[there].T)] = state_letters(mdp, grid)[there]
    return grid


def _is_cell(name: Any) -> bool:
    return isinstance(name, tuple) and len(name) == 2 and all(isinstance(k, int | np.integer) for k in name)


def _is_dense(cells: Sequence[Any]) -> bool:
    """Whether the smallest grid that holds these cells is not nearly empty."""
    low, high = np.min(cells, axis=0), np.max(cells, axis=0)
    return bool(np.prod(high - low + 1.0) <= EMPTY * len(cells))


def _called_positions(given: Any, names: Sequence[Any]) -> tuple[np.ndarray, tuple[int, int]]:
    """Rows and columns that a function gives, counted from the first ones."""
    found = [given(name) for name in names]
    wrong = [name for name, cell in zip(names, found) if cell is not None and not _is_cell(tuple(cell))]
    if wrong:
        raise ValueError(
            f"grid must give (row, column), whole numbers, or None; for {wrong[0]!r} it gives something else."
        )
    there = np.array([cell is not None for cell in found], dtype=bool)
    if not there.any():
        raise ValueError("grid gives None for every state: there is nothing to draw.")
    positions = np.full((len(found), 2), -1)
    cells = np.array([tuple(cell) for cell in found if cell is not None], dtype=np.int64)
    if len(np.unique(cells, axis=0)) < len(cells):
        raise ValueError(
            "grid gives the same cell to several states; give None for those that are not to be drawn."
        )
    low = cells.min(axis=0)
    positions[there] = cells - low
    return positions, (int(low[0]), int(low[1]))


def _shape_positions(shape: Any, mdp: Any, n: int) -> np.ndarray:
    """States row by row; one more, terminal state without a cell is the end that some models add."""
    if not _is_cell(tuple(shape)) or min(shape) < 1:
        raise ValueError(f"grid must be (n_rows, n_columns) or a function of a state's name; got {shape!r}.")
    size = int(shape[0]) * int(shape[1])
    if not (n == size or (n == size + 1 and mdp is not None and mdp.terminal[-1])):
        raise ValueError(f"grid={tuple(shape)!r} has {size} cells; there are {n} states.")
    positions = np.full((n, 2), -1)
    positions[:size] = np.argwhere(np.ones(shape, dtype=bool))
    return positions


def state_letters(mdp: Any, grid: Grid) -> np.ndarray:
    """What the cells of the states are, shape (n_states,).

    Where a model has no letters, of the terminal states that pay most on entering are goals, the others holes.
    """
    letters = np.full(mdp.n_states, FREE, dtype=object)
    if hasattr(mdp, "grid"):
        own = mdp.grid[tuple(grid.positions.T)]
        kept = mdp.terminal | np.isin(own, [START, GOAL, HOLE, CLIFF])
        letters[kept] = own[kept]
        return letters
    letters[mdp.start > 0.999] = START
    model = mdp.model
    enters = mdp.terminal[model.successors] & ~np.repeat(mdp.terminal[mdp.pair_states], np.diff(model.indptr))
    count = np.bincount(model.successors[enters], minlength=mdp.n_states)
    total = np.bincount(model.successors[enters], model.rewards[enters], minlength=mdp.n_states)
    gain = np.where(count > 0, total / np.maximum(count, 1), -np.inf)
    best = gain[mdp.terminal & grid.placed].max(initial=-np.inf)
    letters[mdp.terminal] = np.where(gain[mdp.terminal] >= best, GOAL, HOLE)
    return letters


def as_model(env: Any, grid: Any = None) -> tuple[Any, Any]:
    """The model of an environment, and the grid: that which is given, or the shape where an environment tells."""
    from tercet.rl import MDP

    if env is None or isinstance(env, MDP):
        return env, grid
    if isinstance(env, str):
        env = optional_module("gymnasium", "Environments need", "rl").make(env)
    inner = getattr(env, "unwrapped", env)
    if isinstance(getattr(inner, "mdp", None), MDP):
        return inner.mdp, grid
    mdp = MDP.from_gymnasium(env)
    shape = np.shape(inner.desc) if hasattr(inner, "desc") else tuple(getattr(inner, "shape", ()))
    fits = len(shape) == 2 and shape[0] * shape[1] in (mdp.n_states, mdp.n_states - int(mdp.terminal[-1]))
    return mdp, (int(shape[0]), int(shape[1])) if grid is None and fits else grid


# Directions -------------------------------------------------------------------------------------------------


def directions(names: Sequence[Any], mdp: Any, grid: Grid) -> np.ndarray | None:
    """Rows and columns that each action moves by, shape (n_actions, 2); None where actions are no moves.

    They come from the names of the actions, or else from where the actions of the model lead on average.
    """
    known = [MOVE_OF.get(str(name).strip().lower()) for name in names]
    if all(move is not None for move in known):
        return np.array(known)
    if mdp is None or mdp.n_actions != len(names):
        return None
    P, here = mdp.probabilities, grid.positions[mdp.pair_states]
    lengths = np.diff(P.indptr)
    steps = grid.positions[P.indices] - np.repeat(here, lengths, axis=0)
    far = (np.abs(steps).max(axis=1) > 1) | ~grid.placed[P.indices]
    near = np.bincount(np.repeat(np.arange(mdp.n_pairs), lengths), far, minlength=mdp.n_pairs) == 0
    near &= grid.placed[mdp.pair_states] & ~mdp.terminal[mdp.pair_states]
    mean = np.zeros((len(names), 2))
    weighted = P.data[:, None] * steps
    for action in range(len(names)):
        rows = np.repeat(near & (mdp.pair_actions == action), lengths)
        mean[action] = weighted[rows].sum(axis=0)
    reach = np.abs(mean).max(axis=1, keepdims=True)
    moves = np.rint(mean / np.where(reach > 0, reach, 1.0)).astype(int)
    return moves if len(np.unique(moves, axis=0)) == len(moves) else None


# Drawing ----------------------------------------------------------------------------------------------------


def grid_axes(ax: Any, grid: Grid, bar: bool = True) -> Any:
    """The caller's Axes, or those of a new figure that suits the grid."""
    if ax is not None:
        return ax
    rows, columns = grid.letters.shape
    beside = bar and not is_wide(grid)
    cell = min((WIDTH - 0.3 - 0.9 * beside) / columns, 0.8)
    ax = get_axes(None, height=min(max(rows * cell + 0.45 + 0.75 * (bar and not beside), 2.0), 5.4))
    ax.figure.set_layout_engine("compressed")  # which knows that cells are squares
    return ax


def is_wide(grid: Grid) -> bool:
    rows, columns = grid.letters.shape
    return columns > 1.6 * rows


def cell_size(ax: Any, grid: Grid) -> float:
    """Inches of a cell's side, roughly: the layout is not known before the figure is drawn."""
    rows, columns = grid.letters.shape
    box, figure = ax.get_position(), ax.figure.get_size_inches()
    return float(min(1.05 * box.width * figure[0] / columns, 1.05 * box.height * figure[1] / rows))


def colours_of_values() -> Any:
    """Colour map from pale to strong, in which every value differs from the page."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    return LinearSegmentedColormap.from_list("values", [to_rgba(ACCENT, 0.07), to_rgba(ACCENT, 0.95)])


def draw_cells(ax: Any, grid: Grid, values: np.ndarray, norm: Any, label: str) -> None:
    """Values of the states as colours (none where a value is NaN), walls, marks and the scale."""
    image = ax.imshow(
        grid.cells(values), cmap=colours_of_values(), norm=norm, interpolation="none", aspect="equal"
    )
    draw_frame(ax, grid)
    if np.isfinite(values[grid.placed]).any():
        look: dict[str, Any] = (
            {"location": "bottom", "aspect": 45, "shrink": 0.7, "pad": 0.03} if is_wide(grid) else {}
        )
        bar = ax.figure.colorbar(image, ax=ax, **({"shrink": 0.85} | look))
        bar.outline.set_visible(False)
        bar.set_label(label)


def draw_frame(ax: Any, grid: Grid) -> None:
    """Lines between the cells, walls, and the letters of starts, goals, holes and cliffs."""
    from matplotlib.collections import LineCollection

    rows, columns = grid.letters.shape
    lines = [[(-0.5, k - 0.5), (columns - 0.5, k - 0.5)] for k in range(rows + 1)]
    lines += [[(k - 0.5, -0.5), (k - 0.5, rows - 0.5)] for k in range(columns + 1)]
    size = cell_size(ax, grid)
    ax.add_collection(
        LineCollection(lines, colors=INK, linewidths=min(0.5, 3 * size), alpha=0.3), autolim=False
    )
    _boxes(ax, np.argwhere(grid.letters == WALL), facecolor=GREY, edgecolor=INK, linewidth=0.4)
    _boxes(
        ax,
        np.argwhere(np.isin(grid.letters, [HOLE, CLIFF])),
        facecolor="none",
        edgecolor=GREY,
        hatch="///",
        linewidth=0,
    )
    for row, column in np.argwhere((grid.letters != WALL) & (grid.letters != FREE)):
        letter = grid.letters[row, column]
        if letter == START:
            if size >= 0.2:
                look = {"ha": "left", "va": "top", "fontsize": min(max(16 * size, 5), 8)}
                ax.text(column - 0.44, row - 0.42, letter, fontweight="bold", color=INK, **look)
        elif letter != CLIFF:
            look = {"ha": "center", "va": "center_baseline", "fontsize": min(max(30 * size, 5), 15)}
            ax.text(column, row, letter, fontweight="bold", color=INK, **look)
    ax.set_xlim(-0.5, columns - 0.5)
    ax.set_ylim(rows - 0.5, -0.5)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if grid.first is not None:
        for axis, n, first in ((ax.xaxis, columns, grid.first[1]), (ax.yaxis, rows, grid.first[0])):
            every = -(-n // 20)
            axis.set_ticks(range(0, n, every), [str(first + k) for k in range(0, n, every)])


def _boxes(ax: Any, cells: np.ndarray, **look: Any) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    if len(cells):
        boxes = [Rectangle((column - 0.5, row - 0.5), 1, 1) for row, column in cells]
        ax.add_collection(PatchCollection(boxes, **look), autolim=False)


def draw_numbers(ax: Any, grid: Grid, values: np.ndarray, texts: Sequence[str], low: bool) -> None:
    """A number in each cell that has a value, below its arrow where `low`."""
    size = cell_size(ax, grid)
    for (row, column), value, text in zip(grid.positions, values, texts):
        if np.isfinite(value):
            place = {"ha": "center", "va": "center_baseline", "fontsize": min(max(11.5 * size, 5), 8)}
            ax.text(column, row + 0.3 * low, text, color=INK, **place)


def draw_policy(ax: Any, grid: Grid, chances: np.ndarray, moves: np.ndarray, high: bool) -> None:
    """Arrows of a policy: one across the cell, or several whose lengths tell how probable the actions are.

    Parameters
    ----------
    ax : matplotlib Axes
    grid : Grid
    chances : array of shape (n_states, n_actions)
        Probabilities of the actions; rows of zeros have no arrow.
    moves : array of shape (n_actions, 2)
        Rows and columns that the actions move by.
    high : bool
        Whether there is a number below.
    """
    states, actions = np.nonzero(chances > 0.02)
    certain = (np.count_nonzero(chances > 0.02, axis=1) <= 1).all()
    length = (
        (0.42 if high else 0.6)
        if certain
        else (0.26 if high else 0.4) * (chances / chances.max())[states, actions]
    )
    steps = moves[actions] / np.maximum(np.linalg.norm(moves[actions], axis=1, keepdims=True), 1.0)
    row, column = grid.positions[states].T
    v, u = steps.T * length
    look = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "xy", "zorder": 3, "color": INK}
    heads = {"headwidth": 3.6, "headlength": 3.6, "headaxislength": 3.2, "minlength": 0.5}
    pivot, width = ("mid", 0.055) if certain else ("tail", 0.03)
    ax.quiver(column, row - 0.14 * high, u, v, pivot=pivot, width=width, **look, **heads)


def draw_names(ax: Any, grid: Grid, chances: np.ndarray, names: Sequence[Any], high: bool) -> None:
    """The most probable action of each state by its name, where actions are no moves."""
    size = cell_size(ax, grid)
    for state in np.flatnonzero(chances.any(axis=1)):
        row, column = grid.positions[state]
        text = short_name(names[int(chances[state].argmax())], max(int(14 * size), 3))
        look = {"ha": "center", "va": "center_baseline", "fontsize": min(max(17 * size, 5), 9)}
        ax.text(column, row - 0.16 * high, text, color=INK, **look)
