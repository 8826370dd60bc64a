"""Kernels that grow a tree from histograms: add rows up, find a node's split, part its rows, grow what is below.

A node's histogram is an array (blocks of eight columns, sheets, 8, 256) of whole numbers. Of two children only
the smaller one's rows are added up; the larger one's histogram is what is left of their parent's. A node of few
rows needs none: its bins are laid out from the rows themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.cache_lines import fetch_line
from tercet.core.kernel import inner, kernel, shared
from tercet.tree.engine.criteria import TIE, hashed
from tercet.tree.engine.scan import (
    CONSTANT,
    GAIN,
    best_split,
    lay_out,
    lay_out_rows,
    settle,
)
from tercet.tree.engine.statistics import BINS, new_room

AHEAD = 16  # rows between asking for a row's line and using it
IS_SPLIT, FEATURE, LAST, FIRST, MISSING, CHILD, START, STOP, TABLE, FIELDS = range(
    10
)  # what a node's record says


class Stops(NamedTuple):
    """When a node is a leaf."""

    max_depth: int
    min_rows: int
    floor: float  # a gain must be above it
    tries: int  # columns that are tried
    small: int  # the most rows of a node that needs no histogram


@inner
def add_words(column, rows, words, sheet):
    """Add each row's word to its bins in eight columns at once."""
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
            fetch_line(words, np.uint64(rows[i + ahead]))
        r = np.uint64(rows[i])
        codes, word = column[r], words[r]
        sheet[0, codes & byte] += word
        sheet[1, (codes >> np.uint64(8)) & byte] += word
        sheet[2, (codes >> np.uint64(16)) & byte] += word
        sheet[3, (codes >> np.uint64(24)) & byte] += word
        sheet[4, (codes >> np.uint64(32)) & byte] += word
        sheet[5, (codes >> np.uint64(40)) & byte] += word
        sheet[6, (codes >> np.uint64(48)) & byte] += word
        sheet[7, codes >> np.uint64(56)] += word


@inner
def add_words_of_classes(column, rows, words, classes, sheets):
    """The same, on the sheet of the row's class."""
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
            fetch_line(words, np.uint64(rows[i + ahead]))
            fetch_line(classes, np.uint64(rows[i + ahead]))
        r = np.uint64(rows[i])
        codes, word, k = column[r], words[r], np.uint64(classes[r])
        for f in range(np.uint64(8)):
            sheets[k, f, (codes >> (np.uint64(8) * f)) & byte] += word


@inner
def add_up(column, data, rows, sheets):
    """The histogram of a node's rows in one block of columns."""
    flat = sheets.reshape(-1)
    for i in range(flat.size):
        flat[i] = 0
    n_words = data.words.shape[0]
    for s in range(n_words):
        if s == 0 and data.classes.size:
            add_words_of_classes(column, rows, data.words[0], data.classes, sheets)
        else:
            add_words(column, rows, data.words[s], sheets[sheets.shape[0] - n_words + s])


@inner
def take_off(sheets, less):
    """The histogram of the larger child: what its parent had, less what its brother has."""
    whole, part = sheets.reshape(-1), less.reshape(-1)
    for i in range(whole.size):
        whole[i] -= part[i]


@kernel
def grow_blocks(binned, data, rule, start, stop, rows, hist, brother, found):
    """Some blocks of columns, from the rows to the best splits: of a node, and of its larger brother if it has one.

    `brother` comes with the histogram of their parent.
    """
    room = new_room(rule)
    for b in range(start, stop):
        add_up(binned.words[b], data, rows, hist[b])
        if brother.size:
            take_off(brother[b], hist[b])
        for who in range(2 if brother.size else 1):
            sheets = brother[b] if who else hist[b]
            for j in range(8 * b, min(8 * b + 8, binned.n_bins.size)):
                m = lay_out(sheets, j - 8 * b, binned.n_bins[j], rule, room.bins, room.codes)
                best_split(m, binned.categorical[j], rule, room, found[who, j])


@inner
def drawn(key, d, i, order):
    """The column that a node tries as its i-th: one of those that are left, which stand at the end of `order`."""
    k = i + np.int64(hashed(key, i) % np.uint64(d - i))
    order[i], order[k] = order[k], order[i]
    return order[i]


@inner
def choose(found, key, tries, floor):
    """The column to split by, -1 for none: the best of those that are tried, the first where some are as good.

    Columns that are constant in the node do not count among the tries.
    """
    d = found.shape[0]
    if tries < d:
        order = np.arange(d)
        for i in range(d):
            j = drawn(key, d, i, order)
            if tries == 0:
                found[j, GAIN] = CONSTANT
            elif found[j, GAIN] != CONSTANT:
                tries -= 1
    best, bar = -1, floor
    for j in range(d):
        if found[j, GAIN] > bar:
            best, bar = j, found[j, GAIN] + TIE * abs(found[j, GAIN])
    return best


@inner
def search(binned, data, rule, stops, rows, hist, key, room, found, sides):
    """Find a node's split, from its histogram or, where rows are few, from them; returns what `conclude` does."""
    d, tries, few = binned.n_bins.size, stops.tries, rows.size <= stops.small
    columns, n_bins, words, classes = binned.words, binned.n_bins, data.words, data.classes
    bins, codes, keys = room.bins, room.codes, room.order
    order = np.arange(d)
    for j in range(d):
        found[j, GAIN] = CONSTANT
    best, last, first = -1, np.int64(0), np.int64(0)
    for i in range(d + 1):  # after the columns the best of them once more
        if i == d or tries == 0:
            j = best = choose(found, key, d, stops.floor)
            if best < 0:
                break
        else:
            j = drawn(key, d, i, order) if stops.tries < d else i
        b, f = j >> 3, j & 7
        if few:
            column, shift = columns[b], np.uint64(8 * f)
            m = lay_out_rows(column, shift, n_bins[j], words, classes, rows, rule, bins, codes, keys)
        else:
            m = lay_out(hist[b], f, n_bins[j], rule, bins, codes)
        if best >= 0:
            last, first = settle(m, n_bins[j], binned.categorical[j], rule, room, found[j], sides)
            break
        best_split(m, binned.categorical[j], rule, room, found[j])
        if found[j, GAIN] != CONSTANT:
            tries -= 1
    return best, last, first


@kernel
def conclude(binned, rule, stops, hist, key, room, found, sides):
    """Choose among what the columns offer and write down the sides of the bins.

    Returns the column (-1 for none), the last bin on the left, the first on the right.
    """
    j = choose(found, key, stops.tries, stops.floor)
    if j < 0:
        return -1, 0, 0
    m = lay_out(hist[j // 8], j % 8, binned.n_bins[j], rule, room.bins, room.codes)
    last, first = settle(m, binned.n_bins[j], binned.categorical[j], rule, room, found[j], sides)
    return j, last, first


@inner
def part_rows(column, shift, sides, rows, spare):
    """Bring the rows of the left child to the front, both sides in their old order; returns how many they are."""
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    left, right, one = np.uint64(0), np.uint64(0), np.uint64(1)
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
        r = rows[i]
        side = np.uint64(sides[(column[np.uint64(r)] >> shift) & byte])
        rows[left] = r
        spare[right] = r
        left += one - side
        right += side
    for i in range(right):
        rows[left + i] = spare[i]
    return np.int64(left)


@inner
def is_pure(labels, rows):
    """Whether all rows have one target."""
    i = 1 if labels.size else 0
    while 0 < i < rows.size and labels[rows[i]] == labels[rows[0]]:
        i += 1
    return i == rows.size


@shared
def may_split(data, rule, stops, rows, depth):
    """Whether a node is worth a search."""
    enough = rows.size >= max(stops.min_rows, 2 * rule.least_rows, 2)
    return depth < stops.max_depth and enough and not is_pure(data.labels, rows)


@shared
def split_node(binned, j, last, first, sides, table, nodes, t, count, rows, spare):
    """Split node t by a column: part its rows and write the record; the children are `count` and `count + 1`."""
    start, stop = nodes[t, START], nodes[t, STOP]
    n_bins = binned.n_bins[j]
    size = part_rows(binned.words[j // 8], np.uint64(8 * (j % 8)), sides, rows[start:stop], spare)
    if sides[n_bins] < 0:  # none missing here: later ones go with the many
        sides[n_bins] = 0 if 2 * size > stop - start else 1
    nodes[t, IS_SPLIT], nodes[t, FEATURE], nodes[t, LAST], nodes[t, FIRST] = 1, j, last, first
    nodes[t, MISSING], nodes[t, CHILD], nodes[t, TABLE] = sides[n_bins], count, table
    nodes[count, START], nodes[count, STOP] = start, start + size
    nodes[count + 1, START], nodes[count + 1, STOP] = start + size, stop


@inner
def queue(waiting, at, node, depth, key, hist):
    waiting[at, 0], waiting[at, 1], waiting[at, 2], waiting[at, 3] = node, depth, key, hist


@kernel
def grow_below(binned, data, rule, stops, rows, spare, depth, key, hists):
    """Grow all that is below a node, from its rows; returns the records of the nodes and the tables of categories.

    The smaller child comes first, so that few nodes wait, and few histograms are held, at any time.
    """
    n, d = rows.size, binned.n_bins.size
    nodes = np.zeros((2 * n, FIELDS), np.int64)
    tables = np.empty((n, BINS), np.int8)
    sides = np.empty(BINS, np.int8)
    room, found = new_room(rule), np.empty((d, 4))
    free, n_free = np.arange(hists.shape[0]), hists.shape[0]
    waiting = np.empty((70, 4), np.int64)  # node, depth, key, histogram (-1 where it is not there yet)
    nodes[0, STOP] = n
    queue(waiting, 0, 0, depth, key, -1)
    top, count, n_tables = 1, 1, 0
    while top > 0:
        top -= 1
        t, depth, key, at = waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3]
        start, stop = nodes[t, START], nodes[t, STOP]
        here = rows[start:stop]
        if here.size > stops.small and at < 0:
            n_free -= 1
            at = free[n_free]
            for b in range(binned.words.shape[0]):
                add_up(binned.words[b], data, here, hists[at, b])
        hist = hists[max(at, 0)]
        j, last, first = search(binned, data, rule, stops, here, hist, key, room, found, sides)
        if j >= 0:
            split_node(binned, j, last, first, sides, n_tables, nodes, t, count, rows, spare)
            if binned.categorical[j]:
                for code in range(BINS):
                    tables[n_tables, code] = sides[code]
                n_tables += 1
            left_size = nodes[count, STOP] - nodes[count, START]
            lower = count if 2 * left_size <= stop - start else count + 1
            upper = 2 * count + 1 - lower
            few = rows[nodes[lower, START] : nodes[lower, STOP]]
            many = rows[nodes[upper, START] : nodes[upper, STOP]]
            low, high = (
                may_split(data, rule, stops, few, depth + 1),
                may_split(data, rule, stops, many, depth + 1),
            )
            below = -1
            if high and many.size > stops.small and n_free > 0:
                n_free -= 1
                below = free[n_free]
                for b in range(binned.words.shape[0]):
                    add_up(binned.words[b], data, few, hists[below, b])
                take_off(hist, hists[below])
            if high:
                kept = at if below >= 0 else -1
                queue(waiting, top, upper, depth + 1, hashed(key, upper - count), kept)
                at = -1 if below >= 0 else at
                top += 1
            if below >= 0 and not (low and few.size > stops.small):
                free[n_free] = below
                n_free += 1
                below = -1
            if low:
                queue(waiting, top, lower, depth + 1, hashed(key, lower - count), below)
                top += 1
            count += 2
        if at >= 0:
            free[n_free] = at
            n_free += 1
    return nodes[:count], tables[:n_tables]
