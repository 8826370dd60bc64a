"""Gains of a column's cuts, as the sorted rows of a node move to the left side one by one."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner
from tercet.tree._engine.criteria import shrunken

REGRESSION, TWO_CLASSES, GINI_CLASSES, ENTROPY_CLASSES = 0, 1, 2, 3  # formulas of the gain
LEAST_SHARE = 1e-14  # a side with less of the node's weight is lost in rounding


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
def gains_along(orders, start, count, weight, sums, run, gain, left, total, y, w, newton, shift, mode, mass):
    """Move rows to the left side one after the other; `gain` gets the gain of the cut behind each."""
    if y is not None:
        if newton is not None:
            gains_newton(orders, start, count, weight, sums, run, gain, left, y, w, newton)
        elif w is None:
            gains_squared_error(orders, start, count, weight, sums, run, gain, total, y)
        else:
            gains_weighted_squared_error(orders, start, count, weight, sums, run, gain, left, y, w)
    elif mode == TWO_CLASSES:
        if w is None:
            gains_two_classes(orders, start, count, weight, sums, run, gain, total)
        else:
            gains_weighted_two_classes(orders, start, count, weight, sums, run, gain, left, total, w)
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
def gains_weighted_two_classes(orders, start, count, weight, sums, run, gain, left, total, w):
    """The same with weights; `left` gets the weight on the left."""
    start, one, before, here = np.uint64(start), np.uint64(1), run[0], run[1]
    for i in range(count):
        e = np.uint64(orders[start + np.uint64(i)])
        more = w[e >> one]
        before += more
        here += more if e & one else 0.0
        left[i], total[i] = before, here
    ones, scale, least = sums[1], 2.0 / weight, LEAST_SHARE * weight
    for i in range(count):
        rest = weight - left[i]
        apart = total[i] * weight - left[i] * ones
        found = apart * apart / (left[i] * rest) * scale
        gain[i] = found if rest > least else 0.0
    run[0], run[1] = before, here


@inner
def gains_squared_error(orders, start, count, weight, sums, run, gain, total, y):
    """The same for numbers, all of weight 1."""
    start, here, mean, rest = np.uint64(start), run[1], sums[0], sums[1]
    for i in range(count):
        here += (y[orders[start + np.uint64(i)]] - mean) - rest
        total[i] = here
    before = run[0]
    for i in range(count):
        n = before + (i + 1.0)
        gain[i] = total[i] * total[i] * weight / (n * (weight - n))
    run[0], run[1] = before + count, here


@inner
def gains_weighted_squared_error(orders, start, count, weight, sums, run, gain, left, y, w):
    """The same for numbers with weights; `left` gets the weight on the left."""
    start, before, here, mean, off = np.uint64(start), run[0], run[1], sums[0], sums[1]
    least = LEAST_SHARE * weight
    for i in range(count):
        e = orders[start + np.uint64(i)]
        before += w[e]
        here += w[e] * ((y[e] - mean) - off)
        rest = weight - before
        gain[i] = here * here * weight / (before * rest) if rest > least else 0.0
        left[i] = before
    run[0], run[1] = before, here


@inner
def gains_newton(orders, start, count, weight, sums, run, gain, left, y, w, newton):
    """The same for -G / H with weights H and penalties of the leaf values: G² / (H + lambda) of both sides, less
    that of the node and gamma; 0 where that is negative."""
    start, before, here, mean, off = np.uint64(start), run[0], run[1], sums[0], sums[1]
    for i in range(count):
        e = orders[start + np.uint64(i)]
        more = 1.0 if w is None else w[e]
        before += more
        here += more * ((y[e] - mean) - off)
        left[i] = before
        gain[i] = penalised_gain(before, here, weight, mean + off, newton)
    run[0], run[1] = before, here


@inner
def penalised_gain(mass, deviation, weight, mean, newton):
    """The gain of a side with so much of the node's weight, and the sum of deviations from its mean."""
    l2, rest, a = newton[0], weight - mass, deviation + mean * mass
    b, a = shrunken(mean * weight - a, newton[1]), shrunken(a, newton[1])
    whole = shrunken(mean * weight, newton[1])
    if rest <= LEAST_SHARE * weight:
        return 0.0
    return max(a * a / (mass + l2) + b * b / (rest + l2) - whole * whole / (weight + l2) - newton[2], 0.0)


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
