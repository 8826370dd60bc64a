"""Kernels of ranked growth: trees of two classes by the Gini index, a few columns tried at each node.

A key is a row's rank in a column (equal values have equal ranks) with its weight and class in the low bits. A small
node sorts its keys. A large one counts them in bins of ranks first: the gain is convex in the weights of the
classes on the left, so that inside a bin no cut is better than the better of two, all of the one class first or all
of the other. Only bins where that beats the best cut so far are sorted; every threshold counts, few are looked at.

Weights are small whole numbers (how often a bootstrap sample has a row).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.cache_lines import fetch_line
from tercet.core.kernel import inner, kernel
from tercet.tree._engine.criteria import TIE, hashed
from tercet.tree._engine.presorted_nodes import BOTH, LEFT, RIGHT

AHEAD = 16  # entries between prefetching a rank and using it
SMALL = 48  # rows up to which keys are sorted by insertion at once
LOW_BITS = 8  # of a key: the weight, then the class
MOST_WEIGHT = 127
BIN_BITS = 10  # at most so many bits of a rank choose its bin
ROWS_PER_BIN = 4
# A word of a histogram: rows, their weight, the weight of the second class, 21 bits each.
FIELD = 21
MASK = (1 << FIELD) - 1
FEATURE, LOW, HIGH, CHILD, SAMPLES, WEIGHT, ONES, NODE_FIELDS = range(8)
NODE, START, STOP, DEPTH, KEY, PENDING_FIELDS = range(6)


class RankedSearch(NamedTuple):
    """Memory for the search of a node."""

    keys: np.ndarray
    sorted: np.ndarray
    words: np.ndarray  # bins
    place: np.ndarray  # where the keys of a bin go
    columns: np.ndarray


@inner
def gather_keys(ranks, entries, keys):
    """The keys of a node's rows in a column; returns the lowest and the highest rank."""
    low_bits, n = np.uint32(LOW_BITS), np.uint64(entries.size)
    mask, ahead = np.uint32((1 << LOW_BITS) - 1), np.uint64(AHEAD)
    for i in range(n):
        if i + ahead < n:
            fetch_line(ranks, np.uint64(entries[i + ahead] >> low_bits))
        e = np.uint32(entries[i])
        keys[i] = np.uint32(np.uint32(ranks[np.uint64(e >> low_bits)]) << low_bits) | np.uint32(e & mask)
    low, high, own = np.uint32(0xFFFFFFFF), np.uint32(0), keys[: entries.size]
    for i in range(own.size):
        low = min(low, own[i])
        high = max(high, own[i])
    return np.int64(low) >> LOW_BITS, np.int64(high) >> LOW_BITS


@inner
def sort_keys(keys, count):
    """Sort few keys by insertion."""
    for i in range(1, count):
        key, k = keys[i], i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = key


@inner
def scan_keys(keys, count, before, ones_before, rows_before, totals, best, cut):
    """The best cut between sorted keys. Gains are (a W - w A)² / (w (W - w)); returns gain, cut, and its left side.

    `totals` are the weight, that of the second class, the rows, and the fewest rows of a side.
    """
    weight, ones, rows, few = totals
    w, a, bar = before, ones_before, best * (1.0 + TIE)
    left_w, left_a = 0, 0
    for i in range(count - 1):
        key = np.int64(keys[i])
        own = (key >> 1) & MOST_WEIGHT
        w += own
        a += own if key & 1 else 0
        seen = rows_before + i + 1
        if key >> LOW_BITS != np.int64(keys[i + 1]) >> LOW_BITS and seen >= few and rows - seen >= few:
            apart = np.float64(a * weight - w * ones)
            below = np.float64(w) * np.float64(weight - w)
            if apart * apart > bar * below:
                best = apart * apart / below
                bar, cut, left_w, left_a = best * (1.0 + TIE), key >> LOW_BITS, w, a
    return best, cut, left_w, left_a


@inner
def search_small(search, count, totals, best):
    """The best cut of a column of few rows, if it beats the best so far."""
    sort_keys(search.keys, count)
    return scan_keys(search.keys, count, 0, 0, 0, totals, best, np.int64(-1))


@inner
def cut_gain(w, a, weight, ones):
    """The gain of a cut."""
    apart = np.float64(a * weight - w * ones)
    return apart * apart / (np.float64(w) * np.float64(weight - w)) if 0 < w < weight else 0.0


@inner
def fill_bins(search, count, low, shift, n_bins):
    """Count the keys in bins of ranks."""
    words, keys = search.words, search.keys
    for b in range(n_bins):
        words[b] = 0
    for i in range(np.uint64(count)):
        key = np.int64(keys[i])
        own = (key >> 1) & MOST_WEIGHT
        ones = own if key & 1 else 0
        words[np.uint64(((key >> LOW_BITS) - low) >> shift)] += (1 << 2 * FIELD) + (own << FIELD) + ones


@inner
def search_large(search, count, low, high, totals, best):
    """The same for many rows: the edges of bins first, then the bins that may hide a better cut."""
    weight, ones, rows, few = totals
    bits, shift = 4, 0
    while bits < BIN_BITS and (ROWS_PER_BIN << bits) < count:
        bits += 1
    while (high - low) >> shift >= 1 << bits:
        shift += 1
    n_bins = ((high - low) >> shift) + 1
    fill_bins(search, count, low, shift, n_bins)
    words, place, cut, left_w, left_a = search.words, search.place, np.int64(-1), 0, 0
    sums, bar = 0, best * (1.0 + TIE)
    for b in range(n_bins - 1):
        sums += words[b]
        seen, w, a = sums >> 2 * FIELD, (sums >> FIELD) & MASK, sums & MASK
        if words[b] != 0 and seen >= few and rows - seen >= few:
            apart = np.float64(a * weight - w * ones)
            below = np.float64(w) * np.float64(weight - w)
            if apart * apart > bar * below:
                best = apart * apart / below
                bar, cut, left_w, left_a = best * (1.0 + TIE), low + ((b + 1) << shift) - 1, w, a
    if shift == 0:
        return best, cut, left_w, left_a
    used = mark_bins(words, place, n_bins, totals, bar)
    if used == 0:
        return best, cut, left_w, left_a
    for i in range(np.uint64(count)):
        key = search.keys[i]
        bin_ = np.uint64(((np.int64(key) >> LOW_BITS) - low) >> shift)
        if place[bin_] >= 0:
            search.sorted[place[bin_]] = key
            place[bin_] += 1
    sums = 0
    for b in range(n_bins):
        size = words[b] >> 2 * FIELD
        if place[b] >= 0:
            part = search.sorted[place[b] - size : place[b]]
            sort_keys(part, size)
            before = (sums >> FIELD) & MASK, sums & MASK, sums >> 2 * FIELD
            found, at, w, a = scan_keys(
                part, size, before[0], before[1], before[2], totals, best, np.int64(-1)
            )
            if at >= 0:
                best, cut, left_w, left_a = found, at, w, a
        sums += words[b]
    return best, cut, left_w, left_a


@inner
def mark_bins(words, place, n_bins, totals, bar):
    """Give a place to the keys of each bin that may hide a cut of a larger gain; returns how many places."""
    weight, ones, rows, few = totals
    sums, used = 0, 0
    for b in range(n_bins):
        word = words[b]
        size, own, second = word >> 2 * FIELD, (word >> FIELD) & MASK, word & MASK
        w, a, before, top = (sums >> FIELD) & MASK, sums & MASK, sums >> 2 * FIELD, 0.0
        place[b] = -1
        if 0 < second < own:
            top = max(
                cut_gain(w + second, a + second, weight, ones), cut_gain(w + own - second, a, weight, ones)
            )
        if before < few:  # its edges are no cuts, but a cut near them may be
            top = max(top, cut_gain(w, a, weight, ones))
        if rows - before - size < few:
            top = max(top, cut_gain(w + own, a + second, weight, ones))
        if top > bar and size > 1:
            place[b] = used
            used += size
        sums += word
    return used


@inner
def search_node(ranks, entries, limits, key, totals, search):
    """The best split of a node among columns drawn at random: the column (-1 for none), the cut, its left side."""
    columns, d, drawn, kept = search.columns, ranks.shape[0], limits[0], 0
    weight, ones, rows, _ = totals
    pure = np.float64(ones) * np.float64(weight - ones)  # the gain of a cut into two pure sides
    best, column, cut, left_w, left_a = -1.0, np.int64(-1), np.int64(-1), 0, 0  # a split may gain nothing
    for i in range(d):
        columns[i] = i
    for i in range(d):
        if (i >= drawn and kept > 0) or best >= pure * (1.0 - TIE):
            break
        k = i + np.int64(hashed(key, i + BOTH) % np.uint64(d - i))
        j = columns[k]
        columns[k], columns[i] = columns[i], j
        low, high = gather_keys(ranks[j], entries, search.keys)
        if low == high:
            continue
        kept += 1
        if rows <= SMALL:
            gain, at, w, a = search_small(search, rows, totals, best)
        else:
            gain, at, w, a = search_large(search, rows, low, high, totals, best)
        if at >= 0:
            best, column, cut, left_w, left_a = gain, j, at, w, a
    return column, cut, left_w, left_a


@inner
def partition_ranked(ranks, cut, entries, spare):
    """Stable partition; returns the rows on the left, and the ranks that the threshold is between."""
    low_bits, ahead, n = np.uint32(LOW_BITS), np.uint64(AHEAD), np.uint64(entries.size)
    left, right, one = np.uint64(0), np.uint64(0), np.uint64(1)
    low, high = np.int64(-1), np.int64(1 << 40)
    for i in range(n):
        if i + ahead < n:
            fetch_line(ranks, np.uint64(entries[i + ahead] >> low_bits))
        e = entries[i]
        rank = np.int64(ranks[np.uint64(e >> low_bits)])
        goes = rank <= cut
        entries[left] = e
        spare[right] = e
        left += np.uint64(goes)
        right += one - np.uint64(goes)
        low = max(low, rank if goes else np.int64(-1))
        high = min(high, np.int64(1 << 40) if goes else rank)
    for i in range(right):
        entries[left + i] = spare[i]
    return np.int64(left), low, high


@kernel
def grow_ranked(ranks, entries, limits, key, nodes):
    """Grow a tree depth first from the entries (row, weight, class); returns the number of its nodes.

    `limits` are the columns to draw, the deepest level, the fewest rows to split and of a leaf.
    """
    n = entries.size
    spare, pending = np.empty(n, np.uint32), np.empty((n + 1, PENDING_FIELDS), np.int64)
    search = RankedSearch(
        np.empty(n, np.uint32),
        np.empty(n, np.uint32),
        np.zeros(1 << BIN_BITS, np.int64),
        np.zeros(1 << BIN_BITS, np.int64),
        np.zeros(ranks.shape[0], np.int64),
    )
    weight, ones = np.int64(0), np.int64(0)
    for i in range(n):
        own = np.int64(entries[i] >> 1) & MOST_WEIGHT
        weight += own
        ones += own if entries[i] & 1 else 0
    write_ranked(nodes, 0, n, weight, ones)
    count, top = 1, 1
    pending[0, NODE], pending[0, START], pending[0, STOP], pending[0, DEPTH], pending[0, KEY] = (
        0,
        0,
        n,
        0,
        key,
    )
    while top > 0:
        top -= 1
        t, start, stop = pending[top, NODE], pending[top, START], pending[top, STOP]
        depth, key = pending[top, DEPTH], pending[top, KEY]
        rows, weight, ones = stop - start, nodes[t, WEIGHT], nodes[t, ONES]
        if rows < limits[2] or rows < 2 * limits[3] or depth >= limits[1] or ones == 0 or ones == weight:
            continue
        totals = weight, ones, rows, limits[3]
        here = entries[start:stop]
        column, cut, w, a = search_node(ranks, here, limits, key, totals, search)
        if column < 0:
            continue
        left, low, high = partition_ranked(ranks[column], cut, here, spare)
        nodes[t, FEATURE], nodes[t, LOW], nodes[t, HIGH], nodes[t, CHILD] = column, low, high, count
        write_ranked(nodes, count, left, w, a)
        write_ranked(nodes, count + 1, rows - left, weight - w, ones - a)
        for side in range(1, -1, -1):  # the left child is next
            row = pending[top]
            row[NODE], row[DEPTH], row[KEY] = (
                count + side,
                depth + 1,
                np.int64(hashed(key, RIGHT if side else LEFT)),
            )
            row[START], row[STOP] = (start + left, stop) if side else (start, start + left)
            top += 1
        count += 2
    return count


@inner
def write_ranked(nodes, t, rows, weight, ones):
    """Write the record of a leaf."""
    nodes[t, FEATURE], nodes[t, CHILD], nodes[t, LOW], nodes[t, HIGH] = -1, -1, 0, 0
    nodes[t, SAMPLES], nodes[t, WEIGHT], nodes[t, ONES] = rows, weight, ones
