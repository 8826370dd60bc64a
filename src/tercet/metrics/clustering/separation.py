"""How compact clusters are and how far apart: silhouette, Davies-Bouldin, Dunn, Calinski-Harabasz.

Watermelon notes ch. 7.2.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from tercet.core.catalog import method
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.metrics.clustering.distance_blocks import (
    ClusteredRows,
    centre_distance,
    check_count,
    checked,
)


def silhouette_samples(
    X: Any, labels: Any, *, metric: Any = "euclidean", n_jobs: int | None = None, **kwds: Any
) -> np.ndarray:
    """Silhouette (b - a) / max(a, b) of each row.

    a is the mean distance from the other rows of its cluster, b the mean distance from the rows of the nearest
    other cluster. Distances are measured a block of rows at a time: memory does not grow with n².

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        The rows, or their distances.
    labels : array of shape (n_samples,)
        The cluster of each row.
    metric : str or callable, default="euclidean"
        The distance: what `sklearn.metrics.pairwise_distances` knows, or "precomputed".
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    **kwds
        More for the metric.

    Returns
    -------
    silhouette : array of shape (n_samples,)
        From -1 to 1; 0 for a cluster of one row.

    Examples
    --------
    >>> silhouette_samples([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]).round(3)
    array([0.818, 0.778, 0.778, 0.818])
    """
    rows = ClusteredRows(X, labels, metric, kwds)
    check_count(rows.sizes)

    def reduce(distances: np.ndarray, here: slice) -> np.ndarray:
        sums = np.add.reduceat(distances, rows.starts, axis=1)
        own = np.arange(len(sums)), rows.codes[here]
        others = rows.sizes[own[1]] - 1
        inside = sums[own] / np.maximum(others, 1)
        sums /= rows.sizes
        sums[own] = np.inf
        outside = sums.min(axis=1)
        most = np.maximum(inside, outside)
        found = np.divide(outside - inside, most, out=np.zeros(len(sums)), where=(most > 0) & (others > 0))
        return found.clip(-1.0, 1.0)

    found = np.empty(rows.codes.size)
    found[rows.order] = np.concatenate(rows.blocks(reduce, n_jobs))
    return found


def silhouette_score(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_size: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **kwds: Any,
) -> float:
    """Mean silhouette of the rows; see `silhouette_samples`.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        The rows, or their distances.
    labels : array of shape (n_samples,)
        The cluster of each row.
    metric : str or callable, default="euclidean"
        The distance.
    sample_size : int, optional
        Take so many rows, drawn at random.
    random_state : int, optional
        Decides which.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    **kwds
        More for the metric.

    Returns
    -------
    score : float
        From -1 to 1.

    Examples
    --------
    >>> round(silhouette_score([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]), 6)
    0.79798
    """
    if sample_size is not None:
        if isinstance(sample_size, bool) or not isinstance(sample_size, int | np.integer) or sample_size < 1:
            raise ValueError(f"sample_size must be an integer in [1, inf) or None; got {sample_size!r}.")
        X = X if hasattr(X, "shape") else np.asarray(X)
        X = X.to_numpy() if hasattr(X, "to_numpy") else X
        some = check_random_state(random_state).permutation(X.shape[0])[:sample_size]
        alone = isinstance(metric, str) and metric == "precomputed"
        X, labels = X[some][:, some] if alone else X[some], np.asarray(labels)[some]
    return float(silhouette_samples(X, labels, metric=metric, n_jobs=n_jobs, **kwds).mean())


@method(
    zh="DB 指数",
    task="clustering",
    model="DBI = (1/k) Σ_i max_{j≠i} (avg(C_i) + avg(C_j)) / d_cen(C_i, C_j)",
    texts=["watermelon notes ch. 7, eq. 7.9"],
    peers=["sklearn.metrics.davies_bouldin_score"],
)
def davies_bouldin_score(
    X: Any,
    labels: Any,
    *,
    average: Literal["centroid", "pairwise"] = "centroid",
    metric: str = "euclidean",
    n_jobs: int | None = None,
) -> float:
    """Davies-Bouldin index: how wide clusters are beside the distances of their centres, in the worst case each.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    labels : array of shape (n_samples,)
        The cluster of each row.
    average : {"centroid", "pairwise"}, default="centroid"
        The width of a cluster: the mean distance of its rows from its centre, or, as in the texts, of its pairs of
        rows (0 for a single row).
    metric : {"euclidean", "manhattan", "chebyshev"}, default="euclidean"
        The distance.
    n_jobs : int, optional
        Threads for the distances of pairs; the result does not depend on it.

    Returns
    -------
    score : float
        Smaller is better; 0 where clusters have no width, or their centres are all the same.

    Examples
    --------
    >>> X = [[0, 0], [0, 2], [2, 0], [6, 6], [6, 8], [10, 0], [11, 1], [10, 2]]
    >>> labels = [0, 0, 0, 1, 1, 2, 2, 2]
    >>> [round(davies_bouldin_score(X, labels, average=average), 6) for average in ("centroid", "pairwise")]
    [0.272535, 0.506865]
    """
    X, codes, sizes = checked(X, labels)
    check_count(sizes)
    X = times_power(X.astype(np.float64, copy=False), -scale_exponent(largest(X)))
    centres = cluster_means(X, codes, sizes)
    if average == "centroid":
        apart = centre_distance(X, centres[codes], metric)
        widths = np.bincount(codes, apart) / sizes
    elif average == "pairwise":
        widths = mean_distances(X, codes, metric=metric, n_jobs=n_jobs)
    else:
        raise ValueError(f"average must be 'centroid' or 'pairwise'; got {average!r}.")
    between = centre_distance(centres[:, None], centres, metric)
    ratio = np.divide(widths[:, None] + widths, between, out=np.zeros_like(between), where=between > 0)
    return float(ratio.max(axis=1).mean())


@method(
    zh="Dunn 指数",
    task="clustering",
    model="DI = min_{i≠j} d_min(C_i, C_j) / max_l diam(C_l)",
    texts=["watermelon notes ch. 7, eq. 7.10"],
)
def dunn_index(
    X: Any, labels: Any, *, metric: Any = "euclidean", n_jobs: int | None = None, **kwds: Any
) -> float:
    """Dunn index: the smallest distance of two clusters, divided by the largest diameter of one.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        The rows, or their distances.
    labels : array of shape (n_samples,)
        The cluster of each row.
    metric : str or callable, default="euclidean"
        The distance; see `silhouette_samples`.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    **kwds
        More for the metric.

    Returns
    -------
    score : float
        Larger is better. Infinite where the clusters are points; 0 where two clusters have a point in common.

    Examples
    --------
    >>> X = [[0, 0], [0, 2], [2, 0], [6, 6], [6, 8], [10, 0], [11, 1], [10, 2]]
    >>> round(dunn_index(X, [0, 0, 0, 1, 1, 2, 2, 2]), 6)
    2.0
    """
    rows = ClusteredRows(X, labels, metric, kwds)
    check_count(rows.sizes, singles=True)

    def reduce(distances: np.ndarray, here: slice) -> tuple[float, float]:
        own = np.arange(len(distances)), rows.codes[here]
        wide = np.maximum.reduceat(distances, rows.starts, axis=1)[own].max()
        near = np.minimum.reduceat(distances, rows.starts, axis=1)
        near[own] = np.inf
        return float(wide), float(near.min())

    wide, near = np.array(rows.blocks(reduce, n_jobs)).T
    if near.min() == 0:
        return 0.0
    return float(near.min() / wide.max()) if wide.max() > 0 else np.inf


def calinski_harabasz_score(X: Any, labels: Any) -> float:
    """Calinski-Harabasz index: scatter between the clusters over that within, each for its degrees of freedom.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    labels : array of shape (n_samples,)
        The cluster of each row.

    Returns
    -------
    score : float
        Larger is better; 1 where the clusters have no scatter.

    Examples
    --------
    >>> calinski_harabasz_score([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    50.0
    """
    X, codes, sizes = checked(X, labels)
    check_count(sizes)
    X = times_power(X.astype(np.float64, copy=False), -scale_exponent(largest(X)))
    centres = cluster_means(X, codes, sizes)
    within = float(((X - centres[codes]) ** 2).sum())
    middle = sizes @ centres / sizes.sum()
    between = float(sizes @ ((centres - middle) ** 2).sum(axis=1))
    k, n = sizes.size, codes.size
    return between * (n - k) / (within * (k - 1)) if within > 0 else 1.0


def cluster_means(X: np.ndarray, codes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The means of the clusters, (k, d); rows are centred first, so that sums of many lose no digits."""
    middle = X.mean(axis=0)
    means = np.empty((sizes.size, X.shape[1]))
    for j in range(X.shape[1]):
        means[:, j] = np.bincount(codes, X[:, j] - middle[j], minlength=sizes.size)
    return middle + means / sizes[:, None]


def mean_distances(
    X: Any, labels: Any, *, metric: Any = "euclidean", n_jobs: int | None = None, **kwds: Any
) -> np.ndarray:
    """Mean distance of the pairs of rows of each cluster (eq. 7.5); 0 for a cluster of one row.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        The rows, or their distances.
    labels : array of shape (n_samples,)
        The cluster of each row.
    metric : str or callable, default="euclidean"
        The distance; see `silhouette_samples`.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.
    **kwds
        More for the metric.

    Returns
    -------
    averages : array of shape (n_clusters,)
        In the order of the labels.

    Examples
    --------
    >>> mean_distances([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1])
    array([1., 2.])
    """
    rows = ClusteredRows(X, labels, metric, kwds)

    def reduce(distances: np.ndarray, here: slice) -> np.ndarray:
        own = np.arange(len(distances)), rows.codes[here]
        return np.add.reduceat(distances, rows.starts, axis=1)[own]

    sums = np.bincount(rows.codes, np.concatenate(rows.blocks(reduce, n_jobs)), minlength=rows.sizes.size)
    pairs = rows.sizes * (rows.sizes - 1.0)
    return times_power(np.divide(sums, pairs, out=np.zeros_like(sums), where=pairs > 0), rows.exponent)
