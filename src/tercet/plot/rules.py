"""Rules: how many rows each decides and how often it is right, and as boxes over two columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tercet.plot.models import picture
from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    SECOND,
    finite_array,
    get_axes,
    label_axes,
    sample_indices,
    scatter,
    short_name,
    styled,
    translated,
)

MOST = 20  # rules


@styled
def plot_rules(
    model: Any,
    feature_names: Sequence[str] | None = None,
    *,
    labels: Sequence[Any] | None = None,
    ax: Any = None,
    most: int = MOST,
) -> Any:
    """Draw a bar for each rule: the weight of the rows that it covers, those of its class and the others.

    Parameters
    ----------
    model : fitted rule classifier, or RuleSet
        Anything with `ruleset_`, or the rules themselves.
    feature_names : sequence of str, optional
        What to call columns without a name.
    labels : sequence, optional
        What to call the classes, in their order; by default their own names.
    ax : matplotlib Axes, optional
        Where to draw.
    most : int, default=20
        Of more rules only so many, the first.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.rules import CN2Classifier
    >>> model = CN2Classifier(confidence=0).fit([[0], [1], [2], [3]], ["a", "a", "b", "b"])
    >>> ax = plot_rules(model)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['x0<=1.5 → a', '→ b']
    """
    rules = getattr(model, "ruleset_", model)
    shown = [*rules[:most], rules.default]
    hits = np.array([float(rule.distribution.get(rule.head, 0.0)) for rule in shown])
    misses = np.array([rule.support for rule in shown]) - hits
    ax = get_axes(ax, height=max(2.0, 0.9 + 0.32 * len(shown)))
    places = np.arange(len(shown))
    look: Any = {"height": 0.66, "linewidth": 0}
    ax.barh(places, hits, color=ACCENT, label=translated("right"), **look)
    ax.barh(places, misses, left=hits, color=SECOND, label=translated("wrong"), **look)
    texts = [_text(rule, rules.classes, feature_names, labels) for rule in shown]
    ax.set_yticks(places, [short_name(text, 48) for text in texts])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.grid(axis="x")
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="lower right")
    return label_axes(ax, translated("weight of the rows"), "", translated("rules"))


@styled
def plot_rule_boxes(
    model: Any, X: Any, y: Any, features: Sequence[int] = (0, 1), *, ax: Any = None, most: int = MOST
) -> Any:
    """Draw the rows over two columns of numbers, and each rule as the box that it leaves of them.

    Parameters
    ----------
    model : fitted rule classifier, or RuleSet
        Anything with `ruleset_`, or the rules themselves.
    X : array of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,)
        Their classes.
    features : two ints, default=(0, 1)
        The columns. The box of a rule that tests others, too, is dashed: it need not cover all in it.
    ax : matplotlib Axes, optional
        Where to draw.
    most : int, default=20
        Of more rules only so many, the first.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.rules import CN2Classifier
    >>> X, y = [[0, 0], [1, 0], [2, 1], [3, 1]], ["a", "a", "b", "b"]
    >>> ax = plot_rule_boxes(CN2Classifier(confidence=0).fit(X, y), X, y)
    >>> len(ax.patches)
    1
    """
    from matplotlib.patches import Rectangle

    rules = getattr(model, "ruleset_", model)
    frame = getattr(X, "columns", None)
    columns = [X.iloc[:, j] if hasattr(X, "iloc") else np.asarray(X)[:, j] for j in features]
    points = [finite_array(column, "X", missing=True) for column in columns]
    names = rules.feature_names or (None if frame is None else [str(name) for name in frame])
    titles = [names[j] if names else f"x{j}" for j in features]
    colours = {label: COLOURS[k % len(COLOURS)] for k, label in enumerate(rules.classes)}
    ax = get_axes(ax)
    labels, chosen = np.asarray(y), sample_indices(len(points[0]))
    for label, colour in colours.items():
        rows = chosen[labels[chosen] == label]
        scatter(ax, points[0][rows], points[1][rows], color=colour, label=short_name(label))
    spans = []
    for values in points:
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        margin = 0.06 * (high - low) or 0.5
        spans.append((low - margin, high + margin))
    for rule in rules[:most]:
        box, others = _box(rule, features, names, spans)
        (x0, x1), (y0, y1) = box
        edge: Any = {"edgecolor": colours[rule.head], "linestyle": "--" if others else "-", "linewidth": 1.4}
        ax.add_patch(
            Rectangle((x0, y0), x1 - x0, y1 - y0, facecolor=(*_rgb(colours[rule.head]), 0.08), **edge)
        )
    ax.set_xlim(*spans[0])
    ax.set_ylim(*spans[1])
    ax.legend()
    return label_axes(ax, short_name(titles[0]), short_name(titles[1]), translated("rules"))


def _text(rule: Any, classes: list[Any], feature_names: Any, labels: Any) -> str:
    """A rule in words, by the names that are given."""
    tests = []
    for condition in rule.conditions:
        unnamed = feature_names is not None and not isinstance(condition.feature, str)
        tests.append(
            replace(condition, feature=str(feature_names[condition.feature])) if unnamed else condition
        )
    head = rule.head if labels is None else labels[classes.index(rule.head)]
    return f"{' ∧ '.join(map(str, tests))} → {head}".strip()


def _box(
    rule: Any, features: Sequence[int], names: Any, spans: list[tuple[float, float]]
) -> tuple[Any, bool]:
    """What a rule leaves of two columns, and whether it tests others."""
    box, others = [list(span) for span in spans], False
    for condition in rule.conditions:
        place = condition.feature
        place = names.index(place) if isinstance(place, str) and names and place in names else place
        if place not in features or isinstance(condition.value, str):
            others = True
            continue
        side = box[list(features).index(place)]
        if condition.comparison != "<=":
            side[0] = max(side[0], float(condition.value))
        if condition.comparison != ">=":
            side[1] = min(side[1], float(condition.value))
    return box, others


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


@picture("rule_counts_", "default_counts_")
def _rules(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    return plot_rules(model, feature_names, labels=labels, ax=ax)
