"""Split search on sparse rows: the best threshold, or a random one, of each run of entries (`sparse_growth`)."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner
from tercet.tree._engine import criteria
from tercet.tree._engine.child_nodes import move_entry
from tercet.tree._engine.criteria import TIE, midpoint
from tercet.tree._engine.general_search import better
from tercet.tree._engine.general_subtree import column_priority
from tercet.tree._engine.random_growth import allowed_gain, drawn_threshold


@inner
def random_run_split(entries, run, end, last, size, d, n_tried, key, weight, spread, sums, growth):
    """The best of the thresholds that a node draws, one for each column that it tries. Returns run, threshold."""
    limit = last_priority(entries, run, end, last, size, d, n_tried, np.uint64(key))
    best, at, threshold, value = -np.inf, np.int64(-1), 0.0, entries.value
    for r in range(run, end):
        first, stop = entries.start[r], entries.start[r + 1] if r + 1 < end else last
        low, high = run_range(value, first, stop, size)
        if not low < high or entries.priority[r - run] > limit:
            continue
        cut = drawn_threshold(key, entries.column[r], low, high)
        gain = run_gain(entries, first, stop, size, cut, weight, spread, sums, growth)
        if better(gain, best, spread):
            best, at, threshold = gain, np.int64(r), cut
    return at, threshold


@inner
def last_priority(entries, run, end, last, size, d, n_tried, key):
    """The priority of the last column that a node tries: the first ones of those with different values."""
    heap, count = entries.heap, 0
    for r in range(run, end):
        entries.priority[r - run] = column_priority(key, d, entries.column[r])
        stop = entries.start[r + 1] if r + 1 < end else last
        low, high = run_range(entries.value, entries.start[r], stop, size)
        if not low < high:
            continue
        item = entries.priority[r - run]
        if count < n_tried:  # a heap whose top is the largest
            place = count
            while place > 0 and heap[(place - 1) // 2] < item:
                heap[place] = heap[(place - 1) // 2]
                place = (place - 1) // 2
            heap[place] = item
        elif item < heap[0]:
            place = 0
            while 2 * place + 1 < n_tried:
                child = 2 * place + 1
                if child + 1 < n_tried and heap[child + 1] > heap[child]:
                    child += 1
                if item >= heap[child]:
                    break
                heap[place] = heap[child]
                place = child
            heap[place] = item
        count += 1
    return heap[0]


@inner
def run_range(value, first, stop, size):
    """The least and the greatest value of a column, whose zeros are not among the entries."""
    low, high = value[first], value[stop - 1]
    if stop - first < size:
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high


@inner
def run_gain(entries, first, stop, size, cut, weight, spread, sums, growth):
    """The gain of a threshold, from the entries on the side on which the zeros are not."""
    left, target, count, mass = growth.left, growth.target, 0, 0.0
    for k in range(left.size):
        left[k] = 0.0
    shift, y, w = target.shift, target.y, target.weight
    if cut < 0.0:
        e = first
        while e < stop and entries.value[e] <= cut:
            mass += move_entry(entries.who[e], 1.0, shift, y, w, sums, left)
            e += 1
        count = e - first
    else:
        if y is None:
            for k in range(left.size):
                left[k] = sums[k]
        mass, e = weight, stop
        while e > first and entries.value[e - 1] > cut:
            mass += move_entry(entries.who[e - 1], -1.0, shift, y, w, sums, left)
            e -= 1
        count = size - (stop - e)
    return allowed_gain(count, size - count, mass, weight, spread, sums, growth)


@inner
def best_run_split(entries, run, end, last, size, weight, spread, sums, growth):
    """The best of all thresholds of a node; of equal ones that of the first column, the smallest. Returns run,
    threshold."""
    best, at, threshold = -1.0, np.int64(-1), 0.0
    for r in range(run, end):
        if best >= spread * (1.0 - TIE):  # two pure sides: nothing can be better
            break
        stop = entries.start[r + 1] if r + 1 < end else last
        gain, cut = best_cut(entries, entries.start[r], stop, size, weight, spread, sums, growth, best)
        if gain > best:
            best, at, threshold = gain, np.int64(r), cut
    return at, threshold


@inner
def best_cut(entries, first, stop, size, weight, spread, sums, growth, best):
    """The best threshold of a run, and its gain, where that is better than `best`."""
    left, target, value = growth.left, growth.target, entries.value
    shift, y, w = target.shift, target.y, target.weight
    threshold, count, mass, zeros = 0.0, 0, 0.0, size - (stop - first)
    for k in range(left.size):
        left[k] = 0.0
    for e in range(first, stop + 1):
        here = e - 1  # the entry before the cut
        if zeros > 0 and (e == stop or value[e] > 0.0) and (e == first or value[here] < 0.0):
            if e > first:
                gain = allowed_gain(count, size - count, mass, weight, spread, sums, growth)
                if criteria.better(gain, best, spread) and gain >= 0.0:
                    best, threshold = gain, midpoint(value[here], 0.0)
            count, mass = add_zeros(entries, e, stop, size, weight, sums, growth)
            if e < stop:
                gain = allowed_gain(count, size - count, mass, weight, spread, sums, growth)
                if criteria.better(gain, best, spread) and gain >= 0.0:
                    best, threshold = gain, midpoint(0.0, value[e])
        elif first < e < stop and value[here] < value[e]:
            gain = allowed_gain(count, size - count, mass, weight, spread, sums, growth)
            if criteria.better(gain, best, spread) and gain >= 0.0:
                best, threshold = gain, midpoint(value[here], value[e])
        if e < stop:
            mass += move_entry(entries.who[e], 1.0, shift, y, w, sums, left)
            count += 1
    return best, threshold


@inner
def add_zeros(entries, first, stop, size, weight, sums, growth):
    """Put all rows but those of the positive entries first .. stop on the left; returns their number and weight."""
    left, target, mass = growth.left, growth.target, weight
    for k in range(left.size):
        left[k] = sums[k] if target.y is None else 0.0
    for e in range(first, stop):
        mass += move_entry(entries.who[e], -1.0, target.shift, target.y, target.weight, sums, left)
    return size - (stop - first), mass
