"""Calibration of probabilities: the reliability diagram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.class_scores import CLASSES, Compared, OneVsRest, compared, predicted
from tercet.plot.styling import (
    COLOURS,
    INK,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)

ROWS = 5  # of a class for each group of a calibration curve, at the least


@styled
def plot_calibration(
    truth: Any,
    proba: Any,
    labels: Sequence[Any] | None = None,
    *,
    bins: int = 10,
    strategy: str = "quantile",
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw how often the class came about over the probability it was given; the diagonal is perfect.

    The bars at the foot count the rows of each probability. With more than two classes each is set against the
    rest; with more than six, or too few rows of each, one curve is of the class that was predicted. Several models
    have their expected calibration error (ECE), in these groups, beside their names.

    Parameters
    ----------
    truth, proba, labels
        As in `plot_roc`; probabilities between 0 and 1.
    bins : int, default=10
        Groups of rows.
    strategy : {"quantile", "uniform"}, default="quantile"
        Groups of equal size, or of equal width.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_calibration([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], bins=2)
    >>> ax.get_lines()[-1].get_xydata().round(2).tolist()
    [[0.15, 0.0], [0.8, 1.0]]
    """
    from tercet.metrics import expected_calibration_error, reliability_curve

    if strategy not in ("quantile", "uniform"):
        raise ValueError(f"strategy must be 'quantile' or 'uniform'; got {strategy!r}.")
    found = compared(truth, proba, labels, sample_weight, both_classes=False)
    chosen = found.sides
    few = not found.models and len(chosen) > 1 and max(one.is_it.sum() for one in chosen) < ROWS * bins
    if few or (len(chosen) > CLASSES and not found.models):
        chosen = [predicted(truth, proba, labels)]
    for _, _, p in chosen:
        if p.min() < -1e-9 or p.max() > 1 + 1e-9:
            raise ValueError(f"proba must lie between 0 and 1; it goes from {p.min():.3g} to {p.max():.3g}.")
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (4, 3)))
    _bars(ax, [p for _, _, p in chosen], found)
    for (label, is_it, p), colour in zip(chosen, COLOURS):
        settings: Any = {"n_bins": bins, "strategy": strategy, "sample_weight": found.weight}
        p = p.clip(0.0, 1.0)
        curve = reliability_curve(is_it, p, pos_label=True, **settings)
        text = short_name(label)
        if found.models:
            error = expected_calibration_error(is_it, p, pos_label=True, **settings)
            text = found.named(OneVsRest(label, is_it, p), translated("ECE {error}", error=f"{error:.3f}"))
        ax.plot(curve.predicted, curve.observed, color=colour, marker="o", markersize=4, label=text)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    if len(chosen) > 1 or found.models:
        ax.legend(loc="upper left")
    if chosen[0].label is None:
        return label_axes(
            ax, translated("probability of the predicted class"), translated("share that is right")
        )
    return label_axes(ax, translated("predicted probability"), translated("observed frequency"))


def _bars(ax: Any, probabilities: list[np.ndarray], found: Compared) -> None:
    """Histograms of the probabilities at the foot: of all classes together, or of each model."""
    groups = probabilities if found.models else [np.concatenate(probabilities)]
    weight = None if found.weight is None else np.tile(found.weight, len(groups[0]) // len(found.weight))
    for p, colour in zip(groups, COLOURS if found.models else [INK]):
        counts, edges = np.histogram(p, bins=25, range=(0, 1), weights=weight)
        height = 0.14 * counts / counts.max()
        if found.models:
            ax.stairs(height, edges, color=colour, alpha=0.6, linewidth=0.8)
        else:
            ax.bar(edges[:-1], height, width=0.04, align="edge", color=INK, alpha=0.15, linewidth=0)
