"""Multi-start optimisation (多组初始化)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method as card
from tercet.core.estimator import generator
from tercet.core.parallel import each
from tercet.optimize.global_search import check_bounds
from tercet.optimize.minimize import minimize


@card(
    zh="多组初始化",
    task="optimisation",
    model="f(x)",
    strategy="the lowest of several local minima",
    algorithms="a local method from each of several starts",
    texts=["Machine Learning in Depth ch. 2", "watermelon notes ch. 3"],
    peers=["scipy.optimize.basinhopping"],
)
def multi_start(
    fun: Any,
    starts: Any = 10,
    *,
    bounds: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    **options: Any,
) -> OptimizeResult:
    """Multi-start: minimise from several starts and keep the best result.

    Parameters
    ----------
    fun : callable or Objective
        f, as in `minimize`.
    starts : int or array of shape (k, n), default=10
        The starts, or how many to draw uniformly within the bounds.
    bounds : array of shape (n, 2), optional
        Lower and upper ends for the draws; the search itself may leave them.
    random_state : int, Generator or None
        Seed of the draws.
    n_jobs : int, optional
        Number of threads.
    **options
        The method and its options, as in `minimize`.

    Returns
    -------
    OptimizeResult
        The best run; `runs` has all of them, in the order of the starts.

    Examples
    --------
    >>> wave = lambda x: float(np.sin(3 * x[0]) + x[0] ** 2 / 10)
    >>> multi_start(wave, 8, bounds=[(-6, 6)], random_state=0).x.round(4)
    array([-0.5122])
    """
    if np.ndim(starts) == 0:
        low, high = check_bounds(bounds)
        points = generator(random_state).uniform(low, high, size=(int(starts), low.size))
    else:
        points = np.atleast_2d(np.asarray(starts, dtype=float))
    if len(points) == 0:
        raise ValueError(f"starts must be at least 1 start; got {starts!r}.")
    runs = each(lambda x0: minimize(fun, x0, **options), list(points), n_jobs=n_jobs)
    best = min(runs, key=lambda run: run.fun if math.isfinite(run.fun) else math.inf)
    return OptimizeResult(best, runs=runs)
