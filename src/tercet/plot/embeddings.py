"""Embeddings and factorisations: points in the plane, distances against dissimilarities, components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.models import _heat, _names, picture
from tercet.plot.styling import (
    ACCENT,
    INK,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    styled,
    translated,
)


@styled
def plot_embedding(points: Any, labels: Any = None, *, ax: Any = None) -> Any:
    """Draw the first two coordinates of embedded rows.

    Parameters
    ----------
    points : fitted estimator with `embedding_`, or array of shape (n_samples, n_components)
        The points; of one coordinate, along a line.
    labels : array of shape (n_samples,), optional
        What to write beside each point, of at most 60.
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
    points = finite_array(getattr(points, "embedding_", points), "points")
    if points.ndim != 2 or not points.size:
        raise ValueError(f"points must be of shape (n_samples, n_components); got {points.shape}.")
    if points.shape[1] == 1:
        points = np.column_stack([points, np.zeros(len(points))])
    ax = get_axes(ax)
    shown = sample_indices(len(points))
    scatter(ax, points[shown, 0], points[shown, 1], color=ACCENT)
    if labels is not None and len(points) <= 60:
        for label, (x, y) in zip(labels, points[:, :2]):
            ax.annotate(
                str(label), (x, y), xytext=(3, 3), textcoords="offset points", fontsize=7.5, color=INK
            )
    ax.set_aspect("equal", adjustable="datalim")
    return label_axes(ax, translated("coordinate {k}", k=1), translated("coordinate {k}", k=2))


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
    return plot_embedding(model, ax=ax)


@picture("components_", "reconstruction_err_")
def _components(model: Any, feature_names: Sequence[str] | None, labels: Any, ax: Any) -> Any:
    """The entries of H: which features each component is made of."""
    H = np.asarray(model.components_, dtype=float)
    words = [str(k) for k in range(len(H))]
    names = _names(model, feature_names, H.shape[1])
    return _heat(H, words, names, translated("components H"), translated("component"), ax)
