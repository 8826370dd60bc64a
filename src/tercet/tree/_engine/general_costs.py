"""Costs of sets of rows under every criterion, for a whole node and for every prefix of an order of its rows.

The cost of a set is its weight times its impurity, the mean over the outputs:

- gini            W - sum of c² / W for the weights c of the classes;
- entropy         -sum of c log2(c / W);
- squared error   sum of w (y - mean)²;
- absolute error  sum of w |y - median|;
- poisson         sum of w y log(y / mean), of which the part that no cut can change is left out.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, shared
from tercet.core.rows import sum_of
from tercet.tree._engine.criteria import ENTROPY, GINI, SQUARED

ABSOLUTE, POISSON = 3, 4


@shared
def node_value(code, target, sorting, weight, n_values):
    """The value of a node for each output, its impurity, and whether all its rows have one target."""
    outputs, n = target.shape
    values = np.zeros((outputs, n_values))
    total, impurity, pure = sum_of(weight), 0.0, True
    for o in range(outputs):
        y, same = target[o], True
        for i in range(n):
            same &= y[i] == y[0]
        pure &= same
        if code <= ENTROPY:
            for i in range(n):
                values[o, np.int64(y[i])] += weight[i]
            for k in range(n_values):
                p = values[o, k] / total
                values[o, k] = p
                if p > 0.0 and not same:
                    impurity += p * (1.0 - p) if code == GINI else -p * np.log2(p)
            continue
        centre = y[0]
        if not same:
            centre = weighted_median(y, sorting[o], weight) if code == ABSOLUTE else weighted_mean(y, weight)
            impurity += total_deviation(code, y, weight, centre) / total
        values[o, 0] = centre
    return values, impurity / outputs, pure


@inner
def weighted_mean(y, weight):
    """The weighted mean, from deviations from the first value: of equal values it is exact."""
    total, away = 0.0, 0.0
    for i in range(y.size):
        total += weight[i]
        away += weight[i] * (y[i] - y[0])
    return y[0] + away / total


@shared
def weighted_median(y, order, weight):
    """The weighted median: the midpoint of two values where each has half of the weight on its side."""
    half, before = sum_of(weight) / 2, 0.0
    for k in range(order.size):
        before += weight[order[k]]
        if before == half and k + 1 < order.size:
            return 0.5 * y[order[k]] + 0.5 * y[order[k + 1]]
        if before >= half:
            return y[order[k]]
    return y[order[-1]]


@inner
def total_deviation(code, y, weight, centre):
    """The sum of deviations from the centre: squared, absolute or Poisson."""
    total = 0.0
    for i in range(y.size):
        away = y[i] - centre
        if code == SQUARED:
            total += weight[i] * away * away
        elif code == ABSOLUTE:
            total += weight[i] * abs(away)
        elif y[i] > 0.0:
            total += weight[i] * y[i] * np.log(y[i] / centre)
    return total


@inner
def centred_targets(code, target, weight):
    """The targets less their mean, to avoid cancellation in sums of squares, and the mean of the first output."""
    y, shift = target.copy(), 0.0
    if code in (SQUARED, ABSOLUTE):
        for o in range(target.shape[0]):
            centre = weighted_mean(target[o], weight)
            for i in range(y.shape[1]):
                y[o, i] -= centre
            if o == 0:
                shift = centre
    return y, shift


@inner
def prefix_costs(code, rows, size, y, weight, n_values, ranks, cost, mass, level):
    """For each prefix of the rows: its cost, its weight, and its value of the first output (`level`)."""
    outputs = y.shape[0]
    total = 0.0
    for k in range(size):
        total += weight[rows[k]]
        cost[k], level[k], mass[k] = 0.0, 0.0, total
    for o in range(outputs):
        if code == ABSOLUTE:
            add_absolute(rows, size, y[o], weight, ranks[o], cost, level, o == 0)
        elif code <= ENTROPY:
            add_classes(code, rows, size, y[o], weight, n_values, mass, cost, level, o == 0)
        else:
            add_means(code, rows, size, y[o], weight, mass, cost, level, o == 0)
    for k in range(size):
        cost[k] /= outputs


@inner
def add_classes(code, rows, size, y, weight, n_values, mass, cost, level, first):
    """Gini index or entropy, from running class weights."""
    counts = np.zeros(n_values)
    total = 0.0  # of c² or of c log2(c)
    for k in range(size):
        label = np.int64(y[rows[k]])
        c, w, W = counts[label], weight[rows[k]], mass[k]
        counts[label] = c + w
        if code == GINI:
            total += w * (2.0 * c + w)
            cost[k] += W - total / W
        else:
            total += (c + w) * np.log2(c + w) - (c * np.log2(c) if c > 0.0 else 0.0)
            cost[k] += W * np.log2(W) - total
        if first and n_values > 1:
            level[k] = counts[1] / W


@inner
def add_means(code, rows, size, y, weight, mass, cost, level, first):
    """Squared or Poisson error, from running sums."""
    total, squares = 0.0, 0.0
    for k in range(size):
        w, v = weight[rows[k]], y[rows[k]]
        total += w * v
        squares += w * v * v
        if code == SQUARED:
            cost[k] += squares - total * total / mass[k]
        elif total > 1e-300:
            cost[k] -= total * np.log(total / mass[k])
        else:
            cost[k] = np.inf  # the mean must be positive
        if first:
            level[k] = total / mass[k]


@inner
def add_absolute(rows, size, y, weight, ranks, cost, level, first):
    """Absolute errors: weights and sums in two Fenwick trees over the ranks of y give each median in O(log n)."""
    n = ranks.size
    ordered = np.empty(n)
    for i in range(n):
        ordered[ranks[i]] = y[i]
    weights, sums = np.zeros(n + 1), np.zeros(n + 1)
    top = 1
    while 2 * top <= n:
        top *= 2
    W, S = 0.0, 0.0
    for k in range(size):
        i, w = rows[k], weight[rows[k]]
        W += w
        S += w * y[i]
        at = ranks[i] + 1
        while at <= n:
            weights[at] += w
            sums[at] += w * y[i]
            at += at & -at
        at, below, sum_below = fenwick_search(weights, sums, top, W / 2, False)
        cost[k] += ordered[at] * (2.0 * below - W) + S - 2.0 * sum_below
        if first:
            after, _, _ = fenwick_search(weights, sums, top, W / 2, True)
            level[k] = 0.5 * (ordered[at] + ordered[min(after, n - 1)])


@inner
def fenwick_search(weights, sums, top, half, beyond):
    """Binary search in a Fenwick tree: the rank at which the weights reach half (or pass it), and weight and sum
    below."""
    at, below, sum_below = 0, 0.0, 0.0
    step = top
    while step > 0:
        then = at + step
        if then < weights.size:
            reached = below + weights[then]
            if reached < half or (beyond and reached == half):
                at, below = then, reached
                sum_below += sums[then]
        step //= 2
    return min(at, weights.size - 2), below, sum_below
