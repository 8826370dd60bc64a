"""Search of leaf-wise growth: histograms of packed words, and the best split of a node from them.

Of two children, each block of eight columns is one task: it builds the smaller one's histogram, subtracts it from
their parent's to get the larger one's, and finds the best cuts of both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.cache_lines import fetch_line
from tercet.core.kernel import inner, noinline
from tercet.tree._engine.binning import BinCodes
from tercet.tree._engine.criteria import TIE
from tercet.tree._engine.histogram_kernels import (
    AHEAD,
    FEATURE,
    FIELDS,
    FIRST,
    LAST,
    START,
    STOP,
    add_words,
    subtract_histogram,
)
from tercet.tree._engine.histogram_scan import (
    best_category_set,
    best_cut,
    order_by_means,
    read_histogram_bins,
    store_split,
    write_sides,
)
from tercet.tree._engine.histogram_statistics import (
    COUNT,
    MISSING_BIN,
    WEIGHT,
    BinWorkspace,
    GainRule,
    new_bin_workspace,
)
from tercet.tree._engine.leafwise_scan import (
    COUNTED,
    CUT,
    GAIN,
    LEFT,
    NONE,
    ORDER,
    UPPER,
    VARIES,
    CutRule,
    CutWorkspace,
    find_cut,
    new_cut_workspace,
    scan_cuts,
)
from tercet.tree._engine.limits import ColumnDraws, draw_column, draw_level

# Fields of a batch of tasks: its kind, its first task, then for a search two nodes (-1 for none) and the slots of
# their histograms, for a partition the node, its column, the end of the left rows and the number of strips; a node
# to search later, -1 for none.
KIND, BEGIN, NODE, OTHER, HIST, OTHER_HIST, LATER, BATCH = range(8)
# Further fields of a node's record: its depth, the seed of its draws, the slot of its histogram, -1 for none.
DEPTH, KEY, SLOT, NODE_FIELDS = range(FIELDS, FIELDS + 4)
BEST, VALUE = 2, 3  # columns of `LeafwiseTree.reals`


class LeafwiseTree(NamedTuple):
    """A tree that grows, as kernels see it; the lengths are those of the most nodes, or of the rows."""

    binned: BinCodes
    words: np.ndarray  # packed gradients and hessians
    rule: GainRule | None  # for categories; without it there are none, and kernels do without their code
    cuts: CutRule
    rows: np.ndarray
    spare: np.ndarray  # two arrays of that length
    nodes: np.ndarray  # records, see `histogram_kernels` and below; of a leaf its best split
    sides: np.ndarray  # (nodes, 256)
    hists: np.ndarray  # (slots, blocks, 1, 8, 256); the last slot is scratch
    free: np.ndarray  # stack of free slots, their number at the end
    found: np.ndarray  # (2, columns, FOUND)
    batch: np.ndarray
    strips: np.ndarray  # (strips, 2): rows on the left and on the right
    reals: (
        np.ndarray
    )  # (nodes, 4): exact sums of g and h; the gain of a leaf's best split, or NONE; its value
    gradients: np.ndarray
    hessians: np.ndarray
    scores: np.ndarray  # of the rows, to which leaf values are added; empty where they are not
    rate: float
    per_gradient: float  # one over the units in which leaves sum gradients and hessians, exactly
    per_hessian: float
    penalty: float
    l1: float
    counts: (
        np.ndarray
    )  # (columns, 256): rows of each bin of the one node that is searched; empty: they are counted


class LeafwiseLimits(NamedTuple):
    """When to stop."""

    max_leaves: int
    max_depth: int
    min_rows: int
    floor: float
    draws: ColumnDraws


# Histograms -----------------------------------------------------------------------------------------------------


@inner
def add_all_words(column, words, channel):
    """`add_words` for all rows in their order."""
    byte = np.uint64(255)
    for i in range(np.uint64(words.size)):
        codes, word = column[i], words[i]
        for f in range(np.uint64(8)):
            channel[f, (codes >> (np.uint64(8) * f)) & byte] += word


@inner
def add_half_words(column, rows, words, channel):
    """`add_words` for a block of four columns or fewer."""
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
            fetch_line(words, np.uint64(rows[i + ahead]))
        r = np.uint64(rows[i])
        codes, word = column[r], words[r]
        for f in range(np.uint64(4)):
            channel[f, (codes >> (np.uint64(8) * f)) & byte] += word


@inner
def fill_block(column, narrow, rows, words, channel):
    """The histogram of some rows in one block of columns."""
    for k in range(channel.shape[0]):
        for i in range(channel.shape[1]):
            channel[k, i] = 0
    if narrow:
        add_half_words(column, rows, words, channel)
    elif rows.size == words.size:
        add_all_words(column, words, channel)
    else:
        add_words(column, rows, words, channel)


@inner
def node_rows(rows, nodes, t):
    """The rows of a node."""
    return rows[nodes[t, START] : nodes[t, STOP]]


@inner
def count_bins(column, shift, rows, counts):
    """The number of rows in each bin of a column."""
    byte, ahead, n = np.uint64(255), np.uint64(AHEAD), np.uint64(rows.size)
    for code in range(counts.size):
        counts[code] = 0
    for i in range(n):
        if i + ahead < n:
            fetch_line(column, np.uint64(rows[i + ahead]))
        counts[(column[np.uint64(rows[i])] >> shift) & byte] += 1


@noinline
def count_node_bins(tree, t, j, counts):
    """The number of rows of a node in each bin of a column."""
    if tree.counts.size:
        for code in range(counts.size):
            counts[code] = tree.counts[j, code]
    else:
        rows = node_rows(tree.rows, tree.nodes, t)
        count_bins(tree.binned.words[j >> 3], np.uint64(8 * (j & 7)), rows, counts)


# The search for a split -----------------------------------------------------------------------------------------


def new_search_workspace(tree: LeafwiseTree) -> tuple[CutWorkspace, BinWorkspace | None, np.ndarray]:
    """Empty memory for the search of one thread: for cuts, for columns of categories, for the best split of those.

    Without categories the second is None: trees of numbers are a kernel of their own, which compiles sooner.
    """
    bins = None if tree.rule is None else new_bin_workspace(tree.rule)
    return new_cut_workspace(tree.found.shape[1]), bins, np.zeros(4)


@inner
def read_categories(tree, t, j, hist, work, bins):
    """The bins of categories, with their rows; returns how many hold any."""
    binned = tree.binned
    count_node_bins(tree, t, j, work.counts)
    m = read_histogram_bins(hist, j & 7, binned.n_bins[j], tree.rule, bins.bins, bins.codes)
    for i in range(m):
        bins.bins[i, COUNT] = work.counts[bins.codes[i]]
    bins.bins[MISSING_BIN, COUNT] = work.counts[binned.n_bins[j]]
    return m


@inner
def scan_column(tree, t, j, hist, work, bins, best, found):
    """The best split of a node by one column, from its histogram."""
    if bins is not None and tree.binned.categorical[j]:
        scan_categories(tree, t, j, hist, work, bins, best, found)
    else:
        scan_cuts(hist[0, j & 7], tree.binned.n_bins[j], tree.cuts, False, work, found)


@inner
def scan_categories(tree, t, j, hist, work, bins, best, found):
    """The best split of a node by a column of categories."""
    m = read_categories(tree, t, j, hist, work, bins)
    gone = bins.bins[MISSING_BIN, WEIGHT] > 0.0
    best[0], varies = -1.0, m > 1 or (m == 1 and gone)
    if varies and tree.rule.categories.most > 0:
        best_category_set(m, gone, tree.rule, bins, best)
    elif varies:
        order_by_means(m, tree.rule, bins)
        best_cut(m, gone, tree.rule, bins.bins, bins.order, best)
    found[VARIES], found[GAIN] = varies, best[0] if best[0] > 0.0 else NONE
    found[UPPER], found[CUT], found[LEFT], found[ORDER] = found[GAIN], best[1], best[2], best[3]


@inner
def search_block(tree, b, work, bins, best):
    """One task of a search: the histograms of one or two nodes in a block, and the best cuts of its columns."""
    batch, hists = tree.batch, tree.hists
    pair = batch[OTHER] >= 0
    hist = hists[batch[HIST], b]
    rows, narrow = node_rows(tree.rows, tree.nodes, batch[NODE]), tree.binned.n_bins.size - 8 * b <= 4
    fill_block(tree.binned.words[b], narrow, rows, tree.words, hist[0])
    if pair:
        subtract_histogram(hists[batch[OTHER_HIST], b], hist)
    for who in range(2 if pair else 1):
        t, slot = batch[NODE + who], batch[HIST + who]
        for j in range(8 * b, min(8 * b + 8, tree.binned.n_bins.size)):
            scan_column(tree, t, j, hists[slot, b], work, bins, best, tree.found[who, j])


@inner
def drop_columns(found, key, draws, depth, order):
    """Keep as many columns that vary as a node tries, drawn at random; their order goes to `order`."""
    d, tries = found.shape[0], draws.node
    for i in range(d):
        order[i] = i
    count = draw_level(draws, depth, order)
    for i in range(d):
        j = draw_column(key, count, i, order) if i < count else order[i]
        if i >= count or tries == 0:
            found[j, GAIN] = found[j, UPPER] = NONE
        elif found[j, VARIES] > 0.0:
            tries -= 1


@inner
def count_candidates(tree, t, hist, work, found):
    """Count the rows of those columns, the most promising first, that may have a better cut than is certain."""
    while True:
        certain, upper, j = 0.0, 0.0, -1
        for k in range(found.shape[0]):
            certain = max(certain, found[k, GAIN])
            if found[k, UPPER] > found[k, GAIN] and found[k, UPPER] > upper:
                upper, j = found[k, UPPER], k
        if j < 0 or upper <= certain * (1.0 + TIE):
            return
        count_node_bins(tree, t, j, work.counts)
        scan_cuts(hist[j >> 3, 0, j & 7], tree.binned.n_bins[j], tree.cuts, True, work, found[j])
        found[j, UPPER] = found[j, GAIN]


@inner
def write_category_sides(tree, t, j, hist, work, bins, best, own):
    """The sides of the categories of column j, for the split `own`."""
    m = read_categories(tree, t, j, hist, work, bins)
    store_split(best, own[GAIN], own[CUT], own[LEFT], own[ORDER])
    count = order_by_means(m, tree.rule, bins)
    write_sides(m, count, tree.binned.n_bins[j], tree.rule.categories.most > 0, bins, best, tree.sides[t])


@inner
def settle_split(tree, limits, t, hist, found, work, bins, best):
    """Choose the split of a node among the best of the columns; whether there is one that is good enough."""
    binned, sides = tree.binned, tree.sides[t]
    if limits.draws.node < found.shape[0]:
        drop_columns(found, tree.nodes[t, KEY], limits.draws, tree.nodes[t, DEPTH], work.columns)
    count_candidates(tree, t, hist, work, found)
    j, bar = -1, limits.floor
    for k in range(found.shape[0]):
        if found[k, GAIN] > bar:
            j, bar = k, found[k, GAIN] * (1.0 + TIE)
    tree.reals[t, BEST] = NONE
    if j < 0:
        return False
    tree.reals[t, BEST], n_bins, own = found[j, GAIN], binned.n_bins[j], found[j]
    if bins is not None and binned.categorical[j]:
        write_category_sides(tree, t, j, hist[j >> 3], work, bins, best, own)
        last, first = np.int64(0), np.int64(0)  # no threshold
    else:
        words = hist[j >> 3, 0, j & 7]
        if own[COUNTED] > 0.0:
            count_node_bins(tree, t, j, work.counts)
        cut = find_cut(words, n_bins, tree.cuts, work, own)
        for code in range(sides.size):
            sides[code] = 0 if code <= cut else 1
        last, first = cut, cut + 1
        while last > 0 and words[last] == 0:
            last -= 1
        while first < n_bins and words[first] == 0:
            first += 1
        sides[n_bins] = np.int8(-1) if words[n_bins] == 0 else np.int8(0) if own[LEFT] > 0.0 else np.int8(1)
    tree.nodes[t, FEATURE], tree.nodes[t, LAST], tree.nodes[t, FIRST] = j, last, first
    return True
