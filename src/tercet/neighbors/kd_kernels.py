"""Kernels of the kd-tree: growing it, dealing rows to its parts, searching it.

A tree is a few flat arrays. Node t either cuts, at coordinate `axis[t]`: its rows up to `low[t]` are under node
`link[t, 0]`, those from `high[t]` on under `link[t, 1]`; or it is a leaf, with `axis[t] == -1`, and has the rows
`order[link[t, 0]:link[t, 1]]`. A leaf with more rows than were allowed has equal rows, in the order of their
numbers. What is compared is the cost of a distance, see `kd_metrics`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.neighbors.kd_metrics import cost, distance, moved, row_cost

SLACK = 1e-12  # bounds are sums that rounding may have raised by less than this
SHORT = 24  # so many neighbours are kept sorted, more of them in a heap
LANES = 16  # rows that go down a tree side by side
WORK = 1 << 26  # numbers to look at before a search comes back: Ctrl-C must be heard


class Nodes(NamedTuple):
    """The nodes of a tree."""

    axis: np.ndarray
    link: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Stack(NamedTuple):
    """Branches that a search has put aside: where they begin, at which coordinate, and how far off they are, in
    all and by that coordinate. A branch that has been taken leaves what to put back after it, as node -1."""

    node: np.ndarray
    axis: np.ndarray
    bound: np.ndarray
    side: np.ndarray


@shared
def grow(points, order, leaf_size, nodes, count):
    """Cut rows at the median of their widest coordinate until the parts are small.

    `order` numbers the rows of `points` and is sorted by leaf, within a leaf as before. The root is node `count`;
    returns how many nodes there are now, and the depth of the new ones.
    """
    n = points.shape[0]
    values, aside = np.empty(n, points.dtype), np.empty(n, order.dtype)
    waiting = np.empty((64, 4), np.int64)  # node, its rows, its depth
    top, depth = put(waiting, 0, count, 0, n, 1), 0
    count += 1
    while top > 0:
        top -= 1
        node, start, stop, level = waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3]
        depth = max(depth, level)
        here = order[start:stop]
        a, least, most = 0, 0.0, 0.0
        if here.size > leaf_size:
            a, least, most = widest(points, here)
        if not most > least:
            nodes.axis[node] = -1
            nodes.link[node, 0], nodes.link[node, 1] = start, stop
            nodes.low[node] = nodes.high[node] = 0.0
            continue
        cut = upper_median(points, here, a, values[: here.size], least)
        middle, below = part(points, here, a, cut, aside)
        nodes.axis[node], nodes.low[node], nodes.high[node] = a, below, cut
        nodes.link[node, 0], nodes.link[node, 1] = count, count + 1
        # The smaller part comes first: so never more wait than the logarithm of the rows.
        if 2 * middle < here.size:
            top = put(waiting, top, count + 1, start + middle, stop, level + 1)
            top = put(waiting, top, count, start, start + middle, level + 1)
        else:
            top = put(waiting, top, count, start, start + middle, level + 1)
            top = put(waiting, top, count + 1, start + middle, stop, level + 1)
        count += 2
    return count, depth


@inner
def put(waiting, top, node, start, stop, level):
    """Let a node wait, above the `top` that do so already; how many are they now?"""
    waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3] = node, start, stop, level
    return np.int64(top + 1)


@inner
def widest(points, here):
    """The coordinate in which some rows differ most, with its least and greatest value."""
    axis, least, most = 0, points[here[0], 0], points[here[0], 0]
    for a in range(points.shape[1]):
        small = large = points[here[0], a]
        for r in range(here.size):
            x = points[np.uint64(here[r]), a]
            if x < small:
                small = x
            elif x > large:
                large = x
        if large - small > most - least:
            axis, least, most = a, small, large
    return axis, least, most


@inner
def upper_median(points, here, a, values, least):
    """The upper of the middle values of a coordinate; where that is the least, the one above it."""
    for r in range(here.size):
        values[r] = points[np.uint64(here[r]), a]
    left, right, k = 0, here.size - 1, here.size // 2
    while left < right:  # Hoare's selection
        x, y, z = values[left], values[(left + right) // 2], values[right]
        pivot = max(min(x, y), min(max(x, y), z))
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            right = j
        elif k >= i:
            left = i
        else:
            break
    cut = values[k]
    if cut == least:
        cut = np.inf
        for r in range(here.size):
            if least < values[r] < cut:
                cut = values[r]
    return cut


@inner
def part(points, here, a, cut, aside):
    """Rows below the cut first, each side in its order; returns how many and the greatest value among them."""
    count, others, below = np.uint64(0), np.uint64(0), -np.inf
    for r in range(here.size):
        i = here[r]
        x = points[np.uint64(i), a]
        less = x < cut
        here[count] = i
        aside[others] = i
        count += np.uint64(less)
        others += np.uint64(not less)
        below = x if less and x > below else below
    middle = np.int64(count)
    for r in range(here.size - middle):  # a slice would do, but takes seconds to compile
        here[middle + r] = aside[r]
    return middle, below


@kernel
def grow_parts(points, order, borders, leaf_size, nodes, roots, box):
    """Grow a tree on each part of the rows; returns how many nodes they have and the depth.

    A part's rows are copied together first: what follows then happens in a core's own cache. `box` becomes what
    encloses all rows.
    """
    count = depth = 0
    for b in range(borders.size - 1):
        rows = order[borders[b] : borders[b + 1]]
        some = np.empty((rows.size, points.shape[1]), points.dtype)
        for r in range(rows.size):
            x = points[np.uint64(rows[r])]
            for j in range(x.size):
                some[np.uint64(r), j] = x[j]
        for j in range(some.shape[1]):
            for x in some[:, j]:
                if x < box[0, j]:
                    box[0, j] = x
                if x > box[1, j]:
                    box[1, j] = x
        # A bare 0 would be a type of its own, and `grow` compiled for it.
        here, first = np.empty(rows.size, np.int32), np.int64(count)
        for r in range(rows.size):
            here[r] = r
        count, deep = grow(some, here, leaf_size, nodes, first)
        for t in range(first, count):
            if nodes.axis[t] < 0:
                nodes.link[t, 0] += borders[b]
                nodes.link[t, 1] += borders[b]
        before = rows.copy()
        for r in range(rows.size):
            rows[r] = before[here[r]]
        roots[b] = first
        depth = max(depth, deep)
    return count, depth


@kernel
def deal(points, nodes, depth, number, place):
    """The leaf that each row falls into, by its `number`. The leaves must cut at infinity, into themselves.

    Rows go down side by side: the processor need not wait for one before it looks at the next.
    """
    n, at = points.shape[0], np.zeros(LANES, np.int64)
    for start in range(0, n, LANES):
        some = points[start : start + LANES]
        at[:] = 0
        for _ in range(depth):
            for r in range(some.shape[0]):
                t = np.uint64(at[r])
                right = some[np.uint64(r), np.uint64(nodes.axis[t])] >= nodes.high[t]
                at[r] = nodes.link[t, np.uint64(right)]
        for r in range(some.shape[0]):
            place[start + r] = number[at[r]]


@kernel
def by_place(place, borders, order):
    """Number the rows in the order of their places, and those of one place as they come."""
    borders[:] = 0
    for r in range(place.size):
        borders[place[r] + 1] += 1
    for b in range(borders.size - 1):
        borders[b + 1] += borders[b]
    free = borders[:-1].copy()
    for r in range(place.size):
        order[free[place[r]]] = r
        free[place[r]] += 1


@inner
def outside(q, box, metric, side):
    """How far a query is from the box around all rows, also by coordinate: a bound for whatever is in it."""
    bound = 0.0
    for j in range(q.size):
        side[j] = cost(metric, max(box[0, j] - q[j], q[j] - box[1, j], 0.0))
        bound = moved(metric, bound, 0.0, side[j])
    return bound


@inner
def descend(node, bound, q, reach, nodes, metric, side, stack, top):
    """Go down to the leaf nearest to a query, and put aside the other branches that are within reach."""
    a = nodes.axis[node]
    while a >= 0:
        from_low, to_high = q[a] - nodes.low[node], nodes.high[node] - q[a]
        left = from_low < to_high
        gap = cost(metric, to_high if left else from_low)
        beyond = moved(metric, bound, side[a], gap)
        if beyond * (1 - SLACK) <= reach:
            stack.node[top], stack.axis[top] = nodes.link[node, 1 if left else 0], a
            stack.bound[top], stack.side[top] = beyond, gap
            top += 1
        node = nodes.link[node, 0 if left else 1]
        a = nodes.axis[node]
    return node, top


@inner
def back_up(reach, side, stack, top):
    """The last branch put aside that is still within reach, with its bound; node -1 when there is none."""
    while top > 0:
        last = top - 1
        node, a = stack.node[last], stack.axis[last]
        if node < 0:
            side[a] = stack.side[last]
        elif stack.bound[last] * (1 - SLACK) <= reach:
            stack.node[last], stack.side[last], side[a] = -1, side[a], stack.side[last]
            return node, stack.bound[last], top
        top = last
    return -1, 0.0, top


@inner
def stack_for(depth):
    """Room for all that a search can put aside."""
    m = depth + 1
    return Stack(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m), np.empty(m))


@kernel
def search(points, order, nodes, box, depth, leaf_size, queries, turns, metric, far, near):
    """The nearest rows of some queries, nearest first: distances to `far`, numbers to `near`, in rows `turns`.

    Of rows at one distance those with the smaller numbers are kept: a branch is left out only when it lies
    beyond the farthest neighbour, not when it may touch it. Returns how many queries were answered.
    """
    k, work = far.shape[1], 0
    costs, dist, ids = np.empty(max(leaf_size, k)), np.empty(k), np.empty(k, np.int64)
    side, stack = np.empty(points.shape[1]), stack_for(depth)
    last = 0 if k > SHORT else k - 1  # where the farthest neighbour is: a heap's first, a list's last
    for t in range(turns.size):
        q = queries[t]
        dist[:] = np.inf
        ids[:] = points.shape[0]
        reach, bound = np.inf, outside(q, box, metric, side)
        node, top = np.int64(0), np.int64(0)
        while node >= 0:
            node, top = descend(node, bound, q, reach, nodes, metric, side, stack, top)
            first, stop = nodes.link[node, 0], nodes.link[node, 1]
            if stop - first > costs.size:  # equal rows
                stop = first + k
            here = order[first:stop]
            work += here.size * q.size
            for r in range(here.size):
                costs[np.uint64(r)] = row_cost(metric, points, np.uint64(here[r]), q)
            for r in range(here.size):
                s, i = costs[np.uint64(r)], np.int64(here[r])
                if s < reach or (s == reach and i < ids[last]):
                    if k > SHORT:
                        sift(dist, ids, s, i, k)
                    else:
                        insert(dist, ids, s, i)
                    reach = dist[last]
            node, bound, top = back_up(reach, side, stack, top)
        if k > SHORT:
            for m in range(k - 1, 0, -1):
                s, i = dist[0], ids[0]
                sift(dist, ids, dist[m], ids[m], m)
                dist[m], ids[m] = s, i
        for m in range(k):
            far[turns[t], m] = distance(metric, dist[m])
            near[turns[t], m] = ids[m]
        if work > WORK:
            return t + 1
    return turns.size


@kernel
def within(points, order, nodes, box, depth, queries, turns, metric, radius, indptr, count, near, far):
    """The rows no farther than a radius from some queries, from place `indptr` on; `count` says how many.

    With no room in `near` and `far` they are only counted. Returns how many queries were answered.
    """
    side, stack, work = np.empty(points.shape[1]), stack_for(depth), 0
    for t in range(turns.size):
        q, r, found = queries[t], radius[turns[t]], np.int64(0)
        reach = cost(metric, r) * (1 + SLACK)
        bound = outside(q, box, metric, side)
        node, top = np.int64(0), np.int64(0)
        while node >= 0:
            node, top = descend(node, bound, q, reach, nodes, metric, side, stack, top)
            here = order[nodes.link[node, 0] : nodes.link[node, 1]]
            work += here.size * q.size
            for i in here:
                s = distance(metric, row_cost(metric, points, np.uint64(i), q))
                if s <= r:
                    if near.size > 0:
                        near[indptr[turns[t]] + found] = i
                        far[indptr[turns[t]] + found] = s
                    found += 1
            node, bound, top = back_up(reach, side, stack, top)
        count[turns[t]] = found
        if work > WORK:
            return t + 1
    return turns.size


@inner
def insert(dist, ids, s, i):
    """Put a row in its place among the nearest, which are sorted; the last one drops out."""
    m = dist.size - 1
    while m > 0 and (s < dist[m - 1] or (s == dist[m - 1] and i < ids[m - 1])):
        dist[m], ids[m] = dist[m - 1], ids[m - 1]
        m -= 1
    dist[m], ids[m] = s, i


@inner
def sift(dist, ids, s, i, size):
    """Put a row in the place of the farthest one, at the top of a heap of the given size."""
    m = 0
    while 2 * m + 1 < size:
        c = 2 * m + 1
        if c + 1 < size and (dist[c] < dist[c + 1] or (dist[c] == dist[c + 1] and ids[c] < ids[c + 1])):
            c += 1
        if dist[c] < s or (dist[c] == s and ids[c] < i):
            break
        dist[m], ids[m] = dist[c], ids[c]
        m = c
    dist[m], ids[m] = s, i


@kernel
def gauge(queries, points, metric, out):
    """The distances of some queries from some rows, without a tree."""
    for i in range(queries.shape[0]):
        for j in range(points.shape[0]):
            out[i, j] = distance(metric, row_cost(metric, points, np.uint64(j), queries[i]))
