"""A primal-dual interior-point method for the absolute losses of many rows with few features.

The dual has bounds only,

    min over a of  |X'(side a)|^2 / 2 - p·a,   0 <= a <= cost

with two variables for each row: of side +1 for a target above z + epsilon, of side -1 for one below z - epsilon.
A Newton step for the conditions of optimality, with products of slacks and multipliers that go to 0, is a system of
the size of v = X'(side a): (I + X' D X) dv = r with a diagonal D. Where rows are many and features few, coordinate
descent takes thousands of passes; this takes some twenty.
"""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.svm._dual.cholesky import cholesky, solve_cholesky
from tercet.svm._linear.dual_coordinate import MAX_FREE, DualCoordinateDescent
from tercet.svm._linear.problem import LinearProblem

Array = np.ndarray
MAX_FEATURES = 100  # with more, coordinate descent has an easier task
ROWS_PER_FEATURE = 4
GAP = 1e-10  # relative gap between the objectives at which bounds are told from free variables
ROUNDING = 1e-10  # a part of the cost that is next to a bound
WORK = 30_000_000  # multiplications of one call: a fraction of a second
QUICK = 1_000_000  # multiplications of an iteration that takes no time to speak of
MOST = 100  # iterations, before coordinate descent takes over


def suits(problem: LinearProblem) -> bool:
    """Whether there are many rows, and few features, in an array."""
    n, d = problem.shape
    return (
        isinstance(problem.X, np.ndarray)
        and not problem.squared
        and not problem.side.any()
        and d <= MAX_FEATURES
        and n >= ROWS_PER_FEATURE * (d + 1)
    )


class InteriorPoint(DualCoordinateDescent):
    """Interior-point method for one `LinearProblem` of regression; then the multipliers' exact values.

    What it ends with is refined as in `DualCoordinateDescent`, which goes on where that does not do.
    """

    def __init__(self, problem: LinearProblem, tol: float, rng: np.random.Generator) -> None:
        super().__init__(problem, tol, rng)
        n, d = problem.shape
        self.Z = np.ones((n, d + 1))
        self.Z[:, :d] = problem.X
        self.Z[:, d] = problem.bias
        size = max(float(np.abs(problem.target).max()), 1e-300)
        # A start in the middle of the bounds, with slacks of the size of the targets.
        self.a = np.tile(problem.cost / 2.0, (2, 1))
        self.s, self.t = np.full((2, n), size), np.full((2, n), size)
        self.inside, self.iterations, self.gap = True, 0, np.inf
        self.quick = self.Z.size * self.Z.shape[1] <= QUICK

    def epoch(self) -> None:
        """One iteration, or (after the last) one pass of coordinate descent."""
        self.run(1)

    def run(self, limit: int, trace: list | None = None) -> int:
        """Up to `limit` iterations or passes, and their number; `trace` gets objective and violation of each."""
        count = 0
        while count < limit and not self.done:
            if self.inside:
                most = max(1, min(limit - count, WORK // max(1, self.Z.size * self.Z.shape[1])))
                count += self._iterate(most, trace)
                continue
            super().epoch()
            count += 1
            if trace is not None:
                trace.append((self.objective, self.violation))
        return count

    def _iterate(self, limit: int, trace: list | None) -> int:
        problem, numbers = self.problem, np.zeros((limit, 3))
        count = int(
            interior_iterations(
                self.Z,
                problem.target,
                problem.cost,
                problem.epsilon,
                self.a,
                self.s,
                self.t,
                self.v,
                GAP,
                numbers,
            )
        )
        self.iterations += count
        self.objective, self.violation, self.gap = (float(x) for x in numbers[count - 1])
        if self.gap <= GAP or self.iterations >= MOST or not np.isfinite(self.objective):
            self._leave()
            numbers[count - 1, :2] = self.objective, self.violation
        if trace is not None:
            trace += numbers[:count, :2].tolist()
        return count

    def _leave(self) -> None:
        """Variables next to a bound are at it; the others solve a linear system."""
        self.inside, cost = False, self.problem.cost
        # the smaller of slack and distance is next to nothing, where they are not both
        low = (self.a * self.problem_scale < self.s) | (self.a <= ROUNDING * cost)
        high = ((cost - self.a) * self.problem_scale < self.t) | (cost - self.a <= ROUNDING * cost)
        a = np.where(low, 0.0, np.where(high, cost, self.a))
        beta = a[0] - a[1]
        if not np.isfinite(beta).all():
            beta = np.zeros(beta.size)
        self.beta[:] = np.clip(beta, self.low, self.high)
        self.done = self._solve_free()
        if not self.done:
            self.beta[:] = np.clip(beta, self.low, self.high)
            self.v = self.problem.transpose_times(self.beta)
            self.done = self._free().size <= MAX_FREE and self._refine()

    def _solve_free(self) -> bool:
        """Newton's step for the free variables; whether the result is optimal within tol."""
        free, beta, Z, problem = self._free(), self.beta, self.Z, self.problem
        if free.size > Z.shape[1]:  # not the one solution
            return False
        if free.size:
            rows = Z[free]
            right = problem.target[free] - rows @ (beta @ Z) - problem.epsilon * np.sign(beta[free])
            try:
                beta[free] += np.linalg.solve(rows @ rows.T, right)
            except np.linalg.LinAlgError:
                return False
            inside = np.abs(beta[free])
            if not np.all((inside > 0) & (inside < self.high[free])):
                return False
        self.v = beta @ Z
        self.violation = self._max_violation()
        self.objective = -problem.dual_objective(beta, self.v)
        return self.violation <= self.tol

    @property
    def problem_scale(self) -> float:
        """Slack per multiplier: brings both to one unit."""
        return max(float(np.abs(self.problem.target).max()), 1e-300) / float(self.problem.cost.max())


@kernel
def interior_iterations(Z, target, cost, epsilon, a, s, t, v, enough, numbers):
    """Predictor-corrector iterations; objective, violation and gap of each go to `numbers`. Returns their number.

    Shapes: Z (n, d), a (variables), s and t (multipliers of their lower and upper bounds) (2, n), v (d,). With the
    gradients g = side (z - target) + epsilon, a Newton step is side dz + theta da = h for each variable,
    theta = s / a + t / (cost - a), and so (I + Z' D Z) dv = Z' (h / theta summed with its sides).
    """
    n, d = Z.shape
    H, dv = np.empty((d, d)), np.empty(d)
    da, ds, dt = np.zeros((2, n)), np.zeros((2, n)), np.zeros((2, n))
    low, high, theta = np.empty((2, n)), np.empty((2, n)), np.empty((2, n))  # reciprocals
    for k in range(numbers.shape[0]):
        weigh_rows(Z, cost, a, s, t, v, H, low, high, theta)
        if not cholesky(H, 0.0):
            return max(k, 1)
        mu = 0.0
        for i in range(n):
            for c in range(2):
                mu += (a[c, i] * s[c, i] + (cost[i] - a[c, i]) * t[c, i]) / (4 * n)
        centre, length = 0.0, 0.0
        for turn in range(2):
            second = turn == 1
            direction(
                Z, target, cost, epsilon, a, s, t, v, H, low, high, theta, centre, second, dv, da, ds, dt
            )
            length = 1.0
            for i in range(n):
                for c in range(2):
                    if da[c, i] < 0.0:
                        length = min(length, -a[c, i] / da[c, i])
                    elif da[c, i] > 0.0:
                        length = min(length, (cost[i] - a[c, i]) / da[c, i])
                    if ds[c, i] < 0.0:
                        length = min(length, -s[c, i] / ds[c, i])
                    if dt[c, i] < 0.0:
                        length = min(length, -t[c, i] / dt[c, i])
            if turn == 0:
                ahead = 0.0
                for i in range(n):
                    for c in range(2):
                        x, other = a[c, i] + length * da[c, i], t[c, i] + length * dt[c, i]
                        ahead += (x * (s[c, i] + length * ds[c, i]) + (cost[i] - x) * other) / (4 * n)
                centre = mu * (ahead / mu) ** 3
        length *= max(0.9, 1.0 - mu) if mu < 1.0 else 0.9
        for i in range(n):
            for c in range(2):
                a[c, i] += length * da[c, i]
                s[c, i] += length * ds[c, i]
                t[c, i] += length * dt[c, i]
        evaluate_bounds(Z, target, cost, epsilon, a, v, numbers[k])
        if numbers[k, 2] <= enough:
            return k + 1
    return numbers.shape[0]


@inner
def weigh_rows(Z, cost, a, s, t, v, H, low, high, theta):
    """The lower triangle of H = I + Z' D Z, v = Z'(a_0 - a_1), and reciprocals of a, cost - a and theta."""
    n, d = Z.shape
    for j in range(d):
        v[j] = 0.0
        for m in range(d):
            H[j, m] = 1.0 if j == m else 0.0
    for i in range(n):
        z, weight = Z[i], 0.0
        for c in range(2):
            low[c, i], high[c, i] = 1.0 / a[c, i], 1.0 / (cost[i] - a[c, i])
            theta[c, i] = 1.0 / (s[c, i] * low[c, i] + t[c, i] * high[c, i])
            weight += theta[c, i]
        beta = a[0, i] - a[1, i]
        for j in range(d):
            v[j] += beta * z[j]
            factor, row = weight * z[j], H[j]
            for m in range(j + 1):
                row[m] += factor * z[m]


@inner
def direction(Z, target, cost, epsilon, a, s, t, v, L, low, high, theta, centre, second, dv, da, ds, dt):
    """The Newton step for products `centre`; if `second`, with the products of the last step's changes."""
    n, d = Z.shape
    right = np.zeros(d)
    for j in range(d):
        dv[j] = 0.0
    for turn in range(2):  # dv from all rows; then what each row makes of it
        for i in range(n):
            z, score, change, total = Z[i], 0.0, 0.0, 0.0
            for j in range(d):
                score += z[j] * v[j]
                change += z[j] * dv[j]
            for c in range(2):
                side = 1.0 if c == 0 else -1.0
                below, above = centre - a[c, i] * s[c, i], centre - (cost[i] - a[c, i]) * t[c, i]
                if second:
                    # the first turn has not changed them yet
                    below -= da[c, i] * ds[c, i]
                    above += da[c, i] * dt[c, i]
                h = below * low[c, i] - above * high[c, i]
                h -= side * (score - target[i]) + epsilon - s[c, i] + t[c, i]
                if turn == 0:
                    total += side * h * theta[c, i]
                else:
                    step = (h - side * change) * theta[c, i]
                    ds[c, i] = (below - s[c, i] * step) * low[c, i]
                    dt[c, i] = (above + t[c, i] * step) * high[c, i]
                    da[c, i] = step
            if turn == 0:
                for j in range(d):
                    right[j] += total * z[j]
        if turn == 0:
            for j in range(d):
                dv[j] = right[j]
            solve_cholesky(L, dv)


@inner
def evaluate_bounds(Z, target, cost, epsilon, a, v, numbers):
    """Objective of the minimised dual, and the gap to the primal one: relative, twice."""
    n, d = Z.shape
    for j in range(d):
        v[j] = 0.0
    linear, loss, square = 0.0, 0.0, 0.0
    for i in range(n):
        z, beta = Z[i], a[0, i] - a[1, i]
        linear += target[i] * beta - epsilon * (a[0, i] + a[1, i])
        for j in range(d):
            v[j] += beta * z[j]
    for j in range(d):
        square += v[j] * v[j]
    for i in range(n):
        z, score = Z[i], 0.0
        for j in range(d):
            score += z[j] * v[j]
        loss += cost[i] * max(abs(target[i] - score) - epsilon, 0.0)
    numbers[0] = square / 2.0 - linear
    numbers[2] = (square + loss - linear) / max(abs(numbers[0]), 1e-300)
    numbers[1] = numbers[2]
