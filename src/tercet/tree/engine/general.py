"""Growth one node at a time: every criterion, several outputs, random cuts, best-first growth, monotonic columns.

Slower than the other two ways, and short enough to be what they are tested against.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tercet.core.parallel import each
from tercet.tree.engine.category_orders import orders_of_categories
from tercet.tree.engine.criteria import CODES, hashed
from tercet.tree.engine.general_costs import ABSOLUTE, GAIN, POISSON, answer, leader, part, search
from tercet.tree.engine.general_subtree import Grown, Rules, drawn, grow_small, sorted_rows
from tercet.tree.structure import CATEGORY, NOWHERE, THRESHOLD, Sprout, Tree

ALL_CODES = CODES | {"absolute_error": ABSOLUTE, "poisson": POISSON}
LARGE = 1 << 16  # rows of a node whose columns are searched one by one, on several threads
SMALL = 1 << 11  # rows of a node that is grown to its leaves in one sweep
EPSILON = float(np.finfo(float).eps)


def grow_general(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_classes: tuple[int, ...],
    criterion: str,
    limits: Any,
    n_categories: np.ndarray,
    splitter: str = "best",
    seed: int = 0,
    monotonic: Any = None,
    n_jobs: int | None = None,
) -> Tree:
    """Grow a tree; the arguments are those of `grow`."""
    n, d = X.shape
    grower = Grower(
        columns=np.ascontiguousarray(X.T, dtype=np.float64),
        target=np.ascontiguousarray(np.reshape(target, (n, -1)).T, dtype=np.float64),
        weight=np.ones(n) if weight is None else weight,
        code=ALL_CODES[criterion],
        n_classes=n_classes,
        limits=limits,
        n_categories=n_categories,
        random=splitter == "random",
        signs=np.zeros(d) if monotonic is None else np.asarray(monotonic, dtype=np.float64),
        seed=seed,
        n_jobs=n_jobs,
    )
    return grower.grow()


class Test(NamedTuple):
    """A test of a node, and what it brings."""

    gain: float
    feature: int
    cut: float
    missing: int
    levels: tuple[float, float]
    ranks: np.ndarray | None  # where each category stands in the order that was cut


class Node(NamedTuple):
    """What is at a node that may be split."""

    number: int
    rows: np.ndarray
    target: np.ndarray
    sorting: np.ndarray  # of the targets, where medians ask for it
    weight: np.ndarray
    cost: float
    depth: int
    bounds: tuple[float, float]  # between which the answer has to stay
    key: np.uint64  # what it draws from


class Found(NamedTuple):
    """What was found in some columns: a row of results for each, or for each order of a column's categories."""

    features: np.ndarray
    results: np.ndarray
    ranks: Sequence[np.ndarray | None]


@dataclass
class Grower:
    """The data, the rules, and the steps of growth."""

    columns: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    code: int
    n_classes: tuple[int, ...]
    limits: Any
    n_categories: np.ndarray
    random: bool
    signs: np.ndarray
    seed: int
    n_jobs: int | None

    def __post_init__(self) -> None:
        self.total = float(self.weight.sum())
        self.bound = bool(self.signs.any())
        self.n_values = max(self.n_classes)
        self.least = np.array([self.limits.min_samples_leaf, self.limits.min_weight_leaf], dtype=np.float64)
        self.wanted = min(self.limits.max_features or len(self.columns), len(self.columns))
        self.plain = not self.bound and not self.n_categories.any() and self.limits.max_leaf_nodes is None

    def grow(self) -> Tree:
        """Split the node that gains most (or, without a limit on leaves, the oldest) until none is to be split."""
        self.sprout = Sprout(len(self.columns))
        self.waiting: list[tuple[float, int, Node, np.ndarray, Test]] = []
        self.small: list[tuple[Node, np.ndarray]] = []
        self.sprout.add(value=[], impurity=0.0, samples=0, weight=0.0)
        root = self._settle(0, np.arange(len(self.weight)), 0, (-np.inf, np.inf), np.uint64(self.seed))
        if root is not None:
            self._wait(root, self._sorted())
        most, leaves = self.limits.max_leaf_nodes, 1
        while self.waiting and (most is None or leaves < most):
            _, _, node, orders, test = heapq.heappop(self.waiting)
            children, right = self._split(node, test)
            sides = []
            for k, t in enumerate(children):
                bounds, key = self._bounds(node.bounds, test, k), np.uint64(hashed(node.key, 1 + k))
                sides.append(self._settle(t, node.rows[right == k], node.depth + 1, bounds, key))
            if any(side is not None for side in sides):
                for side, order in zip(sides, part(orders, right)):
                    if side is not None:
                        self._wait(side, order)
            leaves += 1
        for (node, _), grown in zip(self.small, each(self._grow_small, self.small, n_jobs=self.n_jobs)):
            self._graft(node.number, grown)
        return self.sprout.tree(self.n_classes)

    def _sorted(self) -> np.ndarray:
        """The rows in the order of each column; a random cut needs none."""
        if self.random:
            return np.empty((0, 0), dtype=np.int32)
        return np.array(each(sorted_rows, [*self.columns], n_jobs=self.n_jobs))

    def _settle(
        self, t: int, rows: np.ndarray, depth: int, bounds: tuple[float, float], key: np.uint64
    ) -> Node | None:
        """Say what a new node answers; the node, if it may be split."""
        target, weight = self.target[:, rows], self.weight[rows]
        sorting = sorted_rows(target) if self.code == ABSOLUTE else np.empty((len(target), 0), dtype=np.int32)
        value, impurity, pure = answer(self.code, target, sorting, weight, self.n_values)
        if self.bound:
            value = self._clipped(value, bounds)
        mass = float(weight.sum())
        self.sprout.set(t, value=value, impurity=impurity, samples=rows.size, weight=mass)
        limits = self.limits
        small = rows.size < max(limits.min_samples_split, 2 * limits.min_samples_leaf)
        if pure or small or depth >= limits.max_depth or mass < 2 * limits.min_weight_leaf:
            return None
        return Node(t, rows, target, sorting, weight, impurity * mass, depth, bounds, key)

    def _wait(self, node: Node, orders: np.ndarray) -> None:
        """Let a node wait for its split, if there is one that is worth it."""
        if self.plain and node.rows.size <= SMALL:
            self.small.append((node, orders))
            return
        test = self._best(node, orders)
        if test is not None and test.gain / self.total + EPSILON >= self.limits.min_impurity_decrease:
            first = 0.0 if self.limits.max_leaf_nodes is None else -test.gain
            heapq.heappush(self.waiting, (first, node.number, node, orders, test))

    def _best(self, node: Node, orders: np.ndarray) -> Test | None:
        """The best test of a node, among as many columns (not constant here) as may be tried."""
        d, wanted = len(self.columns), self.wanted
        draws, shuffled = drawn(node.key, d, wanted < d, self.random)
        found: list[Found] = []
        tried = seen = 0
        while tried < wanted and seen < d:
            batch = np.sort(shuffled[seen : seen + wanted - tried])
            seen += batch.size
            for one in self._search(node, orders, batch, draws):
                tried += len(np.unique(one.features[~np.isnan(one.results[:, GAIN])]))
                found.append(one)
        features = np.concatenate([one.features for one in found])
        results = np.concatenate([one.results for one in found])
        place = leader(results, np.argsort(features, kind="stable"), node.cost)
        if place < 0:
            return None
        gain, cut, missing, low, high = results[place].tolist()
        ranks = [r for one in found for r in one.ranks][place]
        return Test(gain, int(features[place]), cut, int(missing), (low, high), ranks)

    def _search(self, node: Node, orders: np.ndarray, batch: np.ndarray, draws: np.ndarray) -> list[Found]:
        """What there is to find in some columns: large nodes one column at a time, small ones in one sweep."""
        ranks = sorted_rows(node.sorting)

        def sweep(features: np.ndarray) -> Found:
            count = int(self.n_categories[features[0]])
            if count == 0:
                values = self.columns[features[:, None], node.rows]
                return self._cut(
                    node, features, values, orders[:0] if self.random else orders[features], ranks, draws
                )
            codes = self.columns[features[0], node.rows]
            lines = orders_of_categories(
                codes,
                count,
                node.target,
                node.weight,
                self.n_classes,
                self.code == ABSOLUTE,
                float(draws[1, features[0]]),
            )
            there = ~np.isnan(codes)
            places, results = codes[there].astype(np.int64), []
            for line in lines:  # one after the other: with many categories there are many
                values = np.full((1, codes.size), np.nan)
                values[0, there] = line[places]
                results.append(self._cut(node, features, values, sorted_rows(values), ranks, draws).results)
            return Found(np.repeat(features, len(lines)), np.concatenate(results), lines)

        numbers = batch[self.n_categories[batch] == 0]
        alone = [batch[k : k + 1] for k in np.flatnonzero(self.n_categories[batch] > 0)]
        if node.rows.size >= LARGE:
            return each(
                sweep, [*alone, *(numbers[k : k + 1] for k in range(numbers.size))], n_jobs=self.n_jobs
            )
        return [sweep(features) for features in (*alone, numbers) if features.size]

    def _cut(
        self,
        node: Node,
        features: np.ndarray,
        values: np.ndarray,
        orders: np.ndarray,
        ranks: np.ndarray,
        draws: np.ndarray,
    ) -> Found:
        results = search(
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
            draws[:, features],
        )
        return Found(features, results, [None] * features.size)

    def _grow_small(self, item: tuple[Node, np.ndarray]) -> Grown:
        node, orders = item
        limits = self.limits
        gain = (limits.min_impurity_decrease - EPSILON) * self.total
        rules = Rules(
            limits.max_depth - node.depth,
            limits.min_samples_split,
            gain,
            self.wanted,
            self.least,
            self.random,
            self.signs,
            np.array(node.bounds),
        )
        return grow_small(
            self.columns[:, node.rows],
            node.target,
            node.weight[None],
            orders.copy(),
            node.sorting.copy(),
            self.code,
            self.n_values,
            rules,
            node.key,
        )

    def _graft(self, t: int, grown: Grown) -> None:
        """Put a grown subtree in the place of its first node."""
        offset = len(self.sprout.nodes) - 1
        self.sprout.nodes += [{} for _ in range(grown.child.size - 1)]
        columns = [array.tolist() if array.ndim == 1 else array for array in grown]
        for k, (child, feature, cut, missing, value, impurity, samples, weight) in enumerate(zip(*columns)):
            place = t if k == 0 else offset + k
            self.sprout.set(place, value=value, impurity=impurity, samples=samples, weight=weight)
            if child >= 0:
                self.sprout.nodes[place].update(
                    kind=THRESHOLD,
                    child=offset + child,
                    n_children=2,
                    feature=feature,
                    threshold=cut,
                    missing=missing,
                )

    def _split(self, node: Node, test: Test) -> tuple[range, np.ndarray]:
        """Give a node its test; returns its children, and which of them each row goes to."""
        values, slots = self.columns[test.feature, node.rows], None
        if test.ranks is not None:
            slots = np.where(np.isnan(test.ranks), NOWHERE, test.ranks > test.cut).astype(np.int64)
            missing = np.isnan(values)
            values = test.ranks[np.where(missing, 0, values).astype(np.int64)]
            values[missing] = np.nan
        right = np.where(np.isnan(values), test.missing == 1, values > test.cut)
        children = self.sprout.split(
            node.number,
            THRESHOLD if slots is None else CATEGORY,
            n_children=2,
            feature=test.feature,
            threshold=test.cut if slots is None else -2.0,
            missing=test.missing,
            slots=slots,
        )
        return children, right

    def _bounds(self, bounds: tuple[float, float], test: Test, k: int) -> tuple[float, float]:
        """Between which values the answers of child k must stay, so that both sides keep their order for good."""
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
