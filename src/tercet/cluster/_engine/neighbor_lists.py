"""DBSCAN by lists of neighbours, of a block of rows at a time: any distance, in memory linear in the rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from tercet.core.kernel import inner, kernel
from tercet.core.stopping import check_stop
from tercet.neighbors import KDTree, NearestNeighbors

ENTRIES = 1 << 22  # of the lists that are in memory at once, as a rule
FEWEST = 16  # rows of a block, however long their lists are

Lists = tuple[np.ndarray, np.ndarray]  # those of query i are indices[indptr[i] : indptr[i + 1]]


class Search(Protocol):
    """Finds the rows within a radius of queries."""

    def counts(self, Q: Any) -> np.ndarray | None:
        """How many there are for each query; None where they are not cheaper than the lists."""

    def lists(self, Q: Any) -> Lists:
        """Which they are, as (indptr, indices)."""


class TreeSearch:
    """Neighbours by a kd-tree, under an L_p distance."""

    def __init__(
        self, X: np.ndarray, eps: float, leaf_size: int, p: float, w: Any, n_jobs: int | None
    ) -> None:
        self.tree, self.eps = KDTree(X, leaf_size, p=p, w=w, n_jobs=n_jobs), eps

    def counts(self, Q: np.ndarray) -> np.ndarray:
        return self.tree.query_radius(Q, self.eps, count_only=True)

    def lists(self, Q: np.ndarray) -> Lists:
        return self.tree.radius(Q, self.eps)[:2]


class ModelSearch:
    """Neighbours by `NearestNeighbors`, under any distance."""

    def __init__(self, X: Any, eps: float, **options: Any) -> None:
        self.model = NearestNeighbors(radius=eps, **options).fit(X)

    def counts(self, Q: Any) -> None:
        return None

    def lists(self, Q: Any) -> Lists:
        graph = self.model.radius_neighbors_graph(Q)
        return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


class GivenSearch:
    """Neighbours by given distances: a query is the row of its distances from all rows, or, sparse, from near
    ones."""

    def __init__(self, eps: float) -> None:
        self.eps = eps

    def counts(self, Q: Any) -> np.ndarray | None:
        return None if sparse.issparse(Q) else np.count_nonzero(np.less_equal(Q, self.eps), axis=1)

    def lists(self, Q: Any) -> Lists:
        if sparse.issparse(Q):
            who = np.repeat(np.arange(Q.shape[0]), np.diff(Q.indptr))
            near = Q.data <= self.eps
            counts, found = np.bincount(who[near], minlength=Q.shape[0]), Q.indices[near]
        else:
            who, found = np.nonzero(np.less_equal(Q, self.eps))
            counts = np.bincount(who, minlength=Q.shape[0])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), found.astype(np.int64)


class NeighborLists:
    """Core rows and clusters by lists of neighbours, which are never all in memory.

    Parameters
    ----------
    X : array or CSR matrix
        The rows, or their distances.
    search : Search
        Finds their neighbours.

    Examples
    --------
    >>> X = np.array([[0.0], [0.4], [0.8], [5.0]])
    >>> found = NeighborLists(X, TreeSearch(X, 0.5, 30, 2.0, None, None))
    >>> core = found.core_rows(2)
    >>> core, found.labels(core)
    (array([ True,  True,  True, False]), array([ 0,  0,  0, -1]))
    """

    def __init__(self, X: Any, search: Search) -> None:
        self.X, self.search, self.n = X, search, X.shape[0]

    def core_rows(self, min_samples: float, weight: np.ndarray | None = None) -> np.ndarray:
        """Which rows have neighbours, themselves among them, of so much weight; each weighs 1 by default."""
        step = max(FEWEST, min(ENTRIES // max(self.n, 1), self.n))
        counts = self.search.counts(self.X) if isinstance(self.search, TreeSearch) else None
        if counts is None:
            counts = np.concatenate([self._block_counts(slice(s, s + step)) for s in range(0, self.n, step)])
        self.sizes = counts
        if weight is None:
            return counts >= min_samples
        mass = np.zeros(self.n)
        for rows, (indptr, found) in self._blocks(np.arange(self.n)):
            sum_lists(rows, indptr, found, weight, mass)
        return mass >= min_samples

    def labels(self, core: np.ndarray) -> np.ndarray:
        """The clusters of core rows that are connected, numbered by their first row, and of the rows around
        them."""
        parent = np.arange(self.n, dtype=np.int32 if self.n < 2**31 else np.int64)
        for rows, (indptr, found) in self._blocks(np.flatnonzero(core)):
            join_rows(rows, indptr, found, core, parent)
        labels = np.full(self.n, -1, dtype=np.intp)
        number_roots(core, parent, labels)
        for rows, (indptr, found) in self._blocks(np.flatnonzero(~core)):
            labels[rows] = first_clusters(indptr, found, core, labels)
        return labels

    def _block_counts(self, rows: slice) -> np.ndarray:
        check_stop()
        found = self.search.counts(self.X[rows])
        return np.diff(self.search.lists(self.X[rows])[0]) if found is None else found

    def _blocks(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, Lists]]:
        """Some rows, block by block, with the lists of their neighbours."""
        ends = np.cumsum(self.sizes[rows])
        cuts = np.searchsorted(ends, np.arange(ENTRIES, ends[-1] if len(ends) else 0, ENTRIES))
        for first, last in pairwise(np.unique([0, *cuts, len(rows)]).tolist()):
            check_stop()
            some = rows[first:last]
            whole = len(some) == self.n
            yield some, self.search.lists(self.X if whole else self.X[some])


def clusters_near(Q: Any, search: Search, core: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """For each query the first cluster with a core row within the radius, or -1."""
    step = max(FEWEST, ENTRIES // max(len(core), 1))
    parts = [
        first_clusters(*search.lists(Q[start : start + step]), core, labels)
        for start in range(0, Q.shape[0], step)
    ]
    return np.concatenate([np.empty(0, dtype=np.intp), *parts])


@kernel
def sum_lists(rows, indptr, found, weight, mass):
    """The weight of each row's neighbours."""
    for t in range(rows.size):
        total = 0.0
        for s in range(indptr[t], indptr[t + 1]):
            total += weight[found[s]]
        mass[rows[t]] = total


@inner
def root_of(parent, i):
    """The root of a row's tree, whose path becomes shorter."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def join_rows(rows, indptr, found, core, parent):
    """Join core rows with the core rows near them; the smaller root is the root of both."""
    for t in range(rows.size):
        here = root_of(parent, parent[rows[t]])
        for s in range(indptr[t], indptr[t + 1]):
            if core[found[s]]:
                there = root_of(parent, parent[found[s]])
                if there < here:
                    parent[here] = there
                    here = there
                elif here < there:
                    parent[there] = here


@kernel
def number_roots(core, parent, labels):
    """Number the clusters of core rows in the order of their first rows, which are their roots."""
    clusters = 0
    for i in range(core.size):
        if core[i]:
            top = root_of(parent, parent[i])
            if top == i:
                labels[i] = clusters
                clusters += 1
            else:
                labels[i] = labels[top]


@kernel
def first_clusters(indptr, found, core, labels):
    """For each list the first cluster of its core rows, or -1."""
    best = np.full(indptr.size - 1, -1, np.int64)
    for t in range(best.size):
        for s in range(indptr[t], indptr[t + 1]):
            j = found[s]
            if core[j] and (best[t] < 0 or labels[j] < best[t]):
                best[t] = labels[j]
    return best
