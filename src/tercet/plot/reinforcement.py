"""Reinforcement learning: values and policies, visited states, episodes, returns over seeds, and regret."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.plot.comparison import bars
from tercet.plot.grid_worlds import (
    LEAST,
    ROOM,
    Grid,
    as_model,
    cell_size,
    colours_of_values,
    directions,
    draw_cells,
    draw_frame,
    draw_names,
    draw_numbers,
    draw_policy,
    find_grid,
    grid_axes,
)
from tercet.plot.learning import film_picture
from tercet.plot.models import _heat, _names, picture, plot_model
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    POINTS,
    SECOND,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)

MOST = 25  # states of a table
RESOLUTION = 60  # points of each axis of a surface
LINES = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1, 2)), (0, (3, 1.5)), (0, (8, 3)))


class Learned(NamedTuple):
    """What there is to draw of an agent or an array.

    Attributes
    ----------
    V : array of shape (n_states,)
        Values of states; NaN of an agent that has a policy and no values.
    Q : array of shape (n_states, n_actions), or None
        Values of actions; -inf where an action is not allowed.
    policy : array of shape (n_states,) or (n_states, n_actions), or None
        The action of each state, or probabilities of the actions.
    visits : array of shape (n_states,), or None
        How often each state was visited.
    """

    V: np.ndarray
    Q: np.ndarray | None
    policy: np.ndarray | None
    visits: np.ndarray | None


# Values and policies ----------------------------------------------------------------------------------------


@styled
def plot_values(
    agent: Any,
    mdp: Any = None,
    grid: Any = None,
    *,
    policy: Any = None,
    actions: Sequence[Any] | None = None,
    limits: tuple[float, float] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the values of states and the policy on a grid, or the values of actions as a table.

    A cell is the darker, the higher the value of its state is; its arrow is the action of the policy. Where all
    actions have the same value there is no arrow, and a state that was never visited has a dot and no colour.
    Letters mark starts (S), goals (G) and holes (H, hatched); cliffs are hatched and walls grey.

    Parameters
    ----------
    agent : fitted agent, or array of shape (n_states,) or (n_states, n_actions)
        What has values: an agent, or values of states or of actions.
    mdp : MDP, or environment of gymnasium, optional
        The model, for the names of states and actions, and the grid if it is a grid world. Of an environment, its
        table of transitions is the model.
    grid : (n_rows, n_columns) or callable, optional
        Where the states are, if the model does not tell: the shape of a grid whose states are numbered row by
        row, or a function of a state's name that gives its row and column, or None for a state that is not drawn.
        Without any grid, values of actions are a table, with frames around those of the best ones, and values of
        states are bars.
    policy : array of shape (n_states,) or (n_states, n_actions), optional
        Numbers of actions or their probabilities, in place of the agent's policy. Where a state has several
        actions, the lengths of their arrows are proportional to the probabilities.
    actions : sequence of str, optional
        Names of the actions, such as "up", "right", "down" and "left"; by default the model's. Where the names are
        no directions, arrows show where the actions lead in the model; where that is not one direction, names of
        actions are written in place of arrows.
    limits : (low, high), optional
        Values of the palest and the darkest colour.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.rl import grid_world
    >>> world = grid_world(["S.#", "..G"])
    >>> ax = plot_values([0.5, 0.6, 0.6, 0.8, 0.0], world, policy=[2, 2, 1, 1, 0])
    >>> arrows = ax.collections[-1]
    >>> arrows.U.round(1).tolist(), arrows.V.round(1).tolist()
    ([0.0, 0.0, 0.4, 0.4], [0.4, 0.4, 0.0, 0.0])
    """
    if _plane(agent) is not None:
        return _draw_plane(agent, limits, ax)
    mdp, grid = as_model(mdp, grid)
    return _draw_values(learned_values(agent, mdp), agent, mdp, grid, policy, actions, limits, None, ax)


def _draw_values(
    learned: Learned,
    agent: Any,
    mdp: Any,
    grid: Any,
    policy: Any,
    actions: Sequence[Any] | None,
    limits: tuple[float, float] | None,
    rows: np.ndarray | None,
    ax: Any,
) -> Any:
    """Values on a grid, in a table of the states `rows`, or as bars."""
    names, place = _place(agent, mdp, grid, learned.V.size)
    actions = _action_names(agent, mdp, actions, learned, policy)
    if place is None:
        rows = _rows(learned, mdp) if rows is None else rows
        if learned.Q is not None:
            return _draw_table(
                learned.Q, names, actions, rows, limits, translated("values of actions; frames: the best"), ax
            )
        if np.isnan(learned.V).all():
            title = translated("probabilities of actions; frames: the most probable")
            return _draw_table(np.asarray(learned.policy), names, actions, rows, limits, title, ax)
        return _draw_bars(learned.V, names, rows, translated("value"), ax)
    return _draw_grid(learned, mdp, place, _chances(learned, policy, len(actions)), actions, limits, ax)


def learned_values(agent: Any, mdp: Any) -> Learned:
    """Values, policy and visits of an agent; an array is values of states or of actions."""
    found = _learned(agent)
    if not _has_end(mdp, found.V.size):
        return found
    more: Any = [None if part is None else np.concatenate([part, np.zeros_like(part[:1])]) for part in found]
    return Learned(*more)


def _has_end(mdp: Any, n: int) -> bool:
    """Whether a model has n states and the "end" that `MDP.from_gymnasium` may add."""
    return mdp is not None and mdp.n_states == n + 1 and str(mdp.states[-1]).rstrip("_") == "end"


def _learned(agent: Any) -> Learned:
    if isinstance(agent, np.ndarray | list | tuple):
        given = np.asarray(agent, dtype=float)
        if given.ndim not in (1, 2) or not given.size:
            raise ValueError(
                f"values must have the shape (n_states,) or (n_states, n_actions); got {given.shape}."
            )
        if np.isnan(given).any() or (given == np.inf).any():
            raise ValueError(
                "values must be numbers (-inf for actions that are not allowed); some are NaN or infinite."
            )
        Q = given if given.ndim == 2 else None
        return Learned(
            given if Q is None else Q.max(axis=1), Q, None if Q is None else Q.argmax(axis=1), None
        )
    found: Any = [getattr(agent, name, None) for name in ("V_", "Q_", "policy_", "n_visits_")]
    V, Q, policy, visits = found
    chances: Any = getattr(agent, "action_probabilities_", getattr(agent, "probabilities_", None))
    Q = np.asarray(Q, dtype=float) if np.ndim(Q) == 2 else None  # not that of the arms of a bandit
    if chances is not None:
        policy = chances
    elif Q is None and getattr(agent, "policy", 0) is None:  # all actions alike: the first one means nothing
        policy = None
    if V is None and Q is None and chances is None:
        raise ValueError(
            "plot_values needs values of states: an array, or a fitted agent with V_ or Q_; "
            f"{type(agent).__name__} has neither."
        )
    if V is None:
        V = np.full(len(chances), np.nan) if Q is None else Q.max(axis=1)
    V = np.asarray(V, dtype=float)
    if visits is not None:
        visits = np.asarray(visits).reshape(V.size, -1).sum(axis=1)
    return Learned(V, Q, policy, visits)


def _place(agent: Any, mdp: Any, grid: Any, n: int) -> tuple[Sequence[Any], Grid | None]:
    """The names of the states, and their grid if there is one."""
    if mdp is not None and mdp.n_states != n:
        raise ValueError(f"there are values of {n} states; mdp has {mdp.n_states} states.")
    names = _state_names(agent, mdp, n)
    return names, find_grid(grid, mdp, names)


def _state_names(agent: Any, mdp: Any, n: int) -> Sequence[Any]:
    """Names of the states, by the model, the agent, or as observations of an environment."""
    if mdp is not None:
        return mdp.states
    names, sizes = getattr(agent, "states_", None), getattr(agent, "observation_sizes_", None)
    if names is not None:
        return names
    if sizes and len(sizes) > 1:
        digits = np.unravel_index(np.arange(n), [size for _, size in sizes])
        return list(zip(*((part + first).tolist() for part, (first, _) in zip(digits, sizes))))
    return range(n)


def _action_names(
    agent: Any, mdp: Any, given: Sequence[Any] | None, learned: Learned, policy: Any
) -> Sequence[Any]:
    n = learned.Q.shape[1] if learned.Q is not None else None if mdp is None else mdp.n_actions
    if learned.policy is not None and np.ndim(learned.policy) == 2:
        n = learned.policy.shape[1]
    if given is not None:
        if n not in (None, len(given)):
            raise ValueError(f"actions has {len(given)} names; there are {n} actions.")
        return given
    names = mdp.actions if mdp is not None else getattr(agent, "actions_", None)
    if isinstance(names, list) and n in (None, len(names)):
        return names
    if n is None:
        chosen = learned.policy if policy is None else policy
        if chosen is None:
            return ()
        n = np.shape(chosen)[1] if np.ndim(chosen) == 2 else int(np.max(chosen)) + 1
    first = getattr(agent, "first_action_", 0)
    return range(first, first + n)


def _chances(learned: Learned, policy: Any, n_actions: int) -> np.ndarray:
    """Probabilities of the actions, (n_states, n_actions), in the states whose policy is drawn; zeros in others."""
    n = learned.V.size
    given = learned.policy if policy is None else policy
    if given is None:
        return np.zeros((n, n_actions))
    given = np.asarray(given)
    if given.shape not in ((n,), (n, n_actions)):
        raise ValueError(
            f"policy must have the shape ({n},) or ({n}, {n_actions}), for {n} states and {n_actions} actions; got "
            f"{given.shape}."
        )
    if given.ndim == 2:
        return finite_array(given, "policy")
    if given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= n_actions:
        raise ValueError(f"policy must hold whole numbers of actions, from 0 to {n_actions - 1}.")
    chances = np.zeros((n, n_actions))
    chances[np.arange(n), given] = 1.0
    if policy is None and learned.Q is not None:  # actions that are all alike: the first one means nothing
        Q = learned.Q
        best, worst = Q.max(axis=1), np.where(np.isfinite(Q), Q, np.inf).min(axis=1)
        several = np.isfinite(Q).sum(axis=1) > 1
        chances[several & (best - worst <= 1e-12 * np.maximum(np.abs(best), 1.0))] = 0.0
    return chances


def _shown(learned: Learned, grid: Grid) -> np.ndarray:
    """Which states of a grid have a value or a policy to draw, shape (n_states,)."""
    shown = grid.plain & (np.isfinite(learned.V) | np.isnan(learned.V).all())
    return shown if learned.visits is None else shown & (learned.visits > 0)


def _draw_grid(
    learned: Learned,
    mdp: Any,
    grid: Grid,
    chances: np.ndarray,
    actions: Sequence[Any],
    limits: tuple[float, float] | None,
    ax: Any,
) -> Any:
    ax = grid_axes(ax, grid)
    shown = _shown(learned, grid)
    values = np.where(shown, learned.V, np.nan)
    norm = _norm(values[np.isfinite(values)], limits)
    draw_cells(ax, grid, values, norm, translated("value"))
    dots = grid.positions[grid.plain & ~shown]
    ax.plot(dots[:, 1], dots[:, 0], ".", color=INK, alpha=0.4, markersize=2.5)
    chances = np.where(shown[:, None], chances, 0.0)
    size, policy = cell_size(ax, grid), bool(chances.any())
    numbers = size >= ROOM and bool(np.isfinite(values).any())
    if numbers:
        draw_numbers(ax, grid, values, _numbers(values), policy)
    if policy and size >= LEAST:
        moves = directions(actions, mdp, grid)
        if moves is None:
            draw_names(ax, grid, chances, actions, numbers)
        else:
            draw_policy(ax, grid, chances, moves, numbers)
    if np.isnan(learned.V).all():
        return label_axes(ax, title=translated("policy"))
    title = translated("values of states and policy") if policy else translated("values of states")
    return label_axes(ax, title=title)


def _norm(values: np.ndarray, limits: tuple[float, float] | None) -> Any:
    from matplotlib.colors import Normalize

    if limits is None:
        limits = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    low, high = limits
    return Normalize(low, high if high > low else low + (abs(low) * 1e-3 or 1.0), clip=True)


def _numbers(values: np.ndarray) -> list[str]:
    """Numbers of one precision, as short as three digits of the largest allow."""
    finite = np.abs(values[np.isfinite(values)])
    most = float(finite.max(initial=0.0))
    if most >= 1e5 or 0 < most < 1e-3:
        return [f"{value:.1g}" for value in values]
    places = 0 if most >= 100 else 1 if most >= 10 else 2 if most >= 0.1 else 4
    return [f"{value + 0.0:.{places}f}" for value in values]


def _short(value: float) -> str:
    """A number with three significant digits or more; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    return f"{value:.0f}" if 100 <= abs(value) < 1e6 else short_number(value + 0.0)


def _rows(learned: Learned, mdp: Any) -> np.ndarray:
    """The states of a table: all, or the most visited ones, or the first."""
    n = learned.V.size
    inside = np.arange(n) if mdp is None or mdp.terminal.all() else np.flatnonzero(~mdp.terminal)
    if inside.size <= MOST or learned.visits is None:
        return inside[:MOST]
    return np.sort(inside[np.argsort(-learned.visits[inside], kind="stable")[:MOST]])


def _draw_table(
    table: np.ndarray,
    names: Sequence[Any],
    actions: Sequence[Any],
    rows: np.ndarray,
    limits: tuple[float, float] | None,
    title: str,
    ax: Any,
) -> Any:
    """Numbers of actions: states from top to bottom, actions from left to right, a frame around the highest."""
    from matplotlib.patches import Rectangle

    Q = np.where(np.isfinite(table[rows]), table[rows], np.nan)
    k, m = Q.shape
    ax = get_axes(ax, height=1.1 + 0.24 * max(k, 3))
    norm = _norm(Q[np.isfinite(Q)], limits)
    ax.imshow(Q, cmap=colours_of_values(), norm=norm, aspect="auto", interpolation="none")
    best = np.nanmax(np.where(np.isnan(Q), -np.inf, Q), axis=1)
    for i, j in np.ndindex(k, m):
        if m <= 10:
            text = _short(float(Q[i, j]))
            ax.text(j, i, text, ha="center", va="center_baseline", fontsize=7.5)
        if Q[i, j] == best[i] and (Q[i] < best[i]).any():
            look: dict[str, Any] = {"fill": False, "edgecolor": INK, "linewidth": 1.2, "clip_on": False}
            ax.add_patch(Rectangle((j - 0.46, i - 0.42), 0.92, 0.84, **look))
    every = -(-m // 25)
    words = [short_name(actions[j], 14) for j in range(0, m, every)]
    ax.set_xticks(range(0, m, every), words, rotation=90 if m > 10 else 0)
    ax.set_yticks(range(k), [short_name(names[x], 28) for x in rows])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    n = len(table)
    if k < n and n > MOST:
        title = translated("{title} ({shown} of {n} states)", title=title, shown=k, n=n)
    return label_axes(ax, translated("action"), translated("state"), title)


def _draw_bars(values: np.ndarray, names: Sequence[Any], rows: np.ndarray, label: str, ax: Any) -> Any:
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(rows), 3))
    bars(ax, [str(names[x]) for x in rows], values[rows])
    shown, n = len(rows), values.size
    title = translated("{shown} of {n} states", shown=shown, n=n) if shown < n and n > MOST else ""
    return label_axes(ax, label, translated("state"), title)


def _plane(agent: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The lowest and highest observations of an agent that maps two numbers to values; None of others."""
    maps = hasattr(agent, "action_values") or hasattr(agent, "value")
    if not maps or hasattr(agent, "V_") or hasattr(agent, "Q_"):
        return None
    features: Any = getattr(agent, "features_", None)
    if np.size(getattr(features, "low_", ())) == 2:
        return features.low_, features.high_
    rows = np.asarray(getattr(agent, "dictionary_", ()))  # observations that a kernel compares with
    return (rows.min(axis=0), rows.max(axis=0)) if rows.ndim == 2 and rows.shape[1] == 2 else None


def _plane_values(agent: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two axes of observations, and the values on them, shape (RESOLUTION, RESOLUTION)."""
    plane = _plane(agent)
    assert plane is not None
    first, second = (np.linspace(low, high, RESOLUTION) for low, high in zip(*plane))
    points = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    is_control = hasattr(agent, "action_values")
    values = agent.action_values(points).max(axis=1) if is_control else agent.value(points)
    return first, second, np.asarray(values, dtype=float).reshape(RESOLUTION, RESOLUTION)


def _draw_plane(agent: Any, limits: tuple[float, float] | None, ax: Any) -> Any:
    """Values of observations of two numbers, as a surface in sixteen shades."""
    first, second, values = _plane_values(agent)
    ax = get_axes(ax)
    norm = _norm(values, limits)
    levels = np.linspace(norm.vmin, norm.vmax, 17)
    image = ax.contourf(first, second, np.clip(values, norm.vmin, norm.vmax), levels=levels, cmap="cividis")
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, format=lambda value, _: short_number(value))
    bar.outline.set_visible(False)
    bar.set_label(translated("value"))
    return label_axes(ax, "x0", "x1", translated("values of states"))


# Visits and episodes ----------------------------------------------------------------------------------------


@styled
def plot_visits(agent: Any, mdp: Any = None, grid: Any = None, *, ax: Any = None) -> Any:
    """Draw how often each state was visited while an agent learned: on a grid, or as bars of the most visited.

    Colours are logarithmic, and a state that was never visited has a dot and no colour.

    Parameters
    ----------
    agent : fitted agent, list of Episode, or array of shape (n_states,) or (n_states, n_actions)
        An agent with `n_visits_`, episodes (as `MDP.simulate` gives them), or counts.
    mdp : MDP, or environment of gymnasium, optional
        The model, as for `plot_values`; episodes need it.
    grid : (n_rows, n_columns) or callable, optional
        Where the states are, as for `plot_values`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.rl import grid_world
    >>> world = grid_world("S..G")
    >>> ax = plot_visits(world.simulate([1, 1, 1, 0], n_episodes=5, random_state=0), world)
    >>> ax.images[0].get_array()[0, :3].tolist()
    [5.0, 5.0, 5.0]
    """
    from matplotlib.colors import LogNorm

    mdp, grid = as_model(mdp, grid)
    counts = _visit_counts(agent, mdp)
    names, place = _place(agent, mdp, grid, counts.size)
    if place is None:
        rows = np.argsort(-counts, kind="stable")[:MOST]
        return _draw_bars(counts, names, rows, translated("visits"), ax)
    ax = grid_axes(ax, place)
    shown = place.plain & (counts > 0)
    values = np.where(shown, counts, np.nan)
    norm = LogNorm(1.0, max(float(counts[shown].max(initial=1.0)), 2.0), clip=True)
    draw_cells(ax, place, values, norm, translated("visits"))
    dots = place.positions[place.plain & ~shown]
    ax.plot(dots[:, 1], dots[:, 0], ".", color=INK, alpha=0.4, markersize=2.5)
    if cell_size(ax, place) >= ROOM:
        texts = [f"{count:.0f}" if count < 1e5 else f"{count:.0e}".replace("e+0", "e") for count in counts]
        draw_numbers(ax, place, values, texts, False)
    return label_axes(ax, title=translated("visited states"))


def _visit_counts(agent: Any, mdp: Any) -> np.ndarray:
    """Number of visits of each state, shape (n_states,)."""
    if isinstance(agent, list | tuple) and agent and hasattr(agent[0], "states"):
        if mdp is None:
            raise ValueError("plot_visits: episodes need mdp, the model that they are of.")
        paths = [_numbered(episode, mdp) for episode in agent]
        return np.bincount(np.concatenate(paths), minlength=mdp.n_states).astype(float)
    if not isinstance(agent, np.ndarray | list | tuple):
        if not hasattr(agent, "n_visits_"):
            raise ValueError(
                "plot_visits needs counts: an agent with n_visits_, episodes or an array; "
                f"{type(agent).__name__} has no n_visits_."
            )
        agent = agent.n_visits_
    counts = finite_array(agent, "visits")
    if counts.ndim > 2 or (counts < 0).any():
        raise ValueError("visits must be counts of shape (n_states,) or (n_states, n_actions), none below 0.")
    counts = counts if counts.ndim == 1 else counts.sum(axis=1)
    return np.append(counts, 0.0) if _has_end(mdp, counts.size) else counts


def _numbered(episode: Any, mdp: Any) -> np.ndarray:
    """Numbers of the states of an episode."""
    states = episode.states
    if isinstance(states, np.ndarray) and states.dtype.kind in "iu" and states.ndim == 1:
        if states.size and not 0 <= states.min() <= states.max() < mdp.n_states:
            raise ValueError(
                f"the episode has states from {states.min()} to {states.max()}; mdp has {mdp.n_states}."
            )
        return states
    return np.array([mdp.state_index(state) for state in states], dtype=np.int64)


@styled
def plot_episode(episode: Any, mdp: Any, grid: Any = None, *, ax: Any = None) -> Any:
    """Draw the way of an episode on a grid, from a ring to a disc (or a cross, where it was cut off).

    A way that comes back to a cell is drawn a little beside the one before; jumps are dotted.

    Parameters
    ----------
    episode : Episode
        As `MDP.simulate` gives it.
    mdp : MDP, or environment of gymnasium
        The model, as for `plot_values`.
    grid : (n_rows, n_columns) or callable, optional
        Where the states are, as for `plot_values`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.rl import grid_world
    >>> world = grid_world(["S.", ".G"])
    >>> ax = plot_episode(world.simulate([2, 0, 1, 0], random_state=0)[0], world)
    >>> ax.get_title("left")
    '2 steps, return 1'
    """
    from matplotlib.collections import LineCollection

    mdp, grid = as_model(mdp, grid)
    place = find_grid(grid, mdp, mdp.states)
    if place is None:
        raise ValueError("plot_episode draws on a grid: give a grid world, or grid=(n_rows, n_columns).")
    path = _numbered(episode, mdp)
    path = path[place.placed[path]]
    n = len(path)
    ax = grid_axes(ax, place, bar=False)
    ax.set_aspect("equal")
    draw_frame(ax, place)
    # Later visits of a cell are drawn beside the earlier ones, on a spiral around the middle.
    turn = np.array([np.count_nonzero(path[:t] == path[t]) for t in range(n)]) if n <= POINTS else np.zeros(n)
    radius = 0.3 * (1 - 1 / (1 + 0.35 * turn))
    spiral = np.stack([np.cos(2.4 * turn), np.sin(2.4 * turn)], axis=1)
    points = place.positions[path][:, ::-1] + radius[:, None] * spiral
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    far = np.abs(np.diff(place.positions[path], axis=0)).max(axis=1, initial=0) > 1
    for which, line in ((~far, "-"), (far, ":")):
        line_look: dict[str, Any] = {"colors": ACCENT, "linewidths": 1.8, "linestyles": line, "alpha": 0.85}
        ax.add_collection(LineCollection(pieces[which], **line_look))
    steps = np.flatnonzero(~far & (np.diff(path) != 0))[:POINTS]
    middle, way = pieces[steps].mean(axis=1), np.diff(pieces[steps], axis=1)[:, 0]
    heads = {"headwidth": 5, "headlength": 5, "headaxislength": 4.5, "width": 0.04, "pivot": "mid"}
    scale = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "xy"}
    ax.quiver(*middle.T, *(0.2 * way.T), color=ACCENT, zorder=3, **scale, **heads)
    look = {"markersize": 9, "zorder": 4, "color": SECOND, "linestyle": "none", "markeredgewidth": 2}
    ax.plot(*points[:1].T, marker="o", **{**look, "markerfacecolor": "none"})
    ax.plot(*points[-1:].T, marker="o" if episode.terminated else "x", **look)
    total = short_number(float(np.sum(episode.rewards)))
    return label_axes(ax, title=translated("{n} steps, return {total}", n=len(episode.rewards), total=total))


# Returns and regret -----------------------------------------------------------------------------------------


@styled
def plot_returns(
    agents: Any, window: int | None = None, *, confidence: float = 0.95, lengths: bool = False, ax: Any = None
) -> Any:
    """Draw learning curves of agents: the mean return of the last episodes, with its interval over seeds.

    Parameters
    ----------
    agents : AgentComparison, fitted agent, list of agents, or dict
        The result of `tercet.rl.compare`, or fitted agents with `episode_returns_`; in a dict, an agent or a list
        of agents (of several seeds) by a name.
    window : int, optional
        The number of episodes that each mean is of; by default a twentieth of all.
    confidence : float, default=0.95
        Confidence of the intervals, which need two seeds or more.
    lengths : bool, default=False
        Whether lengths of episodes are drawn, in place of returns.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.rl import QLearning, grid_world
    >>> world = grid_world("S..G", step_reward=-1.0)
    >>> agents = [QLearning(50, random_state=seed).fit(world) for seed in range(3)]
    >>> ax = plot_returns({"Q-learning": agents}, window=10)
    >>> ax.get_ylabel(), len(ax.lines[0].get_ydata())
    ('return', 50)
    """
    comparison = _as_comparison(agents)
    if lengths:
        comparison = dataclasses.replace(comparison, returns=comparison.lengths)
    tables = comparison.returns
    n = max(table.shape[1] for table in tables.values())
    seeds = max(len(table) for table in tables.values())
    window = max(1, n // 20) if window is None else window
    ax = get_axes(ax)
    ends = []
    for k, name in enumerate(tables):
        mean = comparison.mean(name, window)
        shown = (
            np.unique(np.linspace(0, mean.size - 1, POINTS).astype(int))
            if mean.size > POINTS
            else np.arange(mean.size)
        )
        x, colour = shown + 1, COLOURS[k % len(COLOURS)]
        if len(tables[name]) > 1:
            low, high = comparison.interval(name, window, confidence)
            ax.fill_between(x, low[shown], high[shown], color=colour, alpha=0.15, linewidth=0)
        ax.plot(x, mean[shown], color=colour, linestyle=LINES[k % len(LINES)], label=short_name(name, 32))
        ends.append(mean[np.isfinite(mean)])
    _frame_returns(ax, ends)
    if len(tables) > 1:
        ax.legend(loc="best")
    ax.grid(axis="y")
    title = translated("mean of the last {window} episodes", window=window) if window > 1 else ""
    if seeds > 1:
        share = f"{100 * confidence:g}%"
        title = translated(
            "mean of {n} seeds and of {window} episodes; bands: {share} intervals",
            n=seeds,
            window=window,
            share=share,
        )
    what = translated("length of the episode") if lengths else translated("return")
    return label_axes(ax, translated("episode"), what, title)


def _frame_returns(ax: Any, means: list[np.ndarray]) -> None:
    """A frame in which the very first episodes do not press all later ones together."""
    low = min(float(np.quantile(mean, 0.05)) for mean in means)
    high = max(float(np.quantile(mean, 0.95)) for mean in means)
    margin = 0.12 * (high - low) or 0.05 * abs(high) or 1.0
    top, bottom = max(float(mean.max()) for mean in means), min(float(mean.min()) for mean in means)
    ax.set_ylim(max(low - margin, bottom - margin), min(high + margin, top + margin))


def _as_comparison(agents: Any) -> Any:
    """Agents as an `AgentComparison`."""
    from tercet.rl import AgentComparison

    if isinstance(agents, AgentComparison):
        return agents
    named = agents if isinstance(agents, Mapping) else _by_name(agents)
    groups = {
        str(name): list(group) if isinstance(group, list | tuple) else [group]
        for name, group in named.items()
    }
    for name, group in groups.items():
        missing = [agent for agent in group if not hasattr(agent, "episode_returns_")]
        if missing or not group:
            what = type(missing[0]).__name__ if missing else "an empty list"
            raise ValueError(
                "plot_returns needs fitted agents that learn in episodes, with episode_returns_; "
                f"{name!r} is {what}."
            )
    if not groups:
        raise ValueError("agents is empty: there is nothing to draw.")
    returns, lengths = (
        {
            name: _padded([np.asarray(getattr(agent, what), float) for agent in group])
            for name, group in groups.items()
        }
        for what in ("episode_returns_", "episode_lengths_")
    )
    return AgentComparison(returns, lengths, groups, [])


def _by_name(agents: Any) -> dict[str, Any]:
    """Agents by the names of their classes."""
    group = list(agents) if isinstance(agents, list | tuple) else [agents]
    return _told_apart([type(agent).__name__ for agent in group], group)


def _told_apart(names: list[str], group: list[Any]) -> dict[str, Any]:
    """Things by name; equal names are numbered."""
    return {
        name if names.count(name) == 1 else f"{name} {names[:k].count(name) + 1}": thing
        for k, (name, thing) in enumerate(zip(names, group))
    }


def _padded(rows: list[np.ndarray]) -> np.ndarray:
    table = np.full((len(rows), max(row.size for row in rows)), np.nan)
    for line, row in zip(table, rows):
        line[: row.size] = row
    return table


@styled
def plot_regret(agents: Any, *, ax: Any = None) -> Any:
    """Draw the regret of bandit algorithms over the pulls, and a multiple of log t, the least growth there is.

    Parameters
    ----------
    agents : RegretCurve, BanditAgent, array of shape (n_steps,), list of these, or dict
        Results of `tercet.rl.average_regret`, whose bands are 95% intervals of the mean, fitted agents, or their
        regrets; in a dict by a name. A list of agents or regrets in a dict is several runs of the same algorithm.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Notes
    -----
    No algorithm that learns every bandit has a regret that grows more slowly than log t (Lai and Robbins 1985). The
    dotted curve is the multiple of log t that ends where the lowest curve ends.

    Examples
    --------
    >>> from tercet.rl import BanditAgent, average_regret
    >>> curves = {
    ...     name: average_regret(BanditAgent(name, 500), [0.4, 0.8], n_runs=20, random_state=0)
    ...     for name in ("thompson", "explore-only")
    ... }
    >>> ax = plot_regret(curves)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['thompson', 'explore-only', 'c log t']
    """
    from matplotlib.ticker import MaxNLocator

    named = agents if isinstance(agents, Mapping) else _by_algorithm(agents)
    if not named:
        raise ValueError("agents is empty: there is nothing to draw.")
    ax = get_axes(ax)
    ends = []
    for k, (name, given) in enumerate(named.items()):
        steps, mean, error = _regret(given, name)
        shown = np.unique(np.linspace(0, steps.size - 1, min(steps.size, POINTS)).astype(int))
        steps, mean, error = steps[shown], mean[shown], error[shown]
        colour = COLOURS[k % len(COLOURS)]
        if np.isfinite(error).all():
            low, high = mean - 1.96 * error, mean + 1.96 * error
            ax.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(steps, mean, color=colour, linestyle=LINES[k % len(LINES)], label=short_name(name, 32))
        ends.append((float(mean[-1]), int(steps[-1])))
    least, last = min(ends)
    if least > 0 and last > 2:
        t = np.arange(1, last + 1) if last <= POINTS else np.linspace(1, last, POINTS)
        look = {"color": INK, "linewidth": 1.1, "linestyle": (0, (1, 2)), "alpha": 0.8}
        ax.plot(t, least * np.log(t) / math.log(last), label="c log t", **look)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.grid(axis="y")
    ax.legend(loc="upper left")
    return label_axes(ax, translated("pulls"), translated("regret"))


def _by_algorithm(agents: Any) -> dict[str, Any]:
    """Agents by their algorithms; curves and regrets of unknown algorithms are numbered."""
    several = isinstance(agents, list | tuple) and not hasattr(agents, "standard_error")
    group = [agents] if not several or any(isinstance(item, int | float) for item in agents) else list(agents)
    return _told_apart([getattr(one, "algorithm", translated("regret")) for one in group], group)


def _regret(given: Any, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps, mean regret and its standard error."""
    if hasattr(given, "standard_error"):
        return np.asarray(given.steps), np.asarray(given.mean), np.asarray(given.standard_error)
    several = isinstance(given, list | tuple) and bool(given) and not isinstance(given[0], int | float)
    runs: Any = given if several else [given]
    found = []
    for run in runs:
        if not isinstance(run, np.ndarray | list | tuple) and not hasattr(run, "regret_"):
            raise ValueError(
                "plot_regret needs fitted bandit agents, results of average_regret or regrets; "
                f"{name!r} is {type(run).__name__}."
            )
        found.append(finite_array(getattr(run, "regret_", run), "regret").ravel())
    n = min(run.size for run in found)
    table = np.array([run[:n] for run in found])
    error = table.std(axis=0, ddof=1) / math.sqrt(len(table)) if len(table) > 1 else np.full(n, np.nan)
    return np.arange(1, n + 1), table.mean(axis=0), error


# Pictures of fitted agents ----------------------------------------------------------------------------------


def _has_values(model: Any) -> bool:
    """Whether a model is an agent with a table: values of states or of actions, or a policy alone."""
    has_table = np.ndim(getattr(model, "Q_", 0)) == 2
    has_table |= hasattr(model, "V_") or hasattr(model, "action_probabilities_")
    return hasattr(model, "policy_") and has_table


def _shared(models: list[Any], X: Any, y: Any) -> dict[str, Any]:
    """What the frames of a film share: the model, its grid, the limits of the colours, the states of a table."""
    mdp, grid = as_model(X, y)
    found = [learned_values(model, mdp) for model in models]
    rows = _rows(found[-1], mdp)
    _, place = _place(models[-1], mdp, grid, found[-1].V.size)
    if place is not None:
        drawn = [learned.V[_shown(learned, place)] for learned in found]
    else:
        drawn = [(learned.V if learned.Q is None else learned.Q)[rows].ravel() for learned in found]
    return {"mdp": mdp, "grid": grid, "limits": _ends(drawn), "rows": rows}


def _ends(drawn: list[np.ndarray]) -> tuple[float, float] | None:
    """The lowest and the highest of all values; None without any."""
    values = np.concatenate([part.ravel() for part in drawn])
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if values.size else None


@film_picture(lambda model, X: _has_values(model), common=_shared)
def _film_of_values(
    model: Any,
    X: Any,
    y: Any,
    ax: Any,
    mdp: Any,
    grid: Any,
    limits: tuple[float, float] | None,
    rows: np.ndarray,
) -> Any:
    return _draw_values(learned_values(model, mdp), model, mdp, grid, None, None, limits, rows, ax)


@film_picture(
    lambda model, X: _plane(model) is not None,
    common=lambda models, X, y: {"limits": _ends([_plane_values(model)[2] for model in models])},
)
def _film_of_plane(model: Any, X: Any, y: Any, ax: Any, limits: tuple[float, float] | None) -> Any:
    return _draw_plane(model, limits, ax)


@picture(test=_has_values)
def _values(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_values(model, actions=labels, ax=ax)


@picture("policy_", "action_probabilities_", "estimator_")
def _imitator(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The estimator of an agent that imitates, or its policy where that has no picture."""
    drawn = plot_model(model.estimator_, feature_names, labels=labels, ax=ax)
    return plot_values(model, ax=ax) if drawn is None else drawn


@picture(test=lambda model: _plane(model) is not None)
def _values_on_a_plane(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return label_axes(plot_values(model, ax=ax), *_names(model, feature_names, 2))


@picture("Q_", "counts_")
def _arms(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return _draw_arms(model, labels, ax=ax)


@styled
def _draw_arms(model: Any, labels: Any, *, ax: Any = None) -> Any:
    """Mean rewards of the arms of a bandit, and how often each was pulled."""
    values = np.asarray(model.Q_, dtype=float)
    n = values.size
    arms = (
        [translated("arm {k}", k=k) for k in range(n)] if labels is None else [str(name) for name in labels]
    )
    ax = get_axes(ax, height=0.9 + 0.24 * max(n, 3))
    bars(ax, arms, values)
    look = {"textcoords": "offset points", "va": "center_baseline", "fontsize": 7.5}
    for k, (value, count) in enumerate(zip(values, model.counts_)):
        side, shift = ("left", 4) if value >= 0 else ("right", -4)
        ax.annotate(f"n = {count}", (value, k), (shift, 0), ha=side, **look)
    ax.margins(x=0.14)
    total = translated("{n} pulls", n=int(np.sum(model.counts_)))
    return label_axes(ax, translated("mean reward"), title=total)


@picture("factors_", "counts_", "coef_")
def _linear_arms(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return _heat_of_arms(model, np.asarray(model.coef_, dtype=float), feature_names, ax)


@picture("estimators_", "counts_")
def _regressors_of_arms(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    rows = [np.ravel(getattr(part, "coef_", ())) for part in model.estimators_]
    if all(row.size == model.n_features_in_ for row in rows):
        return _heat_of_arms(model, np.array(rows, dtype=float), feature_names, ax)
    return _counts_of_arms(model, ax=ax)


@styled
def _counts_of_arms(model: Any, *, ax: Any = None) -> Any:
    counts = np.asarray(model.counts_, dtype=float)
    ax = get_axes(ax, height=0.9 + 0.24 * max(counts.size, 3))
    bars(ax, [translated("arm {k}", k=k) for k in range(counts.size)], counts)
    return label_axes(ax, translated("pulls"))


def _heat_of_arms(model: Any, coef: np.ndarray, feature_names: Any, ax: Any) -> Any:
    names = _names(model, feature_names, coef.shape[1])
    arms = [translated("arm {k}", k=k) for k in range(len(coef))]
    return _heat(coef, arms, names, translated("coefficients"), "", ax)


@picture("rewards_", "policy_", "coef_")
def _rewards(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return _draw_rewards(model, feature_names, ax=ax)


@styled
def _draw_rewards(model: Any, feature_names: Any, *, ax: Any = None) -> Any:
    """Rewards that were learned from demonstrations: those of states, or the weights of fewer features."""
    coef, rewards = np.ravel(model.coef_), np.asarray(model.rewards_, dtype=float)
    if coef.size < rewards.size or feature_names is not None:
        names = _names(model, feature_names, coef.size)
        rows = np.argsort(-np.abs(coef), kind="stable")[:MOST]
        ax = get_axes(ax, height=0.9 + 0.24 * max(len(rows), 3))
        bars(ax, [names[k] for k in rows], coef[rows])
        return label_axes(ax, translated("weight of the feature in the reward"))
    rows = np.arange(rewards.size)
    if rewards.size > MOST:
        rows = np.sort(np.argsort(-np.abs(rewards), kind="stable")[:MOST])
    return _draw_bars(rewards, _state_names(model, None, rewards.size), rows, translated("reward"), ax)
