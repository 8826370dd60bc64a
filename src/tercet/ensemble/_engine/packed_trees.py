"""Many trees as one table of nodes, and the sum of their leaf values for each row.

Sixteen rows go down a tree side by side, level by level. A leaf is its own child, so that all rows take the same
number of steps and no branch has to be predicted; every few levels a look at the rows ends the descent early.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from tercet.core.kernel import kernel
from tercet.core.parallel import Chunks, each
from tercet.core.rows import read_only
from tercet.tree import Tree

LEAF, THRESHOLD, CATEGORY = 0, 1, 2  # kinds of nodes, as in `tercet.tree`
LANES = 16  # rows that go down a tree side by side
LOOK = 4  # levels between two looks at whether all of them are at a leaf
BLOCK_ROWS = 512  # rows of one task: their sums stay in the cache while the trees pass by
MANY_NODES = (
    1 << 15
)  # a table of more does not stay in a core's cache: eight times the rows for each pass over it


class PackedTrees(NamedTuple):
    """Node tables of several trees of thresholds, one after the other.

    A node is two words: its threshold, and the first of its children (itself at a leaf) in the upper half, the
    column and the side of missing values in the lower. `value` has shape (n_nodes, n_values). All trees are of the
    same `n_features` columns. A test of categories has the place of its first slot for a threshold, and their
    number in `slot_count`, which is -1 elsewhere, and empty where there are none.
    """

    root: np.ndarray
    depth: np.ndarray
    nodes: np.ndarray
    value: np.ndarray
    n_features: int
    slot_count: np.ndarray
    slots: np.ndarray

    @classmethod
    def of(cls, trees: Sequence[Tree], values: Sequence[np.ndarray], categories: bool = False) -> Self | None:
        """The trees with these values of their nodes; None where a test is not a threshold.

        Parameters
        ----------
        trees : sequence of Tree
            The trees.
        values : sequence of arrays of shape (n_nodes, n_values)
            What each of them adds to a row that ends at a node.
        categories : bool
            Whether tests of two sets of categories are packed, too.
        """
        plain = all(tree.only_thresholds for tree in trees)
        if not plain and not (categories and all(_one_way(tree) for tree in trees)):
            return None
        widths = {tree.n_features for tree in trees}
        if len(widths) > 1:
            raise ValueError(
                f"The trees are of {sorted(widths)} features; those of an ensemble have the same."
            )
        counts = np.array([tree.node_count for tree in trees])
        root = np.append(0, np.cumsum(counts)[:-1])
        kinds = np.concatenate([tree.child for tree in trees]) >= 0
        offset = np.repeat(root, counts)
        child = np.where(
            kinds, np.concatenate([tree.child for tree in trees]) + offset, np.arange(counts.sum())
        )
        feature = np.where(kinds, np.concatenate([tree.feature for tree in trees]), 0).astype(np.uint64)
        missing = np.where(kinds, np.concatenate([tree.missing for tree in trees]), 0).astype(np.uint64)
        nodes = np.empty((len(child), 2), np.uint64)
        nodes[:, 0] = np.where(kinds, np.concatenate([tree.threshold for tree in trees]), np.inf).view(
            np.uint64
        )
        slot_count, slots = np.empty(0, np.int32), np.empty(0, np.int8)
        if not plain:
            tests = np.concatenate([tree.kind for tree in trees]) == CATEGORY
            slot_count = np.where(tests, np.concatenate([tree.slot_count for tree in trees]), -1)
            slots = np.concatenate([tree.slots for tree in trees])
            first = np.cumsum([0, *(tree.slots.size for tree in trees)])[:-1]
            place = np.concatenate([tree.slot_start for tree in trees]) + np.repeat(first, counts)
            nodes[tests, 0] = place[tests].astype(np.uint64)
        nodes[:, 1] = child.astype(np.uint64) << np.uint64(32) | feature << np.uint64(1) | missing
        return cls(
            root.astype(np.int64),
            np.array([tree.max_depth for tree in trees], np.int64),
            nodes,
            np.ascontiguousarray(np.concatenate(values), dtype=np.float64),
            widths.pop(),
            slot_count.astype(np.int32),
            slots,
        )

    def sums(self, X: Any, n_jobs: int | None = None, start: int = 0, stop: int | None = None) -> np.ndarray:
        """For each row the sum over the trees `start` to `stop` of the values of its leaves, (n, n_values)."""
        if X.shape[1] != self.n_features:  # the kernel checks no bounds
            raise ValueError(
                f"X has {X.shape[1]} features; the trees were grown from {self.n_features} features."
            )
        out = np.zeros((X.shape[0], self.value.shape[1]))
        last = len(self.root) if stop is None else stop

        def add(chunk: tuple[Any, np.ndarray]) -> None:
            rows = chunk[0].toarray() if sparse.issparse(chunk[0]) else chunk[0]
            rows = read_only(np.ascontiguousarray(rows))
            if self.slot_count.size:
                tests = self.slot_count, self.slots
                add_mixed_values(rows, self.root, self.nodes, self.value, *tests, start, last, chunk[1])
            else:
                add_leaf_values(rows, self.root, self.depth, self.nodes, self.value, start, last, chunk[1])

        block = BLOCK_ROWS if len(self.nodes) <= MANY_NODES else 8 * BLOCK_ROWS

        if X.shape[0] <= BLOCK_ROWS:
            add((X, out))
        else:
            each(add, Chunks(X, out, rows=block), n_jobs=n_jobs)
        return out


def _one_way(tree: Tree) -> bool:
    """Whether every test is a threshold or of two sets of categories, and every row goes one way."""
    kinds = np.isin(tree.kind, (LEAF, THRESHOLD, CATEGORY)).all()
    return bool(kinds and tree.n_children.max(initial=0) <= 2 and not tree.shares)


_tables: WeakKeyDictionary[Any, tuple[list[Tree], Any]] = WeakKeyDictionary()


def kept_table(model: Any, trees: list[Tree], make: Callable[[], Any]) -> Any:
    """What `make` returns for the trees of a model, made once: for a single row it takes longer than the trees.

    It is no part of the model's state, and made again once the model has other trees.
    """
    known = _tables.get(model)
    if known is not None and known[0] == trees:  # trees are equal only to themselves
        return known[1]
    made = make()
    _tables[model] = list(trees), made
    return made


@kernel
def add_leaf_values(X, root, depth, nodes, value, start, stop, out):
    """Add to each row of `out` the values of the leaves that it comes to in the trees from `start` to `stop`."""
    n, node, threshold = X.shape[0], np.empty(LANES, np.uint64), nodes.view(np.float64)
    one, half, column = np.uint64(1), np.uint64(32), np.uint64(0x7FFFFFFF)
    for tree in range(start, stop):
        for first in range(0, n, LANES):
            size = min(LANES, n - first)
            rows = X[first : first + size]
            for k in range(size):
                node[k] = root[tree]
            level = 0
            while level < depth[tree]:
                for _ in range(LOOK):
                    for k in range(np.uint64(size)):
                        t = node[k]
                        word = nodes[t, 1]
                        x = rows[k, (word >> one) & column]
                        right = np.uint64(x > threshold[t, 0]) | (np.uint64(x != x) & word & one)
                        node[k] = (word >> half) + right
                level += LOOK
                moving = np.uint64(0)
                for k in range(size):
                    moving |= (nodes[node[k], 1] >> half) ^ node[k]
                if moving == np.uint64(0):
                    break
            sums = out[first : first + size]
            for k in range(size):
                for c in range(value.shape[1]):
                    sums[k, c] += value[node[k], c]


@kernel
def add_mixed_values(X, root, nodes, value, slot_count, slots, start, stop, out):
    """`add_leaf_values` for trees with tests of categories; a row whose category has no side ends at the test."""
    threshold, one, half, column = nodes.view(np.float64), np.uint64(1), np.uint64(32), np.uint64(0x7FFFFFFF)
    for tree in range(start, stop):
        for i in range(X.shape[0]):
            t = np.uint64(root[tree])
            while True:
                word = nodes[t, 1]
                child = word >> half
                if child == t:
                    break
                x = X[i, (word >> one) & column]
                if x != x:
                    side = word & one
                elif slot_count[t] < 0:
                    side = np.uint64(x > threshold[t, 0])
                else:
                    known = x >= 0.0 and x < slot_count[t]
                    slot = np.int64(slots[nodes[t, 0] + np.uint64(x)]) if known else np.int64(-1)
                    if slot < 0:
                        break
                    side = np.uint64(slot)
                t = child + side
            for c in range(value.shape[1]):
                out[i, c] += value[t, c]
