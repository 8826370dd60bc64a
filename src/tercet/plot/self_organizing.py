"""Self-organising networks: the grid of a map, its distances, hits and features, and the categories of ART."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.learning import film_picture
from tercet.plot.models import _heat, _names, picture
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
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

PLANES = 12  # features of a picture of component planes


@styled
def plot_u_matrix(model: Any, *, ax: Any = None) -> Any:
    """Draw the U-matrix of a map: the mean distance of each unit from its neighbours on the grid.

    Units in a cluster are near each other; a ridge of large distances parts two clusters.

    Parameters
    ----------
    model : fitted SOM
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import SOM
    >>> X = [[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]]
    >>> ax = plot_u_matrix(SOM(4).fit(X))
    >>> int(ax.collections[0].get_array().argmax()) in (1, 2)
    True
    """
    ax = get_axes(ax)
    cells = _cells(ax, model, model.u_matrix())
    ax.figure.colorbar(cells, ax=ax, shrink=0.8).outline.set_visible(False)
    return label_axes(ax, title=translated("U-matrix"))


@styled
def plot_component_planes(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    features: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the component planes of a map: the values of one feature over the grid, for each of several features.

    Planes that look alike belong to features that depend on each other.

    Parameters
    ----------
    model : fitted SOM
    feature_names : sequence of str, optional
        The columns it was fitted on.
    features : sequence of int, optional
        Which features to draw; by default the first twelve.
    ax : matplotlib Axes, optional
        Where to draw; the planes share its place.

    Returns
    -------
    ax : matplotlib Axes
        The planes are its `child_axes`.

    Examples
    --------
    >>> from tercet.neural_network import SOM
    >>> X = [[0.0, 0.0, 1.0], [0.1, 0.0, 1.0], [5.0, 5.0, 0.0], [5.1, 5.0, 0.0]]
    >>> ax = plot_component_planes(SOM((2, 2)).fit(X), ["a", "b", "c"])
    >>> [plane.get_title(loc="left") for plane in ax.child_axes]
    ['a', 'b', 'c']
    """
    d = model.weights_.shape[2]
    names = _names(model, feature_names, d)
    chosen = list(range(min(d, PLANES))) if features is None else [int(k) for k in features]
    unknown = [k for k in chosen if not 0 <= k < d]
    if unknown or not chosen:
        raise ValueError(f"features must be numbers from 0 to {d - 1}; got {features!r}.")
    across = int(np.ceil(np.sqrt(len(chosen))))
    down = -(-len(chosen) // across)
    ax = get_axes(ax, height=2.1 * down)
    ax.set_axis_off()
    for k, feature in enumerate(chosen):
        left, top = k % across, k // across
        box = [left / across, 1 - (top + 0.88) / down, 0.88 / across, 0.8 / down]
        plane = ax.inset_axes(box)
        _cells(plane, model, model.weights_[:, :, feature])
        plane.set_title(short_name(names[feature], 16), loc="left")
    return ax


@styled
def plot_hit_map(model: Any, X: Any = None, y: Any = None, *, ax: Any = None) -> Any:
    """Draw how many rows each unit of a map has won, as the areas of discs.

    Parameters
    ----------
    model : fitted SOM
    X : array of shape (n_samples, n_features), optional
        The rows to count; by default those of the fit.
    y : array of shape (n_samples,), optional
        Their classes: a disc gets the colour of the most frequent one.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import SOM
    >>> X = [[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0]]
    >>> ax = plot_hit_map(SOM((2, 2)).fit(X), X, ["low", "low", "high", "high"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['high', 'low']
    """
    hits = np.asarray(model.hits_ if X is None else model.hit_map(X), dtype=float).ravel()
    ax = get_axes(ax)
    _cells(ax, model, None)
    groups: list[tuple[str, str, np.ndarray]] = [("", ACCENT, np.flatnonzero(hits))]
    if y is not None:
        if X is None:
            raise ValueError("y needs X, the rows that the classes belong to.")
        y = np.asarray(y)
        check_same_length(X=X, y=y)
        classes, codes = np.unique(y, return_inverse=True)
        counts = np.zeros((hits.size, len(classes)))
        np.add.at(counts, (model.predict(X), codes), 1)
        leader = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
        groups = [
            (short_name(name), COLOURS[k % len(COLOURS)], np.flatnonzero(leader == k))
            for k, name in enumerate(classes)
        ]
    places, most = _places(model), hits.max(initial=0.0) or 1.0
    largest = (140 / max(*model.weights_.shape[:2], 6)) ** 2  # discs of neighbours do not overlap
    for name, colour, units in groups:
        areas = largest * (0.1 + 0.9 * hits[units] / most)
        ax.scatter(*places[units].T, s=areas, color=colour, label=name, linewidths=0, zorder=3)
    if y is not None:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return label_axes(ax, title=translated("rows of the units"))


@styled
def plot_som_grid(
    model: Any,
    X: Any = None,
    y: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    columns: Sequence[int] = (0, 1),
    ax: Any = None,
) -> Any:
    """Draw the grid of a map in the plane of two features: units joined to their neighbours, and the rows.

    Parameters
    ----------
    model : fitted SOM
    X : array of shape (n_samples, n_features), optional
        Rows to draw.
    y : array of shape (n_samples,), optional
        Their classes, for colour.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    columns : two ints, default=(0, 1)
        Which features to draw.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import SOM
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> ax = plot_som_grid(SOM((2, 3)).fit(X), X)
    >>> len(ax.collections[-2].get_segments()), len(ax.collections[-1].get_offsets())
    (7, 6)
    """
    from matplotlib.collections import LineCollection

    d = model.weights_.shape[2]
    names = _names(model, feature_names, d)
    chosen = [int(k) for k in columns]
    if len(chosen) != 2 or not all(0 <= k < d for k in chosen):
        raise ValueError(f"columns must be two numbers from 0 to {d - 1}; got {columns!r}.")
    ax = get_axes(ax)
    if X is not None:
        points = finite_array(X, "X", missing=True)
        shown = sample_indices(len(points))
        _rows(ax, points[shown][:, chosen], None if y is None else np.asarray(y)[shown])
    W = model.weights_.reshape(-1, d)[:, chosen].astype(float)
    segments = [W[list(pair)] for pair in _edges(model)]
    ax.add_collection(LineCollection(segments, colors=INK, linewidths=0.9, alpha=0.8, zorder=3))
    ax.scatter(*W.T, s=18, color=INK, edgecolors="white", linewidths=0.5, zorder=4)
    ax.autoscale_view()
    first, second = (short_name(names[k]) for k in chosen)
    return label_axes(ax, first, second, type(model).__name__)


@styled
def plot_category_boxes(
    model: Any,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    columns: Sequence[int] = (0, 1),
    ax: Any = None,
) -> Any:
    """Draw the categories of fuzzy ART as boxes in the plane of two features, with the rows in their colours.

    Parameters
    ----------
    model : fitted FuzzyART
    X : array of shape (n_samples, n_features), optional
        Rows to draw.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    columns : two ints, default=(0, 1)
        Which features to draw.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import FuzzyART
    >>> X = [[0.1, 0.1], [0.2, 0.1], [0.8, 0.9], [0.9, 0.8]]
    >>> len(plot_category_boxes(FuzzyART(vigilance=0.8).fit(X), X).patches)
    2
    """
    from matplotlib.patches import Rectangle

    low, high = model.boxes()
    names = _names(model, feature_names, low.shape[1])
    chosen = [int(k) for k in columns]
    if len(chosen) != 2 or not all(0 <= k < low.shape[1] for k in chosen):
        raise ValueError(f"columns must be two numbers from 0 to {low.shape[1] - 1}; got {columns!r}.")
    ax = get_axes(ax)
    if X is not None:
        points = finite_array(X, "X")
        shown = sample_indices(len(points))
        labels = model.predict(points[shown])
        colours = [COLOURS[k % len(COLOURS)] if k >= 0 else INK for k in labels]
        scatter(ax, *points[shown][:, chosen].T, color=colours)
    for k, (corner, opposite) in enumerate(zip(low[:, chosen], high[:, chosen])):
        colour = COLOURS[k % len(COLOURS)]
        sides = opposite - corner
        ax.add_patch(Rectangle(corner, *sides, facecolor=colour, edgecolor=colour, alpha=0.3, linewidth=1.5))
    ax.autoscale_view()
    first, second = (short_name(names[k]) for k in chosen)
    return label_axes(ax, first, second, type(model).__name__)


def _is_map(model: Any) -> bool:
    return hasattr(model, "u_matrix") and hasattr(model, "weights_")


def _is_flat_map(model: Any) -> bool:
    return _is_map(model) and model.weights_.shape[2] == 2


def _has_boxes(model: Any) -> bool:
    return hasattr(model, "boxes") and getattr(model, "complement", False) and hasattr(model, "weights_")


@picture(test=_is_map)
def _map(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The grid itself for two features, else the U-matrix."""
    if _is_flat_map(model):
        return plot_som_grid(model, feature_names=feature_names, ax=ax)
    return plot_u_matrix(model, ax=ax)


@picture(test=_has_boxes)
def _fuzzy_categories(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """Boxes for two features, else their middles."""
    low, high = model.boxes()
    if low.shape[1] == 2:
        return plot_category_boxes(model, feature_names=feature_names, ax=ax)
    middle = (low + high) / 2
    words, names = [str(k) for k in range(len(low))], _names(model, feature_names, low.shape[1])
    title = translated("middles of the categories, from their mean")
    return _heat(middle - middle.mean(axis=0), words, names, title, translated("category"), ax)


@picture(test=lambda model: type(model).__name__ == "FuzzyART" and not _has_boxes(model))
def _fuzzy_weights(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    words, names = (
        [str(k) for k in range(len(model.weights_))],
        _names(model, feature_names, model.n_features_in_),
    )
    return _heat(
        model.weights_, words, names, translated("weights of the categories"), translated("category"), ax
    )


@picture("templates_")
def _templates(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    table = model.templates_.astype(float)
    words, names = [str(k) for k in range(len(table))], _names(model, feature_names, table.shape[1])
    return _heat(table, words, names, translated("templates"), translated("category"), ax)


@film_picture(lambda model, X: _is_map(model))
def _film_of_map(model: Any, X: Any, y: Any, ax: Any) -> Any:
    if X is not None and _is_flat_map(model):
        return plot_som_grid(model, X, y, ax=ax)
    return _map(model, None, None, ax)


@film_picture(lambda model, X: _has_boxes(model))
def _film_of_boxes(model: Any, X: Any, y: Any, ax: Any) -> Any:
    if model.n_features_in_ == 2 and X is not None:
        return plot_category_boxes(model, X, ax=ax)
    return _fuzzy_categories(model, None, None, ax)


@film_picture(lambda model, X: hasattr(model, "templates_"))
def _film_of_templates(model: Any, X: Any, y: Any, ax: Any) -> Any:
    return _templates(model, None, None, ax)


def _rows(ax: Any, points: np.ndarray, y: Any) -> None:
    """The rows, in the colours of their classes."""
    if y is None:
        scatter(ax, *points.T, color=ACCENT)
        return
    for k, name in enumerate(np.unique(y)):
        scatter(ax, *points[y == name].T, color=COLOURS[k % len(COLOURS)], label=short_name(name))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _places(model: Any) -> np.ndarray:
    """Where the units are on the page; the first row is at the top."""
    rows, columns = model.weights_.shape[:2]
    i, j = np.divmod(np.arange(rows * columns), columns)
    hexagonal = model.topology == "hexagonal"
    return np.column_stack([j + 0.5 * (i % 2) * hexagonal, -i * (np.sqrt(0.75) if hexagonal else 1.0)])


def _edges(model: Any) -> np.ndarray:
    """Pairs of units at distance 1 on the grid."""
    grid = model._fitted_grid()
    pairs = []
    for some in grid.blocks():
        first, second = np.nonzero(np.abs(grid.squared_distances(some) - 1.0) < 1e-6)
        pairs.append(np.column_stack([first + some.start, second]))
    found = np.vstack(pairs)
    return found[found[:, 0] < found[:, 1]]


def _cells(ax: Any, model: Any, values: np.ndarray | None) -> Any:
    """A square or hexagon for each unit, coloured by its value."""
    from matplotlib.collections import PolyCollection

    if model.topology == "hexagonal":
        angles = np.pi / 6 + np.arange(6) * np.pi / 3
        corners = np.column_stack([np.cos(angles), np.sin(angles)]) / np.sqrt(3)
    else:
        corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    shapes = _places(model)[:, None] + corners
    if values is None:
        cells = PolyCollection(list(shapes), facecolors="none", edgecolors=INK, linewidths=0.4, alpha=0.4)
    else:
        cells = PolyCollection(list(shapes), cmap="viridis", linewidths=0.2)
        cells.set_array(np.asarray(values, dtype=float).ravel())
        cells.set_edgecolor("face")
    ax.add_collection(cells)
    ax.autoscale_view()
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return cells
