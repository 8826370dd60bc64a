"""Directed graphs: paths, strong connectivity, periods (有向图)."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from tercet.core.catalog import method
from tercet.core.public_names import PublicPickle
from tercet.graph._engine.in_edges import InEdges, in_edges
from tercet.graph._engine.levels import breadth_first_levels
from tercet.graph.graph_input import all_equal, edge_adjacency, read_graph

Node = Hashable


@method(
    zh="有向图",
    task="graph analysis",
    model="nodes V and ordered pairs of nodes E, each with a weight",
    algorithms="breadth-first search, strongly connected components",
    texts=["Li ch. 21, Def 21.1"],
    peers=["networkx.DiGraph"],
)
class DirectedGraph(PublicPickle):
    """A directed graph with weighted edges and named nodes.

    Strongly connected: there is a path from every node to every other. The period of a node is the greatest common
    divisor of the lengths of all paths back to it; a graph whose nodes have period 1 is aperiodic.

    Parameters
    ----------
    graph : sparse matrix, array, list of edges, dict, data frame or networkx graph
        A square matrix of numbers is the adjacency matrix: entry (i, j) is the weight of the edge i -> j, 0 for
        none. A list of lists is a matrix, too; a list of tuples holds edges, (source, target) or (source, target,
        weight), as does an array of two or three columns that is not square. A data frame holds edges if it has
        columns named source and target (or from and to, src and dst), or if it has two or three columns and is not
        square; a square one whose index has the names of the columns is a matrix, and a small one that may be
        either is refused. A dict has a list of targets, or a dict of targets to weights, for each source. In an
        undirected networkx graph every edge goes both ways. An edge that is there twice counts twice.
    nodes : list, optional
        Names of all nodes, in order; those without an edge are known only by it. By default the nodes of the edges,
        sorted where they can be; 0, 1 ... for a matrix.
    weight : str, default="weight"
        Attribute of a networkx edge that is its weight, 1 where an edge has none; or the column of a data frame of
        edges with more than three columns.

    Attributes
    ----------
    adjacency : CSR array of shape (n_nodes, n_nodes)
        The weights; the arrays of a CSR matrix that was given, not copies.
    names : list or None
        The names of the nodes; None where they are 0, 1 ...

    Examples
    --------
    >>> graph = DirectedGraph({"A": ["B"], "B": ["C"], "C": ["A"]})
    >>> graph.is_strongly_connected(), graph.period(), graph.is_aperiodic()
    (True, 3, False)
    >>> graph.path("A", "C")
    ['A', 'B', 'C']
    """

    adjacency: Any
    names: list[Any] | None

    def __init__(self, graph: Any, nodes: Any = None, weight: str = "weight") -> None:
        if isinstance(graph, DirectedGraph):
            vars(self).update(vars(graph))
            if nodes is not None:
                self.adjacency, self.names = read_graph(graph.adjacency, nodes)
                vars(self).pop("_places", None)
        else:
            self.adjacency, self.names = read_graph(graph, nodes, weight)

    @classmethod
    def from_edges(
        cls, source: Any, target: Any, weight: Any = None, *, n_nodes: int | None = None, nodes: Any = None
    ) -> Self:
        """A graph of edges between node indices, given as arrays: the quick way for millions of edges.

        Parameters
        ----------
        source, target : arrays of int of shape (n_edges,)
            The ends of the edges.
        weight : array of shape (n_edges,), optional
            The weights, 1 by default.
        n_nodes : int, optional
            Number of nodes; by default as many as are named, or the largest index plus 1.
        nodes : list, optional
            Names of the nodes.

        Examples
        --------
        >>> DirectedGraph.from_edges([0, 1], [1, 2], n_nodes=4)
        DirectedGraph(n_nodes=4, n_edges=2)
        """
        if n_nodes is None:
            ends = [np.max(side, initial=-1) for side in (source, target)]
            n_nodes = int(max(ends)) + 1 if nodes is None else len(nodes)
        if n_nodes < 1:
            raise ValueError(f"n_nodes must be at least 1; got {n_nodes}.")
        return cls(edge_adjacency(source, target, weight, n_nodes), nodes)

    def __repr__(self) -> str:
        return f"DirectedGraph(n_nodes={self.n_nodes}, n_edges={self.n_edges})"

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.adjacency.indptr[-1])

    @property
    def nodes(self) -> list[Any]:
        """The names of the nodes, or their numbers."""
        return list(range(self.n_nodes)) if self.names is None else list(self.names)

    def is_weighted(self) -> bool:
        """Whether edges differ in weight."""
        return self._weighted

    @functools.cached_property
    def _weighted(self) -> bool:
        return not all_equal(self.adjacency.data[: self.n_edges])

    def index(self, node: Node) -> int:
        """The number of a node.

        Examples
        --------
        >>> DirectedGraph([("u", "v")]).index("v")
        1
        """
        try:
            place = self._places.get(node) if self.names is not None else node
        except TypeError:
            place = None
        if not isinstance(place, int | np.integer) or not 0 <= place < self.n_nodes:
            raise KeyError(f"{node!r} is not a node of this graph.")
        return int(place)

    @functools.cached_property
    def _places(self) -> dict[Any, int]:
        return {name: k for k, name in enumerate(self.names or ())}

    def name(self, index: int) -> Any:
        """The name of the node with a number."""
        return int(index) if self.names is None else self.names[index]

    def out_degree(self) -> np.ndarray:
        """Number of edges that leave each node."""
        return np.diff(self.adjacency.indptr)

    def in_degree(self) -> np.ndarray:
        """Number of edges that enter each node."""
        return np.bincount(self.adjacency.indices[: self.n_edges], minlength=self.n_nodes)

    def out_weight(self) -> np.ndarray:
        """Sum of the weights of the edges that leave each node."""
        return np.asarray(self.adjacency.sum(axis=1), dtype=np.float64).reshape(-1)

    def in_edges(self, n_jobs: int | None = None) -> InEdges:
        """The edges by their targets, found once for all fits on this graph."""
        found = vars(self).get("_in_edges")
        if found is None:
            found = in_edges(self.adjacency, self.out_weight() if self._weighted else None, n_jobs)
            self._in_edges = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {"adjacency": self.adjacency, "names": self.names}

    def dangling_nodes(self) -> np.ndarray:
        """Numbers of the nodes without an edge that leaves them.

        Examples
        --------
        >>> DirectedGraph([(0, 1), (0, 2), (2, 0)]).dangling_nodes()
        array([1])
        """
        return np.flatnonzero(self.out_degree() == 0)

    def isolated_nodes(self) -> np.ndarray:
        """Numbers of the nodes without any edge."""
        return np.flatnonzero((self.out_degree() == 0) & (self.in_degree() == 0))

    def with_self_loops(self, nodes: np.ndarray) -> DirectedGraph:
        """A copy in which the nodes with these numbers have an edge to themselves, of weight 1."""
        loops = edge_adjacency(nodes, nodes, None, self.n_nodes)
        return DirectedGraph(self.adjacency + loops, self.names)

    def unweighted(self) -> DirectedGraph:
        """A copy in which every edge has weight 1."""
        A = self.adjacency
        ones = np.ones(self.n_edges)
        return DirectedGraph(
            csr_array((ones, A.indices[: self.n_edges], A.indptr), shape=A.shape), self.names
        )

    def path(self, source: Node, target: Node) -> list[Any] | None:
        """A shortest path in number of edges; None where there is none. A node reaches itself by no edge.

        Examples
        --------
        >>> DirectedGraph([(0, 1), (1, 2), (2, 1)]).path(2, 0) is None
        True
        """
        start, end = self.index(source), self.index(target)
        _, before = breadth_first_order(self.adjacency, start)
        found = [end]
        while found[-1] != start:
            if before[found[-1]] < 0:
                return None
            found.append(int(before[found[-1]]))
        return [self.name(k) for k in reversed(found)]

    def strongly_connected_components(self) -> list[list[Any]]:
        """The nodes in groups that can reach one another, ordered by their first node.

        Examples
        --------
        >>> DirectedGraph([(0, 1), (1, 2), (2, 1)]).strongly_connected_components()
        [[0], [1, 2]]
        """
        labels = self._components()[1]
        order = np.argsort(labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        return [[self.name(k) for k in group] for group in sorted(groups, key=lambda group: group[0])]

    def is_strongly_connected(self) -> bool:
        """Whether there is a path from every node to every other: then the random walk is irreducible."""
        return bool(self._components()[0] == 1)

    def periods(self) -> np.ndarray:
        """The period of each node: the greatest common divisor of the lengths of its paths back; 0 for none.

        Along the edges u -> v inside a component the depth of a breadth-first search grows by 1 up to a multiple of
        the period, so that the period is the greatest common divisor of all depth(u) + 1 - depth(v).

        Examples
        --------
        >>> DirectedGraph([(0, 1), (1, 0), (1, 2)]).periods()
        array([2, 2, 0])
        """
        _, labels = self._components()
        source = np.repeat(np.arange(self.n_nodes), self.out_degree())
        target = self.adjacency.indices[: self.n_edges]
        depth = breadth_first_levels(self.adjacency, labels)
        inside = labels[source] == labels[target]
        group = labels[source[inside]]
        gaps = np.abs(depth[source[inside]] + 1 - depth[target[inside]])
        found = np.zeros(labels.max() + 1, dtype=np.int64)
        order = np.argsort(group, kind="stable")
        first = np.flatnonzero(np.diff(group[order], prepend=-1))
        if first.size:
            found[group[order][first]] = np.gcd.reduceat(gaps[order], first)
        return found[labels]

    def period(self) -> int:
        """The period of all nodes of a strongly connected graph; for others, the greatest common divisor of the
        periods of all nodes that have one (0 for none)."""
        return int(np.gcd.reduce(self.periods()))

    def is_aperiodic(self) -> bool:
        """Whether every node that has a path back to it has period 1, and there is one."""
        periods = self.periods()
        return bool((periods <= 1).all() and (periods == 1).any())

    def _components(self) -> tuple[int, np.ndarray]:
        return connected_components(self.adjacency, connection="strong")
