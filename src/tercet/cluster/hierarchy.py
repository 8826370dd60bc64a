"""What agglomerative and divisive clustering share: cuts of a tree, its matrix, clusters of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.cluster.merge_trees import query_distances
from tercet.core.scaling import largest, scale_exponent, times_power

BLOCK = 1 << 20  # distances of new rows that are in memory at a time


def cut_count(over: np.ndarray, n: int, merges: int | None = None) -> int:
    """How many clusters there are before the first merge that is over a limit; n rows, so many merges in all."""
    done = int(np.argmax(over)) if over.any() else (n - 1 if merges is None else merges)
    return n - done


def linkage_matrix(children: np.ndarray, heights: np.ndarray, leaf_sizes: np.ndarray) -> np.ndarray:
    """A tree as `scipy.cluster.hierarchy` has it: two clusters, their distance, the number of rows."""
    n = len(leaf_sizes)
    sizes = np.concatenate([leaf_sizes, np.ones(len(children))])
    for k, (a, b) in enumerate(children, n):
        sizes[k] = sizes[a] + sizes[b]
    return np.column_stack([children, heights, sizes[n:]]).astype(np.float64)


def nearest_cluster(
    Q: np.ndarray, X: np.ndarray | None, labels: np.ndarray, linkage: str, metric: Any, params: dict | None
) -> np.ndarray:
    """The nearest cluster of each new row by a linkage, the row being a cluster by itself; of equals, the first.

    X : the rows of the clusters; None where Q holds the distances from them.
    """
    rows, order = X, np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    starts = np.cumsum(sizes) - sizes
    if linkage in ("ward", "centroid"):
        assert X is not None
        exponent = scale_exponent(largest(X))
        sums = np.add.reduceat(times_power(X, -exponent)[order], starts, axis=0)
        X, order = times_power(sums / sizes[:, None], exponent), np.arange(sizes.size)
        starts = order
    found = np.empty(len(Q), dtype=np.int64)
    step = max(1, BLOCK // labels.size)
    for start in range(0, len(Q), step):
        some = Q[start : start + step]
        D = some if X is None else query_distances(some, X, metric, params, rows)
        D = D[:, order]
        if linkage == "single":
            D = np.minimum.reduceat(D, starts, axis=1)
        elif linkage in (
            "complete",
            "hausdorff",
        ):  # the farthest row is what Hausdorff's is, too, of a single row
            D = np.maximum.reduceat(D, starts, axis=1)
        elif linkage == "average":
            D = np.add.reduceat(D / D.max(axis=1, keepdims=True).clip(1e-300), starts, axis=1) / sizes
        elif linkage == "ward":
            D = D * np.sqrt(sizes / (sizes + 1.0))
        found[start : start + step] = D.argmin(axis=1)
    return found
