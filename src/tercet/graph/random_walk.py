"""Random walks on directed graphs: transition matrix, distributions over time, paths (随机游走)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.graph.directed_graph import DirectedGraph

Dangling = Literal["vanish", "uniform", "self-loop"]
POLICIES = ("vanish", "uniform", "self-loop")


@method(
    zh="随机游走的转移矩阵",
    task="graph analysis",
    model="m_ij = w(j -> i) / Σ_k w(j -> k): a walker at j takes one of its edges",
    texts=["Li ch. 21, Def 21.2, eq. 21.1-21.4"],
    peers=["networkx.google_matrix"],
)
def transition_matrix(
    graph: Any, *, dangling: Dangling = "vanish", convention: Literal["column", "row"] = "column"
) -> Any:
    """Transition matrix of the random walk on a graph.

    m_ij is the probability to step from node j to node i, so that columns sum to one and R_{t+1} = M R_t. The other
    convention is the transposed matrix, whose rows sum to one, as in `tercet.sampling` and in hidden Markov models.

    Parameters
    ----------
    graph : DirectedGraph, or what makes one
        The graph.
    dangling : {"vanish", "uniform", "self-loop"}, default="vanish"
        What becomes of a walker at a node without edges that leave it: it vanishes (a column of zeros, as in the
        text's Example 21.2), goes to any node, or stays.
    convention : {"column", "row"}, default="column"
        Whether columns or rows are sources.

    Returns
    -------
    CSC array ("column") or CSR array ("row") of shape (n_nodes, n_nodes)

    Examples
    --------
    >>> transition_matrix({"A": ["B", "C"], "B": ["C"], "C": ["A"]}).toarray()
    array([[0. , 0. , 1. ],
           [0.5, 0. , 0. ],
           [0.5, 1. , 0. ]])
    """
    graph = DirectedGraph(graph)
    if dangling not in POLICIES:
        raise ValueError(f"dangling must be one of {', '.join(map(repr, POLICIES))}; got {dangling!r}.")
    if convention not in ("column", "row"):
        raise ValueError(f"convention must be 'column' or 'row'; got {convention!r}.")
    lost = graph.dangling_nodes()
    if dangling == "self-loop" and lost.size:
        graph = graph.with_self_loops(lost)
    rows = row_stochastic(graph)
    if dangling == "uniform" and lost.size:
        n = graph.n_nodes
        ends = np.repeat(lost, n), np.tile(np.arange(n), lost.size)
        rows = (rows + sparse.coo_array((np.full(lost.size * n, 1.0 / n), ends), shape=(n, n))).tocsr()
    return rows if convention == "row" else rows.T


def row_stochastic(graph: DirectedGraph) -> Any:
    """Probabilities of the steps from each node, a row of zeros for a dangling one; CSR."""
    A = graph.adjacency
    sums = np.repeat(graph.out_weight(), graph.out_degree())
    probabilities = A.data[: graph.n_edges] / sums  # not by the reciprocal, which may overflow
    return sparse.csr_array((probabilities, A.indices[: graph.n_edges], A.indptr), shape=A.shape)


def walk_distributions(M: Any, start: Any, n_steps: int) -> np.ndarray:
    """Distributions of a walker over time: start, M start, M² start ...

    Parameters
    ----------
    M : array or sparse array of shape (n_nodes, n_nodes)
        Transition matrix whose columns are sources.
    start : array of shape (n_nodes,)
        The first distribution.
    n_steps : int
        Number of steps.

    Returns
    -------
    array of shape (n_steps + 1, n_nodes)

    Examples
    --------
    >>> walk_distributions(transition_matrix([(0, 1), (1, 0), (1, 1)]), [1, 0], 3)
    array([[1.  , 0.  ],
           [0.  , 1.  ],
           [0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    found = [np.asarray(start, dtype=np.float64)]
    if M.shape != (found[0].size,) * 2:
        raise ValueError(f"start must have {M.shape[0]} numbers, one for each node; got {found[0].shape}.")
    for _ in range(n_steps):
        found.append(M @ found[-1])
    return np.array(found)


def random_walk(graph: Any, n_steps: int, *, start: Any = None, random_state: Any = None) -> list[Any]:
    """Nodes that a random walker visits; the walk ends early at a node without edges that leave it.

    Parameters
    ----------
    graph : DirectedGraph, or what makes one
        The graph.
    n_steps : int
        The most steps to take.
    start : node, optional
        Where to begin; by default at a node at random.
    random_state : int, optional
        Decides the walk.

    Returns
    -------
    list of at most n_steps + 1 nodes

    Examples
    --------
    >>> random_walk([("u", "v"), ("v", "w")], 5, start="u")
    ['u', 'v', 'w']
    """
    if not isinstance(n_steps, int | np.integer) or n_steps < 0:
        raise ValueError(f"n_steps must be a whole number of at least 0; got {n_steps!r}.")
    graph, rng = DirectedGraph(graph), generator(random_state)
    A, sums = graph.adjacency, graph.out_weight()
    here = int(rng.integers(graph.n_nodes)) if start is None else graph.index(start)
    visited = [here]
    for u in rng.random(n_steps):
        edges = slice(A.indptr[here], A.indptr[here + 1])
        if sums[here] == 0:
            break
        cumulative = np.cumsum(A.data[edges], dtype=np.float64)
        chosen = np.searchsorted(cumulative, u * cumulative[-1], side="right")
        here = int(A.indices[edges][min(chosen, cumulative.size - 1)])
        visited.append(here)
    return [graph.name(k) for k in visited]
