"""Distributions of a score in the classes, with a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.class_scores import compared
from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    get_axes,
    label_axes,
    short_name,
    short_number,
    styled,
    translated,
)


@styled
def plot_score_distributions(
    truth: Any,
    score: Any,
    labels: Sequence[Any] | None = None,
    *,
    threshold: float | None = None,
    bins: int = 40,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the distribution of a score among the positives and among the negatives, and a threshold.

    Several models, or classes against the rest, are drawn one above the other.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Labels, or positions in `labels`.
    score : array of shape (n_samples,) or (n_samples, n_classes), or dict of them
        Scores or probabilities; of the second class when there is one column. Several models by their names.
    labels : sequence, optional
        The classes in the order of the columns; by default all that occur, sorted.
    threshold : float, optional
        Rows at or above it are called positive; the title has the rates.
    bins : int, default=40
        Of the histograms.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_score_distributions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], threshold=0.3)
    >>> ax.get_title(loc="left")
    'at or above 0.3: 100.0% of the positives, 50.0% of the negatives'
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"bins must be an integer of 1 or more; got {bins!r}.")
    found = compared(truth, score, labels, sample_weight)
    shown = [found.sides[j] for j in found.shown()]
    everything = np.concatenate([side.score for side in shown])
    edges = np.linspace(everything.min(), everything.max() or 1.0, bins + 1)
    if edges[0] == edges[-1]:  # a constant score
        edges = np.linspace(edges[0] - 0.5, edges[0] + 0.5, bins + 1)
    ax = get_axes(ax)
    for row, side in enumerate(reversed(shown)):
        heights = [
            np.histogram(
                side.score[part], edges, weights=None if found.weight is None else found.weight[part]
            )[0]
            for part in (~side.is_it, side.is_it)
        ]
        shares = [height / height.sum() for height in heights]
        scale = 0.9 / max(share.max() for share in shares) if len(shown) > 1 else 1.0
        for share, colour, text in zip(
            shares, (SECOND, ACCENT), (translated("negatives"), translated("positives"))
        ):
            look: Any = {"baseline": row, "fill": True, "alpha": 0.35, "color": colour, "linewidth": 0}
            ax.stairs(row + scale * share, edges, label=text if row == 0 else None, **look)
            ax.stairs(row + scale * share, edges, baseline=row, color=colour, linewidth=1)
    if len(shown) > 1:
        ax.set_yticks(range(len(shown)), [short_name(side.label) for side in reversed(shown)])
        ax.tick_params(axis="y", length=0)
    title = found.title()
    if threshold is not None:
        title = _mark_threshold(ax, shown, threshold, found.weight) or title
    ax.set_ylim(bottom=0)
    ax.legend(loc="best")
    side = translated("share of the class") if len(shown) == 1 else ""
    return label_axes(ax, translated("score"), side, title)


def _mark_threshold(ax: Any, shown: list[Any], threshold: float, weight: np.ndarray | None) -> str:
    """Draw the threshold; the rates of a single curve are the title."""
    if not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number; got {threshold!r}.")
    ax.axvline(threshold, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    if len(shown) > 1:
        return ""
    (side,) = shown
    above = side.score >= threshold
    rates = [
        float(np.average(above[part], weights=None if weight is None else weight[part]))
        for part in (side.is_it, ~side.is_it)
    ]
    return translated(
        "at or above {threshold}: {true} of the positives, {false} of the negatives",
        threshold=short_number(threshold),
        true=f"{rates[0]:.1%}",
        false=f"{rates[1]:.1%}",
    )
