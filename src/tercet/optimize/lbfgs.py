"""Limited-memory BFGS (L-BFGS), for many variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.optimize.descent import DescentMethod, descend, takes_shared_options
from tercet.optimize.line_search import EPS, Ray


class LimitedMemory(DescentMethod):
    """L-BFGS direction: p = -Gg, where G is γI updated with the last pairs (δ, y).

    G is never formed: p is a linear combination of the δs, the ys and g. The two-loop recursion runs on the
    coefficients, with inner products of the pairs; long vectors enter matrix-vector products only.
    """

    def __init__(self, n: int, memory: int = 10) -> None:
        if memory < 1:
            raise ValueError(f"memory must be an integer in [1, inf); got {memory!r}.")
        self.deltas, self.ys = np.zeros((2, memory, n))
        self.dy, self.yy = np.zeros((2, memory, memory))  # δ_i·y_j and y_i·y_j
        self.order: list[int] = []  # rows in use, oldest first

    def direction(self, x: np.ndarray, g: np.ndarray) -> np.ndarray:
        if not self.order:
            return -g
        m = len(self.order)  # rows in use: the first ones, until all are
        deltas, ys = self.deltas[:m], self.ys[:m]
        a, c, gamma = two_loop_recursion(self.dy[:m, :m], self.yy[:m, :m], deltas @ g, ys @ g, self.order)
        p = (gamma * a) @ ys
        p -= c @ deltas
        p -= gamma * g
        return p

    def direction_within(self, free: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The direction in the subspace of the free variables; zero elsewhere."""
        p = np.zeros_like(g)
        deltas, ys, g = self.deltas[:, free], self.ys[:, free], g[free]
        dy, yy = deltas @ ys.T, ys @ ys.T
        order = [i for i in self.order if dy[i, i] > EPS * yy[i, i]]
        if order:
            a, c, gamma = two_loop_recursion(dy, yy, deltas @ g, ys @ g, order)
            p[free] = (gamma * a) @ ys - c @ deltas - gamma * g
        else:
            p[free] = -g
        return p

    def update(self, step: float, delta: np.ndarray, y: np.ndarray) -> None:
        if delta @ y <= EPS * (y @ y):  # without δᵀy > 0 G would not stay positive definite
            return
        full = len(self.order) == len(self.deltas)
        k = self.order.pop(0) if full else len(self.order)
        self.order.append(k)
        self.deltas[k], self.ys[k] = delta, y
        m = len(self.order)
        self.dy[:m, k], self.dy[k, :m] = self.deltas[:m] @ y, self.ys[:m] @ delta
        self.yy[:m, k] = self.yy[k, :m] = self.ys[:m] @ y

    def initial_step(self, ray: Ray) -> float:
        if self.order:
            return 1.0
        # p is -g: with a curvature of m or more, the minimum lies at 1/m or before
        return 1 / max(float(np.linalg.norm(ray.p)), ray.objective.strong_convexity)

    def reset(self) -> bool:
        forgot, self.order = bool(self.order), []
        return forgot


def two_loop_recursion(
    dy: np.ndarray, yy: np.ndarray, dg: np.ndarray, yg: np.ndarray, order: list[int]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients of Gg = γ(g - Σ a_i y_i) + Σ c_i δ_i, from inner products of δs, ys and g."""
    newest = order[-1]
    gamma = float(dy[newest, newest] / yy[newest, newest])
    a, c = np.zeros((2, len(dg)))
    for i in reversed(order):
        a[i] = (dg[i] - dy[i] @ a) / dy[i, i]
    for i in order:
        c[i] = a[i] - (gamma * (yg[i] - yy[i] @ a) + c @ dy[:, i]) / dy[i, i]
    return a, c, gamma


@takes_shared_options
def lbfgs(
    objective: Any, x0: Any, *, memory: int = 10, line_search: Any = "wolfe", **options: Any
) -> OptimizeResult:
    """L-BFGS: BFGS with the last few updates only, for many variables.

    Parameters
    ----------
    objective : callable or Objective
        f.
    x0 : array of shape (n,)
        The start.
    memory : int, default=10
        Number of updates kept.
    line_search : str, float or callable, default="wolfe"
        Choice of λ.
    **options
        As in `minimize`.

    Examples
    --------
    >>> from scipy.optimize import rosen
    >>> lbfgs(rosen, np.zeros(4)).x.round(3)
    array([1., 1., 1., 1.])
    """
    rule = LimitedMemory(np.size(x0), memory)
    return descend(objective, x0, rule, line_search=line_search or "wolfe", **options)
