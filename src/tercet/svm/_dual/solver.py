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

from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps
from tercet.svm._dual.block import MAX_BLOCK, smo_block
from tercet.svm._dual.gram_rows import FullGram, gram_rows
from tercet.svm._dual.problem import DualProblem, DualSolution
from tercet.svm._dual.refinement import is_small, refine, with_gram_matrix
from tercet.svm._dual.state import DualState
from tercet.svm._dual.working_set import WorkingSet

BLOCK = 1024  # variables of a block
BLOCK_TOL = 0.05  # a block is solved to this part of the violation it began with
FLOAT32_TOL = 1e-5  # the least tolerance for which rows in float32 are exact enough
MAX_BLOCKS = 10_000
PATIENCE = 30  # blocks in a row without progress
WORK = 50_000_000  # entries that one call of the block kernel may read: a fraction of a second


def solve_dual(
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    cache_size: float = 200,
    shrinking: bool = True,
    n_jobs: int | None = None,
    steps: Callable[..., Steps] | None = None,
) -> DualSolution:
    """Solve the dual by blocks; a small problem to full precision, by active-set refinement.

    Parameters
    ----------
    problem, tol, max_iter, cache_size, shrinking, n_jobs, steps
        As in `solve_by_blocks`. With a limit of steps there is no refinement.

    Returns
    -------
    solution : DualSolution
    """
    small = is_small(problem)
    if small:
        problem = with_gram_matrix(problem, n_jobs)

    def solve(
        problem: DualProblem, tol: float, max_iter: int, steps: Callable[..., Steps] | None = None
    ) -> DualSolution:
        return solve_by_blocks(
            problem, tol=tol, max_iter=max_iter, cache_size=cache_size, shrinking=shrinking, n_jobs=n_jobs,
            steps=steps,
        )  # fmt: skip

    found = solve(problem, tol, max_iter, steps)
    if not small or max_iter >= 0:
        return found
    with one_blas_thread():
        return refine(problem, found, solve)


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
    """Solve the dual by block-coordinate descent.

    Parameters
    ----------
    problem : DualProblem
    tol : float, default=1e-3
        The greatest violation of the KKT conditions by a pair of variables.
    max_iter : int, default=-1
        The most two-variable steps; -1 is a hundred for each variable and ten million at least.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix. (Of up to 2048 rows the full Gram matrix is computed.)
    shrinking : bool, default=True
        Where there is the full Gram matrix, leave out variables that no violating pair contains at the time.
        (Working sets of larger problems are few variables anyway.)
    n_jobs : int, optional
        Threads; the result is the same for any number.
    steps : callable, optional
        Makes the loop (see `core.steps`); each block reports (alpha, b, rho), `objective` and `violation`.

    Returns
    -------
    solution : DualSolution
        Where `converged` is false, `message` says why; it is for the caller to warn.
    """
    converged, message = False, f"{MAX_BLOCKS} blocks were not enough"
    # Without bounds an indefinite kernel leads to infinity, which `DualState.diverges` notices.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        descent = _BlockDescent(problem, tol, max_iter, cache_size, shrinking, n_jobs)
        for step in (steps or Steps)(MAX_BLOCKS, name="block"):
            violation, objective = descent.check_optimality()
            step.report(descent.multipliers(), objective=objective, violation=violation)
            if violation <= tol:
                converged, message = step.converged(True), ""
                break
            reason = descent.reason_to_stop(objective, violation)
            if reason:
                message = reason
                break
            working_set, split = descent.select_working_set()
            descent.solve_subproblem(working_set, split, violation)
            descent.rescale()
        return descent.solution(converged, message)


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
        self.max_iter = max(10_000_000, 100 * self.state.beta.size) if max_iter < 0 else max_iter
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

    def multipliers(self) -> tuple[np.ndarray, float, float]:
        """alpha, b and rho."""
        return self.state.multipliers(self.v, self.intervals)

    def reason_to_stop(self, objective: float, violation: float) -> str:
        """Why there is no point in going on; empty where there is."""
        if self.state.diverges(self.F, self.gram.diag):
            self.state.beta[:], self.F[:] = self.last  # finite, at least
            return "unbounded"
        if self.n_iter >= self.max_iter:
            return f"max_iter={self.max_iter} steps were not enough"
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

    def select_working_set(self) -> tuple[np.ndarray, int]:
        """The variables of the next block, and how many of them belong to the first equality constraint."""
        return self.working_set.select(self.v, self.intervals)

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

    def solution(self, converged: bool, message: str) -> DualSolution:
        """The solution at the present beta."""
        return self.state.solution(self.F, self.n_iter, converged, message)
