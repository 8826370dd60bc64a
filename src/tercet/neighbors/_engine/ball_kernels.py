"""Kernels of the ball tree: building and searching it, and sums of a kernel function over its rows.

Node t is the ball of radius `radius[t]` around `centre[t]`, with the rows `start[t]` to `stop[t]` of those in the
order of the tree; its parts are the nodes `child[t]` and `child[t] + 1`, or it is a leaf, with `child[t] == -1`.
No row of a ball is nearer to a query than the distance of its centre less the radius.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.core.array_copies import copy_array
from tercet.core.kernel import inner, kernel
from tercet.neighbors._engine.ball_metrics import measure
from tercet.neighbors._engine.heap import replace_farthest, sort_heap
from tercet.neighbors._engine.kd_kernels import SHORT, WORK, insert, push
from tercet.neighbors._engine.segment_sort import merge_sort

STACK = 64  # parts are halves: no tree is deeper


class Balls(NamedTuple):
    """The nodes of a tree."""

    start: np.ndarray
    stop: np.ndarray
    child: np.ndarray
    radius: np.ndarray
    centre: np.ndarray


@kernel
def build_balls(points, order, leaf_size, metric, by_means, balls):
    """Split rows in halves until the parts are small; returns the number of nodes.

    `order` numbers the rows of `points` and is sorted by leaf. With `by_means` a ball is centred at the mean of its
    rows, else (where rows cannot be added up) at one of them.
    """
    near, far, rest = np.empty(order.size), np.empty(order.size), np.empty(order.size)
    q, spare = np.empty(points.shape[1]), np.empty_like(order)
    waiting = np.empty((STACK, 4), np.int64)  # node, its rows, its depth
    top, count = push(waiting, 0, 0, 0, order.size, 1), np.int64(1)
    while top > 0:
        top -= 1
        node, start, stop, level = waiting[top, 0], waiting[top, 1], waiting[top, 2], waiting[top, 3]
        here = order[start:stop]
        centre, apart, away = balls.centre[node], near[: here.size], far[: here.size]
        if by_means:
            mean_row(points, here, centre)
        else:
            copy_array(points[here[0]], centre)
        # The row farthest from the centre, the one farthest from that, and the distances from both. In one loop:
        # the distance, which is inlined, is compiled once.
        at, radius = np.int64(0), 0.0
        for turn in range(3 if by_means else 4):
            if turn == 3:  # now the row between them is the centre
                copy_array(points[here[between(apart, away)]], centre)
            from_row = 1 <= turn <= 2
            copy_array(points[here[at]] if from_row else centre, q)
            at, most = farthest(points, here, q, metric, apart if turn < 2 else away if turn == 2 else rest)
            radius = radius if from_row else most
        balls.start[node], balls.stop[node], balls.radius[node] = start, stop, radius
        balls.child[node] = -1
        if here.size <= leaf_size or radius == 0.0:
            continue
        # Rows in the order of how much nearer they are to one of the two than to the other.
        for r in range(here.size):
            apart[r] -= away[r]
        merge_sort(apart, here, rest, spare)
        middle = start + here.size // 2
        balls.child[node] = count
        top = push(waiting, top, count, start, middle, level + 1)
        top = push(waiting, top, count + 1, middle, stop, level + 1)
        count += 2
    return count


@inner
def mean_row(points, here, centre):
    """The mean of some rows."""
    centre[:] = 0.0
    for r in range(here.size):
        x = points[here[r]]
        for j in range(x.size):
            centre[j] += x[j] / here.size


@inner
def farthest(points, here, q, metric, apart):
    """The distances of some rows from a point; returns the place of the farthest, and how far it is."""
    best, at = -1.0, 0
    for r in range(here.size):
        gap = measure(metric, points, here[r], q)
        apart[r] = gap
        if gap > best or gap != gap:  # NaN stays
            best, at = gap, r
    return at, best


@inner
def between(apart, away):
    """The place of the row whose greater distance from two others is least."""
    best, at = np.inf, 0
    for r in range(apart.size):
        if max(apart[r], away[r]) < best:
            best, at = max(apart[r], away[r]), r
    return at


@inner
def gap_to_ball(metric, balls, node, q, slack):
    """A lower bound of the distance of a query from the rows of a ball; negative inside."""
    d, r = measure(metric, balls.centre, node, q), balls.radius[node]
    return d - r - slack * (d + r)


@kernel
def nearest_in_balls(points, order, balls, slack, queries, metric, far, near):
    """The nearest rows of some queries, nearest first: distances to `far`, indices to `near`.

    `points` are the rows in the order of the tree. Of rows at one distance those with the smaller numbers are kept.
    Returns how many queries were answered.
    """
    k, n, work = far.shape[1], order.size, 0
    nodes, bounds = np.empty(STACK, np.int64), np.empty(STACK)
    dist, ids = np.empty(k), np.empty(k, np.int64)
    last = 0 if k > SHORT else k - 1  # where the farthest neighbour is: a heap's first, a list's last
    for t in range(queries.shape[0]):
        q, reach = queries[t], np.inf
        dist[:] = np.inf
        ids[:] = n
        nodes[0], bounds[0], top = 0, -np.inf, 1
        while top > 0:
            top -= 1
            node = nodes[top]
            if bounds[top] > reach:
                continue
            child = balls.child[node]
            if child >= 0:  # the nearer part on top of the other
                one = gap_to_ball(metric, balls, child, q, slack)
                other = gap_to_ball(metric, balls, child + 1, q, slack)
                work += 2 * q.size
                first = 1 if one <= other else 0
                nodes[top + first], bounds[top + first] = child, one
                nodes[top + 1 - first], bounds[top + 1 - first] = child + 1, other
                top += 2
                continue
            work += (balls.stop[node] - balls.start[node]) * q.size
            for r in range(balls.start[node], balls.stop[node]):
                s, i = measure(metric, points, r, q), order[r]
                if s < reach or (s == reach and i < ids[last]):
                    if k > SHORT:
                        replace_farthest(dist, ids, s, i, k)
                    else:
                        insert(dist, ids, s, i)
                    reach = dist[last]
        if k > SHORT:
            sort_heap(dist, ids)
        copy_array(dist, far[t])
        copy_array(ids, near[t])
        if work > WORK:
            return t + 1
    return queries.shape[0]


@kernel
def within_balls(points, order, balls, slack, queries, metric, radius, indptr, count, near, far):
    """The rows no farther than a radius from some queries, from place `indptr` on; `count` says how many.

    With empty `near` and `far` they are only counted. Returns how many queries were answered.
    """
    nodes, work = np.empty(STACK, np.int64), 0
    for t in range(queries.shape[0]):
        q, reach, found = queries[t], radius[t], np.int64(0)
        nodes[0], top = 0, 1
        while top > 0:
            top -= 1
            node = nodes[top]
            d, r = measure(metric, balls.centre, node, q), balls.radius[node]
            work += q.size
            if d - r - slack * (d + r) > reach:
                continue
            if near.size == 0 and d + r + slack * (d + r) <= reach:  # the whole ball
                found += balls.stop[node] - balls.start[node]
                continue
            if balls.child[node] >= 0:
                nodes[top], nodes[top + 1] = balls.child[node] + 1, balls.child[node]
                top += 2
                continue
            work += (balls.stop[node] - balls.start[node]) * q.size
            for i in range(balls.start[node], balls.stop[node]):
                s = measure(metric, points, i, q)
                if s <= reach:
                    if near.size > 0:
                        near[indptr[t] + found], far[indptr[t] + found] = order[i], s
                    found += 1
        count[t] = found
        if work > WORK:
            return t + 1
    return queries.shape[0]


@kernel
def kernel_sums(
    points, weight, mass, balls, slack, queries, metric, code, h, scale, least, atol, rtol, found
):
    """Σ_i w_i K(|q - x_i| / h), divided by exp(scale), for some queries.

    mass[i] : the weights of the rows before i, in the order of the tree. `least` is a lower bound of each sum; a
    ball whose sum is known up to its share of atol + rtol times the whole is not opened. Returns how many queries
    were answered.
    """
    nodes, work, n = np.empty(STACK, np.int64), 0, mass.size - 1
    for t in range(queries.shape[0]):
        q, total = queries[t], 0.0
        nodes[0], top = 0, 1
        while top > 0:
            top -= 1
            node = nodes[top]
            d, r = measure(metric, balls.centre, node, q), balls.radius[node]
            error = slack * (d + r)
            # no row is nearer than the nearest, for which this is 1; far away the bounds are too wide to tell
            high = np.exp(min(log_kernel(code, max(d - r - error, 0.0), h) - scale[t], 0.0))
            low = np.exp(min(log_kernel(code, d + r + error, h) - scale[t], 0.0))
            held = mass[balls.stop[node]] - mass[balls.start[node]]
            work += q.size
            if 0.5 * (high - low) * mass[n] <= atol[t] + rtol * max(total, least[t]):
                total += held * 0.5 * (high + low)
                continue
            if balls.child[node] >= 0:
                nodes[top], nodes[top + 1] = balls.child[node] + 1, balls.child[node]
                top += 2
                continue
            work += (balls.stop[node] - balls.start[node]) * q.size
            for i in range(balls.start[node], balls.stop[node]):
                total += weight[i] * np.exp(log_kernel(code, measure(metric, points, i, q), h) - scale[t])
        found[t] = total
        if work > WORK:
            return t + 1
    return queries.shape[0]


@inner
def log_kernel(code, d, h):
    """log K(d / h): Gaussian, top-hat, Epanechnikov, exponential, linear, cosine."""
    u = d / h
    if code == 0:
        return -0.5 * u * u
    if code == 3:
        return -u
    if not u < 1.0:
        return -np.inf
    if code == 1:
        return 0.0
    if code == 2:
        return np.log(1.0 - u * u)
    if code == 4:
        return np.log(1.0 - u)
    return np.log(np.cos(0.5 * np.pi * u))
