"""k-means clustering (k 均值聚类)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from tercet.cluster._engine.nearest_centres import CentreSet
from tercet.cluster.centre_clusterer import CentreClusterer, InitialCentres
from tercet.cluster.partition import Partition, assignment_of, times_square
from tercet.core.catalog import method
from tercet.core.estimator import generator
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.core.row_sums import largest_of
from tercet.core.scaling import scale_exponent, times_power
from tercet.core.steps import Steps
from tercet.core.streams import is_streamed


@method(
    zh="k 均值聚类",
    task="clustering",
    model="each row belongs to the nearest of k centres: C(i) = argmin_l |x_i - m_l|²",
    strategy="least sum of squared distances to the centres, W(C) = Σ_l Σ_{C(i)=l} |x_i - m_l|²",
    algorithms={
        "lloyd": "rows to their nearest centres, centres to the means of their rows, by turns",
        "elkan": "the same, with a bound for each row and centre that spares most distances",
        "hamerly": "the same, with two bounds for each row",
    },
    texts=[
        "Li ch. 14, Alg 14.2, eq. 14.18-14.22",
        "Li ch. 22, Table 22.1",
        "watermelon notes ch. 7, eq. 7.16, Alg 1",
    ],
    peers=["sklearn.cluster.KMeans"],
)
class KMeans(CentreClusterer):
    """k-means clustering: every row belongs to the nearest of k means.

    Minimises W(C) = Σ_l Σ_{C(i)=l} w_i |x_i - m_l|² by turns: every row goes to its nearest centre (of equals,
    the first), every centre to the mean of its rows. W never rises, and ends at a local minimum that depends on
    the first centres. A cluster that runs empty gets the row that is farthest from its centre.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    init : {"k-means++", "random", "hierarchical"}, array or callable, default="k-means++"
        The first centres: rows drawn far apart; rows drawn at random; from each of k clusters that single
        linkage finds, the row nearest to its centre; an array of centres or of k row numbers; or what a function
        of (X, n_clusters, random_state) returns.
    n_init : "auto" or int, default="auto"
        How many starts to try; the one with the least W is kept. "auto" is 10 when the start is drawn at random
        or by a function, else 1.
    max_iter : int, default=300
        The most passes of one start.
    tol : float, default=1e-4
        Stop when the squared moves of the centres add up to no more than tol times the mean variance of the
        features, or, in any case, when no row has changed its cluster. 0 leaves only the texts' second rule.
    verbose : int, default=0
        Print a line for each pass.
    random_state : int, optional
        Decides what is drawn.
    copy_x : bool, default=True
        Taken for the sake of callers of scikit-learn's class: X is never changed.
    algorithm : {"lloyd", "elkan", "hamerly"}, default="lloyd"
        Three ways to the same clusters. "lloyd" measures all distances, fast, and goes over to Hamerly's bounds
        when few rows move. "hamerly" skips from the start the rows that bounds show to be in place: fastest where
        clusters are well apart. "elkan" keeps k bounds for each row, which takes memory and pays with many features
        and few clusters.
    n_jobs : int, optional
        Threads to use, by default all cores, as scikit-learn does; the result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
        The cluster of each row.
    inertia_ : float
        W at the end.
    n_iter_ : int
        Passes of the start that was kept.

    Examples
    --------
    >>> X = [[0, 2], [0, 0], [1, 0], [5, 0], [5, 2]]
    >>> model = KMeans(n_clusters=2, init=[0, 4]).fit(X)
    >>> model.cluster_centers_.round(2), model.labels_
    (array([[0.33, 0.67],
           [5.  , 1.  ]]), array([0, 0, 0, 1, 1], dtype=int32))
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
        copy_x: bool = True,
        algorithm: Literal["lloyd", "elkan", "hamerly"] = "lloyd",
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.n_jobs = n_jobs

    streaming = True
    streams_sparse = False
    row_attributes = ("labels_",)

    def _streaming_refusal(self) -> str:
        if callable(self.init) or (isinstance(self.init, str) and self.init == "hierarchical"):
            return f"init={self.init!r} needs all rows at once. Use init='k-means++' or 'random', or give centres."
        return ""

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        self._check_count(X)
        if self.algorithm == "elkan" and self.n_clusters == 1:
            self._warn("algorithm='elkan' doesn't make sense for a single cluster. Using 'lloyd' instead.")
        X = X if sparse.issparse(X) or is_streamed(X) else np.ascontiguousarray(X)
        exponent = scale_exponent(largest_of(X))  # squares must neither overflow nor vanish
        if exponent and is_streamed(X):
            raise ValueError(f"KMeans: X holds numbers up to {largest_of(X):.3g}. Scale the features.")
        X, rng = times_power(X, -exponent), generator(self.random_state)
        best: Partition | None = None

        def fitted(centres: np.ndarray) -> dict[str, Any]:
            return Partition.around(X, centres, sample_weight, all_cores(self.n_jobs)).attributes(exponent)

        for loop in self._starts(10, fitted):
            initial = self._initial_centres(X, sample_weight, rng, exponent)
            found = self._lloyd(X, sample_weight, initial, loop, exponent)
            if best is None or found.inertia < best.inertia:
                best, passes = found, loop.count
        assert best is not None
        self._warn_of_empty(best.counts)
        self.__dict__.update(best.attributes(exponent), n_iter_=passes)
        self._warn_of_range(best.inertia, exponent)

    def _lloyd(
        self, X: Any, weight: np.ndarray | None, initial: np.ndarray, loop: Steps, exponent: int = 0
    ) -> Partition:
        """Assignment and update by turns (see `lloyd_step`), from the initial centres to the last."""
        k = self.n_clusters
        bounds = {"lloyd": 0, "hamerly": 1, "elkan": k}[self.algorithm]
        assignment = assignment_of(
            X, weight, k, bounds if k > 1 else 0, all_cores(self.n_jobs), adaptive=bounds == 0 and k > 1
        )
        small = self.tol * assignment.scatter / assignment.mass / X.shape[1]
        centres, settled = CentreSet(initial, assignment.mean), False
        for step in loop:
            sums = assignment.assign(centres)
            if (sums.count == 0).any():
                assignment.refill_empty(centres, sums)
            settled = sums.moved == 0
            sums = assignment.recompute_sums() if settled else sums
            centres = CentreSet(sums.means(centres.points), assignment.mean, before=centres)
            # W is the total scatter less that between the clusters, whatever the partition.
            between = sums.mass @ ((centres.points - assignment.overall_mean) ** 2).sum(axis=1)
            inertia = times_square(max(assignment.scatter - between, 0.0), exponent)
            shift = float((centres.shift**2).sum())
            step.report(centres.points, inertia=inertia, moved=sums.moved)
            if self.verbose:
                print(f"Iteration {step.count}, inertia {inertia:.6g}, {sums.moved} rows moved.")
            if step.converged(settled or shift <= small):
                if self.verbose:
                    why = f"center shift {shift:.6g} within tolerance {small:.6g}"
                    print(f"Converged at iteration {step.count}: {'strict convergence' if settled else why}.")
                break
        return Partition(assignment, centres.points.astype(X.dtype), settled)


def lloyd_step(X: Any, centers: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """One pass of k-means in plain form: assignment and update.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    centers : array of shape (n_clusters, n_features)
        The centres m_l.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.

    Returns
    -------
    labels : array of shape (n_samples,)
        The nearest centre of each row; of equals, the first.
    centers : array of shape (n_clusters, n_features)
        The means of the clusters; that of an empty one stays where it was.

    Examples
    --------
    >>> lloyd_step([[0.0], [1.0], [5.0]], [[0.0], [1.0]])
    (array([0, 1, 1]), array([[0.],
           [3.]]))
    """
    X, centers = np.asarray(X, dtype=np.float64), np.array(centers, dtype=np.float64)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    labels = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)  # C(i) = argmin_l |x_i - m_l|² (14.22)
    for k in range(len(centers)):
        if weight[labels == k].any():
            centers[k] = np.average(
                X[labels == k], axis=0, weights=weight[labels == k]
            )  # m_l = mean of its rows
    return labels, centers


def k_means(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    init: Any = "k-means++",
    n_init: Any = "auto",
    max_iter: int = 300,
    verbose: Any = False,
    tol: float = 1e-4,
    random_state: Any = None,
    copy_x: bool = True,
    algorithm: str = "lloyd",
    return_n_iter: bool = False,
) -> tuple:
    """k-means clustering in one call; see `KMeans`.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows.
    n_clusters : int
        The number k of clusters.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts.
    init, n_init, max_iter, verbose, tol, random_state, copy_x, algorithm : as in `KMeans`
    return_n_iter : bool, default=False
        Give the number of passes, too.

    Returns
    -------
    centroid : array of shape (n_clusters, n_features)
    label : array of shape (n_samples,)
    inertia : float
    best_n_iter : int
        Only with `return_n_iter`.

    Examples
    --------
    >>> centroid, label, inertia = k_means([[0.0], [1.0], [10.0], [11.0]], 2, random_state=0)
    >>> np.sort(centroid.ravel()), inertia
    (array([ 0.5, 10.5]), 1.0)
    """
    options: dict[str, Any] = {"init": init, "n_init": n_init, "max_iter": max_iter, "verbose": verbose}
    options.update(tol=tol, random_state=random_state, copy_x=copy_x, algorithm=algorithm)
    model = KMeans(n_clusters, **options).fit(X, sample_weight=sample_weight)
    found = model.cluster_centers_, model.labels_, model.inertia_
    return (*found, model.n_iter_) if return_n_iter else found
