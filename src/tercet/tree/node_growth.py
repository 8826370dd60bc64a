"""Growth of a classification tree node by node: depth first, or best first under a limit on the leaves."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tercet.tree._engine import Limits
from tercet.tree._engine.gain_table import TIE, WHOLE_ROW_SHARE, weighted_impurity
from tercet.tree.tree import Tree, TreeBuilder


@dataclass
class NodeRows:
    """The rows of one node, and the weight of each of them there."""

    rows: np.ndarray
    weight: np.ndarray
    share: float = 1.0  # of the parent's weight
    node: int = 0
    depth: int = 0

    def copied(self) -> Any:
        """The same in arrays of its own: slices of those of all siblings would keep them in memory."""
        self.rows, self.weight = self.rows.copy(), self.weight.copy()
        return self


class NodeSplitter(Protocol):
    """How one algorithm splits nodes."""

    def best_split(self, node: Any) -> Any:
        """The best test of a node, with its `gain` and `n_children`; None where there is none."""

    def children(self, node: Any, split: Any) -> Iterator[Any]:
        """The rows of each child."""


@dataclass
class NodeGrowth:
    """Growth of a classification tree, with the tests that a splitter finds.

    Parameters
    ----------
    splitter : NodeSplitter
        Finds the tests and divides the rows.
    n_features, n_classes, code : int
        The width of the rows, the number of classes, and the impurity (`gain_table.ENTROPY` or `gain_table.GINI`).
    y, weight : arrays of shape (n_samples,)
        Classes from 0, and the weight of each whole row.
    limits : Limits
        When to stop.
    """

    splitter: NodeSplitter
    n_features: int
    n_classes: int
    code: int
    y: np.ndarray
    weight: np.ndarray
    limits: Limits

    def __post_init__(self) -> None:
        self.total = self.weight.sum()

    def grow(self, root: Any) -> Tree:
        """Split the newest node (depth first), or the one that gains most (best first), until none is left."""
        builder = TreeBuilder(self.n_features)
        builder.add_root()
        frontier: list[tuple[float, int, Any, Any]] = []
        most, leaves = self.limits.max_leaf_nodes, 1
        self._add(root, builder, frontier)
        while frontier:
            _, t, node, split = heapq.heappop(frontier)
            if most is not None and leaves + split.n_children - 1 > most:
                continue
            leaves += split.n_children - 1
            numbers = builder.split(t, **split.test())
            for number, child in zip(numbers, self.splitter.children(node, split)):
                child.node, child.depth = number, node.depth + 1
                self._add(child, builder, frontier)
        return builder.tree(n_classes=[self.n_classes])

    def _add(self, node: Any, builder: TreeBuilder, frontier: list[tuple[float, int, Any, Any]]) -> None:
        """Set the value of a node, and put it into the frontier with its best test if it is to be split."""
        counts = np.bincount(self.y[node.rows], weights=node.weight, minlength=self.n_classes)
        weight = float(counts.sum())
        impurity = weighted_impurity(counts, self.code) / weight
        statistics = {"value": [counts / weight], "impurity": impurity, "samples": len(node.rows)}
        builder.set(node.node, **statistics, weight=weight, share=node.share)
        if self._is_leaf(node, counts):
            return
        node = node.copied()
        split = self.splitter.best_split(node)
        least = self.limits.min_impurity_decrease
        if split is not None and weight * split.gain >= (least - TIE) * self.total:
            best_first = self.limits.max_leaf_nodes is not None
            priority = -weight * split.gain if best_first else -float(node.node)
            heapq.heappush(frontier, (priority, node.node, node, split))

    def _is_leaf(self, node: Any, counts: np.ndarray) -> bool:
        limits = self.limits
        if np.count_nonzero(counts) < 2 or node.depth >= limits.max_depth:
            return True
        least = max(limits.min_samples_split, 2 * limits.min_samples_leaf)
        return bool(counted_rows(node, self.weight).sum() < least)


def counted_rows(node: NodeRows, weight: np.ndarray) -> np.ndarray:
    """Marks the entries of a node that count as rows: those with at least half of the row's own weight."""
    return node.weight >= WHOLE_ROW_SHARE * weight[node.rows] * (1 - TIE)
