"""Piecewise-linear and quadratic discriminants in the plane: pieces of hyperplanes, subclass means, an ellipse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tercet.plot.learning import plot_regions
from tercet.plot.models import _heat, _labels, _names, picture
from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)

NUMBERED = 12  # hyperplanes of a tree; more names than this cover the picture


@styled
def plot_pieces(
    model: Any,
    X: Any,
    y: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    ax: Any = None,
    resolution: int = 200,
) -> Any:
    """Draw a piecewise-linear classifier of two features: its regions, and the pieces of hyperplanes between them.

    The subclass means are crosses. The hyperplanes of a tree are drawn as far as they divide its rows, and called
    H1, H2 ... in the order in which the tree has them.

    Parameters
    ----------
    model : fitted estimator
        `PiecewiseLinearDistance`, `PiecewiseLinearDiscriminant` or `PiecewiseLinearTree`, fitted on two features.
    X : array of shape (n_samples, 2)
        Points that set the frame.
    y : array of shape (n_samples,), optional
        Their labels, for colour.
    feature_names : sequence of two str, optional
        What the axes are.
    labels : sequence, optional
        What to call the classes, in the order of `classes_`; by default their own names.
    ax : matplotlib Axes, optional
        Where to draw.
    resolution : int, default=200
        Points of the grid along each side.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.discriminant_analysis import PiecewiseLinearDistance
    >>> X, y = [[0, 0], [4, 4], [4, 0]], [1, 1, 2]
    >>> ax = plot_pieces(PiecewiseLinearDistance({1: 2, 2: 1}).fit(X, y), X, y)
    >>> len(ax.collections[-1].get_segments())
    2
    """
    from matplotlib.collections import LineCollection

    X = finite_array(X, "X")
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_pieces draws two features; X has shape {X.shape}.")
    ax = plot_regions(model, X, y, feature_names, labels=labels, ax=ax, resolution=resolution)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * (high - low) + 1e-9
    frame = np.vstack([np.eye(2), -np.eye(2)]), np.concatenate([high + margin, -(low - margin)])
    is_tree = hasattr(model, "tree_")
    pieces = list(tree_pieces(model.tree_, *frame) if is_tree else subclass_pieces(model, *frame))
    means = getattr(model, "subclass_means_", None)
    if means is not None:
        ax.scatter(
            *np.asarray(means).T, marker="x", s=60, color=INK, label=translated("subclass means"), zorder=4
        )
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    if is_tree and len(pieces) <= NUMBERED:
        for k, piece in enumerate(pieces):
            ax.annotate(f"H{k + 1}", piece.mean(axis=0), fontsize=8, color=INK, ha="center", va="bottom")
    ax.add_collection(LineCollection(pieces, colors=INK, linewidths=1.6, zorder=3))
    return ax


def subclass_pieces(model: Any, A: np.ndarray, b: np.ndarray) -> Iterator[np.ndarray]:
    """The ends of the pieces of the boundary inside a frame A x <= b, between subclasses of different classes."""
    if hasattr(model, "subclass_means_"):  # the nearest mean has the largest m·x - ‖m‖²/2
        W = np.asarray(model.subclass_means_, dtype=np.float64)
        w0 = -(W**2).sum(axis=1) / 2
    else:
        W, w0 = np.asarray(model.coef_, dtype=np.float64), np.asarray(model.intercept_, dtype=np.float64)
    owner = np.repeat(np.arange(len(model.n_subclasses_)), model.n_subclasses_)
    for k in range(len(W)):
        for m in np.flatnonzero(owner > owner[k]):
            others = np.setdiff1d(np.arange(len(W)), [k, m])
            inside = np.vstack([A, W[others] - W[k]]), np.concatenate([b, w0[k] - w0[others]])
            piece = clipped_line(W[k] - W[m], w0[m] - w0[k], *inside)
            if piece is not None:
                yield piece


def tree_pieces(tree: Any, A: np.ndarray, b: np.ndarray) -> Iterator[np.ndarray]:
    """The ends of each hyperplane of a tree, as far as it divides the part of its node, inside a frame A x <= b."""
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {0: (A, b)}
    for t in range(tree.node_count):
        if not tree.n_children[t]:
            continue
        w, threshold = tree.coef[tree.slot_start[t]], float(tree.threshold[t])
        A, b = parts.pop(t)
        left, right = tree.children(t)
        parts[left] = np.vstack([A, w]), np.append(b, threshold)
        parts[right] = np.vstack([A, -w]), np.append(b, -threshold)
        piece = clipped_line(w, threshold, A, b)
        if piece is not None:
            yield piece


def clipped_line(w: np.ndarray, level: float, A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """The two ends of the part of the line w·x = level where A x <= b; None where there is no such part.

    Examples
    --------
    >>> clipped_line(np.array([1.0, 0.0]), 0.5, np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([1.0, 0.0]))
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """
    length = float(w @ w)
    if not 0 < length < np.inf:
        return None
    point, along = level * w / length, np.array([-w[1], w[0]]) / np.sqrt(length)
    slope, room = A @ along, b - A @ point
    if (room[slope == 0] < 0).any():
        return None
    ends = room[slope != 0] / slope[slope != 0]
    rising = slope[slope != 0] > 0
    first, last = ends[~rising].max(initial=-np.inf), ends[rising].min(initial=np.inf)
    if not (np.isfinite(first) and np.isfinite(last) and first < last):
        return None
    return point + np.outer([first, last], along)


@picture("subclass_means_", "subclass_labels_")
def _subclass_means(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The regions of two features; of more, the means as colours."""
    means = np.asarray(model.subclass_means_, dtype=float)
    names = _names(model, feature_names, means.shape[1])
    if means.shape[1] == 2:
        return plot_pieces(model, means, model.subclass_labels_, names, labels=labels, ax=ax)
    words = dict(zip(model.classes_.tolist(), _labels(model, labels)))
    columns = [words[label] for label in model.subclass_labels_.tolist()]
    title = translated("subclass means, from the mean of all")
    return _heat(means - means.mean(axis=0), columns, names, title, translated("class"), ax)


@picture("precision_", "location_", "threshold_", "rotation_")
def _ellipse(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The border of one class of two features; of more, the correlations."""
    centre = np.asarray(model.location_, dtype=float)
    names = _names(model, feature_names, centre.size)
    if centre.size == 2:
        return _drawn_ellipse(model, centre, names, ax)
    covariance = np.asarray(model.covariance_, dtype=float)
    std = np.sqrt(covariance.diagonal())
    return _heat(
        covariance / np.outer(std, std), names, names, translated("correlations in the class"), "", ax
    )


@styled
def _drawn_ellipse(model: Any, centre: np.ndarray, names: Sequence[str], ax: Any = None) -> Any:
    ax = get_axes(ax)
    angle = np.linspace(0.0, 2 * np.pi, 200)
    axes = np.asarray(model.rotation_, dtype=float) * np.sqrt(np.asarray(model.scaling_, dtype=float))
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) @ axes.T
    for part, width in ((0.5, 0.8), (1.0, 1.8)):
        border = centre + np.sqrt(model.threshold_ * part) * ring
        word = f"K² = {short_number(model.threshold_ * part)}"
        ax.plot(*border.T, color=ACCENT if part == 1 else SECOND, linewidth=width, label=word)
    ax.scatter(*centre, marker="x", color=INK, label=translated("mean"))
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    first, second = map(short_name, names)
    return label_axes(ax, first, second, type(model).__name__)
