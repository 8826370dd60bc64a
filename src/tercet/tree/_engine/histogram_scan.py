"""Histogram split search: the best split of a node by one column, from the sums of its bins.

BinnedColumns stand in an order: numbers by size; categories by their mean, which for two classes and for numbers
puts the best of all subsets among the cuts of that order. For more classes there is no such order: each category is
tried against all others, and the order along the first principal direction of their class proportions is cut.
Missing values are tried on both sides of every cut, and against all others. Boosting regularises splits of
categories (`CategoryRule`): few of them against all others.

With A and W the sums of numerators and weights in the node, a and w those of its left side, the gain of a split is

- RATIO    sum (a W - w A)² / (W w (W - w)): the decrease of weight times squared error, or times the Gini index
           (times `factor` = 2 where one numerator stands for two classes);
- ENTROPY  the decrease of weight times entropy, in bits;
- NEWTON   a² / (w + penalty) + b² / (W - w + penalty) - A² / (W + penalty), b = A - a; with an L1 penalty a, b and
           A are `shrunken` by it.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner
from tercet.tree._engine.bin_orders import order_bins, order_by_means
from tercet.tree._engine.criteria import TIE, shrunken
from tercet.tree._engine.histogram_statistics import (
    CLASSES,
    COUNT,
    ENTROPY,
    LOWER,
    MISSING_BIN,
    NEWTON,
    PACKED,
    PAIR,
    RATIO,
    SUMS,
    WEIGHT,
    read_bin,
)

GAIN, CUT, MISSING, ORDER = 0, 1, 2, 3  # columns of the table of splits found
SORTED, SINGLE, REVERSED = 0, 1, 2  # on the left: the first CUT of the order, the one at CUT, the last CUT
CONSTANT = -np.inf  # the gain of a constant column; NaN where the limits allow no split


@inner
def read_histogram_bins(channels, f, n_bins, rule, bins, codes):
    """Read the bins that hold rows from a histogram; returns how many."""
    m = 0
    if rule.form == CLASSES:
        for code in range(n_bins):
            codes[m] = code
            m += read_bin(channels, f, code, rule, bins, m)
        read_bin(channels, f, n_bins, rule, bins, MISSING_BIN)
        return m
    # The same for one numerator, written out: small nodes spend most of their time here.
    numerators, counts = channels[0, f], channels[rule.n_channels - 1, f]
    weights = channels[1 if rule.form == PAIR else 0, f]
    for code in range(n_bins + 1):
        a, w = numerators[code], weights[code]
        if rule.form == PACKED:
            w = a & LOWER
            a = (a - w) >> 32
        place = m if code < n_bins else MISSING_BIN
        bins[place, COUNT] = np.float64(counts[code] if rule.counted else w)
        bins[place, WEIGHT] = np.float64(w) * rule.weight_scale
        bins[place, SUMS] = np.float64(a) * rule.scale
        if code < n_bins:
            codes[m] = code
            m += w > 0
    return m


@inner
def read_row_bins(column, shift, n_bins, words, classes, rows, rule, bins, codes, keys):
    """The same from a few rows, sorted by their codes."""
    for i in range(rows.size):
        key, k = np.int64(((column[rows[i]] >> shift) & np.uint64(255)) << np.uint64(8)) + i, i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = key
    m, place, before = -1, -1, -1
    bins[MISSING_BIN, WEIGHT] = 0.0
    for i in range(rows.size):
        code, r = keys[i] >> 8, rows[keys[i] & 255]
        if code != before:
            m += 1
            codes[m] = before = code
            place = m if code < n_bins else MISSING_BIN
            for s in range(bins.shape[1]):
                bins[place, s] = 0.0
        word, at = words[0, r], np.int64(SUMS)
        weight = word
        if rule.form == PACKED:
            weight = word & LOWER
            word = (word - weight) >> 32
        elif rule.form == PAIR:
            weight = words[1, r]
        else:
            at += np.int64(classes[r])
        bins[place, COUNT] += 1.0
        bins[place, WEIGHT] += np.float64(weight) * rule.weight_scale
        bins[place, at] += np.float64(word) * rule.scale
    return m if before == n_bins else m + 1


@inner
def best_column_split(m, categorical, rule, workspace, found):
    """The best split of a column of m bins: gain, cut, side of missing values, kind of order, into `found`."""
    gone = workspace.bins[MISSING_BIN, WEIGHT] > 0.0
    store_split(found, CONSTANT, 0, 1, SORTED)
    if m == 0 or (m == 1 and not gone):
        return
    found[GAIN] = np.nan
    if categorical and rule.categories.most > 0:
        best_category_set(m, gone, rule, workspace, found)
        return
    order_bins(m, categorical, rule, workspace)
    if rule.n_sums == 1:
        best_cut(m, gone, rule, workspace.bins, workspace.order, found)
    else:
        best_cut_classes(m, gone, rule, workspace.bins, workspace.order, workspace.sums, SORTED, found)
        if categorical:
            best_cut_classes(m, gone, rule, workspace.bins, workspace.order, workspace.sums, SINGLE, found)


@inner
def best_cut(m, gone, rule, bins, order, found):
    """The best place to cut the order, where there is one numerator."""
    rows, mass, total = 0.0, 0.0, 0.0
    for i in range(m + gone):
        p = i if i < m else MISSING_BIN
        rows += bins[p, COUNT]
        mass += bins[p, WEIGHT]
        total += bins[p, SUMS]
    near, bar = rounding_slack(mass, total, rule), -np.inf
    kind, factor, penalty, l1 = rule.gain, rule.factor, rule.penalty, rule.l1
    before = parent_score(kind, mass, total, penalty, l1)
    few, light = np.float64(rule.least_rows), rule.least_weight
    for missing in range(1, 0 if not gone else -1, -1):
        c, w, a = 0.0, 0.0, 0.0
        if missing == 0:
            c, w, a = bins[MISSING_BIN, COUNT], bins[MISSING_BIN, WEIGHT], bins[MISSING_BIN, SUMS]
        for i in range(m if gone and missing == 1 else m - 1):
            p = order[i]
            c += bins[p, COUNT]
            w += bins[p, WEIGHT]
            a += bins[p, SUMS]
            if c >= few and rows - c >= few and w >= light and mass - w >= light:
                gain = split_gain(kind, w, a, mass, total, factor, penalty, l1, before)
                if gain > bar:
                    bar = gain + TIE * abs(gain) + near
                    store_split(found, gain, i + 1, missing, SORTED)


@inner
def best_category_set(m, gone, rule, workspace, found):
    """The best set of categories against all others, within the `CategoryRule`, where there is one numerator."""
    bins, order, own = workspace.bins, workspace.order, rule.categories
    count, alone = order_by_means(m, rule, workspace), m <= own.single
    rows, mass, total = 0.0, 0.0, 0.0
    for i in range(m + gone):
        p = i if i < m else MISSING_BIN
        rows += bins[p, COUNT]
        mass += bins[p, WEIGHT]
        total += bins[p, SUMS]
    near, bar, few = rounding_slack(mass, total, rule), -np.inf, np.float64(rule.least_rows)
    before = parent_score(rule.gain, mass, total, rule.penalty, rule.l1)
    most = count if alone else min(own.most, (count + 1) // 2)
    for turn in range(6):  # from both ends, without missing values and with them; then those alone
        kind = SINGLE if alone else REVERSED if turn & 1 else SORTED
        if (turn > 1 and not gone) or (alone and turn & 1):
            continue
        penalty = rule.penalty if alone or turn > 3 else rule.penalty + own.penalty
        c, w, a, group = 0.0, 0.0, 0.0, 0.0
        for i in range(1 if turn > 3 else most):
            if (i == 0 or alone) and turn > 1:
                c, w, a = bins[MISSING_BIN, COUNT], bins[MISSING_BIN, WEIGHT], bins[MISSING_BIN, SUMS]
            elif alone:
                c, w, a = 0.0, 0.0, 0.0
            if turn < 4:
                p = order[count - 1 - i] if kind == REVERSED else order[i]
                c += bins[p, COUNT]
                w += bins[p, WEIGHT]
                a += bins[p, SUMS]
                group += bins[p, COUNT]
                if group < own.group and not alone:
                    continue
            if min(c, rows - c) >= few and min(w, mass - w) >= rule.least_weight:
                group = 0.0
                gain = split_gain(rule.gain, w, a, mass, total, rule.factor, penalty, rule.l1, before)
                if gain > bar:
                    bar = gain + TIE * abs(gain) + near
                    if turn > 3:
                        store_split(found, gain, 0, 0, SORTED)
                    else:
                        store_split(found, gain, i if alone else i + 1, 0 if turn > 1 else 1, kind)


@inner
def best_cut_classes(m, gone, rule, bins, order, sums, kind, found):
    """The best place to cut the order, or the best single bin, where there are several numerators."""
    left, total = sums[0], sums[1]
    clear(total)
    for i in range(m + gone):
        add(total, bins[i if i < m else MISSING_BIN])
    near = rounding_slack(total[WEIGHT], 0.0, rule)
    bar = -np.inf if np.isnan(found[GAIN]) else found[GAIN] * (1.0 + TIE) + near
    for missing in range(1, 0 if not gone else -1, -1):
        for i in range(m if kind == SINGLE or (gone and missing == 1) else m - 1):
            if i == 0 or kind == SINGLE:
                clear(left)
                if missing == 0:
                    add(left, bins[MISSING_BIN])
            add(left, bins[order[i]])
            if sides_large_enough(left[COUNT], left[WEIGHT], total[COUNT], total[WEIGHT], rule):
                gain = class_split_gain(left, total, rule)
                if gain > bar:
                    bar = gain + TIE * abs(gain) + near
                    store_split(found, gain, i + 1 - kind, missing, kind)


@inner
def clear(sums):
    """Set to 0."""
    for k in range(sums.size):
        sums[k] = 0.0


@inner
def add(sums, more):
    """Add the count, the weight and the numerators of a bin."""
    for k in range(sums.size):
        sums[k] += more[k]


@inner
def store_split(found, gain, cut, missing, order):
    """Write a split into a row of the table."""
    found[GAIN], found[CUT], found[MISSING], found[ORDER] = gain, cut, missing, order


@inner
def sides_large_enough(c, w, rows, mass, rule):
    """Whether both sides are large enough."""
    few = c < rule.least_rows or rows - c < rule.least_rows
    return not few and w >= rule.least_weight and mass - w >= rule.least_weight


@inner
def rounding_slack(mass, total, rule):
    """How far rounding alone can move a gain near 0 (negligible for RATIO, which squares its small differences)."""
    if rule.gain == RATIO:
        return 0.0
    return 1e-13 * (mass if rule.gain == ENTROPY else total * total / (mass + rule.penalty))


@inner
def split_gain(kind, w, a, mass, total, factor, penalty, l1, before):
    """The gain of a split, from the weight and the numerator of its left side."""
    v, b = mass - w, total - a
    if kind == RATIO:
        apart = a * mass - w * total
        return factor * apart * apart / (mass * w * v)
    if kind == NEWTON:
        p, q = w + penalty, v + penalty
        if l1 > 0.0:
            a, b = shrunken(a, l1), shrunken(b, l1)
        return (a * a * q + b * b * p) / (p * q) - before
    return plogp(a) + plogp(b) + plogp(w - a) + plogp(v - b) - plogp(w) - plogp(v) - before


@inner
def parent_score(kind, mass, total, penalty, l1):
    """The term of the gain that is the same for all splits."""
    if kind == NEWTON:
        total = shrunken(total, l1)
        return total * total / (mass + penalty)
    return plogp(total) + plogp(mass - total) - plogp(mass)


@inner
def class_split_gain(left, total, rule):
    """The same from the weights of all classes."""
    w, mass = left[WEIGHT], total[WEIGHT]
    v = mass - w
    gain = 0.0
    if rule.gain == RATIO:
        for k in range(SUMS, total.size):
            apart = left[k] * mass - w * total[k]
            gain += apart * apart
        return gain / (mass * w * v)
    for k in range(SUMS, total.size):
        gain += plogp(left[k]) + plogp(total[k] - left[k]) - plogp(total[k])
    return gain + plogp(mass) - plogp(w) - plogp(v)


@inner
def plogp(p):
    """p log2 p, 0 at 0."""
    return p * np.log2(p) if p > 0.0 else 0.0


@inner
def write_bin_sides(m, n_bins, categorical, rule, workspace, found, sides):
    """Write the side of every bin for the split that was found.

    Returns the last bin on the left and the first on the right, for a threshold.
    """
    count = order_bins(m, categorical, rule, workspace)
    write_sides(m, count, n_bins, categorical and rule.categories.most > 0, workspace, found, sides)
    cut = np.int64(found[CUT])
    return workspace.codes[max(cut - 1, 0)], workspace.codes[cut] if cut < m else n_bins


@inner
def write_sides(m, count, n_bins, few, workspace, found, sides):
    """The side of every bin, -1 where the node has no row in it; of a few categories against all others, those
    that no row of the node has are among the others."""
    cut = np.int64(found[CUT])
    for code in range(sides.size):
        sides[code] = 1 if few else -1
    for i in range(m):
        left = i == cut if found[ORDER] == SINGLE else i < cut
        if found[ORDER] == REVERSED:
            left = count - cut <= i < count
        sides[workspace.codes[workspace.order[i]]] = 0 if left else 1
    sides[n_bins] = np.int8(found[MISSING]) if workspace.bins[MISSING_BIN, WEIGHT] > 0.0 else np.int8(-1)
