"""Presorted growth: every column is sorted once, and every threshold is tried.

A lane is a column's rows in sorted order; an entry of it is one unsigned number, the row in the high bits and its
class in the low ones (`shift` of them). A node is the same segment of all lanes: it finds its rows sorted by every
column. After a split the segment of every lane is partitioned in two, each part still in order. While nodes are
large, threads share their columns; small nodes are grown with all that is below them, one subtree for each task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only
from tercet.core.stopping import check_stop
from tercet.tree._engine.criteria import CODES, SQUARED, better, hashed
from tercet.tree._engine.limits import Limits
from tercet.tree._engine.presorted_nodes import (
    CHILD,
    IMPURITY,
    KIND,
    NODES,
    PENDING,
    SLOT_START,
    SLOTS,
    SUMS,
    WEIGHT,
    NodeStore,
    PendingNode,
    add_root,
    draw_columns,
    grow_pending,
    partition_lanes,
    renumber_lanes,
    split_sorted_node,
)
from tercet.tree._engine.presorted_scan import (
    CategoryWorkspace,
    KernelLimits,
    PresortedSplit,
    ScanTarget,
    ScanWorkspace,
    SortedSample,
    class_target,
    find_split,
    new_workspace,
    regression_target,
)
from tercet.tree._engine.traversal import CATEGORY, LEAF
from tercet.tree._engine.tree_arrays import TreeArrays

SMALL_SORT = 1_000  # rows up to which comparisons sort faster than digits
SUBTREE_ROWS = 20_000  # a node of fewer rows is grown with all that is below it, by one thread
INTERRUPT_ENTRIES = 50_000_000  # entries that a kernel scans before Python can react to Ctrl-C
TASK_ENTRIES = 100_000  # entries of a large node in one task, at least
DIGIT = 11  # bits of a key that one pass of the radix sort sorts by
PASSES = 3  # three digits are a key of 32 bits
StoreArrays = tuple[np.ndarray, np.ndarray, np.ndarray]

# Entrances for large nodes, which are split from Python; `grow_pending` has the same functions compiled in.
find_split_kernel, split_node_kernel = kernel(find_split), kernel(split_sorted_node)
partition_lanes_kernel, draw_columns_kernel = kernel(partition_lanes), kernel(draw_columns)


def grow_presorted(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    *,
    n_classes: Sequence[int],
    criterion: str,
    limits: Limits,
    n_categories: np.ndarray,
    single: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
) -> TreeArrays:
    """Grow a tree depth first (`tercet.tree._engine.grow` has the parameters)."""
    X = read_only(np.ascontiguousarray(X, dtype=np.float64))
    code, scan_target = scan_target_of(target, weight, n_classes, criterion)
    sample = _presorted_sample(
        X, None if code == SQUARED else target, scan_target.shift, n_categories, n_jobs
    )
    return grow_sorted(sample, scan_target, n_classes, limits, single, seed, n_jobs)


def scan_target_of(
    target: np.ndarray,
    weight: np.ndarray | None,
    n_classes: Sequence[int],
    criterion: str,
    newton: np.ndarray | None = None,
) -> tuple[int, ScanTarget]:
    """The code of the criterion, and the target as kernels scan it."""
    code = CODES[criterion]
    if code == SQUARED:
        return code, regression_target(target, weight, newton)
    return code, class_target(len(target), int(n_classes[0]), weight, code)


def grow_sorted(
    sample: SortedSample,
    target: ScanTarget,
    n_classes: Sequence[int],
    limits: Limits,
    single: bool,
    seed: int,
    n_jobs: int | None,
) -> TreeArrays:
    """Grow a tree from rows that are sorted already."""
    code, weight, d = target.code, target.weight, sample.X.shape[1]
    n_values = 2 if code == SQUARED else int(n_classes[0])  # the mean is in two parts
    # Weights of 1 are counts: one limit will do.
    count = 0 if weight is not None else int(np.ceil(limits.min_weight_leaf))
    bounds = KernelLimits(
        int(limits.max_depth),
        int(limits.min_samples_split),
        max(int(limits.min_samples_leaf), count),
        0.0 if weight is None else float(limits.min_weight_leaf),
        float(limits.min_impurity_decrease),
        code,
        float(sample.size if weight is None else weight.sum()),
        single,
    )
    grower = PresortedGrower(sample, target, bounds, n_values, limits.max_features, n_jobs)
    key = int(hashed(seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF))
    if sample.size < SUBTREE_ROWS:
        return _assembled(grower.grow_below(sample, target, 0, key), [], [], d, code)
    top, jobs = grower.split_large_nodes(key)
    jobs.sort(key=lambda job: job.start - job.stop)  # the largest first, so that no thread is left with one
    below = each(grower.grow_subtree, jobs, n_jobs=n_jobs)
    return _assembled(_filled_arrays(top), [job.node for job in jobs], below, d, code)


def _presorted_sample(
    X: np.ndarray, target: np.ndarray | None, shift: int, n_categories: np.ndarray, n_jobs: int | None
) -> SortedSample:
    """All rows, in the order of every column of numbers."""
    if len(X) < SMALL_SORT and not n_categories.any():
        return _small_sample(X, target, shift, n_categories)
    n, numeric = len(X), np.flatnonzero(n_categories == 0)
    lane, holes = np.full(X.shape[1], -1, dtype=np.int64), np.zeros(X.shape[1], dtype=np.bool_)
    lane[numeric] = np.arange(len(numeric))
    label = np.zeros(n, dtype=np.int64) if target is None else np.array(target, dtype=np.int64)
    orders = np.empty((max(len(numeric), 1), n), dtype=entry_dtype(n, shift))

    def sort(k: int) -> None:
        column = np.ascontiguousarray(X[:, numeric[k]]) if len(numeric) else np.zeros(n)
        order = argsort_column(column)
        pack_entries(order, label, shift, orders[k])
        if len(numeric):
            holes[numeric[k]] = np.isnan(column[order[-1]])

    each(sort, range(len(orders)), n_jobs=n_jobs)
    return SortedSample(X, np.arange(n, dtype=np.uint32), orders.ravel(), n, shift, lane, holes, n_categories)


def _small_sample(
    X: np.ndarray, target: np.ndarray | None, shift: int, n_categories: np.ndarray
) -> SortedSample:
    """The same for few rows and no categories: all columns are sorted by one call."""
    n, d = X.shape
    columns = np.ascontiguousarray(X.T)
    order = np.argsort(columns, axis=1, kind="stable")
    holes = np.isnan(columns).any(axis=1)
    orders = (order << shift) | (0 if target is None else target[order])
    entries = orders.astype(entry_dtype(n, shift)).ravel()
    return SortedSample(
        X, np.arange(n, dtype=np.uint32), entries, n, shift, np.arange(d), holes, n_categories
    )


def entry_dtype(n: int, shift: int) -> Any:
    """The smallest type that holds the entries of n rows."""
    return np.uint32 if n << shift <= 2**32 else np.uint64


def argsort_column(column: np.ndarray) -> np.ndarray:
    """The rows by increasing value, NaN last: a radix sort of the values rounded to 32 bits, then of ties."""
    keys, rows = np.empty(len(column), dtype=np.uint64), np.empty(len(column), dtype=np.uint64)
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # values too large for 32 bits are ties, sorted at the end
        radix_keys(column.astype(np.float32).view(np.uint32), keys)
    for k in range(PASSES):
        check_stop()
        radix_pass(keys, rows, 32 + k * DIGIT, np.zeros((1 << DIGIT) + 1, dtype=np.uint64))
        keys, rows = rows, keys
    found = np.empty(len(column), dtype=np.uint32)
    if resolve_rounded_ties(read_only(column), keys, found):
        return found
    return np.argsort(column, kind="stable").astype(np.uint32)


@kernel
def radix_keys(pattern, keys):
    """Keys in the order of the values rounded to 32 bits (given as bit patterns), with the row in the low half."""
    for i in range(pattern.size):
        bits = np.uint64(pattern[i])
        if bits & np.uint64(0x7FFFFFFF) > np.uint64(0x7F800000):  # NaN, of whichever sign, comes last
            bits = np.uint64(0xFFFFFFFF)
        elif bits >> np.uint64(31):
            bits = np.uint64(0xFFFFFFFF) - bits
        else:
            bits = bits | np.uint64(0x80000000)
        keys[i] = bits << np.uint64(32) | np.uint64(i)


@kernel
def radix_pass(keys, out, low, place):
    """One pass of the radix sort, by the digit that starts at bit `low`; `place` are zeros, one for each digit."""
    mask, low = np.uint64((1 << DIGIT) - 1), np.uint64(low)
    for i in range(keys.size):
        place[(keys[i] >> low & mask) + np.uint64(1)] += np.uint64(1)
    for k in range(1 << DIGIT):
        place[k + 1] += place[k]
    for i in range(keys.size):
        digit = keys[i] >> low & mask
        out[place[digit]] = keys[i]
        place[digit] += np.uint64(1)


@kernel
def resolve_rounded_ties(column, keys, found):
    """Sort values that rounding made equal, by insertion; False where that would take too long."""
    patience, first, high = 4 * keys.size, 0, np.uint64(32)
    for i in range(keys.size):
        row = np.uint32(keys[i] & np.uint64(0xFFFFFFFF))
        if keys[i] >> high != keys[first] >> high:
            first = i
        k = i
        while k > first and column[row] < column[found[k - 1]]:
            found[k] = found[k - 1]
            k -= 1
            patience -= 1
        found[k] = row
        if patience < 0:
            return False
    return True


@kernel
def pack_entries(found, label, shift, out):
    """Write entries: the row and its class in one unsigned number."""
    for i in range(found.size):
        row = np.uint64(found[i])
        out[i] = row << np.uint64(shift) | np.uint64(label[row])


class PresortedGrower:
    """Grows large nodes one by one, small ones with all that is below them."""

    def __init__(
        self,
        sample: SortedSample,
        target: ScanTarget,
        bounds: KernelLimits,
        n_values: int,
        max_features: int | None,
        n_jobs: int | None,
    ) -> None:
        self.sample, self.target, self.bounds, self.n_jobs = sample, target, bounds, n_jobs
        self.max_features, self.n_values, self.widest = (
            -1 if max_features is None else max_features,  # -1: all columns
            n_values,
            int(sample.n_categories.max(initial=0)),
        )
        self.lanes = sample.orders.size // sample.size
        self.place = np.empty(sample.size if sample.size >= SUBTREE_ROWS else 0, dtype=np.uint32)

    def workspace(self) -> tuple[ScanWorkspace, CategoryWorkspace | None]:
        return new_workspace(self.n_values, self.widest, len(self.sample.lane))

    def split_large_nodes(self, key: int) -> tuple[NodeStore, list[PendingNode]]:
        """Split the large nodes, depth first. Returns all nodes so far, and the small ones that are pending."""
        jobs: list[PendingNode] = []
        goes_left = np.empty(self.sample.size, dtype=np.uint8)
        found = NodeStore.empty(64, self.n_values, 64 + self.widest, 64)
        add_root(self.sample.orders, self.sample.size, self.target, self.bounds, found, 0, key)
        while found.state[PENDING]:
            found = found.with_capacity(2, self.widest, 2)
            found.state[PENDING] -= 1
            job = PendingNode(*found.pending[found.state[PENDING]].tolist())
            if job.stop - job.start < SUBTREE_ROWS:
                jobs.append(job)
            else:
                self.split_large_node(job, found, goes_left)
        return found, jobs

    def split_large_node(self, job: PendingNode, found: NodeStore, goes_left: np.ndarray) -> None:
        """Split one node; threads share the columns."""
        t, start, stop, _, key = job
        sample, target, bounds = self.sample, self.target, self.bounds
        columns, sums = np.arange(len(sample.lane)), found.reals[t, SUMS:]
        if self.max_features >= 0:
            columns = columns[: draw_columns_kernel(sample, self.max_features, start, stop, key, columns)]
        weight = found.reals[t, WEIGHT]
        spread = weight * found.reals[t, IMPURITY]

        def search(some: np.ndarray) -> tuple[PresortedSplit, CategoryWorkspace | None]:
            own, sets = self.workspace()
            best = find_split_kernel(
                sample, target, bounds, some, start, stop, weight, spread, sums, own, sets
            )
            return best, sets

        best = None
        some = 1 + TASK_ENTRIES // (stop - start)
        parts = [columns[k : k + some] for k in range(0, len(columns), some)]
        for one in each(search, parts, n_jobs=self.n_jobs):
            if one[0].column >= 0 and (best is None or better(one[0].gain, best[0].gain, spread)):
                best = one
        if best is None:
            return
        spares = [np.empty(stop - start, dtype=sample.orders.dtype)]
        split_further = split_node_kernel(
            sample, target, bounds, found, job, best[0], best[1], goes_left, spares[0]
        )

        def partition_some(first: int) -> None:
            spare = spares.pop() if spares else np.empty(stop - start, dtype=sample.orders.dtype)
            last = min(first + some, self.lanes)
            partition_lanes_kernel(
                sample, first, last, best[0].column, start, stop, split_further, goes_left, spare
            )
            spares.append(spare)

        each(partition_some, range(0, self.lanes, some), n_jobs=self.n_jobs)

    def grow_subtree(self, job: PendingNode) -> StoreArrays:
        """Grow all that is below a small node, from rows renumbered from 0: they stay in a core's own cache."""
        _, start, stop, depth, key = job
        sample, target, m = self.sample, self.target, stop - start
        rows = (sample.orders[start:stop] >> np.uint32(sample.shift)).astype(np.uint32)
        orders = np.empty(self.lanes * m, dtype=entry_dtype(m, sample.shift))
        renumber_lanes(sample.orders, sample.size, start, stop, sample.shift, self.place, orders)
        sample = sample._replace(ids=sample.ids[rows], orders=orders, size=m)
        y, weight = (None if array is None else array[rows] for array in (target.y, target.weight))
        return self.grow_below(sample, target._replace(y=y, weight=weight), depth, key)

    def grow_below(self, sample: SortedSample, target: ScanTarget, depth: int, key: int) -> StoreArrays:
        """Grow the tree of a sample, whose root has this depth."""
        m = sample.size
        found = NodeStore.empty(2 * m, self.n_values, self.widest, m)
        goes_left, spare, own = (
            np.empty(m, dtype=np.uint8),
            np.empty_like(sample.orders[:m]),
            self.workspace(),
        )
        more = goes_left, spare, self.max_features, INTERRUPT_ENTRIES
        add_root(sample.orders, m, target, self.bounds, found, depth, key)
        while found.state[PENDING]:
            check_stop()
            found = found.with_capacity(0, self.widest + 1, 0)
            grow_pending(sample, target, self.bounds, found, *own, *more)
        return _filled_arrays(found)


def _filled_arrays(found: NodeStore) -> StoreArrays:
    """The filled part of a store, one row for each field of the nodes, and the slots."""
    nodes, slots = found.state[NODES], found.state[SLOTS]
    return found.integers[:nodes].T.copy(), found.reals[:nodes].T.copy(), found.slots[:slots].copy()


def _assembled(top: StoreArrays, roots: list[int], below: list[StoreArrays], d: int, code: int) -> TreeArrays:
    """One tree of the large nodes and of the subtrees that stand at `roots`."""
    count, n_slots = top[0].shape[1], len(top[2])
    for root, (integers, reals, slots) in zip(roots, below):
        integers[CHILD, integers[KIND] != LEAF] += (
            count - 1
        )  # its first node stands in the large tree already
        integers[SLOT_START, integers[KIND] == CATEGORY] += n_slots
        top[0][:, root], top[1][:, root] = integers[:, 0], reals[:, 0]
        count, n_slots = count + integers.shape[1] - 1, n_slots + len(slots)
    integers, reals = top[:2]
    if below:
        integers, reals = (np.hstack([top[k], *(part[k][:, 1:] for part in below)]) for k in (0, 1))
    kind, feature, child, missing, slot_start, slot_count, samples = integers
    threshold, weight, impurity, *sums = reals
    inner, value = kind != LEAF, np.array(sums).T
    first, share = child[inner], np.ones(count)
    for k in range(2):
        share[first + k] = weight[first + k] / weight[inner]
    value = value.sum(axis=1, keepdims=True) if code == SQUARED else value / weight[:, None]
    slots = np.concatenate([top[2], *(slots for _, _, slots in below)])
    nodes = {
        "kind": kind,
        "feature": feature,
        "threshold": threshold,
        "child": child,
        "n_children": 2 * inner,
        "missing": missing,
        "share": share,
        "slot_start": slot_start,
        "slot_count": slot_count,
        "impurity": impurity,
        "n_node_samples": samples,
        "weighted_n_node_samples": weight,
    }
    return TreeArrays(d, value[:, None, :], [value.shape[1]], slots, None, nodes)
