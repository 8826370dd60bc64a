"""ADMM (交替方向乘子法) for a margin loss with a penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from tercet.linear_model._penalized.proximal_newton import check_finite
from tercet.losses import Loss
from tercet.penalties import Penalty

Array = np.ndarray


class ADMM:
    """State of the alternating direction method of multipliers for one hyperplane, with copies z of the scores and
    u of the weights.

    min over w, b, z, u of  penalty(u) + sum_i cost_i loss(y_i, z_i)   subject to  z = Xw + b,  u = w
    """

    def __init__(
        self, X: Any, y: Array, cost: Array, loss: Loss, penalty: Penalty, solve: Any, tol: float
    ) -> None:
        self.X, self.y, self.cost, self.loss, self.penalty = X, y, cost, loss, penalty
        self.solve, self.tol, self.rho, self.count = solve, tol, 1.0, 0
        self.z, self.u = np.zeros(X.shape[0]), np.zeros(X.shape[1])
        self.score_multiplier, self.weight_multiplier = (
            np.zeros_like(self.z),
            np.zeros_like(self.u),
        )  # scaled by 1 / rho
        self.b, self.residual, self.done = 0.0, np.inf, False
        self.least = self.least_before = np.inf  # residuals of the last rounds, and of those before
        self.stalled = False

    def advance(self) -> None:
        """One round: w and b by least squares, proximal steps of z and u, the scaled multipliers."""
        r, s = self.z - self.score_multiplier, self.u - self.weight_multiplier
        w, self.b = self.solve(self.X.T @ r + s, r.sum())
        scores = self.X @ w + self.b
        z = self.loss.prox(self.y, scores + self.score_multiplier, self.cost / self.rho)
        u = self.penalty.prox(w + self.weight_multiplier, 1.0 / self.rho)
        primal = np.sqrt(np.sum((scores - z) ** 2) + np.sum((w - u) ** 2))
        dual = np.sqrt(np.sum((z - self.z) ** 2) + np.sum((u - self.u) ** 2))
        self.z, self.u = z, u
        self.score_multiplier += scores - z
        self.weight_multiplier += w - u
        size = np.sqrt(z @ z + u @ u)
        duals = np.sqrt(
            self.score_multiplier @ self.score_multiplier + self.weight_multiplier @ self.weight_multiplier
        )
        self.residual = max(primal / max(size, 1e-12), dual / max(duals, 1e-12))
        self.done = self.residual <= self.tol
        self.count += 1
        self.least = min(self.least, self.residual)
        if self.count % STALL_ROUNDS == 0:
            self.stalled = not self.done and not self.least <= STALL * self.least_before
            self.least_before, self.least = min(self.least_before, self.least), np.inf
        # rho balances the primal and the dual residual, changed less and less often so that it converges
        if self.count in ADAPTATIONS and not self.done:
            ratio = np.sqrt((primal / max(size, 1e-12)) / max(dual / max(duals, 1e-12), 1e-300))
            change = float(np.clip(ratio, 0.2, 5.0))
            self.rho *= change
            self.score_multiplier /= change
            self.weight_multiplier /= change

    def objective(self) -> float:
        """The value at the copy u of the weights."""
        losses = self.loss.value(self.y, self.X @ self.u + self.b)
        return float(self.penalty.value(self.u) + self.cost @ losses)


STALL_ROUNDS, STALL = (
    200,
    0.9,
)  # rounds in which the least residual has to fall to this share of the one before
ADAPTATIONS = frozenset(int(10 * 1.5**k) for k in range(16))  # rounds after which rho is adapted


def factorise(X: Any, intercept: bool) -> Any:
    """Solver of the least squares step (X'X + I) w = g with a free intercept."""
    n, d = X.shape
    with np.errstate(over="ignore"):
        gram = X.T @ X
    H = gram.toarray() if sparse.issparse(gram) else gram
    H[np.arange(d), np.arange(d)] += 1.0
    sums = np.asarray(X.sum(axis=0)).ravel() if intercept else np.zeros(d)
    H -= np.outer(sums, sums / n)
    check_finite(H)
    try:
        cholesky = cho_factor(H)
    except LinAlgError:  # X'X hides the I from rounding, but no eigenvalue is below 1
        values, U = eigh(H)
        cholesky = None

    def solve(g: Array, total: float) -> tuple[Array, float]:
        g = g - sums * (total / n)
        w = cho_solve(cholesky, g) if cholesky else U @ ((U.T @ g) / np.maximum(values, 1.0))
        return w, float(total - sums @ w) / n if intercept else 0.0

    return solve


class ConstantScore:
    """The solution where all rows are of one class: no weights, an intercept that makes the loss zero or tiny."""

    def __init__(self, y: Array, cost: Array, loss: Loss, width: int) -> None:
        self.y, self.cost, self.loss, self.u = y, cost, loss, np.zeros(width)
        side = float(y[0])
        least = loss.value(y[:1], np.full(1, side))[0]
        self.b = (
            side if least == 0 else -side * float(np.log(np.finfo(float).eps))
        )  # its loss falls as exp(-b)
        self.residual, self.done = 0.0, False

    def advance(self) -> None:
        self.done = True

    def objective(self) -> float:
        return float(self.cost @ self.loss.value(self.y, np.full(self.y.size, self.b)))
