"""Second-order methods for logistic regression: Newton (牛顿法), a thrifty Newton, and L-BFGS with a good start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from tercet.core.steps import Steps
from tercet.linear_model.logistic_objective import LogisticObjective
from tercet.optimize import minimize

Array = np.ndarray
LARGE = 1_000_000  # entries of X from which it pays to be thrifty
SAMPLE = 16  # one row in so many is enough for a start
ENOUGH = 200  # rows per parameter from which a sample is a good start
KEEP = 0.2  # a Hessian that still shrinks the gradient to this share is kept


def newton(
    objective: LogisticObjective,
    theta: Array,
    *,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps] = Steps,
    thrifty: bool = False,
) -> Array:
    """θ <- θ - H^-1 g until no component of g exceeds tol (004 eq. 3.29-3.31, 002 eq. 1.21).

    A step that does not lower f is halved until it does, so that the method also arrives from afar.

    With `thrifty` it starts from the solution for a sample of the rows (as exact as a sample can be), computes
    Hessians in float32 (the gradient, which decides where it ends, is exact), and keeps one for as long as it
    serves: about two Hessians of the whole data instead of one in every pass.
    """
    thrifty = thrifty and objective.X.shape[0] * objective.X.shape[1] >= LARGE
    if thrifty:
        theta, _ = start(objective, theta)
    dtype = np.float32 if thrifty else np.float64
    f, g = objective.value_and_gradient(theta)
    solve: Inverse | None = None
    loop = steps(max_iter, hint="Scale the features, raise max_iter or tol, or lower C.")
    for step in loop:
        if solve is None:
            solve, fresh = Inverse(objective, theta, dtype), True
        p = -solve(g)
        point = shorten(objective, theta, f, g, p)
        if point is None and not (fresh and dtype is np.float64):  # an exact Hessian here may do better
            dtype = np.float64 if fresh else dtype
            solve, fresh = Inverse(objective, theta, dtype), True
            p = -solve(g)
            point = shorten(objective, theta, f, g, p)
        before, decrement = np.abs(g).max(), -float(g @ p)
        exact = max(decrement, solve.left_out(g)) <= 100 * noise_of(objective, f, theta)
        if point is not None:
            theta, f, g = point
        size = float(np.abs(g).max())
        exact = exact and size > 0.5 * before
        step.report(theta, fun=f, grad_norm=size, decrement=decrement)
        if step.converged(size <= tol or exact):  # exact: at the limit of the arithmetic
            break
        if point is None:
            loop.warn(f"stopped in pass {step.count}: no lower point was found")
            break
        shrinks = size <= KEEP * before
        if thrifty and fresh and not shrinks and decrement < 1e-3:  # close, yet float32 does not get closer
            dtype = np.float64
        fresh = False
        if not (thrifty and shrinks):
            solve = None
    return theta


def start(objective: LogisticObjective, theta: Array) -> tuple[Array, LogisticObjective | None]:
    """The solution for a sample of the rows, and the sample; theta and None when there are too few of them."""
    n, d = objective.X.shape
    if n < ENOUGH * objective.size or n * d < LARGE or objective.loss != "log":
        return theta, None
    sample = objective.sample(SAMPLE)
    weight = sample.weight if sample.weight is not None else np.ones(sample.y.size)
    if np.bincount(sample.y, weight, objective.n_classes).min() <= 0:
        return theta, None
    if theta.any():  # a start that was given knows more than a sample
        return theta, sample
    noise = sample.size / sample.y.size  # what f differs by between two samples; more exactness is in vain

    def steps(limit: int, **options: Any) -> Steps:
        return Quiet(limit, watch=lambda step: step.measures["decrement"] <= noise)

    return newton(sample, theta, tol=0.0, max_iter=100, steps=steps, thrifty=True), sample


def preconditioned_lbfgs(
    objective: LogisticObjective, theta: Array, *, tol: float, max_iter: int, steps: Callable[..., Steps]
) -> Array:
    """L-BFGS; where rows are many, beginning at the solution for a sample, with the inverse Hessian there as G_0.

    That is L-BFGS in variables u with θ = T u, in which the Hessian is close to the identity.
    """
    begin, sample = start(objective, theta)
    inverse = None if sample is None else Inverse(sample, begin, np.float32)
    if inverse is None or inverse.L is None:
        return minimize(objective, begin, method="lbfgs", tol=tol, max_iter=max_iter, steps=steps).x
    scaled = Scaled(objective, inverse.root(), begin)

    def watch(step: Steps) -> bool:  # the stopping rule is about θ
        step.measures["grad_norm"] = scaled.size_at(step.state)
        return step.measures["grad_norm"] <= tol

    def scaled_steps(limit: int, **options: Any) -> Steps:
        return steps(limit, back=scaled.theta, watch=watch, **options)

    zero = np.zeros(begin.size)
    found = minimize(scaled, zero, method="lbfgs", tol=0.0, max_iter=max_iter, steps=scaled_steps)
    return scaled.theta(found.x)


class Scaled:
    """An objective as a function of u, where θ = begin + T u, with T times a number that makes |g(0)| = 1.

    The first step of L-BFGS, before it knows of curvature, has length 1: then it is the Newton step of the sample.
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

    def size_at(self, u: Array) -> float:
        """The largest component of the gradient in θ; known already where u was the last point asked for."""
        if self.latest[0] is not u:
            self.latest = u, float(np.abs(self.objective.gradient(self.theta(u))).max())
        return self.latest[1]


class Inverse:
    """How to solve H p = g; where H has no inverse, the shortest p, along directions of curvature only.

    It works with centred columns (as far as there is an intercept to make up for it) and a Hessian with a
    diagonal of ones: what counts as no curvature must not depend on the units of the features. Products in
    `dtype`, or in float64 where that is not exact enough.
    """

    def __init__(self, objective: LogisticObjective, theta: Array, dtype: Any) -> None:
        self.objective = objective
        H = self._hessian(theta, dtype)
        self.L = triangle(H, dtype)
        if self.L is None and dtype is not np.float64:
            H = self._hessian(theta, np.float64)
            self.L = triangle(H, np.float64)
        if self.L is None:
            values, self.vectors = linalg.eigh(H, check_finite=False)
            size = np.abs(values)  # negative only under the squared loss: there, go down all the same
            self.kept = size > 1e-13 * size.max()
            self.values = np.where(self.kept, size, 1.0)

    def _hessian(self, theta: Array, dtype: Any) -> Array:
        H = self.objective.hessian(theta, dtype, centred=True)
        fix_gauge(self.objective, H)
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
        return self.objective.from_centre(v / self.width)

    def left_out(self, g: Array) -> float:
        """The square of the part of a gradient, scaled, that lies where there seems to be no curvature."""
        if self.L is not None:
            return 0.0
        return float(np.sum((self.vectors.T @ self._scaled(g))[~self.kept] ** 2))

    def root(self) -> Array:
        """T with TT' the inverse."""
        T = linalg.solve_triangular(self.L, np.eye(self.width.size), lower=True, check_finite=False).T
        return np.apply_along_axis(self.objective.from_centre, 0, T / self.width[:, None])

    def _scaled(self, g: Array) -> Array:
        return self.objective.into_centre(g) / self.width


def triangle(H: Array, dtype: Any) -> Array | None:
    """Cholesky's factor L of H = LL', or None where H, known as well as dtype allows, may have no inverse."""
    try:
        L = linalg.cholesky(H, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    pivots = np.diag(L) ** 2
    return L if pivots.min() > 1e2 * np.finfo(dtype).eps * pivots.max() else None


def noise_of(objective: LogisticObjective, f: float, theta: Array) -> float:
    """Differences of f that rounding makes: its own, and that of scores which are small sums of large numbers."""
    table = np.abs(theta).reshape(objective.shape)
    reach = np.append(np.abs(objective.columns[0]), [1.0] * objective.intercept) @ table
    return float(8 * objective.precision * (abs(f) + reach.max()))


class Quiet(Steps):
    """A loop inside another one, which does not warn when it is cut short."""

    def warn(self, reason: str) -> None:
        pass


def fix_gauge(objective: LogisticObjective, H: Array) -> None:
    """Give curvature to adding the same number to the scores of all classes, which changes no probability.

    The gradient has no part along it where nothing is penalised, so the step stays the same.
    """
    K = objective.planes
    if K == 1 or objective.reference:
        return
    for row in np.flatnonzero(objective.penalty.reshape(-1, K)[:, 0] == 0):
        block = H[row * K : row * K + K, row * K : row * K + K]
        block += np.trace(block) / K**2


def shorten(
    objective: LogisticObjective, theta: Array, f: float, g: Array, p: Array
) -> tuple[Array, float, Array] | None:
    """The first of θ + p, θ + p/2, θ + p/4 ... that lowers f enough, with f and g there; None if there is none."""
    slope = float(g @ p)
    noise = noise_of(objective, f, theta)
    size = np.abs(g).max()
    for halvings in range(40):
        step = 0.5**halvings
        point = theta + step * p
        value, gradient = objective.value_and_gradient(point)
        if value <= f + 1e-4 * step * slope:
            return point, value, gradient
        if value <= f + noise and np.abs(gradient).max() < size:  # too close for f to tell
            return point, value, gradient
        if -slope <= noise:
            return None
    return None
