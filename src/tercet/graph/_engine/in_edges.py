"""Edges by their targets: the form in which a node's PageRank is a sum over its in-edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.rows import read_only

PARTS = 4  # of the sources, that threads work on
SMALL = 1 << 18  # edges that are one part


class InEdges(NamedTuple):
    """In-edges of node v: places indptr[v] to indptr[v + 1] of `sources`.

    `values` are their transition probabilities; empty where all edges of a source are equally likely. Then
    `inverse[u]` is the probability of each edge of u (0 for a dangling node); else it is empty.
    """

    indptr: np.ndarray
    sources: np.ndarray
    values: np.ndarray
    inverse: np.ndarray


def in_edges(adjacency: Any, out_weight: np.ndarray | None, n_jobs: int | None = None) -> InEdges:
    """In-edges of a CSR matrix with a row for each source; `out_weight` is None where all weights are equal.

    A counting sort by target in fixed parts of the sources: in-edges are in the order of their sources.
    """
    n = adjacency.shape[0]
    m = int(adjacency.indptr[-1])
    indptr = read_only(np.ascontiguousarray(adjacency.indptr, dtype=np.int64))
    indices = read_only(np.ascontiguousarray(adjacency.indices[:m], dtype=np.int32))
    degree = np.diff(indptr)
    weighted = out_weight is not None
    if weighted:
        weights = np.ascontiguousarray(adjacency.data[:m], dtype=np.float64)
        inverse = np.empty(0)
    else:
        weights, out_weight = np.empty(0), np.empty(0)
        inverse = np.divide(1.0, degree, out=np.zeros(n), where=degree > 0)
    parts = PARTS if m > SMALL else 1
    rows = np.searchsorted(indptr, np.arange(parts + 1) * (m / parts)).clip(0, n)
    rows[0], rows[-1] = 0, n
    places = np.zeros((parts, n), dtype=np.int32 if m < 2**31 else np.int64)
    sources, values = np.empty(m, dtype=np.int32), np.empty(m if weighted else 0)
    each(
        lambda k: count_targets(indices[indptr[rows[k]] : indptr[rows[k + 1]]], places[k]),
        range(parts),
        n_jobs=n_jobs,
    )
    starts = np.empty(n + 1, dtype=np.int64)
    first_places(places, starts)
    weights, out_weight = read_only(weights), read_only(np.ascontiguousarray(out_weight, dtype=np.float64))
    each(
        lambda k: place_edges(
            indptr, indices, weights, out_weight, rows[k], rows[k + 1], places[k], sources, values
        ),
        range(parts),
        n_jobs=n_jobs,
    )
    return InEdges(read_only(starts), read_only(sources), read_only(values), read_only(inverse))


@kernel
def count_targets(indices, counts):
    """Count the edges to each target."""
    for e in range(indices.size):
        counts[np.uint32(indices[e])] += 1


@kernel
def first_places(places, starts):
    """Turn counts (parts, n) into the place of each part's first edge to each target; fill the new indptr."""
    at = 0
    for v in range(places.shape[1]):
        starts[v] = at
        for part in range(places.shape[0]):
            count = places[part, v]
            places[part, v] = at
            at += count
    starts[places.shape[1]] = at


@kernel
def place_edges(indptr, indices, weights, out_weight, first, last, places, sources, values):
    """Put the edges of sources first ... last - 1 to their places."""
    for u in range(first, last):
        for e in range(indptr[u], indptr[u + 1]):
            v = np.uint32(indices[e])
            at = np.uint64(places[v])
            places[v] += 1
            sources[at] = u
            if values.size:
                values[at] = weights[e] / out_weight[u]
