"""Directed graphs: nodes as large as their scores, arrows along the edges; the ranking of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.plot.comparison import bars
from tercet.plot.models import picture
from tercet.plot.styling import (
    ACCENT,
    INK,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)

MOST = 30  # nodes; a picture of more is a tangle
BARS = 20


@styled
def plot_graph(graph: Any, scores: Any = None, *, ax: Any = None, most: int = MOST) -> Any:
    """Draw a directed graph on a circle; the area of a node grows with its score.

    Parameters
    ----------
    graph : DirectedGraph, or what makes one
        The graph.
    scores : array of shape (n_nodes,), optional
        `scores_` of a fitted `PageRank`, say; by default all nodes are of one size.
    ax : matplotlib Axes, optional
        Where to draw.
    most : int, default=30
        Of more nodes, only those of the highest scores are drawn.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.graph import PageRank
    >>> edges = {"A": ["B", "C"], "B": ["C"], "C": ["A"]}
    >>> ax = plot_graph(edges, PageRank().fit(edges).scores_)
    >>> sorted(text.get_text() for text in ax.texts if text.get_text())
    ['A', 'B', 'C']
    """
    from tercet.graph import DirectedGraph

    graph = DirectedGraph(graph)
    n = graph.n_nodes
    values = np.full(n, 1.0 / n) if scores is None else finite_array(scores, "scores")
    if values.shape != (n,):
        raise ValueError(
            f"scores must have a number for each of {n} nodes; got an array of shape {values.shape}."
        )
    shown = np.sort(np.argsort(-values, kind="stable")[:most])
    angle = np.pi / 2 - 2 * np.pi * np.arange(shown.size) / shown.size
    place = dict(zip(shown.tolist(), np.column_stack([np.cos(angle), np.sin(angle)])))
    area = 120 + 1400 * values / max(values.max(), 1e-300) / max(1.0, shown.size / 8)
    ax = get_axes(ax, height=5.0)
    edges = graph.adjacency[shown][:, shown].tocoo()
    heaviest = edges.data.max(initial=0) or 1
    there = set(zip(edges.row.tolist(), edges.col.tolist()))
    for i, j, weight in zip(edges.row.tolist(), edges.col.tolist(), edges.data.tolist()):
        u, v = shown[i], shown[j]
        if u == v:
            _self_loop(ax, place[u], np.sqrt(area[u]))
        else:
            both = (j, i) in there  # two arrows between the same nodes must not lie on each other
            _arrow(ax, place[u], place[v], np.sqrt(area[[u, v]]) / 2, 0.5 + 1.2 * weight / heaviest, both)
    points = np.array([place[u] for u in shown])
    ax.scatter(*points.T, s=area[shown], color=ACCENT, alpha=0.85, linewidth=0, zorder=3)
    for u in shown:
        x, y = place[u] * (1 + 0.012 * np.sqrt(area[u]))
        ax.text(
            x, y, short_name(graph.name(u), 16), ha="center", va="center", fontsize=9, color=INK, zorder=4
        )
    ax.set_xlim(-1.6, 1.6)
    ax.set_ylim(-1.6, 1.6)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(
        translated("{shown} of {n} nodes, {m} edges", shown=shown.size, n=n, m=graph.n_edges)
        if shown.size < n
        else translated("{n} nodes, {m} edges", n=n, m=graph.n_edges)
    )
    return ax


@styled
def plot_convergence(*models: Any, ax: Any = None) -> Any:
    """Draw the change in every pass, on a logarithmic scale: a straight line is linear convergence.

    Parameters
    ----------
    *models : fitted PageRank
        Anything with `change` in its `history_`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.graph import PageRank
    >>> edges = {"A": ["B", "C"], "B": ["C"], "C": ["A"]}
    >>> ax = plot_convergence(PageRank().fit(edges), PageRank(algorithm="iteration").fit(edges))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['extrapolation', 'iteration']
    """
    if not models or not all("change" in (getattr(model, "history_", None) or {}) for model in models):
        raise ValueError("plot_convergence needs fitted models with 'change' in their history_.")
    ax = get_axes(ax)
    for model in models:
        change = np.asarray(model.history_["change"], dtype=float)
        shown = np.where(change > 0, change, np.nan)  # 0 has no place on the scale
        ax.plot(
            np.arange(1, change.size + 1),
            shown,
            marker="." if change.size <= 60 else "",
            label=model.algorithm,
        )
    ax.set_yscale("log")
    ax.grid(axis="y")
    ax.legend()
    return label_axes(ax, translated("pass"), translated("change"), type(models[0]).__name__)


def _arrow(
    ax: Any, start: np.ndarray, end: np.ndarray, radii: np.ndarray, width: float, curved: bool
) -> None:
    ax.annotate(
        "",
        xy=end,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": INK,
            "alpha": 0.55,
            "linewidth": width,
            "shrinkA": radii[0],
            "shrinkB": radii[1] + 1,
            "connectionstyle": f"arc3,rad={0.15 if curved else 0.0}",
        },
    )


def _self_loop(ax: Any, at: np.ndarray, diameter: float) -> None:
    """A small circle that leaves a node outwards and comes back to it."""
    x, y = at * (1 + 0.006 * diameter)
    turn = np.linspace(0, 2 * np.pi, 40)
    ax.plot(x + 0.14 * np.cos(turn), y + 0.14 * np.sin(turn), color=INK, alpha=0.55, linewidth=1, zorder=2)


@picture("scores_", "nodes_")
@styled
def _ranking(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The highest scores, from top to bottom."""
    first = model.ranking(BARS)
    ax = get_axes(ax, height=max(2.0, 0.7 + 0.28 * len(first)))
    bars(ax, [str(name) for name, _ in first], np.array([score for _, score in first]))
    return label_axes(ax, "PageRank", "", translated("{k} of {n} nodes", k=len(first), n=model.scores_.size))
