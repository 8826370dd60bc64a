"""Graphs of neighbours: sparse matrices with an entry for each row and neighbour of it."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import EfficiencyWarning

from tercet.neighbors._engine.search import Metric
from tercet.neighbors.base import KNeighborsMixin, RadiusNeighborsMixin
from tercet.neighbors.nearest_neighbors import NearestNeighbors

Mode = Literal["connectivity", "distance"]


def kneighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mode: Mode = "connectivity",
    metric: Metric = "minkowski",
    p: float = 2,
    metric_params: dict | None = None,
    include_self: bool | Literal["auto"] = False,
    n_jobs: int | None = None,
) -> Any:
    """The graph of the k nearest neighbours of all rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or fitted estimator of k neighbours
        The rows.
    n_neighbors : int
        How many neighbours each has.
    mode : {"connectivity", "distance"}, default="connectivity"
        Whether entries are 1, or distances.
    metric, p, metric_params : as in `NearestNeighbors`
        How far apart rows are.
    include_self : bool or "auto", default=False
        Whether a row is its own first neighbour; "auto": for "connectivity" only.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    graph : CSR matrix of shape (n_samples, n_samples)

    Examples
    --------
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 1, mode="distance").toarray()
    array([[0., 0., 1.],
           [0., 0., 2.],
           [1., 0., 0.]])
    """
    model: Any = X
    if not isinstance(X, KNeighborsMixin):
        model = NearestNeighbors(
            n_neighbors=n_neighbors, metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs
        ).fit(X)
    else:
        _check_same(X, metric=metric, p=p, metric_params=metric_params)
    queries = _queries(model, mode, include_self)
    return model.kneighbors_graph(queries, n_neighbors, mode=mode)


def radius_neighbors_graph(
    X: Any,
    radius: float,
    *,
    mode: Mode = "connectivity",
    metric: Metric = "minkowski",
    p: float = 2,
    metric_params: dict | None = None,
    include_self: bool | Literal["auto"] = False,
    n_jobs: int | None = None,
) -> Any:
    """The graph of the neighbours of all rows within a radius.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or fitted estimator of neighbours within a radius
        The rows.
    radius : float
        How far neighbours may be.
    mode : {"connectivity", "distance"}, default="connectivity"
        Whether entries are 1, or distances.
    metric, p, metric_params : as in `NearestNeighbors`
        How far apart rows are.
    include_self : bool or "auto", default=False
        Whether a row is its own neighbour; "auto": for "connectivity" only.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    graph : CSR matrix of shape (n_samples, n_samples)

    Examples
    --------
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5).toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    model: Any = X
    if not isinstance(X, RadiusNeighborsMixin):
        model = NearestNeighbors(
            radius=radius, metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs
        ).fit(X)
    else:
        _check_same(X, metric=metric, p=p, metric_params=metric_params)
    return model.radius_neighbors_graph(_queries(model, mode, include_self), radius, mode=mode)


def sort_graph_by_row_values(graph: Any, copy: bool = False, warn_when_not_sorted: bool = True) -> Any:
    """Sort a sparse matrix of distances such that each row begins with the nearest.

    Parameters
    ----------
    graph : sparse matrix of shape (n_samples, n_samples)
        Distances; what is not there is not near.
    copy : bool, default=False
        Leave the matrix as it is, and return another.
    warn_when_not_sorted : bool, default=True
        Warn when there is something to sort.

    Returns
    -------
    graph : CSR matrix

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> graph = csr_matrix([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    >>> sort_graph_by_row_values(graph, warn_when_not_sorted=False).data
    array([1., 3., 2., 3., 1., 2.])
    """
    if not sparse.issparse(graph) or graph.format not in ("csr", "csc", "coo", "lil"):
        kind = f"{graph.format!r} sparse matrix" if sparse.issparse(graph) else type(graph).__name__
        raise TypeError(
            f"Input graph must be a sparse matrix in the format csr, csc, coo or lil; {kind} is not supported."
        )
    if graph.format == "csr" and _rows_ascend(graph):
        return graph
    if warn_when_not_sorted:
        warnings.warn(
            "Precomputed sparse input was not sorted by row values. Use the function "
            "sort_graph_by_row_values to sort the input by row values, with warn_when_not_sorted=False to remove "
            "this warning.",
            EfficiencyWarning,
            stacklevel=2,
        )
    if graph.format != "csr":
        if not copy:
            raise ValueError(
                f"The input graph is of the format {graph.format!r}: only CSR is sorted in place. Use copy=True."
            )
        graph = graph.tocsr()
    elif copy:
        graph = graph.copy()
    who = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    order = np.lexsort((graph.data, who))
    graph.data, graph.indices = graph.data[order], graph.indices[order]
    graph.has_sorted_indices = False
    return graph


def _rows_ascend(graph: Any) -> bool:
    """Whether the values of each row ascend."""
    down = graph.data[:-1] > graph.data[1:]
    borders = graph.indptr[1:-1]
    down[borders[(borders > 0) & (borders < graph.data.size)] - 1] = False
    return not down.any()


def _queries(model: Any, mode: str, include_self: Any) -> Any:
    """Whose neighbours to look for: None leaves out each row itself."""
    return (
        model._fit_X if include_self is True or (include_self == "auto" and mode == "connectivity") else None
    )


def _check_same(model: Any, **given: Any) -> None:
    """An error for parameters that a fitted estimator does not have."""
    for name, value in given.items():
        if getattr(model, name) != value:
            raise ValueError(
                f"Got {value} for {name}, while the estimator has {getattr(model, name)} for the same parameter."
            )
