"""Least absolute deviations (绝对损失) with any of the penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog

from tercet.linear_model._least_squares.design_matrix import append_ones
from tercet.linear_model._penalized.best_subset import best_subset
from tercet.linear_model._penalized.interior_point import InteriorPointSolver
from tercet.penalties import Penalty

Array = np.ndarray


def mean_absolute_error(X: Any, y: Array, weight: Array | None, w: Array, b: float) -> float:
    """The (weighted) mean of |y - w·x - b|."""
    return float(np.average(np.abs(y - X @ w - b), weights=weight))


def minimise_absolute(
    estimator: Any, cost: Penalty, X: Any, y: Array, weight: Array | None
) -> tuple[Array, float]:
    """w and b that minimise the mean absolute error + penalty, for the parameters of a `PenalizedRegressor`."""
    problem = LeastAbsoluteDeviations(X, y, weight, estimator.fit_intercept)
    kind, alpha, d = estimator.penalty, estimator.alpha, X.shape[1]
    if kind is None or alpha == 0:
        return problem.solve(np.zeros(d))
    if (
        kind == "l1"
        or (kind == "elasticnet" and estimator.l1_ratio == 1)
        or (kind == "lq" and estimator.q == 1)
    ):
        return problem.solve(np.full(d, alpha))
    if kind == "l0":
        return solve_l0(problem, alpha, exact=estimator.algorithm == "exact" or d <= 8)
    if kind == "lq" and estimator.q < 1:
        return solve_reweighted_l1(problem, cost, alpha, estimator.q)
    if kind == "lq":
        return solve_admm(estimator, problem, cost)
    ratio = estimator.l1_ratio if kind == "elasticnet" else 0.0
    return solve_interior_point(estimator, problem, alpha * ratio, 2 * alpha * (1 - ratio))


class LeastAbsoluteDeviations:
    """min (1/l) sum_i s_i |y_i - w·x_i - b| + sum_j price_j |w_j|, a linear programme."""

    def __init__(self, X: Any, y: Array, weight: Array | None, intercept: bool) -> None:
        self.X, self.y, self.intercept = X, y, intercept
        s = np.ones(len(y)) if weight is None else weight.astype(np.float64)
        self.share = s / s.sum()

    def solve(self, price: Array) -> tuple[Array, float]:
        """Solve the linear programme in nonnegative parts: w = u - v and y - Xw - b = p - m.

        A feature with an infinite price is left out.
        """
        n = len(self.y)
        included = np.flatnonzero(np.isfinite(price))
        A = sparse.csc_array(self.X)[:, included].astype(np.float64)
        ones, eye = np.ones((n, int(self.intercept))), sparse.eye_array(n)
        columns = sparse.hstack([A, -A, sparse.csc_array(ones), eye, -eye], format="csc")
        costs = np.concatenate(
            [price[included], price[included], np.zeros(ones.shape[1]), self.share, self.share]
        )
        bounds = [(0, None)] * (2 * A.shape[1]) + [(None, None)] * ones.shape[1] + [(0, None)] * (2 * n)
        found = linprog(costs, A_eq=columns, b_eq=self.y, bounds=bounds, method="highs")
        if found.x is None:
            raise ValueError(f"the linear programme of the absolute loss failed: {found.message}")
        w, k = np.zeros(len(price)), A.shape[1]
        w[included] = found.x[:k] - found.x[k : 2 * k]
        return w, float(found.x[2 * k]) if self.intercept else 0.0

    def matrix(self) -> Any:
        """X, with a column of ones where there is an intercept, in float64."""
        return (append_ones(self.X) if self.intercept else self.X).astype(np.float64)

    def risk(self, w: Array, b: float) -> float:
        return mean_absolute_error(self.X, self.y, self.share, w, b)

    def restricted_to(self, subset: list[int]) -> tuple[float, Array, float]:
        """The least risk with a subset of the features, and its w and b."""
        price = np.full(self.X.shape[1], np.inf)
        price[subset] = 0.0
        w, b = self.solve(price)
        return self.risk(w, b), w, b


def solve_l0(problem: LeastAbsoluteDeviations, price: float, exact: bool) -> tuple[Array, float]:
    """L0 by backward elimination, then with `exact` by branch and bound from its result."""
    d = problem.X.shape[1]
    inside, best, least = list(range(d)), np.zeros(d), np.inf
    while True:
        value, w, _ = problem.restricted_to(inside)
        if value + price * len(inside) < least:
            best, least = w, value + price * len(inside)
        if not inside:
            break
        without = [problem.restricted_to([i for i in inside if i != j])[0] for j in inside]
        inside.pop(int(np.argmin(without)))
    if exact:

        def risk(subset: list[int]) -> tuple[float, Array]:
            value, w, _ = problem.restricted_to(subset)
            return value, w[subset]

        best = best_subset(risk, np.abs(best), price, best, least)
    _, w, b = problem.restricted_to([int(j) for j in np.flatnonzero(best)])
    return w, b


def solve_reweighted_l1(
    problem: LeastAbsoluteDeviations, cost: Penalty, alpha: float, q: float
) -> tuple[Array, float]:
    """Lq with q < 1 by iteratively reweighted L1: |w|^q lies below its tangent, an L1 penalty."""
    d = problem.X.shape[1]
    best, least = (np.zeros(d), 0.0), np.inf
    for price in (np.zeros(d), np.full(d, alpha), np.full(d, np.inf)):
        before = np.inf
        for _ in range(100):
            w, b = problem.solve(price)
            value = problem.risk(w, b) + cost.value(w)
            if value < least:
                best, least = (w, b), value
            if value >= before - 1e-12:
                break
            before = value
            # a coefficient that has reached zero stays there: the tangent is vertical
            size = np.where(w != 0, np.abs(w), 1.0)
            price = np.where(w != 0, alpha * q * size ** (q - 1), np.inf)
    return best


def solve_interior_point(
    estimator: Any, problem: LeastAbsoluteDeviations, price: float, curvature: float
) -> tuple[Array, float]:
    """L2 and elastic net: an L1 penalty is one more residual |0 - w_j| for each coefficient."""
    A, d, kept = problem.matrix(), problem.X.shape[1], problem.share > 0
    A, t, c = A[kept], problem.y[kept], problem.share[kept]
    if price > 0:
        unit = np.eye(d, A.shape[1])
        A = sparse.vstack([A, unit], format="csr") if sparse.issparse(A) else np.vstack([A, unit])
        t, c = np.append(t, np.zeros(d)), np.append(c, np.full(d, price))
    solver = InteriorPointSolver(A, t, c, curvature * (np.arange(A.shape[1]) < d))

    def fitted(theta: Array) -> dict[str, Any]:
        return {"coef_": theta[:d], "intercept_": theta[d] if problem.intercept else 0.0}

    for step in estimator.steps(min(estimator.max_iter, 200), unpack=fitted):
        solver.advance()
        step.report(solver.theta, objective=solver.value, gap=solver.gap)
        # theta is only as exact as the square root of the gap where a residual is zero by chance
        if step.converged(solver.gap <= 1e-4 * estimator.tol * max(solver.value, 1e-300)):
            break
    estimator.n_iter_ = step.count
    w, b = solver.theta[:d], float(solver.theta[d]) if problem.intercept else 0.0
    if (
        price > 0
    ):  # an interior point is never exactly zero; a multiplier strictly inside its bounds shows a zero
        w = np.where(np.abs(solver.u[-d:]) < price * (1 - 1e-6), 0.0, w)
    return w, b


def solve_admm(estimator: Any, problem: LeastAbsoluteDeviations, cost: Penalty) -> tuple[Array, float]:
    """Lq with q > 1 by ADMM: residuals r = y - Xw - b and a copy u = w each take a proximal step."""
    A, y, share = problem.matrix(), problem.y, problem.share
    n, d = problem.X.shape
    M = A.T @ A
    M = M.toarray() if sparse.issparse(M) else M
    M[np.arange(d), np.arange(d)] += 1.0
    factor = cho_factor(M)
    u, v, r, p = np.zeros(d), np.zeros(d), np.zeros(n), np.zeros(n)
    rho = 1.0 / (n * max(np.abs(y - np.median(y)).mean(), 1e-12))

    def fitted(theta: Array) -> dict[str, Any]:
        return {"coef_": theta[:d], "intercept_": theta[d] if problem.intercept else 0.0}

    for step in estimator.steps(estimator.max_iter, unpack=fitted):
        right = A.T @ (y - r - p)
        right[:d] += u - v
        theta = cho_solve(factor, right)
        fit, w = A @ theta, theta[:d]
        r_before, u_before = r, u
        gap = y - fit - p
        r = gap - np.clip(gap, -share / rho, share / rho)
        u = cost.prox(w + v, 1.0 / rho)
        p, v = p + fit + r - y, v + w - u
        primal = np.hypot(np.linalg.norm(fit + r - y), np.linalg.norm(w - u))
        dual = rho * np.linalg.norm(A.T @ (r - r_before) - np.pad(u - u_before, (0, len(theta) - d)))
        step.report(np.append(u, theta[d:]), primal=primal, dual=dual)
        scale = max(np.linalg.norm(y), 1e-300)
        dual_scale = rho * max(np.linalg.norm(A.T @ p), 1e-300)
        if step.converged(primal <= estimator.tol * scale and dual <= estimator.tol * dual_scale):
            break
        if step.index % 20 == 19 and step.index < estimator.max_iter // 2:
            ratio = np.sqrt((primal / scale) / max(dual / dual_scale, 1e-300))
            if not 0.2 < ratio < 5:
                change = float(np.clip(ratio, 0.1, 10.0))
                rho, p, v = rho * change, p / change, v / change
    estimator.n_iter_ = step.count
    return u, float(theta[d]) if problem.intercept else 0.0
