"""Gradient descent (梯度下降法)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.optimize.descent import DescentMethod, descend, takes_shared_options
from tercet.optimize.line_search import Ray


class SteepestDescent(DescentMethod):
    """p = -g; the first trial step is the one with the first-order decrease of f of the last step."""

    def __init__(self) -> None:
        self.last: tuple[float, float] | None = None
        self.slope = 0.0

    def initial_step(self, ray: Ray) -> float:
        self.slope = ray.start.slope
        if self.last is None:
            return 1 / max(float(np.linalg.norm(ray.p)), 1e-300)
        step, slope = self.last
        return step * min(slope / self.slope, 10.0)

    def update(self, step: float, delta: np.ndarray, y: np.ndarray) -> None:
        self.last = (step, self.slope)


@method(
    zh="梯度下降法",
    task="optimisation",
    model="f(x), differentiable",
    strategy="a local minimum of f; the global one where f is convex",
    algorithms="x + λp with p = -g(x) and λ from a line search, or fixed",
    texts=["Li app. A, Alg A.1", "Machine Learning in Depth ch. 2", "Studies ML ch. 5"],
    peers=["scipy.optimize.minimize"],
)
@takes_shared_options
def gradient_descent(
    objective: Any, x0: Any, *, line_search: Any = "exact", **options: Any
) -> OptimizeResult:
    """Gradient descent: steps along -g with a line search.

    Parameters
    ----------
    objective : callable or Objective
        f.
    x0 : array of shape (n,)
        The start.
    line_search : {"exact", "exact-global", "wolfe", "weak-wolfe", "armijo"}, float or callable, default="exact"
        Choice of λ; a number is a fixed step, the learning rate.
    **options
        As in `minimize`; the three stopping criteria of the text are `stop=("gradient", "value", "step")`.

    Examples
    --------
    >>> gradient_descent(lambda x: float((x - 3) @ (x - 3)), [0.0], line_search=0.1).x.round(4)
    array([3.])
    """
    return descend(objective, x0, SteepestDescent(), line_search=line_search or "exact", **options)
