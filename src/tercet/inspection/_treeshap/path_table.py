"""The edges of many trees in preorder, with what the paths through them have in common.

An edge leads from a test to a child. Beside the edges of a tree there is one without a child at every test of
categories, which is taken by a row whose category the test does not know: the row ends there, with the value of the
node. Such an edge has no share of the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from tercet.core.kernel import inner, kernel

LEAF, THRESHOLD, CATEGORY = 0, 1, 2  # kinds of nodes, as in `tercet.tree`
SHARED = -1  # value of `missing` where a row without the value goes to all children
UNKNOWN = -1  # the slot of a category that a test does not know
DIVIDED = -2  # the slot of a row that goes to all children


class Tests(NamedTuple):
    """The tests of all nodes."""

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing: np.ndarray
    slot_start: np.ndarray
    slot_count: np.ndarray
    slots: np.ndarray


class PathTable(NamedTuple):
    """Edges and nodes of all trees, one tree after the other.

    Edges, in preorder: `parent` and `slot` say which branch of which node it is, `node` has the value that a row
    gets which ends there, `depth` is 1 below the root, `leaf` whether paths end here. `above` is the depth of the
    last edge of the same feature on the path (0: none), `share` the part of the parent's rows that go here, and
    `zero` the product of the shares of all edges of the feature on the path.
    """

    first_edge: np.ndarray  # (n_trees + 1,)
    root: np.ndarray  # (n_trees,)
    n_path: np.ndarray  # (n_trees,): the most features on a path
    max_depth: np.ndarray  # (n_trees,)
    score: np.ndarray  # (n_trees,): the first score that the tree adds to
    # edges
    node: np.ndarray
    parent: np.ndarray
    slot: np.ndarray
    depth: np.ndarray
    leaf: np.ndarray
    feature: np.ndarray
    above: np.ndarray
    share: np.ndarray
    zero: np.ndarray
    missing_share: np.ndarray  # of a row without the value, where it is divided
    # nodes
    tests: Tests
    value: np.ndarray  # (n_nodes, n_values)

    @classmethod
    def of(
        cls, trees: Sequence[Any], values: Sequence[np.ndarray], covers: Sequence[np.ndarray], scores: Any
    ) -> Self:
        """The table of some trees.

        Parameters
        ----------
        trees : sequence of Tree
            Their tests are of single features.
        values, covers : sequences of arrays of shape (n_nodes, n_values) and (n_nodes,)
            What each node adds, and the weight of its training rows.
        scores : sequence of int
            The first score that each tree adds to.
        """
        nodes = np.cumsum([0, *(tree.node_count for tree in trees)])
        n_slots = np.cumsum([0, *(tree.slots.size for tree in trees)])
        parts = [
            edges_of(tree.kind, tree.feature, tree.child, tree.n_children, np.ascontiguousarray(cover, float))
            for tree, cover in zip(trees, covers)
        ]
        edges = [np.concatenate([part[k] for part in parts]) for k in range(9)]
        counts = [len(part[0]) for part in parts]
        offset = np.repeat(nodes[:-1], counts)
        edges[0] += offset
        edges[1] += offset
        joined = {
            name: np.concatenate([getattr(tree, name) for tree in trees])
            for name in (*Tests._fields, "share")
        }
        joined["slots"] = joined["slots"].astype(np.int32)  # of all trees, as kernels were compiled for
        joined["slot_start"] = joined["slot_start"] + np.repeat(n_slots[:-1], np.diff(nodes))
        of_nodes = [joined[name] for name in Tests._fields]
        fields: list[Any] = [
            np.cumsum([0, *counts]),
            nodes[:-1],
            np.array([part[9] for part in parts]),
            np.array([part[3].max(initial=0) for part in parts]),
            np.asarray(scores, dtype=np.int64),
            *edges,
            np.where(edges[2] >= 0, joined["share"][edges[0]], 0.0),
            Tests(*(one if one.dtype.kind == "f" else one.astype(np.int64) for one in of_nodes)),
            np.ascontiguousarray(np.concatenate(values), dtype=np.float64),
        ]
        return cls(*fields)


@kernel
def edges_of(kind, feature, child, n_children, cover):
    """The arrays of the edges of one tree (see `PathTable`), and the most features on a path."""
    n = kind.size
    size = n - 1
    for t in range(n):
        size += kind[t] == CATEGORY
    node, parent, slot = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    depth, leaf, column = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    above, share, zero = np.empty(size, np.int64), np.empty(size), np.empty(size)
    # of the path to the edge in hand: its edges by depth, and how many features they have
    path, features = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    waiting_node, waiting_slot = np.empty(size + 1, np.int64), np.empty(size + 1, np.int64)
    waiting_depth = np.empty(size + 1, np.int64)
    waiting = push_children(0, 1, kind, n_children, waiting_node, waiting_slot, waiting_depth, 0)
    e, most = 0, 0
    while waiting > 0:
        waiting -= 1
        t, k, d = waiting_node[waiting], waiting_slot[waiting], waiting_depth[waiting]
        c = child[t] + k if k >= 0 else t
        parent[e], slot[e], depth[e], node[e], column[e] = t, k, d, c, feature[t]
        leaf[e] = k < 0 or kind[c] == LEAF
        share[e] = 0.0
        if k >= 0:
            share[e] = cover[c] / cover[t] if cover[t] > 0.0 else 1.0 / n_children[t]
        up = d - 1
        while up > 0 and column[path[up]] != feature[t]:
            up -= 1
        above[e] = up
        zero[e] = share[e] * (zero[path[up]] if up > 0 else 1.0)
        path[d] = e
        features[d] = features[d - 1] + (up == 0)
        most = max(most, features[d])
        if not leaf[e]:
            waiting = push_children(
                c, d + 1, kind, n_children, waiting_node, waiting_slot, waiting_depth, waiting
            )
        e += 1
    return node, parent, slot, depth, leaf, column, above, share, zero, most


@inner
def push_children(t, d, kind, n_children, waiting_node, waiting_slot, waiting_depth, waiting):
    """Put the branches of node t on the stack, the last first; returns its new height."""
    lowest = -1 if kind[t] == CATEGORY else 0
    for k in range(n_children[t] - 1, lowest - 1, -1):
        waiting_node[waiting], waiting_slot[waiting], waiting_depth[waiting] = t, k, d
        waiting += 1
    return waiting


@inner
def slot_at(tests, t, x):
    """The branch of node t that a value takes: its slot, UNKNOWN or DIVIDED."""
    if x != x:
        slot = tests.missing[t]
        return DIVIDED if slot == SHARED else slot
    if tests.kind[t] == THRESHOLD:
        return np.int64(x > tests.threshold[t])
    if x >= 0.0 and x < tests.slot_count[t]:
        return tests.slots[tests.slot_start[t] + np.int64(x)]
    return np.int64(UNKNOWN)


@inner
def one_fraction(own, branch, missing_share):
    """The part of a row that takes the branch `own` of a test, where it takes `branch`."""
    if branch == DIVIDED:
        return missing_share
    return 1.0 if branch == own else 0.0
