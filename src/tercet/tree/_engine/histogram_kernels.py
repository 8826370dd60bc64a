"""Kernels of histogram growth: build histograms, find the split of a node, partition its rows, grow a subtree.

A node's histogram is an array (blocks of eight columns, channels, 8, 256) of integers. Of two children only the
smaller one's histogram is built from its rows; the larger one's is their parent's less that. A node of few rows
needs none: its bins are read from the rows themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.cache_lines import fetch_line
from tercet.core.kernel import inner, kernel, shared
from tercet.tree._engine.criteria import TIE, hashed
from tercet.tree._engine.histogram_scan import (
    CONSTANT,
    GAIN,
    best_column_split,
    read_histogram_bins,
    read_row_bins,
    write_bin_sides,
)
from tercet.tree._engine.histogram_statistics import BINS, new_bin_workspace
from tercet.tree._engine.limits import ColumnDraws, draw_column, draw_level

AHEAD = 16  # rows between prefetching a row's cache line and using it
# The fields of a node's record; the last is their number.
IS_SPLIT, FEATURE, LAST, FIRST, MISSING, CHILD, START, STOP, TABLE, FIELDS = range(10)


class HistogramLimits(NamedTuple):
    """The stopping criteria as kernels take them."""

    max_depth: int
    min_rows: int
    floor: float  # a gain must be above it
    draws: ColumnDraws  # columns that a node tries
    small: int  # the most rows of a node that needs no histogram


@inner
def add_words(column, rows, words, channel):
    """Add each row's word to its bins in eight columns at once."""
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
            fetch_line(words, np.uint64(rows[i + ahead]))
        r = np.uint64(rows[i])
        codes, word = column[r], words[r]
        for f in range(np.uint64(8)):
            channel[f, (codes >> (np.uint64(8) * f)) & byte] += word


@inner
def add_class_words(column, rows, words, classes, channels):
    """The same, on the channel of the row's class."""
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
            fetch_line(words, np.uint64(rows[i + ahead]))
            fetch_line(classes, np.uint64(rows[i + ahead]))
        r = np.uint64(rows[i])
        codes, word, k = column[r], words[r], np.uint64(classes[r])
        for f in range(np.uint64(8)):
            channels[k, f, (codes >> (np.uint64(8) * f)) & byte] += word


@inner
def build_histogram(column, data, rows, channels):
    """The histogram of a node's rows in one block of columns."""
    flat = channels.reshape(-1)
    for i in range(flat.size):
        flat[i] = 0
    add_rows(column, data, rows, channels)


@inner
def add_rows(column, data, rows, channels):
    """Add rows to a histogram in one block of columns."""
    n_words = data.words.shape[0]
    for s in range(n_words):
        if s == 0 and data.classes.size:
            add_class_words(column, rows, data.words[0], data.classes, channels)
        else:
            add_words(column, rows, data.words[s], channels[channels.shape[0] - n_words + s])


@inner
def subtract_histogram(channels, less):
    """The histogram of the larger child: its parent's, less its sibling's."""
    whole, part = channels.reshape(-1), less.reshape(-1)
    for i in range(whole.size):
        whole[i] -= part[i]


@kernel
def scan_blocks(binned, data, rule, start, stop, rows, hist, sibling, found):
    """Build some blocks of a node's histogram, and find the best split by each of their columns, into `found`.

    The same for its larger sibling, if it has one: `sibling` comes with the histogram of their parent.
    """
    workspace = new_bin_workspace(rule)
    for b in range(start, stop):
        build_histogram(binned.words[b], data, rows, hist[b])
        if sibling.size:
            subtract_histogram(sibling[b], hist[b])
        for who in range(2 if sibling.size else 1):
            channels = sibling[b] if who else hist[b]
            for j in range(8 * b, min(8 * b + 8, binned.n_bins.size)):
                m = read_histogram_bins(
                    channels, j - 8 * b, binned.n_bins[j], rule, workspace.bins, workspace.codes
                )
                best_column_split(m, binned.categorical[j], rule, workspace, found[who, j])


@inner
def drop_columns(found, key, draws, depth):
    """Drop the columns that a node does not try; those that are constant there do not count among the tries."""
    order, tries = np.arange(found.shape[0]), draws.node
    count = draw_level(draws, depth, order)
    for i in range(found.shape[0]):
        j = draw_column(key, count, i, order) if i < count else order[i]
        if i >= count or tries == 0:
            found[j, GAIN] = CONSTANT
        elif found[j, GAIN] != CONSTANT:
            tries -= 1


@inner
def best_column(found, floor):
    """The column to split by, -1 for none: the best of those that are tried; of equal ones the first."""
    best, bar = -1, floor
    for j in range(found.shape[0]):
        if found[j, GAIN] > bar:
            best, bar = j, found[j, GAIN] + TIE * abs(found[j, GAIN])
    return best


@inner
def find_node_split(binned, data, rule, limits, rows, hist, depth, key, workspace, found, sides):
    """Find a node's split, from its histogram or, where its rows are few, from them; returns as `finish_split`
    does."""
    d, draws, few = binned.n_bins.size, limits.draws, rows.size <= limits.small
    columns, n_bins, words, classes = binned.words, binned.n_bins, data.words, data.classes
    bins, codes, keys = workspace.bins, workspace.codes, workspace.order
    order, tries = np.arange(d), draws.node
    for j in range(d):
        found[j, GAIN] = CONSTANT
    count = draw_level(draws, depth, order) if draws.node < d else d
    best, last, first = -1, np.int64(0), np.int64(0)
    for i in range(count + 1):  # after the columns the best of them once more, for its sides
        if i == count or tries == 0:
            j = best = best_column(found, limits.floor)
            if best < 0:
                break
        else:
            j = draw_column(key, count, i, order) if draws.node < d else i
        b, f = j >> 3, j & 7
        if few:
            column, shift = columns[b], np.uint64(8 * f)
            m = read_row_bins(column, shift, n_bins[j], words, classes, rows, rule, bins, codes, keys)
        else:
            m = read_histogram_bins(hist[b], f, n_bins[j], rule, bins, codes)
        if best >= 0:
            last, first = write_bin_sides(
                m, n_bins[j], binned.categorical[j], rule, workspace, found[j], sides
            )
            break
        best_column_split(m, binned.categorical[j], rule, workspace, found[j])
        if found[j, GAIN] != CONSTANT:
            tries -= 1
    return best, last, first


@kernel
def finish_split(binned, rule, limits, hist, depth, key, workspace, found, sides):
    """Choose among the best splits of the columns and write the sides of the bins.

    Returns the column (-1 for none), the last bin on the left, the first on the right.
    """
    if limits.draws.node < found.shape[0]:
        drop_columns(found, key, limits.draws, depth)
    j = best_column(found, limits.floor)
    if j < 0:
        return -1, 0, 0
    m = read_histogram_bins(hist[j // 8], j % 8, binned.n_bins[j], rule, workspace.bins, workspace.codes)
    last, first = write_bin_sides(
        m, binned.n_bins[j], binned.categorical[j], rule, workspace, found[j], sides
    )
    return j, last, first


@inner
def partition_rows(column, shift, sides, rows, spare):
    """Stable partition: the rows of the left child come first; returns how many they are."""
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
def may_split(data, rule, limits, rows, depth):
    """Whether the stopping criteria allow a node to be split."""
    enough = rows.size >= max(limits.min_rows, 2 * rule.least_rows, 2)
    return depth < limits.max_depth and enough and not is_pure(data.labels, rows)


@shared
def split_node(binned, j, last, first, sides, table, nodes, t, count, rows, spare):
    """Split node t by a column: partition its rows, write its record; the children are `count` and `count + 1`."""
    start, stop = nodes[t, START], nodes[t, STOP]
    n_bins = binned.n_bins[j]
    size = partition_rows(binned.words[j // 8], np.uint64(8 * (j % 8)), sides, rows[start:stop], spare)
    if sides[n_bins] < 0:  # none is missing here: the larger child
        sides[n_bins] = 0 if 2 * size > stop - start else 1
    nodes[t, IS_SPLIT], nodes[t, FEATURE], nodes[t, LAST], nodes[t, FIRST] = 1, j, last, first
    nodes[t, MISSING], nodes[t, CHILD], nodes[t, TABLE] = sides[n_bins], count, table
    nodes[count, START], nodes[count, STOP] = start, start + size
    nodes[count + 1, START], nodes[count + 1, STOP] = start + size, stop


class SubtreeStacks(NamedTuple):
    """Nodes of a subtree that are to be split, and histograms that are free.

    counts[0] nodes are pending, counts[1] histograms are free.
    """

    pending: np.ndarray  # (70, 4): node, depth, key, histogram (-1 where it is not there yet)
    free: np.ndarray
    counts: np.ndarray


@inner
def push_node(stacks, node, depth, key, hist):
    """Push a node onto the stack of pending nodes."""
    top = stacks.counts[0]
    pending = stacks.pending
    pending[top, 0], pending[top, 1], pending[top, 2], pending[top, 3] = node, depth, key, hist
    stacks.counts[0] += 1


@inner
def take_histogram(stacks):
    """The number of a free histogram."""
    stacks.counts[1] -= 1
    return stacks.free[stacks.counts[1]]


@inner
def free_histogram(stacks, hist):
    """Give a histogram back."""
    stacks.free[stacks.counts[1]] = hist
    stacks.counts[1] += 1


@kernel
def grow_subtree(binned, data, rule, limits, rows, spare, depth, key, hists):
    """Grow all that is below a node, from its rows; returns the records of the nodes and the tables of categories.

    The smaller child comes first, so that few nodes are pending, and few histograms are held, at any time.
    """
    n, d = rows.size, binned.n_bins.size
    nodes = np.zeros((2 * n, FIELDS), np.int64)
    tables = np.empty((n, BINS), np.int8)
    sides = np.empty(BINS, np.int8)
    workspace, found = new_bin_workspace(rule), np.empty((d, 4))
    stacks = SubtreeStacks(np.empty((70, 4), np.int64), np.arange(hists.shape[0]), np.zeros(2, np.int64))
    stacks.counts[1] = hists.shape[0]
    nodes[0, STOP] = n
    push_node(stacks, 0, depth, key, -1)
    count, n_tables = 1, 0
    while stacks.counts[0] > 0:
        stacks.counts[0] -= 1
        top = stacks.pending[stacks.counts[0]]
        t, depth, key, at = top[0], top[1], top[2], top[3]
        here = rows[nodes[t, START] : nodes[t, STOP]]
        if here.size > limits.small and at < 0:
            at = take_histogram(stacks)
            build_histograms(binned, data, here, hists[at])
        j, last, first = find_node_split(
            binned, data, rule, limits, here, hists[max(at, 0)], depth, key, workspace, found, sides
        )
        if j >= 0:
            split_node(binned, j, last, first, sides, n_tables, nodes, t, count, rows, spare)
            if binned.categorical[j]:
                for code in range(BINS):
                    tables[n_tables, code] = sides[code]
                n_tables += 1
            at = push_children(
                binned, data, rule, limits, rows, nodes, t, count, depth, key, at, hists, stacks
            )
            count += 2
        if at >= 0:
            free_histogram(stacks, at)
    return nodes[:count], tables[:n_tables]


@inner
def build_histograms(binned, data, rows, hist):
    """The histogram of a node's rows in all blocks of columns."""
    for b in range(binned.words.shape[0]):
        build_histogram(binned.words[b], data, rows, hist[b])


@inner
def push_children(binned, data, rule, limits, rows, nodes, t, count, depth, key, at, hists, stacks):
    """Push those children of node t that may be split, the smaller one last, which is then split first.

    Where the larger child needs a histogram, it gets its parent's (number `at`) less that of its sibling. Returns
    the number of the parent's histogram if nobody needs it any more, else -1.
    """
    left_size = nodes[count, STOP] - nodes[count, START]
    lower = count if 2 * left_size <= nodes[t, STOP] - nodes[t, START] else count + 1
    upper = 2 * count + 1 - lower
    few = rows[nodes[lower, START] : nodes[lower, STOP]]
    many = rows[nodes[upper, START] : nodes[upper, STOP]]
    split_few = may_split(data, rule, limits, few, depth + 1)
    split_many = may_split(data, rule, limits, many, depth + 1)
    below = -1
    if split_many and many.size > limits.small and stacks.counts[1] > 0:
        below = take_histogram(stacks)
        build_histograms(binned, data, few, hists[below])
        subtract_histogram(hists[max(at, 0)], hists[below])
    if split_many:
        push_node(stacks, upper, depth + 1, hashed(key, upper - count), at if below >= 0 else -1)
        at = -1 if below >= 0 else at
    if below >= 0 and not (split_few and few.size > limits.small):
        free_histogram(stacks, below)
        below = -1
    if split_few:
        push_node(stacks, lower, depth + 1, hashed(key, lower - count), below)
    return at
