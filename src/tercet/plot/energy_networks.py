"""Energy-based networks: the energy of a recall, recalled patterns, and the weights of hidden units as filters."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from tercet.core.lazy import optional_module
from tercet.plot.dictionaries import plot_atoms
from tercet.plot.models import _heat, _names, picture
from tercet.plot.styling import (
    ACCENT,
    HEIGHT,
    MATPLOTLIB,
    WIDTH,
    finite_array,
    get_axes,
    label_axes,
    short_number,
    styled,
    translated,
)

MOST = 8  # patterns of a picture
TILES = 16  # features from which weights are shown as tiles
NOISE = 0.2  # share of the units that are flipped where a picture needs noisy patterns


@styled
def plot_energy(model: Any, X: Any = None, *, ax: Any = None) -> Any:
    """Draw how the energy falls while a Hopfield network recalls patterns, and the energies of the stored ones.

    Parameters
    ----------
    model : fitted Hopfield
        The network.
    X : array of shape (n_samples, n_features), optional
        The states to start from; by default stored patterns of which every fifth unit, drawn at random, is flipped.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import Hopfield
    >>> model = Hopfield().fit([[1, 1, 1, -1, -1, -1]])
    >>> ax = plot_energy(model, [[1, -1, 1, 1, -1, -1]])
    >>> ax.lines[0].get_ydata().round(2)
    array([ 0.17, -2.5 , -2.5 ])
    """
    from matplotlib.ticker import MaxNLocator

    energies = model.recall(noisy_patterns(model) if X is None else X).energies
    ax = get_axes(ax)
    ax.plot(np.arange(len(energies)), energies, marker=".", color=ACCENT, alpha=0.75)
    if len(model.patterns_):
        stored = model.recall(as_input(model, model.patterns_[:MOST])).energies[0]
        for energy in stored:
            ax.axhline(energy, linestyle=":", linewidth=1, color="0.5")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    title = translated("energy of {n} recalled states; dotted: stored patterns", n=energies.shape[1])
    return label_axes(ax, translated("sweep"), translated("energy"), title)


@styled
def plot_recall(model: Any, X: Any = None, shape: tuple[int, int] | None = None, *, ax: Any = None) -> Any:
    """Draw states above what a Hopfield network recalls from them.

    Parameters
    ----------
    model : fitted Hopfield
        The network.
    X : array of shape (n_samples, n_features), optional
        The states to start from, of which the first 8 are drawn; by default stored patterns of which every fifth
        unit, drawn at random, is flipped.
    shape : two ints, optional
        Height and width of a pattern; by default a square where the number of units is one, else a column.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import Hopfield
    >>> model = Hopfield().fit([[1, 1, 1, 1, -1, -1, -1, -1, -1]])
    >>> ax = plot_recall(model, [[1, 1, -1, 1, -1, -1, -1, -1, -1]])
    >>> ax.images[0].get_array().shape
    (9, 5)
    """
    starts = finite_array(noisy_patterns(model) if X is None else X, "X")[:MOST]
    states = model.recall(starts).states
    return draw_states(model, model._check(starts, reset=False), states, shape, ax)


def replay_recall(
    model: Any, X: Any = None, shape: tuple[int, int] | None = None, *, interval: int = 600
) -> Any:
    """A film of a Hopfield network's recall: the states after each sweep, and how their energies fall.

    Parameters
    ----------
    model : fitted Hopfield
        The network.
    X : array of shape (n_samples, n_features), optional
        The states to start from, of which the first 8 are drawn; by default stored patterns of which every fifth
        unit, drawn at random, is flipped.
    shape : two ints, optional
        Height and width of a pattern, as in `plot_recall`.
    interval : int, default=600
        Milliseconds a frame.

    Returns
    -------
    film : matplotlib.animation.FuncAnimation
        Save it with `film.save("recall.gif")`, or show it in a notebook with `film.to_jshtml()`.

    Examples
    --------
    >>> from tercet.neural_network import Hopfield
    >>> model = Hopfield().fit([[1, 1, 1, 1, -1, -1, -1, -1, -1]])
    >>> film = replay_recall(model, [[1, 1, -1, 1, -1, -1, -1, -1, -1]])
    >>> film.pause()
    """
    plt = optional_module("matplotlib.pyplot", *MATPLOTLIB)
    from matplotlib.animation import FuncAnimation

    starts = finite_array(noisy_patterns(model) if X is None else X, "X")[:MOST]
    seed = (
        model.random_state if isinstance(model.random_state, int | np.integer) else 0
    )  # one order for all frames
    model = copy.copy(model).set_params(random_state=seed)
    first, energies = model._check(starts, reset=False), model.recall(starts).energies
    frames = [first]
    for k in range(1, len(energies)):
        frames.append(copy.copy(model).set_params(max_sweeps=k).recall(starts).states)
    figure, (above, below) = plt.subplots(2, 1, figsize=(WIDTH, 1.5 * HEIGHT), layout="constrained")

    def draw(k: int) -> list[Any]:
        above.clear()
        below.clear()
        draw_states(model, first, frames[k], shape, above)
        below.plot(np.arange(k + 1), energies[: k + 1], marker=".", color=ACCENT, alpha=0.75)
        margin = 0.05 * max(float(np.ptp(energies)), 1e-9)
        below.set_ylim(energies.min() - margin, energies.max() + margin)
        below.set_xlim(-0.5, len(energies) - 0.5)
        label_axes(below, translated("sweep"), translated("energy"), "")
        return []

    draw(0)
    film: Any = FuncAnimation(figure, draw, frames=len(frames), interval=interval)
    film._draw_was_started = True  # no warning for a film that is never shown
    return film


def draw_states(
    model: Any, before: np.ndarray, after: np.ndarray, shape: tuple[int, int] | None, ax: Any
) -> Any:
    """States as tiles, above those that they have become."""
    n = before.shape[1]
    side = math.isqrt(n)
    height, width = shape or ((side, side) if side * side == n else (n, 1))
    if height * width != n:
        raise ValueError(f"shape={shape!r} does not match the {n} units of a pattern.")
    tiles = np.full((2 * height + 3, len(before) * (width + 1) + 1), np.nan)
    for k, (first, last) in enumerate(zip(before, after)):
        left = k * (width + 1) + 1
        tiles[1 : height + 1, left : left + width] = first.reshape(height, width)
        tiles[height + 2 : 2 * height + 2, left : left + width] = last.reshape(height, width)
    ax = get_axes(ax)
    ax.imshow(tiles, cmap="gray_r", interpolation="none", aspect="equal" if width > 1 else "auto")
    ax.set_xticks([])
    ax.set_yticks([height / 2, 1.5 * height + 1], [translated("start"), translated("recalled")])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    numbers = ", ".join(str(k) if k >= 0 else "-" for k in model._stored_as(after))
    return label_axes(ax, "", "", translated("recalled patterns: {numbers}", numbers=numbers))


@styled
def plot_filters(
    model: Any, shape: tuple[int, int] | None = None, feature_names: Any = None, *, ax: Any = None
) -> Any:
    """Draw the weights of the hidden units of a restricted Boltzmann machine.

    Parameters
    ----------
    model : fitted BernoulliRBM, GaussianRBM or DeepBeliefNetwork
        The machine; of a network its first layer.
    shape : two ints, optional
        Height and width of the features as an image: then each hidden unit is a tile. By default a square where the
        number of features is one and at least 16, else a heat map is drawn.
    feature_names : sequence of str, optional
        Names of the features in a heat map.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import BernoulliRBM
    >>> ax = plot_filters(BernoulliRBM.from_weights([[1.0, -1.0], [0.5, 2.0]]))
    >>> ax.get_title("left")
    'weights of 2 hidden units'
    """
    machine = model.rbms_[0] if hasattr(model, "rbms_") else model
    weights = finite_array(machine.components_, "components_")
    k, n = weights.shape
    title = translated("weights of {k} hidden units", k=k)
    if shape is not None or (n >= TILES and math.isqrt(n) ** 2 == n):
        return label_axes(plot_atoms(weights, shape, ax=ax), title=title)
    columns = [str(j) for j in range(1, k + 1)]
    return _heat(weights, columns, _names(machine, feature_names, n), title, translated("hidden unit"), ax)


def noisy_patterns(model: Any) -> np.ndarray:
    """Stored patterns, some of whose units are flipped; random states where there are none."""
    rng = np.random.default_rng(0)
    patterns = model.patterns_[:MOST]
    if not len(patterns):
        patterns = np.where(rng.random((MOST, model.n_features_in_)) < 0.5, model._low, 1.0)
    flipped = rng.random(patterns.shape) < NOISE
    return as_input(model, np.where(flipped, 1.0 + model._low - patterns, patterns))


def as_input(model: Any, states: np.ndarray) -> np.ndarray:
    """States as rows that the threshold of a network reads as such."""
    if model.binarize is None:
        return states
    return np.where(states == 1.0, model.binarize + 1.0, model.binarize)


@picture("patterns_", "thresholds_")
def _hopfield(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_energy(model, ax=ax)


@picture("intercept_hidden_", "components_")
def _machine(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_filters(model, None, feature_names, ax=ax)


@picture("rbms_")
def _network(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_filters(model, None, feature_names, ax=ax)


@picture("weights_", "intercept_", "log_partition_")
def _boltzmann(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """Weights between the units, with the biases on the diagonal."""
    n, d = len(model.intercept_), model.n_features_in_
    names = [*_names(model, feature_names, d), *(translated("hidden {k}", k=k) for k in range(1, n - d + 1))]
    z = short_number(float(model.log_partition_))
    title = translated("weights (on the diagonal: biases); log Z = {z}", z=z)
    return _heat(model.weights_ + np.diag(model.intercept_), names, names, title, "", ax)
