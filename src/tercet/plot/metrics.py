"""Learned metrics: the points at equal distances, as ellipses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.models import _names, picture
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    short_name,
    styled,
    translated,
)

RINGS = (1.0, 2.0)  # of distances


@styled
def plot_metric(
    model: Any,
    X: Any = None,
    y: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    columns: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw a learned metric: ellipses of points at one and at two units of distance from a centre.

    A short axis is a direction that counts for much. The dashed circle is the Euclidean distance, with the area
    of the inner ellipse.

    Parameters
    ----------
    model : fitted estimator
        With `get_mahalanobis_matrix`.
    X : array of shape (n_samples, n_features), optional
        Rows to draw; the ellipses are around the mean of each class, and in units of their spread.
    y : array of shape (n_samples,), optional
        Their labels.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    columns : two ints, optional
        Which columns to draw; by default those that count for most. The others are equal on an ellipse.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.metric_learning import MMC
    >>> X = [[0.0, 0.0], [0.2, 2.0], [1.0, 0.0], [1.2, 2.0]]
    >>> model = MMC().fit(X, [0, 0, 1, 1])
    >>> len(plot_metric(model, X, [0, 0, 1, 1]).patches)
    5
    """
    M = np.asarray(model.get_mahalanobis_matrix(), dtype=float)
    d = len(M)
    if d < 2:
        raise ValueError("plot_metric needs a metric of at least two features; got 1.")
    points = None if X is None else finite_array(X, "X")
    if points is not None and (points.ndim != 2 or points.shape[1] != d):
        raise ValueError(f"X must have the {d} columns of the metric; got the shape {points.shape}.")
    chosen = _heaviest(M, points) if columns is None else [int(c) % d for c in columns]
    if len(chosen) != 2:
        raise ValueError(f"columns must be two; got {columns!r}.")
    names, ax = _names(model, feature_names, d), get_axes(ax)
    plane, unit = M[np.ix_(chosen, chosen)], 1.0
    centres = [np.zeros(2)]
    if points is not None:
        rows = points[:, chosen]
        labels = np.zeros(len(rows), dtype=int) if y is None else np.asarray(y)
        classes = np.unique(labels)
        shown = sample_indices(len(rows))
        for k, label in enumerate(classes):
            mine = shown[labels[shown] == label] if len(classes) > 1 else shown
            scatter(ax, *rows[mine].T, color=COLOURS[k % len(COLOURS)], alpha=0.5)
        centres = [rows[labels == label].mean(axis=0) for label in classes]
        spread = rows - rows.mean(axis=0)
        unit = np.sqrt(float(np.einsum("ij,jk,ik->i", spread, plane, spread).mean())) / 2
    for k, centre in enumerate(centres):
        colour = COLOURS[k % len(COLOURS)] if len(centres) > 1 else ACCENT
        for ring in RINGS:
            ax.add_patch(_ellipse(centre, plane, ring * (unit or 1.0), colour))
        ax.plot(*centre, marker="+", color=INK)
    _add_circle(ax, centres[0], plane, unit or 1.0)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    title = translated("points at equal distances; dashed: the Euclidean distance")
    return label_axes(ax, short_name(names[chosen[0]]), short_name(names[chosen[1]]), title)


def _heaviest(M: np.ndarray, points: np.ndarray | None) -> list[int]:
    """The two columns that distances are made of: weights in units of the columns' spread, where it is known."""
    weights = np.diagonal(M) * (1.0 if points is None else points.var(axis=0))
    return sorted(np.argsort(-weights, kind="stable")[:2].tolist())


def _axes(plane: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Half axes of the points at a distance, the shortest last, and their directions; at most 20 to 1."""
    values, vectors = np.linalg.eigh(plane)
    top = max(float(values[-1]), np.finfo(float).tiny)
    return radius / np.sqrt(np.maximum(values, top / 400)), vectors


def _ellipse(centre: np.ndarray, plane: np.ndarray, radius: float, colour: str) -> Any:
    from matplotlib.patches import Ellipse

    (long, short), vectors = _axes(plane, radius)
    angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
    middle = float(centre[0]), float(centre[1])
    return Ellipse(middle, 2 * long, 2 * short, angle=angle, facecolor=colour, edgecolor=colour, alpha=0.18)


def _add_circle(ax: Any, centre: np.ndarray, plane: np.ndarray, radius: float) -> None:
    from matplotlib.patches import Circle

    (long, short), _ = _axes(plane, radius)
    middle = float(centre[0]), float(centre[1])
    circle = Circle(middle, float(np.sqrt(long * short)), fill=False, linestyle="--", edgecolor=INK)
    ax.add_patch(circle)


@picture(
    test=lambda model: hasattr(model, "get_mahalanobis_matrix") and getattr(model, "n_features_in_", 0) > 1
)
def _metric(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_metric(model, None, None, feature_names, ax=ax)
