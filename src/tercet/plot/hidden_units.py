"""Hidden units of neural networks: centres and widths, weights of layers and of a cascade, states over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.clusters import plane_of_rows
from tercet.plot.models import _heat, _names, picture
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

LEGIBLE = 12  # as many curves of single units can be told apart
IMPULSE_LENGTH = 20  # time steps after the impulse


@styled
def plot_rbf_units(
    model: Any,
    X: Any = None,
    y: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    ax: Any = None,
    resolution: int = 300,
) -> Any:
    """Draw the hidden units of an RBF network: the fitted curve of one feature, or centres with their widths.

    Of one feature, the thin curves are the weighted units and the thick one is their sum. Of two, a circle around
    a centre has the radius r = 1 / sqrt(β), where the unit has fallen to 1/e. Of more, only the centres are drawn,
    on their first two principal components.

    Parameters
    ----------
    model : RBFNetwork or RBFNetworkClassifier
        A fitted network; the curve is that of its first output.
    X : array of shape (n_samples, n_features), optional
        Rows to draw beside the units.
    y : array of shape (n_samples,), optional
        Their targets: heights over one feature, colours over two.
    feature_names : sequence of str, optional
        What the features are.
    ax : matplotlib Axes, optional
        Where to draw.
    resolution : int, default=300
        Points of the curve.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import RBFNetwork
    >>> model = RBFNetwork(centers=[[0, 0], [1, 1]], width=0.5).fit(
    ...     [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    ... )
    >>> ax = plot_rbf_units(model)
    >>> [(circle.center, circle.radius) for circle in ax.patches]
    [((0.0, 0.0), 0.5), ((1.0, 1.0), 0.5)]
    """
    ax = get_axes(ax)
    rows = None if X is None else finite_array(X, "X")
    names = [short_name(word) for word in _names(model, feature_names, model.n_features_in_)]
    if len(names) == 1:
        return _curve_of_units(model, rows, y, names[0], ax, resolution)
    if rows is not None and len(names) == 2:
        shown = sample_indices(len(rows))
        colours: dict[str, Any] = (
            {"color": INK} if y is None else {"c": _numbers(y)[shown], "cmap": "viridis"}
        )
        scatter(ax, *rows[shown].T, **colours)
    points, _ = plane_of_rows(model.centers_, np.zeros(len(model.centers_), dtype=int))
    ax.scatter(*points.T, marker="+", s=60, color=ACCENT, label=translated("centres"), zorder=3)
    if len(names) > 2:
        return label_axes(ax, "1", "2", type(model).__name__)
    from matplotlib.patches import Circle

    for center, beta in zip(model.centers_, model.beta_):
        circle = Circle(tuple(center.tolist()), float(beta**-0.5), fill=False, color=SECOND, linewidth=0.9)
        ax.add_patch(circle)
    ax.autoscale_view()
    return label_axes(ax, names[0], names[1], type(model).__name__)


def _numbers(y: Any) -> np.ndarray:
    """Targets as numbers, labels as their places among the classes."""
    values = np.asarray(y)
    return values if values.dtype.kind in "fiub" else np.unique(values, return_inverse=True)[1]


def _curve_of_units(model: Any, rows: Any, y: Any, name: str, ax: Any, resolution: int) -> Any:
    """The first output over one feature, and the weighted units it is the sum of."""
    reach = model.beta_**-0.5
    low, high = (model.centers_[:, 0] - reach).min(), (model.centers_[:, 0] + reach).max()
    if rows is not None:
        low, high = min(low, rows.min()), max(high, rows.max())
        if y is not None:
            shown = sample_indices(len(rows))
            scatter(ax, rows[shown, 0], _numbers(y)[shown], color=INK)
    x = np.linspace(low, high, resolution)[:, None]
    weights, bias = np.atleast_2d(model.weights_)[0], np.ravel(model.intercept_)[0]
    parts = model.hidden_activations(x) * weights
    for k in np.argsort(-np.abs(weights), kind="stable")[:LEGIBLE]:
        ax.plot(x[:, 0], parts[:, k], color=SECOND, linewidth=0.8, alpha=0.7)
    ax.plot(x[:, 0], parts.sum(axis=1) + bias, color=ACCENT, linewidth=1.8, label=translated("output"))
    return label_axes(ax, name, translated("output"), type(model).__name__)


@styled
def plot_cascade(model: Any, feature_names: Sequence[str] | None = None, *, ax: Any = None) -> Any:
    """Draw the connections of a cascade-correlation network: a row for each unit, a column for each of its inputs.

    A cell has the colour of the weight over the largest one of its unit. Each hidden unit sees the features and the
    units that were installed before it, the outputs see all of them.

    Parameters
    ----------
    model : CascadeCorrelation or CascadeCorrelationClassifier
        A fitted network.
    feature_names : sequence of str, optional
        What the features are.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import CascadeCorrelation
    >>> model = CascadeCorrelation(max_units=1, random_state=0).fit(
    ...     [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    ... )
    >>> ax = plot_cascade(model, ["a", "b"])
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['a', 'b', '1']
    """
    q = len(model.hidden_intercept_)
    names = [short_name(word, 14) for word in _names(model, feature_names, model.n_features_in_)]
    weights = np.vstack([model.hidden_weights_, model.output_weights_])
    largest = np.abs(weights).max(axis=1, keepdims=True)
    cells = np.divide(weights, largest, out=np.zeros_like(weights), where=largest > 0)
    ax = get_axes(ax, height=1.1 + 0.24 * max(len(cells), 3))
    ax.imshow(
        cells, cmap=fading_colormap(SECOND, ACCENT), vmin=-1, vmax=1, aspect="auto", interpolation="none"
    )
    columns = [*names, *(str(k) for k in range(1, q + 1))]
    units = [*(str(k) for k in range(1, q + 1)), *([translated("output")] * len(model.output_weights_))]
    every = -(-len(columns) // 25)
    ax.set_xticks(range(0, len(columns), every), columns[::every], rotation=90 if len(columns) > 8 else 0)
    every = -(-len(units) // 40)
    ax.set_yticks(range(0, len(units), every), units[::every])
    if q:
        ax.axvline(len(names) - 0.5, color=INK, linewidth=0.6)
        ax.axhline(q - 0.5, color=INK, linewidth=0.6)
    return label_axes(ax, translated("features and hidden units"), translated("unit"), type(model).__name__)


@styled
def plot_hidden_states(
    model: Any, X: Any = None, *, units: Sequence[int] | None = None, ax: Any = None
) -> Any:
    """Draw the hidden states of a recurrent network over time, a line for each unit.

    Parameters
    ----------
    model : ElmanNetwork or ElmanNetworkClassifier
        A fitted network.
    X : array of shape (length, n_features), optional
        One sequence; by default an impulse, ones at the first time step and zeros after it, which shows how long
        the network remembers.
    units : sequence of int, optional
        The units to draw; by default the first eight.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import ElmanNetwork
    >>> X = np.arange(30.0)[:, None] % 3
    >>> model = ElmanNetwork(4, max_iter=300, tol=0.01, random_state=0).fit(X, X[:, 0])
    >>> ax = plot_hidden_states(model, X[:6])
    >>> len(ax.lines), ax.lines[0].get_ydata().shape
    (4, (6,))
    """
    title = type(model).__name__
    if X is None:
        X = np.zeros((IMPULSE_LENGTH, model.n_features_in_))
        X[0] = 1.0
        title = translated("states after an impulse")
    states = model.hidden_states(finite_array(X, "X"))
    ax = get_axes(ax)
    chosen = range(min(len(COLOURS), states.shape[1])) if units is None else units
    for k, colour in zip(chosen, (COLOURS * (len(chosen) // len(COLOURS) + 1))):
        ax.plot(np.arange(1, len(states) + 1), states[:, k], color=colour, marker=".", label=str(k))
    ax.legend(title=translated("unit"), loc="upper left", bbox_to_anchor=(1, 1))
    return label_axes(ax, translated("time step"), translated("hidden state"), title)


@styled
def plot_layer_weights(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    layer: int = 0,
    top: int = 20,
    ax: Any = None,
) -> Any:
    """Draw the weights of a layer of a multilayer perceptron: a row for each input, a column for each unit.

    The first layer shows which features a hidden unit responds to.

    Parameters
    ----------
    model : MLPClassifier, MLPRegressor, DBNClassifier or DBNRegressor
        A fitted network.
    feature_names : sequence of str, optional
        What the features are.
    layer : int, default=0
        Number of the layer; -1 is that of the outputs.
    top : int, default=20
        How many inputs to draw, those with the largest weights.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import MLPClassifier
    >>> model = MLPClassifier(3, "tanh", solver="lbfgs", random_state=0)
    >>> ax = plot_layer_weights(model.fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]), ["a", "b"])
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['a', 'b']
    """
    n_layers = len(model.coefs_)
    if not -n_layers <= layer < n_layers:
        raise ValueError(f"layer must be from {-n_layers} to {n_layers - 1}; got {layer!r}.")
    at = layer % n_layers
    weights = finite_array(model.coefs_[at], "coefs_")
    first = _names(model, feature_names, model.n_features_in_)
    names = first if at == 0 else [str(k) for k in range(1, len(weights) + 1)]
    units = [str(k) for k in range(1, weights.shape[1] + 1)]
    below = translated("output") if at == n_layers - 1 else translated("unit")
    return _heat(weights.T, units, names, translated("weights of layer {k}", k=at + 1), below, ax, top)


@picture("coefs_", "intercepts_", "network_")
@picture("coefs_", "intercepts_", "n_layers_")
def _layer_weights(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_layer_weights(model, feature_names, ax=ax)


@picture("centers_", "beta_", "weights_")
def _rbf_units(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_rbf_units(model, feature_names=feature_names, ax=ax)


@picture("hidden_weights_", "hidden_intercept_", "output_weights_")
def _cascade(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_cascade(model, feature_names, ax=ax)


@picture("recurrent_weights_", "hidden_intercept_")
def _hidden_states(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_hidden_states(model, ax=ax)
