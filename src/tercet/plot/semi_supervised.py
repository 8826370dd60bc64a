"""Pictures of semi-supervised learning: labels on their way over the rows, accuracy over the number of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tercet.core.lazy import optional_module
from tercet.plot.clusters import plane_of_rows
from tercet.plot.models import picture, plot_model
from tercet.plot.styling import (
    COLOURS,
    HEIGHT,
    INK,
    MARKERS,
    MATPLOTLIB,
    check_same_length,
    finite_array,
    get_axes,
    label_axes,
    scatter,
    styled,
    translated,
)

GREY = "#bfbfbf"  # of rows that have no label


@styled
def plot_labels(X: Any, labels: Any, given: Any = None, *, ax: Any = None) -> Any:
    """Draw rows in the plane, coloured by their labels.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows; of more than two columns, their first two principal components.
    labels : array of shape (n_samples,)
        Such as `transduction_`; rows of -1 (or None) are grey.
    given : array of shape (n_samples,), optional
        The labels that were given: these rows are ringed.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_labels([[0.0, 1.0], [2.0, 3.0], [4.0, 0.0]], [0, -1, 1], given=[0, -1, -1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['no label', '0', '1', 'given']
    """
    from tercet.semi_supervised import is_unlabeled

    X = X if hasattr(X, "shape") else np.asarray(X, dtype=float)
    labels = np.asarray(labels)
    check_same_length(X=X, labels=labels)
    points, shown = plane_of_rows(X, np.arange(len(labels)))
    missing = is_unlabeled(labels)[shown]
    ax = get_axes(ax)
    if missing.any():
        scatter(ax, *points[missing].T, color=GREY, label=translated("no label"), zorder=1)
    names = labels.astype(str) if labels.dtype.kind == "O" else labels
    for k, label in enumerate(np.unique(names[~is_unlabeled(labels)]).tolist()):
        here = ~missing & (names[shown] == label)
        look = {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
        scatter(ax, *points[here].T, label=str(label), zorder=2, **look)
    if given is not None:
        known = ~is_unlabeled(given)[shown]
        ring = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.2, "s": 60, "alpha": 1.0}
        scatter(ax, *points[known].T, label=translated("given"), zorder=3, **ring)
    ax.legend(loc="best", frameon=False, fontsize=8)
    return label_axes(ax, "", "")


@styled
def plot_spreading(recorder: Any, X: Any, y: Any, *, n_panels: int = 4) -> Any:
    """Draw labels on their way over the rows, pass by pass, as a recorder has kept them.

    Parameters
    ----------
    recorder : Recorder
        After the fit of `LabelPropagation`, `LabelSpreading`, `SelfTrainingClassifier` or another that reports
        `transduction_` with each pass.
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,)
        The labels that were given; -1 or None for the others.
    n_panels : int, default=4
        Passes to draw: the first, the last, and some between them.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> from tercet import Recorder
    >>> from tercet.datasets import two_moons
    >>> from tercet.semi_supervised import LabelSpreading
    >>> recorder, (X, truth) = Recorder(), two_moons(60, random_state=0)
    >>> y = np.where(np.arange(60) % 30 == 0, truth, -1)
    >>> model = LabelSpreading("knn", max_iter=100, alpha=0.8).set_callbacks(recorder).fit(X, y)
    >>> len(plot_spreading(recorder, X, y, n_panels=3).axes)
    3
    """
    plt = optional_module("matplotlib.pyplot", *MATPLOTLIB)
    from tercet.semi_supervised import is_unlabeled

    frames = [frame for frame in recorder.frames if "transduction_" in frame.attributes]
    if not frames:
        raise ValueError("The recorder holds no frames with transduction_: set it on an estimator and fit.")
    kept = np.unique(np.linspace(0, len(frames) - 1, min(n_panels, len(frames))).round().astype(int))
    figure, panels = plt.subplots(
        1, len(kept), figsize=(0.8 * HEIGHT * len(kept), 0.8 * HEIGHT), layout="constrained", squeeze=False
    )
    known = ~is_unlabeled(y)
    for ax, k in zip(panels[0], kept):
        frame = frames[k]
        labels = np.asarray(frame.attributes["transduction_"]).astype(object)
        labels[_unreached(frame.attributes, known)] = None
        plot_labels(X, labels, given=y, ax=ax)
        ax.get_legend().remove()
        ax.set_title(translated("pass {k}", k=frame.index + 1), fontsize=9)
    return figure


def _unreached(attributes: dict[str, Any], known: np.ndarray) -> np.ndarray:
    """Rows that still have the shares of the given labels: no label has come to them."""
    F = attributes.get("label_distributions_")
    if F is None:
        return np.zeros(known.size, dtype=bool)
    shares = np.bincount(F[known].argmax(axis=1), minlength=F.shape[1]) / known.sum()
    return ~known & (np.abs(F - shares) < 1e-12).all(axis=1)


@styled
def plot_label_curve(curves: Mapping[str, Any], X: Any = None, y: Any = None, *, ax: Any = None) -> Any:
    """Draw accuracy against the number of labels that were learned from.

    Parameters
    ----------
    curves : dict of str to (numbers, scores) or Recorder
        By the name of each curve, numbers of labels and scores; or the recorder of a fit that reports
        `transduction_` (of `ActiveLearner`, say), whose states are scored on X and y.
    X, y : arrays, optional
        Rows and their true labels, for recorders.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_label_curve({"margin": ([10, 20], [0.7, 0.9]), "random": ([10, 20], [0.7, 0.8])})
    >>> [line.get_label() for line in ax.get_lines()]
    ['margin', 'random']
    """
    from tercet.semi_supervised import is_unlabeled

    if not curves:
        raise ValueError("curves is empty: there is nothing to draw.")
    ax = get_axes(ax)
    for k, (name, curve) in enumerate(curves.items()):
        if hasattr(curve, "frames"):
            if X is None or y is None:
                raise ValueError(
                    "plot_label_curve: give X and y, on which the states of a recorder are scored."
                )
            curve = (
                [int((~is_unlabeled(frame.attributes["transduction_"])).sum()) for frame in curve.frames],
                [frame.estimator.score(X, y) for frame in curve.frames],
            )
        numbers, scores = finite_array(curve[0], "numbers"), finite_array(curve[1], "scores")
        check_same_length(numbers=numbers, scores=scores)
        ax.plot(numbers, scores, marker="o", markersize=3, color=COLOURS[k % len(COLOURS)], label=name)
    ax.legend(loc="lower right", frameon=False, fontsize=8)
    ax.grid(axis="y")
    return label_axes(ax, translated("labels"), translated("accuracy"))


@picture("transduction_", "X_")
def _graph_labels(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_labels(model.X_, model.transduction_, ax=ax)


@picture("views_", "estimators_")
def _first_view(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The learner of the first view, with the names of its columns."""
    names = feature_names
    if names is not None and model.views_ is not None:
        names = [str(name) for name in np.asarray(names, dtype=object)[model.views_[0]]]
    return plot_model(model.estimators_[0], names, labels=labels, ax=ax)
