"""Coordinate ascent (坐标上升) on the dual of a support vector machine: one multiplier at a time.

SMO moves two multipliers at a time, because y·alpha = 0 leaves no room for one alone (Machine Learning in
Depth sec. 4.4.2). One alone
can move when the constraint has a multiplier and a penalty instead: b is the multiplier,

    max over alpha of  -alpha'Q alpha / 2 - p·alpha - b (y·alpha) - rho / 2 (y·alpha)²,   0 <= alpha_i <= C_i

and after passes that have come near its maximum b grows by rho times what y·alpha still is (method of multipliers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.catalog import method
from tercet.core.kernel import kernel
from tercet.core.steps import Steps
from tercet.svm._dual.problem import DualSolution
from tercet.svm.kkt import evaluated_solution
from tercet.svm.smo import dual_arrays

__all__ = ["coordinate_ascent"]


@method(
    zh="坐标上升法求解支持向量机",
    task="optimisation",
    model="α of the dual of a support vector machine",
    strategy="the dual's objective as a function of one α, all others held; b is the multiplier of Σ α y = 0",
    algorithms="closed form, clipped to the bounds; each row in turn",
    texts=["Machine Learning in Depth ch. 4, sec. 4.4.2"],
)
def coordinate_ascent(
    K: Any,
    y: Any = None,
    C: Any = None,
    *,
    p: Any = None,
    start: Any = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    rho: float | None = None,
    steps: Callable[..., Steps] | None = None,
) -> DualSolution:
    """Solve the dual of a support vector machine by coordinate ascent.

    Parameters
    ----------
    K : array of shape (n, n), or DualProblem
        The Gram matrix; or the whole problem, in place of y, C, p and start.
    y : array of shape (n,)
        -1 or +1.
    C : float or array of shape (n,)
        Upper bounds of alpha; inf is the hard margin.
    p : array of shape (n,), optional
        The linear part of the minimised objective; -1 by default.
    start : array of shape (n,), optional
        Where to begin; zero by default. y·start is kept.
    tol : float, default=1e-3
        Tolerance of the KKT conditions.
    max_iter : int, default=10000
        The most passes.
    rho : float, optional
        The penalty parameter; by default the mean of K's diagonal.
    steps : callable, optional
        Makes the loop (see `core.steps`).

    Returns
    -------
    DualSolution

    Examples
    --------
    >>> K, y = [[18, 21, 6], [21, 25, 7], [6, 7, 2]], [1, 1, -1]
    >>> found = coordinate_ascent(K, y, C=10.0, tol=1e-9)
    >>> found.alpha.round(6), round(found.b, 6), found.converged
    (array([0.25, 0.  , 0.25]), -2.0, True)
    """
    K, y, C, p, alpha = dual_arrays(K, y, C, p, start)
    level = float(y @ alpha)
    rho = float(rho or max(np.abs(K.diagonal()).mean(), 1e-300))
    F, b = K @ (alpha * y), 0.0
    found = evaluated_solution(K, y, p, C, alpha, tol=tol, n_iter=0)
    loop = (steps or Steps)(max_iter, name="pass", hint="Raise max_iter or tol, or lower C.")
    for step in loop:
        worst = ascent_pass(K, y, p, C, alpha, F, b, rho, level)
        excess = float(y @ alpha) - level
        found = evaluated_solution(K, y, p, C, balanced(alpha, y, level), tol=tol, n_iter=loop.count)
        step.report((found.alpha, found.b), objective=found.objective, violation=found.violation)
        if step.converged(found.converged):
            break
        if worst <= max(0.1 * rho * abs(excess), 1e-14 * rho * float(alpha.sum())):
            b += rho * excess
        if not np.isfinite(F).all():
            found.message = "unbounded"
            break
    return found


def balanced(alpha: np.ndarray, y: np.ndarray, level: float) -> np.ndarray:
    """alpha with y·alpha = level: the multipliers of one sign are scaled down."""
    plus, minus = float(alpha[y > 0].sum()), float(alpha[y < 0].sum())
    if plus - minus > level and plus > 0:
        return np.where(y > 0, alpha * max(0.0, (minus + level) / plus), alpha)
    return np.where(y < 0, alpha * max(0.0, (plus - level) / minus), alpha) if minus > 0 else alpha.copy()


@kernel
def ascent_pass(K, y, p, C, alpha, F, b, rho, level):
    """Each alpha in turn to where the objective is greatest; returns the largest projected gradient met.

    Shapes: K (n, n), F = K (y alpha) and all others (n,). Updates alpha and F.
    """
    n = alpha.size
    excess, worst = -level, 0.0
    for i in range(n):
        excess += y[i] * alpha[i]
    for i in range(n):
        slope = y[i] * (F[i] + b + rho * excess) + p[i]
        row = K[i]
        new = alpha[i] - slope / max(row[i] + rho, 1e-300)
        new = min(max(new, 0.0), C[i])
        change = y[i] * (new - alpha[i])
        if change != 0.0:
            worst = max(worst, abs(slope))
            alpha[i] = new
            excess += change
            for k in range(n):
                F[k] += change * row[k]
    return worst
