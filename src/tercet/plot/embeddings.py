"""Embeddings and factorisations: points in the plane, distances against dissimilarities, components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.models import _heat, _names, picture
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    MARKERS,
    POINTS,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    short_name,
    styled,
    translated,
)


@styled
def plot_embedding(
    points: Any, labels: Any = None, *, target: Any = None, graph: Any = None, ax: Any = None
) -> Any:
    """Draw the first two coordinates of embedded rows.

    Parameters
    ----------
    points : fitted estimator with `embedding_`, or array of shape (n_samples, n_components)
        The points; of one coordinate, along a line.
    labels : array of shape (n_samples,), optional
        What to write beside each point, of at most 60.
    target : array of shape (n_samples,), optional
        The class of each point, in colours; of more than eight numbers, a range of colours.
    graph : bool or sparse matrix of shape (n_samples, n_samples), optional
        Edges to draw between points; True draws the neighbours that the estimator was fitted by.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_embedding([[0.0, 1.0], [2.0, 3.0]], ["a", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b']
    """
    edges = _edges(points, graph)
    points = finite_array(getattr(points, "embedding_", points), "points")
    if points.ndim != 2 or not points.size:
        raise ValueError(f"points must be of shape (n_samples, n_components); got {points.shape}.")
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    ax = get_axes(ax)
    shown = sample_indices(len(points))
    if edges is not None:
        _draw_edges(ax, points, edges, shown)
    if target is None:
        scatter(ax, points[shown, 0], points[shown, 1], color=ACCENT)
    else:
        _in_colours(ax, points, np.asarray(target), shown)
    if labels is not None and len(points) <= 60:
        for label, (x, y) in zip(labels, points[:, :2]):
            ax.annotate(
                str(label), (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7.5, color=INK
            )
    ax.set_aspect("equal", adjustable="datalim")
    return label_axes(ax, translated("coordinate {k}", k=1), translated("coordinate {k}", k=2))


def _edges(model: Any, graph: Any) -> Any:
    """The edges of a graph as a COO matrix, or None."""
    if graph is None or graph is False:
        return None
    if graph is not True:
        return graph.tocoo()
    search = getattr(model, "nbrs_", None)
    if search is not None:
        return (search.kneighbors_graph() if search.n_neighbors else search.radius_neighbors_graph()).tocoo()
    affinities = getattr(model, "affinity_matrix_", None)
    if affinities is None or not hasattr(affinities, "tocoo"):
        raise ValueError(
            f"graph=True needs an estimator that was fitted by neighbours; got {type(model).__name__}."
        )
    return affinities.tocoo()


def _draw_edges(ax: Any, points: np.ndarray, edges: Any, shown: np.ndarray) -> None:
    from matplotlib.collections import LineCollection

    seen = np.zeros(len(points), dtype=bool)
    seen[shown] = True
    if edges.shape != (len(points),) * 2:
        raise ValueError(f"graph must be of shape ({len(points)}, {len(points)}); got {edges.shape}.")
    there = seen[edges.row] & seen[edges.col] & (edges.row != edges.col)
    ends = points[:, :2][np.column_stack([edges.row[there], edges.col[there]])]
    ax.add_collection(LineCollection(ends, colors=INK, linewidths=0.5, alpha=0.25, zorder=0))


def _in_colours(ax: Any, points: np.ndarray, target: np.ndarray, shown: np.ndarray) -> None:
    """Points in the colours of their classes, or of their numbers where there are many."""
    if target.shape != (len(points),):
        raise ValueError(f"target must be of shape ({len(points)},); got {target.shape}.")
    classes = np.unique(target[shown])
    if len(classes) > len(COLOURS) and target.dtype.kind in "fiu":
        scatter(ax, points[shown, 0], points[shown, 1], c=target[shown], cmap="viridis")
        return
    for k, name in enumerate(classes):
        mine = shown[target[shown] == name]
        look = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k // len(COLOURS) % len(MARKERS)]}
        scatter(ax, points[mine, 0], points[mine, 1], label=short_name(name), **look)
    ax.legend(loc="best", frameon=False)


@styled
def plot_shepard(model: Any, *, ax: Any = None) -> Any:
    """Draw a Shepard diagram: the distances of embedded points over the dissimilarities of their rows.

    Parameters
    ----------
    model : fitted estimator
        With `embedding_` and `dissimilarity_matrix_`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.manifold import ClassicalMDS
    >>> model = ClassicalMDS(1).fit([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    >>> len(plot_shepard(model).collections[0].get_offsets())
    3
    """
    Z = finite_array(model.embedding_, "embedding_")
    first, second = np.triu_indices(len(Z), 1)
    shown = sample_indices(len(first))
    first, second = first[shown], second[shown]
    wanted = np.asarray(model.dissimilarity_matrix_, dtype=float)[first, second]
    found = np.sqrt(((Z[first] - Z[second]) ** 2).sum(axis=1))
    ax = get_axes(ax)
    scatter(ax, wanted, found, color=ACCENT)
    return label_axes(ax, translated("dissimilarity"), translated("distance of the points"))


@picture("embedding_")
def _embedding(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    by_neighbours = hasattr(model, "nbrs_") and len(model.embedding_) <= POINTS
    return plot_embedding(model, graph=by_neighbours or None, ax=ax)


@picture("components_", "reconstruction_err_")
def _components(model: Any, feature_names: Sequence[str] | None, labels: Any, ax: Any) -> Any:
    """The entries of H: which features each component is made of."""
    H = np.asarray(model.components_, dtype=float)
    words = [str(k) for k in range(len(H))]
    names = _names(model, feature_names, H.shape[1])
    return _heat(H, words, names, translated("components H"), translated("component"), ax)
