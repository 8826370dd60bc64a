"""The dual's variables in the form without signs, beta = sign alpha."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel
from tercet.svm._dual.optimality import Interval, bias_and_rho
from tercet.svm._dual.problem import DualProblem, DualSolution


class DualState:
    """Variables, bounds and linear term of a `DualProblem` (see `_dual.solver`).

    F, of shape (n_rows,), is K beta in all methods; v, of shape (m,), is -(F + ridge beta + q).
    """

    def __init__(self, problem: DualProblem) -> None:
        sign = self.sign = np.asarray(problem.sign, dtype=np.float64)
        upper = np.asarray(problem.upper, dtype=np.float64)
        m = sign.size
        self.one_per_row = problem.row is None
        self.row = (
            np.arange(m, dtype=np.int64) if problem.row is None else np.asarray(problem.row, dtype=np.int64)
        )
        self.n_rows = problem.X.shape[0]
        self.q = sign * np.asarray(problem.p, dtype=np.float64)
        self.lower = np.where(sign > 0, 0.0, -upper)
        self.upper = np.where(sign > 0, upper, 0.0)
        self.beta = np.clip(sign * np.asarray(problem.start, dtype=np.float64), self.lower, self.upper)
        self.ridge = np.zeros(m)
        if problem.ridge is not None:
            self.ridge = np.asarray(problem.ridge, dtype=np.float64)[self.row]
        self.bounded = bool(np.isfinite(upper).all())
        self.nu = bool(problem.nu)
        # Without bounds, and with a sum of 0 to keep, the multiples of beta are feasible too.
        self.is_cone = bool(np.isinf(upper).all()) and not self.nu and not self.beta.any()
        self.group = (sign < 0).astype(np.int64) if self.nu else np.zeros(m, dtype=np.int64)
        self.groups = [sign > 0, sign < 0] if problem.nu else [np.ones(m, dtype=bool)]

    def row_sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over the variables of each row."""
        return values if self.one_per_row else np.bincount(self.row, weights=values, minlength=self.n_rows)

    def optimality(self, F: np.ndarray) -> tuple[np.ndarray, list[Interval], float]:
        """v, for each equality constraint the largest v over I_up and the smallest over I_down, and the violation
        of the maximal violating pair."""
        v = np.empty(self.beta.size)
        ends = negative_gradient(
            F, self.row, self.q, self.ridge, self.beta, self.lower, self.upper, self.group, v
        )
        intervals = [(float(low), float(high)) for low, high in ends[: 1 + self.nu]]
        return v, intervals, max(0.0, *(low - high for low, high in intervals))

    def objective(self, F: np.ndarray) -> float:
        """The value of the minimised dual."""
        beta = self.beta
        return float(self.row_sums(beta) @ F / 2 + beta @ (self.ridge * beta) / 2 + self.q @ beta)

    def _squared_norm(self, F: np.ndarray) -> float:
        """beta'(K + ridge) beta."""
        return float(self.row_sums(self.beta) @ F + self.beta @ (self.ridge * self.beta))

    def diverges(self, F: np.ndarray, diag: np.ndarray) -> bool:
        """Whether beta grows without limit, along a line on which K beta stays next to nothing."""
        if self.bounded:
            return False
        square = self._squared_norm(F)
        long_enough = square >= 1e-12 * np.abs(diag).max() * np.abs(self.beta).sum() ** 2
        return not (np.isfinite(square) and long_enough)

    def best_multiple(self, F: np.ndarray) -> float:
        """The multiple of beta that minimises the objective, where multiples are feasible; else 1."""
        square = self._squared_norm(F)
        return float(-(self.q @ self.beta) / square) if self.is_cone and square > 0 else 1.0

    def multipliers(self, v: np.ndarray, intervals: list[Interval]) -> tuple[np.ndarray, float, float]:
        """alpha, b and rho."""
        free = (self.beta > self.lower) & (self.beta < self.upper)
        return self.sign * self.beta + 0.0, *bias_and_rho(v, free, self.groups, intervals)

    def solution(self, F: np.ndarray, n_iter: int, converged: bool, message: str) -> DualSolution:
        """The solution at beta."""
        v, intervals, violation = self.optimality(F)
        alpha, b, rho = self.multipliers(v, intervals)
        return DualSolution(
            alpha=alpha,
            gradient=-self.sign * v,
            b=b,
            interval=intervals[0],
            objective=self.objective(F),
            violation=violation,
            n_iter=n_iter,
            converged=converged,
            rho=rho,
            message=message,
        )


@kernel
def negative_gradient(F, row, q, ridge, beta, lower, upper, group, v):
    """v = -(F + ridge beta + q), and its extremes over I_up and I_down, for both groups: an array (2, 2)."""
    ends = np.empty((2, 2))
    for g in range(2):
        ends[g, 0], ends[g, 1] = -np.inf, np.inf
    for k in range(v.size):
        v[k] = -(F[row[k]] + q[k] + ridge[k] * beta[k])
        g = group[k]
        if beta[k] < upper[k] and v[k] > ends[g, 0]:
            ends[g, 0] = v[k]
        if beta[k] > lower[k] and v[k] < ends[g, 1]:
            ends[g, 1] = v[k]
    return ends
