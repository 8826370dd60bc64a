"""Distances of all rows, a block of rows at a time: never a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances as any_distances

from tercet.core.kernel import kernel
from tercet.core.parallel import each
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.validation import check_array
from tercet.metrics.clustering.contingency import check_labels, label_codes
from tercet.metrics.distance import chebyshev, minkowski

BLOCK = 1 << 18  # distances of one block: 2 MB
LANE = 512


class ClusteredRows:
    """Rows sorted by cluster, and their distances from all rows, block by block.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features), or of distances for "precomputed"
    labels : array of shape (n_samples,)
    metric : str or callable
        "precomputed", or what `sklearn.metrics.pairwise_distances` knows.
    options : dict
        More for the metric.

    Attributes
    ----------
    order : array of shape (n_samples,)
        The rows of X in the order of the clusters.
    codes : array of shape (n_samples,)
        Clusters of the sorted rows, from 0.
    sizes, starts : arrays of shape (n_clusters,)
        Number of rows and first sorted row of each cluster.
    exponent : int
        Distances are scaled by 2^-exponent.
    """

    def __init__(self, X: Any, labels: Any, metric: Any = "euclidean", options: dict | None = None) -> None:
        X, codes, self.sizes = checked(X, labels, sparse_rows=True)
        self.order = np.argsort(codes, kind="stable")
        self.codes = codes[self.order]
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.exponent = 0
        self.distances = self._distances(X, metric, dict(options or {}))

    def _distances(self, X: Any, metric: Any, options: dict) -> Callable[[int, int], np.ndarray]:
        """A function that gives the distances of some sorted rows from all."""
        if isinstance(metric, str) and metric == "precomputed":
            check_square(X)
            X = X.tocsr() if sparse.issparse(X) else X

            def given(start: int, stop: int) -> np.ndarray:
                some = X[self.order[start:stop]][:, self.order]
                return np.asarray(some.toarray() if sparse.issparse(some) else some, dtype=np.float64)

            return given
        if (
            isinstance(metric, str)
            and metric in ("euclidean", "l2")
            and not options
            and not sparse.issparse(X)
        ):
            self.exponent = scale_exponent(largest(X))
            points = np.ascontiguousarray(times_power(X, -self.exponent)[self.order].T, dtype=np.float64)

            def euclidean(start: int, stop: int) -> np.ndarray:
                found = np.empty((stop - start, points.shape[1]))
                euclidean_block(points, start, found)
                return found

            return euclidean
        if metric == "mahalanobis" and not {"VI", "V"} & options.keys():
            options["VI"] = np.linalg.pinv(np.atleast_2d(np.cov(X, rowvar=False)))
        if metric == "seuclidean" and "V" not in options:
            options["V"] = np.var(X, axis=0, ddof=1)
        rows = X[self.order]
        if sparse.issparse(rows):  # in double precision, as distances of dense rows are
            rows = rows.astype(np.float64)

        def other(start: int, stop: int) -> np.ndarray:
            return np.asarray(
                any_distances(rows[start:stop], rows, metric=metric, **options), dtype=np.float64
            )

        return other

    def blocks(self, reduce: Callable[[np.ndarray, slice], Any], n_jobs: int | None = None) -> list[Any]:
        """`reduce(distances, rows)` of each block of sorted rows."""
        n = self.codes.size
        size = max(1, BLOCK // n)
        spans = [(k, min(k + size, n)) for k in range(0, n, size)]
        return each(lambda span: reduce(self.distances(*span), slice(*span)), spans, n_jobs=n_jobs)


def checked(X: Any, labels: Any, *, sparse_rows: bool = False) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows, the cluster of each from 0 on, and the sizes of the clusters."""
    X = check_array(
        X, accept_sparse="csr" if sparse_rows else False, dtype=(np.float64, np.float32), input_name="X"
    )
    y = check_labels(labels, "labels")
    if y.size != X.shape[0]:
        raise ValueError(
            f"X and labels must be equally long: inconsistent numbers of samples, {X.shape[0]} and {y.size}."
        )
    codes, bound = label_codes(y, "labels")
    sizes = np.bincount(codes, minlength=bound)
    if (sizes == 0).any():
        codes, sizes = (np.cumsum(sizes > 0) - 1)[codes], sizes[sizes > 0]
    return X, codes, sizes


def check_count(sizes: np.ndarray, *, singles: bool = False) -> None:
    """Refuse a partition into one cluster or, unless `singles`, into single rows."""
    k, n = sizes.size, int(sizes.sum())
    if not 1 < k < n + singles:
        most = "n_samples" if singles else "n_samples - 1"
        raise ValueError(
            f"Number of labels is {k}. Valid values are 2 to {most} (inclusive); n_samples is {n}."
        )


def check_square(D: Any) -> None:
    """Refuse what cannot be a matrix of distances; the triangle inequality is not asked for."""
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"metric='precomputed' takes a square matrix of distances; the shape is {D.shape}.")
    scale = largest(D)
    if np.abs(D.diagonal()).max() > 100 * np.finfo(D.dtype).eps * max(scale, 1.0):
        raise ValueError(
            "The precomputed distance matrix contains non-zero elements on the diagonal. Use "
            "np.fill_diagonal(X, 0)."
        )
    low = float(D.min())
    if low < 0:
        raise ValueError(
            f"metric='precomputed' takes distances, which are not negative; the smallest is {low}."
        )
    for start in range(0, D.shape[0], 256):
        gap = D[start : start + 256] - D[:, start : start + 256].T
        if np.abs(gap).max() > 1e-8 * scale:
            raise ValueError(
                "metric='precomputed' takes a symmetric matrix of distances; it differs from its transpose."
            )


def centre_distance(x: np.ndarray, z: np.ndarray, metric: str) -> np.ndarray:
    """Distances of points by one of the L_p metrics."""
    if metric == "chebyshev":
        return chebyshev(x, z)
    powers = {"euclidean": 2, "l2": 2, "manhattan": 1, "cityblock": 1, "l1": 1}
    if metric not in powers:
        known = ", ".join(map(repr, [*powers, "chebyshev"]))
        raise ValueError(f"metric must be one of {known}; got {metric!r}.")
    return minkowski(x, z, powers[metric])


@kernel
def euclidean_block(points, start, out):
    """Euclidean distances of the points from `start` on, (d, n) as columns, from all: out has shape (m, n)."""
    d, n = points.shape
    for r in range(out.shape[0]):
        for begin in range(0, n, LANE):
            end = min(begin + LANE, n)
            some = out[r, begin:end]
            some[:] = 0.0
            for k in range(d):
                x, row = points[k, start + r], points[k, begin:end]
                for j in range(some.size):
                    some[j] += (row[j] - x) * (row[j] - x)
            for j in range(some.size):
                some[j] = np.sqrt(some[j])
