"""Neighbourhood components analysis (近邻成分分析): a metric for nearest neighbours, from labels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from tercet.core.catalog import method
from tercet.core.estimator import distinct
from tercet.core.parallel import all_cores
from tercet.core.parameters import Count, Jobs, NonNegative, Seed
from tercet.metric_learning._engine.soft_neighbours import AllPairs, NearPairs
from tercet.metric_learning.base import MahalanobisLearner, dense, positive_weights
from tercet.metric_learning.initial_components import Start, check_start, initial_components, random_numbers
from tercet.metric_learning.lbfgs_passes import LBFGSPasses
from tercet.neighbors import NearestNeighbors

FULL_ROWS = 10_000  # up to which "auto" sums over all pairs
ROUND = 10  # passes with one working set


@method(
    zh="近邻成分分析（NCA）",
    task="dimensionality reduction",
    model="distance |Lx_i - Lx_j|, M = L'L; x_j is taken for the neighbour of x_i with p_ij ∝ exp(-|Lx_i - Lx_j|²)",
    strategy="most rows right when each is left out, Σ_i p_i = Σ_i Σ_{y_j = y_i} p_ij",
    convex=False,
    algorithms={
        "full": "L-BFGS with the gradient over all pairs of rows",
        "neighbors": "L-BFGS over the nearest rows of each, which are found again every ten passes",
    },
    texts=["watermelon notes ch. 8, eq. 8.27-8.30"],
    peers=["sklearn.neighbors.NeighborhoodComponentsAnalysis", "metric_learn.NCA"],
)
class NeighborhoodComponentsAnalysis(MahalanobisLearner):
    """Neighbourhood components analysis: the linear map by which nearest neighbours classify best.

    Each row draws its neighbour with p_ij = exp(-|Lx_i - Lx_j|²) / Σ_{l≠i} exp(-|Lx_i - Lx_l|²), and takes its
    label. The expected number of rows with the right label, Σ_i w_i Σ_{y_j = y_i} p_ij, is maximised over L; it is
    not convex, and the start matters. With weights, p_ij is in proportion to w_j, too.

    Parameters
    ----------
    n_components : int, optional
        Rows of L, the dimension that rows are mapped to; by default that of X.
    init : {"auto", "pca", "lda", "identity", "random"} or array of shape (n_components, n_features), default="auto"
        Where to start: at the principal components, at the directions of linear discriminant analysis, at the first
        features, at random numbers, or at a given L. "auto" is "lda" with fewer components than classes, else "pca"
        with fewer than features and rows, else "identity".
    warm_start : bool, default=False
        Start from the `components_` of the fit before.
    max_iter : int, default=50
        The most passes.
    tol : float, default=1e-5
        Stop when the objective, relative to its size, or the gradient changes by no more.
    callback : callable, optional
        Called after each pass with L as a flat array and the number of the pass.
    verbose : int, default=0
        Print the objective of each evaluation, and warn where `max_iter` passes were not enough.
    random_state : int, optional
        Decides the numbers of init="random", and the PCA of large tables.
    solver : {"auto", "full", "neighbors"}, default="auto"
        Which pairs count: all, n² of them; or those of each row with its nearest rows alone, which are found again
        every ten passes. "auto" is "full" up to 10 000 rows.
    n_neighbors : int, default=100
        How many nearest rows count with solver="neighbors".
    n_jobs : int, optional
        Threads to use, by default all cores; the result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        L.
    n_iter_ : int
    random_state_ : RandomState
        The generator that init="random" draws from.

    Examples
    --------
    >>> X = [[0.0, 3.0], [1.0, 9.0], [0.5, 0.0], [5.0, 2.0], [6.0, 8.0], [5.5, 1.0]]
    >>> model = NeighborhoodComponentsAnalysis(n_components=1).fit(X, [0, 0, 0, 1, 1, 1])
    >>> Z = model.transform(X)
    >>> bool(abs(Z[:3] - Z[:3].mean()).max() < abs(Z[:3].mean() - Z[3:].mean()))
    True
    """

    relative_weights = True

    def __init__(
        self,
        n_components: Count | None = None,
        *,
        init: Start = "auto",
        warm_start: bool = False,
        max_iter: Count = 50,
        tol: NonNegative = 1e-5,
        callback: Callable | None = None,
        verbose: int | bool = 0,
        random_state: Seed = None,
        solver: Literal["auto", "full", "neighbors"] = "auto",
        n_neighbors: Count = 100,
        n_jobs: Jobs = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.solver = solver
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    random_state_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a metric from rows X with labels y.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; learning makes a dense copy of them.
        y : array of shape (n_samples,)
            The labels: any numbers or strings.
        sample_weight : array of shape (n_samples,), optional
            How much each row counts, as a row to be classified and as a neighbour.

        Returns
        -------
        self
        """
        return self._learn(X, y, sample_weight)

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        begun, name = time.perf_counter(), type(self).__name__
        codes, weight = distinct(y)[1], positive_weights(sample_weight, X.shape[0])
        start = self._start(X, codes, sample_weight)
        shape, kept = start.shape, weight > 0
        rows, codes, weight = dense(X)[kept], codes[kept], weight[kept] / weight[kept].mean()
        rows -= rows.mean(axis=0)  # distances do not change, and do not cancel
        order = np.argsort(codes, kind="stable")
        rows, codes, weight = rows[order], codes[order], weight[order]

        def components(x: np.ndarray) -> dict[str, Any]:
            return {"components_": x.reshape(shape).astype(X.dtype)}

        tell = None if self.callback is None else self.callback
        passes = LBFGSPasses(self.steps(self.max_iter, unpack=components), "objective", -1.0, tell)
        printer = ObjectivePrinter(name) if self.verbose else None
        search = self._search_near if self._by_neighbours(len(rows)) else self._search_all
        x, converged = search(rows, codes, weight, start.ravel(), passes, printer)
        passes.finish(converged, warn=bool(self.verbose))
        if printer is not None:
            print(f"[{name}] Training took {time.perf_counter() - begun:8.2f}s.", flush=True)
        self._keep(x.reshape(shape), X.dtype)

    def _start(self, X: Any, codes: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """The transformation to start from."""
        name, d = type(self).__name__, X.shape[1]
        if X.shape[0] < 2 or (weight is not None and np.count_nonzero(weight) < 2):
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) (shape={X.shape}) while a minimum of 2 with a weight is "
                f"required by {name}."
            )
        before = getattr(self, "components_", None) if self.warm_start else None
        if before is not None and before.shape[1] != d:
            raise ValueError(
                f"{name}: The new inputs dimensionality ({d}) does not match the input dimensionality of the "
                f"previously learned transformation ({before.shape[1]})."
            )
        check_start(name, self.init, self.n_components, d)
        self.random_state_ = random_numbers(self.random_state)
        if before is not None:
            return before.astype(np.float64)
        rows = dense(X)
        return initial_components(
            rows, codes, self.n_components, self.init, self.random_state_, weight=weight, verbose=self.verbose
        )

    def _by_neighbours(self, n: int) -> bool:
        return self.solver == "neighbors" or (self.solver == "auto" and n > FULL_ROWS)

    def _search_all(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, x0: np.ndarray, passes: Any, printer: Any
    ) -> tuple[np.ndarray, bool]:
        """L-BFGS with the sum over all pairs."""
        pairs = AllPairs(X, y, weight, all_cores(self.n_jobs))
        found = passes.run(loss_of(pairs, x0.size // X.shape[1], printer), x0, tol=self.tol)
        return found.x, bool(found.success)

    def _search_near(
        self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, x0: np.ndarray, passes: Any, printer: Any
    ) -> tuple[np.ndarray, bool]:
        """Rounds of L-BFGS, each over the nearest rows at its start, until a round brings next to nothing."""
        (n, d), n_jobs, x = X.shape, all_cores(self.n_jobs), x0
        k, size = min(self.n_neighbors, n - 1), x0.size // d
        while passes.left:
            search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(X @ x.reshape(size, d).T)
            near = search.kneighbors(return_distance=False)
            pairs = NearPairs(X, y, weight, near, n_jobs)
            loss = loss_of(pairs, size, printer)
            before = loss(x)[0]
            found = passes.run(loss, x, tol=self.tol, limit=None if k == n - 1 else ROUND)
            x = found.x
            small = before - found.fun <= self.tol * max(abs(found.fun), 1.0)
            if small or (k == n - 1 and found.success):
                return x, True
        return x, False


def loss_of(pairs: Any, size: int, printer: Any = None) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Minus the sum of probabilities, and its gradient by the entries of L: -2 L (dΣ/dM)."""

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        begun = time.perf_counter()
        L = x.reshape(size, -1)
        value, slope = pairs(L)
        if printer is not None:
            printer.line(value, time.perf_counter() - begun)
        return -value, -2.0 * (L @ slope).ravel()

    return loss


class ObjectivePrinter:
    """Lines of a table of the objective, one for each evaluation."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def line(self, value: float, seconds: float) -> None:
        """Print a line, after the head of the table if it is the first."""
        if self.count == 0:
            head = f"{'Iteration':>10} {'Objective Value':>20} {'Time(s)':>10}"
            print(f"[{self.name}]\n[{self.name}] {head}\n[{self.name}] {'-' * len(head)}")
        self.count += 1
        print(f"[{self.name}] {self.count:>10} {value:>20.6e} {seconds:>10.2f}", flush=True)


def leave_one_out_probabilities(
    X: Any, y: Any, components: Any = None, sample_weight: Any = None
) -> np.ndarray:
    """The probabilities p_i that rows, left out, get their own label from a drawn neighbour, in plain form.

    p_i = Σ_{y_j = y_i} p_ij, p_ij = exp(-|Lx_i - Lx_j|²) / Σ_{l≠i} exp(-|Lx_i - Lx_l|²). Their sum is what
    `NeighborhoodComponentsAnalysis` maximises.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,)
        The labels.
    components : array of shape (n_components, n_features), optional
        L; by default the identity.
    sample_weight : array of shape (n_samples,), optional
        How much each row counts as a neighbour.

    Returns
    -------
    p : array of shape (n_samples,)

    Examples
    --------
    >>> leave_one_out_probabilities([[0, 0], [1, 0], [0, 2], [3, 1]], [0, 0, 1, 1]).round(4)
    array([0.9525, 0.9647, 0.0018, 0.0066])
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    Z = X if components is None else X @ np.asarray(components, dtype=np.float64).T
    square = ((Z[:, None] - Z) ** 2).sum(axis=2)  # |Lx_i - Lx_j|²
    np.fill_diagonal(square, np.inf)  # l ≠ i
    P = np.exp(square.min(axis=1, keepdims=True) - square)
    if sample_weight is not None:
        P *= np.asarray(sample_weight, dtype=np.float64)
    P /= P.sum(axis=1, keepdims=True)  # (8.27)
    return (P * (y[:, None] == y)).sum(axis=1)  # (8.28)
