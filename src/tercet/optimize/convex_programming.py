"""Convex programming (凸规划) for small dense problems, with its multipliers.

    min over x of  f(x)   subject to  c_i(x) <= 0,  h_j(x) = 0,   f and c_i convex, h_j affine

A primal-dual interior point method: Newton's method on the KKT conditions, in which c_i(x) + s_i = 0 with slacks
s_i > 0, and alpha_i s_i = 0 is relaxed to alpha_i s_i = mu. The start need not be feasible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.optimize import OptimizeResult

from tercet.core.catalog import method
from tercet.core.steps import Steps, history_table
from tercet.optimize.descent import initial_point
from tercet.optimize.objective import as_objective

__all__ = ["solve_convex", "strictly_feasible_point"]

CENTRED = 10.0  # times mu: a residual with which the barrier problem of mu counts as solved
SMALLEST_MU = 1e-12
TO_BOUNDARY = 0.995  # of the way to the boundary of s > 0 and alpha > 0 that a step may go
DECREASE = 1e-4  # of the decrease of the residual that the linear model predicts
HALVINGS = 40  # of a step, after which the residual is at the limit of its derivatives' precision
REGULARISATION = 1e-10  # of the linear system, so that dependent equalities do not make it singular
ENOUGH = 1e-6  # relative residual that counts as solved where the precision of the derivatives allows no less
PHASE_ONE_ITERATIONS = 100
UNBOUNDED = 1e12  # x or f this large means that f is unbounded below on the feasible set
NOT_CONVEX = 1e-4  # relative size of a negative eigenvalue of the Hessian that is no rounding error
MESSAGES = (
    "Solved.",
    "Not converged: the KKT conditions are off by {worst:.3g}.",
    "The constraints contradict one another.",
    "f is unbounded below where the constraints hold.",
    "The problem is not convex: the Hessian of the Lagrange function at x has a negative eigenvalue.",
)


class Iterate(NamedTuple):
    """Point of the interior point method, with the functions and their first derivatives there.

    Attributes
    ----------
    x, s, alpha, beta : variables, slacks, multipliers of the inequalities and of the equalities.
    f, c, h : values; c of shape (m,), h of shape (k,).
    g, C, H : gradient of f, Jacobians of c and h, of shapes (n,), (m, n) and (k, n).
    """

    x: np.ndarray
    s: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    f: float
    c: np.ndarray
    h: np.ndarray
    g: np.ndarray
    C: np.ndarray
    H: np.ndarray

    @property
    def stationarity(self) -> np.ndarray:
        """The gradient of the Lagrange function."""
        return self.g + self.alpha @ self.C + self.beta @ self.H

    @property
    def finite(self) -> bool:
        return math.isfinite(self.f) and all(
            bool(np.isfinite(part).all()) for part in (self.c, self.h, self.g, self.C, self.H)
        )

    @property
    def unbounded(self) -> bool:
        """Whether x or f is so large that f has no lower bound."""
        return max(float(np.abs(self.x).max()), -self.f) > UNBOUNDED

    def residual(self, mu: float) -> np.ndarray:
        """The KKT conditions with alpha_i s_i = mu; 0 on the central path."""
        return np.concatenate([self.stationarity, self.c + self.s, self.h, self.alpha * self.s - mu])

    def errors(self) -> tuple[float, float]:
        """Largest relative residuals of the KKT conditions, and of the constraints alone."""
        scale = 1 + max(
            float(np.abs(self.g).max()), float(np.abs(self.alpha[:, None] * self.C).max(initial=0))
        )
        feasible = np.concatenate([np.maximum(self.c, 0), np.abs(self.h)]) / (1 + np.abs(self.x).max())
        broken = float(feasible.max(initial=0.0))
        gap = float(self.alpha @ self.s) / (1 + abs(self.f))
        slack = float(np.abs(self.c + self.s).max(initial=0.0)) / (1 + np.abs(self.x).max())
        return max(float(np.abs(self.stationarity).max()) / scale, broken, gap, slack), broken


class ConvexProblem:
    """Functions of a convex problem: an objective, inequalities and equalities, each as in `minimize`."""

    def __init__(self, objective: Any, inequalities: Sequence[Any], equalities: Sequence[Any]) -> None:
        self.f = as_objective(objective)
        self.c, self.h = ([as_objective(one) for one in part] for part in (inequalities, equalities))

    def at(self, x: np.ndarray, s: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> Iterate:
        """All values and first derivatives at x."""
        with np.errstate(all="ignore"):
            f, g = self.f.value_and_gradient(x)
            (c, C), (h, H) = (self._stacked(part, x) for part in (self.c, self.h))
        return Iterate(x, s, alpha, beta, f, c, h, g, C, H)

    @staticmethod
    def _stacked(part: list[Any], x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pairs = [one.value_and_gradient(x) for one in part]
        return np.array([value for value, _ in pairs]), np.array([g for _, g in pairs]).reshape(-1, x.size)

    def hessian(self, now: Iterate) -> np.ndarray:
        """The Hessian of the Lagrange function in x."""
        parts = zip([*now.alpha, *now.beta], self.c + self.h)
        return sum((m * one.hessian(now.x) for m, one in parts if m), start=self.f.hessian(now.x))


@method(
    zh="凸规划",
    task="optimisation",
    model="x",
    strategy="f(x) subject to c_i(x) <= 0, h_j(x) = 0, f and c_i convex, h_j affine",
    algorithms="primal-dual interior point method: Newton's method on the relaxed KKT conditions",
    texts=["Li app. C, eq. C.1-C.3, Thm C.3"],
    peers=["cvxopt.solvers.cp"],
)
def solve_convex(
    objective: Any,
    x0: Any,
    inequalities: Sequence[Any] = (),
    equalities: Sequence[Any] = (),
    *,
    tol: float = 1e-9,
    max_iter: int = 200,
    steps: Callable[..., Steps] | None = None,
) -> OptimizeResult:
    """Solve a convex program with nonlinear constraints.

    Parameters
    ----------
    objective : callable or Objective
        f, as in `minimize`; missing derivatives are approximated by differences.
    x0 : array of shape (n,)
        The start: f and the constraints must be finite there, but it need not be feasible.
    inequalities : sequence of callables or Objectives
        c_i, in c_i(x) <= 0.
    equalities : sequence of callables or Objectives
        h_j, in h_j(x) = 0; affine.
    tol : float, default=1e-9
        For the residuals of the KKT conditions, relative to the gradients and values.
    max_iter : int, default=200
        Maximum number of iterations.
    steps : callable, optional
        Makes the loop (see `core.steps`).

    Returns
    -------
    result : OptimizeResult
        x, fun, the multipliers alpha (at least 0) and beta, the dual value `dual` = L(x, alpha, beta) and `gap` =
        fun - dual, nit, success, status (0 solved, 1 not converged, 2 infeasible, 3 unbounded, 4 not convex),
        message and history.

    Examples
    --------
    >>> disc = lambda x: x @ x - 2
    >>> result = solve_convex(lambda x: x[0] + x[1], [0.5, 0.0], [disc])
    >>> result.x.round(6), result.alpha.round(6)
    (array([-1., -1.]), array([0.5]))
    """
    problem, loop = (
        ConvexProblem(objective, inequalities, equalities),
        (steps or Steps)(max_iter, name="step"),
    )
    now = _interior_point(problem, initial_point(x0), tol, loop)
    worst, broken = now.errors()
    status = 0 if worst <= max(tol, ENOUGH) else _diagnose(problem, now, broken)
    if status < 2 and _curvature(problem, now) < -NOT_CONVEX:
        status = 4
    dual = now.f + float(now.alpha @ now.c + now.beta @ now.h)
    return OptimizeResult(
        x=now.x, fun=now.f, alpha=now.alpha, beta=now.beta, dual=dual, gap=now.f - dual, nit=loop.count,
        success=status == 0, status=status, message=MESSAGES[status].format(worst=worst),
        history=history_table([loop]),
    )  # fmt: skip


def _interior_point(problem: ConvexProblem, x: np.ndarray, tol: float, loop: Steps) -> Iterate:
    """Newton steps on the KKT conditions of barrier problems, with mu falling to 0."""
    now = problem.at(x, np.ones(len(problem.c)), np.ones(len(problem.c)), np.zeros(len(problem.h)))
    if not now.finite:
        raise ValueError(f"f, the constraints and their gradients must be finite at x0; got x0 = {x}.")
    mu, slack = max(1.0, float(np.abs(now.g).max())), np.maximum(-now.c, 0.1 * (1 + np.abs(now.c)))
    now = now._replace(s=slack, alpha=mu / slack)
    for step in loop:
        following = _newton_step(problem, now, mu)
        now = now if following is None else following
        worst, broken = now.errors()
        step.report(now.x, fun=now.f, residual=worst, infeasibility=broken, mu=mu)
        if worst <= tol or following is None or now.unbounded:
            break
        while mu > SMALLEST_MU and np.abs(now.residual(mu)).max() <= CENTRED * mu:  # the next barrier problem
            mu = max(SMALLEST_MU, min(0.2 * mu, mu**1.5))
    return now


def _newton_step(problem: ConvexProblem, now: Iterate, mu: float) -> Iterate | None:
    """A damped Newton step to the KKT conditions with alpha_i s_i = mu; None when none reduces their residual."""
    residual = now.residual(mu)
    dx, ds, dalpha, dbeta = _solve_newton_system(problem.hessian(now), now, residual)
    length = min(1.0, TO_BOUNDARY * _to_boundary(now.s, ds), TO_BOUNDARY * _to_boundary(now.alpha, dalpha))
    size = float(np.linalg.norm(residual))
    for _ in range(HALVINGS):
        new = problem.at(
            now.x + length * dx, now.s + length * ds, now.alpha + length * dalpha, now.beta + length * dbeta
        )
        if new.finite and float(np.linalg.norm(new.residual(mu))) <= (1 - DECREASE * length) * size:
            return new
        length /= 2
    return None


def _solve_newton_system(
    hessian: np.ndarray, now: Iterate, residual: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The changes of x, s, alpha and beta that bring the linearised conditions to 0; those of s and alpha are
    eliminated."""
    n, m, k = now.x.size, now.s.size, now.beta.size
    values, vectors = linalg.eigh(hessian)
    floor = REGULARISATION * (1 + np.abs(values).max(initial=0.0))
    matrix = np.zeros((n + k, n + k))
    matrix[:n, :n] = (vectors * np.maximum(values, floor)) @ vectors.T + (
        now.C.T * (now.alpha / now.s)
    ) @ now.C
    matrix[n:, :n], matrix[:n, n:] = now.H, now.H.T
    stationary, primal, equality, complement = np.split(residual, np.cumsum([n, m, k]))
    right = np.concatenate([-stationary - ((now.alpha * primal - complement) / now.s) @ now.C, -equality])
    shifted = matrix.copy()
    shifted[n:, n:] -= REGULARISATION * np.eye(k)
    factor = linalg.lu_factor(shifted)
    found = linalg.lu_solve(factor, right)
    for _ in range(2):  # refinement takes the shift back
        found += linalg.lu_solve(factor, right - matrix @ found)
    dx, dbeta = found[:n], found[n:]
    ds = -primal - now.C @ dx
    return dx, ds, -(complement + now.alpha * ds) / now.s, dbeta


def _to_boundary(values: np.ndarray, change: np.ndarray) -> float:
    """The longest step that leaves positive values positive."""
    falling = change < 0
    return float((-values[falling] / change[falling]).min(initial=math.inf)) if falling.any() else math.inf


def _curvature(problem: ConvexProblem, now: Iterate) -> float:
    """The smallest eigenvalue of the Hessian of the Lagrange function, relative to the largest (or 1)."""
    values = linalg.eigvalsh(problem.hessian(now))
    return float(values[0] / max(1.0, np.abs(values).max()))


def _diagnose(problem: ConvexProblem, now: Iterate, broken: float) -> int:
    """The status of a problem that was not solved."""
    if broken <= ENOUGH:
        return 3 if now.unbounded or _falls_without_end(problem, now) else 1
    least = _least_excess(problem, now.x, np.ones(now.s.size))
    return 2 if least.errors()[0] > ENOUGH or least.x[-1] > ENOUGH else 1


def _falls_without_end(problem: ConvexProblem, now: Iterate) -> bool:
    """Whether f falls all along the ray from the origin through x, and the constraints hold on it."""
    size = float(np.abs(now.x).max())
    far = problem.at(1e3 * now.x, now.s, now.alpha, now.beta)
    return size > 1e3 and far.finite and far.f < 100 * min(now.f, -1.0) and far.errors()[1] <= ENOUGH


def strictly_feasible_point(
    inequalities: Sequence[Any], equalities: Sequence[Any], x0: Any, strict: Any = None, tol: float = 1e-9
) -> np.ndarray | None:
    """A point with c_i(x) < 0 and h_j(x) = 0, by minimising the largest c_i (phase I); None when there is none.

    Parameters
    ----------
    inequalities, equalities, x0 : as in `solve_convex`
    strict : boolean array of shape (m,), optional
        Which inequalities must hold strictly; by default all.
    tol : float, default=1e-9
        How far below 0 counts as strictly, relative to 1.
    """
    problem = ConvexProblem(lambda x: 0.0, inequalities, equalities)
    margin = np.ones(len(problem.c)) if strict is None else np.asarray(strict, dtype=float)
    if margin.shape != (len(problem.c),):
        raise ValueError(
            f"strict must have a value for each of {len(problem.c)} inequalities; got {strict!r}."
        )
    x = _least_excess(problem, initial_point(x0), margin).x[:-1]
    c, h = np.array([one.value(x) for one in problem.c]), np.array([one.value(x) for one in problem.h])
    limit = np.where(margin > 0, -tol, ENOUGH)
    return x if (c <= limit).all() and (np.abs(h) <= ENOUGH * (1 + np.abs(x).max())).all() else None


def _least_excess(problem: ConvexProblem, x: np.ndarray, margin: np.ndarray) -> Iterate:
    """Phase I: min t subject to c_i(x) <= t (or 0, where the margin is 0), h(x) = 0 and t >= -1."""
    last = np.eye(x.size + 1)[-1]
    c = [_Relaxed(one, weight) for one, weight in zip(problem.c, margin)]
    h = [_Relaxed(one, 0.0) for one in problem.h]
    start = max((one.value(x) for one in problem.c), default=0.0)
    phase = ConvexProblem(_Linear(last), [*c, _Linear(-last, -1.0)], h)
    return _interior_point(phase, np.append(x, max(start, 0.0) + 1.0), 1e-9, Steps(PHASE_ONE_ITERATIONS))


class _Linear:
    """A linear function a.z + b."""

    def __init__(self, a: np.ndarray, b: float = 0.0) -> None:
        self.a, self.b = a, b

    def value(self, z: np.ndarray) -> float:
        return float(self.a @ z + self.b)

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return self.a

    def value_and_gradient(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        return self.value(z), self.a

    def hessian(self, z: np.ndarray) -> np.ndarray:
        return np.zeros((z.size, z.size))


class _Relaxed:
    """c(x) - weight t as a function of (x, t)."""

    def __init__(self, function: Any, weight: float) -> None:
        self.function, self.weight = function, float(weight)

    def value(self, z: np.ndarray) -> float:
        return self.function.value(z[:-1]) - self.weight * float(z[-1])

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return np.append(self.function.gradient(z[:-1]), -self.weight)

    def value_and_gradient(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        return self.value(z), self.gradient(z)

    def hessian(self, z: np.ndarray) -> np.ndarray:
        return np.pad(self.function.hessian(z[:-1]), (0, 1))
