"""Presorted split search: every threshold of every numeric column, and subsets of categories.

The gain of a threshold is the decrease of the impurity, times the weight of the node. For numbers, with the sum s
of deviations from the node's mean over the left rows of weight n, of N in all, that is s² N / (n (N - n)); one of
two classes is the number 0 or 1, and the Gini index twice its variance.

What is called at every node takes plain arrays out of the tuples once: the compiler counts references to each array
of a tuple at every call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, noinline
from tercet.tree._engine.category_subsets import best_category_split
from tercet.tree._engine.criteria import ENTROPY, SQUARED, TIE, better, impurity
from tercet.tree._engine.presorted_gains import (
    ENTROPY_CLASSES,
    GINI_CLASSES,
    REGRESSION,
    TWO_CLASSES,
    gains_along,
    reset_left_side,
)

BLOCK = 256  # thresholds whose gains are computed at once
NOISE = 4 * np.finfo(np.float64).eps  # numbers that differ by no more than this share are equal
TINY = np.finfo(np.float64).tiny


class SortedSample(NamedTuple):
    """Rows in the sorted order of every numeric column.

    X are all rows of the table, ids[i] is the index there of row i. Lane k of `orders` (`size` entries) holds the
    rows in the order of one numeric column; `lane[j]` is the lane of column j, -1 for a column of categories.
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


class ScanTarget(NamedTuple):
    """The target of the rows: classes, in the low bits of the entries, or numbers.

    Fields that a target does not have are None, and then their branches are not compiled.
    """

    mode: int
    code: int  # the criterion
    shift: int  # how many bits of an entry are its class
    y: np.ndarray | None  # numbers; None for classes
    weight: np.ndarray | None  # None where all weights are 1
    mass: np.ndarray  # table of x log2 x for whole x; empty where it is not used
    newton: np.ndarray | None = None  # lambda, alpha and gamma, where the numbers are -G / H with weights H


class KernelLimits(NamedTuple):
    """The stopping criteria and the criterion as kernels take them; `weight` is that of all rows."""

    max_depth: int
    min_split: int
    min_leaf: int
    min_weight: float
    min_decrease: float
    code: int
    weight: float
    single: bool  # tests of categories are of one value against the rest


class PresortedSplit(NamedTuple):
    """The best split of a node: its gain, its column (-1: there is none), how many rows are below the threshold,
    and whether missing values go left. The slots of categories are in CategoryWorkspace.side."""

    gain: float
    column: int | np.integer
    below: int | np.integer
    left: bool


class ScanWorkspace(NamedTuple):
    """Memory of one thread for the scan of a column in blocks of thresholds."""

    gain: np.ndarray  # of the thresholds of a block
    pattern: np.ndarray  # the same memory as integers, whose order is that of the gains
    left: np.ndarray  # weight on the left of each threshold
    total: np.ndarray  # sum on the left of each threshold
    top: np.ndarray  # the largest gain of a block
    top_pattern: np.ndarray
    run: np.ndarray  # statistics of the left side, see `reset_left_side`
    columns: np.ndarray  # the columns that a node tries
    widest: int  # slots that a test needs at most


class CategoryWorkspace(NamedTuple):
    """Memory for columns of categories; None without such columns, and then their branches are not compiled."""

    table: np.ndarray  # (categories + 1, 1 + values): weight and sums of each category
    rows: np.ndarray  # of each category
    axis: np.ndarray  # (2, values): the direction in which the classes of the categories differ most
    score: np.ndarray  # by which categories are put in order
    rank: np.ndarray  # categories in that order
    side: np.ndarray  # the slot of each category in the best split, that of missing values last


def class_target(n: int, n_classes: int, weight: np.ndarray | None, code: int) -> ScanTarget:
    """A target of classes for n rows."""
    counts = np.arange(n + 1.0 if code == ENTROPY and weight is None else 0.0)
    mass, shift = counts * np.log2(np.maximum(counts, 1.0)), (n_classes - 1).bit_length()
    mode = ENTROPY_CLASSES if code == ENTROPY else TWO_CLASSES if n_classes == 2 else GINI_CLASSES
    return ScanTarget(mode, code, shift, None, None if weight is None else weight.copy(), mass)


def regression_target(
    y: np.ndarray, weight: np.ndarray | None, newton: np.ndarray | None = None
) -> ScanTarget:
    """A target of numbers. Each node subtracts its own mean: that of all rows would leave nothing of numbers that
    are much smaller."""
    own = None if weight is None else weight.copy()
    return ScanTarget(REGRESSION, SQUARED, 0, np.array(y, dtype=np.float64), own, np.empty(0), newton)


def new_workspace(n_values: int, widest: int, d: int) -> tuple[ScanWorkspace, CategoryWorkspace | None]:
    """Memory for a target of so many values, columns of at most `widest` categories, d columns."""
    gain, top = np.zeros(BLOCK), np.zeros(1)
    numbers = gain, gain.view(np.int64), np.zeros(BLOCK), np.zeros(BLOCK), top, top.view(np.int64)
    own = ScanWorkspace(*numbers, np.zeros(4 + n_values), np.arange(d), widest + 1)
    if widest == 0:
        return own, None
    table, axis, score = np.zeros((widest + 1, 1 + n_values)), np.zeros((2, n_values)), np.zeros(widest + 1)
    rows, rank, side = (np.zeros(widest + 1, dtype=np.int64) for _ in range(3))
    return own, CategoryWorkspace(table, rows, axis, score, rank, side)


@inner
def find_split(sample, target, bounds, columns, start, stop, weight, spread, sums, workspace, sets):
    """The best split of a node by one of the columns; `spread` is its weight times its impurity."""
    X, ids, orders, lane, holes = sample.X, sample.ids, sample.orders, sample.lane, sample.holes
    run, gain, pattern, left, total = (
        workspace.run,
        workspace.gain,
        workspace.pattern,
        workspace.left,
        workspace.total,
    )
    top, top_pattern, y, w, mass = workspace.top, workspace.top_pattern, target.y, target.weight, target.mass
    mode, shift, size, newton = target.mode, sample.shift, stop - start, target.newton
    best, column, at, missing_left = -1.0, np.int64(-1), np.int64(0), False
    if newton is not None:  # a split must gain
        best = 0.0
    for j in columns:
        if newton is None and best >= spread * (1.0 - TIE):  # two pure sides: nothing can be better
            break
        if sets is not None and lane[j] < 0:
            found = best_category_split(
                sample, target, bounds, j, start, stop, weight, sums, spread, best, run, sets
            )
            if found >= 0.0:
                best, column, at, missing_left = found, j, np.int64(1), False
            continue
        base = lane[j] * sample.size + start
        valid = count_present(X, ids, orders, shift, j, base, size) if holes[j] else size
        for turn in range(2 if 0 < valid < size else 1):  # missing values on the right, then on the left
            beside = size - valid if turn else 0
            # The last row may stand on the left if missing values are on the right.
            last = valid - 1 if turn or valid == size else valid
            low, high = max(1, bounds.min_leaf - beside), min(last, size - beside - bounds.min_leaf)
            reset_left_side(weight, sums, run, y, mode, mass)
            i = -beside
            while i < high:
                count = min(BLOCK, high - i if i >= 0 else -i)
                here = base + i if i >= 0 else base + size + i
                gains_along(
                    orders, here, count, weight, sums, run, gain, left, total, y, w, newton, shift, mode, mass
                )
                first = max(low - 1 - i, 0)
                top_pattern[0] = block_maximum(pattern, first, count)
                if i >= 0 and first < count and better(top[0], best, spread):
                    segment, level = (here, first, count, valid - i), (top[0], best, spread)
                    k = first_best_cut(
                        X, ids, orders, shift, j, segment, gain, left, level, weight, bounds.min_weight
                    )
                    if k >= 0:
                        best, column, at, missing_left = gain[k], j, np.int64(i + k + 1), turn == 1
                i += count
    return PresortedSplit(best, column, at, missing_left)


@inner
def entry_value(X, ids, entry, shift, column):
    """The value of the row of an entry."""
    return X[ids[np.uint64(entry) >> np.uint64(shift)], column]


@inner
def count_present(X, ids, orders, shift, column, base, size):
    """How many rows of a segment, whose missing values come last, have a value."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if np.isnan(entry_value(X, ids, orders[base + middle], shift, column)):
            high = middle
        else:
            low = middle + 1
    return low


@inner
def block_maximum(pattern, first, stop):
    """The largest gain of a block. Non-negative floats have the order of their bit patterns, and the maximum of
    integers vectorises."""
    top = np.int64(0)
    for i in range(first, stop):
        top = max(top, pattern[i])
    return top


@inner
def first_best_cut(X, ids, orders, shift, column, segment, gain, left, level, weight, least):
    """The first threshold of a block that is as good as its maximum, else the best valid one; -1 for none.

    There is no threshold between equal values.

    The block starts at entry `base`; thresholds are behind its entries first .. stop - 1; `valid` have a value.
    """
    base, first, stop, valid = segment
    top, best, spread = level
    found = -1
    for turn in range(2):
        for k in range(first, stop):
            good = better(gain[k], best, spread) if turn else gain[k] >= top * (1.0 - TIE)
            if not good or (least > 0.0 and (left[k] < least or weight - left[k] < least)):
                continue
            low = entry_value(X, ids, orders[base + k], shift, column)
            if k + 1 == valid or low < entry_value(X, ids, orders[base + k + 1], shift, column):
                if turn == 0:
                    return k
                best, found = gain[k], k
    return found


@noinline
def node_statistics(orders, start, stop, sums, y, w, code, shift):
    """Weight and impurity of a segment of rows. Their class weights go to `sums`; of numbers the mean, and what
    rounding took from it: deviations from both together add up to 0."""
    start, stop = np.uint64(start), np.uint64(stop)
    weight, total, low, high, squares = 0.0, 0.0, np.inf, -np.inf, 0.0
    if y is None:
        shift = np.uint64(shift)
        mask = (np.uint64(1) << shift) - np.uint64(1)
        for k in range(sums.size):
            sums[k] = 0.0
        for i in range(start, stop):
            e = np.uint64(orders[i])
            more = 1.0 if w is None else w[e >> shift]
            sums[e & mask] += more
            weight += more
        return weight, impurity(sums, code)
    else:
        for i in range(start, stop):
            e = orders[i]
            more = 1.0 if w is None else w[e]
            weight += more
            total += more * y[e]
            low, high = min(low, y[e]), max(high, y[e])
        mean, rest = total / weight, 0.0
        if low == high:  # exactly
            mean = low
        for i in range(start, stop):
            e = orders[i]
            more, away = 1.0 if w is None else w[e], y[e] - mean
            rest += more * away
            squares += more * away * away
        rest /= weight
        sums[0], sums[1] = mean, rest
        if high - low <= NOISE * max(abs(low), abs(high)):  # all equal: exactly 0
            return weight, 0.0
        return weight, max(squares / weight - rest * rest, TINY)  # squares may underflow
