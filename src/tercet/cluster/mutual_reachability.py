"""Spanning trees of the mutual reachability distance max(c_i, c_j, d(x_i, x_j) / alpha), for every metric."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from tercet.cluster._engine.spanning_tree import Edges, boruvka, directed, prim, prim_rows
from tercet.cluster.distance_input import dense_form, power_of, row_distances
from tercet.core.kernel import inner, kernel
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.neighbors import BallTree, KDTree, NearestNeighbors

FEW = 1000  # rows up to which Prim's algorithm is faster than Borůvka's
BLOCK = 256  # rows of a matrix of distances that are looked at together


@dataclass
class SpanningTree:
    """A minimum spanning tree, in distances that are 2^exponent times as large."""

    edges: Edges
    core: np.ndarray
    exponent: int = 0


def mutual_reachability_tree(model: Any, X: Any, min_samples: int) -> SpanningTree:
    """The spanning tree of the rows X, by the metric and algorithm of a model."""
    params = dict(model.metric_params or {})
    if isinstance(model.metric, str) and model.metric == "precomputed":
        return given_tree(X, min_samples, model.alpha, params.get("max_distance", 0.0))
    p = power_of(model.metric, params)
    exponent, brute = 0, is_brute(model)
    X = dense_form(X, model.metric, params)
    if p is not None and not sparse.issparse(X):  # distances must neither overflow nor vanish
        exponent = scale_exponent(largest(X))
        X = times_power(X, -exponent)
    far, found = neighbor_search(model, X, min_samples).kneighbors(X, min_samples)
    core = np.ascontiguousarray(far[:, -1])
    if brute:
        core = core / model.alpha
    n = X.shape[0]
    if p == 2 and not sparse.issparse(X):
        Z = np.ascontiguousarray(X, dtype=np.float64) / model.alpha
        edges = prim_rows(Z, core) if n <= FEW else boruvka(Z, core, found, model.n_jobs)
    else:
        measure = row_distances(X, model.metric, params)
        edges = prim(n, core, lambda i: measure(i) / model.alpha)
    return SpanningTree(edges, core, exponent)


def neighbor_search(model: Any, X: Any, k: int) -> NearestNeighbors:
    """The search for the nearest of the rows X, by the metric and algorithm of a model."""
    algorithm = model.algorithm
    if algorithm == "auto" and isinstance(model.metric, str) and model.metric == "haversine":
        algorithm = "ball_tree"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # p is in metric_params, as it should be
        return NearestNeighbors(
            n_neighbors=k,
            algorithm=algorithm,
            leaf_size=model.leaf_size,
            metric=model.metric,
            metric_params=model.metric_params,
            p=None,
            n_jobs=model.n_jobs,
        ).fit(X)


def is_brute(model: Any) -> bool:
    """Whether scikit-learn's class would measure all pairs of dense rows: there alpha divides the core distances,
    too. (Sparse rows are clustered as dense ones.)"""
    fast = {*KDTree.valid_metrics, *BallTree.valid_metrics}
    named = isinstance(model.metric, str) and model.metric in fast
    return model.algorithm == "brute" or not named


def given_tree(D: Any, min_samples: int, alpha: float, most: float) -> SpanningTree:
    """The spanning tree of given distances; those that a sparse matrix lacks are infinite."""
    if sparse.issparse(D):
        return graph_tree(D, min_samples, alpha, most)
    n = len(D)
    blocks = [
        np.partition(D[i : i + BLOCK], min_samples - 1, axis=1)[:, min_samples - 1]
        for i in range(0, n, BLOCK)
    ]
    core = np.concatenate(blocks) / alpha
    edges = prim(n, core, lambda i: D[i] / alpha)
    if np.isinf(edges[2]).any():
        warnings.warn(
            "The minimum spanning tree contains edge weights with value infinity. Potentially, you are missing too "
            "many distances in the initial distance matrix for the given neighborhood size.",
            UserWarning,
            stacklevel=7,
        )
    return SpanningTree(edges, core)


def graph_tree(D: Any, min_samples: int, alpha: float, most: float) -> SpanningTree:
    """The spanning tree of a graph of distances, by Kruskal's algorithm."""
    D = sparse.csr_array(D)
    n, counts = D.shape[0], np.diff(D.indptr)
    data, who = D.data / alpha, np.repeat(np.arange(n), counts)
    order = np.lexsort((data, who))
    enough = counts >= min_samples
    core = np.full(n, np.inf)
    core[enough] = data[order][D.indptr[:-1][enough] + min_samples - 1]
    if not enough.all():
        raise ValueError(
            f"There exists points with fewer than {min_samples} neighbors: row {int(np.argmin(enough))} of X has "
            f"{counts.min()}. HDBSCAN needs distances to at least min_samples={min_samples} of the nearest rows."
        )
    reach = np.maximum(np.maximum(core[who], core[D.indices]), data)
    reach = np.where(np.isfinite(reach) | (most <= 0), reach, most)
    order = np.argsort(reach, kind="stable")
    pairs = np.empty((n - 1, 2), dtype=np.int64)
    weight = np.empty(n - 1)
    count = shortest_edges(
        who[order].astype(np.int64), D.indices[order].astype(np.int64), reach[order], pairs, weight
    )
    if count < n - 1:
        raise ValueError(
            f"The sparse matrix of distances has {n - count} connected components. HDBSCAN cannot be performed on "
            "a disconnected graph: give distances that connect all rows."
        )
    start, stop = directed(pairs, n)
    lengths = {tuple(sorted(pair)): w for pair, w in zip(pairs.tolist(), weight.tolist())}
    ends = zip(start.tolist(), stop.tolist())
    return SpanningTree((start, stop, np.array([lengths[min(a, b), max(a, b)] for a, b in ends])), core)


@inner
def root_of(parent, i):
    """The root of a tree, whose paths become shorter."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def shortest_edges(start, stop, reach, pairs, weight):
    """Of sorted edges, those that connect what was not connected before; returns how many (Kruskal)."""
    n, count = pairs.shape[0] + 1, 0
    parent = np.arange(n)
    for s in range(start.size):
        a, b = root_of(parent, start[s]), root_of(parent, stop[s])
        if a != b:
            parent[max(a, b)] = min(a, b)
            pairs[count, 0], pairs[count, 1], weight[count] = start[s], stop[s], reach[s]
            count += 1
            if count == n - 1:
                break
    return count
