"""ROC curves, and detection error tradeoff (DET) curves."""

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
def plot_roc(
    truth: Any,
    proba: Any,
    labels: Sequence[Any] | None = None,
    *,
    hull: bool = False,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the true positive rate over the false positive rate, with the area under the curve.

    With more than two classes each of the most frequent ones is set against the rest, and the mean of the
    curves of all of them is drawn, too. The dashed diagonal is a random score.

    Parameters
    ----------
    truth : array of shape (n_samples,)
        Labels, or positions in `labels`.
    proba : array of shape (n_samples,) or (n_samples, n_classes), or dict of them
        Probabilities or scores; of the second class when there is one column. Several models by their names.
    labels : sequence, optional
        The classes in the order of the columns; by default all that occur, sorted.
    hull : bool, default=False
        Shade what the convex hull adds.
    sample_weight : array of shape (n_samples,), optional
        Weights of the rows.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_legend().get_texts()[0].get_text()
    'AUC 0.750'
    >>> ax = plot_roc([0, 0, 1, 1], {"A": [0.1, 0.4, 0.35, 0.8], "B": [0.1, 0.2, 0.7, 0.8]})
    >>> [text.get_text().split() for text in ax.get_legend().get_texts()]
    [['A', '0.750'], ['B', '1.000']]
    """
    from tercet.metrics import auc, roc_auc_score, roc_convex_hull, roc_curve

    found = compared(truth, proba, labels, sample_weight)
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], color=INK, alpha=0.35, linewidth=0.8, linestyle=(0, (4, 3)))
    curves = [roc_curve(side.is_it, side.score, sample_weight=found.weight)[:2] for side in found.sides]
    for j, colour in zip(found.shown(), COLOURS):
        side = found.sides[j]
        area = f"{roc_auc_score(side.is_it, side.score, sample_weight=found.weight):.3f}"
        text = translated("AUC {area}", area=area) if found.alone else found.named(side, area)
        ax.plot(*thinned(*curves[j]), color=colour, label=text)
        if hull:
            corners = roc_convex_hull(side.is_it, side.score, sample_weight=found.weight)
            x, y = thinned(*curves[j])
            top = np.interp(x, corners.fpr, corners.tpr)
            ax.fill_between(x, y, np.maximum(y, top), color=colour, alpha=0.15, linewidth=0)
            ax.plot(corners.fpr, corners.tpr, color=colour, linewidth=0.8, linestyle=(0, (4, 2)))
    title = None
    if len(found.sides) > 1 and not found.models:
        false, true = _mean_curve(curves)
        text = translated("mean of all {k} classes", k=len(curves)) + f"\u2002{auc(false, true):.3f}"
        ax.plot(*thinned(false, true), color=INK, linestyle=(0, (1, 1)), label=text)
        title = translated("AUC, each against the rest")
    elif found.models:
        title = "AUC"
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    ax.legend(loc="lower right", title=title)
    return label_axes(ax, translated("false positive rate"), translated("true positive rate"), found.title())


def _mean_curve(curves: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The mean of some ROC curves, which may rise vertically: the lower and the upper value at every x."""
    at = np.unique(np.concatenate([false for false, _ in curves]))
    feet, tops = np.mean([_heights(at, *curve) for curve in curves], axis=0)
    return np.repeat(at, 2), np.stack([feet, tops], axis=1).ravel()


def _heights(at: np.ndarray, false: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, foot = np.unique(false, return_index=True)
    top = np.append(foot[1:], len(false)) - 1
    k = np.searchsorted(x, at, side="right") - 1
    after = np.minimum(k + 1, len(x) - 1)
    there = x[k] == at
    slope = (true[foot[after]] - true[top[k]]) / np.where(there, 1.0, x[after] - x[k])
    between = true[top[k]] + slope * (at - x[k])
    return np.where(there, true[foot[k]], between), np.where(there, true[top[k]], between)


@styled
def plot_det(
    truth: Any,
    score: Any,
    labels: Sequence[Any] | None = None,
    *,
    sample_weight: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the false negative rate over the false positive rate, both on a normal deviate scale (DET curve).

    Scores that are normal in each class give straight lines. The dot is the equal error rate.

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
    >>> ax = plot_det([0, 0, 1, 0, 1, 1], [0.1, 0.4, 0.35, 0.5, 0.8, 0.9])
    >>> ax.get_legend().get_texts()[0].get_text()
    'EER 33.3%'
    """
    from scipy.special import ndtri

    from tercet.metrics import roc_curve

    found = compared(truth, score, labels, sample_weight)
    ax = get_axes(ax)
    lowest = 0.5
    for j, colour in zip(found.shown(), COLOURS):
        side = found.sides[j]
        fpr, tpr, _ = roc_curve(side.is_it, side.score, sample_weight=found.weight)
        equal = _equal_error_rate(fpr, 1.0 - tpr)
        # Rates of 0 and 1 have no deviate.
        finite = (fpr > 0) & (fpr < 1) & (tpr > 0) & (tpr < 1)
        if finite.any():
            lowest = min(lowest, float(fpr[finite].min()), float(1 - tpr[finite].max()))
        text = found.named(side, translated("EER {rate}", rate=f"{equal:.1%}"))
        x, y = thinned(ndtri(fpr[finite]), ndtri(1 - tpr[finite]))
        ax.plot(x, y, color=colour, label=text)
        if 0 < equal < 1:
            ax.plot(*[ndtri(equal)] * 2, "o", color=colour, markersize=4)
    _deviate_ticks(ax, max(lowest, 1e-4))
    ax.legend(loc="upper right")
    return label_axes(ax, translated("false positive rate"), translated("false negative rate"), found.title())


def _equal_error_rate(fpr: np.ndarray, fnr: np.ndarray) -> float:
    """Where the rates are equal, on the line between two thresholds."""
    after = int(np.argmax(fpr >= fnr))
    before = max(after - 1, 0)
    gaps = fnr[before] - fpr[before], fpr[after] - fnr[after]
    part = gaps[0] / sum(gaps) if sum(gaps) > 0 else 0.0
    return float(fpr[before] + part * (fpr[after] - fpr[before]))


def _deviate_ticks(ax: Any, lowest: float) -> None:
    from scipy.special import ndtri

    rates = np.array([1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99])
    rates = rates[(rates >= lowest / 2) | (rates >= 0.05)]
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(ndtri(rates), [f"{rate:.4g}%" for rate in 100 * rates])
    low, high = ndtri(min(lowest, 0.05) / 1.5), ndtri(0.99)
    ax.set(xlim=(low, high), ylim=(low, high))
