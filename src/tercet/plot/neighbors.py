"""Neighbours: the regions of a kd-tree, the visits of a search, the Voronoi cells of the nearest neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    MARKERS,
    SECOND,
    check_same_length,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    short_name,
    styled,
    translated,
)

NUMBERED = 60  # steps of a search; more numbers than this are a smudge


@styled
def plot_kd_tree(
    tree: Any,
    query: Any = None,
    k: int = 1,
    feature_names: Sequence[str] | None = None,
    *,
    ax: Any = None,
) -> Any:
    """Draw a balanced kd-tree of points of the plane: each node's cut through its rectangle.

    With a query, the points that its search looks at are numbered in their order, and the ball around it
    reaches to the k-th neighbour; what the search leaves out is pale.

    Parameters
    ----------
    tree : BalancedKDTree
        A tree of rows with two coordinates.
    query : array of shape (2,), optional
        What to search for.
    k : int, default=1
        How many neighbours.
    feature_names : sequence of two str, optional
        What the axes are.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neighbors import BalancedKDTree
    >>> tree = BalancedKDTree([[2, 3], [5, 4], [9, 6], [4, 7], [8, 1], [7, 2]])
    >>> ax = plot_kd_tree(tree, query=[9, 2])
    >>> [text.get_text() for text in ax.texts]
    ['1', '2', '3']
    """
    from matplotlib.collections import LineCollection

    X = finite_array(tree.X, "the rows of the tree")
    if X.shape[1] != 2:
        raise ValueError(f"A picture needs rows with two coordinates; those of the tree have {X.shape[1]}.")
    ax = get_axes(ax)
    q = None if query is None else finite_array(query, "query")
    everything = X if q is None else np.vstack([X, q])
    low, high = everything.min(axis=0), everything.max(axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    ends = np.array([low - margin, high + margin])
    regions, cuts = tree.regions(), []
    for node, row in enumerate(tree.row):
        axis = int(tree.axis[node])
        cut = np.clip(regions[node], ends[0], ends[1])
        cut[:, axis] = X[row, axis]
        cuts.append(cut)
    colours = [ACCENT if axis == 0 else COLOURS[2] for axis in tree.axis]
    widths = np.maximum(1.8 - 0.3 * _depths(tree), 0.5)
    ax.add_collection(LineCollection(cuts, colors=colours, linewidths=widths, zorder=1))
    if q is None:
        scatter(ax, *X.T, color=INK, zorder=2)
    else:
        _draw_search(ax, tree, X, q, k)
    ax.set(xlim=ends[:, 0], ylim=ends[:, 1])
    wide, tall = ends[1] - ends[0]
    if 0.2 < wide / tall < 5:
        ax.set_aspect("equal")  # a ball is round
    first, second = map(short_name, feature_names or ("x1", "x2"))
    return label_axes(ax, first, second)


@styled
def plot_cells(
    X: Any,
    y: Any,
    feature_names: Sequence[str] | None = None,
    *,
    bounds: Any = None,
    metric: Any = "euclidean",
    p: float = 2,
    ax: Any = None,
    resolution: int = 300,
) -> Any:
    """Draw the cells of the nearest neighbour: around each point, what is nearer to it than to any other.

    Parameters
    ----------
    X : array of shape (n_samples, 2)
        The points.
    y : array of shape (n_samples,)
        Their labels, which hold in their cells.
    feature_names : sequence of two str, optional
        What the axes are.
    bounds : ((x_low, x_high), (y_low, y_high)), optional
        The frame; by default around the points.
    metric, p : str or callable, float
        The distance, as in `NearestNeighbors`. Euclidean cells are polygons; others are drawn on a grid.
    ax : matplotlib Axes, optional
        Where to draw.
    resolution : int, default=300
        Points of that grid along each side.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_cells([[1, 1], [3, 1], [2, 3]], ["a", "b", "b"])
    >>> len(ax.collections[0].get_paths())
    3
    """
    X, y = finite_array(X, "X"), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_cells draws two features; X has shape {X.shape}.")
    check_same_length(X=X, y=y)
    ax = get_axes(ax)
    classes, labels = np.unique(y, return_inverse=True)
    colours = [COLOURS[j % len(COLOURS)] for j in range(len(classes))]
    if metric in ("euclidean", "l2") or (metric == "minkowski" and p == 2):
        _draw_polygons(ax, X, labels, colours, bounds)
    else:
        _draw_grid(ax, X, labels, colours, bounds, resolution=resolution, metric=metric, p=p)
    shown = sample_indices(len(X))
    for j, label in enumerate(classes.tolist()):
        mine = X[shown][labels[shown] == j]
        marker = MARKERS[j // len(COLOURS) % len(MARKERS)]
        scatter(ax, *mine.T, color=colours[j], marker=marker, label=short_name(label), zorder=3)
    if 1 < len(classes) <= 12:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    first, second = map(short_name, feature_names or ("x1", "x2"))
    return label_axes(ax, first, second)


def _draw_polygons(ax: Any, X: np.ndarray, labels: np.ndarray, colours: list[str], bounds: Any) -> None:
    """The Voronoi cells of the Euclidean distance."""
    from matplotlib.collections import PolyCollection

    from tercet.neighbors import voronoi_cells

    found = voronoi_cells(X, labels, bounds)
    assert found.labels is not None
    here = [(shape, colours[j]) for shape, j in zip(found.polygons, found.labels) if len(shape)]
    shapes, paint = zip(*here)
    ax.add_collection(PolyCollection(shapes, facecolors=paint, alpha=0.22, linewidths=0))
    ax.add_collection(PolyCollection(shapes, facecolors="none", edgecolors=INK, linewidths=0.5))
    ax.set(xlim=found.bounds[0], ylim=found.bounds[1])


def _draw_grid(
    ax: Any, X: np.ndarray, labels: np.ndarray, colours: list[str], bounds: Any, **distance: Any
) -> None:
    """The cells of any distance, from the nearest neighbour of every point of a grid."""
    from matplotlib.colors import ListedColormap

    from tercet.neighbors import voronoi_labels

    grid = voronoi_labels(X, np.arange(len(X)), bounds, **distance)
    frame = {"extent": (grid.x[0], grid.x[-1], grid.y[0], grid.y[-1]), "origin": "lower", "aspect": "auto"}
    look = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": len(colours) - 0.5}
    ax.imshow(labels[grid.labels], alpha=0.22, interpolation="none", **look, **frame)
    edge = np.zeros(grid.labels.shape, dtype=bool)
    edge[:, 1:] |= grid.labels[:, 1:] != grid.labels[:, :-1]
    edge[1:] |= grid.labels[1:] != grid.labels[:-1]
    lines = np.ma.masked_where(~edge, edge)
    ax.imshow(lines, cmap=ListedColormap([INK]), alpha=0.6, interpolation="none", **frame)


def _depths(tree: Any) -> np.ndarray:
    depth = np.zeros(len(tree.row))
    for node in range(len(tree.row)):
        for child in (tree.left[node], tree.right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    return depth


def _draw_search(ax: Any, tree: Any, X: np.ndarray, q: np.ndarray, k: int) -> None:
    """The query, its ball, and the points in the order of the visits."""
    distances, rows, trace = tree.query(q, k, trace=True)
    rest = np.setdiff1d(np.arange(len(X)), trace.visited)
    if len(rest):
        scatter(ax, *X[rest].T, color=INK, alpha=0.3, zorder=2)
    scatter(ax, *X[trace.visited].T, color=INK, zorder=3, label=translated("visited"))
    scatter(ax, *X[rows].T, color=SECOND, s=40, zorder=4, label=translated("neighbours"))
    ax.plot(
        *q, marker="*", markersize=11, color=SECOND, linestyle="none", zorder=5, label=translated("query")
    )
    ax.plot(*(q[:, None] + distances[-1] * _ball(tree.p)), color=SECOND, linewidth=1, linestyle=(0, (4, 3)))
    for step, row in enumerate(trace.visited[:NUMBERED], start=1):
        ax.annotate(str(step), X[row], xytext=(4, 4), textcoords="offset points", fontsize=8)
    ax.set_title(translated("{n} of {m} points visited", n=len(trace.visited), m=len(X)))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _ball(p: float) -> np.ndarray:
    """The boundary of the unit ball of an L_p distance in the plane."""
    angle = np.linspace(0, 2 * np.pi, 181)
    rim = np.array([np.cos(angle), np.sin(angle)])
    return rim / np.linalg.norm(rim, ord=p, axis=0)
