"""The growth of a tree from histograms: which node is split when, by whom, and where its rows are.

Without `max_leaf_nodes` it does not matter which node is split first: large nodes come one by one, threads sharing
their columns, then whole subtrees side by side. With it the node that gains most is always next.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tercet.core.parallel import each, one_blas_thread
from tercet.tree.engine import Limits
from tercet.tree.engine.bins import Bins
from tercet.tree.engine.branches import (
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
    Stops,
    conclude,
    grow_below,
    grow_blocks,
    may_split,
    split_node,
)
from tercet.tree.engine.criteria import hashed
from tercet.tree.engine.scan import GAIN
from tercet.tree.engine.statistics import BINS, Rule, Statistics, new_room
from tercet.tree.structure import CATEGORY, LEAF, THRESHOLD, Tree

ALONE = 4096  # rows below which threads would wait longer than work
SUBTREE = 1 << 14  # the most rows of a subtree that is grown in one go
WORK = 1 << 22  # and the most rows times columns
HELD = 1 << 29  # bytes of histograms that wait for their node's turn


@dataclass(eq=False)
class Bud:
    """A node that may be split."""

    node: int
    depth: int
    key: int
    hist: np.ndarray | None = None
    gain: float = -np.inf
    split: tuple[int, int, int] = (-1, 0, 0)  # the column, the last bin on the left, the first on the right
    sides: np.ndarray = field(default_factory=lambda: np.empty(BINS, np.int8))


class Growth:
    """A tree that is being grown: the records of its nodes, and the rows in the order of the leaves."""

    def __init__(
        self,
        bins: Bins,
        statistics: Statistics,
        rule: Rule,
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
        sheets = rule.n_sheets
        tries = d if limits.max_features is None else min(d, limits.max_features)
        small = min(32 * sheets, 128)
        self.stops = Stops(limits.max_depth, limits.min_samples_split, float(floor), tries, small)
        self.shape = (len(bins.words), sheets, 8, BINS)
        self.held, self.most_held = 0, HELD // (8 * int(np.prod(self.shape)))
        self.room = new_room(rule)
        self.nodes = np.zeros((64, FIELDS), np.int64)
        self.nodes[0, STOP], self.count = self.rows.size, 1
        self.tables: list[np.ndarray] = []

    def run(self) -> None:
        root = Bud(0, 0, int(hashed(self.seed & 0xFFFFFFFF, 0)))
        with one_blas_thread():  # once for all nodes: to set it takes longer than to search a small one
            if self.max_leaf_nodes is not None:
                self._best_first(root)
            else:
                self._all(root)
        self.nodes = self.nodes[: self.count]

    def _best_first(self, root: Bud) -> None:
        """Always split the node that gains most."""
        waiting: list[tuple[float, int, Bud]] = []
        opened = self._open([root], None)
        for _ in range(int(self.max_leaf_nodes or 1) - 1):
            for bud in opened:
                # Nine digits: rounding does not decide between equals.
                heapq.heappush(waiting, (-float(f"{bud.gain:.9g}"), bud.node, bud))
            if not waiting:
                break
            opened = self._open(*self._split(heapq.heappop(waiting)[2]))

    def _all(self, root: Bud) -> None:
        """Split every node that can be split: the large ones here, then what is below them side by side."""
        above = max(self.stops.small, min(SUBTREE, WORK // self.bins.shape[1]))
        waiting, subtrees = self._open([root], None, above), self._splittable([root], most=above)
        while waiting:
            pair, hist = self._split(waiting.pop())
            subtrees += self._splittable(pair, most=above)
            waiting += self._open(pair, hist, above)[::-1]  # the smaller child first: few histograms are held
        subtrees.sort(key=lambda bud: -self._rows(bud).size)
        for bud, (nodes, tables) in zip(subtrees, each(self._subtree, subtrees, n_jobs=self.n_jobs)):
            self._stitch(bud, nodes, tables)

    def _rows(self, bud: Bud) -> np.ndarray:
        return self.rows[self.nodes[bud.node, START] : self.nodes[bud.node, STOP]]

    def _splittable(self, buds: list[Bud], above: int = 0, most: int = 1 << 62) -> list[Bud]:
        """Those that have so many rows and are worth a search."""
        return [
            bud
            for bud in buds
            if above < self._rows(bud).size <= most
            and may_split(self.data, self.rule, self.stops, self._rows(bud), bud.depth)
        ]

    def _open(self, buds: list[Bud], parent_hist: np.ndarray | None, above: int = 0) -> list[Bud]:
        """Find the split of a node, or of two brothers (the smaller first); returns those that have one."""
        wanted, many = self._splittable(buds, above), buds[-1]
        if parent_hist is not None and many in wanted:
            few = buds[0]
            few.hist, many.hist = np.empty(self.shape, np.int64), parent_hist
            for bud, found in zip(buds, self._scan(few, parent_hist)):
                if bud in wanted:
                    self._conclude(bud, found)
        else:
            for bud in wanted:
                bud.hist = np.empty(self.shape, np.int64)
                self._conclude(bud, self._scan(bud, np.empty((0, *self.shape[1:]), np.int64))[0])
        return [bud for bud in wanted if bud.split[0] >= 0]

    def _scan(self, bud: Bud, brother: np.ndarray) -> np.ndarray:
        """What the columns offer to a node and to its brother; `brother` has the histogram of their parent."""
        rows, shared = self._rows(bud), (self.binned, self.data, self.rule)
        found = np.empty((2, self.bins.shape[1], 4))
        wide = self.shape[0] if rows.size <= ALONE else 1

        def blocks(b: int) -> None:
            grow_blocks(*shared, b, b + wide, rows, bud.hist, brother, found)

        each(blocks, range(0, self.shape[0], wide), n_jobs=self.n_jobs)
        return found

    def _conclude(self, bud: Bud, found: np.ndarray) -> None:
        """Choose among what the columns offer."""
        shared = (self.binned, self.rule, self.stops)
        bud.split = conclude(*shared, bud.hist, bud.key, self.room, found, bud.sides)
        if bud.split[0] >= 0:
            bud.gain = float(found[bud.split[0], GAIN])
        if bud.split[0] < 0 or self.held >= self.most_held:
            bud.hist = None  # its children will be added up afresh, to the same bits
        self.held += bud.hist is not None

    def _split(self, bud: Bud) -> tuple[list[Bud], np.ndarray | None]:
        """Split a node; returns its children, the smaller first, and its histogram."""
        self._make_room(2)
        place, (j, last, first) = len(self.tables), bud.split
        if self.binned.categorical[j]:
            self.tables.append(bud.sides)
        where = (self.nodes, bud.node, self.count, self.rows, self.spare)
        split_node(self.binned, j, last, first, bud.sides, place, *where)
        pair = [Bud(self.count + side, bud.depth + 1, int(hashed(bud.key, side))) for side in (0, 1)]
        self.count += 2
        self.held -= bud.hist is not None
        return sorted(pair, key=lambda child: self._rows(child).size), bud.hist

    def _subtree(self, bud: Bud) -> tuple[np.ndarray, np.ndarray]:
        """All that is below a node."""
        rows = self._rows(bud)
        levels = int(np.log2(max(1.0, rows.size / self.stops.small))) + 2
        hists = np.empty((max(1, min(levels, self.most_held)), *self.shape), np.int64)
        spare = self.spare[self.nodes[bud.node, START] : self.nodes[bud.node, STOP]]
        return grow_below(
            self.binned, self.data, self.rule, self.stops, rows, spare, bud.depth, bud.key, hists
        )

    def _stitch(self, bud: Bud, nodes: np.ndarray, tables: np.ndarray) -> None:
        """Put a subtree in its place; its first node is there already."""
        self._make_room(len(nodes))
        nodes[:, [START, STOP]] += self.nodes[bud.node, START]
        nodes[:, CHILD] += self.count - 1
        nodes[:, TABLE] += len(self.tables)
        self.nodes[bud.node] = nodes[0]
        self.nodes[self.count : self.count + len(nodes) - 1] = nodes[1:]
        self.count += len(nodes) - 1
        self.tables += list(tables)

    def _make_room(self, more: int) -> None:
        if self.count + more > len(self.nodes):
            room = np.zeros((len(self.nodes) + more, FIELDS), np.int64)
            self.nodes = np.concatenate([self.nodes, room])

    def leaves(self) -> np.ndarray:
        """The leaf of each row, -1 for one that was left out."""
        at = np.full(self.bins.shape[0], -1, np.int64)
        leaf = np.flatnonzero(self.nodes[:, IS_SPLIT] == 0)
        leaf = leaf[np.argsort(self.nodes[leaf, START])]
        at[self.rows] = np.repeat(leaf, self.nodes[leaf, STOP] - self.nodes[leaf, START])
        return at

    def tree(self, value: np.ndarray, mixed: np.ndarray, weight: np.ndarray, n_classes: Any) -> Tree:
        """The finished tree, with thresholds in the units of the columns."""
        nodes, bins = self.nodes, self.bins
        inner = nodes[:, IS_SPLIT] == 1
        kind = np.where(inner, THRESHOLD, LEAF)
        kind[inner & self.binned.categorical[nodes[:, FEATURE]]] = CATEGORY
        threshold = np.full(len(nodes), -2.0)
        cuts = kind == THRESHOLD
        threshold[cuts] = bins.thresholds(*nodes[cuts][:, [FEATURE, LAST, FIRST]].T)
        cats = np.flatnonzero(kind == CATEGORY)
        slots = [bins.slots(nodes[t, FEATURE], self.tables[nodes[t, TABLE]]) for t in cats]
        slot_count, slot_start = np.zeros(len(nodes), np.int64), np.zeros(len(nodes), np.int64)
        slot_count[cats] = [len(s) for s in slots]
        slot_start[cats] = np.cumsum(slot_count[cats]) - slot_count[cats]
        return Tree(
            bins.shape[1],
            value,
            n_classes,
            np.concatenate(slots) if slots else (),
            kind=kind,
            feature=np.where(inner, nodes[:, FEATURE], -2),
            threshold=threshold,
            child=np.where(inner, nodes[:, CHILD], -1),
            n_children=np.where(inner, 2, 0),
            missing=np.where(inner, nodes[:, MISSING], 0),
            slot_start=slot_start,
            slot_count=slot_count,
            impurity=mixed,
            n_node_samples=nodes[:, STOP] - nodes[:, START],
            weighted_n_node_samples=weight,
        )
