"""What it costs to answer a set of rows with one value, for every criterion, as rows join the set one by one.

The cost of a set is its weight times its impurity, the mean over the outputs:

- gini            W - sum of c² / W for the weights c of the classes;
- entropy         -sum of c log2(c / W);
- squared error   sum of w (y - mean)²;
- absolute error  sum of w |y - median|;
- poisson         sum of w y log(y / mean), of which the part that no cut can change is left out.

A cut of a node is worth the cost of all its rows less the costs of the two sides. The rows of a node, sorted by a
column, join the left side in this order and the right side in the opposite one; both ways the costs are kept for
every number of rows, and added where the cut may be.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.core.sums import sum_of
from tercet.tree.engine.criteria import ENTROPY, GINI, SQUARED, TIE, midpoint

ABSOLUTE, POISSON = 3, 4
GAIN, CUT, MISSING, LOW, HIGH = 0, 1, 2, 3, 4  # what is found for a column


@shared
def search(values, orders, target, ranks, weight, code, n_values, scale, least, signs, bounds, draws):
    """The best cut of a node's rows in each of some columns (the rows of `values`).

    orders: the rows sorted by each column, missing values last (not for random cuts). ranks: those of each output's
    targets, which only medians ask for. scale: the cost of the node, against which rounding is judged. least: the
    fewest rows and the least weight of a side. signs, bounds: how the first output has to move with each column
    (1, 0, -1), and between which values it has to stay. draws: for each column two numbers in [0, 1) that choose
    one cut at random, or -1 for the best.

    Returns for each column its gain (NaN where all values are equal, -inf where no cut is allowed), the cut, the
    side of missing values, and the levels of the two sides.
    """
    n = target.shape[1]
    y, shift = about_centre(code, target, weight)
    left, right, buffer = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    cost, mass, level = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))
    found, whole = np.full((values.shape[0], 5), np.nan), 0.0
    if draws[0].size and draws[0, 0] >= 0.0:
        for i in range(n):
            left[i] = i
        costs_of_prefixes(code, left, n, y, weight, n_values, ranks, cost[0], mass[0], level[0])
        whole = cost[0, n - 1]
    for f in range(values.shape[0]):
        x, best, random = values[f], found[f], draws[0, f] >= 0.0
        order, drawn, first, last, p = buffer, 0.0, 1, n, n
        if random:
            drawn, first, p = divide(x, draws[0, f], order)
            last = first
        else:
            order = orders[f]
            while p > 0 and np.isnan(x[order[p - 1]]):
                p -= 1
        if p == 0 or (p == n and (first == n if random else x[order[0]] == x[order[n - 1]])):
            continue
        best[GAIN] = -np.inf
        for slot in range(1, -1 if p < n else 0, -1):  # missing values to the right, then to the left
            if random and p < n and first < p and (draws[1, f] < 0.5) != (slot == 0):
                continue
            # All present values may be on the left only where missing ones are on the right.
            until = p if slot == 1 and p < n else p - 1
            size = line_up(order, p, slot, left, right)
            mine, other = size, p if slot == 0 else n
            if random:  # one cut needs no more than its own two sides
                mine = size - p + first
                other = n - mine
            costs_of_prefixes(code, left, mine, y, weight, n_values, ranks, cost[0], mass[0], level[0])
            costs_of_prefixes(code, right, other, y, weight, n_values, ranks, cost[1], mass[1], level[1])
            if not random:
                whole = cost[0, n - 1] if size == n else cost[1, n - 1]
            for k in range(first, min(last, until) + 1):
                if not random and k < p and x[order[k]] == x[order[k - 1]]:
                    continue
                a = size - p + k - 1
                b = n - a - 2
                if a + 1 < least[0] or b + 1 < least[0] or mass[0, a] < least[1] or mass[1, b] < least[1]:
                    continue
                low, high = shift + level[0, a], shift + level[1, b]
                # Other columns need not keep within the bounds: what they answer is clipped.
                if signs[f] != 0.0 and (
                    signs[f] * (high - low) < 0.0 or min(low, high) < bounds[0] or max(low, high) > bounds[1]
                ):
                    continue
                gain = whole - cost[0, a] - cost[1, b]
                if abs(gain) <= 1e-12 * scale:  # nothing, but for rounding
                    gain = 0.0
                if better(gain, best[GAIN], scale):
                    best[GAIN], best[LOW], best[HIGH] = gain, low, high
                    best[CUT] = np.inf
                    if k < p:
                        best[CUT] = drawn if random else midpoint(x[order[k - 1]], x[order[k]])
                    best[MISSING] = slot
                    if p == n:  # none was missing: later ones follow the most
                        best[MISSING] = 0.0 if a > b else 1.0
    return found


@inner
def divide(x, draw, order):
    """Draw a cut between the least and the greatest value, and put those below it first, missing ones last.

    Returns the cut, how many are below it, and how many are not missing.
    """
    low, high = np.inf, -np.inf
    for i in range(x.size):
        if x[i] < low:
            low = x[i]
        if x[i] > high:
            high = x[i]
    if low > high:  # all are missing
        return 0.0, 0, 0
    cut = low + draw * (high - low)
    if not cut < high:
        cut = low
    below, p = 0, 0
    for i in range(x.size):
        below += x[i] <= cut
        p += not np.isnan(x[i])
    a, b, c = 0, below, p
    for i in range(x.size):
        if x[i] <= cut:
            order[a] = i
            a += 1
        elif x[i] > cut:
            order[b] = i
            b += 1
        else:
            order[c] = i
            c += 1
    return cut, below, p


@inner
def line_up(order, p, slot, left, right):
    """The rows in the order in which they join the two sides; the p that have a value follow those that have none.

    Returns how many rows there are in the left line.
    """
    n = order.size
    absent = n - p
    before = absent if slot == 0 else 0
    after = absent - before
    for k in range(absent):
        if slot == 0:
            left[k] = order[p + k]
        else:
            right[k] = order[p + k]
    for k in range(p):
        left[before + k] = order[k]
        right[after + k] = order[p - 1 - k]
    return before + p


@inner
def better(gain, best, scale):
    """Whether a gain is larger by more than rounding may do to sums of this scale."""
    if np.isinf(best):
        return gain > best
    return gain - best > TIE * max(abs(gain), abs(best)) + 1e-12 * scale


@shared
def leader(results, order, scale):
    """The place of the best result, of equals the first in order; -1 where there is none."""
    best = -1
    for place in order:
        gain = results[place, GAIN]
        if np.isfinite(gain) and (best < 0 or better(gain, results[best, GAIN], scale)):
            best = place
    return best


@kernel
def part(orders, right):
    """The orders of the rows that go left, and of those that go right, each with its rows numbered anew."""
    d, n = orders.shape
    number = np.empty(n, dtype=np.int32)
    count = np.zeros(2, dtype=np.int64)
    for i in range(n):
        side = np.int64(right[i])
        number[i] = count[side]
        count[side] += 1
    a, b = np.empty((d, count[0]), dtype=np.int32), np.empty((d, count[1]), dtype=np.int32)
    for f in range(d):
        left_end, right_end = 0, 0
        for k in range(n):
            i = orders[f, k]
            if right[i]:
                b[f, right_end] = number[i]
                right_end += 1
            else:
                a[f, left_end] = number[i]
                left_end += 1
    return a, b


@shared
def answer(code, target, sorting, weight, n_values):
    """What a node answers for each output, its impurity, and whether all its rows have one target."""
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
            centre = median(y, sorting[o], weight) if code == ABSOLUTE else mean(y, weight)
            impurity += distance(code, y, weight, centre) / total
        values[o, 0] = centre
    return values, impurity / outputs, pure


@inner
def mean(y, weight):
    """The weighted mean, as far from the first value: equal values have it exactly."""
    total, away = 0.0, 0.0
    for i in range(y.size):
        total += weight[i]
        away += weight[i] * (y[i] - y[0])
    return y[0] + away / total


@shared
def median(y, order, weight):
    """The weighted median: the middle of two values where each half of the weight is on its own side."""
    half, before = sum_of(weight) / 2, 0.0
    for k in range(order.size):
        before += weight[order[k]]
        if before == half and k + 1 < order.size:
            return 0.5 * y[order[k]] + 0.5 * y[order[k + 1]]
        if before >= half:
            return y[order[k]]
    return y[order[-1]]


@inner
def distance(code, y, weight, centre):
    """How far the targets are from their centre, in the terms of the criterion."""
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
def about_centre(code, target, weight):
    """The targets less their mean (sums of squares keep their digits), and what was taken off the first."""
    y, shift = target.copy(), 0.0
    if code in (SQUARED, ABSOLUTE):
        for o in range(target.shape[0]):
            centre = mean(target[o], weight)
            for i in range(y.shape[1]):
                y[o, i] -= centre
            if o == 0:
                shift = centre
    return y, shift


@inner
def costs_of_prefixes(code, rows, size, y, weight, n_values, ranks, cost, mass, level):
    """After each row: the cost and the weight of all so far, and what they say of the first output."""
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
    """Weights and sums in two trees of partial sums (Fenwick's) over the ranks of y: the median in log n steps."""
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
        at, below, sum_below = seek(weights, sums, top, W / 2, False)
        cost[k] += ordered[at] * (2.0 * below - W) + S - 2.0 * sum_below
        if first:
            after, _, _ = seek(weights, sums, top, W / 2, True)
            level[k] = 0.5 * (ordered[at] + ordered[min(after, n - 1)])


@inner
def seek(weights, sums, top, half, beyond):
    """The rank at which the weights reach half (or pass it), and the weight and the sum below it."""
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
