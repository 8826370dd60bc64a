"""Topics: their top words, and a map of how far they are from each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.manifold import double_centering
from tercet.plot.models import picture
from tercet.plot.styling import ACCENT, COLOURS, INK, get_axes, label_axes, short_name, styled, translated

MOST_TOPICS, MOST_BARS = 8, 40  # of one picture


@styled
def plot_top_words(
    model: Any,
    n_words: int = 6,
    feature_names: Sequence[str] | None = None,
    *,
    topics: Sequence[int] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the top words of topics as bars, one topic below the other.

    Parameters
    ----------
    model : fitted topic model
        With `top_words`.
    n_words : int, default=6
        How many words of each topic.
    feature_names : sequence of str, optional
        The names of the words; by default those that the model was fitted with.
    topics : sequence of int, optional
        Which topics; by default the first eight.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.topic import PLSA
    >>> model = PLSA(2, random_state=0).fit([["cat", "dog", "dog"], ["moon", "sun", "sun"]])
    >>> ax = plot_top_words(model, 2)
    >>> sorted(tick.get_text() for tick in ax.get_yticklabels())
    ['cat', 'dog', 'moon', 'sun']
    """
    found = model.top_words(n_words, feature_names, with_weights=True)
    shown = list(range(min(len(found), MOST_TOPICS))) if topics is None else list(topics)
    if not shown or not all(0 <= k < len(found) for k in shown):
        raise ValueError(f"topics must be some of the {len(found)} topics, from 0; got {topics!r}.")
    ax = get_axes(ax, 0.24 * sum(len(found[k]) + 1 for k in shown) + 0.8)
    place, places, words = 0, [], []
    for k in shown:
        here = place + np.arange(len(found[k]))
        ax.barh(here, [weight for _, weight in found[k]], color=COLOURS[k % len(COLOURS)], height=0.7)
        ax.text(
            0.99,
            float(here.mean()),
            translated("topic {k}", k=k + 1),
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=8,
        )
        places += here.tolist()
        words += [short_name(word) for word, _ in found[k]]
        place += len(found[k]) + 1
    ax.set_yticks(places, words)
    ax.margins(y=0.02)
    ax.invert_yaxis()
    return label_axes(ax, translated("weight of the word in the topic"))


@styled
def plot_topic_map(
    model: Any,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    n_words: int = 3,
    ax: Any = None,
) -> Any:
    """Draw topics as circles: near each other where their words are alike, as large as they are frequent.

    The distances are those of the Jensen-Shannon divergence, in the plane by classical scaling.

    Parameters
    ----------
    model : fitted topic model
        With `top_words` and `topic_similarity`; its components must not be negative.
    X : documents, optional
        How frequent the topics are is told by these. By default the model says it, where it can.
    feature_names : sequence of str, optional
        The names of the words; by default those that the model was fitted with.
    n_words : int, default=3
        How many words to write beside each topic.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from tercet.topic import PLSA
    >>> model = PLSA(2, random_state=0).fit([["cat", "dog", "dog"], ["moon", "sun", "sun"]])
    >>> ax = plot_topic_map(model, n_words=1)
    >>> sorted(text.get_text() for text in ax.texts)
    ['1', '2', 'dog', 'sun']
    """
    points, weights = topic_plane(1 - model.topic_similarity("jensen-shannon")), prevalence(model, X)
    ax = get_axes(ax)
    ax.scatter(*points.T, s=60 + 3000 * weights, color=ACCENT, alpha=0.35, edgecolors=INK, linewidths=0.6)
    for k, (words, (x, y)) in enumerate(zip(model.top_words(n_words, feature_names), points)):
        ax.text(x, y, str(k + 1), ha="center", va="center", fontsize=8)
        below = (0, -6 - np.sqrt(60 + 3000 * weights[k]) / 2)
        beside = {
            "xytext": below,
            "textcoords": "offset points",
            "ha": "center",
            "va": "top",
            "fontsize": 7.5,
        }
        ax.annotate(", ".join(short_name(word, 14) for word in words), (x, y), color=INK, **beside)
    ax.margins(0.25)
    return label_axes(ax, translated("coordinate {k}", k=1), translated("coordinate {k}", k=2))


def topic_plane(squared: np.ndarray) -> np.ndarray:
    """Points in the plane whose squared distances are near the given ones (classical scaling)."""
    values, vectors = np.linalg.eigh(double_centering(np.sqrt(np.maximum(squared, 0.0))))
    points = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    points *= np.where(points[np.abs(points).argmax(axis=0), np.arange(points.shape[1])] < 0, -1.0, 1.0)
    return points if points.shape[1] == 2 else np.column_stack([points, np.zeros(len(points))])


def prevalence(model: Any, X: Any = None) -> np.ndarray:
    """The share of each topic in all words: of documents, or as far as the model itself tells."""
    if X is not None:
        counts = model._check(X, reset=False)
        weights = np.asarray(counts.sum(axis=1)).ravel() @ np.asarray(model.transform(X), dtype=np.float64)
    else:
        weights = np.asarray(
            getattr(model, "topic_weights_", model.components_.sum(axis=1)), dtype=np.float64
        )
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / len(weights))


@picture("components_", "top_words")
def _topics(model: Any, feature_names: Any, labels: Any, ax: Any) -> Any:
    words = max(1, min(6, MOST_BARS // min(len(model.components_), MOST_TOPICS)))
    return plot_top_words(model, words, feature_names, ax=ax)
