"""Statistics of rows for histograms, as fixed-point integers.

A histogram says for every bin of a column what the rows in it add up to: numerators and a weight. For classes the
numerators are the weights of the classes; for a number, the sum of w (y - mean); for boosting the gradients G, with
the hessians H for weights. With two classes one numerator is enough.

All of these become int64 here, at a fixed point that leaves about 40 binary digits to each row. Sums of integers
have the same bits in any order: threads may share the work as they like, and the histogram of a node less that of
one child is exactly that of the other. A histogram has one channel for each word of a row, or for each class. Small
numbers are packed: a numerator and its weight in the halves of a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, shared

PACKED, PAIR, CLASSES = 0, 1, 2  # channels: numerator and weight in one; one for each; one for each class
RATIO, ENTROPY, NEWTON = 0, 1, 2  # formulas of the gain, see `histogram_scan`
LOWER = (1 << 32) - 1
BINS = 256  # codes of a column, with that of missing values
MISSING_BIN = BINS - 1  # row of missing values in a BinWorkspace: there are at most 255 other bins
COUNT, WEIGHT, SUMS = 0, 1, 2  # columns of BinWorkspace.bins: rows, their weight, their first numerator


class RowStatistics(NamedTuple):
    """What kernels read of each row: its words, the class that chooses the channel, and its target."""

    words: np.ndarray
    classes: np.ndarray
    labels: np.ndarray


class CategoryRule(NamedTuple):
    """Regularisation of splits of categories: a set of a few of them against all others.

    With `single` categories or fewer in a node each is tried alone. Else those with `few` rows or more are sorted
    by G / (H + smooth), and sets are made from either end of that order. A set takes in `group` rows or more at a
    time, and half of the categories or `most` of them at most; `penalty` is added to lambda. With most = 0 there is
    no regularisation: all cuts of the order of the means are tried.

    Examples
    --------
    >>> CategoryRule(smooth=10.0, single=4, most=32).most
    32
    """

    smooth: float = 0.0
    few: int = 0
    group: int = 0
    most: int = 0
    single: int = 0
    penalty: float = 0.0


EVERY_CUT = CategoryRule()


class GainRule(NamedTuple):
    """How channels are read, the formula of the gain (see `histogram_scan`), and the least size of a side."""

    form: int
    gain: int
    n_sums: int
    n_channels: int
    counted: bool  # the last channel counts rows
    scale: float  # of a numerator; of a weight
    weight_scale: float
    factor: float
    penalty: float
    l1: float
    least_rows: int
    least_weight: float
    categories: CategoryRule


@dataclass(frozen=True)
class HistogramStatistics:
    """Fixed-point statistics of all rows.

    Attributes
    ----------
    rows : RowStatistics
    form, n_sums, n_channels : int
        How they are laid out.
    counted : bool
        Whether rows are counted on a channel of their own.
    scale, weight_scale : float
        What one unit of a numerator and of a weight stands for.
    """

    rows: RowStatistics
    form: int
    n_sums: int
    n_channels: int
    counted: bool
    scale: float = 1.0
    weight_scale: float = 1.0

    @classmethod
    def of_classes(
        cls, y: np.ndarray, weight: np.ndarray | None, n_classes: int, count: bool
    ) -> HistogramStatistics:
        """Weights of classes. `count` asks for the number of rows beside their weight."""
        n, labels = len(y), y.astype(np.float64)
        unit, mass = _weights(weight, n)
        count = count and weight is not None
        ones = [np.ones(n, np.int64)] if count else []
        if n_classes > 2:
            rows = RowStatistics(np.array([mass, *ones]), y.astype(np.uint32), labels)
            return cls(rows, CLASSES, n_classes, n_classes + count, count, unit, unit)
        second = np.where(y == 1, mass, 0)
        if weight is None:
            rows = RowStatistics(((second << 32) + mass)[None], np.empty(0, np.uint32), labels)
            return cls(rows, PACKED, 1, 1, False)
        rows = RowStatistics(np.array([second, mass, *ones]), np.empty(0, np.uint32), labels)
        return cls(rows, PAIR, 1, 2 + count, count, unit, unit)

    @classmethod
    def of_numbers(cls, y: np.ndarray, weight: np.ndarray | None, count: bool) -> HistogramStatistics:
        """Sums of w (y - mean)."""
        n = len(y)
        away = y - np.average(y, weights=weight)
        unit, numerator = _fixed_point(away if weight is None else away * weight)
        mass_unit, mass = _weights(weight, n)
        count = count and weight is not None
        words = [numerator, mass] + ([np.ones(n, np.int64)] if count else [])
        rows = RowStatistics(np.array(words), np.empty(0, np.uint32), y.astype(np.float64))
        return cls(rows, PAIR, 1, 2 + count, count, unit, mass_unit)

    @classmethod
    def of_gradients(
        cls, gradients: np.ndarray, hessians: np.ndarray | None, count: bool, packed: bool = False
    ) -> HistogramStatistics:
        """Sums of gradients and hessians (None: each is 1); `packed` trades digits of each row for speed."""
        n = len(gradients)
        count = count and hessians is not None
        ones = [np.ones(n, np.int64)] if count else []
        none = np.empty(0, np.uint32)
        if packed and n <= 1 << 22:  # with more, too few digits are left to a row
            unit, g = _fixed_point(gradients, limit=2.0**31 - 1 - n)
            mass_unit, h = _weights(hessians, n, limit=2.0**32 - 1 - 2 * n)
            rows = RowStatistics(np.array([(g << 32) + h, *ones]), none, np.empty(0))
            return cls(rows, PACKED, 1, 1 + count, count, unit, mass_unit)
        unit, g = _fixed_point(gradients)
        mass_unit, h = _weights(hessians, n)
        return cls(
            RowStatistics(np.array([g, h, *ones]), none, np.empty(0)),
            PAIR,
            1,
            2 + count,
            count,
            unit,
            mass_unit,
        )

    def rule(
        self,
        gain: int,
        factor: float,
        penalty: float,
        least_rows: int,
        least_weight: float,
        categories: CategoryRule = EVERY_CUT,
        l1: float = 0.0,
    ) -> GainRule:
        # Half a unit keeps empty sides out, and rounding does not keep out what is just heavy enough.
        least = max(0.5 * self.weight_scale, float(least_weight) * (1.0 - 1e-12))
        shape = (self.form, gain, self.n_sums, self.n_channels, self.counted, self.scale, self.weight_scale)
        return GainRule(*shape, float(factor), float(penalty), float(l1), int(least_rows), least, categories)


def _fixed_point(values: np.ndarray, limit: float = 2.0**61) -> tuple[float, np.ndarray]:
    """A unit, and values as integer multiples of it: as fine as the limit on the sum of all of them allows."""
    unit = unit_for(float(np.abs(values).sum()), limit)
    return unit, np.rint(values / unit).astype(np.int64)


def unit_for(total: float, limit: float) -> float:
    """The finest power of 2 of which numbers whose sizes sum to `total` are at most `limit` multiples."""
    if not np.isfinite(total):
        raise ValueError("a tree grows from finite numbers; their sum is not.")
    power = np.floor(np.log2(limit) - np.log2(total)) if total > 0 else 0.0
    return float(2.0 ** -np.clip(power, -1000.0, 1000.0))


def _weights(values: np.ndarray | None, n: int, limit: float = 2.0**61) -> tuple[float, np.ndarray]:
    """The same for weights; none of them becomes 0, because a bin without weight is taken to be empty."""
    if values is None:
        return 1.0, np.ones(n, np.int64)
    unit, words = _fixed_point(values, limit)
    return unit, np.maximum(words, 1)


class BinWorkspace(NamedTuple):
    """Memory for one column: its bins that hold rows, one after the other, in real units."""

    bins: np.ndarray  # (256, 2 + n_sums): count, weight and numerators of each bin; MISSING_BIN is the last
    codes: np.ndarray
    order: np.ndarray
    key: np.ndarray
    sums: np.ndarray  # (2, 2 + n_sums): of the left side, of the node


@shared
def new_bin_workspace(rule):
    """Empty memory for the columns of one thread."""
    return BinWorkspace(
        np.zeros((BINS, SUMS + rule.n_sums)),
        np.zeros(BINS, np.int64),
        np.zeros(BINS, np.int64),
        np.zeros(BINS),
        np.zeros((2, SUMS + rule.n_sums)),
    )


@inner
def read_bin(channels, f, code, rule, bins, place):
    """Read one bin from the channels into row `place` of `bins`; returns whether it holds rows."""
    weight = np.int64(0)
    if rule.form == PACKED:
        word = channels[0, f, code]
        weight = word & LOWER
        bins[place, SUMS] = np.float64((word - weight) >> 32) * rule.scale
    elif rule.form == PAIR:
        weight = channels[1, f, code]
        bins[place, SUMS] = np.float64(channels[0, f, code]) * rule.scale
    else:
        for k in range(rule.n_sums):
            weight += channels[k, f, code]
            bins[place, SUMS + k] = np.float64(channels[k, f, code]) * rule.scale
    bins[place, WEIGHT] = np.float64(weight) * rule.weight_scale
    bins[place, COUNT] = np.float64(channels[rule.n_channels - 1, f, code] if rule.counted else weight)
    return weight > 0
