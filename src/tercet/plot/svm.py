"""Kernel machines: decision values with margins and support vectors, and what each row weighs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.learning import plot_regions
from tercet.plot.models import _labels, _names, picture, plot_coefficients
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    SECOND,
    fading_colormap,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    short_name,
    styled,
    translated,
)

LINES = 8  # as many machines can be told apart


@styled
def plot_margins(
    model: Any,
    X: Any = None,
    y: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    ax: Any = None,
    resolution: int = 150,
) -> Any:
    """Draw a kernel machine of two features: its decision values, its margins, and its support vectors in rings.

    The line is where f = 0; of a machine that has margins, the dashed lines are where f = -1 and f = 1. With more
    than two classes the areas are drawn, and for a regression the values.

    Parameters
    ----------
    model : fitted estimator
        `SVC` or a relative of it, fitted on two features.
    X : array of shape (n_samples, 2), optional
        Rows to draw; by default the support vectors only.
    y : array of shape (n_samples,), optional
        Their labels or numbers, for colour.
    feature_names : sequence of two str, optional
        What the axes are.
    labels : sequence, optional
        What to call the classes, in the order of `classes_`; by default their own names.
    ax : matplotlib Axes, optional
        Where to draw.
    resolution : int, default=150
        Points of the grid along each side.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.svm import SVC
    >>> X, y = [[3, 3], [4, 3], [1, 1]], [1, 1, -1]
    >>> ax = plot_margins(SVC(C=float("inf"), kernel="linear").fit(X, y), X, y)
    >>> ax.collections[-1].get_offsets().tolist()
    [[1.0, 1.0], [3.0, 3.0]]
    """
    points = _points(model)
    if points is None or points.shape[1] != 2:
        raise ValueError("plot_margins draws machines of two features that keep their support vectors.")
    rows = points if X is None else finite_array(X, "X")
    classes = getattr(model, "classes_", ())
    if len(classes) > 2 or not hasattr(model, "decision_function"):
        ax = plot_regions(model, rows, y, ax=ax, labels=labels, resolution=resolution)
    else:
        ax = get_axes(ax)
        _values(ax, model, rows, y, labels, resolution)
    if hasattr(model, "support_"):
        ring = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.7, "s": 46, "alpha": 0.8}
        ax.scatter(*points[sample_indices(len(points))].T, label=translated("support vectors"), **ring)
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    first, second = map(short_name, _names(model, feature_names, 2))
    return label_axes(ax, first, second, type(model).__name__)


def _values(ax: Any, model: Any, rows: np.ndarray, y: Any, labels: Any, resolution: int) -> None:
    """f in colour, its zero line and its margins, and rows in the colours of their sides."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.15 * np.where(high > low, high - low, 1.0)
    first, second = (np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin))
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    f = np.asarray(model.decision_function(grid), dtype=float).reshape(resolution, resolution)
    margins = hasattr(model, "n_support_") and hasattr(model, "classes_")
    reach = max(float(np.abs(f).max()), 1e-300)
    reach = min(reach, 2.0) if margins else reach
    colours = fading_colormap(SECOND, ACCENT).resampled(16)
    extent = (first[0], first[-1], second[0], second[-1])
    look = {"cmap": colours, "vmin": -reach, "vmax": reach, "alpha": 0.6, "interpolation": "none"}
    ax.imshow(np.clip(f, -reach, reach), extent=extent, origin="lower", aspect="auto", **look)
    for level, width, dashes in ((-1.0, 0.9, "dashed"), (0.0, 1.6, "solid"), (1.0, 0.9, "dashed")):
        if (level == 0 or margins) and f.min() < level < f.max():
            ax.contour(first, second, f, [level], colors=INK, linewidths=width, linestyles=dashes)
    shown, words = sample_indices(len(rows)), _labels(model, labels)
    if y is None:
        scatter(ax, *rows[shown].T, color=INK)
        return
    mine = np.asarray(y)[shown]
    sides = list(model.classes_) if words else np.unique(mine).tolist()
    for side, colour, word in zip(sides, (SECOND, ACCENT), words or sides):
        scatter(ax, *rows[shown][mine == side].T, color=colour, label=short_name(word))


@styled
def _curve(model: Any, points: np.ndarray, word: str, labels: Any, ax: Any = None) -> Any:
    """A machine of one feature: f, the tube of a support vector regression, and where its rows are."""
    x = points.ravel()
    line = np.linspace(x.min(), x.max(), 300)
    values = getattr(model, "decision_function", None) or model.predict
    f = np.asarray(values(line[:, None]), dtype=float).reshape(line.size, -1)
    ax = get_axes(ax)
    words = _labels(model, labels)
    for k in range(min(f.shape[1], LINES)):
        label = short_name(words[k]) if 2 < len(words) == f.shape[1] else None
        ax.plot(line, f[:, k], color=COLOURS[k], label=label)
    if words:
        ax.axhline(0, color=INK, alpha=0.5, linewidth=0.8)
    tube = getattr(model, "epsilon_", getattr(model, "epsilon", None))
    if not words and tube:
        for side in (-float(tube), float(tube)):
            ax.plot(line, f[:, 0] + side, color=ACCENT, linewidth=0.8, linestyle="dashed")
    marks = x[sample_indices(x.size)]
    low = ax.get_xaxis_transform()
    ax.plot(
        marks, np.full(marks.size, 0.02), "|", color=INK, transform=low, label=translated("rows in the sum")
    )
    ax.legend(loc="best")
    return label_axes(ax, short_name(word), "f", type(model).__name__)


@styled
def _weights(model: Any, coef: np.ndarray, labels: Any, ax: Any = None) -> Any:
    """What each row weighs in f, the heaviest first: few rows, or all."""
    ax = get_axes(ax)
    words = _labels(model, labels)
    words = words if len(words) == len(coef) > 1 else [str(k) for k in range(1, len(coef) + 1)]
    for k, row in enumerate(coef[:LINES]):
        label = short_name(words[k]) if len(coef) > 1 else None
        ax.plot(np.arange(1, row.size + 1), np.sort(np.abs(row))[::-1], color=COLOURS[k], label=label)
    if len(coef) > 1:
        ax.legend(loc="upper right")
    ax.set_ylim(bottom=0)
    rows = getattr(model, "shape_fit_", None)
    title = translated("{n} of {m} rows are in the sum", n=coef.shape[1], m=rows[0]) if rows else ""
    below = translated("rows, the heaviest first")
    return label_axes(ax, below, translated("weight in f, without its sign"), title)


@picture(test=lambda model: hasattr(model, "dual_coef_") and hasattr(model, "kernel"))
def _machine(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    points = _points(model)
    if points is not None and points.shape[1] == 2:
        return plot_margins(model, None, None, feature_names, labels=labels, ax=ax)
    if points is not None and points.shape[1] == 1:
        return _curve(model, points, _names(model, feature_names, 1)[0], labels, ax=ax)
    if hasattr(model, "coef_"):
        return plot_coefficients(model, feature_names, labels=labels, ax=ax)
    coef = model.dual_coef_.toarray() if hasattr(model.dual_coef_, "toarray") else model.dual_coef_
    coef = np.atleast_2d(np.asarray(coef, dtype=float))
    n = coef.size and (len(points) if points is not None else max(coef.shape))
    return _weights(model, coef if coef.shape[1] == n else coef.T, labels, ax=ax) if n else None


@picture("candidates_", "Cs_", "scores_")
@styled
def _kernels_over_c(model: Any, feature_names: Any, labels: Any, ax: Any = None) -> Any:
    """The mean score of every kernel that was tried, over C."""
    scores, strengths = np.asarray(model.scores_, dtype=float).mean(axis=2), np.asarray(model.Cs_)
    ax = get_axes(ax)
    for k in np.sort(np.argsort(-scores.max(axis=1), kind="stable")[:LINES]):
        one = model.candidates_[int(k)]
        word = one["kernel"] if isinstance(one["kernel"], str) else type(one["kernel"]).__name__
        gamma = "" if one["gamma"] is None else f", γ = {one['gamma']:.3g}"
        ax.plot(strengths, scores[k], marker=".", color=COLOURS[int(k) % len(COLOURS)], label=word + gamma)
    ax.plot(model.C_, model.best_score_, "o", color=INK, fillstyle="none", markersize=10)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.minorticks_off()
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return label_axes(ax, "C", translated("mean of the folds"))


def _points(model: Any) -> np.ndarray | None:
    """The rows in a machine's sum, where they are rows of numbers."""
    kept: Any = getattr(model, "support_vectors_", getattr(model, "X_fit_", None))
    kept = kept.toarray() if hasattr(kept, "toarray") else np.asarray(kept)
    return kept if kept.ndim == 2 and kept.size and kept.dtype.kind in "fiu" else None
