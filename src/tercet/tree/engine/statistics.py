"""What rows add to a histogram, in whole numbers.

A histogram says for every bin of a column what the rows in it add up to: numerators and a weight. For classes the
numerators are the weights of the classes; for a number, the sum of w (y - mean); for boosting the gradients G, with
the hessians H for weights. With two classes one numerator is enough.

All of these become int64 here, at a fixed point that leaves about 40 binary digits to each row. Whole numbers add
up to the same bits in any order: threads may share the work as they like, and the histogram of a node less that of
one child is exactly that of the other. Small ones are packed: a numerator and its weight in the halves of a word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, shared

PACKED, PAIR, CLASSES = (
    0,
    1,
    2,
)  # sheets: numerator and weight in one; one for each of them; one for each class
RATIO, ENTROPY, NEWTON = 0, 1, 2  # what a split is worth
LOWER = (1 << 32) - 1
BINS = 256  # codes of a column, a missing value's included
GONE = BINS - 1  # the place of missing values in a room: there are at most 255 others
COUNT, WEIGHT, SUMS = 0, 1, 2  # rows, their weight, their first numerator


class Rows(NamedTuple):
    """What kernels read: for each row its words, the class that chooses the sheet, and its target."""

    words: np.ndarray
    classes: np.ndarray
    labels: np.ndarray


class Rule(NamedTuple):
    """How sheets are read, and what a split must be to count. (`scan` has the formulas of the gains.)"""

    form: int
    gain: int
    n_sums: int
    n_sheets: int
    counted: bool  # the last sheet counts rows
    scale: float  # of a numerator; of a weight
    weight_scale: float
    factor: float
    penalty: float
    least_rows: int
    least_weight: float


@dataclass(frozen=True)
class Statistics:
    """The words of all rows.

    Attributes
    ----------
    rows : Rows
    form, n_sums, n_sheets : int
        How they are laid out.
    counted : bool
        Whether rows are counted on a sheet of their own.
    scale, weight_scale : float
        What one unit of a numerator and of a weight stands for.
    """

    rows: Rows
    form: int
    n_sums: int
    n_sheets: int
    counted: bool
    scale: float = 1.0
    weight_scale: float = 1.0

    @classmethod
    def of_classes(cls, y: np.ndarray, weight: np.ndarray | None, n_classes: int, count: bool) -> Statistics:
        """Weights of classes. `count` asks for the number of rows beside their weight."""
        n, labels = len(y), y.astype(np.float64)
        unit, mass = _weights(weight, n)
        count = count and weight is not None
        ones = [np.ones(n, np.int64)] if count else []
        if n_classes > 2:
            rows = Rows(np.array([mass, *ones]), y.astype(np.uint32), labels)
            return cls(rows, CLASSES, n_classes, n_classes + count, count, unit, unit)
        second = np.where(y == 1, mass, 0)
        if weight is None:
            rows = Rows(((second << 32) + mass)[None], np.empty(0, np.uint32), labels)
            return cls(rows, PACKED, 1, 1, False)
        rows = Rows(np.array([second, mass, *ones]), np.empty(0, np.uint32), labels)
        return cls(rows, PAIR, 1, 2 + count, count, unit, unit)

    @classmethod
    def of_numbers(cls, y: np.ndarray, weight: np.ndarray | None, count: bool) -> Statistics:
        """Sums of w (y - mean)."""
        n = len(y)
        away = y - np.average(y, weights=weight)
        unit, numerator = _fixed(away if weight is None else away * weight)
        mass_unit, mass = _weights(weight, n)
        count = count and weight is not None
        words = [numerator, mass] + ([np.ones(n, np.int64)] if count else [])
        rows = Rows(np.array(words), np.empty(0, np.uint32), y.astype(np.float64))
        return cls(rows, PAIR, 1, 2 + count, count, unit, mass_unit)

    @classmethod
    def of_gradients(
        cls, gradients: np.ndarray, hessians: np.ndarray | None, count: bool, packed: bool = False
    ) -> Statistics:
        """Sums of gradients and hessians (None: each is 1); `packed` trades digits of each row for speed."""
        n = len(gradients)
        count = count and hessians is not None
        ones = [np.ones(n, np.int64)] if count else []
        none = np.empty(0, np.uint32)
        if packed and n < 1 << 29:
            unit, g = _fixed(gradients, room=2.0**31 - 1 - n)
            mass_unit, h = _weights(hessians, n, room=2.0**32 - 1 - 2 * n)
            rows = Rows(np.array([(g << 32) + h, *ones]), none, np.empty(0))
            return cls(rows, PACKED, 1, 1 + count, count, unit, mass_unit)
        unit, g = _fixed(gradients)
        mass_unit, h = _weights(hessians, n)
        return cls(
            Rows(np.array([g, h, *ones]), none, np.empty(0)), PAIR, 1, 2 + count, count, unit, mass_unit
        )

    def rule(self, gain: int, factor: float, penalty: float, least_rows: int, least_weight: float) -> Rule:
        # Half a unit keeps empty sides out, and rounding does not keep out what is just heavy enough.
        least = max(0.5 * self.weight_scale, float(least_weight) * (1.0 - 1e-12))
        shape = (self.form, gain, self.n_sums, self.n_sheets, self.counted, self.scale, self.weight_scale)
        return Rule(*shape, float(factor), float(penalty), int(least_rows), least)


def _fixed(values: np.ndarray, room: float = 2.0**61) -> tuple[float, np.ndarray]:
    """A unit, and values as whole numbers of it: as fine as `room` for the sum of all of them allows."""
    total = float(np.abs(values).sum())
    if not np.isfinite(total):
        raise ValueError("a tree grows from finite numbers; their sum is not.")
    power = np.floor(np.log2(room) - np.log2(total)) if total > 0 else 0.0
    unit = float(2.0 ** -np.clip(power, -1000.0, 1000.0))
    return unit, np.rint(values / unit).astype(np.int64)


def _weights(values: np.ndarray | None, n: int, room: float = 2.0**61) -> tuple[float, np.ndarray]:
    """The same for weights; none of them becomes 0, because a bin without weight is taken to be empty."""
    if values is None:
        return 1.0, np.ones(n, np.int64)
    unit, words = _fixed(values, room)
    return unit, np.maximum(words, 1)


class Room(NamedTuple):
    """Where the bins of one column that hold rows are laid out, one after the other, in real units."""

    bins: np.ndarray  # for each of them the rows, the weight, the numerators; at GONE those of missing values
    codes: np.ndarray
    order: np.ndarray
    key: np.ndarray
    sums: np.ndarray  # of a left side, of the node


@shared
def new_room(rule):
    return Room(
        np.zeros((BINS, SUMS + rule.n_sums)),
        np.zeros(BINS, np.int64),
        np.zeros(BINS, np.int64),
        np.zeros(BINS),
        np.zeros((2, SUMS + rule.n_sums)),
    )


@inner
def read_bin(sheets, f, code, rule, bins, place):
    """Put what the sheets say of one bin at a place among `bins`; says whether it holds rows."""
    weight = np.int64(0)
    if rule.form == PACKED:
        word = sheets[0, f, code]
        weight = word & LOWER
        bins[place, SUMS] = np.float64((word - weight) >> 32) * rule.scale
    elif rule.form == PAIR:
        weight = sheets[1, f, code]
        bins[place, SUMS] = np.float64(sheets[0, f, code]) * rule.scale
    else:
        for k in range(rule.n_sums):
            weight += sheets[k, f, code]
            bins[place, SUMS + k] = np.float64(sheets[k, f, code]) * rule.scale
    bins[place, WEIGHT] = np.float64(weight) * rule.weight_scale
    bins[place, COUNT] = np.float64(sheets[rule.n_sheets - 1, f, code] if rule.counted else weight)
    return weight > 0
