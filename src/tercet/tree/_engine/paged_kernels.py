"""Kernels of growth from pages of rows: move rows to children, add up histograms, search them."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.tree._engine.histogram_kernels import CHILD, IS_SPLIT
from tercet.tree._engine.leafwise_kernels import in_units, leaf_step
from tercet.tree._engine.leafwise_search import VALUE, scan_column, settle_split


@inner
def moved(words, i, t, column, child, sides):
    """The node that row i of node t comes to: a child where the node is split."""
    j = column[t]
    if j < 0:
        return t
    code = (words[j >> 3, i] >> np.uint64(8 * (j & 7))) & np.uint64(255)
    return child[t] + sides[t, code]


@kernel
def move_rows(words, marks, column, child, sides):
    """Move the rows of a page to the children of their nodes."""
    for i in range(marks.size):
        marks[i] = moved(words, i, np.int64(marks[i]), column, child, sides)


@inner
def order_by_slot(marks, slot, n_slots, order):
    """Write the rows in the order of the slots of their nodes; returns where those of each slot start, and the end.

    Rows of nodes without a slot are left out.
    """
    starts = np.zeros(n_slots + 1, np.int64)
    for i in range(marks.size):
        s = slot[marks[i]]
        if s >= 0:
            starts[s + 1] += 1
    for s in range(n_slots):
        starts[s + 1] += starts[s]
    ends = starts.copy()
    for i in range(marks.size):
        s = slot[marks[i]]
        if s >= 0:
            order[ends[s]] = i
            ends[s] += 1
    return starts


@kernel
def add_page(words, marks, column, child, sides, slot, first, second, order, hists):
    """Move the rows of a page to the children of their nodes, and add them to the histograms of some nodes.

    hists has the shape (slots, columns, 256, channels): the word or both words of the rows, then their number.
    """
    n_slots, d = hists.shape[0], hists.shape[1]
    for i in range(marks.size):
        marks[i] = moved(words, i, np.int64(marks[i]), column, child, sides)
    starts = order_by_slot(marks, slot, n_slots, order)
    for s in range(n_slots):
        rows = order[starts[s] : starts[s + 1]]
        for b in range(words.shape[0]):
            hist = hists[s, 8 * b : min(8 * b + 8, d)]
            if second.size:
                add_pairs(words[b], rows, first, second, hist)
            else:
                add_packed(words[b], rows, first, hist)


@inner
def add_packed(column, rows, first, hist):
    """Add words and counts of rows in one block of columns."""
    byte, one = np.uint64(255), np.int64(1)
    for q in range(rows.size):
        i = np.uint64(rows[q])
        codes, word = column[i], first[i]
        for f in range(hist.shape[0]):
            cell = hist[f, codes & byte]
            cell[0] += word
            cell[1] += one
            codes >>= np.uint64(8)


@inner
def add_pairs(column, rows, first, second, hist):
    """The same where gradients and hessians are words of their own."""
    byte, one = np.uint64(255), np.int64(1)
    for q in range(rows.size):
        i = np.uint64(rows[q])
        codes, g, h = column[i], first[i], second[i]
        for f in range(hist.shape[0]):
            cell = hist[f, codes & byte]
            cell[0] += g
            cell[1] += h
            cell[3] += one
            codes >>= np.uint64(8)


@kernel
def pair_terms(gradients, hessians, per_gradient, per_hessian, out):
    """Gradients and hessians in units; no hessian becomes 0."""
    for i in range(gradients.size):
        out[0, i] = in_units(gradients[i], per_gradient)
        h = in_units(hessians[i], per_hessian)
        out[1, i] = h if h > 1 else 1


@kernel
def search_histogram(tree, limits, work, bins, best):
    """Find the best split of node 0 from its histogram and its counts; whether there is one."""
    hist, found = tree.hists[0], tree.found[0]
    for j in range(found.shape[0]):
        scan_column(tree, 0, j, hist[j >> 3], work, bins, best, found[j])
    return settle_split(tree, limits, 0, hist, found, work, bins, best)


@kernel
def sum_leaves(marks, leaf_of, gradients, hessians, per_gradient, per_hessian, sums):
    """Add the gradients and hessians of the rows of a page to the sums of their leaves, in whole units."""
    for i in range(marks.size):
        t = leaf_of[marks[i]]
        sums[t, 0] += in_units(gradients[i], per_gradient)
        sums[t, 1] += in_units(hessians[i], per_hessian)


@kernel
def add_values(nodes, sums, penalty, l1, rate):
    """The sums of nodes above the leaves, and the values of the leaves."""
    for t in range(len(nodes) - 1, -1, -1):
        if nodes[t, IS_SPLIT]:
            for k in range(2):
                sums[t, k] = sums[nodes[t, CHILD], k] + sums[nodes[t, CHILD] + 1, k]
        else:
            sums[t, VALUE] = leaf_step(sums[t, 0], sums[t, 1], penalty, l1, rate) if t > 0 else 0.0
