"""Training and test error against the complexity of a model (Li Fig 1.9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    finite_array,
    get_axes,
    label_axes,
    styled,
    translated,
)


@styled
def plot_complexity(curve: Any, *, ax: Any = None) -> Any:
    """Draw training and validation errors over the complexity of a model, and the choice of least error.

    The curve of the structural risk is drawn where it differs from the training error.

    Parameters
    ----------
    curve : ComplexityCurve
        As `tercet.model_selection.complexity_curve` gives it.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.model_selection import ComplexityCurve
    >>> errors = np.array([3.0, 1.0, 0.5]), np.array([3.0, 1.0, 0.5]), np.array([3.5, 1.2, 4.0])
    >>> ax = plot_complexity(ComplexityCurve("degree", [0, 1, 2], *errors))
    >>> ax.get_title(loc="left")
    'degree = 1'
    """
    names = {"training": SECOND, "structural": INK, "validation": ACCENT}
    errors = {name: finite_array(getattr(curve, name), name) for name in names}
    if np.array_equal(errors["structural"], errors["training"]):
        del errors["structural"]
    numbers = all(isinstance(value, int | float | np.number) for value in curve.values)
    x = np.asarray(curve.values, dtype=float) if numbers else np.arange(len(curve.values))
    words = {
        "training": translated("training error"),
        "structural": translated("structural risk"),
        "validation": translated("validation error"),
    }
    ax = get_axes(ax)
    for name, error in errors.items():
        ax.plot(x, error, color=names[name], marker="o", markersize=4, label=words[name])
    best = int(np.argmin(errors["validation"]))
    ax.axvline(x[best], color=ACCENT, alpha=0.4, linewidth=0.8)
    if not numbers:
        ax.set_xticks(x, [str(value) for value in curve.values])
    elif np.array_equal(x, x.astype(int)) and len(x) <= 20:
        ax.set_xticks(x, [str(int(value)) for value in x])
    ax.set_ylim(0, 1.1 * _shown_limit(errors["training"], errors["validation"]))
    ax.legend(loc="best")
    title = f"{curve.parameter} = {curve.values[best]}"
    return label_axes(ax, curve.parameter, translated("mean loss"), title)


def _shown_limit(training: np.ndarray, validation: np.ndarray) -> float:
    """The largest error that is shown: an overfitted model's may be a thousand times that of the simplest one."""
    most = float(max(training.max(), validation.max()))
    return min(most, 3 * float(max(training.max(), validation.min()))) or 1.0
