"""Clusters: where they lie, how well they hold together, how they came about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
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
    short_number,
    styled,
    translated,
)

LEAVES = 40


@styled
def plot_clusters(
    points: Any,
    labels: Any,
    feature_names: Sequence[str] | None = None,
    *,
    colours: dict[Any, int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw points of the plane in the colours of their clusters; -1 is noise, in grey.

    Parameters
    ----------
    points : array of shape (n_samples, 2)
        Two features, or the first two principal components.
    labels : array of shape (n_samples,)
        The cluster of each point.
    feature_names : sequence of two str, optional
        What the axes are.
    colours : dict, optional
        The number of each cluster's colour, as from `match_colours`; by default as the clusters are sorted.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_clusters([[0, 0], [0, 1], [5, 5]], [0, 0, 1])
    >>> [len(dots.get_offsets()) for dots in ax.collections]
    [2, 1]
    """
    points, labels = finite_array(points, "points"), np.asarray(labels)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"points must have two columns; the shape is {points.shape}.")
    check_same_length(points=points, labels=labels)
    ax = get_axes(ax)
    shown = sample_indices(len(points))
    clusters = [label for label in np.unique(labels).tolist() if label != -1]
    if (labels == -1).any():
        noise = points[shown][labels[shown] == -1]
        scatter(ax, *noise.T, color=INK, alpha=0.3, label=translated("noise"))
    place = colours or {label: k for k, label in enumerate(clusters)}
    for label in clusters:
        mine, k = points[shown][labels[shown] == label], place[label]
        marker = MARKERS[k // len(COLOURS) % len(MARKERS)]
        scatter(ax, *mine.T, color=COLOURS[k % len(COLOURS)], marker=marker, label=short_name(label))
    if 1 < len(ax.collections) <= 12:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), title=translated("cluster number"))
    first, second = map(short_name, feature_names or ("", ""))
    return label_axes(ax, first, second, translated("{k} clusters", k=len(clusters)))


@styled
def plot_silhouette(
    values: Any, labels: Any, *, colours: dict[Any, int] | None = None, ax: Any = None
) -> Any:
    """Draw every row's silhouette, cluster by cluster: wide blades are clusters that hold together.

    Parameters
    ----------
    values : array of shape (n_samples,)
        Silhouettes, between -1 and 1.
    labels : array of shape (n_samples,)
        The cluster of each row.
    colours : dict, optional
        As in `plot_clusters`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_silhouette([0.8, 0.6, 0.7], [0, 0, 1])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['0', '1']
    """
    values, labels = finite_array(values, "values"), np.asarray(labels)
    check_same_length(values=values, labels=labels)
    clusters = [label for label in np.unique(labels).tolist() if label != -1]
    if not clusters:
        raise ValueError("labels are all -1: there is no cluster to draw.")
    ax = get_axes(ax)
    gap, foot, middles = 0.02 * len(values), 0.0, []
    place = colours or {label: k for k, label in enumerate(clusters)}
    for label in clusters:
        blade = np.sort(values[labels == label])[::-1]
        height = np.arange(len(blade) + 1)
        # Thousands of rows make the same blade as sixty.
        corner = np.unique(np.linspace(0, len(blade), min(len(blade), 60) + 1).round().astype(int))
        width = np.append(blade, blade[-1])[corner]
        colour = COLOURS[place[label] % len(COLOURS)]
        ax.fill_betweenx(foot + height[corner], 0, width, color=colour, alpha=0.75, linewidth=0, step="post")
        middles.append(foot + len(blade) / 2)
        foot += len(blade) + gap
    mean = float(values[labels != -1].mean())
    ax.axvline(mean, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    ax.set_yticks(middles, [short_name(label) for label in clusters])
    ax.set_ylim(foot, -gap)
    ax.tick_params(axis="y", length=0)
    return label_axes(
        ax,
        translated("silhouette"),
        translated("cluster number"),
        translated("mean {value}", value=short_number(mean)),
    )


def match_colours(labels: Any, reference: Any) -> dict[Any, int]:
    """Number the clusters so that each has the number of the class, or cluster, that it shares most rows with.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        The cluster of each row; -1 is noise.
    reference : array of shape (n_samples,)
        Its class, or its cluster in another picture. Classes are numbered as they are sorted.

    Returns
    -------
    colours : dict
        A number for every cluster, all different; clusters beyond the classes follow after them.

    Examples
    --------
    >>> match_colours([1, 1, 0, 0, 2], ["a", "a", "b", "b", "b"])
    {0: 1, 1: 0, 2: 2}
    """
    from scipy.optimize import linear_sum_assignment

    labels, reference = np.asarray(labels), np.asarray(reference)
    check_same_length(labels=labels, reference=reference)
    clusters, cluster = np.unique(labels[labels != -1], return_inverse=True)
    classes, of_class = np.unique(reference[labels != -1], return_inverse=True)
    numbered = np.searchsorted(np.unique(reference), classes)  # noise may have taken all rows of a class
    shared = np.zeros((len(clusters), len(classes)), dtype=int)
    np.add.at(shared, (cluster, of_class), 1)
    matched = {i: int(numbered[j]) for i, j in zip(*linear_sum_assignment(-shared)) if shared[i, j]}
    beyond = count(len(np.unique(reference)))
    return {label: matched[k] if k in matched else next(beyond) for k, label in enumerate(clusters.tolist())}


@styled
def plot_dendrogram(
    model: Any,
    *,
    leaves: int = LEAVES,
    n_clusters: int | None = None,
    height: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw the last mergers of a hierarchical clustering; a leaf in brackets stands for so many rows.

    Parameters
    ----------
    model : fitted estimator
        With `children_` and, if it has them, `distances_`: agglomerative, or divisive.
    leaves : int, default=40
        How many leaves to draw at most.
    n_clusters : int, optional
        Where to draw the cut: into so many clusters; by default as many as the model has.
    height : float, optional
        In its place, the height of the cut.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(children_=[[0, 1], [2, 3]], distances_=[1.0, 3.0])
    >>> ax = plot_dendrogram(model)
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['2', '0', '1']
    """
    from matplotlib.collections import LineCollection
    from scipy.cluster.hierarchy import dendrogram

    children = np.asarray(model.children_, dtype=int).reshape(-1, 2)
    if not len(children):
        raise ValueError("children_ is empty: nothing was merged.")
    heights = getattr(model, "distances_", None)
    levels = np.arange(1.0, len(children) + 1) if heights is None else np.asarray(heights)
    merges, words = _top(children, levels, leaves, getattr(model, "leaves_", np.arange(len(children) + 1)))
    drawn = dendrogram(merges, no_plot=True, labels=words)
    groups = n_clusters or getattr(model, "n_clusters_", None) or 1
    if height is not None:
        over = merges[:, 2] >= height
        groups = len(merges) + 1 - int(np.argmax(over)) if over.any() else 1
    cut = merges[-groups + 1 :, 2].min() if 1 < groups <= len(merges) + 1 else np.inf
    ax = get_axes(ax)
    lines = [np.column_stack(line) for line in zip(drawn["icoord"], drawn["dcoord"])]
    colours = [INK if line[:, 1].max() >= cut else ACCENT for line in lines]
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=1.1))
    if np.isfinite(cut):
        below = merges[-groups, 2] if groups < len(merges) + 1 else 0.0
        ax.axhline(
            (cut + below) / 2 if height is None else height, color=SECOND, linewidth=1, linestyle=(0, (4, 3))
        )
    ax.set_xticks(
        5 + 10 * np.arange(len(words)), drawn["ivl"], rotation=90 if len(words) > 12 else 0, fontsize=7
    )
    ax.set(xlim=(0, 10 * len(words)), ylim=(0, 1.04 * merges[:, 2].max()))
    ax.tick_params(axis="x", length=0)
    ax.spines["bottom"].set_visible(False)
    return label_axes(
        ax,
        "",
        translated("distance of the merger") if heights is not None else translated("order of the merger"),
    )


def _top(
    children: np.ndarray, heights: np.ndarray, leaves: int, leaf_of_row: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """The last mergers as scipy's linkage matrix, with the names of what they start from."""
    n = len(children) + 1
    _, row, counts = np.unique(leaf_of_row, return_index=True, return_counts=True)
    size = np.concatenate([counts, np.ones(n - 1, dtype=int)])
    for k, (a, b) in enumerate(children):
        size[n + k] = size[a] + size[b]
    first = max(0, len(children) - leaves + 1)
    top = children[first:]
    starts = np.setdiff1d(top, np.arange(n + first, 2 * n - 1))
    number_of = {int(node): k for k, node in enumerate([*starts, *range(n + first, 2 * n - 1)])}
    leaves_in = [1] * len(starts)
    merges = []
    for (a, b), height in zip(top.tolist(), heights[first:]):
        i, j = number_of[a], number_of[b]
        leaves_in.append(leaves_in[i] + leaves_in[j])
        merges.append([i, j, height, leaves_in[-1]])
    words = [str(row[node]) if size[node] == 1 else f"({size[node]})" for node in starts.tolist()]
    return np.asarray(merges, dtype=float), words


def plane_of_rows(X: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """A sample of the rows without missing and infinite numbers as points of the plane, and their labels.

    One column is drawn over the numbers of the rows, two as they are, and more on their first two principal
    components.

    Examples
    --------
    >>> plane_of_rows(np.array([[3.0], [4.0]]), [0, -1])
    (array([[0., 3.],
           [1., 4.]]), array([ 0, -1]))
    """
    from scipy import sparse

    labels = np.asarray(labels)
    shown = np.flatnonzero(labels >= -1)
    shown = shown[sample_indices(len(shown))]
    rows = X[shown].toarray() if sparse.issparse(X) else np.asarray(X)[shown]
    rows = rows.astype(float)
    if rows.shape[1] == 1:
        return np.column_stack([shown, rows]), labels[shown]
    if rows.shape[1] > 2:
        scaled = rows / max(float(np.abs(rows).max()), 1e-300)  # squares must be numbers
        centred = scaled - scaled.mean(axis=0)
        rows = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    return rows, labels[shown]


@styled
def plot_reachability(model: Any, *, ax: Any = None) -> Any:
    """Draw the reachability of the rows in the order of OPTICS: valleys are clusters, in their colours.

    Parameters
    ----------
    model : fitted estimator
        With `reachability_`, `ordering_` and `labels_`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.cluster import OPTICS
    >>> ax = plot_reachability(OPTICS(min_samples=2).fit([[0.0], [1.0], [5.0], [6.0]]))
    >>> ax.get_ylabel()
    'reachability'
    """
    order = np.asarray(model.ordering_)
    heights, labels = np.asarray(model.reachability_, dtype=float)[order], np.asarray(model.labels_)[order]
    known = np.isfinite(heights)
    if not known.any():
        raise ValueError("reachability_ is infinite: no row is near another one.")
    ax = get_axes(ax)
    shown = sample_indices(len(order))
    # What begins a part of the ordering is reached from nowhere: as high as the plot.
    top = 1.05 * heights[known].max() or 1.0
    bars = np.where(known, heights, top)[shown]
    clusters = [label for label in np.unique(labels).tolist() if label != -1]
    for label in [-1, *clusters]:
        mine = labels[shown] == label
        if mine.any():
            colour = INK if label == -1 else COLOURS[label % len(COLOURS)]
            ax.vlines(
                shown[mine], 0, bars[mine], colors=colour, alpha=0.35 if label == -1 else 0.9, linewidth=1
            )
    ax.set(xlim=(-1, len(order)), ylim=(0, top))
    title = translated("{k} clusters", k=len(clusters))
    return label_axes(ax, translated("place in the ordering"), translated("reachability"), title)
