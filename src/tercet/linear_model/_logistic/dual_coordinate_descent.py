"""Dual coordinate descent (对偶坐标下降) for logistic regression of two classes with an L2 penalty.

`logistic_dual_pass` of the page is the plain form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.rows import row_add, row_dot, row_square, rows
from tercet.core.steps import Steps
from tercet.linear_model._logistic.logistic_objective import LogisticObjective

Array = np.ndarray
INNER = 100  # the most Newton steps in one variable
START = 1e-8  # of the dual variables, which must lie strictly between their bounds


def dual_coordinate_descent(
    objective: LogisticObjective,
    *,
    rng: np.random.Generator,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps],
) -> Array:
    """Passes over the rows in random orders until no component of the primal gradient exceeds tol.

    The dual variables α_i lie between 0 and c_i = C s_i, and w = sum_i α_i y_i x_i. The intercept is the weight of
    a feature with the constant value `one`.
    """
    o = objective
    weight = np.ones(o.y.size) if o.weight is None else o.weight.astype(np.float64)
    cost = weight / (o.mass * o.l2)
    one = float(np.sqrt(o.l2 / o.intercept_l2)) if o.intercept else 0.0
    side = np.where(o.y > 0, 1.0, -1.0)
    kept = np.flatnonzero(weight > 0)
    alpha = np.minimum(0.001 * cost, START)
    rest = cost - alpha
    w, v = np.asarray(o.X.T @ (alpha * side), dtype=np.float64), np.array([one * float(alpha @ side)])
    data, theta = rows(o.X), o.join(w, one * v)
    for step in steps(max_iter, hint="Scale the features, or raise max_iter or tol."):
        dual_sweep(data, side, cost, rng.permutation(kept), one, alpha, rest, w, v)
        theta = o.join(w, one * v)
        value, g = o.value_and_gradient(theta)
        size = float(np.abs(g).max())
        step.report(theta, fun=value, grad_norm=size)
        if step.converged(size <= tol):
            break
    return theta


@kernel
def dual_sweep(data, side, cost, order, one, alpha, rest, w, v):
    """Minimise the dual in one α_i after the other; α_i and c_i - α_i are both kept, as either may be tiny."""
    for i in order:
        c, a = cost[i], float(row_square(data, i)) + one * one
        b = side[i] * (row_dot(data, i, w) + one * v[0])
        if a * (0.5 * c - alpha[i]) + b >= 0:  # the slope at c/2: the minimum has α_i <= c/2
            new = smaller_half(alpha[i], c, a, b)
            move = new - alpha[i]
            alpha[i], rest[i] = new, c - new
        else:
            new = smaller_half(rest[i], c, a, -b)
            move = rest[i] - new
            alpha[i], rest[i] = c - new, new
        if move != 0:
            row_add(data, i, move * side[i], w)
            v[0] += move * side[i] * one


@inner
def smaller_half(start, c, a, b):
    """Newton steps to the minimum in (0, c/2] of z log z + (c-z) log(c-z) + a/2 (z - start)^2 + b (z - start)."""
    z = start if start <= 0.5 * c else 0.1 * start
    for _ in range(INNER):
        slope = a * (z - start) + b + np.log(z / (c - z))
        if abs(slope) <= 1e-12 * (1 + abs(b)):
            break
        step = slope / (a + c / (z * (c - z)))
        new = z - step if step < z else 0.1 * z  # never down to 0
        new = min(new, c * (1 - 1e-12))
        if new == z:
            break
        z = new
    return z
