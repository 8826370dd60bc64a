"""Growth of a whole subtree in one kernel call: what `general` does node by node, for a node of few rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.tree._engine.criteria import hashed
from tercet.tree._engine.general_costs import node_value
from tercet.tree._engine.general_search import CUT, GAIN, MISSING, best_cuts, best_result


class SubtreeRules(NamedTuple):
    """Stopping criteria of a subtree, and how its nodes are searched."""

    depth: int
    rows: int  # the fewest of a node that is split
    gain: float  # the least of a split
    columns: int  # how many are tried at each node
    least: np.ndarray  # rows and weight of a side, at the least
    random: bool
    signs: np.ndarray  # zeros: monotonic columns are not searched here
    bounds: np.ndarray  # -inf and inf


class SubtreeNodes(NamedTuple):
    """Nodes in the order of a tree's arrays; those with a child of -1 are leaves."""

    child: np.ndarray
    feature: np.ndarray
    cut: np.ndarray
    missing: np.ndarray
    value: np.ndarray
    impurity: np.ndarray
    samples: np.ndarray
    weight: np.ndarray


def sorted_rows(values: np.ndarray) -> np.ndarray:
    """The order of the values in each row, missing ones last, as int32: all orders here have one type."""
    return np.argsort(values, axis=-1, kind="stable").astype(np.int32)


@kernel
def grow_subtree(columns, target, weight, orders, sorting, code, n_values, rules, key):
    """Grow a node and all below it; `orders` and `sorting` (of the targets, for medians) are used up."""
    d, n = columns.shape
    most = 2 * n - 1
    child, missing = np.full(most, -1, dtype=np.int64), np.zeros(most, dtype=np.int64)
    feature, cut = np.full(most, -2, dtype=np.int64), np.full(most, -2.0)
    value, impurity, mass = np.zeros((most, target.shape[0], n_values)), np.zeros(most), np.zeros(most)
    start, stop, depth = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    keys = np.zeros(most, dtype=np.uint64)
    members, number = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    for i in range(n):
        members[i] = i
    right, buffer, every = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32), np.arange(d)
    stop[0], keys[0], count, t = n, key, 1, 0
    while t < count:  # breadth first: children are appended, until all nodes that are left are leaves
        s, e = start[t], stop[t]
        here = members[s:e]
        for i in range(e - s):
            number[here[i]] = i
        y, w = gather(target, here), gather(weight, here)[0]
        by_target = renumbered(sorting, s, e, number)
        said, impurity[t], pure = node_value(code, y, by_target, w, n_values)
        for o in range(target.shape[0]):
            for k in range(n_values):
                value[t, o, k] = said[o, k]
        for i in range(e - s):
            mass[t] += w[i]
        small = e - s < max(rules.rows, 2 * rules.least[0]) or mass[t] < 2 * rules.least[1]
        if not (pure or small or depth[t] >= rules.depth):
            scale = impurity[t] * mass[t]
            results = try_columns(
                columns, orders, s, here, number, y, by_target, w, code, n_values, scale, rules, keys[t]
            )
            best = best_result(results, every, scale)
            if best >= 0 and results[best, GAIN] >= rules.gain:
                child[t], feature[t] = count, best
                cut[t], missing[t] = results[best, CUT], np.int64(results[best, MISSING])
                border = s + mark_right(columns[best], here, cut[t], missing[t], right)
                partition_in_place(members, s, e, right, buffer)
                for f in range(orders.shape[0]):
                    partition_in_place(orders[f], s, e, right, buffer)
                for o in range(sorting.shape[0]):
                    partition_in_place(sorting[o], s, e, right, buffer)
                for side in range(2):
                    start[count], stop[count] = (s, border) if side == 0 else (border, e)
                    depth[count], keys[count] = depth[t] + 1, hashed(keys[t], 1 + side)
                    count += 1
        t += 1
    size = stop[:count] - start[:count]
    return SubtreeNodes(
        child[:count],
        feature[:count],
        cut[:count],
        missing[:count],
        value[:count],
        impurity[:count],
        size,
        mass[:count],
    )


@inner
def mark_right(column, rows, cut, missing, right):
    """Mark the rows that go right; returns how many go left."""
    count = 0
    for i in rows:
        x = column[i]
        right[i] = missing == 1 if np.isnan(x) else x > cut
        count += not right[i]
    return count


@inner
def try_columns(columns, orders, s, here, number, y, by_target, w, code, n_values, scale, rules, key):
    """What `search` finds in as many columns (not constant here) as may be tried; NaN for the others."""
    d = columns.shape[0]
    shuffled = column_order(key, d, rules.columns < d)
    results = np.full((d, 5), np.nan)
    ranks = np.empty(by_target.shape, dtype=np.int32)
    for o in range(by_target.shape[0]):
        for k in range(by_target.shape[1]):
            ranks[o, by_target[o, k]] = k
    tried = seen = 0
    while tried < rules.columns and seen < d:
        batch = shuffled[seen : seen + rules.columns - tried]
        seen += batch.size
        values = np.empty((batch.size, here.size))
        order = np.empty((batch.size, 0 if rules.random else here.size), dtype=np.int32)
        for b in range(batch.size):
            for i in range(here.size):
                values[b, i] = columns[batch[b], here[i]]
            for k in range(order.shape[1]):
                order[b, k] = number[orders[batch[b], s + k]]
        chosen = column_draws(key, batch, rules.random)
        limits = rules.least, rules.signs, rules.bounds
        found = best_cuts(values, order, y, ranks, w, code, n_values, scale, *limits, chosen)
        for b in range(batch.size):
            tried += not np.isnan(found[b, GAIN])
            for k in range(found.shape[1]):
                results[batch[b], k] = found[b, k]
    return results


@shared
def column_order(key, d, shuffle):
    """The order in which a node tries its columns: by a hash of each."""
    order = np.arange(d)
    if shuffle:
        heap = np.empty(d, dtype=np.uint64)
        column_heap(key, heap)
        for k in range(d):
            order[k] = next_column(heap, d - k)
    return order


@inner
def column_heap(key, heap):
    """Make a heap of all columns, with the hash that decides when a node tries a column in the high half."""
    d = heap.size
    for f in range(d):
        heap[f] = column_priority(key, d, f)
    for place in range(d // 2 - 1, -1, -1):
        sift_down(heap, d, place, heap[place])


@inner
def column_priority(key, d, f):
    """When a node tries column f of d: the smaller, the sooner. It is the same whatever other columns there are."""
    return np.uint64(hashed(key, 4 + 2 * d + f)) << np.uint64(32) | np.uint64(f)


@inner
def next_column(heap, size):
    """Take the next column out of a heap of the given size."""
    first = heap[0]
    sift_down(heap, size - 1, 0, heap[size - 1])
    return np.int64(first & np.uint64(0xFFFFFFFF))


@inner
def sift_down(heap, size, place, item):
    """Put an item at a place of a heap, or below it: no item is larger than those below it."""
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if item <= heap[child]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = item


@shared
def column_draws(key, columns, random):
    """Two numbers of a node for the random threshold of each of some columns, or -1."""
    draws = np.full((2, columns.size), -1.0)
    if random:
        for b in range(columns.size):
            for k in range(2):
                draws[k, b] = hashed(key, 4 + 2 * columns[b] + k) / 4294967296.0
    return draws


@inner
def gather(target, rows):
    """target[:, rows]."""
    found = np.empty((target.shape[0], rows.size))
    for o in range(target.shape[0]):
        for i in range(rows.size):
            found[o, i] = target[o, rows[i]]
    return found


@inner
def renumbered(orders, s, e, number):
    """The segment s .. e of some orders, with rows renumbered as the node has them."""
    found = np.empty((orders.shape[0], e - s if orders.shape[1] else 0), dtype=np.int32)
    for f in range(found.shape[0]):
        for k in range(found.shape[1]):
            found[f, k] = number[orders[f, s + k]]
    return found


@inner
def partition_in_place(line, s, e, right, buffer):
    """Stable partition of a segment: the rows that go left first."""
    if line.size == 0:
        return
    a, b = s, 0
    for k in range(s, e):
        i = line[k]
        if right[i]:
            buffer[b] = i
            b += 1
        else:
            line[a] = i
            a += 1
    for k in range(b):
        line[a + k] = buffer[k]
