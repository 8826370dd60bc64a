"""OWL-QN: L-BFGS for a smooth function plus an L1 penalty."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.steps import Steps
from tercet.optimize.descent import (
    StoppingCriteria,
    check_start,
    initial_point,
    make_result,
    standalone_loop,
    takes_shared_options,
)
from tercet.optimize.lbfgs import LimitedMemory
from tercet.optimize.objective import as_objective


@takes_shared_options
def owlqn(
    objective: Any,
    x0: Any,
    *,
    l1: Any = 1.0,
    memory: int = 10,
    tol: float = 1e-6,
    max_iter: int = 1000,
    steps: Callable[..., Steps] | None = None,
    stop: Any = "gradient",
    norm: float = math.inf,
) -> OptimizeResult:
    """Minimise f(x) + Σ l1_j |x_j| (Andrew and Gao, 2007).

    Within one orthant the penalty is linear. Each pass chooses the orthant that the steepest descent direction
    points into, takes the L-BFGS direction in the subspace of the variables that may leave zero (Schmidt's variant:
    the original projection of the full direction is slow near the end), and projects the step onto the orthant.
    `jac` of the result is the minimum-norm subgradient.

    Parameters
    ----------
    objective, x0, tol, max_iter, steps, stop, norm
        As in `minimize`; the objective is the smooth part.
    l1 : float or array of shape (n,)
        The weights of the penalty, zero for variables without it.
    memory : int, default=10
        Number of updates kept.

    Examples
    --------
    >>> from tercet.optimize import Quadratic
    >>> owlqn(Quadratic([[2, 0], [0, 2]], [3, 1]), [0, 0], l1=1.0).x
    array([1., 0.])
    """
    objective, criteria, x = as_objective(objective), StoppingCriteria(tol, stop, norm), initial_point(x0)
    l1 = np.broadcast_to(np.asarray(l1, dtype=float), x.shape)
    if not (l1 >= 0).all():
        raise ValueError(f"l1 must be a number or an array in [0, inf); got {l1!r}.")
    method = LimitedMemory(x.size, memory)
    f, g = objective.value_and_gradient(x)
    check_start(f, g)
    total, down = f + float(l1 @ np.abs(x)), -subgradient(x, g, l1)
    loop = (steps or standalone_loop)(max_iter)
    moves, grad_norm = 0, criteria.norm(down)
    reason = criteria.met(grad_norm)
    for step in loop:
        if reason is None:
            noise = 4 * objective.precision * abs(total)
            orthant = np.where(x != 0, np.sign(x), np.sign(down))
            found = None
            while found is None:
                p = method.direction_within((x != 0) | (down != 0), -down)
                p[(x == 0) & (p * down <= 0)] = 0.0
                scale = 1.0 if method.order or not p.any() else 1 / float(np.linalg.norm(p))
                found = (
                    _backtrack(objective, x, total, down, p, orthant, l1, scale, noise) if p.any() else None
                )
                if found is None and not method.reset():
                    break
            if found is None:
                reason = "precision" if float(down @ p) <= 100 * noise else "failed"
            else:
                new, f, g_new, lower = found
                delta, change = new - x, abs(total - lower)
                method.update(1.0, delta, g_new - g)
                x, g, total, moves = new, g_new, lower, moves + 1
                down = -subgradient(x, g, l1)
                grad_norm = criteria.norm(down)
                reason = criteria.met(grad_norm, change, criteria.norm(delta))
                if reason is None and criteria.stalled(total, grad_norm, noise):
                    reason = "precision"
        step.report(x, fun=total, grad_norm=grad_norm, zeros=int((x == 0).sum()))
        if step.converged(reason is not None and reason != "failed") or reason == "failed":
            break
    return make_result(loop, reason, objective, x=x, fun=total, jac=-down, grad_norm=grad_norm, nit=moves)


def subgradient(x: np.ndarray, g: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Minimum-norm subgradient of f + Σ l1|x|."""
    at_zero = np.sign(g) * np.maximum(np.abs(g) - l1, 0.0)
    return np.where(x != 0, g + l1 * np.sign(x), at_zero)


def _backtrack(
    objective: Any, x: Any, total: Any, down: Any, p: Any, orthant: Any, l1: Any, step: Any, noise: Any
) -> Any:
    """Projected backtracking along p (Armijo's rule): the point, f, its gradient and f + penalty there."""
    for _ in range(60):
        new = x + step * p
        new[new * orthant <= 0] = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            f, g = objective.value_and_gradient(new)
        lower, predicted = f + float(l1 @ np.abs(new)), float(down @ (new - x))
        if lower <= total - 1e-4 * predicted or (lower <= total + noise and predicted <= noise):
            return new, f, g, lower
        step *= 0.5
    return None
