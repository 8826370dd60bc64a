"""Newton's method (牛顿法) on the primal of a linear machine with squared slacks.

    min over v of  f(v) = |v|^2 / 2 + sum_i cost_i e_i^2

f is differentiable and piecewise quadratic. A step solves (I + 2 X'SX) p = -grad f with the costs S of the rows
that have a loss, and makes an exact line search along p.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from tercet.core.parallel import Chunks, total
from tercet.optimize import conjugate_gradient
from tercet.svm._linear.problem import LinearProblem

Array = np.ndarray
MAX_HESSIAN_FEATURES = 1000  # up to which the Hessian is formed; beyond, conjugate gradients
DENSE_SHARE = 0.2  # share of stored numbers from which a dense product is faster than a sparse one


class PrimalNewton:
    """Newton's method for one `LinearProblem`; attributes as in `epochs.Solver`.

    Parameters
    ----------
    problem : LinearProblem
        With squared losses.
    tol : float
        Ends when the norm of the gradient has fallen to this share of the first (times that of the rarer class).
    n_jobs : int, optional
        Threads; the result does not depend on it.
    """

    def __init__(self, problem: LinearProblem, tol: float, n_jobs: int | None = None) -> None:
        self.problem, self.n_jobs = problem, n_jobs
        self.v, self.z = np.zeros(problem.shape[1] + 1), np.zeros(problem.shape[0])
        self.e = problem.excess(self.z)
        self.gradient = self._gradient()
        share = 1.0
        if problem.side.any():
            positive = float(np.mean(problem.side > 0))
            share = max(min(positive, 1.0 - positive), 1.0 / problem.side.size)
        self.tol = tol * share * linalg.norm(self.gradient)
        self.violation = float(linalg.norm(self.gradient))
        self.objective = float(problem.cost @ self.e**2)
        self.done = self.violation == 0.0

    def _gradient(self) -> Array:
        return self.v - 2 * self.problem.transpose_times(self.problem.cost * self.e)

    def epoch(self) -> None:
        """One Newton step with an exact line search."""
        if self.done:
            return
        problem = self.problem
        p = -self._inverse_hessian_times(self.gradient, 2 * problem.cost * (self.e != 0))
        along = problem.scores(p)
        t = self._line_search(p, along)
        self.v, self.z = self.v + t * p, self.z + t * along
        self.e = problem.excess(self.z)
        before, f = self.objective, float(self.v @ self.v / 2 + problem.cost @ self.e**2)
        self.gradient, self.objective = self._gradient(), f
        self.violation = float(linalg.norm(self.gradient))
        # optimal, or as near to it as rounding allows
        self.done = self.violation <= self.tol or f >= before

    def _line_search(self, p: Array, along: Array) -> float:
        """The t that minimises f(v + tp): the root of its derivative, which is increasing and piecewise linear."""
        problem = self.problem

        def slope(t: float) -> float:
            e = problem.excess(self.z + t * along)
            return float(p @ (self.v + t * p) - 2 * (problem.cost * e) @ along)

        low, high, below = 0.0, 1.0, slope(0.0)
        above = slope(high)
        if abs(above) <= 1e-10 * abs(below):
            return 1.0
        while above < 0 and high < 1e6:
            low, below, high = high, above, 2 * high
            above = slope(high)
        for _ in range(50):
            t = min(max(low - below * (high - low) / (above - below), low), high)
            here = slope(t)
            if abs(here) <= 1e-12 * abs(float(p @ self.gradient)) or high - low <= 1e-15 * high:
                return t
            if here < 0:
                low, below, above = t, here, above / 2  # regula falsi, Illinois rule
            else:
                high, above, below = t, here, below / 2
        return t

    def _inverse_hessian_times(self, g: Array, weight: Array) -> Array:
        """(I + X'SX)^-1 g, with S = diag(weight)."""
        X, bias, d = self.problem.X, self.problem.bias, g.size
        if d <= MAX_HESSIAN_FEATURES:
            hessian = total(_gram, Chunks(X, weight), bias, n_jobs=self.n_jobs)
            hessian[np.diag_indices(d)] += 1.0
            return _solve_posdef(hessian, g)
        rows = np.flatnonzero(weight)
        part, s = X[rows], weight[rows]

        def hessian_times(u: Array) -> Array:
            r = s * (part @ u[:-1] + bias * u[-1])
            return u + np.append(part.T @ r, bias * r.sum())

        # forcing term: the nearer to the optimum, the more exact the solution of the system
        forcing = min(0.1, float(np.sqrt(self.violation / max(self.tol, 1e-300))) ** -1)
        return conjugate_gradient(hessian_times, g, tol=max(forcing, 1e-6), max_iter=200).x


def _solve_posdef(H: Array, g: Array) -> Array:
    """H^-1 g for H = I + X'SX, which rounding may have made singular where features are large."""
    if not np.isfinite(H).all():
        raise ValueError(
            "The values of X are too large: their squares, added up, must be finite. Scale the features."
        )
    try:
        return linalg.cho_solve(linalg.cho_factor(H), g)
    except linalg.LinAlgError:
        eigenvalues, U = linalg.eigh(H)
        return U @ ((U.T @ g) / np.maximum(eigenvalues, 1.0))


def _gram(chunk, bias):
    """X'SX of a chunk, with the row and column of the intercept."""
    X, weight = chunk
    keep = np.flatnonzero(weight)
    X, s = X[keep], weight[keep]
    if sparse.issparse(X) and X.nnz > DENSE_SHARE * X.shape[0] * X.shape[1]:
        X = X.toarray()
    with np.errstate(over="ignore", invalid="ignore"):  # the sum is checked
        if not sparse.issparse(X):
            X = np.column_stack([X.astype(np.float64), np.full(keep.size, bias)])
            return (X.T * s) @ X
        H = np.empty((X.shape[1] + 1, X.shape[1] + 1))
        H[:-1, :-1] = (X.T @ (sparse.diags_array(s) @ X)).toarray()
        H[-1, :-1] = H[:-1, -1] = bias * (X.T @ s)
        H[-1, -1] = bias**2 * s.sum()
        return H
