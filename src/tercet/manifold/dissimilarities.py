"""Dissimilarity matrices that embeddings start from: computed, or given and checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances as sklearn_distances

from tercet.core.parallel import all_cores
from tercet.core.scaling import common_exponent, times_power
from tercet.metrics import pairwise_distances

EXACT = (
    "euclidean",
    "l2",
    "manhattan",
    "l1",
    "cityblock",
    "chebyshev",
    "minkowski",
)  # metrics of ours by these names


def dissimilarities(X: Any, metric: Any, params: dict[str, Any] | None, name: str, n_jobs: int | None) -> Any:
    """The matrix of all pairs of rows, or X itself, checked, with metric="precomputed"."""
    if isinstance(metric, str) and metric == "precomputed":
        return checked(X, name)
    found = cross_dissimilarities(X, None, metric, params, n_jobs)
    if not np.isfinite(found).all():
        i, j = np.argwhere(~np.isfinite(found))[0]
        raise ValueError(
            f"{name}: the dissimilarity of rows {i} and {j} is {found[i, j]} with metric={metric!r}; it must be a "
            "finite number. Scale the features."
        )
    return found


def cross_dissimilarities(
    X: Any, Z: Any, metric: Any, params: dict[str, Any] | None, n_jobs: int | None
) -> Any:
    """Dissimilarities of the rows of X from those of Z, or from each other."""
    params = params or {}
    if isinstance(metric, str) and metric in EXACT and set(params) <= {"p", "w"}:
        tables = [np.require(A, np.float64, ["C", "W"]) for A in (X, Z) if A is not None]
        exponent = common_exponent(*tables)  # (arrays that may be written to: kernels are compiled for those)
        scaled = [times_power(A, -exponent) for A in tables]
        return times_power(
            pairwise_distances(
                scaled[0], scaled[-1] if Z is not None else None, metric, n_jobs=all_cores(n_jobs), **params
            ),
            exponent,
        )
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.asarray(sklearn_distances(X, Z, metric=metric, **params), dtype=np.float64)
    except TypeError as error:
        raise ValueError(f"metric={metric!r} with metric_params={params!r}: {error}") from error


def checked(D: Any, name: str) -> np.ndarray:
    """A square, symmetric matrix of numbers of at least 0; it need not keep the triangle inequality."""
    D = np.asarray(D, dtype=np.float64)
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise ValueError(
            f"{name}: with metric='precomputed', array must be 2-dimensional and square. shape = {D.shape}"
        )
    scale = float(np.abs(D).max(initial=0.0))
    with np.errstate(over="ignore"):
        apart = np.abs(D - D.T)
    if scale and float(apart.max()) > 1e-10 * scale:
        i, j = (int(at) for at in np.unravel_index(int(apart.argmax()), D.shape))
        raise ValueError(
            f"{name}: Array must be symmetric with metric='precomputed'; the dissimilarity of {i} and {j} is "
            f"{D[i, j]:g}, that of {j} and {i} is {D[j, i]:g}."
        )
    if D.min(initial=0.0) < 0:
        i, j = (int(at) for at in np.unravel_index(int(D.argmin()), D.shape))
        raise ValueError(f"{name}: dissimilarities must be at least 0; that of {i} and {j} is {D[i, j]:g}.")
    return D / 2 + D.T / 2 if apart.any() else D
