"""Undirected graphs: cliques, separation and Markov properties (无向图、团与分离)."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.column_parsing import is_frame

Node = Hashable
Graph = dict[Any, frozenset]
Statement = tuple[frozenset, frozenset, frozenset]


def undirected(graph: Any, nodes: Iterable[Node] | None = None) -> Graph:
    """The neighbours of every node.

    Parameters
    ----------
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The edges; an array has an edge wherever it is not zero. Each edge counts both ways.
    nodes : list, optional
        All nodes in order (an isolated one has no edge to be known by); by default those of the edges, sorted
        where they can be.

    Examples
    --------
    >>> undirected([("b", "a")], nodes=["a", "b", "c"])
    {'a': frozenset({'b'}), 'b': frozenset({'a'}), 'c': frozenset()}
    """
    refuse_other_forms(graph)
    if isinstance(graph, Mapping):
        known = dict.fromkeys(graph)
        edges = [(u, v) for u, others in graph.items() for v in others]
    elif getattr(graph, "ndim", 1) == 2 and graph.shape[0] == graph.shape[1]:
        known = dict.fromkeys(range(len(graph)))
        edges = list(zip(*(axis.tolist() for axis in graph.nonzero())))
    else:
        edges, known = [tuple(edge) for edge in graph], {}
    if any(len(edge) != 2 or edge[0] == edge[1] for edge in edges):
        wrong = next(edge for edge in edges if len(edge) != 2 or edge[0] == edge[1])
        raise ValueError(f"An edge must join two different nodes; got {wrong!r}.")
    found = [*known, *(node for edge in edges for node in edge)]
    order = list(dict.fromkeys(found if nodes is None else nodes))
    if nodes is None:
        order = sorted_nodes(order)
    elif set(found) - set(order):
        raise ValueError(
            f"The edges join nodes that are not in nodes: {sorted(set(found) - set(order), key=repr)}."
        )
    neighbours: dict[Any, set] = {node: set() for node in order}
    for u, v in edges:
        neighbours[u].add(v)
        neighbours[v].add(u)
    return {node: frozenset(others) for node, others in neighbours.items()}


def refuse_other_forms(graph: Any) -> None:
    """Refuse data frames, and an array that may be an adjacency matrix or two pairs.

    Examples
    --------
    >>> refuse_other_forms(np.array([[0, 2], [1, 0]]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: graph: an array of shape (2, 2) may be an adjacency matrix or two edges. Give edges as a list of ...
    """
    if is_frame(graph):
        raise TypeError(
            "graph must be a list of pairs, a mapping or a square array; got a data frame. Give the pairs in its "
            "rows, frame[[first, second]].to_numpy().tolist(), or frame.to_numpy() of an adjacency matrix."
        )
    pairs = isinstance(graph, np.ndarray) and graph.shape == (2, 2) and graph.dtype.kind in "iu"
    if pairs and not graph.diagonal().any() and graph[0, 1] and graph[1, 0] and graph.max() > 1:
        raise ValueError(
            "graph: an array of shape (2, 2) may be an adjacency matrix or two edges. Give edges as a list of "
            "pairs."
        )


@method(
    zh="团",
    task="graphical model",
    model="C such that any two of its nodes are joined by an edge",
    texts=["Li ch. 11, Def 11.2", "watermelon notes ch. 12, 12.2"],
    peers=["networkx.enumerate_all_cliques"],
)
def is_clique(graph: Any, nodes: Collection[Node]) -> bool:
    """Whether any two of some nodes are joined by an edge; a single node is a clique.

    Parameters
    ----------
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The undirected graph.
    nodes : collection of nodes
        The candidates.

    Examples
    --------
    >>> is_clique([(1, 2), (2, 3), (1, 3), (3, 4)], {1, 2, 3})
    True
    """
    neighbours = undirected(graph)
    chosen = set(nodes)
    return bool(chosen) and all(chosen - {u} <= neighbours.get(u, frozenset()) for u in chosen)


@method(
    zh="最大团",
    task="graphical model",
    model="a clique to which no node can be added",
    algorithms="Bron and Kerbosch's, with pivots",
    texts=["Li ch. 11, Def 11.2", "watermelon notes ch. 12, 12.2"],
    peers=["networkx.find_cliques"],
)
def maximal_cliques(graph: Any, nodes: Iterable[Node] | None = None) -> list[set]:
    """All cliques that are part of no larger one.

    Parameters
    ----------
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The undirected graph.
    nodes : list, optional
        All nodes, where some are isolated: each is a clique of its own.

    Returns
    -------
    cliques : list of sets

    Examples
    --------
    >>> maximal_cliques([(1, 2), (2, 3), (3, 4), (4, 2), (1, 3)])
    [{1, 2, 3}, {2, 3, 4}]
    """
    neighbours = undirected(graph, nodes)
    place = {node: k for k, node in enumerate(neighbours)}

    def expand(clique: list, open_: set, closed: set) -> Iterator[set]:
        """Bron-Kerbosch: the maximal cliques that hold `clique`, some of `open_`, and none of `closed`."""
        if not open_ and not closed:
            yield set(clique)
            return
        # A maximal clique holds the pivot or one of its non-neighbours: only these need to be tried.
        pivot = max(open_ | closed, key=lambda u: (len(neighbours[u] & open_), -place[u]))
        for u in sorted(open_ - neighbours[pivot], key=place.__getitem__):
            yield from expand([*clique, u], open_ & neighbours[u], closed & neighbours[u])
            open_ = open_ - {u}
            closed = closed | {u}

    found = expand([], set(neighbours), set()) if neighbours else iter([])
    return sorted(found, key=lambda clique: sorted(place[node] for node in clique))


@method(
    zh="分离集",
    task="graphical model",
    model="C separates A and B: every path from A to B meets C",
    texts=["Li ch. 11, 11.1.1", "watermelon notes ch. 12, 12.2"],
)
def separates(graph: Any, C: Collection[Node], A: Collection[Node], B: Collection[Node]) -> bool:
    """Whether every path from the nodes A to the nodes B meets one of C.

    Parameters
    ----------
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The undirected graph.
    C : collection of nodes
        The nodes in between.
    A, B : collections of nodes
        The two sides; they share no node with each other or with C.

    Examples
    --------
    >>> separates([(1, 2), (2, 3)], {2}, {1}, {3}), separates([(1, 2), (2, 3)], [], {1}, {3})
    (True, False)
    """
    neighbours, A, B, C = undirected(graph), set(A), set(B), set(C)
    if A & B or A & C or B & C:
        raise ValueError(f"A, B and C must share no node; got {A}, {B} and {C}.")
    return not any(component & A and component & B for component in connected_components(neighbours, C))


@method(
    zh="马尔可夫毯",
    task="graphical model",
    model="the neighbours of v: given them, v does not depend on the rest",
    texts=["watermelon notes ch. 12, 12.2"],
)
def markov_blanket(graph: Any, node: Node) -> set:
    """The nodes that make a node independent of all others: in an undirected graph its neighbours.

    Parameters
    ----------
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The undirected graph.
    node : node
        The node in question.

    Examples
    --------
    >>> markov_blanket([(1, 2), (2, 3), (3, 4)], 2)
    {1, 3}
    """
    neighbours = undirected(graph)
    if node not in neighbours:
        raise ValueError(f"{node!r} is not a node of the graph; its nodes are {list(neighbours)}.")
    return set(neighbours[node])


def connected_components(neighbours: Graph, without: Collection[Node] = ()) -> list[set]:
    """The connected components of a graph without some nodes."""
    left, parts = {u: None for u in neighbours if u not in without}, []
    while left:
        part, front = set(), [next(iter(left))]
        while front:
            u = front.pop()
            if u in left:
                del left[u]
                part.add(u)
                front += neighbours[u]
        parts.append(part)
    return parts


def markov_statements(
    graph: Any, kind: Literal["pairwise", "local", "global"], nodes: Iterable[Node] | None = None
) -> Iterator[Statement]:
    """The independences of a Markov property: triples (A, B, C), that A and B are independent given C.

    Of the global property only the largest: for each C, a connected component of the rest as A and all other
    components as B. The others follow from these.

    Parameters
    ----------
    graph : list of pairs, mapping of nodes to neighbours, or square array
        The undirected graph.
    kind : {"pairwise", "local", "global"}
        Two nodes without an edge, given all others (11.1); a node and those that are not its neighbours, given the
        neighbours (11.2); two sets, given one that separates them (11.4).
    nodes : list, optional
        All nodes.

    Examples
    --------
    >>> [tuple(map(sorted, statement)) for statement in markov_statements([(1, 2), (2, 3)], "pairwise")]
    [([1], [3], [2])]
    """
    neighbours = undirected(graph, nodes)
    all_nodes = frozenset(neighbours)
    if kind == "pairwise":
        pairs = [(u, v) for u, v in itertools.combinations(neighbours, 2) if v not in neighbours[u]]
        return ((frozenset([u]), frozenset([v]), all_nodes - {u, v}) for u, v in pairs)
    if kind == "local":
        rest = {u: all_nodes - neighbours[u] - {u} for u in neighbours}
        return ((frozenset([u]), others, neighbours[u]) for u, others in rest.items() if others)
    if kind != "global":
        raise ValueError(f"kind must be 'pairwise', 'local' or 'global'; got {kind!r}.")
    return _global_statements(neighbours)


def _global_statements(neighbours: Graph) -> Iterator[Statement]:
    all_nodes = frozenset(neighbours)
    for size in range(len(neighbours) - 1):
        for C in map(frozenset, itertools.combinations(neighbours, size)):
            parts = connected_components(neighbours, C)
            for part in parts if len(parts) > 1 else ():
                yield frozenset(part), all_nodes - C - part, C


def sorted_nodes(nodes: Iterable) -> list:
    """Nodes sorted, or in the given order where they cannot be compared."""
    nodes = list(nodes)
    try:
        return sorted(nodes)
    except TypeError:
        return nodes
