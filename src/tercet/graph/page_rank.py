"""PageRank: the importance of nodes as the stationary distribution of a random walk with jumps (PageRank)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.fitted_checks import Declarations, Floats, Labels, check_fitted
from tercet.core.parallel import one_blas_thread
from tercet.core.parameters import ArrayLike, Count, Fraction, Jobs, NonNegative, check_parameters
from tercet.core.public_names import PublicPickle
from tercet.core.sources import RowSource
from tercet.core.steps import Fit, Iterative, Steps, with_callbacks
from tercet.graph._engine.sweeps import Sweeps
from tercet.graph.directed_graph import DirectedGraph
from tercet.graph.graph_input import node_weights
from tercet.graph.pagerank_algorithms import (
    Advance,
    google_product,
    iteration,
    normalised,
    scaled,
    solved,
)
from tercet.graph.random_walk import row_stochastic
from tercet.graph.streamed_edges import StreamedEdges, edges_of

HINT = "Raise max_iter or tol, or lower damping."


@method(
    zh="PageRank 算法",
    task="graph analysis",
    model="Markov chain on a directed graph: with probability d along an edge, else to any node",
    strategy="stationary distribution R = d M R + (1 - d)/n · 1",
    algorithms={
        "extrapolation": "Gauss-Seidel sweeps over in-edges, extrapolated every few sweeps",
        "iteration": "R_{t+1} = d M R_t + (1 - d)/n · 1 (Alg 21.1)",
        "power": "power method on A = d M + (1 - d)/n · E (Alg 21.2)",
        "algebraic": "R = (I - d M)^-1 (1 - d)/n · 1",
    },
    texts=["Li ch. 21, Def 21.3, 21.4, Alg 21.1, 21.2", "Li ch. 13, Table 13.5", "Li ch. 22, Table 22.1"],
    peers=[
        "networkx.pagerank",
        "networkit.centrality.PageRank",
        "sknetwork.ranking.PageRank",
        "igraph.pagerank",
    ],
)
class PageRank(PublicPickle, Iterative):
    """PageRank of the nodes of a directed graph.

    A walker follows an edge with probability d, and jumps to any node with probability 1 - d; the PageRank of a
    node is the share of time it spends there:

        R = d M R + (1 - d) v,    m_ij = w(j -> i) / Σ_k w(j -> k),    v uniform or personal.

    With damping=1 this is the basic definition R = M R. It has a limit if the graph is strongly connected and
    aperiodic; otherwise an error says which of the two is missing.

    Parameters
    ----------
    damping : float, default=0.85
        Probability d to follow an edge, from 0 to 1.
    algorithm : {"extrapolation", "iteration", "power", "algebraic"}, default="extrapolation"
        How R is found. "extrapolation": Gauss-Seidel sweeps, every fourth of which ends in the combination of the
        last iterates that changes least; the quickest. "iteration" and "power": the text's algorithms.
        "algebraic": linear equations, for small graphs.
    personalization : array of shape (n_nodes,) or dict, optional
        Where jumps go: weights of the nodes, or of some by name. By default to all nodes alike.
    dangling : {"personalized", "uniform", "vanish", "self-loop"}, default="personalized"
        Where a walker at a node without edges goes on: like a jump, to all nodes alike, nowhere (as the text's
        equations have it: then the scores sum to less than one), or it stays.
    weighted : bool, default=True
        Whether the weights of the edges count. False: all edges of a node are equally likely.
    tol : float, default=1e-10
        Stop when the sum of the absolute changes in a pass is not above it.
    max_iter : int, default=1000
        The most passes.
    n_jobs : int, optional
        Threads of "extrapolation"; the result does not depend on it.

    Attributes
    ----------
    scores_ : array of shape (n_nodes,)
        The PageRank of each node. They sum to one, unless dangling="vanish".
    nodes_ : list or None
        The names of the nodes; None where they are 0, 1 ...
    n_iter_ : int
        Number of passes.
    history_ : dict
        The change in every pass.

    Examples
    --------
    >>> model = PageRank().fit({"A": ["B", "C"], "B": ["C"], "C": ["A"]})
    >>> model.scores_.round(4)
    array([0.3878, 0.2148, 0.3974])
    >>> model.ranking(2)
    [('C', 0.397...), ('A', 0.387...)]
    """

    fitted_shapes: Declarations = {
        "scores_": Floats("nodes", finite=True, low=0.0),
        "nodes_": Labels("nodes | None"),
    }
    scores_: np.ndarray
    nodes_: list[Any] | None
    n_iter_: int
    history_: dict[str, list[Any]]

    def __init__(
        self,
        damping: Fraction = 0.85,
        algorithm: Literal["extrapolation", "iteration", "power", "algebraic"] = "extrapolation",
        *,
        personalization: ArrayLike = None,
        dangling: Literal["personalized", "uniform", "vanish", "self-loop"] = "personalized",
        weighted: bool = True,
        tol: NonNegative = 1e-10,
        max_iter: Count = 1000,
        n_jobs: Jobs = None,
    ) -> None:
        self.damping = damping
        self.algorithm = algorithm
        self.personalization = personalization
        self.dangling = dangling
        self.weighted = weighted
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        return f"PageRank(damping={self.damping!r}, algorithm={self.algorithm!r})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        check_fitted(self)

    @with_callbacks
    def fit(self, graph: Any, y: Any = None, *, start: Any = None) -> Self:
        """Find the PageRank of all nodes.

        Parameters
        ----------
        graph : DirectedGraph, or what makes one
            Adjacency matrix (entry (i, j) is the weight of the edge i -> j; a CSR matrix is not copied), list of
            edges, dict of nodes to targets, data frame or networkx graph; see `DirectedGraph`. Or a source
            (`tercet.datasets.Source`) of edges: columns from, to and, if there are weights, weight, with nodes
            numbered from 0 on; where it does not fit into memory, with algorithm="iteration" or "power".
        y : ignored
            Not used.
        start : array of shape (n_nodes,) or dict, optional
            R_0, as weights of the nodes: the scores of an earlier fit on nearly the same graph save passes. Uniform
            by default. Not used by "algebraic".

        Returns
        -------
        self
        """
        check_parameters(self)
        if isinstance(graph, RowSource):
            graph = edges_of(graph, self.n_jobs)
        if isinstance(graph, StreamedEdges):
            return self._fit_streamed(graph, start)
        graph = graph if isinstance(graph, DirectedGraph) else DirectedGraph(graph)
        index = None if graph.names is None else graph._places
        given = node_weights(self.personalization, graph.n_nodes, index, "personalization")
        first = node_weights(start, graph.n_nodes, index, "start")
        if first is None:
            first = np.full(graph.n_nodes, 1.0 / graph.n_nodes)
        if self.damping == 1:
            graph = self._check_basic(graph)
        elif self.dangling == "self-loop" and graph.dangling_nodes().size:
            graph = graph.with_self_loops(graph.dangling_nodes())
        if not self.weighted and graph.is_weighted():
            graph = graph.unweighted()
        with Fit(self, graph), one_blas_thread():
            if self.algorithm == "extrapolation":
                R = self._extrapolate(graph, given, first)
            else:
                R = self._plain(graph, given, first)
            self.scores_, self.nodes_ = self._shown(R), graph.names
        return self

    def _fit_streamed(self, edges: StreamedEdges, start: Any) -> Self:
        """The text's iteration over edges that are read in every pass."""
        wrong = {
            f"algorithm={self.algorithm!r}": self.algorithm not in ("iteration", "power"),
            "damping=1": self.damping == 1,
            f"dangling={self.dangling!r}": self.dangling in ("self-loop", "vanish"),
            "weighted=False": not self.weighted,
        }
        if any(wrong.values()):
            refused = next(what for what, here in wrong.items() if here)
            raise TypeError(
                f"PageRank cannot learn from a source with {refused}, which needs all edges at once. Use "
                "algorithm='iteration', a damping below 1, dangling='personalized' or 'uniform', weighted=True."
            )
        n = edges.n_nodes
        given = node_weights(self.personalization, n, None, "personalization")
        first = node_weights(start, n, None, "start")
        with Fit(self), one_blas_thread():
            R = self._plain(edges, given, np.full(n, 1.0 / n) if first is None else first)
            self.scores_, self.nodes_ = self._shown(R), None
        return self

    def fit_transform(self, graph: Any, y: Any = None) -> np.ndarray:
        """Find the PageRank of all nodes, and return it; see `fit`."""
        return self.fit(graph).scores_

    def ranking(self, k: int | None = None) -> list[tuple[Any, float]]:
        """The k nodes of the highest scores (all by default) with their scores; of equal ones the first goes first.

        Examples
        --------
        >>> PageRank().fit([(0, 1), (2, 1), (1, 0)]).ranking(1)
        [(1, 0.486...)]
        """
        order = np.argsort(-self.scores_, kind="stable")[:k]
        names = order.tolist() if self.nodes_ is None else [self.nodes_[i] for i in order]
        return list(zip(names, self.scores_[order].tolist()))

    def score_of(self, node: Any) -> float:
        """The PageRank of a node."""
        try:
            place = node if self.nodes_ is None else self.nodes_.index(node)
            return float(self.scores_[place])
        except (ValueError, IndexError, TypeError):
            raise KeyError(f"{node!r} is not a node of the graph.") from None

    def _check_basic(self, graph: DirectedGraph) -> DirectedGraph:
        """Refuse a graph on which the basic definition has no limit, or not one for all starts (Theorem 21.1)."""
        if not graph.is_strongly_connected():
            parts = len(graph.strongly_connected_components())
            lost = graph.dangling_nodes().size
            raise ValueError(
                f"damping=1 needs a strongly connected graph; this one has {parts} strongly connected components"
                f"{f' and {lost} dangling nodes' if lost else ''}. Use a damping below 1."
            )
        if (period := graph.period()) != 1:
            raise ValueError(
                f"damping=1 needs an aperiodic graph; this one has period {period}: the walk has no limit. Use a "
                "damping below 1."
            )
        return graph

    def _shown(self, R: np.ndarray) -> np.ndarray:
        """An iterate as scores."""
        return R.copy() if self.dangling == "vanish" and self.algorithm != "power" else normalised(R)

    def _steps(self, graph: DirectedGraph | StreamedEdges) -> Steps:
        def unpack(R: np.ndarray) -> dict[str, Any]:
            return {"scores_": self._shown(R), "nodes_": graph.names}

        return self.steps(self.max_iter, hint=HINT, unpack=unpack)

    def _plain(
        self, graph: DirectedGraph | StreamedEdges, given: np.ndarray | None, R: np.ndarray
    ) -> np.ndarray:
        """The text's algorithms, on the transition matrix."""
        n, d = graph.n_nodes, self.damping
        uniform = np.full(n, 1.0 / n)
        v = uniform if given is None else given
        M: Any
        if isinstance(graph, StreamedEdges):
            M, graph.refuge = graph, self._refuge(v, uniform)
        else:
            M = Stochastic(graph, None if self.dangling == "vanish" else self._refuge(v, uniform))
        if self.algorithm == "algebraic":
            return self._solve(M, v)
        if self.algorithm == "power" and M.refuge is None and M.lost.size:
            raise ValueError(
                "algorithm='power' needs another policy than dangling='vanish' for this graph, which has dangling "
                "nodes: 1 is no eigenvalue of its matrix."
            )
        x = R / R.max() if self.algorithm == "power" else R
        advance: Advance = (
            scaled(google_product(M, d, v)) if self.algorithm == "power" else iteration(M, d, v)
        )
        for step in self._steps(graph):
            before, x = x, advance(x)
            change = float(np.abs(x - before).sum())
            step.report(x, change=change)
            if step.converged(change <= self.tol):
                break
        return x

    def _solve(self, M: Stochastic, v: np.ndarray) -> np.ndarray:
        """(I - d M) R = (1 - d) v. What dangling nodes give to a distribution u is a second solution, added."""
        d = self.damping
        if d == 1:
            raise ValueError("algorithm='algebraic' needs a damping below 1: I - M has no inverse.")
        R = solved(M.matrix, d, (1 - d) * v)
        if M.refuge is not None and M.lost.size:
            other = solved(M.matrix, d, M.refuge)
            R = R + other * (1 - R.sum()) / other.sum()
        return R

    def _refuge(self, v: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Where walkers at dangling nodes go."""
        return uniform if self.dangling == "uniform" else v

    def _extrapolate(self, graph: DirectedGraph, given: np.ndarray | None, R: np.ndarray) -> np.ndarray:
        """Gauss-Seidel sweeps with extrapolation; b = (1 - d) v + d (Σ R_u over dangling u) · refuge.

        Where the refuge is v, b is a multiple of v, and so R is one of the solution for b = (1 - d) v.
        """
        n, d = graph.n_nodes, self.damping
        uniform = np.full(1, 1.0 / n)
        v = uniform if given is None else given
        refuge, lost = self._refuge(v, uniform), graph.dangling_nodes()
        in_proportion = lost.size > 0 and self.dangling != "vanish" and refuge is v
        if in_proportion or self.dangling == "vanish":
            lost = lost[:0]
        # the basic definition has no b: only a step of the iteration keeps the sum of R there
        sweeps = Sweeps(graph.in_edges(self.n_jobs), d, R, (1 - d) * v, refuge, lost, ordered=d < 1)
        with sweeps.threads(self.n_jobs):
            for step in self._steps(graph):
                change = sweeps.sweep()
                if in_proportion:
                    change /= sweeps.current.sum()
                step.report(sweeps.current, change=change)
                if step.converged(change <= self.tol):
                    break
        return sweeps.current


class Stochastic:
    """The matrix M as a product: columns of dangling nodes are a distribution, which is not stored for each."""

    def __init__(self, graph: DirectedGraph, refuge: np.ndarray | None) -> None:
        self.matrix = row_stochastic(graph).T
        self.lost = graph.dangling_nodes()
        self.refuge = refuge

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.matrix @ x
        return (
            found if self.refuge is None or not self.lost.size else found + x[self.lost].sum() * self.refuge
        )
