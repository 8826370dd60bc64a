"""Random thresholds: one is drawn for a column, and one pass over the rows gives its gain.

The general search (`general_search`) does the same for columns with missing values, monotonic columns and absolute
errors, from sorted rows.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner
from tercet.tree._engine.criteria import ENTROPY, GINI, SQUARED

LEAST_SUM = 1e-300  # a Poisson mean must be positive


@inner
def target_totals(code, y, weight, n_values):
    """The class weights of each output, or the sum of its targets: (outputs, values)."""
    totals = np.zeros((y.shape[0], n_values if code <= ENTROPY else 1))
    for o in range(y.shape[0]):
        for i in range(y.shape[1]):
            if code <= ENTROPY:
                totals[o, np.int64(y[o, i])] += weight[i]
            else:
                totals[o, 0] += weight[i] * y[o, i]
    return totals


@inner
def draw_threshold(x, draw, rows, y, weight, code, whole, totals, left, best):
    """The threshold that `draw` chooses between the least and the greatest value, and its gain, into `best`.

    rows: the fewest rows of a side, and its least weight. whole: the weight of all rows, and their cost. left:
    memory for the sums of the left side, of the shape of `totals`. Returns False where a value is missing.
    """
    n, low, high, present = x.size, np.inf, -np.inf, 0
    for i in range(n):
        low, high = min(low, x[i]), max(high, x[i])
        present += x[i] == x[i]
    if present < n:
        return False
    if low == high:
        return True
    cut = low + draw * (high - low)
    if not cut < high:
        cut = low
    count, mass, total, numbers = 0, 0.0, 0.0, code > ENTROPY
    first = y[0]
    for i in range(n):
        below = 1.0 if x[i] <= cut else 0.0
        count += x[i] <= cut
        mass += weight[i] * below
        total += weight[i] * first[i] * below
    best[0], best[1], best[3], best[4] = -np.inf, cut, 0.0, 0.0
    best[2] = 0.0 if 2 * count > n else 1.0  # none is missing here: the larger side
    rest = whole[0] - mass
    if min(count, n - count) < rows[0] or min(mass, rest) < rows[1]:
        return True
    gain = 0.0
    for o in range(y.shape[0]):
        if numbers and o == 0:
            left[0, 0] = total
        else:
            left_sums(x, cut, y[o], weight, code, left[o])
        gain += decrease(code, left[o], totals[o], mass, rest)
    gain /= y.shape[0]
    best[0] = 0.0 if abs(gain) <= 1e-12 * whole[1] else gain
    return True


@inner
def left_sums(x, cut, y, weight, code, sums):
    """The class weights, or the sum of the targets, of the rows up to the threshold."""
    if code <= ENTROPY:
        for k in range(sums.size):
            sums[k] = 0.0
        for i in range(x.size):
            sums[np.int64(y[i])] += weight[i] if x[i] <= cut else 0.0
        return
    total = 0.0
    for i in range(x.size):
        total += weight[i] * y[i] if x[i] <= cut else 0.0
    sums[0] = total


@inner
def decrease(code, left, whole, mass, rest):
    """The decrease of one output's cost by a split with these sums on the left, of weights `mass` and `rest`."""
    found, both = 0.0, mass + rest
    if code > ENTROPY:
        a, b, c = left[0], whole[0] - left[0], whole[0]
        if code == SQUARED:
            return a * a / mass + b * b / rest - c * c / both
        if min(a, b) <= LEAST_SUM:
            return -np.inf
        return a * np.log(a / mass) + b * np.log(b / rest) - c * np.log(c / both)
    for k in range(whole.size):
        a, b, c = left[k], max(whole[k] - left[k], 0.0), whole[k]
        if code == GINI:
            found += a * a / mass + b * b / rest - c * c / both
        elif c > 0.0:
            found -= c * np.log2(c / both)
            found += a * np.log2(a / mass) if a > 0.0 else 0.0
            found += b * np.log2(b / rest) if b > 0.0 else 0.0
    return found
