"""The solver behind every machine here: blocks of variables, and pairs within a block.

With beta = sign alpha the signs are gone from the dual:

    min over beta of  beta'K beta / 2 + sum of ridge beta² / 2 + q.beta,  lo <= beta <= hi,  sum of beta kept

Let v = -(K beta + ridge beta + q), what each variable asks b to be. Beta may rise where it is below hi, and fall
where it is above lo; it is optimal when no variable that may rise asks for more than one that may fall. Each outer
step takes the variables that break this most, and solves for them alone, pair by pair; only rows of K whose beta
has changed are ever needed. A small problem is one block.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps
from tercet.svm.block import LONGEST, descend
from tercet.svm.dual import Dual
from tercet.svm.gram_rows import Whole, gram_rows
from tercet.svm.problem import Problem, Solution
from tercet.svm.working_set import WorkingSet

BLOCK = 1024  # variables of a block
EASE = 0.05  # a block is solved to this part of the violation it began with
FINE = 1e-5  # the least tolerance for which rows in float32 will do
BLOCKS = 10_000  # at most
PATIENCE = 30  # blocks in a row that bring nothing
WORK = 50_000_000  # entries that one call of the inner kernel may look at: a fraction of a second


def solve(
    problem: Problem,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    cache_size: float = 200,
    shrinking: bool = True,
    n_jobs: int | None = None,
    steps: Callable[..., Steps] | None = None,
) -> Solution:
    """Minimise the dual of a machine.

    Parameters
    ----------
    problem : Problem
    tol : float, default=1e-3
        The worst pair of variables may break the conditions of an optimum by this much.
    max_iter : int, default=-1
        The most steps on pairs; -1 is a hundred for each variable and ten million at least.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix. (A Gram matrix of up to 2048 rows is kept whole.)
    shrinking : bool, default=True
        Where the Gram matrix is kept whole, leave variables aside that no pair could move at the time. (Blocks of
        larger problems look at few variables anyway.)
    n_jobs : int, optional
        Threads; the result is the same for any number.
    steps : callable, optional
        Makes the loop (see `core.steps`); each block reports (alpha, b, rho), `objective` and `violation`.

    Returns
    -------
    solution : Solution
        Where `converged` is false, `message` says why; it is for the caller to warn.
    """
    # Without bounds an indefinite kernel leads to infinity, which `escapes` sees.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        return _Descent(problem, tol, max_iter, cache_size, shrinking, n_jobs).run(steps or Steps)


class _Descent:
    """A dual on its way down."""

    def __init__(
        self,
        problem: Problem,
        tol: float,
        max_iter: int,
        cache_size: float,
        shrinking: bool,
        n_jobs: int | None,
    ) -> None:
        self.problem, self.tol, self.shrinking, self.n_jobs = problem, tol, shrinking, n_jobs
        self.cache_bytes = cache_size * 2.0**20
        self.dual = Dual(problem)
        self.limit = max(10_000_000, 100 * self.dual.beta.size) if max_iter < 0 else max_iter
        self.done = 0
        self._load(fine=tol < FINE)

    def _load(self, fine: bool) -> None:
        """Rows of K in one precision or the other; F = K beta from the start."""
        self.fine, self.settled = fine, 0
        dual, problem = self.dual, self.problem
        self.gram = gram_rows(
            problem.kernel, problem.X, fine=fine, cache_bytes=self.cache_bytes, n_jobs=self.n_jobs
        )
        self.F = np.zeros(dual.n)
        beta = dual.by_row(dual.beta)
        if beta.any():
            self.gram.settle(self.F, beta, 0.0)
        self.whole = isinstance(self.gram, Whole) and dual.beta.size <= LONGEST
        self.working = WorkingSet(dual, LONGEST if self.whole else BLOCK, self.shrinking)
        self.square: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.best, self.least, self.idle = np.inf, np.inf, 0

    def run(self, steps: Callable[..., Steps]) -> Solution:
        converged, message = False, f"{BLOCKS} blocks were not enough"
        last = self.dual.beta.copy(), self.F.copy()
        for step in steps(BLOCKS, name="block"):
            v, borders, gap = self._look()
            step.report(self.dual.state(v, borders), objective=self.dual.objective(self.F), violation=gap)
            if gap <= self.tol:
                converged, message = step.converged(True), ""
                break
            trouble = self._trouble(step.measures["objective"], gap)
            if trouble:
                message = trouble
                if trouble == "unbounded":  # what it was before is a number, at least
                    self.dual.beta[:], self.F[:] = last
                break
            if not self.dual.bounded:
                last = self.dual.beta.copy(), self.F.copy()
            self.done += self._block(v, borders, gap)
            self._stretch()
        return self.dual.solution(self.F, self.done, converged, message)

    def _stretch(self) -> None:
        """Without bounds, let all of beta grow at once as far as the objective falls; pairs take long for that."""
        factor = self.dual.stretch(self.F)
        if factor > 1.5:
            self.dual.beta *= factor
            self.gram.settle(self.F, self.dual.by_row(self.dual.beta), 0.0)

    def _look(self) -> tuple[np.ndarray, list[tuple[float, float]], float]:
        """What the variables ask for, and how far apart that is; a gap within the noise is looked at without."""
        v, borders, gap = self.dual.survey(self.F)
        noise = 8.0 * self.gram.noise()
        if noise > self.tol and gap <= max(self.tol, noise):
            self.gram.settle(self.F, self.dual.by_row(self.dual.beta), self.tol / 16.0)
            self.settled += 1
            self.best, self.least, self.idle = np.inf, np.inf, 0
            v, borders, gap = self.dual.survey(self.F)
        return v, borders, gap

    def _trouble(self, objective: float, gap: float) -> str:
        """Why there is no point in going on, if so."""
        if self.dual.escapes(self.F, self.gram.diag):
            return "unbounded"
        if self.done >= self.limit:
            return f"max_iter={self.limit} steps were not enough"
        trace = (1e-14 if self.fine or self.whole else 1e-9) * abs(objective)
        better = objective < self.best - trace or gap < 0.99 * self.least
        self.best, self.least = min(self.best, objective), min(self.least, gap)
        self.idle = 0 if better else self.idle + 1
        if self.idle >= (10 if self.whole else PATIENCE) or self.settled > 20:
            if self.fine or self.whole:
                return "rounding keeps it from getting nearer"
            self._load(fine=True)
        return ""

    def _block(self, v: np.ndarray, borders: list[tuple[float, float]], gap: float) -> int:
        """Choose variables, solve for them, and take their changes into F; returns the steps on pairs."""
        dual = self.dual
        members, split = self.working.next(v, borders)
        rows = dual.row[members]
        if self.square is None or self.square[0] is not members:
            self.square = members, self.gram.block(rows), self.gram.diag[rows] + dual.ridge[members]
        _, K, diag = self.square
        before, lo, hi = dual.beta[members], dual.lo[members], dual.hi[members]
        beta = before.copy()
        # what is less than rounding leaves of it is not a curvature
        least = (1e-12 if self.fine or self.whole else 1e-7) * (float(np.abs(diag).max()) or 1.0)
        tol = self.tol if self.whole else max(EASE * gap, 0.25 * self.tol)
        longest = WORK // members.size if dual.bounded else min(20_000, 100 * members.size)
        if self.whole and self.shrinking:
            longest = min(longest, max(4096, 2 * members.size))
        limit = min(longest, self.limit - self.done)
        count = descend(K, diag, dual.ridge[members], v[members], beta, lo, hi, split, least, tol, limit)
        dual.beta[members] = beta
        if self.whole:  # an exact F costs next to nothing
            self.gram.settle(self.F, dual.by_row(dual.beta), 0.0)
        else:
            self._take(rows, beta - before, (beta > lo) & (beta < hi))
        return int(count)

    def _take(self, rows: np.ndarray, change: np.ndarray, free: np.ndarray) -> None:
        """Take the changes of a block's variables into F."""
        if not self.dual.single:
            rows, place = np.unique(rows, return_inverse=True)
            change = np.bincount(place, weights=change, minlength=rows.size)
            free = np.bincount(place, weights=free, minlength=rows.size) > 0
        moved = np.flatnonzero(change)
        # a free variable will move again; one that has come to a bound may well stay there
        self.gram.add(self.F, rows[moved], change[moved], free[moved], rows)
