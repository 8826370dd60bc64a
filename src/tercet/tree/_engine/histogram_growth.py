"""Histogram growth, depth first or best first.

Without `max_leaf_nodes` growth is depth first: large nodes one by one, whose columns threads share, then whole
subtrees, one for each task. With it growth is best first: the node of the largest gain is next.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.core.parallel import each, one_blas_thread
from tercet.tree._engine.binning import BinnedColumns
from tercet.tree._engine.criteria import hashed
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
    scan_blocks,
    split_node,
)
from tercet.tree._engine.histogram_scan import GAIN
from tercet.tree._engine.histogram_statistics import BINS, GainRule, HistogramStatistics, new_bin_workspace
from tercet.tree._engine.limits import ColumnDraws, Limits
from tercet.tree._engine.traversal import CATEGORY, LEAF, THRESHOLD
from tercet.tree._engine.tree_arrays import TreeArrays

SINGLE_THREAD_ROWS = 4096  # a node of fewer rows is scanned by one thread
SUBTREE_ROWS = 1 << 14  # the most rows of a subtree that one kernel call grows
SUBTREE_ENTRIES = 1 << 22  # and the most rows times columns
HISTOGRAM_BYTES = 1 << 29  # of all histograms of nodes in the frontier


@dataclass(eq=False)
class FrontierNode:
    """A node that may be split, with its histogram and the best split found."""

    number: int
    depth: int
    key: int
    hist: np.ndarray | None = None
    gain: float = -np.inf
    split: tuple[int, int, int] = (-1, 0, 0)  # the column, the last bin on the left, the first on the right
    sides: np.ndarray = field(default_factory=lambda: np.empty(BINS, np.int8))


class HistogramGrower:
    """Growth of one tree: the records of its nodes, and the rows in the order of the leaves."""

    def __init__(
        self,
        bins: BinnedColumns,
        statistics: HistogramStatistics,
        rule: GainRule,
        limits: Limits,
        floor: float,
        seed: int = 0,
        n_jobs: int | None = None,
        rows: Any = None,
    ) -> None:
        n, d = bins.shape
        self.bins, self.binned, self.data, self.rule = bins, bins.binned, statistics.rows, rule
        self.rows = np.arange(n, dtype=np.uint32) if rows is None else np.array(rows, dtype=np.uint32)
        if self.rows.size == 0 or (self.rows >= n).any():
            raise ValueError(f"a tree needs rows from 0 to {n - 1}; got {self.rows.size} of them.")
        self.spare = np.empty_like(self.rows)
        self.seed, self.n_jobs, self.max_leaf_nodes = seed, n_jobs, limits.max_leaf_nodes
        channels = rule.n_channels
        draws, small = ColumnDraws.of(limits, d, seed), min(32 * channels, 128)
        self.limits = HistogramLimits(limits.max_depth, limits.min_samples_split, float(floor), draws, small)
        self.shape = (len(bins.words), channels, 8, BINS)
        self.held, self.most_held = 0, HISTOGRAM_BYTES // (8 * int(np.prod(self.shape)))
        self.workspace = new_bin_workspace(rule)
        self.nodes = np.zeros((64, FIELDS), np.int64)
        self.nodes[0, STOP], self.count = self.rows.size, 1
        self.tables: list[np.ndarray] = []

    def grow(self) -> None:
        """Grow the tree."""
        root = FrontierNode(0, 0, int(hashed(self.seed & 0xFFFFFFFF, 0)))
        with one_blas_thread():  # once for all nodes: setting it takes longer than a small node
            if self.max_leaf_nodes is not None:
                self._best_first(root)
            else:
                self._depth_first(root)
        self.nodes = self.nodes[: self.count]

    def _best_first(self, root: FrontierNode) -> None:
        """Always split the node of the largest gain, until there are `max_leaf_nodes` leaves."""
        frontier: list[tuple[float, int, FrontierNode]] = []
        opened = self._search([root], None)
        for _ in range(int(self.max_leaf_nodes or 1) - 1):
            for node in opened:
                # Nine digits: rounding must not decide between equal gains.
                heapq.heappush(frontier, (-float(f"{node.gain:.9g}"), node.number, node))
            if not frontier:
                break
            opened = self._search(*self._split(heapq.heappop(frontier)[2]))

    def _depth_first(self, root: FrontierNode) -> None:
        """Split the large nodes one by one, then grow the subtrees below them side by side."""
        above = max(self.limits.small, min(SUBTREE_ROWS, SUBTREE_ENTRIES // self.bins.shape[1]))
        frontier, subtrees = self._search([root], None, above), self._splittable([root], most=above)
        while frontier:
            pair, hist = self._split(frontier.pop())
            subtrees += self._splittable(pair, most=above)
            frontier += self._search(pair, hist, above)[
                ::-1
            ]  # the smaller child first: few histograms are held
        subtrees.sort(key=lambda node: -self._rows(node).size)
        for node, (nodes, tables) in zip(subtrees, each(self._grow_subtree, subtrees, n_jobs=self.n_jobs)):
            self._attach_subtree(node, nodes, tables)

    def _rows(self, node: FrontierNode) -> np.ndarray:
        return self.rows[self.nodes[node.number, START] : self.nodes[node.number, STOP]]

    def _splittable(
        self, candidates: list[FrontierNode], above: int = 0, most: int = 1 << 62
    ) -> list[FrontierNode]:
        """Those that have so many rows and that the stopping criteria allow to split."""
        return [
            node
            for node in candidates
            if above < self._rows(node).size <= most
            and may_split(self.data, self.rule, self.limits, self._rows(node), node.depth)
        ]

    def _search(
        self, candidates: list[FrontierNode], parent_hist: np.ndarray | None, above: int = 0
    ) -> list[FrontierNode]:
        """Find the split of a node, or of two siblings (the smaller first); returns those that have one."""
        wanted, many = self._splittable(candidates, above), candidates[-1]
        if parent_hist is not None and many in wanted:
            few = candidates[0]
            few.hist, many.hist = np.empty(self.shape, np.int64), parent_hist
            for node, found in zip(candidates, self._scan(few, parent_hist)):
                if node in wanted:
                    self._finish_split(node, found)
        else:
            for node in wanted:
                node.hist = np.empty(self.shape, np.int64)
                self._finish_split(node, self._scan(node, np.empty((0, *self.shape[1:]), np.int64))[0])
        return [node for node in wanted if node.split[0] >= 0]

    def _scan(self, node: FrontierNode, sibling: np.ndarray) -> np.ndarray:
        """The best split of a node, and of its sibling, by each column; `sibling` has the histogram of their
        parent."""
        rows, shared = self._rows(node), (self.binned, self.data, self.rule)
        found = np.empty((2, self.bins.shape[1], 4))
        wide = self.shape[0] if rows.size <= SINGLE_THREAD_ROWS else 1

        def blocks(b: int) -> None:
            scan_blocks(*shared, b, b + wide, rows, node.hist, sibling, found)

        each(blocks, range(0, self.shape[0], wide), n_jobs=self.n_jobs)
        return found

    def _finish_split(self, node: FrontierNode, found: np.ndarray) -> None:
        """Choose among the best splits of the columns."""
        shared = (self.binned, self.rule, self.limits)
        place = node.depth, node.key
        node.split = finish_split(*shared, node.hist, *place, self.workspace, found, node.sides)
        if node.split[0] >= 0:
            node.gain = float(found[node.split[0], GAIN])
        if node.split[0] < 0 or self.held >= self.most_held:
            node.hist = None  # its children's are built from their rows, to the same bits
        self.held += node.hist is not None

    def _split(self, node: FrontierNode) -> tuple[list[FrontierNode], np.ndarray | None]:
        """Split a node; returns its children, the smaller first, and its histogram."""
        self._reserve(2)
        place, (j, last, first) = len(self.tables), node.split
        if self.binned.categorical[j]:
            self.tables.append(node.sides)
        where = (self.nodes, node.number, self.count, self.rows, self.spare)
        split_node(self.binned, j, last, first, node.sides, place, *where)
        pair = [
            FrontierNode(self.count + side, node.depth + 1, int(hashed(node.key, side))) for side in (0, 1)
        ]
        self.count += 2
        self.held -= node.hist is not None
        return sorted(pair, key=lambda child: self._rows(child).size), node.hist

    def _grow_subtree(self, node: FrontierNode) -> tuple[np.ndarray, np.ndarray]:
        """Grow all that is below a node."""
        rows = self._rows(node)
        levels = int(np.log2(max(1.0, rows.size / self.limits.small))) + 2
        hists = np.empty((max(1, min(levels, self.most_held)), *self.shape), np.int64)
        spare = self.spare[self.nodes[node.number, START] : self.nodes[node.number, STOP]]
        return grow_subtree(
            self.binned, self.data, self.rule, self.limits, rows, spare, node.depth, node.key, hists
        )

    def _attach_subtree(self, node: FrontierNode, nodes: np.ndarray, tables: np.ndarray) -> None:
        """Append the nodes of a subtree; its first node is there already."""
        self._reserve(len(nodes))
        nodes[:, [START, STOP]] += self.nodes[node.number, START]
        nodes[:, CHILD] += self.count - 1
        nodes[:, TABLE] += len(self.tables)
        self.nodes[node.number] = nodes[0]
        self.nodes[self.count : self.count + len(nodes) - 1] = nodes[1:]
        self.count += len(nodes) - 1
        self.tables += list(tables)

    def _reserve(self, more: int) -> None:
        if self.count + more > len(self.nodes):
            empty = np.zeros((len(self.nodes) + more, FIELDS), np.int64)
            self.nodes = np.concatenate([self.nodes, empty])

    def leaves(self) -> np.ndarray:
        """The leaf of each row, -1 for one that was not used."""
        at = np.full(self.bins.shape[0], -1, np.int64)
        leaf = np.flatnonzero(self.nodes[:, IS_SPLIT] == 0)
        leaf = leaf[np.argsort(self.nodes[leaf, START])]
        at[self.rows] = np.repeat(leaf, self.nodes[leaf, STOP] - self.nodes[leaf, START])
        return at

    def arrays(
        self, value: np.ndarray, impurity: np.ndarray, weight: np.ndarray, n_classes: Any
    ) -> TreeArrays:
        """The arrays of the tree, with thresholds in the units of the columns."""
        return arrays_of_nodes(self.bins, self.nodes, self.tables, value, impurity, weight, n_classes)


def arrays_of_nodes(
    bins: BinnedColumns,
    nodes: np.ndarray,
    tables: Any,
    value: np.ndarray,
    impurity: np.ndarray,
    weight: np.ndarray,
    n_classes: Any,
) -> TreeArrays:
    """The arrays of a tree from the records of its nodes; `tables` has the sides of bins at tests of categories."""
    inner = nodes[:, IS_SPLIT] == 1
    kind = np.where(inner, THRESHOLD, LEAF)
    kind[inner & (bins.n_categories > 0)[nodes[:, FEATURE]]] = CATEGORY
    threshold = np.full(len(nodes), -2.0)
    cuts = kind == THRESHOLD
    threshold[cuts] = bins.thresholds(*nodes[cuts][:, [FEATURE, LAST, FIRST]].T)
    cats = np.flatnonzero(kind == CATEGORY)
    slots = [bins.slots(nodes[t, FEATURE], tables[nodes[t, TABLE]]) for t in cats]
    slot_count, slot_start = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
    slot_count[cats] = [len(s) for s in slots]
    slot_start[cats] = np.cumsum(slot_count[cats]) - slot_count[cats]
    arrays = {
        "kind": kind,
        "feature": np.where(inner, nodes[:, FEATURE], -2),
        "threshold": threshold,
        "child": np.where(inner, nodes[:, CHILD], -1),
        "n_children": np.where(inner, 2, 0),
        "missing": np.where(inner, nodes[:, MISSING], 0),
        "slot_start": slot_start,
        "slot_count": slot_count,
        "impurity": impurity,
        "n_node_samples": nodes[:, STOP] - nodes[:, START],
        "weighted_n_node_samples": weight,
    }
    every_slot = np.concatenate(slots) if slots else ()
    return TreeArrays(bins.shape[1], value, n_classes, every_slot, None, arrays)
