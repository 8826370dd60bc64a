"""Split search of the general engine: the best threshold of a node's rows in each of some columns.

The gain of a threshold is the cost of all rows of the node less the costs of the two sides (see `general_costs`).
The rows, sorted by a column, join the left side in this order and the right side in the opposite one; both ways the
costs are kept for every number of rows, and added where a threshold may be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.core.rows import sum_of
from tercet.tree._engine.criteria import TIE, midpoint
from tercet.tree._engine.general_costs import ABSOLUTE, centred_targets, prefix_costs
from tercet.tree._engine.random_search import draw_threshold, target_totals

GAIN, CUT, MISSING, LOW, HIGH = 0, 1, 2, 3, 4  # columns of a table of results


class SearchedNode(NamedTuple):
    """The targets of a node's rows, and what the search of all its columns has in common."""

    y: np.ndarray  # (outputs, n): centred
    shift: float  # the mean that was taken off the first output
    weight: np.ndarray
    ranks: np.ndarray  # of each output's targets, for medians
    code: int
    n_values: int
    scale: float  # the cost of the node, against which rounding is judged
    least: np.ndarray  # the fewest rows and the least weight of a side
    bounds: np.ndarray  # between which the first output must stay


class Sides(NamedTuple):
    """The rows in the order in which they join each side, and the costs of all prefixes of these orders."""

    left: np.ndarray
    right: np.ndarray
    cost: np.ndarray  # (2, n), as are the next two
    mass: np.ndarray
    level: np.ndarray


class Candidates(NamedTuple):
    """The thresholds that are tried in a column: behind the rows first .. last of the order, of which p have a
    value."""

    first: int
    last: int
    p: int
    drawn: float  # the threshold where it was drawn at random
    random: bool


@shared
def best_cuts(values, orders, target, ranks, weight, code, n_values, scale, least, signs, bounds, draws):
    """The best threshold of a node's rows in each of some columns (the rows of `values`).

    orders: the rows sorted by each column, missing values last (not for random thresholds). ranks: those of each
    output's targets, which only medians need. scale: the cost of the node. least: the fewest rows and the least
    weight of a side. signs, bounds: how the first output has to move with each column (1, 0, -1), and between which
    values it has to stay. draws: for each column two numbers in [0, 1) that choose one threshold at random, or -1
    for the best.

    Returns for each column its gain (NaN where all values are equal, -inf where no threshold is allowed), the
    threshold, the side of missing values, and the levels of the two sides.
    """
    y, shift = centred_targets(code, target, weight)
    found = np.full((values.shape[0], 5), np.nan)
    node = SearchedNode(y, shift, weight, ranks, code, n_values, scale, least, bounds)
    slow = True
    if draws[0].size and draws[0, 0] >= 0.0 and code != ABSOLUTE:
        totals, both = target_totals(code, y, weight, n_values), np.empty(2)
        sums, both[0], both[1], slow = np.empty(totals.shape), sum_of(weight), scale, False
        for f in range(values.shape[0]):
            line, draw = found[f], draws[0, f]
            done = signs[f] == 0.0 and draw_threshold(
                values[f], draw, least, y, weight, code, both, totals, sums, line
            )
            line[HIGH] = line[HIGH] if done else np.inf  # a mark for those that are left
            slow |= not done
    if slow:
        search_columns(values, orders, signs, draws, node, found)
    return found


@inner
def search_columns(values, orders, signs, draws, node, found):
    """Search the columns from sorted rows: all but those for which a random threshold was drawn already."""
    n = node.y.shape[1]
    left, right, buffer = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    sides = Sides(left, right, np.empty((2, n)), np.empty((2, n)), np.empty((2, n)))
    whole = np.nan
    for f in range(values.shape[0]):
        x, order, random = values[f], buffer, draws[0, f] >= 0.0
        if random and node.code != ABSOLUTE:
            if found[f, HIGH] != np.inf:
                continue
            found[f, HIGH] = np.nan
        if random and np.isnan(whole):
            for i in range(n):
                left[i] = i
            side_costs(node, left, n, sides.cost[0], sides.mass[0], sides.level[0])
            whole = sides.cost[0, n - 1]
        drawn, first, last, p = 0.0, 1, n, n
        if random:
            drawn, first, p = random_cut(x, draws[0, f], order)
            last = first
        else:
            order = orders[f]
            while p > 0 and np.isnan(x[order[p - 1]]):
                p -= 1
        if p == 0 or (p == n and (first == n if random else x[order[0]] == x[order[n - 1]])):
            continue
        candidates = Candidates(first, last, p, drawn, random)
        search_column(x, order, candidates, draws[1, f], whole, signs[f], node, sides, found[f])


@inner
def side_costs(node, rows, size, cost, mass, level):
    """The costs of all prefixes of the first `size` rows of one side's order."""
    prefix_costs(node.code, rows, size, node.y, node.weight, node.n_values, node.ranks, cost, mass, level)


@inner
def search_column(x, order, candidates, draw, whole, sign, node, sides, best):
    """The best of the candidates, with missing values on the right and on the left, into `best`.

    `whole` is the cost of all rows for a random threshold, for which no side has them all.
    """
    n, p, random, first = order.size, candidates.p, candidates.random, candidates.first
    left, right, cost, mass, level = sides.left, sides.right, sides.cost, sides.mass, sides.level
    best[GAIN] = -np.inf
    for slot in range(1, -1 if p < n else 0, -1):  # missing values to the right, then to the left
        if random and p < n and first < p and (draw < 0.5) != (slot == 0):
            continue
        # All present values may be on the left only where missing ones are on the right.
        until = p if slot == 1 and p < n else p - 1
        size = line_up_sides(order, p, slot, left, right)
        n_left, n_right = size, p if slot == 0 else n
        if random:  # one threshold needs no more than its own two sides
            n_left = size - p + first
            n_right = n - n_left
        side_costs(node, left, n_left, cost[0], mass[0], level[0])
        side_costs(node, right, n_right, cost[1], mass[1], level[1])
        if not random:
            whole = cost[0, n - 1] if size == n else cost[1, n - 1]
        scan_cuts(x, order, slot, size, until, whole, sign, candidates, node, sides, best)


@inner
def scan_cuts(x, order, slot, size, until, whole, sign, candidates, node, sides, best):
    """Write the best allowed threshold into `best`, if it is better than what is there.

    `size` rows are in the left order, the missing values among them if `slot` is 0; at most `until` that have a
    value may be on the left.
    """
    n, p, random, drawn = order.size, candidates.p, candidates.random, candidates.drawn
    cost, mass, level = sides.cost, sides.mass, sides.level
    least_rows, least_weight, bounds, shift, scale = (
        node.least[0],
        node.least[1],
        node.bounds,
        node.shift,
        node.scale,
    )
    for k in range(candidates.first, min(candidates.last, until) + 1):
        if not random and k < p and x[order[k]] == x[order[k - 1]]:
            continue
        a = size - p + k - 1  # the last row of the left side, and of the right
        b = n - a - 2
        if a + 1 < least_rows or b + 1 < least_rows or mass[0, a] < least_weight or mass[1, b] < least_weight:
            continue
        low, high = shift + level[0, a], shift + level[1, b]
        if sign != 0.0 and not is_monotonic(low, high, sign, bounds):
            continue
        gain = whole - cost[0, a] - cost[1, b]
        if abs(gain) <= 1e-12 * scale:  # nothing, but for rounding
            gain = 0.0
        if better(gain, best[GAIN], scale):
            best[GAIN], best[LOW], best[HIGH] = gain, low, high
            best[CUT] = drawn if random else np.inf
            if k < p and not random:
                best[CUT] = midpoint(x[order[k - 1]], x[order[k]])
            best[MISSING] = slot
            if p == n:  # none is missing here: the larger side
                best[MISSING] = 0.0 if a > b else 1.0


@inner
def is_monotonic(low, high, sign, bounds):
    """Whether the levels of the two sides have the order of the sign and stay within the bounds.

    Columns without a sign need not: their values are clipped.
    """
    return sign * (high - low) >= 0.0 and min(low, high) >= bounds[0] and max(low, high) <= bounds[1]


@inner
def random_cut(x, draw, order):
    """Draw a threshold between the least and the greatest value; put the rows below it first, missing ones last.

    Returns the threshold, how many rows are below it, and how many are not missing.
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
def line_up_sides(order, p, slot, left, right):
    """The rows in the order in which they join the two sides; the p that have a value follow those that have none.

    Returns how many rows there are in the left order.
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
def best_result(results, order, scale):
    """The index of the best result, of equal ones the first in order; -1 where there is none."""
    best = -1
    for place in order:
        gain = results[place, GAIN]
        if np.isfinite(gain) and (best < 0 or better(gain, results[best, GAIN], scale)):
            best = place
    return best


@kernel
def partition_orders(orders, right):
    """The orders of the rows that go left, and of those that go right, each with its rows renumbered from 0."""
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
