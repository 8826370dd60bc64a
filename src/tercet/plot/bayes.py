"""What Bayes classifiers learned: the means, words and values that speak for each class, and densities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tercet.plot.comparison import bars
from tercet.plot.models import _heat, _labels, _names, _path, picture, plot_model
from tercet.plot.styling import COLOURS, get_axes, label_axes, short_name, short_number, styled, translated

MOST = 20  # rows of a picture
POINTS = 4000  # of a density; of more, a like share is drawn


@picture("theta_", "var_", "classes_")
def _normal(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The classes' means, in deviations within the classes, so that columns of any scale can be compared."""
    theta, prior = np.asarray(model.theta_, dtype=float), np.asarray(model.class_prior_, dtype=float)
    deviation = np.sqrt(prior @ np.asarray(model.var_, dtype=float))
    away = (theta - prior @ theta) / np.where(deviation > 0, deviation, 1.0)
    title = translated("class means, from the mean of all, in deviations")
    return _heat(
        away,
        _labels(model, labels),
        _names(model, feature_names, theta.shape[1]),
        title,
        translated("class"),
        ax,
    )


@picture(test=lambda model: np.ndim(getattr(model, "feature_log_prob_", [])) == 2)
def _features(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The features whose probabilities differ most between the classes."""
    found = np.asarray(model.feature_log_prob_, dtype=float)
    found = np.maximum(found, np.log(np.finfo(float).tiny))  # without smoothing a probability may be 0
    names = _names(model, feature_names, found.shape[1])
    title = translated("what speaks for a class: log-probability, from the classes' mean")
    return _heat(found - found.mean(axis=0), _labels(model, labels), names, title, translated("class"), ax)


@picture(test=lambda model: _tables(model) is not None)
def _values(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    tables = _tables(model)
    assert tables is not None
    names = _names(model, feature_names, len(tables))
    words = [
        f"{names[j]} {_value(value)}"
        for j in range(len(tables))
        for value in _values_of(model, j, len(tables[j]))
    ]
    return _speaking(tables, words, _labels(model, labels), ax)


@picture("parts_", "distributions_")
def _mixed(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The part with the most columns speaks for all."""
    kinds = list(model.distributions_)
    most = max(model.parts_, key=kinds.count)
    mine = [j for j, kind in enumerate(kinds) if kind == most]
    names = _names(model, feature_names, len(kinds))
    part = model.parts_[most]
    if most != "categorical":
        words = _labels(model, labels)
        return plot_model(part, [names[j] for j in mine], labels=words, ax=ax)
    tables = [np.asarray(counts, dtype=float).T for counts in part.category_count_]
    words = [
        f"{names[j]} {_value(v)}" for j, table in zip(mine, tables) for v in _values_of(model, j, len(table))
    ]
    return _speaking(tables, words, _labels(model, labels), ax)


@styled
def plot_densities(
    model: Any,
    feature_names: Sequence[str] | None = None,
    column: int | str | None = None,
    *,
    labels: Sequence[Any] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the densities of one column in the classes; by default of the one in which they overlap least.

    Parameters
    ----------
    model : fitted GaussianNB or KernelDensityNB
        Or any with `theta_` and `var_`, or with `points_`, `masses_` and `bandwidth_`.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    column : int or str, optional
        Which one, by place or name.
    labels : sequence, optional
        What to call the classes, in the order of `classes_`; by default their own names.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.naive_bayes import KernelDensityNB
    >>> model = KernelDensityNB().fit([[1, 5], [2, 6], [8, 6], [9, 5]], ["low", "low", "high", "high"])
    >>> plot_densities(model, ["size", "age"]).get_xlabel()
    'size'
    """
    if hasattr(model, "bandwidth_"):
        d, density = np.shape(model.bandwidth_)[1], _kernel_curves
    elif hasattr(model, "var_"):
        d, density = np.shape(model.theta_)[1], _normal_curves
    else:
        raise TypeError(
            "plot_densities needs a fitted GaussianNB or KernelDensityNB, or what has their attributes; "
            f"got {type(model).__name__}."
        )
    names = _names(model, feature_names, d)
    if column is not None and column not in names and not (isinstance(column, int) and -d <= column < d):
        raise ValueError(f"column {column!r}: there are {', '.join(names[:12])}.")
    if column is None:
        drawn = [density(model, j) for j in range(d)]
        best = int(np.argmin([np.trapezoid(curves.min(axis=0), x) for x, curves in drawn]))
    else:
        best = names.index(column) if isinstance(column, str) else int(column) % d
    x, curves = density(model, best)
    ax, words = get_axes(ax), _labels(model, labels)
    for c, colour in zip(range(len(curves)), COLOURS):  # more classes than colours would be a tangle
        ax.plot(x, curves[c], color=colour, label=short_name(words[c]))
        ax.fill_between(x, curves[c], color=colour, alpha=0.12, linewidth=0)
    ax.set_ylim(bottom=0)
    ax.legend(loc="best")
    title = translated("the column in which the classes overlap least") if column is None and d > 1 else ""
    return label_axes(ax, short_name(names[best]), translated("density"), title)


@picture("points_", "masses_", "bandwidth_")
def _density(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_densities(model, feature_names, labels=labels, ax=ax)


@picture("ks_", "scores_", "best_k_")
@styled
def _scores_over_k(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    ax = _path(
        np.asarray(model.ks_),
        np.asarray(model.scores_, dtype=float),
        model.best_k_,
        "k",
        translated("score"),
        ax,
    )
    shown = [
        k for k in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if min(model.ks_) <= k <= max(model.ks_)
    ]
    if len(shown) > 1:
        ax.set_xticks(shown)
    return label_axes(ax, translated("number of neighbours k"))


@picture(test=lambda model: np.isfinite(getattr(model, "parent_scores_", np.nan)).any())
@styled
def _parents(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    scores = np.asarray(model.parent_scores_, dtype=float)
    names = _names(model, feature_names, scores.size)
    order = np.argsort(-scores, kind="stable")[:MOST]
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(order), 3))
    bars(ax, [names[k] for k in order], scores[order])
    return label_axes(ax, translated("accuracy with this column as the super-parent"))


def _tables(model: Any) -> list[np.ndarray] | None:
    """How often each value of each column came in each class, however the model keeps that."""
    if hasattr(model, "category_count_"):
        return [np.asarray(counts, dtype=float).T for counts in model.category_count_]
    if hasattr(model, "pair_count_"):  # a value together with itself is the value
        pairs = np.asarray(model.pair_count_)
        here = np.arange(len(pairs))
        return np.split(pairs[here, here].astype(float), np.cumsum(model.n_values_)[:-1])
    if hasattr(model, "tables_") and hasattr(model, "n_values_"):
        sizes, k = model.n_values_, len(model.class_count_)
        return [
            np.asarray(table, dtype=float).reshape(-1, size, k).sum(axis=0)
            for table, size in zip(model.tables_, sizes)
        ]
    return None


def _values_of(model: Any, j: int, size: int) -> Sequence[Any]:
    """What the values of a column are called: categories, or the intervals between cuts."""
    known = getattr(model, "categories_", [range(size)] * (j + 1))[j]
    if known is not None:
        return list(known)
    cuts = [short_number(float(cut)) for cut in model.cuts_[j]]
    if not cuts:
        return [""] * size
    return [f"≤ {cuts[0]}", *(f"({low}, {high}]" for low, high in pairwise(cuts)), f"> {cuts[-1]}"]


def _value(value: Any) -> str:
    word = f"{value:g}" if isinstance(value, float) else str(value)
    return word if word[:1] in "≤>([<≥" else f"= {word}"


def _speaking(tables: list[np.ndarray], words: list[str], classes: list[str], ax: Any) -> Any:
    """The values that tell most about the class, and how much more likely each makes it."""
    counts = np.concatenate(tables) + 0.5  # no logarithm of 0
    whole = np.concatenate([np.broadcast_to((table + 0.5).sum(axis=0), table.shape) for table in tables])
    within, share = counts / whole, whole / whole.sum(axis=1, keepdims=True)
    lift = np.log(within) - np.log((share * within).sum(axis=1, keepdims=True))
    told = (share * within * lift).sum(axis=1)  # the value's part of the mutual information with the class
    best = np.argsort(-told, kind="stable")[:MOST]
    title = translated("what speaks for a class: log P(value | class) / P(value)")
    return _heat(lift[best].T, classes, [words[k] for k in best], title, translated("class"), ax)


def _normal_curves(model: Any, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Places along a column, and the normal density of every class there."""
    mean, variance = np.asarray(model.theta_, float)[:, j], np.asarray(model.var_, float)[:, j]
    deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    x = np.linspace((mean - 3.5 * deviation).min(), (mean + 3.5 * deviation).max(), 240)
    x = np.union1d(x, mean)  # a narrow peak would fall between the places
    away = (x - mean[:, None]) / deviation[:, None]
    return x, np.exp(-0.5 * away**2) / (np.sqrt(2 * np.pi) * deviation[:, None])


def _kernel_curves(model: Any, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Places along a column, and the sum of kernels of every class there."""
    width = np.asarray(model.bandwidth_, dtype=float)
    k, d = width.shape
    parts = []
    for c in range(k):
        points, masses = (
            np.asarray(model.points_[c * d + j], float),
            np.asarray(model.masses_[c * d + j], float),
        )
        every = max(1, -(-points.size // POINTS))
        parts.append((points[::every], masses[::every]))
    everything = np.concatenate([points for points, _ in parts])
    reach = 3 * width[:, j].max()
    x = np.linspace(everything.min() - reach, everything.max() + reach, 240)
    curves = np.zeros((k, x.size))
    for c, (points, masses) in enumerate(parts):
        h = max(width[c, j], np.finfo(float).tiny)
        away = (x[:, None] - points) / h
        if model.kernel == "gaussian":
            shape = np.exp(-0.5 * away**2) / np.sqrt(2 * np.pi)
        else:
            inside = np.abs(away) <= 1
            shape = inside * (0.5 if model.kernel == "uniform" else 0.75 * (1 - away**2))
        curves[c] = shape @ masses / (h * max(masses.sum(), np.finfo(float).tiny))
    return x, curves
