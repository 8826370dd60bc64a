"""Shrunken means of a target by category (Micci-Barreca 2001).

The encoding of a category is between its own mean and that of all rows:

    lambda mean_c + (1 - lambda) mean,  lambda = n_c / (n_c + m)

with a number m of pseudo-rows (eq. 7 of the paper), or by empirical Bayes with m = var_c / var, the variance of the
target within the category over that of all rows (eq. 5 and 6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TargetStatistics(NamedTuple):
    """Sums of targets by category, centred at the mean of all rows.

    Attributes
    ----------
    weight : array of shape (n_categories,)
        The number of rows, or their weights.
    total, square : arrays of shape (n_categories, n_targets)
        Sums of the centred targets, and of their squares.
    """

    weight: np.ndarray
    total: np.ndarray
    square: np.ndarray

    def shrunken_means(self, mean: np.ndarray, variance: np.ndarray, smooth: float | None) -> np.ndarray:
        """The encodings, of shape (n_categories, n_targets); `smooth=None` is empirical Bayes."""
        weight = self.weight[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            own = self.total / weight
            if smooth is None:
                within = np.maximum(self.square / weight - own**2, 0.0)
                share = variance * weight / (variance * weight + within)
            else:
                share = weight / (weight + smooth)
            found = mean + share * own
        return np.where(np.isnan(found), mean, found)  # no rows, or none that differ


def target_statistics(
    codes: np.ndarray, centred: np.ndarray, weight: np.ndarray | None, n_categories: int
) -> TargetStatistics:
    """The sums of a column; rows with the code -1 are left out."""
    at, size = codes + 1, n_categories + 1
    counts = np.bincount(at, weight, minlength=size)[1:].astype(np.float64)
    weighed = centred if weight is None else centred * weight[:, None]
    total = np.column_stack([np.bincount(at, part, minlength=size)[1:] for part in weighed.T])
    square = np.column_stack(
        [np.bincount(at, part * values, minlength=size)[1:] for part, values in zip(weighed.T, centred.T)]
    )
    return TargetStatistics(counts, total, square)


def moments(Y: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each target."""
    mean = np.average(Y, axis=0, weights=weight)
    return mean, np.average((Y - mean) ** 2, axis=0, weights=weight)


def leave_one_out(
    codes: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, n_categories: int, smooth: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shrunken means for each row by all other rows, the mean of those, and their weight in its category."""
    w = np.ones(len(Y)) if weight is None else weight.astype(np.float64)
    mean, variance = moments(Y, weight)
    centred = Y - mean
    sums = target_statistics(codes, centred, weight, n_categories)
    known = codes >= 0
    at = np.where(known, codes, 0)
    mine, own = np.where(known, w, 0.0), w[:, None] * centred
    rest = TargetStatistics(
        np.where(known, sums.weight[at] - mine, 0.0),
        np.where(known[:, None], sums.total[at] - own, 0.0),
        np.where(known[:, None], sums.square[at] - own * centred, 0.0),
    )
    alone = sums.weight[at] <= mine * (1 + 1e-12)
    rest.weight[alone], rest.total[alone], rest.square[alone] = 0.0, 0.0, 0.0
    others = (w.sum() - w)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(others > 0, -own / others, 0.0)  # of the mean, when a row is taken away
        spread = np.where(others > 0, (variance * w.sum() - own * centred) / others - shift**2, 0.0)
    # sums about the mean of the other rows
    n = rest.weight[:, None]
    moved = TargetStatistics(
        rest.weight, rest.total - n * shift, rest.square - 2 * shift * rest.total + n * shift**2
    )
    means = moved.shrunken_means(mean + shift, np.maximum(spread, 0.0), smooth)
    return means, mean + shift, rest.weight
