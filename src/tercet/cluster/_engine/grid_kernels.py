"""Kernels of the grid: sorting rows by cell, core rows, joined cells and border rows.

Sorted row r is `points[at[r]]`; cell c has the sorted rows start[c] to start[c + 1] and the number keys[c].
Cells whose numbers differ by less than the last column's size lie beside each other in that column: the
neighbours of a cell are, for each of a few `runs` (differences of numbers), in the cells from its number + run
- 2 to + 2.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel

DIGIT = 11  # bits sorted by in one pass
MANY = 4096  # pairs of rows, above which a box around one side is worth its time


@kernel
def column_ranges(X):
    """The least and the greatest number of each column."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j]
            low[j] = x if x < low[j] else low[j]
            high[j] = x if x > high[j] else high[j]
    return low, high


@kernel
def cell_keys(X, low, scale, strides, reach, keys):
    """The number of each row's cell."""
    for i in range(X.shape[0]):
        key = np.int64(0)
        for j in range(X.shape[1]):
            key += (np.int64((X[i, j] - low[j]) * scale) + reach) * strides[j]
        keys[i] = key


@kernel
def radix_sort(keys, bits):
    """Sort keys in place; returns their former places, equal ones in their order."""
    n = keys.size
    order, aside, values = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    count = np.empty((1 << DIGIT) + 1, np.int64)
    shift = 0
    while shift < bits:
        count[:] = 0
        for i in range(n):
            count[((keys[i] >> shift) & ((1 << DIGIT) - 1)) + 1] += 1
        for b in range(1 << DIGIT):
            count[b + 1] += count[b]
        for i in range(n):
            digit = (keys[i] >> shift) & ((1 << DIGIT) - 1)
            place = count[digit]
            count[digit] = place + 1
            values[place] = keys[i]
            aside[place] = order[i]
        for i in range(n):
            keys[i] = values[i]
            order[i] = aside[i]
        shift += DIGIT
    return order


@kernel
def cell_starts(keys):
    """Where the cells of sorted keys begin, and their keys."""
    n, cells = keys.size, 1
    for i in range(1, n):
        cells += keys[i] != keys[i - 1]
    start, found = np.empty(cells + 1, np.int32), np.empty(cells, np.int64)
    start[0], found[0], cells = 0, keys[0], 1
    for i in range(1, n):
        if keys[i] != keys[i - 1]:
            start[cells], found[cells] = i, keys[i]
            cells += 1
    start[cells] = n
    return start, found


@inner
def square(points, i, k):
    """The squared distance of two rows."""
    if points.shape[1] == 3:  # so common that it is worth not having a loop
        x, y, z = points[i, 0] - points[k, 0], points[i, 1] - points[k, 1], points[i, 2] - points[k, 2]
        return x * x + y * y + z * z
    total = 0.0
    for j in range(points.shape[1]):
        gap = points[i, j] - points[k, j]
        total += gap * gap
    return total


@inner
def first_at_least(keys, value):
    """The first cell whose number is no less than a value."""
    low, high = np.int64(0), np.int64(keys.size)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def new_ranges(keys, runs, first):
    """The cells that each run reaches from cell `first`."""
    begin, end = np.empty(runs.size, np.int64), np.empty(runs.size, np.int64)
    for j in range(runs.size):
        begin[j] = first_at_least(keys, keys[first] + runs[j] - 2)
        end[j] = begin[j]
    return begin, end


@inner
def move_ranges(keys, runs, c, begin, end):
    """The cells that each run reaches from cell c, which comes after the one before: they only move on."""
    for j in range(runs.size):
        middle, b = keys[c] + runs[j], begin[j]
        while b < keys.size and keys[b] < middle - 2:
            b += 1
        begin[j] = b
        e = max(end[j], b)
        while e < keys.size and keys[e] <= middle + 2:
            e += 1
        end[j] = e


@kernel
def mark_core(points, at, start, keys, runs, first, last, limit, need, mass, core):
    """Mark the core rows of the cells from `first` to `last`: rows near them weigh `need` or more.

    Without weights (an empty `mass`) counting ends as soon as there are enough.
    """
    begin, end = new_ranges(keys, runs, first)
    weighted = mass.size > 0
    for c in range(first, last):
        if not weighted and start[c + 1] - start[c] >= need:
            for r in range(start[c], start[c + 1]):
                core[r] = 1
            continue
        move_ranges(keys, runs, c, begin, end)
        if not weighted:
            around = np.int64(0)
            for j in range(runs.size):
                around += start[end[j]] - start[begin[j]]
            if around < need:
                continue
        for r in range(start[c], start[c + 1]):
            i, found = np.uint64(at[r]), 0.0
            for j in range(runs.size):
                for s in range(start[begin[j]], start[end[j]]):
                    if square(points, i, np.uint64(at[s])) <= limit:
                        found += mass[s] if weighted else 1.0
                if found >= need and not weighted:
                    break
            core[r] = found >= need


@kernel
def mark_cells(start, core, occupied):
    """Mark the cells with a core row."""
    for c in range(occupied.size):
        for r in range(start[c], start[c + 1]):
            if core[r]:
                occupied[c] = 1
                break


@inner
def root_of(parent, c):
    """The root of a cell's tree, whose path becomes shorter."""
    while parent[c] != c:
        parent[c] = parent[parent[c]]
        c = parent[c]
    return c


@inner
def cells_touch(points, at, start, core, limit, c, e, box):
    """Whether some core row of cell c is near some core row of cell e."""
    many = (start[c + 1] - start[c]) * (start[e + 1] - start[e]) > MANY
    if many:
        box[0, :], box[1, :] = np.inf, -np.inf
        for s in range(start[e], start[e + 1]):
            if core[s]:
                for j in range(points.shape[1]):
                    x = points[np.uint64(at[s]), j]
                    box[0, j], box[1, j] = min(box[0, j], x), max(box[1, j], x)
    for r in range(start[c], start[c + 1]):
        if not core[r]:
            continue
        i = np.uint64(at[r])
        if many:
            bound = 0.0
            for j in range(points.shape[1]):
                gap = max(box[0, j] - points[i, j], points[i, j] - box[1, j], 0.0)
                bound += gap * gap
            if bound * (1 - 1e-12) > limit:
                continue
        for s in range(start[e], start[e + 1]):
            if core[s] and square(points, i, np.uint64(at[s])) <= limit:
                return True
    return False


@kernel
def join_cells(points, at, start, keys, runs, first, last, stop, limit, core, occupied, parent):
    """Join the cells from `first` to `last` with those after them that have a near core row.

    Only with cells before `stop`: where that is `last`, threads may work on several parts at once. Otherwise
    only with cells from `last` on. The smaller root is the root of both, whatever the order.
    """
    if first >= last:
        return
    begin, end = new_ranges(keys, runs, first)
    box = np.empty((2, points.shape[1]))
    low = 0 if stop == last else last
    for c in range(first, last):
        if not occupied[c]:
            continue
        move_ranges(keys, runs, c, begin, end)
        here = root_of(parent, c)
        for j in range(runs.size):
            for e in range(max(begin[j], c + 1, low), min(end[j], stop)):
                if occupied[e]:
                    there = root_of(parent, e)
                    if there != here and cells_touch(points, at, start, core, limit, c, e, box):
                        parent[max(here, there)] = min(here, there)
                        here = min(here, there)


@kernel
def first_rows(start, order, core, parent, root, first):
    """The root of every cell, and the first core row of every root's cells."""
    for c in range(parent.size):
        top = root_of(parent, c)
        root[c] = top
        for r in range(start[c], start[c + 1]):
            if core[r] and order[r] < first[top]:
                first[top] = order[r]


@kernel
def border_labels(points, at, start, keys, runs, first, last, limit, core, cluster, order, labels):
    """The clusters of the rows in the cells from `first` to `last`: of a row that is no core row, the first cluster
    with a core row near it, or -1."""
    begin, end = new_ranges(keys, runs, first)
    for c in range(first, last):
        border = False
        for r in range(start[c], start[c + 1]):
            if core[r]:
                labels[order[r]] = cluster[c]
            else:
                border = True
        if not border:
            continue
        move_ranges(keys, runs, c, begin, end)
        for r in range(start[c], start[c + 1]):
            if core[r]:
                continue
            i, best = np.uint64(at[r]), np.int64(-1)
            for j in range(runs.size):
                for e in range(begin[j], end[j]):
                    if cluster[e] < 0 or (0 <= best <= cluster[e]):
                        continue
                    for s in range(start[e], start[e + 1]):
                        if core[s] and square(points, i, np.uint64(at[s])) <= limit:
                            best = cluster[e]
                            break
            labels[order[r]] = best
