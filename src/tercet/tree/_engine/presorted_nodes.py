"""Nodes of presorted growth: their statistics, their split, and the partition of their rows.

The kernels take plain arrays out of the tuples once, as in `presorted_scan`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, noinline
from tercet.tree._engine.category_subsets import category_of
from tercet.tree._engine.criteria import hashed, midpoint
from tercet.tree._engine.presorted_scan import count_present, entry_value, find_split, node_statistics
from tercet.tree._engine.traversal import CATEGORY, LEAF, THRESHOLD

NODES, SLOTS, PENDING = 0, 1, 2  # indices in NodeStore.state
NEITHER, BOTH, LEFT, RIGHT = 0, 1, 2, 3  # which children of a node are split further


class PendingNode(NamedTuple):
    """A node that is to be split: its rows are the segment start .. stop of all lanes; `key` seeds its draws."""

    node: int
    start: int
    stop: int
    depth: int
    key: int


class NodeStore(NamedTuple):
    """Growing arrays of the nodes of a tree, or of a subtree, and the stack of pending nodes."""

    integers: np.ndarray  # (nodes, 7): the integer fields of each node
    reals: np.ndarray  # (nodes, 3 + values): the real fields, then class weights, or the mean in two parts
    slots: np.ndarray  # of all tests of categories, one after the other
    pending: np.ndarray  # (segments, 5): stack of PendingNode
    state: np.ndarray  # the numbers of nodes, slots and pending nodes

    @classmethod
    def empty(cls, nodes: int, values: int, slots: int, segments: int) -> NodeStore:
        """A store with room for so many nodes, slots and pending nodes."""
        numbers = np.empty((nodes, 7), dtype=np.int64), np.empty((nodes, 3 + values))
        rest = np.empty(slots, dtype=np.int16), np.empty((segments, 5), dtype=np.int64)
        return cls(*numbers, *rest, np.zeros(3, dtype=np.int64))

    def with_capacity(self, nodes: int, slots: int, segments: int) -> NodeStore:
        """The store itself, or a larger copy, so that so many more fit in."""
        sizes = len(self.integers), len(self.slots), len(self.pending)
        wanted = [n + more for n, more in zip(self.state.tolist(), (nodes, slots, segments))]
        if all(have >= want for have, want in zip(sizes, wanted)):
            return self
        n, s, w = (have if have >= want else 2 * want for have, want in zip(sizes, wanted))
        larger = NodeStore.empty(n, self.reals.shape[1] - 3, s, w)
        for old, new in zip(self, larger):
            new[: len(old)] = old
        return larger


KIND, FEATURE, CHILD, MISSING, SLOT_START, SLOT_COUNT, SAMPLES = range(7)  # columns of NodeStore.integers
THRESHOLD_AT, WEIGHT, IMPURITY, SUMS = range(4)  # columns of NodeStore.reals


@inner
def write_node(target, orders, start, stop, integers, reals, t):
    """Write the statistics of a node; until it is split it is a leaf."""
    fields, sums = reals[t], reals[t, SUMS:]
    y, w, code, shift = target.y, target.weight, target.code, target.shift
    fields[WEIGHT], fields[IMPURITY] = node_statistics(orders, start, stop, sums, y, w, code, shift)
    fields[THRESHOLD_AT] = -2.0
    fields = integers[t]
    fields[KIND], fields[FEATURE], fields[CHILD], fields[MISSING] = LEAF, -2, -1, 0
    fields[SLOT_START], fields[SLOT_COUNT], fields[SAMPLES] = 0, 0, stop - start


@inner
def is_splittable(bounds, samples, weight, impurity, depth):
    """Whether the limits allow a node to be split."""
    large = samples >= max(bounds.min_split, 2 * bounds.min_leaf) and weight >= 2.0 * bounds.min_weight
    return large and depth < bounds.max_depth and impurity > 0.0


@inner
def push_pending(pending, state, t, start, stop, depth, key):
    """Push a node onto the stack of pending nodes."""
    row = pending[state[PENDING]]
    row[0], row[1], row[2], row[3], row[4] = t, start, stop, depth, key
    state[PENDING] += 1


@kernel
def add_root(orders, size, target, bounds, store, depth, key):
    """Add the root, which has all rows."""
    t = store.state[NODES]
    write_node(target, orders, t, size, store.integers, store.reals, t)
    store.state[NODES] += 1
    if is_splittable(bounds, size, store.reals[t, WEIGHT], store.reals[t, IMPURITY], depth):
        push_pending(store.pending, store.state, t, t, size, depth, key)


@kernel
def grow_pending(sample, target, bounds, store, workspace, sets, goes_left, spare, max_features, work):
    """Split pending nodes depth first, left child first, until so many entries are scanned or the store is full.

    max_features : how many columns a node tries; -1 for all
    """
    state, pending, reals = store.state, store.pending, store.reals
    while state[PENDING] > 0 and work > 0 and state[SLOTS] + workspace.widest <= store.slots.size:
        state[PENDING] -= 1
        row = pending[state[PENDING]]
        t, start, stop, depth, key = row[0], row[1], row[2], row[3], row[4]
        work -= (stop - start) * sample.lane.size
        columns, sums = workspace.columns, reals[t, SUMS:]
        if max_features >= 0:
            columns = columns[: draw_columns(sample, max_features, start, stop, key, columns)]
        weight, spread = reals[t, WEIGHT], reals[t, WEIGHT] * reals[t, IMPURITY]
        best = find_split(sample, target, bounds, columns, start, stop, weight, spread, sums, workspace, sets)
        if best.column >= 0:
            job = PendingNode(t, start, stop, depth, key)
            split_further = split_sorted_node(
                sample, target, bounds, store, job, best, sets, goes_left, spare
            )
            partition_lanes(
                sample,
                0,
                sample.orders.size // sample.size,
                best.column,
                start,
                stop,
                split_further,
                goes_left,
                spare,
            )


@inner
def draw_columns(sample, max_features, start, stop, key, columns):
    """Draw the columns that a node tries: put them first, in the order of the draws, and return their number.

    Of columns that are equally good the first is taken: the order of the draws leaves that to chance, where their
    own order would favour the first ones in all trees of a forest. `max_features` are drawn, whether they are
    constant at the node or not, and more until one is not constant.
    """
    d, kept = columns.size, 0
    for i in range(d):
        columns[i] = i
    for i in range(d):
        if i >= max_features and kept > 0:
            break
        k = i + np.int64(hashed(key, i + BOTH) % np.uint64(d - i))
        j = columns[k]
        columns[k] = columns[i]
        columns[i] = columns[kept]
        if varies(sample, j, start, stop):
            columns[kept] = j
            kept += 1
    return kept


@inner
def varies(sample, column, start, stop):
    """Whether a column has different values at a node (a missing one is different too)."""
    if sample.lane[column] < 0:
        first, i = category_of(sample, sample.orders[start], column), start + 1
        while i < stop and category_of(sample, sample.orders[i], column) == first:
            i += 1
        return i < stop
    base = sample.lane[column] * sample.size
    low = entry_value(sample.X, sample.ids, sample.orders[base + start], sample.shift, column)
    high = entry_value(sample.X, sample.ids, sample.orders[base + stop - 1], sample.shift, column)
    return not np.isnan(low) and low != high


@inner
def split_sorted_node(sample, target, bounds, store, job, best, sets, goes_left, spare):
    """Write the test of a node and its children; returns which of them are split further (BOTH, LEFT, ...)."""
    X, ids, orders, shift = sample.X, sample.ids, sample.orders, sample.shift
    integers, reals = store.integers, store.reals
    t, column, at, left = job.node, best.column, best.below, best.left
    numeric, size, start, depth = sample.lane[column] >= 0, job.stop - job.start, job.start, job.depth + 1
    base, valid, threshold = max(sample.lane[column], 0) * sample.size + start, size, np.inf
    if sets is not None and not numeric:
        count = mark_left_categories(sample, column, base, size, sets.side, goes_left)
    else:
        if sample.holes[column]:
            valid = count_present(X, ids, orders, shift, column, base, size)
        if at < valid:
            low = entry_value(X, ids, orders[base + at - 1], shift, column)
            threshold = midpoint(low, entry_value(X, ids, orders[base + at], shift, column))
        count = mark_left_rows(orders, base, size, shift, valid, at, left, goes_left)
    if not numeric or left:  # else the threshold partitions the column's own lane already
        partition_stable(orders, base, base + size, goes_left, shift, spare)
    child = store.state[NODES]
    write_node(target, orders, base, base + count, integers, reals, child)
    write_node(target, orders, base + count, base + size, integers, reals, child + 1)
    a, b = reals[child], reals[child + 1]
    if bounds.min_decrease > 0.0:
        fall = reals[t, WEIGHT] * reals[t, IMPURITY] - a[WEIGHT] * a[IMPURITY] - b[WEIGHT] * b[IMPURITY]
        if fall / bounds.weight < bounds.min_decrease:
            return NEITHER
    store.state[NODES] += 2
    fields = integers[t]
    fields[KIND], fields[FEATURE], fields[CHILD] = THRESHOLD if numeric else CATEGORY, column, child
    fields[MISSING] = 0 if left or 2 * count > size else 1  # none is missing here: the larger child
    if sets is not None and not numeric:
        write_category_slots(store, fields, sets.side, sample.n_categories[column])
    else:
        reals[t, THRESHOLD_AT] = threshold
        if valid < size and not left:
            fields[MISSING] = 1
    grow_left = is_splittable(bounds, count, a[WEIGHT], a[IMPURITY], depth)
    grow_right = is_splittable(bounds, size - count, b[WEIGHT], b[IMPURITY], depth)
    pending, state = store.pending, store.state
    if grow_right:
        here = start + count if grow_left else start
        push_pending(
            pending,
            state,
            child + 1,
            here,
            here + size - count,
            depth,
            np.int64(hashed(job.key, np.int64(RIGHT))),
        )
    if grow_left:
        push_pending(
            pending, state, child, start, start + count, depth, np.int64(hashed(job.key, np.int64(LEFT)))
        )
    if grow_left:
        return BOTH if grow_right else LEFT
    return RIGHT if grow_right else NEITHER


@inner
def write_category_slots(store, fields, side, width):
    """Write the slots of a test of categories."""
    first = store.state[SLOTS]
    fields[SLOT_START], fields[SLOT_COUNT] = first, width
    for c in range(width):
        store.slots[first + c] = side[c]
    store.state[SLOTS] += width
    if side[width] >= 0:
        fields[MISSING] = side[width]


@inner
def mark_left_rows(orders, base, size, shift, valid, at, left, goes_left):
    """Mark the rows below the threshold and, with `left`, those without a value; returns their number."""
    shift, base = np.uint64(shift), np.uint64(base)
    for i in range(size):
        goes_left[np.uint64(orders[base + np.uint64(i)]) >> shift] = i < at or (left and i >= valid)
    return at + (size - valid if left else 0)


@inner
def mark_left_categories(sample, column, base, size, side, goes_left):
    """The same for a set of categories."""
    count = np.int64(0)
    for i in range(base, base + size):
        e = sample.orders[i]
        here = side[category_of(sample, e, column)] == 0
        goes_left[np.uint64(e) >> np.uint64(sample.shift)] = here
        count += here
    return count


@inner
def partition_lanes(sample, first, stop_lane, column, start, stop, split_further, goes_left, spare):
    """Partition the segment of a split node in some lanes: the left rows first, or only the side that is split
    further."""
    orders, size, shift = sample.orders, sample.size, sample.shift
    own = max(sample.lane[column], 0)
    if split_further == NEITHER:
        return
    for k in range(first, stop_lane):
        base = k * size
        if split_further != BOTH:
            keep_side(orders, base + start, base + stop, goes_left, split_further == LEFT, shift)
        elif k != own:  # `split_sorted_node` has partitioned that one
            partition_stable(orders, base + start, base + stop, goes_left, shift, spare)


@noinline
def partition_stable(orders, start, stop, goes_left, shift, spare):
    """Move the entries of a segment whose rows go left to its front; both sides keep their order."""
    shift, one = np.uint64(shift), np.uint64(1)
    front, back = np.uint64(start), np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        e = orders[i]
        go = np.uint64(goes_left[np.uint64(e) >> shift])
        orders[front] = e
        spare[back] = e
        front += go
        back += one - go
    copy_entries(orders, front, spare, back)


@inner
def copy_entries(orders, start, spare, count):
    """Copy so many entries to `orders`, from `start` on."""
    for i in range(count):
        orders[start + np.uint64(i)] = spare[i]


@inner
def keep_side(orders, start, stop, goes_left, side, shift):
    """Move the entries of one side of a segment (1: left) to its front."""
    shift, front = np.uint64(shift), np.uint64(start)
    for i in range(np.uint64(start), np.uint64(stop)):
        e = orders[i]
        orders[front] = e
        front += np.uint64(goes_left[np.uint64(e) >> shift] == side)


@kernel
def renumber_lanes(orders, size, start, stop, shift, place, out):
    """Copy a segment of all lanes to `out`, with its rows renumbered from 0 in the order of the first lane."""
    m, shift = stop - start, np.uint64(shift)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(m):
        place[np.uint64(orders[start + i]) >> shift] = i
    for k in range(orders.size // size):
        entries, own = orders[k * size + start : k * size + stop], out[k * m : (k + 1) * m]
        for i in range(m):
            e = np.uint64(entries[i])
            own[i] = np.uint64(place[e >> shift]) << shift | (e & mask)
