"""Children of a node whose rows have been partitioned, for growth depth first; gains of a split from its sums."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner
from tercet.tree._engine.criteria import ENTROPY, GINI, hashed
from tercet.tree._engine.presorted_nodes import (
    BOTH,
    CHILD,
    FEATURE,
    IMPURITY,
    KIND,
    LEFT,
    MISSING,
    NEITHER,
    NODES,
    RIGHT,
    THRESHOLD_AT,
    WEIGHT,
    is_splittable,
    push_pending,
    write_node,
)
from tercet.tree._engine.traversal import THRESHOLD


@inner
def add_children(target, bounds, store, job, members, feature, threshold, count):
    """Write the test of a node and its children, and push those that are split further; returns which (BOTH, ...).

    members: the rows of all nodes; those of this one are partitioned, `count` of them on the left.
    """
    integers, reals, pending, state = store.integers, store.reals, store.pending, store.state
    t, start, stop, depth, child = job.node, job.start, job.stop, job.depth + 1, store.state[NODES]
    write_node(target, members, start, start + count, integers, reals, child)
    write_node(target, members, start + count, stop, integers, reals, child + 1)
    a, b = reals[child], reals[child + 1]
    if bounds.min_decrease > 0.0:
        fall = reals[t, WEIGHT] * reals[t, IMPURITY] - a[WEIGHT] * a[IMPURITY] - b[WEIGHT] * b[IMPURITY]
        if fall / bounds.weight < bounds.min_decrease:
            return NEITHER
    state[NODES] += 2
    fields = integers[t]
    fields[KIND], fields[FEATURE], fields[CHILD] = THRESHOLD, feature, child
    fields[MISSING] = 0 if 2 * count > stop - start else 1  # none is missing here: the larger child
    reals[t, THRESHOLD_AT] = threshold
    grow_left = is_splittable(bounds, count, a[WEIGHT], a[IMPURITY], depth)
    grow_right = is_splittable(bounds, stop - start - count, b[WEIGHT], b[IMPURITY], depth)
    key = np.uint64(job.key)
    if grow_right:
        push_pending(pending, state, child + 1, start + count, stop, depth, np.int64(hashed(key, 2)))
    if grow_left:
        push_pending(pending, state, child, start, start + count, depth, np.int64(hashed(key, 1)))
    if grow_left:
        return BOTH if grow_right else LEFT
    return RIGHT if grow_right else NEITHER


@inner
def partition_members(members, start, stop, goes_left, shift, spare):
    """Move the rows that go left to the front, both sides in their order; returns how many they are."""
    shift, one = np.uint64(shift), np.uint64(1)
    front, back = np.uint64(start), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        e = members[i]
        go = np.uint64(goes_left[np.uint64(e) >> shift])
        members[front] = e
        spare[back] = e
        front += go
        back += one - go
    for i in range(back):
        members[front + np.uint64(i)] = spare[i]
    return np.int64(front) - start


@inner
def move_entry(entry, sign, shift, y, w, sums, left):
    """Add a row to the class weights or the sum of deviations of a side, or take it off; returns its weight."""
    e = np.uint64(entry)
    row = e >> np.uint64(shift)
    more = sign if w is None else sign * w[row]
    if y is None:
        left[e & ((np.uint64(1) << np.uint64(shift)) - np.uint64(1))] += more
    else:
        left[0] += more * ((y[row] - sums[0]) - sums[1])
    return more


@inner
def split_gain(code, left, sums, mass, rest, y):
    """The decrease of the impurity, times the weight of the node, by a split with these sums on the left."""
    if y is not None:
        return left[0] * left[0] * (mass + rest) / (mass * rest)
    one, other, whole = 0.0, 0.0, 0.0
    for k in range(sums.size):
        a, b, c = max(left[k], 0.0), max(sums[k] - left[k], 0.0), sums[k]
        if code == GINI:
            one += a * a
            other += b * b
            whole += c * c
        elif code == ENTROPY and c > 0.0:
            one += a * np.log2(a / mass) if a > 0.0 else 0.0
            other += b * np.log2(b / rest) if b > 0.0 else 0.0
            whole += c * np.log2(c / (mass + rest))
    if code == GINI:
        return one / mass + other / rest - whole / (mass + rest)
    return one + other - whole
