"""Newton's method (牛顿法) on the primal of a linear machine with squared slacks.

    min over v of  f(v) = |v|^2 / 2 + sum_i cost_i e_i^2

f is smooth, and a parabola between the places where rows begin or cease to count: a step solves
(I + 2 X'SX) p = -grad f with the costs S of the rows that count, and ends in a few steps.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, cg

from tercet.core.parallel import Chunks, total
from tercet.svm.linear_problem import LinearProblem

Array = np.ndarray
NARROW = 1000  # features up to which the Hessian is written out
CROWDED = 0.2  # share of stored numbers from which a dense product is faster than a sparse one


class PrimalNewton:
    """One machine on its way; see `DualCoordinate` for its attributes.

    Parameters
    ----------
    problem : LinearProblem
        With squared losses.
    tol : float
        Ends when the gradient has fallen to this share of its first length (times that of the rarer class).
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
        return self.v - 2 * self.problem.back(self.problem.cost * self.e)

    def epoch(self) -> None:
        """One step: as far along Newton's direction as f falls."""
        if self.done:
            return
        problem = self.problem
        p = -self._solve(self.gradient, 2 * problem.cost * (self.e != 0))
        along = problem.scores(p)
        t = self._longest(p, along)
        self.v, self.z = self.v + t * p, self.z + t * along
        self.e = problem.excess(self.z)
        before, f = self.objective, float(self.v @ self.v / 2 + problem.cost @ self.e**2)
        self.gradient, self.objective = self._gradient(), f
        self.violation = float(linalg.norm(self.gradient))
        # the end, or as near to it as rounding lets one get
        self.done = self.violation <= self.tol or f >= before

    def _longest(self, p: Array, along: Array) -> float:
        """The t at which f(v + tp) is least: where its slope, a broken line that rises, is zero."""
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

    def _solve(self, g: Array, weight: Array) -> Array:
        """(I + X'SX)^-1 g."""
        X, bias, d = self.problem.X, self.problem.bias, g.size
        if d <= NARROW:
            H = total(_gram, Chunks(X, weight), bias, n_jobs=self.n_jobs)
            H[np.diag_indices(d)] += 1.0
            return _divided(g, H)
        rows = np.flatnonzero(weight)
        part, s = X[rows], weight[rows]

        def times(u: Array) -> Array:
            u = u.ravel()
            r = s * (part @ u[:-1] + bias * u[-1])
            return u + np.append(part.T @ r, bias * r.sum())

        forcing = min(0.1, float(np.sqrt(self.violation / max(self.tol, 1e-300))) ** -1)
        return cg(LinearOperator((d, d), times, dtype=np.float64), g, rtol=max(forcing, 1e-6), maxiter=200)[0]


def _divided(g: Array, H: Array) -> Array:
    """H^-1 g for an H of I and squares, which rounding may have made singular: large features hide the I."""
    if not np.isfinite(H).all():
        raise ValueError(
            "The values of X are too large: their squares, added up, must be finite. Scale the features."
        )
    try:
        return linalg.cho_solve(linalg.cho_factor(H), g)
    except linalg.LinAlgError:
        curve, U = linalg.eigh(H)
        return U @ ((U.T @ g) / np.maximum(curve, 1.0))


def _gram(chunk, bias):
    """X'SX of a chunk, with the row and column of the intercept."""
    X, weight = chunk
    keep = np.flatnonzero(weight)
    X, s = X[keep], weight[keep]
    if sparse.issparse(X) and X.nnz > CROWDED * X.shape[0] * X.shape[1]:
        X = X.toarray()
    with np.errstate(over="ignore", invalid="ignore"):  # who adds it up will look
        if not sparse.issparse(X):
            X = np.column_stack([X.astype(np.float64), np.full(keep.size, bias)])
            return (X.T * s) @ X
        H = np.empty((X.shape[1] + 1, X.shape[1] + 1))
        H[:-1, :-1] = (X.T @ (sparse.diags_array(s) @ X)).toarray()
        H[-1, :-1] = H[:-1, -1] = bias * (X.T @ s)
        H[-1, -1] = bias**2 * s.sum()
        return H
