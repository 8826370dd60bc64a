"""Kernels of histogram growth from pages of rows: move rows to children, add up histograms, and search them."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel
from tercet.tree._engine.histogram_kernels import add_rows
from tercet.tree._engine.histogram_scan import best_column_split, read_histogram_bins
from tercet.tree._engine.histogram_statistics import new_bin_workspace
from tercet.tree._engine.paged_kernels import moved, order_by_slot


@kernel
def add_page_rows(words, marks, column, child, sides, slot, watch, data, order, hists, ranges):
    """Move the rows of a page to the children of their nodes, and add them to the histograms of some nodes.

    hists has the shape (slots, blocks, channels, 8, 256), ranges (watched nodes, 2): the least and largest target.
    """
    n_slots = hists.shape[0]
    for i in range(marks.size):
        marks[i] = moved(words, i, np.int64(marks[i]), column, child, sides)
        w = watch[marks[i]]
        if w >= 0:
            ranges[w, 0] = min(ranges[w, 0], data.labels[i])
            ranges[w, 1] = max(ranges[w, 1], data.labels[i])
    starts = order_by_slot(marks, slot, n_slots, order)
    for s in range(n_slots):
        rows = order[starts[s] : starts[s + 1]]
        for b in range(words.shape[0]):
            add_rows(words[b], data, rows, hists[s, b])


@kernel
def scan_histogram(binned, rule, hist, found):
    """The best split of a node by each column, from its histogram, into `found`."""
    workspace = new_bin_workspace(rule)
    for j in range(binned.n_bins.size):
        m = read_histogram_bins(hist[j // 8], j % 8, binned.n_bins[j], rule, workspace.bins, workspace.codes)
        best_column_split(m, binned.categorical[j], rule, workspace, found[j])
