"""Dependencies: between columns, as a graph; and of the target on columns, by the scores of a selector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.comparison import bars
from tercet.plot.models import picture
from tercet.plot.styling import ACCENT, INK, get_axes, label_axes, short_name, styled, translated

MOST = 40  # columns; a picture of more is a tangle


@styled
def plot_dependencies(
    model: Any, feature_names: Sequence[str] | None = None, *, ax: Any = None, most: int = MOST
) -> Any:
    """Draw an arrow from every column to those that depend on it; the thicker, the larger the mutual information.

    Parameters
    ----------
    model : fitted TAN or KDB
        Anything with `edges_` and `conditional_mutual_information_`.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    ax : matplotlib Axes, optional
        Where to draw.
    most : int, default=40
        Of more columns, only those of the strongest arrows are drawn.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.naive_bayes import TAN
    >>> model = TAN().fit([["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"]], [0, 0, 1, 1])
    >>> ax = plot_dependencies(model, ["first", "second"])
    >>> sorted(text.get_text() for text in ax.texts if text.get_text())
    ['first', 'second']
    """
    edges = np.asarray(model.edges_, dtype=int).reshape(-1, 2)
    information = np.asarray(model.conditional_mutual_information_, dtype=float)
    strength = information[edges[:, 0], edges[:, 1]]
    d = len(information)
    if d > most:
        order = np.argsort(-strength, kind="stable")
        kept: set[int] = set()
        for k in order:
            if len(kept | set(edges[k].tolist())) <= most:
                kept |= set(edges[k].tolist())
        inside = np.array([set(edge.tolist()) <= kept for edge in edges], dtype=bool)
        edges, strength = edges[inside], strength[inside]
    shown = sorted({*edges.ravel().tolist()}) if d > most else list(range(d))
    place = _layers(shown, edges)
    given = feature_names if feature_names is not None else getattr(model, "feature_names_in_", None)
    names = [f"x{j}" for j in range(d)] if given is None else list(given)
    depth = max(level for _, level in place.values()) + 1
    ax = get_axes(ax, height=max(2.2, 0.8 + 0.62 * depth))
    top = max(strength.max(initial=0.0), 1e-12)
    for (a, b), value in zip(edges.tolist(), strength):
        ax.annotate(
            "",
            xy=_at(place[b]),
            xytext=_at(place[a]),
            arrowprops={
                "arrowstyle": "-|>",
                "color": ACCENT,
                "alpha": 0.35 + 0.65 * value / top,
                "linewidth": 0.6 + 2.6 * value / top,
                "shrinkA": 11,
                "shrinkB": 13,
            },
        )
    for j in shown:
        x, y = _at(place[j])
        box = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": INK, "linewidth": 0.8}
        ax.text(x, y, short_name(names[j], 20), ha="center", va="center", fontsize=8, bbox=box, color=INK)
    ax.set_xlim(-0.04, 1.04)
    ax.set_ylim(-depth + 0.55, 0.45)
    ax.set_axis_off()
    ax.set_title(translated("which column leans on which, within the classes"))
    return ax


def _layers(shown: list[int], edges: np.ndarray) -> dict[int, tuple[float, int]]:
    """A place across, from 0 to 1, and a layer down for each column: children below all of their parents."""
    level = dict.fromkeys(shown, 0)
    for _ in shown:  # no path is longer
        for a, b in edges.tolist():
            level[b] = max(level[b], level[a] + 1)
    above: dict[int, list[int]] = {j: [] for j in shown}
    for a, b in edges.tolist():
        above[b].append(a)
    place: dict[int, tuple[float, int]] = {}
    for depth in range(max(level.values(), default=0) + 1):
        row = [j for j in shown if level[j] == depth]
        # Children stand near the middle of their parents, so that few arrows cross.
        row.sort(key=lambda j: (np.mean([place[p][0] for p in above[j]]) if above[j] else 0.0, j))
        for k, j in enumerate(row):
            place[j] = ((k + 0.5) / len(row), depth)
    return place


def _at(place: tuple[float, int]) -> tuple[float, float]:
    return place[0], -float(place[1])


@picture("edges_", "conditional_mutual_information_")
def _dependencies(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_dependencies(model, feature_names, ax=ax) if len(model.edges_) else None


@picture("scores_", "n_features_to_select")
@styled
def _column_scores(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """Scores of columns, from the best to the worst."""
    order = model.ranking()[:MOST]
    names = getattr(model, "feature_names_in_", None) if feature_names is None else feature_names
    names = [f"x{j}" for j in range(len(model.scores_))] if names is None else names
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(order), 3))
    bars(ax, [str(names[j]) for j in order], np.asarray(model.scores_, dtype=float)[order])
    return label_axes(ax, translated("score of the column"))
