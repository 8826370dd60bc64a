"""Cost curves: expected cost over class shares and costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.class_scores import compared
from tercet.plot.styling import (
    COLOURS,
    INK,
    get_axes,
    label_axes,
    styled,
    translated,
)

LINES = 60  # thresholds whose lines are drawn, at the most


@styled
def plot_cost_curve(
    truth: Any,
    score: Any,
    labels: Sequence[Any] | None = None,
    *,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the least normalised cost over the probability cost, and the area under it: the expected total cost.

    Each thin line is one threshold, from its false positive rate on the left to its false negative rate on the
    right. The dashed lines are the cost of calling nothing positive, or everything.

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
    >>> ax = plot_cost_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_legend().get_texts()[0].get_text()
    'expected total cost 0.125'
    """
    from tercet.metrics import cost_curve, roc_curve

    found = compared(truth, score, labels, sample_weight)
    ax = get_axes(ax)
    ax.plot([0, 0.5, 1], [0, 0.5, 0], color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (4, 3)))
    for j, colour in zip(found.shown(), COLOURS):
        side = found.sides[j]
        curve = cost_curve(side.is_it, side.score, sample_weight=found.weight)
        area = f"{curve.area:.3f}"
        text = translated("expected total cost {area}", area=area) if found.alone else found.named(side, area)
        if len(found.sides) == 1:
            fpr, tpr, _ = roc_curve(side.is_it, side.score, sample_weight=found.weight)
            for k in np.unique(np.linspace(0, len(fpr) - 1, LINES).round().astype(int)):
                ax.plot([0, 1], [fpr[k], 1 - tpr[k]], color=INK, alpha=0.12, linewidth=0.6)
            ax.fill_between(curve.probability_cost, curve.cost, color=colour, alpha=0.15, linewidth=0)
        ax.plot(curve.probability_cost, curve.cost, color=colour, label=text)
    ax.set(xlim=(0, 1), ylim=(0, 0.7))
    ax.legend(loc="upper center", title=None if found.alone else translated("expected total cost"))
    return label_axes(
        ax,
        translated("probability cost of the positive class"),
        translated("normalised expected cost"),
        found.title(),
    )
