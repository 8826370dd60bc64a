"""Bayesian networks with their tables, and messages between the variables of a graphical model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.dependencies import _at, _layers
from tercet.plot.models import picture
from tercet.plot.styling import ACCENT, INK, SECOND, get_axes, short_name, short_number, styled, translated

MOST = 40  # nodes; a picture of more is a tangle
ROWS = 8  # of a table


@styled
def plot_network(model: Any, *, tables: bool | None = None, ax: Any = None, most: int = MOST) -> Any:
    """Draw a Bayesian network: arrows from parents to children, and the table of each node.

    Parameters
    ----------
    model : fitted BayesianNetwork or BayesianNetworkClassifier
        The network.
    tables : bool, optional
        Whether P(x | parents) stands under each node; by default where there are at most 6 nodes.
    ax : matplotlib Axes, optional
        Where to draw.
    most : int, default=40
        Of more nodes, only those with most edges are drawn.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.graphical import BayesianNetwork
    >>> network = BayesianNetwork.from_tables(
    ...     {"rain": [0.8, 0.2], "wet": (["rain"], [[0.9, 0.1], [0.2, 0.8]])}
    ... )
    >>> ax = plot_network(network, tables=False)
    >>> sorted(text.get_text() for text in ax.texts if text.get_text())
    ['rain', 'wet']
    """
    known = model.factor_model()
    edges = np.array([(p, k) for k, own in enumerate(model.parents_) for p in own], dtype=int).reshape(-1, 2)
    shown = _best_connected(len(known.names), edges, most)
    inside = [k for k, edge in enumerate(edges.tolist()) if set(edge) <= set(shown)]
    place = _layers(shown, edges[inside])
    with_tables = len(shown) <= 6 if tables is None else tables
    depth = max(level for _, level in place.values()) + 1
    ax = get_axes(ax, height=max(2.2, 0.8 + (1.7 if with_tables else 0.62) * depth))
    background = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
    for a, b in edges[inside].tolist():
        _arrow(ax, _at(place[a]), _at(place[b]), ACCENT, 1.2)
    for k in shown:
        _node(ax, _at(place[k]), known.names[k])
        if with_tables:
            x, y = _at(place[k])
            ax.annotate(
                _table_text(known, k), (x, y), (0, -13), textcoords="offset points", ha="center", va="top",
                fontsize=6, family="monospace", color=INK, bbox=background,
            )  # fmt: skip
    _frame(ax, depth)
    ax.set_title(translated("a Bayesian network: each node given its parents"))
    return ax


@styled
def plot_messages(beliefs: Any, *, ax: Any = None, most: int = MOST) -> Any:
    """Draw the messages of belief propagation: an arrow for each, with its numbers and the order of sending.

    Parameters
    ----------
    beliefs : Beliefs
        What `tercet.graphical.belief_propagation` returns, of factors of one or two variables.
    ax : matplotlib Axes, optional
        Where to draw.
    most : int, default=40
        The most variables that can be drawn.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.graphical import belief_propagation
    >>> ax = plot_messages(belief_propagation({("A", "B"): [[3, 1], [1, 2]]}))
    >>> sorted(text.get_text() for text in ax.texts if "(" in text.get_text())
    ['1: (4, 3)', '2: (4, 3)']
    """
    names = list(beliefs.marginals)
    if len(names) > most:
        raise ValueError(f"plot_messages draws at most {most} variables; there are {len(names)}.")
    code = {name: k for k, name in enumerate(names)}
    pairs = [(scope, node, table) for scope, node, table in beliefs.messages if len(scope) == 2]
    edges = np.array(sorted({tuple(sorted(code[n] for n in scope)) for scope, _, _ in pairs}), dtype=int)
    place = _layers(list(range(len(names))), edges.reshape(-1, 2))
    depth = max(level for _, level in place.values()) + 1
    ax = get_axes(ax, height=max(2.2, 0.8 + 1.3 * depth))
    for number, (scope, node, table) in enumerate(pairs, start=1):
        other = scope[0] if scope[1] == node else scope[1]
        start, end = np.array(_at(place[code[other]])), np.array(_at(place[code[node]]))
        across = np.array([end[1] - start[1], start[0] - end[0]])
        shift = 0.02 * across / max(float(np.hypot(*across)), 1e-12)
        _arrow(
            ax, tuple(start + shift), tuple(end + shift), ACCENT if number <= len(pairs) // 2 else SECOND, 1.0
        )
        at = start + 0.42 * (end - start) + 2.2 * shift
        numbers = ", ".join(short_number(float(value)) for value in table)
        ax.text(*at, f"{number}: ({numbers})", fontsize=6, ha="center", va="center", color=INK)
    for name in names:
        _node(ax, _at(place[code[name]]), name)
    _frame(ax, depth)
    ax.set_title(translated("messages between neighbours, in the order of sending"))
    return ax


def _best_connected(n: int, edges: np.ndarray, most: int) -> list[int]:
    degree = np.bincount(edges.ravel(), minlength=n)
    return sorted(np.argsort(-degree, kind="stable")[:most].tolist())


def _arrow(ax: Any, start: Any, end: Any, colour: str, width: float) -> None:
    ax.annotate(
        "", xy=end, xytext=start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 11, "shrinkB": 13},
    )  # fmt: skip


def _node(ax: Any, at: tuple[float, float], name: Any) -> None:
    box = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": INK, "linewidth": 0.8}
    ax.text(*at, short_name(str(name), 20), ha="center", va="center", fontsize=8, bbox=box, color=INK)


def _table_text(model: Any, k: int) -> str:
    """The first rows of P(x_k | parents): the parents' states, then the probabilities."""
    scope, table = model.factors[k]
    lines = []
    for at in list(np.ndindex(table.shape[:-1]))[:ROWS]:
        given = " ".join(short_name(str(model.states[p][c]), 6) for p, c in zip(scope[:-1], at))
        numbers = " ".join(f"{value:.2f}" for value in table[at][:5])
        lines.append(f"{given}  {numbers}".strip())
    more = int(np.prod(table.shape[:-1])) - ROWS
    return "\n".join(lines + (["..."] if more > 0 else []))


def _frame(ax: Any, depth: int) -> None:
    ax.set_xlim(-0.04, 1.04)
    ax.set_ylim(-depth + 0.35, 0.45)
    ax.set_axis_off()


@picture("parents_", "tables_", "nodes_")
def _network(model: Any, feature_names: Sequence[str] | None, labels: Any, ax: Any) -> Any:
    return plot_network(model, ax=ax)
