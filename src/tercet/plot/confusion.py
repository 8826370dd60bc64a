"""Confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.plot.class_scores import label_indices
from tercet.plot.styling import (
    ACCENT,
    INK,
    SECOND,
    WIDTH,
    fading_colormap,
    get_axes,
    label_axes,
    short_name,
    styled,
    translated,
)


@styled
def plot_confusion(truth: Any, predicted: Any, labels: Sequence[Any] | None = None, *, ax: Any = None) -> Any:
    """Draw the confusion matrix: what was right in one colour, what was mistaken for what in another.

    Parameters
    ----------
    truth, predicted : arrays of shape (n_samples,)
        Labels, or positions in `labels`.
    labels : sequence, optional
        The classes in the order to draw them; by default all that occur, sorted.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> ax = plot_confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['1', '1', '0', '1']
    """
    (rows, columns), labels = label_indices(labels, truth=truth, predicted=predicted)
    k = len(labels)
    counts = np.zeros((k, k), dtype=int)
    np.add.at(counts, (rows, columns), 1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # The square root keeps the few errors of a good classifier visible.
    shade, diagonal = np.sqrt(share), np.eye(k, dtype=bool)
    ax = get_axes(ax, height=min(WIDTH, 3.2 + 0.12 * k))
    frame = {"vmin": 0, "vmax": 1, "interpolation": "none", "aspect": "auto" if k < 4 else "equal"}
    ax.imshow(np.ma.array(shade, mask=diagonal), cmap=fading_colormap(None, SECOND), **frame)
    ax.imshow(np.ma.array(shade, mask=~diagonal), cmap=fading_colormap(None, ACCENT), **frame)
    size = min(9.0, 80 / k)
    if k <= 16:
        for i, j in np.ndindex(k, k):
            if k > 8 and not counts[i, j]:
                continue
            colour = "white" if shade[i, j] > 0.7 else INK
            ax.text(j, i, f"{counts[i, j]}", ha="center", va="center", fontsize=size, color=colour)
    every = -(-k // 25)
    shown = range(0, k, every)
    words = [short_name(labels[i], 16 if k <= 16 else 12) for i in shown]
    upright = k > 12 or max(len(word) for word in words) * k > 60
    ax.set_xticks(shown, words, rotation=90 if upright else 0, fontsize=min(8.5, 150 / len(words)))
    ax.set_yticks(shown, words, fontsize=min(8.5, 150 / len(words)))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    right = np.trace(counts) / counts.sum()
    title = translated("{share} of {n} right", share=f"{right:.1%}", n=len(rows))
    return label_axes(ax, translated("predicted class"), translated("true class"), title)
