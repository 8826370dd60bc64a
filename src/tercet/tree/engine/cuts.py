"""The best split of a node: every cut of every column of numbers, and sets of categories.

What is called at every node takes plain arrays out of the tuples once: the compiler counts references to each array
of a tuple at every call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner
from tercet.tree.engine.criteria import TIE, better
from tercet.tree.engine.subsets import cut_categories
from tercet.tree.engine.targets import BLOCK, begin, pass_rows


class Sample(NamedTuple):
    """Rows that are being split.

    X are all rows there are, ids[i] says which of them row i is. Lane k of `orders` (of `size` entries) holds the
    rows in the order of one column of numbers, `lane[j]` is the lane of column j, -1 for one of categories.
    `holes[j]` says whether column j has missing values.
    """

    X: np.ndarray
    ids: np.ndarray
    orders: np.ndarray
    size: int
    shift: int
    lane: np.ndarray
    holes: np.ndarray
    n_categories: np.ndarray


class Bounds(NamedTuple):
    """The limits as kernels take them. `weight` is that of all rows."""

    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_decrease: float
    code: int
    weight: float


class Split(NamedTuple):
    """The best split of a node: its gain, its column (-1: there is none), how many rows stand below the threshold,
    and whether missing values go left. The slots of categories are in Sets.side."""

    gain: float
    column: int | np.integer
    below: int | np.integer
    left: bool


class Room(NamedTuple):
    """Memory that one thread works in."""

    gain: np.ndarray  # of the cuts of a block
    pattern: np.ndarray  # the same memory as whole numbers, which rise with the gains
    left: np.ndarray  # weights on the left of the cuts
    total: np.ndarray  # sums on the left of the cuts
    top: np.ndarray  # the largest gain of a block
    top_pattern: np.ndarray
    run: np.ndarray  # what is on the left side
    columns: np.ndarray  # the columns that a node tries
    widest: int  # slots that a test needs at most


class Sets(NamedTuple):
    """Memory for columns of categories: without them there is None, and nothing that needs it is compiled."""

    table: np.ndarray  # (categories + 1, 1 + values): weight and sums of each category
    rows: np.ndarray  # of each category
    axis: np.ndarray  # (2, values): the direction in which the classes of the categories differ most
    score: np.ndarray  # by which categories are put in order
    rank: np.ndarray  # categories in that order
    side: np.ndarray  # the slot of each category in the best split, that of missing values last


def room(n_values: int, widest: int, d: int) -> tuple[Room, Sets | None]:
    """Memory for a target of so many values, columns of at most `widest` categories, d columns."""
    gain, top = np.zeros(BLOCK), np.zeros(1)
    numbers = gain, gain.view(np.int64), np.zeros(BLOCK), np.zeros(BLOCK), top, top.view(np.int64)
    own = Room(*numbers, np.zeros(4 + n_values), np.arange(d), widest + 1)
    if widest == 0:
        return own, None
    table, axis, score = np.zeros((widest + 1, 1 + n_values)), np.zeros((2, n_values)), np.zeros(widest + 1)
    rows, rank, side = (np.zeros(widest + 1, dtype=np.int64) for _ in range(3))
    return own, Sets(table, rows, axis, score, rank, side)


@inner
def find_split(sample, target, bounds, columns, start, stop, weight, spread, sums, room, sets):
    """The best split of a node by one of the columns; `spread` is its weight times its impurity."""
    X, ids, orders, lane, holes = sample.X, sample.ids, sample.orders, sample.lane, sample.holes
    run, gain, pattern, left, total = room.run, room.gain, room.pattern, room.left, room.total
    top, top_pattern, y, w, mass = room.top, room.top_pattern, target.y, target.weight, target.mass
    mode, shift, size = target.mode, sample.shift, stop - start
    best, column, at, missing_left = -1.0, np.int64(-1), np.int64(0), False
    for j in columns:
        if best >= spread * (1.0 - TIE):  # two pure sides: nothing can be better
            break
        if sets is not None and lane[j] < 0:
            found = cut_categories(
                sample, target, bounds, j, start, stop, weight, sums, spread, best, run, sets
            )
            if found >= 0.0:
                best, column, at, missing_left = found, j, np.int64(1), False
            continue
        base = lane[j] * sample.size + start
        valid = present(X, ids, orders, shift, j, base, size) if holes[j] else size
        for turn in range(2 if 0 < valid < size else 1):  # missing values on the right, then on the left
            beside = size - valid if turn else 0
            # The last row may stand on the left if missing values are on the right.
            last = valid - 1 if turn or valid == size else valid
            low, high = max(1, bounds.min_leaf - beside), min(last, size - beside - bounds.min_leaf)
            begin(weight, sums, run, y, mode, mass)
            i = -beside
            while i < high:
                count = min(BLOCK, high - i if i >= 0 else -i)
                here = base + i if i >= 0 else base + size + i
                pass_rows(orders, here, count, weight, sums, run, gain, left, total, y, w, shift, mode, mass)
                first = max(low - 1 - i, 0)
                top_pattern[0] = summit(pattern, first, count)
                if i >= 0 and first < count and better(top[0], best, spread):
                    stretch, level = (here, first, count, valid - i), (top[0], best, spread)
                    k = choice(
                        X, ids, orders, shift, j, stretch, gain, left, level, weight, bounds.min_weight
                    )
                    if k >= 0:
                        best, column, at, missing_left = gain[k], j, np.int64(i + k + 1), turn == 1
                i += count
    return Split(best, column, at, missing_left)


@inner
def value(X, ids, entry, shift, column):
    """The value of the row of an entry."""
    return X[ids[np.uint64(entry) >> np.uint64(shift)], column]


@inner
def present(X, ids, orders, shift, column, base, size):
    """How many rows of a stretch, whose missing values come last, have a value."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if np.isnan(value(X, ids, orders[base + middle], shift, column)):
            high = middle
        else:
            low = middle + 1
    return low


@inner
def summit(pattern, first, stop):
    """The largest gain of a block. Bit patterns of numbers that are not negative rise with them, and the largest of
    whole numbers is found many at a time."""
    top = np.int64(0)
    for i in range(first, stop):
        top = max(top, pattern[i])
    return top


@inner
def choice(X, ids, orders, shift, column, stretch, gain, left, level, weight, least):
    """The first cut of a block that is as good as its top, else the best there is. Between equal values is none.

    A block starts at entry `base`; the cuts behind its entries first .. stop - 1 are meant; `valid` have a value.
    """
    base, first, stop, valid = stretch
    top, best, spread = level
    found = -1
    for turn in range(2):
        for k in range(first, stop):
            good = better(gain[k], best, spread) if turn else gain[k] >= top * (1.0 - TIE)
            if not good or (least > 0.0 and (left[k] < least or weight - left[k] < least)):
                continue
            low = value(X, ids, orders[base + k], shift, column)
            if k + 1 == valid or low < value(X, ids, orders[base + k + 1], shift, column):
                if turn == 0:
                    return k
                best, found = gain[k], k
    return found
