"""The dual solver: block-coordinate descent, and for a small dual its solution to full precision.

A solver that stops within tol leaves a solution that depends on its path: a row of weight 2 and the same row twice
give models that differ by tol. With few free variables (0 < alpha < upper), a linear system gives the point that
all paths lead to: the gradients of the free variables are one multiple of their signs.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tercet.core.parallel import one_blas_thread
from tercet.core.steps import Steps
from tercet.kernels import Precomputed
from tercet.optimize import solve_qp
from tercet.svm._dual.block_descent import solve_by_blocks
from tercet.svm._dual.problem import (
    DualProblem,
    DualSolution,
    check_sizes,
    dual_solution,
)
from tercet.svm._dual.small import SMALL, solve_small, suits
from tercet.svm._dual.small_gram import small_gram

MAX_FREE = 300  # of them free
TRACE = 1e-13  # of the upper bound: what rounding leaves of a multiplier, if that much does not change f
EXACT = 1e-11  # a violation this small, relative to the gradient, is rounding


def solve_dual(
    problem: DualProblem,
    *,
    tol: float = 1e-3,
    max_iter: int = -1,
    cache_size: float = 200,
    shrinking: bool = True,
    full_precision: bool = True,
    n_jobs: int | None = None,
    steps: Callable[..., Steps] | None = None,
) -> DualSolution:
    """Solve the dual by blocks; a small problem to full precision, by active-set refinement.

    Parameters
    ----------
    problem : DualProblem
    tol : float, default=1e-3
        The greatest violation of the KKT conditions by a pair of variables.
    max_iter : int, default=-1
        The most two-variable steps; -1 is no limit.
    cache_size : float, default=200
        Megabytes for rows of the Gram matrix. (Of up to 2048 rows the full Gram matrix is computed.)
    shrinking : bool, default=True
        Where there is the full Gram matrix, leave out variables that no violating pair contains at the time.
        (Working sets of larger problems are few variables anyway.)
    full_precision : bool, default=True
        Refine the solution of a small problem; without it, it is one within tol. A limit of steps does not count
        those of the refinement.
    n_jobs : int, optional
        Threads; the result is the same for any number.
    steps : callable, optional
        Makes the loop (see `core.steps`); each block reports (alpha, b, rho), `objective` and `violation`.

    Returns
    -------
    solution : DualSolution
        Where `converged` is false, `message` says why; it is for the caller to warn.

    Examples
    --------
    >>> from tercet.kernels import Linear
    >>> from tercet.svm import DualProblem
    >>> X, y = np.array([[3.0, 3], [4, 3], [1, 1]]), np.array([1.0, 1, -1])
    >>> dual = DualProblem(Linear(), X, y, p=np.full(3, -1.0), upper=np.full(3, np.inf), start=np.zeros(3))
    >>> solve_dual(dual).alpha.round(6).tolist()
    [0.25, 0.0, 0.25]
    """
    small = max(problem.sign.size, problem.X.shape[0]) <= SMALL
    refined = full_precision and small
    if refined:
        problem = with_gram_matrix(problem, n_jobs)
        check_sizes(problem, problem.kernel.matrix.diagonal())
    solve = functools.partial(solve_by_blocks, cache_size=cache_size, shrinking=shrinking, n_jobs=n_jobs)
    if refined and suits(problem):
        found, exact = solve_small(problem, tol=tol, max_iter=max_iter, steps=steps, exact=solve_exactly)
        if exact:
            return found
        with one_blas_thread():
            return refine(problem, found, solve)
    with one_blas_thread():
        found = solve(problem, tol=tol, max_iter=max_iter, steps=steps)
        return refine(problem, found, solve) if refined else found


def with_gram_matrix(problem: DualProblem, n_jobs: int | None = None) -> DualProblem:
    """The same problem with its Gram matrix as a precomputed kernel."""
    matrix = getattr(problem.kernel, "matrix", None)
    if matrix is not None and matrix.dtype == np.float64:
        return problem
    gram = small_gram(problem.kernel, problem.X, n_jobs)
    return replace(problem, kernel=Precomputed(gram), X=np.arange(gram.shape[0]))


def solve_exactly(problem: DualProblem) -> DualSolution:
    """A small problem as a quadratic program, by an interior-point method: for badly scaled kernels."""
    row = np.arange(problem.sign.size) if problem.row is None else problem.row
    sign, upper, alpha = problem.sign, problem.upper, np.asarray(problem.start, dtype=np.float64)
    index = problem.X[row]
    Q = sign[:, None] * problem.kernel.matrix[np.ix_(index, index)] * sign
    if problem.ridge is not None:
        Q[np.diag_indices_from(Q)] += problem.ridge[row]
    A = np.array([sign > 0, sign < 0], dtype=np.float64) if problem.nu else sign[None]
    # In units in which Q and the bounds are of the order of 1.
    unit = max(float(upper.max()), 1e-300)
    size = max(float(np.abs(Q.diagonal()).max()) * unit, float(np.abs(problem.p).max()), 1e-300)
    G, h = np.vstack([-np.eye(sign.size), np.eye(sign.size)]), np.concatenate([0 * upper, upper / unit])
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it comes to is judged by its violation
        try:
            program = solve_qp(Q * (unit / size), problem.p / size, G, h, A, A @ alpha / unit, tol=1e-12)
            if np.isfinite(program.x).all():
                near = 1e-9 * upper
                alpha = np.clip(unit * program.x, 0.0, upper)
                alpha = np.where(alpha < near, 0.0, np.where(alpha > upper - near, upper, alpha))
        except (ValueError, np.linalg.LinAlgError):  # not convex, but for rounding
            pass
    gradient = Q @ alpha + problem.p
    return dual_solution(alpha, gradient, sign, problem.p, upper, nu=problem.nu)


def refine(problem: DualProblem, found: DualSolution, solve: Callable[..., DualSolution]) -> DualSolution:
    """The solution of a small problem to full precision.

    Parameters
    ----------
    problem : DualProblem
        With its Gram matrix as a precomputed kernel.
    found : DualSolution
        Its solution within a tolerance.
    solve : callable
        `solve_by_blocks` with its options.
    """
    if not found.converged:
        return found
    rounding = EXACT * _gradient_size(problem, found)
    exact = newton_step(problem, snap_to_bounds(problem, found))
    if exact is not None and exact.violation <= rounding:
        return exact
    closer = solve(replace(problem, start=found.alpha), tol=rounding, max_iter=2 * found.alpha.size)
    closer = replace(closer, n_iter=found.n_iter + closer.n_iter, converged=True, message="")
    best = closer if closer.violation <= found.violation else found
    best = snap_to_bounds(problem, best)
    return newton_step(problem, best) or _evaluated(problem, best)


def snap_to_bounds(problem: DualProblem, found: DualSolution) -> DualSolution:
    """With multipliers at the bounds from which only rounding keeps them: they must not decide b."""
    upper, alpha = problem.upper, found.alpha
    # A bound of 1e12, or K of 1e12, must not make a trace of multipliers that f depends on.
    K = np.abs(problem.kernel.matrix[problem.X, problem.X]).max()
    unseen = EXACT * _gradient_size(problem, found) / max(float(K), 1e-300)
    trace = np.where(np.isfinite(upper), np.minimum(TRACE * upper, unseen), TRACE * alpha.max(initial=0.0))
    alpha = np.where(alpha < trace, 0.0, np.where(alpha > upper - trace, upper, alpha))
    return replace(found, alpha=alpha)


def _gradient_size(problem: DualProblem, found: DualSolution) -> float:
    """The scale of the gradient, whatever the units of K and p."""
    return max(float(np.abs(problem.p).max()), float(np.abs(found.gradient).max()), 1e-300)


def newton_step(problem: DualProblem, found: DualSolution) -> DualSolution | None:
    """Solve for the free variables with the others fixed; None when that leads out of the bounds."""
    alpha, sign, upper = found.alpha, problem.sign, problem.upper
    row = np.arange(alpha.size) if problem.row is None else problem.row
    F = np.flatnonzero((alpha > 0) & (alpha < upper))
    if not 0 < F.size <= MAX_FREE:
        return None
    K = problem.kernel.matrix[np.ix_(problem.X[row], problem.X[row[F]])]
    Q = sign[:, None] * K * sign[F]
    ridge = np.zeros(alpha.size) if problem.ridge is None else problem.ridge[row]
    Q[F, np.arange(F.size)] += ridge[F]
    groups = [sign[F] > 0, sign[F] < 0] if problem.nu else [np.ones(F.size, dtype=bool)]
    S = np.stack([sign[F] * group for group in groups if group.any()], axis=1)
    scale = max(float(np.abs(Q[F].diagonal()).mean()), 1e-300)
    system = np.block([[Q[F] + 1e-9 * scale * np.eye(F.size), S], [S.T, np.zeros((S.shape[1], S.shape[1]))]])
    move, gradient = np.zeros(F.size), found.gradient
    try:
        for _ in range(4):  # iterative refinement takes out the ridge that makes the system regular
            right = np.concatenate([-(gradient + Q @ move)[F], np.zeros(S.shape[1])])
            move = move + np.linalg.solve(system, right)[: F.size]
    except np.linalg.LinAlgError:
        return None
    inside = alpha[F] + move
    if not np.all((inside > 0) & (inside < upper[F])):
        return None
    alpha = alpha.copy()
    alpha[F] = inside
    refined = _evaluated(problem, replace(found, alpha=alpha, gradient=gradient + Q @ move))
    return refined if refined.violation <= found.violation else None


def _evaluated(problem: DualProblem, found: DualSolution) -> DualSolution:
    """The bias, objective and violation of a solution's multipliers and gradient."""
    result = dual_solution(
        found.alpha,
        found.gradient,
        problem.sign,
        problem.p,
        problem.upper,
        nu=problem.nu,
        n_iter=found.n_iter,
        converged=found.converged,
        message=found.message,
    )
    return result if np.isfinite(result.b + result.rho) else replace(found, violation=np.inf)
