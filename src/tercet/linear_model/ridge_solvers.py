"""All ways to minimise the ridge objective: sum_i s_i (y_i - x_i·w - b)^2 + alpha |w|^2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, svd
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator, cg, lsqr

from tercet.core.estimator import Estimator, generator
from tercet.core.kernel import kernel
from tercet.core.rows import row_add, row_dot, rows
from tercet.linear_model.design import Design, spread, with_ones
from tercet.linear_model.least_squares import DENSE_COLUMNS
from tercet.linear_model.sum_of_squares import longest

Array = np.ndarray


class RidgeSolver(Estimator):
    """What ridge regression and the classifier made of it share: all ways to minimise the objective."""

    alpha: Any
    fit_intercept: bool
    penalize_intercept: bool
    max_iter: int | None
    tol: float
    solver: str
    positive: bool
    random_state: Any
    n_jobs: int | None
    solver_: str
    n_iter_: Any

    def _solve(self, X: Any, y: Array, weight: Array | None) -> dict[str, Any]:
        """The fitted attributes `coef_` and `intercept_`."""
        alphas = self._alphas(1 if y.ndim == 1 else y.shape[1])
        self.solver_ = self._choose(X)
        inside = self.fit_intercept and self.penalize_intercept  # b is one of the coefficients
        design = Design(
            with_ones(X) if inside else X, y, weight, self.fit_intercept and not inside, self.n_jobs
        )

        def fitted(coef: Array) -> dict[str, Any]:
            W, b = (coef[:, :-1], coef[:, -1]) if inside else (coef, design.offset(coef))
            return dict(zip(("coef_", "intercept_"), spread(W, b, y, X.dtype, self.fit_intercept)))

        coef = self._minimise(design, alphas, fitted)
        self.__dict__.setdefault("n_iter_", np.ones(len(alphas), dtype=np.int32))  # a direct solver
        return fitted(coef)

    def _alphas(self, targets: int) -> Array:
        alphas = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)).ravel()
        name = type(self).__name__
        if not np.all((alphas >= 0) & np.isfinite(alphas)):
            raise ValueError(f"{name}: parameter 'alpha' must be finite and at least 0; got {self.alpha!r}.")
        if alphas.size not in (1, targets):
            raise ValueError(
                f"{name}: parameter 'alpha' must be one number or one for each of the {targets} targets; "
                f"got {alphas.size}."
            )
        return np.broadcast_to(alphas, targets)

    def _choose(self, X: Any) -> str:
        name = type(self).__name__
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise ValueError(
                f"{name}: positive=True needs solver='auto' or 'lbfgs'; got solver={self.solver!r}."
            )
        if self.solver == "lbfgs" and not self.positive:
            raise ValueError(f"{name}: solver='lbfgs' is for positive=True only.")
        if self.solver != "auto":
            return self.solver
        if self.positive:
            return "lbfgs"
        return "sparse_cg" if issparse(X) and X.shape[1] > DENSE_COLUMNS else "cholesky"

    def _minimise(self, design: Design, alphas: Array, fitted: Callable[[Array], dict]) -> Array:
        if self.solver_ == "cholesky":
            try:
                return by_cholesky(design, alphas)
            except LinAlgError:
                self.solver_ = "svd"
        if self.solver_ == "svd":
            return by_svd(design, alphas)
        if self.solver_ == "sparse_cg":
            coef, self.n_iter_ = by_conjugate_gradients(design, alphas, self.tol, self.max_iter)
            return coef
        if self.solver_ == "lsqr":
            return self._lsqr(design, alphas)
        if self.solver_ == "lbfgs":
            coef, self.n_iter_ = by_bounded_lbfgs(design, alphas, self.tol, self.max_iter or 15_000)
            return coef
        return self._average_gradients(design, alphas, fitted)

    def _lsqr(self, design: Design, alphas: Array) -> Array:
        A, (V, roots) = design.operator(), _scaled_targets(design, alphas)
        found = [
            lsqr(A, v, damp=root, atol=self.tol, btol=self.tol, iter_lim=self.max_iter)
            for v, root in zip(V.T, roots)
        ]
        self.n_iter_ = np.array([result[2] for result in found], dtype=np.int32)
        return np.array([result[0] for result in found])

    def _average_gradients(self, design: Design, alphas: Array, fitted: Callable[[Array], dict]) -> Array:
        """SAG and SAGA: a stochastic gradient corrected by the remembered gradients of the other samples."""
        n, d = design.shape
        weight = np.ones(n) if design.weight is None else design.weight.astype(np.float64)
        data, rng, saga = rows(design.X), generator(self.random_state), self.solver_ == "saga"
        steepest = longest(data, weight, design.x_mean, 0.0)
        coef, counts = np.zeros((len(alphas), d)), []
        for k, alpha in enumerate(alphas):
            w, y = coef[k], design.y[:, k] - design.y_mean[k]
            memory, slope, seen = np.zeros(n), np.zeros(d + 1), np.zeros(n, dtype=np.bool_)
            eta = 1.0 / ((3.0 if saga else 1.0) * max(steepest + alpha / n, 1e-300))
            for step in self.steps(self.max_iter or 1000, unpack=fitted):
                before = w.copy()
                order = rng.integers(n, size=n)
                average(data, y, weight, design.x_mean, order, eta, alpha / n, saga, w, memory, slope, seen)
                change, size = np.abs(w - before).max(), np.abs(w).max()
                step.report(coef.copy(), change=change)
                if step.converged(change <= self.tol * size):
                    break
            counts.append(step.count)
        self.n_iter_ = np.array(counts, dtype=np.int32)
        return coef


def by_cholesky(design: Design, alphas: Array) -> Array:
    """(X'X + alpha I) W = X'Y, or in as many unknowns as there are rows when those are fewer."""
    n, d = design.shape
    if n < d and not issparse(design.X):
        Z, V = design.dense()
        return _solve_positive(Z @ Z.T, V, alphas) @ Z
    return _solve_positive(*design.cross_products(), alphas)


def _solve_positive(A: Array, right: Array, alphas: Array) -> Array:
    """Rows (A + alpha I)^-1 v, one for each column v of the right side."""
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


def by_svd(design: Design, alphas: Array) -> Array:
    """W = V diag(s / (s^2 + alpha)) U'Y, after a QR factorisation has made the rows few."""
    R, targets = design.triangle()
    U, s, Vt = svd(R, full_matrices=False, check_finite=False)
    s = np.where(s > 1e-15 * s.max(initial=0.0), s, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.where(s[:, None] > 0, s[:, None] / (s[:, None] ** 2 + alphas), 0.0)
    return (shrink * (U.T @ targets)).T @ Vt


def by_conjugate_gradients(
    design: Design, alphas: Array, tol: float, max_iter: int | None
) -> tuple[Array, Array]:
    """Conjugate gradients on whichever of the two normal equations is smaller."""
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
        solution, _ = cg(system, v if dual else A.rmatvec(v), rtol=tol, maxiter=max_iter)
        found.append(A.rmatvec(solution) if dual else solution)
        counts.append(max(len(calls), 1))
    return np.array(found), np.array(counts, dtype=np.int32)


def by_bounded_lbfgs(design: Design, alphas: Array, tol: float, max_iter: int) -> tuple[Array, Array]:
    """L-BFGS-B with all coefficients at or above zero."""
    d = design.shape[1]
    options = {"gtol": tol, "ftol": 64 * np.finfo(float).eps, "maxiter": max_iter}
    found = []
    for k, alpha in enumerate(alphas):
        one = Design(design.X, design.y[:, k], design.weight, design.intercept, design.n_jobs)

        def objective(w: Array, one: Design = one, alpha: float = alpha) -> tuple[float, Array]:
            slope, squares = one.residuals(w[None])
            return 0.5 * (squares[0] + alpha * w @ w), alpha * w - slope[:, 0]

        bounds = [(0.0, np.inf)] * d
        found.append(
            minimize(objective, np.zeros(d), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        )
    counts = np.array([max(result.nit, 1) for result in found], dtype=np.int32)
    return np.array([result.x for result in found]), counts


def _scaled_targets(design: Design, alphas: Array) -> tuple[Array, Array]:
    V = design.y - design.y_mean
    if design.weight is not None:
        V = V * np.sqrt(design.weight, dtype=np.float64)[:, None]
    return V, np.sqrt(alphas)


@kernel
def average(rows, y, weight, mean, order, eta, decay, saga, w, memory, slope, seen):
    """One pass: replace a sample's remembered error, step along the average of all remembered gradients.

    Rows are centred on the fly: `slope` holds the sum of errors times rows, and last the sum of errors.
    """
    d = w.size
    count = seen.sum()
    shift = 0.0
    for j in range(d):
        shift += mean[j] * w[j]
    for i in order:
        if not seen[i]:
            seen[i] = True
            count += 1
        error = weight[i] * (row_dot(rows, i, w) - shift - y[i])
        change = error - memory[i]
        memory[i] = error
        whole = 0.0
        if saga:  # the average as it was, and the change in full
            row_add(rows, i, -eta * change, w)
            whole = eta * change
        else:
            row_add(rows, i, change, slope)
            slope[d] += change
        shift = 0.0
        for j in range(d):
            w[j] += whole * mean[j] - eta * ((slope[j] - slope[d] * mean[j]) / count + decay * w[j])
            shift += mean[j] * w[j]
        if saga:
            row_add(rows, i, change, slope)
            slope[d] += change
