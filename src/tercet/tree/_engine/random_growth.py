"""Growth by random thresholds on dense rows, depth first: one target, no missing values, no categories.

Nothing is sorted: a node is a segment of the rows, and a column that it tries is read twice, for its range and for
the sums on the left of the threshold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.tree._engine.child_nodes import add_children, move_entry, partition_members, split_gain
from tercet.tree._engine.criteria import CODES, SQUARED, hashed
from tercet.tree._engine.general_search import better
from tercet.tree._engine.general_subtree import column_heap, next_column
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.presorted import INTERRUPT_ENTRIES, _assembled, _filled_arrays, entry_dtype
from tercet.tree._engine.presorted_gains import TWO_CLASSES
from tercet.tree._engine.presorted_nodes import (
    CHILD,
    IMPURITY,
    PENDING,
    SUMS,
    WEIGHT,
    NodeStore,
    PendingNode,
    add_root,
)
from tercet.tree._engine.presorted_scan import KernelLimits, ScanTarget, class_target, regression_target
from tercet.tree._engine.tree_arrays import TreeArrays


class Growth(NamedTuple):
    """What growth depth first has in common, whatever the rows are."""

    target: ScanTarget
    bounds: KernelLimits
    store: NodeStore
    members: np.ndarray  # the rows, with their classes in the low bits: each node is a segment
    goes_left: np.ndarray
    spare: np.ndarray
    left: np.ndarray  # sums of the left side


def new_growth(
    n: int, target: np.ndarray, weight: np.ndarray | None, n_classes: Any, criterion: str, limits: Limits
) -> Growth:
    """The root of a tree."""
    code = CODES[criterion]
    n_values = 2 if code == SQUARED else int(n_classes[0])  # the mean is in two parts
    numbers = code == SQUARED
    scanned = regression_target(target, weight) if numbers else class_target(n, n_values, weight, code)
    bounds = KernelLimits(
        int(limits.max_depth),
        int(limits.min_samples_split),
        int(limits.min_samples_leaf),
        float(limits.min_weight_leaf),
        float(limits.min_impurity_decrease),
        code,
        float(n if weight is None else weight.sum()),
        False,
    )
    store = NodeStore.empty(2 * n, n_values, 0, n)
    rows = np.arange(n, dtype=np.int64) << scanned.shift
    members = (rows if numbers else rows | target).astype(entry_dtype(n, scanned.shift))
    growth = Growth(
        scanned, bounds, store, members, np.empty(n, np.uint8), np.empty_like(members), np.zeros(n_values)
    )
    return growth


def grow_random(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    *,
    n_classes: Any,
    criterion: str,
    limits: Limits,
    seed: int,
) -> TreeArrays:
    """Grow a tree (`tercet.tree._engine.grow` has the parameters)."""
    n, d = X.shape
    growth = new_growth(n, target, weight, n_classes, criterion, limits)
    store = growth.store
    columns, values = np.ascontiguousarray(X.T, dtype=np.float64), np.empty(n)
    heap = np.empty(d, dtype=np.uint64)
    add_root(growth.members, n, growth.target, growth.bounds, store, 0, seed)
    while store.state[PENDING]:
        split_pending(columns, growth, limits.max_features or d, values, heap, INTERRUPT_ENTRIES)
    return grown_tree(store, d, growth.bounds.code)


def grown_tree(store: NodeStore, d: int, code: int) -> TreeArrays:
    """The tree of a store, its nodes level by level as in the general engine."""
    integers, reals, slots = _filled_arrays(store)
    order, place = level_order(integers[CHILD])
    integers, reals = integers[:, order], reals[:, order]
    inner = integers[CHILD] >= 0
    integers[CHILD, inner] = place[integers[CHILD, inner]]
    return _assembled((integers, reals, slots), [], [], d, code)


@kernel
def level_order(child):
    """The nodes level by level, and the place of each in that order."""
    order, place, count = np.zeros(child.size, np.int64), np.zeros(child.size, np.int64), 1
    for k in range(child.size):
        t = order[k]
        place[t] = k
        if child[t] >= 0:
            order[count], order[count + 1] = child[t], child[t] + 1
            count += 2
    return order, place


@kernel
def split_pending(columns, growth, n_tried, values, heap, work):
    """Split pending nodes, until so many values have been read."""
    store, members = growth.store, growth.members
    state, pending, reals, shift = store.state, store.pending, store.reals, np.uint64(growth.target.shift)
    while state[PENDING] > 0 and work > 0:
        state[PENDING] -= 1
        row = pending[state[PENDING]]
        job = PendingNode(row[0], row[1], row[2], row[3], row[4])
        work -= (job.stop - job.start) * n_tried
        here, sums = members[job.start : job.stop], reals[job.node, SUMS:]
        spread = reals[job.node, WEIGHT] * reals[job.node, IMPURITY]
        column_heap(np.uint64(job.key), heap)
        best, feature, threshold, tried, size = -np.inf, np.int64(-1), 0.0, 0, heap.size
        while tried < n_tried and size > 0:
            f = next_column(heap, size)
            size -= 1
            low, high = read_column(columns[f], here, shift, values)
            if not low < high:
                continue
            tried += 1
            cut = drawn_threshold(job.key, f, low, high)
            gain = threshold_gain(here, values, cut, sums, reals[job.node, WEIGHT], spread, growth)
            # of equal gains the first column
            same = feature > f and not better(best, gain, spread) and not np.isinf(gain)
            if better(gain, best, spread) or same:
                best, feature, threshold = gain, f, cut
        if feature >= 0 and not np.isinf(best):
            column = columns[feature]
            for i in range(here.size):
                e = np.uint64(here[i]) >> shift
                growth.goes_left[e] = column[e] <= threshold
            count = partition_members(
                members, job.start, job.stop, growth.goes_left, growth.target.shift, growth.spare
            )
            add_children(growth.target, growth.bounds, store, job, members, feature, threshold, count)


@inner
def read_column(column, here, shift, values):
    """Copy a node's values of a column; returns the least and the greatest."""
    low, high = np.inf, -np.inf
    for i in range(here.size):
        x = column[np.uint64(here[i]) >> shift]
        values[i] = x
        low = x if x < low else low
        high = x if x > high else high
    return low, high


@inner
def drawn_threshold(key, column, low, high):
    """The threshold that a node draws between the least and the greatest value of a column."""
    cut = low + hashed(np.uint64(key), 4 + 2 * column) / 4294967296.0 * (high - low)
    return cut if cut < high else low


@inner
def threshold_gain(here, values, cut, sums, weight, spread, growth):
    """The gain of a threshold; -inf where a side is too small."""
    left, target, count, mass = growth.left, growth.target, 0, 0.0
    if target.mode == TWO_CLASSES and target.weight is None:
        count, ones = two_class_counts(here, values, cut)
        left[0], left[1], mass = count - ones, ones, 1.0 * count
        return allowed_gain(count, here.size - count, mass, weight, spread, sums, growth)
    for k in range(left.size):
        left[k] = 0.0
    for i in range(here.size):
        below = values[i] <= cut
        count += below
        mass += move_entry(here[i], 1.0 if below else 0.0, target.shift, target.y, target.weight, sums, left)
    return allowed_gain(count, here.size - count, mass, weight, spread, sums, growth)


@inner
def two_class_counts(here, values, cut):
    """How many rows are up to the threshold, and how many of them are of class 1: sums that stay in registers."""
    count, ones = np.int64(0), np.int64(0)
    for i in range(here.size):
        below = np.int64(values[i] <= cut)
        count += below
        ones += below & np.int64(here[i])
    return count, ones


@inner
def allowed_gain(count, others, mass, weight, spread, sums, growth):
    """The gain of a split whose left side is in `growth.left`; -inf where a side is too small, 0 for rounding."""
    bounds, rest = growth.bounds, weight - mass
    if min(count, others) < bounds.min_leaf or min(mass, rest) < bounds.min_weight or min(mass, rest) <= 0.0:
        return -np.inf
    gain = split_gain(bounds.code, growth.left, sums, mass, rest, growth.target.y)
    return 0.0 if abs(gain) <= 1e-12 * spread else gain
