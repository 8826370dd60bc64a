"""Proximal Newton (近端牛顿法) on working sets, for logistic regression with an L1 penalty."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.steps import Steps
from tercet.linear_model.logistic_newton import Quiet, noise_of
from tercet.linear_model.logistic_objective import LogisticObjective
from tercet.optimize import owlqn

Array = np.ndarray
SMALL = 256  # with no more parameters than this, working sets are not worth the trouble
DENSE = 2000  # with no more than this a Hessian is


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

    Each pass solves the problem restricted to a working set, the features that have weights and those whose
    gradients break the conditions of a minimum most, and looks at all conditions again. It ends when none is
    broken by more than tol.
    """
    f, g = objective.value_and_gradient(theta)
    worst, broken = worst_of(theta, g, l1)
    loop = steps(max_iter, hint="Scale the features, raise max_iter or tol, or lower C.")
    for step in loop:
        if worst > tol:
            chosen = working_set(objective, theta, broken)
            part = objective if chosen is None else objective.restrict(chosen)
            at = slice(None) if chosen is None else objective.places(chosen)
            theta = theta.copy()
            theta[at] = solve(part, theta[at], l1[at], max(0.1 * worst, 0.5 * tol))
            centre(objective, theta, l1)
            f, g = objective.value_and_gradient(theta)
            last = worst
            worst, broken = worst_of(theta, g, l1)
            tight = chosen is None and worst >= last  # nothing left to add, and no nearer
            exact = tight and objective.left_to_gain(broken) <= 100 * noise_of(objective, f, theta)
        else:
            tight = exact = False
        step.report(theta, fun=f + l1 @ np.abs(theta), grad_norm=worst, non_zero=np.count_nonzero(theta))
        if step.converged(worst <= tol or exact):
            break
        if tight:
            loop.warn(f"stopped in pass {step.count}: the conditions of a minimum cannot be met any better")
            break
    return theta


def centre(objective: LogisticObjective, theta: Array, l1: Array) -> None:
    """Of all free intercepts with the same probabilities, those that sum to zero, as from any other solver."""
    K = objective.planes
    if objective.form == "softmax" and objective.intercept and not (objective.penalty[-1] or l1[-1]):
        theta[-K:] -= theta[-K:].mean()


def worst_of(theta: Array, g: Array, l1: Array) -> tuple[float, Array]:
    """How far each component is from allowing a minimum, |g + l1 sign(θ)| or max(|g| - l1, 0), and the worst."""
    broken = np.where(theta != 0, np.abs(g + l1 * np.sign(theta)), np.maximum(np.abs(g) - l1, 0.0))
    return float(broken.max()), broken


def working_set(objective: LogisticObjective, theta: Array, broken: Array) -> Array | None:
    """Columns to work on: those in use, and as many again of the most broken; None for all of them."""
    d, K = objective.X.shape[1], objective.planes
    if objective.size <= SMALL:
        return None
    used = theta.reshape(-1, K)[:d].any(axis=1)
    score = np.where(used, np.inf, broken.reshape(-1, K)[:d].max(axis=1))
    size = max(SMALL // (4 * K), 10, 2 * int(used.sum()))
    if size >= d:
        return None
    chosen = np.argpartition(-score, size)[:size]
    return np.sort(chosen[score[chosen] > 0])


def solve(objective: LogisticObjective, theta: Array, l1: Array, tol: float) -> Array:
    """The restricted problem: Newton's model of f, minimised with the penalty by coordinate descent.

    With too many parameters for a Hessian, OWL-QN.
    """
    if objective.size > DENSE:
        return owlqn(objective, theta, l1=l1, tol=tol, max_iter=200, steps=Quiet).x
    f, g = objective.value_and_gradient(theta)
    f += float(l1 @ np.abs(theta))
    free = not l1[-objective.planes :].any()  # the intercept, which then lets the columns be centred
    for _ in range(50):
        worst, _ = worst_of(theta, g, l1)
        if worst <= tol:
            break
        if free:
            H, slope = objective.hessian(theta, centred=True), objective.into_centre(g)
            worst = min(worst, worst_of(theta, slope, l1)[0])
            p = objective.from_centre(by_coordinates(H, slope, theta, l1, 0.05 * worst, 1000) - theta)
        else:
            H = objective.hessian(theta)
            p = by_coordinates(H, g, theta, l1, 0.05 * worst, 1000) - theta
        gain = float(g @ p + l1 @ (np.abs(theta + p) - np.abs(theta)))
        point = shorten(objective, theta, f, p, gain, l1)
        if point is None:  # at the limit of the arithmetic
            break
        theta, f, g = point
    return theta


def shorten(
    objective: LogisticObjective, theta: Array, f: float, p: Array, gain: float, l1: Array
) -> tuple[Array, float, Array] | None:
    """The first of θ + p, θ + p/2 ... that lowers the sum enough, with its value and the gradient of f."""
    for halvings in range(30):
        size = 0.5**halvings
        point = theta + size * p
        value, g = objective.value_and_gradient(point)
        value += float(l1 @ np.abs(point))
        if value <= f + 1e-4 * size * gain:
            return point, value, g
    return None


@kernel
def by_coordinates(H, g, theta, l1, tol, epochs):
    """Minimise g·(v - θ) + 1/2 (v - θ)'H(v - θ) + sum_j l1_j |v_j|, one v_j at a time."""
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
