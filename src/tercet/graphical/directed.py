"""Directed acyclic graphs: topological order, moral graph and d-separation (有向无环图、道德图与有向分离)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

from tercet.core.catalog import method
from tercet.graphical.undirected import Graph, Node, refuse_other_forms, separates, sorted_nodes

Parents = dict[Any, tuple]


def directed(graph: Any, nodes: Iterable[Node] | None = None) -> Parents:
    """The parents of every node of a directed acyclic graph.

    Parameters
    ----------
    graph : list of pairs (parent, child), mapping of nodes to their parents, square array, or networkx.DiGraph
        The edges; an array has an edge from i to j wherever its entry (i, j) is not zero.
    nodes : list, optional
        All nodes in order (an isolated one has no edge to be known by); by default those of the graph, sorted
        where they can be.

    Returns
    -------
    parents : dict of nodes to tuples

    Examples
    --------
    >>> directed([("rain", "wet"), ("sprinkler", "wet")])
    {'rain': (), 'sprinkler': (), 'wet': ('rain', 'sprinkler')}
    >>> directed([("a", "b"), ("b", "a")])
    Traceback (most recent call last):
    ValueError: The edges have a cycle: 'a' -> 'b' -> 'a'.
    """
    edges, known = _edges(graph)
    for edge in edges:
        if len(edge) != 2:
            raise ValueError(f"An edge must be a pair (parent, child); got {edge!r}.")
    found = [*known, *(node for edge in edges for node in edge)]
    order = sorted_nodes(dict.fromkeys(found)) if nodes is None else list(dict.fromkeys(nodes))
    strange = [node for node in found if node not in set(order)]
    if strange:
        raise ValueError(f"The edges join {strange[0]!r}, which is no node; the nodes are {order}.")
    parents: dict[Any, dict] = {node: {} for node in order}
    for parent, child in edges:
        parents[child][parent] = None
    checked = {node: tuple(above) for node, above in parents.items()}
    topological_order(checked)
    return checked


def _edges(graph: Any) -> tuple[list[tuple], list]:
    """The pairs (parent, child) of a graph in any form, and the nodes that it names by themselves."""
    refuse_other_forms(graph)
    if isinstance(graph, Mapping):
        return [(parent, node) for node, above in graph.items() for parent in above], list(graph)
    if callable(getattr(graph, "nodes", None)) and hasattr(graph, "edges"):  # networkx
        if not graph.is_directed():
            raise ValueError("The graph must be directed; got an undirected one.")
        return [tuple(edge) for edge in graph.edges], list(graph.nodes)
    if getattr(graph, "ndim", 1) == 2 and graph.shape[0] == graph.shape[1]:
        return list(zip(*(axis.tolist() for axis in graph.nonzero()))), list(range(len(graph)))
    return [tuple(edge) for edge in graph], []


@method(
    zh="拓扑排序与无环性检查",
    task="graphical model",
    model="an order of the nodes in which parents come before their children",
    algorithms="nodes without unvisited parents, one after the other (Kahn)",
    texts=["watermelon notes ch. 5, eq. 5.9"],
    peers=["networkx.topological_sort"],
)
def topological_order(graph: Any) -> list:
    """The nodes in an order in which parents come before children; an error names the cycle where there is one.

    Parameters
    ----------
    graph : list of pairs (parent, child), mapping of nodes to their parents, square array, or networkx.DiGraph
        The directed graph.

    Examples
    --------
    >>> topological_order([("b", "c"), ("a", "b")])
    ['a', 'b', 'c']
    """
    parents = graph if isinstance(graph, Mapping) else directed(graph)
    children: dict[Any, list] = {node: [] for node in parents}
    for node, above in parents.items():
        for parent in above:
            children[parent].append(node)
    waiting = {node: len(set(above)) for node, above in parents.items()}
    ready, order = [node for node, many in waiting.items() if not many], []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    if len(order) < len(parents):
        done = set(order)
        cycle = _cycle({node: above for node, above in parents.items() if node not in done}, done)
        raise ValueError(f"The edges have a cycle: {' -> '.join(map(repr, cycle))}.")
    return order


def _cycle(parents: Mapping[Any, Iterable], done: set) -> list:
    """A cycle among nodes each of which has a parent that is left."""
    node, seen = next(iter(parents)), dict[Any, int]()
    while node not in seen:
        seen[node] = len(seen)
        node = next(parent for parent in parents[node] if parent not in done)
    path = [other for other, place in seen.items() if place >= seen[node]][::-1]
    start = min(range(len(path)), key=lambda k: list(parents).index(path[k]))
    path = path[start:] + path[:start]
    return [*path, path[0]]


@method(
    zh="道德图",
    task="graphical model",
    model="the undirected graph with all edges of a directed one, and an edge between any two parents of a node",
    texts=["watermelon notes ch. 5, 5.5"],
    peers=["networkx.moral_graph"],
)
def moral_graph(graph: Any) -> Graph:
    """The moral graph: parents of a common child are joined, and directions dropped.

    A node's neighbours in it are its Markov blanket: parents, children, and the other parents of the children.

    Parameters
    ----------
    graph : list of pairs (parent, child), mapping of nodes to their parents, square array, or networkx.DiGraph
        The directed acyclic graph.

    Examples
    --------
    >>> sorted(moral_graph([("rain", "wet"), ("sprinkler", "wet")])["rain"])
    ['sprinkler', 'wet']
    """
    parents = directed(graph)
    neighbours: dict[Any, set] = {node: set() for node in parents}
    for node, above in parents.items():
        family = {node, *above}
        for member in family:
            neighbours[member] |= family - {member}
    return {node: frozenset(others) for node, others in neighbours.items()}


def ancestors(parents: Mapping[Any, Iterable], nodes: Iterable[Hashable]) -> set:
    """Some nodes with all their ancestors."""
    found: set = set()
    front = list(nodes)
    while front:
        node = front.pop()
        if node not in found:
            found.add(node)
            front += parents[node]
    return found


@method(
    zh="有向分离（d-分离）",
    task="graphical model",
    model="A and B are independent given C in every distribution that factorises over the graph",
    algorithms="separation in the moral graph of the ancestors of A, B and C",
    texts=["watermelon notes ch. 5, 5.5"],
    peers=["networkx.is_d_separator"],
)
def d_separated(graph: Any, A: Collection[Node], B: Collection[Node], C: Collection[Node] = ()) -> bool:
    """Whether C d-separates A from B: every path between them is blocked.

    A path is blocked at a chain or fork in C, and at a collider (two arrows meet) that neither is in C nor has a
    descendant there.

    Parameters
    ----------
    graph : list of pairs (parent, child), mapping of nodes to their parents, square array, or networkx.DiGraph
        The directed acyclic graph.
    A, B : collections of nodes
        The two sides.
    C : collection of nodes, default=()
        What is observed.

    Examples
    --------
    >>> edges = [("rain", "wet"), ("sprinkler", "wet")]
    >>> d_separated(edges, ["rain"], ["sprinkler"]), d_separated(edges, ["rain"], ["sprinkler"], ["wet"])
    (True, False)
    """
    parents = directed(graph)
    A, B, C = ({part} if isinstance(part, str) else set(part) for part in (A, B, C))
    strange = [node for node in [*A, *B, *C] if node not in parents]
    if strange:
        raise ValueError(f"{strange[0]!r} is not a node of the graph; its nodes are {list(parents)}.")
    kept = ancestors(parents, A | B | C)
    moral = moral_graph({node: above for node, above in parents.items() if node in kept})
    return separates(moral, C, A, B)
