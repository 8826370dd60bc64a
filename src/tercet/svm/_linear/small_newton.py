"""Newton's method on the primal of a linear machine with squared slacks, in one compiled loop: for small data."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import inner, kernel
from tercet.core.stopping import check_stop
from tercet.svm._dual.cholesky import cholesky, solve_cholesky
from tercet.svm._linear.primal_newton import PrimalNewton, _solve_posdef
from tercet.svm._linear.problem import LinearProblem

Array = np.ndarray
WORK = 10_000_000  # multiplications of one Hessian
QUICK = 1_000_000  # of one that takes no time to speak of


def suits(problem: LinearProblem) -> bool:
    """Whether the data are small, in an array."""
    n, d = problem.shape
    return isinstance(problem.X, np.ndarray) and problem.squared and n * (d + 1) ** 2 <= WORK


class SmallNewton(PrimalNewton):
    """`PrimalNewton` with all parts of a step in one kernel."""

    def __init__(self, problem: LinearProblem, tol: float) -> None:
        n, d = problem.shape
        self.Z = np.empty((n, d + 1))
        self.Z[:, :d] = problem.X
        self.Z[:, d] = problem.bias
        self.quick = n * (d + 1) ** 2 <= QUICK
        super().__init__(problem, tol)

    def epoch(self) -> None:
        """One Newton step with an exact line search."""
        self.run(1)

    def run(self, limit: int, trace: list | None = None) -> int:
        """Up to `limit` steps; `trace` gets objective and violation of each. Returns their number."""
        count = 0
        while count < limit and not self.done:
            check_stop()
            problem, numbers = self.problem, np.zeros((min(limit - count, 50), 2))
            parts = problem.target, problem.side, problem.cost, problem.epsilon, self.v, self.z, self.gradient
            done, singular = newton_steps(self.Z, *parts, self.objective, self.tol, numbers)
            if singular:
                done = 1
                self._careful_step()
                numbers[0] = self.objective, self.violation
            else:
                self.objective, self.violation = (float(x) for x in numbers[done - 1])
                before = numbers[done - 2, 0] if done > 1 else np.inf
                self.done = self.violation <= self.tol or self.objective >= before
            count += int(done)
            if trace is not None:
                trace += numbers[:done].tolist()
        return count

    def _careful_step(self) -> None:
        """A step with a Hessian that rounding has made singular."""
        self.e = self.problem.excess(self.z)
        super().epoch()

    def _inverse_hessian_times(self, g: Array, weight: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # `_solve_posdef` checks it
            H = (self.Z.T * weight) @ self.Z
        H[np.diag_indices(g.size)] += 1.0
        return _solve_posdef(H, g)


@kernel
def newton_steps(Z, target, side, cost, epsilon, v, z, gradient, objective, tol, numbers):
    """Newton steps until the norm of the gradient is at most tol; objective and norm of each go to `numbers`.

    Returns how many were made, and whether the Hessian was singular (no step then). Shapes: Z (n, d), v (d,).
    """
    n, d = Z.shape
    H, p, along = np.empty((d, d)), np.empty(d), np.empty(n)
    for k in range(numbers.shape[0]):
        hessian(Z, target, side, cost, epsilon, z, H)
        if not cholesky(H, 0.0):
            return k, k == 0
        for j in range(d):
            p[j] = -gradient[j]
        solve_cholesky(H, p)
        vp, pp, slope0 = 0.0, 0.0, 0.0
        for j in range(d):
            vp += v[j] * p[j]
            pp += p[j] * p[j]
            slope0 += gradient[j] * p[j]
        for i in range(n):
            row, total = Z[i], 0.0
            for j in range(d):
                total += row[j] * p[j]
            along[i] = total
        t = line_minimum(target, side, cost, epsilon, z, along, vp, pp, slope0)
        square, loss = 0.0, 0.0
        for j in range(d):
            v[j] += t * p[j]
            square += v[j] * v[j]
            gradient[j] = v[j]
        for i in range(n):
            z[i] += t * along[i]
            e = penalised(target[i] - z[i], side[i], epsilon)
            loss += cost[i] * e * e
            factor, row = -2.0 * cost[i] * e, Z[i]
            if e != 0.0:
                for j in range(d):
                    gradient[j] += factor * row[j]
        norm = 0.0
        for j in range(d):
            norm += gradient[j] * gradient[j]
        before = objective if k == 0 else numbers[k - 1, 0]
        numbers[k, 0], numbers[k, 1] = square / 2.0 + loss, np.sqrt(norm)
        if numbers[k, 1] <= tol or numbers[k, 0] >= before:
            return k + 1, False
    return numbers.shape[0], False


@inner
def penalised(e, side, epsilon):
    """The part of a residual that counts."""
    if e > epsilon:
        e -= epsilon
    elif e < -epsilon:
        e += epsilon
    else:
        e = 0.0
    return e if side * e >= 0.0 else 0.0


@inner
def hessian(Z, target, side, cost, epsilon, z, H):
    """The lower triangle of I + 2 Z'SZ, with the costs S of the rows that have a loss."""
    n, d = Z.shape
    for j in range(d):
        for m in range(d):
            H[j, m] = 1.0 if j == m else 0.0
    for i in range(n):
        if penalised(target[i] - z[i], side[i], epsilon) != 0.0:
            row = Z[i]
            for j in range(d):
                factor, out = 2.0 * cost[i] * row[j], H[j]
                for m in range(j + 1):
                    out[m] += factor * row[m]


@inner
def line_minimum(target, side, cost, epsilon, z, along, vp, pp, slope0):
    """The t that minimises f(v + tp): the root of its derivative, which is increasing and piecewise linear."""
    low, high, below, above = 0.0, 0.0, slope0, slope0
    t = 1.0
    for turn in range(120):
        slope = vp + t * pp
        for i in range(z.size):
            e = penalised(target[i] - z[i] - t * along[i], side[i], epsilon)
            slope -= 2.0 * cost[i] * e * along[i]
        exact = 1e-10 if turn == 0 else 1e-12
        if abs(slope) <= exact * abs(slope0) or (high > 0.0 and high - low <= 1e-15 * high) or t > 1e6:
            return t
        if high == 0.0:  # still looking for an upper end
            if slope < 0.0:
                low, below, t = t, slope, 2.0 * t
                continue
            high, above = t, slope
        elif slope < 0.0:
            low, below, above = t, slope, above / 2.0  # regula falsi, Illinois rule
        else:
            high, above, below = t, slope, below / 2.0
        t = min(max(low - below * (high - low) / (above - below), low), high)
    return t
