"""Solvers of logistic regression: L-BFGS, Newton's method (牛顿法), improved iterative scaling; and their options.

L-BFGS is preconditioned by a sample where rows are many, and Newton's method has an economical form for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import linalg

from tercet.core.steps import Steps
from tercet.linear_model._logistic.logistic_objective import LogisticObjective
from tercet.linear_model._logistic.regularization import regularization
from tercet.optimize import lbfgs, logistic_iis

Array = np.ndarray
Solver = Literal[
    "lbfgs", "newton-cholesky", "newton-cg", "auto", "saga", "sag", "liblinear",
    "newton", "gd", "sgd", "dfp", "bfgs", "broyden", "iis",
]  # fmt: skip
WITH_L1 = ("auto", "saga", "liblinear")
LOG_ONLY = ("auto", "saga", "sag", "liblinear", "sgd", "iis")
LARGE = 1_000_000  # entries of X from which the economical form pays
SAMPLE = 16  # one row in so many makes the sample of the start
SAMPLED_NUMBERS = 1 << 23  # which stays in memory, however many rows there are
ENOUGH = 200  # rows per parameter from which a sample gives a good start
NEWTON_HINT = "Scale the features, raise max_iter or tol, or lower C."
KEEP = 0.2  # a Hessian that still shrinks the gradient to this share is kept


def check_options(model: Any, n_classes: int) -> None:
    """Refuse combinations of a model's parameters that do not exist."""
    name, solver, penalty = type(model).__name__, model.solver, regularization(model)
    check_penalty(name, solver, penalty.kind, model.dual, n_classes)
    if model.reference == "last" and solver == "iis" and n_classes > 2:
        raise ValueError(f"{name}: solver='iis' has weights for all classes; reference must be None.")
    if model.loss == "squared" and (n_classes > 2 or solver in LOG_ONLY):
        raise ValueError(
            f"{name}: loss='squared' is for two classes, and for no solver of {', '.join(map(repr, LOG_ONLY))}; "
            f"got {n_classes} classes, solver={solver!r}."
        )


def check_penalty(name: str, solver: str, kind: str | None, dual: bool, n_classes: int) -> None:
    """Refuse a penalty that a solver does not have, a dual form where there is none, and too many classes."""
    if kind in ("l1", "elasticnet") and solver not in WITH_L1:
        raise ValueError(
            f"{name}: Solver {solver} supports only 'l2' or None penalties, got {kind} penalty: l1_ratio must be "
            f"0, or solver one of {', '.join(map(repr, WITH_L1))}."
        )
    if dual and solver != "liblinear":
        raise ValueError(
            f"{name}: Solver {solver} supports only dual=False, got dual={dual}. dual=True needs "
            "solver='liblinear' and l1_ratio=0."
        )
    if dual and kind != "l2":
        raise ValueError(f"{name}: dual=True needs solver='liblinear' and l1_ratio=0; got {kind} penalty.")
    if kind == "elasticnet" and solver == "liblinear":
        raise ValueError(
            f"{name}: Only 'saga' solver supports elasticnet penalty, got solver=liblinear. (So does 'auto'.)"
        )
    if kind is None and solver == "liblinear":
        raise ValueError(
            f"{name}: C=np.inf as well as penalty=None is not supported for the liblinear solver; give a finite C."
        )
    if solver == "liblinear" and n_classes > 2:
        raise ValueError(
            f"{name}: The 'liblinear' solver does not support multiclass classification; got {n_classes} classes. "
            "Use another solver, or OneVsRestClassifier. Only binary classification is supported."
        )


def has_l1(model: Any) -> bool:
    """Whether the model has an L1 penalty."""
    penalty = regularization(model)
    return penalty.l1_ratio > 0 and not np.isinf(penalty.C)


def preconditioned_lbfgs(
    objective: LogisticObjective, theta: Array, *, tol: float, max_iter: int, steps: Callable[..., Steps]
) -> Array:
    """L-BFGS; where rows are many, from the solution for a sample and preconditioned by the inverse Hessian there.

    That is L-BFGS in variables u with θ = T u, in which the Hessian is close to the identity.
    """
    hint = "lbfgs failed to converge: raise max_iter or tol, or scale the features."
    steps = functools.partial(steps, hint=hint)
    begin, sample = sample_solution(objective, theta)
    solver = None if sample is None else HessianSolver(sample, begin, np.float32)
    if solver is None or solver.L is None:
        return lbfgs(objective, begin, tol=tol, max_iter=max_iter, steps=steps).x
    preconditioned = PreconditionedObjective(objective, solver.inverse_root(), begin)

    def watch(step: Steps) -> bool:  # the stopping rule is about θ
        step.measures["grad_norm"] = preconditioned.gradient_norm(step.state)
        return step.measures["grad_norm"] <= tol

    def preconditioned_steps(limit: int, **options: Any) -> Steps:
        return steps(limit, to_theta=preconditioned.theta, watch=watch, **options)

    zero = np.zeros(begin.size)
    found = lbfgs(preconditioned, zero, tol=0.0, max_iter=max_iter, steps=preconditioned_steps)
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


def newton(
    objective: LogisticObjective,
    theta: Array,
    *,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps] = Steps,
    economical: bool = False,
) -> Array:
    """θ <- θ - H^-1 g until no component of g exceeds tol (Studies ML eq. 3.29-3.31, watermelon notes eq. 1.21).

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
    loop = steps(max_iter, hint=NEWTON_HINT)
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
    rows = max(SAMPLED_NUMBERS // d, ENOUGH * objective.size // SAMPLE)
    sample = objective.sample(max(SAMPLE, n // rows))
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


class HessianSolver:
    """Solves H p = g with the Hessian at θ; where H is singular, the solution of least norm.

    Columns are centred (where a free intercept allows it) and H is scaled to a unit diagonal: what counts as
    singular must not depend on the units of the features. H is computed in `dtype`, or in float64 where that is
    not exact enough for a Cholesky factorisation.
    """

    def __init__(self, objective: LogisticObjective, theta: Array, dtype: Any) -> None:
        self.objective = objective
        H = self._hessian(theta, dtype)
        self.L = cholesky_factor(H, dtype)
        if self.L is None and dtype is not np.float64:
            H = self._hessian(theta, np.float64)
            self.L = cholesky_factor(H, np.float64)
        if self.L is None:
            values, self.vectors = linalg.eigh(H, check_finite=False)
            size = np.abs(values)  # negative only under the squared loss: reversed, the step still descends
            self.kept = size > 1e-13 * size.max()
            self.values = np.where(self.kept, size, 1.0)

    def _hessian(self, theta: Array, dtype: Any) -> Array:
        H = self.objective.hessian(theta, dtype, centred=True)
        fix_shift_invariance(self.objective, H)
        diagonal = np.abs(np.diag(H))
        self.width = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        H /= self.width
        H /= self.width[:, None]
        return H

    def __call__(self, g: Array) -> Array:
        v = self._scaled(g)
        if self.L is not None:
            v = linalg.cho_solve((self.L, True), v, check_finite=False)
        else:
            v = self.vectors @ (self.kept / self.values * (self.vectors.T @ v))
        return self.objective.uncentred(v / self.width)

    def singular_part(self, g: Array) -> float:
        """The squared norm of the (scaled) gradient's part in the null space of H."""
        if self.L is not None:
            return 0.0
        return float(np.sum((self.vectors.T @ self._scaled(g))[~self.kept] ** 2))

    def inverse_root(self) -> Array:
        """T with TT' the inverse."""
        T = linalg.solve_triangular(self.L, np.eye(self.width.size), lower=True, check_finite=False).T
        return np.apply_along_axis(self.objective.uncentred, 0, T / self.width[:, None])

    def _scaled(self, g: Array) -> Array:
        return self.objective.centred_gradient(g) / self.width


def cholesky_factor(H: Array, dtype: Any) -> Array | None:
    """L of H = LL', or None where H, known to the precision of dtype, may be singular."""
    try:
        L = linalg.cholesky(H, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    pivots = np.diag(L) ** 2
    return L if pivots.min() > 1e2 * np.finfo(dtype).eps * pivots.max() else None


def fix_shift_invariance(objective: LogisticObjective, H: Array) -> None:
    """Make H regular along a common shift of all scores, which changes no probability of a softmax.

    The gradient of unpenalised parameters has no component along it, so the Newton step stays the same.
    """
    K = objective.n_planes
    if K == 1 or objective.reference:
        return
    for row in np.flatnonzero(objective.penalty.reshape(-1, K)[:, 0] == 0):
        block = H[row * K : row * K + K, row * K : row * K + K]
        block += np.trace(block) / K**2


def iterative_scaling(
    objective: LogisticObjective, theta: Array, *, steps: Callable[..., Steps], **limits: Any
) -> Array:
    """Improved iterative scaling (Li ch. 6, Alg 6.1) of the log-linear form; its weights are in the order of θ."""

    def steps_of_theta(limit: int, unpack: Any, **options: Any) -> Steps:
        def to_theta(w: Array) -> Array:
            model = unpack(w)
            return o.join(model["coef_"].T, model["intercept_"])

        return steps(limit, to_theta=to_theta, **options)

    o = objective
    options: dict[str, Any] = {
        "n_classes": o.n_classes,
        "fit_intercept": o.intercept,
        "l2": o.l2,
        "start": theta,
    }
    *_, found = logistic_iis(o.X, o.y, o.weight, steps=steps_of_theta, **options, **limits)
    objective.value(found.x)  # it counts the uncertain rows, which tell whether the classes are separable
    return found.x
