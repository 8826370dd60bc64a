"""Mini-batch k-means (小批量 k 均值聚类)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from tercet.cluster._engine.nearest_centres import Assignment, cluster_sums_chunk, nearest_centre
from tercet.cluster._engine.nearest_kernels import own_squared_distances
from tercet.cluster.batch_draws import draw_rows as draw_rows
from tercet.cluster.batch_draws import drawn_batches, refuse_streams, sample_rows
from tercet.cluster.centre_clusterer import CentreClusterer, InitialCentres
from tercet.cluster.initial_centres import dense_rows
from tercet.cluster.partition import Partition, times_square
from tercet.core.catalog import method
from tercet.core.estimator import check_weight, generator
from tercet.core.fitted_checks import Floats, Whole
from tercet.core.parallel import Chunks, all_cores, one_blas_thread
from tercet.core.parameters import Count, CountOrZero, Jobs, NonNegative, Seed, check_parameters
from tercet.core.row_sums import largest_of
from tercet.core.rows import rows
from tercet.core.scaling import common_exponent, scale_exponent, times_power
from tercet.core.streams import is_streamed


@method(
    zh="小批量 k 均值聚类",
    task="clustering",
    model="each row belongs to the nearest of k centres: C(i) = argmin_l |x_i - m_l|²",
    strategy="least sum of squared distances to the centres, W(C) = Σ_l Σ_{C(i)=l} |x_i - m_l|²",
    algorithms={
        "mini-batch": "each batch of rows moves its nearest centres; a centre is the mean of all rows it ever got"
    },
    texts=["Li ch. 14, Alg 14.2"],
    peers=["sklearn.cluster.MiniBatchKMeans"],
)
class MiniBatchKMeans(CentreClusterer):
    """k-means by small random batches of rows: an approximation for much data, or for data that keep coming.

    Each step draws a batch, assigns its rows to their nearest centres, and makes each centre the mean of all rows
    that it has ever got: m_l ← m_l + (Σ_i w_i x_i - w m_l) / n_l with w = Σ_i w_i and n_l the weight so far, over
    the batch's rows of cluster l. Centres that get few rows begin anew at a row of the batch.

    Parameters
    ----------
    n_clusters : int, default=8
        The number k of clusters.
    init : {"k-means++", "random", "hierarchical"}, array or callable, default="k-means++"
        The first centres, as in `KMeans`, found among `init_size` rows.
    max_iter : int, default=100
        The most times that as many rows are drawn as there are.
    batch_size : int, default=1024
        Rows of a batch.
    verbose : int, default=0
        Print a line for each step.
    compute_labels : bool, default=True
        Whether to assign all rows at the end: else there are no `labels_`, and `inertia_` is an estimate.
    random_state : int, optional
        Decides what is drawn.
    tol : float, default=0.0
        Stop when the squared moves of the centres add up to no more than tol times the mean variance of the
        features; 0 is never.
    max_no_improvement : int or None, default=10
        Stop after so many batches without a new least smoothed inertia.
    init_size : int, optional
        Rows that the first centres are found among; by default 3 batches, or 3 k where that is more.
    n_init : "auto" or int, default="auto"
        How many starts to draw; the one with the least inertia on `init_size` rows is used. "auto" is 3 when the
        start is drawn at random or by a function, else 1.
    reassignment_ratio : float, default=0.01
        A centre with less than this share of the largest centre's rows begins anew at a random row, now and then.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
    labels_ : array of shape (n_samples,)
        The cluster of each row (of the last batch after `partial_fit`).
    inertia_ : float
        The sum of squared distances to the centres.
    n_iter_ : int
        How many times as many rows were drawn as there are.
    n_steps_ : int
        How many batches.

    Examples
    --------
    >>> X = [[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [8.0, 8.0], [9.0, 8.0], [9.0, 9.0]]
    >>> model = MiniBatchKMeans(2, batch_size=4, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[2]), bool(model.labels_[0] == model.labels_[5])
    (True, False)
    >>> model = MiniBatchKMeans(2, random_state=0).partial_fit(X[::2]).partial_fit(X[1::2])
    >>> model.n_steps_
    2
    """

    streaming = True
    streams_sparse = False
    row_attributes = ("labels_",)

    def __init__(
        self,
        n_clusters: Count = 8,
        *,
        init: InitialCentres = "k-means++",
        max_iter: Count = 100,
        batch_size: Count = 1024,
        verbose: int | bool = 0,
        compute_labels: bool = True,
        random_state: Seed = None,
        tol: NonNegative = 0.0,
        max_no_improvement: CountOrZero | None = 10,
        init_size: Count | None = None,
        n_init: Count | Literal["auto"] = "auto",
        reassignment_ratio: NonNegative = 0.01,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.n_jobs = n_jobs

    fitted_shapes = {
        "_counts": Floats("clusters", finite=True, low=0.0),
        "_since": Whole(),
        "_seed": Whole(),
        "n_steps_": Whole(),
    }
    _counts: np.ndarray  # the weight of all rows that each centre ever got
    _since: int  # rows since centres were last looked through for ones to begin anew
    _seed: int
    n_steps_: int

    def _streaming_refusal(self) -> str:
        if self.tol > 0:
            return "tol > 0 needs the variances of all rows at once. Use tol=0 and max_no_improvement."
        return ""

    def _fit(self, X: Any, y: None, sample_weight: np.ndarray | None) -> None:
        self._check_count(X)
        X = X if sparse.issparse(X) or is_streamed(X) else np.ascontiguousarray(X)
        exponent = scale_exponent(largest_of(X))  # squares must neither overflow nor vanish
        if is_streamed(X):
            refuse_streams(X, sample_weight, exponent)
        X, rng, n = times_power(X, -exponent), generator(self.random_state), X.shape[0]
        size, jobs = min(self.batch_size, n), all_cores(self.n_jobs)
        given, mass = sample_weight, sample_weight
        if is_streamed(mass):  # by which rows are drawn
            mass = np.concatenate([part for (part,) in Chunks(mass)])
        centres = self._best_start(X, mass, rng, exponent)
        counts, since = np.zeros(self.n_clusters), 0
        height = None if mass is None else np.cumsum(mass, dtype=np.float64)
        patience = Patience(self.tol, self._variance(X, sample_weight), self.max_no_improvement, size, n)

        def fitted(centres: np.ndarray) -> dict[str, Any]:
            found = Partition.around(X, centres, given, jobs).attributes(exponent)
            return found if self.compute_labels else {"cluster_centers_": found["cluster_centers_"]}

        batches = drawn_batches(X, height, size, self.max_iter * n // size, rng)
        for step in self.steps(self.max_iter * n // size, unpack=fitted):
            batch = next(batches)
            before, since = centres, since + size
            centres, gained = mini_batch_step(batch, np.ones(size), centres, counts, jobs)
            if (counts == 0).any() or since >= 10 * self.n_clusters:
                since = 0
                self._reassign(batch, None, centres, counts, rng)
            shift = float(((centres - before) ** 2).sum())
            done = patience.after(gained / size, shift)
            step.report(centres, inertia=times_square(patience.smoothed, exponent))
            if self.verbose:
                print(f"Minibatch step {step.count}/{step.limit}: mean batch inertia: {gained / size:.6g}")
            if done:
                step.converged(True)
                if self.verbose:
                    print(f"Converged ({done}) at step {step.count}/{step.limit}")
                break
        self._counts, self._since, self._seed = counts, since, int(rng.integers(2**31 - 1))
        self.n_steps_, self.n_iter_ = step.count, -(-step.count * size // n)
        if self.compute_labels:
            found = Partition.around(X, centres, given, jobs)
            self.__dict__.update(found.attributes(exponent))
            self._warn_of_empty(np.trim_zeros(found.counts, "b"))
        else:
            self.__dict__.update(fitted(centres))
            total = n if height is None else float(height[-1])
            self.inertia_ = times_square(patience.smoothed * total, exponent)
            self.__dict__.pop("labels_", None)
        self._warn_of_range(patience.smoothed, exponent)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Move the centres by one batch of rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The batch; the first one must have at least n_clusters rows.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            How much each row counts.

        Returns
        -------
        self
        """
        check_parameters(self)
        first = not hasattr(self, "cluster_centers_")
        X = self._check(X, reset=first)
        X = X if sparse.issparse(X) else np.ascontiguousarray(X)
        weight = check_weight(sample_weight, X)
        exponent = common_exponent(X) if first else common_exponent(X, self.cluster_centers_)
        scaled = times_power(X, -exponent)
        if first:
            self._check_count(X)
            seed = int(generator(self.random_state).integers(2**31 - 1))
            centres = self._best_start(scaled, weight, np.random.default_rng(seed), exponent, starts=1)
            counts, since, steps, dtype = np.zeros(self.n_clusters), 0, 0, X.dtype
        else:
            centres = times_power(self.cluster_centers_.astype(np.float64), -exponent)
            seed, since, steps, dtype = self._seed, self._since, self.n_steps_, self.cluster_centers_.dtype
            counts = np.array(self._counts, dtype=np.float64)
        given = np.ones(X.shape[0]) if weight is None else weight.astype(np.float64)
        centres, _ = mini_batch_step(scaled, given, centres, counts, all_cores(self.n_jobs))
        since += min(self.batch_size, X.shape[0])
        if (counts == 0).any() or since >= 10 * len(counts):
            since = 0
            self._reassign(scaled, weight, centres, counts, np.random.default_rng((seed, steps)))
        self._counts, self._since, self._seed, self.n_steps_ = counts, since, seed, steps + 1
        self.cluster_centers_ = times_power(centres, exponent).astype(dtype)
        if self.compute_labels:
            found = Partition.around(scaled, centres.astype(dtype), weight, all_cores(self.n_jobs))
            found_attributes = found.attributes(exponent)
            self.labels_, self.inertia_ = found_attributes["labels_"], found_attributes["inertia_"]
        return self

    def _variance(self, X: Any, weight: np.ndarray | None) -> float:
        """The mean variance of the features; 0 where nobody asks."""
        if self.tol == 0:
            return 0.0
        whole = Assignment(X, weight, self.n_clusters, 0, all_cores(self.n_jobs))
        return whole.scatter / whole.mass / X.shape[1]

    def _best_start(
        self, X: Any, weight: Any, rng: np.random.Generator, exponent: int, starts: int | None = None
    ) -> np.ndarray:
        """The first centres: of several starts, those with the least inertia on a sample of the rows."""
        starts = self._n_starts(3) if starts is None else starts
        size = self._sample_size(X)
        drawn = isinstance(self.init, str) or callable(self.init)
        best, least = None, np.inf
        some, mass = sample_rows(X, weight, rng, size, self.n_clusters)
        for k in range(starts):
            if k and drawn:
                start_rows, start_mass = sample_rows(X, weight, rng, size, self.n_clusters)
            else:
                start_rows, start_mass = some, mass
            centres = self._initial_centres(
                start_rows if drawn else X, start_mass if drawn else weight, rng, exponent
            )
            if starts == 1:
                return centres
            inertia = Partition.around(some, centres, mass, all_cores(self.n_jobs)).inertia
            if self.verbose:
                print(f"Inertia for init {k + 1}/{starts}: {inertia:.6g}")
            if best is None or inertia < least:
                best, least = centres, inertia
        assert best is not None
        return best

    def _sample_size(self, X: Any) -> int:
        """How many rows the first centres are found among."""
        n, k = X.shape[0], self.n_clusters
        size = 3 * min(self.batch_size, n) if self.init_size is None else self.init_size
        if size < k:
            if self.init_size is not None:
                self._warn(
                    f"init_size={size} should be larger than n_clusters={k}. Setting it to "
                    "min(3*n_clusters, n_samples)"
                )
            size = 3 * k
        return min(size, n)

    def _reassign(
        self,
        X: Any,
        weight: np.ndarray | None,
        centres: np.ndarray,
        counts: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        """Let centres with few rows begin anew at rows of the batch, at most at half of them."""
        low = counts < self.reassignment_ratio * counts.max()
        low[counts.argmax()] = False
        pool = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0)
        most = pool.size // 2
        if low.sum() > most:
            low[np.argsort(counts, kind="stable")[most:]] = False
        if not low.any():
            return
        if self.verbose:
            print(f"[MiniBatchKMeans] Reassigning {low.sum()} cluster centers.")
        centres[low] = dense_rows(X, rng.choice(pool, low.sum(), replace=False))
        counts[low] = counts[~low].min()  # not so few that they begin anew at once


class Patience:
    """The stopping rules of mini-batches: small moves, or no new least smoothed inertia for a while.

    Parameters
    ----------
    tol, variance : float
        Squared moves up to tol * variance end the loop; 0 is never.
    limit : int or None
        Batches without a new least value that end it.
    size, n : int
        Rows of a batch, and of the data: the smoothed value forgets at a rate of 2 * size / (n + 1).
    """

    def __init__(self, tol: float, variance: float, limit: int | None, size: int, n: int) -> None:
        self.small, self.limit = tol * variance, limit
        self.rate = min(2 * size / (n + 1), 1.0)
        self.smoothed, self.least, self.stale, self.steps = 0.0, np.inf, 0, 0

    def after(self, inertia: float, shift: float) -> str:
        """Why the loop ends after a batch of this mean inertia; empty where it does not."""
        self.steps += 1
        if self.steps <= 2:  # the first is that of the start: it is not smoothed with the others
            self.smoothed = inertia
            if self.steps == 1:
                return ""
        else:
            self.smoothed += self.rate * (inertia - self.smoothed)
        if self.small > 0 and shift <= self.small:
            return "small centers change"
        self.stale = 0 if self.smoothed < self.least else self.stale + 1
        self.least = min(self.least, self.smoothed)
        if self.limit is not None and self.stale >= self.limit:
            return "lack of improvement in inertia"
        return ""


def mini_batch_step(
    X: Any, weight: np.ndarray, centres: np.ndarray, counts: np.ndarray, n_jobs: Any = None
) -> tuple[np.ndarray, float]:
    """New centres after a batch, and its inertia before; the weights of its rows are added to `counts`."""
    with one_blas_thread():
        labels = nearest_centre(X, centres, n_jobs)
        squares = np.einsum("ij,ij->i", centres, centres)
        gaps = own_squared_distances(rows(X), labels, centres, squares)
        sums, mass, _ = cluster_sums_chunk((X, weight, labels), len(centres))
    got = mass > 0
    new, counts[:] = centres.copy(), counts + mass
    new[got] += (sums[got] - mass[got, None] * centres[got]) / counts[got, None]
    return new, float(weight @ gaps)
