"""Leaf-wise growth of boosting trees from pages of binned rows that need not be in memory.

The trees are those of `LeafwiseGrower`, to the bit up to `MOST_ROWS` rows. There a node has a list of its rows;
here each row has the number of its node, and passes over all pages move rows to children and add up histograms.
One pass serves many nodes: it looks at the children of all leaves that may still be split, not only at those of the
best one, so that there are about as many passes as the tree is deep. Histograms are sums of integers: the same bits
in any order.

With more rows a gradient and a hessian are words of their own in the histograms; those of a node are then rounded
to halves of a word, as fine as the sums of that node allow, before its cuts are searched.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tercet.core.memory import available
from tercet.core.parallel import all_cores
from tercet.core.row_pages import Field, Pages
from tercet.tree._engine.binning import BinnedColumns
from tercet.tree._engine.criteria import TIE, hashed
from tercet.tree._engine.histogram_kernels import CHILD, FEATURE, FIRST, IS_SPLIT, LAST, MISSING, STOP, TABLE
from tercet.tree._engine.histogram_statistics import (
    BINS,
    EVERY_CUT,
    CategoryRule,
    unit_for,
)
from tercet.tree._engine.leafwise import (
    FINEST,
    MOST_ROWS,
    TermTotals,
    has_counts,
    newton_arrays,
    packed_units,
)
from tercet.tree._engine.leafwise_scan import NONE
from tercet.tree._engine.leafwise_search import NODE_FIELDS, VALUE, LeafwiseLimits
from tercet.tree._engine.limits import ColumnDraws, Limits
from tercet.tree._engine.paged_kernels import add_values
from tercet.tree._engine.paged_passes import BinnedTree, LeafSums, LeafValues, NodeHistograms
from tercet.tree._engine.paged_search import NodeSearch
from tercet.tree._engine.row_moves import SplitNodes
from tercet.tree._engine.tree_arrays import TreeArrays


def growth_fields(n_scores: int) -> dict[str, Field]:
    """What pages have to keep for growth, beside the codes of the columns: nodes, gradients and hessians.

    Examples
    --------
    >>> fields = growth_fields(n_scores=3)
    >>> {name: (field.shape, np.dtype(field.dtype).name) for name, field in fields.items()}
    {'node': ((), 'uint16'), 'gradients': ((3,), 'float64'), 'hessians': ((3,), 'float64')}
    """
    return {
        "node": Field((), np.uint16),
        "gradients": Field((n_scores,), np.float64),
        "hessians": Field((n_scores,), np.float64),
    }


@dataclass(eq=False)
class PagedNode:
    """A node, of the tree or one that may become a part of it: its number in the pages, and its best split."""

    mark: int
    depth: int
    key: int
    rows: int
    hist: np.ndarray | None = None
    gain: float = NONE
    split: tuple[int, int, int] = (-1, 0, 0)  # the column, the last bin on the left, the first on the right
    sides: np.ndarray = field(default_factory=lambda: np.zeros(BINS, np.int8))
    left_rows: int = 0
    children: tuple[PagedNode, PagedNode] | None = None
    looked_at: bool = False  # whether its own split has been searched, or it is known to have none


class PagedGrower:
    """Growth of trees from pages of rows, always at the leaf of the largest gain.

    Parameters
    ----------
    bins : BinnedColumns
        The bins of the columns, without words of rows.
    pages : Pages
        With `growth_fields`, "words", and with "weight" where rows count several times.
    limits, penalty, min_gain, n_jobs, categories, l1
        As those of `LeafwiseGrower`.
    most_copies, count : int
        How often a row counts at most, 0 where none has copies, and the number of rows with copies.

    Examples
    --------
    The stump that `LeafwiseGrower` grows, from three pages of two rows each:

    >>> from tercet.core.row_pages import RowPages
    >>> from tercet.tree import BinEdges, TermTotals
    >>> X, y = np.arange(1.0, 7.0)[:, None], np.array([1, 1.2, 1.1, 3.0, 3.2, 5.0])
    >>> edges = BinEdges(np.zeros(1, np.int64), 255)
    >>> edges.learn([0], X, None, exact=True)
    >>> bins, terms = edges.columns(), {"gradients": (0.5 - y)[None], "hessians": np.ones((1, 6))}
    >>> totals = TermTotals(np.abs(0.5 - y).sum(), 6.0, 1.0, 1.0)
    >>> fields = {**growth_fields(1), "words": Field((1,), np.uint64)}
    >>> with RowPages(6, 2, fields, memory=1 << 20) as pages:
    ...     pages.write(0, words=edges.encode(X), **terms)
    ...     stump = PagedGrower(bins, pages, Limits(max_leaf_nodes=2)).grow(0, totals, rate=1.0)
    >>> stump.nodes["threshold"][0].item()
    3.5
    """

    def __init__(
        self,
        bins: BinnedColumns,
        pages: Pages,
        limits: Limits,
        penalty: float = 1.0,
        min_gain: float = 0.0,
        n_jobs: int | None = None,
        categories: CategoryRule = EVERY_CUT,
        most_copies: int = 0,
        count: int = 0,
        l1: float = 0.0,
    ) -> None:
        n, self.d = pages.n_rows, bins.n_bins.size
        self.bins, self.pages, self.limits = bins, pages, limits
        self.penalty, self.l1, self.min_gain, self.categories = penalty, l1, min_gain, categories
        self.most_copies, self.count = most_copies, count or n
        self.packed = n <= MOST_ROWS
        self.leaves = max(1, min(int(limits.max_leaf_nodes or n), n // max(1, limits.min_samples_leaf)))
        self.jobs = max(1, min(all_cores(n_jobs), len(pages)))
        self.shape = (self.d, BINS, 2 if self.packed else 4)
        size, memory = 8 * int(np.prod(self.shape)), available() // 8
        self.search = NodeSearch(bins, limits, penalty, l1, categories, most_copies, self.packed)
        self.slots = max(1, memory // (size * self.jobs))  # histograms of one pass, for each thread
        self.most_held = max(1, memory // size)  # of leaves

    def grow(self, k: int, totals: TermTotals, rate: float, seed: int = 0) -> TreeArrays:
        """Grow a tree for score k, whose values are `rate` times -G / (H + penalty).

        Then `leaf_values` adds them to the scores of the rows, by the nodes in which rows were left, and
        `binned_tree` does so for rows that are read again.
        """
        self.k, self.totals, self.held = k, totals, 0
        self.marks = SplitNodes(1, begin=True)
        if self.packed:
            self.units = packed_units(totals, self.count, self.most_copies > 0)
        else:
            mass_unit = totals.largest if has_counts(totals, False) else unit_for(totals.hessians, FINEST)
            self.units = unit_for(totals.gradients, FINEST), mass_unit
        noise = 1e-13 * totals.gradients**2 / max(totals.hessians + self.penalty, np.finfo(float).tiny)
        limits = self.limits
        self.stop = LeafwiseLimits(
            self.leaves,
            int(limits.max_depth),
            max(int(limits.min_samples_split), 2 * int(limits.min_samples_leaf), 2),
            float(noise + self.min_gain),
            ColumnDraws.of(limits, self.d, seed),
        )
        self.root = PagedNode(0, 0, int(hashed(seed & 0xFFFFFFFF, 0)), self.pages.n_rows)
        nodes = self._best_first()
        return self._finished(nodes, rate)

    # Growth -----------------------------------------------------------------------------------------------------

    def _best_first(self) -> list[PagedNode]:
        """The nodes of the tree in the order in which they are made."""
        nodes, split = [self.root], [False]
        if self._may_grow(self.root):
            self._search_all([self.root], [])
        while (len(nodes) + 1) // 2 < self.leaves:
            t = self._best_leaf(nodes, split)
            if t < 0:
                break
            last = (len(nodes) + 1) // 2 + 1 == self.leaves
            if not self._is_opened(nodes[t]) and not last:
                self._open(self._candidates(nodes, split))
            nodes += self._children(nodes[t])
            split[t] = True
            split += [False, False]
        self.is_split = split
        return nodes

    def _best_leaf(self, nodes: list[PagedNode], split: list[bool]) -> int:
        """The leaf of the largest gain, of equals the first (`leafwise_kernels.best_leaf`); -1 for none."""
        best, bar = -1, 0.0
        for t, node in enumerate(nodes):
            if not split[t] and node.gain > bar:
                best, bar = t, node.gain * (1.0 + TIE)
        return best

    def _candidates(self, nodes: list[PagedNode], split: list[bool]) -> list[PagedNode]:
        """Leaves that may still be split: as many of the best ones as there may be leaves more."""
        left = self.leaves - (len(nodes) + 1) // 2
        there = [node for t, node in enumerate(nodes) if not split[t] and node.gain > 0.0]
        there.sort(key=lambda node: -node.gain)
        near = there[min(left, len(there)) - 1].gain * (1.0 - 2 * TIE)  # the order of equals is another one
        return [node for node in there if node.gain >= near and not self._is_opened(node)]

    def _may_grow(self, node: PagedNode) -> bool:
        return node.depth < self.stop.max_depth and node.rows >= self.stop.min_rows

    def _children(self, node: PagedNode) -> tuple[PagedNode, PagedNode]:
        """The children of a node; its rows move to them in the next pass."""
        if node.children is None:
            first = self.marks.split(node.mark, node.split[0], node.sides)
            sizes = node.left_rows, node.rows - node.left_rows
            node.children = tuple(  # type: ignore[assignment]
                PagedNode(first + side, node.depth + 1, int(hashed(node.key, side)), sizes[side])
                for side in (0, 1)
            )
        assert node.children is not None
        return node.children

    def _is_opened(self, node: PagedNode) -> bool:
        """Whether it is known how its children may be split."""
        return node.children is not None and all(
            child.looked_at or not self._may_grow(child) for child in node.children
        )

    def _open(self, parents: list[PagedNode]) -> None:
        """Search the splits of the children of some leaves."""
        wanted, siblings = [], []
        for node in parents:
            few, many = sorted(self._children(node), key=lambda child: child.rows)
            if not self._may_grow(many):
                continue
            wanted.append(few)
            if node.hist is not None:
                siblings.append((few, many, node))
            else:
                wanted.append(many)
        self._search_all(wanted, siblings)

    def _search_all(
        self, wanted: list[PagedNode], siblings: list[tuple[PagedNode, PagedNode, PagedNode]]
    ) -> None:
        """Build the histograms of some nodes in passes over the pages; siblings get their parent's less those."""
        later = {few.mark: (many, parent) for few, many, parent in siblings}
        for start in range(0, len(wanted), self.slots):
            some = wanted[start : start + self.slots]
            for node, hist in zip(some, self._pass(some)):
                node.hist = hist
                searched = [node]
                if node.mark in later:
                    many, parent = later[node.mark]
                    assert parent.hist is not None
                    many.hist, parent.hist = parent.hist, None
                    many.hist -= hist
                    self.held -= 1
                    searched.append(many)
                for one in searched:
                    self._search(one)

    def _pass(self, nodes: list[PagedNode]) -> np.ndarray:
        """Move the rows of all pages to the children of their nodes; returns the histograms of some nodes."""
        slot = np.full(self.marks.count, -1, np.int64)
        slot[[node.mark for node in nodes]] = np.arange(len(nodes))
        shape, copies = (len(nodes), *self.shape), self.most_copies > 0
        wanted = NodeHistograms(self.marks.take(), slot, shape, self.k, self.units, self.packed, copies)
        return self.pages.total(wanted, self.jobs)

    # The search for a split -------------------------------------------------------------------------------------

    def _search(self, node: PagedNode) -> None:
        """Find the best split of a node from its histogram, which is kept if there is one and room for it."""
        node.looked_at = True
        hist, node.hist = node.hist, None
        if not self._may_grow(node):
            return
        assert hist is not None
        found = self.search.best_split(hist, node.depth, node.key, self.units, self.totals, self.stop)
        if found is None:
            return
        node.gain, node.split, node.sides = found
        j, missing = node.split[0], int(self.bins.n_bins[node.split[0]])
        node.left_rows = int(hist[j, node.sides == 0, -1].sum())
        if node.sides[missing] < 0:  # none is missing here: the larger child
            node.sides[missing] = 0 if 2 * node.left_rows > node.rows else 1
        if self.held < self.most_held:  # else the children's are built from their rows, to the same bits
            node.hist = hist if hist.base is None else hist.copy()
            self.held += 1

    # Leaves -----------------------------------------------------------------------------------------------------

    def _finished(self, nodes: list[PagedNode], rate: float) -> TreeArrays:
        """The arrays of the tree, with the exact sums of its leaves; rows have the numbers of their nodes then."""
        numbers = {node.mark: t for t, node in enumerate(nodes)}
        records = np.zeros((len(nodes), NODE_FIELDS), np.int64)
        sides = np.zeros((len(nodes), BINS), np.int8)
        self.leaf_of = np.zeros(self.marks.count, np.int64)
        for t, node in enumerate(nodes):
            records[t, STOP], records[t, TABLE] = node.rows, t
            if self.is_split[t]:
                assert node.children is not None
                j, last, first = node.split
                records[t, IS_SPLIT], records[t, FEATURE], records[t, LAST], records[t, FIRST] = (
                    1,
                    j,
                    last,
                    first,
                )
                records[t, MISSING] = node.sides[self.bins.n_bins[j]]
                records[t, CHILD], sides[t] = numbers[node.children[0].mark], node.sides
            else:
                for mark in _marks_below(node):
                    self.leaf_of[mark] = t
        sums = np.zeros((len(nodes), 4))
        sums[:, :2] = self._leaf_sums(len(nodes))
        add_values(records, sums, self.penalty, float(self.l1), float(rate))
        values = sums[:, VALUE].copy()
        self.leaf_values = LeafValues(self.k, values, self.leaf_of)
        self.binned_tree = BinnedTree(
            k=self.k,
            column=np.where(records[:, IS_SPLIT] > 0, records[:, FEATURE], -1),
            child=records[:, CHILD].copy(),
            sides=np.packbits(sides > 0, axis=1),
            values=values,
            depth=max(node.depth for node in nodes),
        )
        return newton_arrays(self.bins, records, sides, sums, self.penalty, rate, self.l1)

    def _leaf_sums(self, n_nodes: int) -> np.ndarray:
        """The sums of gradients and hessians of the leaves, over all pages; rows move to the last children."""
        units = unit_for(self.totals.gradients, FINEST), unit_for(self.totals.hessians, FINEST)
        wanted = LeafSums(self.marks.take(), self.leaf_of, n_nodes, self.k, units)
        sums = self.pages.total(wanted, self.jobs)
        sums[:, 1] = np.maximum(sums[:, 1], 1)  # as `leafwise_kernels.finish_leaf` has it
        return sums * np.array(units)


def _marks_below(node: PagedNode) -> list[int]:
    """The numbers in the pages of a node and of all below it."""
    found = [node.mark]
    for child in node.children or ():
        found += _marks_below(child)
    return found
