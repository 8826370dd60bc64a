"""Proximal gradient descent (近端梯度下降): a smooth function plus a non-smooth penalty.

min over x of  f(x) + J(x),   x+ = prox(x - g / L) = argmin over u of  J(u) + L/2 |u - (x - g / L)|^2
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.steps import Steps
from tercet.optimize.descent import (
    StoppingCriteria,
    check_start,
    initial_point,
    make_result,
    standalone_loop,
    takes_shared_options,
)
from tercet.optimize.objective import as_objective
from tercet.penalties import NoPenalty

__all__ = ["fista", "ista", "proximal_gradient"]


class ProximalPenalty(Protocol):
    """Interface of the penalty, which those of `tercet.penalties` have."""

    def value(self, x: np.ndarray) -> float:
        """J(x)."""

    def prox(self, x: np.ndarray, step: float) -> np.ndarray:
        """argmin over u of step J(u) + |u - x|^2 / 2."""


@method(
    zh="近端梯度下降",
    task="optimisation",
    model="x",
    strategy="f(x) + J(x), f smooth, J with a proximal step",
    algorithms={"ista": "plain proximal steps", "fista": "with Nesterov's momentum"},
    texts=["watermelon notes ch. 10, eq. 10.8-10.13"],
    peers=["skglm.solvers.FISTA"],
)
@takes_shared_options
def proximal_gradient(
    objective: Any,
    x0: Any,
    *,
    penalty: ProximalPenalty | None = None,
    accelerate: bool = True,
    lipschitz: float | None = None,
    monotone: bool = False,
    restart: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    stop: Any = "gradient",
    norm: float = math.inf,
    steps: Callable[..., Steps] | None = None,
) -> OptimizeResult:
    """Proximal gradient descent (ISTA and FISTA): minimise a smooth function plus a penalty.

    Parameters
    ----------
    objective : callable or Objective
        The smooth part f, as `minimize` takes it.
    x0 : array-like
        The start.
    penalty : object with value(x) and prox(x, step), optional
        The other part J: one of `tercet.penalties`, for example.
    accelerate : bool, default=True
        FISTA, with error O(1/k^2); False is ISTA, the text's method, with O(1/k).
    lipschitz : float, optional
        L, the Lipschitz constant of the gradient (for a sum of squares 2 lambda_max(X'X)). By default
        found by backtracking: doubled until the quadratic model with L lies above f at the new point.
    monotone : bool, default=False
        Reject steps of FISTA that increase the value. ISTA's never do.
    restart : bool, default=True
        Restart FISTA's momentum when it points uphill.
    tol, max_iter, stop, norm, steps
        As in `minimize`; "gradient" is L (x - x+), which is the gradient where there is no penalty.

    Returns
    -------
    result : OptimizeResult
        Also has `lipschitz`, the L in use at the end.

    Examples
    --------
    >>> from tercet.penalties import L1
    >>> from tercet.optimize import Quadratic
    >>> proximal_gradient(Quadratic(np.eye(3), [3.0, -0.5, 1.0]), np.zeros(3), penalty=L1(0.8)).x
    array([2.2, 0. , 0.2])
    """
    if lipschitz is not None and not 0 < lipschitz < math.inf:
        raise ValueError(f"lipschitz must be a number in (0, inf) or None; got {lipschitz!r}.")
    objective, penalty = as_objective(objective), penalty or NoPenalty()
    criteria = StoppingCriteria(tol, stop, norm)
    x = y = initial_point(x0)
    f, g = objective.value_and_gradient(y)
    check_start(f, g)
    value, L, t = f + penalty.value(x), 1.0 if lipschitz is None else float(lipschitz), 1.0
    loop = (steps or standalone_loop)(max_iter)
    reason, grad_norm = None, math.inf
    for step in loop:
        z, f_z, L = _proximal_step(objective, penalty, y, f, g, L, search=lipschitz is None)
        grad_norm = criteria.norm(L * (z - y))
        value_z = f_z + penalty.value(z)
        rejected = monotone and accelerate and value_z > value
        new, t_new = (x if rejected else z), (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
        if restart and (y - z) @ (z - x) > 0:
            t_new = t = 1.0
        moved = criteria.norm(z - x)
        y = new + t / t_new * (z - new) + (t - 1.0) / t_new * (new - x) if accelerate else z
        change = abs(value - value_z)
        x, value, t = new, value if rejected else value_z, t_new
        step.report(x, fun=value, grad_norm=grad_norm, lipschitz=L)
        if not math.isfinite(value_z):
            reason = "diverged"
            break
        reason = criteria.met(grad_norm, change, moved)
        if step.converged(reason is not None):
            break
        f, g = objective.value_and_gradient(y)
    return make_result(
        loop, reason, objective, x=x, fun=value, jac=g, grad_norm=grad_norm, nit=loop.count, lipschitz=L
    )


def _proximal_step(objective: Any, penalty: Any, y: Any, f: Any, g: Any, L: Any, search: Any) -> Any:
    """Proximal step from y; L is doubled by backtracking if `search`."""
    while True:
        z = penalty.prox(y - g / L, 1.0 / L)
        f_z = objective.value(z)
        move = z - y
        # The tolerance keeps rounding from raising L where f is flat.
        bound = f + g @ move + L / 2 * (move @ move) + 10 * objective.precision * abs(f)
        if not search or f_z <= bound or not L < 1e300:
            return z, f_z, L
        L *= 2.0


ista = functools.partial(proximal_gradient, accelerate=False)
fista = proximal_gradient
