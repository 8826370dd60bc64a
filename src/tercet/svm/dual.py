"""The state of a dual on its way: beta = sign alpha, and what each variable asks b to be."""

from __future__ import annotations

import numpy as np

from tercet.core.kernel import kernel
from tercet.svm.problem import Problem, Solution


class Dual:
    """The variables of a problem in the form without signs (see `svm.solver`).

    F, of one entry a row, is K beta throughout.
    """

    def __init__(self, problem: Problem) -> None:
        sign = self.sign = np.asarray(problem.sign, dtype=np.float64)
        upper = np.asarray(problem.upper, dtype=np.float64)
        m = sign.size
        self.single = problem.row is None  # one variable for each row
        self.row = (
            np.arange(m, dtype=np.int64) if problem.row is None else np.asarray(problem.row, dtype=np.int64)
        )
        self.n = problem.X.shape[0]
        self.q = sign * np.asarray(problem.p, dtype=np.float64)
        self.lo = np.where(sign > 0, 0.0, -upper)
        self.hi = np.where(sign > 0, upper, 0.0)
        self.beta = np.clip(sign * np.asarray(problem.start, dtype=np.float64), self.lo, self.hi)
        self.ridge = np.zeros(m)
        if problem.ridge is not None:
            self.ridge = np.asarray(problem.ridge, dtype=np.float64)[self.row]
        self.bounded = bool(np.isfinite(upper).all())
        self.nu = bool(problem.nu)
        # Without bounds, and with a sum of 0 to keep, the multiples of beta are feasible too.
        self.cone = bool(np.isinf(upper).all()) and not self.nu and not self.beta.any()
        self.group = (sign < 0).astype(np.int64) if self.nu else np.zeros(m, dtype=np.int64)
        self.groups = [sign > 0, sign < 0] if problem.nu else [np.ones(m, dtype=bool)]

    def by_row(self, values: np.ndarray) -> np.ndarray:
        """Sums of the variables of each row."""
        return values if self.single else np.bincount(self.row, weights=values, minlength=self.n)

    def survey(self, F: np.ndarray) -> tuple[np.ndarray, list[tuple[float, float]], float]:
        """What each variable asks b to be; of each group the most that one that may rise asks for and the least
        that one that may fall does; and by how much the worst pair breaks the conditions of an optimum."""
        v = np.empty(self.beta.size)
        ends = look(F, self.row, self.q, self.ridge, self.beta, self.lo, self.hi, self.group, v)
        borders = [(float(high), float(low)) for high, low in ends[: 1 + self.nu]]
        return v, borders, max(0.0, *(high - low for high, low in borders))

    def objective(self, F: np.ndarray) -> float:
        beta = self.beta
        return float(self.by_row(beta) @ F / 2 + beta @ (self.ridge * beta) / 2 + self.q @ beta)

    def escapes(self, F: np.ndarray, diag: np.ndarray) -> bool:
        """Whether beta is on its way to infinity, along a line on which K beta stays next to nothing."""
        if self.bounded:
            return False
        square = self.by_row(self.beta) @ F + self.beta @ (self.ridge * self.beta)
        long_enough = square >= 1e-12 * np.abs(diag).max() * np.abs(self.beta).sum() ** 2
        return not (np.isfinite(square) and long_enough)

    def stretch(self, F: np.ndarray) -> float:
        """The multiple of beta that makes the objective least, where multiples are feasible; else 1."""
        square = self.by_row(self.beta) @ F + self.beta @ (self.ridge * self.beta)
        return float(-(self.q @ self.beta) / square) if self.cone and square > 0 else 1.0

    def state(self, v: np.ndarray, borders: list[tuple[float, float]]) -> tuple[np.ndarray, float, float]:
        """alpha; b, the mean of what variables inside their bounds ask for; and rho, the other multiplier."""
        free = (self.beta > self.lo) & (self.beta < self.hi)
        middles = []
        for group, ends in zip(self.groups, borders):
            inside = v[group & free]
            known = inside if inside.size else [end for end in ends if np.isfinite(end)] or [0.0]
            middles.append(float(np.mean(known)))
        alpha = self.sign * self.beta + 0.0
        if not self.nu:
            return alpha, middles[0], 1.0
        first, second = middles  # b - rho, and b + rho
        return alpha, (first + second) / 2, (second - first) / 2

    def solution(self, F: np.ndarray, n_iter: int, converged: bool, message: str) -> Solution:
        v, borders, gap = self.survey(F)
        alpha, b, rho = self.state(v, borders)
        return Solution(
            alpha=alpha,
            gradient=-self.sign * v,
            b=b,
            interval=borders[0],
            objective=self.objective(F),
            violation=gap,
            n_iter=n_iter,
            converged=converged,
            rho=rho,
            message=message,
        )


@kernel
def look(F, row, q, ridge, beta, lo, hi, group, v):
    """v = -(F + ridge beta + q), and its extremes where beta may rise or fall, for both groups."""
    ends = np.empty((2, 2))
    for g in range(2):
        ends[g, 0], ends[g, 1] = -np.inf, np.inf
    for k in range(v.size):
        v[k] = -(F[row[k]] + q[k] + ridge[k] * beta[k])
        g = group[k]
        if beta[k] < hi[k] and v[k] > ends[g, 0]:
            ends[g, 0] = v[k]
        if beta[k] > lo[k] and v[k] < ends[g, 1]:
            ends[g, 1] = v[k]
    return ends
