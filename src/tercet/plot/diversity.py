"""Diversity of ensembles: the kappa-error diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tercet.ensemble import kappa_error
from tercet.plot.styling import (
    COLOURS,
    MARKERS,
    get_axes,
    label_axes,
    scatter,
    short_name,
    styled,
    translated,
)


@styled
def plot_kappa_error(predictions: Any, truth: Any, *, ax: Any = None) -> Any:
    """Draw the kappa-error diagram: a point for every pair of members, kappa to the right, mean error upwards.

    The cross is the mean of an ensemble's points. Low and to the left is best: accurate and diverse.

    Parameters
    ----------
    predictions : array of shape (n_samples, n_members), or a dict of them
        The label that each member gives to each row; of several ensembles by their names.
    truth : array of shape (n_samples,)
        The true labels.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_kappa_error([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]], [1, 1, 0, 1])
    >>> ax.collections[0].get_offsets().round(3).tolist()
    [[0.5, 0.125], [0.2, 0.25], [0.5, 0.375]]
    """
    ensembles = predictions if isinstance(predictions, Mapping) else {"": predictions}
    if not ensembles:
        raise ValueError("predictions is empty: there is nothing to draw.")
    points = {name: kappa_error(votes, truth) for name, votes in ensembles.items()}
    ax = get_axes(ax)
    for k, (name, found) in enumerate(points.items()):
        known = np.isfinite(found.kappa)  # of two members that always say the same there is none
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        kappa, error = found.kappa[known], found.error[known]
        scatter(ax, kappa, error, color=colour, marker=marker, label=short_name(name) if name else None)
        if kappa.size:
            ax.plot(kappa.mean(), error.mean(), marker="+", markersize=14, markeredgewidth=2, color=colour)
    if len(points) > 1:
        ax.legend()
    return label_axes(ax, translated("κ of two members"), translated("mean error of two members"))
