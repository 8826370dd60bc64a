"""Trees of merges from rows or distances, free or along the edges of a graph."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist, pdist, squareform

from tercet.cluster._engine.condensed_linkage import merge_by_distances
from tercet.cluster._engine.constrained_linkage import merge_neighbours
from tercet.cluster._engine.linkage import (
    MergeTree,
    euclidean_pdist,
    merge_by_centres,
    single_linkage_tree,
)
from tercet.cluster._engine.set_linkage import merge_by_hausdorff, merge_by_means
from tercet.core.scaling import largest, scale_exponent, times_power

ALIASES = {
    "l2": "euclidean",
    "l1": "cityblock",
    "manhattan": "cityblock",
    "absolute_correlation": "correlation",
}
OF_CENTRES = ("centroid", "median")
METRICS = (
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "hamming"),
    *("jaccard", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean"),
)


def ward_tree(
    X: Any, *, connectivity: Any = None, n_clusters: int | None = None, return_distance: bool = False
) -> tuple:
    """The tree of merges by Ward's linkage.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    connectivity : array or sparse matrix of shape (n_samples, n_samples), optional
        Which rows are neighbours; only clusters with neighbours in each other are merged.
    n_clusters : int, optional
        Stop when so many clusters are left (with `connectivity` only).
    return_distance : bool, default=False
        Give the distances, too.

    Returns
    -------
    children : array of shape (n_merges, 2)
        The two clusters of each merge: rows are 0 to n - 1, and merge i makes cluster n + i.
    n_connected_components, n_leaves : int
        Connected components of the graph, and the number of rows.
    parents : array of shape (n_leaves + n_merges,) or None
        The cluster that each was merged into (with `connectivity` only; the last are their own).
    distances : array of shape (n_merges,)
        Only with `return_distance`.

    Examples
    --------
    >>> ward_tree([[0.0], [1.0], [5.0], [7.0]])[0].tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    return _tree(X, connectivity, n_clusters, "ward", "euclidean", return_distance)


def linkage_tree(
    X: Any,
    connectivity: Any = None,
    n_clusters: int | None = None,
    linkage: Literal["average", "complete", "single"] = "complete",
    affinity: Any = "euclidean",
    return_distance: bool = False,
) -> tuple:
    """The tree of merges by complete, average or single linkage.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_samples, n_samples) when `affinity` is "precomputed"
        The rows, or their distances.
    connectivity : array or sparse matrix of shape (n_samples, n_samples), optional
        Which rows are neighbours; only clusters with neighbours in each other are merged, and only the distances
        of neighbours count.
    n_clusters : int, optional
        Stop when so many clusters are left (with `connectivity` only).
    linkage : {"average", "complete", "single"}, default="complete"
        The distance of two clusters.
    affinity : str or callable, default="euclidean"
        The distance of two rows; see `AgglomerativeClustering`.
    return_distance : bool, default=False
        Give the distances, too.

    Returns
    -------
    children, n_connected_components, n_leaves, parents, distances : as in `ward_tree`.

    Examples
    --------
    >>> linkage_tree([[0.0], [1.0], [5.0], [7.0]], linkage="average", return_distance=True)[-1]
    array([1. , 2. , 5.5])
    """
    if linkage not in ("average", "complete", "single"):
        raise ValueError(
            f"Unknown linkage option, linkage should be one of 'average', 'complete', 'single', but {linkage!r} "
            f"was given."
        )
    return _tree(X, connectivity, n_clusters, linkage, affinity, return_distance)


def _tree(
    X: Any, connectivity: Any, n_clusters: Any, linkage: str, metric: Any, return_distance: bool
) -> tuple:
    X = np.asarray(X, dtype=np.float64)
    X = X[:, None] if X.ndim == 1 else X
    n = len(X)
    if n < 2:
        raise ValueError(f"A tree needs at least 2 rows; got n_samples = {n}.")
    if n_clusters is not None and n_clusters > n:
        raise ValueError(
            f"Cannot provide more clusters than samples. {n_clusters} n_clusters was asked, and there are {n} "
            f"samples."
        )
    if connectivity is None and n_clusters is not None:
        warnings.warn(
            "Partial build of the tree is implemented only for structured clustering (i.e. with explicit "
            f"connectivity); n_clusters={n_clusters} is ignored.",
            stacklevel=3,
        )
    children, heights, components = build_tree(X, linkage, metric, None, connectivity, n_clusters)
    parents = None
    if connectivity is not None:
        parents = np.arange(n + len(children))
        parents[children.ravel()] = np.repeat(np.arange(n, n + len(children)), 2)
    found = children, components, n, parents
    return (*found, heights) if return_distance else found


def build_tree(
    X: np.ndarray,
    linkage: str,
    metric: Any,
    metric_params: dict | None,
    connectivity: Any = None,
    n_clusters: int | None = None,
    n_jobs: Any = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """The merges: the pairs, their distances, and how many connected components the graph has."""
    plain = isinstance(metric, str) and metric in ("euclidean", "l2") and not metric_params
    exponent = scale_exponent(largest(X)) if plain else 0
    X = times_power(X, -exponent)
    components = 1
    if connectivity is not None:
        first, second, components = graph_edges(X, connectivity, metric, metric_params)
        distances = edge_distances(X, first, second, metric, metric_params)
        tree = merge_neighbours(X, first, second, distances, linkage, n_clusters or 1)
    elif linkage == "ward" or (linkage in OF_CENTRES and plain):
        tree = merge_by_centres(X, linkage, n_jobs)
    elif linkage == "single" and plain:
        tree = single_linkage_tree(X)
    else:
        tree = tree_of_distances(X, linkage, metric, metric_params, n_jobs)
    return tree.children, times_power(tree.heights, exponent), components


def tree_of_distances(
    X: np.ndarray, linkage: str, metric: Any, metric_params: dict | None, n_jobs: Any = None
) -> MergeTree:
    """The merges by distances of all pairs of rows."""
    distances = pair_distances(X, metric, metric_params, n_jobs)
    if linkage == "hausdorff":
        return merge_by_hausdorff(squareform(distances))
    if linkage not in OF_CENTRES:
        return merge_by_distances(distances, len(X), linkage, n_jobs)
    if not (isinstance(metric, str) and metric == "precomputed"):
        name, options = named_metric(X, metric, metric_params)

        def from_centre(x: np.ndarray, others: np.ndarray) -> np.ndarray:
            return finite_distances(cdist(x[None], others, name, **options), metric)[0]

        return merge_by_means(X, squareform(distances), from_centre, linkage == "centroid")
    # Lance and Williams' update of squared distances: they are those of centres where D is Euclidean.
    exponent = scale_exponent(largest(distances))
    squares = times_power(distances, -exponent) ** 2
    tree = merge_by_distances(squares, len(X), linkage, n_jobs)
    return MergeTree(tree.children, times_power(np.sqrt(tree.heights), exponent))


def graph_edges(
    X: np.ndarray, connectivity: Any, metric: Any, metric_params: dict | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """The edges (larger end first) of a graph of rows, completed so that it is connected, and its components.

    Each two components are connected by the two rows that are nearest to each other.
    """
    n = len(X)
    if connectivity.shape != (n, n):
        raise ValueError(f"Wrong shape for connectivity matrix: {connectivity.shape} when X is {X.shape}")
    graph = sparse.csr_array(connectivity != 0)
    graph = sparse.coo_array(graph + graph.T)
    components, labels = connected_components(graph, directed=False)
    below = graph.row > graph.col
    first, second = graph.row[below].astype(np.int64), graph.col[below].astype(np.int64)
    if components > 1:
        warnings.warn(
            f"the number of connected components of the connectivity matrix is {components} > 1. Completing it to "
            f"avoid stopping the tree early.",
            stacklevel=3,
        )
        members = [np.flatnonzero(labels == c) for c in range(components)]
        added = [
            nearest_pair(X, members[i], members[j], metric, metric_params)
            for i in range(components)
            for j in range(i)
        ]
        ends = np.sort(np.array(added), axis=1)
        first, second = np.concatenate([first, ends[:, 1]]), np.concatenate([second, ends[:, 0]])
    return first, second, int(components)


def nearest_pair(
    X: np.ndarray, some: np.ndarray, others: np.ndarray, metric: Any, params: dict | None
) -> tuple[int, int]:
    """The two nearest rows of two sets."""
    table = block_distances(X, some, others, metric, params)
    i, j = np.unravel_index(table.argmin(), table.shape)
    return int(some[i]), int(others[j])


def edge_distances(
    X: np.ndarray, first: np.ndarray, second: np.ndarray, metric: Any, params: dict | None
) -> np.ndarray:
    """The distances of the ends of all edges."""
    if isinstance(metric, str) and metric == "precomputed":
        return X[first, second]
    if isinstance(metric, str) and metric in ("euclidean", "l2") and not params:
        found = np.empty(first.size)
        for start in range(0, first.size, 4096):
            here = slice(start, start + 4096)
            gaps = X[first[here]] - X[second[here]]
            found[here] = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
        return found
    if takes_all_rows(metric):
        return np.asarray(metric(X))[first, second]
    order = np.argsort(first, kind="stable")
    found = np.empty(first.size)
    for some in np.split(order, np.flatnonzero(np.diff(first[order])) + 1):
        if some.size:
            found[some] = block_distances(X, first[some[:1]], second[some], metric, params)[0]
    return found


def block_distances(
    X: np.ndarray, some: np.ndarray, others: np.ndarray, metric: Any, params: dict | None
) -> np.ndarray:
    """Distances of some rows from others."""
    if isinstance(metric, str) and metric == "precomputed":
        return X[np.ix_(some, others)]
    if takes_all_rows(metric):
        return np.asarray(metric(X))[np.ix_(some, others)]
    name, options = named_metric(X, metric, params)
    found = cdist(X[some], X[others], name, **options)
    return 1 - np.abs(1 - found) if isinstance(metric, str) and metric == "absolute_correlation" else found


def query_distances(
    Q: np.ndarray, X: np.ndarray, metric: Any, params: dict | None, rows: np.ndarray | None = None
) -> np.ndarray:
    """Distances of new rows from those that a tree was grown over, or from centres of them.

    What the metric itself takes from data, such as a covariance, comes from `rows`, or X.
    """
    if isinstance(metric, str) and metric == "precomputed":
        return Q
    exponent = 0
    if isinstance(metric, str) and metric in ("euclidean", "l2") and not params:
        exponent = scale_exponent(max(largest(Q), largest(X)))
    name, options = named_metric(X if rows is None else rows, metric, params)
    found = cdist(times_power(Q, -exponent), times_power(X, -exponent), name, **options)
    return times_power(finite_distances(found, metric), exponent)


def finite_distances(found: np.ndarray, metric: Any) -> np.ndarray:
    """Distances as scipy gives them, or an error where the metric is not defined."""
    if isinstance(metric, str) and metric == "absolute_correlation":
        found = 1 - np.abs(1 - found)
    if np.isnan(found).any():
        raise ValueError(
            f"metric={metric!r} is not defined for a row or a centre (of zeros or of equal values, perhaps)."
        )
    return found


def named_metric(X: np.ndarray, metric: Any, params: dict | None) -> tuple[Any, dict]:
    """A metric as scipy names it, and what it takes."""
    options = dict(params or {})
    name = ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    if isinstance(name, str) and name == "mahalanobis" and "VI" not in options:
        options["VI"] = np.linalg.pinv(np.atleast_2d(np.cov(X.T)))
    if isinstance(name, str) and name == "seuclidean" and "V" not in options:
        options["V"] = X.var(axis=0, ddof=1)
    return name, options


def takes_all_rows(metric: Any) -> bool:
    """Whether a function gives the distances of all rows of X, rather than of two rows."""
    if not callable(metric):
        return False
    try:
        given = inspect.signature(metric).parameters.values()
    except ValueError:
        return False
    places = [p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in places) == 1 and not any(
        p.kind == p.VAR_POSITIONAL for p in given
    )


def pair_distances(
    X: np.ndarray,
    metric: Any,
    metric_params: dict | None,
    n_jobs: Any = None,
    who: str = "AgglomerativeClustering",
) -> np.ndarray:
    """Distances of all pairs of rows in condensed form, a new array; errors are in the name of `who`."""
    if isinstance(metric, str) and metric == "precomputed":
        return squareform(X, checks=False).copy()
    if isinstance(metric, str) and metric in ("euclidean", "l2") and not metric_params:
        exponent = scale_exponent(largest(X))
        return times_power(euclidean_pdist(times_power(X, -exponent), n_jobs), exponent)
    if takes_all_rows(metric):
        found = np.asarray(metric(X), dtype=np.float64)
        if found.shape != (len(X), len(X)) or not np.isfinite(found).all():
            raise ValueError(
                f"{who}: metric must give a matrix of {len(X)} x {len(X)} finite distances; the shape is "
                f"{found.shape}."
            )
        return found[np.triu_indices(len(X), 1)]
    name, options = named_metric(X, metric, metric_params)
    found = pdist(X, name, **options)
    if isinstance(metric, str) and metric == "absolute_correlation":
        found = 1 - np.abs(1 - found)
    if not np.isfinite(found).all():
        lost = ~np.isfinite(squareform(found))
        raise ValueError(
            f"{who}: metric={metric!r} is not defined for row {int(lost.sum(axis=1).argmax())} "
            "(a row of zeros or of equal values, perhaps)."
        )
    return found


def check_metric(metric: Any, who: str) -> None:
    """Refuse the name of a metric that there is not."""
    known = (*METRICS, *ALIASES, "precomputed")
    if isinstance(metric, str) and metric not in known:
        raise ValueError(
            f"{who}: parameter 'metric' must be one of {', '.join(sorted(known))}, or a function of two rows; got "
            f"{metric!r}."
        )


def check_distances(D: np.ndarray, who: str = "AgglomerativeClustering") -> None:
    """Refuse what cannot be a matrix of distances. (The triangle inequality is not asked for: the texts' own
    example does not keep it.)"""
    who = f"{who}: metric='precomputed' takes a matrix of distances"
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"Distance matrix should be square, got matrix of shape {D.shape}.")
    scale = np.abs(D).max()
    if D.min() < 0:
        raise ValueError(f"{who}, which are not negative; the smallest is {D.min()}.")
    if np.abs(np.diag(D)).max() > 1e-8 * scale:
        raise ValueError(f"{who} with zeros in the diagonal; its largest value there is {np.diag(D).max()}.")
    if np.abs(D - D.T).max() > 1e-8 * scale:
        raise ValueError(f"{who}, which is symmetric; it differs from its transpose.")


__all__ = [
    "ALIASES",
    "METRICS",
    "MergeTree",
    "build_tree",
    "check_distances",
    "check_metric",
    "linkage_tree",
    "pair_distances",
    "query_distances",
    "takes_all_rows",
    "ward_tree",
]
