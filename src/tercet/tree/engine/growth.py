"""Nodes that are being grown: find the best split of one, write it down, divide its rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.tree.engine.criteria import hashed, midpoint
from tercet.tree.engine.cuts import find_split, present, value
from tercet.tree.engine.orders import divide, keep
from tercet.tree.engine.subsets import code_of
from tercet.tree.engine.targets import describe
from tercet.tree.structure import CATEGORY, LEAF, THRESHOLD

NODES, SLOTS, WAITING = 0, 1, 2  # places in Growth.state
NEITHER, BOTH, LEFT, RIGHT = 0, 1, 2, 3  # which children of a node go on growing


class Job(NamedTuple):
    """A node that waits to be split: its rows are the same stretch of all lanes; `key` decides what it draws."""

    node: int
    start: int
    stop: int
    depth: int
    key: int


class Growth(NamedTuple):
    """The nodes of a tree, or of a subtree, that is being grown, and the stretches of rows that wait."""

    whole: np.ndarray  # (nodes, 7): the whole numbers that belong to a node
    real: np.ndarray  # (nodes, 3 + values): the others; then class weights, or the mean
    slots: np.ndarray  # of all tests of categories
    waiting: np.ndarray  # (stretches, 5): jobs
    state: np.ndarray  # how many nodes, slots and stretches there are

    @classmethod
    def empty(cls, nodes: int, values: int, slots: int, stretches: int) -> Growth:
        """Room for so many."""
        numbers = np.empty((nodes, 7), dtype=np.int64), np.empty((nodes, 3 + values))
        rest = np.empty(slots, dtype=np.int16), np.empty((stretches, 5), dtype=np.int64)
        return cls(*numbers, *rest, np.zeros(3, dtype=np.int64))

    def with_room(self, nodes: int, slots: int, stretches: int) -> Growth:
        """A growth in which that much more finds room: itself, or a larger copy."""
        sizes = len(self.whole), len(self.slots), len(self.waiting)
        wanted = [n + more for n, more in zip(self.state.tolist(), (nodes, slots, stretches))]
        if all(have >= want for have, want in zip(sizes, wanted)):
            return self
        n, s, w = (have if have >= want else 2 * want for have, want in zip(sizes, wanted))
        larger = Growth.empty(n, self.real.shape[1] - 3, s, w)
        for old, new in zip(self, larger):
            new[: len(old)] = old
        return larger


KIND, FEATURE, CHILD, MISSING, SLOT_START, SLOT_COUNT, SAMPLES = range(7)  # places in Growth.whole
THRESHOLD_AT, WEIGHT, IMPURITY, SUMS = range(4)  # places in Growth.real


@inner
def enter(target, orders, start, stop, whole, real, t):
    """Write down what a node holds; until it is split it is a leaf."""
    facts, sums = real[t], real[t, SUMS:]
    y, w, code, shift, noise = target.y, target.weight, target.code, target.shift, target.noise
    facts[WEIGHT], facts[IMPURITY] = describe(orders, start, stop, sums, y, w, code, shift, noise)
    facts[THRESHOLD_AT] = -2.0
    facts = whole[t]
    facts[KIND], facts[FEATURE], facts[CHILD], facts[MISSING] = LEAF, -2, -1, 0
    facts[SLOT_START], facts[SLOT_COUNT], facts[SAMPLES] = 0, 0, stop - start


@inner
def splittable(bounds, samples, weight, mixed, depth):
    """Do the limits allow a node to be split?"""
    large = samples >= max(bounds.min_split, 2 * bounds.min_leaf) and weight >= 2.0 * bounds.min_weight
    return large and depth < bounds.max_depth and mixed > 0.0


@inner
def wait(waiting, state, t, start, stop, depth, key):
    """Put a node among those that wait."""
    row = waiting[state[WAITING]]
    row[0], row[1], row[2], row[3], row[4] = t, start, stop, depth, key
    state[WAITING] += 1


@kernel
def plant(orders, size, target, bounds, growth, depth, key):
    """The first node: all rows."""
    t = growth.state[NODES]
    enter(target, orders, t, size, growth.whole, growth.real, t)
    growth.state[NODES] += 1
    if splittable(bounds, size, growth.real[t, WEIGHT], growth.real[t, IMPURITY], depth):
        wait(growth.waiting, growth.state, t, t, size, depth, key)


@kernel
def grow_some(sample, target, bounds, growth, room, sets, goes, spare, max_features, work):
    """Split the nodes that wait, the left child first, until that much work is done or there is no more room."""
    state, waiting, real = growth.state, growth.waiting, growth.real
    while state[WAITING] > 0 and work > 0 and state[SLOTS] + room.widest <= growth.slots.size:
        state[WAITING] -= 1
        row = waiting[state[WAITING]]
        t, start, stop, depth, key = row[0], row[1], row[2], row[3], row[4]
        work -= (stop - start) * sample.lane.size
        columns, sums = room.columns, real[t, SUMS:]
        if max_features is not None:
            columns = columns[: choose(sample, max_features, start, stop, key, columns)]
        weight, spread = real[t, WEIGHT], real[t, WEIGHT] * real[t, IMPURITY]
        best = find_split(sample, target, bounds, columns, start, stop, weight, spread, sums, room, sets)
        if best.column >= 0:
            job = Job(t, start, stop, depth, key)
            going = divide_node(sample, target, bounds, growth, job, best, sets, goes, spare)
            part(sample, 0, sample.orders.size // sample.size, best.column, start, stop, going, goes, spare)


@inner
def choose(sample, max_features, start, stop, key, columns):
    """Put the columns that a node tries first, by rising number, and say how many they are.

    So many are drawn as are asked for, without regard to whether they are constant at the node, but at least one
    that is not.
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
            at = kept
            while at > 0 and columns[at - 1] > j:  # those that are kept stand in order
                columns[at] = columns[at - 1]
                at -= 1
            columns[at] = j
            kept += 1
    return kept


@inner
def varies(sample, column, start, stop):
    """Does a column have different values at a node (a missing one is different too)?"""
    if sample.lane[column] < 0:
        first, i = code_of(sample, sample.orders[start], column), start + 1
        while i < stop and code_of(sample, sample.orders[i], column) == first:
            i += 1
        return i < stop
    base = sample.lane[column] * sample.size
    low = value(sample.X, sample.ids, sample.orders[base + start], sample.shift, column)
    high = value(sample.X, sample.ids, sample.orders[base + stop - 1], sample.shift, column)
    return not np.isnan(low) and low != high


@inner
def divide_node(sample, target, bounds, growth, job, best, sets, goes, spare):
    """Give a node its test and its children; says which of them go on growing, whose rows must then be parted."""
    X, ids, orders, shift = sample.X, sample.ids, sample.orders, sample.shift
    whole, real = growth.whole, growth.real
    t, column, at, left = job.node, best.column, best.below, best.left
    numeric, size, start, depth = sample.lane[column] >= 0, job.stop - job.start, job.start, job.depth + 1
    base, valid, threshold = max(sample.lane[column], 0) * sample.size + start, size, np.inf
    if sets is not None and not numeric:
        count = mark_categories(sample, column, base, size, sets.side, goes)
    else:
        if sample.holes[column]:
            valid = present(X, ids, orders, shift, column, base, size)
        if at < valid:
            low = value(X, ids, orders[base + at - 1], shift, column)
            threshold = midpoint(low, value(X, ids, orders[base + at], shift, column))
        count = mark(orders, base, size, shift, valid, at, left, goes)
    if not numeric or left:  # else the column's own lane is parted by the split itself
        divide(orders, base, base + size, goes, shift, spare)
    child = growth.state[NODES]
    enter(target, orders, base, base + count, whole, real, child)
    enter(target, orders, base + count, base + size, whole, real, child + 1)
    a, b = real[child], real[child + 1]
    if bounds.min_decrease > 0.0:
        fall = real[t, WEIGHT] * real[t, IMPURITY] - a[WEIGHT] * a[IMPURITY] - b[WEIGHT] * b[IMPURITY]
        if fall / bounds.weight + np.finfo(np.float64).eps < bounds.min_decrease:
            return NEITHER
    growth.state[NODES] += 2
    facts = whole[t]
    facts[KIND], facts[FEATURE], facts[CHILD] = THRESHOLD if numeric else CATEGORY, column, child
    facts[MISSING] = 0 if left or 2 * count > size else 1  # none was missing: to where most rows go
    if sets is not None and not numeric:
        write_slots(growth, facts, sets.side, sample.n_categories[column])
    else:
        real[t, THRESHOLD_AT] = threshold
        if valid < size and not left:
            facts[MISSING] = 1
    grow_left = splittable(bounds, count, a[WEIGHT], a[IMPURITY], depth)
    grow_right = splittable(bounds, size - count, b[WEIGHT], b[IMPURITY], depth)
    waiting, state = growth.waiting, growth.state
    if grow_right:
        here = start + count if grow_left else start
        wait(
            waiting,
            state,
            child + 1,
            here,
            here + size - count,
            depth,
            np.int64(hashed(job.key, np.int64(RIGHT))),
        )
    if grow_left:
        wait(waiting, state, child, start, start + count, depth, np.int64(hashed(job.key, np.int64(LEFT))))
    if grow_left:
        return BOTH if grow_right else LEFT
    return RIGHT if grow_right else NEITHER


@inner
def write_slots(growth, facts, side, width):
    """Write down the slots of a test of categories."""
    first = growth.state[SLOTS]
    facts[SLOT_START], facts[SLOT_COUNT] = first, width
    for c in range(width):
        growth.slots[first + c] = side[c]
    growth.state[SLOTS] += width
    if side[width] >= 0:
        facts[MISSING] = side[width]


@inner
def mark(orders, base, size, shift, valid, at, left, goes):
    """Mark the rows that go left: those below the threshold, and it may be those without a value. How many?"""
    shift, base = np.uint64(shift), np.uint64(base)
    for i in range(size):
        goes[np.uint64(orders[base + np.uint64(i)]) >> shift] = i < at or (left and i >= valid)
    return at + (size - valid if left else 0)


@inner
def mark_categories(sample, column, base, size, side, goes):
    """The same for a set of categories."""
    count = np.int64(0)
    for i in range(base, base + size):
        e = sample.orders[i]
        here = side[code_of(sample, e, column)] == 0
        goes[np.uint64(e) >> np.uint64(sample.shift)] = here
        count += here
    return count


@inner
def part(sample, first, stop_lane, column, start, stop, going, goes, spare):
    """Part the rows of a split node in some of the lanes: the left ones first, or only those that are needed."""
    orders, size, shift = sample.orders, sample.size, sample.shift
    own = max(sample.lane[column], 0)
    if going == NEITHER:
        return
    for k in range(first, stop_lane):
        base = k * size
        if going != BOTH:
            keep(orders, base + start, base + stop, goes, going == LEFT, shift)
        elif k != own:  # `divide_node` has seen to that one
            divide(orders, base + start, base + stop, goes, shift, spare)


@kernel
def relabel(orders, size, start, stop, shift, place, out):
    """A stretch of all lanes as orders of their own, whose rows are numbered from 0 as the first lane has them."""
    m, shift = stop - start, np.uint64(shift)
    mask = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(m):
        place[np.uint64(orders[start + i]) >> shift] = i
    for k in range(orders.size // size):
        entries, own = orders[k * size + start : k * size + stop], out[k * m : (k + 1) * m]
        for i in range(m):
            e = np.uint64(entries[i])
            own[i] = np.uint64(place[e >> shift]) << shift | (e & mask)
