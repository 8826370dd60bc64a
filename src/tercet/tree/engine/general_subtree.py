"""A whole subtree in one sweep: the steps of `general` for a node of few rows, without a look back at Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.tree.engine.criteria import hashed
from tercet.tree.engine.general_costs import CUT, GAIN, MISSING, answer, leader, search


class Rules(NamedTuple):
    """When to stop, and how to choose."""

    depth: int
    rows: int  # the fewest to split
    gain: float
    columns: int  # to try at each node
    least: np.ndarray  # rows and weight of a side
    random: bool
    signs: np.ndarray  # zeros: what is monotonic is not grown here
    bounds: np.ndarray  # -inf and inf


class Grown(NamedTuple):
    """Nodes in the order of a `Tree`; those with a child of -1 are leaves."""

    child: np.ndarray
    feature: np.ndarray
    cut: np.ndarray
    missing: np.ndarray
    value: np.ndarray
    impurity: np.ndarray
    samples: np.ndarray
    weight: np.ndarray


def sorted_rows(values: np.ndarray) -> np.ndarray:
    """The order of the values in each row, missing ones last; all orders here have one type."""
    return np.argsort(values, axis=-1, kind="stable").astype(np.int32)


@kernel
def grow_small(columns, target, weight, orders, sorting, code, n_values, rules, key):
    """Grow a node and all below it; `orders` and `sorting` (of the targets, for medians) are used up."""
    d, n = columns.shape
    room = 2 * n - 1
    child, missing = np.full(room, -1, dtype=np.int64), np.zeros(room, dtype=np.int64)
    feature, cut = np.full(room, -2, dtype=np.int64), np.full(room, -2.0)
    value, impurity, mass = np.zeros((room, target.shape[0], n_values)), np.zeros(room), np.zeros(room)
    start, stop, depth = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room, np.int64)
    keys = np.zeros(room, dtype=np.uint64)
    members, number = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    for i in range(n):
        members[i] = i
    right, buffer, every = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32), np.arange(d)
    stop[0], keys[0], count, t = n, key, 1, 0
    while t < count:  # children are put behind: the line of nodes ends when all are leaves
        s, e = start[t], stop[t]
        here = members[s:e]
        for i in range(e - s):
            number[here[i]] = i
        y, w = taken(target, here), taken(weight, here)[0]
        by_target = renumbered(sorting, s, e, number)
        said, impurity[t], pure = answer(code, y, by_target, w, n_values)
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
            best = leader(results, every, scale)
            if best >= 0 and results[best, GAIN] >= rules.gain:
                child[t], feature[t] = count, best
                cut[t], missing[t] = results[best, CUT], np.int64(results[best, MISSING])
                border = s
                for i in here:
                    x = columns[best, i]
                    right[i] = missing[t] == 1 if np.isnan(x) else x > cut[t]
                    border += not right[i]
                part_in_place(members, s, e, right, buffer)
                for f in range(orders.shape[0]):
                    part_in_place(orders[f], s, e, right, buffer)
                for o in range(sorting.shape[0]):
                    part_in_place(sorting[o], s, e, right, buffer)
                for side in range(2):
                    start[count], stop[count] = (s, border) if side == 0 else (border, e)
                    depth[count], keys[count] = depth[t] + 1, hashed(keys[t], 1 + side)
                    count += 1
        t += 1
    size = stop[:count] - start[:count]
    return Grown(
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
def try_columns(columns, orders, s, here, number, y, by_target, w, code, n_values, scale, rules, key):
    """What `search` finds in as many columns (not constant here) as may be tried; NaN for the others."""
    d = columns.shape[0]
    draws, shuffled = drawn(key, d, rules.columns < d, rules.random)
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
        chosen = taken(draws, batch)
        found = search(
            values,
            order,
            y,
            ranks,
            w,
            code,
            n_values,
            scale,
            rules.least,
            rules.signs,
            rules.bounds,
            chosen,
        )
        for b in range(batch.size):
            tried += not np.isnan(found[b, GAIN])
            for k in range(found.shape[1]):
                results[batch[b], k] = found[b, k]
    return results


@shared
def drawn(key, d, shuffle, random):
    """What a node draws: two numbers for a random cut of each column (or -1), and an order of the columns."""
    draws, order = np.full((2, d), -1.0), np.arange(d)
    if random:
        for f in range(d):
            for k in range(2):
                draws[k, f] = hashed(key, 4 + 2 * f + k) / 4294967296.0
    if shuffle:
        for f in range(d - 1, 0, -1):
            other = np.int64(hashed(key, 4 + 2 * d + f) % np.uint64(f + 1))
            order[f], order[other] = order[other], order[f]
    return draws, order


@inner
def taken(target, rows):
    found = np.empty((target.shape[0], rows.size))
    for o in range(target.shape[0]):
        for i in range(rows.size):
            found[o, i] = target[o, rows[i]]
    return found


@inner
def renumbered(orders, s, e, number):
    """A part of some orders, in the numbers of a node's own rows."""
    found = np.empty((orders.shape[0], e - s if orders.shape[1] else 0), dtype=np.int32)
    for f in range(found.shape[0]):
        for k in range(found.shape[1]):
            found[f, k] = number[orders[f, s + k]]
    return found


@inner
def part_in_place(line, s, e, right, buffer):
    """Put the rows that go left first, each side in its old order."""
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
