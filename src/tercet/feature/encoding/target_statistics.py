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


class Target(NamedTuple):
    """Targets of rows: numbers, or classes as indices. Each class is a target of its own; of two only the second.

    Attributes
    ----------
    values : array of shape (n_samples,)
    n_classes : int
        0 for numbers.
    """

    values: np.ndarray
    n_classes: int

    @property
    def first(self) -> int:
        """The first class that is a target."""
        return 1 if self.n_classes == 2 else 0

    def take(self, rows: np.ndarray) -> Target:
        """The targets of some rows."""
        return Target(self.values[rows], self.n_classes)

    def columns(self) -> np.ndarray:
        """Targets as numbers, of shape (n_samples, n_targets)."""
        if not self.n_classes:
            return self.values[:, None]
        return (self.values[:, None] == np.arange(self.first, self.n_classes)).astype(np.float64)

    def moments(self, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of each target."""
        if self.n_classes:
            counts = np.bincount(self.values, weight, minlength=self.n_classes)
            mean = (counts / counts.sum())[self.first :]
            return mean, mean * (1 - mean)
        mean = np.average(self.values, weights=weight, keepdims=True)
        return mean, np.average((self.values - mean) ** 2, weights=weight, keepdims=True)

    def statistics(
        self, codes: np.ndarray, weight: np.ndarray | None, n_categories: int, mean: np.ndarray
    ) -> TargetStatistics:
        """The sums of a column, centred at a mean; rows with the code -1 are left out."""
        at, size = codes + 1, n_categories + 1
        if self.n_classes:  # all classes at once: sums of zeros and ones are counts
            cells = np.bincount(at * self.n_classes + self.values, weight, minlength=size * self.n_classes)
            counts = cells.reshape(size, self.n_classes)[1:].astype(np.float64)
            n, ones = counts.sum(axis=1), counts[:, self.first :]
            rest = n[:, None] - ones
            return TargetStatistics(
                n, ones * (1 - mean) - rest * mean, ones * (1 - mean) ** 2 + rest * mean**2
            )
        n = np.bincount(at, weight, minlength=size)[1:].astype(np.float64)
        centred = self.values - mean
        weighed = centred if weight is None else centred * weight
        total, square = (
            np.bincount(at, part, minlength=size)[1:, None] for part in (weighed, weighed * centred)
        )
        return TargetStatistics(n, total, square)


def leave_one_out(
    codes: np.ndarray, target: Target, weight: np.ndarray | None, n_categories: int, smooth: float | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shrunken means for each row by all other rows, the mean of those, and their weight in its category."""
    w = np.ones(len(codes)) if weight is None else weight.astype(np.float64)
    mean, variance = target.moments(weight)
    centred = target.columns() - mean
    sums = target.statistics(codes, weight, n_categories, mean)
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
