"""Kernels of histogram growth from pages of rows: move rows to children, add up histograms, search and collect."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.tree._engine.histogram_kernels import add_class_words, add_words
from tercet.tree._engine.histogram_scan import best_column_split, read_histogram_bins
from tercet.tree._engine.histogram_statistics import new_bin_workspace
from tercet.tree._engine.paged_kernels import moved


@kernel
def add_page_rows(words, marks, column, child, sides, slot, watch, data, order, hists, ranges):
    """Move the rows of a page to the children of their nodes, and add them to the histograms of some nodes.

    hists has the shape (slots, blocks, channels, 8, 256), ranges (watched nodes, 2): the least and largest target.
    """
    n, n_slots = marks.size, hists.shape[0]
    ends = np.zeros(n_slots + 1, np.int64)
    for i in range(n):
        t = moved(words, i, np.int64(marks[i]), column, child, sides)
        marks[i] = t
        w = watch[t]
        if w >= 0:
            ranges[w, 0] = min(ranges[w, 0], data.labels[i])
            ranges[w, 1] = max(ranges[w, 1], data.labels[i])
        if slot[t] >= 0:
            ends[slot[t] + 1] += 1
    for s in range(n_slots):
        ends[s + 1] += ends[s]
    for i in range(n):  # rows in the order of the slots
        s = slot[marks[i]]
        if s >= 0:
            order[ends[s]] = i
            ends[s] += 1
    for s in range(n_slots):
        rows = order[(ends[s - 1] if s > 0 else 0) : ends[s]]
        for b in range(words.shape[0]):
            add_rows(words[b], rows, data, hists[s, b])


@inner
def add_rows(column, rows, data, channels):
    """Add rows to a histogram in one block of columns (see `histogram_kernels.build_histogram`)."""
    n_words = data.words.shape[0]
    for s in range(n_words):
        if s == 0 and data.classes.size:
            add_class_words(column, rows, data.words[0], data.classes, channels)
        else:
            add_words(column, rows, data.words[s], channels[channels.shape[0] - n_words + s])


@kernel
def scan_histogram(binned, rule, hist, found):
    """The best split of a node by each column, from its histogram, into `found`."""
    workspace = new_bin_workspace(rule)
    for j in range(binned.n_bins.size):
        m = read_histogram_bins(hist[j // 8], j % 8, binned.n_bins[j], rule, workspace.bins, workspace.codes)
        best_column_split(m, binned.categorical[j], rule, workspace, found[j])


@kernel
def collect_rows(words, marks, column, child, sides, place, data, weight, to_words, to_data, to_weight):
    """Move the rows of a page to the children of their nodes, and copy those of some nodes: to `place[node]` on."""
    for i in range(marks.size):
        t = moved(words, i, np.int64(marks[i]), column, child, sides)
        marks[i] = t
        p = place[t]
        if p < 0:
            continue
        place[t] = p + 1
        for b in range(words.shape[0]):
            to_words[b, p] = words[b, i]
        for s in range(data.words.shape[0]):
            to_data.words[s, p] = data.words[s, i]
        if data.classes.size:
            to_data.classes[p] = data.classes[i]
        to_data.labels[p] = data.labels[i]
        to_weight[p] = weight[i]
