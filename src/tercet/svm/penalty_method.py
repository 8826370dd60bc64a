"""The dual by a penalty function and conjugate gradients (罚函数法与共轭梯度法).

Violations of the constraints are penalised; what is left is unconstrained, and quadratic wherever the set of
violated bounds stays the same:

    alpha'Q alpha / 2 + p.alpha + rho / 2 (y.alpha - c)² + rho / 2 Σ (alpha_i beyond 0 or upper_i)²

With a finite rho the constraints are violated a little. The penalties of one round are therefore added to the
function as linear terms in the next (method of multipliers), and the violations go to zero without a huge rho, with
which conjugate gradients would be slow. Q may be singular: a proximal term, a small penalty on the distance from
the last round's alpha, makes the function strictly convex.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tercet.core.catalog import method
from tercet.core.steps import Steps
from tercet.optimize import conjugate_gradient
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm.kkt import evaluated_solution
from tercet.svm.smo import dense_dual

__all__ = ["solve_penalty"]


@method(
    zh="罚函数与共轭梯度法求解支持向量机",
    task="optimisation",
    model="alpha, the multipliers of a support vector machine",
    strategy="alpha'Q alpha / 2 + p·alpha + rho / 2 times the squared breaches of the constraints",
    algorithms="conjugate gradients; multipliers for what is breached",
    texts=["Pattern Recognition ch. 5, sec. 5.5.4"],
)
def solve_penalty(
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
    rho: float | None = None,
    steps: Callable[..., Steps] | None = None,
) -> DualSolution:
    """Solve the dual of a support vector machine by a penalty function and conjugate gradients.

    Parameters
    ----------
    problem : DualProblem
        The dual; without nu, and of few rows: the full matrix is computed.
    tol : float, default=1e-3
        The conditions of the optimum hold within tol at the end.
    max_iter : int, default=500
        The most rounds.
    rho : float, optional
        The penalty parameter; by default the mean of Q's diagonal.
    steps : callable, optional
        Makes the loop (see `core.steps`).

    Returns
    -------
    DualSolution

    Examples
    --------
    >>> from tercet.kernels import Linear
    >>> X, y = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1.0, 1, -1])
    >>> dual = DualProblem(Linear(), X, y, p=np.full(3, -1.0), upper=np.full(3, np.inf), start=np.zeros(3))
    >>> found = solve_penalty(dual, tol=1e-9)
    >>> found.alpha.round(6), round(found.b, 6)
    (array([0.25, 0.  , 0.25]), -2.0)
    """
    K, sign, upper, p, start = (np.asarray(part, dtype=float) for part in dense_dual(problem))
    Q, level, n = K * np.outer(sign, sign), float(sign @ start), sign.size
    # Curvature of the order of Q's, and so large that p does not lead far beyond the bounds.
    rho = float(rho or max(Q.diagonal().mean(), np.median(np.abs(p) / np.maximum(upper, 1e-300)), 1e-300))
    alpha = start.copy()
    bounds, balance = np.zeros(n), 0.0  # the multipliers of the bounds and of y.alpha = c
    found = evaluated_solution(K, sign, p, upper, np.clip(alpha, 0, upper), tol=tol, n_iter=0)
    loop = (steps or Steps)(max_iter, name="round")
    for step in loop:
        with np.errstate(over="ignore", invalid="ignore"):
            alpha = _minimise(Q, p, sign, level, upper, rho, alpha, bounds, balance)
        if not np.isfinite(alpha).all():
            found.message = "the kernel is not positive semidefinite"
            step.warn("stopped: there is no least value, the kernel is not positive semidefinite")
            break
        # the multiplier of a bound that is not violated is exactly 0
        bounds = rho * _bound_violation(alpha + bounds / rho, upper)
        balance += rho * (sign @ alpha - level)
        breach = max(np.abs(_bound_violation(alpha, upper)).max(), abs(sign @ alpha - level))
        size = np.abs(alpha).max()
        for near in (1e-8 * size, 0.0):  # snapped to the bounds, unless that violates the KKT conditions
            inside = _projected(alpha, upper, bounds, near)
            found = evaluated_solution(K, sign, p, upper, inside, tol=tol, n_iter=loop.count)
            if found.converged:
                break
        step.report(
            (found.alpha, found.b), objective=found.objective, violation=found.violation, breach=breach
        )
        if step.converged(found.converged and breach <= tol * (1e-6 + size)):
            break
    found.converged = bool(loop.is_converged)
    return found


def _bound_violation(alpha: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """How far alpha is above its upper bound, or (negative) below 0."""
    return alpha - np.clip(alpha, 0, upper)


def _projected(alpha: np.ndarray, upper: np.ndarray, bounds: np.ndarray, near: float) -> np.ndarray:
    """alpha, set to a bound that has a multiplier, or is as near as this."""
    low, high = (bounds < 0) | (alpha <= near), (bounds > 0) | (alpha >= upper - near)
    return np.where(low, 0.0, np.where(high, upper, alpha))


def _minimise(Q, p, sign, level, upper, rho, alpha, bounds, balance) -> np.ndarray:
    """Minimise the penalised function: conjugate gradients for the violated bounds, until these stay the same."""
    near, last = 0.01 * rho, alpha
    for _ in range(20):
        low, high = alpha + bounds / rho < 0, alpha + bounds / rho > upper
        violated = low | high
        right = rho * level * sign - balance * sign - p - np.where(violated, bounds, 0.0) + near * last
        right = right + rho * np.where(high, upper, 0.0)
        cost = near + rho * violated
        hessian_times = lambda v, cost=cost: Q @ v + rho * (sign @ v) * sign + cost * v  # noqa: E731
        alpha = conjugate_gradient(hessian_times, right, alpha, tol=1e-12).x
        if np.array_equal(low, alpha + bounds / rho < 0) and np.array_equal(
            high, alpha + bounds / rho > upper
        ):
            break
    return alpha
