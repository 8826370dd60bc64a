"""Block-coordinate descent on the dual of a kernel machine, with two-variable (SMO) steps within a block.

With beta = sign alpha the signs are gone from the dual:

    min over beta of  beta'K beta / 2 + sum of ridge beta² / 2 + q.beta,  lower <= beta <= upper,  sum of beta kept

and with v = -(K beta + ridge beta + q) it is optimal when no v of I_up (beta < upper) is above one of I_down
(beta > lower). Each block takes the variables that violate this most as its working set, and solves for them alone;
only rows of K whose beta has changed are ever needed. A small problem is one block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tercet.core.kernel import kernel
from tercet.core.steps import Steps
from tercet.svm._dual.block import MAX_BLOCK, smo_block
from tercet.svm._dual.gram_rows import FullGram, gram_rows
from tercet.svm._dual.problem import (
    DualProblem,
    DualSolution,
    Interval,
    bias_and_rho,
    check_sizes,
    most_steps,
)
from tercet.svm._dual.small import blocks

BLOCK = 1024  # variables of a working set
BLOCK_TOL = 0.05  # a block is solved to this part of the violation it began with
FLOAT32_TOL = 1e-5  # the least tolerance for which rows in float32 are exact enough
KEEP = 0.7  # a set that would shrink by less than the rest of its members stays: its part of K is at hand
PATIENCE = 30  # blocks in a row without progress
WORK = 50_000_000  # entries that one call of the block kernel may read: a fraction of a second


def solve_by_blocks(
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    cache_size: float = 200,
    shrinking: bool = True,
    n_jobs: int | None = None,
    steps: Callable[..., Steps] | None = None,
) -> DualSolution:
    """Solve the dual by block-coordinate descent; `solve_dual` has the parameters, and holds BLAS to one thread."""
    converged, message = False, "it was stopped"
    # Without bounds an indefinite kernel leads to infinity, which `DualState.diverges` notices.
    with np.errstate(over="ignore", invalid="ignore"):
        descent = _BlockDescent(problem, tol, max_iter, cache_size, shrinking, n_jobs)
        for step in blocks(steps):
            violation, objective = descent.check_optimality()
            step.report(
                descent.state.multipliers(descent.v, descent.intervals),
                objective=objective,
                violation=violation,
            )
            if violation <= tol:
                converged, message = step.converged(True), ""
                break
            reason = descent.reason_to_stop(objective, violation)
            if reason:
                message = reason
                break
            members, split = descent.working_set.select(descent.v, descent.intervals)
            descent.solve_subproblem(members, split, violation)
            descent.rescale()
        return descent.state.solution(descent.F, descent.n_iter, converged, message)


class _BlockDescent:
    """State of the block-coordinate dual solver: beta, F = K beta and the working set."""

    def __init__(
        self,
        problem: DualProblem,
        tol: float,
        max_iter: int,
        cache_size: float,
        shrinking: bool,
        n_jobs: int | None,
    ) -> None:
        self.problem, self.tol, self.shrinking, self.n_jobs = problem, tol, shrinking, n_jobs
        self.cache_bytes = cache_size * 2.0**20
        self.state = DualState(problem)
        self.given_limit = max_iter >= 0
        self.max_iter = max_iter if self.given_limit else most_steps(self.state.beta.size)
        self.n_iter = 0
        self._load_gram(fine=tol < FLOAT32_TOL)
        self.last = self.state.beta.copy(), self.F.copy()  # before the last block

    def _load_gram(self, fine: bool) -> None:
        """Access to K in float32, or (fine) in float64; F = K beta at the present beta."""
        state, problem = self.state, self.problem
        self.fine, self.n_corrections = fine, 0
        self.gram = gram_rows(
            problem.kernel, problem.X, fine=fine, cache_bytes=self.cache_bytes, n_jobs=self.n_jobs
        )
        check_sizes(problem, self.gram.diag)
        self.F = np.zeros(state.n_rows)
        beta = state.row_sums(state.beta)
        if beta.any():
            self.gram.correct(self.F, beta, 0.0)
        self.one_block = isinstance(self.gram, FullGram) and state.beta.size <= MAX_BLOCK
        self.working_set = WorkingSet(state, MAX_BLOCK if self.one_block else BLOCK, self.shrinking)
        self.block: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # members, their K, its diagonal
        self._forget_progress()

    def _forget_progress(self) -> None:
        self.best_objective, self.least_violation, self.n_idle = np.inf, np.inf, 0

    def check_optimality(self) -> tuple[float, float]:
        """Violation of the KKT conditions, and the objective; within the rounding error of F, F is corrected."""
        state = self.state
        self.v, self.intervals, violation = state.optimality(self.F)
        error = 8.0 * self.gram.rounding_error()
        if error > self.tol and violation <= max(self.tol, error):
            self.gram.correct(self.F, state.row_sums(state.beta), self.tol / 16.0)
            self.n_corrections += 1
            self._forget_progress()
            self.v, self.intervals, violation = state.optimality(self.F)
        return violation, state.objective(self.F)

    def reason_to_stop(self, objective: float, violation: float) -> str:
        """Why there is no point in going on; empty where there is."""
        if self.state.diverges(self.F, self.gram.diag):
            self.state.beta[:], self.F[:] = self.last  # finite, at least
            return "unbounded"
        if self.n_iter >= self.max_iter:
            return f"{'max_iter=' * self.given_limit}{self.max_iter} steps were not enough"
        exact = self.fine or self.one_block
        least = (1e-14 if exact else 1e-9) * abs(objective)
        progress = objective < self.best_objective - least or violation < 0.99 * self.least_violation
        self.best_objective = min(self.best_objective, objective)
        self.least_violation = min(self.least_violation, violation)
        self.n_idle = 0 if progress else self.n_idle + 1
        if self.n_idle >= (10 if self.one_block else PATIENCE) or self.n_corrections > 20:
            if exact:
                return "rounding keeps it from getting nearer"
            self._load_gram(fine=True)
        return ""

    def solve_subproblem(self, members: np.ndarray, split: int, violation: float) -> None:
        """Minimise over the working set by two-variable steps, and update F = K beta."""
        state = self.state
        if not state.bounded:
            self.last = state.beta.copy(), self.F.copy()
        rows = state.row[members]
        if self.block is None or self.block[0] is not members:
            self.block = members, self.gram.block(rows), self.gram.diag[rows] + state.ridge[members]
        _, K, diag = self.block
        before, lower, upper = state.beta[members], state.lower[members], state.upper[members]
        beta = before.copy()
        # a smaller curvature is rounding
        least = (1e-12 if self.fine or self.one_block else 1e-7) * (float(np.abs(diag).max()) or 1.0)
        tol = self.tol if self.one_block else max(BLOCK_TOL * violation, 0.25 * self.tol)
        longest = WORK // members.size if state.bounded else min(20_000, 100 * members.size)
        if self.one_block and self.shrinking:
            longest = min(longest, max(4096, 2 * members.size))
        limit = min(longest, self.max_iter - self.n_iter)
        ridge, v = state.ridge[members], self.v[members]
        self.n_iter += int(smo_block(K, diag, ridge, v, beta, lower, upper, split, least, tol, limit))
        state.beta[members] = beta
        if self.one_block:  # an exact F costs next to nothing
            self.gram.correct(self.F, state.row_sums(state.beta), 0.0)
        else:
            self._update_products(rows, beta - before, (beta > lower) & (beta < upper))

    def _update_products(self, rows: np.ndarray, change: np.ndarray, free: np.ndarray) -> None:
        """F += K times the changes of a block's variables."""
        if not self.state.one_per_row:
            rows, place = np.unique(rows, return_inverse=True)
            change = np.bincount(place, weights=change, minlength=rows.size)
            free = np.bincount(place, weights=free, minlength=rows.size) > 0
        moved = np.flatnonzero(change)
        # a free variable will move again: cache its row; one at a bound may well stay there
        self.gram.add(self.F, rows[moved], change[moved], free[moved], rows)

    def rescale(self) -> None:
        """Without bounds, multiply beta by the factor that minimises the objective; pairs take long for that."""
        factor = self.state.best_multiple(self.F)
        if factor > 1.5:
            self.state.beta *= factor
            self.gram.correct(self.F, self.state.row_sums(self.state.beta), 0.0)


class DualState:
    """Variables, bounds and linear term of a `DualProblem` in the form without signs, beta = sign alpha.

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


class WorkingSet:
    """Working sets of up to `size` variables, one after the other.

    Half of a set stays from the one before, free variables first and then the newest: sets without memory undo each
    other's work. The rest are the variables that violate the KKT conditions most, from I_up and from I_down.

    When all variables fit into one set it shrinks: variables that no violating pair contains are left out until
    one does.
    """

    def __init__(self, state: DualState, size: int, shrinking: bool = True) -> None:
        self.state, self.size, self.shrinking = state, size, shrinking
        self.members = np.zeros(0, dtype=np.intp)  # the newest first

    def select(self, v: np.ndarray, intervals: list[Interval]) -> tuple[np.ndarray, int]:
        """Members, and how many of them belong to the first group (they stand in front)."""
        state, old = self.state, self.members
        m = v.size
        if m <= self.size:
            return self._shrunk(v, intervals)
        new = self._most_violating(v, intervals, self.size - min(old.size, self.size // 2))
        is_old = np.ones(m, dtype=bool)
        is_old[new] = False
        old = old[is_old[old]]
        free = (state.beta[old] > state.lower[old]) & (state.beta[old] < state.upper[old])
        old = np.concatenate([old[free], old[~free]])[: self.size - new.size]
        self.members = np.concatenate([new, old])
        if len(state.groups) == 1:
            return self.members, self.members.size
        first = state.groups[0][self.members]
        return np.concatenate([self.members[first], self.members[~first]]), int(first.sum())

    def _shrunk(self, v: np.ndarray, intervals: list[Interval]) -> tuple[np.ndarray, int]:
        """All variables that may be in a violating pair; the members stay while those are most of them."""
        state = self.state
        active = [
            group & ((state.beta < state.upper) & (v >= high) | (state.beta > state.lower) & (v <= low))
            for group, (low, high) in zip(state.groups, intervals)
        ]
        if not self.members.size or not self.shrinking:
            active = state.groups
        count = sum(int(part.sum()) for part in active)
        inside = sum(int(part[self.members].sum()) for part in active)
        if inside < count or count < KEEP * self.members.size:
            self.members = np.concatenate([np.flatnonzero(part) for part in active])
        return self.members, int(state.groups[0][self.members].sum())

    def _most_violating(self, v: np.ndarray, intervals: list[Interval], count: int) -> np.ndarray:
        """Up to `count` variables: the largest v of I_up and the smallest of I_down, of each group."""
        state = self.state
        found = []
        each = max(1, count // (2 * len(intervals)))
        for group, (low, high) in zip(state.groups, intervals):
            up = np.flatnonzero(group & (state.beta < state.upper) & (v > high))
            down = np.flatnonzero(group & (state.beta > state.lower) & (v < low))
            found += [_smallest(up, -v[up], each), _smallest(down, v[down], each)]
        return np.unique(np.concatenate(found))


def _smallest(indices: np.ndarray, keys: np.ndarray, count: int) -> np.ndarray:
    """The indices with the smallest keys."""
    return indices if indices.size <= count else indices[np.argpartition(keys, count - 1)[:count]]
