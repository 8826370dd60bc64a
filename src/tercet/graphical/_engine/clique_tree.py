"""Clique trees as flat arrays, on which one kernel propagates the evidence of many rows.

The graph is triangulated once; the tables of all cliques lie one after the other in one array, and index maps say
which cell of a separator, of a variable or of a factor belongs to each cell of a clique.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tercet.core.parallel import Chunks, each, total
from tercet.graphical._engine.propagation import propagate
from tercet.graphical._engine.triangulation import clique_tree, elimination_order

ROWS = 512  # rows of a chunk, a multiple of the lanes of the kernel


class Schedule(NamedTuple):
    """What the kernel reads: the tree and its index maps.

    Cliques are numbered from the root, parents first; clique c has the cells start[c] to start[c + 1]. Its
    separator has the cells first[c] to first[c + 1] of the separators (none for the root). `up[start[c] + i]` is
    the cell of its own separator for its cell i, `down[into[c] + i]` that for cell i of its parent. Variable v is
    entered and read at the clique home[v]: `state[at[v] + i]` is its state in cell i there, and its states are
    numbered from offset[v].
    """

    start: np.ndarray
    parent: np.ndarray
    first: np.ndarray
    up: np.ndarray
    down: np.ndarray
    into: np.ndarray
    home: np.ndarray
    at: np.ndarray
    state: np.ndarray
    offset: np.ndarray


class CliqueTree:
    """The clique tree of a product of factors.

    Parameters
    ----------
    sizes : the number of states of each variable.
    scopes : the variables of each factor.
    """

    def __init__(self, sizes: Sequence[int], scopes: Sequence[Sequence[int]]) -> None:
        self.sizes, self.scopes = list(sizes), [tuple(scope) for scope in scopes]
        order, around = elimination_order(self.sizes, self.scopes, range(len(self.sizes)))
        self.cliques, self.parents = clique_tree(order, around)
        self.cells = [math.prod(self.sizes[k] for k in clique) for clique in self.cliques]

    def compile(self) -> CliqueTree:
        """Make the index maps; the caller has looked at `cells` before."""
        sets = [set(clique) for clique in self.cliques]
        by_variable: list[list[int]] = [[] for _ in self.sizes]
        for c, clique in enumerate(self.cliques):
            for k in clique:
                by_variable[k].append(c)
        start = _starts(self.cells)
        separators: list[list[int]] = [
            [k for k in clique if above >= 0 and k in sets[above]]
            for clique, above in zip(self.cliques, self.parents)
        ]
        widths = [math.prod(self.sizes[k] for k in part) for part in separators]
        widths[0] = 0
        up = [self._map(clique, part) for clique, part in zip(self.cliques, separators)]
        down = [
            self._map(self.cliques[above], part) if above >= 0 else np.empty(0, dtype=np.int32)
            for above, part in zip(self.parents, separators)
        ]
        home = [min(found, key=self.cells.__getitem__) for found in by_variable]
        states = [self._map(self.cliques[c], [k]) for k, c in enumerate(home)]
        self.family_home = [
            min((c for c in by_variable[scope[0]] if set(scope) <= sets[c]), key=self.cells.__getitem__)
            if scope
            else 0
            for scope in self.scopes
        ]
        self.family_maps = [
            self._map(self.cliques[c], scope) for c, scope in zip(self.family_home, self.scopes)
        ]
        self.schedule = Schedule(
            start,
            np.array(self.parents, dtype=np.int64),
            _starts(widths),
            _joined(up),
            _joined(down),
            _starts([part.size for part in down]),
            np.array(home, dtype=np.int64),
            _starts([part.size for part in states]),
            _joined(states),
            _starts(self.sizes),
        )
        return self

    def base(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """The product of the factors of each clique, all in one array."""
        start = self.schedule.start
        base = np.ones(start[-1])
        for table, c, places in zip(tables, self.family_home, self.family_maps):
            base[start[c] : start[c + 1]] *= np.asarray(table, dtype=np.float64).ravel()[places]
        return base

    def marginals(
        self, base: np.ndarray, codes: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """P(x_v | row) of every state of every variable, and log P(row); a code below 0 is not known.

        Where a row is impossible, its marginals are 0 and its logarithm is -inf.
        """
        chunks = Chunks(codes, rows=ROWS)
        parts = each(_marginals_of, chunks, self.schedule, base, n_jobs=n_jobs)
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def expected_counts(
        self, base: np.ndarray, codes: np.ndarray, weight: np.ndarray, n_jobs: int | None = None
    ) -> tuple[list[np.ndarray], float]:
        """Σ over rows of weight · P(x_S | row) for the scope S of each factor, and Σ of weight · log P(row)."""
        chunks = Chunks(codes, weight, rows=ROWS)
        cells, log_likelihood = total(_counts_of, chunks, self.schedule, base, n_jobs=n_jobs)
        start, counts = self.schedule.start, []
        for scope, c, places in zip(self.scopes, self.family_home, self.family_maps):
            shape = [self.sizes[k] for k in scope]
            own = np.bincount(places, cells[start[c] : start[c + 1]], minlength=math.prod(shape))
            counts.append(own.reshape(shape))
        return counts, float(log_likelihood)

    def beliefs(self, base: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Without evidence: P of every state of every variable, P of every cell of every clique, and log Z."""
        codes, logs = np.full((1, len(self.sizes)), -1, dtype=np.int32), np.zeros(1)
        marginals, cells = np.zeros((1, self.schedule.offset[-1])), np.zeros(base.size)
        propagate(self.schedule, base, codes, np.ones(1), marginals, logs, cells)
        return marginals[0], cells, float(logs[0])

    def _map(self, clique: Sequence[int], scope: Sequence[int]) -> np.ndarray:
        """For every cell of a clique the cell of a table over some of its variables."""
        sizes = [self.sizes[k] for k in clique]
        strides, step = {}, 1
        for k in reversed(scope):
            strides[k] = step
            step *= self.sizes[k]
        found = np.zeros(sizes, dtype=np.int32)
        for axis, k in enumerate(clique):
            if k in strides:
                shape = [1] * len(sizes)
                shape[axis] = sizes[axis]
                found += (np.arange(sizes[axis], dtype=np.int32) * strides[k]).reshape(shape)
        return found.ravel()


def _marginals_of(chunk: Any, schedule: Schedule, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (codes,) = chunk
    marginals, logs = np.zeros((len(codes), schedule.offset[-1])), np.zeros(len(codes))
    propagate(schedule, base, codes, np.empty(0), marginals, logs, np.empty(0))
    return marginals, logs


def _counts_of(chunk: Any, schedule: Schedule, base: np.ndarray) -> tuple[np.ndarray, float]:
    codes, weight = chunk
    cells, logs = np.zeros(base.size), np.zeros(len(codes))
    propagate(schedule, base, codes, weight, np.empty((0, 0)), logs, cells)
    some = weight > 0
    return cells, float((weight[some] * logs[some]).sum())


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([*parts, np.zeros(0, dtype=np.int32)]).astype(np.int32)
