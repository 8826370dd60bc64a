"""General growth, one node at a time: every criterion, several outputs, random thresholds, best-first growth,
monotonic columns. Slower than the other two engines.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tercet.core.parallel import each
from tercet.core.stopping import check_stop
from tercet.tree._engine.category_orders import category_orders
from tercet.tree._engine.criteria import CODES, hashed
from tercet.tree._engine.general_costs import ABSOLUTE, POISSON, node_value
from tercet.tree._engine.general_search import GAIN, best_cuts, best_result, partition_orders
from tercet.tree._engine.general_subtree import (
    SubtreeNodes,
    SubtreeRules,
    column_draws,
    column_order,
    grow_subtree,
    sorted_rows,
)
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.traversal import LEAF, NOWHERE, THRESHOLD
from tercet.tree._engine.tree_arrays import LEAF_VALUES, NODE_DTYPES, NodeTable, TreeArrays

ALL_CODES = CODES | {"absolute_error": ABSOLUTE, "poisson": POISSON}
PARALLEL_ROWS = 1 << 16  # rows of a node whose columns are searched one by one, by several threads
SUBTREE_ROWS = 1 << 11  # rows of a node that one kernel call grows to its leaves


def grow_general(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: tuple[int, ...],
    criterion: str,
    limits: Limits,
    n_categories: np.ndarray,
    single: bool = False,
    splitter: str = "best",
    seed: int = 0,
    monotonic: Any = None,
    n_jobs: int | None = None,
) -> TreeArrays:
    """Grow a tree; the arguments are those of `tercet.tree._engine.grow`."""
    n, d = X.shape
    grower = GeneralGrower(
        columns=np.ascontiguousarray(X.T, dtype=np.float64),
        target=np.ascontiguousarray(np.reshape(target, (n, -1)).T, dtype=np.float64),
        weight=np.ones(n) if weight is None else weight,
        code=ALL_CODES[criterion],
        n_classes=n_classes,
        limits=limits,
        n_categories=n_categories,
        single=single,
        random=splitter == "random",
        signs=np.zeros(d) if monotonic is None else np.asarray(monotonic, dtype=np.float64),
        seed=seed,
        n_jobs=n_jobs,
    )
    return grower.grow()


class GeneralSplit(NamedTuple):
    """A test of a node, and its gain."""

    gain: float
    feature: int
    cut: float
    missing: int
    levels: tuple[float, float]
    ranks: np.ndarray | None  # of the categories, in the order that was cut


class GeneralNode(NamedTuple):
    """A node that may be split: its rows, their targets and weights."""

    number: int
    rows: np.ndarray
    target: np.ndarray
    sorting: np.ndarray  # of the targets, where medians need it
    weight: np.ndarray
    cost: float
    depth: int
    bounds: tuple[float, float]  # between which the value has to stay
    key: np.uint64  # seed of its draws


class SearchResults(NamedTuple):
    """Results of `best_cuts`: a row for each column, or for each order of a column's categories."""

    features: np.ndarray
    results: np.ndarray
    ranks: Sequence[np.ndarray | None]


@dataclass
class GeneralGrower:
    """Growth of one tree: the data, the stopping criteria, and the frontier of nodes."""

    columns: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    code: int
    n_classes: tuple[int, ...]
    limits: Limits
    n_categories: np.ndarray
    single: bool  # tests of categories are of one value against the rest
    random: bool
    signs: np.ndarray
    seed: int
    n_jobs: int | None

    def __post_init__(self) -> None:
        self.total = float(self.weight.sum())
        self.floor = self.limits.min_impurity_decrease
        self.constrained = bool(self.signs.any())
        self.n_values = max(self.n_classes)
        self.least = np.array([self.limits.min_samples_leaf, self.limits.min_weight_leaf], dtype=np.float64)
        self.n_tried = min(self.limits.max_features or len(self.columns), len(self.columns))
        self.subtree_kernel = (
            not self.constrained and not self.n_categories.any() and self.limits.max_leaf_nodes is None
        )

    def grow(self) -> TreeArrays:
        """Split the node of the largest gain (or, without a limit on leaves, the oldest) until none is left."""
        self.nodes = NodeTable(len(self.columns))
        self.frontier: list[tuple[float, int, GeneralNode, np.ndarray, GeneralSplit]] = []
        self.subtrees: list[tuple[GeneralNode, np.ndarray]] = []
        self.nodes.add_root()
        root = self._add_node(0, np.arange(len(self.weight)), 0, (-np.inf, np.inf), np.uint64(self.seed))
        if root is not None:
            self._push(root, self._presorted())
        most, leaves = self.limits.max_leaf_nodes, 1
        while self.frontier and (most is None or leaves < most):
            check_stop()
            _, _, node, orders, test = heapq.heappop(self.frontier)
            children, right = self._split(node, test)
            sides = []
            for k, t in enumerate(children):
                bounds, key = self._bounds(node.bounds, test, k), np.uint64(hashed(node.key, 1 + k))
                sides.append(self._add_node(t, node.rows[right == k], node.depth + 1, bounds, key))
            if any(side is not None for side in sides):
                for side, order in zip(sides, partition_orders(orders, right)):
                    if side is not None:
                        self._push(side, order)
            leaves += 1
        upper = self.nodes.arrays(self.n_classes)
        if not self.subtrees:
            return upper
        below = each(self._grow_subtree, self.subtrees, n_jobs=self.n_jobs)
        return _with_subtrees(upper, [node.number for node, _ in self.subtrees], below)

    def _presorted(self) -> np.ndarray:
        """The rows in the order of each column; random thresholds need none."""
        if self.random:
            return np.empty((0, 0), dtype=np.int32)
        return np.array(each(sorted_rows, [*self.columns], n_jobs=self.n_jobs))

    def _add_node(
        self, t: int, rows: np.ndarray, depth: int, bounds: tuple[float, float], key: np.uint64
    ) -> GeneralNode | None:
        """Set the value of a new node; returns the node if it may be split."""
        target, weight = _taken(self.target, rows), self.weight[rows]
        sorting = sorted_rows(target) if self.code == ABSOLUTE else np.empty((len(target), 0), dtype=np.int32)
        value, impurity, pure = node_value(self.code, target, sorting, weight, self.n_values)
        if self.constrained:
            value = self._clipped(value, bounds)
        mass = float(weight.sum())
        self.nodes.set(t, value=value, impurity=impurity, samples=rows.size, weight=mass)
        limits = self.limits
        small = rows.size < max(limits.min_samples_split, 2 * limits.min_samples_leaf)
        if pure or small or depth >= limits.max_depth or mass < 2 * limits.min_weight_leaf:
            return None
        return GeneralNode(t, rows, target, sorting, weight, impurity * mass, depth, bounds, key)

    def _push(self, node: GeneralNode, orders: np.ndarray) -> None:
        """Push a node onto the frontier, if it has a split of enough gain."""
        if self.subtree_kernel and node.rows.size <= SUBTREE_ROWS:
            self.subtrees.append((node, orders))
            return
        test = self._best_split(node, orders)
        if test is not None and (self.floor <= 0.0 or test.gain / self.total >= self.floor):
            first = 0.0 if self.limits.max_leaf_nodes is None else -test.gain
            heapq.heappush(self.frontier, (first, node.number, node, orders, test))

    def _best_split(self, node: GeneralNode, orders: np.ndarray) -> GeneralSplit | None:
        """The best test of a node, among as many columns (not constant here) as may be tried."""
        d, n_tried = len(self.columns), self.n_tried
        shuffled = column_order(node.key, d, n_tried < d)
        draws = column_draws(node.key, np.arange(d), self.random)
        found: list[SearchResults] = []
        tried = seen = 0
        while tried < n_tried and seen < d:
            batch = np.sort(shuffled[seen : seen + n_tried - tried])
            seen += batch.size
            for one in self._search(node, orders, batch, draws):
                tried += len(np.unique(one.features[~np.isnan(one.results[:, GAIN])]))
                found.append(one)
        features = np.concatenate([one.features for one in found])
        results = np.concatenate([one.results for one in found])
        place = best_result(results, np.argsort(features, kind="stable"), node.cost)
        if place < 0:
            return None
        gain, cut, missing, low, high = results[place].tolist()
        ranks = [r for one in found for r in one.ranks][place]
        return GeneralSplit(gain, int(features[place]), cut, int(missing), (low, high), ranks)

    def _search(
        self, node: GeneralNode, orders: np.ndarray, batch: np.ndarray, draws: np.ndarray
    ) -> list[SearchResults]:
        """The results of some columns: of large nodes one column for each task, of small ones all at once."""
        ranks = sorted_rows(node.sorting)

        def search_some(features: np.ndarray) -> SearchResults:
            count = int(self.n_categories[features[0]])
            if count == 0:
                values = _taken([self.columns[f] for f in features], node.rows)
                return self._search_columns(
                    node, features, values, orders[:0] if self.random else orders[features], ranks, draws
                )
            codes = self.columns[features[0], node.rows]
            lines = category_orders(
                codes,
                count,
                node.target,
                node.weight,
                self.n_classes,
                self.code == ABSOLUTE,
                float(draws[1, features[0]]),
                self.single,
            )
            there = ~np.isnan(codes)
            places, results = codes[there].astype(np.int64), []
            for line in lines:  # one after the other: many categories have many orders
                values = np.full((1, codes.size), np.nan)
                values[0, there] = line[places]
                results.append(
                    self._search_columns(node, features, values, sorted_rows(values), ranks, draws).results
                )
            return SearchResults(np.repeat(features, len(lines)), np.concatenate(results), lines)

        numbers = batch[self.n_categories[batch] == 0]
        alone = [batch[k : k + 1] for k in np.flatnonzero(self.n_categories[batch] > 0)]
        if node.rows.size >= PARALLEL_ROWS:
            return each(
                search_some, [*alone, *(numbers[k : k + 1] for k in range(numbers.size))], n_jobs=self.n_jobs
            )
        return [search_some(features) for features in (*alone, numbers) if features.size]

    def _search_columns(
        self,
        node: GeneralNode,
        features: np.ndarray,
        values: np.ndarray,
        orders: np.ndarray,
        ranks: np.ndarray,
        draws: np.ndarray,
    ) -> SearchResults:
        results = best_cuts(
            values,
            orders,
            node.target,
            ranks,
            node.weight,
            self.code,
            self.n_values,
            node.cost,
            self.least,
            self.signs[features],
            np.array(node.bounds),
            np.ascontiguousarray(draws[:, features]),
        )
        return SearchResults(features, results, [None] * features.size)

    def _grow_subtree(self, item: tuple[GeneralNode, np.ndarray]) -> SubtreeNodes:
        node, orders = item
        limits = self.limits
        gain = self.floor * self.total if self.floor > 0.0 else -np.inf
        rules = SubtreeRules(
            limits.max_depth - node.depth,
            limits.min_samples_split,
            gain,
            self.n_tried,
            self.least,
            self.random,
            self.signs,
            np.array(node.bounds),
        )
        return grow_subtree(
            _taken(self.columns, node.rows),
            node.target,
            node.weight[None],
            orders.copy(),
            node.sorting.copy(),
            self.code,
            self.n_values,
            rules,
            node.key,
        )

    def _split(self, node: GeneralNode, test: GeneralSplit) -> tuple[range, np.ndarray]:
        """Write the test of a node; returns its children, and which rows go to the second."""
        values, slots = self.columns[test.feature, node.rows], None
        if test.ranks is not None:
            slots = np.where(np.isnan(test.ranks), NOWHERE, test.ranks > test.cut).astype(np.int64)
            missing = np.isnan(values)
            values = test.ranks[np.where(missing, 0, values).astype(np.int64)]
            values[missing] = np.nan
        right = np.where(np.isnan(values), test.missing == 1, values > test.cut)
        children = self.nodes.split(
            node.number,
            feature=test.feature,
            threshold=test.cut if slots is None else -2.0,
            missing=test.missing,
            slots=slots,
        )
        return children, right

    def _bounds(self, bounds: tuple[float, float], test: GeneralSplit, k: int) -> tuple[float, float]:
        """Between which values child k must stay, so that both sides keep their order further down."""
        sign = self.signs[test.feature]
        if sign == 0:
            return bounds
        middle = 0.5 * test.levels[0] + 0.5 * test.levels[1]
        upper = (sign > 0) == (k == 1)
        return (middle, bounds[1]) if upper else (bounds[0], middle)

    def _clipped(self, value: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
        if self.n_values == 1:
            return np.clip(value, *bounds)
        p = float(np.clip(value[0, -1], *bounds))
        return np.array([[1.0 - p, p]])


def _taken(lines: Any, rows: np.ndarray) -> np.ndarray:
    """Some entries of each line: one line at a time, which is much faster than all at once."""
    found = np.empty((len(lines), rows.size))
    for line, out in zip(lines, found):
        np.take(line, rows, out=out, mode="clip")  # unlike "raise", without a buffer
    return found


def _with_subtrees(upper: TreeArrays, roots: list[int], below: list[SubtreeNodes]) -> TreeArrays:
    """The tree with grown subtrees at some of its leaves; the first node of each is there already."""
    nodes, count = {name: [array] for name, array in upper.nodes.items()}, len(upper.value)
    values = [upper.value]
    for root, grown in zip(roots, below):
        inner = grown.child >= 0
        fields = {
            "kind": np.where(inner, THRESHOLD, LEAF),
            "feature": grown.feature,
            "threshold": grown.cut,
            "child": np.where(inner, grown.child + (count - 1), -1),
            "n_children": 2 * inner,
            "missing": grown.missing,
            "impurity": grown.impurity,
            "n_node_samples": grown.samples,
            "weighted_n_node_samples": grown.weight,
        }
        for name, parts in nodes.items():
            found = fields.get(name)
            if found is None:  # slots, which a threshold has none of, and the share
                found = np.full(inner.size, LEAF_VALUES.get(name, 0), dtype=NODE_DTYPES[name])
            parts[0][root] = found[0]
            parts.append(found[1:])
        values.append(grown.value[1:])
        count += inner.size - 1
    arrays = {name: np.concatenate(parts, dtype=NODE_DTYPES[name]) for name, parts in nodes.items()}
    return upper._replace(value=np.concatenate(values), nodes=arrays)
