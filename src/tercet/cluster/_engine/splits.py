"""Splits of one cluster into two, and its diameter, from distances in condensed form."""

from __future__ import annotations

import numpy as np

from tercet.cluster._engine.set_linkage import condensed_place
from tercet.core.kernel import inner, kernel


@inner
def distance_of(distances, n, i, j):
    """The distance of rows i and j."""
    return 0.0 if i == j else distances[condensed_place(i, j, n)]


@kernel
def farthest_pair(distances, n, members):
    """The two farthest of some rows, which are in order (of equals, the first pair), and their distance."""
    one, other, width = members[0], members[1], -1.0
    for s in range(members.size - 1):
        i = members[s]
        base = i * n - i * (i + 1) // 2 - i - 1
        for t in range(s + 1, members.size):
            value = distances[base + members[t]]
            if value > width:
                one, other, width = i, members[t], value
    return one, other, width


@kernel
def nearer_to_second(distances, n, members, one, other, side):
    """side[s]: whether a row is nearer to the second of two poles; of equal distances, it is not."""
    for s in range(members.size):
        i = members[s]
        side[s] = distance_of(distances, n, i, other) < distance_of(distances, n, i, one)
        if i == other:  # poles at the same point are parted, too
            side[s] = True


@kernel
def splinter_group(distances, n, members, side):
    """side[s]: whether a row joins the splinter group (DIANA).

    It begins with the row that is farthest from the others on average; then, one at a time, comes the row that is
    nearer to the group than to the rest by most, until none is.
    """
    m = members.size
    inside, total = np.zeros(m), np.zeros(m)  # sums of distances from the group, and from the rest
    for s in range(m):
        for t in range(s + 1, m):
            value = distances[condensed_place(members[s], members[t], n)]
            total[s] += value
            total[t] += value
    at, moved, left = int(np.argmax(total)), 0, m
    small = 1e-12 * total[at] / (m - 1)  # of sums that are equal but for rounding, none is larger
    while at >= 0:
        side[at] = True
        moved += 1
        left -= 1
        for s in range(m):
            value = distance_of(distances, n, members[s], members[at])
            total[s] -= value
            inside[s] += value
        at, best = -1, small
        if left > 1:
            for s in range(m):
                if not side[s]:
                    gain = total[s] / (left - 1) - inside[s] / moved
                    if gain > best:
                        at, best = s, gain
