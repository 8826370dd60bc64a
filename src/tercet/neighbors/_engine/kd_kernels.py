"""Kernels of the kd-tree: building it, assigning rows to its parts, searching it.

A tree is a few flat arrays. Node t either cuts, at coordinate `axis[t]`: its rows up to `low[t]` are under node
`link[t, 0]`, those from `high[t]` on under `link[t, 1]`; or it is a leaf, with `axis[t] == -1`, and has the rows
`order[link[t, 0]:link[t, 1]]`. A leaf with more rows than were allowed has equal rows, in the order of their
numbers. What is compared is the cost of a distance, see `kd_metrics`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel, shared
from tercet.neighbors._engine.heap import replace_farthest, sort_heap
from tercet.neighbors._engine.kd_metrics import cost, distance, row_cost, updated_bound

SLACK = 1e-12  # bounds are sums that rounding may have raised by less than this
SHORT = 24  # so many neighbours are kept sorted, more of them in a heap
LANES = 16  # rows that descend a tree side by side
WORK = 1 << 26  # numbers to read before a search returns, to answer Ctrl-C


class Nodes(NamedTuple):
    """The nodes of a tree."""

    axis: np.ndarray
    link: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Stack(NamedTuple):
    """Branches that a search has deferred: the root of each, the coordinate of its cut, and lower bounds of its
    cost, in all and by that coordinate. A visited branch leaves, as node -1, the coordinate's bound to restore."""

    node: np.ndarray
    axis: np.ndarray
    bound: np.ndarray
    side: np.ndarray


@shared
def build(points, order, leaf_size, nodes, count):
    """Cut rows at the median of their widest coordinate until the parts are small (Alg 3.2).

    `order` numbers the rows of `points` and is sorted by leaf, within a leaf as before. The root is node `count`;
    returns how many nodes there are now, and the depth of the new ones.
    """
    n = points.shape[0]
    values, aside = np.empty(n, points.dtype), np.empty(n, order.dtype)
    waiting = np.empty((64, 4), np.int64)  # node, its rows, its depth
    top, depth = push(waiting, 0, count, 0, n, 1), 0
    count += 1
    while top > 0:
        top -= 1
        node, start, stop, level = waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3]
        depth = max(depth, level)
        here = order[start:stop]
        a, least, most = 0, 0.0, 0.0
        if here.size > leaf_size:
            a, least, most = widest_coordinate(points, here)
        if not most > least:
            nodes.axis[node] = -1
            nodes.link[node, 0], nodes.link[node, 1] = start, stop
            nodes.low[node] = nodes.high[node] = 0.0
            continue
        cut = upper_median(points, here, a, values[: here.size], least)
        middle, below = partition(points, here, a, cut, aside)
        nodes.axis[node], nodes.low[node], nodes.high[node] = a, below, cut
        nodes.link[node, 0], nodes.link[node, 1] = count, count + 1
        # The smaller part is built first: so the stack is no higher than the logarithm of the rows.
        if 2 * middle < here.size:
            top = push(waiting, top, count + 1, start + middle, stop, level + 1)
            top = push(waiting, top, count, start, start + middle, level + 1)
        else:
            top = push(waiting, top, count, start, start + middle, level + 1)
            top = push(waiting, top, count + 1, start + middle, stop, level + 1)
        count += 2
    return count, depth


@inner
def push(waiting, top, node, start, stop, level):
    """Push a node on the stack `waiting` of `top` entries; returns the new number."""
    waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3] = node, start, stop, level
    return np.int64(top + 1)


@inner
def widest_coordinate(points, here):
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
def partition(points, here, a, cut, aside):
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
def build_parts(points, order, borders, leaf_size, nodes, roots, box):
    """Build a tree on each part of the rows; returns how many nodes they have and the depth.

    A part's rows are copied together first, to stay in a core's own cache. `box` becomes the bounding box of all
    rows.
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
        # A bare 0 would be a type of its own, and `build` compiled for it.
        here, first = np.empty(rows.size, np.int32), np.int64(count)
        for r in range(rows.size):
            here[r] = r
        count, deep = build(some, here, leaf_size, nodes, first)
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
def assign_parts(points, nodes, depth, number, place):
    """The `number` of the leaf that each row falls into. The leaves must cut at infinity, into themselves.

    Rows descend side by side, so that the processor need not wait for the memory of one before the next.
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
def counting_sort(place, borders, order):
    """Indices of the rows in the order of their places (stable), and where each place begins."""
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
def box_bound(q, box, metric, side):
    """A lower bound of the cost of all rows: that of their bounding box, in all and by coordinate (`side`)."""
    bound = 0.0
    for j in range(q.size):
        side[j] = cost(metric, max(box[0, j] - q[j], q[j] - box[1, j], 0.0))
        bound = updated_bound(metric, bound, 0.0, side[j])
    return bound


@inner
def descend(node, bound, q, reach, nodes, metric, side, stack, top):
    """Descend to the leaf nearest to a query, deferring the other branches that are within reach."""
    a = nodes.axis[node]
    while a >= 0:
        from_low, to_high = q[a] - nodes.low[node], nodes.high[node] - q[a]
        left = from_low < to_high
        gap = cost(metric, to_high if left else from_low)
        beyond = updated_bound(metric, bound, side[a], gap)
        if beyond * (1 - SLACK) <= reach:
            stack.node[top], stack.axis[top] = nodes.link[node, 1 if left else 0], a
            stack.bound[top], stack.side[top] = beyond, gap
            top += 1
        node = nodes.link[node, 0 if left else 1]
        a = nodes.axis[node]
    return node, top


@inner
def back_up(reach, side, stack, top):
    """The last deferred branch that is still within reach, with its bound; node -1 when there is none."""
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
def new_stack(depth):
    """A stack for all branches that a search can defer."""
    m = depth + 1
    return Stack(np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m), np.empty(m))


@kernel
def k_nearest(points, order, nodes, box, depth, leaf_size, queries, turns, metric, far, near):
    """The nearest rows of some queries, nearest first: distances to `far`, indices to `near`, in rows `turns`.

    Of rows at one distance those with the smaller numbers are kept: a branch is left out only when it lies
    beyond the farthest neighbour, not when it may touch it (Alg 3.3). Returns how many queries were answered.
    """
    k, work = far.shape[1], 0
    costs, dist, ids = np.empty(max(leaf_size, k)), np.empty(k), np.empty(k, np.int64)
    side, stack = np.empty(points.shape[1]), new_stack(depth)
    last = 0 if k > SHORT else k - 1  # where the farthest neighbour is: a heap's first, a list's last
    for t in range(turns.size):
        q = queries[t]
        dist[:] = np.inf
        ids[:] = points.shape[0]
        reach, bound = np.inf, box_bound(q, box, metric, side)
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
                        replace_farthest(dist, ids, s, i, k)
                    else:
                        insert(dist, ids, s, i)
                    reach = dist[last]
            node, bound, top = back_up(reach, side, stack, top)
        if k > SHORT:
            sort_heap(dist, ids)
        for m in range(k):
            far[turns[t], m] = distance(metric, dist[m])
            near[turns[t], m] = ids[m]
        if work > WORK:
            return t + 1
    return turns.size


@kernel
def within_radius(points, order, nodes, box, depth, queries, turns, metric, radius, indptr, count, near, far):
    """The rows no farther than a radius from some queries, from place `indptr` on; `count` says how many.

    With empty `near` and `far` they are only counted. Returns how many queries were answered.
    """
    side, stack, work = np.empty(points.shape[1]), new_stack(depth), 0
    for t in range(turns.size):
        q, r, found = queries[t], radius[turns[t]], np.int64(0)
        reach = cost(metric, r) * (1 + SLACK)
        bound = box_bound(q, box, metric, side)
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
    """Insert a row into the sorted list of the nearest; the last one drops out."""
    m = dist.size - 1
    while m > 0 and (s < dist[m - 1] or (s == dist[m - 1] and i < ids[m - 1])):
        dist[m], ids[m] = dist[m - 1], ids[m - 1]
        m -= 1
    dist[m], ids[m] = s, i


@kernel
def lp_distances(queries, points, metric, out):
    """The distances of all queries from all rows, without a tree."""
    for i in range(queries.shape[0]):
        for j in range(points.shape[0]):
            out[i, j] = distance(metric, row_cost(metric, points, np.uint64(j), queries[i]))
