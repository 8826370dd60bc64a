"""What a cluster is, its centre, diameter and scatter, and the distance of two of them (Li ch. 14.1)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tercet.core.catalog import method
from tercet.core.validation import check_array
from tercet.metrics.clustering.contingency import check_labels, label_codes
from tercet.metrics.clustering.distance_blocks import check_square
from tercet.metrics.distance import pairwise_distances

LINKAGES = ("single", "complete", "average", "centroid", "ward", "hausdorff")


@method(
    zh="类的定义（四种）",
    task="clustering",
    model="a set G whose distances are bounded: each, the nearest, the mean of each row, or the mean of all",
    texts=["Li ch. 14, Def. 14.5-14.8"],
)
def is_cluster(
    X: Any,
    T: float,
    *,
    definition: Literal["pairs", "nearest", "row-mean", "mean"] = "pairs",
    V: float | None = None,
    metric: Any = "euclidean",
    **options: Any,
) -> bool:
    """Whether rows are a cluster by one of the four definitions.

    The first implies the others for two rows or more (the fourth with V >= T). A single row is a cluster but for
    the second definition, which asks for another row.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        The rows of the set, or their distances.
    T : float
        The bound.
    definition : {"pairs", "nearest", "row-mean", "mean"}, default="pairs"
        All distances are at most T (14.5); each row has another one within T (14.6); the mean distance of each row
        from the others is at most T (14.7); the mean of all distances is at most T and each at most V (14.8).
    V : float, optional
        The second bound of "mean"; infinite by default.
    metric : str or callable, default="euclidean"
        The distance: a name of `METRICS`, a function of two rows, or "precomputed".
    **options
        More for `pairwise_distances`.

    Returns
    -------
    answer : bool

    Examples
    --------
    >>> X = [[0.0], [1.0], [3.0]]
    >>> [is_cluster(X, 2.0, definition=word) for word in ("pairs", "nearest", "row-mean", "mean")]
    [False, True, False, True]
    """
    for name, bound in (("T", T), ("V", np.inf if V is None else V)):
        if not isinstance(bound, int | float | np.number) or isinstance(bound, bool) or not bound >= 0:
            raise ValueError(f"{name} must be a number that is not negative; got {bound!r}.")
    D = _distances(X, metric, options)
    n = len(D)
    if definition == "pairs":
        return bool(D.max() <= T)
    if definition == "nearest":
        np.fill_diagonal(D, np.inf)
        return bool((D.min(axis=1) <= T).all())
    others = max(n - 1, 1)
    if definition == "row-mean":
        return bool((D.sum(axis=1) / others).max() <= T)
    if definition == "mean":
        return bool(D.sum() / (n * others) <= T and D.max() <= (np.inf if V is None else V))
    raise ValueError(f"definition must be 'pairs', 'nearest', 'row-mean' or 'mean'; got {definition!r}.")


def cluster_members(labels: Any) -> list[np.ndarray]:
    """The rows of each cluster of a partition, in the order of the labels.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        The cluster of each row.

    Returns
    -------
    members : list of arrays
        Disjoint sets of row numbers that have all rows.

    Examples
    --------
    >>> [rows.tolist() for rows in cluster_members([1, 0, 1, 5])]
    [[1], [0, 2], [3]]
    """
    codes, count = label_codes(check_labels(labels, "labels"))
    sizes = np.bincount(codes, minlength=count)
    order = np.argsort(codes, kind="stable")
    return [rows for rows in np.split(order, np.cumsum(sizes)[:-1]) if rows.size]


def cluster_center(X: Any) -> np.ndarray:
    """Centre of a cluster: the mean of its rows (eq. 14.10).

    Examples
    --------
    >>> cluster_center([[0, 0], [0, 2], [3, 1]])
    array([1., 1.])
    """
    X = _rows(X)
    with np.errstate(over="ignore"):
        mean = X.mean(axis=0)
    return mean if np.isfinite(mean).all() else (X / len(X)).sum(axis=0)


@method(
    zh="类的直径",
    task="clustering",
    model="D_G = max_{x_i, x_j ∈ G} d_ij",
    texts=["Li ch. 14, eq. 14.11", "watermelon notes ch. 7, eq. 7.6"],
)
def cluster_diameter(X: Any, *, metric: Any = "euclidean", **options: Any) -> float:
    """Diameter of a cluster: the largest distance of two of its rows; 0 for a single row.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_samples, n_samples) for "precomputed"
        The rows of the cluster, or their distances.
    metric : str or callable, default="euclidean"
        The distance: a name of `METRICS`, a function of two rows, or "precomputed".
    **options
        More for `pairwise_distances`.

    Returns
    -------
    diameter : float

    Examples
    --------
    >>> cluster_diameter([[0, 0], [3, 4], [1, 1]])
    5.0
    """
    return float(_distances(X, metric, options).max())


def cluster_scatter(X: Any) -> np.ndarray:
    """Scatter matrix of a cluster, A_G = Σ (x - mean)(x - mean)' (eq. 14.12).

    Examples
    --------
    >>> cluster_scatter([[0, 0], [2, 2]])
    array([[2., 2.],
           [2., 2.]])
    """
    X = _rows(X)
    gaps = X - cluster_center(X)
    return np.dot(gaps.T, gaps)


def cluster_covariance(X: Any) -> np.ndarray:
    """Covariance matrix of a cluster, S_G = A_G / (n_G - 1) (eq. 14.13); zero for a single row.

    Examples
    --------
    >>> cluster_covariance([[0, 0], [2, 2]])
    array([[2., 2.],
           [2., 2.]])
    """
    X = _rows(X)
    return cluster_scatter(X) / max(len(X) - 1, 1)


@method(
    zh="类与类之间的距离",
    task="distance",
    model="D(G_p, G_q): of the nearest, the farthest or all pairs of rows, or of the centres",
    algorithms={
        "single": "distance of the two nearest rows",
        "complete": "distance of the two farthest rows",
        "average": "mean distance of all pairs of rows",
        "centroid": "distance of the two centres",
        "ward": "growth of the sum of squares",
        "hausdorff": "largest distance of a row from the nearest row of the other cluster",
    },
    texts=["Li ch. 14, eq. 14.14-14.17", "watermelon notes ch. 7, eq. 7.7-7.8"],
    peers=["scipy.spatial.distance.directed_hausdorff"],
)
def cluster_distance(
    A: Any,
    B: Any,
    linkage: Literal["single", "complete", "average", "centroid", "ward", "hausdorff"] = "single",
    *,
    metric: Any = "euclidean",
    **options: Any,
) -> float:
    """Distance of two clusters.

    Parameters
    ----------
    A, B : arrays of shape (n_a, n_features) and (n_b, n_features)
        The rows of the two clusters. For metric="precomputed", A has the distances of the rows of one from those of
        the other, (n_a, n_b), and B is None.
    linkage : {"single", "complete", "average", "centroid", "ward", "hausdorff"}, default="single"
        The distance of the two nearest rows; of the two farthest; the mean of all pairs; of the centres; the root
        of twice the growth of the sum of squares; the largest distance of a row from the nearest one of the other.
    metric : str or callable, default="euclidean"
        The distance of two rows: a name of `METRICS`, a function of two rows, or "precomputed". Ward: Euclidean.
    **options
        More for `pairwise_distances`.

    Returns
    -------
    distance : float

    Examples
    --------
    >>> A, B = [[0.0], [1.0]], [[4.0], [8.0]]
    >>> [
    ...     cluster_distance(A, B, linkage)
    ...     for linkage in ("single", "complete", "average", "centroid", "hausdorff")
    ... ]
    [3.0, 8.0, 5.5, 5.5, 7.0]
    """
    if linkage not in LINKAGES:
        raise ValueError(f"linkage must be one of {', '.join(map(repr, LINKAGES))}; got {linkage!r}.")
    given = isinstance(metric, str) and metric == "precomputed"
    if linkage in ("centroid", "ward"):
        if given or (linkage == "ward" and metric not in ("euclidean", "l2")):
            what = "points" if given else "points and Euclidean distances"
            raise ValueError(f"linkage={linkage!r} is of {what}; got metric={metric!r}.")
        A, B = _rows(A, "A"), _rows(B, "B")
        gap = float(pairwise_distances([cluster_center(A)], [cluster_center(B)], metric, **options)[0, 0])
        return gap * (np.sqrt(2 * len(A) * len(B) / (len(A) + len(B))) if linkage == "ward" else 1.0)
    D = _rows(A, "A") if given else pairwise_distances(_rows(A, "A"), _rows(B, "B"), metric, **options)
    if linkage == "hausdorff":
        return float(max(D.min(axis=1).max(), D.min(axis=0).max()))
    if linkage == "average":
        return float(D.mean())
    return float(D.min() if linkage == "single" else D.max())


def hausdorff_distance(A: Any, B: Any, *, metric: Any = "euclidean", **options: Any) -> float:
    """Hausdorff distance of two sets of rows: how far a row of one may be from the nearest row of the other.

    Parameters
    ----------
    A, B : arrays of shape (n_a, n_features) and (n_b, n_features)
        The rows of the two sets.
    metric : str or callable, default="euclidean"
        The distance of two rows; see `cluster_distance`.
    **options
        More for `pairwise_distances`.

    Examples
    --------
    >>> hausdorff_distance([[0.0], [1.0]], [[4.0], [8.0]])
    7.0
    """
    return cluster_distance(A, B, "hausdorff", metric=metric, **options)


def _rows(X: Any, name: str = "X") -> np.ndarray:
    return check_array(X, dtype=np.float64, input_name=name)


def _distances(X: Any, metric: Any, options: dict) -> np.ndarray:
    """Distances of all pairs of rows of one cluster, a new array."""
    X = _rows(X)
    if isinstance(metric, str) and metric == "precomputed":
        check_square(X)
        return X.copy()
    return np.array(pairwise_distances(X, metric=metric, **options))
