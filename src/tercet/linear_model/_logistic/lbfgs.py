"""L-BFGS for logistic regression, preconditioned by a sample where rows are many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.steps import Steps
from tercet.linear_model._logistic.hessian_solver import HessianSolver
from tercet.linear_model._logistic.logistic_objective import LogisticObjective
from tercet.linear_model._logistic.newton import sample_solution
from tercet.optimize import minimize

Array = np.ndarray


def preconditioned_lbfgs(
    objective: LogisticObjective, theta: Array, *, tol: float, max_iter: int, steps: Callable[..., Steps]
) -> Array:
    """L-BFGS; where rows are many, from the solution for a sample and preconditioned by the inverse Hessian there.

    That is L-BFGS in variables u with θ = T u, in which the Hessian is close to the identity.
    """
    begin, sample = sample_solution(objective, theta)
    solver = None if sample is None else HessianSolver(sample, begin, np.float32)
    if solver is None or solver.L is None:
        return minimize(objective, begin, method="lbfgs", tol=tol, max_iter=max_iter, steps=steps).x
    preconditioned = PreconditionedObjective(objective, solver.inverse_root(), begin)

    def watch(step: Steps) -> bool:  # the stopping rule is about θ
        step.measures["grad_norm"] = preconditioned.gradient_norm(step.state)
        return step.measures["grad_norm"] <= tol

    def preconditioned_steps(limit: int, **options: Any) -> Steps:
        return steps(limit, to_theta=preconditioned.theta, watch=watch, **options)

    zero = np.zeros(begin.size)
    found = minimize(
        preconditioned, zero, method="lbfgs", tol=0.0, max_iter=max_iter, steps=preconditioned_steps
    )
    return preconditioned.theta(found.x)


class PreconditionedObjective:
    """An objective as a function of u, where θ = begin + T u, with T times a number that makes |g(0)| = 1.

    The first step of L-BFGS has length 1: that makes it the Newton step of the sample.
    """

    def __init__(self, objective: LogisticObjective, T: Array, begin: Array) -> None:
        self.objective, self.begin, self.precision = objective, begin, objective.precision
        f, g = objective.value_and_gradient(begin)
        self.T = T * max(float(np.linalg.norm(T.T @ g)), np.finfo(float).tiny)
        self.first = f, self.T.T @ g
        self.latest: tuple[Array | None, float] = None, np.inf

    def theta(self, u: Array) -> Array:
        return self.begin + self.T @ u

    def value(self, u: Array) -> float:
        return self.value_and_gradient(u)[0]

    def gradient(self, u: Array) -> Array:
        return self.value_and_gradient(u)[1]

    def value_and_gradient(self, u: Array) -> tuple[float, Array]:
        if not u.any():
            return self.first
        f, g = self.objective.value_and_gradient(self.theta(u))
        self.latest = u, float(np.abs(g).max())
        return f, self.T.T @ g

    def gradient_norm(self, u: Array) -> float:
        """The largest component of the gradient in θ; known already where u was the last point asked for."""
        if self.latest[0] is not u:
            self.latest = u, float(np.abs(self.objective.gradient(self.theta(u))).max())
        return self.latest[1]
