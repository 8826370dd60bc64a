"""Solvers of the ridge objective sum_i s_i (y_i - x_i·w - b)^2 + alpha |w|^2.

Each takes a design matrix and the alpha of every target, and gives coefficients of shape (n_targets, n_features);
the iterative ones also give the number of iterations for each target.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, svd
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg, lsqr
from sklearn.exceptions import ConvergenceWarning

from tercet.core.estimator import generator
from tercet.core.kernel import kernel
from tercet.core.rows import row_add, row_dot, rows
from tercet.core.streams import holds_sparse, is_streamed
from tercet.linear_model._least_squares.design_matrix import DesignMatrix, largest_row_norm

Array = np.ndarray


def solve_cholesky(design: DesignMatrix, alphas: Array) -> Array:
    """(X'X + alpha I) W = X'Y; with fewer rows than columns the dual (XX' + alpha I) U = Y, W = X'U."""
    n, d = design.shape
    if n < d and not holds_sparse(design.X):
        if is_streamed(design.X):
            raise TypeError(
                f"{n} rows with {d} columns are solved for in memory: load them (source.to_arrays)."
            )
        Z, V = design.centred()
        return _solve_positive(Z @ Z.T, V, alphas) @ Z
    return _solve_positive(*design.cross_products(), alphas)


def _solve_positive(A: Array, right: Array, alphas: Array) -> Array:
    """Rows (A + alpha I)^-1 v, one for each column v of the right-hand side."""
    found = np.empty((right.shape[1], A.shape[0]))
    scale = np.abs(A).max(initial=0.0)
    for alpha in np.unique(alphas):
        these = alphas == alpha
        shifted = A.copy()
        shifted.flat[:: A.shape[0] + 1] += alpha
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        if np.diag(factor[0]).min() ** 2 <= 1e-14 * len(A) * (scale + alpha):
            raise LinAlgError("the equations are singular to working precision")
        found[these] = cho_solve(factor, right[:, these], check_finite=False).T
    return found


def solve_svd(design: DesignMatrix, alphas: Array) -> Array:
    """W = V diag(s / (s^2 + alpha)) U'Y, from the SVD of the R of a QR factorisation."""
    R, targets = design.qr_factor()
    U, s, Vt = svd(R, full_matrices=False, check_finite=False)
    s = np.where(s > 1e-15 * s.max(initial=0.0), s, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.where(s[:, None] > 0, s[:, None] / (s[:, None] ** 2 + alphas), 0.0)
    return (shrink * (U.T @ targets)).T @ Vt


def solve_conjugate_gradient(
    design: DesignMatrix, alphas: Array, tol: float, max_iter: int | None
) -> tuple[Array, Array]:
    """Conjugate gradients on the primal or the dual normal equations, whichever are fewer."""
    A, (V, _) = design.operator(), _scaled_targets(design, alphas)
    n, d = design.shape
    found, counts = [], []
    for v, alpha in zip(V.T, alphas):
        dual = d > n and alpha > 0
        inner, outer = (A.rmatvec, A.matvec) if dual else (A.matvec, A.rmatvec)
        calls: list[None] = []

        def times(u: Array, inner=inner, outer=outer, alpha=alpha, calls=calls) -> Array:
            calls.append(None)
            return outer(inner(u)) + alpha * u

        size = n if dual else d
        system = LinearOperator((size, size), matvec=times, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):  # of a residual that is zero
            solution, missed = cg(system, v if dual else A.rmatvec(v), rtol=tol, maxiter=max_iter)
        if missed:
            _warn(
                "sparse_cg", missed if max_iter is None else max_iter, "|residual| <= tol |right-hand side|"
            )
        found.append(A.rmatvec(solution) if dual else solution)
        counts.append(max(len(calls), 1))
    return np.array(found), np.array(counts, dtype=np.int32)


def solve_bounded_lbfgs(
    design: DesignMatrix, alphas: Array, tol: float, max_iter: int
) -> tuple[Array, Array]:
    """L-BFGS-B with all coefficients at or above zero."""
    d = design.shape[1]
    # not by the change of the objective, whose last digits say little about the coefficients
    options = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter}
    found = []
    for k, alpha in enumerate(alphas):
        one = DesignMatrix(design.X, design.y[:, k], design.weight, design.intercept, design.n_jobs)

        def objective(w: Array, one: DesignMatrix = one, alpha: float = alpha) -> tuple[float, Array]:
            slope, squares = one.residuals(w[None])
            return 0.5 * (squares[0] + alpha * w @ w), alpha * w - slope[:, 0]

        bounds = [(0.0, np.inf)] * d
        found.append(
            minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        )
    counts = np.array([max(result.nit, 1) for result in found], dtype=np.int32)
    if any(result.status == 1 for result in found):
        _warn("lbfgs solver", max_iter, "max|projected gradient| <= tol")
    return np.array([result.x for result in found]), counts


def _warn(solver: str, limit: Any, rule: str) -> None:
    warnings.warn(
        f"{solver} did not converge after {limit} iterations (rule: {rule}). Raise max_iter or tol, or scale the "
        "features.",
        ConvergenceWarning,
        stacklevel=2,
    )


def solve_lsqr(design: DesignMatrix, alphas: Array, tol: float, max_iter: int | None) -> tuple[Array, Array]:
    """Golub-Kahan bidiagonalisation with damping sqrt(alpha)."""
    A, (V, roots) = design.operator(), _scaled_targets(design, alphas)
    found = [lsqr(A, v, damp=root, atol=tol, btol=tol, iter_lim=max_iter) for v, root in zip(V.T, roots)]
    return np.array([result[0] for result in found]), np.array(
        [result[2] for result in found], dtype=np.int32
    )


def solve_average_gradient(
    design: DesignMatrix,
    alphas: Array,
    tol: float,
    max_iter: int,
    *,
    saga: bool,
    random_state: Any,
    steps: Callable[[int], Any],
) -> tuple[Array, Array]:
    """SAG and SAGA: a stochastic gradient corrected by the remembered gradients of the other samples."""
    n, d = design.shape
    weight = np.ones(n) if design.weight is None else design.weight.astype(np.float64)
    data, rng = rows(design.X), generator(random_state)
    curvature_bound = largest_row_norm(data, weight, design.x_mean, 0.0)
    coef, counts = np.zeros((len(alphas), d)), []
    for k, alpha in enumerate(alphas):
        w, y = coef[k], design.y[:, k] - design.y_mean[k]
        memory, gradient, seen = np.zeros(n), np.zeros(d + 1), np.zeros(n, dtype=np.bool_)
        eta = 1.0 / ((3.0 if saga else 1.0) * max(curvature_bound + alpha / n, 1e-300))
        for step in steps(max_iter):
            before = w.copy()
            order = rng.integers(n, size=n)
            average_gradient_sweep(
                data, y, weight, design.x_mean, order, eta, alpha / n, saga, w, memory, gradient, seen
            )
            change, size = np.abs(w - before).max(), np.abs(w).max()
            step.report(coef.copy(), change=change)
            if step.converged(change <= tol * size):
                break
        counts.append(step.count)
    return coef, np.array(counts, dtype=np.int32)


def _scaled_targets(design: DesignMatrix, alphas: Array) -> tuple[Array, Array]:
    """The centred targets times the square roots of the weights, and the square roots of alpha."""
    V = design.y - design.y_mean
    if design.weight is not None:
        V = V * np.sqrt(design.weight, dtype=np.float64)[:, None]
    return V, np.sqrt(alphas)


@kernel
def average_gradient_sweep(rows, y, weight, mean, order, eta, decay, saga, w, memory, gradient, seen):
    """One pass: replace a sample's remembered error, step along the average of all remembered gradients.

    Rows are centred on the fly: gradient[:d] is the sum of errors times rows, gradient[d] the sum of errors.
    """
    d = w.size
    by_feature = gradient[:d]
    count = seen.sum()
    mean_score = 0.0
    for j in range(d):
        mean_score += mean[j] * w[j]
    for i in order:
        if not seen[i]:
            seen[i] = True
            count += 1
        error = weight[i] * (row_dot(rows, i, w) - mean_score - y[i])
        change = error - memory[i]
        memory[i] = error
        step = 0.0
        if saga:  # the average as it was, and the change in full
            row_add(rows, i, -eta * change, w)
            step = eta * change
        else:
            row_add(rows, i, change, by_feature)
            gradient[d] += change
        mean_score = 0.0
        for j in range(d):
            w[j] += step * mean[j] - eta * ((gradient[j] - gradient[d] * mean[j]) / count + decay * w[j])
            mean_score += mean[j] * w[j]
        if saga:
            row_add(rows, i, change, by_feature)
            gradient[d] += change
