"""Distances of rows from medoids, by any metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances as sparse_distances

from tercet.cluster.merge_trees import ALIASES, METRICS, named_metric
from tercet.core.scaling import common_exponent, times_power
from tercet.core.validation import narrow_indices
from tercet.metrics import pairwise_distances

# By name, the power of a scale that the distance grows with: rows are scaled by powers of two where squares would
# overflow or vanish.
DEGREES = {
    **dict.fromkeys(("euclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev", "minkowski"), 1),
    "sqeuclidean": 2,
    "cosine": 0,
}
OF_SPARSE = ("euclidean", "l2", "manhattan", "cityblock", "l1", "cosine")


class MedoidMetric:
    """A metric with all it needs: its parameters, and what it learned from the rows.

    Parameters
    ----------
    metric : str or callable
        A name, a function of two rows, or "precomputed".
    options : dict
        More for the metric.
    n_jobs : int, optional
        Threads to use.
    """

    def __init__(self, metric: Any, options: dict[str, Any], n_jobs: int | None = None) -> None:
        self.metric, self.options, self.n_jobs = metric, options, n_jobs

    @classmethod
    def learned(cls, X: Any, metric: Any, params: dict | None, n_jobs: int | None) -> MedoidMetric:
        """The metric for the rows X; refuses an unknown name, and distances that are none."""
        known = (*METRICS, *ALIASES, "precomputed")
        if isinstance(metric, str) and metric not in known:
            raise ValueError(
                f"KMedoids: parameter 'metric' must be one of {', '.join(sorted(known))}, or a function of two "
                f"rows; got {metric!r}."
            )
        if is_precomputed(metric):
            if sparse.issparse(X):
                raise ValueError(
                    "KMedoids: metric='precomputed' takes a dense matrix of distances, not a sparse one."
                )
            check_distance_matrix(X, "metric='precomputed' takes a matrix of distances")
            return cls(metric, {}, n_jobs)
        if isinstance(metric, str) and metric in ("mahalanobis", "seuclidean"):
            return cls(metric, named_metric(_dense(X), metric, params)[1], n_jobs)
        return cls(metric, dict(params or {}), n_jobs)

    @property
    def precomputed(self) -> bool:
        return is_precomputed(self.metric)

    def all_pairs(self, X: Any) -> tuple[np.ndarray, int]:
        """Distances of all pairs of rows, times 2 to minus the exponent that is returned."""
        if self.precomputed:
            return X, 0
        D, exponent = self.between(X, X)
        if not np.isfinite(D).all():
            row = int((~np.isfinite(D)).sum(axis=1).argmax())
            raise ValueError(
                f"KMedoids: metric={self.metric!r} is not defined for row {row} (a row of zeros or of equal "
                "values, or of numbers whose distances are beyond floating point, perhaps)."
            )
        if callable(self.metric):
            check_distance_matrix(D, "metric must be a function that gives distances")
        else:
            np.fill_diagonal(D, 0.0)
        return D, exponent

    def between(self, X: Any, Z: Any) -> tuple[np.ndarray, int]:
        """Distances of the rows X from the rows Z, times 2 to minus the exponent that is returned."""
        name, options = self.metric, self.options
        if callable(name) or name not in DEGREES:
            X, Z = _dense(X), _dense(Z)
            with np.errstate(all="ignore"):
                found = cdist(X, Z, ALIASES.get(name, name) if isinstance(name, str) else name, **options)
            return (1 - np.abs(1 - found) if name == "absolute_correlation" else found), 0
        exponent = common_exponent(X, Z)
        X, Z = times_power(X, -exponent), times_power(Z, -exponent)
        if sparse.issparse(X) and name in OF_SPARSE:
            found = sparse_distances(narrow_indices(X), narrow_indices(Z), metric=name)
        else:
            X, Z = _dense(X), _dense(Z)
            with np.errstate(all="ignore"):
                found = pairwise_distances(X, Z, name, n_jobs=self.n_jobs, **options)
        return found, exponent * DEGREES[name]


def is_precomputed(metric: Any) -> bool:
    return isinstance(metric, str) and metric == "precomputed"


def check_distance_matrix(D: np.ndarray, who: str) -> None:
    """Refuse what is no matrix of distances: not square, negative, not symmetric, or not 0 on the diagonal."""
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"KMedoids: {who}, which is square; got the shape {D.shape}.")
    scale = 1e-6 if D.dtype == np.float32 else 1e-8
    scale *= float(np.abs(D).max(initial=0.0))
    if D.min(initial=0.0) < 0:
        raise ValueError(f"KMedoids: {who}, which are not negative; the smallest is {D.min()}.")
    if np.abs(np.diag(D)).max(initial=0.0) > scale:
        raise ValueError(
            f"KMedoids: {who} with zeros on the diagonal; its largest value is {np.diag(D).max()}."
        )
    for start in range(0, len(D), 512):  # not all of D - D.T at once
        if np.abs(D[start : start + 512] - D[:, start : start + 512].T).max(initial=0.0) > scale:
            raise ValueError(f"KMedoids: {who}, which are symmetric; these differ from their transpose.")


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)
