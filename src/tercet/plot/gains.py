"""Cumulative gain and lift of the rows of highest score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.class_scores import compared, thinned
from tercet.plot.styling import (
    COLOURS,
    INK,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)


@styled
def plot_gain(
    truth: Any,
    score: Any,
    labels: Sequence[Any] | None = None,
    *,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw which share of the positives is reached with the share of rows of highest score.

    The dashed lines are a random score and, for two classes, a perfect one. The legend has the
    Kolmogorov-Smirnov statistic (KS).

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Labels, or positions in `labels`.
    score : array of shape (n_samples,) or (n_samples, n_classes), or dict of them
        Scores or probabilities; of the second class when there is one column. Several models by their names.
    labels : sequence, optional
        The classes in the order of the columns; by default all that occur, sorted.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_gain([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_legend().get_texts()[0].get_text()
    'KS 0.500'
    """
    from tercet.metrics import gain_curve, ks_statistic

    found = compared(truth, score, labels, sample_weight)
    ax = get_axes(ax)
    dashed: Any = {"color": INK, "alpha": 0.35, "linewidth": 0.8, "linestyle": (0, (4, 3))}
    ax.plot([0, 1], [0, 1], **dashed)
    if len(found.sides) == 1 or found.models:
        share = float(np.average(found.sides[0].is_it, weights=found.weight))
        ax.plot([0, share, 1], [0, 1, 1], **dashed)
    for j, colour in zip(found.shown(), COLOURS):
        side = found.sides[j]
        rows, gain, _ = gain_curve(side.is_it, side.score, sample_weight=found.weight)
        ks = ks_statistic(side.is_it, side.score, sample_weight=found.weight).statistic
        text = found.named(side, translated("KS {value}", value=f"{ks:.3f}"))
        ax.plot(*thinned(rows, gain), color=colour, label=text)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    ax.legend(loc="lower right")
    return label_axes(
        ax,
        translated("share of rows, highest scores first"),
        translated("share of the positives"),
        found.title(),
    )


@styled
def plot_lift(
    truth: Any,
    score: Any,
    labels: Sequence[Any] | None = None,
    *,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw how many times as frequent positives are among the rows of highest score as among all.

    The first hundredth of the rows is left out where there are many: a handful of rows says little.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Labels, or positions in `labels`.
    score : array of shape (n_samples,) or (n_samples, n_classes), or dict of them
        Scores or probabilities; of the second class when there is one column. Several models by their names.
    labels : sequence, optional
        The classes in the order of the columns; by default all that occur, sorted.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_lift([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_lines()[-1].get_ydata().round(3).tolist()
    [2.0, 1.0, 1.333, 1.0]
    """
    from tercet.metrics import lift_curve

    found = compared(truth, score, labels, sample_weight)
    ax = get_axes(ax)
    ax.axhline(1, color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (4, 3)))
    for j, colour in zip(found.shown(), COLOURS):
        side = found.sides[j]
        rows, lift, _ = lift_curve(side.is_it, side.score, sample_weight=found.weight)
        said = (rows >= 0.01) | (len(side.is_it) < 1000)
        ax.plot(*thinned(rows[said], lift[said]), color=colour, label=short_name(side.label))
    ax.set_xlim(0, 1.01)
    ax.set_ylim(bottom=0)
    if not found.alone:
        ax.legend(loc="upper right")
    return label_axes(
        ax, translated("share of rows, highest scores first"), translated("lift"), found.title()
    )
