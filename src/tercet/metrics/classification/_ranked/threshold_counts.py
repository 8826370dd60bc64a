"""Weights of the negatives and positives at or above each threshold, from the sorted scores of both classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.metrics.classification._ranked.radix_sort import score_order, sorted_scores


class ThresholdCounts(NamedTuple):
    """Falling thresholds, one for each distinct score, and what is at or above each.

    Attributes
    ----------
    fps, tps : arrays of shape (n_thresholds,)
        False and true positives, or their weights, as floats; the last are those of the whole classes.
    thresholds : array of shape (n_thresholds,)
        The distinct scores.
    """

    fps: np.ndarray
    tps: np.ndarray
    thresholds: np.ndarray


def threshold_counts(
    positive: np.ndarray, score: np.ndarray, weight: np.ndarray | None = None
) -> ThresholdCounts:
    """False and true positives at every distinct score; `positive` is a mask."""
    if weight is None:
        negatives, positives = sorted_scores(score[~positive]), sorted_scores(score[positive])
        return ThresholdCounts(*merged_counts(negatives, positives))
    sides = []
    for side in (~positive, positive):
        values, weights = score[side], weight[side]
        order = score_order(values)
        sides += [np.asarray(values, np.float64)[order], np.asarray(weights, np.float64)[order]]
    return ThresholdCounts(*merged_weights(*sides))


def pairs_ranked(positive: np.ndarray, score: np.ndarray) -> tuple[int, int]:
    """Pairs of a positive and a negative in which the positive has the higher score, and tied ones."""
    right, tied = count_pairs(sorted_scores(score[~positive]), sorted_scores(score[positive]))
    return int(right), int(tied)


@kernel
def count_pairs(negatives, positives):
    """Pairs with the positive above, and tied ones; both arrays rise."""
    right = tied = below = through = 0
    for i in range(positives.size):
        score = positives[i]
        while below < negatives.size and negatives[below] < score:
            below += 1
        through = max(through, below)
        while through < negatives.size and negatives[through] == score:
            through += 1
        right += below
        tied += through - below
    return right, tied


@kernel
def merged_counts(negatives, positives):
    """Counts at or above each distinct score, from the highest down; both arrays rise."""
    n, m = negatives.size, positives.size
    fps, tps, thresholds = np.empty(n + m), np.empty(n + m), np.empty(n + m)
    i, j, k = n - 1, m - 1, 0
    while i >= 0 or j >= 0:
        score = positives[j] if i < 0 or (j >= 0 and positives[j] > negatives[i]) else negatives[i]
        while i >= 0 and negatives[i] == score:
            i -= 1
        while j >= 0 and positives[j] == score:
            j -= 1
        fps[k], tps[k], thresholds[k] = n - 1 - i, m - 1 - j, score
        k += 1
    return fps[:k].copy(), tps[:k].copy(), thresholds[:k].copy()


@kernel
def merged_weights(negatives, negative_weights, positives, positive_weights):
    """Weights at or above each distinct score, from the highest down; both arrays of scores rise."""
    n, m = negatives.size, positives.size
    fps, tps, thresholds = np.empty(n + m), np.empty(n + m), np.empty(n + m)
    i, j, k = n - 1, m - 1, 0
    false = true = 0.0
    while i >= 0 or j >= 0:
        score = positives[j] if i < 0 or (j >= 0 and positives[j] > negatives[i]) else negatives[i]
        while i >= 0 and negatives[i] == score:
            false += negative_weights[i]
            i -= 1
        while j >= 0 and positives[j] == score:
            true += positive_weights[j]
            j -= 1
        fps[k], tps[k], thresholds[k] = false, true, score
        k += 1
    return fps[:k].copy(), tps[:k].copy(), thresholds[:k].copy()
