"""Constrained k-means (约束 k 均值, COP-k-means): clusters that keep must-link and cannot-link constraints."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from tercet.cluster.centre_clusterer import CentreClusterer, InitialCentres
from tercet.cluster.partition import times_square
from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.link_constraints import (
    check_links,
    link_groups,
    refuse_contradictions,
    refuse_held_out,
    row_count,
)
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.rows import read_only
from tercet.core.scaling import largest, scale_exponent, times_power
from tercet.core.steps import Steps, stopped_early


@method(
    zh="约束 k 均值聚类（COP-k-means）",
    task="clustering",
    model="each row belongs to the nearest of k centres that its must-links and cannot-links allow",
    strategy="least sum of squared distances to the centres, W(C) = Σ_l Σ_{C(i)=l} |x_i - m_l|², among partitions "
    "that "
    "keep the constraints",
    algorithms={
        "COP-k-means": "rows, one after the other, to the nearest centre that violates nothing; centres to the "
        "means of "
        "their rows; by turns"
    },
    texts=["watermelon notes ch. 11, Fig 13.7"],
)
class COPKMeans(CentreClusterer):
    """Constrained k-means: rows that must be linked share a cluster, rows that cannot be linked do not.

    Rows are assigned in their order: each to the nearest centre such that no constraint with a row assigned before
    is violated, and every centre then goes to the mean of its rows. Must-links are transitive: what is linked over
    others is linked. The order is greedy; a row that finds no cluster is an error, even where another order would
    have found a partition, and W may rise from pass to pass. Without constraints this is `KMeans`.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    init : {"k-means++", "random", "hierarchical"}, array or callable, default="k-means++"
        The first centres, as in `KMeans`. The text draws rows at random.
    n_init : "auto" or int, default="auto"
        How many starts to try; of those that end with all rows assigned, the one with the least W is kept. "auto"
        is 10 when the start is drawn at random or by a function, else 1.
    max_iter : int, default=300
        The most passes of one start.
    tol : float, default=1e-4
        Stop when the squared moves of the centres add up to no more than tol times the mean variance of the
        features, or when no row has changed its cluster. 0 leaves only the second rule.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, optional
        Decides what is drawn.
    n_jobs : int, optional
        Threads for `predict`, by default all cores; the result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
        The cluster of each row. `predict` knows no constraints: it gives the nearest centre.
    inertia_ : float
        W at the end.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [5.2]]
    >>> model = COPKMeans(2, init=[0, 5])
    >>> model.fit(X, cannot_link=[(6, 0)]).labels_
    array([0, 0, 0, 1, 1, 1, 1], dtype=int32)
    >>> model.fit(X, must_link=[(2, 3)]).cluster_centers_.ravel()
    array([3.84, 9.5 ])
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

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> Self:
        """Find the clusters of the rows X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : ignored
            Nothing is learned from it; callbacks may score by it.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts in the means.
        must_link, cannot_link : arrays of shape (n_links, 2), optional
            Numbers of rows that belong to one cluster, or to two.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight, links=(must_link, cannot_link), n=row_count(X))

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
    ) -> np.ndarray:
        """Find the clusters of the rows X, and return the cluster of each."""
        links = {"must_link": must_link, "cannot_link": cannot_link}
        self.fit(X, sample_weight=sample_weight, **links)
        return self.predict(X) if stopped_early(self) else self.labels_

    def _fit(
        self,
        X: Any,
        y: None,
        sample_weight: np.ndarray | None,
        links: tuple[Any, Any] = (None, None),
        n: int | None = None,
    ) -> None:
        self._check_count(X)
        group, apart = self._groups(links, X.shape[0], n)
        exponent, rng = scale_exponent(largest(X)), generator(self.random_state)
        X = times_power(X, -exponent)
        weight = np.ones(X.shape[0]) if sample_weight is None else sample_weight.astype(np.float64)
        state = ConstrainedPasses(X, weight, group, apart)
        best: dict[str, Any] | None = None
        stuck: list[Stuck] = []

        def fitted(centres: np.ndarray) -> dict[str, Any]:
            labels = state.assign(centres)
            inertia = state.inertia(labels, centres)
            return attributes(labels, centres, inertia, exponent, X.dtype)

        for loop in self._starts(10, fitted):
            centres = self._initial_centres(X, sample_weight, rng, exponent)
            try:
                labels, centres = self._run(state, centres, loop, exponent)
            except Stuck as error:
                stuck.append(error)
                continue
            inertia = state.inertia(labels, centres)
            if best is None or inertia < best["inertia"]:
                best = {"inertia": inertia, "labels": labels, "centres": centres, "passes": loop.count}
        if best is None:
            raise ValueError(f"{type(self).__name__}: {self._failure(stuck[-1], group, apart, len(stuck))}")
        self._warn_of_empty(np.bincount(best["labels"]))
        found = attributes(best["labels"], best["centres"], best["inertia"], exponent, X.dtype)
        self.__dict__.update(found, n_iter_=best["passes"])
        self._warn_of_range(best["inertia"], exponent)

    def _groups(self, links: tuple[Any, Any], n: int, given: int | None) -> tuple[np.ndarray, Any]:
        """Groups of must-linked rows, and which groups a cannot-link keeps apart."""
        name = type(self).__name__
        if any(each is not None for each in links):
            refuse_held_out(n, given, name)
        must = check_links(links[0], n, name, "must_link")
        cannot = check_links(links[1], n, name, "cannot_link")
        refuse_contradictions(must, cannot, name)
        return link_groups(must, cannot, n, name)

    def _run(
        self, state: ConstrainedPasses, centres: np.ndarray, loop: Steps, exponent: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Assignment and update by turns, from the initial centres to the last."""
        small, labels = self.tol * state.variance, np.full(len(state.group), -1)
        for step in loop:
            before, labels = labels, state.assign(centres)
            moved = int((labels != before).sum())
            new = state.means(labels, centres) if moved else centres
            shift, centres = float(((new - centres) ** 2).sum()), new
            inertia = times_square(state.inertia(labels, centres), exponent)
            step.report(centres, inertia=inertia, moved=moved)
            if self.verbose:
                print(f"Iteration {step.count}, inertia {inertia:.6g}, {moved} rows moved.")
            if step.converged(moved == 0 or shift <= small):
                break
        return labels, centres

    def _failure(self, stuck: Stuck, group: np.ndarray, apart: Any, starts: int) -> str:
        """Which row found no cluster, and because of which rows."""
        g = group[stuck.row]
        others = apart.indices[apart.indptr[g] : apart.indptr[g + 1]]
        rows = [int(np.flatnonzero(group == h)[0]) for h in others]
        shown = ", ".join(map(str, rows[:6])) + (", ..." if len(rows) > 6 else "")
        return (
            f"row {stuck.row} fits into none of the n_clusters={self.n_clusters} clusters without violating a "
            "constraint: "
            f"its cannot-links, rows {shown}, are in all of them"
            + (f" (in each of {starts} starts)" if starts > 1 else "")
            + ". Use more clusters, fewer cannot-links, another order of the rows, or init='random' with more "
            "starts "
            "(n_init)."
        )


class Stuck(Exception):
    """A row finds no cluster that its constraints allow."""

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


class ConstrainedPasses:
    """The steps of COP-k-means on rows in groups."""

    def __init__(self, X: Any, weight: np.ndarray, group: np.ndarray, apart: Any) -> None:
        self.X, self.weight = X, weight
        self.group = read_only(group.astype(np.int64))
        self.borders = read_only(apart.indptr.astype(np.int64))
        self.others = read_only(apart.indices.astype(np.int64))
        share = weight / weight.sum()
        mean = share @ X
        squares = X.multiply(X) if sparse.issparse(X) else X**2
        self.variance = max(float((share @ squares - mean**2).mean()), 0.0)

    def assign(self, centres: np.ndarray) -> np.ndarray:
        """The nearest cluster of each row that violates nothing, in the order of the rows."""
        apart = np.ascontiguousarray(euclidean_distances(self.X, centres, squared=True), dtype=np.float64)
        labels = np.empty(len(apart), dtype=np.int32)
        cluster = np.full(self.borders.size - 1, -1, dtype=np.int64)
        row = assign_in_order(apart, self.group, self.borders, self.others, cluster, labels)
        if row >= 0:
            raise Stuck(int(row))
        return labels

    def means(self, labels: np.ndarray, centres: np.ndarray) -> np.ndarray:
        """The means of the clusters; an empty one stays where it was."""
        k, n = len(centres), len(labels)
        members = sparse.csr_array((self.weight, (labels, np.arange(n))), shape=(k, n))
        mass, sums = members.sum(axis=1), members @ self.X
        sums = sums.toarray() if sparse.issparse(sums) else sums
        return np.where(mass[:, None] > 0, sums / np.where(mass > 0, mass, 1.0)[:, None], centres)

    def inertia(self, labels: np.ndarray, centres: np.ndarray) -> float:
        """W of a partition."""
        if sparse.issparse(self.X):
            squares = euclidean_distances(self.X, centres, squared=True)[np.arange(len(labels)), labels]
        else:
            squares = ((self.X - centres[labels]) ** 2).sum(axis=1)
        return float(self.weight @ squares)


def attributes(
    labels: np.ndarray, centres: np.ndarray, inertia: float, exponent: int, dtype: Any
) -> dict[str, Any]:
    """What the estimator shows, for rows that were scaled by 2^-exponent."""
    return {
        "cluster_centers_": times_power(centres.astype(dtype), exponent),
        "labels_": labels,
        "inertia_": times_square(inertia, exponent),
    }


@kernel
def assign_in_order(apart: Any, group: Any, borders: Any, others: Any, cluster: Any, labels: Any) -> int:
    """Rows to the nearest clusters that violate nothing, one after the other (Fig 13.7, lines 4-21).

    `apart` has the squared distances (n, k), `cluster` the cluster of each group, -1 at first. Returns the first
    row for which there is none, or -1.
    """
    k = apart.shape[1]
    taken = np.full(k, -1, dtype=np.int64)  # the last group to which a cluster is forbidden
    for i in range(labels.size):
        g = group[i]
        if cluster[g] < 0:
            for s in range(borders[g], borders[g + 1]):
                if cluster[others[s]] >= 0:
                    taken[cluster[others[s]]] = g
            best = -1
            for c in range(k):
                if taken[c] != g and (best < 0 or apart[i, c] < apart[i, best]):
                    best = c
            if best < 0:
                return i
            cluster[g] = best
        labels[i] = cluster[g]
    return -1
