"""Metrics and given distances of the density-based methods, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.utils.validation import check_non_negative

from tercet.neighbors import VALID_METRICS

# L_p distances by name, with p where the name says it.
POWERS: dict[str, float | None] = {
    "minkowski": None,
    "p": None,
    "euclidean": 2.0,
    "l2": 2.0,
    "nan_euclidean": 2.0,  # rows with missing values are refused, or left out before
    "manhattan": 1.0,
    "cityblock": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
    "infinity": np.inf,
}

DENSE = 1 << 22  # numbers of a sparse matrix that may be made dense
BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "yule")


def check_metric(model: Any) -> None:
    """Refuse a name of the parameter `metric` that is not known."""
    known = {*VALID_METRICS["brute"], "precomputed"}
    if isinstance(model.metric, str) and model.metric not in known:
        raise ValueError(
            f"{type(model).__name__}: parameter 'metric' must be one of {', '.join(sorted(known))}, or a function "
            f"of two rows; got {model.metric!r}."
        )


def lp_power(model: Any, X: Any) -> float | None:
    """The power of a model's metric where that is an L_p distance of dense rows, else None."""
    if sparse.issparse(X) or not isinstance(model.metric, str) or model.metric not in POWERS:
        return None
    params = dict(model.metric_params or {})
    power = POWERS[model.metric]
    if power is None:
        given = getattr(model, "p", None)
        power = params.pop("p", 2 if given is None else given)
    if params.pop("w", None) is not None and model.algorithm == "auto":
        return None
    return None if params or not isinstance(power, int | float) else float(power)


def power_of(metric: Any, params: dict[str, Any]) -> float | None:
    """The power of an L_p distance without weights; None for other metrics."""
    if not isinstance(metric, str) or metric not in POWERS or set(params) - {"p"}:
        return None
    power = POWERS[metric]
    return float(params.get("p", 2.0) if power is None else power)


def check_precomputed(D: Any, name: str, *, square: bool = True) -> Any:
    """Given distances of the rows from each other, checked; a sparse graph of neighbours gets those of each row
    from itself, and may differ from its transpose."""
    if sparse.issparse(D):
        if square:
            refuse_oblong(D, name)
        check_non_negative(D, f"{name} (precomputed distance matrix)")
        return with_diagonal(D) if square else D
    check_symmetric(D, name, square=square)
    return D


def refuse_oblong(D: Any, name: str) -> None:
    """Refuse a matrix of distances that is not square."""
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f"{name}: The precomputed distance matrix is expected to be symmetric, with the distances of all rows "
            f"from each other; however it has shape {D.shape}."
        )


def check_symmetric(D: Any, name: str, *, square: bool = True) -> None:
    """Refuse negative distances and, between all rows, those that differ from their transpose. They need not
    keep the triangle inequality."""
    if square:
        refuse_oblong(D, name)
    check_non_negative(D, f"{name} (precomputed distance matrix)")
    if not square:
        return
    wrong = None
    if sparse.issparse(D):
        apart = abs(D - D.T).tocoo()
        apart.data[apart.data <= 1e-8 + 1e-5 * np.abs(D.data).max(initial=0.0)] = 0.0
        apart.eliminate_zeros()
        if apart.nnz:
            wrong = int(apart.coords[0][0]), int(apart.coords[1][0])
    else:
        for start in range(0, len(D), 256):  # by blocks: no second matrix in memory
            same = np.isclose(D[start : start + 256], D[:, start : start + 256].T)
            if not same.all():
                i, j = np.argwhere(~same)[0].tolist()
                wrong = start + i, j
                break
    if wrong is not None:
        i, j = wrong
        raise ValueError(
            f"{name}: The precomputed distance matrix is expected to be symmetric, but its values are not: "
            f"X[{i}, {j}] = {D[i, j]} and X[{j}, {i}] = {D[j, i]}."
        )


def with_diagonal(D: Any) -> Any:
    """A sparse matrix of distances in which each row is its own neighbour: at the given distance, or at 0."""
    n, D = D.shape[0], sparse.csr_array(D)
    rows = np.repeat(np.arange(n), np.diff(D.indptr))
    lacking = np.ones(n, dtype=bool)
    lacking[rows[rows == D.indices]] = False
    more = np.flatnonzero(lacking)
    if not more.size:
        return D
    data = np.concatenate([D.data, np.zeros(more.size, dtype=D.dtype)])
    rows, columns = np.concatenate([rows, more]), np.concatenate([D.indices, more])
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=n)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(D.indptr.dtype)
    return sparse.csr_array((data[order], columns[order].astype(D.indices.dtype), indptr), shape=D.shape)


def row_distances(X: Any, metric: Any, params: dict[str, Any]) -> Callable[[int], np.ndarray]:
    """The function that gives the distances of row i of X from all of its rows.

    Examples
    --------
    >>> row_distances(np.array([[0.0], [3.0]]), "euclidean", {})(0)
    array([0., 3.])
    """
    if isinstance(metric, str) and metric == "precomputed":
        return (lambda i: known_distances(X, i)) if sparse.issparse(X) else (lambda i: X[i])
    measure = block_distances(X, metric, params)
    return lambda i: measure(X[i : i + 1], X)[0]


def dense_form(X: Any, metric: Any, params: dict[str, Any]) -> Any:
    """Sparse rows as an array where that is not large and their distance is an L_p distance, of which sparse rows
    have no exact ones, or one that divides by variances, of which they have none."""
    small = sparse.issparse(X) and X.shape[0] * X.shape[1] <= DENSE
    scaled = isinstance(metric, str) and metric in ("seuclidean", "mahalanobis")
    return X.toarray() if small and (scaled or power_of(metric, params) is not None) else X


def known_distances(D: Any, i: int) -> np.ndarray:
    """Row i of a sparse matrix of distances; those that it does not have are infinite."""
    row, here = np.full(D.shape[1], np.inf), slice(D.indptr[i], D.indptr[i + 1])
    row[D.indices[here]] = D.data[here]
    return row


def block_distances(X: Any, metric: Any, params: dict[str, Any]) -> Callable[[Any, Any], np.ndarray]:
    """The function that gives the distances of some rows from others, by a metric whose parameters X decides."""
    params = dict(params)
    if isinstance(metric, str) and not sparse.issparse(X):
        if metric in POWERS:
            power = POWERS[metric]
            power = params.pop("p", 2.0) if power is None else power
            return lambda Q, Z: cdist(Q, Z, "minkowski", p=power, **params)
        if metric in ("cosine", "correlation"):  # pair by pair: no rounding by the shape of a product
            return lambda Q, Z: np.clip(np.nan_to_num(cdist(Q, Z, metric), nan=1.0), 0.0, 2.0)
        if metric in BOOLEAN:  # what is not zero is true; two rows without a true value are at distance 0
            name = "rogerstanimoto" if metric == "sokalmichener" else metric  # two names of one formula
            return lambda Q, Z: np.nan_to_num(cdist(Q != 0, Z != 0, name, **params), nan=0.0)
        if metric == "seuclidean" and "V" not in params:
            params["V"] = X.var(axis=0, ddof=1)
        if metric == "mahalanobis" and "VI" not in params:
            V = params.pop("V", None)
            params["VI"] = np.linalg.pinv(np.atleast_2d(np.cov(X, rowvar=False) if V is None else V))
    elif power_of(metric, params) in (1, 2):  # of sparse rows no others are known
        metric, params = ("manhattan" if power_of(metric, params) == 1 else "euclidean"), {}
    return lambda Q, Z: np.asarray(pairwise_distances(Q, Z, metric=metric, **params))
