"""Split search for a column of categories: one subset of them against the others.

For numbers and for two classes the best set is found among those that hold the categories of the smallest means: as
many as there are categories (Fisher; Breiman et al.). For more classes that is not so, and two families of sets are
tried: every category against the rest, and the categories in the order of the first principal direction of their
class proportions (Coppersmith, Hong and Hosking). Missing values are a category of their own. With
`KernelLimits.single` only every category against the rest is tried, as in the texts' CART.
"""

from __future__ import annotations

import math

import numpy as np

from tercet.core.kernel import inner, shared
from tercet.tree._engine.criteria import GINI, SQUARED, better
from tercet.tree._engine.presorted_gains import penalised_gain
from tercet.tree._engine.traversal import NOWHERE

POWER_ITERATIONS = 30  # only the order along the direction matters


@inner
def best_category_split(sample, target, bounds, column, start, stop, weight, sums, spread, best, run, sets):
    """The gain of the best subset of categories, -1 where none is better than `best`; sets.side then has the
    slot of each category."""
    X, ids, orders, shift = sample.X, sample.ids, sample.orders, sample.shift
    table, rows, rank, score, side = sets.table, sets.rows, sets.rank, sets.score, sets.side
    y, w, code, limits = target.y, target.weight, target.code, (bounds.min_leaf, bounds.min_weight)
    width, found = sample.n_categories[column], -1.0
    ordered_by = 1 if code == SQUARED else sums.size  # the sum whose mean orders the categories
    present = category_sums(X, ids, orders, start, stop, shift, column, width, y, w, sums, table, rows, rank)
    turns = 2 if sums.size > 2 and not bounds.single else 1
    for turn in range(turns):
        alone = bounds.single or turn + 1 < turns  # first every category against the rest
        for r in range(present):
            score[rank[r]] = rank[r] if alone else table[rank[r], ordered_by] / table[rank[r], 0]
        if turn == 1:
            principal_scores(table, rank, score, sets.axis, weight, sums, present)
        sort_by_score(rank, score, present)
        gain, last = best_subset(
            table,
            rows,
            rank,
            present,
            run,
            weight,
            sums,
            stop - start,
            code,
            target.newton,
            limits,
            best,
            spread,
            alone,
        )
        if last >= 0:
            best = found = gain
            write_sides(side, width, rank, last, alone, present)
    for r in range(present):
        rows[rank[r]] = 0  # for the next column: most categories are not there in most nodes
    return found


@inner
def category_of(sample, entry, column):
    """The category of the row of an entry; a missing one is the last."""
    x = sample.X[sample.ids[np.uint64(entry) >> np.uint64(sample.shift)], column]
    return sample.n_categories[column] if np.isnan(x) else np.int64(x)


@inner
def category_sums(X, ids, orders, start, stop, shift, column, width, y, w, sums, table, rows, rank):
    """Add up the weight and the sums of each category; lists those present in `rank` and returns their number."""
    present, shift = 0, np.uint64(shift)
    low = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(start, stop):
        e = np.uint64(orders[i])
        at = e >> shift
        x = X[ids[at], column]
        c = width if np.isnan(x) else np.int64(x)
        if rows[c] == 0:
            rank[present] = c
            present += 1
            for k in range(sums.size + 1):
                table[c, k] = 0.0
        rows[c] += 1
        more = 1.0 if w is None else w[at]
        table[c, 0] += more
        if y is not None:
            table[c, 1] += more * ((y[at] - sums[0]) - sums[1])
        else:
            table[c, 1 + np.int64(e & low)] += more
    return present


@inner
def best_subset(
    table, rows, rank, present, run, weight, sums, size, code, newton, limits, best, spread, alone
):
    """The best subset of one category (alone), or of the first ones in order: its gain, and its last index."""
    least, least_weight = limits
    found, held = -1, 0
    for r in range(present):
        if alone or r == 0:
            held = 0
            for k in range(sums.size + 1):
                run[k] = 0.0
        held += rows[rank[r]]
        for k in range(sums.size + 1):
            run[k] += table[rank[r], k]
        if min(held, size - held) < max(least, 1) or min(run[0], weight - run[0]) < least_weight:
            continue
        if newton is not None:
            gain = penalised_gain(run[0], run[1], weight, sums[0] + sums[1], newton)
        else:
            gain = impurity_decrease(run, sums, weight, code)
        if better(gain, best, spread):
            best, found = gain, r
    return best, found


@inner
def impurity_decrease(run, sums, weight, code):
    """The decrease of the impurity, times the weight, where run[0] is the weight of the left side and run[1:] its
    sums."""
    left, rest, found = run[0], weight - run[0], 0.0
    if code == SQUARED:
        return run[1] * run[1] * weight / (left * rest)
    for k in range(sums.size):
        a, b, both = run[1 + k], max(sums[k] - run[1 + k], 0.0), sums[k]
        if code == GINI:
            found += a * a / left + b * b / rest - both * both / weight
        elif both > 0.0:
            found -= both * np.log2(both / weight)
            found += a * np.log2(a / left) if a > 0.0 else 0.0
            found += b * np.log2(b / rest) if b > 0.0 else 0.0
    return max(found, 0.0)


@inner
def write_sides(side, width, rank, last, alone, present):
    """Write the slots of a split: 0 for the subset, 1 for the rest, NOWHERE for categories that are not present."""
    for c in range(width + 1):
        side[c] = NOWHERE
    for r in range(present):
        side[rank[r]] = 0 if r == last or (r < last and not alone) else 1


@inner
def principal_scores(table, rank, score, axis, weight, sums, present):
    """Scores of the categories along the first principal direction of their class proportions (power iteration)."""
    v, u = axis[0], axis[1]
    farthest = -1.0
    for r in range(present):  # start from the category that stands out most
        row = table[rank[r]]
        apart = 0.0
        for k in range(sums.size):
            apart += row[0] * (row[1 + k] / row[0] - sums[k] / weight) ** 2
        if apart > farthest:
            farthest = apart
            for k in range(sums.size):
                v[k] = row[1 + k] / row[0] - sums[k] / weight
    for _ in range(POWER_ITERATIONS):
        for k in range(sums.size):
            u[k] = 0.0
        for r in range(present):
            row = table[rank[r]]
            along = 0.0
            for k in range(sums.size):
                along += (row[1 + k] / row[0] - sums[k] / weight) * v[k]
            score[rank[r]] = along
            for k in range(sums.size):
                u[k] += along * (row[1 + k] - row[0] * sums[k] / weight)
        longest = 0.0
        for k in range(sums.size):
            longest = max(longest, abs(u[k]))
        if longest == 0.0:
            return
        for k in range(sums.size):
            v[k] = u[k] / longest


@shared
def rounding_unit(largest):
    """A power of two, 2**-40 of the largest of some values: what differs by less is taken to be equal.

    Categories without a row of some class have equal means, but a row of weight 3 and three rows give means that
    differ in the last digits, and the order of equal ones would depend on them.
    """
    return math.ldexp(1.0, math.frexp(largest)[1] - 40) if largest > 1e-290 else 1e-300


@inner
def sort_by_score(rank, score, count):
    """Shell sort of categories by score; those that differ by rounding alone (`rounding_unit`) by their place."""
    largest, gap = 0.0, 1
    for r in range(count):
        largest = max(largest, abs(score[rank[r]]))
    unit = rounding_unit(largest)
    for r in range(count):
        score[rank[r]] = np.rint(score[rank[r]] / unit)
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            c, k = rank[i], i
            while k >= gap and (
                score[rank[k - gap]] > score[c] or (score[rank[k - gap]] == score[c] and rank[k - gap] > c)
            ):
                rank[k] = rank[k - gap]
                k -= gap
            rank[k] = c
        gap //= 3
