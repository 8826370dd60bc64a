"""Neighbour graphs that embeddings start from: symmetric, in one piece, and their shortest paths."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import pairwise_distances as sklearn_distances

from tercet.core.catalog import method
from tercet.core.parallel import all_cores, each
from tercet.core.validation import check_array, check_structure
from tercet.manifold._graph.kernels import (
    LANES,
    dijkstra,
    dijkstra_lanes,
    floyd_warshall,
    near_in_order,
    nearest_between,
)
from tercet.manifold.dissimilarities import cross_dissimilarities

SPARSE_METRICS = ("euclidean", "manhattan", "cosine")  # of rows that stay sparse
CELLS = 1 << 21  # of distances in a block


def undirected(graph: Any) -> Any:
    """A graph of distances with an edge in both directions wherever there is one, the shorter length of two.

    Lengths of 0, of rows at one place, are edges too.
    """
    graph = graph.tocoo()
    rows = np.concatenate([graph.row, graph.col])
    columns = np.concatenate([graph.col, graph.row])
    lengths = np.concatenate([graph.data, graph.data])
    order = np.lexsort((lengths, columns, rows))
    rows, columns, lengths = rows[order], columns[order], lengths[order]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    rows, columns, lengths = rows[fresh], columns[fresh], lengths[fresh]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=graph.shape[0]))])
    return sparse.csr_array((lengths, columns, indptr), shape=graph.shape)


def require_neighbours(found: np.ndarray, far: np.ndarray, n: int, name: str) -> None:
    """An error where distances are no numbers: then there is no nearest row."""
    if not np.isfinite(far).all() or (found.size and not (found.min() >= 0 and found.max() < n)):
        raise ValueError(f"{name}: distances of rows are beyond floating-point numbers. Scale the features.")


def pieces(graph: Any) -> tuple[int, np.ndarray]:
    """How many components an undirected graph has, and the component of each node."""
    count, labels = connected_components(graph, directed=False)
    return int(count), labels.astype(np.int64)


def joined(
    graph: Any, X: Any, labels: np.ndarray, metric: Any, params: dict[str, Any] | None, n_jobs: int | None
) -> Any:
    """The graph with an edge between the nearest rows of each two components.

    X are the rows, or with metric="precomputed" their distances.
    """
    c, n = int(labels.max()) + 1, X.shape[0]
    best, at = np.full((c, c), np.inf), np.zeros((c, c, 2), dtype=np.int64)
    given = isinstance(metric, str) and metric == "precomputed"
    for start in range(0, n, step := max(1, CELLS // max(n, 1))):
        rows = slice(start, start + step)
        D = X[rows] if given else _distances(X[rows], X, metric, params, n_jobs)
        D = np.require(D, np.float64, ["C", "W"])
        nearest_between(D, labels[rows], start, labels, best, at)
    first, second = np.triu_indices(c, 1)
    there = np.isfinite(best[first, second])
    first, second = first[there], second[there]
    ends = at[first, second]
    more = sparse.coo_array((best[first, second], (ends[:, 0], ends[:, 1])), shape=graph.shape)
    graph = graph.tocoo()
    return undirected(
        sparse.coo_array(
            (
                np.concatenate([graph.data, more.data]),
                (np.concatenate([graph.row, more.row]), np.concatenate([graph.col, more.col])),
            ),
            shape=graph.shape,
        )
    )


def _distances(some: Any, X: Any, metric: Any, params: dict[str, Any] | None, n_jobs: int | None) -> Any:
    if sparse.issparse(X) and (callable(metric) or metric not in SPARSE_METRICS):
        some, X = some.toarray(), X.toarray()
    if sparse.issparse(X):
        return sklearn_distances(some, X, metric=metric)
    return cross_dissimilarities(some, X, metric, params, n_jobs)


def in_one_piece(
    graph: Any, disconnected: str, name: str, X: Any, metric: Any, params: Any, n_jobs: Any
) -> Any:
    """An undirected graph without separate components: joined with a warning, or refused, as a parameter says."""
    count, labels = pieces(graph)
    if count == 1:
        return graph, count
    if disconnected == "error":
        sizes = np.sort(np.bincount(labels))[::-1]
        shown = ", ".join(map(str, sizes[:5])) + (" ..." if count > 5 else "")
        raise ValueError(
            f"{name}: the neighbour graph is in {count} pieces, of {shown} rows, and disconnected='error'. Raise "
            "n_neighbors or radius, or join the pieces with disconnected='join'."
        )
    if isinstance(metric, str) and metric == "precomputed" and sparse.issparse(X):
        raise RuntimeError(
            f"The number of connected components of the neighbors graph is {count} > 1. The graph cannot be "
            f"completed with metric='precomputed', and {name} cannot be fitted. Increase the number of "
            "neighbors to avoid this issue, or precompute the full distance matrix instead of passing a sparse "
            "neighbors graph."
        )
    warnings.warn(
        f"The number of connected components of the neighbors graph is {count} > 1. Completing the graph to fit "
        f"{name} might be slow. Increase the number of neighbors to avoid this issue.",
        stacklevel=7,
    )
    return joined(graph, X, labels, metric, params, n_jobs), count


@method(
    zh="测地距离（图上最短路径）",
    task="embedding",
    model="length of the shortest path between two nodes of a neighbour graph",
    algorithms={
        "D": "Dijkstra from each node, on threads",
        "FW": "Floyd-Warshall, O(n³)",
    },
    texts=["watermelon notes ch. 8, Fig 10.8"],
    peers=["scipy.sparse.csgraph.shortest_path"],
)
def geodesic_distances(
    graph: Any,
    sources: Any = None,
    *,
    method: Literal["auto", "D", "FW"] = "auto",
    n_jobs: int | None = None,
) -> np.ndarray:
    """Lengths of the shortest paths over an undirected graph.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Lengths of the edges, at least 0; an entry in either direction is an edge, entries of 0 too. What is not
        stored is no edge.
    sources : array of int, optional
        Nodes to start from; by default all.
    method : {"auto", "D", "FW"}, default="auto"
        Dijkstra's algorithm, Floyd's, or what should be faster: Floyd's where a quarter of all pairs are edges.
    n_jobs : int, optional
        Threads, by default all cores; the result does not depend on it.

    Returns
    -------
    distances : array of shape (n_sources, n)
        inf where there is no path.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> geodesic_distances(csr_array([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    if method not in ("auto", "D", "FW"):
        raise ValueError(f"geodesic_distances: method must be 'auto', 'D' or 'FW'; got {method!r}.")
    graph = check_array(graph, accept_sparse="csr", dtype=np.float64, input_name="graph")
    if not sparse.issparse(graph) or graph.shape[0] != graph.shape[1]:
        raise ValueError("geodesic_distances: graph must be a square sparse matrix of lengths of edges.")
    check_structure(graph, "graph")
    if graph.nnz and graph.data.min() < 0:
        raise ValueError(
            f"geodesic_distances: graph holds the length {graph.data.min():g}; lengths are at least 0."
        )
    n = graph.shape[0]
    nodes = np.arange(n) if sources is None else np.asarray(sources)
    if (
        nodes.dtype.kind not in "iu"
        or nodes.ndim != 1
        or (nodes.size and not (nodes.min() >= 0 and nodes.max() < n))
    ):
        raise ValueError(
            f"geodesic_distances: sources must be numbers of nodes, 0 to {n - 1}; got {sources!r}."
        )
    return path_lengths(undirected(graph), nodes, method, n_jobs)


def path_lengths(graph: Any, sources: np.ndarray, how: str, n_jobs: int | None) -> np.ndarray:
    """`geodesic_distances` of a graph that `undirected` gave."""
    n = graph.shape[0]
    if how == "FW" or (how == "auto" and 4 * graph.nnz > n * n):
        D = np.full((n, n), np.inf)
        D[np.repeat(np.arange(n), np.diff(graph.indptr)), graph.indices] = graph.data
        D.flat[:: n + 1] = 0.0
        floyd_warshall(D)
        return D if sources.size == n and (sources == np.arange(n)).all() else D[sources]
    parts = graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data.astype(np.float64)
    out = np.empty((len(sources), n))
    if len(sources) == 1:
        dijkstra(*parts, sources.astype(np.int64), out)
        return out
    place = np.empty(n, dtype=np.int64)
    place[near_in_order(*parts[:2])] = np.arange(n)
    order = np.argsort(place[sources], kind="stable")

    def piece(start: int) -> None:
        mine = order[start : start + LANES]
        found = np.empty((len(mine), n))
        dijkstra_lanes(*parts, sources[mine].astype(np.int64), found)
        out[mine] = found

    each(piece, range(0, len(sources), LANES), n_jobs=all_cores(n_jobs))
    return out
