"""Nodes of one graph or of several: features, labels and edges, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.core.column_parsing import is_frame


@dataclass
class Graphs:
    """The nodes of all graphs as one table.

    Attributes
    ----------
    X, y, weight : what belongs to the nodes; y and weight may be None.
    edges : (m, 2) pairs of rows of X.
    features : (m, k) features of the edges.
    lengths : the number of nodes of each graph; None for a single table.
    """

    X: Any
    y: Any
    weight: Any
    edges: np.ndarray
    features: np.ndarray
    lengths: list[int] | None

    def check(self, owner: str, X: np.ndarray) -> None:
        """Edges must join nodes that are there; callbacks that hold rows out take nodes away."""
        if len(X) != (sum(self.lengths) if self.lengths is not None else len(X)):
            raise ValueError(
                f"{owner}: rows of X were held out, which are nodes of graphs; score on other graphs."
            )
        if self.edges.size and (self.edges.min() < 0 or self.edges.max() >= len(X)):
            raise ValueError(
                f"{owner}: edges must join rows of X, from 0 to {len(X) - 1}; got "
                f"{self.edges.min()} to {self.edges.max()}."
            )

    def joined(self) -> np.ndarray:
        """The nodes that have a neighbour."""
        return np.unique(self.edges)

    def inner_edges(self, members: np.ndarray, inside: Any = slice(None)) -> np.ndarray:
        """Edges as pairs of places among some nodes, which are sorted."""
        return np.searchsorted(members, self.edges[inside])

    def split(self, values: np.ndarray) -> Any:
        """What belongs to nodes as it came: an array, or a list of one for each graph."""
        return values if self.lengths is None else np.split(values, np.cumsum(self.lengths)[:-1])


def stacked(owner: str, X: Any, y: Any, weight: Any, edges: Any, edge_features: Any) -> Graphs:
    """One table of the nodes of a graph, or of a list of graphs."""
    if not _is_list_of_graphs(X):
        pairs, features = _edges(owner, edges, edge_features)
        return Graphs(X, y, weight, pairs, features, None)
    tables = [np.asarray(part) for part in X]
    lengths = [len(part) for part in tables]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    for name, given in (("y", y), ("edges", edges), ("edge_features", edge_features)):
        if given is not None and (not isinstance(given, list | tuple) or len(given) != len(tables)):
            raise ValueError(
                f"{owner}: X is a list of {len(tables)} graphs; {name} must be such a list, too."
            )
    parts = [
        _edges(
            owner, None if edges is None else edges[g], None if edge_features is None else edge_features[g]
        )
        for g in range(len(tables))
    ]
    for g, ((pairs, _), n) in enumerate(zip(parts, lengths)):
        if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
            raise ValueError(f"{owner}: edges of graph {g} must join its nodes, from 0 to {n - 1}.")
    if y is not None and [len(part) for part in y] != lengths:
        raise ValueError(f"{owner}: y must have a label for each node of each graph of X.")
    if weight is not None and np.shape(weight) == (len(tables),):
        weight = np.repeat(np.asarray(weight), lengths)
    return Graphs(
        np.concatenate(tables),
        None if y is None else np.concatenate([np.ravel(part) for part in y]),
        weight,
        np.concatenate([pairs + start for (pairs, _), start in zip(parts, starts)]),
        np.concatenate([features for _, features in parts]),
        lengths,
    )


def _is_list_of_graphs(X: Any) -> bool:
    if is_frame(X) or not isinstance(X, list | tuple) or not X:
        return False
    return all(getattr(part, "ndim", 0) == 2 for part in X)


def _edges(owner: str, edges: Any, edge_features: Any) -> tuple[np.ndarray, np.ndarray]:
    if edges is None or np.size(edges) == 0:
        width = 1 if edge_features is None or np.ndim(edge_features) != 2 else np.shape(edge_features)[1]
        return np.zeros((0, 2), dtype=np.int64), np.zeros((0, width))
    try:
        pairs = np.asarray(edges)
    except ValueError:
        pairs = np.zeros(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"{owner}: edges must be pairs of row numbers, of shape (n_edges, 2).")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError(
            f"{owner}: edges must join two different nodes; row {pairs[pairs[:, 0] == pairs[:, 1]][0, 0]} "
            "is joined to itself."
        )
    features = (
        np.ones((len(pairs), 1)) if edge_features is None else np.asarray(edge_features, dtype=np.float64)
    )
    if features.ndim != 2 or len(features) != len(pairs) or not np.isfinite(features).all():
        raise ValueError(
            f"{owner}: edge_features must be finite numbers of shape ({len(pairs)}, n_edge_features)."
        )
    return pairs.astype(np.int64), features
