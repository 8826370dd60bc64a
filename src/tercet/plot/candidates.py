"""Threshold units, and candidates of a search and what they scored: hidden sizes, starts of a training."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.plot.models import picture, plot_coefficients
from tercet.plot.styling import ACCENT, SECOND, get_axes, label_axes, styled, translated


@styled
def plot_hidden_sizes(search: Any, *, ax: Any = None) -> Any:
    """Draw the score of each network of a search over its hidden units, and the chosen one.

    Parameters
    ----------
    search : fitted HiddenSizeSearch
        The search. Bars show the standard deviation over the folds.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.neural_network import HiddenSizeSearch, MLPRegressor
    >>> x = np.linspace(-3, 3, 40)
    >>> network = MLPRegressor(activation="tanh", solver="lbfgs", max_iter=500, random_state=0)
    >>> search = HiddenSizeSearch(network, sizes=[1, 2], cv=2, tol=5).fit(x[:, None], np.sin(x))
    >>> ax = plot_hidden_sizes(search)
    >>> ax.get_xlabel(), ax.get_title(loc="left")
    ('hidden units', '1')
    """
    table = search.results_
    sizes = [size[0] if len(size) == 1 else "-".join(map(str, size)) for size in table["hidden_layer_sizes"]]
    order = np.argsort([sum(size) for size in table["hidden_layer_sizes"]], kind="stable")
    scores, spread = np.array(table["score"])[order], np.array(table["std_score"])[order]
    ax, at = get_axes(ax), np.arange(len(sizes))
    ax.errorbar(
        at, scores, spread if spread.any() else None, color=SECOND, marker="o", markersize=4, capsize=2
    )
    best = int(np.flatnonzero(order == search.best_index_)[0])
    ax.plot(at[best], scores[best], "o", color=ACCENT, markersize=8)
    ax.set_xticks(at, [str(sizes[k]) for k in order])
    return label_axes(ax, translated("hidden units"), translated("score"), str(sizes[search.best_index_]))


@styled
def plot_starts(model: Any, *, ax: Any = None) -> Any:
    """Draw the loss or the score of each start of a multi-start training, from the best to the worst.

    Parameters
    ----------
    model : fitted MultiStart
        The model. Steps in the curve are local minima that several starts end in.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.cluster import KMeans
    >>> from tercet.neural_network import MultiStart
    >>> X = [[0.0], [1.0], [4.0], [5.0], [9.0]]
    >>> model = MultiStart(KMeans(3, n_init=1, init="random"), 4, random_state=0).fit(X)
    >>> ax = plot_starts(model)
    >>> ax.get_ylabel(), len(ax.lines[0].get_ydata())
    ('loss', 4)
    """
    kind = "loss" if "loss" in model.results_ else "score"
    values = np.array(model.results_[kind], dtype=float)
    values = np.sort(values[np.isfinite(values)])
    values = values if kind == "loss" else values[::-1]
    ax = get_axes(ax)
    rank = np.arange(1, len(values) + 1)
    ax.plot(rank, values, color=SECOND, marker="o", markersize=4)
    ax.plot(rank[:1], values[:1], "o", color=ACCENT, markersize=8)
    names = {"loss": translated("loss"), "score": translated("score")}
    return label_axes(ax, translated("rank of the start"), names[kind])


@picture(test=lambda model: hasattr(model, "hidden_layer_sizes_") and hasattr(model, "results_"))
def _hidden_sizes(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_hidden_sizes(model, ax=ax)


@picture(
    test=lambda model: (
        hasattr(model, "best_estimator_") and "random_state" in (getattr(model, "results_", None) or {})
    )
)
def _starts(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_starts(model, ax=ax)


@picture("hidden_weights_", "coef_")
def _output_units(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The weights of the output units, over the hidden units."""
    units = [f"h{k}" for k in range(model.coef_.shape[1])]
    return plot_coefficients(model, units, labels=labels, ax=ax)
