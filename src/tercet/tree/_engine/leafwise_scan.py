"""Newton gains of all cuts of a column, from a histogram of packed words.

A word is the sum of gradients in its upper half and that of hessians in its lower, in units
(`histogram_statistics`). Sums of words are words, so that the left sides of all cuts are one running sum; gains are
taken from it a vector at a time. They stay in units here, and without the term of the parent:

    a² / (w + penalty) + b² / (W - w + penalty),   never negative, and so in the order of their bit patterns.

With an L1 penalty a and b are `shrunken` first.

A leaf must have so many rows, but rows are not counted: with h the largest hessian of a row, a side of weight w has
w / h rows or more. Cuts whose sides have enough by that are certain. Where another cut of a column would be better
than all that are certain, the rows of that column's bins are counted after all (`leafwise_search`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, noinline
from tercet.tree._engine.criteria import TIE, shrunken
from tercet.tree._engine.histogram_statistics import BINS, LOWER

# Columns of the table of splits found: the largest gain of cuts that are certain, that of all cuts, 1 where missing
# values go left (for categories: right), 1 where the column is not constant, 1 where its rows were counted; for
# categories how many of their order are on the left, and which (`histogram_scan`).
GAIN, UPPER, LEFT, VARIES, COUNTED, CUT, ORDER, FOUND = range(8)
NONE = -1.0  # the gain where no cut is allowed


class CutRule(NamedTuple):
    """What a cut must keep to, in units of the words."""

    least: int  # the least weight of a side
    certain: int  # the weight from which on a side has enough rows
    few: int  # the fewest rows of a side
    penalty: float
    l1: float
    scale: float  # of gains


class CutWorkspace(NamedTuple):
    """Memory of one thread for the cuts of a column."""

    sums: np.ndarray  # the words on the left of each cut
    gain: np.ndarray
    pattern: np.ndarray  # the same memory as integers
    top: np.ndarray
    top_pattern: np.ndarray
    counts: np.ndarray  # rows of each bin
    rows: np.ndarray  # rows on the left of each cut
    columns: np.ndarray  # in the order in which a node tries them


def new_cut_workspace(d: int) -> CutWorkspace:
    """Empty memory for the cuts of a column, one of d. Kernels get it: code to allocate it is slow to compile."""
    gain, top = np.zeros(BINS), np.zeros(1)
    sums, counts, rows = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
    columns = np.zeros(d, np.int64)
    return CutWorkspace(sums, gain, gain.view(np.int64), top, top.view(np.int64), counts, rows, columns)


@inner
def running_sums(words, n_bins, start, sums):
    """The words on the left of each cut; `start` is that of missing values if they go left."""
    total = start
    for i in range(n_bins):
        total += words[i]
        sums[i] = total


@inner
def first_weight(sums, n_bins, least):
    """The first cut whose left side has so much weight."""
    low, high = 0, n_bins
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] & LOWER < least:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def first_count(rows, n_bins, least):
    """The first cut whose left side has so many rows."""
    low, high = 0, n_bins
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def newton_gains(sums, whole, rule, gain):
    """The gains of some cuts."""
    total, mass, penalty = np.float64(whole >> 32), np.float64(whole & LOWER), rule.penalty
    if rule.l1 > 0.0:
        shrunken_gains(sums, total, mass, penalty, rule.l1, gain)
        return
    for i in range(gain.size):
        a, w = np.float64(sums[i] >> 32), np.float64(sums[i] & LOWER)
        b, p, q = total - a, w + penalty, (mass - w) + penalty
        gain[i] = (a * a * q + b * b * p) / (p * q)


@noinline
def shrunken_gains(sums, total, mass, penalty, l1, gain):
    """The same with an L1 penalty."""
    for i in range(gain.size):
        a, w = np.float64(sums[i] >> 32), np.float64(sums[i] & LOWER)
        b = shrunken(total - a, l1)
        a = shrunken(a, l1)
        gain[i] = a * a / (w + penalty) + b * b / ((mass - w) + penalty)


@inner
def largest(pattern, first, stop, work):
    """The largest gain of some cuts, NONE without any. The maximum of integers vectorises, not that of floats."""
    if first >= stop:
        return NONE
    top, part = np.int64(0), pattern[first:stop]
    for i in range(part.size):
        top = max(top, part[i])
    work.top_pattern[0] = top
    return work.top[0]


@inner
def allowed_cuts(work, n_bins, whole, missing, rule, left, counted):
    """The range of cuts that are allowed, if rows are counted, or else may be allowed."""
    mass = whole & LOWER
    first = first_weight(work.sums, n_bins, rule.least)
    stop = first_weight(work.sums, n_bins, mass - rule.least + 1)
    if counted:
        total = work.counts[n_bins] if left else np.int64(0)
        for i in range(n_bins):
            total += work.counts[i]
            work.rows[i] = total
        every = total if left else total + work.counts[n_bins]
        first = max(first, first_count(work.rows, n_bins, rule.few))
        stop = min(stop, first_count(work.rows, n_bins, every - rule.few + 1))
    return first, stop


@noinline
def scan_cuts(words, n_bins, rule, counted, work, found):
    """The largest gains of a numeric column of a node, into `found`; if `counted`, `work.counts` holds its rows."""
    missing, plain = words[n_bins], np.int64(0)
    found[GAIN], found[UPPER], found[LEFT], found[VARIES], found[COUNTED] = NONE, NONE, 0.0, 0.0, counted
    for left in range((2 if missing else 1) if n_bins > 0 else 0):
        running_sums(words, n_bins, missing if left else plain, work.sums)
        whole = work.sums[n_bins - 1] + (plain if left else missing)
        mass = whole & LOWER
        if first_weight(work.sums, n_bins, 1) < first_weight(work.sums, n_bins, mass):
            found[VARIES] = 1.0
        first, stop = allowed_cuts(work, n_bins, whole, missing, rule, left, counted)
        if first >= stop:
            continue
        newton_gains(work.sums[first:stop], whole, rule, work.gain[first:stop])
        total = shrunken(np.float64(whole >> 32), rule.l1)
        before = total * total / (np.float64(mass) + rule.penalty)
        upper = largest(work.pattern, first, stop, work)
        sure = upper
        if not counted and rule.certain > rule.least:
            low = first_weight(work.sums, n_bins, rule.certain)
            high = first_weight(work.sums, n_bins, mass - rule.certain + 1)
            sure = largest(work.pattern, low, high, work)
        upper = max((upper - before) * rule.scale, 0.0)
        if sure >= 0.0:
            sure = max((sure - before) * rule.scale, 0.0)
            if sure > found[GAIN] + TIE * abs(found[GAIN]):
                found[GAIN], found[LEFT] = sure, left
        found[UPPER] = max(found[UPPER], upper)


@inner
def find_cut(words, n_bins, rule, work, found):
    """The first cut of the largest gain of a column that was scanned; `work.counts` holds its rows if they were
    counted."""
    missing, left, counted = words[n_bins], found[LEFT] > 0.0, found[COUNTED] > 0.0
    running_sums(words, n_bins, missing if left else np.int64(0), work.sums)
    whole = work.sums[n_bins - 1] + (np.int64(0) if left else missing)
    first, stop = allowed_cuts(work, n_bins, whole, missing, rule, left, counted)
    newton_gains(work.sums[first:stop], whole, rule, work.gain[first:stop])
    if not counted and rule.certain > rule.least:
        mass = whole & LOWER
        first = first_weight(work.sums, n_bins, rule.certain)
        stop = first_weight(work.sums, n_bins, mass - rule.certain + 1)
    top = largest(work.pattern, first, stop, work)
    for i in range(first, stop):
        if work.gain[i] >= top * (1.0 - 1e-3 * TIE):
            return i
    return first
