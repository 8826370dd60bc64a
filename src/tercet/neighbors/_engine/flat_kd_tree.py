"""The kd-tree as flat arrays, built and searched on several threads.

Large trees are built in two steps. A sample of the rows gives the first few thousand parts; then all rows are
assigned to the parts, and the rest of each part's branch is built in a core's own cache. Queries are answered in
the order of the parts that they fall into: they need the same rows, which then are in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from tercet.core.parallel import Chunks, each
from tercet.core.rows import kernel_form, read_only
from tercet.core.stopping import check_stop
from tercet.neighbors._engine.kd_kernels import (
    Nodes,
    assign_parts,
    build,
    build_parts,
    counting_sort,
    k_nearest,
    within_radius,
)
from tercet.neighbors._engine.kd_metrics import Metric, Minkowski, metric_of

PARTS, PART, SAMPLE = 4096, 1024, 16  # parts at most, rows of a part, how many of them are in the sample
TASK = 1 << 15  # rows of the parts that are built by one task
QUERIES = 1024  # queries answered by one task
SMALL, LARGE = 1e-130, 1e150  # what may be squared


class FlatKDTree:
    """Exact neighbours under an L_p distance, by a kd-tree.

    Parameters
    ----------
    points : float array of shape (n, d), row after row
        The rows, which are not copied.
    leaf_size : int
        Parts of so many rows are not cut any more.
    p : float
        The power of the distance, from 1 to infinity.
    n_jobs : int, optional
        Threads to build and search with.
    """

    method = "kd_tree"

    def __init__(self, points: np.ndarray, leaf_size: int, p: float, n_jobs: int | None = None) -> None:
        self.points = points = read_only(points)
        self.p, self.n_jobs = p, n_jobs
        n, d = points.shape
        if n >= 2**31:
            raise ValueError(f"X has {n} rows; a tree takes fewer than {2**31}.")
        self.leaf_size = min(leaf_size, n)
        parts = min(PARTS, n // PART)
        self.top = TreeTop(points, parts) if parts > 1 else None
        if self.top:
            self.order, borders = self.top.sort(points, n_jobs)
        else:
            self.order, borders = np.arange(n, dtype=np.int32), np.array([0, n])

        def branch(span: tuple[int, int]) -> Any:
            here = borders[span[0] : span[1] + 1]
            nodes, roots = _empty_nodes(2 * (here[-1] - here[0])), np.empty(len(here) - 1, dtype=np.int64)
            box = np.array([[np.inf], [-np.inf]]).repeat(d, axis=1)
            count, depth = build_parts(points, self.order, here, self.leaf_size, nodes, roots, box)
            return Nodes(*(array[:count].copy() for array in nodes)), roots, depth, box

        cuts = np.unique(np.searchsorted(borders, np.arange(0, n + TASK, TASK)).clip(max=len(borders) - 1))
        branches, roots, depths, boxes = zip(*each(branch, list(pairwise(cuts)), n_jobs=n_jobs))
        self.box = np.array([np.min(boxes, axis=0)[0], np.max(boxes, axis=0)[1]])
        self.depth = max(depths) + (self.top.depth if self.top else 0)
        self.nodes = _joined(self.top, branches, roots)

    def query(self, Q: np.ndarray, k: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices of the k nearest rows, in order; of equals, the smaller index first."""
        Q = kernel_form(Q)
        far, near = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        tree, metric = self._arrays(), self._metric(Q)
        self._answer(
            lambda some, turns: k_nearest(*tree, self.leaf_size, some, turns, metric, far, near), Q, n_jobs
        )
        return far, near

    def radius(
        self, Q: np.ndarray, limits: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows no farther than a limit for each query, as (indptr, indices, distances)."""
        Q = kernel_form(Q)
        indptr = np.zeros(len(Q) + 1, dtype=np.int64)
        np.cumsum(self._within(Q, limits, indptr, 0, n_jobs)[0], out=indptr[1:])
        _, near, far = self._within(Q, limits, indptr, int(indptr[-1]), n_jobs)
        return indptr, near, far

    def counts(self, Q: np.ndarray, limits: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """How many rows are no farther than a limit for each query."""
        Q = kernel_form(Q)
        return self._within(Q, limits, np.zeros(len(Q) + 1, dtype=np.int64), 0, n_jobs)[0]

    def _arrays(self) -> tuple[np.ndarray, np.ndarray, Nodes, np.ndarray, int]:
        return self.points, self.order, self.nodes, self.box, self.depth

    def _within(
        self, Q: np.ndarray, limits: np.ndarray, indptr: np.ndarray, size: int, n_jobs: int | None
    ) -> Any:
        """How many rows are within reach of each query; which and how far, if `size` is their number."""
        count, near, far = np.zeros(len(Q), dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size)
        tree, metric = self._arrays(), self._metric(Q)
        self._answer(
            lambda some, turns: within_radius(*tree, some, turns, metric, limits, indptr, count, near, far),
            Q,
            n_jobs,
        )
        return count, near, far

    def _answer(self, run: Callable[..., int], Q: np.ndarray, n_jobs: int | None) -> None:
        """`run(queries, their indices)` for all queries, those of one part of the tree together."""
        n_jobs = self.n_jobs if n_jobs is None else n_jobs
        turns = self.top.sort(Q, n_jobs)[0] if self.top else np.arange(len(Q), dtype=np.int32)

        def answer(chunk: tuple[np.ndarray]) -> None:
            some, done = Q[chunk[0]], 0
            while done < len(some):
                check_stop()
                done += run(some[done:], chunk[0][done:])

        each(answer, Chunks(turns, rows=QUERIES), n_jobs=n_jobs)

    def _metric(self, Q: np.ndarray) -> Metric:
        return lp_metric(self.p, max(np.abs(self.box).max(), np.abs(Q).max(initial=0.0)))


class TreeTop:
    """The top of a large tree, built on a sample of the rows; its leaves are the parts."""

    def __init__(self, X: np.ndarray, parts: int) -> None:
        edges = np.linspace(0, len(X), SAMPLE * parts + 1).astype(np.int64)
        sample = X[np.random.default_rng(0).integers(edges[:-1], edges[1:])]
        nodes, order = _empty_nodes(2 * len(sample)), np.arange(len(sample), dtype=np.int32)
        count, self.depth = build(sample, order, SAMPLE, nodes, 0)
        axis, link, _, high = (array[:count].copy() for array in nodes)
        leaves = np.flatnonzero(axis < 0)
        self.leaves = leaves[np.argsort(link[leaves, 0])]
        self.number = np.zeros(count, dtype=np.uint16)
        self.number[self.leaves] = np.arange(len(leaves))
        axis[leaves], high[leaves], link[leaves] = 0, np.inf, leaves[:, None]
        # Of the rows below a cut, only those of the sample are known: some may be close to it.
        self.nodes = Nodes(axis, link, high.copy(), high)

    def sort(self, X: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """The indices of the rows, part by part, and where the parts begin and end."""
        place = np.empty(len(X), dtype=np.uint16)
        each(
            lambda chunk: assign_parts(chunk[0], self.nodes, self.depth, self.number, chunk[1]),
            Chunks(X, place),
            n_jobs=n_jobs,
        )
        order, borders = np.empty(len(X), dtype=np.int32), np.empty(len(self.leaves) + 1, dtype=np.int64)
        counting_sort(place, borders, order)
        return order, borders


def _joined(top: TreeTop | None, branches: Any, roots: Any) -> Nodes:
    """One tree of the top and the branches."""
    pieces, starts, base = list(branches), [], 0
    if top:
        pieces.insert(0, top.nodes)
        base = len(top.nodes.axis)
    for nodes, first in zip(branches, roots):
        nodes.link[nodes.axis >= 0] += base
        starts.append(first + base)
        base += len(nodes.axis)
    whole = Nodes(*(np.concatenate(arrays) for arrays in zip(*pieces)))
    if top:
        for array in whole:  # a leaf of the top becomes the root of its branch
            array[top.leaves] = array[np.concatenate(starts)]
    return whole


def _empty_nodes(n: int) -> Nodes:
    return Nodes(np.empty(n, np.int32), np.empty((n, 2), np.int32), np.empty(n), np.empty(n))


def lp_metric(p: float, most: float) -> Metric:
    """The L_p distance of rows whose largest number is `most`, such that squares neither overflow nor vanish."""
    if p == 2 and most > 0 and not SMALL < most < LARGE:
        return Minkowski(2.0)
    return metric_of(p)
