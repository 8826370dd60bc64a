"""Spherical k-means (球面 k 均值聚类): k-means by the cosine."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from tercet.cluster._engine.nearest_centres import Assignment, CentreSet, ClusterSums, nearest_centre
from tercet.cluster.centre_clusterer import CentreClusterer, InitialCentres
from tercet.core.catalog import method
from tercet.core.estimator import check_weight, generator
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.steps import Steps

ROUNDING = 1e-29  # the squared move of a centre that is rounding alone


@method(
    zh="球面 k 均值聚类（夹角余弦）",
    task="clustering",
    model="each row belongs to the centre with the largest cosine: C(i) = argmax_l x_i·m_l / |x_i|, |m_l| = 1",
    strategy="least sum of 1 - cosine, W(C) = Σ_l Σ_{C(i)=l} (1 - cos(x_i, m_l))",
    algorithms={
        "lloyd": "rows to the centres of their largest cosine, centres to the directions of their rows' sums"
    },
    texts=["Li ch. 14, eq. 14.9, Alg 14.2"],
)
class SphericalKMeans(CentreClusterer):
    """k-means by the cosine, for rows whose direction matters and whose length does not, such as word counts.

    Minimises W(C) = Σ_l Σ_{C(i)=l} w_i (1 - x_i·m_l / |x_i|) over unit vectors m_l by turns: every row goes to the
    centre with the largest cosine (of equals, the first), every centre to the direction of the sum of its rows,
    each scaled to length 1. A row of zeros has no direction: its cosine is 0 with every centre, and it moves none.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    init : {"k-means++", "random", "hierarchical"}, array or callable, default="k-means++"
        The first centres, as in `KMeans`, of the rows scaled to length 1.
    n_init : "auto" or int, default="auto"
        How many starts to try; the one with the least W is kept. "auto" is 10 when the start is drawn at random
        or by a function, else 1.
    max_iter : int, default=300
        The most passes of one start.
    tol : float, default=1e-4
        Stop when the squared moves of the centres add up to no more than tol times the mean variance of the
        features of the scaled rows, or when no row has changed its cluster.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres, of length 1.
    labels_ : array of shape (n_samples,)
        The cluster of each row.
    inertia_ : float
        W at the end.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> X = [[1.0, 0.0], [50.0, 1.0], [0.0, 3.0], [0.1, 2.0]]
    >>> SphericalKMeans(2, init=[0, 2]).fit(X).labels_
    array([0, 0, 1, 1], dtype=int32)
    """

    def __init__(
        self,
        n_clusters: Count = 8,
        *,
        init: InitialCentres = "k-means++",
        n_init: Count | Literal["auto"] = "auto",
        max_iter: Count = 300,
        tol: NonNegative = 1e-4,
        verbose: int | bool = 0,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        self._check_count(X)
        X, rng = unit_rows(X), generator(self.random_state)
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight.astype(np.float64)
        moving = np.where(has_direction(X), weight, 0.0)
        if not moving.any():
            raise ValueError(
                f"{type(self).__name__}: all rows of X with a weight are zero, and have no direction."
            )

        def fitted(centres: np.ndarray) -> dict[str, Any]:
            return self._assigned(X, weight, centres.astype(X.dtype))

        best: dict[str, Any] | None = None
        for loop in self._starts(10, fitted):
            initial = unit_rows(self._initial_centres(X, moving, rng))
            found = fitted(self._lloyd(X, moving, float(weight.sum()), initial, loop))
            if best is None or found["inertia_"] < best["inertia_"]:
                best, passes = found, loop.count
        assert best is not None
        self._warn_of_empty(np.bincount(best["labels_"]))
        self.__dict__.update(best, n_iter_=passes)

    def _lloyd(
        self, X: Any, weight: np.ndarray, total: float, initial: np.ndarray, loop: Steps
    ) -> np.ndarray:
        """Assignment and update by turns, from the initial centres to the last.

        Of vectors of length 1, the nearest is the one with the largest cosine: |x - m|² = 2 - 2 x·m.
        """
        assignment = Assignment(X, weight, self.n_clusters, 0, all_cores(self.n_jobs))
        # Vectors of length 1 are rounded: equal rows, too, would move their centres for ever.
        small = max(self.tol * assignment.scatter / weight.sum() / X.shape[1], self.n_clusters * ROUNDING)
        centres = CentreSet(initial, assignment.mean)
        for step in loop:
            sums = assignment.assign(centres)
            if (sums.count == 0).any():
                assignment.refill_empty(centres, sums)
            settled = sums.moved == 0
            sums = assignment.recompute_sums() if settled else sums
            centres = CentreSet(directions(sums, centres.points), assignment.mean, before=centres)
            inertia = max(total - float((sums.sums * centres.points).sum()), 0.0)
            step.report(centres.points, inertia=inertia, moved=sums.moved)
            if self.verbose:
                print(f"Iteration {step.count}, inertia {inertia:.6g}, {sums.moved} rows moved.")
            if step.converged(settled or float((centres.shift**2).sum()) <= small):
                break
        return centres.points

    def _assigned(self, X: Any, weight: np.ndarray, centres: np.ndarray) -> dict[str, Any]:
        """The attributes for given centres: labels, and W = Σ_i w_i (1 - cos), 1 for a row of zeros."""
        labels = nearest_centre(X, centres, all_cores(self.n_jobs))
        whole = Assignment(X, weight, len(centres), 0, all_cores(self.n_jobs))
        whole.labels[:] = labels
        halves = whole.inertia(CentreSet(centres.astype(np.float64), whole.mean)) / 2
        # |x - m|² / 2 is 1 - cos for a row of length 1, and 1 / 2 for one of zeros
        inertia = halves + float(weight[~has_direction(X)].sum()) / 2
        return {"cluster_centers_": centres, "labels_": labels, "inertia_": inertia}

    def transform(self, X: Any) -> np.ndarray:
        """1 - cosine of each row with all centres."""
        X = self._checked_rows(X)
        found = euclidean_distances(X, self.cluster_centers_, squared=True) / 2
        found[~has_direction(X)] = 1.0
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the sum of 1 - cosine of the rows with their centres."""
        X = self._checked_rows(X)
        weight = check_weight(sample_weight, X)
        mass = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
        return -self._assigned(X, mass, self.cluster_centers_)["inertia_"]

    def _checked_rows(self, X: Any) -> Any:
        return unit_rows(super()._checked_rows(X))

    def _given_centres(self, X: Any, init: Any, exponent: int = 0) -> np.ndarray:
        given = super()._given_centres(X, init, exponent)
        good = has_direction(given)
        if not good.all():
            raise ValueError(
                f"{type(self).__name__}: init has a centre of zeros, number {int(np.argmin(good))}, which has no "
                "direction."
            )
        return given


def directions(sums: ClusterSums, otherwise: np.ndarray) -> np.ndarray:
    """The sums of the clusters scaled to length 1; one that is zero leaves the centre where it was."""
    length = np.sqrt(np.einsum("ij,ij->i", sums.sums, sums.sums))
    means = otherwise.copy()
    np.divide(sums.sums, length[:, None], out=means, where=(length > 1e-12 * sums.mass)[:, None])
    return means


def unit_rows(X: Any) -> Any:
    """The rows of an array or CSR matrix scaled to length 1; rows of zeros stay so. A new array."""
    if sparse.issparse(X):
        scaled = X.copy()
        counts = np.diff(X.indptr)
        place = np.repeat(np.arange(X.shape[0]), counts)
        most = np.zeros(X.shape[0], dtype=X.dtype)
        np.maximum.at(most, place, np.abs(X.data))
        scaled.data = X.data / np.where(most > 0, most, 1)[place]  # squares must neither overflow nor vanish
        length = np.sqrt(np.bincount(place, scaled.data.astype(np.float64) ** 2, minlength=X.shape[0]))
        scaled.data /= np.where(length > 0, length, 1)[place].astype(X.dtype)
        return scaled
    X = np.ascontiguousarray(X)  # sums are rounded alike, whatever the order in memory
    most = np.abs(X).max(axis=1, initial=0.0)
    scaled = X / np.where(most > 0, most, 1)[:, None].astype(X.dtype)
    length = np.sqrt(np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64))
    scaled /= np.where(length > 0, length, 1)[:, None].astype(X.dtype)
    return scaled


def has_direction(X: Any) -> np.ndarray:
    """Which rows are not zero."""
    if sparse.issparse(X):
        return np.bincount(
            np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.data != 0, minlength=X.shape[0]
        ).astype(bool)
    return X.any(axis=1)
