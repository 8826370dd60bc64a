"""Rows of the graph family: PageRank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.harness import Contender, Data, Result, Row

DAMPING, TOL = 0.85, 1e-10


def make_communities(
    rng: np.random.Generator, n: int, m: int, communities: int, within: float, skew: float
) -> Data:
    """A graph of communities of unequal size, as a CSR adjacency matrix.

    Low numbers are drawn more often than high ones, as sources and as targets; a share `within` of the edges stay
    in their community. Every node has an edge to the next one of its community (so none is dangling, and no
    walker is shut in), and node numbers are shuffled: they tell nothing of the communities.
    """
    sizes = rng.pareto(1.5, communities) + 1
    borders = np.concatenate([[0], np.cumsum(sizes) / sizes.sum() * n]).round().astype(np.int64)
    borders[1:-1] = np.maximum.accumulate(np.maximum(borders[1:-1], np.arange(1, communities)))
    community = np.searchsorted(borders, np.arange(n), side="right") - 1
    first, last = borders[community], borders[community + 1]
    drawn = m - n
    source = (n * rng.random(drawn) ** skew).astype(np.int64)
    inside = rng.random(drawn) < within
    place = rng.random(drawn) ** skew
    start, width = first[source], (last - first)[source]
    target = np.where(inside, start + (place * width).astype(np.int64), (place * n).astype(np.int64))
    following = np.where(np.arange(n) + 1 < last, np.arange(n) + 1, first)
    ends = np.concatenate([source, np.arange(n)]), np.concatenate([target, following])
    name = rng.permutation(n).astype(np.int32)
    graph = sparse.coo_matrix((np.ones(m), (name[ends[0]], name[ends[1]])), shape=(n, n)).tocsr()
    graph.data[:] = 1.0  # an edge that was drawn twice is one edge
    graph.sort_indices()
    return {"graph": graph}


def error(data: Data, result: Result) -> float:
    """L1 norm of R - d M R - (1 - d)/n, over 1 - d: no less than the L1 distance from the exact scores."""
    graph, R = data["graph"], np.asarray(result["scores"], dtype=float)
    R = R / R.sum()
    degree = np.diff(graph.indptr)
    residual = R - DAMPING * (graph.T @ (R / degree)) - (1 - DAMPING) / R.size
    return float(np.abs(residual).sum() / (1 - DAMPING))


def pagerank_ours(data: Data) -> Result:
    """From the CSR matrix itself: what it makes of it is a part of the time."""
    from tercet.graph import PageRank

    return {"scores": PageRank(DAMPING, tol=TOL, n_jobs=2).fit(data["graph"]).scores_}


def networkit_graph(data: Data) -> Data:
    import networkit

    edges = data["graph"].tocoo()
    ends = edges.row.astype(np.uint64), edges.col.astype(np.uint64)
    return {"graph": networkit.GraphFromCoo(ends, n=edges.shape[0], directed=True)}


def pagerank_networkit(data: Data) -> Result:
    import networkit

    ranks = networkit.centrality.PageRank(data["graph"], damp=DAMPING, tol=TOL)
    ranks.norm = networkit.centrality.Norm.L1_NORM
    ranks.maxIterations = 1000
    return {"scores": np.asarray(ranks.run().scores())}


def pagerank_sknetwork(data: Data) -> Result:
    from sknetwork.ranking import PageRank

    ranks = PageRank(DAMPING, solver="piteration", n_iter=1000, tol=TOL)
    return {"scores": ranks.fit_predict(data["graph"])}


def scipy_matrix(data: Data) -> Data:
    graph = data["graph"]
    shares = np.repeat(1.0 / np.diff(graph.indptr), np.diff(graph.indptr))
    return {"M": sparse.csr_matrix((shares, graph.indices, graph.indptr), graph.shape).T.tocsr()}


def pagerank_scipy(data: Data) -> Result:
    M: Any = data["M"]
    n = M.shape[0]
    R, change = np.full(n, 1.0 / n), 1.0
    while change > TOL:
        before, R = R, DAMPING * (M @ R) + (1 - DAMPING) / n
        change = np.abs(R - before).sum()
    return {"scores": R}


def igraph_graph(data: Data) -> Data:
    import igraph

    edges = data["graph"].tocoo()
    pairs = np.column_stack([edges.row, edges.col])
    return {"graph": igraph.Graph(n=edges.shape[0], edges=pairs, directed=True)}


def pagerank_igraph(data: Data) -> Result:
    return {"scores": np.asarray(data["graph"].pagerank(damping=DAMPING, implementation="prpack"))}


ROWS = [
    Row(
        name="pagerank",
        work="PageRank, d=0.85, L1 tolerance 1e-10; {n} nodes, {m} edges drawn, {communities} communities",
        sizes={
            "full": {"n": 1_000_000, "m": 20_000_000, "communities": 2_000, "within": 0.98, "skew": 2.0},
            "smoke": {"n": 2_000, "m": 20_000, "communities": 20, "within": 0.98, "skew": 2.0},
        },
        data=make_communities,
        ours=Contender(pagerank_ours, ("tercet.graph",), "tercet"),
        peers={
            "networkit": Contender(pagerank_networkit, ("networkit",), "networkit", prepare=networkit_graph),
            "scikit-network": Contender(
                pagerank_sknetwork, ("sknetwork.ranking",), "scikit-network", threads=1
            ),
            "scipy": Contender(
                pagerank_scipy, ("scipy.sparse",), "scipy", threads=1, prepare=scipy_matrix, note="power loop"
            ),
            "igraph": Contender(
                pagerank_igraph, ("igraph",), "igraph", threads=1, prepare=igraph_graph, note="prpack"
            ),
        },
        quality=error,
        tolerance=1e-8,
        figure="bound on the L1 error",
        relative=False,
    ),
]
