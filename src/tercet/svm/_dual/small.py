"""Small duals: second-order SMO on the full Gram matrix, then the solution to full precision, in compiled loops.

The variables are beta = sign alpha, as in `block_descent`, those of sign +1 first where there are two equality
constraints. A regression has two variables for each row, k and n + k, which share row k of K.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tercet.core.steps import Steps
from tercet.svm._dual.problem import DualProblem, DualSolution, most_steps
from tercet.svm._dual.small_gram import submatrix
from tercet.svm._dual.small_kernels import descend_dual, evaluate_dual, newton_move, snap_to_bounds

SMALL = 1000  # variables of a small problem
WORK = 50_000_000  # entries that one call may read: a fraction of a second
SLICE = 4096  # least number of steps between two reports to callbacks
MAX_BLOCKS = 10_000  # reports of one loop
MAX_EXACT = 300  # variables of a quadratic program that takes less time than very many steps
NO_LIMIT = 1 << 62  # steps
PATIENT_STEPS, STEPS_PER_ROW = 100_000, 10_000  # steps without progress, and more of them for each variable
MAX_FREE = 128  # free variables of a linear system that is solved here
TRACE = 1e-13  # of the upper bound: what rounding leaves of a multiplier, if that much does not change f
EXACT = 1e-11  # a violation this small, relative to the gradient, is rounding

Array = np.ndarray


class SmallDual:
    """State of the solver of a small dual with a Gram matrix: beta, and v = -(K beta + ridge beta + q)."""

    def __init__(self, problem: DualProblem) -> None:
        sign, upper = problem.sign, problem.upper
        index, gram = np.asarray(problem.X, dtype=np.int64), problem.kernel.matrix
        self.problem, self.order = problem, None
        if problem.nu and problem.row is None:
            self.order = np.argsort(-sign, kind="stable")
            sign, upper, index = sign[self.order], upper[self.order], index[self.order]
        every = index.size == len(gram) and self.order is None and bool((np.diff(index) == 1).all())
        self.K = gram if every and gram.flags.c_contiguous else submatrix(np.ascontiguousarray(gram), index)
        self.sign = np.ascontiguousarray(sign, dtype=np.float64)
        positive = self.sign > 0
        self.split = int(np.count_nonzero(positive)) if problem.nu else sign.size
        self.q = self.sign * self._ordered(problem.p)
        self.upper = np.where(positive, upper, 0.0)
        self.lower = np.where(positive, 0.0, -np.asarray(upper, dtype=np.float64))
        self.beta = np.clip(self.sign * self._ordered(problem.start), self.lower, self.upper)
        self.ridge = np.zeros(sign.size)
        if problem.ridge is not None:
            ridge = np.asarray(problem.ridge, dtype=np.float64)
            self.ridge = self._ordered(ridge if problem.row is None else ridge[problem.row])
        diag = self.K.diagonal()
        self.diag = (diag if problem.row is None else np.concatenate([diag, diag])) + self.ridge
        self.v, self.numbers, self.n_iter = np.empty(sign.size), np.zeros(9), 0
        self.evaluate()

    def _ordered(self, values: Any) -> Array:
        values = np.asarray(values, dtype=np.float64)
        return values if self.order is None else values[self.order]

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
        return self.K, self.q, self.ridge, self.lower, self.upper, self.beta, self.v

    @property
    def violation(self) -> float:
        return float(self.numbers[1])

    def evaluate(self) -> None:
        """v from beta, and the numbers that follow from it."""
        evaluate_dual(*self.arrays, self.split, self.numbers)

    def descend(self, tol: float, limit: int) -> bool:
        """Up to `limit` two-variable steps; whether rounding keeps it from going on."""
        steps, idle = descend_dual(*self.arrays, self.diag, self.split, tol, limit, self.numbers)
        self.n_iter += int(steps)
        return bool(idle)

    def refine(self) -> bool:
        """The solution to full precision, from one within a tolerance; False where this is not the way."""
        size = max(float(self.numbers[8]), 1e-300)
        rounding, least = EXACT * size, float(self.violation)
        start, n_iter = (self.beta.copy(), self.v.copy(), self.numbers.copy()), self.n_iter
        for attempt in range(2):
            if attempt:  # the set of free variables was not the right one
                self.beta, self.v, self.numbers = (part.copy() for part in start)
                self.descend(rounding, 2 * self.beta.size)
                self.n_iter = n_iter
            self._snap(rounding)
            if not self._newton():
                self.beta, self.v, self.numbers = start
                return False
            if self.violation <= rounding:
                return True
        if self.violation > least:
            self.beta, self.v, self.numbers = start
        return True

    def _snap(self, rounding: float) -> None:
        """Set variables to bounds from which only rounding keeps them: they must not decide b."""
        if snap_to_bounds(self.lower, self.upper, self.beta, self.diag, TRACE, rounding):
            self.evaluate()

    def _newton(self) -> bool:
        """Newton's step for the free variables, if it is one forward; False if they are too many, or Q indefinite.

        The gradients of free variables are the same at the optimum (of each equality constraint): a linear system.
        """
        free = np.flatnonzero((self.beta > self.lower) & (self.beta < self.upper))
        if not free.size:
            return True
        if free.size > MAX_FREE:
            return False
        Q, move = np.diag(self.ridge[free]), np.zeros(free.size)
        ridge = 1e-9 * max(float(np.abs(self.diag[free]).mean()), 1e-300)
        first = int(np.searchsorted(free, self.split))
        work = np.empty_like(Q), Q, np.empty((3, free.size))
        if not newton_move(self.K, free, first, ridge, self.v, *work, move):
            return False
        beta, v, numbers = self.beta, self.v, self.numbers
        self.beta, self.v, self.numbers = beta.copy(), np.empty(v.size), np.zeros(9)
        self.beta[free] += move
        inside = self.beta[free]
        if np.all((inside > self.lower[free]) & (inside < self.upper[free])):
            self.evaluate()
            if self.violation <= numbers[1]:
                return True
        self.beta, self.v, self.numbers = beta, v, numbers
        return True

    def start_at(self, alpha: Array) -> None:
        """Go on from other multipliers."""
        self.beta = np.clip(self.sign * self._ordered(alpha), self.lower, self.upper)
        self.evaluate()

    def state(self) -> tuple[Array, float, float]:
        """alpha, b and rho."""
        return self._given_order(self.sign * self.beta) + 0.0, float(self.numbers[6]), float(self.numbers[7])

    def _given_order(self, values: Array) -> Array:
        if self.order is None:
            return values
        out = np.empty(values.size)
        out[self.order] = values
        return out

    def solution(self, converged: bool, message: str) -> DualSolution:
        alpha, b, rho = self.state()
        return DualSolution(
            alpha=alpha,
            gradient=self._given_order(-self.sign * self.v),
            b=b,
            interval=(float(self.numbers[2]), float(self.numbers[3])),
            objective=float(self.numbers[0]),
            violation=self.violation,
            n_iter=self.n_iter,
            converged=converged,
            rho=rho,
            message=message,
        )


def suits(problem: DualProblem) -> bool:
    """Whether `SmallDual` can solve a problem: a variable for each row, or two of opposite sign."""
    n = problem.X.shape[0]
    if not np.isfinite(problem.upper).all() or problem.sign.size > SMALL:
        return False
    if problem.row is None:
        return True
    halves = problem.sign.size == 2 * n and bool(
        (problem.sign[:n] > 0).all() and (problem.sign[n:] < 0).all()
    )
    return halves and np.array_equal(problem.row, np.tile(np.arange(n), 2))


def blocks(steps: Callable[..., Steps] | None) -> Iterator[Steps]:
    """Steps without a limit: one loop after the other, until a callback stops them."""
    while True:
        loop = (steps or Steps)(MAX_BLOCKS, name="block")
        yield from loop
        if loop.stopped:
            return


def solve_small(
    problem: DualProblem,
    *,
    tol: float,
    max_iter: int,
    steps: Callable[..., Steps] | None,
    exact: Callable[[DualProblem], DualSolution],
) -> tuple[DualSolution, bool]:
    """Solve a small dual within tol, and where the steps suffice to full precision; whether it is refined.

    Where two-variable steps are too slow, or rounding stops them, `exact` is asked for the solution.
    """
    dual = SmallDual(problem)
    converged, message, tried = False, "", False
    few = problem.sign.size <= MAX_EXACT
    slow = 10_000 + 1000 * problem.sign.size if few else NO_LIMIT
    most = max(1, WORK // problem.sign.size)
    least, progress = (
        (np.inf, np.inf),
        0,
    )  # the best objective and violation so far, and the step they date from
    for step in blocks(steps):
        done = dual.violation <= tol
        refined = done and dual.refine()
        step.report(dual.state(), objective=dual.numbers[0], violation=dual.violation)
        if done:
            converged = step.converged(True)
            break
        if 0 <= max_iter <= dual.n_iter:
            message = f"max_iter={max_iter} steps were not enough"
            break
        objective = float(dual.numbers[0])
        if objective < least[0] - 1e-14 * abs(objective) or dual.violation < 0.99 * least[1]:
            least, progress = (min(objective, least[0]), min(dual.violation, least[1])), dual.n_iter
        if max_iter < 0 and dual.n_iter - progress > PATIENT_STEPS + STEPS_PER_ROW * problem.sign.size:
            message = "rounding keeps it from getting nearer"
            break
        if max_iter < 0 and dual.n_iter >= most_steps(problem.sign.size):
            message = f"{dual.n_iter} steps were not enough"
            break
        watched = step._context is not None
        limit = max(SLICE, 2 * problem.sign.size) if watched else most
        idle = dual.descend(tol, min(limit, max_iter - dual.n_iter if max_iter >= 0 else slow))
        if max_iter < 0 and few and not tried and dual.violation > tol and (idle or dual.n_iter >= slow):
            tried = True
            take_better(dual, exact(problem), tol)
        elif idle and dual.violation > tol:
            message = "rounding keeps it from getting nearer"
            break
    return dual.solution(converged, message), converged and refined


def take_better(dual: SmallDual, found: DualSolution, tol: float) -> None:
    """Go on from another solution if it is the better one."""
    objective, alpha = float(dual.numbers[0]), dual.state()[0]
    dual.start_at(found.alpha)
    if dual.violation > tol and not dual.numbers[0] <= objective:
        dual.start_at(alpha)
