"""The ball tree as flat arrays, built once and searched on several threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln

from tercet.core.parallel import Chunks, each
from tercet.core.rows import kernel_form
from tercet.core.stopping import check_stop
from tercet.neighbors._engine.ball_kernels import (
    Balls,
    build_balls,
    kernel_sums,
    nearest_in_balls,
    within_balls,
)
from tercet.neighbors._engine.ball_metrics import (
    CODES,
    NOT_METRIC,
    BallMetric,
    Dissimilarity,
    Function,
    Haversine,
)
from tercet.neighbors._engine.flat_kd_tree import lp_metric

QUERIES = 256  # queries answered by one task
KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


class FlatBallTree:
    """Exact neighbours under any metric, by a ball tree.

    Parameters
    ----------
    points : float array of shape (n, d)
        The rows.
    leaf_size : int
        Parts of so many rows are not split any more.
    metric : float, str or callable
        The power p of an L_p distance, "haversine", a name of `CODES`, or a function of two rows.
    params : dict, optional
        What else the function takes.
    n_jobs : int, optional
        Threads to search with.
    """

    method = "ball_tree"

    def __init__(
        self,
        points: np.ndarray,
        leaf_size: int,
        metric: Any,
        params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        points = kernel_form(points)
        n, d = points.shape
        self.given, self.params, self.n_jobs = metric, params or {}, n_jobs
        self.leaf_size = min(leaf_size, n)
        self.most = float(np.abs(points).max(initial=0.0))
        self.slack = {Haversine: 1e-7, Function: 1e-9}.get(type(self._metric(self.most)), (d + 8) * 1e-15)
        if metric == "haversine" and d != 2:
            raise ValueError(
                f"Haversine distance only valid in 2 dimensions, latitude and longitude; X has {d} columns."
            )
        if callable(metric):
            check_function(metric, self.params, points)
        size = 2 * (n // ((self.leaf_size + 1) // 2)) + 1
        start, stop, child = (np.empty(size, np.int64) for _ in range(3))
        balls = Balls(start, stop, child, np.empty(size), np.empty((size, d)))
        self.order = np.arange(n)
        by_means = not callable(metric) and metric not in CODES
        count = self._run(
            build_balls, points, self.order, self.leaf_size, self._metric(self.most), by_means, balls
        )
        self.balls = Balls(*(array[:count].copy() for array in balls))
        if np.isnan(self.balls.radius).any():
            raise ValueError(f"The metric gives NaN for the distance of two rows; metric={metric!r}.")
        if metric in NOT_METRIC:
            self.balls.radius[:] = np.inf
        self.points = points[self.order]

    def query(self, Q: np.ndarray, k: int, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices of the k nearest rows, in order; of equals, the smaller index first."""
        Q = kernel_form(Q)
        far, near = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        self._answer(nearest_in_balls, Q, n_jobs, far, near)
        if near.max(initial=0) == len(self.order):
            raise ValueError(f"The metric gives NaN for the distance of a query; metric={self.given!r}.")
        return far, near

    def radius(
        self, Q: np.ndarray, limits: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows no farther than a limit for each query, as (indptr, indices, distances)."""
        Q = kernel_form(Q)
        indptr = np.zeros(len(Q) + 1, dtype=np.int64)
        np.cumsum(self.counts(Q, limits, n_jobs), out=indptr[1:])
        near, far = np.empty(indptr[-1], dtype=np.int64), np.empty(indptr[-1])
        if near.size:
            count = np.zeros(len(Q), dtype=np.int64)
            self._answer(within_balls, Q, n_jobs, limits, indptr[:-1], count, shared=(near, far))
        return indptr, near, far

    def counts(self, Q: np.ndarray, limits: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """How many rows are no farther than a limit for each query."""
        Q = kernel_form(Q)
        count, none = np.zeros(len(Q), dtype=np.int64), np.zeros(len(Q), dtype=np.int64)
        nothing = np.empty(0, dtype=np.int64), np.empty(0)
        self._answer(within_balls, Q, n_jobs, limits, none, count, shared=nothing)
        return count

    def log_density(
        self,
        Q: np.ndarray,
        h: float,
        kernel: str,
        atol: float = 0.0,
        rtol: float = 0.0,
        weight: np.ndarray | None = None,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """log Σ_i w_i K_h(q, x_i) of every query; K_h is normalised in the space of the rows."""
        Q, n = kernel_form(Q), len(self.order)
        weight = np.ones(n) if weight is None else weight[self.order].astype(np.float64)
        mass = np.concatenate([[0.0], np.cumsum(weight)])
        norm = log_norm(h, self.points.shape[1], kernel)
        scale, least = np.zeros(len(Q)), np.zeros(len(Q))
        if kernel in (
            "gaussian",
            "exponential",
        ):  # relative to the nearest row, which nothing can underflow to
            with np.errstate(over="ignore"):
                u = self.query(Q, 1, n_jobs)[0][:, 0] / h
                scale, least = -0.5 * u * u if kernel == "gaussian" else -u, np.full(len(Q), weight.min())
        found = np.empty(len(Q))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            share = atol * np.exp(np.minimum(-norm - scale, 700.0)) if atol > 0 else np.zeros(len(Q))
            run = self._with_weights(weight, mass, KERNELS.index(kernel), h, rtol)
            self._answer(run, Q, n_jobs, scale, least, share, found)
            return np.where(np.isfinite(scale), np.log(found) + scale + norm, -np.inf)

    def _with_weights(self, weight: np.ndarray, mass: np.ndarray, code: int, h: float, rtol: float) -> Any:
        """`kernel_sums` with the arguments of the other searches."""

        def run(points, order, balls, slack, some, metric, scale, least, atol, found):
            return self._run(
                kernel_sums,
                *(points, weight, mass, balls, slack, some, metric),
                *(code, h, scale, least, atol, rtol, found),
            )

        return run

    def _answer(
        self, search: Callable, Q: np.ndarray, n_jobs: int | None, *by_query: np.ndarray, shared: tuple = ()
    ) -> None:
        """Search for all queries, some at a time; `by_query` are arrays with an entry for each of them."""
        metric = self._metric(max(self.most, np.abs(Q).max(initial=0.0)))
        tree = self.points, self.order, self.balls, self.slack

        def answer(chunk: tuple) -> None:
            done = 0
            while done < len(chunk[0]):
                check_stop()
                some, *arrays = (array[done:] for array in chunk)
                done += self._run(search, *tree, some, metric, *arrays, *shared)

        each(answer, Chunks(Q, *by_query, rows=QUERIES), n_jobs=self.n_jobs if n_jobs is None else n_jobs)

    def _run(self, kernel: Callable, *arguments: Any) -> int:
        """A kernel, as plain Python where the metric is a Python function."""
        return (getattr(kernel, "py_func", kernel) if callable(self.given) else kernel)(*arguments)

    def _metric(self, most: float) -> BallMetric:
        if callable(self.given):
            return Function(self.given, self.params)
        if self.given == "haversine":
            return Haversine()
        return Dissimilarity(CODES[self.given]) if self.given in CODES else lp_metric(self.given, most)


def check_function(metric: Callable, params: dict[str, Any], points: np.ndarray) -> None:
    """An error for a function that does not give numbers."""
    found = metric(points[0], points[-1], **params)
    if isinstance(found, str) or np.ndim(found) or not np.isreal(found):
        raise TypeError(
            f"Custom distance function must accept two vectors and return a float. {metric!r} gives {found!r}."
        )


def log_norm(h: float, d: int, kernel: str) -> float:
    """log of the factor that makes K(|x| / h) a density in d dimensions."""
    if kernel == "gaussian":
        return float(-d * (0.5 * np.log(2 * np.pi) + np.log(h)))
    sphere = np.log(2) + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d)  # its surface
    radial = {  # log ∫ K(u) u^(d-1) du
        "tophat": -np.log(d),
        "epanechnikov": np.log(2 / (d * (d + 2))),
        "exponential": gammaln(d),
        "linear": -np.log(d * (d + 1)),
    }
    if kernel == "cosine":
        radial["cosine"] = np.log(quad(lambda u: np.cos(0.5 * np.pi * u) * u ** (d - 1), 0, 1, epsabs=0.0)[0])
    return float(-sphere - radial[kernel] - d * np.log(h))
