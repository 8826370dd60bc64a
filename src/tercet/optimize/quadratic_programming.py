"""Convex quadratic programming (凸二次规划) for small dense problems, with its multipliers.

    min over x of  x'Qx / 2 + c.x   subject to  G x <= h,  A x = b

A primal-dual interior point method (Mehrotra's predictor-corrector). Near the solution the active constraints
are known, and one linear system gives the solution to full precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import OptimizeResult, linprog

from tercet.core.catalog import method
from tercet.core.steps import Steps

__all__ = ["solve_qp"]


@method(
    zh="凸二次规划",
    task="optimisation",
    model="x",
    strategy="x'Qx / 2 + c.x subject to Gx <= h, Ax = b",
    algorithms="primal-dual interior point method, polished on the active constraints",
    texts=["Li ch. 7, eq. 7.15-7.17", "Li app. C"],
    peers=["cvxopt.solvers.qp"],
)
def solve_qp(
    Q: Any,
    c: Any = None,
    G: Any = None,
    h: Any = None,
    A: Any = None,
    b: Any = None,
    *,
    tol: float = 1e-9,
    max_iter: int = 100,
    steps: Callable[..., Steps] | None = None,
) -> OptimizeResult:
    """Solve a convex quadratic program.

    Parameters
    ----------
    Q : array of shape (n, n)
        Symmetric, positive semidefinite; zero makes it a linear program.
    c : array of shape (n,), optional
        The linear part.
    G, h : arrays of shape (m, n) and (m,), optional
        Inequalities G x <= h. (Write a bound x_i >= l as -x_i <= -l.)
    A, b : arrays of shape (k, n) and (k,), optional
        Equalities A x = b; rows may depend on one another.
    tol : float, default=1e-9
        For residuals and gap, relative to the data.
    max_iter : int, default=100
        Maximum number of iterations.
    steps : callable, optional
        Makes the loop (see `core.steps`).

    Returns
    -------
    result : OptimizeResult
        x, fun, the multipliers alpha (of the inequalities, at least 0) and beta (of the equalities), the dual
        value `dual` and `gap` = fun - dual, nit, success, status (0 solved, 1 not converged, 2 infeasible,
        3 unbounded) and message. x is NaN when there is no solution.

    Examples
    --------
    >>> result = solve_qp(2 * np.eye(2), G=[[1, 0]], h=[0.5], A=[[1, 1]], b=[2])
    >>> result.x, result.alpha, result.beta, round(result.fun, 12)
    (array([0.5, 1.5]), array([2.]), array([-3.]), 2.5)
    """
    qp = _Program.of(Q, c, G, h, A, b)
    keep = qp.independent()
    if keep is None:
        return qp.no_solution(2, "The equalities A x = b contradict one another.")
    reduced = qp.with_equalities(keep)
    loop = (steps or Steps)(max_iter, name="step")
    state, found = _initial_point(reduced), None
    for step in loop:
        state = _predictor_corrector(reduced, *state)
        residual, gap = reduced.residuals(*state)
        step.report(state[0], fun=reduced.value(state[0]), residual=residual, gap=gap)
        if not np.isfinite(residual + gap):
            break
        if residual <= tol and gap <= tol:
            found = state
            break
    if found is None:
        reason = qp.diagnose()
        return qp.no_solution(*reason) if reason else reduced.result(state, keep, qp, loop.count, 1)
    return reduced.result(_polish(reduced, *found), keep, qp, loop.count, 0)


@dataclass
class _Program:
    """Data of a quadratic program, checked."""

    Q: np.ndarray
    c: np.ndarray
    G: np.ndarray
    h: np.ndarray
    A: np.ndarray
    b: np.ndarray

    @classmethod
    def of(cls, Q: Any, c: Any, G: Any, h: Any, A: Any, b: Any) -> _Program:
        Q = np.atleast_2d(np.asarray(Q, dtype=float))
        n = len(Q)
        c = np.zeros(n) if c is None else np.atleast_1d(np.asarray(c, dtype=float))
        pairs = []
        for names, M, v in (("G and h", G, h), ("A and b", A, b)):
            if (M is None) != (v is None):
                raise ValueError(f"{names} must be given together, or neither.")
            M = np.zeros((0, n)) if M is None else np.atleast_2d(np.asarray(M, dtype=float))
            v = np.zeros(0) if v is None else np.atleast_1d(np.asarray(v, dtype=float))
            if M.shape != (v.size, n):
                raise ValueError(
                    f"{names} must have shapes (m, {n}) and (m,), like Q; got {M.shape} and {v.shape}."
                )
            pairs += [M, v]
        if (
            Q.shape != (n, n)
            or c.shape != (n,)
            or not np.allclose(Q, Q.T, atol=1e-10 * (1 + np.abs(Q).max()))
        ):
            raise ValueError(
                f"Q must be symmetric of shape (n, n) and c of shape (n,); got {Q.shape} and {c.shape}."
            )
        if not all(np.isfinite(part).all() for part in (Q, c, *pairs)):
            raise ValueError("Q, c, G, h, A and b must be finite.")
        Q = (Q + Q.T) / 2
        lowest = linalg.eigvalsh(Q)[0] if n else 0.0
        if lowest < -1e-9 * (1.0 + np.abs(Q).max()):
            raise ValueError(f"Q must be positive semidefinite; its smallest eigenvalue is {lowest:.6g}.")
        return cls(Q, c, *pairs)

    def value(self, x: np.ndarray) -> float:
        return float(x @ self.Q @ x / 2 + self.c @ x)

    def independent(self) -> np.ndarray | None:
        """Linearly independent equalities; None when they are inconsistent."""
        if not len(self.A):
            return np.zeros(0, dtype=int)
        _, R, order = linalg.qr(self.A.T, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int(np.sum(size > 1e-11 * max(size[0], 1e-300)))
        x = linalg.lstsq(self.A, self.b)[0]
        if np.abs(self.A @ x - self.b).max() > 1e-8 * (1.0 + np.abs(self.b).max()):
            return None
        return np.sort(order[:rank])

    def with_equalities(self, keep: np.ndarray) -> _Program:
        return _Program(self.Q, self.c, self.G, self.h, self.A[keep], self.b[keep])

    def residuals(self, x: Any, s: Any, alpha: Any, beta: Any) -> tuple[float, float]:
        """The largest residual of stationarity and feasibility, and the gap, relative to the data."""
        parts = (
            (self.Q @ x + self.c + self.G.T @ alpha + self.A.T @ beta, 1.0 + np.abs(self.c).max(initial=0)),
            (self.G @ x + s - self.h, 1.0 + np.abs(self.h).max(initial=0)),
            (self.A @ x - self.b, 1.0 + np.abs(self.b).max(initial=0)),
        )
        worst = max(float(np.abs(r).max(initial=0)) / scale for r, scale in parts)
        return worst, float(s @ alpha) / (1.0 + abs(self.value(x)))

    def dual(self, x: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> float:
        """The Lagrangian at its stationary point."""
        return float(-(x @ self.Q @ x) / 2 - self.h @ alpha - self.b @ beta)

    def result(self, state: Any, keep: Any, whole: _Program, nit: int, status: int) -> OptimizeResult:
        x, _, alpha, beta = state
        full = np.zeros(len(whole.A))
        full[keep] = beta
        message = ("Solved.", f"Not converged in {nit} iterations.")[status]
        fun, dual = self.value(x), self.dual(x, alpha, beta)
        return OptimizeResult(
            x=x, fun=fun, alpha=alpha, beta=full, dual=dual, gap=fun - dual, nit=nit, status=status,
            success=status == 0, message=message,
        )  # fmt: skip

    def no_solution(self, status: int, message: str) -> OptimizeResult:
        fun = np.inf if status == 2 else -np.inf
        nan = [np.full(size, np.nan) for size in (len(self.c), len(self.h), len(self.b))]
        return OptimizeResult(
            x=nan[0], fun=fun, alpha=nan[1], beta=nan[2], dual=fun, gap=np.nan, nit=0, status=status,
            success=False, message=message,
        )  # fmt: skip

    def diagnose(self) -> tuple[int, str] | None:
        """Status and message of an infeasible or unbounded program, found by linear programs; None for another."""
        equalities = {"A_eq": self.A, "b_eq": self.b} if len(self.b) else {}
        inequalities = {"A_ub": self.G, "b_ub": self.h} if len(self.h) else {}
        free = (None, None)
        if linprog(np.zeros(len(self.c)), **inequalities, **equalities, bounds=free).status == 2:
            return 2, "No x satisfies the constraints."
        rows = np.vstack([self.A, self.Q])
        if len(self.h):
            inequalities["b_ub"] = np.zeros(len(self.h))
        ray = linprog(self.c, **inequalities, A_eq=rows, b_eq=np.zeros(len(rows)), bounds=(-1, 1))
        if ray.status == 0 and ray.fun < -1e-9 * (1.0 + np.abs(self.c).max()):
            return 3, "The objective falls without bound inside the constraints."
        return None


def _initial_point(qp: _Program) -> Any:
    """Minimiser of the objective plus squared slacks, with slacks and multipliers shifted to be positive."""
    x, alpha, beta = _kkt_solver(qp, np.ones(len(qp.h)))(-qp.c, qp.h, qp.b)
    return x, _positive(-alpha), _positive(alpha), beta


def _positive(v: np.ndarray) -> np.ndarray:
    low = v.min(initial=np.inf)
    return v if low > 1e-3 else v + (1.0 - low)


def _kkt_solver(qp: _Program, ratio: np.ndarray) -> Any:
    """Solver for [[Q, G', A'], [G, -diag(ratio), 0], [A, 0, 0]], with iterative refinement.

    A small multiple of the identity regularises the factorisation.
    """
    n, m, k = len(qp.c), len(qp.h), len(qp.b)
    K = np.zeros((n + m + k, n + m + k))
    K[:n, :n] = qp.Q
    K[:n, n:] = np.vstack([qp.G, qp.A]).T
    K[n:, :n] = K[:n, n:].T
    K[range(n, n + m), range(n, n + m)] = -ratio
    shift = 1e-13 * (1.0 + np.abs(qp.Q).max(initial=0))
    factor = linalg.lu_factor(K + np.diag(np.repeat([shift, -shift], [n, m + k])), check_finite=False)

    def solve(*parts: np.ndarray) -> list[np.ndarray]:
        right = np.concatenate(parts)
        z = linalg.lu_solve(factor, right, check_finite=False)
        for _ in range(3):
            z = z + linalg.lu_solve(factor, right - K @ z, check_finite=False)
        return np.split(z, [n, n + m])

    return solve


def _predictor_corrector(qp: _Program, x: Any, s: Any, alpha: Any, beta: Any) -> Any:
    """One iteration of Mehrotra's method: affine-scaling predictor, then a centred corrector step."""
    stationary = qp.Q @ x + qp.c + qp.G.T @ alpha + qp.A.T @ beta
    feasible, equal = qp.G @ x + s - qp.h, qp.A @ x - qp.b
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        solve = _kkt_solver(qp, s / alpha)

        def direction(complement: np.ndarray) -> Any:
            dx, dalpha, dbeta = solve(-stationary, complement / alpha - feasible, -equal)
            return dx, -(complement + s * dalpha) / alpha, dalpha, dbeta

        dx, ds, dalpha, dbeta = direction(s * alpha)
        if s.size == 0:
            return x + dx, s, alpha, beta + dbeta
        mu = s @ alpha / s.size
        a = min(1.0, _max_step(s, ds), _max_step(alpha, dalpha))
        centre = ((s + a * ds) @ (alpha + a * dalpha) / s.size / mu) ** 3
        dx, ds, dalpha, dbeta = direction(s * alpha + ds * dalpha - centre * mu)
        a = min(1.0, 0.995 * min(_max_step(s, ds), _max_step(alpha, dalpha)))
        if (s + a * ds) @ (alpha + a * dalpha) > s @ alpha:
            # The corrector assumes a full step and can cycle otherwise: take a centred step instead, as long as
            # the gap decreases.
            dx, ds, dalpha, dbeta = direction(s * alpha - 0.5 * mu)
            rise = max(ds @ dalpha, 1e-300)
            a = min(1.0, 0.995 * min(_max_step(s, ds), _max_step(alpha, dalpha)), 0.25 * (s @ alpha) / rise)
        return x + a * dx, s + a * ds, alpha + a * dalpha, beta + a * dbeta


def _max_step(v: np.ndarray, dv: np.ndarray) -> float:
    """The longest step along dv that keeps v positive."""
    shrinking = dv < 0
    return float(np.min(-v[shrinking] / dv[shrinking], initial=1e10))


def _polish(qp: _Program, x: Any, s: Any, alpha: Any, beta: Any) -> Any:
    """The solution with the active constraints as equalities, if its residuals are smaller."""
    active = np.flatnonzero(alpha > s)
    rows = np.vstack([qp.G[active], qp.A])
    n, r = len(x), len(rows)
    K = np.zeros((n + r, n + r))
    K[:n, :n], K[:n, n:], K[n:, :n] = qp.Q, rows.T, rows
    right = np.concatenate([-qp.c, qp.h[active], qp.b])
    start = np.concatenate([x, alpha[active], beta])
    # Minimum-norm correction, as the solution need not be unique.
    z = start + linalg.lstsq(K, right - K @ start, cond=1e-12)[0]
    x_new, alpha_new, beta_new = z[:n], np.zeros_like(alpha), z[n + active.size :]
    alpha_new[active] = z[n : n + active.size]
    slack = qp.h - qp.G @ x_new
    slack[active] = 0.0
    small = 1e-12 * (1.0 + np.abs(alpha).max(initial=0) + np.abs(qp.h).max(initial=0))
    if alpha_new.min(initial=0) < -small or slack.min(initial=0) < -small:
        return x, s, alpha, beta
    alpha_new, slack = np.maximum(alpha_new, 0.0), np.maximum(slack, 0.0)
    before = sum(qp.residuals(x, s, alpha, beta))
    after = sum(qp.residuals(x_new, slack, alpha_new, beta_new))
    return (x_new, slack, alpha_new, beta_new) if after <= before else (x, s, alpha, beta)
