"""Proximal Newton (近端牛顿法) on working sets, for logistic regression with an L1 penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.steps import Steps
from tercet.core.stopping import check_stop
from tercet.linear_model._logistic.logistic_objective import LogisticObjective
from tercet.linear_model._logistic.regularization import regularization
from tercet.linear_model._logistic.solvers import SilentSteps
from tercet.optimize import owlqn

Array = np.ndarray
SMALL = 256  # with no more parameters than this, working sets are not worth the trouble
DENSE = 2000  # with no more than this, a Hessian is


def proximal_newton(
    objective: LogisticObjective,
    theta: Array,
    l1: Array,
    *,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps],
) -> Array:
    """Minimise f(θ) + sum_j l1_j |θ_j|.

    Each pass solves the problem restricted to a working set, the features that have weights and those that violate
    the optimality conditions most, and checks all conditions again. It ends when none is violated by more than
    tol, or by more than rounding explains.
    """
    f, g = objective.value_and_gradient(theta)
    violation = optimality_violation(theta, g, l1)
    loop = steps(max_iter, hint="Scale the features, raise max_iter or tol, or lower C.")
    for step in loop:
        worst = float(violation.max())
        stalled = at_rounding_level = False
        if worst > tol:
            chosen = working_set(objective, theta, violation)
            part = objective if chosen is None else objective.restrict(chosen)
            at = slice(None) if chosen is None else objective.parameter_indices(chosen)
            theta = theta.copy()
            theta[at] = solve_restricted(part, theta[at], l1[at], max(0.1 * worst, 0.5 * tol))
            centre_intercepts(objective, theta, l1)
            f, g = objective.value_and_gradient(theta)
            last = worst
            violation = optimality_violation(theta, g, l1)
            worst = float(violation.max())
            stalled = chosen is None and worst >= last  # all features are in, and it came no nearer
            at_rounding_level = stalled and within_rounding(objective, theta, f, g, l1)
        step.report(theta, fun=f + l1 @ np.abs(theta), grad_norm=worst, non_zero=np.count_nonzero(theta))
        if step.converged(worst <= tol or at_rounding_level):
            break
        if stalled:
            loop.warn(f"stopped in pass {step.count}: the conditions of a minimum cannot be met any better")
            break
    return theta


def l1_strengths(model: Any, objective: LogisticObjective) -> Array:
    """The weights of the L1 penalty, one for each parameter."""
    penalty = regularization(model)
    strength = penalty.l1_ratio / (penalty.C * objective.mass)
    table = np.full(objective.shape, strength / objective.scale)
    if objective.intercept:
        table[-1] = strength / model.intercept_scaling if model.solver == "liblinear" else 0
    return table.ravel()


def centre_intercepts(objective: LogisticObjective, theta: Array, l1: Array) -> None:
    """Of all unpenalised softmax intercepts with the same probabilities take those with mean zero, in place."""
    K = objective.n_planes
    if objective.form == "softmax" and objective.intercept and not (objective.penalty[-1] or l1[-1]):
        theta[-K:] -= theta[-K:].mean()


def optimality_violation(theta: Array, g: Array, l1: Array) -> Array:
    """The violation of each optimality condition: |g + l1 sign(θ)| where θ is not 0, else max(|g| - l1, 0)."""
    return np.where(theta != 0, np.abs(g + l1 * np.sign(theta)), np.maximum(np.abs(g) - l1, 0.0))


def free_intercept(objective: LogisticObjective, l1: Array) -> bool:
    """Whether the intercept has no L1 penalty, so that the columns may be centred."""
    return not l1[-objective.n_planes :].any()


def within_rounding(objective: LogisticObjective, theta: Array, f: float, g: Array, l1: Array) -> bool:
    """Whether no parameter alone could lower the objective by more than rounding blurs it.

    The conditions are those of centred data: with columns far from zero, the last digit of the intercept moves the
    gradient in every weight by far more than tol, and all by the same cause.
    """
    return l1_decrease(objective, theta, l1, g) <= 100 * objective.rounding_level(f, theta)


def l1_decrease(objective: LogisticObjective, theta: Array, l1: Array, g: Array | None = None) -> float:
    """What a step in one parameter of centred data could lower the objective by at least; g is f's gradient."""
    g = objective.gradient(theta) if g is None else g
    slopes = objective.centred_gradient(g) if free_intercept(objective, l1) else g
    return objective.attainable_decrease(optimality_violation(theta, slopes, l1))


def working_set(objective: LogisticObjective, theta: Array, violation: Array) -> Array | None:
    """Columns to work on: those in use, and as many again with the worst violations; None for all of them."""
    d, K = objective.X.shape[1], objective.n_planes
    if objective.size <= SMALL:
        return None
    used = theta.reshape(-1, K)[:d].any(axis=1)
    score = np.where(used, np.inf, violation.reshape(-1, K)[:d].max(axis=1))
    size = max(SMALL // (4 * K), 10, 2 * int(used.sum()))
    if size >= d:
        return None
    chosen = np.argpartition(-score, size)[:size]
    return np.sort(chosen[score[chosen] > 0])


def solve_restricted(objective: LogisticObjective, theta: Array, l1: Array, tol: float) -> Array:
    """The problem on a working set: Newton's quadratic model, minimised with the penalty by coordinate descent.

    With too many parameters for a Hessian, OWL-QN.
    """
    if objective.size > DENSE:
        return owlqn(objective, theta, l1=l1, tol=tol, max_iter=200, steps=SilentSteps).x
    f, g = objective.value_and_gradient(theta)
    f += float(l1 @ np.abs(theta))
    centred = free_intercept(objective, l1)
    for _ in range(50):
        check_stop()
        worst = float(optimality_violation(theta, g, l1).max())
        if worst <= tol:
            break
        if centred:
            H, slopes = objective.hessian(theta, centred=True), objective.centred_gradient(g)
            worst = min(worst, float(optimality_violation(theta, slopes, l1).max()))
            p = objective.uncentred(minimise_quadratic_l1(H, slopes, theta, l1, 0.05 * worst, 1000) - theta)
        else:
            H = objective.hessian(theta)
            p = minimise_quadratic_l1(H, g, theta, l1, 0.05 * worst, 1000) - theta
        gain = float(g @ p + l1 @ (np.abs(theta + p) - np.abs(theta)))
        point = backtrack(objective, theta, f, p, gain, l1)
        if point is None:  # no lower value can be told from rounding
            break
        theta, f, g = point
    return theta


def backtrack(
    objective: LogisticObjective, theta: Array, f: float, p: Array, gain: float, l1: Array
) -> tuple[Array, float, Array] | None:
    """Backtracking line search on f + penalty: point, value and gradient of f; None where no point is lower."""
    for halvings in range(30):
        size = 0.5**halvings
        point = theta + size * p
        value, g = objective.value_and_gradient(point)
        value += float(l1 @ np.abs(point))
        if value <= f + 1e-4 * size * gain:
            return point, value, g
    return None


@kernel
def minimise_quadratic_l1(H, g, theta, l1, tol, epochs):
    """Minimise g·(v - θ) + 1/2 (v - θ)'H(v - θ) + sum_j l1_j |v_j| by coordinate descent."""
    v, slope = theta.copy(), g.copy()
    for _ in range(epochs):
        moved = 0.0
        for j in range(v.size):
            h = H[j, j]
            if h <= 0:
                continue
            u = v[j] - slope[j] / h
            new = np.sign(u) * max(abs(u) - l1[j] / h, 0.0)
            change = new - v[j]
            if change != 0:
                v[j] = new
                row = H[j]
                for k in range(slope.size):
                    slope[k] += change * row[k]
                moved = max(moved, abs(change) * h)
        if moved <= tol:
            break
    return v
