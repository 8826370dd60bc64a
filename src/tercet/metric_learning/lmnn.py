"""Large margin nearest neighbours (大间隔最近邻, LMNN)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import sparse

from tercet.core.catalog import method
from tercet.core.estimator import NO_TARGET, distinct
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Fraction, Jobs, NonNegative, Seed
from tercet.metric_learning._engine.impostors import LargeMargin
from tercet.metric_learning.base import MahalanobisLearner, dense, positive_weights
from tercet.metric_learning.initial_components import Start, check_start, initial_components, random_numbers
from tercet.metric_learning.lbfgs_passes import LBFGSPasses
from tercet.metric_learning.tuple_input import are_tuples, check_tuples
from tercet.neighbors import NearestNeighbors

ROUND = 20  # passes with one working set


@method(
    zh="大间隔最近邻（LMNN）",
    task="dimensionality reduction",
    model="distance |Lx_i - Lx_j|, M = L'L",
    strategy="target neighbours near and impostors a margin farther: (1-μ) Σ |Lx_i - Lx_j|² + "
    "μ Σ [1 + |Lx_i - Lx_j|² - |Lx_i - Lx_l|²]₊",
    algorithms={
        "working sets": "L-BFGS over a working set of impostors, to which those that violate the margin are added"
    },
    texts=["watermelon notes ch. 8, eq. 8.26"],
    peers=["metric_learn.LMNN"],
)
class LMNN(MahalanobisLearner):
    """Large margin nearest neighbours: each row's nearest of its class stay nearer than all others, by a margin.

    Minimises (1-μ) Σ_i Σ_j w_i |Lx_i - Lx_j|² + μ Σ_i Σ_j Σ_l w_i w_l [1 + |Lx_i - Lx_j|² - |Lx_i - Lx_l|²]₊ over
    L (Weinberger and Saul, 2009), where j goes over the k target neighbours of row i, the nearest of its class in
    X, and l over the rows of other classes. Only the impostors of a working set are looked at in each pass; it
    grows until no other row violates the margin.

    Parameters
    ----------
    n_neighbors : int, default=3
        The number k of target neighbours; of a class with fewer rows, all others.
    n_components : int, optional
        Rows of L; by default as many as features.
    init : {"auto", "pca", "lda", "identity", "random"} or array of shape (n_components, n_features), default="auto"
        Where to start, as in `NeighborhoodComponentsAnalysis`.
    regularization : float in [0, 1], default=0.5
        The share μ of the impostors in the loss.
    max_iter : int, default=200
        The most passes.
    tol : float, default=1e-5
        Stop when the loss, relative to its size, or the gradient changes by no more, and there is no new impostor.
    random_state : int, optional
        Decides the numbers of init="random", and the PCA of large tables.
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L.
    n_iter_ : int

    Examples
    --------
    >>> X = [[0.0, 3.0], [0.1, 9.0], [0.2, 0.0], [1.0, 2.0], [1.1, 8.0], [0.9, 1.0]]
    >>> y = [0, 0, 0, 1, 1, 1]
    >>> model = LMNN(n_neighbors=2).fit(X, y)
    >>> from tercet.neighbors import KNeighborsClassifier
    >>> KNeighborsClassifier(2, metric=model.get_metric()).fit(X, y).score(X, y)
    1.0
    >>> triplet = [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0]]
    >>> LMNN().fit([triplet]).pair_distance([triplet[:2]]).round(2)
    array([0.])
    """

    def __init__(
        self,
        n_neighbors: Count = 3,
        *,
        n_components: Count | None = None,
        init: Start = "auto",
        regularization: Fraction = 0.5,
        max_iter: Count = 200,
        tol: NonNegative = 1e-5,
        random_state: Seed = None,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.init = init
        self.regularization = regularization
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn a metric from labelled rows, or from triplets of points.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or array of shape (n_triplets, 3, n_features)
            The rows; or triplets of a point, one that shall be near to it, and one that shall be farther by a
            margin.
        y : array of shape (n_samples,), optional
            The labels of the rows; none for triplets.
        sample_weight : array of shape (n_samples,) or (n_triplets,), optional
            How much each row, or each triplet, counts. Neighbours are counted, not weighed.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        if y is NO_TARGET or not are_tuples(X):
            return super()._check(X, reset=reset) if y is NO_TARGET else super()._check(X, y)
        if y is not None:
            raise ValueError(
                f"{type(self).__name__}: X with three dimensions holds triplets of points, which have no labels; y "
                "must "
                "be None."
            )
        return check_tuples(self, X, 3), None

    def _fit(self, X: Any, y: np.ndarray | None, sample_weight: np.ndarray | None) -> None:
        check_start(type(self).__name__, self.init, self.n_components, X.shape[-1])
        weight = positive_weights(sample_weight, X.shape[0])
        triplets = X.ndim == 3
        rows = X.reshape(-1, X.shape[2]).astype(np.float64) if triplets else dense(X)
        codes = None if y is None else distinct(y)[1]
        if codes is not None:
            check_classes(codes[weight > 0], type(self).__name__)
        rng = random_numbers(self.random_state)
        start = initial_components(rows, codes, self.n_components, self.init, rng)
        shape = start.shape

        def components(x: np.ndarray) -> dict[str, Any]:
            return {"components_": x.reshape(shape).astype(X.dtype)}

        passes = LBFGSPasses(self.steps(self.max_iter, unpack=components))
        if triplets:
            loss = loss_of(TripletMargin(X.astype(np.float64), weight, self.regularization), shape[0])
            found = passes.run(loss, start.ravel(), tol=self.tol)
            x, converged = found.x, bool(found.success)
        else:
            assert codes is not None
            x, converged = self._search(rows, codes, weight, start.ravel(), passes)
        passes.finish(converged)
        self._keep(x.reshape(shape), X.dtype)

    def _search(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, x: np.ndarray, passes: LBFGSPasses
    ) -> tuple[np.ndarray, bool]:
        """Rounds of L-BFGS over a growing working set of impostors, until there are no others."""
        kept = np.flatnonzero(weight > 0)
        order = kept[np.argsort(y[kept], kind="stable")]
        X, y, weight = X[order] - X[order].mean(axis=0), y[order], weight[order]
        targets = target_neighbours(X, y, self.n_neighbors, self.n_jobs)
        margin = LargeMargin(X, y, weight, targets, self.regularization, all_cores(self.n_jobs))
        size = x.size // X.shape[1]
        margin.add_impostors(x.reshape(size, -1))
        while passes.left:
            found = passes.run(loss_of(margin, size), x, tol=self.tol, limit=ROUND)
            x = found.x
            new = margin.add_impostors(x.reshape(size, -1))
            if not new and found.success:
                return x, True
        return x, False


def check_classes(y: np.ndarray, name: str) -> None:
    """Refuse labels among which there are no target neighbours, or no impostors."""
    counts = np.unique(y, return_counts=True)[1]
    if counts.size < 2 or counts.max() < 2:
        raise ValueError(
            f"{name}: y must have at least two classes, one of them with two rows or more; the data contains "
            f"{counts.size} class(es) of {y.size} rows with a weight."
        )


def target_neighbours(X: np.ndarray, y: np.ndarray, k: int, n_jobs: int | None) -> Any:
    """The k nearest rows of its class for each row, as the entries of a CSR matrix; fewer in a small class."""
    rows, columns = [], []
    for code in np.unique(y):
        mine = np.flatnonzero(y == code)
        if mine.size > 1:
            many = min(k, mine.size - 1)
            model = NearestNeighbors(n_neighbors=many, n_jobs=n_jobs).fit(X[mine])
            near = model.kneighbors(return_distance=False)
            rows.append(np.repeat(mine, many))
            columns.append(mine[near].ravel())
    pairs = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(pairs[0].size, dtype=bool), pairs), shape=(len(X), len(X)))


class TripletMargin:
    """The loss of given triplets and its derivative by M."""

    def __init__(self, triplets: np.ndarray, weight: np.ndarray, push: float) -> None:
        self.near, self.far = (triplets[:, 0] - triplets[:, k] for k in (1, 2))
        self.weight, self.push = weight, push

    def __call__(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        near, far = (((V @ L.T) ** 2).sum(axis=1) for V in (self.near, self.far))
        hinge = np.maximum(1.0 + near - far, 0.0)
        pull, push = (1.0 - self.push) * self.weight, self.push * self.weight
        active = np.where(hinge > 0, push, 0.0)
        slope = (self.near.T * (pull + active)) @ self.near - (self.far.T * active) @ self.far
        return float(pull @ near + push @ hinge), slope


def loss_of(margin: Any, size: int) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """The loss and its gradient by the entries of L: 2 L (dloss/dM)."""

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        L = x.reshape(size, -1)
        value, slope = margin(L)
        return value, 2.0 * (L @ slope).ravel()

    return loss
