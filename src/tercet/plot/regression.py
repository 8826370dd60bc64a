"""How well a regression did: predictions and residuals."""

from __future__ import annotations

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
    sample_indices,
    scatter,
    short_number,
    styled,
    translated,
)


@styled
def plot_residuals(truth: Any, predicted: Any, *, ax: Any = None) -> Any:
    """Draw what was left over (truth minus prediction) over the prediction, with its running median.

    Parameters
    ----------
    truth, predicted : arrays of shape (n_samples,)
        Numbers.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_residuals([1.0, 2.0, 3.0], [1.5, 2.0, 2.0])
    >>> ax.collections[0].get_offsets().tolist()
    [[1.5, -0.5], [2.0, 0.0], [2.0, 1.0]]
    """
    truth, predicted = _pair(truth, predicted)
    residual = truth - predicted
    ax = get_axes(ax)
    ax.axhline(0, color=INK, alpha=0.5, linewidth=0.8)
    shown = sample_indices(len(truth))
    scatter(ax, predicted[shown], residual[shown], color=ACCENT)
    if len(truth) >= 40:
        groups = np.array_split(np.argsort(predicted, kind="stable"), min(20, len(truth) // 10))
        middle = [(np.median(predicted[group]), np.median(residual[group])) for group in groups]
        ax.plot(*np.transpose(middle), color=SECOND, label=translated("running median"))
        ax.legend(loc="best")
    title = translated("root mean square {value}", value=short_number(float(np.sqrt(np.mean(residual**2)))))
    return label_axes(ax, translated("predicted value"), translated("residual"), title)


@styled
def plot_predictions(truth: Any, predicted: Any, *, ax: Any = None) -> Any:
    """Draw predictions over the truth; the diagonal is perfect.

    Parameters and what is returned are as in `plot_residuals`.

    Examples
    --------
    >>> ax = plot_predictions([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    >>> ax.get_title(loc="left")
    'R² = 1.000'
    """
    truth, predicted = _pair(truth, predicted)
    ax = get_axes(ax)
    ends = [min(truth.min(), predicted.min()), max(truth.max(), predicted.max())]
    ax.plot(ends, ends, color=INK, alpha=0.5, linewidth=0.8)
    shown = sample_indices(len(truth))
    scatter(ax, truth[shown], predicted[shown], color=ACCENT)
    spread = np.sum((truth - truth.mean()) ** 2)
    title = f"R² = {1 - np.sum((truth - predicted) ** 2) / spread:.3f}" if spread > 0 else ""
    return label_axes(ax, translated("true value"), translated("predicted value"), title)


def _pair(truth: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    check_same_length(truth=truth, predicted=predicted)
    return finite_array(truth, "truth").ravel(), finite_array(predicted, "predicted").ravel()
