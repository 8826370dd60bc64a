"""Mixtures: where their components lie, and what speaks for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.bayes import _value
from tercet.plot.comparison import bars
from tercet.plot.models import _heat, _names, picture
from tercet.plot.styling import (
    COLOURS,
    INK,
    MARKERS,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    short_name,
    short_number,
    styled,
    translated,
)

RINGS = (1.0, 2.0)  # deviations
MOST = 20  # rows of a picture


@styled
def plot_mixture(
    model: Any,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    columns: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the components of a Gaussian mixture: ellipses of one and two deviations; curves for a single column.

    Parameters
    ----------
    model : fitted estimator
        With `weights_`, `means_` and `covariances_`.
    X : array of shape (n_samples, n_features), optional
        Rows to draw in the colours of their components.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    columns : two ints, optional
        Which columns to draw; by default those in which the means lie farthest apart, in deviations.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.mixture import GaussianMixture
    >>> X = [[0, 0], [0, 1], [1, 0], [8, 8], [8, 9], [9, 8]]
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> len(plot_mixture(model, X).patches)
    4
    """
    means, spread = np.asarray(model.means_, dtype=float), _spread(model)
    weights = np.asarray(model.weights_, dtype=float)
    d = means.shape[1]
    names = _names(model, feature_names, d)
    ax = get_axes(ax)
    if d == 1:
        return _curves(ax, weights, means[:, 0], spread[:, 0, 0], X, names[0])
    chosen = _apart(weights, means, spread) if columns is None else [int(c) % d for c in columns]
    if len(chosen) != 2:
        raise ValueError(f"columns must be two; got {columns!r}.")
    if X is not None:
        points = finite_array(X, "X", missing=True)
        shown = sample_indices(len(points))
        mine = np.asarray(model.predict(points[shown]))
        for k in np.unique(mine):
            rows = points[shown][mine == k][:, chosen]
            scatter(ax, *rows.T, color=COLOURS[int(k) % len(COLOURS)], alpha=0.5)
    for k in np.argsort(-weights, kind="stable"):
        colour = COLOURS[int(k) % len(COLOURS)]
        for ring in RINGS:
            ax.add_patch(_ellipse(means[k, chosen], spread[k][np.ix_(chosen, chosen)], ring, colour))
        ax.plot(*means[k, chosen], marker="+", color=INK)
        if len(weights) <= 12:
            ax.annotate(
                short_number(float(weights[k])), means[k, chosen], xytext=(4, 4), textcoords="offset points"
            )
    ax.autoscale_view()
    title = translated("components with their weights; rings of one and two deviations")
    return label_axes(ax, short_name(names[chosen[0]]), short_name(names[chosen[1]]), title)


def _spread(model: Any) -> np.ndarray:
    """Covariance matrices of all components, whatever form the model keeps them in."""
    given = np.asarray(model.covariances_, dtype=float)
    k, d = np.shape(model.means_)
    if given.shape == (k, d, d):
        return given
    if given.shape == (d, d) and getattr(model, "covariance_type", "tied") == "tied":
        return np.broadcast_to(given, (k, d, d))
    if given.shape == (k, d):
        return given[:, :, None] * np.eye(d)
    return given.reshape(k, 1, 1) * np.eye(d)


def _apart(weights: np.ndarray, means: np.ndarray, spread: np.ndarray) -> list[int]:
    middle = weights @ means
    between = weights @ (means - middle) ** 2
    within = weights @ np.diagonal(spread, axis1=1, axis2=2)
    order = np.argsort(-between / np.maximum(within, np.finfo(float).tiny), kind="stable")[:2]
    return sorted(order.tolist())


def _ellipse(middle: np.ndarray, spread: np.ndarray, ring: float, colour: str) -> Any:
    from matplotlib.patches import Ellipse

    values, vectors = np.linalg.eigh(spread)
    wide, high = 2 * ring * np.sqrt(np.maximum(values[::-1], 0))
    angle = np.degrees(np.arctan2(vectors[1, -1], vectors[0, -1]))
    return Ellipse(
        (float(middle[0]), float(middle[1])),
        wide,
        high,
        angle=angle,
        facecolor=colour,
        edgecolor=colour,
        alpha=0.18,
    )


def _curves(ax: Any, weights: np.ndarray, means: np.ndarray, variances: np.ndarray, X: Any, word: str) -> Any:
    deviations = np.sqrt(variances)
    x = np.linspace((means - 3.5 * deviations).min(), (means + 3.5 * deviations).max(), 400)
    parts = weights[:, None] * np.exp(-0.5 * ((x - means[:, None]) / deviations[:, None]) ** 2)
    parts /= np.sqrt(2 * np.pi) * deviations[:, None]
    if X is not None:
        values = finite_array(X, "X", missing=True).ravel()
        ax.hist(values[np.isfinite(values)], bins="auto", density=True, color=INK, alpha=0.12)
    for k, part in enumerate(parts):
        ax.fill_between(x, part, color=COLOURS[k % len(COLOURS)], alpha=0.25, linewidth=0)
    ax.plot(x, parts.sum(axis=0), color=INK, linewidth=1)
    ax.set_ylim(bottom=0)
    return label_axes(ax, short_name(word), translated("density"))


@picture("weights_", "means_", "covariances_")
def _gaussians(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_mixture(model, None, feature_names, ax=ax)


@picture("weights_", "probs_")
def _chances(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The features, or the values of columns, whose probabilities differ most between the components."""
    tables = model.probs_
    if hasattr(model, "categories_"):
        columns = _names(model, feature_names, len(tables))
        pairs = [(column, value) for column, known in zip(columns, model.categories_) for value in known]
        names = [f"{column} {_value(value)}" for column, value in pairs]
        found = np.concatenate([np.asarray(table, dtype=float) for table in tables], axis=1)
    else:
        found = np.asarray(tables, dtype=float)
        names = _names(model, feature_names, found.shape[1])
    if len(found) == 1:  # nothing to differ from
        return _shares(found[0], names, translated("probability"), ax)
    title = translated("probabilities, from their mean over the components")
    words = [str(k) for k in range(len(found))]
    return _heat(found - found.mean(axis=0), words, names, title, translated("cluster number"), ax)


@picture("pi_", "p_", "q_")
def _coins(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    chances = np.array([model.pi_, model.p_, model.q_], dtype=float)
    return _shares(
        chances, ["A (π)", "B (p)", "C (q)"], translated("probability of heads"), ax, in_order=True
    )


@styled
def _shares(
    values: np.ndarray, names: Sequence[str], below: str, ax: Any = None, in_order: bool = False
) -> Any:
    order = np.arange(len(values)) if in_order else np.argsort(-values, kind="stable")[:MOST]
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(order), 3))
    bars(ax, [names[k] for k in order], values[order])
    title = (
        translated("the {top} largest of {n}", top=MOST, n=len(values)) if len(values) > len(order) else ""
    )
    return label_axes(ax, below, title=title)


@picture("results_", "criterion_", "n_components_", "covariance_type_")
@styled
def _candidates(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The criterion over the number of components, a line for each kind of covariance."""
    from matplotlib.ticker import MaxNLocator

    table, kind = model.results_, model.criterion
    ax = get_axes(ax)
    sizes, values = np.asarray(table["n_components"]), np.asarray(table[kind], dtype=float)
    # A component that has collapsed makes a criterion absurdly good, and the lines of the others flat.
    values = np.where(np.asarray(table["collapsed"], dtype=bool), np.nan, values)
    for covariance, marker in zip(dict.fromkeys(table["covariance_type"]), MARKERS):
        mine = np.asarray(table["covariance_type"]) == covariance
        order = np.argsort(sizes[mine])
        ax.plot(sizes[mine][order], values[mine][order], marker=marker, markersize=4, label=covariance)
    ax.plot(model.n_components_, model.criterion_, marker="o", markersize=11, color=INK, fillstyle="none")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(axis="y")
    ax.legend(loc="best")
    height = translated("log-likelihood of rows held out") if kind == "cv" else kind.upper()
    return label_axes(ax, translated("number of components"), height)
