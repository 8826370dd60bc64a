"""Growth node by node: what a node answers, whether it stays a leaf, and whose turn it is to be split."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.tree.gains import MAIN, TIE, mass
from tercet.tree.structure import Sprout, Tree


@dataclass
class Part:
    """The rows of one node, and what each of them weighs there."""

    rows: np.ndarray
    weight: np.ndarray
    share: float = 1.0  # of the parent's weight
    node: int = 0
    depth: int = 0

    def alone(self) -> Any:
        """The part in arrays of its own: slices of those of all its brothers would keep them in memory."""
        self.rows, self.weight = self.rows.copy(), self.weight.copy()
        return self


class Growth:
    """A tree of classes that is growing. A subclass says how to `choose` a test and how to `divide` a part by it.

    Parameters
    ----------
    n_features, n_classes, code : int
        The width of the rows, the number of classes, and what impurity is (`gains.ENTROPY` or `gains.GINI`).
    y, weight : arrays of shape (n_samples,)
        Classes from 0, and what each row weighs when it is whole.
    limits : Limits
        When to stop.
    """

    def __init__(
        self, n_features: int, n_classes: int, code: int, y: np.ndarray, weight: np.ndarray, limits: Any
    ) -> None:
        self.sprout = Sprout(n_features=n_features)
        self.n_classes, self.code, self.y, self.weight, self.limits = n_classes, code, y, weight, limits
        self.total = weight.sum()
        self.waiting: list[tuple[float, int, Any, Any]] = []

    def choose(self, part: Any) -> Any:
        """The best test for a part, with the `gain` it brings; None where there is none."""
        raise NotImplementedError

    def divide(self, part: Any, test: Any) -> Iterator[Any]:
        """The parts of the children."""
        raise NotImplementedError

    def tree(self, root: Any) -> Tree:
        """The tree, once nothing waits to be split."""
        most, leaves = self.limits.max_leaf_nodes, 1
        self.sprout.nodes.append({})
        self.settle(root)
        while self.waiting:
            _, node, part, test = heapq.heappop(self.waiting)
            leaves += test.n_children - 1
            if most is not None and leaves > most:
                leaves -= test.n_children - 1
                continue
            children = self.sprout.split(node, **test.arrays())
            for child, below in zip(children, self.divide(part, test)):
                below.node, below.depth = child, part.depth + 1
                self.settle(below)
        return self.sprout.tree(n_classes=[self.n_classes])

    def main(self, part: Any) -> np.ndarray:
        """Which entries of a part count as rows."""
        return part.weight >= MAIN * self.weight[part.rows] * (1 - TIE)

    def settle(self, part: Any) -> None:
        """Say what a node answers; if it is to be split, it waits for that with its test."""
        limits = self.limits
        counts = np.bincount(self.y[part.rows], weights=part.weight, minlength=self.n_classes)
        weight = float(counts.sum())
        self.sprout.set(
            part.node,
            value=[counts / weight],
            impurity=mass(counts, self.code) / weight,
            samples=len(part.rows),
            weight=weight,
            share=part.share,
        )
        if np.count_nonzero(counts) < 2 or part.depth >= limits.max_depth:
            return
        if self.main(part).sum() < max(limits.min_samples_split, 2 * limits.min_samples_leaf):
            return
        part = part.alone()
        test = self.choose(part)
        if test is not None and weight * test.gain >= (limits.min_impurity_decrease - TIE) * self.total:
            # The youngest is next (depth first), or under a limit of leaves the one that gains most.
            turn = -float(part.node) if limits.max_leaf_nodes is None else -weight * test.gain
            heapq.heappush(self.waiting, (turn, part.node, part, test))
