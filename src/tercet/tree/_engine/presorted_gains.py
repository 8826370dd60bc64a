"""Gains of all thresholds of a column, as its sorted rows move to the left side one by one.

The gain of a threshold is the decrease of the impurity, times the weight of the node. For numbers, with the sum s
of deviations from the node's mean over the left rows of weight n, of N in all, that is s² N / (n (N - n)); one of
two classes is the number 0 or 1, and the Gini index twice its variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner
from tercet.tree._engine.criteria import ENTROPY, SQUARED, impurity

REGRESSION, TWO_CLASSES, GINI_CLASSES, ENTROPY_CLASSES = 0, 1, 2, 3  # formulas of the gain
BLOCK = 256  # thresholds whose gains are computed at once
LEAST_SHARE = 1e-14  # a side with less of the node's weight is lost in rounding


class ScanTarget(NamedTuple):
    """The target of the rows: classes, in the low bits of the entries, or numbers.

    Fields that a target does not have are None, and then their branches are not compiled.
    """

    mode: int
    code: int  # the criterion
    shift: int  # how many bits of an entry are its class
    y: np.ndarray | None  # numbers, less their mean; None for classes
    noise: float  # numbers nearer to each other are equal
    weight: np.ndarray | None  # None where all weights are 1
    mass: np.ndarray  # table of x log2 x for whole x; empty where it is not used


def class_target(n: int, n_classes: int, weight: np.ndarray | None, code: int) -> ScanTarget:
    """A target of classes for n rows."""
    counts = np.arange(n + 1.0 if code == ENTROPY and weight is None else 0.0)
    mass, shift = counts * np.log2(np.maximum(counts, 1.0)), (n_classes - 1).bit_length()
    mode = (
        ENTROPY_CLASSES
        if code == ENTROPY
        else TWO_CLASSES
        if weight is None and n_classes == 2
        else GINI_CLASSES
    )
    return ScanTarget(mode, code, shift, None, 0.0, None if weight is None else weight.copy(), mass)


def regression_target(y: np.ndarray, mean: float, weight: np.ndarray | None) -> ScanTarget:
    """A target of numbers, centred: sums are more exact without their mean."""
    noise = 4 * np.finfo(float).eps * float(np.abs(y).max())
    own = None if weight is None else weight.copy()
    return ScanTarget(REGRESSION, SQUARED, 0, y - mean, noise, own, np.empty(0))


@inner
def node_statistics(orders, start, stop, sums, y, w, code, shift, noise):
    """Weight and impurity of a segment of rows; their class weights, or their mean, go to `sums`."""
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
        mean = total / weight
        sums[0] = mean
        if high - low <= noise:  # all equal: exactly 0
            return weight, 0.0
        for i in range(start, stop):
            e = orders[i]
            squares += (1.0 if w is None else w[e]) * (y[e] - mean) ** 2
        return weight, squares / weight


@inner
def reset_left_side(weight, sums, run, y, mode, mass):
    """Empty the left side: run[0] is its weight, run[1] its sum, run[4:] its class weights; run[2] and run[3]
    are the purity terms of the right side and of the node."""
    run[0] = run[1] = run[2] = 0.0
    if y is None and mode >= GINI_CLASSES:
        for k in range(sums.size):
            run[4 + k] = 0.0
            run[2] += purity_term(sums[k], mode, mass)
        run[3] = run[2] / weight if mode == GINI_CLASSES else run[2] - purity_term(weight, mode, mass)


@inner
def purity_term(x, mode, mass):
    """The term of a class of weight x in the purity of a side: x² for Gini, x log2 x for entropy."""
    if mode == GINI_CLASSES:
        return x * x
    if mass.size:
        return mass[np.int64(x)]
    return x * np.log2(x) if x > 0.0 else 0.0


@inner
def gains_along(orders, start, count, weight, sums, run, gain, left, total, y, w, shift, mode, mass):
    """Move rows to the left side one after the other; `gain` gets the gain of the cut behind each."""
    if y is not None:
        if w is None:
            gains_squared_error(orders, start, count, weight, sums, run, gain, total, y)
        else:
            gains_weighted_squared_error(orders, start, count, weight, sums, run, gain, left, y, w)
    elif mode == TWO_CLASSES:
        gains_two_classes(orders, start, count, weight, sums, run, gain, total)
    else:
        gains_classes(orders, start, count, weight, sums, run, gain, left, w, shift, mode, mass)


@inner
def gains_two_classes(orders, start, count, weight, sums, run, gain, total):
    """Two classes, all weights 1: integers up to the division, and gains that vectorise."""
    start, here = np.uint64(start), np.uint64(run[1])
    for i in range(count):
        here += np.uint64(orders[start + np.uint64(i)]) & np.uint64(1)
        total[i] = here
    before, ones, scale = run[0], sums[1], 2.0 / weight
    for i in range(count):
        n = before + (i + 1.0)
        apart = total[i] * weight - n * ones
        gain[i] = apart * apart / (n * (weight - n)) * scale
    run[0], run[1] = before + count, np.float64(here)


@inner
def gains_squared_error(orders, start, count, weight, sums, run, gain, total, y):
    """The same for numbers, all of weight 1."""
    start, here, mean = np.uint64(start), run[1], sums[0]
    for i in range(count):
        here += y[orders[start + np.uint64(i)]] - mean
        total[i] = here
    before = run[0]
    for i in range(count):
        n = before + (i + 1.0)
        gain[i] = total[i] * total[i] * weight / (n * (weight - n))
    run[0], run[1] = before + count, here


@inner
def gains_weighted_squared_error(orders, start, count, weight, sums, run, gain, left, y, w):
    """The same for numbers with weights; `left` gets the weight on the left."""
    start, before, here, mean, least = np.uint64(start), run[0], run[1], sums[0], LEAST_SHARE * weight
    for i in range(count):
        e = orders[start + np.uint64(i)]
        before += w[e]
        here += w[e] * (y[e] - mean)
        rest = weight - before
        gain[i] = here * here * weight / (before * rest) if rest > least else 0.0
        left[i] = before
    run[0], run[1] = before, here


@inner
def gains_classes(orders, start, count, weight, sums, run, gain, left, w, shift, mode, mass):
    """The same for classes. A row changes one class only: the cost does not depend on their number."""
    start, shift, least = np.uint64(start), np.uint64(shift), LEAST_SHARE * weight
    low = (np.uint64(1) << shift) - np.uint64(1)
    before, own, other, bare = run[0], run[1], run[2], run[3]
    for i in range(count):
        e = np.uint64(orders[start + np.uint64(i)])
        k = np.int64(e & low)
        more = 1.0 if w is None else w[e >> shift]
        a = run[4 + k]
        b = max(sums[k] - a, 0.0)
        own += purity_term(a + more, mode, mass) - purity_term(a, mode, mass)
        other += purity_term(max(b - more, 0.0), mode, mass) - purity_term(b, mode, mass)
        run[4 + k] = a + more
        before += more
        rest = weight - before
        if rest <= least:
            found = 0.0
        elif mode == GINI_CLASSES:
            found = own / before + other / rest - bare
        else:
            found = own - purity_term(before, mode, mass) + other - purity_term(rest, mode, mass) - bare
        gain[i] = max(found, 0.0)
        left[i] = before
    run[0], run[1], run[2] = before, own, other
