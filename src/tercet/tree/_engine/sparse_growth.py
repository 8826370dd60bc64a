"""Growth on sparse rows, depth first, by the best or by random thresholds: one target, no missing values.

Only entries that are not zero are kept: those of a node are a segment, in the order of columns and, in a column (a
run of entries), of values. The zeros of a column stand between its negative and its positive entries, and their
sums are what the entries leave of the node's. So the work is that of the entries.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.tree._engine.child_nodes import add_children, partition_members
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.presorted import INTERRUPT_ENTRIES, _assembled, _filled_arrays
from tercet.tree._engine.presorted_nodes import (
    BOTH,
    IMPURITY,
    LEFT,
    NEITHER,
    PENDING,
    RIGHT,
    SUMS,
    WEIGHT,
    PendingNode,
    add_root,
)
from tercet.tree._engine.random_growth import grown_tree, new_growth
from tercet.tree._engine.sparse_search import best_run_split, random_run_split
from tercet.tree._engine.tree_arrays import TreeArrays


class SparseEntries(NamedTuple):
    """Entries of all pending nodes, and their runs: a stack of the columns of each node, and where they start."""

    who: np.ndarray  # rows with their classes in the low bits
    value: np.ndarray
    column: np.ndarray
    start: np.ndarray
    segments: np.ndarray  # (pending, 4): entries and runs of each pending node
    spare_who: np.ndarray
    spare_value: np.ndarray
    runs: np.ndarray  # (2, 2, columns): the runs of two children
    priority: np.ndarray  # of the runs of a node, for random thresholds
    heap: np.ndarray


def grow_sparse(
    X: Any,
    target: np.ndarray,
    weight: np.ndarray | None,
    *,
    n_classes: Any,
    criterion: str,
    limits: Limits,
    seed: int,
    splitter: str,
) -> TreeArrays:
    """Grow a tree from a CSR matrix (`tercet.tree._engine.grow` has the parameters)."""
    n, d = X.shape
    growth = new_growth(n, target, weight, n_classes, criterion, limits)
    store, random = growth.store, splitter == "random"
    tried = limits.max_features or d
    entries = sorted_entries(X, growth.members, tried if random else 0)
    add_root(growth.members, n, growth.target, growth.bounds, store, 0, seed)
    while store.state[PENDING]:
        split_pending_runs(entries, growth, d, tried if random else 0, INTERRUPT_ENTRIES)
    if random:
        return grown_tree(store, d, growth.bounds.code)
    return _assembled(_filled_arrays(store), [], [], d, growth.bounds.code)


def sorted_entries(X: Any, members: np.ndarray, tried: int) -> SparseEntries:
    """The entries of all rows."""
    X = X.tocsc(copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    n, d = X.shape
    value = X.data.astype(np.float64)
    sort_runs(X.indptr, X.indices, value)
    full = np.flatnonzero(np.diff(X.indptr))
    room = max(X.nnz, 1)
    column, start = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=np.int64)
    column[: full.size], start[: full.size] = full, X.indptr[full]
    segments = np.zeros((n, 4), dtype=np.int64)
    segments[0] = 0, X.nnz, 0, full.size
    who = members[X.indices]
    return SparseEntries(
        who,
        value,
        column,
        start,
        segments,
        np.empty_like(who),
        np.empty(value.size),
        np.zeros((2, 2, d), dtype=np.int64),
        np.empty(d, dtype=np.uint64),
        np.empty(min(tried, d), dtype=np.uint64),
    )


@kernel
def sort_runs(indptr, rows, values):
    """Sort the entries of each column by value."""
    for f in range(indptr.size - 1):
        first, last = indptr[f], indptr[f + 1]
        order = np.argsort(values[first:last], kind="mergesort")
        a, b = rows[first:last].copy(), values[first:last].copy()
        for k in range(order.size):
            rows[first + k], values[first + k] = a[order[k]], b[order[k]]


@kernel
def split_pending_runs(entries, growth, d, n_tried, work):
    """Split pending nodes, until so many entries have been read; `n_tried` is 0 for the best thresholds."""
    store, members, target = growth.store, growth.members, growth.target
    state, pending, reals, shift = store.state, store.pending, store.reals, np.uint64(target.shift)
    while state[PENDING] > 0 and work > 0:
        state[PENDING] -= 1
        row, segment = pending[state[PENDING]], entries.segments[state[PENDING]]
        job = PendingNode(row[0], row[1], row[2], row[3], row[4])
        first, last, run, end = segment[0], segment[1], segment[2], segment[3]
        work -= last - first + job.stop - job.start
        weight = reals[job.node, WEIGHT]
        spread, sums = weight * reals[job.node, IMPURITY], reals[job.node, SUMS:]
        size = job.stop - job.start
        if n_tried > 0:
            at, cut = random_run_split(
                entries, run, end, last, size, d, n_tried, job.key, weight, spread, sums, growth
            )
        else:
            at, cut = best_run_split(entries, run, end, last, size, weight, spread, sums, growth)
        if at < 0:
            continue
        for i in range(job.start, job.stop):
            growth.goes_left[np.uint64(members[i]) >> shift] = cut >= 0.0
        stop = entries.start[at + 1] if at + 1 < end else last
        for e in range(entries.start[at], stop):
            growth.goes_left[np.uint64(entries.who[e]) >> shift] = entries.value[e] <= cut
        count = partition_members(members, job.start, job.stop, growth.goes_left, target.shift, growth.spare)
        feature = np.int64(entries.column[at])
        further = add_children(target, growth.bounds, store, job, members, feature, cut, count)
        if further != NEITHER:
            partition_runs(entries, first, last, run, end, growth.goes_left, shift, further, state[PENDING])


@inner
def partition_runs(entries, first, last, run, end, goes_left, shift, further, pending):
    """Partition the entries of a node, and push the runs of the children that are split further: the left one's on
    top, as it comes next."""
    who, value, spare_who, spare_value = entries.who, entries.value, entries.spare_who, entries.spare_value
    lefts, rights, one = entries.runs[0], entries.runs[1], np.uint64(1)
    front, back, n_left, n_right = np.uint64(first), np.uint64(0), 0, 0
    for r in range(run, end):
        stop = entries.start[r + 1] if r + 1 < end else last
        a, b = front, back
        for e in range(np.uint64(entries.start[r]), np.uint64(stop)):
            row, x = who[e], value[e]
            go = np.uint64(goes_left[np.uint64(row) >> shift])
            who[front], value[front] = row, x
            spare_who[back], spare_value[back] = row, x
            front += go
            back += one - go
        if front > a:
            lefts[0, n_left], lefts[1, n_left] = entries.column[r], np.int64(a)
            n_left += 1
        if back > b:
            rights[0, n_right], rights[1, n_right] = entries.column[r], np.int64(b)
            n_right += 1
    for i in range(back):
        who[front + np.uint64(i)], value[front + np.uint64(i)] = spare_who[i], spare_value[i]
    middle, top = np.int64(front), run
    if further in (BOTH, RIGHT):
        push_runs(entries, rights, n_right, middle, top)
        place = entries.segments[pending - (2 if further == BOTH else 1)]
        place[0], place[1], place[2], place[3] = middle, last, top, top + n_right
        top += n_right
    if further in (BOTH, LEFT):
        push_runs(entries, lefts, n_left, 0, top)
        place = entries.segments[pending - 1]
        place[0], place[1], place[2], place[3] = first, middle, top, top + n_left


@inner
def push_runs(entries, runs, count, shift, top):
    """Put the runs of a child on the stack."""
    for k in range(count):
        entries.column[top + k], entries.start[top + k] = runs[0, k], runs[1, k] + shift
