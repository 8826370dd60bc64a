"""Mean ranks of methods, with a bar over those that do not differ (Demšar 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.styling import (
    ACCENT,
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
def plot_critical_difference(
    names: Sequence[str], mean_ranks: Any, critical_difference: float, *, ax: Any = None
) -> Any:
    """Draw mean ranks of methods on a line, the best on the left; bars join those too near to tell apart.

    Parameters
    ----------
    names : sequence of str
        The methods.
    mean_ranks : array of shape (n_methods,)
        As `tercet.model_selection.friedman_test` gives them; 1 is best.
    critical_difference : float
        Mean ranks differ when they are further apart than this.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_critical_difference(["A", "B", "C"], [1.1, 1.9, 3.0], 1.0)
    >>> ax.get_title(loc="left")
    'critical difference 1'
    """
    ranks = finite_array(mean_ranks, "mean_ranks")
    check_same_length(names=names, mean_ranks=ranks)
    if not (np.isfinite(critical_difference) and critical_difference > 0):
        raise ValueError(
            f"critical_difference must be a positive number; got {critical_difference!r} "
            "(friedman_test gives it with posthoc='nemenyi')."
        )
    order = np.argsort(ranks, kind="stable")
    groups = tied_groups(ranks[order], critical_difference)
    k, half = len(ranks), (len(ranks) + 1) // 2
    ax = get_axes(ax, height=0.9 + 0.2 * (half + len(groups)))
    low, high = min(1.0, ranks.min()), max(float(k), ranks.max())
    below = len(groups) + 1.0  # the names hang under the bars
    for place, j in enumerate(order):
        left = place < half
        depth = below + (place if left else k - 1 - place)
        end, side, shift = (low - 0.1, "right", -3) if left else (high + 0.1, "left", 3)
        ax.plot([ranks[j], ranks[j], end], [0, depth, depth], color=INK, linewidth=0.8)
        label = f"{short_name(names[j], 28)}  {short_number(ranks[j])}"
        look = {"ha": side, "va": "center", "annotation_clip": False}
        ax.annotate(label, (end, depth), xytext=(shift, 0), textcoords="offset points", **look)
    ax.scatter(ranks, np.zeros(k), color=ACCENT, s=22, zorder=3, linewidths=0)
    for row, (first, last) in enumerate(groups, start=1):
        ends = ranks[order[first]], ranks[order[last]]
        ax.hlines(row - 0.3, *ends, colors=SECOND, linewidth=3.5, zorder=2)
    ax.set_xlim(low - 0.15, high + 0.15)
    ax.set_ylim(below + half - 0.4, -0.4)
    ax.set_yticks([])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.spines["left"].set_visible(False)
    ax.spines["bottom"].set_visible(False)
    ax.spines["top"].set_visible(True)
    title = translated("critical difference {value}", value=short_number(critical_difference))
    return label_axes(ax, translated("mean rank (1 is best)"), title=title)


def tied_groups(ranks: np.ndarray, critical_difference: float) -> list[tuple[int, int]]:
    """First and last of each longest run of sorted ranks that are no further apart than the critical difference.

    Examples
    --------
    >>> tied_groups(np.array([1.0, 1.5, 2.2, 4.0]), 1.0)
    [(0, 1), (1, 2)]
    """
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + critical_difference, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups
