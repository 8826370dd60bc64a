"""How a fit went, what it came to, and the way there."""

from __future__ import annotations

from typing import Any

import numpy as np


def plot_history(model: Any, *measures: str, ax: Any = None) -> Any:
    """Draw columns of `history_` over the passes.

    Parameters
    ----------
    model : fitted estimator
        Anything with a `history_`.
    *measures : str
        Which columns; by default all numbers that were reported.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.linear_model import Perceptron
    >>> model = Perceptron().fit([[3, 3], [4, 3], [1, 1]], [1, 1, -1])
    >>> plot_history(model).get_xlabel()
    'pass'
    """
    ax = _axes(ax)
    history = model.history_
    names = measures or tuple(name for name in history if name not in ("pass", "round"))
    unknown = [name for name in names if name not in history]
    if unknown:
        raise ValueError(f"history_ has no {unknown}; it has {list(history)}.")
    for name in names:
        ax.plot(np.arange(1, len(history[name]) + 1), history[name], marker=".", label=name)
    ax.set_xlabel("pass")
    ax.set_title(type(model).__name__)
    ax.legend()
    return ax


def plot_regions(model: Any, X: Any, y: Any = None, *, ax: Any = None, resolution: int = 200) -> Any:
    """Draw what a classifier of two features says of every point, with the data on top.

    Parameters
    ----------
    model : fitted classifier
        Fitted on two features.
    X : array of shape (n_samples, 2)
        Points that set the frame.
    y : array of shape (n_samples,), optional
        Their labels, for colour.
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
    >>> ax = plot_regions(Perceptron(max_iter=20, tol=None).fit(X, y), X, y)
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_regions draws two features; X has shape {X.shape}.")
    ax = _axes(ax)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * (high - low) + 1e-9
    first, second = (np.linspace(a, b, resolution) for a, b in zip(low - margin, high + margin))
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    classes = np.asarray(model.classes_)
    index = np.searchsorted(classes, model.predict(grid)).reshape(resolution, resolution)
    colours = {"cmap": "tab10", "vmin": -0.5, "vmax": 9.5}
    ax.pcolormesh(first, second, index % 10, alpha=0.25, shading="auto", **colours)
    shown = None if y is None else np.searchsorted(classes, y) % 10
    ax.scatter(*X.T, c=shown, s=18, edgecolors="white", linewidths=0.5, **(colours if y is not None else {}))
    ax.set_title(type(model).__name__)
    return ax


def replay(recorder: Any, X: Any, y: Any = None, *, interval: int = 200) -> Any:
    """A film of a recorded fit: the regions after every kept pass.

    Parameters
    ----------
    recorder : Recorder
        After a fit it listened to.
    X, y : arrays
        As in `plot_regions`.
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
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    if not recorder.frames:
        raise ValueError("The recorder holds no frames: set it on an estimator and fit.")
    figure, ax = plt.subplots()

    def draw(k: int) -> list[Any]:
        ax.clear()
        frame = recorder.frames[k]
        plot_regions(frame.estimator, X, y, ax=ax, resolution=100)
        ax.set_title(f"{type(frame.estimator).__name__}, pass {frame.index + 1}")
        return []

    draw(0)
    film: Any = FuncAnimation(figure, draw, frames=len(recorder.frames), interval=interval)
    film._draw_was_started = True  # a film that is never shown is no mistake
    return film


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'tercet[plot]'.") from error
    return plt.subplots()[1]
