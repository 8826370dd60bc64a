"""Edges of a source as the transition matrix of a random walk: products with it are sums over edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.parallel import Chunks, each, total
from tercet.core.source_checks import SourceChecks
from tercet.core.source_fits import must_stream
from tercet.core.sources import RowSource
from tercet.core.streams import Stream
from tercet.graph.directed_graph import DirectedGraph

LARGEST = 2**31  # number of a node


class StreamedEdges:
    """The stochastic matrix M of streamed edges (from, to) or (from, to, weight), of which vectors are multiplied.

    Nodes are numbered from 0 on; numbers without an edge are nodes, too. Vectors of all nodes are in memory. Edges
    that come several times add up.

    Parameters
    ----------
    edges : StreamedArray of shape (n_edges, 2 or 3)
    n_jobs : int, optional
        Threads; the result does not depend on it.
    """

    names = None

    def __init__(self, edges: Any, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        # a chunk has enough edges that adding up its sums costs little beside it
        self.n_nodes = int(max(each(_largest_node, Chunks(edges), n_jobs=n_jobs))) + 1
        self.chunks = Chunks(edges, rows=max(1 << 16, self.n_nodes // 4))
        self.out_weight = total(_out_weights, self.chunks, self.n_nodes, n_jobs=n_jobs)
        self.lost = np.flatnonzero(self.out_weight == 0)
        self.refuge: np.ndarray | None = None

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        share = np.divide(x, self.out_weight, out=np.zeros(self.n_nodes), where=self.out_weight > 0)
        found = total(_in_flow, self.chunks, share, n_jobs=self.n_jobs)
        return (
            found if self.refuge is None or not self.lost.size else found + x[self.lost].sum() * self.refuge
        )


def edges_of(source: RowSource, n_jobs: int | None) -> DirectedGraph | StreamedEdges:
    """The graph of a source of edges: in memory where they fit, or streamed."""
    features = source.features()
    if source.sparse or features.width not in (2, 3):
        raise ValueError(
            f"PageRank: a source of edges has the columns from, to and, if edges have weights, weight; {source!r} "
            f"has {features.width}."
        )
    stream = Stream(source, features, (), None, SourceChecks("PageRank", positive=True))
    if must_stream(stream):
        return StreamedEdges(stream.array("X"), n_jobs)
    rows = np.concatenate([stream.checks.rows(piece, features) for piece in source.read(features)])
    start, end, weight = _split(rows)
    n = int(max(start.max(), end.max())) + 1
    return DirectedGraph(sparse.coo_array((weight, (start, end)), shape=(n, n)).tocsr())


def _split(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    nodes = edges[:, :2].astype(np.int64)
    if (nodes != edges[:, :2]).any() or nodes.max(initial=0) >= LARGEST:
        raise ValueError("PageRank: nodes of a source must be whole numbers from 0 on.")
    weight = edges[:, 2].astype(np.float64) if edges.shape[1] == 3 else np.ones(len(edges))
    return nodes[:, 0], nodes[:, 1], weight


def _largest_node(chunk: Any) -> int:
    start, end, _ = _split(chunk[0])
    return int(max(start.max(), end.max()))


def _out_weights(chunk: Any, n: int) -> np.ndarray:
    start, _, weight = _split(chunk[0])
    return np.bincount(start, weight, n)


def _in_flow(chunk: Any, share: np.ndarray) -> np.ndarray:
    start, end, weight = _split(chunk[0])
    return np.bincount(end, weight * share[start], share.size)
