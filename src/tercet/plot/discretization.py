"""Bins of a discretiser over the histogram of a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.plot.styling import (
    COLOURS,
    INK,
    check_same_length,
    finite_array,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)

BARS = 60  # of the histogram
CLASSES = 6  # drawn one by one; the others are together


@styled
def plot_bins(discretizer: Any, X: Any, y: Any = None, *, feature: int | str = 0, ax: Any = None) -> Any:
    """Draw the histogram of a column, by class where y is given, and the edges of its bins.

    Parameters
    ----------
    discretizer : fitted KBinsDiscretizer
        Whose bins to draw.
    X : array or frame of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,), optional
        Their classes.
    feature : int or str, default=0
        The column: its place, or its name as at fit.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.feature import KBinsDiscretizer
    >>> X, y = [[1.0], [2.0], [3.0], [6.0], [7.0], [8.0]], [0, 0, 0, 1, 1, 1]
    >>> ax = plot_bins(KBinsDiscretizer(strategy="mdl").fit(X, y), X, y)
    >>> [float(line.get_xdata()[0]) for line in ax.lines]
    [4.5]
    """
    names = [str(name) for name in getattr(discretizer, "feature_names_in_", [])]
    j = names.index(feature) if isinstance(feature, str) and feature in names else feature
    if (
        not isinstance(j, int | np.integer)
        or not -discretizer.n_features_in_ <= j < discretizer.n_features_in_
    ):
        raise ValueError(
            f"feature must be a column of the discretizer, which has {discretizer.n_features_in_}; got {feature!r}."
        )
    values = finite_array(np.asarray(X)[:, j].astype(np.float64), "X", missing=True)
    known = ~np.isnan(values)
    parts, words = [values[known]], [""]
    if y is not None:
        check_same_length(X=values, y=y)
        labels = np.asarray(y)[known]
        classes, counts = np.unique(labels, return_counts=True)
        first = classes[np.sort(np.argsort(-counts, kind="stable")[:CLASSES])]
        parts, words = [values[known][labels == c] for c in first], [short_name(c) for c in first]
        if len(first) < len(classes):
            parts.append(values[known][~np.isin(labels, first)])
            words.append(translated("others"))
    ax = get_axes(ax)
    width = np.histogram_bin_edges(values[known], bins=min(BARS, max(10, int(np.sqrt(known.sum())))))
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(parts))]
    ax.hist(parts, bins=width, stacked=True, color=colours, label=words, alpha=0.75)
    for edge in discretizer.bin_edges_[j][1:-1]:
        ax.axvline(edge, color=INK, linewidth=1.1)
    if y is not None:
        ax.legend(frameon=False)
    name = names[j] if names else f"x{j % discretizer.n_features_in_}"
    title = translated("{n} bins", n=int(discretizer.n_bins_[j]))
    return label_axes(ax, short_name(name), translated("rows"), title)
