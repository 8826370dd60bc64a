"""How a fit went, what it came to, and the way there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tercet.core.lazy import optional_module
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    HEIGHT,
    INK,
    MARKERS,
    MATPLOTLIB,
    SECOND,
    WIDTH,
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


@styled
def plot_history(model: Any, *measures: str, ax: Any = None) -> Any:
    """Draw columns of `history_` over the passes, each on an axis of its own, one below the other.

    Parameters
    ----------
    model : fitted estimator
        Anything with a `history_`.
    *measures : str
        Which columns; by default all numbers that were reported.
    ax : matplotlib Axes, optional
        Where to draw; several measures share its place.

    Returns
    -------
    ax : matplotlib Axes
        Those of the last measure, at the bottom; `ax.figure.axes` are all.

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> model = Perceptron().fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    >>> plot_history(model).get_xlabel()
    'pass'
    """
    from matplotlib.ticker import MaxNLocator

    history = model.history_
    names = measures or numeric_measures(history)
    unknown = [key for key in names if key not in history]
    if unknown:
        raise ValueError(f"history_ has no {unknown}; it has {list(history)}.")
    if not names:
        raise ValueError("history_ has no measures to draw: nothing was reported.")
    panels = _stacked(get_axes(ax, height=HEIGHT * (1 + 0.45 * (len(names) - 1))), len(names))
    for k, (key, panel) in enumerate(zip(names, panels)):
        many = len(history[key]) > 60
        colour = COLOURS[k % len(COLOURS)]
        panel.plot(
            np.arange(1, len(history[key]) + 1), history[key], marker="" if many else ".", color=colour
        )
        panel.grid(axis="y")
        title = type(model).__name__ if k == 0 else ""
        label_axes(panel, translated("pass") if panel is panels[-1] else "", key, title)
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))  # a pass is whole; the panels share it
    return panels[-1]


def numeric_measures(history: dict[str, list[Any]]) -> tuple[str, ...]:
    """The columns of a history that hold one number for each pass; some hold arrays, such as weights of rows."""
    numbers = [key for key, column in history.items() if not any(map(np.ndim, column[:1]))]
    return tuple(key for key in numbers if key not in ("pass", "round"))


def _stacked(ax: Any, count: int) -> list[Any]:
    """Axes one above the other in the place of one, from the top, with one scale of passes; `ax` is the lowest."""
    if count == 1:
        return [ax]
    place = ax.get_subplotspec()
    if place is not None:
        rows = place.subgridspec(count, 1)
        ax.set_subplotspec(rows[count - 1])
        above = [ax.figure.add_subplot(rows[k], sharex=ax) for k in range(count - 1)]
    else:  # axes at a position of their own
        left, bottom, width, height = ax.get_position().bounds
        each = height / (count - 0.15)
        ax.set_position([left, bottom, width, 0.85 * each])
        boxes = [[left, bottom + (count - 1 - k) * each, width, 0.85 * each] for k in range(count - 1)]
        above = [ax.figure.add_axes(box, sharex=ax) for box in boxes]
    for panel in above:
        panel.tick_params(labelbottom=False)
    return [*above, ax]


@styled
def plot_regions(
    model: Any,
    X: Any,
    y: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    ax: Any = None,
    resolution: int = 200,
) -> Any:
    """Draw what a model of two features says of every point of the plane, with the data on top, and the centres
    where it has clusters with centres.

    Parameters
    ----------
    model : fitted estimator
        Whatever has `predict`, fitted on two features (a model of one feature gets `plot_fit`).
    X : array of shape (n_samples, 2)
        Points that set the frame.
    y : array of shape (n_samples,), optional
        Their labels or numbers, for colour.
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
    >>> from tercet.datasets import two_moons
    >>> from tercet.linear_model import Perceptron
    >>> X, y = two_moons(60, random_state=0)
    >>> ax = plot_regions(Perceptron(max_iter=20, tol=None).fit(X, y), X, y, ["east", "north"])
    >>> ax.get_xlabel()
    'east'
    """
    X = finite_array(X, "X")
    if X.ndim == 2 and X.shape[1] == 1 and y is not None:
        return plot_fit(model, X, y, feature_names, ax=ax)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_regions draws two features; X has shape {X.shape}.")
    if y is not None:
        check_same_length(X=X, y=y)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * (high - low) + 1e-9
    first, second = (np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin))
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    said = _predictions(model, grid, "plot_regions").reshape(resolution, resolution)
    ax = get_axes(ax)
    frame = {"extent": (first[0], first[-1], second[0], second[-1]), "origin": "lower", "aspect": "auto"}
    shown = sample_indices(len(X))
    if said.dtype.kind == "f" and not hasattr(model, "classes_"):
        _surface(ax, said, X[shown], None if y is None else np.asarray(y, float)[shown], frame)
    else:
        _areas(ax, said, X[shown], None if y is None else np.asarray(y)[shown], frame, model, labels)
    centres = getattr(model, "cluster_centers_", None)
    if centres is not None:
        ax.scatter(*np.asarray(centres, float).T, s=90, marker="X", color=INK, edgecolors="white", zorder=3)
    first_name, second_name = map(short_name, feature_names or ("", ""))
    return label_axes(ax, first_name, second_name, type(model).__name__)


def _predictions(model: Any, rows: np.ndarray, picture: str) -> np.ndarray:
    """One prediction for each row."""
    said = np.asarray(model.predict(rows))
    if said.size != len(rows):
        raise ValueError(
            f"{picture} draws models with one output; {type(model).__name__} has {said.size // len(rows)}."
        )
    return said


def _areas(
    ax: Any, said: np.ndarray, X: np.ndarray, y: Any, frame: dict[str, Any], model: Any, labels: Any
) -> None:
    from matplotlib.colors import ListedColormap

    classes = getattr(model, "classes_", None)
    if classes is None:
        classes = np.unique(said if y is None else np.concatenate([said.ravel(), y]))
    classes = np.asarray(classes)
    k = len(classes)
    if labels is not None and len(labels) != k:
        raise ValueError(f"labels has {len(labels)} names for {k} classes.")
    if y is not None and not np.isin(y, classes).all():
        raise ValueError(f"y has {y[~np.isin(y, classes)].tolist()[0]!r}, which the model does not know.")
    colours = [COLOURS[j % len(COLOURS)] for j in range(k)]
    look = {"cmap": ListedColormap(colours), "vmin": -0.5, "vmax": k - 0.5, "interpolation": "none"}
    ax.imshow(np.searchsorted(classes, said), alpha=0.22, **look, **frame)
    if y is None:
        scatter(ax, *X.T, color=INK)
        return
    for j, label in enumerate(classes.tolist() if labels is None else labels):
        marker = MARKERS[j // len(COLOURS) % len(MARKERS)]
        scatter(ax, *X[y == classes[j]].T, color=colours[j], marker=marker, label=short_name(label))
    if 1 < k <= 12:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1))


def _surface(ax: Any, said: np.ndarray, X: np.ndarray, y: Any, frame: dict[str, Any]) -> None:
    """A prediction for every point in sixteen shades, and the truth in the same."""
    from matplotlib import colormaps

    everything = said.ravel() if y is None else np.concatenate([said.ravel(), y])
    look = {"cmap": colormaps["cividis"].resampled(16), "vmin": everything.min(), "vmax": everything.max()}
    image = ax.imshow(said, interpolation="none", **look, **frame)
    few = sample_indices(len(X), 400)
    values = {} if y is None else {"c": y[few], **look}
    ax.scatter(*X[few].T, s=18, edgecolors="white", linewidths=0.4, **values)
    ax.figure.colorbar(image, ax=ax, shrink=0.8).outline.set_visible(False)


@styled
def plot_fit(
    model: Any,
    X: Any,
    y: Any,
    feature_names: Sequence[str] | None = None,
    *,
    target_name: str | None = None,
    ax: Any = None,
    resolution: int = 300,
) -> Any:
    """Draw what a model of one feature predicts, as a line through the data.

    Parameters
    ----------
    model : fitted estimator
        Whatever has `predict`, fitted on one feature.
    X : array of shape (n_samples, 1)
        The feature.
    y : array of shape (n_samples,)
        Numbers.
    feature_names : sequence of one str, optional
        What the axis is.
    target_name : str, optional
        What the other axis is.
    ax : matplotlib Axes, optional
        Where to draw.
    resolution : int, default=300
        Points of the line.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
    >>> ax = plot_fit(LinearRegression().fit(X, y), X, y)
    >>> ax.get_lines()[0].get_ydata()[[0, -1]].round(6).tolist()
    [1.0, 5.0]
    """
    X, y = finite_array(X, "X"), finite_array(y, "y")
    if X.size != len(X):
        raise ValueError(f"plot_fit draws one feature; X has shape {X.shape}.")
    check_same_length(X=X, y=y)
    x = X.ravel()
    line = np.linspace(x.min(), x.max(), resolution)
    said = _predictions(model, line[:, None], "plot_fit").ravel().astype(float)
    ax = get_axes(ax)
    shown = sample_indices(len(x))
    scatter(ax, x[shown], y[shown], color=ACCENT)
    ax.plot(line, said, color=SECOND)
    first = short_name(feature_names[0]) if feature_names else ""
    return label_axes(ax, first, short_name(target_name or ""), type(model).__name__)


_films: list[tuple[Callable[[Any, Any], bool], Callable[..., Any], Callable[..., Any] | None]] = []


def film_picture(
    test: Callable[[Any, Any], bool], common: Callable[..., dict[str, Any]] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that draws one frame of `replay`, for the models that pass a test.

    Parameters
    ----------
    test : callable
        Takes the model after a pass and the rows X that `replay` was given, or None.
    common : callable, optional
        Takes the models of all frames, X and y; gives a dict of further arguments of `draw` that all frames
        share, such as the limits of the colours.

    Returns
    -------
    register : callable
        A decorator of `draw(model, X, y, ax)`; of several functions for a model, the newest draws.

    Examples
    --------
    >>> @film_picture(lambda model, X: hasattr(model, "tree_"))
    ... def tree(model, X, y, ax):
    ...     return ax
    >>> _ = _films.pop(0)
    """

    def register(draw: Callable[..., Any]) -> Callable[..., Any]:
        _films.insert(0, (test, draw, common))
        return draw

    return register


def _common(models: list[Any], X: Any, y: Any) -> dict[str, Any]:
    """What all frames of a film share, by the picture of the last one."""
    from tercet.plot.models import load_pictures

    load_pictures()
    for fits, _, common in _films:
        if fits(models[-1], X):
            return {} if common is None else common(models, X, y)
    return {}


def _draw_frame(model: Any, X: Any, y: Any, ax: Any, common: dict[str, Any]) -> Any:
    """A model after a pass: as its own picture for films, as regions of the plane, or as `plot_model` draws it."""
    from tercet.plot.models import plot_model

    for fits, draw, _ in _films:
        if fits(model, X):
            return draw(model, X, y, ax, **common)
    width = 0 if X is None or np.ndim(X) != 2 else np.shape(X)[1]
    drawable = hasattr(model, "predict") and (width == 2 or (width == 1 and y is not None))
    if drawable and np.size(model.predict(np.asarray(X)[:1])) == 1:
        return plot_regions(model, X, y, ax=ax, resolution=100)
    drawn = plot_model(model, ax=ax)
    if drawn is None:
        raise ValueError(
            f"replay draws two features, or a model that has a picture of its own; {type(model).__name__} has none."
        )
    return drawn


def replay(recorder: Any, X: Any = None, y: Any = None, *, interval: int = 200) -> Any:
    """A film of a recorded fit: the model after every kept pass.

    A method may have a picture of its own for films (`film_picture`), such as the grid of a SOM. Others are drawn
    as regions (`plot_regions`) where X has two features and the model one output, and else as `plot_model` draws
    them.

    Parameters
    ----------
    recorder : Recorder
        After a fit it listened to.
    X, y : arrays, optional
        The rows to draw, and their labels or numbers; for an agent its MDP, and the grid as `plot_values` takes it.
    interval : int, default=200
        Milliseconds a frame.

    Returns
    -------
    film : matplotlib.animation.FuncAnimation
        Save it with `film.save("fit.gif")`, or show it in a notebook with `film.to_jshtml()`.

    Examples
    --------
    >>> from tercet import Recorder
    >>> from tercet.datasets import two_moons
    >>> from tercet.linear_model import Perceptron
    >>> recorder, (X, y) = Recorder(), two_moons(60, random_state=0)
    >>> model = Perceptron(max_iter=5, tol=None).set_callbacks(recorder).fit(X, y)
    >>> film = replay(recorder, X, y)
    >>> film.pause()
    """
    plt = optional_module("matplotlib.pyplot", *MATPLOTLIB)
    from matplotlib.animation import FuncAnimation

    if not recorder.frames:
        raise ValueError("The recorder holds no frames: set it on an estimator and fit.")
    # The legend stands beside the axes: a constrained layout leaves room for it.
    figure, ax = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    common = _common([frame.estimator for frame in recorder.frames], X, y)

    def draw(k: int) -> list[Any]:
        for scale in [other for other in figure.axes if other is not ax]:
            scale.remove()  # the colours of the frame before, while what they belong to is there
        ax.clear()
        frame = recorder.frames[k]
        _draw_frame(frame.estimator, X, y, ax, common)
        ax.set_title(
            translated("{method}, pass {k}", method=type(frame.estimator).__name__, k=frame.index + 1)
        )
        return []

    draw(0)
    film: Any = FuncAnimation(figure, draw, frames=len(recorder.frames), interval=interval)
    film._draw_was_started = True  # a film that is never shown is no mistake
    return film
