"""Precision-recall curves, with the break-even point and lines of equal F."""

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
    styled,
    translated,
)


@styled
def plot_precision_recall(
    truth: Any,
    score: Any,
    labels: Sequence[Any] | None = None,
    *,
    iso_f: Sequence[float] = (0.2, 0.4, 0.6, 0.8),
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw precision over recall, with lines of equal F1 and the break-even point, where the two are equal.

    The legend has the average precision (AP) and the break-even point (BEP). The dashed line is the precision of a
    random score: the share of positives.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Labels, or positions in `labels`.
    score : array of shape (n_samples,) or (n_samples, n_classes), or dict of them
        Scores or probabilities; of the second class when there is one column. Several models by their names.
    labels : sequence, optional
        The classes in the order of the columns; by default all that occur, sorted.
    iso_f : sequence of float, default=(0.2, 0.4, 0.6, 0.8)
        Values of F1 whose lines are drawn.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_precision_recall([0, 0, 1, 1, 1], [0.1, 0.7, 0.6, 0.8, 0.3])
    >>> ax.get_legend().get_texts()[0].get_text()
    'AP 0.806, BEP 0.667'
    """
    from tercet.metrics import average_precision_score, break_even_point, precision_recall_curve

    found = compared(truth, score, labels, sample_weight)
    ax = get_axes(ax)
    _iso_lines(ax, iso_f)
    ax.plot([0, 1], [0, 1], color=INK, alpha=0.2, linewidth=0.8)  # precision = recall
    for j, colour in zip(found.shown(), COLOURS):
        side = found.sides[j]
        given: Any = {"sample_weight": found.weight}
        precision, recall, _ = precision_recall_curve(side.is_it, side.score, drop_intermediate=True, **given)
        even = break_even_point(side.is_it, side.score, **given).value
        text = translated(
            "AP {ap}, BEP {bep}",
            ap=f"{average_precision_score(side.is_it, side.score, **given):.3f}",
            bep=f"{even:.3f}",
        )
        # The step from the highest score to recall 0 is no threshold of the score.
        x, y = thinned(recall[:-1][::-1], precision[:-1][::-1])
        ax.plot(np.append(0.0, x), np.append(y[0], y), color=colour, label=found.named(side, text))
        ax.plot(even, even, "o", color=colour, markersize=5, zorder=3)
    if len(found.sides) == 1 or found.models:
        share = float(np.average(found.sides[0].is_it, weights=found.weight))
        ax.axhline(share, color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
    ax.legend(loc="lower left")
    return label_axes(ax, translated("recall"), translated("precision"), found.title())


def _iso_lines(ax: Any, values: Sequence[float]) -> None:
    """Lines of equal F1: P = F R / (2R - F), each with its value at the right."""
    for f in values:
        if not 0 < f < 1:
            raise ValueError(f"iso_f must be values of F1 between 0 and 1; got {f!r}.")
        recall = np.linspace(f / (2 - f), 1, 200)
        precision = f * recall / (2 * recall - f)
        ax.plot(recall, precision, color=INK, alpha=0.15, linewidth=0.8)
        ax.annotate(
            translated("F1 {value}", value=f"{f:g}"),
            (1.0, precision[-1]),
            xytext=(-2, 2),
            textcoords="offset points",
            ha="right",
            color=INK,
            alpha=0.5,
            fontsize=7,
        )
