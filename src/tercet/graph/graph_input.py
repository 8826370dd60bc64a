"""Directed graphs from what they come in: matrices, edge lists, dicts, data frames, networkx graphs."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from tercet.core.validation import check_structure

FORMS = (
    "a square adjacency matrix (array or SciPy sparse), a list of (source, target) or (source, target, weight) "
    "tuples, a dict of nodes to targets, or a networkx graph"
)
BLOCK = 1 << 16  # weights that are looked at together
SOURCES = ("source", "src", "from", "start")  # names of the columns of an edge list, in any case
TARGETS = ("target", "dst", "dest", "destination", "to", "end")


def read_graph(graph: Any, nodes: Any = None, weight: str = "weight") -> tuple[Any, list[Any] | None]:
    """Adjacency matrix in CSR form (row = source), and the names of the nodes; None where they are 0, 1 ...

    A CSR matrix is not copied, unless it holds zeros, which are no edges.
    """
    if sparse.issparse(graph):
        return adjacency_of_matrix(graph, nodes)
    if hasattr(graph, "is_directed") and hasattr(graph, "adj"):
        return _of_networkx(graph, nodes, weight)
    if hasattr(graph, "columns") and hasattr(graph, "to_numpy"):
        return _of_frame(graph, nodes, weight)
    if isinstance(graph, Mapping):
        return _of_mapping(graph, nodes)
    if isinstance(graph, np.ndarray) or _is_nested_list(graph):
        return _of_array(graph, nodes)
    if isinstance(graph, str | bytes) or not isinstance(graph, Iterable):
        raise TypeError(f"graph must be {FORMS}; got {_shown(graph)}.")
    return _of_edges(list(graph), nodes)


def adjacency_of_matrix(matrix: Any, nodes: Any = None) -> tuple[Any, list[Any] | None]:
    """CSR form of a square matrix of edge weights, checked."""
    shape = tuple(matrix.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"graph: an adjacency matrix must be square; the shape is {shape}.")
    names = None if nodes is None else _distinct(nodes)
    if names is not None and len(names) != shape[0]:
        raise ValueError(f"nodes must name each of {shape[0]} nodes; got {len(names)} names.")
    if not shape[0]:
        raise ValueError("graph has no nodes: the adjacency matrix is of shape (0, 0).")
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"graph: edge weights must be numbers; the matrix is of dtype {matrix.dtype}.")
    if sparse.issparse(matrix):
        check_structure(matrix, "graph")
    adjacency = sparse.csr_array(matrix)
    if adjacency.format != getattr(matrix, "format", "csr"):
        check_structure(adjacency, "graph")
    adjacency = _without_zeros(adjacency, names)
    return adjacency, names


def edge_adjacency(
    source: Any, target: Any, weight: Any, n_nodes: int, names: list[Any] | None = None
) -> Any:
    """CSR form of edges between node indices; the weights of an edge that is there twice are added up."""
    source, target = np.asarray(source), np.asarray(target)
    if source.ndim != 1 or source.shape != target.shape:
        raise ValueError(
            f"source and target must be vectors of one length; the shapes are {source.shape} and {target.shape}."
        )
    for name, ends in (("source", source), ("target", target)):
        if ends.size and ends.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold whole numbers; got dtype {ends.dtype}.")
        if ends.size and not (ends.min() >= 0 and ends.max() < n_nodes):
            wrong = ends[(ends < 0) | (ends >= n_nodes)][0]
            raise ValueError(f"{name} must hold nodes from 0 to {n_nodes - 1}; got {wrong}.")
    try:
        weights = np.ones(source.size) if weight is None else np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"graph: edge weights must be numbers; got {_shown(weight)}.") from None
    if weights.shape != source.shape:
        raise ValueError(f"weight must have one number for each of {source.size} edges; got {weights.shape}.")
    _check_weights(weights, lambda e: (source[e], target[e]), names)
    kind = np.int32 if n_nodes < 2**31 and source.size < 2**31 else np.int64
    ends = (source.astype(kind, copy=False), target.astype(kind, copy=False))
    found = sparse.coo_array((weights, ends), shape=(n_nodes, n_nodes)).tocsr()
    return _without_zeros(found, names)


def node_weights(given: Any, n: int, index: Mapping[Any, int] | None, parameter: str) -> np.ndarray | None:
    """Weights of nodes as a distribution: from a vector, a dict of nodes to weights (0 elsewhere), or a list of
    nodes where names are given; None stays None."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        weights = np.zeros(n)
        for node, value in given.items():
            place = index.get(node) if index is not None else node
            if not isinstance(place, int | np.integer) or not 0 <= place < n:
                raise ValueError(
                    f"parameter {parameter!r} names the node {node!r}, which is not in the graph."
                )
            try:
                weights[place] = value
            except (TypeError, ValueError):
                raise ValueError(
                    f"parameter {parameter!r} must hold numbers; got {value!r} for the node {node!r}."
                ) from None
    else:
        try:
            weights = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"parameter {parameter!r} must be a vector of {n} numbers or a dict of nodes to numbers; "
                f"got {_shown(given)}."
            ) from None
    if weights.shape != (n,):
        raise ValueError(
            f"parameter {parameter!r} must have a number for each of {n} nodes; the shape is {weights.shape}."
        )
    if not (weights >= 0).all() or not np.isfinite(weights).all():  # NaN too
        wrong = weights[~((weights >= 0) & np.isfinite(weights))][0]
        raise ValueError(f"parameter {parameter!r} must hold finite numbers of at least 0; got {wrong}.")
    largest = weights.max()
    if largest == 0:
        raise ValueError(f"parameter {parameter!r} must have a positive number; all are 0.")
    weights /= largest  # first, so that the sum cannot overflow
    return weights / weights.sum()


def _of_networkx(graph: Any, nodes: Any, weight: str) -> tuple[Any, list[Any] | None]:
    edges = [(u, v, data.get(weight, 1.0)) for u, v, data in graph.edges(data=True)]
    if not graph.is_directed():
        edges += [(v, u, w) for u, v, w in edges if u != v]
    return _of_edges(edges, list(graph.nodes) if nodes is None else nodes)


def _of_frame(frame: Any, nodes: Any, weight: str) -> tuple[Any, list[Any] | None]:
    """An edge list where columns are named source and target, or hold names; else a square frame is a matrix.

    A frame of 2 or 3 rows and as many columns of numbers may be either: an index that is the columns' names makes
    it a matrix, columns named source and target an edge list, and all else is refused.
    """
    columns, (n, width) = list(frame.columns), frame.shape
    labels = list(frame.index) if hasattr(frame, "index") else None
    square = n == width
    if square and labels == columns and columns != list(range(width)):
        return adjacency_of_matrix(frame.to_numpy(), columns if nodes is None else nodes)
    named = _named_columns(columns, weight)
    if named:
        return _of_columns([frame[column].to_numpy() for column in named], nodes)
    if width not in (2, 3):
        if square:
            return adjacency_of_matrix(frame.to_numpy(), columns if nodes is None else nodes)
        raise ValueError(
            f"graph: a data frame must be square, or have the columns source, target and weight; got {frame.shape}."
        )
    found = [frame[column].to_numpy() for column in columns]
    if square and all(map(_holds_numbers, found)):
        ends = np.concatenate(found[:2]).astype(np.float64)
        if (ends == np.floor(ends)).all():
            raise ValueError(
                f"graph: a data frame of shape {frame.shape} with the columns {columns} may be an adjacency matrix "
                f"or a list of {n} edges. Name the columns source, target{' and weight' if width == 3 else ''} if "
                "it has edges; if it is a matrix, give its index the names of the columns, or give "
                "graph.to_numpy() with nodes."
            )
        return adjacency_of_matrix(frame.to_numpy(), columns if nodes is None else nodes)
    return _of_columns(found, nodes)


def _holds_numbers(values: np.ndarray) -> bool:
    """Whether an array has numbers only, whatever its dtype."""
    if values.dtype.kind == "O":
        return all(isinstance(value, numbers.Number) for value in values.ravel())
    return values.dtype.kind in "biufc"


def _named_columns(columns: list[Any], weight: str) -> list[Any]:
    """The columns source, target and, if there is one, weight of an edge list; none where they are not named so."""
    lower = [str(column).lower() for column in columns]
    ends = [[c for c, name in zip(columns, lower) if name in names] for names in (SOURCES, TARGETS)]
    if [len(found) for found in ends] != [1, 1]:
        return []
    found = [ends[0][0], ends[1][0]]
    others = [column for column in columns if column not in found]
    weights = others if len(others) == 1 else [c for c in others if c == weight]
    return [*found, *weights]


def _of_mapping(graph: Mapping[Any, Any], nodes: Any) -> tuple[Any, list[Any] | None]:
    edges: list[tuple[Any, ...]] = []
    for source, targets in graph.items():
        if isinstance(targets, str | bytes) or not isinstance(targets, Iterable):
            raise TypeError(
                f"graph: the targets of {source!r} must be a list or a dict; got {_shown(targets)}."
            )
        if isinstance(targets, Mapping):
            edges += [(source, target, weight) for target, weight in targets.items()]
        else:
            edges += [(source, target) for target in targets]
    if nodes is None:
        nodes = dict.fromkeys([*graph, *(edge[1] for edge in edges)])
    return _of_edges(edges, list(nodes))


def _of_array(graph: Any, nodes: Any) -> tuple[Any, list[Any] | None]:
    """A square array of numbers is an adjacency matrix; another one of two or three columns is an edge list."""
    try:
        array = np.asarray(graph)
    except ValueError:
        raise ValueError("graph: the rows of an adjacency matrix must have one length.") from None
    narrow = array.ndim == 2 and array.shape[1] in (2, 3)
    if narrow and (array.shape[0] != array.shape[1] or not _holds_numbers(array)):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError("graph: an array of edges must hold finite numbers; it holds NaN or infinity.")
        ends = array[:, :2]
        if array.dtype.kind == "f" and (ends == np.floor(ends)).all():
            ends = ends.astype(np.int64)
        return _of_columns([*ends.T, *array.T[2:]], nodes)
    return adjacency_of_matrix(array, nodes)


def _of_columns(columns: list[np.ndarray], nodes: Any) -> tuple[Any, list[Any] | None]:
    """Edges in columns source, target and perhaps weight; quick where nodes are numbers."""
    ends = np.concatenate(columns[:2])
    if nodes is not None or ends.dtype.kind not in "iu" or not ends.size:
        return _of_edges(list(zip(*(column.tolist() for column in columns))), nodes)
    found, index = np.unique(ends, return_inverse=True)
    n, m = found.size, columns[0].size
    names = None if found[0] == 0 and found[-1] == n - 1 else found.tolist()
    weights = columns[2] if len(columns) == 3 else None
    return edge_adjacency(index[:m], index[m:], weights, n, names), names


def _of_edges(edges: Sequence[Any], nodes: Any) -> tuple[Any, list[Any] | None]:
    for edge in edges:
        if not isinstance(edge, Sequence) or isinstance(edge, str | bytes) or len(edge) not in (2, 3):
            raise ValueError(
                f"graph: an edge must be (source, target) or (source, target, weight); got {edge!r}."
            )
    names = _distinct(_sorted(edges) if nodes is None else nodes)
    if not names:
        raise ValueError("graph has no nodes: it has no edges, and no nodes are named.")
    index = {name: k for k, name in enumerate(names)}
    ends = np.empty((2, len(edges)), dtype=np.int64)
    for e, edge in enumerate(edges):
        for side in (0, 1):
            try:
                ends[side, e] = index[edge[side]]
            except (KeyError, TypeError):
                raise ValueError(f"graph: the edge {edge!r} joins a node that is not among nodes.") from None
    weights = [edge[2] if len(edge) == 3 else 1.0 for edge in edges]
    numbered = names == list(range(len(names)))
    adjacency = edge_adjacency(ends[0], ends[1], weights, len(names), names)
    return adjacency, None if numbered else names


def _sorted(edges: Sequence[Any]) -> list[Any]:
    """The nodes of edges, sorted where they can be."""
    try:
        found = list(dict.fromkeys(node for edge in edges for node in edge[:2]))
    except TypeError:
        raise TypeError("graph: nodes must be hashable: numbers, strings or tuples, not lists.") from None
    with contextlib.suppress(TypeError):
        found.sort()
    return found


def _distinct(nodes: Any) -> list[Hashable]:
    if isinstance(nodes, str | bytes) or not isinstance(nodes, Iterable):
        raise TypeError(f"nodes must be a list of names; got {_shown(nodes)}.")
    names = list(nodes.tolist() if isinstance(nodes, np.ndarray) else nodes)
    try:
        twice = len(set(names)) < len(names)
    except TypeError:
        raise TypeError("nodes must be hashable: numbers, strings or tuples, not lists.") from None
    if twice:
        seen: set[Any] = set()
        name = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"nodes must be distinct; {name!r} is there twice.")
    return names


def _is_nested_list(graph: Any) -> bool:
    """Whether this is a matrix in the form of lists of numbers. Tuples are edges."""
    return (
        isinstance(graph, list) and bool(graph) and all(isinstance(row, list | np.ndarray) for row in graph)
    )


def _without_zeros(adjacency: Any, names: list[Any] | None) -> Any:
    """The matrix without entries of 0, after a check of its weights; itself where there are none."""
    data = adjacency.data[: adjacency.indptr[-1]]
    if all_equal(data) and (not data.size or (data[0] > 0 and np.isfinite(data[0]))):
        return adjacency

    def ends(e: int) -> tuple[int, int]:
        return int(np.searchsorted(adjacency.indptr, e, side="right")) - 1, int(adjacency.indices[e])

    _check_weights(data, ends, names)
    if data.size and data.min() == 0:
        adjacency = adjacency.copy()
        adjacency.eliminate_zeros()
    if adjacency.dtype.kind == "f":
        with np.errstate(over="ignore"):
            sums = np.asarray(adjacency.sum(axis=1))
        if not np.isfinite(sums).all():
            raise ValueError(
                "graph: the weights of a node's edges add up to infinity; divide all by a number."
            )
    return adjacency


def _check_weights(weights: np.ndarray, ends: Any, names: list[Any] | None) -> None:
    """Refuse weights that are negative, infinite or NaN; `ends(e)` are the nodes of edge e."""
    if not weights.size or (weights.min() >= 0 and (weights.dtype.kind != "f" or np.isfinite(weights.max()))):
        return
    with np.errstate(invalid="ignore"):
        e = int(np.argmax(~((weights >= 0) & np.isfinite(weights))))
    u, v = (k if names is None else names[k] for k in map(int, ends(e)))
    raise ValueError(
        f"graph: edge weights must be finite numbers of at least 0; got {weights[e]} for the edge {u!r} -> {v!r}."
    )


def all_equal(values: np.ndarray) -> bool:
    """Whether all numbers are the same; a look at blocks, without a temporary array of the full size."""
    return all((values[k : k + BLOCK] == values[0]).all() for k in range(0, values.size, BLOCK))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
