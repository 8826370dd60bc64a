"""Contributions of rows to a measure: arrays whose mean is the measure's value.

For a mean of losses they are the losses. For other measures they are the value plus each row's influence, the
derivative by the row's weight, so that the mean over a bootstrap sample is, to first order, the measure of the
sample (infinitesimal jackknife).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GROUPS = 20  # of rows that are left out in turn where there is no formula


def hits(truth: np.ndarray, predicted: np.ndarray, k: int) -> np.ndarray:
    """1 for the right class, else 0."""
    return (truth == predicted).astype(float)


def tallies(truth: np.ndarray, predicted: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each class: rows that are rightly said to be of it, that are of it, that are said to be."""
    right = np.bincount(truth[truth == predicted], minlength=k)
    return right, np.bincount(truth, minlength=k), np.bincount(predicted, minlength=k)


def shares(here: np.ndarray, share: np.ndarray | None) -> np.ndarray:
    """Weights of the classes in a mean over them: equal for those that are here, or the given ones."""
    return here / max(here.sum(), 1) if share is None else np.where(here, share, 0.0)


def class_shares(truth: np.ndarray, tests: list[np.ndarray], k: int) -> np.ndarray | None:
    """Weights of the classes for test sets of which some lack a class; None when none does.

    A class counts the more the fewer test sets have it, so that the mean over all of them weighs classes alike, and
    one answer for everything gets 1/k.

    Examples
    --------
    >>> truth = np.array([0, 0, 0, 0, 0, 1])
    >>> class_shares(truth, [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])], 2).tolist()
    [0.5, 1.5]
    """
    having = np.zeros(k)
    for test in tests:
        having[np.unique(truth[test])] += 1
    known = having > 0
    if (having[known] == len(tests)).all():
        return None
    return np.where(known, len(tests) / np.maximum(having, 1), 0.0) / known.sum()


def rankable(truth: np.ndarray, k: int) -> np.ndarray:
    """The classes that have rows inside and outside; of two the second stands for both."""
    n = np.bincount(truth, minlength=k)
    here = (n > 0) & (n < truth.size)
    if k == 2:
        here[0] = False
    return here


def balanced_accuracy(
    truth: np.ndarray, predicted: np.ndarray, k: int, share: np.ndarray | None = None
) -> np.ndarray:
    right, actual, _ = tallies(truth, predicted, k)
    recall, weight = right / np.maximum(actual, 1), shares(actual > 0, share)
    scale = truth.size * weight / np.maximum(actual, 1)
    return weight @ recall + scale[truth] * ((truth == predicted) - recall[truth])


def macro_f1(truth: np.ndarray, predicted: np.ndarray, k: int, share: np.ndarray | None = None) -> np.ndarray:
    right, actual, claimed = tallies(truth, predicted, k)
    here = (actual + claimed) > 0 if share is None else actual > 0
    both = np.maximum(actual + claimed, 1)
    f1, weight = 2 * right / both, shares(here, share)
    scale = truth.size * weight / both
    wrong = -f1[truth] * scale[truth] - f1[predicted] * scale[predicted]
    return weight @ f1 + np.where(truth == predicted, 2 * (1 - f1[truth]) * scale[truth], wrong)


def roc_auc(truth: np.ndarray, proba: np.ndarray, k: int, share: np.ndarray | None = None) -> np.ndarray:
    """Placements: the share of the other rows that a row of the class is above, and the like."""
    here = rankable(truth, k)
    if not here.any():
        return np.full(truth.size, np.nan)
    weight = shares(here, None if k == 2 else share)
    found = np.zeros(truth.size)
    for c in np.flatnonzero(here):
        inside, score = truth == c, proba[:, c]
        above = _share_below(score[inside], score[~inside])
        below = 1.0 - _share_below(score[~inside], score[inside])
        area = float(above.mean())
        found += weight[c] * area
        found[inside] += weight[c] * truth.size / above.size * (above - area)
        found[~inside] += weight[c] * truth.size / below.size * (below - area)
    return found


def _share_below(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The share of the others below each point; one that is equal counts half."""
    ordered = np.sort(others)
    return (np.searchsorted(ordered, points) + np.searchsorted(ordered, points, side="right")) / (
        2 * ordered.size
    )


def log_loss(truth: np.ndarray, proba: np.ndarray, k: int) -> np.ndarray:
    tiny = np.finfo(np.float64).eps
    return -np.log(np.clip(proba[np.arange(truth.size), truth], tiny, 1.0))


def absolute_error(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return np.abs(truth - predicted)


def r2(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    square, around = (truth - predicted) ** 2, (truth - truth.mean()) ** 2
    error, spread = square.sum(), around.sum()
    if not spread > 0:
        return np.full(truth.size, np.nan)
    return 1 - error / spread + truth.size * (error * around / spread - square) / spread


def rmse(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    square = (truth - predicted) ** 2
    root = float(np.sqrt(square.mean()))
    return root + (square - square.mean()) / (2 * root) if root > 0 else square


def poisson_deviance(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """NaN where a prediction is not positive: no count is expected to be so."""
    good = predicted > 0
    mean = np.where(good, predicted, 1.0)
    safe = np.where(truth > 0, truth, 1.0)
    deviance = 2 * (truth * np.log(safe / mean) - truth + mean)
    return np.where(good & (truth >= 0), deviance, np.nan)


def by_jackknife(of: Callable[..., float]) -> Callable[..., np.ndarray]:
    """Contributions to any measure: pseudo-values of groups of rows that are left out in turn.

    Examples
    --------
    >>> mean = by_jackknife(lambda truth, predicted: float(np.mean(truth - predicted)))
    >>> mean(np.array([3.0, 5.0]), np.zeros(2)).tolist()
    [3.0, 5.0]
    """

    def contributions(truth: np.ndarray, given: np.ndarray, *more: object) -> np.ndarray:
        whole, n = of(truth, given, *more), truth.size
        group = np.arange(n) % min(GROUPS, n)
        found = np.full(n, whole)
        for g in range(group.max() + 1 if n > 1 else 0):
            keep = group != g
            part = of(truth[keep], given[keep], *more)
            if np.isfinite(part):  # else nothing can be said of these rows
                found[~keep] = (n * whole - keep.sum() * part) / (n - keep.sum())
        return found - found.mean() + whole

    return contributions
