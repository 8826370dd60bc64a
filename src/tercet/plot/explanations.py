"""What a model relies on: contributions of features to predictions, and partial dependence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    get_axes,
    label_axes,
    sample_indices,
    short_name,
    short_number,
    styled,
    translated,
)

if TYPE_CHECKING:
    from tercet.inspection import Contributions

CURVES = 100  # individual curves that are drawn
KINDS = {"value": "prediction", "probability": "probability", "score": "score"}


@styled
def plot_contributions(
    contributions: Contributions,
    row: int | None = None,
    *,
    score: Any = None,
    top: int = 12,
    ax: Any = None,
) -> Any:
    """Draw the contributions of the features to one prediction, or to many.

    For one row they are steps from the base value to the prediction (a waterfall), the largest on top. For many
    rows every feature has a line of points, one for each row, whose colour is the feature's value: low values in
    one colour, high ones in the other, missing ones grey.

    Parameters
    ----------
    contributions : Contributions
        As `tercet.inspection.contributions` gives them, without interactions.
    row : int, optional
        The row to draw; by default all of them.
    score : int or str, optional
        Which of several scores, a class by its name; by default the last.
    top : int, default=12
        How many features to draw, of the largest contributions; the others are added up.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.inspection import contributions
    >>> from tercet.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 2.0, 6.0]
    >>> found = contributions(DecisionTreeRegressor().fit(X, y), X)
    >>> ax = plot_contributions(found, row=3)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['x0 = 1', 'x1 = 1']
    """
    if top < 1:
        raise ValueError(f"top must be at least 1; got {top}.")
    one = contributions.of(-1 if score is None else score)
    if one.values.ndim != 2:
        raise ValueError("contributions must not be interactions: sum them over one axis of features first.")
    n = len(one)
    if row is not None and not -n <= row < n:
        raise ValueError(f"row must be one of the {n} rows, counted from 0; got {row}.")
    return _waterfall(one, row, top, ax) if row is not None else _summary(one, top, ax)


def _of_what(one: Contributions) -> str:
    """What the scores are, with the class that they are of."""
    word = translated(KINDS[one.kind])
    return f"{word} ({short_name(one.score_names[0])})" if one.score_names else word


def _value_text(one: Contributions, j: int, value: float) -> str:
    """A value of a feature: a number, a category, or a question mark where it is missing."""
    if np.isnan(value):
        return "?"
    known = one.categories[j]
    if known is None:
        return short_number(value)
    return short_name(known[int(value)], 14) if value < len(known) else translated("unseen")


def _waterfall(one: Contributions, row: int, top: int, ax: Any) -> Any:
    values, data = one.values[row], one.data[row]
    order = np.argsort(-np.abs(values), kind="stable")
    shown, rest = order[:top], order[top:]
    steps = [*values[shown], *([values[rest].sum()] if rest.size else [])]
    names = [f"{short_name(one.feature_names[j])} = {_value_text(one, j, data[j])}" for j in shown]
    names += [translated("{n} other features", n=rest.size)] if rest.size else []
    ends = one.base_values + np.cumsum(steps)
    starts = np.concatenate([[one.base_values], ends[:-1]])
    lines = np.arange(len(steps))
    ax = get_axes(ax, height=1.1 + 0.26 * max(len(steps), 3))
    colours = [ACCENT if step >= 0 else SECOND for step in steps]
    ax.barh(lines, steps, left=starts, color=colours, height=0.66, linewidth=0)
    for k in lines[:-1]:
        ax.plot([ends[k], ends[k]], [k + 0.33, k + 0.67], color=INK, linewidth=0.7, alpha=0.6)
    for k, step in enumerate(steps):
        side = "left" if step >= 0 else "right"
        mark = {"ha": side, "va": "center", "fontsize": 7.5, "xytext": (3 if step >= 0 else -3, 0)}
        sign = "+" if step >= 0 else "−"
        ax.annotate(f"{sign}{short_number(abs(step))}", (ends[k], k), textcoords="offset points", **mark)
    ax.axvline(one.base_values, color=INK, linewidth=0.7, linestyle=(0, (4, 3)))
    ax.use_sticky_edges = False
    ax.margins(x=0.12)
    _name_lines(ax, names)
    title = translated(
        "from {base} to {score}", base=short_number(one.base_values), score=short_number(ends[-1])
    )
    return label_axes(ax, _of_what(one), title=title)


def _summary(one: Contributions, top: int, ax: Any) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    size = np.abs(one.values).mean(axis=0)
    shown = np.argsort(-size, kind="stable")[:top]
    rows = sample_indices(len(one.values))
    ax = get_axes(ax, height=1.1 + 0.32 * max(len(shown), 3))
    colours = LinearSegmentedColormap.from_list("low to high", [ACCENT, "#b9b9b9", SECOND])
    for k, j in enumerate(shown):
        value, data = one.values[rows, j], one.data[rows, j]
        there = ~np.isnan(data)
        ranks = np.full(len(data), np.nan)
        distinct, place = np.unique(data[there], return_inverse=True)
        ranks[there] = place / max(len(distinct) - 1, 1)
        colour = np.where(there[:, None], colours(np.nan_to_num(ranks)), [[0.6, 0.6, 0.6, 1.0]])
        ax.scatter(value, k + _spread(value), c=colour, s=9, alpha=0.8, linewidths=0)
    ax.axvline(0, color=INK, linewidth=0.7)
    _name_lines(ax, [short_name(one.feature_names[j]) for j in shown])
    return label_axes(ax, translated("contribution to the {what}", what=_of_what(one)))


def _spread(values: np.ndarray, width: float = 0.35) -> np.ndarray:
    """Shifts that keep points of nearly equal values apart: within a bin, alternately to both sides."""
    bins = np.floor((values - values.min()) / (np.ptp(values) or 1.0) * 60).astype(np.int64)
    shift, counts = np.zeros(len(values)), np.bincount(bins)
    order, seen = np.argsort(bins, kind="stable"), np.zeros(len(counts), dtype=np.int64)
    for i in order:
        k = seen[bins[i]]
        shift[i] = (-1) ** k * ((k + 1) // 2)
        seen[bins[i]] += 1
    return width * shift / max(counts.max() / 2, 4.0)


def _name_lines(ax: Any, names: Sequence[str]) -> None:
    ax.set_yticks(np.arange(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


@styled
def plot_partial_dependence(
    result: Any,
    feature_names: Sequence[str] | str | None = None,
    *,
    output: int = -1,
    centred: bool = False,
    look: Mapping[str, Any] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the partial dependence on one feature, with the curves of single rows (ICE), or on two.

    Parameters
    ----------
    result : Bunch
        As `tercet.inspection.partial_dependence` gives it; with kind="both" or "individual" there are curves of
        single rows (of at most 100, in light lines).
    feature_names : str, or sequence of one or two, optional
        What to call the features.
    output : int, default=-1
        Which of several outputs.
    centred : bool, default=False
        Whether all curves begin at 0.
    look : dict of dicts, optional
        Settings of matplotlib for the curve of the mean ("average"), those of single rows ("individual") and the
        levels of two features ("contour").
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.inspection import partial_dependence
    >>> from tercet.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 0.0, 2.0, 6.0]
    >>> found = partial_dependence(DecisionTreeRegressor().fit(X, y), X, 0, kind="both")
    >>> ax = plot_partial_dependence(found, "size")
    >>> len(ax.lines), ax.get_xlabel()
    (5, 'size')
    """
    values = result["grid_values"]
    if len(values) > 2:
        raise ValueError(f"partial dependence on {len(values)} features cannot be drawn; one or two can.")
    given = [feature_names] if isinstance(feature_names, str) else list(feature_names or [])
    names = [short_name(word) for word in given] if given else [f"x{k}" for k in range(len(values))]
    if len(names) != len(values):
        raise ValueError(f"feature_names must name {len(values)} features; got {len(names)}.")
    if len(values) == 2:
        return _draw_two(result, values, names, output, ax, dict((look or {}).get("contour") or {}))
    curves = result.get("individual")
    curves = None if curves is None else curves[output][sample_indices(curves.shape[1], CURVES)]
    average = result.get("average")
    average = None if average is None else average[output]
    if centred:
        curves = None if curves is None else curves - curves[:, :1]
        average = None if average is None else average - average[0]
    ax = get_axes(ax)
    words = values[0].dtype.kind not in "biuf"
    x = np.arange(len(values[0])) if words else values[0]
    if curves is not None:
        thin = {"color": INK, "linewidth": 0.6, "alpha": 0.25, **((look or {}).get("individual") or {})}
        ax.plot(x, curves.T, **thin)
    if average is not None and words and curves is None:
        ax.bar(x, average, color=ACCENT, width=0.66, linewidth=0)
    elif average is not None:
        bold = {"color": ACCENT, "linewidth": 2, **((look or {}).get("average") or {})}
        ax.plot(x, average, marker="o" if words else None, **bold)
    if words:
        ax.set_xticks(x, [short_name(word, 14) for word in values[0]])
    ax.grid(axis="y")
    return label_axes(ax, names[0], translated("partial dependence"))


def _draw_two(
    result: Any, values: Any, names: Sequence[str], output: int, ax: Any, look: dict[str, Any]
) -> Any:
    if result.get("average") is None:
        raise ValueError("the average over the rows is needed to draw two features; ask for kind='average'.")
    ax, table = get_axes(ax), result["average"][output]
    words = [line.dtype.kind not in "biuf" for line in values]
    x, y = (np.arange(len(line)) if word else line for line, word in zip(values, words))
    if any(words):
        drawn = ax.pcolormesh(x, y, table.T, shading="nearest", cmap="viridis")
    else:
        drawn = ax.contourf(x, y, table.T, **{"levels": 10, "cmap": "viridis", **look})
        lines = ax.contour(x, y, table.T, levels=10, colors=INK, linewidths=0.4)
        ax.clabel(lines, fontsize=7)
    for word, line, axis in zip(words, values, (ax.xaxis, ax.yaxis)):
        if word:
            axis.set_ticks(np.arange(len(line)), [short_name(text, 14) for text in line])
    ax.figure.colorbar(drawn, ax=ax, label=translated("partial dependence"))
    return label_axes(ax, names[0], names[1])
