"""Methods side by side, and what a method lives on: rows and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tercet.plot.styling import (
    ACCENT,
    COLOURS,
    INK,
    SECOND,
    check_same_length,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)


@styled
def plot_intervals(
    names: Sequence[str],
    means: Any,
    lows: Any,
    highs: Any,
    baseline: float | None = None,
    *,
    tied: Sequence[bool] | None = None,
    metric: str = "score",
    ax: Any = None,
) -> Any:
    """Draw every method's score with its interval, and a line for the baseline.

    Parameters
    ----------
    names : sequence of str
        The methods, from top to bottom.
    means, lows, highs : arrays of shape (n_methods,)
        Scores and the ends of their intervals; NaN where there is no interval.
    baseline : float, optional
        The score of knowing nothing.
    tied : sequence of bool, optional
        Which methods are as good as the best: they are drawn in the accent colour.
    metric : str, default="score"
        What the scores are.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_intervals(["A", "B"], [0.9, 0.8], [0.85, 0.7], [0.95, 0.9], baseline=0.5)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['A', 'B']
    """
    means = finite_array(means, "means")
    lows, highs = (
        np.where(np.isfinite(end), end, means) for end in (np.asarray(lows, float), np.asarray(highs, float))
    )
    best = np.zeros(len(means), bool) if tied is None else np.asarray(tied, bool)
    check_same_length(names=names, means=means, lows=lows, highs=highs, tied=best)
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(means), 3))
    rows = np.arange(len(means))
    colours = [ACCENT if good or tied is None else "#8c8c8c" for good in best]
    ax.hlines(rows, lows, highs, colors=colours, linewidth=2.2, alpha=0.6)
    ax.scatter(means, rows, c=colours, s=26, zorder=3, linewidths=0)
    low, high = _view(means, lows, highs, baseline)
    ax.set_xlim(low, high)
    if baseline is not None:
        ax.axvline(baseline, color=SECOND, linewidth=1, linestyle=(0, (4, 3)))
        text, side = translated("baseline"), "center"
        if not low <= baseline <= high:
            arrow, side = ("◂ {}", "left") if baseline < low else ("{} ▸", "right")
            text = arrow.format(f"{text} {short_number(baseline)}")
        where = {"xy": (min(max(baseline, low), high), 1), "xycoords": ("data", "axes fraction")}
        look = {"ha": side, "va": "bottom", "color": SECOND, "fontsize": 8}
        ax.annotate(text, xytext=(0, 3), textcoords="offset points", **where, **look)
    _mark_strays(ax, means, rows)
    ax.set_yticks(rows, [short_name(method, 32) for method in names])
    ax.set_ylim(len(means) - 0.4, -0.6)
    ax.grid(axis="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return label_axes(ax, translated(metric))


def _view(
    means: np.ndarray, lows: np.ndarray, highs: np.ndarray, baseline: float | None
) -> tuple[float, float]:
    """A frame that neither one method gone astray nor a poor baseline can squeeze the others out of."""
    q1, q3 = np.quantile(means, [0.25, 0.75])
    reach = 4 * (q3 - q1) + np.median(highs - lows) + 1e-12
    near = (means >= q1 - reach) & (means <= q3 + reach)
    ends = np.clip(np.concatenate([lows[near], highs[near]]), q1 - reach, q3 + reach)
    low, high = ends.min(), ends.max()
    if baseline is not None and 0.25 * max(high - baseline, baseline - low) <= high - low:
        low, high = min(low, baseline), max(high, baseline)
    margin = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _mark_strays(ax: Any, means: np.ndarray, rows: np.ndarray) -> None:
    """Say where the methods are that the frame leaves out."""
    low, high = ax.get_xlim()
    look = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 7.5, "alpha": 0.7}
    for mean, row in zip(means, rows):
        if mean < low:
            ax.text(0.01, row, f"◂ {short_number(mean)}", ha="left", **look)
        elif mean > high:
            ax.text(0.99, row, f"{short_number(mean)} ▸", ha="right", **look)


@styled
def plot_importance(
    names: Sequence[str], mean: Any, std: Any = None, top: int = 20, *, ax: Any = None
) -> Any:
    """Draw how much the score loses when a column is shuffled, the most important on top.

    Parameters
    ----------
    names : sequence of str
        The columns.
    mean, std : arrays of shape (n_columns,)
        Importance and its spread.
    top : int, default=20
        How many to draw.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_importance(["age", "height", "shoe"], [0.1, 0.3, 0.0], top=2)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['height', 'age']
    """
    mean = finite_array(mean, "mean")
    check_same_length(names=names, mean=mean, **({} if std is None else {"std": std}))
    order = np.argsort(-mean, kind="stable")[:top]
    spread = None if std is None else np.nan_to_num(np.asarray(std, float))[order]
    ax = get_axes(ax, height=0.9 + 0.24 * max(len(order), 3))
    bars(ax, [names[k] for k in order], mean[order], spread)
    title = (
        "" if len(order) == len(mean) else translated("the {top} largest of {n}", top=len(order), n=len(mean))
    )
    return label_axes(ax, translated("loss of score when shuffled"), title=title)


def bars(ax: Any, names: Sequence[str], values: np.ndarray, spread: np.ndarray | None = None) -> None:
    """Horizontal bars from top to bottom, one colour to each side of zero."""
    rows = np.arange(len(values))
    colours = [ACCENT if value >= 0 else SECOND for value in values]
    lines = {"ecolor": INK, "elinewidth": 1, "alpha": 0.9}
    ax.barh(rows, values, xerr=spread, color=colours, height=0.66, linewidth=0, error_kw=lines)
    ax.axvline(0, color=INK, linewidth=0.7)
    ax.set_yticks(rows, [short_name(text, 28) for text in names])
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.grid(axis="x")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


@styled
def plot_learning_curve(sizes: Any, train: Any, test: Any, metric: str = "score", *, ax: Any = None) -> Any:
    """Draw the score on the rows learned from and on fresh ones, over the number of rows learned from.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
        Rows learned from.
    train, test : arrays of shape (n_sizes, n_folds)
        Scores; the band is one standard deviation over the folds. NaN where a fold has none.
    metric : str, default="score"
        What the scores are.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_learning_curve([10, 20], [[1.0, 1.0], [0.9, 1.0]], [[0.5, 0.7], [0.8, 0.8]])
    >>> ax.get_lines()[1].get_ydata().round(2).tolist()
    [0.6, 0.8]
    """
    sizes = finite_array(sizes, "sizes")
    scores = {
        "train": finite_array(train, "train", missing=True),
        "test": finite_array(test, "test", missing=True),
    }
    scores = {what: values.reshape(len(values), -1) for what, values in scores.items()}
    check_same_length(sizes=sizes, **scores)
    ax = get_axes(ax)
    ends = []
    for (what, values), colour in zip(scores.items(), (SECOND, ACCENT)):
        known = np.isfinite(values).any(axis=1)
        x, mean, std = sizes[known], np.nanmean(values[known], axis=1), np.nanstd(values[known], axis=1)
        low, high = _band(values[known], mean, std)
        ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.plot(x, mean, color=colour, marker="o", markersize=4)
        ends.append(
            (
                x[-1],
                mean[-1],
                translated("on training rows") if what == "train" else translated("on fresh rows"),
                colour,
            )
        )
    low, high = ax.get_ylim()
    close = abs(ends[0][1] - ends[1][1]) < 0.08 * (high - low)
    up = 6 if ends[0][1] >= ends[1][1] else -6
    for (x, y, text, colour), shift in zip(ends, (up, -up)):
        where = {"xy": (x, y), "xytext": (6, shift if close else 0), "textcoords": "offset points"}
        ax.annotate(text, ha="left", va="center", color=colour, **where)
    ax.set_xlim(left=0)
    ax.grid(axis="y")
    return label_axes(ax, translated("rows learned from"), translated(metric))


def _band(values: np.ndarray, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One standard deviation, but no further than any fold went: an accuracy does not pass 1."""
    return np.fmax(mean - std, np.nanmin(values, axis=1)), np.fmin(mean + std, np.nanmax(values, axis=1))


@styled
def plot_learning_curves(
    curves: Mapping[str, Mapping[str, Any]], metric: str = "score", *, ax: Any = None
) -> Any:
    """Draw the learning curves of several methods on one axis: fresh rows in full lines, training rows dotted.

    Parameters
    ----------
    curves : mapping
        For each method "sizes", "train" and "test", as in `plot_learning_curve`.
    metric : str, default="score"
        What the scores are.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> one = {"sizes": [10, 20], "train": [[1.0], [0.9]], "test": [[0.5], [0.8]]}
    >>> ax = plot_learning_curves({"A": one, "B": {**one, "test": [[0.6], [0.7]]}})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['A', 'B', 'on training rows']
    """
    if not curves:
        raise ValueError("curves is empty: there is nothing to draw.")
    ax = get_axes(ax)
    for (name, curve), colour in zip(curves.items(), COLOURS):
        sizes = finite_array(curve["sizes"], "sizes")
        for side in ("test", "train"):
            values = finite_array(curve[side], side, missing=True)
            values = values.reshape(len(values), -1)
            check_same_length(sizes=sizes, **{side: values})
            known = np.isfinite(values).any(axis=1)
            mean, std = np.nanmean(values[known], axis=1), np.nanstd(values[known], axis=1)
            if side == "train":
                ax.plot(sizes[known], mean, color=colour, linestyle=(0, (1, 1.5)), linewidth=1.2)
                continue
            low, high = _band(values[known], mean, std)
            ax.fill_between(sizes[known], low, high, color=colour, alpha=0.1, linewidth=0)
            ax.plot(sizes[known], mean, color=colour, marker="o", markersize=4, label=short_name(name, 32))
    ax.plot([], [], color=INK, linestyle=(0, (1, 1.5)), linewidth=1.2, label=translated("on training rows"))
    ax.set_xlim(left=0)
    ax.grid(axis="y")
    ax.legend(loc="best")
    return label_axes(ax, translated("rows learned from"), translated(metric))
