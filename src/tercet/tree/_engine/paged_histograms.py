"""Histogram growth from pages of binned rows that need not be in memory.

The trees are those of `grow_binned`. There a node has a list of its rows; here each row has the number of its node,
and passes over all pages move rows to children and add up histograms. A pass serves all nodes of a level. Nodes of
few rows are collected in memory, many of them in one pass, and grown to their leaves there. Histograms are sums of
integers: neither threads nor pages change them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from tercet.core.memory import available
from tercet.core.parallel import each, engine
from tercet.core.row_pages import Field, Page, PageSums
from tercet.core.stopping import check_stop
from tercet.tree._engine import histogram_growth
from tercet.tree._engine.binned_pages import BinnedPages, RowWeights, row_batches
from tercet.tree._engine.binning import BinCodes
from tercet.tree._engine.criteria import CODES, GINI, SQUARED, hashed
from tercet.tree._engine.histogram import class_sums, impurities, moment_sums
from tercet.tree._engine.histogram_growth import arrays_of_nodes
from tercet.tree._engine.histogram_kernels import (
    CHILD,
    FEATURE,
    FIELDS,
    FIRST,
    IS_SPLIT,
    LAST,
    MISSING,
    START,
    STOP,
    TABLE,
    HistogramLimits,
    finish_split,
    grow_subtree,
    may_split,
)
from tercet.tree._engine.histogram_statistics import BINS, ENTROPY, LOWER, PACKED, RATIO, new_bin_workspace
from tercet.tree._engine.limits import ColumnDraws, Limits
from tercet.tree._engine.paged_histogram_kernels import add_page_rows, scan_histogram
from tercet.tree._engine.paged_leaf_sums import ClassSums, Moments, joined_moments
from tercet.tree._engine.paged_statistics import PagedStatistics
from tercet.tree._engine.row_moves import RowMoves, SplitNodes
from tercet.tree._engine.tree_arrays import TreeArrays

# What pages keep for growth, beside codes, targets and weights.
HISTOGRAM_FIELDS = {"node": Field((), np.uint32)}
NOWHERE, ROOT = 0, 1  # the node of rows that are not in the sample, and the first one


@dataclass(eq=False)
class LevelNode:
    """A node: its number in the pages and in the tree, its rows, and its split."""

    mark: int
    number: int
    depth: int
    key: int
    rows: int
    hist: np.ndarray | None = None
    split: tuple[int, int, int] = (-1, 0, 0)  # the column, the last bin on the left, the first on the right
    sides: np.ndarray = field(default_factory=lambda: np.empty(BINS, np.int8))


@dataclass
class LevelHistograms(PageSums):
    """Histograms of some nodes, and the least and largest target of some; rows move to children before.

    They have the shapes (slots, blocks, channels, 8, 256) and (watched nodes, 2).
    """

    moves: RowMoves
    slot: np.ndarray  # of each node, -1 for none
    watch: np.ndarray  # the same for those whose targets are looked at
    shape: tuple[int, ...]
    n_watched: int
    statistics: PagedStatistics
    weights: RowWeights | None
    changes = True

    def begin(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.shape, np.int64), np.tile([np.inf, -np.inf], (self.n_watched, 1))

    def workspace(self, rows: int) -> np.ndarray:
        return np.empty(rows, np.uint32)

    def add(self, page: Page, sums: tuple[np.ndarray, np.ndarray], workspace: np.ndarray) -> None:
        data = self.statistics.of_rows(page.get("y"), None if self.weights is None else self.weights(page))
        moves = self.moves
        places = moves.column, moves.child, moves.sides, self.slot, self.watch
        add_page_rows(page.get("words"), moves.nodes_of(page), *places, data, workspace, *sums)

    def combine(
        self, left: tuple[np.ndarray, np.ndarray], right: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        hists, ranges = left
        hists += right[0]
        low, high = np.minimum(ranges[:, 0], right[1][:, 0]), np.maximum(ranges[:, 1], right[1][:, 1])
        return hists, np.column_stack([low, high])

    def replay(self, page: Page) -> None:
        self.moves.move(page)


class PagedHistogramGrower:
    """Growth of one tree of classes or numbers, level by level, from pages of rows.

    Parameters
    ----------
    data : BinnedPages
    weights : RowWeights or None
        `weights(page)` gives the weights of the rows of a page in this tree's sample; None where all count once.
    n_classes : int
        1 for a number.
    criterion : str
    limits : Limits
        Without `max_leaf_nodes`; `statistics.rows` and `statistics.mass` are what fractions are of.
    seed : int
        Decides which columns a node tries.
    statistics : PagedStatistics
    n_jobs : int, optional
    """

    def __init__(
        self,
        data: BinnedPages,
        weights: RowWeights | None,
        statistics: PagedStatistics,
        criterion: str,
        limits: Limits,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.data, self.pages, self.bins = data, data.pages, data.bins
        self.weights, self.statistics, self.code = weights, statistics, CODES[criterion]
        self.d, self.binned = self.bins.n_bins.size, self.bins.binned
        self.seed, self.jobs = seed, max(1, min(getattr(engine(n_jobs), "n_jobs", 1), len(self.pages)))
        layout = statistics.layout
        two = 2.0 if self.code == GINI and layout.n_sums == 1 else 1.0
        formula = RATIO if self.code in (GINI, SQUARED) else ENTROPY
        self.rule = layout.rule(formula, two, 0.0, limits.min_samples_leaf, limits.min_weight_leaf)
        asked = limits.min_impurity_decrease
        floor = statistics.mass * (asked - np.finfo(float).eps) if asked > 0 else -np.inf
        draws, small = ColumnDraws.of(limits, self.d, seed), min(32 * self.rule.n_channels, 128)
        self.limits = HistogramLimits(limits.max_depth, limits.min_samples_split, float(floor), draws, small)
        self.shape = (-(-self.d // 8), self.rule.n_channels, 8, BINS)
        size, memory = 8 * int(np.prod(self.shape)), available() // 8
        self.slots = max(1, memory // (size * self.jobs))  # histograms of one pass, for each thread
        self.most_held, self.held = max(1, memory // size), 0  # of parents
        entries = histogram_growth.SUBTREE_ENTRIES // self.d
        self.few = max(small, min(histogram_growth.SUBTREE_ROWS, entries))  # rows of nodes that are collected
        self.workspace = new_bin_workspace(self.rule)
        self.marks = SplitNodes(ROOT + 1)
        self.records = [np.zeros(FIELDS, np.int64)]
        self.tables: list[np.ndarray] = []
        self.sums: dict[int, np.ndarray] = {}  # of the leaves, and of all nodes of subtrees

    def grow(self) -> TreeArrays:
        """Grow the tree."""
        self.pages.checkpoint([])  # nodes of an earlier tree are of no use
        self.pages.each(functools.partial(put_at_root, self.weights), self.jobs, changes=True)
        root = LevelNode(ROOT, 0, 0, int(hashed(self.seed & 0xFFFFFFFF, 0)), self.statistics.rows)
        collected, large, splits = [], [], []
        level: list[tuple[LevelNode | None, list[LevelNode]]] = [(None, [root])]
        while level:
            collected += [node for _, family in level for node in family if node.rows <= self.few]
            large += [node for _, family in level for node in family if node.rows > self.few]
            parents = self._search_level(level)
            splits += parents
            level = [(node, self._children(node)) for node in parents]
        self._grow_collected(collected)
        split = {id(node) for node in splits}
        leaves = [node for node in large if id(node) not in split]
        self.sums.update(zip((node.number for node in leaves), self._leaf_sums(leaves)))
        return self._arrays([node.number for node in reversed(splits)])

    # Levels -----------------------------------------------------------------------------------------------------

    def _may_grow(self, node: LevelNode) -> bool:
        """Whether the limits allow a node, of many rows, to be split."""
        least = max(self.limits.min_rows, 2 * self.rule.least_rows, 2)
        return node.rows > self.few and node.depth < self.limits.max_depth and node.rows >= least

    def _search_level(self, level: list[tuple[LevelNode | None, list[LevelNode]]]) -> list[LevelNode]:
        """Find the splits of the nodes of many rows; returns those that have one."""
        wanted, later = [], {}
        for parent, family in level:
            grown = [node for node in family if self._may_grow(node)]
            if len(grown) == 2 and parent is not None and parent.hist is not None:
                few, many = sorted(grown, key=lambda node: node.rows)
                later[few.mark] = many, parent
                grown = [few]
            elif parent is not None and parent.hist is not None:
                self.held, parent.hist = self.held - 1, None
            wanted += grown
        found: list[LevelNode] = []
        for start in range(0, len(wanted), self.slots):
            some = wanted[start : start + self.slots]
            watched = some + [later[node.mark][0] for node in some if node.mark in later]
            hists, ranges = self._pass(some, watched)
            pure = {node.mark: low == high for node, (low, high) in zip(watched, ranges)}
            for node, hist in zip(some, hists):
                node.hist, searched = hist, [node]
                if node.mark in later:
                    many, parent = later[node.mark]
                    assert parent.hist is not None
                    many.hist, parent.hist = parent.hist, None
                    many.hist -= hist
                    self.held -= 1
                    searched.append(many)
                found += [one for one in searched if not pure[one.mark] and self._search(one)]
        order = {id(node): k for k, node in enumerate(node for _, family in level for node in family)}
        return sorted(found, key=lambda node: order[id(node)])

    def _pass(self, nodes: list[LevelNode], watched: list[LevelNode]) -> tuple[np.ndarray, np.ndarray]:
        """Move the rows of all pages; the histograms of some nodes, and the least and largest target of others."""
        slot, watch = self._places(nodes), self._places(watched)
        given = (len(nodes), *self.shape), len(watched), self.statistics, self.weights
        return self.pages.total(LevelHistograms(self.marks.take(), slot, watch, *given), self.jobs)

    def _places(self, nodes: list[LevelNode]) -> np.ndarray:
        """The places of some nodes in a list, by the numbers of all nodes in the pages; -1 for others."""
        places = np.full(self.marks.count, -1, np.int64)
        places[[node.mark for node in nodes]] = np.arange(len(nodes))
        return places

    def _search(self, node: LevelNode) -> bool:
        """Find the best split of a node from its histogram, which is kept for its children if there is room."""
        hist, node.hist = node.hist, None
        found = np.empty((self.d, 4))
        scan_histogram(self.binned, self.rule, hist, found)
        shared = (self.binned, self.rule, self.limits)
        node.split = finish_split(*shared, hist, node.depth, node.key, self.workspace, found, node.sides)
        if node.split[0] < 0:
            return False
        assert hist is not None
        counts = hist[node.split[0] // 8, -1, node.split[0] % 8]
        if not self.rule.counted and self.rule.n_sums > 1:  # the weights of the classes are numbers of rows
            counts = hist[node.split[0] // 8, :, node.split[0] % 8].sum(axis=0)
        elif self.rule.form == PACKED:
            counts = counts & LOWER
        left, missing = int(counts[node.sides == 0].sum()), int(self.bins.n_bins[node.split[0]])
        if node.sides[missing] < 0:  # none is missing here: the larger child
            node.sides[missing] = 0 if 2 * left > node.rows else 1
        self._record(node, left)
        if self.held < self.most_held:
            node.hist = hist if hist.base is None else hist.copy()
            self.held += 1
        return True

    def _record(self, node: LevelNode, left: int) -> None:
        """Write a split into the records of the tree; its children are the next two."""
        (j, last, first), record, count = node.split, self.records[node.number], len(self.records)
        record[[IS_SPLIT, FEATURE, LAST, FIRST, CHILD]] = 1, j, last, first, count
        record[MISSING], record[TABLE] = node.sides[self.bins.n_bins[j]], len(self.tables)
        record[STOP] = node.rows
        if self.binned.categorical[j]:
            self.tables.append(node.sides.copy())
        for rows in (left, node.rows - left):
            self.records.append(np.zeros(FIELDS, np.int64))
            self.records[-1][STOP] = rows

    def _children(self, node: LevelNode) -> list[LevelNode]:
        """The children of a node; its rows move to them in the next pass."""
        first = self.marks.split(node.mark, node.split[0], node.sides)
        number = int(self.records[node.number][CHILD])
        return [
            LevelNode(
                first + side, number + side, node.depth + 1, int(hashed(node.key, side)),
                int(self.records[number + side][STOP]),
            )
            for side in (0, 1)
        ]  # fmt: skip

    # Subtrees ---------------------------------------------------------------------------------------------------

    def _grow_collected(self, nodes: list[LevelNode]) -> None:
        """Grow nodes of few rows to their leaves, as many at a time as memory allows to collect."""
        n_words = len(self.statistics.of_rows(np.zeros(1), None).words)
        row_bytes = 8 * (2 * self.shape[0] + n_words + 4) + 16
        for batch in row_batches(nodes, max(1, available() // 8 // row_bytes)):
            starts = np.cumsum([0, *(node.rows for node in batch)]).tolist()
            collected = self._collect(batch)
            spans = list(zip(batch, starts[:-1], starts[1:]))
            grown = each(self._subtree, spans, *collected, n_jobs=self.jobs)
            for node, found in zip(batch, grown):
                self._attach(node, *found)

    def _collect(self, nodes: list[LevelNode]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The codes, targets and weights of the rows of some nodes, node by node, in the order of the pages."""
        collect = functools.partial(collected_rows, self.marks.take(), self._places(nodes), self.weights)
        at, words, y, weight = zip(*self.pages.each(collect, self.jobs, changes=True))
        order = np.argsort(np.concatenate(at), kind="stable")
        mass = None if self.weights is None else np.concatenate(weight)[order]
        return np.concatenate(words, axis=1)[:, order], np.concatenate(y)[order], mass

    def _subtree(
        self, span: tuple[LevelNode, int, int], words: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The records, the tables of categories and the sums of all nodes below one, from its rows."""
        check_stop()
        node, start, stop = span
        words = np.ascontiguousarray(words[:, start:stop])
        own = None if weight is None else weight[start:stop]
        data = self.statistics.of_rows(y[start:stop], own)
        weight = np.ones(node.rows) if own is None else own
        rows, spare = np.arange(node.rows, dtype=np.uint32), np.empty(node.rows, np.uint32)
        records, tables = np.zeros((1, FIELDS), np.int64), np.empty((0, BINS), np.int8)
        records[0, STOP] = node.rows
        if may_split(data, self.rule, self.limits, rows, node.depth):
            levels = int(np.log2(max(1.0, rows.size / self.limits.small))) + 2
            hists = np.empty((levels, *self.shape), np.int64)
            binned = BinCodes(words, self.binned.n_bins, self.binned.categorical)
            room = grow_subtree(
                binned, data, self.rule, self.limits, rows, spare, node.depth, node.key, hists
            )
            records, tables = room[0].copy(), room[1].copy()  # of the largest tree of so many rows
        if self.code == SQUARED:
            return records, tables, moment_sums(records, rows, data.labels, weight)
        labels = data.labels.astype(np.int64)
        return records, tables, class_sums(records, rows, labels, weight, self.statistics.n_classes)

    def _attach(self, node: LevelNode, records: np.ndarray, tables: np.ndarray, sums: np.ndarray) -> None:
        """Append the nodes of a subtree; its first node is there already."""
        count = len(self.records)
        records[:, STOP] -= records[:, START]
        records[:, START] = 0
        records[:, CHILD] += count - 1
        records[:, TABLE] += len(self.tables)
        self.records[node.number] = records[0]
        self.records += list(records[1:])
        self.tables += list(tables)
        self.sums[node.number] = sums[0]
        self.sums.update(zip(range(count, len(self.records)), sums[1:]))

    # Values -----------------------------------------------------------------------------------------------------

    def _leaf_sums(self, leaves: list[LevelNode]) -> np.ndarray:
        """The sums of leaves of many rows, in passes over the pages."""
        rows = self.marks.take(), self._places(leaves), len(leaves), self.weights
        if self.code == SQUARED:
            means = np.full(len(leaves), self.statistics.mean)
            return Moments(*rows, means).total(self.pages, self.jobs)
        return ClassSums(*rows, self.statistics.n_classes).total(self.pages, self.jobs)

    def _arrays(self, splits: list[int]) -> TreeArrays:
        """The arrays of the tree; what is above leaves and subtrees has the sums of its children."""
        for t in splits:
            child = int(self.records[t][CHILD])
            pair = self.sums[child], self.sums[child + 1]
            self.sums[t] = joined_moments(*pair) if self.code == SQUARED else pair[0] + pair[1]
        sums = np.array([self.sums[t] for t in range(len(self.records))])
        given = self.bins, np.array(self.records), self.tables
        if self.code != SQUARED:
            weights = sums.sum(axis=1)
            value, impurity = (sums / weights[:, None])[:, None], impurities(sums, self.code)
            return arrays_of_nodes(*given, value, impurity, weights, (self.statistics.n_classes,))
        return arrays_of_nodes(*given, sums[:, 1, None, None], sums[:, 2] / sums[:, 0], sums[:, 0], (1,))


def put_at_root(weights: RowWeights | None, page: Page) -> None:
    """Put the rows of a page that have weight in a sample at the root."""
    page.get("node")[:] = ROOT if weights is None else np.where(weights(page) > 0, ROOT, NOWHERE)


def collected_rows(
    moves: RowMoves, places: np.ndarray, weights: RowWeights | None, page: Page
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Move the rows of a page; the places of those in some nodes, their codes, targets and weights."""
    at = places[moves.move(page)]
    here = np.flatnonzero(at >= 0)
    weight = None if weights is None else weights(page)[here]
    return at[here], page.get("words")[:, here], page.get("y")[here], weight


__all__ = ["HISTOGRAM_FIELDS", "PagedHistogramGrower"]
