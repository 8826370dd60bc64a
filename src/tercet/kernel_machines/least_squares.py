"""Kernel least squares: what KernelRidge, LSSVC and LSSVR solve.

    minimise  Σ_i w_i (y_i - f(x_i))² + mu ‖f - b‖²,   f(x) = Σ_j a_j K(x, x_j) + b

for each column of targets. With D = diag(√w) and a = D u the optimum is the saddle-point system

    (D K D + mu I) u + D1 b = D y,   1ᵀD u = 0

without its last unknown where there is no intercept. `kernel_mse` is the plain form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tercet.kernel_machines._engine.cholesky import CholeskyFactor
from tercet.kernel_machines._engine.low_rank import ENTRIES, RANK, woodbury_inverse
from tercet.kernel_machines._engine.training_gram import TrainingGram
from tercet.optimize import conjugate_gradient_iterates


def solve_least_squares(
    machine: Any,
    problem: KernelLeastSquares,
    unpack: Callable[[tuple[np.ndarray, np.ndarray]], dict[str, Any]],
) -> LeastSquaresSolution:
    """Solve by the machine's solver, with leave-one-out predictions where its parameter `loo` asks for them.

    Parameters
    ----------
    machine : estimator with the parameters solver, tol, max_iter and loo
    problem : the least-squares problem.
    unpack : fitted attributes from the coefficients and intercepts of an iteration.

    Returns
    -------
    LeastSquaresSolution
    """
    vars(machine).pop("loo_", None)  # of an earlier fit
    iterative = machine.solver == "cg" or problem.gram.K is None
    if machine.loo:
        problem.check_leave_one_out(type(machine).__name__, machine.solver, iterative)
    if not iterative:
        machine.n_iter_ = 1
        return problem.by_cholesky(machine.loo)
    coef, intercept = np.zeros_like(problem.Y), np.zeros(problem.Y.shape[1])
    iterates = problem.by_conjugate_gradient()
    hint = "Raise max_iter or tol, or the penalty."
    for step in machine.steps(machine.max_iter, unpack=unpack, hint=hint):
        coef, intercept, residual = next(iterates)
        step.report((coef, intercept), residual=residual)
        if step.converged(residual <= machine.tol):
            break
    return LeastSquaresSolution(coef, intercept)


class LeastSquaresSolution(NamedTuple):
    """Coefficients of shape (n, t), intercepts of shape (t,) and leave-one-out predictions of shape (n, t)."""

    coef: np.ndarray
    intercept: np.ndarray
    left_out: np.ndarray | None = None


class KernelLeastSquares:
    """A kernel least-squares problem, with both ways to solve it.

    Parameters
    ----------
    gram : K of the training rows.
    Y : array of shape (n, t), the targets.
    weight : array of shape (n,), optional.
    mu : array of shape (t,), the penalty of each target.
    intercept : whether there is a b, free of the penalty.
    """

    def __init__(
        self, gram: TrainingGram, Y: np.ndarray, weight: np.ndarray | None, mu: np.ndarray, *, intercept: bool
    ) -> None:
        self.gram, self.Y, self.mu = gram, Y, mu
        self.root = np.ones(len(Y)) if weight is None else np.sqrt(weight.astype(np.float64))  # D
        self.ones = self.root[:, None] if intercept else None  # D1

    def by_cholesky(self, leave_one_out: bool = False) -> LeastSquaresSolution:
        """The solution by one factorisation for each distinct mu; K may be overwritten."""
        assert self.gram.K is not None
        (n, t), d = self.Y.shape, self.root
        coef, intercept, inverse = np.empty((n, t)), np.zeros(t), np.empty((n, t))
        levels = np.unique(self.mu)
        for mu in levels:
            here = np.flatnonzero(self.mu == mu)
            last = mu == levels[-1] and not self.gram.precomputed
            B = self.gram.K if last else self.gram.K.copy()
            B *= d
            B *= d[:, None]
            B.flat[:: n + 1] += mu
            factor = CholeskyFactor(B, self.gram.n_jobs)
            u, b = factor.solve_saddle_point(self.ones, d[:, None] * self.Y[:, here])
            coef[:, here] = d[:, None] * u
            intercept[here] = 0.0 if self.ones is None else b[0]
            if leave_one_out:
                inverse[:, here] = self._inverse_diagonal(factor)[:, None]
        left_out = self._left_out(coef, intercept, inverse) if leave_one_out else None
        return LeastSquaresSolution(coef, intercept - self.gram.intercept_shift(coef), left_out)

    def by_conjugate_gradient(self) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
        """Iterates (coefficients, intercepts, residual), preconditioned by a part of K of low rank."""
        D, gram = self.root[:, None], self.gram
        mu = self.mu[:1] if (self.mu == self.mu[0]).all() else self.mu
        rank = min(RANK, max(ENTRIES // gram.n, 64))
        iterates = conjugate_gradient_iterates(
            lambda v: D * gram.times(D * v) + mu * v,
            D * self.Y,
            preconditioner=woodbury_inverse(D * gram.pivoted_cholesky(rank), mu),
            constraints=self.ones,
        )
        next(iterates)  # the start
        for found in iterates:
            coef, b = D * found.x, np.zeros(self.Y.shape[1])
            if self.ones is not None:
                b = found.multipliers[0] - gram.intercept_shift(coef)
            yield coef, b, found.residual

    def check_leave_one_out(self, name: str, solver: str, iterative: bool) -> None:
        """Refuse what leave-one-out predictions cannot be had for."""
        if self.ones is not None and np.count_nonzero(self.root) < 2:
            raise ValueError(f"{name}: loo=True needs at least 2 rows with a weight; got 1.")
        if iterative:
            raise ValueError(
                f"{name}: loo=True needs solver='cholesky'"
                f"{f', which {len(self.Y)} rows do not get by themselves' if solver == 'auto' else ''}."
            )

    def _inverse_diagonal(self, factor: CholeskyFactor) -> np.ndarray:
        """The diagonal of D S D, with S the block of the saddle-point system's inverse that maps r to u."""
        diagonal = factor.inverse_diagonal()
        if self.ones is not None:
            scaled = factor.solve(self.ones)[:, 0]
            diagonal -= scaled**2 / (self.root @ scaled)
        return self.root**2 * diagonal

    def _left_out(self, coef: np.ndarray, intercept: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """What the model of all other rows predicts for each row: y_i - a_i / (inverse of the system)_ii."""
        counts = self.root > 0
        found = np.empty_like(coef)
        found[counts] = self.Y[counts] - coef[counts] / inverse[counts]
        if not counts.all():  # rows of weight 0 were left out already
            gram, rows = self.gram, np.flatnonzero(~counts)
            points = np.arange(gram.n) if gram.precomputed else gram.X
            found[rows] = gram.kernel.times(gram.X[rows], points, coef, n_jobs=gram.n_jobs) + intercept
        return found
