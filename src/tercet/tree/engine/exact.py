"""Exact growth: every column is sorted once, and every cut is tried.

A node is the same stretch of all lanes (the columns in order): it finds its rows sorted by every column. After a
split the stretch of every lane is parted in two, each part still in order. While nodes are large the columns are
shared out among threads; when they have become small, whole subtrees are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.tree.engine.criteria import CODES, SQUARED, better, hashed
from tercet.tree.engine.cuts import Bounds, Room, Sample, Sets, Split, find_split, room
from tercet.tree.engine.growth import (
    CHILD,
    IMPURITY,
    KIND,
    NODES,
    SLOT_START,
    SLOTS,
    SUMS,
    WAITING,
    WEIGHT,
    Growth,
    Job,
    choose,
    divide_node,
    grow_some,
    part,
    plant,
    relabel,
)
from tercet.tree.engine.orders import ordered, packed
from tercet.tree.engine.targets import Target, classes, numbers
from tercet.tree.structure import CATEGORY, LEAF, Tree

if TYPE_CHECKING:
    from tercet.tree.engine import Limits

SMALL = 20_000  # nodes of fewer rows are grown with all that is below them, by one thread
PIECE = 50_000_000  # entries that a kernel looks at before Python can hear Ctrl-C
TASK = 100_000  # entries of large nodes that a thread takes at a time, at least
Part = tuple[np.ndarray, np.ndarray, np.ndarray]

# For large nodes, one by one from Python; `grow_some` has them compiled in.
find_split_alone, divide_alone = kernel(find_split), kernel(divide_node)
part_alone, choose_alone = kernel(part), kernel(choose)


def grow_presorted(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None,
    *,
    n_classes: Sequence[int],
    criterion: str,
    limits: Limits,
    n_categories: np.ndarray,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Tree:
    """Grow a tree depth first (`tercet.tree.engine.grow` has the parameters)."""
    X = np.ascontiguousarray(X, dtype=np.float64).view()
    X.flags.writeable = False  # always, or kernels would be compiled once for each kind of array
    code, n_values = CODES[criterion], int(n_classes[0])
    mean = float(np.average(target, weights=weight)) if code == SQUARED else 0.0
    told = numbers(target, mean, weight) if code == SQUARED else classes(len(X), n_values, weight, code)
    sample = _sorted(X, None if code == SQUARED else target, told.shift, n_categories, n_jobs)
    # Weights of 1 are counts: one limit will do.
    count = 0 if weight is not None else int(np.ceil(limits.min_weight_leaf))
    bounds = Bounds(
        int(limits.max_depth),
        int(limits.min_samples_split),
        max(int(limits.min_samples_leaf), count),
        0.0 if weight is None else float(limits.min_weight_leaf),
        float(limits.min_impurity_decrease),
        code,
        float(len(X) if weight is None else weight.sum()),
    )
    grower = _Grower(sample, told, bounds, n_values, limits.max_features, n_jobs)
    top, jobs = grower.large(int(hashed(seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF)))
    jobs.sort(key=lambda job: job.start - job.stop)  # the largest first, so that no thread is left with one
    below = each(grower.subtree, jobs, n_jobs=n_jobs)
    return _together(_cut_out(top), [job.node for job in jobs], below, X.shape[1], mean, code)


def _sorted(
    X: np.ndarray, target: np.ndarray | None, shift: int, n_categories: np.ndarray, n_jobs: int | None
) -> Sample:
    """All rows, in the order of every column of numbers."""
    n, numeric = len(X), np.flatnonzero(n_categories == 0)
    lane, holes = np.full(X.shape[1], -1, dtype=np.int64), np.zeros(X.shape[1], dtype=np.bool_)
    lane[numeric] = np.arange(len(numeric))
    label = np.zeros(n, dtype=np.int64) if target is None else np.array(target, dtype=np.int64)
    orders = np.empty((max(len(numeric), 1), n), dtype=_unsigned(n, shift))

    def sort(k: int) -> None:
        column = np.ascontiguousarray(X[:, numeric[k]]) if len(numeric) else np.zeros(n)
        order = ordered(column)
        packed(order, label, shift, orders[k])
        if len(numeric):
            holes[numeric[k]] = np.isnan(column[order[-1]])

    each(sort, range(len(orders)), n_jobs=n_jobs)
    return Sample(X, np.arange(n, dtype=np.uint32), orders.ravel(), n, shift, lane, holes, n_categories)


def _unsigned(n: int, shift: int) -> Any:
    """The smallest type that holds the entries of n rows."""
    return np.uint32 if n << shift <= 2**32 else np.uint64


class _Grower:
    """Grows large nodes one by one, small ones with all that is below them."""

    def __init__(
        self,
        sample: Sample,
        target: Target,
        bounds: Bounds,
        n_values: int,
        max_features: int | None,
        n_jobs: int | None,
    ) -> None:
        self.sample, self.target, self.bounds, self.n_jobs = sample, target, bounds, n_jobs
        self.max_features, self.n_values, self.widest = (
            max_features,
            n_values,
            int(sample.n_categories.max(initial=0)),
        )
        self.lanes = sample.orders.size // sample.size
        self.place = np.empty(sample.size, dtype=np.uint32)

    def room(self) -> tuple[Room, Sets | None]:
        return room(self.n_values, self.widest, len(self.sample.lane))

    def large(self, key: int) -> tuple[Growth, list[Job]]:
        """Split the large nodes. Returns them, and the small ones that wait."""
        jobs: list[Job] = []
        goes = np.empty(self.sample.size, dtype=np.uint8)
        found = Growth.empty(64, self.n_values, 64 + self.widest, 64)
        plant(self.sample.orders, self.sample.size, self.target, self.bounds, found, 0, key)
        while found.state[WAITING]:
            found = found.with_room(2, self.widest, 2)
            found.state[WAITING] -= 1
            job = Job(*found.waiting[found.state[WAITING]].tolist())
            if job.stop - job.start < SMALL:
                jobs.append(job)
            else:
                self.split_large(job, found, goes)
        return found, jobs

    def split_large(self, job: Job, found: Growth, goes: np.ndarray) -> None:
        """Split one node; threads share the columns."""
        t, start, stop, _, key = job
        sample, target, bounds = self.sample, self.target, self.bounds
        columns, sums = np.arange(len(sample.lane)), found.real[t, SUMS:]
        if self.max_features is not None:
            columns = columns[: choose_alone(sample, self.max_features, start, stop, key, columns)]
        weight = found.real[t, WEIGHT]
        spread = weight * found.real[t, IMPURITY]

        def search(some: np.ndarray) -> tuple[Split, Sets | None]:
            own, sets = self.room()
            best = find_split_alone(
                sample, target, bounds, some, start, stop, weight, spread, sums, own, sets
            )
            return best, sets

        best = None
        some = 1 + TASK // (stop - start)
        parts = [columns[k : k + some] for k in range(0, len(columns), some)]
        for one in each(search, parts, n_jobs=self.n_jobs):
            if one[0].column >= 0 and (best is None or better(one[0].gain, best[0].gain, spread)):
                best = one
        if best is None:
            return
        spares = [np.empty(stop - start, dtype=sample.orders.dtype)]
        going = divide_alone(sample, target, bounds, found, job, best[0], best[1], goes, spares[0])

        def part_lanes(first: int) -> None:
            spare = spares.pop() if spares else np.empty(stop - start, dtype=sample.orders.dtype)
            last = min(first + some, self.lanes)
            part_alone(sample, first, last, best[0].column, start, stop, going, goes, spare)
            spares.append(spare)

        each(part_lanes, range(0, self.lanes, some), n_jobs=self.n_jobs)

    def subtree(self, job: Job) -> Part:
        """Grow all that is below a small node, from rows numbered anew: they stay in a core's own cache."""
        _, start, stop, depth, key = job
        sample, target, m = self.sample, self.target, stop - start
        rows = (sample.orders[start:stop] >> np.uint32(sample.shift)).astype(np.uint32)
        orders = np.empty(self.lanes * m, dtype=_unsigned(m, sample.shift))
        relabel(sample.orders, sample.size, start, stop, sample.shift, self.place, orders)
        sample = sample._replace(ids=rows, orders=orders, size=m)
        y, weight = (None if array is None else array[rows] for array in (target.y, target.weight))
        target = target._replace(y=y, weight=weight)
        found = Growth.empty(2 * m, self.n_values, self.widest, m)
        goes, spare, own = np.empty(m, dtype=np.uint8), np.empty_like(orders[:m]), self.room()
        more = goes, spare, self.max_features, PIECE
        plant(orders, m, target, self.bounds, found, depth, key)
        while found.state[WAITING]:
            found = found.with_room(0, self.widest + 1, 0)
            grow_some(sample, target, self.bounds, found, *own, *more)
        return _cut_out(found)


def _cut_out(found: Growth) -> Part:
    """What a growth has come to: an array for each fact about the nodes, and the slots."""
    nodes, slots = found.state[NODES], found.state[SLOTS]
    return found.whole[:nodes].T.copy(), found.real[:nodes].T.copy(), found.slots[:slots].copy()


def _together(top: Part, roots: list[int], below: list[Part], d: int, mean: float, code: int) -> Tree:
    """One tree of the large nodes and of the subtrees that stand at `roots`."""
    count, n_slots = top[0].shape[1], len(top[2])
    for root, (whole, real, slots) in zip(roots, below):
        whole[CHILD, whole[KIND] != LEAF] += count - 1  # its first node stands in the large tree already
        whole[SLOT_START, whole[KIND] == CATEGORY] += n_slots
        top[0][:, root], top[1][:, root] = whole[:, 0], real[:, 0]
        count, n_slots = count + whole.shape[1] - 1, n_slots + len(slots)
    whole, real = (np.hstack([top[k], *(part[k][:, 1:] for part in below)]) for k in (0, 1))
    kind, feature, child, missing, slot_start, slot_count, samples = whole
    threshold, weight, impurity, *sums = real
    inner, value = kind != LEAF, np.array(sums).T
    first, share = child[inner], np.ones(count)
    for k in range(2):
        share[first + k] = weight[first + k] / weight[inner]
    return Tree(
        d,
        (value + mean if code == SQUARED else value / weight[:, None])[:, None, :],
        [len(sums)],
        np.concatenate([top[2], *(slots for _, _, slots in below)]),
        kind=kind,
        feature=feature,
        threshold=threshold,
        child=child,
        n_children=2 * inner,
        missing=missing,
        share=share,
        slot_start=slot_start,
        slot_count=slot_count,
        impurity=impurity,
        n_node_samples=samples,
        weighted_n_node_samples=weight,
    )
