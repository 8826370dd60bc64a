"""The walks of rows through a tree, and sums along its branches.

A test says which child a row goes to, by the child's place among its brothers (its slot):

- THRESHOLD  x[feature] <= threshold: slot 0, else slot 1;
- CATEGORY   slots[slot_start + x[feature]], one child for each value or one for each of two sets of values;
- LINEAR     coef[slot_start] · x <= threshold: slot 0, else slot 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel

LEAF, THRESHOLD, CATEGORY, LINEAR = 0, 1, 2, 3
SHARED = -1  # what `missing` says where a row without the value goes to all children
NOWHERE = -1  # the slot of a category that no row of the node had
LANES = 16  # rows that walk side by side: while one waits for its node's memory, the others go on


class Nodes(NamedTuple):
    """The arrays that a walk reads."""

    kind: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    n_children: np.ndarray
    missing: np.ndarray
    share: np.ndarray
    slot_start: np.ndarray
    slot_count: np.ndarray
    slots: np.ndarray
    coef: np.ndarray


class Thresholds(NamedTuple):
    """A tree of thresholds only, in which a leaf is its own child on either side of infinity."""

    feature: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    missing: np.ndarray


def thresholds(nodes: Nodes) -> Thresholds | None:
    """The short form of a tree, where it has one: then walks take half the time."""
    leaf = nodes.kind == LEAF
    if not (leaf | ((nodes.kind == THRESHOLD) & (nodes.missing != SHARED))).all():
        return None
    return Thresholds(
        np.where(leaf, 0, nodes.feature),
        np.where(leaf, np.inf, nodes.threshold),
        np.where(leaf, np.arange(leaf.size, dtype=np.int32), nodes.child),
        np.where(leaf, 0, nodes.missing),
    )


def arrivals_in_step(X: np.ndarray, tree: Thresholds) -> np.ndarray:
    """Where each walk ends in a tree of thresholds."""
    at = np.zeros(len(X), dtype=np.int64)
    walk_in_step(X, tree, at, np.arange(LANES, dtype=np.int64), np.zeros(LANES, dtype=np.int64))
    return at


@kernel
def walk_in_step(X, tree, at, row, node):
    """Lane k holds the place of one row that walks; a row that arrives makes way for the next."""
    n = X.shape[0]
    walking = min(LANES, n)
    waiting = walking  # the first row that has not set out
    while walking > 0:
        k = 0
        while k < walking:
            t = np.uint64(node[k])
            x = X[np.uint64(row[k]), np.uint64(tree.feature[t])]
            slot = np.int64(x > tree.threshold[t])
            if np.isnan(x):
                slot = np.int64(tree.missing[t])
            follows = np.int64(tree.child[t]) + slot
            if follows != node[k]:
                node[k] = follows
                k += 1
                continue
            at[row[k]] = follows
            if waiting < n:
                row[k], node[k] = waiting, 0
                waiting += 1
                k += 1
            else:
                walking -= 1
                row[k], node[k] = row[walking], node[walking]


@kernel
def arrivals(X, nodes):
    """The node at which each row's walk ends."""
    at = np.zeros(X.shape[0], dtype=np.int64)
    for i in range(X.shape[0]):
        t = np.int64(0)
        while nodes.kind[t] != LEAF:
            slot = slot_of(X, i, nodes, t)
            if slot == -2:
                slot = np.int64(nodes.missing[t])
                if slot == SHARED:
                    slot = largest(nodes, t)
            elif slot < 0:
                break
            t = np.int64(nodes.child[t]) + slot
        at[i] = t
    return at


@inner
def slot_of(X, i, nodes, t):
    """The slot that row i takes at node t; -2 when its value is missing, -1 when its category is strange."""
    kind = nodes.kind[t]
    if kind == LINEAR:
        w = nodes.coef[nodes.slot_start[t]]
        total = 0.0
        for j in range(w.size):
            if w[j] != 0.0:
                total += w[j] * X[i, j]
        if np.isnan(total):
            return -2
        return 0 if total <= nodes.threshold[t] else 1
    x = X[i, nodes.feature[t]]
    if np.isnan(x):
        return -2
    if kind == THRESHOLD:
        return 0 if x <= nodes.threshold[t] else 1
    code = np.int64(x) if x >= 0.0 and x < nodes.slot_count[t] else np.int64(-1)
    return -1 if code < 0 else np.int64(nodes.slots[nodes.slot_start[t] + code])


@inner
def largest(nodes, t):
    """The slot of the child with the greatest share."""
    best = np.int64(0)
    for k in range(1, nodes.n_children[t]):
        if nodes.share[nodes.child[t] + k] > nodes.share[nodes.child[t] + best]:
            best = np.int64(k)
    return best


@kernel
def spread(X, nodes, value):
    """What the leaves answer that each row reaches, in proportion to the shares of it that get there."""
    out = np.zeros((X.shape[0], value.shape[1]))
    # A row waits at no node twice: one place for each will do.
    waiting = np.empty(nodes.kind.size, dtype=np.int64)
    part = np.empty(nodes.kind.size)
    for i in range(X.shape[0]):
        waiting[0], part[0], count = 0, 1.0, 1
        while count > 0:
            count -= 1
            t, mass, divided = waiting[count], part[count], False
            while nodes.kind[t] != LEAF:
                slot = slot_of(X, i, nodes, t)
                if slot == -2:
                    slot = np.int64(nodes.missing[t])
                    divided = slot == SHARED
                if divided or slot < 0:
                    break
                t = np.int64(nodes.child[t]) + slot
            if divided:
                for k in range(nodes.n_children[t]):
                    waiting[count] = nodes.child[t] + k
                    part[count] = mass * nodes.share[nodes.child[t] + k]
                    count += 1
            else:
                for k in range(value.shape[1]):
                    out[i, k] += mass * value[t, k]
    return out


@kernel
def along_branches(parent, own):
    """For every node the sum of `own` over itself and all nodes above it, but the root."""
    total = np.zeros(parent.size, dtype=np.int64)
    for t in range(1, parent.size):
        total[t] = total[parent[t]] + own[t]
    return total
