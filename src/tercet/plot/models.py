"""A fitted model's own picture: coefficients, means, paths, centres, trees of mergers."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tercet.plot.clusters import plane_of_rows, plot_clusters, plot_dendrogram, plot_reachability
from tercet.plot.comparison import bars
from tercet.plot.learning import numeric_measures, plot_history
from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    fading_colormap,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)

Test = Callable[[Any], bool]
Draw = Callable[..., Any]
_pictures: list[tuple[Test, Draw]] = []


def picture(*attributes: str, test: Test | None = None) -> Callable[[Draw], Draw]:
    """Register a function that draws models which have these attributes, or pass a test; the newest come first.

    Examples
    --------
    >>> @picture("tree_")
    ... def tree(model, feature_names, labels, ax):
    ...     return ax
    >>> _ = _pictures.pop(0)
    """

    def register(draw: Draw) -> Draw:
        fits = test or (lambda model: all(hasattr(model, attribute) for attribute in attributes))
        _pictures.insert(0, (fits, draw))
        return draw

    return register


def plot_model(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    ax: Any = None,
) -> Any:
    """Draw what a model learned, in the way that suits it; `None` when there is nothing to draw.

    Parameters
    ----------
    model : fitted estimator
        A method, or a pipeline that ends in one.
    feature_names : sequence of str, optional
        The columns it was fitted on.
    labels : sequence, optional
        What to call the classes, in the order of `classes_`; by default their own names.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes or None

    Examples
    --------
    >>> from tercet.linear_model import LinearRegression
    >>> model = LinearRegression().fit([[0, 1], [1, 1], [2, 5]], [1, 3, 5])
    >>> ax = plot_model(model, ["height", "weight"])
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['height', 'weight']
    """
    load_pictures()
    for fits, draw in _pictures:
        if fits(model):
            return draw(model, feature_names, labels, ax)
    return None


@picture(test=lambda model: bool(numeric_measures(getattr(model, "history_", None) or {})))
def _history(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    keys = numeric_measures(model.history_)
    best = next((key for key in ("loss", "fun", "objective", "inertia", "mistakes") if key in keys), keys[0])
    return plot_history(model, best, ax=ax)


@picture("estimator_")
def _inner(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_model(model.estimator_, feature_names, labels=labels, ax=ax)


@picture("estimators_")
def _parts(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The parts' coefficients side by side; what else there are, the first speaks for all."""
    parts = [part for part in np.ravel(np.asarray(model.estimators_, dtype=object)) if part is not None]
    rows = [np.asarray(part.coef_) for part in parts if hasattr(part, "coef_")]
    if len(rows) != len(parts) or any(row.size != rows[0].size or row.size != row.shape[-1] for row in rows):
        return plot_model(parts[0], feature_names, labels=labels, ax=ax) if parts else None
    classes = _labels(model, labels) or [""]
    k = len(classes)
    if len(rows) == k:
        words = classes
    elif len(rows) == k * (k - 1) // 2:
        words = [f"{classes[i]} | {classes[j]}" for i in range(k) for j in range(i + 1, k)]
    else:
        words = [str(i) for i in range(1, len(rows) + 1)]
    names = _names(model, feature_names, rows[0].size)
    return _heat(
        np.vstack([row.ravel() for row in rows]),
        words,
        names,
        translated("coefficients"),
        translated("class"),
        ax,
    )


@picture("named_estimators_")
def _vote(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """Weights of the members."""
    active = [not isinstance(member, str) for _, member in model.estimators]
    names = [name for (name, _), there in zip(model.estimators, active) if there]
    if model.weights is None:
        weights = np.full(len(names), 1 / len(names))
    else:
        weights = model.weights_ if isinstance(model.weights, str) else np.asarray(model.weights)[active]
    return _bars(weights.astype(float), names, 20, ax, translated("weight of the member"))


@picture("named_estimators_", "final_estimator_")
def _stack(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """What the final estimator makes of the members' outputs."""
    names = model.get_feature_names_out(feature_names if model.passthrough else None)
    head = f"{type(model).__name__.lower()}_"
    classes = _labels(model, labels) or None
    return plot_model(
        model.final_estimator_, [str(name).removeprefix(head) for name in names], labels=classes, ax=ax
    )


@picture("coef_")
def _coefficients(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_coefficients(model, feature_names, labels=labels, ax=ax)


@picture("powers_", "weights_")
def _polynomial(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    names = _names(model, feature_names, model.powers_.shape[1])
    powers, weights = np.asarray(model.powers_, dtype=int), np.asarray(model.weights_, dtype=float)
    rises = powers.any(axis=1)  # the constant is no part of the curve's shape
    raised = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    terms = [
        " ".join(word + (str(p).translate(raised) if p > 1 else "") for word, p in zip(names, row) if p)
        for row in powers[rises]
    ]
    return _bars(weights[rises], terms, 20, ax) if rises.any() else None


@picture(test=lambda model: getattr(model, "cluster_centers_", None) is not None)
def _centres(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    centres = np.asarray(model.cluster_centers_, dtype=float)
    words = [str(k) for k in range(len(centres))]
    names = _names(model, feature_names, centres.shape[1])
    return _heat(
        centres - centres.mean(axis=0),
        words,
        names,
        translated("centres, from their mean"),
        translated("cluster number"),
        ax,
    )


@picture("children_")
def _mergers(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_dendrogram(model, ax=ax)


@picture("reachability_", "ordering_")
def _reachability(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_reachability(model, ax=ax) if np.isfinite(model.reachability_).any() else None


@picture(test=lambda model: any(hasattr(model, name) for name in ("core_sample_indices_", "condensed_tree_")))
def _dense_regions(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    """The rows in the colours of their clusters; of more than two columns, the first two principal components."""
    return plot_clusters(*plane_of_rows(model._fit_X, model.labels_), ax=ax)


@picture("means_", "classes_")
def _means(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    means = np.asarray(model.means_, dtype=float)
    weights = getattr(model, "priors_", None)
    words = _labels(model, labels)
    names = _names(model, feature_names, means.shape[1])
    middle = np.average(means, axis=0, weights=weights)
    return _heat(
        means - middle, words, names, translated("class means, from the mean of all"), translated("class"), ax
    )


@picture("mse_path_", "alphas_")
def _errors_over_alpha(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    errors, alphas = np.asarray(model.mse_path_, dtype=float), np.asarray(model.alphas_, dtype=float)
    if errors.ndim == 3:  # several mixtures of the penalties: the one that was chosen
        chosen = int(np.argmin(errors.mean(axis=2).min(axis=1)))
        errors, alphas = (
            errors[chosen],
            np.atleast_2d(alphas)[min(chosen, np.atleast_2d(alphas).shape[0] - 1)],
        )
    return _path(alphas, errors, model.alpha_, "alpha", translated("mean squared error"), ax)


@picture("scores_", "Cs_")
def _scores_over_c(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    scores = model.scores_
    scores = np.asarray(next(iter(scores.values())) if isinstance(scores, dict) else scores, dtype=float)
    if scores.ndim == 3:  # folds, mixtures, strengths
        scores = scores[:, int(np.argmax(scores.mean(axis=0).max(axis=1)))]
    chosen = float(np.ravel(model.C_)[0])
    return _path(np.asarray(model.Cs_, dtype=float), scores.T, chosen, "C", translated("score"), ax)


@picture(test=lambda model: hasattr(model, "steps") and hasattr(model, "named_steps"))
def _pipeline(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_model(model.steps[-1][1], feature_names, labels=labels, ax=ax)


@styled
def plot_coefficients(
    model: Any,
    feature_names: Sequence[str] | None = None,
    top: int = 20,
    *,
    labels: Sequence[Any] | None = None,
    ax: Any = None,
) -> Any:
    """Draw a linear model's largest coefficients: bars, or a heat map when it has a row for every class.

    Parameters
    ----------
    model : fitted estimator
        With a `coef_`.
    feature_names : sequence of str, optional
        The columns; by default those it saw at fit, or x0, x1 ...
    top : int, default=20
        How many features to draw.
    labels : sequence, optional
        What to call the classes, in the order of `classes_`; by default their own names.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.linear_model import LinearRegression
    >>> ax = plot_coefficients(LinearRegression().fit([[0, 1], [1, 1], [2, 5]], [1, 3, 5]))
    >>> [round(float(bar.get_width()), 6) + 0.0 for bar in ax.patches]
    [2.0, 0.0]
    """
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    coef = np.atleast_2d(finite_array(coef, "coef_"))
    names = _names(model, feature_names, coef.shape[1])
    words = _labels(model, labels)
    if len(coef) == 1:
        below = (
            translated("coefficient (above 0: {label})", label=short_name(words[1]))
            if len(words) == 2
            else ""
        )
        return _bars(coef[0], names, top, ax, below)
    of_classes = len(words) == len(coef)
    words = words if of_classes else [str(k) for k in range(1, len(coef) + 1)]
    return _heat(
        coef, words, names, translated("coefficients"), translated("class") if of_classes else "", ax, top
    )


@styled
def _bars(values: np.ndarray, names: Sequence[str], top: int, ax: Any = None, below: str = "") -> Any:
    order = np.argsort(-np.abs(values), kind="stable")[:top]
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(order), 3))
    bars(ax, [names[k] for k in order], values[order])
    title = (
        ""
        if len(order) == len(values)
        else translated("the {top} largest of {n}", top=len(order), n=len(values))
    )
    return label_axes(ax, below or translated("coefficient"), title=title)


@styled
def _heat(
    values: np.ndarray,
    columns: Sequence[str],
    names: Sequence[str],
    title: str,
    below: str,
    ax: Any = None,
    top: int = 20,
) -> Any:
    """Features from top to bottom, classes from left to right, colour for the number."""
    order = np.argsort(-np.abs(values).max(axis=0), kind="stable")[:top]
    cells = values[:, order].T
    rows, k = cells.shape
    ax = get_axes(ax, height=1.1 + 0.24 * max(rows, 3))
    reach = float(np.abs(cells).max()) or 1.0
    ax.imshow(
        cells,
        cmap=fading_colormap(SECOND, ACCENT),
        vmin=-reach,
        vmax=reach,
        aspect="auto",
        interpolation="none",
    )
    if k <= 8:
        for i, j in np.ndindex(rows, k):
            colour = "white" if abs(cells[i, j]) > 0.6 * reach else INK
            ax.text(
                j, i, short_number(float(cells[i, j])), ha="center", va="center", fontsize=7.5, color=colour
            )
    every = -(-k // 25)
    ax.set_xticks(
        range(0, k, every), [short_name(word, 14) for word in columns[::every]], rotation=90 if k > 8 else 0
    )
    ax.set_yticks(range(rows), [short_name(names[j], 28) for j in order])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return label_axes(ax, below, title=title)


@styled
def _path(strengths: np.ndarray, folds: np.ndarray, chosen: float, x: str, y: str, ax: Any = None) -> Any:
    """A score of every fold, and their mean, over the strength of the penalty."""
    ax = get_axes(ax)
    order = np.argsort(strengths)
    ax.plot(strengths[order], folds[order], color=INK, alpha=0.25, linewidth=0.8)
    ax.plot(strengths[order], folds[order].mean(axis=1), color=ACCENT, label=translated("mean of the folds"))
    ax.axvline(
        chosen, color=SECOND, linewidth=1, linestyle=(0, (4, 3)), label=f"{x} = {short_number(chosen)}"
    )
    if strengths.min() > 0:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.minorticks_off()
    ax.legend(loc="best")
    return label_axes(ax, x, y)


def _labels(model: Any, given: Sequence[Any] | None) -> list[str]:
    classes = getattr(model, "classes_", ())
    if given is not None and len(given) != len(classes):
        raise ValueError(f"labels has {len(given)} names; the model has {len(classes)} classes.")
    return [str(label) for label in (classes if given is None else given)]


def _names(model: Any, given: Sequence[str] | None, n: int) -> list[str]:
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    names = [f"x{k}" for k in range(n)] if given is None else [str(word) for word in given]
    if len(names) != n:
        raise ValueError(f"feature_names has {len(names)} names; the model has {n} features.")
    return names


PICTURES = (
    "bayes", "candidates", "chains", "components", "dependencies", "dictionaries", "embeddings",
    "energy_networks", "graphs", "hidden_units", "metrics", "mixtures", "networks", "piecewise_linear",
    "rules", "self_organizing", "semi_supervised", "sequences", "svm", "topics", "trees", "reinforcement",
)  # fmt: skip


@functools.cache
def load_pictures() -> None:
    """Load the modules that register pictures: the package itself loads a module when a name of it is first used.

    What was registered from outside comes first, then the modules from the last to the first, whichever was loaded
    first, and then the pictures of this module.
    """
    for name in PICTURES:
        importlib.import_module(f"tercet.plot.{name}")
    places = {f"tercet.plot.{name}": -k for k, name in enumerate(PICTURES, 1)} | {__name__: 1}
    _pictures.sort(key=lambda entry: places.get(entry[1].__module__, -len(PICTURES) - 1))
