"""The last digits of a small machine.

A solver that stops within tol leaves an answer that depends on the way it came: a row of weight 2 and the same
row twice give models that differ by tol. Where few variables are inside their bounds, a linear system gives what
all ways lead to: the gradients of those variables are one multiple of their signs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tercet.kernels import Precomputed
from tercet.svm.problem import Problem, Solution

MOST = 1000  # variables of a machine that is small
FREE = 300  # of them inside their bounds
TRACE = 1e-13  # of the upper bound: what rounding leaves of a multiplier, if that much has no say in f
EXACT = 1e-11  # a violation this small, beside the gradient, is rounding


def small(problem: Problem) -> bool:
    """Whether a machine is so small that its last digits cost little."""
    return problem.sign.size <= MOST and problem.X.shape[0] <= MOST


def with_gram(problem: Problem, n_jobs: int | None = None) -> Problem:
    """The same problem with its Gram matrix for a kernel."""
    if getattr(problem.kernel, "matrix", None) is not None and problem.kernel.matrix.dtype == np.float64:
        return problem
    X = problem.X.astype(np.float64) if problem.X.dtype == np.float32 else problem.X
    gram = problem.kernel.gram(X, X, n_jobs=n_jobs).astype(np.float64, copy=False)
    return replace(problem, kernel=Precomputed(gram), X=np.arange(gram.shape[0]))


def polish(problem: Problem, found: Solution, again: Callable[[Problem, float, int], Solution]) -> Solution:
    """The solution of a small machine to the last digits.

    Parameters
    ----------
    problem, found : Problem, Solution
        With the Gram matrix for a kernel.
    again : callable
        Solves a problem to a tolerance in a number of steps.
    """
    if not found.converged:
        return found
    rounding = EXACT * _size(problem, found)
    exact = newton(problem, snapped(problem, found))
    if exact is not None and exact.violation <= rounding:
        return exact
    near = again(replace(problem, start=found.alpha), rounding, 2 * found.alpha.size)
    near = replace(near, n_iter=found.n_iter + near.n_iter, converged=True, message="")
    best = near if near.violation <= found.violation else found
    best = snapped(problem, best)
    return newton(problem, best) or measured(problem, best)


def snapped(problem: Problem, found: Solution) -> Solution:
    """With multipliers at their bounds that only rounding keeps from there: they have no say in b."""
    upper, alpha = problem.upper, found.alpha
    # A bound of 1e12, or K of 1e12, must not make a trace of what f is made of.
    K = np.abs(problem.kernel.matrix[problem.X, problem.X]).max()
    unseen = EXACT * _size(problem, found) / max(float(K), 1e-300)
    trace = np.where(np.isfinite(upper), np.minimum(TRACE * upper, unseen), TRACE * alpha.max(initial=0.0))
    alpha = np.where(alpha < trace, 0.0, np.where(alpha > upper - trace, upper, alpha))
    return replace(found, alpha=alpha)


def _size(problem: Problem, found: Solution) -> float:
    """How large gradients are, whatever the units of K and p."""
    return max(float(np.abs(problem.p).max()), float(np.abs(found.gradient).max()), 1e-300)


def newton(problem: Problem, found: Solution) -> Solution | None:
    """Move the variables inside their bounds to where their gradients agree; None when that leads out of them."""
    alpha, sign, upper = found.alpha, problem.sign, problem.upper
    row = np.arange(alpha.size) if problem.row is None else problem.row
    F = np.flatnonzero((alpha > 0) & (alpha < upper))
    if not 0 < F.size <= FREE:
        return None
    K = problem.kernel.matrix[np.ix_(problem.X[row], problem.X[row[F]])]
    Q = sign[:, None] * K * sign[F]
    ridge = np.zeros(alpha.size) if problem.ridge is None else problem.ridge[row]
    Q[F, np.arange(F.size)] += ridge[F]
    sides = [sign[F] > 0, sign[F] < 0] if problem.nu else [np.ones(F.size, dtype=bool)]
    S = np.stack([sign[F] * side for side in sides if side.any()], axis=1)
    scale = max(float(np.abs(Q[F].diagonal()).mean()), 1e-300)
    system = np.block([[Q[F] + 1e-9 * scale * np.eye(F.size), S], [S.T, np.zeros((S.shape[1], S.shape[1]))]])
    move, gradient = np.zeros(F.size), found.gradient
    try:
        for _ in range(4):  # the ridge that makes the system regular is taken out again by the next round
            right = np.concatenate([-(gradient + Q @ move)[F], np.zeros(S.shape[1])])
            move = move + np.linalg.solve(system, right)[: F.size]
    except np.linalg.LinAlgError:
        return None
    inside = alpha[F] + move
    if not np.all((inside > 0) & (inside < upper[F])):
        return None
    alpha = alpha.copy()
    alpha[F] = inside
    polished = measured(problem, replace(found, alpha=alpha, gradient=gradient + Q @ move))
    return polished if polished.violation <= found.violation else None


def measured(problem: Problem, found: Solution) -> Solution:
    """A solution with b, rho, interval, objective and violation as its multipliers and gradient have them."""
    alpha, sign, upper = found.alpha, problem.sign, problem.upper
    asks = -sign * found.gradient  # what each variable asks b to be
    free = (alpha > 0) & (alpha < upper)
    rises, falls = np.where(sign > 0, alpha < upper, alpha > 0), np.where(sign > 0, alpha > 0, alpha < upper)
    sides = [sign > 0, sign < 0] if problem.nu else [np.ones(sign.size, dtype=bool)]
    levels, ends = [], []
    for side in sides:
        ends.append((asks[rises & side].max(initial=-np.inf), asks[falls & side].min(initial=np.inf)))
        known = asks[free & side]
        levels.append(np.mean(known if known.size else [e for e in ends[-1] if np.isfinite(e)] or [0.0]))
    b, rho = (levels[0], found.rho) if not problem.nu else (np.mean(levels), (levels[1] - levels[0]) / 2)
    if not np.isfinite(b + rho):
        return replace(found, violation=np.inf)
    return replace(
        found,
        b=float(b),
        rho=float(rho),
        interval=(float(ends[0][0]), float(ends[0][1])),
        objective=float(alpha @ (found.gradient + problem.p)) / 2,
        violation=float(max(0.0, *(low - high for low, high in ends))),
    )
