"""Newton's method (牛顿法) for logistic regression, and its economical form for many rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.steps import Steps
from tercet.linear_model._logistic.hessian_solver import HessianSolver
from tercet.linear_model._logistic.logistic_objective import LogisticObjective

Array = np.ndarray
LARGE = 1_000_000  # entries of X from which the economical form pays
SAMPLE = 16  # one row in so many makes the sample of the start
ENOUGH = 200  # rows per parameter from which a sample gives a good start
KEEP = 0.2  # a Hessian that still shrinks the gradient to this share is kept


def newton(
    objective: LogisticObjective,
    theta: Array,
    *,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps] = Steps,
    economical: bool = False,
) -> Array:
    """θ <- θ - H^-1 g until no component of g exceeds tol (004 eq. 3.29-3.31, 002 eq. 1.21).

    A step that does not lower f is halved until it does, so that the method converges from any start.

    With `economical` it starts from the solution for a sample of the rows, computes Hessians in float32 (the
    gradient, which decides where it ends, is exact), and keeps a Hessian while it still shrinks the gradient:
    about two Hessians of the whole data instead of one in every pass.
    """
    economical = economical and objective.X.shape[0] * objective.X.shape[1] >= LARGE
    if economical:
        theta, _ = sample_solution(objective, theta)
    dtype = np.float32 if economical else np.float64
    f, g = objective.value_and_gradient(theta)
    solve: HessianSolver | None = None
    loop = steps(max_iter, hint="Scale the features, raise max_iter or tol, or lower C.")
    for step in loop:
        if solve is None:
            solve, fresh = HessianSolver(objective, theta, dtype), True
        p = -solve(g)
        point = backtrack(objective, theta, f, g, p)
        if point is None and not (fresh and dtype is np.float64):  # an exact Hessian here may do better
            dtype = np.float64 if fresh else dtype
            solve, fresh = HessianSolver(objective, theta, dtype), True
            p = -solve(g)
            point = backtrack(objective, theta, f, g, p)
        before, decrement = np.abs(g).max(), -float(g @ p)
        at_rounding_level = max(decrement, solve.singular_part(g)) <= 100 * objective.rounding_level(f, theta)
        if point is not None:
            theta, f, g = point
        size = float(np.abs(g).max())
        at_rounding_level = at_rounding_level and size > 0.5 * before
        step.report(theta, fun=f, grad_norm=size, decrement=decrement)
        if step.converged(size <= tol or at_rounding_level):
            break
        if point is None:
            loop.warn(f"stopped in pass {step.count}: no lower point was found")
            break
        shrinks = size <= KEEP * before
        if (
            economical and fresh and not shrinks and decrement < 1e-3
        ):  # close, yet float32 does not get closer
            dtype = np.float64
        fresh = False
        if not (economical and shrinks):
            solve = None
    return theta


def sample_solution(objective: LogisticObjective, theta: Array) -> tuple[Array, LogisticObjective | None]:
    """The solution for a sample of the rows, and the sample's objective; theta and None where rows are few."""
    n, d = objective.X.shape
    if n < ENOUGH * objective.size or n * d < LARGE or objective.loss != "log":
        return theta, None
    sample = objective.sample(SAMPLE)
    weight = sample.weight if sample.weight is not None else np.ones(sample.y.size)
    if np.bincount(sample.y, weight, objective.n_classes).min() <= 0:
        return theta, None
    if theta.any():  # a given start is better than that of a sample
        return theta, sample
    noise = sample.size / sample.y.size  # the sampling error of f; a more exact solution is of no use

    def steps(limit: int, **options: Any) -> Steps:
        return SilentSteps(limit, watch=lambda step: step.measures["decrement"] <= noise)

    return newton(sample, theta, tol=0.0, max_iter=100, steps=steps, economical=True), sample


def backtrack(
    objective: LogisticObjective, theta: Array, f: float, g: Array, p: Array
) -> tuple[Array, float, Array] | None:
    """Backtracking line search: the first of θ + p, θ + p/2, ... with Armijo's decrease, and f and g there.

    None where no such point is found.
    """
    slope = float(g @ p)
    noise = objective.rounding_level(f, theta)
    size = np.abs(g).max()
    for halvings in range(40):
        step = 0.5**halvings
        point = theta + step * p
        value, gradient = objective.value_and_gradient(point)
        if value <= f + 1e-4 * step * slope:
            return point, value, gradient
        if value <= f + noise and np.abs(gradient).max() < size:  # f cannot tell them apart
            return point, value, gradient
        if -slope <= noise:
            return None
    return None


class SilentSteps(Steps):
    """Suppresses warnings: the loop is a part of another fit, whose caller reports failures."""

    def warn(self, reason: str) -> None:
        pass
