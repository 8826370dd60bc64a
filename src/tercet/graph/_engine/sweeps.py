"""Sweeps of PageRank: block Gauss-Seidel over in-edges, with reduced rank extrapolation every few sweeps.

x = d M x + b is solved by sweeps over the nodes: x_v = b_v + d Σ s_u over the in-edges u -> v, where s_u is the
share x_u / outdegree(u). Nodes are cut into blocks, which are done one after the other, each with what the ones
before have found: half the sweeps of the iteration, in which all see the vector of the last sweep. A block is cut
into tasks for threads, which see the block as it was; a small graph is left to one thread, and each node sees all
before it. Blocks and tasks come from the graph alone: the same bits for any number of threads.

A sweep is an affine map of x. From the last iterates x_0 ... x_q the extrapolation takes the combination
Σ γ_j x_{j+1}, Σ γ_j = 1, for which the combined change Σ γ_j (x_{j+1} - x_j) is least: restarted GMRES for the
linear system, with the sweep as its preconditioner. On graphs of communities, whose slow modes are few, this takes
off most of the sweeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.rows import read_only
from tercet.core.task_board import (
    assisted,
    finish_task,
    is_open,
    post_tasks,
    take_task,
    wait_for_tasks,
)
from tercet.graph._engine.in_edges import InEdges

WINDOW, LARGEST = 4, 16  # sweeps from one extrapolation to the next: at first, and at most
SLOW = 0.1  # ratio of changes of two extrapolations above which the window grows
BLOCKS = 64  # the most blocks of a sweep that threads share
TASK = 1 << 14  # edges and nodes of a task
FEW = 64  # tasks of a graph for which one thread is enough
# Of the state: what a batch does, row of the current iterate, window, whether nodes see those before in their task.
KIND, PLACE, COUNT, AT_ONCE = 0, 1, 2, 3
SWEEP, PRODUCTS, COMBINE = 0, 1, 2  # kinds of batches


class Work(NamedTuple):
    """What kernels work on: n nodes, at most q iterates to combine (rows take up memory when first used)."""

    state: np.ndarray
    blocks: np.ndarray  # first task of each block, and the end
    tasks: np.ndarray  # first node of each task, and the end
    edges: InEdges
    damping: float
    base: np.ndarray  # b: (n,), or (1,) where it is the same for all nodes
    lowest: np.ndarray  # of x, of the shape of b
    iterates: np.ndarray  # (q + 1, n)
    shares: np.ndarray  # (n,)
    changes: np.ndarray  # (tasks,)
    products: np.ndarray  # (tasks, q, q), below the diagonal
    mixing: np.ndarray  # (q,)


class Sweeps:
    """Iterates of the block Gauss-Seidel method for x = d M x + b, b = jump + d (Σ x_u over dangling u) · refuge.

    Parameters
    ----------
    edges : InEdges
        The graph.
    damping : float
        d.
    start : array of shape (n,)
        x_0.
    jump, refuge : arrays of shape (n,) or (1,)
        What x is at least, and where dangling nodes lead.
    lost : array of int
        The dangling nodes.
    ordered : bool
        Whether blocks see the ones before. Without it every sweep is a step of the iteration x -> d M x + b.
    """

    def __init__(
        self,
        edges: InEdges,
        damping: float,
        start: np.ndarray,
        jump: np.ndarray,
        refuge: np.ndarray,
        lost: np.ndarray,
        *,
        ordered: bool = True,
    ) -> None:
        blocks, tasks = cuts(edges.indptr, ordered=ordered)
        count = tasks.size - 1
        alone = ordered and tasks.size == blocks.size
        self.work = Work(
            state=np.array([SWEEP, 0, WINDOW, alone], dtype=np.int64),
            blocks=blocks,
            tasks=tasks,
            edges=edges,
            damping=float(damping),
            base=jump + 0 * refuge,
            lowest=read_only(jump + 0 * refuge),
            iterates=np.empty((LARGEST + 1, start.size)),
            shares=np.empty(start.size),
            changes=np.zeros(count),
            products=np.zeros((count, LARGEST, LARGEST)),
            mixing=np.zeros(LARGEST),
        )
        self._begin(start)
        self.jump, self.refuge, self.lost = jump, damping * refuge, lost
        self.board: Any = None
        self.change = self.last_change = np.inf  # of the last sweep, and at the last extrapolation
        self.extrapolated = False

    @contextmanager
    def threads(self, n_jobs: int | None) -> Iterator[None]:
        """Work with helpers inside a `with` block."""
        with assisted(assist, (self.work,), 1 if self.work.state[AT_ONCE] else n_jobs) as self.board:
            yield

    @property
    def current(self) -> np.ndarray:
        """The last iterate; the next sweep leaves it as it is."""
        return self.work.iterates[self.work.state[PLACE]]

    def sweep(self) -> float:
        """One sweep; returns the sum of the absolute changes."""
        count = self.work.state[COUNT]
        if self.work.state[PLACE] == count:
            self.extrapolate()
        change = self._sweep()
        if self.extrapolated and change > self.change:
            # the combination was ill-conditioned: go on from before
            self._begin(self.work.iterates[count])
            change = self._sweep()
        self.extrapolated, self.change = False, change
        return change

    def extrapolate(self) -> None:
        """Begin again with the combination of the iterates that changes least."""
        state, count = self.work.state, int(self.work.state[COUNT])
        self._run(PRODUCTS)
        products = self.work.products[:, :count, :count].sum(axis=0)
        self.work.mixing[:count] = least_change(np.tril(products) + np.tril(products, -1).T)
        self._run(COMBINE)
        state[PLACE], self.extrapolated = 0, True
        if self.change > SLOW * self.last_change:  # more slow modes than the window has sweeps
            state[COUNT] = min(2 * count, LARGEST)
        self.last_change = self.change

    def _begin(self, x: np.ndarray) -> None:
        inverse = self.work.edges.inverse
        self.work.iterates[0] = x
        np.multiply(x, inverse if inverse.size else 1.0, out=self.work.shares)
        self.work.state[PLACE] = 0

    def _sweep(self) -> float:
        if self.lost.size:
            self.work.base[:] = self.jump + self.current[self.lost].sum() * self.refuge
        self._run(SWEEP)
        self.work.state[PLACE] += 1
        return float(self.work.changes.sum())

    def _run(self, kind: int) -> None:
        self.work.state[KIND] = kind
        run_batches(self.board, self.work)


def cuts(indptr: np.ndarray, *, ordered: bool) -> tuple[np.ndarray, np.ndarray]:
    """First task of each block, and first node of each task, with the ends; about the same work for all.

    Blocks of a large graph are as many as leave some tasks to each; of a small one each has one task.
    """
    n = indptr.size - 1
    work = indptr + np.arange(n + 1)  # an edge and a node are one unit each
    total = int(work[-1])
    n_blocks, per_block = 1, -(-total // TASK)
    if ordered and per_block < FEW:
        n_blocks, per_block = per_block, 1
    elif ordered:
        n_blocks = min(BLOCKS, per_block // 4)
        per_block = -(-total // (n_blocks * TASK))
    wanted = np.arange(n_blocks * per_block + 1) * (total / (n_blocks * per_block))
    nodes = np.searchsorted(work, wanted).clip(0, n)
    nodes[0], nodes[-1] = 0, n
    blocks = np.arange(0, n_blocks * per_block + 1, per_block)
    return read_only(blocks.astype(np.int64)), read_only(nodes.astype(np.int64))


def least_change(products: np.ndarray) -> np.ndarray:
    """The γ of sum 1 for which the combination of changes with these inner products is shortest."""
    last = np.zeros(len(products))
    last[-1] = 1.0
    norms = np.sqrt(np.diag(products))
    if not (norms > 0).all() or not np.isfinite(norms).all():
        return last
    cosines = products / norms / norms[:, None] + 1e-13 * np.eye(norms.size)
    try:
        found = np.linalg.solve(cosines, norms[-1] / norms) * (norms[-1] / norms)
    except np.linalg.LinAlgError:
        return last
    with np.errstate(all="ignore"):
        gamma = found / found.sum()
    return gamma if np.isfinite(gamma).all() and np.abs(gamma).max() < 1e6 else last


@kernel
def run_batches(board, work):
    """One batch of each block for a sweep, one in all for what needs no order."""
    blocks, count = work.blocks, work.tasks.size - 1
    if work.state[KIND] != SWEEP:
        post_tasks(board, count)
        help_with(board, work)
        wait_for_tasks(board)
        return
    for b in range(blocks.size - 1):
        post_tasks(board, blocks[b + 1] - blocks[b])
        help_with(board, work)
        wait_for_tasks(board)
        if not work.state[AT_ONCE]:
            publish(work, work.tasks[blocks[b]], work.tasks[blocks[b + 1]])


@kernel
def assist(board, work):
    """Take tasks until the board is closed."""
    while is_open(board):
        help_with(board, work)


@inner
def help_with(board, work):
    """Take tasks as long as there are any. All batches of one kind together have one task of each number."""
    task = take_task(board)
    while task >= 0:
        i = task % (work.tasks.size - 1)
        first, last = work.tasks[i], work.tasks[i + 1]
        kind = work.state[KIND]
        if kind == SWEEP:
            work.changes[i] = sweep_nodes(work, first, last)
        elif kind == PRODUCTS:
            multiply_changes(work.iterates, first, last, work.state[COUNT], work.products[i])
        else:
            combine(work, first, last)
        finish_task(board)
        task = take_task(board)


@inner
def sweep_nodes(work, first, last):
    """New iterate of some nodes; returns the sum of their absolute changes."""
    indptr, sources, values, shares = work.edges.indptr, work.edges.sources, work.edges.values, work.shares
    base, place, inverse, at_once = work.base, work.state[PLACE], work.edges.inverse, work.state[AT_ONCE] != 0
    old, new = work.iterates[place], work.iterates[place + 1]
    change = 0.0
    for v in range(np.uint64(first), np.uint64(last)):
        total = 0.0
        if values.size:
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                total += values[e] * shares[np.uint32(sources[e])]
        else:
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + np.uint64(1)])):
                total += shares[np.uint32(sources[e])]
        found = base[v if base.size > 1 else np.uint64(0)] + work.damping * total
        change += abs(found - old[v])
        new[v] = found
        if at_once:
            shares[v] = found * inverse[v] if inverse.size else found
    return change


@inner
def publish(work, first, last):
    """Shares of the nodes of a block, for the blocks after it."""
    inverse, shares, new = work.edges.inverse, work.shares, work.iterates[work.state[PLACE] + 1]
    if inverse.size:
        for v in range(first, last):
            shares[v] = new[v] * inverse[v]
    else:
        for v in range(first, last):
            shares[v] = new[v]


@inner
def multiply_changes(iterates, first, last, count, products):
    """Inner products of the changes between iterates over some nodes, on and below the diagonal."""
    for j in range(count):
        before, after = iterates[j, first:last], iterates[j + 1, first:last]
        for k in range(j + 1):
            start, stop = iterates[k, first:last], iterates[k + 1, first:last]
            total = 0.0
            for v in range(before.size):
                total += (after[v] - before[v]) * (stop[v] - start[v])
            products[j, k] = total


@inner
def combine(work, first, last):
    """Combine the iterates of some nodes into the first one, and set their shares."""
    iterates, mixing, lowest = work.iterates, work.mixing, work.lowest
    inverse, shares = work.edges.inverse, work.shares
    for v in range(first, last):
        total = 0.0
        for j in range(work.state[COUNT]):
            total += mixing[j] * iterates[j + 1, v]
        total = max(total, lowest[v if lowest.size > 1 else 0])
        iterates[0, v] = total
        shares[v] = total * inverse[v] if inverse.size else total
